"""Priors over weights, as one convex function each.

Maximum entropy discrimination (MEDN, Theorem 2) tilts a prior ``p0(w)`` by ``exp(eta * w)``.  All that
learning needs to know of the prior is its *log moment generating function*, one coordinate at a time,

    Lambda(eta) = log E_p0[exp(eta * w)],

because the posterior mean is its slope ``Lambda'(eta)`` (the shrinkage curve), the posterior
variance its curvature, and the divergence ``KL(p || p0)`` of a posterior with mean ``mu`` its convex
conjugate ``Lambda*(mu) = max_eta (eta * mu - Lambda(eta))``.

With the standard normal prior ``Lambda(eta) = eta**2 / 2``: the mean is ``eta`` itself, the divergence
``|mu|**2 / 2``, and MEDN is exactly the maximum margin Markov network M3N (Theorem 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from medn_edu.checks import check_positive

__all__ = ["GaussianPrior", "Prior"]


class Prior(Protocol):
    """What problems ask of a prior; every method works on whole vectors, coordinate by coordinate."""

    @property
    def domain(self) -> tuple[float, float]:
        """Open interval of ``eta`` on which ``log_mgf`` is finite."""
        ...

    def log_mgf(self, eta: np.ndarray) -> np.ndarray:
        """Log moment generating function ``Lambda(eta)``."""
        ...

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """Posterior mean ``Lambda'(eta)``."""
        ...

    def variance(self, eta: np.ndarray) -> np.ndarray:
        """Posterior variance ``Lambda''(eta)``."""
        ...

    def kl(self, mu: np.ndarray) -> np.ndarray:
        """Divergence ``KL(p || p0)`` of the tilted prior with mean ``mu``, ``Lambda*(mu)``."""
        ...


@dataclass(frozen=True)
class GaussianPrior:
    """Normal prior with mean 0 and one shared variance; at variance 1 MEDN is M3N (Theorem 3).

    Parameters
    ----------
    prior_variance : float, default=1.0
        Variance of every weight; positive.

    Raises
    ------
    ValueError
        If the variance is not a finite positive number.

    Examples
    --------
    >>> import numpy as np
    >>> prior = GaussianPrior()
    >>> eta = np.array([-1.0, 2.0])
    >>> prior.mean(eta)
    array([-1.,  2.])
    >>> prior.kl(prior.mean(eta))
    array([0.5, 2. ])
    """

    prior_variance: float = 1.0

    def __post_init__(self) -> None:
        check_positive("prior_variance", self.prior_variance)

    @property
    def domain(self) -> tuple[float, float]:
        """Open interval of ``eta`` on which ``log_mgf`` is finite: the whole line."""
        return (-math.inf, math.inf)

    def log_mgf(self, eta: np.ndarray) -> np.ndarray:
        """Log moment generating function, ``variance * eta**2 / 2``."""
        return 0.5 * self.prior_variance * np.square(eta)

    def mean(self, eta: np.ndarray) -> np.ndarray:
        """Posterior mean, ``variance * eta``: the shrinkage curve is a straight line."""
        return self.prior_variance * np.asarray(eta)

    def variance(self, eta: np.ndarray) -> np.ndarray:
        """Posterior variance, the prior's own whatever the data."""
        return np.full(np.shape(eta), self.prior_variance)

    def kl(self, mu: np.ndarray) -> np.ndarray:
        """Divergence from the prior, ``mu**2 / (2 variance)``."""
        return 0.5 * np.square(mu) / self.prior_variance

    def log_density(self, w: np.ndarray) -> np.ndarray:
        """Logarithm of the prior density at ``w``."""
        return -self.kl(w) - 0.5 * math.log(2 * math.pi * self.prior_variance)
