"""Solvers at work: what each has reached, against passes or seconds.

`solver_traces` turns rows of a table into curves, `draw_traces` draws them, and `label_traces` writes
each solver's name at its curve, where there is most room.  A curve without room has no label, so a
figure needs a legend as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import IdentityTransform

from medn_edu.explorers.kit.style import styled

_STYLES: dict[str, dict[str, Any]] = {
    "block_frank_wolfe": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
}
_COLOURS = ("#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#5D6B78", "#8A6FB0", "#A05A2C", "#22303C")
_LINES = ("--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), ":", (0, (1, 0.6)), "-")
_MARKERS = "s^vDPXpd"
_GAPS = (5.0, 15.0, 25.0, 40.0, 60.0)  # between a curve and its label, in pixels
_ROOM = 2.0  # around a label, likewise
_NAMES = {
    "block_frank_wolfe": "block Frank-Wolfe",
    "one_slack_cutting_plane": "one-slack cutting plane",
    "subgradient": "sub-gradient",
    "online_subgradient": "online sub-gradient",
    "smo": "SMO",
    "block_exponentiated_gradient": "block exp. gradient",
}
_TITLES = {
    "n_passes": "passes over the training words",
    "cpu_seconds": "processor seconds",
    "relative_gap": "relative duality gap",
    "error": "test error (% of labels)",
}


@dataclass(frozen=True, eq=False)
class SolverTrace:
    """What a solver has reached on its way."""

    solver: str
    n_passes: np.ndarray
    cpu_seconds: np.ndarray
    relative_gap: np.ndarray
    error: np.ndarray


def solver_traces(rows: Iterable[Mapping[str, Any]]) -> list[SolverTrace]:
    """Collect rows of a table to curves."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["solver"], []).append(row)

    def column(group: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
        values = [row.get(name) for row in group]
        return np.array([np.nan if value is None else value for value in values], dtype=float)

    names = ("n_passes", "cpu_seconds", "relative_gap", "error")
    return [
        SolverTrace(solver, *(column(group, name) for name in names))
        for solver, group in groups.items()
    ]


def solver_title(solver: str) -> str:
    """Return how a solver is called in figures."""
    return _NAMES.get(solver, solver.replace("_", " "))


def draw_traces(
    ax: Axes,
    traces: Iterable[SolverTrace],
    x: str = "n_passes",
    y: str = "relative_gap",
    *,
    floor: float = 0.0,
) -> None:
    """Draw one curve per solver."""
    shown = list(traces)
    with styled():
        ax.set_xscale("log")
        ax.set_yscale("log")
        for number, trace in enumerate(shown):
            line = {"linewidth": 1.6, "markersize": 4, "markevery": 0.12, **_style(trace, number)}
            ax.plot(getattr(trace, x), getattr(trace, y), label=solver_title(trace.solver), **line)
        ax.set_xlabel(_TITLES[x])
        ax.set_ylabel(_TITLES[y])
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.5g}")
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        if y == "relative_gap":
            low = min((np.nanmin(trace.relative_gap) for trace in shown), default=1e-2)
            # A gap of more than everything says nothing; below there must be room for labels.
            ax.set_ylim(max(low, floor) / 12, 1.5)
        else:
            ax.yaxis.set_major_locator(FixedLocator([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]))
            ax.yaxis.set_minor_locator(NullLocator())
        ax.grid(axis="y")


def _style(trace: SolverTrace, number: int) -> dict[str, Any]:
    k = (number - 1) % len(_COLOURS)
    other = {"color": _COLOURS[k], "linestyle": _LINES[k], "marker": _MARKERS[k]}
    return dict(_STYLES.get(trace.solver, other))


def label_traces(figure: Figure, axes: Iterable[Axes]) -> None:
    """Write the label of each curve next to it, in its colour, where other curves are far away.

    A label that could not keep clear of curves and of other labels is left out.

    Call it when all has been drawn: later changes of limits or layout would move the curves away from
    their labels.
    """
    with styled():
        figure.draw_without_rendering()  # now every point has its place
        figure.set_layout_engine("none")
        for ax in axes:
            _label_lines(ax)


