"""The last number inside, on many rays at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_HALVINGS = 60  # of an interval; beyond 53 a float64 has no more digits
_DOUBLINGS = 1000


def last_inside(inside: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> np.ndarray:
    """Return the largest numbers that are inside, to the last digit.

    First doubling or halving, until the end is known up to a factor of two; then the interval is halved.
    """
    low, high = np.zeros(start.shape), np.full(start.shape, np.inf)
    guess = start
    for _ in range(_DOUBLINGS):
        within = inside(guess)
        low, high = np.where(within, guess, low), np.where(within, high, guess)
        known = (low > 0) & np.isfinite(high)
        if known.all():
            break
        guess = np.where(known, low, np.where(within, 2 * guess, guess / 2))
    if not np.isfinite(high).all():
        raise ValueError("the ball has no end in some direction; expected a cost that grows.")
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 2
        within = inside(middle)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return low
