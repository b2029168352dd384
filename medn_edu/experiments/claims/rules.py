"""Rules about errors: who is better, who is as good, what falls, where the gain is largest.

Each rule is a frozen dataclass with ``decide(rows)``, which returns a `Verdict`, and ``text()``, which
says it in words.  Advantages are the worse model's error minus the better one's, in percentage points
of labels, on the same data: positive speaks for the claim.  What the verdicts mean is said in
`medn_edu.experiments.claims`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from medn_edu.experiments.claims.scores import (
    GENERATOR,
    Scores,
    difference_interval,
    mean_interval,
    paired,
    scores_of,
)
from medn_edu.experiments.claims.verdicts import (
    FAILS,
    MIXED,
    Verdict,
    combine,
    place,
    untested,
    within,
)

__all__ = [
    "POINTS", "AllOf", "Better", "Comparable", "EitherOf", "Falls", "LargestGain", "MoreStable",
    "Near", "Overfits", "Rule", "Sensitive", "Steady", "Untested", "model_names",
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


@dataclass(frozen=True)
class Better:
    """Every one of some models errs less than every one of others.

    Parameters
    ----------
    better, worse : tuple of str
        Names of models.
    consistently : bool
        Whether the mean must be on that side in each setting, not only on average.
    at_least : float
        How many points better, for words such as "much".
    at_most : float, optional
        How many at most, for words such as "slightly".
    relevant : tuple of int
        Numbers of relevant features that the claim is about; all unless given.
    quantity : str
        ``"error"``, or ``"nonzero"``: fewer weights that are not zero.
    """

    better: Names
    worse: Names
    consistently: bool = False
    at_least: float = 0.0
    at_most: float | None = None
    relevant: tuple[int, ...] = ()
    quantity: str = "error"

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare each pair on the same data.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the smallest advantage, or that of the pair that comes off worst.
        """
        scores = scores_of(rows, self.quantity)
        return _pairs(scores, self.better, self.worse, lambda a, b: self._judge(scores, a, b))

    def _judge(self, scores: Scores, better: str, worse: str) -> Verdict:
        by_unit, by_setting = _paired(scores, better, worse, self.relevant)
        found = mean_interval(list(by_unit.values()))
        if found is None:
            return _too_few(better, worse)
        mean, low, high = found
        n_for = sum(value > 0 for value in by_setting.values())
        everywhere = not self.consistently or n_for == len(by_setting)
        most = math.inf if self.at_most is None else self.at_most
        status = place((low, high), above=self.at_least, at_most=most, everywhere=everywhere)
        unit = POINTS if self.quantity == "error" else "% of weights"
        note = f"{len(by_unit)} units; on this side in {n_for} of {len(by_setting)} settings"
        return Verdict(
            status, mean, (low, high), unit, note, min(mean - self.at_least, most - mean)
        )

    def text(self) -> str:
        """Say which models, by how much and where."""
        what = "errs less than" if self.quantity == "error" else "has fewer non-zero weights than"
        parts = [f"{_names(self.better)} {what} {_names(self.worse)}"]
        if self.at_least:
            parts.append(f"by more than {_points(self.at_least)}")
        if self.at_most is not None:
            parts.append(f"by at most {_points(self.at_most)}")
        if self.consistently:
            parts.append("in each setting")
        hardly = _NO_BETTER if GENERATOR in self.worse and self.quantity == "error" else ""
        return ", ".join(parts) + _where(self.relevant) + hardly


