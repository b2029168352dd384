"""The squared L1 norm, and balls: regularisers that the comparison solvers need.

===================  ===========================  ==================================
regulariser          ``R(w)``                     ``R*(eta)``
===================  ===========================  ==================================
`SquaredL1Norm`      ``scale |w|_1^2``            ``max |eta_k|^2 / (4 scale)``
`L1Ball`             0 where ``|w|_1 <= r``       ``r max |eta_k|``
`L2Ball`             0 where ``|w|_2 <= r``       ``r |eta|_2``
===================  ===========================  ==================================

Outside a ball, ``R(w)`` is infinite.  The first two have the solutions of L1-M3N at other constants
(`medn_edu.problems.textbook.constants`).  `L2Ball` has those of M3N.

The L1 norm and its square are also the smallest cost that squared weights can have if their variances
``v_k`` may adapt:

    scale |w|_1   = min_v  sum_k w_k^2 / (2 v_k) + scale^2 v_k / 2   at v_k = |w_k| / scale,
    scale |w|_1^2 = min_v  sum_k w_k^2 / (2 v_k)                     at v_k = |w_k| / (2 scale |w|_1),
                    where sum_k v_k = 1 / (2 scale)

The first line follows from the inequality of the arithmetic and geometric means, the second from the
Cauchy-Schwarz inequality.  ``variances`` returns the best ``v``.  If ``v`` is held fixed, the problem is
M3N with normal priors of these variances (`medn_edu.solvers.adaptive_m3n`).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.problems.regularisers import ROUNDING, largest_magnitude


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
    >>> squared = SquaredL1Norm(scale=0.5)
    >>> squared.value(np.array([1.0, -3.0])), squared.conjugate(np.array([0.5, -0.2]))
    (8.0, 0.125)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_positive("scale", self.scale))

    def value(self, weights: np.ndarray) -> float:
        """Return ``scale |w|_1^2``."""
        return self.scale * math.fsum(np.abs(weights)) ** 2

    def conjugate(self, eta: np.ndarray) -> float:
        """Return ``max |eta_k|^2 / (4 scale)``."""
        return largest_magnitude(eta) ** 2 / (4 * self.scale)

    def dual_scaling(self, loss: float, eta: np.ndarray) -> float:
        """Return where the parabola ``t * loss - t^2 R*(eta)`` is highest, at most 1.

        Parameters
        ----------
        loss, eta : float and ndarray
            As for `ElasticNet.dual_scaling`.
        """
        conjugate = self.conjugate(eta)
        return min(1.0, max(loss, 0.0) / (2 * conjugate)) if conjugate > 0 else 1.0

    def variances(self, weights: np.ndarray) -> np.ndarray:
        """Return the variances at which squares cost the same: ``|w_k| / (2 scale |w|_1)``.

        These are half the paper's ``tau_k``, where squares cost ``w_k^2 / tau_k`` (its Eq. 4).  Weights
        of 0 have a variance of 0.
        """
        magnitudes = np.abs(weights)
        return magnitudes / (2 * self.scale * math.fsum(magnitudes))


@dataclass(frozen=True)
class _Ball(ABC):
    """Weights of a norm of at most a radius cost nothing, all others infinitely much."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check_positive("radius", self.radius))

    @abstractmethod
    def _norm(self, weights: np.ndarray) -> float: ...

    @abstractmethod
    def _dual_norm(self, eta: np.ndarray) -> float: ...

    def value(self, weights: np.ndarray) -> float:
        """Return 0 inside the ball, infinity outside."""
        return 0.0 if self._norm(weights) <= self.radius * (1 + ROUNDING) else math.inf

    def conjugate(self, eta: np.ndarray) -> float:
        """Return the radius times the dual norm of ``eta``."""
        return self.radius * self._dual_norm(eta)

    def dual_scaling(self, loss: float, eta: np.ndarray) -> float:
        """Return 0 or 1: the dual value is proportional to the factor.

        Parameters
        ----------
        loss, eta : float and ndarray
            As for `ElasticNet.dual_scaling`.
        """
        return float(loss > self.conjugate(eta))


class L1Ball(_Ball):
    """Weights with magnitudes that add up to at most a radius (L1-M3N, problem P1').

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

    def _norm(self, weights: np.ndarray) -> float:
        return math.fsum(np.abs(weights))

    def _dual_norm(self, eta: np.ndarray) -> float:
        return largest_magnitude(eta)


class L2Ball(_Ball):
    """Weights with a Euclidean norm of at most a radius: M3N in the form of P1'.

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

    def _norm(self, weights: np.ndarray) -> float:
        return float(np.linalg.norm(weights))

    def _dual_norm(self, eta: np.ndarray) -> float:
        return self._norm(eta)
