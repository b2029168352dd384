"""Euclidean projections onto balls, for whole weight vectors."""

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.kernels.textbook.projection import project_l1_ball


def project_l1(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights whose magnitudes add up to at most a radius.

    Expected linear time (`medn_edu.kernels.textbook.projection`).  NaN everywhere if a weight is not
    finite.

    Examples
    --------
    >>> import numpy as np
    >>> project_l1(np.array([3.0, -2.0, 0.5]), radius=2.0)
    array([ 1.5, -0.5,  0. ])
    """
    radius = check_positive("radius", radius)
    # A copy: kernels take arrays that are contiguous and writeable.
    projected = np.array(weights, dtype=np.float64)
    project_l1_ball(projected, radius, np.empty_like(projected), projected)
    return projected


def project_l2(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights of a Euclidean norm of at most a radius.

    Examples
    --------
    >>> import numpy as np
    >>> project_l2(np.array([3.0, -4.0]), radius=2.5)
    array([ 1.5, -2. ])
    """
    radius = check_positive("radius", radius)
    projected = np.array(weights, dtype=np.float64)
    length = float(np.linalg.norm(projected))
    if length > radius:
        projected *= radius / length
    return projected
