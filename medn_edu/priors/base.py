"""What every prior can compute, and how it is computed numerically if there is no formula."""

# ruff: noqa: D102  # Prior says once what each method is for
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from medn_edu.checks import check_count, check_positive, check_rng
from medn_edu.priors._numerics import slope, solve_kl

Shape = tuple[int, ...]
Index = np.ndarray | None


class Prior(ABC):
    r"""A prior over weights, given by its log moment generating function.

    A prior of your own is a subclass with three things: ``domain``, ``log_mgf`` and ``mean``.
    Everything else that learning needs is computed from them numerically.  That is slower and a
    little less exact than a formula, so write your own ``variance`` and ``kl`` where you have
    formulas.  `check_prior` tells you whether your methods fit together.  Only ``log_density`` and
    ``draw`` cannot be computed from these three, but learning does not need them.

    Every method works on whole vectors, one number per weight.  ``index`` says which weights these
    are, as positions in the flat vector of all weights; None means all of them, in order.  Only a
    prior that differs from weight to weight needs to look at it.

    Examples
    --------
    A logistic prior, which has the tails of the Laplace prior and a round top:

    >>> import numpy as np
    >>> from medn_edu.priors import check_prior
    >>> class LogisticPrior(Prior):
    ...     domain = (-1.0, 1.0)
    ...
    ...     def log_mgf(self, eta, index=None):
    ...         return -np.log(np.sinc(eta))
    ...
    ...     def mean(self, eta, index=None):
    ...         small = np.where(np.abs(eta) < 1e-4, 1e-4, eta)
    ...         slope = 1 / small - np.pi / np.tan(np.pi * small)
    ...         return np.where(np.abs(eta) < 1e-4, np.pi**2 / 3 * eta, slope)
    >>> prior = check_prior(LogisticPrior())
    >>> prior.variance(np.zeros(1)).round(6), prior.kl(np.array([0.0, 2.0])).round(6)
    (array([3.289868]), array([0.      , 0.548417]))
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Set ``compiled`` to None, unless the class itself says how it is compiled.

        A subclass may change any formula, so it must not inherit the name of its parent's.
        """
        super().__init_subclass__(**keywords)
        if "compiled" not in cls.__dict__:
            cls.compiled = None  # type: ignore[method-assign,assignment]

    @property
    @abstractmethod
    def domain(self) -> tuple[float, float]:
        """Open interval of ``eta`` around 0 on which the prior can be tilted."""

    @property
    def compiled(self) -> tuple[str, tuple[float, float]] | None:
        """Name and parameters of this prior's formulas in compiled code; None if it has none.

        Never inherited: a subclass that changes no formula may say ``compiled = Parent.compiled``.
        """
        return None

    @abstractmethod
    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Log moment generating function ``Lambda(eta) = log E exp(eta w)``, one number per weight.

        Parameters
        ----------
        eta : ndarray of float
            The natural parameter of each weight.
        index : ndarray of int, same shape as ``eta``, optional
            Which weights these are; all of them by default.
        """

    @abstractmethod
    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Mean of the tilted prior, ``Lambda'(eta)``: the shrinkage curve.

        Parameters
        ----------
        eta, index : ndarray
            As for `log_mgf`.
        """

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Variance of the tilted prior, ``Lambda''(eta)``; by default, differences of ``mean``.

        Parameters
        ----------
        eta, index : ndarray
            As for `log_mgf`.
        """
        return slope(self, self.mean, np.asarray(eta, dtype=float), index)

    def kl(self, mu: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Divergence ``KL(p || p0)`` of the tilted prior with mean ``mu``, ``Lambda*(mu)``.

        It is infinite where no tilted prior has such a mean.  By default, ``mean(eta) = mu`` is
        solved numerically.

        Parameters
        ----------
        mu, index : ndarray
            The mean of each weight, and which weights these are, as for `log_mgf`.
        """
        return solve_kl(self, np.asarray(mu, dtype=float), index)

    def value(self, weights: np.ndarray) -> float:
        """Divergence ``KL(p || p0)`` of a posterior with these means, summed over all weights.

        This is the prior as a convex regulariser of the mean weights.  At ``weights = mean(eta)``,
        ``value(weights)`` and ``conjugate(eta)`` add up to ``eta @ weights``.
        """
        return math.fsum(self.kl(weights))

    def conjugate(self, eta: np.ndarray) -> float:
        """Conjugate of `value`: the log moment generating function, summed over all weights."""
        return math.fsum(self.log_mgf(eta))

    def log_density(self, w: np.ndarray) -> np.ndarray:
        """Logarithm of the prior's density at ``w``; a TypeError if the prior defines none."""
        raise TypeError(
            f"{type(self).__name__} has no density; expected a prior that defines "
            "log_density(self, w)."
        )

    def draw(
        self, eta: np.ndarray, rng: Generator, n_draws: int, index: np.ndarray | None = None
    ) -> np.ndarray:
        """Draw weights from the posterior, that is, from the prior tilted by ``exp(eta w)``.

        With ``eta = 0`` this draws from the prior itself.  The draws from the priors that come with
        the package are exact.  To draw from a prior of your own, define this method there.  Without
        it there is a TypeError.

        Parameters
        ----------
        eta, index : ndarray
            As for `log_mgf`; ``eta`` is inside the domain.
        rng : numpy.random.Generator
            Draws the numbers.
        n_draws : int
            Number of draws, at least 1.

        Returns
        -------
        ndarray of float, shape (n_draws, n_weights)
            A row for each draw; all numbers are independent.
        """
        check_rng(rng)
        eta = np.asarray(eta, dtype=float)
        lower, upper = self.domain
        outside = eta[~((lower < eta) & (eta < upper))]
        if outside.size:
            raise ValueError(
                f"eta holds {outside[0]:g}; expected numbers inside the domain ({lower:g}, "
                f"{upper:g}): only there can the prior be tilted."
            )
        shape = (check_count("n_draws", n_draws), *eta.shape)
        with np.errstate(all="ignore"):
            return self._draw(eta, rng, shape, index)

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        raise TypeError(
            f"{type(self).__name__} does not say how to draw from it; expected a prior that "
            "defines draw(self, eta, rng, n_draws, index=None)."
        )

    def stretched(self, factor: float) -> Prior:
        """Return the same shape, wider: the prior of ``factor * w``, for a finite factor > 0."""
        return _Stretched(self, check_factor(factor))

    def with_variance(self, variance: float) -> Prior:
        """Return the same shape, stretched until its variance (at ``eta = 0``) is ``variance``."""
        check_positive("variance", variance)
        own = float(self.variance(np.zeros(1), np.zeros(1, dtype=np.intp))[0])
        return self.stretched(math.sqrt(variance / own))


