"""Rules about errors: who is better, who is as good, what falls, where the gain is largest.

Advantages are the worse model's error minus the better one's, in percentage points of labels, on the
same data: positive speaks for the claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.intervals import deviation
from medn_edu.studies.claims.rules import (
    POINTS,
    InPairs,
    Names,
    OneByOne,
    Row,
    TooLittleError,
    known,
    listed,
    mean_of,
    points_text,
    scores_with,
    too_few,
)
from medn_edu.studies.claims.scores import (
    GENERATOR,
    Scores,
    difference_interval,
    mean_interval,
    paired,
)
from medn_edu.studies.claims.verdicts import Verdict, about, bounded


@dataclass(frozen=True)
class Better(InPairs):
    """Every one of some models errs less than every one of others.

    The effect is the advantage, of the pair that comes off worst.
    """

    better: Names
    worse: Names
    consistently: bool = False
    at_least: float = 0.0  # how many points better, for words such as "much"
    at_most: float | None = None  # how many at most, for words such as "slightly"
    relevant: tuple[int, ...] = ()  # numbers of relevant features that the claim is about
    quantity: str = "error"  # ``"error"``, or ``"nonzero"``: fewer weights that are not zero

    def _sides(self) -> tuple[Names, Names]:
        return self.better, self.worse

    def _table(self, rows: Sequence[Row], names: Names) -> Scores:
        return scores_with(rows, names, self.quantity)

    def _judge(self, scores: Scores, better: str, worse: str) -> Verdict:
        by_unit, by_setting = _paired(scores, better, worse, self.relevant)
        advantage = known(mean_interval(list(by_unit.values())), too_few(better, worse))
        n_for = sum(value > 0 for value in by_setting.values())
        return bounded(
            advantage,
            POINTS if self.quantity == "error" else "% of weights",
            f"{len(by_unit)} units; on this side in {n_for} of {len(by_setting)} settings",
            above=self.at_least,
            at_most=self.at_most,
            everywhere=not self.consistently or n_for == len(by_setting),
        )

    def text(self) -> str:
        """Say which models, by how much and where."""
        what = "errs less than" if self.quantity == "error" else "has fewer non-zero weights than"
        parts = [f"{listed(self.better)} {what} {listed(self.worse)}"]
        if self.at_least:
            parts.append(f"by more than {points_text(self.at_least)}")
        if self.at_most is not None:
            parts.append(f"by at most {points_text(self.at_most)}")
        if self.consistently:
            parts.append("in each setting")
        hardly = _NO_BETTER if GENERATOR in self.worse and self.quantity == "error" else ""
        return ", ".join(parts) + _where(self.relevant) + hardly


@dataclass(frozen=True)
class Comparable(InPairs):
    """Some models err as much as others, up to a margin, on average and in each setting.

    The effect is the second model's error minus the first one's.
    """

    first: Names
    second: Names
    margin: float = 1.0  # how many points count as the same
    relevant: tuple[int, ...] = ()  # numbers of relevant features that the claim is about

    def _sides(self) -> tuple[Names, Names]:
        return self.first, self.second

    def _table(self, rows: Sequence[Row], names: Names) -> Scores:
        return scores_with(rows, names)

    def _judge(self, scores: Scores, first: str, second: str) -> Verdict:
        by_unit, by_setting = _paired(scores, first, second, self.relevant)
        difference = known(mean_interval(list(by_unit.values())), too_few(first, second))
        n_inside = sum(abs(value) <= self.margin for value in by_setting.values())
        return about(
            difference,
            0.0,
            self.margin,
            POINTS,
            f"{len(by_unit)} units; within the margin in {n_inside} of {len(by_setting)} settings",
            everywhere=n_inside == len(by_setting),
        )

    def text(self) -> str:
        """Say which models and which margin."""
        return (
            f"{listed(self.first)} and {listed(self.second)} differ by at most "
            f"{points_text(self.margin)}, on average and in each setting{_where(self.relevant)}"
        )


@dataclass(frozen=True)
class Falls(OneByOne):
    """With more training data every one of some models errs less, or less unequally.

    The effect is the fall from the smallest to the largest training sets of the same units.  Each model
    is judged by itself: the steep fall of one must not hide another that does not fall.
    """

    models: Names  # names of models
    quantity: str = "error"  # ``"error"``, which must fall at each step

    def _names(self) -> Names:
        return self.models

    def _table(self, rows: Sequence[Row], names: Names) -> Scores:
        return scores_with(rows, names)

    def _judge(self, scores: Scores, model: str) -> Verdict:
        by_size = _by_size(scores[model])
        if self.quantity == "spread":
            by_size = {size: _distances(units) for size, units in by_size.items()}
        sizes = sorted(by_size)
        units = sorted(set.intersection(*(set(by_size[size]) for size in sizes)))
        if len(sizes) < 2 or not units:
            raise TooLittleError(f"{model} has no two sizes of training sets.")
        table = np.array([[by_size[size][unit] for unit in units] for size in sizes])
        fall = known(mean_interval(table[0] - table[-1]), too_few(model))
        n_up = int(np.sum(np.diff(table.mean(axis=1)) >= 0)) if self.quantity == "error" else 0
        steps = f"; {n_up} of {len(sizes) - 1} steps up" if n_up else ""
        return bounded(fall, POINTS, f"{len(units)} units{steps}", above=0.0, everywhere=not n_up)

    def text(self) -> str:
        """Say what falls."""
        if self.quantity == "error":
            return f"the error falls at each step of training sets: {listed(self.models)}, each"
        return (
            "the distance of errors from their median falls from the smallest to the largest training "
            f"sets: {listed(self.models)}, each"
        )


@dataclass(frozen=True)
class LargestGain(InPairs):
    """The advantage of some models over others is larger under one condition than at its opposite.

    The effect is the difference of the two advantages.
    """

    better: Names
    worse: Names
    where: str

    def _sides(self) -> tuple[Names, Names]:
        return self.better, self.worse

    def _table(self, rows: Sequence[Row], names: Names) -> Scores:
        return scores_with(rows, names)

    def _judge(self, scores: Scores, better: str, worse: str) -> Verdict:
        axis = 1 if self.where == "few samples" else 0
        values = sorted({setting[axis] for setting in set(scores[better]) & set(scores[worse])})
        if len(values) < 2:
            raise TooLittleError(f"only one value of what {self.where!r} is about.")
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
        note = f"{mean_of(here):+.2f} at {ends[0]:g}, {mean_of(there):+.2f} at {ends[1]:g}"
        return bounded(known(found, too_few(better, worse)), POINTS, note, above=0.0)

    def text(self) -> str:
        """Say whose gain, and where."""
        return (
            f"the advantage of {listed(self.better)} over {listed(self.worse)} is larger with "
            f"{self.where} (smallest against largest)"
        )


@dataclass(frozen=True)
class Near(OneByOne):
    """A model errs about as often as a number says.

    The effect is its mean error over units.
    """

    model: str  # name of the model
    value: float
    margin: float

    def _names(self) -> Names:
        return (self.model,)

    def _table(self, rows: Sequence[Row], names: Names) -> Scores:
        return scores_with(rows, names)

    def _judge(self, scores: Scores, model: str) -> Verdict:
        by_unit: dict[Any, list[float]] = {}
        for units in scores[model].values():
            for unit, value in units.items():
                by_unit.setdefault(unit, []).append(value)
        means = [float(np.mean(values)) for values in by_unit.values()]
        error = known(mean_interval(means), too_few(model))
        return about(error, self.value, self.margin, "% of labels", f"{len(by_unit)} units")

    def text(self) -> str:
        """Say which number."""
        text = f"{self.model} errs at {self.value:g} ± {self.margin:g} % of labels"
        return text + (_NO_CHANCE if self.model == GENERATOR and self.value >= _CHANCE else "")


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


def _paired(
    scores: Scores, first: str, second: str, relevant: tuple[int, ...]
) -> tuple[dict[Any, float], dict[Any, float]]:
    return paired(
        scores[first], scores[second], lambda setting: not relevant or setting[0] in relevant
    )


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


def _moments(units: Mapping[Any, float]) -> tuple[float, float, int]:
    values = list(units.values())
    return mean_of(units), deviation(values) or 0.0, len(values)


def _where(relevant: tuple[int, ...]) -> str:
    return f" ({' and '.join(map(str, relevant))} relevant features)" if relevant else ""
