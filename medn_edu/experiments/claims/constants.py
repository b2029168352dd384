"""Rules about constants and training: how much they matter, and what goes on along the way."""

from __future__ import annotations

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
from medn_edu.experiments.claims.scores import Scores, mean_interval, scores_of
from medn_edu.experiments.claims.verdicts import Verdict, combine, place, untested

__all__ = ["MoreStable", "Overfits", "Sensitive", "Steady"]


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
        if missing := missing_from(scores, self.models):
            return missing
        return combine([self._judge(scores, model) for model in self.models], self.models)

    def _judge(self, scores: Scores, model: str) -> Verdict:
        ranges, note = _range(scores[model])
        found = mean_interval(list(ranges.values()))
        if found is None:
            return too_few(model)
        mean, low, high = found
        status = place((low, high), above=self.at_least)
        return Verdict(status, mean, (low, high), POINTS, note, mean - self.at_least)

    def text(self) -> str:
        """Say whose range."""
        return (
            f"from the best to the worst constant the error of {listed(self.models)} rises by more than "
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
        return in_pairs(scores, self.stable, self.sensitive, lambda a, b: self._judge(scores, a, b))

    def _judge(self, scores: Scores, stable: str, sensitive: str) -> Verdict:
        (ours, note), (theirs, other) = _range(scores[stable]), _range(scores[sensitive])
        units = sorted(set(ours) & set(theirs))
        found = mean_interval([self.factor * theirs[unit] - ours[unit] for unit in units])
        if found is None:
            return too_few(stable, sensitive)
        mean, low, high = found
        note = f"{stable} {note}; {sensitive} {other}"
        return Verdict(place((low, high), above=0.0), mean, (low, high), POINTS, note, mean)

    def text(self) -> str:
        """Say whose ranges."""
        part = f"{self.factor:g} times " if self.factor != 1 else ""
        return (
            f"from the best to the worst constant the error of {listed(self.stable)} rises by less than "
            f"{part}that of {listed(self.sensitive)}"
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
            f"from its best moment to the end of training the test error of {listed(self.models)} rises "
            f"by more than {points_text(self.at_least)}"
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
            f"from its best moment to the end of training the test error of {listed(self.models)} rises "
            f"by at most {points_text(self.at_most)}"
        )


# ---------------------------------------------------------------------------------------------
# what they share


def _range(settings: Mapping[Any, Mapping[Any, float]]) -> tuple[dict[Any, float], str]:
    """Return for each unit the error at the worst constant minus that at the best, on average."""
    means = {setting: mean_of(units) for setting, units in settings.items()}
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
