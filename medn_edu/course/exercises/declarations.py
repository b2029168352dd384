"""Exercises as declarations: the right answer and the typical mistakes.

The reply to each of them is in a TOML file next to the chapter's module, under the name of the check or
of the mistake.

A check is called with a learner's answer, says one sentence and never raises, whatever it is given: *not
yet* for an untouched stub or a function that returns None, *right* with the reason, or *not quite* with
a hint.
"""

import math
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from medn_edu.course.exercises.verdicts import show
from medn_edu.course.progress import note_solved

Answer = Callable[..., Any]
A_FUNCTION = "a function: hand over its name, without brackets"
NOTHING_RETURNED = "your function returns None; does it end in `return ...`?"
CARET = "did you write `^`? In Python a power is written `**`, and `^` compares bits."


@dataclass(eq=False, repr=False)
class Check(ABC):
    """An exercise: its right answer in Python, and its words from the TOML file next to its module."""

    _: KW_ONLY
    right: Any
    expected: str = A_FUNCTION  # said to an answer of another kind
    name: str = ""  # that of the variable that holds it
    asks: str = ""
    praise: str = ""  # said to the right answer
    hints: dict[str, str] = field(default_factory=dict)  # said to mistakes, by their names

    def give_words(self, name: str, words: dict[str, Any]) -> None:
        """Set the name and the words, once a check is collected."""
        self.name = name
        may = {"asks", "praise", "hints", "nearly", "otherwise", "too_small", "too_large"}
        may &= vars(self).keys()
        if not {"asks", "praise"} <= words.keys() <= may:
            raise ValueError(f"{name}: expected asks, praise and perhaps others of {sorted(may)}.")
        vars(self).update(words)
        try:
            self.planted = self._planted()
        except (KeyError, ValueError) as error:
            raise ValueError(f"{name}: mistakes and hints do not match: {error}") from error

    def __call__(self, answer: Any = None) -> None:
        """Show the verdict on an answer."""
        if answer is None:
            show("Not yet", "put your answer in place of None and run the cell again.")
            return
        complaint: str | None = f"expected {self.expected}."
        try:
            if callable(answer) == (self.expected == A_FUNCTION):
                complaint = self._complaint(answer)
        except (Exception, SystemExit) as error:
            if callable(answer):
                complaint = stopped(error)
        if complaint is None:
            show("Right", self.praise + note_solved(self.name))
        elif complaint == NOTHING_RETURNED:  # as the untouched stub of a function does
            show("Not yet", complaint)
        else:
            show("Not quite", complaint)

    def __repr__(self) -> str:
        return f"{self.name}: {self.asks}"

    @abstractmethod
    def _complaint(self, answer: Any) -> str | None:
        """Say what is wrong with an answer, if anything."""

    @abstractmethod
    def _planted(self) -> list[tuple[Any, str | None]]:
        """Return the mistakes, each with its hint if it has one of its own."""


