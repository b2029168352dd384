"""From rows of results to what is compared: scores by model, setting and unit; and their intervals.

A *unit* is what was drawn independently: the random CRF with its data set in the synthetic studies, the
training fold in those of OCR, the chorales left out together in that of chorales, a draw of training
records in that of product pages.  A *setting* is what
an experimenter turned: how many samples train, how many features are relevant, the constant of a model.
Several rows of one unit in one setting, as the parts of a data set that train in turn, are averaged
first: they are not independent.

Folds of OCR train on different words but are tested on the same 55 word types.  So rows that tell the
errors on each type have arrays as scores, which sum to the error, and intervals by a bootstrap over
folds and types.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from medn_edu.intervals import bootstrap_means, deviation, student_quantile
from medn_edu.studies.kit.summary import read_constants, word_parts
from medn_edu.studies.kit.web import SHARES

GENERATOR = "generating model"
"""Stands among the models for the one that made the labels."""

Row = Mapping[str, Any]
Score = Any  # per cent: a number, or an array with the part of each word type
Setting = tuple[float, float]  # relevant features or a shape; training samples or a constant
Unit = tuple[str, int]
Scores = dict[str, dict[Setting, dict[Unit, Score]]]

_MIN_UNITS = 3
_IID = re.compile(r"iid-(\d+)-(\d+)")
_CORRELATED = re.compile(r"correlated-(\d+)-(\d+)")
_OCR = re.compile(r"ocr-(\d+)")
_WEB = re.compile(r"web-(\d+)")
_N_SEQUENCES = 1000
_SHARED = {"web": sum(SHARES) / len(SHARES) / 100}
"""Which part of what trains one unit trains another one, too: on average over all shares."""


class Estimate(NamedTuple):
    """A number computed from a table, and where it lies at 95 %."""

    value: float
    low: float
    high: float
    chance: Callable[[float], float]  # two-sided p-value, if the true number were this one


def scores_of(rows: Iterable[Row], quantity: str = "error", *, against: str = "n_train") -> Scores:
    """Return the scores of each model, by setting and unit, in per cent."""
    found: dict[str, dict[Setting, dict[Unit, list[Score]]]] = {}
    rows = [row for row in rows if not row.get("failure")]
    varied = _varied(rows) if against == "constant" else {}
    by_word = _with_word_errors(rows) if quantity == "error" else set()
    for row in rows:
        setting, unit = _place(row["data"], row["fold"])
        if against == "constant":
            if not (constants := _constants(row, varied)):
                continue
            setting = (constants[0] if len(constants) > 1 else 0, constants[-1])
        values = {row["model"]: _value(row, quantity, by_word)}
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


def _varied(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Return for each model the names of the parameters that take several values."""
    values: dict[str, dict[str, set[float]]] = {}
    for row in rows:
        for name, value in read_constants(row.get("parameters")):
            values.setdefault(row["model"], {}).setdefault(name, set()).add(value)
    return {
        model: [name for name, several in parameters.items() if len(several) > 1]
        for model, parameters in values.items()
    }


def _constants(row: Row, varied: Mapping[str, Sequence[str]]) -> list[float]:
    """Return those of them that a row has: the strength comes last, behind the shape of the model."""
    constants = dict(read_constants(row.get("parameters")))
    return [constants[name] for name in varied.get(row["model"], ()) if name in constants]


