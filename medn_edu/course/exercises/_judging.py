"""How answers are judged: against the right one, and against typical mistakes."""

from __future__ import annotations

import functools
import math
import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from medn_edu.course.progress import note_solved

Verdict = tuple[bool, str]


def check(judge: Callable[[Any], Verdict]) -> Callable[[Any], None]:
    """Turn a judge of answers into a check that prints its verdict and never raises."""

    @functools.wraps(judge)
    def check(answer: Any) -> None:
        if answer is None:
            print("Not yet: put your answer in place of None and run the cell again.")
            return
        try:
            right, reason = judge(answer)
        except (Exception, SystemExit) as error:
            right, reason = False, _stopped(error)
        if right:
            print(f"Right: {reason}{note_solved(judge.__name__)}")
        else:
            print(f"Not quite: {reason}")

    return check


def _stopped(error: BaseException) -> str:
    try:
        text = f": {error}" if str(error) else ""
    except Exception:  # a learner's own exception may do anything
        text = ""
    return " ".join(f"it stopped with {type(error).__name__}{text}".split())


def judge_number(answer: Any, right: float, praise: str, mistakes: dict[float, str]) -> Verdict:
    """Compare a number with the right one and with what typical mistakes give.

    An integer has to be met exactly, other numbers as `agrees` says.
    """
    if isinstance(answer, str):
        return False, "expected a number, without quotes."
    if np.ndim(answer) and np.size(answer) == 1:
        return False, "expected a number, without brackets around it."
    try:
        value = float(answer)
    except (TypeError, ValueError):
        return False, "expected a number."
    if value == right:
        return True, praise
    for wrong, hint in mistakes.items():
        if math.isclose(value, wrong, rel_tol=5e-3):
            return False, hint
    if not isinstance(right, int) and agrees(value, right):
        return True, praise
    return False, "that is another number; try the hints."


def agrees(value: float, right: float) -> bool:
    """Tell whether a number is the right one, to half a per cent or rounded to two decimal places.

    Rounding counts only where it changes little: 0.19 is 0.193, but 0.01 is not 0.014.
    """
    rounded = math.isclose(value, round(right, 2), rel_tol=1e-9)
    return math.isclose(value, right, rel_tol=3e-2 if rounded else 5e-3)


def judge_function(
    answer: Any,
    cases: Sequence[tuple[Any, ...]],
    right: Callable[..., Any],
    praise: str,
    mistakes: Sequence[tuple[Callable[..., Any], str]],
    otherwise: str = "some results differ; try it on a word of two letters, on paper.",
) -> Verdict:
    """Compare a function with the right one on cases, and with functions that make mistakes."""
    if not callable(answer):
        return False, "expected a function: hand over its name, without brackets."
    given = []
    for case in cases:
        try:
            given.append(answer(*(_copy(argument) for argument in case)))
        except (Exception, SystemExit) as error:
            return False, f"{_stopped(error)}. The arguments were {_short(case)}."
    if any(value is None for value in given):
        return False, "your function returns None; does it end in `return ...`?"
    expected = [right(*case) for case in cases]
    if _same(given, expected):
        return True, praise
    if all(map(_same_but_for_shape, given, expected)):
        shapes = f"{np.shape(given[0])}; expected {np.shape(expected[0])}"
        return False, f"the numbers are right, but yours come in an array of shape {shapes}."
    for mistaken, hint in mistakes:
        if _same(given, [mistaken(*case) for case in cases]):
            return False, hint
    return False, otherwise


def without_warnings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with numpy's warnings off: a check prints its verdict and nothing else."""

    def quiet(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return quiet


def _short(case: tuple[Any, ...]) -> str:
    return " ".join(reprlib.repr(case)[1:-1].split()).rstrip(",")


def _copy(argument: Any) -> Any:
    return argument.copy() if hasattr(argument, "copy") else argument


def _same(given: Sequence[Any], expected: Sequence[Any]) -> bool:
    pairs = zip(given, expected, strict=True)
    return all(np.shape(a) == np.shape(b) and bool(np.allclose(a, b)) for a, b in pairs)


def _same_but_for_shape(given: Any, expected: Any) -> bool:
    return np.size(given) == np.size(expected) and _same([np.ravel(given)], [np.ravel(expected)])
