"""Priors with exponential tails, which cannot be normalised beyond a certain natural parameter."""

# ruff: noqa: D102  # Prior says what each method is for
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, k1e, kve

from medn_edu.priors.base import ClosedForm, Index, Shape, check_factor


class _VarianceGamma(ClosedForm):
    """Normal weights with gamma distributed variances: ``Lambda = -shape log(1 - eta^2 / lam)``."""

    shape: float
    lam: float

    @property
    def domain(self) -> tuple[float, float]:
        end = math.sqrt(self.lam)
        return (-end, end)

    def _left(self, eta: np.ndarray) -> np.ndarray:
        """Return ``lam - eta^2``, positive at every number inside the domain."""
        _, end = self.domain
        return (end - eta) * (end + eta)

    def _log_mgf(self, eta: np.ndarray) -> np.ndarray:
        _, end = self.domain
        x = np.abs(eta) / end
        small = np.log1p(-np.square(np.minimum(x, 0.5)))
        large = np.log((end - np.abs(eta)) / end) + np.log1p(x)
        return -self.shape * np.where(x < 0.5, small, large)

    def _mean(self, eta: np.ndarray) -> np.ndarray:
        return 2 * self.shape * eta / self._left(eta)

    def _variance(self, eta: np.ndarray) -> np.ndarray:
        left = self._left(eta)
        return 2 * self.shape * (self.lam + np.square(eta)) / left / left

    def _kl(self, mu: np.ndarray) -> np.ndarray:
        # mu eta = root - shape and lam / (lam - eta^2) = (root + shape) / (2 shape) = 1 + t
        scaled = math.sqrt(self.lam) * np.abs(mu)
        root = np.hypot(self.shape, scaled)
        t = scaled * (scaled / (root + self.shape)) / (2 * self.shape)
        t = np.where(np.isinf(scaled), np.inf, t)
        return self.shape * np.where(np.isinf(t), np.inf, 2 * t - np.log1p(t))

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        # Lambda = -shape [log(1 - eta / end) + log(1 + eta / end)] is a sum of two, so w is the
        # difference of two independent gamma numbers (for the Laplace prior, exponential numbers)
        _, end = self.domain
        above, below = rng.standard_gamma(self.shape, shape), rng.standard_gamma(self.shape, shape)
        return above / (end - eta) - below / (end + eta)


@dataclass(frozen=True)
class LaplacePrior(_VarianceGamma):
    r"""Laplace prior: peaked at 0, with exponential tails (MEDN, section 3.3).

    .. math:: p_0(w) = \frac{\sqrt\lambda}{2} e^{-\sqrt\lambda |w|}, \qquad
              \Lambda(\eta) = -\log\Big(1 - \frac{\eta^2}{\lambda}\Big), \qquad
              \Lambda'(\eta) = \frac{2 \eta}{\lambda - \eta^2}

    The slope is the shrinkage curve of Corollary 7.  The conjugate is the KL-norm of Corollary 6,

    .. math:: \Lambda^*(\mu) = \sqrt{1 + \lambda \mu^2} - 1
              - \log\frac{\sqrt{1 + \lambda \mu^2} + 1}{2},

    a parabola near 0 and almost :math:`\sqrt\lambda |\mu|` far away.  The prior's variance is
    :math:`2 / \lambda`.

    Parameters
    ----------
    lam : float, default=1.0
        The papers' ``lambda``, the square of the rate at which the tails fall; positive.

    Examples
    --------
    >>> prior = LaplacePrior(lam=4.0)
    >>> prior.domain
    (-2.0, 2.0)
    >>> prior.mean(np.array([0.0, 1.0, 1.9, 2.0])).round(3)
    array([0.   , 0.667, 9.744,   inf])
    """

    shape: ClassVar[float] = 1.0  # type: ignore[misc]  # a field of its relatives
    lam: float = 1.0
    largest: ClassVar = {"lam": math.inf}

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        return ("normal_gamma", (1.0, self.lam))

    def log_density(self, w: np.ndarray) -> np.ndarray:
        rate = math.sqrt(self.lam)
        return math.log(rate / 2) - rate * np.abs(w)

    def stretched(self, factor: float) -> LaplacePrior:
        return LaplacePrior(self.lam / check_factor(factor) ** 2)


