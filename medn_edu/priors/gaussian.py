"""The normal prior, and the mixture of nothing and a normal prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from medn_edu.checks import as_numbers, check_count, check_positive, shown
from medn_edu.priors._numerics import conjugate
from medn_edu.priors.base import Prior, _check_factor, _check_tilts, _ClosedForm

__all__ = ["GaussianPrior", "SpikeSlabPrior"]


@dataclass(frozen=True, eq=False)
class GaussianPrior(Prior):
    r"""Normal prior with mean 0; at variance 1 MEDN is M3N (Theorem 3).

    .. math:: \Lambda(\eta) = v \eta^2 / 2, \qquad \Lambda'(\eta) = v \eta, \qquad
              \Lambda^*(\mu) = \mu^2 / 2v

    The shrinkage curve is a straight line: nothing is shrunk more than anything else.

    Parameters
    ----------
    prior_variance : float or array-like of shape (n_weights,), default=1.0
        Variance of every weight, or one for each; positive.  Algorithm 1 of MEDN uses the latter.

    Raises
    ------
    ValueError
        If a variance is not a finite positive number.

    Examples
    --------
    >>> import numpy as np
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

    def __post_init__(self) -> None:
        if np.ndim(self.prior_variance) == 0:
            variance = self.prior_variance
            item = variance.item() if isinstance(variance, np.ndarray) else variance
            object.__setattr__(self, "prior_variance", check_positive("prior_variance", item))
        else:
            object.__setattr__(self, "prior_variance", _positive_vector(self.prior_variance))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return np.array_equal(self.prior_variance, other.prior_variance)

    def __hash__(self) -> int:
        return hash((type(self), np.shape(self.prior_variance), np.sum(self.prior_variance).item()))

    @property
    def domain(self) -> tuple[float, float]:
        """Open interval of ``eta`` on which ``log_mgf`` is finite: the whole line."""
        return (-math.inf, math.inf)

    @property
    def compiled(self) -> tuple[str, tuple[float, float]] | None:
        """Name of the formulas in compiled code, which asks `variance` for the variances."""
        shared = self.prior_variance if np.ndim(self.prior_variance) == 0 else math.nan
        return ("gaussian", (float(shared), 0.0))

    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:  # noqa: D102
        with np.errstate(over="ignore"):
            return 0.5 * self._variances(eta, index) * np.square(eta)

    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:  # noqa: D102
        return self._variances(eta, index) * np.asarray(eta)

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:  # noqa: D102
        return np.array(np.broadcast_to(self._variances(eta, index), np.shape(eta)))

    def kl(self, mu: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:  # noqa: D102
        with np.errstate(over="ignore"):
            return 0.5 * np.square(mu) / self._variances(mu, index)

    def log_density(self, w: np.ndarray) -> np.ndarray:
        """Logarithm of the prior density at ``w``."""
        return -self.kl(w) - 0.5 * np.log(2 * np.pi * self._variances(w, None))

    def draw(  # noqa: D102
        self,
        eta: np.ndarray,
        rng: np.random.Generator,
        n_draws: int,
        index: np.ndarray | None = None,
    ) -> np.ndarray:
        eta = _check_tilts(self, eta, rng)
        z = rng.standard_normal((check_count("n_draws", n_draws), *eta.shape))
        return self.mean(eta, index) + np.sqrt(self._variances(eta, index)) * z

    def stretched(self, factor: float) -> GaussianPrior:
        """Return the prior of ``factor * w``."""
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, which is refused
            return GaussianPrior(_check_factor(factor) ** 2 * self.prior_variance)

    def with_variance(self, variance: float) -> GaussianPrior:
        """Return the normal prior with this variance, shared by all weights."""
        return GaussianPrior(variance)

    def _variances(self, eta: np.ndarray, index: np.ndarray | None) -> Any:
        """Return the variances of the weights handed over, or the one that all share."""
        if np.ndim(self.prior_variance) == 0:
            return self.prior_variance
        variances = np.asarray(self.prior_variance)
        if index is not None:
            return variances[index]
        if np.shape(eta) != variances.shape:
            raise ValueError(
                f"prior_variance has one variance for each of {variances.size} weights and was asked "
                f"about an array of shape {np.shape(eta)}; expected all weights, or an index."
            )
        return variances


def _positive_vector(values: Any) -> np.ndarray:
    try:
        vector = as_numbers(values).copy()
    except TypeError:
        raise ValueError(
            f"prior_variance is {shown(values)}; expected a number > 0, or a vector of them."
        ) from None
    if vector.ndim != 1 or not vector.size or not np.all(np.isfinite(vector) & (vector > 0)):
        raise ValueError(
            f"prior_variance is an array of shape {vector.shape}; expected a number > 0, or a vector "
            "of finite numbers > 0, one for each weight."
        )
    vector.setflags(write=False)
    return vector


@dataclass(frozen=True)
class SpikeSlabPrior(_ClosedForm):
    r"""Spike and slab: a weight is exactly 0, or with probability ``pi`` drawn from a normal.

    .. math:: p_0(w) = (1 - \pi) \delta_0(w) + \pi N(w; 0, v), \qquad
              \Lambda(\eta) = \log(1 - \pi + \pi e^{v \eta^2 / 2})

    The prior of feature selection.  Tilting moves the odds of being in the slab:

    .. math:: \Lambda'(\eta) = r v \eta, \qquad \log\frac{r}{1 - r} =
              \log\frac{\pi}{1 - \pi} + \frac{v \eta^2}{2}

    so that weights with little evidence are shrunk towards 0 and those with much are not shrunk at
    all.  As a penalty on weights it would not be convex, yet here the program is: every
    log moment generating function is convex.  It has no density.

    Parameters
    ----------
    pi : float, default=0.5
        Probability of the slab; above 0 and at most 1, where the prior is normal.
    slab_variance : float, default=1.0
        Variance ``v`` of the slab; positive.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> SpikeSlabPrior(pi=0.1).mean(np.array([1.0, 3.0, 5.0])).round(3)
    array([0.155, 2.727, 5.   ])
    """

    pi: float = 0.5
    slab_variance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "pi", check_positive("pi", self.pi, most=1e50))
        if self.pi > 1:
            raise ValueError(f"pi is {self.pi!r}; expected a probability, at most 1.")
        object.__setattr__(
            self, "slab_variance", check_positive("slab_variance", self.slab_variance, most=1e150)
        )

    @property
    def domain(self) -> tuple[float, float]:
        """Open interval of ``eta`` on which ``log_mgf`` is finite: the whole line."""
        return (-math.inf, math.inf)

    @property
    def compiled(self) -> tuple[str, tuple[float, float]] | None:
        """Name and parameters of the formulas in compiled code."""
        return ("spike_slab", (float(self.pi), float(self.slab_variance)))

    def _log_mgf(self, eta: np.ndarray) -> np.ndarray:
        gain = 0.5 * self.slab_variance * np.square(eta)
        small = np.log1p(self.pi * np.expm1(np.minimum(gain, 1.0)))
        large = np.logaddexp(np.log1p(-self.pi), math.log(self.pi) + gain)
        return np.where(gain < 1.0, small, large)

    def _slab_logit(self, eta: np.ndarray) -> np.ndarray:
        """Log odds of the slab once the prior has been tilted."""
        return logit(self.pi) + 0.5 * self.slab_variance * np.square(eta)

    def _mean(self, eta: np.ndarray) -> np.ndarray:
        return expit(self._slab_logit(eta)) * self.slab_variance * eta

    def _variance(self, eta: np.ndarray) -> np.ndarray:
        odds = self._slab_logit(eta)
        spread = np.sqrt(expit(odds) * expit(-odds)) * self.slab_variance * eta
        return expit(odds) * self.slab_variance + np.square(spread)

    def _kl(self, mu: np.ndarray) -> np.ndarray:
        return conjugate(self, mu, None)

    def _draw(
        self, eta: np.ndarray, rng: np.random.Generator, shape: tuple[int, ...]
    ) -> np.ndarray:
        in_slab = rng.random(shape) < expit(self._slab_logit(eta))
        spread = math.sqrt(self.slab_variance) * rng.standard_normal(shape)
        return np.where(in_slab, self.slab_variance * eta + spread, 0.0)

    def stretched(self, factor: float) -> SpikeSlabPrior:
        """Return the prior of ``factor * w``."""
        return SpikeSlabPrior(self.pi, _check_factor(factor) ** 2 * self.slab_variance)