@functools.cache
def _place(data: str, fold: int) -> tuple[Setting, Unit]:
    """Return setting and unit of a row."""
    if match := _IID.fullmatch(data):
        return (int(match[1]), float(match[2])), (f"iid-{match[1]}", fold)
    if match := _CORRELATED.fullmatch(data):
        return (0, float(_N_SEQUENCES // int(match[1]))), ("correlated", int(match[2]))
    if match := _OCR.fullmatch(data):
        return (0, float(match[1])), ("ocr", fold)
    if match := _WEB.fullmatch(data):
        return (0, float(match[1])), ("web", fold)
    return (0, 0.0), ("chorales" if data.startswith("chorales") else data, fold)


def _with_word_errors(rows: Sequence[Row]) -> set[str]:
    """Return the models all of whose rows tell how many letters are wrong in each word type."""
    without = {row["model"] for row in rows if not row.get("word_errors")}
    return {row["model"] for row in rows} - without


def _value(row: Row, quantity: str, by_word: set[str]) -> Score | None:
    if quantity == "error":
        return word_parts(row) if row["model"] in by_word else row.get("error")
    if quantity in ("f1", "block"):  # what they lack to 100 %, as an error
        return None if row.get(quantity) is None else 1 - row[quantity]
    kept, among = row.get("n_nonzero"), row.get("n_weights")
    return kept / among if kept is not None and among else None


def total(score: Score) -> float:
    """Return a score as one number."""
    return float(np.sum(score))


def minus(second: Score, first: Score) -> Score:
    """Return how much two scores differ; by word type only where both tell."""
    if np.ndim(first) != np.ndim(second):
        return total(second) - total(first)
    return second - first


def paired(
    first: Mapping[Setting, Mapping[Unit, Score]],
    second: Mapping[Setting, Mapping[Unit, Score]],
    wanted: Callable[[Setting], bool] = lambda setting: True,
) -> tuple[dict[Unit, Score], dict[Setting, float]]:
    """Return how much two models differ, second minus first, on the same data."""
    by_unit: dict[Unit, list[Score]] = {}
    by_setting: dict[Setting, list[float]] = {}
    for setting in sorted(set(first) & set(second)):
        if not wanted(setting):
            continue
        for unit in sorted(set(first[setting]) & set(second[setting])):
            difference = minus(second[setting][unit], first[setting][unit])
            by_unit.setdefault(unit, []).append(difference)
            by_setting.setdefault(setting, []).append(total(difference))
    return (
        {unit: sum(values) / len(values) for unit, values in by_unit.items()},
        {setting: float(np.mean(values)) for setting, values in by_setting.items()},
    )


# -- intervals ------------------------------------------------------------------------------------


def unit_interval(units: Mapping[Unit, Score]) -> Estimate | None:
    """Return a mean over units and where it lies, which is less sure if they share what trains them."""
    shared = max((_SHARED.get(kind, 0.0) for kind, _ in units), default=0.0)
    return mean_interval(list(units.values()), shared / (1 - shared))


def mean_interval(values: Sequence[Score] | np.ndarray, overlap: float = 0.0) -> Estimate | None:
    """Return a mean over units and where it lies, by Student's t or the bootstrap over word types.

    ``overlap`` makes Student's interval longer, as in `medn_edu.intervals.half_interval`.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < _MIN_UNITS:
        return None
    if values.ndim == 2:
        return _bootstrap(values)
    error = (deviation(values) or 0.0) * np.sqrt(1 / len(values) + overlap)
    return _student(float(values.mean()), float(error), len(values) - 1)


def _student(value: float, error: float, freedom: float) -> Estimate:
    """Return an estimate with a standard error, of so many degrees of freedom."""
    half = float(student_quantile(freedom)) * error

    def chance(bound: float) -> float:
        if error == 0:
            return float(value == bound)
        return float(2 * stdtr(freedom, -abs(value - bound) / error))

    return Estimate(value, value - half, value + half, chance)


def _bootstrap(table: np.ndarray) -> Estimate:
    """Return an estimate by drawing units and word types anew."""
    means = bootstrap_means(table)
    low, high = np.quantile(means, [0.025, 0.975])

    def chance(bound: float) -> float:
        below, above = np.searchsorted(means, bound, "right"), np.searchsorted(means, bound, "left")
        return min(1.0, 2 * (1 + min(int(below), len(means) - int(above))) / (1 + len(means)))

    return Estimate(float(table.sum(axis=1).mean()), float(low), float(high), chance)


def difference_interval(
    first: tuple[float, float, int], second: tuple[float, float, int]
) -> Estimate | None:
    """Return the difference of two means of independent units, second minus first (Welch, 95 %)."""
    if min(first[2], second[2]) < _MIN_UNITS:
        return None
    parts = [deviation**2 / number for _, deviation, number in (first, second)]
    difference = second[0] - first[0]
    if sum(parts) == 0:
        return _student(difference, 0.0, 1)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (number - 1) for part, (_, _, number) in zip(parts, (first, second), strict=True)
    )
    return _student(difference, float(np.sqrt(sum(parts))), freedom)


def jackknife(statistic: Callable[[np.ndarray], float], n_units: int) -> Estimate | None:
    """Return a statistic that is no mean and where it lies, leaving one unit out at a time."""
    if n_units < _MIN_UNITS:
        return None
    every = np.arange(n_units)
    left_out = np.array([statistic(np.delete(every, unit)) for unit in every])
    spread = np.sqrt((n_units - 1) / n_units * np.sum((left_out - left_out.mean()) ** 2))
    return _student(float(statistic(every)), float(spread), n_units - 1)
