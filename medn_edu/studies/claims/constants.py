"""Rules about constants and training: how much they matter, and what goes on along the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.studies.claims.rules import (
    POINTS,
    InPairs,
    Names,
    OneByOne,
    Row,
    Rule,
    known,
    listed,
    mean_of,
    points_text,
    scores_with,
    too_few,
)
from medn_edu.studies.claims.scores import Estimate, Scores, mean_interval
from medn_edu.studies.claims.verdicts import Verdict, bounded, combine

MARKS = ("change_errors", "loss_errors")
"""Columns of ``ocr-overfitting`` with errors along training, at the marks of either axis."""

_KINDS = {
    "change_errors": "likelihood's relative change",
    "loss_errors": "likelihood itself",
}


@dataclass(frozen=True)
class Sensitive(OneByOne):
    """Over its constants, the error of every one of some models varies by much.

    The effect is the rise of the mean error from the best constant to the worst.
    """

    models: Names  # names of models
    at_least: float = 5.0  # how many points, from the best constant to the worst

    def _names(self) -> Names:
        return self.models

    def _table(self, rows: Sequence[Row], names: Names) -> Scores:
        return scores_with(rows, names, against="constant")

    def _judge(self, scores: Scores, model: str) -> Verdict:
        rises, note = _range(scores[model])
        rise = known(mean_interval(list(rises.values())), too_few(model))
        return bounded(rise, POINTS, note, above=self.at_least)

    def text(self) -> str:
        """Say whose range."""
        return (
            f"from the best to the worst constant the error of {listed(self.models)} rises by more than "
            f"{self.at_least:g} points"
        )


@dataclass(frozen=True)
class MoreStable(InPairs):
    """Over their constants, the errors of some models vary less than those of others.

    The effect is by how much their rise, from the best constant to the worst, is below what the factor
    allows.
    """

    stable: Names
    sensitive: Names
    factor: float = 1.0

    def _sides(self) -> tuple[Names, Names]:
        return self.stable, self.sensitive

    def _table(self, rows: Sequence[Row], names: Names) -> Scores:
        return scores_with(rows, names, against="constant")

    def _judge(self, scores: Scores, stable: str, sensitive: str) -> Verdict:
        (ours, note), (theirs, other) = _range(scores[stable]), _range(scores[sensitive])
        units = sorted(set(ours) & set(theirs))
        found = mean_interval([self.factor * theirs[unit] - ours[unit] for unit in units])
        spared = known(found, too_few(stable, sensitive))
        return bounded(spared, POINTS, f"{stable} {note}; {sensitive} {other}", above=0.0)

    def text(self) -> str:
        """Say whose ranges."""
        part = f"{self.factor:g} times " if self.factor != 1 else ""
        return (
            f"from the best to the worst constant the error of {listed(self.stable)} rises by less than "
            f"{part}that of {listed(self.sensitive)}"
        )


@dataclass(frozen=True)
class Overfits(Rule):
    """Along training the test error of every one of some models rises again.

    The effect is the rise from its best moment to the end of training, as in the table of the study: the
    best moment is the mark with the lowest mean over folds, of those on either axis that all folds
    reach.  Each constant that a model is trained with counts by itself.
    """

    models: Names  # names of models
    at_least: float = 1.0  # by how many points, from the best mean over folds to the end
    columns: Names = MARKS  # columns with the errors along training, as texts

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        rises = _rises(rows, self.models, self.columns)
        verdicts = [bounded(rise, POINTS, above=self.at_least) for rise in rises.values()]
        return combine(verdicts, list(rises))

    def text(self) -> str:
        """Say whose error rises."""
        return (
            f"from its best moment{_marks(self.columns)} to the end of training the test error of "
            f"{listed(self.models)} rises "
            f"by more than {points_text(self.at_least)}"
        )


@dataclass(frozen=True)
class Steady(Rule):
    """Along training the test error of every one of some models does not rise again.

    The effect is the rise, as of `Overfits`.
    """

    models: Names  # names of models
    at_most: float = 1.0  # by how many points it may, from the best mean over folds to the end
    columns: Names = MARKS  # columns with the errors along training, as texts

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        rises = _rises(rows, self.models, self.columns)
        verdicts = [bounded(rise, POINTS, at_most=self.at_most) for rise in rises.values()]
        return combine(verdicts, list(rises))

    def text(self) -> str:
        """Say whose error stays."""
        return (
            f"from its best moment{_marks(self.columns)} to the end of training the test error of "
            f"{listed(self.models)} rises "
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


def _marks(columns: Names) -> str:
    """Say which marks are looked at."""
    kinds = [_KINDS.get(column, column) for column in columns]
    return f", by marks of the {' or of the '.join(kinds)},"


def _rises(rows: Sequence[Row], models: Names, columns: Names) -> dict[str, Estimate]:
    """Return how far the test error rises again, for each model and constant that it is trained with."""
    found = {}
    for model in models:
        constants = {str(row.get("parameters") or "") for row in rows if row["model"] == model}
        for constant in sorted(constants) or [""]:
            rise = mean_interval(_rise(rows, (model, constant), columns))
            name = " ".join(filter(None, (model, constant)))
            found[name] = known(rise, f"no errors along training of {model}.")
    return found


def _rise(rows: Sequence[Row], kind: tuple[str, str], columns: Names) -> list[float]:
    """Return for each fold the error at the end of training minus that where the mean is lowest.

    The texts have an error for each mark on the way, or "nan" for marks that were not reached; only
    those count that all folds reach.
    """
    curves = [
        [100 * float(value) for column in columns for value in str(row[column]).split()]
        for row in rows
        if _is_trained(row, kind, columns)
    ]
    ends = [100 * float(row["error"]) for row in rows if _is_trained(row, kind, columns)]
    table = np.array(curves)
    if not len(table) or np.isnan(means := table.mean(axis=0)).all():
        return []
    return list(np.array(ends) - table[:, int(np.nanargmin(means))])


def _is_trained(row: Row, kind: tuple[str, str], columns: Names) -> bool:
    """Say whether a row is one of a model and constant, with all that is to be looked at."""
    known = not row.get("failure") and all(row.get(column) for column in columns)
    return known and (row["model"], str(row.get("parameters") or "")) == kind
