"""How far values scatter, and Student's interval of their mean."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

__all__ = ["deviation", "half_interval", "student_quantile"]


def deviation(values: ArrayLike) -> float | None:
    """Return the standard deviation of a few values; None of a single one, which does not tell.

    >>> deviation([1.0, 2.0, 3.0]), deviation([1.0])
    (1.0, None)
    """
    values = np.asarray(values, dtype=float)
    return float(values.std(ddof=1)) if len(values) > 1 else None


def half_interval(values: ArrayLike, level: float = 0.95, overlap: float = 0.0) -> float:
    """Return half the length of Student's interval of the mean, which covers it as often as ``level``.

    Errors in cross-validation depend on each other, as their training parts overlap.  ``overlap``, how
    many samples test for each one that trains, makes the interval longer (Nadeau and Bengio, 2003).

    >>> round(half_interval([1.0, 2.0, 3.0]), 3)
    2.484
    >>> round(half_interval([1.0, 2.0, 3.0], overlap=1 / 2), 3)
    3.928
    """
    values = np.asarray(values, dtype=float)
    spread = deviation(values)
    if spread is None:
        return math.nan
    quantile = float(student_quantile(len(values) - 1, level))
    return quantile * spread * math.sqrt(1 / len(values) + overlap)


def student_quantile(freedom: Any, level: float = 0.95) -> Any:
    """Return how many standard errors Student's interval reaches to either side of a mean.

    There is one degree of freedom less than there are values.

    >>> round(float(student_quantile(9)), 3), round(float(student_quantile(1e6)), 3)
    (2.262, 1.96)
    """
    return stdtrit(freedom, (1 + level) / 2)