@dataclass(eq=False, repr=False)
class Number(Check):
    """A number: an integer must be matched exactly, other numbers as closely as `agrees` asks.

    A hint belongs to the number that is its key, or to the one computed under that name; a mistake
    named `caret`, which uses `^` for a power, has a hint of its own.  For any other number the hint
    says in which way it is off.
    """

    _: KW_ONLY
    expected: str = "a number"
    mistakes: dict[str, float] = field(default_factory=dict)
    nearly: str = "close, but not close enough: keep more digits, and round only at the end."
    too_small: str = "that is too small; unfold a hint."
    too_large: str = "that is too large; unfold a hint."

    def _complaint(self, answer: Any) -> str | None:
        if isinstance(answer, str | bool):
            return f"expected a number{', without quotes' * isinstance(answer, str)}."
        if isinstance(answer, tuple) and len(answer) > 1:  # 0,5 and 100,000
            return f"with a comma that is {len(answer)} numbers; write a decimal point instead."
        if np.ndim(answer) and np.size(answer) == 1:
            return "expected a number, without brackets around it."
        if isinstance(answer, int):  # larger ones are no floats
            answer = max(-1e308, min(1e308, answer))
        value = float(answer)
        if value == self.right:
            return None
        for wrong, hint in self.planted:
            if math.isclose(value, wrong, rel_tol=5e-3):
                return hint
        if not isinstance(self.right, int) and agrees(value, self.right):
            return None
        return self._way_off(value)

    def _way_off(self, value: float) -> str:
        """Say in which way a number differs that is no typical mistake."""
        if not math.isfinite(value):
            return f"that is {value}; was something divided by 0, or its logarithm taken?"
        if (value < 0 < self.right) or (self.right < 0 < value):
            size_agrees = agrees(-value, self.right)
            return "only the sign is wrong." if size_agrees else "check the sign first."
        if 0 < self.right < 1 and agrees(value / 100, self.right):
            return "that looks like per cent; write it as a number between 0 and 1."
        if not isinstance(self.right, int) and math.isclose(value, self.right, rel_tol=3e-2):
            return self.nearly
        return self.too_small if value < self.right else self.too_large

    def _planted(self) -> list[tuple[Any, str | None]]:
        hints = self.hints | ({"caret": CARET} if "caret" in self.mistakes else {})
        if missing := self.mistakes.keys() - hints:
            raise KeyError(*missing)
        found = [(self.mistakes.get(key), key, hint) for key, hint in hints.items()]
        return [(float(key) if wrong is None else wrong, hint) for wrong, key, hint in found]


def agrees(value: float, right: float) -> bool:
    """Tell whether a number is the right one, to half a per cent or rounded to two decimal places.

    Rounding counts only where it changes little: 0.19 is 0.193, but 0.01 is not 0.014.
    """
    rounded = math.isclose(value, round(right, 2), rel_tol=1e-9)
    return math.isclose(value, right, rel_tol=3e-2 if rounded else 5e-3)


@dataclass(eq=False, repr=False)
class Function(Check):
    """A function, compared case by case with a right one and with others that make a mistake.

    A hidden mistake is one that the cases do not show.  Its second part says whether a function that is
    right on the cases makes this mistake.
    """

    _: KW_ONLY
    cases: Sequence[tuple[Any, ...]]
    right: Answer
    mistakes: dict[str, Answer]
    hidden: dict[str, tuple[Answer, Callable[[Answer], bool]]] = field(default_factory=dict)
    nearly: str = ""  # said where results are within 2 % of the right ones
    otherwise: str = "some results differ; try it on a word of two letters, on paper."

    @np.errstate(all="ignore")  # a check says its verdict and nothing else
    def _complaint(self, answer: Any) -> str | None:
        given = []
        for case in self.cases:
            try:
                given.append(answer(*map(_copy, case)))
            except (Exception, SystemExit) as error:
                return f"{stopped(error)}. The arguments were {_short(case)}."
        if any(value is None for value in given):
            return NOTHING_RETURNED
        expected = [self.right(*case) for case in self.cases]
        pairs = list(zip(given, expected, strict=True))
        if not all(map(_is_numeric, given)):
            got, wanted = next(pair for pair in pairs if not _is_numeric(pair[0]))
            return f"expected {_form(wanted)}, but your function returns {_form(got)}."
        given = [np.asarray(value, dtype=np.float64) for value in given]
        if _same(given, expected):
            shown = (name for name, (_, shows) in self.hidden.items() if shows(answer))
            return next((self.hints[name] for name in shown), None)
        for value, case in zip(given, self.cases, strict=True):
            if np.isnan(value).any():
                why = "was 0 divided by 0, or the logarithm of a negative number taken?"
                return f"your function returns nan: {why} The arguments were {_short(case)}."
        if all(map(_same_but_for_shape, given, expected)):
            shapes = f"{np.shape(given[0])}; expected {np.shape(expected[0])}"
            return f"the numbers are right, but yours come in an array of shape {shapes}."
        for name, mistaken in self.mistakes.items():
            if _same(given, [mistaken(*case) for case in self.cases]):
                return self.hints[name]
        for got, wanted in pairs:
            if np.shape(got) != np.shape(wanted) or _is_truth(got) > _is_truth(wanted):
                return f"expected {_form(wanted)}, but your function returns {_form(got)}."
        if _same([-value for value in given], expected):
            return "only the sign is wrong."
        if self.nearly and _same(given, expected, rtol=0.02):
            return self.nearly
        return self.otherwise

    def _planted(self) -> list[tuple[Any, str | None]]:
        answers = self.mistakes | {name: answer for name, (answer, _) in self.hidden.items()}
        if answers.keys() != self.hints.keys():
            raise KeyError(*(answers.keys() ^ self.hints.keys()))
        return [(answer, self.hints[name]) for name, answer in answers.items()]


