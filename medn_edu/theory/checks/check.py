"""What a statement of the papers is tried with: a random instance, and both sides of it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from medn_edu.theory.entries import Register

Discrepancy = Callable[..., float]
"""Draws an instance and returns how far the sides are apart, as stated or with the slip.

Its arguments are a generator and whether the slip is made.  That of an inequality takes a third one, by
which its right side's ``term`` is multiplied.
"""

_HALVINGS = 12  # of the interval from 0 to 1 in which the smallest multiple is sought


@dataclass(frozen=True)
class Check:
    """A theorem, lemma or corollary, and how it is tried on numbers."""

    name: str  # where it stands, as in "MEDN Theorem 2"
    statement: str  # what it says, in a line
    sides: str  # how each side is computed, without use of the other
    slip: str  # a slip that one could make in the statement, or in its use
    tolerance: float  # how far apart rounding and the solvers' accuracy may bring the sides
    discrepancy: Discrepancy
    term: str = ""  # of an inequality: what of the larger side could be smaller

    def worst(
        self, n_instances: int = 5, seed: int = 0, *, slip: bool = False, multiple: float = 1.0
    ) -> float:
        """Return the largest discrepancy among some random instances."""
        scaled = (multiple,) if multiple != 1 else ()
        rngs = np.random.default_rng(seed).spawn(n_instances)
        return float(np.max([self.discrepancy(rng, slip, *scaled) for rng in rngs]))

    def holds(self, n_instances: int = 5, seed: int = 0) -> bool:
        """Whether all discrepancies are within the tolerance."""
        return self.worst(n_instances, seed) <= self.tolerance

    def tightness(self, n_instances: int = 5, seed: int = 0) -> float | None:
        """Return the smallest multiple of the term with which an inequality holds on the instances.

        Where it is 0.1, a term of a tenth of its size would do.  An identity has no such term.
        """
        if not self.term:
            return None
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            holds = self.worst(n_instances, seed, multiple=middle) <= self.tolerance
            low, high = (low, middle) if holds else (middle, high)
        return high


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