@dataclass(frozen=True)
class Comparable:
    """Some models err as much as others, up to a margin.

    Parameters
    ----------
    first, second : tuple of str
        Names of models.
    margin : float
        How many points count as the same.
    relevant : tuple of int
        Numbers of relevant features that the claim is about; all unless given.
    """

    first: Names
    second: Names
    margin: float = 1.0
    relevant: tuple[int, ...] = ()

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare each pair on the same data.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the second model's error minus the first one's.
        """
        scores = scores_of(rows)
        return _pairs(scores, self.first, self.second, lambda a, b: self._judge(scores, a, b))

    def _judge(self, scores: Scores, first: str, second: str) -> Verdict:
        by_unit, by_setting = _paired(scores, first, second, self.relevant)
        found = mean_interval(list(by_unit.values()))
        if found is None:
            return _too_few(first, second)
        mean, low, high = found
        n_inside = sum(abs(value) <= self.margin for value in by_setting.values())
        status = within((low, high), 0.0, self.margin, everywhere=n_inside == len(by_setting))
        note = (
            f"{len(by_unit)} units; within the margin in {n_inside} of {len(by_setting)} settings"
        )
        return Verdict(status, mean, (low, high), POINTS, note, self.margin - abs(mean))

    def text(self) -> str:
        """Say which models and which margin."""
        return (
            f"{_names(self.first)} and {_names(self.second)} differ by at most {_points(self.margin)}"
            f", on average and in each setting" + _where(self.relevant)
        )


@dataclass(frozen=True)
class Falls:
    """With more training data every one of some models errs less, or less unequally.

    Parameters
    ----------
    models : tuple of str
        Names of models.
    quantity : str
        ``"error"``: the fall from the smallest to the largest training set, with a fall at each step;
        or ``"spread"``: the mean distance from the median over units, from smallest to largest.

    Each model is judged by itself: the steep fall of one must not hide another that does not fall.
    """

    models: Names
    quantity: str = "error"

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the smallest with the largest training sets of the same units.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the fall of the model that comes off worst.
        """
        scores = scores_of(rows)
        if missing := _missing(scores, self.models):
            return missing
        return combine([self._judge(scores, model) for model in self.models], self.models)

    def _judge(self, scores: Scores, model: str) -> Verdict:
        by_size = _by_size(scores[model])
        if self.quantity == "spread":
            by_size = {size: _distances(units) for size, units in by_size.items()}
        sizes = sorted(by_size)
        units = sorted(set.intersection(*(set(by_size[size]) for size in sizes)))
        if len(sizes) < 2 or not units:
            return untested(f"{model} has no two sizes of training sets.")
        found = mean_interval(
            [by_size[sizes[0]][unit] - by_size[sizes[-1]][unit] for unit in units]
        )
        if found is None:
            return _too_few(model)
        mean, low, high = found
        means = [np.mean([by_size[size][unit] for unit in units]) for size in sizes]
        n_up = int(np.sum(np.diff(means) >= 0)) if self.quantity == "error" else 0
        note = f"{len(units)} units" + (f"; {n_up} of {len(means) - 1} steps up" if n_up else "")
        status = place((low, high), above=0.0, everywhere=not n_up)
        return Verdict(status, mean, (low, high), POINTS, note, mean)

    def text(self) -> str:
        """Say what falls."""
        if self.quantity == "error":
            return f"the error falls at each step of training sets: {_names(self.models)}, each"
        return (
            "the distance of errors from their median falls from the smallest to the largest training "
            f"sets: {_names(self.models)}, each"
        )


