"""Measures of noisy images: wrong pixels, gaps, times, and predictions at other temperatures.

They read the fits of the studies ``epsilon`` and ``denoising``.  A *unit* is a draw of noisy copies in
the first, and one of the four images in the second.  Rules name the data by the beginning of their name,
and mean copies of one image whose pixels are centred: new images, and raw pixels, are the study's own.
"""

from collections.abc import Callable
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

_TEMPERATURES = (1.0, 0.5, 0.01, 0.0)  # at which models of ``epsilon`` predict
Units = dict[tuple[str, int], float]


def _fits(rule: Rule, rows: Rows, model: str) -> list[Row]:
    """Return the fits of a model on the data of a rule."""
    found = [
        row
        for row in rows
        if row["model"] == model
        and f"{row['data']}-".startswith(f"{rule.data}-")
        and not row.get("failure")
        and not {"new", "raw"} & set(row["data"].split("-"))
    ]
    if not found:
        raise TooLittleError(f"the table has no {model} on {rule.data}.")
    return found


def _units(rule: Rule, rows: Rows, model: str, value: Callable[[Row], Any]) -> Units:
    """Return a number of each unit."""
    found = {(r["data"], r["fold"]): value(r) for r in _fits(rule, rows, model)}
    if any(number is None for number in found.values()):
        raise TooLittleError(f"the table lacks a number of {model}.")
    return {unit: float(number) for unit, number in found.items()}


def _mean(rule: Rule, units: Units, *models: str) -> Found:
    found = known(mean_interval(list(units.values())), too_few(*models))
    return Found(found, f"{len(units)} units")


def _error(row: Row) -> float:
    return 100.0 * float(row["error"])


@measure("wrong pixels")
def _wrong_pixels(rule: Rule, rows: Rows, better: str, worse: str) -> Found:
    """By how much one model's error exceeds a multiple of another's."""
    ours, theirs = (_units(rule, rows, name, _error) for name in (better, worse))
    common = {unit: theirs[unit] - rule.factor * ours[unit] for unit in ours.keys() & theirs.keys()}
    counts = [sum(int(r["n_wrong"]) for r in _fits(rule, rows, name)) for name in (better, worse)]
    found = _mean(rule, common, better, worse)
    return found._replace(note=f"{found.note}; {counts[0]:,} against {counts[1]:,} wrong pixels")


@measure("share of wrong pixels")
def _share(rule: Rule, rows: Rows, model: str) -> Found:
    return _mean(rule, _units(rule, rows, model, _error), model)


@measure("over-fit of pixels")
def _over_fit(rule: Rule, rows: Rows, model: str) -> Found:
    """By how much the test error exceeds the training error."""
    units = _units(rule, rows, model, lambda r: 100.0 * (r["error"] - r["train_error"]))
    return _mean(rule, units, model)


@measure("errors when colder")
def _colder(rule: Rule, rows: Rows, model: str) -> Found:
    """By how much predictions at all lower temperatures err more than at that of training."""
    return _elsewhere(rule, rows, model, lambda at, own: at < own)


@measure("errors when warmer")
def _warmer(rule: Rule, rows: Rows, model: str) -> Found:
    """The same of all higher temperatures."""
    return _elsewhere(rule, rows, model, lambda at, own: at > own)


def _elsewhere(rule: Rule, rows: Rows, model: str, asked: Callable[[float, float], bool]) -> Found:
    own = float(model.rpartition("=")[2])
    others = [k for k, at in enumerate(_TEMPERATURES) if asked(at, own)]

    def more(row: Row) -> float:
        wrong = [float(word) for word in str(row["wrong_at"]).split()]
        here = wrong[_TEMPERATURES.index(own)]
        return 100.0 * (float(np.mean([wrong[k] for k in others])) - here) / row["n_pixels"]

    return _mean(rule, _units(rule, rows, model, more), model)


@measure("gap left")
def _gap(rule: Rule, rows: Rows, model: str) -> Found:
    """The gap between primal and dual at the end, in units of the objective."""
    return _mean(rule, _units(rule, rows, model, lambda r: r["gap"]), model)


@measure("smaller gap")
def _smaller_gap(rule: Rule, rows: Rows, smaller: str, larger: str) -> Found:
    """How many times as large a gap is: the logarithm to base 2."""
    return _ratio(rule, rows, smaller, larger, lambda row: row["gap"])


@measure("training time")
def _time(rule: Rule, rows: Rows, longer: str, shorter: str) -> Found:
    """How many times as long training takes: the logarithm to base 2."""
    return _ratio(rule, rows, shorter, longer, lambda row: row.get("cpu_seconds"))


@measure("time of a pass")
def _time_of_a_pass(rule: Rule, rows: Rows, longer: str, shorter: str) -> Found:
    """The same of one pass."""

    def seconds(row: Row) -> float | None:
        return row["cpu_seconds"] / row["n_passes"] if row.get("cpu_seconds") else None

    return _ratio(rule, rows, shorter, longer, seconds)


def _ratio(rule: Rule, rows: Rows, small: str, large: str, value: Callable[[Row], Any]) -> Found:
    low, high = (_units(rule, rows, name, value) for name in (small, large))
    tiny = 1e-12  # of a gap that rounding has closed
    units = {
        unit: float(np.log2(max(high[unit], tiny) / max(low[unit], tiny)))
        for unit in low.keys() & high.keys()
    }
    found = _mean(rule, units, small, large)
    medians = [float(np.median(list(numbers.values()))) for numbers in (low, high)]
    return found._replace(note=f"{found.note}; medians {medians[0]:.2g} and {medians[1]:.2g}")


@measure("number of weights")
def _n_weights(rule: Rule, rows: Rows, model: str) -> Found:
    return Found(float(min(row["n_weights"] for row in _fits(rule, rows, model))))


@measure("seconds of training")
def _seconds(rule: Rule, rows: Rows, model: str) -> Found:
    """Processor seconds, with the largest relative gap that fits end with."""
    found = _mean(rule, _units(rule, rows, model, lambda r: r.get("cpu_seconds")), model)
    gap = max(row["relative_gap"] for row in _fits(rule, rows, model))
    return found._replace(note=f"{found.note}; to gaps of at most {100 * gap:.2g} %")


@measure("iterations to meet")
def _iterations(rule: Rule, rows: Rows, model: str) -> Found:
    """After how many iterations primal and dual are within 1 per cent; infinitely many if never."""
    [row, *_] = _fits(rule, rows, model)
    primal, dual = (
        np.array([float(word) for word in str(row[name]).split()]) for name in ("primals", "duals")
    )
    gap = np.minimum.accumulate(primal) - np.maximum.accumulate(dual)
    met = np.flatnonzero(gap <= 0.01 * primal)
    return Found(float(met[0] + 1) if len(met) else float("inf"), f"of {len(primal)}")