def _label_lines(ax: Axes) -> None:
    lines = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    paths = [_dense(ax, line) for line in lines]
    frame = ax.get_window_extent().padded(-2).extents
    texts, halves = [], []
    for line in lines:
        text = ax.text(
            0, 0, line.get_label(), transform=IdentityTransform(), color=line.get_color(),
            fontsize=9, ha="center", va="center", zorder=5,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip
        text.set_in_layout(False)
        extent = text.get_window_extent()
        texts.append(text)
        halves.append(np.array([extent.width, extent.height]) / 2)

    def best(k: int, taken: list[np.ndarray]) -> tuple[float, np.ndarray, np.ndarray]:
        others = np.concatenate([path for j, path in enumerate(paths) if j != k] or [paths[k][:0]])
        return _roomiest(paths[k], halves[k], others, taken, frame)

    seen = [k for k in range(len(lines)) if len(paths[k])]
    taken: list[np.ndarray] = []
    for k in sorted(seen, key=lambda k: best(k, [])[0]):  # who has little choice goes first
        worth, place, point = best(k, taken)
        if worth == -np.inf:
            texts[k].remove()
            continue
        taken.append(np.concatenate([place - halves[k], place + halves[k]]))
        # In the units of the axes the label stays where it is at any resolution.
        to_axes = ax.transAxes.inverted()
        texts[k].set_transform(ax.transAxes)
        texts[k].set_position(to_axes.transform(place))
        foot = np.clip(point, place - halves[k], place + halves[k])
        if np.hypot(*(point - foot)) > 12:
            ends = to_axes.transform([foot, point])
            ax.plot(
                *ends.T, transform=ax.transAxes, color=lines[k].get_color(), linewidth=0.8,
                linestyle="-", zorder=4, label="_leader", scalex=False, scaley=False,
            )  # fmt: skip
    for k in set(range(len(lines))) - set(seen):
        texts[k].remove()


def _dense(ax: Axes, line: Line2D, step: float = 6.0) -> np.ndarray:
    """Return points along a line, in pixels, at most a few apart, as far as it can be seen."""
    points = ax.transData.transform(np.column_stack(line.get_data()).astype(float))
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 2:
        return points
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    at = np.arange(0.0, length[-1] + step, step)
    dense = np.column_stack([np.interp(at, length, points[:, d]) for d in (0, 1)])
    low, high = ax.get_window_extent().get_points()
    return dense[((dense >= low - 1) & (dense <= high + 1)).all(axis=1)]


def _roomiest(
    path: np.ndarray,
    half: np.ndarray,
    others: np.ndarray,
    taken: list[np.ndarray],
    frame: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Find the label's place that is far from other curves and labels, yet close to its own curve.

    Returns how good it is, minus infinity if there is none, the middle of the label, and the point of
    the curve that it belongs to.
    """
    sides = [(0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0)]
    shifts = np.array([np.multiply(side, half + gap) for gap in _GAPS for side in sides])
    distance = np.tile(np.repeat(_GAPS, len(sides)), len(path))
    places = (path[:, None, :] + shifts).reshape(-1, 2)
    points = np.repeat(path, len(shifts), axis=0)
    low, high = places - half, places + half
    inside = (low >= frame[:2]).all(axis=1) & (high <= frame[2:]).all(axis=1)
    if not inside.any():
        return -np.inf, np.clip(path[-1], frame[:2] + half, frame[2:] - half), path[-1]
    places, points, low, high = places[inside], points[inside], low[inside], high[inside]

    def clearance(points: np.ndarray) -> np.ndarray:
        """Distance of each candidate's box to the nearest of some points."""
        if not len(points):
            return np.full(len(places), np.inf)
        away = np.maximum(low[:, None] - points, points - high[:, None]).clip(min=0)
        return np.hypot(*np.moveaxis(away, 2, 0)).min(axis=1)

    room = np.minimum(clearance(others), 4 * clearance(path))
    for box in taken:
        away = np.maximum(low - box[2:], box[:2] - high).clip(min=0)
        room = np.minimum(room, np.hypot(*away.T))
    away_at_curve = np.full(len(path), np.inf)
    if len(others):  # a label says most where its curve runs alone
        away_at_curve = np.hypot(*np.moveaxis(path[:, None] - others, 2, 0)).min(axis=1)
    alone = np.repeat(away_at_curve, len(shifts))[inside]
    worth = 3 * np.minimum(room, 8.0) + np.minimum(alone, 15.0) - 0.35 * distance[inside]
    worth[room < _ROOM] = -np.inf
    chosen = int(np.argmax(worth))
    return float(worth[chosen]), places[chosen], points[chosen]
