"""Inference that is there for comparison; its functions are imported from `medn_edu.inference`."""
