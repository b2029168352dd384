"""Figures, table and caption of the study ``exact-vs-variational``.

The first figure shows, against the number of iterations, how far the variational weights are from
the exact ones, how far their exact objective is above the exact solution's, and the difference of
test errors; means with standard deviations over the sets, and behind the iterations the limit.  The
second shows the weights of one fit: against the exact ones, and against their natural parameters
next to the exact shrinkage curve and the limit's.

A difference of errors counts as clear where the 95 % interval of its mean over the sets (Student's)
does not hold 0.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.explorers.shrinkage import draw_cross, shrinkage_curve
from medn_edu.intervals import deviation, half_interval
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.studies.both_laplace import ITERATIONS
from medn_edu.studies.exact_vs_variational_means import (
    COLUMNS,
    KEPT,
    LAMS,
    N_SETS,
    N_WORD_SETS,
    OCR,
    TITLES,
    Group,
    groups_of,
    numbers_of,
    table_of,
    values_of,
)
from medn_edu.studies.exact_vs_variational_panels import IterationCurve, draw_iterations
from medn_edu.studies.kit.selection import read_constants
from medn_edu.studies.kit.specs import Report
from medn_edu.studies.kit.tables import markdown_table, text_table

# ---------------------------------------------------------------------------------------------
# figures

_ROWS = {
    "distance": "distance of the weights",
    "excess": "excess of the objective",
    "error_difference": "test error, difference (points)",
}


def draw_variational(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw distance, excess and difference of errors against iterations, by data and ``C``."""
    groups = groups_of(rows)
    panels = sorted({(group.data, group.C) for group in groups}) or [(OCR, 1.0)]
    figure = new_figure(max(2.9 * len(panels) + 0.6, 6.5), 8.0)
    with styled():
        axes = figure.subplots(len(_ROWS), len(panels), sharex=True, squeeze=False)
        for column, panel in zip(axes.T, panels, strict=True):
            members = [group for group in groups if (group.data, group.C) == panel]
            for ax, name in zip(column, _ROWS, strict=True):
                curves = [_curve(group, name) for group in members]
                draw_iterations(ax, curves, logarithmic=name != "error_difference")
            column[-1].axhline(0, color=MUTED, linewidth=0.8)
            column[0].set_title(f"{TITLES[panel[0]]}, C = {panel[1]:g}")
            column[-1].set_xlabel("iterations")
        for row, (name, label) in zip(axes, _ROWS.items(), strict=True):
            row[0].set_ylabel(label)
            _share(row, [panel[0] if name == "error_difference" else "" for panel in panels])
            for ax in row:
                ax.yaxis.set_major_formatter(_signed if name == "error_difference" else _percent)
        handles = {
            label: handle
            for ax in axes[0]
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(LAMS))
        figure.supxlabel(_note(groups), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _share(axes: Sequence[Any], kinds: Sequence[str]) -> None:
    """Let axes of one kind have the same limits; the numbers stand at the first of them."""
    for kind in dict.fromkeys(kinds):
        first, *others = [ax for ax, its in zip(axes, kinds, strict=True) if its == kind]
        limits = [ax.get_ylim() for ax in (first, *others)]
        for ax in others:
            ax.sharey(first)
            ax.tick_params(labelleft=False)
        first.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _curve(group: Group, name: str) -> IterationCurve:
    values = [group.at(place, name) for place in range(len(ITERATIONS) + 1)]
    return IterationCurve(
        f"λ = {group.lam:g}",
        LAMS.index(group.lam),
        np.array(ITERATIONS),
        np.array([value.mean() for value in values]),
        np.array([deviation(value) or 0.0 for value in values]),
    )


def _percent(value: float, _: Any = None) -> str:
    percent = 100 * value
    return f"{percent:,.0f} %" if percent >= 100 else f"{percent:.3g} %"


def _signed(value: float, _: Any = None) -> str:
    return f"{100 * value:+.3g}" if value else "0"


def _points(value: float) -> str:
    return f"{_signed(value)} points"


def _note(groups: Sequence[Group]) -> str:
    parts = []
    for data, title in TITLES.items():
        most = max((len(group.rows) for group in groups if group.data == data), default=0)
        if most:
            sets = "one set" if most == 1 else f"mean ± deviation over {most} sets"
            parts.append(f"{title}: {sets}")
    texts = ["100 sequences or words train, 900 test", *parts, "0 is the exact solution"]
    return "; ".join(texts)


def draw_kept_weights(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw one fit's weights: against the exact ones, and against their natural parameters."""
    shown = [row for row in rows if row.get("exact_weights")]
    figure = new_figure(10, 4.8)
    with styled():
        left, right = figure.subplots(1, 2)
        for row in shown[:1]:
            lam = dict(read_constants(row["parameters"]))["lam"]
            exact = np.array(numbers_of(row["exact_weights"]))
            reach = _reach(exact)
            draw_cross(left)
            left.plot([-reach, reach], [-reach, reach], color=MUTED, linewidth=1)
            draw_cross(right)
            _draw_limits(right, lam, reach)
            for number, style in zip(KEPT, _MARKS, strict=True):
                weights = np.array(numbers_of(row[f"weights_{number}"]))
                name = "1 iteration (M3N)" if number == 1 else f"{number} iterations"
                left.plot(exact, weights, label=name, **style)
                right.plot(numbers_of(row[f"etas_{number}"]), weights, label=name, **style)
            right.set_ylim(-reach, reach)
            right.set_title(f"Shrinkage, λ = {lam:g}")
        left.set(xlabel="exact posterior mean", ylabel="variational posterior mean")
        left.set_title("The same weights, trained in both ways")
        right.set(xlabel="η, natural parameter of a weight", ylabel="posterior mean")
        for ax in (left, right):
            ax.legend(loc="upper left")
        figure.supxlabel(
            f"one fit: 100 sequences, {len(exact) if shown else 0} weights, C = 1", fontsize=9,
            color=MUTED,
        )  # fmt: skip
    save_figure(figure, path)


def _reach(exact: np.ndarray) -> float:
    """Return up to where the axes go."""
    return 1.08 * float(np.abs(exact).max())


_MARKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "marker": "s", "markersize": 3.5, "linestyle": "", "alpha": 0.55},
    {"color": "#E69F00", "marker": "^", "markersize": 4.5, "linestyle": "", "alpha": 0.8},
    {"color": INK, "marker": "o", "markersize": 3, "linestyle": ""},
)


