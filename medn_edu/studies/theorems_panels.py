"""Statements tried on numbers, as a dot plot: a line for each.

A filled dot says how far the two sides of a statement are apart, a tick how far they may be, and an
open dot how far they are with a slip in one of them.  The scale is logarithmic, as fifteen powers of
ten lie between rounding and a forgotten factor of two.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit.style import ERROR, INK, MUTED, styled

_EDGES = (1e-17, 1e3)  # what is beyond is drawn at the edge, 0 at the left one
_POWERS = range(-15, 3, 3)
_GAP = 0.7  # above a heading
_PARTS = {"MEDN §5": "MEDN, §5 (variational)", "MEDN B.5": "MEDN, B.5 (PAC-Bayes)"}

Rows = Sequence[Mapping[str, Any]]


def check_columns(rows: Rows) -> list[list[Mapping[str, Any]]]:
    """Part statements into two columns, as equally long as headings that stay together allow."""
    first, *others = _blocks(rows).values()
    parts = []
    for sides in itertools.product((True, False), repeat=len(others)):
        columns: list[list[Mapping[str, Any]]] = [list(first), []]
        for block, is_left in zip(others, sides, strict=True):
            columns[not is_left] += block
        parts.append(columns)
    return min(parts, key=lambda columns: max(map(_length, columns)))


def _length(rows: Rows) -> float:
    """Return how many lines a column takes, with its headings."""
    return len(rows) + (1 + _GAP) * len(_blocks(rows))


def _blocks(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    """Return statements by heading: the paper, or a part of it that has one of its own."""
    blocks: dict[str, list[Mapping[str, Any]]] = {}
    paper = heading = ""
    for row in rows:
        if row["paper"] != paper:
            paper = heading = row["paper"]
        for start, name in _PARTS.items():
            if row["name"].startswith(start):
                heading = name
        blocks.setdefault(heading, []).append(row)
    return blocks


def draw_checks(ax: Axes, rows: Rows) -> None:
    """Draw a line of dots for each statement, under headings that say where it is from."""
    lines = _lines(rows)
    y = np.array([place for place, _, row in lines if row])
    shown = [row for _, _, row in lines if row]
    with styled():
        ax.hlines(y, *_EDGES, color="#E3E7EB", linewidth=0.8, zorder=0)
        for column, style in _MARKS.items():
            values = np.clip([float(row[column]) for row in shown], *_EDGES)
            ax.plot(values, y, linestyle="none", clip_on=False, zorder=3, **style)
        ax.set(xscale="log", xlim=(_EDGES[0] / 4, _EDGES[1]), ylim=(max(y) + 0.7, -0.7))
        ax.set_xticks(
            [_EDGES[0], *(10.0**power for power in _POWERS)],
            ["0", *(f"$10^{{{power}}}$" for power in _POWERS)],
        )
        ax.minorticks_off()
        ax.set_yticks([place for place, _, _ in lines], [text for _, text, _ in lines])
        for label, (_, _, row) in zip(ax.get_yticklabels(), lines, strict=True):
            label.set(fontweight="normal" if row else "bold", color=INK)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)


_MARKS: dict[str, dict[str, Any]] = {
    "discrepancy": {
        "marker": "o", "color": "#0072B2",
        "label": "apart; of an inequality, the violation (0: none)",
    },
    "tolerance": {
        "marker": "|", "color": MUTED, "markersize": 9, "markeredgewidth": 1.8, "label": "tolerance",
    },
    "with_slip": {
        "marker": "o", "color": ERROR, "markerfacecolor": "white", "markeredgewidth": 1.4,
        "label": "the same with a slip",
    },
}  # fmt: skip


def _lines(rows: Rows) -> list[tuple[float, str, Mapping[str, Any] | None]]:
    """Return places, texts and rows of all lines; headings have no row."""
    lines: list[tuple[float, str, Mapping[str, Any] | None]] = []
    place = 0.0
    for heading, block in _blocks(rows).items():
        place += _GAP if lines else 0.0
        lines.append((place, heading, None))
        for row in block:
            place += 1
            name = f"{_short_name(row, heading)} {row.get('as_corrected', '')}".strip()
            lines.append((place, name, row))
        place += 1
    return lines


def _short_name(row: Mapping[str, Any], heading: str) -> str:
    """Return a statement's name without what its heading says."""
    for start, name in _PARTS.items():
        if name == heading and row["name"].startswith(f"{start}, "):
            return str(row["name"]).removeprefix(f"{start}, ")
    return str(row["name"]).removeprefix(f"{row['paper']} ").replace("section ", "§")
