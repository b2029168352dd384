"""What a norm-regularised margin problem charges for its weights.

M3N charges ``|w|^2 / 2``.  L1-M3N charges ``|w|_1 / 2``, which has a kink where a weight is 0, so that
weights stay there unless the evidence for them is worth the price.  Three more charges have the same
solutions, at other constants (`medn_edu.problems.constants`): a ball that the weights may not leave,
and the square of the norm.  All that a problem needs to know of a charge ``R`` is its value and its
convex conjugate,

    R*(eta) = max_w  eta . w - R(w),

for the dual reads ``max_alpha  sum alpha_i(y) loss_i(y) - R*(eta)``:

===================  =======================  ===================================
`L1Norm`             ``|w|_1 / 2``            0 where ``max |eta_k| <= 1/2``
`SquaredL1Norm`      ``scale |w|_1^2``        ``max |eta_k|^2 / (4 scale)``
`L1Ball`             0 where ``|w|_1 <= r``   ``r max |eta_k|``
`L2Ball`             0 where ``|w|_2 <= r``   ``r |eta|_2``
===================  =======================  ===================================

and infinity elsewhere.  Masses that are not the best can be scaled down, the rest going to the true
labellings; ``share`` says how much of them is best.

The first two are also the least that squares can cost when their prices are free to adapt,

    |w|_1 / 2     = min_v        sum_k w_k^2 / (2 v_k) + v_k / 8        at v_k = 2 |w_k|,
    scale |w|_1^2 = min_v        sum_k w_k^2 / (2 v_k)                  at v_k = |w_k| / (2 scale |w|_1),
                    where sum_k v_k = 1 / (2 scale)

the first because a number and its inverse are best where both terms cost the same, the second by the
inequality of Cauchy and Schwarz.  ``variances`` returns the best ``v``; with these fixed what remains is
M3N with normal priors of these variances (`medn_edu.solvers.textbook.adaptive_m3n`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from medn_edu.checks import check_positive

__all__ = ["L1Ball", "L1Norm", "L2Ball", "Norm", "SquaredL1Norm"]

_ROUNDING = 1e-9  # relative; how far outside its ball a projected point may be


class Norm(Protocol):
    """A charge for weights, and its convex conjugate."""

    def value(self, weights: np.ndarray) -> float:
        """Charge ``R(w)``."""
        ...

    def conjugate(self, eta: np.ndarray) -> float:
        """Conjugate ``R*(eta)``."""
        ...

    def share(self, loss: float, eta: np.ndarray) -> float:
        """Return the ``s`` between 0 and 1 at which ``s * loss - R*(s * eta)`` is largest.

        Parameters
        ----------
        loss : float
            ``sum alpha_i(y) loss_i(y)``.
        eta : ndarray of shape (n_weights,)
            ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``.
        """
        ...


@dataclass(frozen=True)
class L1Norm:
    """Half the sum of the magnitudes: the charge of L1-M3N (its problem P1).

    Examples
    --------
    >>> import numpy as np
    >>> L1Norm().value(np.array([1.0, -3.0])), L1Norm().conjugate(np.array([0.5, -0.2]))
    (2.0, 0.0)
    """

    def value(self, weights: np.ndarray) -> float:
        """Charge ``|w|_1 / 2``."""
        return 0.5 * math.fsum(np.abs(weights))

    def conjugate(self, eta: np.ndarray) -> float:
        """Conjugate: 0 where no ``|eta_k|`` exceeds a half, infinite elsewhere."""
        return 0.0 if _largest(eta) <= 0.5 * (1 + _ROUNDING) else math.inf

    def share(self, loss: float, eta: np.ndarray) -> float:
        """Return the largest share that is feasible.

        Parameters
        ----------
        loss : float
            ``sum alpha_i(y) loss_i(y)``.
        eta : ndarray of shape (n_weights,)
            ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``.
        """
        del loss
        return 0.5 / max(0.5, _largest(eta))

    def variances(self, weights: np.ndarray) -> np.ndarray:
        """Return the variances at which squares cost as much as this charge: ``2 |w_k|``."""
        return 2 * np.abs(weights)


@dataclass(frozen=True)
class SquaredL1Norm:
    """A multiple of the squared sum of the magnitudes: the adaptive M3N (L1-M3N, problem P4).

    Parameters
    ----------
    scale : float
        Factor, positive; ``lam / K`` in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> charge = SquaredL1Norm(scale=0.5)
    >>> charge.value(np.array([1.0, -3.0])), charge.conjugate(np.array([0.5, -0.2]))
    (8.0, 0.125)
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def value(self, weights: np.ndarray) -> float:
        """Charge ``scale |w|_1^2``."""
        return self.scale * math.fsum(np.abs(weights)) ** 2

    def conjugate(self, eta: np.ndarray) -> float:
        """Conjugate ``max |eta_k|^2 / (4 scale)``."""
        return _largest(eta) ** 2 / (4 * self.scale)

    def share(self, loss: float, eta: np.ndarray) -> float:
        """Return where the parabola ``s * loss - s^2 R*(eta)`` is highest, at most 1.

        Parameters
        ----------
        loss : float
            ``sum alpha_i(y) loss_i(y)``.
        eta : ndarray of shape (n_weights,)
            ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``.
        """
        conjugate = self.conjugate(eta)
        return min(1.0, max(loss, 0.0) / (2 * conjugate)) if conjugate > 0 else 1.0

    def variances(self, weights: np.ndarray) -> np.ndarray:
        """Return the variances at which squares cost as much: ``|w_k| / (2 scale |w|_1)``.

        Half the paper's ``tau_k``, which charges ``w_k^2 / tau_k`` (its Eq. 4).  Weights of 0 have none.
        """
        magnitudes = np.abs(weights)
        return magnitudes / (2 * self.scale * math.fsum(magnitudes))


