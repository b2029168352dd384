"""Measures of explanations: other labels, labels that are flipped, a path of a penalty, a limit.

They read the fits of ``predictors``, whose data rules name, and of ``shape-strength``.  A *unit* is a
random CRF with its data, or a fold of words; of the first data set with groups, whose parts train in
turn, counts are those over all parts.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from medn_edu.studies.claims.rules import (
    Found,
    Row,
    Rows,
    Rule,
    TooLittleError,
    known,
    measure,
    too_few,
)
from medn_edu.studies.claims.scores import mean_interval
from medn_edu.studies.kit.summary import constant, numbers

_FLIPPED = "-flipped-20"  # ends the name of data with a fifth of their labels flipped


def _by_fold(rows: Rows, model: str, data: str, column: str) -> dict[int, float]:
    found = {
        int(row["fold"]): float(row[column])
        for row in rows
        if row["model"] == model and row["data"] == data and row.get(column) is not None
    }
    if not found:
        raise TooLittleError(f"the table has no {column} of {model} on {data}.")
    return found


@measure("learned distance")
def _distance(rule: Rule, rows: Rows, model: str) -> Found:
    """How far weights are from the true ones in what labels can teach of them."""
    away = list(_distances(rule, rows, model).values())
    return Found(known(mean_interval(away), too_few(model)), f"{len(away)} units")


@measure("further from the truth")
def _further(rule: Rule, rows: Rows, model: str, than: str) -> Found:
    """How much further one model's weights are from the true ones than another's, likewise."""
    ours, theirs = (_distances(rule, rows, name) for name in (model, than))
    more = [ours[fold] - theirs[fold] for fold in sorted(ours.keys() & theirs.keys())]
    means = [float(np.mean(list(each.values()))) for each in (ours, theirs)]
    note = f"{means[0]:.0f} % with {model}, {means[1]:.0f} % with {than}"
    return Found(known(mean_interval(more), too_few(model, than)), note)


def _distances(rule: Rule, rows: Rows, model: str) -> dict[int, float]:
    """Return by fold how far differences of the two labels' weights are from the true ones.

    Of copies of one value only their sum counts, and a common factor is left out: the distance is the
    sine of the angle, in per cent, or 100 where it exceeds a right one.
    """
    cosines = _by_fold(rows, model, rule.data, "truth_cosine")
    return {
        fold: 100 * float(np.sqrt(1 - np.clip(cosine, 0, 1) ** 2))
        for fold, cosine in cosines.items()
    }


@measure("noise in labels")
def _noise(rule: Rule, rows: Rows, steady: str, shaken: str) -> Found:
    """By how much less one model's error rises than another's when training labels are flipped."""
    errors = [
        _by_fold(rows, model, data, "error")
        for model in (shaken, steady)
        for data in (rule.data + _FLIPPED, rule.data)
    ]
    common = sorted(set.intersection(*map(set, errors)))
    table = 100 * np.array([[each[fold] for fold in common] for each in errors])
    found = known(
        mean_interval(table[0] - table[1] - (table[2] - table[3])), too_few(steady, shaken)
    )
    rises = [float((table[k] - table[k + 1]).mean()) for k in (2, 0)]
    return Found(found, f"{rises[0]:+.1f} points with {steady}, {rises[1]:+.1f} with {shaken}")


@measure("irrelevant weights on a path")
def _on_a_path(rule: Rule, rows: Rows, model: str) -> Found:
    """How many irrelevant weights a part keeps, at the best constant that leaves each relevant ones."""
    by_constant: dict[str, list[Row]] = {}
    for row in rows:
        if row["model"] == model and row["data"] == rule.data and not row.get("failure"):
            by_constant.setdefault(str(row["parameters"]), []).append(row)
    kept = [parts for parts in by_constant.values() if all(part["n_relevant"] for part in parts)]
    best = min(known(kept or None, f"no path of {model} on {rule.data}."), key=_irrelevant)
    mean = [100 * float(np.mean([part["error"] for part in parts])) for parts in (best, *kept)]
    note = f"the error is then {mean[0]:.1f} %, at the best constant {min(mean):.1f} %"
    return Found(float(_irrelevant(best)), note)


def _irrelevant(parts: list[Row]) -> Any:
    return max(part["n_irrelevant"] for part in parts)


@measure("difference at the limit")
def _at_the_limit(rule: Rule, rows: Rows, first: str, second: str) -> Found:
    """By how much the limit errs more than the model that tends to it, at the limit's best constant."""
    rows = [
        row
        for row in rows
        if row["data"].partition("-")[0] == rule.data and constant(row, "every") is None
    ]
    limit = _errors(row for row in rows if row["model"] == second)
    if not limit:
        raise TooLittleError(f"the table has no {second} on {rule.data}.")
    line = int(np.mean(list(limit.values()), axis=0).argmin())
    model = _errors(r for r in rows if r["model"] == first and constant(r, "strength") == line)
    units = sorted(limit.keys() & model.keys())
    more = mean_interval([limit[unit][line] - model[unit][-1] for unit in units])
    return Found(known(more, too_few(first, second)), f"{len(units)} units, line {line}")


def _errors(rows: Iterable[Row]) -> dict[tuple[str, int], np.ndarray]:
    """Return the errors along a fit of ``shape-strength``, by data and fold."""
    fits = (row for row in rows if not row.get("failure"))
    return {(row["data"], int(row["fold"])): 100 * numbers(row["errors"]) for row in fits}
