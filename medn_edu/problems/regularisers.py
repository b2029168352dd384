"""What weights cost: convex regularisers, each with its conjugate.

A problem adds a *regulariser* ``R(w)`` to its losses, and its dual subtracts the convex conjugate

    R*(eta) = max_w  eta . w - R(w).

Every prior of `medn_edu.priors` is a regulariser, with ``R(w) = sum_k Lambda*(w_k)`` and
``R*(eta) = sum_k Lambda(eta_k)``.  Here are the others:

==============  ================================  ===================================
regulariser     ``R(w)``                          ``R*(eta)``
==============  ================================  ===================================
`L2Norm`        ``scale |w|_2^2 / 2``             ``|eta|_2^2 / (2 scale)``
`L1Norm`        ``scale |w|_1``                   0 where ``max |eta_k| <= scale``
`ElasticNet`    ``l1 |w|_1 + l2 |w|_2^2 / 2``     ``sum_k (|eta_k| - l1)_+^2 / (2 l2)``
==============  ================================  ===================================

and infinity elsewhere.  M3N has ``|w|_2^2 / 2``, a standard normal prior.  L1-M3N has half the L1 norm,
and its kink keeps a weight at 0 while ``|eta_k|`` is below a half.  For comparison,
`medn_edu.problems.textbook` has the squared L1 norm and balls.

Dual variables can always be scaled down: what is taken away goes to the true labelling, which adds
nothing to the loss or to eta.  `dual_scaling` returns the best scale.  With the L1 norm this is what
makes dual variables feasible.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from medn_edu.checks import check_nonnegative, check_positive
from medn_edu.kernels.tilting import FLAT

_N_NEWTON = 60  # steps of the proximal equation, which is smooth but for its end at 0
ROUNDING = 1e-9  # relative; how far outside its ball a point may be
_LP_ROUNDING = 1e-8  # to which the dual variables of a linear program are accurate


@runtime_checkable
class Regulariser(Protocol):
    """A convex function of the weights with its conjugate: a prior, a penalty or a ball.

    A regulariser for which dual variables may need scaling also has a method
    ``dual_scaling(loss, eta)``, such as `ElasticNet.dual_scaling`.
    """

    def value(self, weights: np.ndarray) -> float:
        """Return ``R(w)``."""

    def conjugate(self, eta: np.ndarray) -> float:
        """Return ``R*(eta)``."""


def dual_scaling(regulariser: Regulariser, loss: float, eta: np.ndarray) -> float:
    """Return a good ``t`` from 0 to 1 for ``t * loss - R*(t * eta)``: the best, or the largest feasible.

    It is 1 for priors and for every other regulariser without a method of this name.  Their conjugates
    are smooth, so their solvers need no scaling.
    """
    scaling = getattr(regulariser, "dual_scaling", None)
    return 1.0 if scaling is None else float(scaling(loss, eta))


@dataclass(frozen=True)
class ElasticNet:
    """L1 norm and squared L2 norm together, ``l1 |w|_1 + l2 |w|_2^2 / 2`` (Zou and Hastie 2005).

    With ``l2 > 0`` its conjugate is smooth, so `medn_edu.solvers.block_frank_wolfe` can use it like a
    prior.  ``log_mgf``, ``mean`` and ``variance`` are then the conjugate's value, slope and curvature
    for each weight.

    Parameters
    ----------
    l1, l2 : float
        Strengths of the two parts, finite and not negative.

    Examples
    --------
    >>> import numpy as np
    >>> net = ElasticNet(l1=0.5, l2=2.0)
    >>> net.value(np.array([1.0, -3.0])), net.conjugate(np.array([0.4, -2.5]))
    (12.0, 1.0)
    >>> net.mean(np.array([0.4, -2.5]))
    array([ 0., -1.])
    """

    l1: float
    l2: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", check_nonnegative("l1", self.l1))
        object.__setattr__(self, "l2", check_nonnegative("l2", self.l2))

    def value(self, weights: np.ndarray) -> float:
        """Return ``l1 |w|_1 + l2 |w|_2^2 / 2``."""
        squares = 0.5 * self.l2 * float(weights @ weights) if self.l2 > 0 else 0.0
        return self.l1 * math.fsum(np.abs(weights)) + squares if self.l1 > 0 else squares

    def magnitudes(self, weights: np.ndarray) -> float:
        """Return the part with kinks, ``l1 |w|_1``, as a quick sum for line searches."""
        return self.l1 * float(np.abs(weights).sum())

    def conjugate(self, eta: np.ndarray) -> float:
        """Return ``sum_k (|eta_k| - l1)_+^2 / (2 l2)``; without squares, 0 or infinity."""
        if self.l2 == 0:
            return 0.0 if largest_magnitude(eta) <= self.l1 * (1 + ROUNDING) else math.inf
        beyond = soft_threshold(eta, self.l1) if self.l1 > 0 else eta
        return float(beyond @ beyond) / (2 * self.l2)

    def dual_scaling(self, loss: float, eta: np.ndarray) -> float:
        """Return the largest factor from 0 to 1 that makes ``eta`` feasible; 1 if there are squares.

        Parameters
        ----------
        loss : float
            ``sum alpha_i(y) loss_i(y)`` of the dual variables.
        eta : ndarray of shape (n_weights,)
            Their ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``.
        """
        if self.l2 > 0 or self.l1 == 0:
            return 1.0
        largest = max(self.l1, largest_magnitude(eta))
        share = self.l1 / largest
        return share if share * largest <= self.l1 else math.nextafter(share, 0.0)

    def _gap(self, weights: np.ndarray, eta: np.ndarray) -> float:
        """Return ``R(w) + R*(eta) - w . eta``, never negative, for ``l2 > 0``."""
        squares = self.l2 * weights - soft_threshold(eta, self.l1)
        kinks = self.l1 * np.abs(weights) - weights * np.clip(eta, -self.l1, self.l1)
        return float(squares @ squares) / (2 * self.l2) + float(kinks.sum())

    # -- with squares: what the block solver asks of a prior; all weights have the same formulas --

    @property
    def domain(self) -> tuple[float, float]:
        """Open interval of ``eta`` on which the conjugate is finite."""
        return (-math.inf, math.inf)

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        """Name and parameters of the formulas in compiled code."""
        return ("elastic_net", (self.l1, self.l2))

    def log_mgf(self, eta: np.ndarray, _index: np.ndarray | None = None) -> np.ndarray:
        """Return the conjugate of each weight's term."""
        return np.square(soft_threshold(eta, self.l1)) / (2 * self.l2)

    def mean(self, eta: np.ndarray, _index: np.ndarray | None = None) -> np.ndarray:
        """Return the weights that belong to ``eta``, which are the slope of the conjugate."""
        return soft_threshold(eta, self.l1) / self.l2

    def variance(self, eta: np.ndarray, _index: np.ndarray | None = None) -> np.ndarray:
        """Return the curvature that steps assume: ``1 / l2``, or a small share of it where it is 0."""
        return np.where(np.abs(eta) >= self.l1, 1.0, FLAT) / self.l2


