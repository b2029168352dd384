"""How far values scatter, and Student's interval of their mean."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

__all__ = ["deviation", "half_interval", "student_quantile"]


def deviation(values: ArrayLike) -> float | None:
    """Return the standard deviation of a few values, with one degree of freedom less.

    Parameters
    ----------
    values : array-like of shape (n,)
        The values.

    Returns
    -------
    float or None
        None of a single value, which does not tell.

    Examples
    --------
    >>> deviation([1.0, 2.0, 3.0]), deviation([1.0])
    (1.0, None)
    """
    values = np.asarray(values, dtype=float)
    return float(values.std(ddof=1)) if len(values) > 1 else None


def half_interval(values: ArrayLike, level: float = 0.95) -> float:
    """Return half the length of Student's interval of the mean.

    Parameters
    ----------
    values : array-like of shape (n,)
        The values, at least two.
    level : float, default=0.95
        How often such an interval covers the true mean.

    Returns
    -------
    float
        Half the length; not a number for a single value.

    Examples
    --------
    >>> round(half_interval([1.0, 2.0, 3.0]), 3)
    2.484
    """
    values = np.asarray(values, dtype=float)
    spread = deviation(values)
    if spread is None:
        return math.nan
    return float(student_quantile(len(values) - 1, level)) * spread / math.sqrt(len(values))


def student_quantile(freedom: Any, level: float = 0.95) -> Any:
    r"""Return how many standard errors an interval reaches to either side of a mean.

    The mean of :math:`n` normal values, less the true one and divided by its standard error
    :math:`s / \sqrt n`, follows Student's t with :math:`n - 1` degrees of freedom.  That is in
    :math:`[-q, q]` as often as the level says, if :math:`q` is its quantile at (1 + level) / 2.

    Parameters
    ----------
    freedom : float or ndarray
        Degrees of freedom, one less than there are values.
    level : float, default=0.95
        How often such an interval covers the true mean.

    Returns
    -------
    float or ndarray
        The quantile.

    Examples
    --------
    >>> round(float(student_quantile(9)), 3), round(float(student_quantile(1e6)), 3)
    (2.262, 1.96)
    """
    return stdtrit(freedom, (1 + level) / 2)