def _draw_limits(ax: Any, lam: float, reach: float) -> None:
    """Draw the exact shrinkage curve, and the one at which the iterations stand still."""
    end = math.sqrt(lam)
    for name, prior, line in (
        ("exact, 2η / (λ − η²)", LaplacePrior(lam), "-"),
        ("limit, η / (λ − η²)", NormalGammaPrior(0.5, lam), "--"),
    ):
        curve = shrinkage_curve(name, prior, -end, end)
        near = np.abs(curve.mean) < 2 * reach
        ax.plot(curve.eta[near], curve.mean[near], label=name, color=INK, linestyle=line)


# ---------------------------------------------------------------------------------------------
# report


def report_variational(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``exact-vs-variational`` up."""
    groups = groups_of(rows)
    table = table_of(groups)
    head = (
        "data", "C", "λ", "iterations", "distance", "to the limit", "correlation", "excess", "own gap",
        "error", "difference",
    )  # fmt: skip
    body = [_cells(line) for line in table]
    text = text_table(list(head), body, right=range(1, len(head)))
    paragraphs = (
        _about(scale),
        _limits(groups),
        _excesses(groups),
        _errors(groups),
        _exact(groups),
    )
    caption = "\n\n".join(
        textwrap.fill(part, 100, break_on_hyphens=False) for part in paragraphs if part
    )
    return Report(
        COLUMNS, table, f"{text}\n\n{textwrap.fill(_KEY, 96)}",
        f"{caption}\n\n{markdown_table(list(head), body)}", {"weights": _kept(rows)},
    )  # fmt: skip


def _kept(rows: Sequence[dict[str, Any]]) -> str:
    """Say what the figure of one fit's weights shows."""
    shown = [row for row in rows if row.get("exact_weights")]
    if not shown:
        return "No fit has its weights kept."
    constants = dict(read_constants(shown[0]["parameters"]))
    exact, first = (
        np.abs(numbers_of(shown[0][name])) for name in ("exact_weights", f"weights_{KEPT[0]}")
    )
    outside = int(np.sum(first > _reach(exact)))
    *some, last = (f"{number}" for number in KEPT)
    return (
        f"All {len(exact)} posterior means of a single fit, none averaged: the first random CRF, the "
        f"first of ten parts, 100 sequences, C = {constants['C']:g}, λ = {constants['lam']:g}.  One "
        f"marker per weight, after {', '.join(some)} and {last} iterations of Algorithm 1 (squares, "
        "triangles, dots).  Left, against the exact solution's; on the grey line both are the same.  "
        "Right, against η, a weight's natural parameter: the sum of the feature's differences between "
        "right and wrong labellings, each times its dual variable.  Solid: the exact solution's curve, "
        "2η / (λ − η²); dashed: the curve on which the iterations stand still, η / (λ − η²).  "
        f"{outside} of the squares, up to ±{first.max():.2g}, are outside of the right panel."
    )


_KEY = (
    "distance: of the variational weights to the exact ones, relative to these; to the limit: to the "
    "point at which the iterations stand still; excess: of the exact problem's objective over the "
    "exact solution's; own gap: what the variational solution itself can prove; error: test error, and "
    "the difference to the exact solution's, in percentage points with its standard deviation over "
    "the sets."
)


def _cells(line: dict[str, Any]) -> list[str]:
    def percent(name: str) -> str:
        value = line.get(name)
        return "–" if value is None else f"{100 * value:.1f} %"

    difference, spread = line["error_difference"], line["error_difference_deviation"]
    return [
        TITLES[line["data"]],
        f"{line['C']:g}",
        f"{line['lam']:g}",
        str(line["iterations"]),
        percent("distance"),
        percent("limit_distance"),
        f"{line['correlation']:.3f}",
        percent("excess"),
        percent("gap"),
        f"{100 * (line['exact_error'] + difference):.1f} %",
        f"{100 * difference:+.2f}" + (f" ± {100 * spread:.2f}" if spread is not None else ""),
    ]


def _about(scale: str) -> str:
    sets = f"{N_SETS} random CRFs and {N_WORD_SETS} folds of OCR100"
    if scale == "quick":
        sets = "one random CRF and one fold of OCR100"
    return (
        "The Laplace MEDN by Algorithm 1 of MEDN after 1 to 20 iterations, beside the exact solution on "
        f"the same samples: {sets}; 100 sequences or words train, 900 test.  All gaps aimed at are "
        "0.1 %, the quadratic programs' as well.  Distances are relative to the exact weights; the "
        "excess is that of the exact problem's objective over its value at the exact solution; test "
        "errors are those of one minus the other, set by set.  The first iteration is M3N.  *Limit* is "
        "the exact MEDN with the normal-gamma prior of shape 1/2, at which the iterations stand still: "
        "its posterior mean is η / (λ − η²), half of the Laplace prior's 2η / (λ − η²)."
    )


def _limits(groups: Sequence[Group]) -> str:
    """Say whether the iterations go where the derivation says."""
    if not groups:
        return ""
    last = [value for group in groups for value in group.at(-2, "limit_distance")]
    away = [value for group in groups for value in group.at(-2, "distance")]
    third = [value for group in groups for value in group.at(_THIRD, "distance")]
    along = [values_of(row, "distance") for group in groups for row in group.rows]
    by = [np.argmin(values) for values in along if min(values[:-1]) < 0.9 * values[-1]]
    passing, nearest = len(by), sum(ITERATIONS[place] in (3, 5) for place in by)
    return (
        f"After {ITERATIONS[-1]} iterations the weights are {_percents(last)} away from the limit, and "
        f"{_percents(away)} from the exact solution (median, and the range over {len(away)} fits); "
        f"after the papers' three, {_percents(third)}.  More iterations do not make it exact: on the "
        f"way from M3N to the limit {passing} of the {len(away)} fits come nearer to the exact "
        f"solution than the limit is, by a tenth or more, {nearest} of them nearest after three or "
        "five iterations."
    )


_THIRD = ITERATIONS.index(3)


def _excesses(groups: Sequence[Group]) -> str:
    if not groups:
        return ""
    parts = [
        f"{_percents([v for group in groups for v in group.at(place, 'excess')])} after {name}"
        for place, name in ((0, "one iteration"), (_THIRD, "three"), (-2, str(ITERATIONS[-1])))
    ]
    shown = [v for group in groups for v in group.at(_THIRD, "gap")]
    return (
        f"Excess of the objective: {', '.join(parts)}.  By its own dual variables the variational "
        f"solution would after three iterations prove a gap of {_percents(shown)}."
    )


def _errors(groups: Sequence[Group]) -> str:
    """Count the settings in which one way reads clearly better than the other."""
    sentences = []
    for data, title in TITLES.items():
        members = [group for group in groups if group.data == data and len(group.rows) > 1]
        for place, name in ((_THIRD, "three iterations"), (-1, "the limit")):
            means = [group.at(place, "error_difference").mean() for group in members]
            better = sum(_clear(group.at(place, "error_difference")) < 0 for group in members)
            worse = sum(_clear(group.at(place, "error_difference")) > 0 for group in members)
            if members:
                sentences.append(
                    f"{title}, {name}: mean difference of test errors from "
                    f"{_points(min(means))} to {_points(max(means))} by setting; of "
                    f"{len(members)} settings {better} clearly better and {worse} clearly worse than "
                    "exact (95 % interval of the mean)."
                )
    return "  ".join(sentences)


def _clear(differences: np.ndarray) -> int:
    """Return the sign of the mean where its 95 % interval (Student's t) does not hold 0."""
    mean = differences.mean()
    return int(np.sign(mean)) if abs(mean) > half_interval(differences) else 0


def _exact(groups: Sequence[Group]) -> str:
    gaps = [row["relative_gap"] for group in groups for row in group.rows]
    return f"Largest relative gap of an exact solution: {100 * max(gaps):.2g} %." if gaps else ""


def _percents(values: Sequence[float]) -> str:
    median, low, high = (
        f"{100 * value:.2g}" if abs(value) < 1 else f"{100 * value:.0f}"
        for value in (float(np.median(values)), min(values), max(values))
    )
    return f"{median} % ({low} to {high} %)"