class L2Norm(ElasticNet):
    """The squared L2 norm (the sum of squares) times half the scale: ``scale |w|_2^2 / 2``.

    Parameters
    ----------
    scale : float, default=1.0
        Strength, not negative.  At 0, weights cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> L2Norm(2.0).value(np.array([1.0, -3.0])), L2Norm(2.0).conjugate(np.array([1.0, -3.0]))
    (10.0, 2.5)
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__(l1=0.0, l2=check_nonnegative("scale", scale))

    def __repr__(self) -> str:
        return f"L2Norm(scale={self.l2})"


class L1Norm(ElasticNet):
    """The L1 norm, the sum of magnitudes, ``scale |w|_1``.

    Parameters
    ----------
    scale : float, default=0.5
        Strength, positive.  In L1-M3N (its problem P1) it is a half.

    Examples
    --------
    >>> import numpy as np
    >>> L1Norm().value(np.array([1.0, -3.0])), L1Norm().conjugate(np.array([0.5, -0.2]))
    (2.0, 0.0)
    """

    def __init__(self, scale: float = 0.5) -> None:
        super().__init__(l1=check_positive("scale", scale), l2=0.0)

    def __repr__(self) -> str:
        return f"L1Norm(scale={self.l1})"

    def variances(self, weights: np.ndarray) -> np.ndarray:
        """Return the prior variances at which squares cost half the norm: ``|w_k| / scale``."""
        return np.abs(weights) / self.l1


def minimum_norm_subgradient(weights: np.ndarray, gradient: np.ndarray, l1: float) -> np.ndarray:
    """Return the minimum-norm subgradient of a smooth function plus ``l1 |w|_1``.

    Where ``w_k`` is not 0 it is ``gradient + l1 sign(w_k)``.  Where it is 0, it is the gradient moved
    towards 0 by ``l1``.  It vanishes only at an optimum.
    """
    at_zero = soft_threshold(gradient, l1)
    return np.where(weights == 0, at_zero, gradient + l1 * np.sign(weights))


def weight_bounds(gap: float, eta: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Bound the magnitude of each weight in every solution of L1-M3N, by ``gap / (1/2 - |eta_k|)``.

    A weight costs ``|w_k| / 2`` and earns at most ``|w_k| |eta_k|``.  The difference cannot exceed the
    gap.  So at the optimum a weight differs from 0 only where ``|eta_k| = 1/2`` (complementary
    slackness).  The bound is infinite where ``|eta_k|`` is a half, up to 1e-8.

    Parameters
    ----------
    gap : float
        Gap between a primal value and the dual value that belongs to ``eta``.
    eta : ndarray of shape (n_weights,)
        ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` of feasible dual variables: no entry beyond a half.
    rounding : float, default=0.0
        Smallest gap to trust, because a computed gap may be 0 only by rounding.

    Returns
    -------
    ndarray of shape (n_weights,)
        In no solution is a weight's magnitude larger than this.

    Examples
    --------
    >>> import numpy as np
    >>> weight_bounds(0.1, np.array([0.5, 0.25, 0.0]))
    array([inf, 0.4, 0.2])
    """
    room = 0.5 - np.abs(eta)
    bounds = np.full(len(eta), math.inf)
    clear = room > _LP_ROUNDING
    bounds[clear] = max(gap, rounding) / room[clear]
    return bounds


