"""Rows of the study ``exact-vs-variational``, by kind of data and constants, and means over sets.

A group is the fits with the same kind of data, the same ``C`` and the same ``lam``: one for each
random CRF or each fold.  What belongs to the iterations stands in texts of numbers, one for each entry
of `ITERATIONS`; here the limit's value is put behind them.  Quantities are compared set by set before
means are taken: excess and difference of errors are to the exact solution of the same fit.  Deviations
are standard deviations over the sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.intervals import deviation
from medn_edu.studies.both_laplace import ITERATIONS
from medn_edu.studies.kit.selection import read_constants

LAMS = (1.0, 9.0, 36.0, 268.0)
"""The constants: 1 and 268 are the ends of the papers' grid, 36 is that of their OCR."""

N_SETS, N_WORD_SETS = 5, 3
"""How many random CRFs and folds of words there are at paper scale."""

CHAINS, OCR = "correlated", "ocr-100"
"""Kinds of data."""

TITLES = {CHAINS: "chains", OCR: "OCR100"}
"""What tables and figures call them."""

KEPT = (1, 3, 20)
"""Iterations whose weights are kept."""

_QUANTITIES = ("excess", "error_difference", "distance", "correlation", "limit_distance", "gap")
COLUMNS = (
    "data", "C", "lam", "fits", "iterations", "exact_error", "exact_gap",
    *(f"{name}{part}" for name in _QUANTITIES for part in ("", "_deviation")),
)  # fmt: skip
"""Columns of the table."""


@dataclass(frozen=True)
class Group:
    """The fits with the same kind of data, the same ``C`` and the same ``lam``."""

    data: str  # kind of data
    C: float
    lam: float
    rows: list[dict[str, Any]]

    def at(self, place: int, name: str) -> np.ndarray:
        """Return what the fits have at a place of `ITERATIONS`, or behind them, in the limit."""
        return np.array([values_of(row, name)[place] for row in self.rows])


def groups_of(rows: Iterable[dict[str, Any]]) -> list[Group]:
    """Return the fits that did not fail, by kind of data and constants."""
    found: dict[tuple[str, float, float], list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("errors"):  # a failed fit has none
            constants = dict(read_constants(row["parameters"]))
            kind = CHAINS if row["data"].startswith(CHAINS) else row["data"]
            found.setdefault((kind, constants["C"], constants["lam"]), []).append(row)
    return [Group(*key, found[key]) for key in sorted(found)]


def values_of(row: dict[str, Any], name: str) -> list[float]:
    """Return a quantity along the iterations, and in the limit."""
    if name == "excess":
        primals = [*numbers_of(row["primals"]), row["limit_primal"]]
        return [value / row["primal"] - 1 for value in primals]
    if name == "error_difference":
        return [value - row["error"] for value in [*numbers_of(row["errors"]), row["limit_error"]]]
    if name == "limit_distance":
        return [*numbers_of(row["limit_distances"]), 0.0]
    if name == "gap":
        return [*numbers_of(row["gaps"]), math.nan]
    return [*numbers_of(row[f"{name}s"]), row[f"limit_{name}"]]


def numbers_of(text: str) -> list[float]:
    """Return the numbers of a text."""
    return [float(word) for word in text.split()]


def table_of(groups: Iterable[Group]) -> list[dict[str, Any]]:
    """Return means and deviations, a line for each number of iterations and one for the limit."""
    lines = []
    for group in groups:
        for place, number in enumerate((*ITERATIONS, "limit")):
            line: dict[str, Any] = {
                "data": group.data,
                "C": group.C,
                "lam": group.lam,
                "fits": len(group.rows),
                "iterations": number,
                "exact_error": float(np.mean([row["error"] for row in group.rows])),
                "exact_gap": max(row["relative_gap"] for row in group.rows),
            }
            for name in _QUANTITIES:
                values = group.at(place, name)
                if np.isfinite(values).all():
                    line[name] = float(values.mean())
                    line[f"{name}_deviation"] = deviation(values)
            lines.append(line)
    return lines
