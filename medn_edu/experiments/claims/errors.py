"""Rules about errors: who is better, who is as good, what falls, where the gain is largest.

Advantages are the worse model's error minus the better one's, in percentage points of labels, on the
same data: positive speaks for the claim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.experiments.claims.rules import (
    POINTS,
    Names,
    Row,
    in_pairs,
    listed,
    mean_of,
    missing_from,
    points_text,
    too_few,
)
from medn_edu.experiments.claims.scores import (
    GENERATOR,
    Scores,
    difference_interval,
    mean_interval,
    paired,
    scores_of,
)
from medn_edu.experiments.claims.verdicts import Verdict, combine, place, untested, within

__all__ = ["Better", "Comparable", "Falls", "LargestGain", "Near"]


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
        return in_pairs(scores, self.better, self.worse, lambda a, b: self._judge(scores, a, b))

    def _judge(self, scores: Scores, better: str, worse: str) -> Verdict:
        by_unit, by_setting = _paired(scores, better, worse, self.relevant)
        found = mean_interval(list(by_unit.values()))
        if found is None:
            return too_few(better, worse)
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
        return in_pairs(scores, self.first, self.second, lambda a, b: self._judge(scores, a, b))

    def _judge(self, scores: Scores, first: str, second: str) -> Verdict:
        by_unit, by_setting = _paired(scores, first, second, self.relevant)
        found = mean_interval(list(by_unit.values()))
        if found is None:
            return too_few(first, second)
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
            f"{listed(self.first)} and {listed(self.second)} differ by at most "
            f"{points_text(self.margin)}, on average and in each setting{_where(self.relevant)}"
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
        if missing := missing_from(scores, self.models):
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
            return too_few(model)
        mean, low, high = found
        means = [np.mean([by_size[size][unit] for unit in units]) for size in sizes]
        n_up = int(np.sum(np.diff(means) >= 0)) if self.quantity == "error" else 0
        note = f"{len(units)} units" + (f"; {n_up} of {len(means) - 1} steps up" if n_up else "")
        status = place((low, high), above=0.0, everywhere=not n_up)
        return Verdict(status, mean, (low, high), POINTS, note, mean)

    def text(self) -> str:
        """Say what falls."""
        if self.quantity == "error":
            return f"the error falls at each step of training sets: {listed(self.models)}, each"
        return (
            "the distance of errors from their median falls from the smallest to the largest training "
            f"sets: {listed(self.models)}, each"
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
        return in_pairs(scores, self.better, self.worse, lambda a, b: self._judge(scores, a, b))

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
            return too_few(better, worse)
        mean, low, high = found
        note = f"{mean_of(here):+.2f} at {ends[0]:g}, {mean_of(there):+.2f} at {ends[1]:g}"
        return Verdict(place((low, high), above=0.0), mean, (low, high), POINTS, note, mean)

    def text(self) -> str:
        """Say whose gain, and where."""
        return (
            f"the advantage of {listed(self.better)} over {listed(self.worse)} is larger with "
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
        if missing := missing_from(scores, (self.model,)):
            return missing
        by_unit: dict[Any, list[float]] = {}
        for units in scores[self.model].values():
            for unit, value in units.items():
                by_unit.setdefault(unit, []).append(value)
        found = mean_interval([float(np.mean(values)) for values in by_unit.values()])
        if found is None:
            return too_few(self.model)
        mean, low, high = found
        status = within((low, high), self.value, self.margin)
        slack = self.margin - abs(mean - self.value)
        note = f"{len(by_unit)} units"
        return Verdict(status, mean, (low, high), "% of labels", note, slack)

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
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return mean_of(units), deviation, len(values)


def _where(relevant: tuple[int, ...]) -> str:
    return f" ({' and '.join(map(str, relevant))} relevant features)" if relevant else ""
