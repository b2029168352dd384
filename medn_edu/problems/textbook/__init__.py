"""Parts of problems that only the comparison solvers need.  Import them from `medn_edu.problems`."""
