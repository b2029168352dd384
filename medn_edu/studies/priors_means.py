"""Rows of the study ``priors``, by data, prior and variance, and means over sets.

Sets, random CRFs or folds of words, are what is independent.  A set that is hard for one prior is hard
for all, so that errors are compared set by set: a difference is a mean with its 95 % interval over
the sets (Student's).  Priors are compared with the normal one, at variances that were chosen on data
apart, or at equal ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from medn_edu.explorers.shrinkage import prior_gallery
from medn_edu.intervals import deviation, half_interval
from medn_edu.studies.kit.selection import read_constants
from medn_edu.studies.priors_panels import PriorDifference

PRICE = 3.0
"""The price ``C`` of the slack, for all priors."""

SHAPES = tuple(prior_gallery())
"""Names of the priors."""

NORMAL = "Gaussian"
"""The prior that all others are compared with."""

CHOSEN = ", chosen for "
"""What stands between prior and data in the name of a model that chooses the variance."""

IID, CORRELATED, OCR = "iid-10-50", "correlated-20", "ocr-100"
"""Kinds of data."""

TITLES = {IID: "independent features", CORRELATED: "features in groups", OCR: "OCR100"}
"""What tables and figures call them."""

VARIANCES = {
    IID: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    CORRELATED: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    OCR: (3e-3, 0.01, 0.03, 0.1),
}
"""Variances that are tried."""

COLUMNS = (
    "data", "prior", "kurtosis", "variance", "chosen", "fits", "error", "error_deviation",
    "train_error", "n_support", "large", "largest_gap", "difference", "difference_reach",
)  # fmt: skip
"""Columns of the table."""

_PLACE = {name: number for number, name in enumerate((*TITLES, *SHAPES))}


class Fits:
    """The rows of a study by data, prior and variance, and the variances that were chosen."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.groups: dict[tuple[str, str, float], dict[str, dict[str, Any]]] = {}
        self.chosen: dict[tuple[str, str], float] = {}
        for row in rows:
            if row["model"] in SHAPES and row.get("error") is not None:
                data = next(kind for kind in TITLES if row["data"].startswith(kind))
                variance = dict(read_constants(row["parameters"]))["variance"]
                group = self.groups.setdefault((data, row["model"], variance), {})
                group[f"{row['data']}/{row.get('fold')}"] = row
            elif row.get("chosen"):
                shape, _, title = row["model"].partition(CHOSEN)
                data = next(kind for kind, text in TITLES.items() if text == title)
                self.chosen[data, shape] = dict(read_constants(row["chosen"]))["variance"]

    def data(self) -> list[str]:
        """Return which data there are."""
        return [data for data in TITLES if any(key[0] == data for key in self.groups)]

    def variances(self, data: str, shape: str) -> list[float]:
        """Return at which variances a prior was tried."""
        return sorted(key[2] for key in self.groups if key[:2] == (data, shape))

    def values(self, data: str, shape: str, variance: float, column: str) -> np.ndarray:
        """Return a column of the sets."""
        if column == "large":
            large, of_all = (
                self.values(data, shape, variance, name) for name in ("n_large", "n_weights")
            )
            return large / of_all
        group = self.groups.get((data, shape, variance), {})
        values = [group[name].get(column) for name in sorted(group)]
        return np.array([value for value in values if value is not None], dtype=float)

    def differences(
        self, data: str, shape: str, variance: float, against: tuple[str, float]
    ) -> np.ndarray:
        """Return the differences of errors to another prior's, set by set."""
        mine = self.groups.get((data, shape, variance), {})
        other = self.groups.get((data, *against), {})
        both = sorted(mine.keys() & other.keys())
        return np.array([mine[name]["error"] - other[name]["error"] for name in both])


def mean_difference(name: str, values: np.ndarray) -> PriorDifference:
    """Return the mean with its 95 % interval, by Student's t."""
    mean = float(values.mean()) if len(values) else math.nan
    return PriorDifference(name, mean, half_interval(values))


def compared(fits: Fits, data: str) -> list[tuple[str, list[PriorDifference]]]:
    """Compare all priors with the normal one: each at its variance, and all at the normal one's."""
    own = fits.chosen.get((data, NORMAL))
    if own is None:
        return []
    others = [shape for shape in SHAPES if shape != NORMAL and (data, shape) in fits.chosen]

    def compare(variances: dict[str, float]) -> list[PriorDifference]:
        return [
            mean_difference(shape, fits.differences(data, shape, variance, (NORMAL, own)))
            for shape, variance in variances.items()
        ]

    return [
        ("each at its chosen variance", compare({s: fits.chosen[data, s] for s in others})),
        ("all at the Gaussian's", compare(dict.fromkeys(others, own))),
    ]


@cache
def kurtosis(shape: str) -> float:
    """Return a prior's excess kurtosis, the fourth derivative of ``Lambda`` at unit variance."""
    step = 0.02
    mean = prior_gallery()[shape].with_variance(1.0).mean(step * np.arange(-2.0, 3.0))
    return float(np.array([-1, 2, 0, -2, 1]) @ mean / (2 * step**3))


def table_of(fits: Fits) -> list[dict[str, Any]]:
    """Return means over sets; differences are those to the normal prior of the same variance."""
    order = sorted(fits.groups, key=lambda key: (_PLACE[key[0]], _PLACE[key[1]], key[2]))
    return [_line(fits, *key) for key in order]


def _line(fits: Fits, data: str, shape: str, variance: float) -> dict[str, Any]:
    def values(column: str) -> np.ndarray:
        return fits.values(data, shape, variance, column)

    errors = values("error")
    same = fits.differences(data, shape, variance, (NORMAL, variance))
    difference = mean_difference(shape, same)
    return {
        "data": data,
        "prior": shape,
        "kurtosis": round(kurtosis(shape), 1) + 0.0,
        "variance": variance,
        "chosen": int(fits.chosen.get((data, shape)) == variance),
        "fits": len(errors),
        "error": float(errors.mean()),
        "error_deviation": deviation(errors),
        "train_error": float(values("train_error").mean()),
        "n_support": float(values("n_support").mean()),
        "large": float(values("large").mean()),
        "largest_gap": float(values("relative_gap").max()),
        "difference": difference.mean if len(same) else None,
        "difference_reach": difference.reach if len(same) > 1 else None,
    }
