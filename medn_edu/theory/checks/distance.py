"""How far two sides of a statement are apart, relative to their size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def apart(left: ArrayLike, right: ArrayLike) -> float:
    """Return the largest difference between two sides that should be equal.

    Examples
    --------
    >>> round(apart([1.0, 2.2], [1.0, 2.0]), 6)
    0.1
    """
    right = np.asarray(right, dtype=float)
    difference = np.max(np.abs(np.asarray(left, dtype=float) - right))
    return float(difference / np.max(np.abs(right)))


def excess(smaller: ArrayLike, larger: ArrayLike, size: float = 1.0) -> float:
    """Return by how much an inequality is violated.

    Examples
    --------
    >>> round(excess([0.1, 0.5], [0.2, 0.25]), 6), excess(0.0, 1.0)
    (0.25, 0.0)
    """
    violation = np.max(np.asarray(smaller, dtype=float) - np.asarray(larger, dtype=float))
    return float(np.maximum(violation, 0.0) / size)
