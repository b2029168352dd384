"""Kernels of the solvers that are there for comparison, `medn_edu.solvers.textbook`."""

from medn_edu.kernels.textbook import exponentiate, online_subgradient, projection, smo

__all__ = ["exponentiate", "online_subgradient", "projection", "smo"]
