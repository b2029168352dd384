"""What a statement of the papers is tried with: a random instance, and both sides of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Discrepancy(Protocol):
    """How far the two sides of a statement are apart on one random instance."""

    def __call__(self, rng: np.random.Generator, slip: bool = False) -> float:
        """Draw an instance and compute both sides of the statement, or of one with a slip in it."""


@dataclass(frozen=True)
class Check:
    """A theorem, lemma or corollary, and how it is tried on numbers.

    Examples
    --------
    >>> import numpy as np
    >>> def mean_is_slope(rng, slip=False):
    ...     eta = rng.uniform(-1, 1)
    ...     return abs(np.tanh(eta) - (eta if slip else np.sinh(eta) / np.cosh(eta)))
    >>> check = Check(
    ...     "a fact", "tanh = sinh / cosh", "two formulas", "tanh x = x", 1e-12, mean_is_slope
    ... )
    >>> check.holds(), check.worst(slip=True) > 0.01
    (True, True)
    """

    name: str  # where it stands, as in ``"MEDN Theorem 2"``
    statement: str  # what it says, in a line
    sides: str  # how each side is computed, without use of the other
    slip: str  # a slip that one could make in the statement, or in its use
    tolerance: float  # how far apart rounding and the solvers' accuracy may bring the sides
    discrepancy: Discrepancy

    def worst(self, n_instances: int = 5, seed: int = 0, *, slip: bool = False) -> float:
        """Return the largest discrepancy among some random instances."""
        rngs = np.random.default_rng(seed).spawn(n_instances)
        return float(np.max([self.discrepancy(rng, slip) for rng in rngs]))

    def holds(self, n_instances: int = 5, seed: int = 0) -> bool:
        """Whether all discrepancies are within the tolerance."""
        return self.worst(n_instances, seed) <= self.tolerance
