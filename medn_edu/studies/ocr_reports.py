"""Figure, tables and caption of the study ``ocr``, and what both studies of OCR letters say alike.

The figure has a half for the papers' constants and one for chosen ones, on the same axes.  Above stand
mean errors with standard deviations over folds, each of which has trained once.  A fold that is hard to
learn from is hard for every model, so below stand differences to the half's reference, fold by fold,
with 95 % intervals of their mean (Student's).  The tables have the same errors, the constants that were
chosen, and for pairs of models the mean difference and in how many folds the first errs less.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import MUTED, new_figure, save_figure, styled
from medn_edu.intervals import deviation
from medn_edu.studies.kit.figures import draw_grouped_errors
from medn_edu.studies.kit.selection import CHOICE, Grid, constants_text, read_constants
from medn_edu.studies.kit.specs import Report
from medn_edu.studies.kit.splits import N_OUTSIDE_BLOCKS
from medn_edu.studies.kit.summary import Curve, curves_less, with_intervals
from medn_edu.studies.kit.summary import curves as error_curves
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.ocr_constants import (
    BETAS,
    EM_C,
    GRIDS,
    L1_CONSTANT,
    LAM,
    PAPERS_MODELS,
    SIZES,
)
from medn_edu.studies.stopped import PASSES

MEMORY = (
    "only 55 different words occur in these data, each in every fold, so that a chain can learn "
    "them by heart; errors on new words are larger, as ocr-full shows."
)
"""What readers should know of these data."""

MEMORY_NOTE = "OCR letters: 55 different words, each in every fold; a chain can learn them by heart"
"""The same below a figure."""


# ---------------------------------------------------------------------------------------------
# figure

_PART_A = ("CRF", "L2-CRF", "L1-CRF", *PAPERS_MODELS)
_PART_B = ("CRF", *GRIDS)
_TITLES = {
    "a": "(a) The papers' constants (CRFs: chosen ones)",
    "b": "(b) Constants chosen on other words",
}
_PARTS = {"a": (_PART_A, "M3N sub-gradient"), "b": (_PART_B, "M3N")}


def _drawn(rows: Iterable[dict[str, Any]], models: Sequence[str]) -> list[dict[str, Any]]:
    """Return the fits to drawn words, in the order of the models."""
    found = []
    for row in rows:
        match = re.fullmatch(r"ocr-(\d+)", row["data"])
        if match and row["model"] in models and row.get("error") is not None:
            found.append({**row, "n_train": int(match[1])})
    return sorted(found, key=lambda row: models.index(row["model"]))


def draw_ocr(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 7: errors against the number of words, in two ways to have constants."""
    figure = new_figure(12.5, 8.6)
    panels = []
    with styled():
        for part, (letter, (models, reference)) in zip(
            figure.subfigures(1, 2), _PARTS.items(), strict=True
        ):
            drawn = _drawn(rows, models)
            upper, lower = part.subplots(2, 1, sharex=True)
            panels.append((upper, lower))
            curves = error_curves(drawn)
            draw_grouped_errors(upper, curves)
            small = [row for row in drawn if row["model"] != "CRF"]  # which is far above all others
            names = [curve.name for curve in curves]
            differences = {
                curve.name: with_intervals(curve) for curve in curves_less(small, reference)
            }
            nothing = np.empty(0)
            draw_grouped_errors(
                lower,
                [
                    differences.get(name, Curve(name, nothing, nothing, nothing, nothing))
                    for name in names
                ],
                reference=reference,
            )
            upper.set_xlabel("")
            upper.set_title(_TITLES[letter])
            handles, labels = upper.get_legend_handles_labels()
            part.legend(handles, labels, loc="outside upper center", ncols=3)
        for axes in zip(*panels, strict=True):
            _share_range(axes)
        note = (
            f"One fold trains, nine test: above {_fits(curves)}; below fold by fold, CRF left out, with "
            "95 % intervals of the mean"
        )
        figure.supxlabel(f"{note}\n{MEMORY_NOTE}", fontsize=9, color=MUTED)
    save_figure(figure, path)


def _share_range(axes: Sequence[Any]) -> None:
    """Give axes side by side the same range, so that what stands as high is as large."""
    lows, highs = zip(*(ax.get_ylim() for ax in axes), strict=True)
    for ax in axes:
        ax.set_ylim(min(lows), max(highs))


