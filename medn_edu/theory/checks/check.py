"""What a statement of the papers is tried with: a random instance, and both sides of it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from medn_edu.theory.entries import Register

Discrepancy = Callable[[np.random.Generator, bool], float]
"""Draws an instance and returns how far the sides are apart, as stated or with the slip."""


@dataclass(frozen=True)
class Check:
    """A theorem, lemma or corollary, and how it is tried on numbers."""

    name: str  # where it stands, as in "MEDN Theorem 2"
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


discrepancy_of = Register[Check, Discrepancy]("check", Check, "discrepancy")
"""Marks a function as the one that draws an instance of a check and compares the sides."""


def apart(left: ArrayLike, right: ArrayLike) -> float:
    """Return the largest difference between two sides that should be equal, relative to their size."""
    right = np.asarray(right, dtype=float)
    difference = np.max(np.abs(np.asarray(left, dtype=float) - right))
    return float(difference / np.max(np.abs(right)))


def excess(smaller: ArrayLike, larger: ArrayLike, size: float = 1.0) -> float:
    """Return by how much an inequality is violated, relative to a size."""
    violation = np.max(np.asarray(smaller, dtype=float) - np.asarray(larger, dtype=float))
    return float(np.maximum(violation, 0.0) / size)
