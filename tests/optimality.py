"""Certificates of optimality, so that no oracle rests on the word of a general solver.

What a solver says of its own success depends on rounding, and so on the processor.  These look at the
answer instead: at a residual that is zero at the optimum of a convex problem and nowhere else.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def assert_touches(value: Callable[[np.ndarray], float], point: np.ndarray, a: np.ndarray) -> None:
    """The plane across ``a`` touches the level set of a convex value: its slope is along ``a``."""
    steps = 1e-6 * np.eye(len(point))
    slope = np.array([value(point + step) - value(point - step) for step in steps])
    slope /= np.linalg.norm(slope)
    np.testing.assert_allclose(slope, np.asarray(a) / np.linalg.norm(a), atol=1e-6)


def assert_nearest_in_ball(found: np.ndarray, point: np.ndarray, norm: str) -> None:
    """No point of the unit ball lies farther in the direction that is left to go."""
    order, dual_order = {"L1": (1, np.inf), "L2": (2, 2)}[norm]
    left = point - found
    assert np.linalg.norm(found, order) <= 1 + 1e-9
    assert np.linalg.norm(left, dual_order) - left @ found <= 1e-9


def certified_minimum(found: Any, curvature: float, rtol: float = 1e-7) -> float:
    """Return what a solver found, once its gradient says how little lower the minimum can be."""
    assert found.jac @ found.jac / (2 * curvature) <= rtol * abs(found.fun)
    return float(found.fun)


def assert_no_lower_at_non_negative(found: Any, atol: float) -> None:
    """Over numbers of at least 0 each is 0 or has no slope, and no slope points down."""
    assert np.abs(np.minimum(found.x, found.jac)).max() <= atol
