"""Tables of points: what a study of curves draws, by panel, kind and name."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

POINT_COLUMNS = ("panel", "what", "of", "x", "y")
"""Columns of such a table."""

Rows = Sequence[dict[str, Any]]
Curves = Iterable[tuple[str, str, np.ndarray]]
"""Kind, name and points, of shape (n, 2), of all that one panel shows."""


def point_rows(panel: str, curves: Curves) -> list[dict[str, Any]]:
    """Return a row for each point of a panel."""
    return [
        {"panel": panel, "what": what, "of": of, "x": float(x), "y": float(y)}
        for what, of, points in curves
        for x, y in points
    ]


def points_of(rows: Rows, what: str) -> dict[str, np.ndarray]:
    """Return the points of one kind, by what they are of."""
    found = [(row["of"] or "", (row["x"], row["y"])) for row in rows if row["what"] == what]
    return {name: np.array([xy for of, xy in found if of == name]) for name, _ in found}
