"""What rules have in common, and those that are made of others.

A rule is a frozen dataclass whose fields say whom it compares and how much counts.  ``decide(rows)``
returns a `Verdict`; ``text()`` says the rule in words.  Most rules consist of two things:

* whom they judge: every model `OneByOne`, or each of some against each of others, `InPairs`;
* what they say of one such case: ``_judge``, a statistic with its interval and the bounds that the claim
  puts on it.

Where a table lacks what a rule needs, anything that looks for it raises `TooLittleError`, and ``decide``
says that nothing was tested.  What the verdicts mean is said in `medn_edu.studies.claims`; rules
about errors are in `claims.errors`, about constants and training in `claims.constants`, about weights in
`claims.weights`, and about algorithms in `claims.algorithms` and `claims.algorithm_costs`.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from medn_edu.studies.claims.scores import GENERATOR, Scores, scores_of
from medn_edu.studies.claims.verdicts import FAILS, MIXED, Verdict, combine, untested

POINTS = "points"
Row = Mapping[str, Any]
Names = tuple[str, ...]
_Found = TypeVar("_Found")


class TooLittleError(Exception):
    """A table lacks what a rule needs; the message says what."""


class Rule(ABC):
    """What all rules have in common."""

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Judge a claim by the rows of a study."""
        try:
            return self._verdict(rows)
        except TooLittleError as lack:
            return untested(str(lack))

    @abstractmethod
    def text(self) -> str:
        """Say the rule in words."""

    @abstractmethod
    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        """Judge rows that have what is needed."""

    def _table(self, rows: Sequence[Row], names: Names) -> Any:
        """Read what is judged of those named: the rows themselves, unless a rule says otherwise."""
        del names
        return rows


class OneByOne(Rule):
    """A rule about every one of some models, or algorithms, by itself."""

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        names = self._names()
        table = self._table(rows, names)
        return combine([self._judge(table, name) for name in names], names)

    @abstractmethod
    def _names(self) -> Names:
        """Say who is judged."""

    @abstractmethod
    def _judge(self, table: Any, name: str) -> Verdict:
        """Judge one of them."""


class InPairs(Rule):
    """A rule about each of some models, or algorithms, against each of others, but not itself."""

    _joint: ClassVar[str] = "against"

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        first, second = self._sides()
        table = self._table(rows, first + second)
        pairs = [(a, b) for a, b in itertools.product(first, second) if a != b]
        names = [f"{a} {self._joint} {b}" for a, b in pairs]
        return combine([self._judge(table, a, b) for a, b in pairs], names)

    @abstractmethod
    def _sides(self) -> tuple[Names, Names]:
        """Say who is compared with whom."""

    @abstractmethod
    def _judge(self, table: Any, first: str, second: str) -> Verdict:
        """Judge one pair."""


# ---------------------------------------------------------------------------------------------
# rules made of others, or of nothing


@dataclass(frozen=True)
class Untested(Rule):
    """No rule: nothing in this package tests the sentence."""

    why: str  # what is missing

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        raise TooLittleError(self.why)

    def text(self) -> str:
        """Return the reason."""
        return f"none: {self.why}"


@dataclass(frozen=True)
class AllOf(Rule):
    """Several rules, of which all must hold."""

    rules: tuple[Any, ...]

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        return combine([rule.decide(rows) for rule in self.rules], _texts(self.rules))

    def text(self) -> str:
        """Return the parts, one after the other."""
        return "; and ".join(_texts(self.rules))


@dataclass(frozen=True)
class EitherOf(Rule):
    """Several readings of one sentence: the paper leaves open which is meant.

    It says what all readings agree on; where they do not, it is mixed.
    """

    rules: tuple[Any, ...]

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        verdicts = [rule.decide(rows) for rule in self.rules]
        whole = combine(verdicts, _texts(self.rules))
        disputed = whole.status == FAILS and {v.status for v in verdicts} != {FAILS}
        return replace(whole, status=MIXED) if disputed else whole

    def text(self) -> str:
        """Return the readings, one after the other."""
        return "; or else ".join(_texts(self.rules))


def _texts(rules: Sequence[Rule]) -> list[str]:
    return [rule.text() for rule in rules]


_ROLES = (
    "model", "models", "better", "worse", "first", "second", "stable", "sensitive", "larger",
    "smaller", "more", "fewer", "algorithm", "algorithms", "quicker", "slower",
)  # fmt: skip


def model_names(rule: Any) -> Iterator[str]:
    """Yield the models, or algorithms, that a rule reads."""
    for role in _ROLES:
        names = getattr(rule, role, ())
        names = (names,) if isinstance(names, str) else names
        yield from (name for name in names if name != GENERATOR)
    for part in getattr(rule, "rules", ()):
        yield from model_names(part)


# ---------------------------------------------------------------------------------------------
# what they share


def scores_with(
    rows: Sequence[Row], models: Names, quantity: str = "error", *, against: str = "n_train"
) -> Scores:
    """Return scores that have all of some models."""
    if GENERATOR not in models:  # whose error stands in the rows of all others
        rows = [row for row in rows if row["model"] in models]
    scores = scores_of(rows, quantity, against=against)
    missing = [model for model in dict.fromkeys(models) if model not in scores]
    if missing:
        raise TooLittleError(f"the table has no {listed(tuple(missing))}.")
    return scores


def known(found: _Found | None, lack: str) -> _Found:
    """Return what was found, if it was."""
    if found is None:
        raise TooLittleError(lack)
    return found


def too_few(*models: str) -> str:
    """Say that fewer than three units can be compared."""
    return f"fewer than three units of {listed(tuple(dict.fromkeys(models)))}."


def mean_of(units: Mapping[Any, float]) -> float:
    """Return the mean over units."""
    return float(np.mean(list(units.values()))) if units else float("nan")


def listed(models: Names) -> str:
    """Return names as in a sentence."""
    return " and ".join([", ".join(models[:-1]), models[-1]] if len(models) > 1 else models)


def points_text(value: float) -> str:
    """Return a number of points as a text."""
    return f"{value:g} point" + ("" if value == 1 else "s")
