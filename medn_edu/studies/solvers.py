"""The study ``solvers``: every solver of M3N on one problem, from zero weights on.

The problem is M3N on handwritten digit words.  What a solver has reached is judged from outside: the
certificate computes primal and dual value from its weights and dual variables alone, and the words of
the test part are read with its weights.  A *pass* is as many calls of the decoding or summing oracle as
there are training words, whatever the solver calls an iteration.  Passes are recorded ever more rarely,
each at least a tenth later than the one before, and a solver is left alone when its gap is small enough
or its passes are used up.

In the figure each solver's name stands at its curve, where there is most room.  A curve without room has
no label there, but each solver has a panel of errors with its name and look.
"""

import math
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import IdentityTransform

from medn_edu.datasets import load_digit_words
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import letter_panels, readable
from medn_edu.explorers.kit.style import INK, new_figure, save_figure, styled
from medn_edu.inference import Potentials, best_labelling
from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import Iterate
from medn_edu.samples import encode_labels, forbidden_to_allowed, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import M3N_SOLVERS, m3n_iterates
from medn_edu.studies.kit.figures import name_row
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.summary import MISSING, Column, Row, groups, percent, table, values
from medn_edu.studies.kit.texts import Texts

_C = 0.1
_TARGETS = {"quick": 1e-2, "paper": 1e-4}
_N_PASSES = {"quick": 200, "paper": 10_000}
_GROWTH = 1.1  # of the passes that are recorded
_COLUMNS = ("solver", "iteration", "n_passes", "primal", "dual", "relative_gap", "error")
_GOALS = (1e-1, 1e-2, 1e-3, 1e-4)


def _specs(scale: str, seed: int) -> list[FitSpec]:
    until = (("gap", _TARGETS[scale]), ("passes", _N_PASSES[scale]))
    return [FitSpec("digit-words", 0, solver, until, seed) for solver in M3N_SOLVERS]


def _watched(spec: FitSpec) -> list[dict[str, Any]]:
    problem, reader = _digit_words(spec.seed)
    small, _ = _digit_words(spec.seed, n_words=5)
    first = np.random.default_rng(spec.seed)
    for _ in zip(range(20), m3n_iterates(small, spec.model, rng=first), strict=False):
        pass  # whatever is loaded at the first call does not belong to the times
    iterates = m3n_iterates(problem, spec.model, rng=np.random.default_rng(spec.seed))
    until = dict(spec.parameters)
    rows = watch(iterates, problem, reader, target=until["gap"], n_passes=int(until["passes"]))
    return [{"solver": spec.model, **row} for row in rows]


@cache
def _digit_words(seed: int, n_words: int = 120) -> tuple[Problem, Callable[[np.ndarray], float]]:
    """Return the problem of the training words, and what measures errors on the test words."""
    words = load_digit_words(n_words, random_state=seed)
    train, test = (pack([words.data[i] for i in part]) for part in (words.train, words.test))
    codes, classes = encode_labels([words.target[i] for i in words.train], train)
    true, _ = encode_labels([words.target[i] for i in words.test], test, list(classes))
    data = label_samples(train, codes, forbidden_to_allowed(None, classes))
    problem = Problem(data, MarginLoss(LinearSlack(_C)), GaussianPrior())

    def error(weights: np.ndarray) -> float:
        potentials = Potentials.of_weights(test, *problem.weight_shape.split(weights))
        read, _ = best_labelling(potentials)
        return float(np.mean(read != true))

    return problem, error


def watch(
    iterates: Iterator[Iterate],
    problem: Problem,
    error: Callable[[np.ndarray], float],
    *,
    target: float,
    n_passes: int,
) -> list[dict[str, Any]]:
    """Pull iterates and record what they are worth, ever more rarely."""
    rows: list[dict[str, Any]] = []
    spent, due, iteration = 0.0, 1.0, 0
    while True:
        start = time.process_time()
        iterate = next(iterates, None)
        spent += time.process_time() - start
        if iterate is None:
            return rows
        iteration += 1
        passes = iterate.n_oracle_calls / problem.n_samples
        is_last = passes >= n_passes or bool(iterate.stopped)
        if passes < due and not is_last:
            continue
        due = _GROWTH * passes
        certificate = iterate.certify(problem)
        gap = certificate.relative_gap
        rows.append(
            {
                "iteration": iteration,
                "n_passes": passes,
                "primal": certificate.primal,
                "dual": certificate.dual,
                "relative_gap": gap if math.isfinite(gap) else None,
                "error": error(iterate.weights),
                "cpu_seconds": round(spent, 4),
            }
        )
        if is_last or gap <= target:
            return rows


