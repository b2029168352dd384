"""Student's interval of a mean: how many standard errors reach to either side of it."""

from __future__ import annotations

from typing import Any

from scipy.special import stdtrit

__all__ = ["student_quantile"]


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
