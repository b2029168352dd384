"""Kernels of what is there for comparison: the ``textbook`` folders of solvers and inference."""
