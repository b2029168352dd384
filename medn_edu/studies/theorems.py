"""The study ``theorems``: every statement of the papers on random instances, and with a slip in it.

`medn_edu.theory.checks` computes both sides of each theorem, lemma and corollary, by ways that know
nothing of each other.  Here the worst of several instances is taken, once as the statement stands and
once with a slip, which shows that the check can fail.  A statement that is wrong as printed is tried as
corrected in `medn_edu.theory.errata`, and marked with a dagger.  An inequality may hold by far, so for
each the study looks for the smallest multiple of a term of its larger side with which it still holds.
What is left between two sides is rounding, which differs from machine to machine, so that two digits of
it are kept; only the tolerance is a promise.

The figure has a line for each statement: a filled dot says how far its two sides are apart, a tick how
far they may be, and an open dot how far they are with a slip in one of them.  The scale is logarithmic,
as fifteen powers of ten lie between rounding and a forgotten factor of two.
"""

import itertools
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.explorers.kit.style import ERROR, INK, MUTED, new_figure, save_figure, styled
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.summary import MISSING, Column, Row, groups, table, values
from medn_edu.studies.kit.texts import Texts
from medn_edu.theory.checks import CHECKS
from medn_edu.theory.errata import AS_CORRECTED

_COLUMNS = (
    "paper", "name", "statement", "sides", "instances", "discrepancy", "tolerance", "with_slip", "slip",
    "as_corrected", "term", "tightness",
)  # fmt: skip
_N_INSTANCES = {"quick": 2, "paper": 10}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    instances = (("instances", _N_INSTANCES[scale]),)
    return [FitSpec("random", 0, check.name, instances, seed) for check in CHECKS]


def _tried(spec: FitSpec) -> dict[str, Any]:
    [check] = [check for check in CHECKS if check.name == spec.model]
    n_instances = int(dict(spec.parameters)["instances"])
    tightness = check.tightness(n_instances, spec.seed)
    return {
        "paper": check.name.split(" ", 1)[0],
        "name": check.name,
        "statement": check.statement,
        "sides": check.sides,
        "instances": n_instances,
        "discrepancy": _short(check.worst(n_instances, spec.seed)),
        "tolerance": check.tolerance,
        "with_slip": _short(check.worst(n_instances, spec.seed, slip=True)),
        "slip": check.slip,
        "as_corrected": "†" if check.name in AS_CORRECTED else "",
        "term": check.term,
        "tightness": _short(tightness) if tightness is not None else None,
    }


def _short(value: float) -> float:
    return float(f"{value:.2g}")


_EDGES = (1e-11, 1e13)  # what is beyond is drawn at the edge, 0 at the left one
_POWERS = (-6, -3, 0, 3, 6, 9, 12)
_GAP = 0.7  # above a heading
_PARTS = {"MEDN §5": "MEDN, §5 (variational)", "MEDN B.5": "MEDN, B.5 (PAC-Bayes)"}
_MARKS: dict[str, dict[str, Any]] = {
    "discrepancy": {
        "marker": "o", "color": palette.BLUE,
        "label": "difference of the two sides (of an inequality, its violation)",
    },
    "with_slip": {
        "marker": "o", "color": ERROR, "markerfacecolor": "white", "markeredgewidth": 1.4,
        "label": "the same with a slip put in",
    },
}  # fmt: skip


def _draw(rows: Sequence[Any], path: Path) -> None:
    panels = check_columns(rows)
    figure = new_figure(11, 0.215 * max(map(len, panels)) + 1.9)
    axes = figure.subplots(1, 2)
    for ax, panel in zip(axes, panels, strict=True):
        draw_checks(ax, panel)
    longest = max(ax.get_ylim()[0] for ax in axes)
    for ax in axes:
        ax.set_ylim(bottom=longest)  # lines as far apart on the left as on the right
    letter_panels(axes)
    with styled():
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    save_figure(figure, path)


def check_columns(rows: Sequence[Any]) -> list[list[Row]]:
    """Part statements into two columns, as equally long as headings that stay together allow."""
    first, *others = _blocks(rows).values()
    parts = []
    for sides in itertools.product((True, False), repeat=len(others)):
        columns: list[list[Row]] = [list(first), []]
        for block, is_left in zip(others, sides, strict=True):
            columns[not is_left] += block
        parts.append(columns)
    return min(parts, key=lambda columns: max(map(_length, columns)))


def _length(rows: Sequence[Any]) -> float:
    """Return how many lines a column takes, with its headings."""
    return len(rows) + (1 + _GAP) * len(_blocks(rows))


def _blocks(rows: Sequence[Any]) -> dict[str, list[Row]]:
    """Return statements by heading: the paper, or a part of it that has one of its own."""
    blocks: dict[str, list[Row]] = {}
    paper = heading = ""
    for row in rows:
        if row["paper"] != paper:
            paper = heading = row["paper"]
        for start, name in _PARTS.items():
            if row["name"].startswith(start):
                heading = name
        blocks.setdefault(heading, []).append(row)
    return blocks


