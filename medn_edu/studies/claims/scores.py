"""From rows of results to what is compared: scores by model, setting and unit; and their intervals.

A *unit* is what was drawn independently: the random CRF with its data set in the synthetic studies,
the training fold in those of OCR.  A *setting* is what an experimenter turned: how many samples train,
how many features are relevant, the constant of a model.  Several rows of one unit in one setting, as
the parts of a data set that train in turn, are averaged first: they are not independent.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from medn_edu.intervals import half_interval, student_quantile

GENERATOR = "generating model"
"""Stands among the models for the one that made the labels."""

Row = Mapping[str, Any]
Setting = tuple[int, float]  # relevant features, or 0; training samples or a constant
Unit = tuple[int, int]
Scores = dict[str, dict[Setting, dict[Unit, float]]]

_MIN_UNITS = 3
_CHOICE_SET = 10  # constants are chosen on the eleventh data set
_IID = re.compile(r"iid-(\d+)-(\d+)")
_CORRELATED = re.compile(r"correlated-(\d+)-(\d+)")
_OCR = re.compile(r"ocr-(\d+)")
_N_SEQUENCES = 1000


class Estimate(NamedTuple):
    """A number computed from a table, and where it lies at 95 %."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high


def scores_of(rows: Iterable[Row], quantity: str = "error", *, against: str = "n_train") -> Scores:
    """Return the scores of each model, by setting and unit, in per cent."""
    found: dict[str, dict[Setting, dict[Unit, list[float]]]] = {}
    rows = list(rows)
    varied = _varied(rows) if against == "constant" else {}
    for row in rows:
        where = (
            _at_constant(row, varied) if against == "constant" else _place(row["data"], row["fold"])
        )
        if where is None or row.get("failure"):
            continue
        setting, unit = where
        values = {row["model"]: _value(row, quantity)}
        if quantity == "error":
            values[GENERATOR] = row.get("truth_error")
        for model, value in values.items():
            if value is not None:
                settings = found.setdefault(model, {})
                settings.setdefault(setting, {}).setdefault(unit, []).append(100 * value)
    return {
        model: {
            setting: {unit: sum(values) / len(values) for unit, values in sorted(units.items())}
            for setting, units in sorted(settings.items())
        }
        for model, settings in found.items()
    }


def _varied(rows: Iterable[Row]) -> dict[str, str]:
    """Return for each model the name of the first parameter that takes several values."""
    from medn_edu.studies.kit.summary import read_constants

    values: dict[str, dict[str, set[float]]] = {}
    for row in rows:
        for name, value in read_constants(row.get("parameters")):
            values.setdefault(row["model"], {}).setdefault(name, set()).add(value)
    return {
        model: next(name for name, several in parameters.items() if len(several) > 1)
        for model, parameters in values.items()
        if any(len(several) > 1 for several in parameters.values())
    }


def _at_constant(row: Row, varied: Mapping[str, str]) -> tuple[Setting, Unit] | None:
    """Return the constant of a row as its setting, and its fold as its unit."""
    from medn_edu.studies.kit.summary import read_constants

    constants = dict(read_constants(row.get("parameters")))
    name = varied.get(row["model"])
    return ((0, constants[name]), (0, int(row["fold"]))) if name in constants else None


@functools.cache
def _place(data: str, fold: int) -> tuple[Setting, Unit] | None:
    """Return setting and unit of a row; None for rows that no claim is about."""
    if match := _IID.fullmatch(data):
        relevant, size = map(int, match.groups())
        return (relevant, float(size)), (relevant, fold)
    if match := _CORRELATED.fullmatch(data):
        n_parts, number = map(int, match.groups())
        if number == _CHOICE_SET:
            return None
        return (0, float(_N_SEQUENCES // n_parts)), (0, number)
    if match := _OCR.fullmatch(data):
        return (0, float(match[1])), (0, fold)
    return None


def _value(row: Row, quantity: str) -> float | None:
    if quantity == "error":
        return row.get("error")
    kept, among = row.get("n_nonzero"), row.get("n_weights")
    return kept / among if kept is not None and among else None


def paired(
    first: Mapping[Setting, Mapping[Unit, float]],
    second: Mapping[Setting, Mapping[Unit, float]],
    wanted: Callable[[Setting], bool] = lambda setting: True,
) -> tuple[dict[Unit, float], dict[Setting, float]]:
    """Return how much two models differ, second minus first, on the same data."""
    by_unit: dict[Unit, list[float]] = {}
    by_setting: dict[Setting, list[float]] = {}
    for setting in sorted(set(first) & set(second)):
        if not wanted(setting):
            continue
        for unit in sorted(set(first[setting]) & set(second[setting])):
            difference = second[setting][unit] - first[setting][unit]
            by_unit.setdefault(unit, []).append(difference)
            by_setting.setdefault(setting, []).append(difference)
    return (
        {unit: float(np.mean(values)) for unit, values in by_unit.items()},
        {setting: float(np.mean(values)) for setting, values in by_setting.items()},
    )


def mean_interval(values: Sequence[float] | np.ndarray) -> Estimate | None:
    """Return a mean and where it lies, by Student's t at 95 %."""
    values = np.asarray(values, dtype=float)
    if len(values) < _MIN_UNITS:
        return None
    mean = float(values.mean())
    half = half_interval(values)
    return Estimate(mean, mean - half, mean + half)


def difference_interval(
    first: tuple[float, float, int], second: tuple[float, float, int]
) -> Estimate | None:
    """Return the difference of two means of independent units, second minus first (Welch, 95 %)."""
    if min(first[2], second[2]) < _MIN_UNITS:
        return None
    parts = [deviation**2 / number for _, deviation, number in (first, second)]
    difference = second[0] - first[0]
    if sum(parts) == 0:
        return Estimate(difference, difference, difference)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (number - 1) for part, (_, _, number) in zip(parts, (first, second), strict=True)
    )
    half = float(student_quantile(freedom) * np.sqrt(sum(parts)))
    return Estimate(difference, difference - half, difference + half)


def jackknife(statistic: Callable[[np.ndarray], float], n_units: int) -> Estimate | None:
    """Return a statistic that is no mean and where it lies, leaving one unit out at a time."""
    if n_units < _MIN_UNITS:
        return None
    every = np.arange(n_units)
    left_out = np.array([statistic(np.delete(every, unit)) for unit in every])
    spread = np.sqrt((n_units - 1) / n_units * np.sum((left_out - left_out.mean()) ** 2))
    whole = float(statistic(every))
    half = float(student_quantile(n_units - 1) * spread)
    return Estimate(whole, whole - half, whole + half)