@dataclass(frozen=True)
class NormalGammaPrior(_VarianceGamma):
    r"""Normal weights with gamma distributed variances: from Laplace to Gaussian, and beyond.

    .. math:: w \mid \tau &\sim N(0, \tau), \quad \tau \sim \text{Gamma}(\text{shape}, \lambda / 2)

              \Lambda(\eta) &= -\text{shape} \log\Big(1 - \frac{\eta^2}{\lambda}\Big)

    Shape 1 is the Laplace prior: its variances are exponentially distributed (MEDN (4)).  With a
    large shape the variances hardly differ, and with :math:`\lambda = 2\,\text{shape} / v` the
    prior becomes :math:`N(0, v)`.  A small shape asks for more sparsity than the Laplace prior.
    The prior's variance is :math:`2\,\text{shape} / \lambda`.

    Parameters
    ----------
    shape : float, default=2.0
        Shape of the gamma distribution; positive.
    lam : float, default=1.0
        Twice its rate, and the square of the rate at which the tails fall; positive.

    Examples
    --------
    >>> eta = np.array([0.5, 1.9])
    >>> NormalGammaPrior(shape=1.0, lam=4.0).mean(eta) == LaplacePrior(lam=4.0).mean(eta)
    array([ True,  True])
    """

    shape: float = 2.0
    lam: float = 1.0
    largest: ClassVar = {"shape": 1e15, "lam": 1e150}

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        return ("normal_gamma", (self.shape, self.lam))

    def log_density(self, w: np.ndarray) -> np.ndarray:
        """Logarithm of the prior density at ``w``; infinite at 0 if the shape is at most 1/2."""
        order, rate = self.shape - 0.5, math.sqrt(self.lam)
        x = rate * np.abs(np.asarray(w, dtype=float))
        constant = math.log(rate) - 0.5 * math.log(math.pi) - gammaln(self.shape)
        at_zero = gammaln(order) - math.log(2) if order > 0 else math.inf
        with np.errstate(all="ignore"):
            values = order * np.log(0.5 * x) + _log_bessel_k(order, x)
        return constant + np.where(x > 0, values, at_zero)

    def stretched(self, factor: float) -> NormalGammaPrior:
        return NormalGammaPrior(self.shape, self.lam / check_factor(factor) ** 2)


def _log_bessel_k(order: float, x: np.ndarray) -> np.ndarray:
    """Logarithm of the modified Bessel function of the second kind, also where it overflows."""
    order = abs(order)
    exact = np.log(kve(order, x)) - x
    if order < 30:  # overflows at tiny x only, where the leading term is the function
        spare = gammaln(order) - math.log(2) - order * np.log(0.5 * x)
    else:  # Debye's expansion (DLMF 10.41.4)
        z = x / order
        root = np.hypot(1.0, z)
        t = 1 / root
        series = (
            1
            - (3 * t - 5 * t**3) / (24 * order)
            + (81 * t**2 - 462 * t**4 + 385 * t**6) / (1152 * order**2)
        )
        exponent = root + np.log(z / (1 + root))
        spare = 0.5 * np.log(math.pi * t / (2 * order)) - order * exponent + np.log(series)
    return np.where(np.isfinite(exact), exact, spare)


