"""Measures of errors: who is better, what falls with more data, with other constants, along training.

Advantages are the worse model's error minus the better one's, in percentage points of labels, on the
same data: positive speaks for the claim.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from medn_edu.intervals import deviation
from medn_edu.studies.claims.rules import (
    NEARBY,
    Found,
    Names,
    Rows,
    Rule,
    TooLittleError,
    known,
    mean_of,
    measure,
    scores_with,
    too_few,
)
from medn_edu.studies.claims.scores import (
    Score,
    Scores,
    Setting,
    difference_interval,
    mean_interval,
    minus,
    paired,
    total,
    unit_interval,
)
from medn_edu.studies.kit.summary import read_constants

_ROUNDED = 0.01  # by which a logarithm of a constant may be off
_MARKS = ("change_errors", "loss_errors")  # errors along training, against two measures of progress


def _errors(rule: Rule, rows: Rows) -> Scores:
    return scores_with(rows, rule.models + rule.against, data=rule.data)


def _nonzero(rule: Rule, rows: Rows) -> Scores:
    return scores_with(rows, rule.models + rule.against, "nonzero")


def _f1(rule: Rule, rows: Rows) -> Scores:
    return _of_pages(rule, rows, "f1")


def _blocks(rule: Rule, rows: Rows) -> Scores:
    return _of_pages(rule, rows, "block")


def _of_pages(rule: Rule, rows: Rows, quantity: str) -> Scores:
    """Return what records lack to 100 %; templates that are left out are another question."""
    drawn = [row for row in rows if row["data"].startswith("web-")]
    return scores_with(drawn, rule.models + rule.against, quantity)


class _AlongConstants(NamedTuple):
    """Errors by constant, and how many times weaker than the first of its path each constant is."""

    scores: Scores
    factors: Mapping[str, Mapping[Setting, float]]  # of models whose constants can be compared


def _by_constant(rule: Rule, rows: Rows) -> _AlongConstants:
    from medn_edu.studies.sensitivity import means  # which imports all models

    models = rule.models + rule.against
    scores = scores_with(rows, models, against="constant", data=rule.data)
    factors: dict[str, dict[Setting, float]] = {}
    for line in means(dict(row) for row in rows if row["model"] in models):
        if line["factor"] is not None:
            shape = [value for _, value in read_constants(line["shape"])] or [0.0]
            setting = shape[0], line["constant"]
            factors.setdefault(line["model"], {})[setting] = line["factor"]
    return _AlongConstants(scores, factors)


@measure("block instance accuracy", read=_blocks)
@measure("average F1", read=_f1)
@measure("non-zero weights", read=_nonzero)
@measure("error", read=_errors)
def _advantage(rule: Rule, scores: Scores, better: str, worse: str) -> Found:
    """By how much one model's scores are below another's."""
    by_unit, by_setting = _paired(rule, scores, better, worse)
    n_for = sum(value > 0 for value in by_setting.values())
    return Found(
        known(unit_interval(by_unit), too_few(better, worse)),
        f"{len(by_unit)} units; on this side in {n_for} of {len(by_setting)} settings",
        not rule.consistently or n_for == len(by_setting),
    )


@measure("difference of block instance accuracy", read=_blocks)
@measure("difference of average F1", read=_f1)
@measure("difference of errors", read=_errors)
def _difference(rule: Rule, scores: Scores, first: str, second: str) -> Found:
    """By how much the second model errs more than the first."""
    by_unit, by_setting = _paired(rule, scores, first, second)
    n_inside = sum(abs(value) <= (rule.within or 0.0) for value in by_setting.values())
    return Found(
        known(unit_interval(by_unit), too_few(first, second)),
        f"{len(by_unit)} units; within the margin in {n_inside} of {len(by_setting)} settings",
        n_inside == len(by_setting),
    )


@measure("fall of errors", read=_errors)
def _fall(rule: Rule, scores: Scores, model: str) -> Found:
    """By how much a model errs less with the largest training sets than with the smallest."""
    table = _by_size(scores, model)
    means = (
        table.mean(axis=1).reshape(len(table), -1).sum(axis=1)
    )  # over word types, where they are
    n_up = int(np.sum(np.diff(means) >= 0))
    steps = f"; {n_up} of {len(table) - 1} steps up" if n_up else ""
    fall = known(mean_interval(table[0] - table[-1]), too_few(model))
    return Found(fall, f"{table.shape[1]} units{steps}", not n_up)


@measure("fall of spread", read=_errors)
def _spread_fall(rule: Rule, scores: Scores, model: str) -> Found:
    """By how much its errors are nearer to their median then."""
    table = _by_size(scores, model, from_median=True)
    fall = known(mean_interval(table[0] - table[-1]), too_few(model))
    return Found(fall, f"{table.shape[1]} units")


@measure("gain of block instance accuracy", read=_blocks)
@measure("gain of average F1", read=_f1)
@measure("gain", read=_errors)
def _gain(rule: Rule, scores: Scores, better: str, worse: str) -> Found:
    """By how much an advantage is larger under a condition than at its opposite."""
    axis = 1 if rule.where.endswith("samples") else 0
    values = sorted({setting[axis] for setting in set(scores[better]) & set(scores[worse])})
    if len(values) < 2:
        raise TooLittleError(f"only one value of what {rule.where!r} is about.")
    ends = [values[0], values[-1]] if rule.where.startswith("few") else [values[-1], values[0]]
    here, there = (
        paired(scores[better], scores[worse], lambda s, end=end: s[axis] == end)[0]  # type: ignore[misc]
        for end in ends
    )
    if axis == 1:  # the same units at both ends
        units = sorted(set(here) & set(there))
        found = unit_interval({unit: minus(here[unit], there[unit]) for unit in units})
    else:
        found = difference_interval(_moments(there), _moments(here))
    note = f"{mean_of(here):+.2f} at {ends[0]:g}, {mean_of(there):+.2f} at {ends[1]:g}"
    return Found(known(found, too_few(better, worse)), note)


@measure("error rate", read=_errors)
def _rate(rule: Rule, scores: Scores, model: str) -> Found:
    """How often a model errs."""
    by_unit: dict[Any, list[Score]] = {}
    for units in scores[model].values():
        for unit, value in units.items():
            by_unit.setdefault(unit, []).append(value)
    means = [sum(values) / len(values) for values in by_unit.values()]
    return Found(known(mean_interval(means), too_few(model)), f"{len(by_unit)} units")


# -- constants ------------------------------------------------------------------------------------


@measure("rise over constants", read=_by_constant)
def _rise(rule: Rule, table: _AlongConstants, model: str) -> Found:
    """By how much the mean error rises from the best constant to the worst."""
    rises, note = _range(table, model)
    above = rule.nearby if model in table.factors else None
    return Found(known(mean_interval(list(rises.values())), too_few(model)), note, above=above)


@measure("steadiness over constants", read=_by_constant)
def _steadiness(rule: Rule, table: _AlongConstants, stable: str, sensitive: str) -> Found:
    """By how much one model's rise is below what the factor allows of another's."""
    (ours, note), (theirs, other) = _range(table, stable), _range(table, sensitive)
    units = sorted(set(ours) & set(theirs))
    spared = mean_interval([minus(rule.factor * theirs[unit], ours[unit]) for unit in units])
    note = f"{stable} {note}; {sensitive} {other}"
    return Found(known(spared, too_few(stable, sensitive)), note)


# -- along training -------------------------------------------------------------------------------


def _kinds(rows: Rows, models: Names) -> list[tuple[str, Names]]:
    """Return each model with each constant that it is trained with."""
    return [
        (" ".join(filter(None, (model, constant))), (model, constant))
        for model in models
        for constant in sorted(
            {str(row.get("parameters") or "") for row in rows if row["model"] == model}
        )
        or [""]
    ]


@measure("rise along training", cases=_kinds)
def _rise_again(rule: Rule, rows: Rows, model: str, constant: str) -> Found:
    """By how much the test error rises from its best moment to the end of training.

    The best moment is the mark with the lowest mean over folds, of those on either axis of the study's
    picture that all folds reach: texts have an error for each mark on the way, or "nan" after the end.
    """
    trained = [
        row
        for row in rows
        if (row["model"], str(row.get("parameters") or "")) == (model, constant)
        and not row.get("failure")
        and all(row.get(column) for column in _MARKS)
    ]
    table = np.array([
        [100 * float(value) for column in _MARKS for value in str(row[column]).split()]
        for row in trained
    ])  # fmt: skip
    lack = f"no errors along training of {model}."
    if not len(table) or np.isnan(means := table.mean(axis=0)).all():
        raise TooLittleError(lack)
    ends = np.array([100 * float(row["error"]) for row in trained])
    return Found(known(mean_interval(ends - table[:, int(np.nanargmin(means))]), lack))


# -- what they share ------------------------------------------------------------------------------


def _paired(
    rule: Rule, scores: Scores, first: str, second: str
) -> tuple[dict[Any, Score], dict[Any, float]]:
    return paired(
        scores[first], scores[second], lambda s: not rule.relevant or s[0] in rule.relevant
    )


def _by_size(scores: Scores, model: str, *, from_median: bool = False) -> np.ndarray:
    """Return the scores of units that have all sizes of training sets, a line for each size."""
    by_size: dict[float, dict[Any, Score]] = {}
    for (_, size), units in scores[model].items():
        by_size.setdefault(size, {}).update(units)
    if from_median:
        by_size = {size: _distances(units) for size, units in by_size.items()}
    common = sorted(set.intersection(*map(set, by_size.values())))
    if len(by_size) < 2 or not common:
        raise TooLittleError(f"{model} has no two sizes of training sets.")
    return np.array([[by_size[size][unit] for unit in common] for size in sorted(by_size)])


def _distances(units: Mapping[Any, Score]) -> dict[Any, float]:
    """Return how far each unit is from the median of its kind."""
    errors = {unit: total(value) for unit, value in units.items()}
    middle = {
        kind: float(np.median([value for unit, value in errors.items() if unit[0] == kind]))
        for kind in {unit[0] for unit in units}
    }
    return {unit: abs(value - middle[unit[0]]) for unit, value in errors.items()}


def _moments(units: Mapping[Any, Score]) -> tuple[float, float, int]:
    errors = [total(value) for value in units.values()]
    return mean_of(units), deviation(errors) or 0.0, len(units)


def _range(table: _AlongConstants, model: str) -> tuple[dict[Any, Score], str]:
    """Return for each unit the error at the worst constant minus that at the best, in its shape.

    Of models whose paths tell how many times weaker each constant is, only constants near the best one
    are looked at.  Between two constants the error is taken to go straight along the logarithm.
    """
    settings, factors = table.scores[model], table.factors.get(model)
    means = {setting: mean_of(units) for setting, units in settings.items()}
    best = min(means, key=means.__getitem__)
    shape = [each for each in means if each[0] == best[0]]
    if factors is None:
        worst = max(shape, key=means.__getitem__)
        note = f"{means[best]:.1f} % at {best[1]:g}, {means[worst]:.1f} % at {worst[1]:g}"
        return _less(settings[worst], settings[best]), note

    path = sorted(shape, key=factors.__getitem__)
    x, errors = np.log([factors[each] for each in path]), [means[each] for each in path]
    ends = np.log(factors[best]) + np.log(NEARBY) * np.array([-1, 1])
    if ends[0] < x[0] - _ROUNDED or ends[1] > x[-1] + _ROUNDED:
        raise TooLittleError(
            f"the path of {model} does not reach {NEARBY:g} times its best constant on both sides."
        )
    ends = np.clip(ends, x[0], x[-1])
    near = np.array([*ends, *x[(ends[0] < x) & (x < ends[1])]])
    at = near[np.argmax(np.interp(near, x, errors))]
    k = min(int(np.searchsorted(x, at, "right")) - 1, len(x) - 2)
    weight = (at - x[k]) / (x[k + 1] - x[k])
    before, after = (_less(settings[each], settings[best]) for each in path[k : k + 2])
    rises = {
        unit: (1 - weight) * before[unit] + weight * after[unit] for unit in before if unit in after
    }
    highest = f"{np.interp(at, x, errors):.1f} % within a factor of {NEARBY:g}"
    return rises, f"{means[best]:.1f} % at {best[1]:g}, {highest}"


def _less(here: Mapping[Any, Score], there: Mapping[Any, Score]) -> dict[Any, Score]:
    """Return how much scores of the same units exceed others."""
    return {unit: minus(here[unit], there[unit]) for unit in sorted(set(here) & set(there))}