def soft_threshold(numbers: np.ndarray, threshold: float) -> np.ndarray:
    """Move numbers towards 0 by a threshold; those that would cross 0 become 0."""
    return numbers - np.clip(numbers, -threshold, threshold)


def largest_magnitude(eta: np.ndarray) -> float:
    """Return ``max |eta_k|``."""
    return float(np.abs(eta).max(initial=0.0))


@dataclass(frozen=True)
class PowerNorm:
    """A power of a norm, ``C / p |w|_p^p`` (Hazan and Urtasun 2010, equation 1).

    Parameters
    ----------
    C : float, default=1.0
        Strength; positive.
    p : float, default=2.0
        Exponent, above 1 and at most 2.  Near 1 many weights become small.

    Examples
    --------
    >>> import numpy as np
    >>> norm = PowerNorm(C=2.0, p=1.5)
    >>> weights = np.array([1.0, -4.0])
    >>> norm.value(weights), norm.gradient(weights)
    (12.0, array([ 2., -4.]))
    >>> eta = norm.gradient(weights)  # here value and conjugate add up to the inner product
    >>> round(norm.conjugate(eta) + norm.value(weights), 9), float(weights @ eta)
    (18.0, 18.0)
    """

    C: float = 1.0
    p: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "C", check_positive("C", self.C))
        object.__setattr__(self, "p", check_positive("p", self.p, most=2.0))
        if self.p <= 1:
            raise ValueError(f"p is {self.p}; expected an exponent above 1 and at most 2.")

    @property
    def q(self) -> float:
        """Exponent of the conjugate, ``1 / p + 1 / q = 1``."""
        return self.p / (self.p - 1.0)

    def value(self, weights: np.ndarray) -> float:
        """Return ``C / p |w|_p^p``."""
        if self.p == 2:
            return 0.5 * self.C * float(weights @ weights)
        return self.C / self.p * float(np.sum(np.abs(weights) ** self.p))

    def conjugate(self, eta: np.ndarray) -> float:
        """Return ``C^(1 - q) / q |eta|_q^q``, computed with logarithms because ``q`` may be large."""
        size = np.abs(eta[eta != 0])
        with np.errstate(over="ignore"):
            return (
                float(np.exp((1 - self.q) * math.log(self.C) + self.q * np.log(size)).sum())
                / self.q
            )

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """Return ``C |w|^(p - 1) sign(w)``."""
        if self.p == 2:
            return self.C * weights
        return self.C * np.sign(weights) * np.abs(weights) ** (self.p - 1)

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Return the second derivatives, which for ``p < 2`` are infinite at 0."""
        with np.errstate(divide="ignore"):
            return self.C * (self.p - 1) * np.abs(weights) ** (self.p - 2)

    def prox(self, weights: np.ndarray, step: float) -> np.ndarray:
        """Return the ``x`` that minimises ``|x - w|^2 / 2 + step C / p |x|_p^p``.

        Parameters
        ----------
        weights : ndarray
            The point ``w`` to stay near.
        step : float
            Step size: how much the norm counts against staying near.
        """
        scale, power = step * self.C, self.p - 1.0
        if self.p == 2:
            return weights / (1.0 + scale)
        # x + scale x^power = |w| for x >= 0: increasing and concave in log x, so Newton's method on
        # log x from above converges without overshooting
        size = np.abs(weights)
        with np.errstate(over="ignore"):
            x = np.minimum(size, (size / scale) ** (1.0 / power))
        for _ in range(_N_NEWTON):
            excess = x + scale * x**power - size
            slope = x + scale * power * x**power
            change = np.divide(excess, slope, out=np.zeros_like(x), where=slope > 0)
            x = x * np.exp(-change)
            if np.all(np.abs(change) < 1e-14):
                break
        return np.sign(weights) * x
