"""Rows of the synthetic studies, averaged: errors, intervals, differences to M3N, weights, variances.

Means are over random CRFs, which are what is independent: the parts of one data set that train in turn
are averaged first.  What makes a CRF hard to learn makes it hard for every model, so next to the errors
stand their differences on the same data, with 95 % intervals of the mean (Student's).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from medn_edu.datasets import make_chain_crf
from medn_edu.studies.kit.summary import Curve, curves_less, with_intervals
from medn_edu.studies.kit.summary import curves as error_curves

STOPPED = ("M3N sub-gradient", "LapMEDN sub-gradient")
"""The models that stop far from their optima."""

OPTIMA = ("M3N at its optimum", "LapMEDN at its optimum")
"""What these two would have come to."""

REFERENCE = "M3N"
"""The model whose errors are subtracted."""

N_FEATURES, N_RELEVANT, GROUP = 100, 30, 3
"""Features, relevant ones, and how many of these copy one value."""

_ORDER = (
    "CRF", "L2-CRF", "L1-CRF", "M3N", "M3N sub-gradient", "L1-M3N",
    "LapMEDN sub-gradient", "LapMEDN variational", "LapMEDN",
)  # fmt: skip


def place(model: str) -> int:
    """Return where a model stands in legends and tables."""
    return _ORDER.index(model) if model in _ORDER else len(_ORDER)


def n_relevant_of(row: dict[str, Any]) -> int:
    """Return the number of relevant features of a row of ``synthetic-iid``."""
    return int(row["data"].split("-")[1])


def relevant_counts(rows: Iterable[dict[str, Any]]) -> list[int]:
    """Return which numbers of relevant features there are."""
    return sorted({n_relevant_of(row) for row in rows})


def averaged(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average the parts of a data set."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("error") is not None:
            groups.setdefault((row["data"], row["model"]), []).append(row)
    return [
        {
            **group[0],
            "data": data.rpartition("-")[0],
            "fold": int(data.rpartition("-")[2]),
            "n_train": round(float(np.mean([row["n_train"] for row in group]))),
            "error": float(np.mean([row["error"] for row in group])),
            "truth_error": float(np.mean([row["truth_error"] for row in group])),
        }
        for (data, _), group in groups.items()
    ]


def n_units(rows: Iterable[dict[str, Any]]) -> int:
    """Return how many random CRFs stand behind a mean."""
    return len(
        {
            row["fold"] if row["data"].startswith("iid") else row["data"].rpartition("-")[2]
            for row in rows
            if row.get("error") is not None
        }
    )


def table_lines(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean error and mean difference to M3N, with intervals, per model and size."""
    curves = {curve.name: with_intervals(curve) for curve in error_curves(rows)}
    less = {curve.name: with_intervals(curve) for curve in curves_less(rows, REFERENCE)}
    lines = []
    for name in sorted(curves, key=place):
        curve = curves[name]
        for k, n_train in enumerate(curve.x):
            line = {
                "n_train": int(n_train),
                "model": name,
                "units": int(curve.n[k]),
                "error": float(curve.mean[k]),
                "interval": _half(curve, k),
                "constants": _usual(rows, name, int(n_train)),
            }
            if name in less:
                line["to_m3n"], line["to_m3n_interval"] = (
                    float(less[name].mean[k]),
                    _half(less[name], k),
                )
            lines.append(line)
    return lines


def _half(curve: Curve, k: int) -> float | None:
    return float(curve.deviation[k]) if curve.n[k] > 1 else None


def _usual(rows: Iterable[dict[str, Any]], model: str, n_train: int) -> str:
    """Return the constants that were chosen most often."""
    found = Counter(
        row.get("chosen") or row.get("parameters") or ""
        for row in rows
        if (row["model"], row["n_train"]) == (model, n_train)
    )
    return min(found, key=lambda text: (-found[text], text)) if found else ""


def average_weights(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[np.ndarray, int]]:
    """Return each model's weights of state features, averaged over the parts that train."""
    return {
        name: (weights.reshape(2, -1).T.ravel(), n)
        for name, (weights, n) in average_of(rows, "weights").items()
    }


def true_weights(rows: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return the generating model's weights of the first data set, in the order of `average_weights`."""
    seed = 1000 * int(rows[0].get("seed") or 0)
    bunch = make_chain_crf(n_samples=1, correlated=True, n_sweeps=1, random_state=seed)
    return bunch.coef.T.ravel()


def average_of(rows: Iterable[dict[str, Any]], column: str) -> dict[str, tuple[np.ndarray, int]]:
    """Average numbers that rows hold as text, over the fits of each model."""
    found: dict[str, list[np.ndarray]] = {}
    for row in rows:
        if row.get(column) and row["model"] not in OPTIMA:
            values = np.array([float(word) for word in row[column].split()])
            found.setdefault(row["model"], []).append(values)
    return {
        name: (np.mean(found[name], axis=0), len(found[name])) for name in sorted(found, key=place)
    }


def within_groups(variances: np.ndarray) -> float:
    """Return the share of the variation of log variances that lies within groups.

    By chance it would be 0.69, as 20 of 29 degrees of freedom are within groups.
    """
    values = np.log(variances[:N_RELEVANT]).reshape(-1, GROUP)
    inside = np.sum((values - values.mean(axis=1, keepdims=True)) ** 2)
    return float(inside / np.sum((values - values.mean()) ** 2))