_COLOURS = (
    *(palette.ORANGE, palette.GREEN, palette.PINK, palette.SKY),
    *(palette.SLATE, palette.PURPLE, palette.BROWN, INK),
)
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
    "relative_gap": "certified relative duality gap",
    "error": "test error (% of labels)",
}


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw gaps of all solvers together, and errors one solver at a time, as these run into one."""
    solvers = list(groups(rows, "solver"))
    figure = new_figure(9.6, 8.6)
    with styled():
        upper, lower = figure.subfigures(2, 1, height_ratios=[1.25, 1])
        left, right = upper.subplots(1, 2, sharey=True)
        for ax, x in ((left, "n_passes"), (right, "cpu_seconds")):
            draw_traces(ax, rows, x, floor=_TARGETS["paper"])
            ax.label_outer()
        left.set_title("Gap after so many passes")
        right.set_title("Gap after so many seconds")
        axes = lower.subplots(-(-len(solvers) // 3), 3, sharex=True, sharey=True, squeeze=False)
        for ax, solver in zip(axes.flat, map(solver_title, solvers), strict=False):
            draw_traces(ax, rows, y="error")
            for line in ax.get_lines():
                if line.get_label() != solver:
                    line.set(
                        color=palette.PALE_GREY, linestyle="-", linewidth=1, marker="", zorder=1
                    )
            ax.text(
                0.99, 0.97, solver, transform=ax.transAxes, ha="right", va="top", fontsize=9,
                bbox={"color": "white", "pad": 1},
            )  # fmt: skip
            ax.label_outer()
            ax.set_ylabel("")
        lower.supylabel(_TITLES["error"], fontsize=10)
        name_row(axes[0, 0], "(c) Test error, one solver at a time (grey: the others)")
        letter_panels([left, right])
        label_traces(figure, [left, right])
    save_figure(figure, path)


def solver_title(solver: str) -> str:
    """Return how a solver is called in figures."""
    return _NAMES.get(solver, solver.replace("_", " "))


def draw_traces(
    ax: Axes,
    rows: Sequence[Row],
    x: str = "n_passes",
    y: str = "relative_gap",
    *,
    floor: float = 0.0,
) -> None:
    """Draw what solvers have reached, one curve each, against passes or seconds."""
    with styled():
        ax.set_xscale("log")
        ax.set_yscale("log")
        for number, (solver, group) in enumerate(groups(rows, "solver").items()):
            points = np.array([(row.get(x), row.get(y)) for row in group], dtype=float)
            line = {"linewidth": 1.6, "markersize": 4, "markevery": 0.12, **_style(solver, number)}
            ax.plot(*points.T, label=solver_title(solver), **line)
        ax.set_xlabel(_TITLES[x])
        ax.set_ylabel(_TITLES[y])
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.5g}")
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        if y == "relative_gap":
            low = min(values(rows, "relative_gap"), default=1e-2)
            # A gap of more than everything says nothing; below there must be room for labels.
            ax.set_ylim(max(low, floor) / 12, 1.5)
        else:
            ax.yaxis.set_major_locator(FixedLocator([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]))
            ax.yaxis.set_minor_locator(NullLocator())
        ax.grid(axis="y")


def _style(solver: str, number: int) -> dict[str, Any]:
    if solver == "block_frank_wolfe":
        return {"color": palette.BLUE, "linestyle": "-", "marker": "o"}
    k = (number - 1) % len(_COLOURS)
    return {"color": _COLOURS[k], "linestyle": _LINES[k], "marker": _MARKERS[k]}


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
            0, 0, line.get_label(), transform=IdentityTransform(),
            color=readable(line.get_color()),
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


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    errors = [line["error"] for line in summaries(rows)]
    ends = [f"{100 * end:.1f}" for end in (min(errors), max(errors))]
    caption = _TEXTS(
        "caption", C=_C, target=_percent(_TARGETS[scale]), n_passes=_N_PASSES[scale],
        low=ends[0], high=ends[1],
    )  # fmt: skip
    found = table(_SUMMARY, summaries(rows))
    note = textwrap.fill(_TEXTS("columns"), 100)
    return Report(
        (*_COLUMNS, "cpu_seconds"),
        list(rows),
        f"{found.text()}\n\n{note}",
        f"{textwrap.fill(caption, 100)}\n\n{found.markdown()}\n{note}\n",
    )


_TEXTS = Texts("solvers.md")


def summaries(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return where each solver ended, and when it first reached each goal."""
    return [_summary(name, group) for name, group in groups(rows, "solver").items()]


def _summary(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    last = rows[-1]
    found = {"solver": name} | {
        key: last[key] for key in ("relative_gap", "error", "n_passes", "cpu_seconds")
    }
    for goal in _GOALS:
        reached = [r for r in rows if r["relative_gap"] is not None and r["relative_gap"] <= goal]
        found[f"passes_to_{goal:g}"] = reached[0]["n_passes"] if reached else None
        found[f"seconds_to_{goal:g}"] = reached[0]["cpu_seconds"] if reached else None
    return found


def _cost(passes: float | None, seconds: float) -> str:
    return MISSING if passes is None else f"{passes:.0f} / {seconds:.2g} s"


def _at_the_end(row: Row) -> str:
    return f"{_percent(row['relative_gap'])}, {_cost(row['n_passes'], row['cpu_seconds'])}"


def _percent(share: float | None) -> str:
    if share is None:
        return "no gap"
    return f"{100 * share:.0f} %" if share >= 1 else f"{100 * share:.2g} %"


def _to(goal: float) -> Column:
    """Return the column of passes and seconds to a goal."""
    columns = f"passes_to_{goal:g}", f"seconds_to_{goal:g}"
    return Column(
        f"to {_percent(goal)}", lambda row: _cost(*(row[name] for name in columns)), right=True
    )


_SUMMARY = (
    Column("solver", "solver", solver_title),
    *map(_to, _GOALS),
    Column("at the end", _at_the_end, right=True),
    Column("test error", "error", percent(), right=True),
)


SOLVER_STUDY = Study(
    "solvers",
    "every solver of M3N, pass by pass",
    fits=_specs,
    fit=_watched,
    draw=_draw,
    report=_report,
    columns=(*_COLUMNS, "cpu_seconds"),
    duration="quick 9 s, paper 40 s",
    unit="solvers",
    place=14,
)
"""The study."""
