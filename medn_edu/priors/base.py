"""What every prior answers, and how it is answered by numbers where no formula is at hand."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.checks import check_count, check_positive, shown
from medn_edu.priors._numerics import conjugate, slope

__all__ = ["Prior"]


class Prior(ABC):
    r"""A prior over weights, told by its log moment generating function.

    A prior of your own is a subclass with three things: ``domain``, ``log_mgf`` and ``mean``.  All
    else is then computed from them by numbers, more slowly and a little less exactly than by a formula;
    write your own ``variance`` and ``kl`` where you have formulas.  `check_prior` tells whether what you
    wrote fits together.  Only ``log_density`` and ``draw`` cannot be had from the three: no learning
    needs them, and a prior that does not tell says so.

    Every method works on whole vectors, weight by weight.  ``index`` says which weights they are, as
    positions in the flat vector of all weights (None: all of them, in order); only a prior that differs
    from weight to weight needs to look at it.

    Outside the domain ``log_mgf`` and ``variance`` of the priors that come with the package are
    infinite, and ``mean`` is infinite with the sign of the end that was passed, so that it never falls.

    Examples
    --------
    A logistic prior, whose tails are those of the Laplace prior and whose top is round:

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
        """Give every class that does not say how it is compiled the answer None.

        A subclass may change any formula, so it must not inherit the name of its parent's.
        """
        super().__init_subclass__(**keywords)
        if "compiled" not in cls.__dict__:
            cls.compiled = None  # type: ignore[method-assign,assignment]

    @property
    @abstractmethod
    def domain(self) -> tuple[float, float]:
        """Open interval of ``eta`` around 0 on which ``log_mgf`` is finite."""

    @property
    def compiled(self) -> tuple[str, tuple[float, float]] | None:
        """Name and parameters of this prior's formulas in compiled code; None if it has none.

        Never inherited: a subclass that changes no formula may say ``compiled = Parent.compiled``.
        """
        return None

    @abstractmethod
    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Log moment generating function ``Lambda(eta) = log E exp(eta w)``.

        Parameters
        ----------
        eta : ndarray of float
            What the weights are tilted by.
        index : ndarray of int, same shape as ``eta``, optional
            Which weights these are; all of them by default.

        Returns
        -------
        ndarray of float, same shape as ``eta``
            The values.
        """

    @abstractmethod
    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Mean of the tilted prior, ``Lambda'(eta)``: the shrinkage curve.

        Parameters
        ----------
        eta : ndarray of float
            What the weights are tilted by.
        index : ndarray of int, same shape as ``eta``, optional
            Which weights these are; all of them by default.

        Returns
        -------
        ndarray of float, same shape as ``eta``
            The means.
        """

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Variance of the tilted prior, ``Lambda''(eta)``; here, differences of ``mean``.

        Parameters
        ----------
        eta : ndarray of float
            What the weights are tilted by.
        index : ndarray of int, same shape as ``eta``, optional
            Which weights these are; all of them by default.

        Returns
        -------
        ndarray of float, same shape as ``eta``
            The variances.
        """
        return slope(self, self.mean, np.asarray(eta, dtype=float), index)

    def kl(self, mu: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Divergence ``KL(p || p0)`` of the tilted prior with mean ``mu``, ``Lambda*(mu)``.

        Here ``mean(eta) = mu`` is solved by numbers.

        Parameters
        ----------
        mu : ndarray of float
            Means.
        index : ndarray of int, same shape as ``mu``, optional
            Which weights these are; all of them by default.

        Returns
        -------
        ndarray of float, same shape as ``mu``
            The divergences; infinite where no tilted prior has such a mean.
        """
        return conjugate(self, np.asarray(mu, dtype=float), index)

    def log_density(self, w: np.ndarray) -> np.ndarray:
        """Logarithm of the prior's density at ``w``.

        Raises
        ------
        TypeError
            If the prior has no density, or does not tell.
        """
        raise TypeError(f"{type(self).__name__} has no density that it could tell.")

    def draw(
        self,
        eta: np.ndarray,
        rng: np.random.Generator,
        n_draws: int,
        index: np.ndarray | None = None,
    ) -> np.ndarray:
        """Draw weights from the posterior, that is, from the prior tilted by ``exp(eta w)``.

        The priors that come with the package are drawn from exactly, and with ``eta = 0`` untilted.

        Parameters
        ----------
        eta : ndarray of float
            What the weights are tilted by; inside the domain.
        rng : numpy.random.Generator
            Draws the numbers.
        n_draws : int
            Number of draws, at least 1.
        index : ndarray of int, same shape as ``eta``, optional
            Which weights these are; all of them by default.

        Returns
        -------
        ndarray of float, shape (n_draws, n_weights)
            A row for each draw; all numbers are independent.

        Raises
        ------
        TypeError
            If the prior does not tell how to draw.
        ValueError
            If a tilt is not inside the domain.

        Examples
        --------
        >>> from medn_edu.priors import TwoPointPrior
        >>> TwoPointPrior().draw(np.array([0.0, 9.0]), np.random.default_rng(0), n_draws=3)
        array([[-1.,  1.],
               [ 1.,  1.],
               [-1.,  1.]])
        """
        raise TypeError(f"{type(self).__name__} does not tell how to draw from it.")

    def stretched(self, factor: float) -> Prior:
        """Return the same shape, wider: the prior of ``factor * w``.

        Raises
        ------
        ValueError
            If the factor is not a finite positive number.
        """
        return _Stretched(self, _check_factor(factor))

    def with_variance(self, variance: float) -> Prior:
        """Return the same shape, stretched until its variance (before tilting) is ``variance``.

        Raises
        ------
        ValueError
            If the variance is not a finite positive number.
        """
        check_positive("variance", variance)
        own = float(self.variance(np.zeros(1), np.zeros(1, dtype=np.intp))[0])
        return self.stretched(math.sqrt(variance / own))


