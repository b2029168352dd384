"""Statements tried on numbers, as a dot plot: a line for each.

A filled dot says how far the two sides of a statement are apart, a tick how far they may be, and an
open dot how far they are with a slip in one of them.  The scale is logarithmic, as fifteen powers of
ten lie between rounding and a forgotten factor of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.plots.style import ERROR, INK, MUTED, styled

__all__ = ["draw_checks"]

_EDGES = (1e-17, 1e3)  # what is beyond is drawn at the edge, 0 at the left one
_POWERS = range(-15, 3, 3)


def draw_checks(ax: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a line of dots for each statement, under headings that say from which paper it is.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    rows : sequence of mappings
        The statements, paper by paper, with ``paper``, ``name``, ``discrepancy``, ``tolerance`` and
        ``with_slip``.

    Examples
    --------
    >>> from medn_edu.plots import new_figure
    >>> ax = new_figure().add_subplot()
    >>> row = dict(paper="MEDN", discrepancy=0.0, tolerance=1e-9, with_slip=0.5)
    >>> draw_checks(ax, [dict(row, name="MEDN Theorem 2"), dict(row, name="MEDN Eq. (4)")])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['MEDN', 'Theorem 2', 'Eq. (4)']
    """
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
    "discrepancy": {"marker": "o", "color": "#0072B2", "label": "apart"},
    "tolerance": {
        "marker": "|", "color": MUTED, "markersize": 9, "markeredgewidth": 1.8, "label": "tolerance",
    },
    "with_slip": {
        "marker": "o", "color": ERROR, "markerfacecolor": "white", "markeredgewidth": 1.4,
        "label": "apart, with a slip",
    },
}  # fmt: skip


def _lines(
    rows: Sequence[Mapping[str, Any]],
) -> list[tuple[float, str, Mapping[str, Any] | None]]:
    """Return places, texts and rows of all lines; headings have no row."""
    lines: list[tuple[float, str, Mapping[str, Any] | None]] = []
    place, paper = 0.0, None
    for row in rows:
        if row["paper"] != paper:
            place += 0.7 if lines else 0.0
            paper = row["paper"]
            lines.append((place, paper, None))
            place += 1
        text = row["name"].removeprefix(f"{paper} ").replace("section ", "§")
        lines.append((place, text, row))
        place += 1
    return lines