def draw_checks(ax: Axes, rows: Sequence[Any]) -> None:
    """Draw a line of dots for each statement, under headings that say where it is from.

    Differences are shares of the statement's tolerance, so that all are to be on one side of 1.
    """
    lines = _lines(rows)
    y = np.array([place for place, _, row in lines if row])
    shown = [row for _, _, row in lines if row]
    with styled():
        ax.hlines(y, *_EDGES, color=palette.HAIRLINE, linewidth=0.8, zorder=0)
        ax.axvline(1, color=MUTED, linestyle="--", linewidth=1.2, label="tolerance")
        for column, style in _MARKS.items():
            shares = [float(row[column]) / row["tolerance"] for row in shown]
            found = np.clip(shares, *_EDGES)
            ax.plot(found, y, linestyle="none", clip_on=False, zorder=3, **style)
        ax.set(xscale="log", xlim=(_EDGES[0] / 4, _EDGES[1]), ylim=(max(y) + 0.7, -0.7))
        ax.set_xticks(
            [_EDGES[0], *(10.0**power for power in _POWERS)],
            ["0", *(f"$10^{{{power}}}$" if power else "1" for power in _POWERS)],
        )
        ax.set_xlabel("largest difference, divided by the tolerance")
        ax.minorticks_off()
        ax.set_yticks([place for place, _, _ in lines], [text for _, text, _ in lines])
        for label, (_, _, row) in zip(ax.get_yticklabels(), lines, strict=True):
            label.set(fontweight="normal" if row else "bold", color=INK)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)


def _lines(rows: Sequence[Any]) -> list[tuple[float, str, Row | None]]:
    """Return places, texts and rows of all lines; headings have no row."""
    lines: list[tuple[float, str, Row | None]] = []
    place = 0.0
    for heading, block in _blocks(rows).items():
        place += _GAP if lines else 0.0
        lines.append((place, heading, None))
        for row in block:
            place += 1
            lines.append((place, _marked(row, _short_name(row, heading)), row))
        place += 1
    return lines


def _short_name(row: Row, heading: str) -> str:
    """Return a statement's name without what its heading says."""
    for start, name in _PARTS.items():
        if name == heading and row["name"].startswith(f"{start}, "):
            return str(row["name"]).removeprefix(f"{start}, ")
    return str(row["name"]).removeprefix(f"{row['paper']} ").replace("section ", "§")


def _report(rows: Sequence[Any], scale: str) -> Report:
    failed = [row["name"] for row in rows if not row["discrepancy"] <= row["tolerance"]]
    corrected = sum(bool(row["as_corrected"]) for row in rows)
    verdict = (
        _TEXTS("some-fail", names=", ".join(failed))
        if failed
        else _TEXTS("all-hold", n=len(rows), corrected=corrected)
    )
    caption = _TEXTS("caption", instances=_N_INSTANCES[scale], verdict=verdict)
    remark = _TEXTS("remark", least=min(values(rows, "tightness"), default=math.nan))
    parts = [textwrap.fill(text, 100) + "\n" for text in (caption, remark)]
    for paper, group in groups(rows, "paper").items():
        parts.append(f"## {_TEXTS(paper)}\n\n{table(_PAGE, group).markdown()}")
    text = table([Column("statement", lambda row: _marked(row, row["name"])), *_NUMBERS], rows)
    return Report(_COLUMNS, list(rows), f"{text.text()}\n\n{verdict}", "\n".join(parts))


_TEXTS = Texts("theorems.md")


def _marked(row: Row, name: str) -> str:
    """Return a statement's name, with a dagger if it is tried as corrected."""
    return f"{name} {row.get('as_corrected') or ''}".strip()


def _escaped(text: str) -> str:
    """Return a text in which nothing is markup; ``<w>`` would be a tag."""
    return "".join(
        f"\\{character}" if character in r"\`*_[]<>|" else character for character in text
    )


_NUMBERS = (
    Column("apart", "discrepancy", ".2g", right=True),
    Column("tolerance", "tolerance", ".2g", right=True),
    Column("with a slip", "with_slip", ".2g", right=True),
    Column("tight at", "tightness", ".2g", right=True),
)
_PAGE = (
    Column("", lambda row: _marked(row, row["name"].removeprefix(f"{row['paper']} ")), _escaped),
    Column("statement", "statement", _escaped),
    Column("sides", "sides", _escaped),
    *_NUMBERS,
    Column("of", lambda row: row.get("term") or MISSING),
    Column("the slip", "slip", _escaped),
)


THEOREM_STUDY = Study(
    "theorems",
    "the papers' statements, as corrected",
    fits=_specs,
    fit=_tried,
    draw=_draw,
    report=_report,
    columns=_COLUMNS,
    duration="quick 15 s, paper 70 s",
    unit="statements",
    place=16,
)
"""The study."""
