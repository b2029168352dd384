"""What a learner can move: sliders, choices, check boxes and time.

A control is a finite list of values, each with the text that names it.  The browser knows only
*positions* in that list, so it never rounds a number and a screen reader says what is printed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

MOST_VALUES = 2001


def true_minus(text: str) -> str:
    """Return a text with a real minus sign, not a hyphen, in front of negative numbers."""
    return re.sub(r"(?<![\w.)\]-])-(?=[\d.∞])", "\N{MINUS SIGN}", text)


@dataclass(frozen=True)
class Control:
    """One control: its values, their names, and where it starts.

    Made by `Slider`, `Time`, `Choice` and `Check`.

    Parameters
    ----------
    kind : {"slider", "time", "choice", "check"}
        How it is shown.
    values : tuple
        Every value it can take, in order.
    texts : tuple of str
        The name of each value.
    start : int
        Position of the first value shown.
    label : str
        Words in front of it; the control's name when empty.
    per_second : float
        How many values are played per second; only a `Time` uses it.
    """

    kind: str
    values: tuple[Any, ...]
    texts: tuple[str, ...]
    start: int = 0
    label: str = ""
    per_second: float = 6.0

    def position(self, value: Any) -> int:
        """Return the position of ``value``: for a slider the nearest value, otherwise the equal one.

        Raises `ValueError` if there is no such value.
        """
        if self.kind in ("slider", "time"):
            return _nearest(self.values, value)
        return _equal(self.values, value)


class Slider(Control):
    """A slider from ``low`` to ``high``.  If all three numbers are whole, so are its values.

    Parameters
    ----------
    low, high, step : float
        Both ends, which are included, and the distance between neighbouring values.
    value : float, optional
        Where it starts; ``low`` by default.
    label : str
        Words in front of it.

    Raises
    ------
    ValueError
        If a number is not finite, the range is empty, the step is not positive, or there are more than
        2001 values.

    Examples
    --------
    >>> Slider(0, 1, 0.25).texts
    ('0.00', '0.25', '0.50', '0.75', '1.00')
    >>> Slider(1, 4, 1).values
    (1, 2, 3, 4)
    """

    def __init__(
        self,
        low: float,
        high: float,
        step: float = 0.1,
        value: float | None = None,
        *,
        label: str = "",
    ) -> None:
        super().__init__("slider", *_grid(low, high, step, value), label)


class Time(Control):
    """A slider that can also be played as a film; an explorer has at most one.

    Parameters
    ----------
    low, high, step, value, label
        As for a `Slider`.
    per_second : float
        How many pictures are played per second.

    Examples
    --------
    >>> Time(0, 30).kind
    'time'
    """

    def __init__(
        self,
        low: float,
        high: float,
        step: float = 1,
        value: float | None = None,
        *,
        label: str = "",
        per_second: float = 6.0,
    ) -> None:
        super().__init__("time", *_grid(low, high, step, value), label, per_second)


class Choice(Control):
    """A choice between ``options``, the first unless ``value`` says otherwise.

    Parameters
    ----------
    options : sequence
        What to choose from; shown as ``str(option)``.
    value : object, optional
        The option to start with.
    label : str
        Words in front of it.
    texts : sequence of str, optional
        What the options are called, if not ``str(option)``.

    Raises
    ------
    ValueError
        If there are no options, an option occurs twice, or ``value`` is not an option.

    Examples
    --------
    >>> Choice(["M3N", "CRF"], "CRF").start
    1
    """

    def __init__(
        self,
        options: Sequence[Any],
        value: Any = None,
        *,
        label: str = "",
        texts: Sequence[str] = (),
    ) -> None:
        values = tuple(options)
        if not values:
            raise ValueError("a choice needs at least one option.")
        twice = [option for i, option in enumerate(values) if option in values[:i]]
        if twice:
            raise ValueError(f"a choice holds the option {twice[0]!r} twice; expected it once.")
        start = 0 if value is None else _equal(values, value)
        super().__init__("choice", values, tuple(texts) or tuple(map(str, values)), start, label)


class Check(Control):
    """A check box.

    Parameters
    ----------
    value : bool
        Whether it is checked at first.
    label : str
        Words in front of it.

    Examples
    --------
    >>> Check(True).start
    1
    """

    def __init__(self, value: bool = False, *, label: str = "") -> None:
        super().__init__("check", (False, True), ("no", "yes"), int(value), label)


def listed(
    values: Sequence[Any],
    start: Any,
    label: str,
    *,
    texts: Sequence[str] = (),
    per_second: float = 0,
) -> Control:
    """Return a slider of values that are not evenly spaced, or a `Time` if ``per_second`` is given."""
    names = tuple(map(true_minus, texts or (f"{value:g}" for value in values)))
    kind, rate = ("time", per_second) if per_second else ("slider", 6.0)
    return Control(kind, tuple(values), names, list(values).index(start), label, rate)


def as_control(name: str, declared: Any) -> Control:
    """Turn the short forms into controls: ``(low, high, step)``, a list of choices, True or False."""
    if isinstance(declared, bool):
        declared = Check(declared)
    elif isinstance(declared, tuple) and len(declared) in (2, 3):
        declared = Slider(*declared)
    elif isinstance(declared, list):
        declared = Choice(declared)
    if not isinstance(declared, Control):
        raise TypeError(
            f"control {name!r} is a {type(declared).__name__}; expected (low, high, step), a list "
            "of choices, True or False, or a Slider, Time, Choice or Check."
        )
    return declared


def _nearest(values: tuple[Any, ...], value: Any) -> int:
    low, high = min(values), max(values)
    if not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"{value!r} is outside the slider; expected {low} to {high}.")
    return min(range(len(values)), key=lambda i: abs(values[i] - value))


def _equal(values: tuple[Any, ...], value: Any) -> int:
    if value not in values:
        options = ", ".join(str(option) for option in values)
        raise ValueError(f"{value!r} is not a choice; expected one of {options}.")
    return values.index(value)


def _grid(
    low: float, high: float, step: float, value: float | None
) -> tuple[tuple[float, ...], tuple[str, ...], int]:
    """Return values, their texts, exact in decimal notation, and the position of ``value``."""
    try:
        first, last, gap = (Decimal(str(number)) for number in (low, high, step))
    except InvalidOperation:  # no number at all
        first = last = gap = Decimal("NaN")
    if not all(number.is_finite() for number in (first, last, gap)):
        raise ValueError(f"slider from {low} to {high} by {step}: expected finite numbers.")
    if not gap > 0 or not last > first:
        raise ValueError(f"slider from {low} to {high} by {step}: expected low < high, step > 0.")
    count = int((last - first) / gap) + 1
    if count > MOST_VALUES:
        raise ValueError(f"a slider of {count} values is too fine; expected at most {MOST_VALUES}.")
    exact = [first + gap * i for i in range(count)]
    whole = all(isinstance(number, int) for number in (low, high, step))
    digits = max(0, -int(min(first.as_tuple().exponent, gap.as_tuple().exponent)))
    texts = tuple(true_minus(f"{number:.{0 if whole else digits}f}") for number in exact)
    values = tuple(int(number) if whole else float(number) for number in exact)
    return values, texts, 0 if value is None else _nearest(values, value)
