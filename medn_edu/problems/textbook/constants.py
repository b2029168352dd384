"""The constants that give L1-M3N, the ball and the adaptive M3N the same solution.

Three problems of the L1-M3N paper have the same family of solutions and three different constants.

    L1-M3N (P1)         |w|_1 / 2 + C' sum xi
    the ball (P1')      sum xi  where  |w|_1 <= radius
    adaptive M3N (P4)   lam / K |w|_1^2 + C sum xi

At a solution ``w*``, ``max |eta_k|`` is the slope of the regulariser with respect to ``|w|_1``: a half
in P1, the multiplier of the ball in P1', and ``2 lam |w*|_1 / K`` in P4.  Scaling the dual variables of
one problem gives those of another.  Dual variables are proportional to the price of the slacks, so a
solution with price ``C`` and largest ``|eta_k| = m`` solves L1-M3N at

    C' = C / (2 m)                          (`l1_constant`)

For the adaptive M3N this is ``C' = C K / (4 lam |w*|_1)`` (`l1_constant_of_em`).  In the other
direction, ``radius = |w*|_1`` and ``lam = C K / (4 C' |w*|_1)`` (`em_constant`).
"""

import numpy as np

from medn_edu.checks import check_positive


def l1_constant(C: float, eta: np.ndarray) -> float:
    """Return ``C / (2 max |eta_k|)``, the constant of the L1-M3N that has the same solution.

    Parameters
    ----------
    C : float
        Price of the slacks in a problem whose regulariser is a function of ``|w|_1``; 1 for the ball.
    eta : ndarray of shape (n_weights,)
        ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` at its solution.

    Returns
    -------
    float
        The constant of the L1-M3N.

    Raises
    ------
    ValueError
        If ``eta`` is zero.  Then the weights are 0, or the ball does not bind, and no constant can be
        determined.

    Examples
    --------
    >>> import numpy as np
    >>> l1_constant(1.0, np.array([2.0, -5.0]))
    0.1
    """
    largest = float(np.abs(eta).max(initial=0.0))
    if largest == 0:
        raise ValueError(
            "eta is zero, so it does not single out a constant; expected a solution with weights other "
            "than 0, or a smaller radius."
        )
    return check_positive("C", C) / (2 * largest)


def l1_constant_of_em(C: float, lam: float, n_weights: int, l1_norm: float) -> float:
    """Return ``C K / (4 lam |w*|_1)``, the constant of the L1-M3N with an adaptive M3N's solution.

    Parameters
    ----------
    C, lam : float
        Constants of the adaptive M3N (problem P2, equivalently P4, of the L1-M3N paper); positive.
    n_weights : int
        Number of weights, ``K``.
    l1_norm : float
        ``|w*|_1`` of its solution; positive.

    Returns
    -------
    float
        The constant of the L1-M3N.

    Examples
    --------
    >>> l1_constant_of_em(C=2.0, lam=10.0, n_weights=200, l1_norm=5.0)
    2.0
    """
    check_positive("l1_norm", l1_norm)
    return check_positive("C", C) * n_weights / (4 * check_positive("lam", lam) * l1_norm)


def em_constant(l1_C: float, C: float, n_weights: int, l1_norm: float) -> float:
    """Return ``C K / (4 C' |w*|_1)``, the ``lam`` of the adaptive M3N with an L1-M3N's solution.

    Parameters
    ----------
    l1_C : float
        Constant ``C'`` of the L1-M3N; positive.
    C, n_weights, l1_norm : float, int, float
        As for `l1_constant_of_em`.

    Returns
    -------
    float
        The constant of the adaptive M3N.

    Examples
    --------
    >>> em_constant(l1_C=2.0, C=2.0, n_weights=200, l1_norm=5.0)
    10.0
    """
    # The relation is symmetric in lam and C'.
    return l1_constant_of_em(C, check_positive("l1_C", l1_C), n_weights, l1_norm)
