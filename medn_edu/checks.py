"""Checks of plain arguments, each one sentence that names the argument and what was expected."""

from __future__ import annotations

import math
import numbers
from typing import Any

__all__ = ["check_count", "check_positive"]


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