@dataclass(frozen=True)
class L1Ball:
    """Weights whose magnitudes add up to at most a radius (L1-M3N, problem P1').

    Parameters
    ----------
    radius : float
        The radius, positive.

    Examples
    --------
    >>> import numpy as np
    >>> ball = L1Ball(radius=2.0)
    >>> ball.value(np.array([1.0, -3.0])), ball.conjugate(np.array([0.5, -0.2]))
    (inf, 1.0)
    """

    radius: float

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    def value(self, weights: np.ndarray) -> float:
        """Charge: 0 inside the ball, infinite outside."""
        inside = math.fsum(np.abs(weights)) <= self.radius * (1 + _ROUNDING)
        return 0.0 if inside else math.inf

    def conjugate(self, eta: np.ndarray) -> float:
        """Conjugate ``radius max |eta_k|``."""
        return self.radius * _largest(eta)

    def share(self, loss: float, eta: np.ndarray) -> float:
        """Return all or nothing: the dual grows in proportion to the share.

        Parameters
        ----------
        loss : float
            ``sum alpha_i(y) loss_i(y)``.
        eta : ndarray of shape (n_weights,)
            ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``.
        """
        return float(loss > self.conjugate(eta))


@dataclass(frozen=True)
class L2Ball:
    """Weights of a Euclidean norm of at most a radius: M3N in the form of P1'.

    Parameters
    ----------
    radius : float
        The radius, positive.

    Examples
    --------
    >>> import numpy as np
    >>> ball = L2Ball(radius=5.0)
    >>> ball.value(np.array([3.0, -4.0])), ball.conjugate(np.array([3.0, -4.0]))
    (0.0, 25.0)
    """

    radius: float

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    def value(self, weights: np.ndarray) -> float:
        """Charge: 0 inside the ball, infinite outside."""
        inside = float(np.linalg.norm(weights)) <= self.radius * (1 + _ROUNDING)
        return 0.0 if inside else math.inf

    def conjugate(self, eta: np.ndarray) -> float:
        """Conjugate ``radius |eta|_2``."""
        return self.radius * float(np.linalg.norm(eta))

    def share(self, loss: float, eta: np.ndarray) -> float:
        """Return all or nothing: the dual grows in proportion to the share.

        Parameters
        ----------
        loss : float
            ``sum alpha_i(y) loss_i(y)``.
        eta : ndarray of shape (n_weights,)
            ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``.
        """
        return float(loss > self.conjugate(eta))


def _largest(eta: np.ndarray) -> float:
    return float(np.abs(eta).max(initial=0.0))
