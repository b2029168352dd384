"""Inference methods for comparison; import their functions from `medn_edu.inference`."""