@dataclass(eq=False, repr=False)
class Choice(Check):
    """One of several letters; every wrong one has a hint of its own."""

    _: KW_ONLY
    expected: str = "one letter in quotes, such as 'a'"

    def _complaint(self, answer: Any) -> str | None:
        letter = answer.strip().lower() if isinstance(answer, str) else ""
        if letter == self.right:
            return None
        return self.hints.get(letter, f"expected one of the letters {self._letters()}, in quotes.")

    def _letters(self) -> str:
        return ", ".join(sorted([self.right, *self.hints]))

    def _planted(self) -> list[tuple[Any, str | None]]:
        if self.right in self.hints or any(len(letter) != 1 for letter in self.hints):
            raise KeyError(*self.hints)
        return list(self.hints.items())


@dataclass(eq=False, repr=False)
class Judged(Check):
    """An answer of another kind: its own judge says what is wrong with it, if anything.

    A judge may fail on an answer of the wrong kind.  The learner then reads which kind is expected.
    """

    _: KW_ONLY
    judge: Callable[[Any], str | None]
    mistakes: Sequence[Any]

    def _complaint(self, answer: Any) -> str | None:
        return self.judge(answer)

    def _planted(self) -> list[tuple[Any, str | None]]:
        return [(mistake, None) for mistake in self.mistakes]


def differs(right: Answer, *cases: tuple[Any, ...]) -> Callable[[Answer], bool]:
    """Return a test of whether a function differs from the right one, or fails, on these cases."""

    def shows(answer: Answer) -> bool:
        try:
            given = [answer(*map(_copy, case)) for case in cases]
            return not _same(given, [right(*case) for case in cases])
        except (ArithmeticError, TypeError, ValueError):
            return True

    return shows


def stopped(error: BaseException) -> str:
    """Say in one line what stopped a function."""
    try:
        text = f": {str(error).rstrip('.')}" if str(error) else ""
    except Exception:  # a learner's own exception may do anything
        text = ""
    return " ".join(f"your function stopped with {type(error).__name__}{text}".split())


def _short(case: tuple[Any, ...]) -> str:
    return " ".join(reprlib.repr(case)[1:-1].split()).rstrip(",")


def _copy(argument: Any) -> Any:
    return argument.copy() if hasattr(argument, "copy") else argument


def _same(given: Sequence[Any], expected: Sequence[Any], rtol: float = 1e-5) -> bool:
    pairs = zip(given, expected, strict=True)
    return all(np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol)) for a, b in pairs)


def _is_numeric(value: Any) -> bool:
    try:
        found = np.asarray(value, dtype=np.float64)
        return not np.isnan(found).any() or None not in np.ravel(np.asarray(value, dtype=object))
    except Exception:  # a learner's own object may do anything
        return False


def _is_truth(value: Any) -> bool:
    return np.asarray(value).dtype == bool


def _form(value: Any) -> str:
    """Say what a function returns: a number, an array and how large it is, or something else."""
    if callable(value):
        return "a function; call it to get its value"
    if not _is_numeric(value):
        return f"a {type(value).__name__} that can't be read as numbers"
    if _is_truth(value):
        return "True or False"
    shape = np.shape(value)
    if not shape:
        return "a number"
    return f"an array of shape {shape}" if len(shape) > 1 else f"an array of length {shape[0]}"


def _same_but_for_shape(given: Any, expected: Any) -> bool:
    return np.size(given) == np.size(expected) and _same([np.ravel(given)], [np.ravel(expected)])
