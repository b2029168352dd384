"""Measures of what parts of algorithms for L1-M3N take, and of steps.

They read the fits of the study ``l1m3n-profile``.  Where nothing is said of steps, fits by sub-gradients
are those with the step of the study ``l1m3n-algorithms``.  A *unit* is a fold.
"""

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

_BETA = 10.0
_ByFold = dict[int, list[Row]]


def _folds(rows: Rows, model: str, data: str, **fields: Any) -> _ByFold:
    """Return the rows of a model by fold, those with some values only."""
    found: _ByFold = {}
    for row in rows:
        asked = {"model": model, "data": data, **fields}
        if all(row[name] == value for name, value in asked.items()) and not row.get("failure"):
            found.setdefault(int(row["fold"]), []).append(row)
    if not found:
        raise TooLittleError(f"the table has no {model} on {data}.")
    return found


def _usual(rows: Rows, model: str, data: str) -> _ByFold:
    betas = {row["beta"] for row in rows if row["model"] == model}
    return _folds(rows, model, data, **({"beta": _BETA} if _BETA in betas else {}))


def _sum(rows: list[Row], column: str) -> float:
    return sum(float(row[column]) for row in rows)


def _mean(values: list[float], *models: str) -> Found:
    return Found(known(mean_interval(values), too_few(*models)), f"{len(values)} folds")


@measure("share of time")
def _share(rule: Rule, rows: Rows, model: str) -> Found:
    """Which share of its time a fit spends on projections, or on linear programs."""
    folds = _usual(rows, model, rule.data).values()
    shares = [100 * _sum(fits, "part_seconds") / _sum(fits, "total_seconds") for fits in folds]
    return _mean(shares, model)


@measure("easier projections")
def _easier(rule: Rule, rows: Rows, model: str) -> Found:
    """How many times as long projections take into the smallest ball as into the largest: to base 2."""
    ratios = []
    for fits in _usual(rows, model, rule.data).values():
        small, large = (end(fits, key=lambda row: row["constant"]) for end in (min, max))
        ratios.append(float(np.log2(small["part_seconds"] / large["part_seconds"])))
    return _mean(ratios, model)


@measure("cold starts")
def _cold(rule: Rule, rows: Rows, warm: str, cold: str) -> Found:
    """How many times as long training takes if programs do not start from the last basis: to base 2."""
    here, there = (_folds(rows, model, rule.data) for model in (warm, cold))
    return _mean(
        [
            float(np.log2(_sum(there[fold], "total_seconds") / _sum(here[fold], "total_seconds")))
            for fold in sorted(here.keys() & there.keys())
        ],
        warm,
        cold,
    )


@measure("tail at the best step")
def _tail(rule: Rule, rows: Rows, model: str) -> Found:
    """How many irrelevant weights are left in the smallest ball, at the step that leaves fewest."""
    from medn_edu.studies.l1m3n_profile import kept  # which imports all models

    fits = [row for each in _folds(rows, model, rule.data).values() for row in each]
    smallest = min(row["constant"] for row in fits)
    by_step: dict[float, list[dict[str, Any]]] = {}
    for row in fits:
        if row["constant"] == smallest:
            by_step.setdefault(row["beta"], []).append(dict(row))
    left = {beta: kept(some) for beta, some in by_step.items()}
    best = min(left, key=left.__getitem__)
    note = f"beta = {best:g}; with beta = {_BETA:g} there are {left.get(_BETA, 0)}"
    return Found(float(left[best]), note)


@measure("gain by another step")
def _gain(rule: Rule, rows: Rows, model: str) -> Found:
    """By how much the error falls from the usual step to the best one, each at its best constant."""
    errors: dict[tuple[float, float], dict[int, float]] = {}
    for fold, fits in _folds(rows, model, rule.data).items():
        for row in fits:
            at = errors.setdefault((row["beta"], row["constant"]), {})
            at[fold] = 100 * float(row["error"])
    means = {at: float(np.mean(list(by_fold.values()))) for at, by_fold in errors.items()}
    best = min(means, key=means.__getitem__)
    usual = min((at for at in means if at[0] == _BETA), key=means.__getitem__)
    found = _mean([errors[usual][fold] - errors[best][fold] for fold in errors[best]], model)
    return found._replace(note=f"{means[best]:.1f} % with beta = {best[0]:g}")
