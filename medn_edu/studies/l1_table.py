"""Table 1 of the L1-M3N paper: each algorithm's constants, the paper's counts, and ours next to them.

The table counts *non-zero average weights*, of irrelevant features and of all: weights that are not
zero in the average over ten folds.  Signs might cancel, but hardly to zero in floating point, so
they are the weights that are not zero in some fold.  A fit therefore notes which of its weights are
zero, one bit each (`mask_of`), and `table_1` puts the folds together; errors, times and norms next
to the counts are means over folds, deviations are standard deviations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.intervals import deviation
from medn_edu.studies.kit.summary import Row, groups, largest, mean, read_constants

CHAINS, OCR = "chains-correlated", "ocr-100"
"""The data sets: the paper's synthetic set 1, and 100 words of each fold."""

TITLES = {CHAINS: "Synthetic set 1", OCR: "OCR100"}
"""What tables and figures call them."""

EM_C = 10.0
"""The ``C`` of EM, which the paper does not tell."""

ROUNDS = 60
"""After how many rounds cutting planes end."""

_N_FEATURES, _N_RELEVANT, _N_LABELS = 100, 30, 2  # of the chains


@dataclass(frozen=True)
class Algorithm:
    """A way to train L1-M3N, with the constants it is tried with."""

    name: str
    parameter: str  # the constant that is varied
    constants: dict[str, tuple[float, ...]]  # values for each data set
    printed: tuple[float, ...]  # what Table 1 prints for those of the synthetic set
    irrelevant: tuple[int, ...] = ()  # the paper's counts at these; none of our own algorithm
    total: tuple[int, ...] = ()


_N_TRAIN = 100  # sequences: the paper's C is the price of their mean slack
_ROOTS = (0.5, 0.7, 0.87, 1.0, 1.41, 1.73, 2.0, 3.0, 4.0)
_SQUARES = (0.25, 0.5, 0.75, 1.0, 2.0, 3.0, 4.0, 9.0, 16.0)  # whose roots the paper rounds
_PRICES = tuple(square / _N_TRAIN for square in _SQUARES)
_EM = (0.036, 0.069, 0.14, 0.21, 0.35, 0.5, 0.64, 0.78, 0.93)
_EM_UNIT = 14_000
_RADII = (20.0, 50.0, 100.0, 200.0, 400.0)
_TAIL = (138, 136, 140, 140, 140, 140, 140, 140, 140), (198, 196, *(200,) * 7)

ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        *(
            Algorithm(name, "radius", {CHAINS: _SQUARES, OCR: _RADII}, _ROOTS, *_TAIL)
            for name in ("sub-gradient", "online sub-gradient")
        ),
        Algorithm(
            "cutting plane",
            "C",
            {CHAINS: _PRICES, OCR: (0.1, 0.15)},
            _ROOTS,
            (0, 0, 2, 16, 103, 122, 134, 139, 140),
            (13, 21, 26, 44, 145, 169, 184, 186, 189),
        ),
        Algorithm(
            "EM",
            "lam",
            {
                CHAINS: tuple(round(_EM_UNIT * x, 6) for x in _EM),
                OCR: (30.0, 100.0, 300.0, 1000.0, 3000.0),
            },
            _EM,
            (140, 140, 128, 108, 48, 18, 2, 0, 0),
            (200, 198, 182, 158, 90, 54, 34, 32, 28),
        ),
        Algorithm("path", "C", {CHAINS: _PRICES, OCR: (0.1, 0.15, 0.2, 0.3)}, _ROOTS),
    )
}
"""The algorithms with their constants and the paper's numbers."""


def mask_of(flags: np.ndarray) -> str:
    """Write yes and no, one bit each, as hexadecimal digits."""
    return "0x" + np.packbits(flags).tobytes().hex()


def flags_of(mask: str, size: int) -> np.ndarray:
    """Read what `mask_of` wrote."""
    bits = np.frombuffer(bytes.fromhex(mask.removeprefix("0x")), dtype=np.uint8)
    return np.unpackbits(bits, count=size).astype(bool)


def constant_of(row: Row) -> float:
    """Return the constant of a row of results, whose parameters read ``C=0.25 tol=0.02``."""
    return read_constants(row["parameters"])[0][1]


def groups_of(rows: Iterable[Row]) -> dict[tuple[str, str, float], list[dict[str, Any]]]:
    """Return the fits of each data set, algorithm and constant, in the order of the study."""
    place = list(ALGORITHMS)
    return groups(
        rows, "data", "model", constant_of, order=lambda key: (key[0], place.index(key[1]), key[2])
    )


COLUMNS = (
    "data", "algorithm", "parameter", "constant", "printed", "fits", "error", "error_deviation",
    "cpu_seconds", "l1_norm", "largest_gap",
    "irrelevant", "total", "irrelevant_not_small", "total_not_small",
    "paper_irrelevant", "paper_total",
)  # fmt: skip
"""Columns of the table."""


def table_1(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return means over folds and counts of non-zero average weights, next to the paper's."""
    return [_line(*key, group) for key, group in groups_of(rows).items()]


def _line(data: str, name: str, constant: float, rows: list[dict[str, Any]]) -> dict[str, Any]:
    algorithm = ALGORITHMS[name]
    line: dict[str, Any] = {
        "data": data,
        "algorithm": name,
        "parameter": algorithm.parameter,
        "constant": constant,
        "fits": len(rows),
        "error": mean(rows, "error"),
        "error_deviation": deviation([row["error"] for row in rows]),
        "cpu_seconds": mean(rows, "cpu_seconds"),
        "l1_norm": mean(rows, "l1_norm"),
        "largest_gap": largest(rows, "relative_gap"),
    }
    if data == CHAINS:
        line["irrelevant"], line["total"] = _n_average(row["nonzero"] for row in rows)
        line["irrelevant_not_small"], line["total_not_small"] = _n_average(
            row["not_small"] for row in rows
        )
        position = int(np.argmin(np.abs(np.array(algorithm.constants[data]) - constant)))
        line["printed"] = algorithm.printed[position]
        if algorithm.total:
            line["paper_irrelevant"] = algorithm.irrelevant[position]
            line["paper_total"] = algorithm.total[position]
    return line


def _n_average(masks: Iterable[str]) -> tuple[int, int]:
    """Count the weights that are not zero in some fold: of irrelevant features, and of all."""
    size = _N_LABELS * _N_FEATURES
    some = np.any([flags_of(mask, size) for mask in masks], axis=0).reshape(_N_LABELS, _N_FEATURES)
    return int(some[:, _N_RELEVANT:].sum()), int(some.sum())
