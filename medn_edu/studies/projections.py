r"""The study ``projections``: why a step back onto the L1 ball makes zeros (L1-M3N, Figure 1).

Three panels.  (a) The paper's figure: three points outside the unit balls and their nearest points in
both.  (b) The same points while the balls shrink: onto L2 balls a point goes straight to 0; onto L1
balls all weights lose the same amount, until one is 0 and stays so.  (c) Twenty-four weights as large as
quantiles of a Gaussian, and balls of half their own norm: the smaller half of the weights is gone, or
every weight has become half as large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import halfnorm

from medn_edu.explorers import new_figure, save_figure, styled
from medn_edu.studies.kit.specs import CurveStudy
from medn_edu.studies.projections_panels import (
    draw_balls,
    draw_orthant,
    draw_paths,
    draw_projected,
    draw_thresholded,
)
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

_POINTS = {"p1": (1.45, 1.05), "p2": (1.6, 0.35), "p3": (0.3, 1.65)}
_REACH = 2.1
_RADII = (0.5, 1.0, 1.5)  # of the balls that (b) shows
_N_WEIGHTS = 24
_ON = {"L1": project_l1_ball, "L2": project_l2_ball}

Rows = Sequence[dict[str, Any]]


def _rows() -> list[dict[str, Any]]:
    return [
        {"panel": panel, "what": what, "of": of, "x": float(x), "y": float(y)}
        for panel, part in {"a": _figure_1, "b": _shrinking, "c": _weights}.items()
        for what, of, points in part()
        for x, y in points
    ]


def _figure_1() -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what (a) shows: the balls, the regions' boundaries, the points and their projections."""
    for norm in _ON:
        yield f"{norm} ball", "radius 1", _arc(norm, 1.0)
    corners, along = np.eye(2), np.ones(2)
    for k, corner in enumerate(corners):
        # All that lies off the corner by less than one boundary is nearest to it.
        yield "boundary", f"w{2 - k} = 0", np.array([corner, corner + (_REACH - 1) * along])
    for name, point in _POINTS.items():
        yield "point", name, np.array([point])
        for norm, project in _ON.items():
            yield f"on {norm}", name, project(np.array(point), 1.0)[None]


def _shrinking() -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what (b) shows: balls, and the way of each point's projection as the radius falls."""
    for norm in _ON:
        for radius in _RADII:
            yield f"{norm} ball", f"radius {radius:g}", _arc(norm, radius)
    for name, values in _POINTS.items():
        point = np.array(values)
        for norm, project in _ON.items():
            size = np.linalg.norm(point, ord=int(norm[1]))
            radii = size * np.linspace(1, 0, 41)[:-1]
            steps = [project(point, radius) for radius in radii]
            yield f"on {norm}", name, np.array([*steps, np.zeros(2)])


def _weights() -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what (c) shows: magnitudes by rank, before and after."""
    ranks = np.arange(1, _N_WEIGHTS + 1)
    weights = halfnorm.isf((ranks - 0.5) / _N_WEIGHTS)
    yield "weights", "", np.column_stack([ranks, weights])
    for norm, project in _ON.items():
        radius = float(np.linalg.norm(weights, ord=int(norm[1]))) / 2
        yield f"on {norm}", "", np.column_stack([ranks, project(weights, radius)])


def _arc(norm: str, radius: float) -> np.ndarray:
    """Return the boundary of a ball in the first orthant."""
    if norm == "L1":
        return radius * np.eye(2)
    angles = np.linspace(0, np.pi / 2, 46)
    return np.round(radius * np.column_stack([np.cos(angles), np.sin(angles)]), 12)


def _draw(rows: Rows, path: Path) -> None:
    figure = new_figure(11, 4)
    with styled():
        axes = figure.subplots(1, 3)
        titles = (
            "(a) Nearest points (L1-M3N, Fig. 1)",
            "(b) Their ways as the balls shrink",
            f"(c) {_N_WEIGHTS} weights, half the norm",
        )
        for ax, title, panel in zip(axes, titles, "abc", strict=True):
            _DRAWN[panel](ax, [row for row in rows if row["panel"] == panel])
            ax.set_title(title)
    save_figure(figure, path)


def _draw_figure_1(ax: Any, rows: Rows) -> None:
    draw_orthant(ax, _REACH, _chosen(rows, "boundary").values())
    for norm in _ON:
        draw_balls(ax, norm, _chosen(rows, f"{norm} ball").values())
    on = {norm: _chosen(rows, f"on {norm}") for norm in _ON}
    for name, [point] in _chosen(rows, "point").items():
        draw_projected(ax, name, point, on["L1"][name][0], on["L2"][name][0])
    ax.legend(loc="upper right")


def _draw_shrinking(ax: Any, rows: Rows) -> None:
    draw_orthant(ax, _REACH)
    for norm in _ON:
        draw_balls(ax, norm, _chosen(rows, f"{norm} ball").values(), faint=True)
        draw_paths(ax, norm, _chosen(rows, f"on {norm}"))
    ax.legend(loc="upper right")


def _draw_weights(ax: Any, rows: Rows) -> None:
    heights = [_chosen(rows, what)[""][:, 1] for what in ("weights", "on L1", "on L2")]
    draw_thresholded(ax, *heights)


_DRAWN = {"a": _draw_figure_1, "b": _draw_shrinking, "c": _draw_weights}


def _chosen(rows: Rows, what: str) -> dict[str, np.ndarray]:
    """Return the points of one kind, by what they are of."""
    found = [row for row in rows if row["what"] == what]
    names = dict.fromkeys(row["of"] or "" for row in found)
    return {
        name: np.array([(row["x"], row["y"]) for row in found if (row["of"] or "") == name])
        for name in names
    }


PROJECTIONS = CurveStudy(
    "projections",
    "nearest points in the L2 and the L1 ball",
    ("panel", "what", "of", "x", "y"),
    _rows,
    _draw,
    "(a) Three points outside the unit balls and their projections, as in L1-M3N, Figure 1: p′ onto "
    "the L2 ball (solid), p* onto the L1 ball (dashed).  In the shaded regions, between the thin "
    "dashed lines and the axes, the nearest point of the L1 ball is a corner, and a weight becomes 0.  "
    "(b) The way of the same projections as both balls shrink to 0: on L2 balls all weights lose "
    "the same factor and none is 0 before the end; on L1 balls both lose the same amount, and the "
    "smaller one is 0 early.  "
    f"(c) {_N_WEIGHTS} weights of the sizes of a Gaussian's quantiles, projected onto balls of half "
    "their own norm: L1 takes θ from each and sets those below θ to 0, L2 halves them all.",
    "1 s",
    "L1-M3N 1",
)
"""The study."""
