"""Checks of plain arguments, each one sentence that names the argument and what was expected."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

__all__ = [
    "check_count",
    "check_nonnegative",
    "check_positive",
    "check_probability",
    "random_generator",
]


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a finite number above 0.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user handed in.

    Returns
    -------
    float
        The number.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not finite or not above 0.

    Examples
    --------
    >>> check_positive("C", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; expected a number > 0.")
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {value!r}; expected a finite number > 0.")
    return number


def check_nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a finite number of at least 0.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user handed in.

    Returns
    -------
    float
        The number.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not finite or below 0.

    Examples
    --------
    >>> check_nonnegative("noise", 0)
    0.0
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; expected a number of at least 0.")
    number = float(value)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} is {value!r}; expected a finite number of at least 0.")
    return number


def check_probability(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a probability strictly between 0 and 1.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user handed in.

    Returns
    -------
    float
        The number.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not between 0 and 1.

    Examples
    --------
    >>> check_probability("delta", 0.05)
    0.05
    """
    if not check_positive(name, value) < 1:
        raise ValueError(f"{name} is {value!r}; expected a probability between 0 and 1.")
    return float(value)


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``least``.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user handed in.
    least : int, default=1
        Smallest value allowed.

    Returns
    -------
    int
        The number.

    Raises
    ------
    TypeError
        If it is not a whole number.
    ValueError
        If it is too small.

    Examples
    --------
    >>> check_count("k", 3)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; expected a whole number of at least {least}.")
    if value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}.")
    return int(value)


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a generator for a seed, a generator, or None (a fresh one each time).

    Parameters
    ----------
    random_state : int, numpy.random.Generator or None
        What the user handed in.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Raises
    ------
    ValueError
        If it is nothing of the kind.

    Examples
    --------
    >>> random_generator(0).integers(10).item()
    8
    """
    seed_like = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if not seed_like or random_state < 0:
        raise ValueError(
            f"random_state is {random_state!r}; expected a whole number of at least 0, a "
            "numpy.random.Generator or None."
        )
    return np.random.default_rng(int(random_state))
