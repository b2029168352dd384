"""Checks of arguments that only the generators of data have."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a generator for a seed, a generator, or None (a fresh one each time)."""
    seed_like = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if not seed_like or random_state < 0:
        raise ValueError(
            f"random_state is {random_state!r}; expected a whole number of at least 0, a "
            "numpy.random.Generator or None."
        )
    return np.random.default_rng(int(random_state))


def check_noise(noise: Any) -> float:
    """Return a standard deviation: a finite number of at least 0."""
    if isinstance(noise, bool) or not isinstance(noise, numbers.Real):
        raise TypeError(f"noise is {noise!r}; expected a number of at least 0.")
    deviation = float(noise)
    if not (math.isfinite(deviation) and deviation >= 0):
        raise ValueError(f"noise is {noise!r}; expected a finite number of at least 0.")
    return deviation
