"""Parts of problems that only the solvers for comparison need; import them from `medn_edu.problems`."""
