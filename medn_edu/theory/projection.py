"""Projection onto balls: why the L1 ball makes zeros and the L2 ball does not.

``projection.md`` explains the theory, with its formulas typeset.
"""

import numpy as np

from medn_edu.checks import check_positive


def project_l1_ball(v: np.ndarray, radius: float) -> np.ndarray:
    """Return the point of the L1 ball nearest to ``v``, by sorting.

    The three points of the L1-M3N paper's Fig. 1: far from both axes, near one, and nearer still.

    >>> for v in ([1.2, 1.4], [1.5, 0.3], [0.1, 1.8]):
    ...     print(project_l1_ball(v, radius=1.0).round(6).tolist())
    [0.4, 0.6]
    [1.0, 0.0]
    [0.0, 1.0]
    """
    check_positive("radius", radius)
    v = np.asarray(v, dtype=np.float64)
    magnitude = np.abs(v)
    if magnitude.sum() <= radius:
        return v.copy()
    distance = magnitude.max() - magnitude
    nearest = np.sort(distance)
    taus = (radius + np.cumsum(nearest)) / np.arange(1, len(v) + 1)
    tau = taus[np.flatnonzero(nearest < taus)[-1]]
    return np.where(distance < tau, np.copysign(tau - distance, v), 0.0)


def project_l2_ball(v: np.ndarray, radius: float) -> np.ndarray:
    """Return the point of the L2 ball nearest to ``v``.

    The same three points, now without zeros:

    >>> for v in ([1.2, 1.4], [1.5, 0.3], [0.1, 1.8]):
    ...     print(project_l2_ball(v, radius=1.0).round(3).tolist())
    [0.651, 0.759]
    [0.981, 0.196]
    [0.055, 0.998]
    """
    check_positive("radius", radius)
    v = np.asarray(v, dtype=np.float64)
    length = float(np.linalg.norm(v))
    return v * min(1.0, radius / length) if length > 0 else v.copy()
