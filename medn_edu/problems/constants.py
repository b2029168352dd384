"""Which constants give the same solution: L1-M3N, its ball and the adaptive M3N on one axis.

Three problems of the L1-M3N paper have the same family of solutions and three unlike constants.

    L1-M3N (P1)         |w|_1 / 2 + C' sum xi
    the ball (P1')      sum xi  where  |w|_1 <= radius
    adaptive M3N (P4)   lam / K |w|_1^2 + C sum xi

At a solution ``w*`` the masses of each problem, scaled to those of another, solve that other one.  The
norm's conjugate says what they make of ``max |eta_k|``: a half in P1, the multiplier of the ball in P1',
and ``2 lam |w*|_1 / K`` in P4, the slope of the square.  Masses are in proportion to the price of the
slacks, so a solution with price ``C`` and largest ``|eta_k| = m`` solves L1-M3N at

    C' = C / (2 m)                          (`l1_constant`)

which for the adaptive M3N reads ``C' = C K / (4 lam |w*|_1)`` (`l1_constant_of_em`).  The other way
round ``radius = |w*|_1``, and ``lam = C K / (4 C' |w*|_1)`` (`em_constant`).
"""

from __future__ import annotations

import numpy as np

from medn_edu.checks import check_positive

__all__ = ["em_constant", "l1_constant", "l1_constant_of_em"]


def l1_constant(C: float, eta: np.ndarray) -> float:
    """Return the constant of the L1-M3N that has the same solution.

    Parameters
    ----------
    C : float
        Price of the slacks in a problem that charges by a function of ``|w|_1``; 1 for the ball.
    eta : ndarray of shape (n_weights,)
        ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` at its solution, not all zero.

    Returns
    -------
    float
        ``C / (2 max |eta_k|)``.

    Raises
    ------
    ValueError
        If ``eta`` is zero: then no labelling carries mass, and any larger constant does as well.

    Examples
    --------
    >>> import numpy as np
    >>> l1_constant(1.0, np.array([2.0, -5.0]))
    0.1
    """
    largest = float(np.abs(eta).max(initial=0.0))
    if largest == 0:
        raise ValueError(
            "eta is zero, so that no margin is tight and every constant does; expected a smaller "
            "radius or C."
        )
    return check_positive("C", C) / (2 * largest)


def l1_constant_of_em(C: float, lam: float, n_weights: int, l1_norm: float) -> float:
    """Return the constant of the L1-M3N that has the solution of an adaptive M3N.

    Parameters
    ----------
    C, lam : float
        Constants of the adaptive M3N (problem P2 of the L1-M3N paper); positive.
    n_weights : int
        Number of weights, ``K``.
    l1_norm : float
        ``|w*|_1`` of its solution; positive.

    Returns
    -------
    float
        ``C K / (4 lam |w*|_1)``.

    Examples
    --------
    >>> l1_constant_of_em(C=2.0, lam=10.0, n_weights=200, l1_norm=5.0)
    2.0
    """
    check_positive("l1_norm", l1_norm)
    return check_positive("C", C) * n_weights / (4 * check_positive("lam", lam) * l1_norm)


def em_constant(l1_C: float, C: float, n_weights: int, l1_norm: float) -> float:
    """Return the ``lam`` at which an adaptive M3N has the solution of an L1-M3N.

    Parameters
    ----------
    l1_C : float
        Constant of the L1-M3N; positive.
    C : float
        Constant of the adaptive M3N; positive.
    n_weights : int
        Number of weights, ``K``.
    l1_norm : float
        ``|w*|_1`` of the solution; positive.

    Returns
    -------
    float
        ``C K / (4 C' |w*|_1)``.

    Examples
    --------
    >>> em_constant(l1_C=2.0, C=2.0, n_weights=200, l1_norm=5.0)
    10.0
    """
    # The relation is symmetric in lam and C'.
    return l1_constant_of_em(C, check_positive("l1_C", l1_C), n_weights, l1_norm)
