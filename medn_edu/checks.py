"""Checks of plain arguments, each one sentence that names the argument and what was expected."""

import math
import numbers
import sys
import warnings
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np

__all__ = [
    "as_numbers",
    "check_choice",
    "check_count",
    "check_flag",
    "check_jobs",
    "check_nonnegative",
    "check_positive",
    "check_probability",
    "check_rng",
    "check_share",
    "random_generator",
]

_ODD = {"c": "complex numbers", "m": "durations", "M": "dates", "S": "text", "U": "text"}
_MOST_JOBS = 1024  # each is a thread; more is a slip of the hand
_LONGEST = 80  # characters of a value that a sentence shows


def shown(value: Any) -> str:
    """Return a value's text for a sentence: short, and on one line, which an array's is not."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def check_rng(rng: Any) -> np.random.Generator:
    """Return a numpy Generator."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is {shown(rng)}; expected a numpy.random.Generator.")
    return rng


def warn_user(message: str, category: type[Warning] | None = None) -> None:
    """Warn, by default of a fit that ended early, at the line outside this package that asked for it."""
    from sklearn.exceptions import ConvergenceWarning

    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("medn_edu."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category or ConvergenceWarning, stacklevel=level)


def _number(value: Any, kind: type, sentence: str) -> Any:
    """Return ``value`` if it is a number of a kind, as a float or an int; durations are none."""
    if not isinstance(value, kind) or isinstance(value, bool | np.timedelta64):
        raise TypeError(sentence)
    number: Any = value
    try:
        return int(number) if kind is numbers.Integral else float(number)
    except (OverflowError, ValueError):
        raise ValueError(sentence) from None


def as_numbers(values: Any) -> np.ndarray:
    """Return real numbers as float64; numpy would also read text and dates, and drop masks.

    Numbers too large become infinite.  The message of a TypeError says what else was found, as the
    end of "... holds".
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values  # most, and loops over samples come here all the time
    rows = values if isinstance(values, list | tuple) else [values]
    cells = (cell for row in rows if isinstance(row, list | tuple) for cell in row)
    if any(map(np.ma.is_masked, rows)) or any(cell is np.ma.masked for cell in cells):
        raise TypeError("masked entries")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise TypeError("rows of different lengths") from None
    kinds = {type(value) for value in array.flat} if array.dtype == object else {array.dtype.type}
    for kind in kinds:
        real = issubclass(kind, (numbers.Real, Decimal, np.bool_))
        if not real or issubclass(kind, np.timedelta64):
            raise TypeError(_ODD.get(np.dtype(kind).kind, "objects that are not numbers"))
    try:
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise TypeError("numbers that double precision cannot hold") from None


def check_choice(name: str, value: Any, options: Collection[str | None]) -> str | None:
    """Return ``value`` if it is one of the words (or None) that an argument may be."""
    if not (value is None or isinstance(value, str)) or value not in options:
        *others, last = map(repr, options)
        several = "one of " if len(others) > 2 else ""
        raise ValueError(
            f"{name} is {shown(value)}; expected {several}{', '.join(others)} or {last}."
        )
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool if it is True or False, numpy's included."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {shown(value)}; expected True or False.")
    return bool(value)


def check_positive(name: str, value: Any, *, most: float = math.inf) -> float:
    """Return ``value`` as a float if it is a finite number above 0.

    With ``most``, it must lie between ``1 / most`` and ``most``: outside, computations overflow.
    """
    number = _number(value, numbers.Real, f"{name} is {shown(value)}; expected a number > 0.")
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {shown(value)}; expected a finite number > 0.")
    if not 1 / most <= number <= most:
        raise ValueError(
            f"{name} is {shown(value)}; expected a number between {1 / most:g} and {most:g}, "
            "so that double precision can hold what follows from it."
        )
    return number


def check_nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a finite number of at least 0."""
    sentence = f"{name} is {shown(value)}; expected a number of at least 0."
    number = _number(value, numbers.Real, sentence)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} is {shown(value)}; expected a finite number of at least 0.")
    return number


def check_probability(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a probability strictly between 0 and 1."""
    if not check_positive(name, value) < 1:
        raise ValueError(f"{name} is {shown(value)}; expected a probability between 0 and 1.")
    return float(value)


def check_share(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a number from 0 to 1, both included."""
    sentence = f"{name} is {shown(value)}; expected a share from 0 to 1."
    number = _number(value, numbers.Real, sentence)
    if not 0 <= number <= 1:
        raise ValueError(sentence)
    return number


def check_jobs(value: Any) -> int:
    """Return ``n_jobs`` as an int if it is a number of threads that a machine could have."""
    if check_count("n_jobs", value) > _MOST_JOBS:
        raise ValueError(f"n_jobs is {value}; expected 1 to {_MOST_JOBS} threads.")
    return int(value)


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``least``."""
    sentence = f"{name} is {shown(value)}; expected a whole number of at least {least}."
    number = _number(value, numbers.Integral, sentence)
    if number < least:
        raise ValueError(sentence)
    return int(number)


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a generator for a seed, a generator, or None (a fresh one each time)."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    try:
        return np.random.default_rng(check_count("random_state", random_state, least=0))
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state is {shown(random_state)}; expected a whole number of at least 0, a "
            "numpy.random.Generator or None."
        ) from None
