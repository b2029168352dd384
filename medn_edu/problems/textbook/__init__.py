"""What only the solvers for comparison ask problems for; imported from `medn_edu.problems`."""
