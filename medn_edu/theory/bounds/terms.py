r"""The terms of Theorem 8 as functions of m, for many thresholds or many sample sizes at once.

`Terms` is the theorem as the proof leaves it, with McAllester's root as the last step; `KLTerms` has
Seeger's last step instead.  `medn_edu.theory.bounds.theorem_8` looks for the best threshold among those
of a sample; a curve over :math:`N` needs no sample at all, and takes the terms from here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from medn_edu.checks import check_nonnegative, check_probability
from medn_edu.theory.bounds.binary_kl import kl_inverse

_GOLDEN = (math.sqrt(5) - 1) / 2
_SHRINKINGS = 45  # of the bracket around the best m, each by the golden ratio
_SLOWEST = 1e-30  # rate of a threshold so small that no number of draws will do


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

        Below ``ln|Y| / rate`` the averaging term alone is above 1, and once it is far below 1 / N more
        draws only cost; in between the sum falls first and rises then.
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
    """Theorem 8 with all its constants, but for ``m``; numbers, or arrays that broadcast."""

    @property
    def constant(self) -> float:
        """Two."""
        return 2.0

    @property
    def sampling(self) -> np.ndarray:
        """``ln N``."""
        return np.log(self._n)

    def union(self, m: ArrayLike) -> np.ndarray:
        """``3 ln((m + 1) / delta)``."""
        return 3 * np.log((np.asarray(m) + 1) / self.delta)

    def root(self, m: ArrayLike) -> np.ndarray:
        """Root of all that is inside, over ``2 N - 1``."""
        return np.sqrt(self._inside(m) / (2 * self._n - 1))

    def value(self, m: ArrayLike) -> np.ndarray:
        """Sum of margin loss, averaging and root."""
        return self._first_two(m) + self.root(m)


class KLTerms(_Imitation):
    """The same proof with Seeger's last step; numbers, or arrays that broadcast."""

    @property
    def constant(self) -> float:
        """Nothing else."""
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
        """What the inverse of kl adds; 0 where margin loss and averaging are above 1 already."""
        return self.value(m) - np.minimum(self._first_two(m), 1.0)

    def value(self, m: ArrayLike) -> np.ndarray:
        """Return the bound, at most 1."""
        one_rival = np.exp(-np.asarray(m) * self._rate)
        drawn = kl_inverse(self._first_two(m) - one_rival, self._inside(m) / self._n)
        return np.minimum(one_rival + drawn, 1.0)