def _fits(curves: Sequence[Curve]) -> str:
    """Return how many fits stand behind each point."""
    return fits_text(max((int(curve.n.max()) for curve in curves), default=0))


def fits_text(n_fits: int) -> str:
    """Return what an axis says of the fits behind its points."""
    return "1 fit" if n_fits == 1 else f"mean ± deviation of {n_fits} fits"


# ---------------------------------------------------------------------------------------------
# report

_COLUMNS = (
    "constants", "model", "n_train", "fits", "error", "error_deviation", "train_error",
    "largest_gap", "parameters", "at_end_of_grid",
)  # fmt: skip


def report_ocr(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``ocr`` up."""
    table = [
        line
        for kind, models in (("papers'", PAPERS_MODELS), ("chosen", ("CRF", *GRIDS)))
        for line in _lines(_drawn(rows, models), kind)
    ]
    sizes = sorted({line["n_train"] for line in table})
    head = ["constants", "model", *(f"{n} words" for n in sizes)]
    cells = _error_cells(table, sizes)
    constants = _constants_table(table, sizes)
    n_fits = max((line["fits"] for line in table), default=0)
    trends, findings = bullets(_trends(table)), bullets(_findings(rows))
    caption = "\n\n".join(
        [
            *(
                textwrap.fill(text, 100, break_on_hyphens=False)
                for text in _ocr_caption(n_fits, _ends(table), scale)
            ),
            f"Test errors, mean ± deviation over folds:\n\n{markdown_table(head, cells)}"
            f"\nConstants that were chosen (* at the end of their grid):\n\n"
            f"{markdown_table(['model', *head[2:]], constants)}"
            f"\n{trends}\n\n{_DIFFERENCES}\n\n{findings}\n",
        ]
    )
    text = "\n\n".join(
        [
            text_table(head, cells, right=range(2, len(head))),
            text_table(["chosen constants of", *head[2:]], constants),
            f"{trends}\n\n{_DIFFERENCES}\n\n{findings}",
        ]
    )
    return Report(_COLUMNS, table, text, caption)


_DIFFERENCES = (
    "Mean differences of errors on the same folds, in points, and in how many folds the first of the\n"
    "two errs less:"
)


def bullets(texts: Iterable[str]) -> str:
    """Return texts as a list in Markdown."""
    return "\n".join(textwrap.fill(f"* {text}", 96, subsequent_indent="  ") for text in texts)


def _lines(rows: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return a line for each model and number of words."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["n_train"]), []).append(row)
    return [summary_line(model, n, group, kind) for (model, n), group in groups.items()]


def summary_line(
    model: str, n_words: int, group: Sequence[dict[str, Any]], kind: str
) -> dict[str, Any]:
    """Sum up the fits of one model to one kind of data."""

    def values(column: str) -> list[float]:
        return [row[column] for row in group if row.get(column) is not None]

    errors = values("error")
    parameters = str(group[0].get("parameters") or "")
    return {
        "constants": kind if model != "CRF" else "none",
        "model": model,
        "n_train": n_words,
        "fits": len(errors),
        "error": float(np.mean(errors)),
        "error_deviation": deviation(errors),
        "train_error": float(np.mean(values("train_error"))) if values("train_error") else None,
        "largest_gap": max(values("relative_gap"), default=None),
        "parameters": parameters,
        "at_end_of_grid": is_at_end(GRIDS.get(model, ()), parameters),
    }


def is_at_end(grid: Grid, parameters: str) -> bool:
    """Say whether a chosen constant is the first or the last of its grid."""
    known = dict(read_constants(parameters))
    return any(known.get(name) in (values[0], values[-1]) for name, values in grid)


def _error_cells(table: Sequence[dict[str, Any]], sizes: Sequence[int]) -> list[list[str]]:
    found: dict[tuple[str, str], dict[int, str]] = {}
    for line in table:
        found.setdefault((line["constants"], line["model"]), {})[line["n_train"]] = with_spread(
            line
        )
    return [[*key, *(cells.get(n, "–") for n in sizes)] for key, cells in found.items()]


def with_spread(line: dict[str, Any]) -> str:
    """Return an error for a table, with the deviation of several."""
    deviation = line["error_deviation"]
    return f"{line['error']:.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")


def _constants_table(table: Sequence[dict[str, Any]], sizes: Sequence[int]) -> list[list[str]]:
    found: dict[str, dict[int, str]] = {}
    for line in table:
        if line["constants"] == "chosen":
            text = _chosen_text(line["model"], line["parameters"])
            end = "*" if line["at_end_of_grid"] else ""
            found.setdefault(line["model"], {})[line["n_train"]] = text + end
    return [[model, *(cells.get(n, "–") for n in sizes)] for model, cells in found.items()]


def _ocr_caption(n_fits: int, ends: str, scale: str) -> tuple[str, ...]:
    """Return the paragraphs above the tables; the first one explains the figure by itself."""
    steps = " and ".join(
        f"{beta:g} for {' and '.join(str(n) for n in SIZES if BETAS[n] == beta)} words"
        for beta in dict.fromkeys(BETAS.values())
    )
    subtracted = " and of ".join(f"{model} in ({half})" for half, (_, model) in _PARTS.items())
    return (
        "OCR letters (MEDN Fig. 7, L1-M3N Fig. 4, LapM3N Fig. 4): of each of ten folds N words are "
        "drawn; one fold trains and the other nine test.  (a) has the papers' constants.  With these "
        f"it matters when training stops: *sub-gradient* makes {PASSES} passes of the papers' online "
        "sub-gradient descent and is then far from the optimum; *at its optimum* solves the same "
        "problem exactly; EM is the method of the L1-M3N paper.  (b) has constants chosen on words "
        "that are in no drawn set, and trains to optima (LapMEDN variational: three iterations); the "
        "penalised CRFs of (a) are the same, as the papers do not tell their constants.  epsilon-M3N, "
        "ours, is M3N with a soft maximum (epsilon = 0.5).  Above: shares of wrong labels, mean and "
        f"standard deviation over {n_fits} folds.  Below: the errors of {subtracted} on the same fold "
        "are subtracted; bars are 95 % intervals of the mean over folds (Student's); CRF, far above, "
        f"is left out.{ends}",
        f"(a) The papers' constants: lam = {LAM:g}; beta = {steps}; C = 200 beta; steps "
        "1/(2 beta sqrt(t)).  The number of passes is not told: *sub-gradient* makes "
        f"{PASSES}, for each of three quadratic programs with LapMEDN; *at its optimum* is the exact "
        f"solution at the same C, to a gap of 1 %.  L1-M3N sub-gradient: radius {L1_CONSTANT:g}, the "
        f"middle of MEDN Fig. 9; L1-M3N EM: lam = {L1_CONSTANT:g}, and C = {EM_C:g}, which the paper "
        "does not tell.  It tells no constants of the penalised CRFs either: those in (a) are those "
        "of (b).",
        "(b) Constants chosen, for each N and model, on words that are in no drawn set: N left-over "
        f"words of one fold train, those of other folds test, for {N_OUTSIDE_BLOCKS} folds."
        f"{CHOICE[scale]}  "
        "LapMEDN has C = 1 there.  All models but the variational LapMEDN are trained to their optima, "
        "those with a duality gap to one of 1 %, L1-M3N of 2 %.  Only 55 different words occur in "
        "these data, each in every fold, so that a chain can learn them by heart: the study ocr-full "
        "measures how much.",
        f"Grids, from strong to weak regularisation: {grids_text(GRIDS)}.",
    )


def grids_text(grids: Mapping[str, Grid]) -> str:
    """Say which constants are tried, for models with the same grid at once."""
    models: dict[Grid, list[str]] = {}
    for name, grid in grids.items():
        models.setdefault(grid, []).append(name)
    return "; ".join(
        f"{parameter} of {listed(names)} {values_text(values)}"
        for grid, names in models.items()
        for parameter, values in grid
    )


_MANY = 10


def values_text(values: Sequence[float]) -> str:
    """Return constants for a sentence, many of them by their ends."""
    if len(values) > _MANY:
        return f"{len(values)} values from {values[0]:g} to {values[-1]:g}"
    return listed([f"{value:g}" for value in values])


def listed(texts: Sequence[str]) -> str:
    """Return texts with commas, and "and" before the last."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def _ends(table: Sequence[dict[str, Any]]) -> str:
    """Say which chosen constants are the first or the last of their grid."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in table:
        if line["constants"] == "chosen" and line["at_end_of_grid"]:
            key = line["model"], _chosen_text(line["model"], line["parameters"])
            found.setdefault(key, []).append(f"{line['n_train']}")
    texts = [f"{model} ({text} at {listed(sizes)})" for (model, text), sizes in found.items()]
    return ends_sentence(texts) if any(line["constants"] == "chosen" for line in table) else ""


def _chosen_text(model: str, parameters: str) -> str:
    """Return the constants that a model has chosen, without those it was given."""
    names = [name for name, _ in GRIDS[model]]
    return constants_text([pair for pair in read_constants(parameters) if pair[0] in names])


def ends_sentence(texts: Sequence[str]) -> str:
    """Say which constants were chosen at an end of their grid, if any."""
    if not texts:
        return "  No constant was chosen at an end of its grid."
    return f"  Chosen at an end of its grid, others might be better still: {'; '.join(texts)}."


def _trends(table: Sequence[dict[str, Any]]) -> list[str]:
    """Say who errs least, and whether errors and deviations fall with more words."""
    curves: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in table:
        curves.setdefault((line["constants"], line["model"]), []).append(line)
    several = {
        key: sorted(lines, key=lambda line: line["n_train"])
        for key, lines in curves.items()
        if len(lines) > 1
    }
    texts = []
    if several:
        falls = [all(np.diff([p["error"] for p in lines]) < 0) for lines in several.values()]
        calmer = [
            (lines[-1]["error_deviation"] or 0) < (lines[0]["error_deviation"] or 0)
            for lines in several.values()
        ]
        texts.append(
            f"With more words the mean error falls at every step for {sum(falls)} of {len(falls)} "
            f"models, and the deviation from the fewest to the most words for {sum(calmer)}."
        )
    for kind in ("papers'", "chosen"):
        lines = [line for line in table if line["constants"] == kind]
        best = [
            f"{min(group, key=lambda line: line['error'])['model']} ({n} words)"
            for n in sorted({line["n_train"] for line in lines})
            if (group := [line for line in lines if line["n_train"] == n])
        ]
        if best:
            texts.append(f"Smallest mean error, {kind} constants: {', '.join(best)}.")
    return texts


_COMPARED = (
    ("LapMEDN sub-gradient", "M3N sub-gradient"),
    ("LapMEDN sub-gradient", "L2-CRF"),
    ("M3N sub-gradient", "M3N at its optimum"),
    ("LapMEDN sub-gradient", "LapMEDN at its optimum"),
    ("LapMEDN at its optimum", "M3N at its optimum"),
    ("L1-M3N EM", "L1-M3N sub-gradient"),
    ("L1-M3N sub-gradient", "LapMEDN sub-gradient"),
    ("M3N sub-gradient", "L1-CRF"),
    ("LapMEDN variational", "M3N"),
    ("LapMEDN variational", "LapMEDN"),
    ("LapMEDN", "M3N"),
    ("L2-CRF", "M3N"),
    ("L2-CRF", "L1-CRF"),
    ("L1-M3N", "L1-CRF"),
    ("L1-M3N", "M3N"),
    ("epsilon-M3N", "M3N"),
    ("L2-CRF", "CRF"),
)


def _findings(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each comparison of two models."""
    texts = []
    for one, other in _COMPARED:
        pairs = _differences(_drawn(rows, (one, other)), one, other)
        parts = [
            f"{100 * np.mean(found):+.1f} at {n} ({np.sum(np.array(found) < 0)} of {len(found)})"
            for n, found in sorted(pairs.items())
        ]
        if parts:
            texts.append(f"{one} minus {other}: {', '.join(parts)}.")
    return texts


def _differences(rows: Iterable[dict[str, Any]], one: str, other: str) -> dict[int, list[float]]:
    """Return the differences of errors on the same folds, for each number of words."""
    errors = {(row["model"], row["n_train"], row["fold"]): row["error"] for row in rows}
    found: dict[int, list[float]] = {}
    for (model, n_words, fold), error in errors.items():
        if model == one and (other, n_words, fold) in errors:
            found.setdefault(n_words, []).append(error - errors[other, n_words, fold])
    return found