@dataclass(frozen=True)
class NormalInverseGaussianPrior(ClosedForm):
    r"""Normal weights with inverse Gaussian variances.

    .. math:: \Lambda(\eta) &= \delta (\alpha - \sqrt{\alpha^2 - \eta^2}), \qquad
              \Lambda'(\eta) = \frac{\delta \eta}{\sqrt{\alpha^2 - \eta^2}}

              \Lambda^*(\mu) &= \alpha (\sqrt{\delta^2 + \mu^2} - \delta)

    The graph of ``log_mgf`` is an arc of an ellipse, and that of its conjugate is an arc of a
    hyperbola.  This penalty on the mean is the *pseudo-Huber* function, a smooth ``|mu|``.  At the
    ends of the domain ``log_mgf`` stays finite, but its slope does not, which is all that a *steep*
    prior needs.  The prior's variance is :math:`\delta / \alpha`.

    Parameters
    ----------
    alpha : float, default=1.0
        Rate at which the tails fall; positive.
    delta : float, default=1.0
        Scale; positive.

    Examples
    --------
    >>> prior = NormalInverseGaussianPrior(alpha=5.0, delta=2.0)
    >>> prior.mean(np.array([0.0, 3.0, 4.0])).round(3)
    array([0.   , 1.5  , 2.667])
    >>> prior.kl(np.array([0.0, 1.5])).round(3)
    array([0. , 2.5])
    """

    alpha: float = 1.0
    delta: float = 1.0
    largest: ClassVar = {"alpha": 1e50, "delta": 1e50}

    @property
    def domain(self) -> tuple[float, float]:
        return (-self.alpha, self.alpha)

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        return ("normal_inverse_gaussian", (self.alpha, self.delta))

    def _root(self, eta: np.ndarray) -> np.ndarray:
        return np.sqrt(self.alpha - eta) * np.sqrt(self.alpha + eta)

    def _log_mgf(self, eta: np.ndarray) -> np.ndarray:
        return self.delta * eta * (eta / (self.alpha + self._root(eta)))

    def _mean(self, eta: np.ndarray) -> np.ndarray:
        return self.delta * eta / self._root(eta)

    def _variance(self, eta: np.ndarray) -> np.ndarray:
        root = self._root(eta)
        return self.delta / root * np.square(self.alpha / root)

    def _kl(self, mu: np.ndarray) -> np.ndarray:
        mu = np.abs(mu)
        values = self.alpha * mu * (mu / (np.hypot(self.delta, mu) + self.delta))
        return np.where(np.isinf(mu), np.inf, values)

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        # given its variance tau the weight is N(eta tau, tau), and tau is again inverse Gaussian
        tau = rng.wald(self.delta / self._root(eta), self.delta**2, shape)
        return eta * tau + np.sqrt(tau) * rng.standard_normal(shape)

    def log_density(self, w: np.ndarray) -> np.ndarray:
        distance = np.hypot(self.delta, w)
        with np.errstate(all="ignore"):
            bessel = np.log(k1e(self.alpha * distance)) - self.alpha * (distance - self.delta)
        return math.log(self.alpha * self.delta / math.pi) + bessel - np.log(distance)

    def stretched(self, factor: float) -> NormalInverseGaussianPrior:
        check_factor(factor)
        return NormalInverseGaussianPrior(self.alpha / factor, self.delta * factor)


@dataclass(frozen=True)
class ExponentialPrior(ClosedForm):
    r"""Exponential prior: weights that are not negative.

    .. math:: p_0(w) &= \text{rate}\, e^{-\text{rate}\, w} \ (w \ge 0)

              \Lambda(\eta) &= -\log\Big(1 - \frac{\eta}{\text{rate}}\Big), \qquad
              \Lambda'(\eta) = \frac{1}{\text{rate} - \eta}

    At :math:`\eta = 0` the mean is ``1 / rate``, not 0.  A negative natural parameter brings it
    closer to 0.  The domain has only one finite end.  The divergence :math:`\text{rate}\,\mu - 1 -
    \log(\text{rate}\,\mu)` is infinite unless :math:`\mu > 0`.

    Parameters
    ----------
    rate : float, default=1.0
        Rate at which the tail falls; positive.

    Examples
    --------
    >>> prior = ExponentialPrior(rate=2.0)
    >>> prior.mean(np.array([-8.0, 0.0, 1.0]))
    array([0.1, 0.5, 1. ])
    >>> prior.kl(np.array([-0.1, 0.5]))
    array([inf,  0.])
    """

    rate: float = 1.0
    largest: ClassVar = {"rate": 1e150}

    @property
    def domain(self) -> tuple[float, float]:
        return (-math.inf, self.rate)

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        return ("exponential", (self.rate, 0.0))

    def _log_mgf(self, eta: np.ndarray) -> np.ndarray:
        near_end = np.log((self.rate - eta) / self.rate)
        return -np.where(eta < 0.5 * self.rate, np.log1p(-eta / self.rate), near_end)

    def _mean(self, eta: np.ndarray) -> np.ndarray:
        return 1 / (self.rate - eta)

    def _variance(self, eta: np.ndarray) -> np.ndarray:
        return np.square(1 / (self.rate - eta))

    def _kl(self, mu: np.ndarray) -> np.ndarray:
        scaled = self.rate * mu
        values = np.maximum(scaled - 1 - np.log(scaled), 0.0)
        return np.where((mu <= 0) | np.isinf(mu), np.inf, values)

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        return rng.standard_exponential(shape) / (self.rate - eta)

    def log_density(self, w: np.ndarray) -> np.ndarray:
        w = np.asarray(w, dtype=float)
        return np.where(w >= 0, math.log(self.rate) - self.rate * w, -np.inf)

    def stretched(self, factor: float) -> ExponentialPrior:
        return ExponentialPrior(self.rate / check_factor(factor))