@dataclass(frozen=True)
class LargestGain:
    """The advantage of some models over others is larger under one condition than at its opposite.

    Parameters
    ----------
    better, worse : tuple of str
        Names of models.
    where : str
        ``"few samples"``, ``"few relevant"`` or ``"many relevant"``: the extreme at which it is
        larger than at the other.
    """

    better: Names
    worse: Names
    where: str

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the advantages at the two extremes.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the difference of the advantages.
        """
        scores = scores_of(rows)
        return _pairs(scores, self.better, self.worse, lambda a, b: self._judge(scores, a, b))

    def _judge(self, scores: Scores, better: str, worse: str) -> Verdict:
        settings = set(scores[better]) & set(scores[worse])
        axis = 1 if self.where == "few samples" else 0
        values = sorted({setting[axis] for setting in settings})
        if len(values) < 2:
            return untested(f"only one value of what {self.where!r} is about.")
        ends = [values[0], values[-1]] if self.where.startswith("few") else [values[-1], values[0]]
        here, there = (
            paired(scores[better], scores[worse], lambda s, end=end: s[axis] == end)[0]  # type: ignore[misc]
            for end in ends
        )
        if axis == 1:  # the same units at both ends
            units = sorted(set(here) & set(there))
            found = mean_interval([here[unit] - there[unit] for unit in units])
        else:
            found = difference_interval(_moments(there), _moments(here))
        if found is None:
            return _too_few(better, worse)
        mean, low, high = found
        note = f"{_mean(here):+.2f} at {ends[0]:g}, {_mean(there):+.2f} at {ends[1]:g}"
        return Verdict(place((low, high), above=0.0), mean, (low, high), POINTS, note, mean)

    def text(self) -> str:
        """Say whose gain, and where."""
        return (
            f"the advantage of {_names(self.better)} over {_names(self.worse)} is larger with "
            f"{self.where} (smallest against largest)"
        )


@dataclass(frozen=True)
class Near:
    """A model errs about as often as a number says.

    Parameters
    ----------
    model : str
        Name of the model.
    value, margin : float
        The number, and how far from it still counts, both in per cent.
    """

    model: str
    value: float
    margin: float

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the mean over units with the number.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the error.
        """
        scores = scores_of(rows)
        if missing := _missing(scores, (self.model,)):
            return missing
        by_unit: dict[Any, list[float]] = {}
        for units in scores[self.model].values():
            for unit, value in units.items():
                by_unit.setdefault(unit, []).append(value)
        found = mean_interval([float(np.mean(values)) for values in by_unit.values()])
        if found is None:
            return _too_few(self.model)
        mean, low, high = found
        status = within((low, high), self.value, self.margin)
        slack = self.margin - abs(mean - self.value)
        note = f"{len(by_unit)} units"
        return Verdict(status, mean, (low, high), "% of labels", note, slack)

    def text(self) -> str:
        """Say which number."""
        text = f"{self.model} errs at {self.value:g} ± {self.margin:g} % of labels"
        return text + (_NO_CHANCE if self.model == GENERATOR and self.value >= _CHANCE else "")


@dataclass(frozen=True)
class Sensitive:
    """Over its constants, the error of every one of some models varies by much.

    Parameters
    ----------
    models : tuple of str
        Names of models.
    at_least : float
        How many points, from the best constant to the worst.
    """

    models: Names
    at_least: float = 5.0

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the worst constant with the best one.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the range of mean errors.
        """
        scores = scores_of(rows, against="constant")
        if missing := _missing(scores, self.models):
            return missing
        return combine([self._judge(scores, model) for model in self.models], self.models)

    def _judge(self, scores: Scores, model: str) -> Verdict:
        ranges, note = _range(scores[model])
        found = mean_interval(list(ranges.values()))
        if found is None:
            return _too_few(model)
        mean, low, high = found
        status = place((low, high), above=self.at_least)
        return Verdict(status, mean, (low, high), POINTS, note, mean - self.at_least)

    def text(self) -> str:
        """Say whose range."""
        return (
            f"from the best to the worst constant the error of {_names(self.models)} rises by more than "
            f"{self.at_least:g} points"
        )


@dataclass(frozen=True)
class MoreStable:
    """Over their constants, the errors of some models vary less than those of others.

    Parameters
    ----------
    stable, sensitive : tuple of str
        Names of models.
    factor : float
        How large a part of the others' range theirs may be, 0.5 for words such as "much".
    """

    stable: Names
    sensitive: Names
    factor: float = 1.0

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the ranges from the best constant to the worst.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is by how much the range is smaller than what the factor allows.
        """
        scores = scores_of(rows, against="constant")
        return _pairs(scores, self.stable, self.sensitive, lambda a, b: self._judge(scores, a, b))

    def _judge(self, scores: Scores, stable: str, sensitive: str) -> Verdict:
        (ours, note), (theirs, other) = _range(scores[stable]), _range(scores[sensitive])
        units = sorted(set(ours) & set(theirs))
        found = mean_interval([self.factor * theirs[unit] - ours[unit] for unit in units])
        if found is None:
            return _too_few(stable, sensitive)
        mean, low, high = found
        note = f"{stable} {note}; {sensitive} {other}"
        return Verdict(place((low, high), above=0.0), mean, (low, high), POINTS, note, mean)

    def text(self) -> str:
        """Say whose ranges."""
        part = f"{self.factor:g} times " if self.factor != 1 else ""
        return (
            f"from the best to the worst constant the error of {_names(self.stable)} rises by less than "
            f"{part}that of {_names(self.sensitive)}"
        )


