"""What rules have in common, and those that are made of others.

Each rule is a frozen dataclass with ``decide(rows)``, which returns a `Verdict`, and ``text()``, which
says it in words.  What the verdicts mean is said in `medn_edu.experiments.claims`; rules about errors
are in `claims.errors`, about constants and training in `claims.constants`, about weights in
`claims.weights`, and about algorithms in `claims.algorithms` and `claims.algorithm_costs`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from medn_edu.experiments.claims.scores import GENERATOR, Scores
from medn_edu.experiments.claims.verdicts import FAILS, MIXED, Verdict, combine, untested

__all__ = [
    "POINTS", "AllOf", "EitherOf", "Names", "Row", "Rule", "Untested", "in_pairs", "listed",
    "mean_of", "missing_from", "model_names", "points_text", "too_few",
]  # fmt: skip

POINTS = "points"
Row = Mapping[str, Any]
Names = tuple[str, ...]


class Rule(Protocol):
    """What all rules have in common."""

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Judge the rows of a study."""

    def text(self) -> str:
        """Say the rule in words."""


@dataclass(frozen=True)
class Untested:
    """No rule: nothing in this package tests the sentence.

    Parameters
    ----------
    why : str
        What is missing.
    """

    why: str

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Say that nothing was tested.

        Parameters
        ----------
        rows : sequence of rows
            Not looked at.

        Returns
        -------
        Verdict
            Not tested yet.
        """
        del rows
        return untested(self.why)

    def text(self) -> str:
        """Return the reason."""
        return f"none: {self.why}"


@dataclass(frozen=True)
class AllOf:
    """Several rules, of which all must hold.

    Parameters
    ----------
    rules : tuple of rules
        The parts.
    """

    rules: tuple[Any, ...]

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Judge every part.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Of the parts together.
        """
        verdicts = [rule.decide(rows) for rule in self.rules]
        return combine(verdicts, [rule.text() for rule in self.rules])

    def text(self) -> str:
        """Return the parts, one after the other."""
        return "; and ".join(rule.text() for rule in self.rules)


@dataclass(frozen=True)
class EitherOf:
    """Several readings of one sentence: the paper leaves open which is meant.

    Parameters
    ----------
    rules : tuple of rules
        The readings.
    """

    rules: tuple[Any, ...]

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Judge every reading.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            What all readings agree on; mixed where they do not.
        """
        verdicts = [rule.decide(rows) for rule in self.rules]
        whole = combine(verdicts, [rule.text() for rule in self.rules])
        disputed = whole.status == FAILS and {v.status for v in verdicts} != {FAILS}
        return replace(whole, status=MIXED) if disputed else whole

    def text(self) -> str:
        """Return the readings, one after the other."""
        return "; or else ".join(rule.text() for rule in self.rules)


_ROLES = (
    "model", "models", "better", "worse", "first", "second", "stable", "sensitive", "larger",
    "smaller", "more", "fewer", "algorithm", "algorithms", "quicker", "slower",
)  # fmt: skip


def model_names(rule: Any) -> Iterator[str]:
    """Yield the models, or algorithms, that a rule reads.

    Parameters
    ----------
    rule : object
        A rule.

    Yields
    ------
    str
        Names, the generating model left out.
    """
    for role in _ROLES:
        names = getattr(rule, role, ())
        names = (names,) if isinstance(names, str) else names
        yield from (name for name in names if name != GENERATOR)
    for part in getattr(rule, "rules", ()):
        yield from model_names(part)


# ---------------------------------------------------------------------------------------------
# what they share


def in_pairs(
    scores: Scores, first: Names, second: Names, judge: Callable[[str, str], Verdict]
) -> Verdict:
    """Judge every pair of models and combine.

    Parameters
    ----------
    scores : dict
        Scores by model.
    first, second : tuple of str
        Names of models.
    judge : callable
        ``judge(a, b)`` returns the verdict on one pair.

    Returns
    -------
    Verdict
        Of all pairs together; not tested yet where a model is missing.
    """
    if missing := missing_from(scores, first + second):
        return missing
    pairs = [(a, b) for a, b in itertools.product(first, second) if a != b]
    return combine([judge(a, b) for a, b in pairs], [f"{a} against {b}" for a, b in pairs])


def missing_from(scores: Scores, models: Names) -> Verdict | None:
    """Return the verdict where the table lacks a model.

    Parameters
    ----------
    scores : dict
        Scores by model.
    models : tuple of str
        Names of models.

    Returns
    -------
    Verdict or None
        None if all of them are there.
    """
    missing = [model for model in dict.fromkeys(models) if model not in scores]
    return untested(f"the table has no {listed(tuple(missing))}.") if missing else None


def too_few(*models: str) -> Verdict:
    """Return the verdict where fewer than three units can be compared.

    Parameters
    ----------
    *models : str
        Names of models.

    Returns
    -------
    Verdict
        Not tested yet.
    """
    return untested(f"fewer than three units of {listed(tuple(dict.fromkeys(models)))}.")


def mean_of(units: Mapping[Any, float]) -> float:
    """Return the mean over units.

    Parameters
    ----------
    units : mapping of unit to float
        A value for each.

    Returns
    -------
    float
        The mean; not a number where there are none.
    """
    return float(np.mean(list(units.values()))) if units else float("nan")


def listed(models: Names) -> str:
    """Return names as in a sentence.

    Parameters
    ----------
    models : tuple of str
        Names of models.

    Returns
    -------
    str
        With commas, and "and" before the last.

    Examples
    --------
    >>> listed(("CRF", "M3N", "LapMEDN"))
    'CRF, M3N and LapMEDN'
    """
    return " and ".join([", ".join(models[:-1]), models[-1]] if len(models) > 1 else models)


def points_text(value: float) -> str:
    """Return a number of points as a text.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str
        Such as "2 points".
    """
    return f"{value:g} point" + ("" if value == 1 else "s")
