"""Euclidean projections onto balls, for whole weight vectors."""

from __future__ import annotations

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.kernels.textbook.projection import project_l1_ball


def project_l1(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights whose magnitudes add up to at most a radius.

    Expected linear time (`medn_edu.kernels.textbook.projection`).  NaN everywhere if a weight is not
    finite.
    """
    radius = check_positive("radius", radius)
    # A copy: kernels take arrays that are contiguous and writeable.
    projected = np.array(weights, dtype=np.float64)
    project_l1_ball(projected, radius, np.empty_like(projected), projected)
    return projected


def project_l2(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights of a Euclidean norm of at most a radius."""
    radius = check_positive("radius", radius)
    projected = np.array(weights, dtype=np.float64)
    length = float(np.linalg.norm(projected))
    if length > radius:
        projected *= radius / length
    return projected
