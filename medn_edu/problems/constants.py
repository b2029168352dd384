"""L1-M3N's constants: those that give the same solution, and bounds on its weights.

Three problems of the L1-M3N paper have the same family of solutions and three different constants.

    L1-M3N (P1)         |w|_1 / 2 + C' sum xi
    the ball (P1')      sum xi  where  |w|_1 <= radius
    adaptive M3N (P4)   lam / K |w|_1^2 + C sum xi

At a solution ``w*``, ``max |eta_k|`` is the slope of the regulariser with respect to ``|w|_1``: a half
in P1, the multiplier of the ball in P1', and ``2 lam |w*|_1 / K`` in P4.  Scaling the dual variables of
one problem gives those of another.  They are proportional to the price of the slacks, so a solution with
price ``C`` and largest ``|eta_k| = m`` solves L1-M3N at

    C' = C / (2 m)                          (`l1_constant`)

which for the adaptive M3N reads ``C' = C K / (4 lam |w*|_1)`` (`l1_constant_of_em`).  The other way
round ``radius = |w*|_1``, and ``lam = C K / (4 C' |w*|_1)`` (`em_constant`).

L1-M3N and its dual are a pair of linear programs.  Complementary slackness is what makes the solution
sparse on both sides: a weight can differ from 0 only where ``|eta_k| = 1/2``, and a labelling has a dual
variable only where its margin is the sample's worst.  Short of the optimum a gap ``g`` still bounds each
weight, ``|w*_k| <= g / (1/2 - |eta_k|)`` (`weight_bounds`), because what a weight costs beyond what it
earns cannot exceed the gap.
"""

from __future__ import annotations

import math

import numpy as np

from medn_edu.checks import check_positive

__all__ = ["em_constant", "l1_constant", "l1_constant_of_em", "weight_bounds"]

_ROUNDING = 1e-8  # to which the dual variables of a linear program are accurate


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
        If ``eta`` is zero: then the weights are 0, or the ball does not bind, and no constant is
        singled out.

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


def weight_bounds(gap: float, eta: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Bound the magnitudes of the weights in every solution of L1-M3N, by ``gap / (1/2 - |eta_k|)``.

    The bound is infinite where ``|eta_k|`` is a half, up to 1e-8.

    Parameters
    ----------
    gap : float
        Gap between a primal value and the dual value that belongs to ``eta``.
    eta : ndarray of shape (n_weights,)
        ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` of feasible dual variables: no entry beyond a half.
    rounding : float, default=0.0
        Least gap that is believed: a computed one may be 0 by rounding.

    Returns
    -------
    ndarray of shape (n_weights,)
        No solution has a larger magnitude.

    Examples
    --------
    >>> import numpy as np
    >>> weight_bounds(0.1, np.array([0.5, 0.25, 0.0]))
    array([inf, 0.4, 0.2])
    """
    room = 0.5 - np.abs(eta)
    bounds = np.full(len(eta), math.inf)
    clear = room > _ROUNDING
    bounds[clear] = max(gap, rounding) / room[clear]
    return bounds