@dataclass(frozen=True)
class Overfits:
    """Along training the test error of every one of some models rises again.

    Parameters
    ----------
    models : tuple of str
        Names of models.
    at_least : float
        By how many points, from the best mean over folds to the end.
    column : str
        Column with the errors along training, as a text.
    """

    models: Names
    at_least: float = 1.0
    column: str = "change_errors"

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the end of training with its best moment.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the rise.
        """
        kinds = [kind for model in self.models for kind in _kinds(rows, model)]
        names = [" ".join(filter(None, kind)) for kind in kinds]
        return combine([self._judge(rows, kind) for kind in kinds], names)

    def _judge(self, rows: Sequence[Row], kind: tuple[str, str]) -> Verdict:
        found = mean_interval(_rises(rows, kind, self.column))
        if found is None:
            return untested(f"no errors along training of {kind[0]}.")
        mean, low, high = found
        status = place((low, high), above=self.at_least)
        return Verdict(status, mean, (low, high), POINTS, "", mean - self.at_least)

    def text(self) -> str:
        """Say whose error rises."""
        return (
            f"from its best moment to the end of training the test error of {_names(self.models)} rises "
            f"by more than {_points(self.at_least)}"
        )


@dataclass(frozen=True)
class Steady:
    """Along training the test error of every one of some models does not rise again.

    Parameters
    ----------
    models : tuple of str
        Names of models.
    at_most : float
        By how many points it may, from the best mean over folds to the end.
    column : str
        Column with the errors along training, as a text.
    """

    models: Names
    at_most: float = 1.0
    column: str = "change_errors"

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare the end of training with its best moment.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the rise.
        """
        kinds = [kind for model in self.models for kind in _kinds(rows, model)]
        names = [" ".join(filter(None, kind)) for kind in kinds]
        return combine([self._judge(rows, kind) for kind in kinds], names)

    def _judge(self, rows: Sequence[Row], kind: tuple[str, str]) -> Verdict:
        found = mean_interval(_rises(rows, kind, self.column))
        if found is None:
            return untested(f"no errors along training of {kind[0]}.")
        mean, low, high = found
        status = place((low, high), at_most=self.at_most)
        return Verdict(status, mean, (low, high), POINTS, "", self.at_most - mean)

    def text(self) -> str:
        """Say whose error stays."""
        return (
            f"from its best moment to the end of training the test error of {_names(self.models)} rises "
            f"by at most {_points(self.at_most)}"
        )


# ---------------------------------------------------------------------------------------------
# what they share

_CHANCE = 50.0  # per cent of two labels
_NO_BETTER = (
    " (it can hardly: labels drawn from a model are predicted best by that model, and others beat it by "
    "chance or not at all)"
)
_NO_CHANCE = (
    " (it can hardly: the best prediction of two labels errs by as much only where the model's weights "
    "are near zero)"
)


def _pairs(
    scores: Scores, first: Names, second: Names, judge: Callable[[str, str], Verdict]
) -> Verdict:
    """Judge every pair and combine."""
    if missing := _missing(scores, first + second):
        return missing
    pairs = [(a, b) for a, b in itertools.product(first, second) if a != b]
    return combine([judge(a, b) for a, b in pairs], [f"{a} against {b}" for a, b in pairs])


