"""Theorem 8 with every constant of its proof, and the same proof with a sharper last step.

``theorem_8.md`` explains the theory, with its formulas typeset.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from medn_edu.checks import check_count, check_nonnegative, check_positive, check_probability
from medn_edu.theory.bounds.binary_kl import kl_inverse
from medn_edu.theory.bounds.margins import LEAST, MarginSample

_GOLDEN = (math.sqrt(5) - 1) / 2
_SHRINKINGS = 45  # of the bracket around the best m, each by the golden ratio
_SLOWEST = 1e-30  # rate of a threshold so small that no number of draws will do
_SHORTLIST = 512  # thresholds tried at once; then once more, between the best one's neighbours


# -- terms, as functions of m ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Imitation(ABC):
    """What both proofs have in common: the average is imitated by m draws."""

    n_samples: ArrayLike
    margin_loss: ArrayLike
    ratio: ArrayLike
    log_n_labellings: float
    divergence: float
    delta: float

    def __post_init__(self) -> None:
        for name, least in (("n_samples", 1), ("margin_loss", 0), ("ratio", 0)):
            value = np.asarray(getattr(self, name), dtype=float)
            if not np.all(np.isfinite(value) & (value >= least)):
                raise ValueError(f"{name} is too small or not finite; expected at least {least}.")
        check_nonnegative("log_n_labellings", self.log_n_labellings)
        check_nonnegative("divergence", self.divergence)
        check_probability("delta", self.delta)

    @property
    @abstractmethod
    def constant(self) -> float:
        """What else stands inside the complexity."""

    @property
    @abstractmethod
    def sampling(self) -> np.ndarray:
        """Price of a finite sample, inside the complexity."""

    @abstractmethod
    def union(self, m: ArrayLike) -> np.ndarray:
        """Price of all m and all gamma at once, and of the confidence, inside the complexity."""

    @abstractmethod
    def root(self, m: ArrayLike) -> np.ndarray:
        """Price of not knowing the world: the complexity."""

    @abstractmethod
    def value(self, m: ArrayLike) -> np.ndarray:
        """Return the bound."""

    def averaging(self, m: ArrayLike) -> np.ndarray:
        """Price of imitating the average by m draws, ``|Y| exp(-m gamma^2 / 32 c^2)``."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_n_labellings - np.asarray(m) * self._rate)

    def papers_m(self) -> np.ndarray:
        """Return the paper's choice, ``ceil(16 c^2 / gamma^2 ln(N |Y|^2 / (KL + 1)))``, at least 1."""
        logarithm = np.log(self._n) + 2 * self.log_n_labellings - math.log1p(self.divergence)
        return np.maximum(1.0, np.ceil(16 / np.square(self.ratio) * logarithm))

    def best_m(self) -> np.ndarray:
        """Return the m with the least bound, by golden sections of its logarithm.

        It's sought where the averaging term is at most 1. If the bound is far above 1 there, a smaller
        ``m`` may give a slightly smaller bound, which says as little. Below ``ln|Y| / rate`` the
        averaging term alone is above 1, and once it is far below 1 / N more draws only cost; in
        between the sum first falls and then rises.
        """
        rate, n = np.broadcast_arrays(np.maximum(self._rate, _SLOWEST), self._n)
        low = np.log(np.maximum(1.0, self.log_n_labellings / rate))
        high = np.log(np.maximum(2.0, (self.log_n_labellings + 2 * np.log(n + 1) + 10) / rate))
        for _ in range(_SHRINKINGS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            falls = self.value(np.exp(left)) > self.value(np.exp(right))
            low, high = np.where(falls, left, low), np.where(falls, high, right)
        near = np.floor(np.exp(low))
        around = np.maximum(1.0, np.stack([near - 1, near, near + 1, near + 2]))
        values = np.stack([self.value(m) for m in around])
        return np.take_along_axis(around, values.argmin(axis=0)[None], axis=0)[0]

    @property
    def _n(self) -> np.ndarray:
        return np.asarray(self.n_samples, dtype=float)

    @property
    def _rate(self) -> np.ndarray:
        """By how much each draw makes the logarithm of the averaging term smaller."""
        return np.square(np.asarray(self.ratio, dtype=float)) / 32

    def _first_two(self, m: ArrayLike) -> np.ndarray:
        """Margin loss and averaging."""
        return np.asarray(self.margin_loss) + self.averaging(m)

    def _inside(self, m: ArrayLike) -> np.ndarray:
        with np.errstate(over="ignore"):
            product = np.asarray(m) * self.divergence
        return product + self.sampling + self.union(m) + self.constant


class Terms(_Imitation):
    """The terms of Theorem 8 as functions of ``m``, with all constants.

    The arguments are numbers, or arrays that broadcast.
    """

    @property
    def constant(self) -> float:
        """The constant 2."""
        return 2.0

    @property
    def sampling(self) -> np.ndarray:
        """``ln N``."""
        return np.log(self._n)

    def union(self, m: ArrayLike) -> np.ndarray:
        """``3 ln((m + 1) / delta)``."""
        return 3 * np.log((np.asarray(m) + 1) / self.delta)

    def root(self, m: ArrayLike) -> np.ndarray:
        """Square root of all terms inside the complexity, divided by ``2 N - 1``."""
        return np.sqrt(self._inside(m) / (2 * self._n - 1))

    def value(self, m: ArrayLike) -> np.ndarray:
        """Sum of margin loss, averaging and root."""
        return self._first_two(m) + self.root(m)


class KLTerms(_Imitation):
    """The terms with Seeger's last step, as functions of ``m``.

    The arguments are numbers, or arrays that broadcast.
    """

    @property
    def constant(self) -> float:
        """No constant, so 0."""
        return 0.0

    @property
    def sampling(self) -> np.ndarray:
        """``ln(2 sqrt N)``."""
        return np.log(2 * np.sqrt(self._n))

    def union(self, m: ArrayLike) -> np.ndarray:
        """``ln(m (m + 1)^2 / delta)``."""
        m = np.asarray(m, dtype=float)
        return np.log(m) + 2 * np.log1p(m) - math.log(self.delta)

    def root(self, m: ArrayLike) -> np.ndarray:
        """What the inverse of kl adds; 0 where margin loss and averaging already exceed 1 together."""
        return self.value(m) - np.minimum(self._first_two(m), 1.0)

    def value(self, m: ArrayLike) -> np.ndarray:
        """Return the bound, at most 1."""
        one_rival = np.exp(-np.asarray(m) * self._rate)
        drawn = kl_inverse(self._first_two(m) - one_rival, self._inside(m) / self._n)
        return np.minimum(one_rival + drawn, 1.0)


# -- the best gamma and m for a sample ------------------------------------------------------------


@dataclass(frozen=True)
class MarginBound:
    """A bound on the error of the averaging model, term by term."""

    gamma: float  # margin threshold
    m: int  # number of imagined draws
    n_samples: int  # number of samples
    margin_loss: float  # share of the samples with a margin of at most ``gamma``
    averaging: float  # what the comparison with ``m`` draws costs, ``|Y| exp(-m gamma^2 / 32 c^2)``
    complexity: float  # the root, added because a sample is finite
    divergence: float  # inside the complexity: ``m KL``
    sampling: float  # inside the complexity: ``ln N`` (``ln(2 sqrt N)`` in `theorem_8_kl`)
    union: float
    value: float

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound is 1 or more, so that it says nothing about the error rate."""
        return self.value >= 1


def theorem_8(
    sample: MarginSample,
    divergence: float,
    *,
    delta: float = 0.05,
    gamma: float | None = None,
    m: int | None = None,
) -> MarginBound:
    r"""Return Theorem 8's bound on the error of the averaging model, with all constants.

    Margins of at least half the largest score, eight labellings, 100,000 samples:

    >>> margins = np.linspace(1.0, 2.0, 100_000)
    >>> bound = theorem_8(MarginSample(margins, c=2.0, log_n_labellings=np.log(8)), 1.0)
    >>> bound.m, round(bound.averaging, 4), round(bound.complexity, 4), round(bound.value, 4)
    (957, 0.0045, 0.0707, 0.0752)

    The same margins with a thousand samples:

    >>> few = MarginSample(margins[::100], c=2.0, log_n_labellings=np.log(8))
    >>> round(theorem_8(few, 1.0).value, 2)
    0.64
    """
    return _best(Terms, sample, divergence, delta, gamma, m)


def theorem_8_kl(
    sample: MarginSample,
    divergence: float,
    *,
    delta: float = 0.05,
    gamma: float | None = None,
    m: int | None = None,
) -> MarginBound:
    """Return the bound of Theorem 8's proof with Seeger's last step instead of McAllester's."""
    return _best(KLTerms, sample, divergence, delta, gamma, m)


def theorem_8_m(sample: MarginSample, divergence: float, gamma: float) -> int:
    """Return the paper's choice of ``m``, the last line of Appendix B.5."""
    check_nonnegative("divergence", divergence)
    ratio = _check_gamma(gamma, sample.c) / sample.c
    labellings = sample.log_n_labellings
    terms = Terms(sample.n_samples, 0.0, ratio, labellings, divergence, delta=0.05)
    return int(terms.papers_m())


def _check_gamma(gamma: float, c: float) -> float:
    """Refuse thresholds that no sample could use, and whose number of draws has no float."""
    if check_positive("gamma", gamma) < LEAST * c:
        raise ValueError(f"gamma is {gamma!r}; expected at least a millionth of c, which is {c:g}.")
    return float(gamma)


def _best(
    kind: type[Terms] | type[KLTerms],
    sample: MarginSample,
    divergence: float,
    delta: float,
    gamma: float | None,
    m: int | None,
) -> MarginBound:
    check_nonnegative("divergence", divergence)
    check_probability("delta", delta)
    if m is not None:
        check_count("m", m)

    def at(thresholds: np.ndarray) -> tuple[Terms | KLTerms, np.ndarray]:
        ratio, loss = thresholds / sample.c, sample.loss(thresholds)
        labellings = sample.log_n_labellings
        terms = kind(sample.n_samples, loss, ratio, labellings, divergence, delta)
        return terms, terms.best_m() if m is None else np.full(thresholds.shape, float(m))

    if gamma is not None:
        thresholds = np.array([_check_gamma(gamma, sample.c)])
    else:
        thresholds = _promising(sample.thresholds(), at)
    terms, draws = at(thresholds)
    best = int(np.argmin(terms.value(draws)))
    return _itemised(*at(thresholds[best : best + 1]), float(thresholds[best]))


def _promising(
    thresholds: np.ndarray, at: Callable[[np.ndarray], tuple[Terms | KLTerms, np.ndarray]]
) -> np.ndarray:
    """Return at most a few hundred thresholds: of many, those around the best of some of them.

    Whatever threshold is taken, the bound holds: it holds for all of them at once.
    """
    while len(thresholds) > _SHORTLIST:
        some = np.unique(np.linspace(0, len(thresholds) - 1, _SHORTLIST).astype(int))
        terms, draws = at(thresholds[some])
        best = int(np.argmin(terms.value(draws)))
        first, last = some[max(best - 1, 0)], some[min(best + 1, len(some) - 1)]
        thresholds = thresholds[first : last + 1]
    return thresholds


def _itemised(terms: Terms | KLTerms, draws: np.ndarray, gamma: float) -> MarginBound:
    """Write out a bound's terms at its only threshold."""
    return MarginBound(
        gamma=gamma,
        m=int(draws[0]),
        n_samples=int(np.asarray(terms.n_samples)),
        margin_loss=float(np.asarray(terms.margin_loss)[0]),
        averaging=float(terms.averaging(draws)[0]),
        complexity=float(terms.root(draws)[0]),
        divergence=float(draws[0] * terms.divergence),
        sampling=float(terms.sampling),
        union=float(terms.union(draws)[0]),
        value=float(terms.value(draws)[0]),
    )