class ClosedForm(Prior):
    """A prior with the same formulas for all weights, which are evaluated inside the domain only.

    Outside, ``log_mgf``, ``variance`` and ``mean`` are infinite, the mean with the sign of the end that
    was passed, so that it never decreases.  Each parameter must be a number above 0 and is kept as a
    float.  ``largest`` says how large it may be, and one over that how small, before the formulas
    would overflow.
    """

    largest: ClassVar[dict[str, float]]

    def __post_init__(self) -> None:
        for name, most in self.largest.items():
            object.__setattr__(self, name, check_positive(name, getattr(self, name), most=most))

    @abstractmethod
    def _log_mgf(self, eta: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _mean(self, eta: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _variance(self, eta: np.ndarray) -> np.ndarray: ...

    def _kl(self, mu: np.ndarray) -> np.ndarray:
        return solve_kl(self, mu, None)

    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._inside(self._log_mgf, eta, np.inf)

    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._inside(self._mean, eta, -np.inf)

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._inside(self._variance, eta, np.inf)

    @np.errstate(all="ignore")
    def kl(self, mu: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._kl(np.asarray(mu, dtype=float))

    @np.errstate(all="ignore")
    def _inside(
        self, formula: Callable[[np.ndarray], np.ndarray], eta: np.ndarray, below: float
    ) -> np.ndarray:
        """Evaluate a formula inside the domain; it is ``below`` under its lower end, inf above."""
        eta = np.asarray(eta, dtype=float)
        lower, upper = self.domain
        inside = (lower < eta) & (eta < upper)
        if inside.all():
            return np.asarray(formula(eta))
        values = formula(np.where(inside, eta, 0.0))
        outside = np.where(eta >= upper, np.inf, np.where(eta <= lower, below, np.nan))
        return np.where(inside, values, outside)


@dataclass(frozen=True)
class _Stretched(Prior):
    """The prior of ``factor * w``: ``Lambda(eta)`` is that of ``prior`` at ``factor * eta``."""

    prior: Prior
    factor: float

    @property
    def domain(self) -> tuple[float, float]:
        lower, upper = self.prior.domain
        return (lower / self.factor, upper / self.factor)

    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self.prior.log_mgf(self.factor * np.asarray(eta), index)

    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self.factor * self.prior.mean(self.factor * np.asarray(eta), index)

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self.factor**2 * self.prior.variance(self.factor * np.asarray(eta), index)

    def kl(self, mu: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self.prior.kl(np.asarray(mu) / self.factor, index)

    def log_density(self, w: np.ndarray) -> np.ndarray:
        return self.prior.log_density(np.asarray(w) / self.factor) - math.log(self.factor)

    def _draw(self, eta: np.ndarray, rng: Generator, shape: Shape, index: Index) -> np.ndarray:
        return self.factor * self.prior.draw(self.factor * eta, rng, shape[0], index)

    def stretched(self, factor: float) -> Prior:
        return _Stretched(self.prior, self.factor * check_factor(factor))


def check_factor(factor: float) -> float:
    """Return by how much to stretch a prior, as a float; its square must be finite and above 0."""
    return check_positive("factor", factor, most=1e150)
