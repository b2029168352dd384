"""The study ``solvers``: every solver of M3N on one problem, from zero weights on.

The problem is M3N on handwritten digit words.  What a solver has reached is judged from outside: the
certificate computes primal and dual value from its weights and dual variables alone, and the words of
the test part are read with its weights.  A *pass* is as many calls of the decoding or summing oracle as
there are training words, whatever the solver calls an iteration.  Passes are recorded ever more rarely,
each at least a tenth later than the one before, and a solver is left alone when its gap is small enough
or its passes are used up.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.datasets import load_digit_words
from medn_edu.explorers.kit.style import new_figure, save_figure, styled
from medn_edu.inference import Potentials, best_labelling
from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import Iterate
from medn_edu.samples import encode_labels, forbidden_to_allowed, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import M3N_SOLVERS, m3n_iterates
from medn_edu.studies.kit.specs import Report, TraceStudy
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.solvers_panels import draw_traces, label_traces, solver_title, solver_traces

_C = 0.1
_TARGETS = {"quick": 1e-2, "paper": 1e-4}
_N_PASSES = {"quick": 200, "paper": 10_000}
_GROWTH = 1.1  # of the passes that are recorded
_COLUMNS = ("solver", "iteration", "n_passes", "primal", "dual", "relative_gap", "error")
_GOALS = (1e-1, 1e-2, 1e-3, 1e-4)


def _trace(scale: str, seed: int, progress: Callable[[int, int, str], Any]) -> list[dict[str, Any]]:
    problem, reader = _digit_words(seed)
    small, _ = _digit_words(seed, n_words=5)
    rows = []
    for number, solver in enumerate(M3N_SOLVERS):
        progress(number, len(M3N_SOLVERS), solver)
        first = np.random.default_rng(seed)
        for _ in zip(range(20), m3n_iterates(small, solver, rng=first), strict=False):
            pass  # whatever is loaded at the first call does not belong to the times
        iterates = m3n_iterates(problem, solver, rng=np.random.default_rng(seed))
        points = watch(iterates, problem, reader, target=_TARGETS[scale], n_passes=_N_PASSES[scale])
        rows += [{"solver": solver, **point} for point in points]
    progress(len(M3N_SOLVERS), len(M3N_SOLVERS), "")
    return rows


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


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    traces = solver_traces(rows)
    figure = new_figure(11, 8.6)
    with styled():
        axes = figure.subplots(2, 2, sharex="col", sharey="row", height_ratios=[1.5, 1])
        for line, y in zip(axes, ("relative_gap", "error"), strict=True):
            for ax, x in zip(line, ("n_passes", "cpu_seconds"), strict=True):
                draw_traces(ax, traces, x, y, floor=_TARGETS["paper"])
                ax.label_outer()
        axes[0, 0].set_title("Certified gap after so many passes …")
        axes[0, 1].set_title("… and after so many seconds")
        axes[1, 0].set_title("Test error after so many passes …")
        axes[1, 1].set_title("… and after so many seconds")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=5, handlelength=4)
        label_traces(figure, axes[0])
    save_figure(figure, path)


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    headers = ["solver", *(f"to {_percent(goal)}" for goal in _GOALS), "at the end", "test error"]
    cells = [_cells(row) for row in summaries(rows)]
    note = textwrap.fill(
        "Passes over the training words, and processor seconds, until the certified relative gap is "
        "at most so much (to within a tenth, as not every pass is looked at); and what was reached at "
        "the end.",
        100,
    )
    return Report(
        (*_COLUMNS, "cpu_seconds"),
        list(rows),
        f"{text_table(headers, cells, right=range(1, len(headers)))}\n\n{note}",
        f"{_caption(scale)}\n\n{markdown_table(headers, cells)}\n{note}\n",
    )


def summaries(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return where each solver ended, and when it first reached each goal."""
    names = dict.fromkeys(row["solver"] for row in rows)
    return [_summary(name, [row for row in rows if row["solver"] == name]) for name in names]


def _summary(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    last = rows[-1]
    found = {"solver": name} | {
        key: last[key] for key in ("relative_gap", "error", "n_passes", "cpu_seconds")
    }
    for goal in _GOALS:
        reached = [r for r in rows if r["relative_gap"] is not None and r["relative_gap"] <= goal]
        found[f"passes_to_{goal:g}"] = reached[0]["n_passes"] if reached else None
        found[f"seconds_to_{goal:g}"] = reached[0]["cpu_seconds"] if reached else None
    return found


def _cells(row: dict[str, Any]) -> list[str]:
    def cost(passes: float | None, seconds: float) -> str:
        return "–" if passes is None else f"{passes:.0f} / {seconds:.2g} s"

    goals = [cost(row[f"passes_to_{goal:g}"], row[f"seconds_to_{goal:g}"]) for goal in _GOALS]
    end = f"{_percent(row['relative_gap'])}, {cost(row['n_passes'], row['cpu_seconds'])}"
    return [solver_title(row["solver"]), *goals, end, f"{100 * row['error']:.1f} %"]


def _percent(share: float | None) -> str:
    if share is None:
        return "no gap"
    return f"{100 * share:.0f} %" if share >= 1 else f"{100 * share:.2g} %"


def _caption(scale: str) -> str:
    return textwrap.fill(
        f"Every solver of M3N on one problem: 120 handwritten digit words, C = {_C:g}, from zero "
        f"weights, until the relative gap is {_percent(_TARGETS[scale])} or "
        f"{_N_PASSES[scale]:,} passes are used up.  A pass is one call of the decoding or summing "
        "oracle per training word.  Gaps are certified, computed from weights and dual variables "
        "alone, at no cost in this account.  Seconds are processor time of the solver.",
        100,
    )


SOLVER_STUDY = TraceStudy(
    "solvers",
    "every solver of M3N, pass by pass",
    _COLUMNS,
    ("solver", "iteration", "cpu_seconds"),
    _trace,
    _draw,
    _report,
    "quick 9 s, paper 40 s",
)
"""The study."""