def _paired(
    scores: Scores, first: str, second: str, relevant: tuple[int, ...]
) -> tuple[dict[Any, float], dict[Any, float]]:
    return paired(
        scores[first], scores[second], lambda setting: not relevant or setting[0] in relevant
    )


def _missing(scores: Scores, models: Names) -> Verdict | None:
    missing = [model for model in dict.fromkeys(models) if model not in scores]
    return untested(f"the table has no {_names(tuple(missing))}.") if missing else None


def _too_few(*models: str) -> Verdict:
    return untested(f"fewer than three units of {_names(tuple(dict.fromkeys(models)))}.")


def _by_size(settings: Mapping[Any, Mapping[Any, float]]) -> dict[float, dict[Any, float]]:
    """Return scores by number of training samples, whatever the number of relevant features."""
    found: dict[float, dict[Any, float]] = {}
    for (_, size), units in settings.items():
        found.setdefault(size, {}).update(units)
    return found


def _distances(units: Mapping[Any, float]) -> dict[Any, float]:
    """Return how far each unit is from the median of its kind."""
    middle = {
        kind: float(np.median([value for unit, value in units.items() if unit[0] == kind]))
        for kind in {unit[0] for unit in units}
    }
    return {unit: abs(value - middle[unit[0]]) for unit, value in units.items()}


def _range(settings: Mapping[Any, Mapping[Any, float]]) -> tuple[dict[Any, float], str]:
    """Return for each unit the error at the worst constant minus that at the best, on average."""
    means = {setting: _mean(units) for setting, units in settings.items()}
    best, worst = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    units = sorted(set(settings[best]) & set(settings[worst]))
    note = f"{means[best]:.1f} % at {best[1]:g}, {means[worst]:.1f} % at {worst[1]:g}"
    return {unit: settings[worst][unit] - settings[best][unit] for unit in units}, note


def _kinds(rows: Sequence[Row], model: str) -> list[tuple[str, str]]:
    """Return a model with each of the constants that it is trained with."""
    constants = {str(row.get("parameters") or "") for row in rows if row["model"] == model}
    return [(model, constant) for constant in sorted(constants) or [""]]


def _rises(rows: Sequence[Row], kind: tuple[str, str], column: str) -> list[float]:
    """Return for each fold the last error along training minus that where the mean is lowest.

    The texts have an error for each mark on the way, or "nan" for marks that were not reached: from the
    end of training on, the error stays.
    """
    curves = [
        [100 * float(value) for value in str(row[column]).split()]
        for row in rows
        if (row["model"], str(row.get("parameters") or "")) == kind and row.get(column)
    ]
    table = np.array([_filled(curve) for curve in curves if not np.isnan(curve).all()])
    if not len(table):
        return []
    return list(table[:, -1] - table[:, int(np.argmin(table.mean(axis=0)))])


def _filled(errors: Sequence[float]) -> list[float]:
    """Put the last known error where there is none; at the start, the first one."""
    known = [error for error in errors if not np.isnan(error)]
    last, found = known[0], []
    for error in errors:
        last = last if np.isnan(error) else error
        found.append(last)
    return found


def _mean(units: Mapping[Any, float]) -> float:
    return float(np.mean(list(units.values()))) if units else float("nan")


def _moments(units: Mapping[Any, float]) -> tuple[float, float, int]:
    values = list(units.values())
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return _mean(units), deviation, len(values)


def _names(models: Names) -> str:
    """Return names as in a sentence."""
    return " and ".join([", ".join(models[:-1]), models[-1]] if len(models) > 1 else models)


def _points(value: float) -> str:
    return f"{value:g} point" + ("" if value == 1 else "s")


def _where(relevant: tuple[int, ...]) -> str:
    return f" ({' and '.join(map(str, relevant))} relevant features)" if relevant else ""


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