class _ClosedForm(Prior):
    """A prior with formulas, the same for all weights; they are asked inside the domain only."""

    @abstractmethod
    def _log_mgf(self, eta: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _mean(self, eta: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _variance(self, eta: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _kl(self, mu: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _draw(
        self, eta: np.ndarray, rng: np.random.Generator, shape: tuple[int, ...]
    ) -> np.ndarray: ...

    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._inside(self._log_mgf, eta, np.inf)

    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._inside(self._mean, eta, -np.inf)

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        return self._inside(self._variance, eta, np.inf)

    def kl(self, mu: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self._kl(np.asarray(mu, dtype=float))

    def draw(
        self,
        eta: np.ndarray,
        rng: np.random.Generator,
        n_draws: int,
        index: np.ndarray | None = None,
    ) -> np.ndarray:
        eta = _check_tilts(self, eta, rng)
        shape = (check_count("n_draws", n_draws), *eta.shape)
        with np.errstate(all="ignore"):
            return self._draw(eta, rng, shape)

    def _inside(
        self, formula: Callable[[np.ndarray], np.ndarray], eta: np.ndarray, below: float
    ) -> np.ndarray:
        """Evaluate a formula inside the domain; it is ``below`` under its lower end, inf above."""
        eta = np.asarray(eta, dtype=float)
        lower, upper = self.domain
        inside = (lower < eta) & (eta < upper)
        with np.errstate(all="ignore"):
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

    def draw(
        self,
        eta: np.ndarray,
        rng: np.random.Generator,
        n_draws: int,
        index: np.ndarray | None = None,
    ) -> np.ndarray:
        eta = _check_tilts(self, eta, rng)
        return self.factor * self.prior.draw(self.factor * eta, rng, n_draws, index)

    def stretched(self, factor: float) -> Prior:
        return _Stretched(self.prior, self.factor * _check_factor(factor))


def _check_factor(factor: float) -> float:
    """Return by how much to stretch a prior; its square must be a number, too."""
    return check_positive("factor", factor, most=1e150)


def _check_tilts(prior: Prior, eta: np.ndarray, rng: object) -> np.ndarray:
    """Return the tilts if all of them are inside the domain, and there is something to draw with."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is {shown(rng)}; expected a numpy.random.Generator.")
    eta = np.asarray(eta, dtype=float)
    lower, upper = prior.domain
    outside = eta[~((lower < eta) & (eta < upper))]
    if outside.size:
        raise ValueError(
            f"eta holds {outside[0]:g}; expected numbers inside the domain ({lower:g}, {upper:g}): "
            "only there can the prior be tilted."
        )
    return eta
