"""Kernels of what is there for comparison: the ``textbook`` folders of solvers and inference."""

from medn_edu.kernels.textbook import exponentiate, gibbs, online_subgradient, projection, smo

__all__ = ["exponentiate", "gibbs", "online_subgradient", "projection", "smo"]
