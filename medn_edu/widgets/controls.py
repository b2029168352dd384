"""What a learner can move: sliders, choices, check boxes and time.

A control is a finite list of values, each with the text that names it.  The browser knows only
*positions* in that list: it never rounds a number, pictures can be kept by position, and a screen
reader says the same text that is printed beside the slider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

__all__ = ["Check", "Choice", "Control", "Slider", "Time", "as_control"]

MOST_VALUES = 2001


@dataclass(frozen=True)
class Control:
    """One control: its values, their names, and where it starts.

    Parameters
    ----------
    kind : {"slider", "choice", "check", "time"}
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
        How many values a second are played; of use to a `Time` only.
    """

    kind: str
    values: tuple[Any, ...]
    texts: tuple[str, ...]
    start: int = 0
    label: str = ""
    per_second: float = field(default=6.0)

    def position(self, value: Any) -> int:
        """Return the position of ``value``: the nearest one of a slider, the equal one elsewhere.

        Raises
        ------
        ValueError
            If there is no such value.
        """
        if self.kind in ("slider", "time"):
            low, high = self.values[0], self.values[-1]
            if not isinstance(value, (int, float)) or not low <= value <= high:
                raise ValueError(f"{value!r} is outside the slider's range; expected {low} to {high}.")
            return min(range(len(self.values)), key=lambda i: abs(self.values[i] - value))
        if value not in self.values:
            raise ValueError(f"{value!r} is not a choice; expected one of {', '.join(self.texts)}.")
        return self.values.index(value)


def Slider(
    low: float, high: float, step: float = 0.1, value: float | None = None, *, label: str = ""
) -> Control:
    """Return a slider from ``low`` to ``high``; whole numbers if all three numbers are.

    Parameters
    ----------
    low, high, step : float
        The ends, both included, and the distance of neighbours.
    value : float, optional
        Where it starts; ``low`` by default.
    label : str
        Words in front of it.

    Returns
    -------
    Control
        The slider.

    Raises
    ------
    ValueError
        If the range is empty, the step is not positive, or there are more than 2001 values.

    Examples
    --------
    >>> Slider(0, 1, 0.25).texts
    ('0.00', '0.25', '0.50', '0.75', '1.00')
    >>> Slider(1, 4, 1).values
    (1, 2, 3, 4)
    """
    values, texts = _grid(low, high, step)
    control = Control("slider", values, texts, 0, label)
    return control if value is None else _starting_at(control, value)


def Time(
    low: float,
    high: float,
    step: float = 1,
    value: float | None = None,
    *,
    label: str = "",
    per_second: float = 6.0,
) -> Control:
    """Return a slider whose pictures can also be played; an explorer has at most one.

    Parameters
    ----------
    low, high, step, value, label
        As for `Slider`.
    per_second : float
        How many pictures a second are played.

    Returns
    -------
    Control
        The time.
    """
    values, texts = _grid(low, high, step)
    control = Control("time", values, texts, 0, label, per_second)
    return control if value is None else _starting_at(control, value)


def Choice(options: Sequence[Any], value: Any = None, *, label: str = "") -> Control:
    """Return a choice between ``options``, the first unless ``value`` says otherwise.

    Examples
    --------
    >>> Choice(["M3N", "CRF"], "CRF").start
    1
    """
    values = tuple(options)
    if not values:
        raise ValueError("a choice needs at least one option.")
    control = Control("choice", values, tuple(str(option) for option in values), 0, label)
    return control if value is None else _starting_at(control, value)


def Check(value: bool = False, *, label: str = "") -> Control:
    """Return a check box."""
    return Control("check", (False, True), ("no", "yes"), int(value), label)


def as_control(name: str, declared: Any) -> Control:
    """Turn the short forms into controls.

    Parameters
    ----------
    name : str
        The control's name, its label where none is given.
    declared : Control, tuple, list or bool
        A control; ``(low, high)`` or ``(low, high, step)`` for a slider; a list for a choice; True
        or False for a check box.

    Returns
    -------
    Control
        The control, with a label.

    Raises
    ------
    TypeError
        If it is none of these.

    Examples
    --------
    >>> as_control("eta", (-3, 3, 0.1)).kind, as_control("prior", ["normal", "Laplace"]).kind
    ('slider', 'choice')
    """
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
    label = declared.label or name.replace("_", " ")
    return Control(
        declared.kind, declared.values, declared.texts, declared.start, label, declared.per_second
    )


def _starting_at(control: Control, value: Any) -> Control:
    start = control.position(value)
    return Control(
        control.kind, control.values, control.texts, start, control.label, control.per_second
    )


def _grid(low: float, high: float, step: float) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return the values from ``low`` to ``high`` and their texts, exact in decimal notation."""
    first, last, gap = (Decimal(str(number)) for number in (low, high, step))
    if not gap > 0 or not last > first:
        raise ValueError(f"a slider from {low} to {high} by {step}: expected low < high and step > 0.")
    count = int((last - first) / gap) + 1
    if count > MOST_VALUES:
        raise ValueError(f"a slider of {count} values is too fine; expected at most {MOST_VALUES}.")
    exact = [first + gap * i for i in range(count)]
    if all(isinstance(number, int) for number in (low, high, step)):
        return tuple(int(number) for number in exact), tuple(str(int(number)) for number in exact)
    digits = max(0, -int(min(first.as_tuple().exponent, gap.as_tuple().exponent)))
    return tuple(float(number) for number in exact), tuple(f"{n:.{digits}f}" for n in exact)
