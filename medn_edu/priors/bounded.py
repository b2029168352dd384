"""Priors that keep every weight between two bounds, however large the natural parameter is."""

# ruff: noqa: D102  # Prior says what each method is for
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.random import Generator
from scipy.special import bernoulli, expit, factorial, xlog1py

from medn_edu.priors._numerics import solve_kl
from medn_edu.priors.base import ClosedForm, Index, Shape, check_factor

# coth(x) - 1/x = sum_n c_n x^(2n - 1) with c_n = 4^n B_2n / (2n)!, used up to |x| = 1/2
_EVEN = 2 * np.arange(1, 13)
_LANGEVIN = 2.0**_EVEN * bernoulli(_EVEN[-1])[_EVEN] / factorial(_EVEN)


@dataclass(frozen=True)
class BoxPrior(ClosedForm):
    r"""Uniform prior on an interval around 0.

    .. math:: \Lambda(\eta) = \log\frac{\sinh a \eta}{a \eta}, \qquad
              \Lambda'(\eta) = a \Big(\coth a \eta - \frac{1}{a \eta}\Big)

    The shrinkage curve is the Langevin function, which physicists know from magnets.  No weight
    leaves the interval.

    Parameters
    ----------
    a : float, default=1.0
        Weights are between ``-a`` and ``a``; positive.

    Examples
    --------
    >>> BoxPrior(a=2.0).mean(np.array([0.0, 1.0, 1000.0])).round(3)
    array([0.   , 1.075, 1.999])
    """

    a: float = 1.0
    largest: ClassVar = {"a": 1e150}
    domain = (-math.inf, math.inf)

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        return ("box", (self.a, 0.0))

    def _log_mgf(self, eta: np.ndarray) -> np.ndarray:
        x = np.abs(self.a * eta)
        square = np.square(np.minimum(x, 0.5))
        series = square * polyval(square, _LANGEVIN / _EVEN)
        return np.where(x < 0.5, series, x + np.log(-np.expm1(-2 * x) / (2 * x)))

    def _mean(self, eta: np.ndarray) -> np.ndarray:
        x = self.a * eta
        small = np.clip(x, -0.5, 0.5)
        series = small * polyval(np.square(small), _LANGEVIN)
        return self.a * np.where(np.abs(x) < 0.5, series, 1 / np.tanh(x) - 1 / x)

    def _variance(self, eta: np.ndarray) -> np.ndarray:
        x = np.abs(self.a * eta)
        series = polyval(np.square(np.minimum(x, 0.5)), _LANGEVIN * (_EVEN - 1))
        inverse_sinh = -2 * np.exp(-x) / np.expm1(-2 * x)
        formula = (1 / x - inverse_sinh) * (1 / x + inverse_sinh)
        return self.a**2 * np.where(x < 0.5, series, formula)

    def _kl(self, mu: np.ndarray) -> np.ndarray:
        m = mu / self.a
        inside = np.abs(m) < 1
        m = np.where(inside, m, 0.0)
        # a rational function whose relative error is at most a twentieth (Cohen 1991)
        start = m * (3 - m * m) / ((1 - m) * (1 + m)) / self.a
        values = solve_kl(self, self.a * m, None, start)
        return np.where(np.isnan(mu), np.nan, np.where(inside, values, np.inf))

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        # a share v lies above a (1 + log(1 - v (1 - exp(-2 x))) / x), which is a (1 - 2 v) at x = 0
        x = np.abs(self.a * eta)
        v = rng.random(shape)
        w = np.where(x > 0, 1 + np.log1p(v * np.expm1(-2 * x)) / x, 1 - 2 * v)
        return np.where(eta < 0, -self.a, self.a) * np.maximum(w, -1.0)

    def log_density(self, w: np.ndarray) -> np.ndarray:
        return np.where(np.abs(w) <= self.a, -math.log(2 * self.a), -np.inf)

    def stretched(self, factor: float) -> BoxPrior:
        return BoxPrior(check_factor(factor) * self.a)


@dataclass(frozen=True)
class TwoPointPrior(ClosedForm):
    r"""A fair coin: every weight is ``-a`` or ``a``.

    .. math:: \Lambda(\eta) = \log \cosh a \eta, \qquad \Lambda'(\eta) = a \tanh a \eta

    A larger natural parameter only makes the sign of the weight more certain.  The divergence is
    the entropy that the coin has lost, at most ``log 2``.  This prior has no density.

    Parameters
    ----------
    a : float, default=1.0
        Size of every weight; positive.

    Examples
    --------
    >>> prior = TwoPointPrior()
    >>> prior.mean(np.array([0.0, 1.0, 5.0])).round(3)
    array([0.   , 0.762, 1.   ])
    >>> prior.kl(np.array([0.0, 1.0, 1.1])).round(3)
    array([0.   , 0.693,   inf])
    """

    a: float = 1.0
    largest: ClassVar = {"a": 1e150}
    domain = (-math.inf, math.inf)

    @property
    def compiled(self) -> tuple[str, tuple[float, float]]:
        return ("two_point", (self.a, 0.0))

    def _log_mgf(self, eta: np.ndarray) -> np.ndarray:
        x = np.abs(self.a * eta)
        small = np.log1p(2 * np.square(np.sinh(0.5 * np.minimum(x, 1.0))))
        return np.where(x < 1.0, small, x + np.log1p(np.exp(-2 * x)) - math.log(2))

    def _mean(self, eta: np.ndarray) -> np.ndarray:
        return self.a * np.tanh(self.a * eta)

    def _variance(self, eta: np.ndarray) -> np.ndarray:
        x = np.abs(self.a * eta)
        return np.square(self.a * 2 * np.exp(-x) / (1 + np.exp(-2 * x)))

    def _kl(self, mu: np.ndarray) -> np.ndarray:
        m = np.abs(mu / self.a)
        small = 0.5 * np.log1p(-m * m) + m * np.arctanh(m)  # without cancellation near 0
        large = 0.5 * (xlog1py(1 + m, m) + xlog1py(1 - m, -m))  # and near the bounds
        return np.where(m > 1, np.inf, np.where(m < 0.5, small, large))

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        return np.where(rng.random(shape) < expit(2 * self.a * eta), self.a, -self.a)

    def stretched(self, factor: float) -> TwoPointPrior:
        return TwoPointPrior(check_factor(factor) * self.a)
