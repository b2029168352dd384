"""The normal prior, and the mixture of a point at 0 and a normal prior."""

# ruff: noqa: D102  # Prior says what each method is for
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import expit, logit

from medn_edu.checks import as_numbers, check_positive, shown
from medn_edu.priors.base import ClosedForm, Index, Prior, Shape, check_factor


@dataclass(frozen=True, eq=False)
class GaussianPrior(Prior):
    r"""Normal prior with mean 0.  With variance 1, MEDN is M3N (Theorem 3).

    .. math:: \Lambda(\eta) = v \eta^2 / 2, \qquad \Lambda'(\eta) = v \eta, \qquad
              \Lambda^*(\mu) = \mu^2 / 2v

    The shrinkage curve is a straight line: large and small weights shrink by the same factor.

    Parameters
    ----------
    prior_variance : float or array-like of shape (n_weights,), default=1.0
        Variance of all weights, or one for each weight; positive.  Algorithm 1 of MEDN needs one for
        each.

    Examples
    --------
    >>> prior = GaussianPrior()
    >>> eta = np.array([-1.0, 2.0])
    >>> prior.mean(eta)
    array([-1.,  2.])
    >>> prior.kl(prior.mean(eta))
    array([0.5, 2. ])

    Variances may differ from weight to weight:

    >>> prior = GaussianPrior([1.0, 0.1])
    >>> prior.mean(eta), prior.mean(eta[1:], index=np.array([1]))
    (array([-1. ,  0.2]), array([0.2]))
    """

    prior_variance: float | np.ndarray = 1.0
    domain = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        variance: Any = self.prior_variance
        if np.ndim(variance) > 0:
            variance = _positive_vector(variance)
        else:
            item = variance.item() if isinstance(variance, np.ndarray) else variance
            variance = check_positive("prior_variance", item)
        object.__setattr__(self, "prior_variance", variance)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return np.array_equal(self.prior_variance, other.prior_variance)

    def __hash__(self) -> int:
        return hash((type(self), np.shape(self.prior_variance), np.sum(self.prior_variance).item()))

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        shared = self.prior_variance if np.ndim(self.prior_variance) == 0 else math.nan
        return ("gaussian", (float(shared), 0.0))

    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        with np.errstate(over="ignore"):
            return 0.5 * self._variances(eta, index) * np.square(eta)

    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._variances(eta, index) * np.asarray(eta)

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return np.array(np.broadcast_to(self._variances(eta, index), np.shape(eta)))

    def kl(self, mu: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        with np.errstate(over="ignore"):
            return 0.5 * np.square(mu) / self._variances(mu, index)

    def log_density(self, w: np.ndarray) -> np.ndarray:
        return -self.kl(w) - 0.5 * np.log(2 * np.pi * self._variances(w, None))

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        z = rng.standard_normal(shape)
        return self.mean(eta, index) + np.sqrt(self._variances(eta, index)) * z

    def stretched(self, factor: float) -> GaussianPrior:
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, which is refused
            return GaussianPrior(check_factor(factor) ** 2 * self.prior_variance)

    def with_variance(self, variance: float) -> GaussianPrior:
        return GaussianPrior(variance)

    def _variances(self, eta: np.ndarray, index: np.ndarray | None) -> Any:
        """Return the variances of these weights, or the one that all weights share."""
        if np.ndim(self.prior_variance) == 0:
            return self.prior_variance
        variances = np.asarray(self.prior_variance)
        try:
            found = variances if index is None else variances[index]
        except IndexError:
            found = None
        if found is None or (index is None and np.shape(eta) != variances.shape):
            raise ValueError(
                f"prior_variance has one variance for each of {variances.size} weights, but eta or mu "
                f"has shape {np.shape(eta)}; expected a number for each weight, or an index."
            )
        return found


def _positive_vector(values: Any) -> np.ndarray:
    try:
        vector = as_numbers(values).copy()
    except TypeError:
        raise ValueError(
            f"prior_variance is {shown(values)}; expected a number > 0, or a vector of them."
        ) from None
    if vector.ndim != 1 or not vector.size or not np.all(np.isfinite(vector) & (vector > 0)):
        raise ValueError(
            f"prior_variance is an array of shape {vector.shape}; expected a number > 0, or a "
            "vector of finite numbers > 0, one for each weight."
        )
    vector.setflags(write=False)
    return vector


@dataclass(frozen=True)
class SpikeSlabPrior(ClosedForm):
    r"""Spike and slab: with probability ``pi`` a weight comes from a normal, otherwise it is 0.

    .. math:: p_0(w) = (1 - \pi) \delta_0(w) + \pi N(w; 0, v), \qquad
              \Lambda(\eta) = \log(1 - \pi + \pi e^{v \eta^2 / 2})

    This is the prior of feature selection.  Tilting changes the odds of being in the slab:

    .. math:: \Lambda'(\eta) = r v \eta, \qquad \log\frac{r}{1 - r} =
              \log\frac{\pi}{1 - \pi} + \frac{v \eta^2}{2}

    So a weight with a small natural parameter is shrunk towards 0, and one with a large natural
    parameter is hardly shrunk at all.  As a penalty on weights this would not be convex.  Learning
    is a convex program all the same, because every log moment generating function is convex.  This
    prior has no density.

    Parameters
    ----------
    pi : float, default=0.5
        Probability of the slab; above 0 and at most 1, where the prior is normal.
    slab_variance : float, default=1.0
        Variance ``v`` of the slab; positive.

    Examples
    --------
    >>> SpikeSlabPrior(pi=0.1).mean(np.array([1.0, 3.0, 5.0])).round(3)
    array([0.155, 2.727, 5.   ])
    """

    pi: float = 0.5
    slab_variance: float = 1.0
    largest: ClassVar = {"pi": 1e50, "slab_variance": 1e150}
    domain = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pi > 1:
            raise ValueError(f"pi is {self.pi!r}; expected a probability, at most 1.")

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        return ("spike_slab", (self.pi, self.slab_variance))

    def _log_mgf(self, eta: np.ndarray) -> np.ndarray:
        gain = 0.5 * self.slab_variance * np.square(eta)
        small = np.log1p(self.pi * np.expm1(np.minimum(gain, 1.0)))
        large = np.logaddexp(np.log1p(-self.pi), math.log(self.pi) + gain)
        return np.where(gain < 1.0, small, large)

    def _slab_logit(self, eta: np.ndarray) -> np.ndarray:
        """Log odds of the slab in the tilted prior."""
        return logit(self.pi) + 0.5 * self.slab_variance * np.square(eta)

    def _mean(self, eta: np.ndarray) -> np.ndarray:
        return expit(self._slab_logit(eta)) * self.slab_variance * eta

    def _variance(self, eta: np.ndarray) -> np.ndarray:
        odds = self._slab_logit(eta)
        spread = np.sqrt(expit(odds) * expit(-odds)) * self.slab_variance * eta
        return expit(odds) * self.slab_variance + np.square(spread)

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        in_slab = rng.random(shape) < expit(self._slab_logit(eta))
        spread = math.sqrt(self.slab_variance) * rng.standard_normal(shape)
        return np.where(in_slab, self.slab_variance * eta + spread, 0.0)

    def stretched(self, factor: float) -> SpikeSlabPrior:
        return SpikeSlabPrior(self.pi, check_factor(factor) ** 2 * self.slab_variance)
