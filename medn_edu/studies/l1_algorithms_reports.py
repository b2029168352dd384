"""Figure, tables and caption of the study ``l1m3n-algorithms``.

The figure shows, for each data set, test error and processor time of training against each method's
constant, as Fig. 5 and 6 of the L1-M3N paper do, on the axis of Table 1: means over folds, with standard
deviations.  Algorithms that share a constant share a panel.  The caption begins with a paragraph on the
figure alone; then it has Table 1 itself, the paper's counts above ours, and says where they differ.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, styled
from medn_edu.intervals import deviation
from medn_edu.studies.em import SMALL
from medn_edu.studies.kit.figures import draw_against_constant
from medn_edu.studies.kit.specs import Report
from medn_edu.studies.kit.splits import FOLDS
from medn_edu.studies.kit.summary import Curve
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.l1_table import (
    ALGORITHMS,
    CHAINS,
    COLUMNS,
    EM_C,
    OCR,
    ROUNDS,
    TITLES,
    Algorithm,
    groups_of,
    table_1,
)

_FAR = 10  # of 140 counts, a difference to speak of


# ---------------------------------------------------------------------------------------------
# figure


_PANELS = (("cutting plane", "path"), ("sub-gradient", "online sub-gradient"), ("EM",))


def draw_l1(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw L1-M3N Fig. 5 and 6: errors and times against each method's constant."""
    groups = groups_of(rows)
    shown = [data for data in TITLES if any(key[0] == data for key in groups)]
    figure = new_figure(max(5.6 * len(shown), 8), 5.8)
    handles: dict[str, Any] = {}
    with styled():
        for part, data in zip(
            figure.subfigures(1, len(shown), squeeze=False)[0], shown, strict=True
        ):
            part.suptitle(TITLES[data], fontweight="bold", fontsize=12)
            axes = part.subplots(2, len(_PANELS), sharey="row", sharex="col")
            for column, names in enumerate(_PANELS):
                _draw_panels(axes[:, column], groups, data, names)
                found, labels = axes[0, column].get_legend_handles_labels()
                handles |= dict(zip(labels, found, strict=True))
            axes[0, 0].set_ylabel("test error (% of labels)")
            axes[1, 0].set_ylabel("processor seconds to train")
            axes[0, 0].set_ylim(0, 1.05 * axes[0, 0].get_ylim()[1])
        legend = {"loc": "outside upper center", "ncols": len(handles), "handlelength": 2.6}
        figure.legend(handles.values(), handles.keys(), **legend)
        figure.supxlabel(_note(groups), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _draw_panels(
    axes: Sequence[Any],
    groups: dict[tuple[str, str, float], list[dict[str, Any]]],
    data: str,
    names: Sequence[str],
) -> None:
    """Draw error above time, for the algorithms that share a constant."""
    label = _axis_label(data, ALGORITHMS[names[0]])
    for ax, column in zip(axes, ("error", "cpu_seconds"), strict=True):
        curves = [_curve(groups, data, name, column) for name in names]
        draw_against_constant(
            ax,
            [curve for curve in curves if len(curve.x)],
            label=label,
            share=column == "error",
            logarithmic=column == "cpu_seconds",
        )
        ax.label_outer()


def _axis_label(data: str, algorithm: Algorithm) -> str:
    return (
        algorithm.label
        if data == CHAINS
        else {"lam": "λ"}.get(algorithm.parameter, algorithm.parameter)
    )


def _curve(
    groups: dict[tuple[str, str, float], list[dict[str, Any]]], data: str, name: str, column: str
) -> Curve:
    """Return means over folds against the constant, as the axis shows it."""
    points = []
    for (of, model, constant), rows in groups.items():
        values = [row[column] for row in rows if row.get(column) is not None]
        if (of, model) == (data, name) and values:
            spread = deviation(values) or 0.0
            points.append((_shown(data, name, constant), np.mean(values), spread, len(values)))
    return Curve(name, *np.array(points, dtype=float).reshape(-1, 4).T)


def _shown(data: str, name: str, constant: float) -> float:
    """Return a constant as Table 1 prints it, or as it is."""
    if data != CHAINS:
        return constant
    algorithm = ALGORITHMS[name]
    known = dict(zip(algorithm.constants[data], algorithm.printed, strict=True))
    return known.get(constant, constant)


def _note(groups: dict[tuple[str, str, float], list[dict[str, Any]]]) -> str:
    parts = []
    for data, title in TITLES.items():
        most = max((len(rows) for key, rows in groups.items() if key[0] == data), default=0)
        if most:
            folds = "1 fold" if most == 1 else f"mean ± deviation over {most} folds"
            parts.append(f"{title}: {folds}")
    return "; ".join(["100 sequences or words train, 900 test", *parts, "one thread"])


# ---------------------------------------------------------------------------------------------
# report


def report_l1(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``l1m3n-algorithms`` up."""
    table = table_1(rows)
    cells = [_cells(line) for line in table]
    text = text_table(
        list(_TEXT_COLUMNS),
        [[line[column] for column in _TEXT_COLUMNS.values()] for line in cells],
        right=range(3, len(_TEXT_COLUMNS)),
    )
    figures = markdown_table(
        list(_FIGURES_COLUMNS),
        [[line[column] for column in _FIGURES_COLUMNS.values()] for line in cells],
    )
    counted = [line for line in table if line["data"] == CHAINS]
    paragraphs = (_caption(scale), _TABLES, _tail(table), _differences(table), _gaps(rows))
    caption = "\n\n".join(
        textwrap.fill(text, 100, break_on_hyphens=False) for text in paragraphs if text
    )
    return Report(
        COLUMNS,
        table,
        f"{text}\n\n{textwrap.fill(_COUNTS, 96)}",
        f"{caption}\n\n{_as_in_the_paper(counted)}\n{figures}",
    )


# What stands at the head of a column, and which of the cells stand below.
_TEXT_COLUMNS = {
    "data": "data",
    "algorithm": "algorithm",
    "constant": "constant",
    "fits": "fits",
    "test error": "error",
    "time": "cpu_seconds",
    "|w|₁": "l1_norm",
    "gap": "largest_gap",
    "irrelevant": "irrelevant",
    "total": "total",
    "paper's": "paper",
}
_FIGURES_COLUMNS = {
    "data": "data",
    "algorithm": "algorithm",
    "constant": "constant",
    "fits": "fits",
    "test error": "error",
    "processor time": "cpu_seconds",
    "sum of abs(w)": "l1_norm",
    "largest gap": "largest_gap",
}


def _cells(line: dict[str, Any]) -> dict[str, str]:
    def number(column: str, form: str = "{:.0f}") -> str:
        value = line.get(column)
        return "–" if value is None else form.format(value)

    known = line.get("paper_total") is not None
    return {
        "data": TITLES[line["data"]],
        "algorithm": line["algorithm"],
        "constant": f"{line['parameter']} = {line['constant']:g}",
        "fits": str(line["fits"]),
        "error": number("error", "{:.3f}"),
        "cpu_seconds": number("cpu_seconds", "{:.2f} s"),
        "l1_norm": number("l1_norm", "{:.3g}"),
        "largest_gap": _percent(line["largest_gap"]),
        "irrelevant": number("irrelevant"),
        "total": number("total"),
        "paper": f"{line['paper_irrelevant']} / {line['paper_total']}" if known else "–",
    }


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def _as_in_the_paper(table: Sequence[dict[str, Any]]) -> str:
    """Return Table 1 in Markdown, the paper's numbers above ours."""
    blocks = []
    for name, algorithm in ALGORITHMS.items():
        lines = [line for line in table if line["algorithm"] == name]
        if not lines:
            continue
        columns = {
            "irrelevant": "irrelevant",
            "total": "total",
            f"irrelevant, {SMALL:g} or more": "irrelevant_not_small",
            f"total, {SMALL:g} or more": "total_not_small",
        }
        if algorithm.total:
            papers = {"irrelevant, paper": "paper_irrelevant", "total, paper": "paper_total"}
            columns = papers | columns
        body = [
            [title, *(str(line[column]) for line in lines)] for title, column in columns.items()
        ]
        head = [f"{name}: {algorithm.label}", *(f"{line['printed']:g}" for line in lines)]
        blocks.append(markdown_table(head, body))
    return "\n".join(blocks)


_COUNTS = (
    "irrelevant, total: weights that are not zero in some of these fits, of the 140 weights of "
    "irrelevant features and of the 200 of all features; last the paper's numbers (Table 1, ten "
    "folds).  |w|₁: mean sum of all absolute weights.  gap: largest relative duality gap."
)


def _caption(scale: str) -> str:
    folds = (
        "two folds of the synthetic set, one of OCR100"
        if scale == "quick"
        else "means and standard deviations over ten folds"
    )
    return (
        "Test error (above) and processor time of training (below) of L1-M3N against each algorithm's "
        "constant, after Fig. 5 and 6 of the L1-M3N paper: cutting planes, the path of Laplace MEDNs, "
        "projected sub-gradients in batch and online, and EM.  Left, one data set of a random CRF "
        "(1,000 sequences, 30 of 100 features relevant, in groups of 3), the constants on the axes of "
        f"the paper's Table 1; right, OCR100.  100 sequences or words train, 900 test; {folds}."
    )


_TABLES = (
    "The tables below, first those after Table 1, count non-zero average weights, those that are not "
    "zero in some fold: of the 140 weights of irrelevant features and of all 200.  The data are drawn "
    "anew, as the paper's are not to be had, and what it leaves open was chosen because it matches "
    "Table 1, which is therefore no evidence for it: the paper's C is read as the price of the mean "
    f"slack, 100 times the C of a sum; EM has C = {EM_C:g} and drops weights whose tau, not beta, is "
    f"below {SMALL:g}.  Sub-gradient steps are 1/(2 beta sqrt(t)): beta = 1, 200 passes in batch; "
    f"beta = 10, 20 passes online.  Cutting planes end after {ROUNDS} rounds at the latest."
)


def _tail(table: Sequence[dict[str, Any]]) -> str:
    """Say whether the sub-gradients' many small weights are there, as in the paper."""
    ways = {
        title: lines
        for name, title in (("sub-gradient", "in batch"), ("online sub-gradient", "online"))
        if (lines := _counted(table, name))
    }
    if not ways:
        return ""
    if _lacks_folds(table):
        return (
            "Table 1 has the weights that are not zero in some of ten folds; these counts are of fewer "
            "folds and for that alone smaller."
        )
    lines = next(iter(ways.values()))
    sentences = [
        "The paper's sub-gradient method has a tail of small weights: of the 140 irrelevant ones "
        f"{_listed(lines, 'paper_irrelevant')} are not zero at √radius = {_listed(lines, 'printed')}."
    ]
    for title, lines in ways.items():
        there = all(2 * line["irrelevant"] >= line["paper_irrelevant"] for line in lines)
        sentences.append(
            f"Here the method {title} {'shows' if there else 'does *not* show'} it: "
            f"{_listed(lines, 'irrelevant')}."
        )
    taken = max(
        line[column] - line[f"{column}_not_small"]
        for lines in ways.values()
        for line in lines
        for column in ("irrelevant", "total")
    )
    sentences.append(
        f"Leaving out weights below {SMALL:g} in size takes at most {taken} from any of these counts "
        "and of the totals; the paper says that it does not change the pattern much."
    )
    return "  ".join(sentences)


def _differences(table: Sequence[dict[str, Any]]) -> str:
    """Say where the other counts are far from the paper's."""
    sentences = []
    for name in ("cutting plane", "EM"):
        far = [
            f"{line['irrelevant']} and {line['total']} instead of {line['paper_irrelevant']} and "
            f"{line['paper_total']} at {line['printed']:g}"
            for line in _counted(table, name)
            if any(abs(line[of] - line[f"paper_{of}"]) > _FAR for of in ("irrelevant", "total"))
        ]
        if far and not _lacks_folds(table):
            sentences.append(
                f"{name[0].upper()}{name[1:]}, against {ALGORITHMS[name].label}: {'; '.join(far)}."
            )
    if sentences:
        title = f"Counts more than {_FAR} from Table 1's, of irrelevant weights and of all."
        sentences.insert(0, title)
    return "  ".join(sentences)


def _gaps(rows: Sequence[dict[str, Any]]) -> str:
    """Say how far from the optimum the fits ended."""
    sentences = []
    for data, title in TITLES.items():
        parts = []
        for name in ALGORITHMS:
            gaps = [
                row["relative_gap"]
                for row in rows
                if (row["data"], row["model"]) == (data, name) and row["relative_gap"] is not None
            ]
            if gaps:
                parts.append(f"{name} {_percent(float(np.median(gaps)))} ({_percent(max(gaps))})")
        if parts:
            sentences.append(f"{title}: {', '.join(parts)}.")
    nothing = [
        row["relative_gap"]
        for row in rows
        if row["data"] == OCR and row["l1_norm"] == 0 and row["relative_gap"] is not None
    ]
    if nothing:
        sentences.append(
            "On OCR100 some fits end with weights of zero, which there have a gap of "
            f"{_percent(max(nothing))} at most: only a smaller gap says anything."
        )
    return "  ".join(["Relative duality gaps at the end, median (and largest).", *sentences])


def _lacks_folds(table: Sequence[dict[str, Any]]) -> bool:
    return any(line["fits"] < len(FOLDS) for line in table if line["data"] == CHAINS)


def _counted(table: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [line for line in table if (line["data"], line["algorithm"]) == (CHAINS, name)]


def _listed(lines: Sequence[dict[str, Any]], column: str) -> str:
    return ", ".join(f"{line[column]:g}" for line in lines)
