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
        """Return the ``s`` between 0 and 1 at which ``s * loss - R*(s * eta)`` is largest."""
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
        """Return the largest share that is feasible."""
        del loss
        return 0.5 / max(0.5, _largest(eta))


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
        """Return where the parabola ``s * loss - s^2 R*(eta)`` is highest, at most 1."""
        conjugate = self.conjugate(eta)
        return min(1.0, max(loss, 0.0) / (2 * conjugate)) if conjugate > 0 else 1.0


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
        """Return all or nothing: the dual grows in proportion to the share."""
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
        """Return all or nothing: the dual grows in proportion to the share."""
        return float(loss > self.conjugate(eta))


def _largest(eta: np.ndarray) -> float:
    return float(np.abs(eta).max(initial=0.0))
