"""Bounds against the number of samples, how far they are from the truth, and what a lost term does.

`draw_bound_curves` draws bounds and their terms over N, each named at its right end; the line at 1 is
where a bound on an error begins to say something.  `draw_rooms` shows over many samples how much room
a bound leaves above the truth, and marks the side on which it is broken.  `draw_lapses` sets what
remains of a bound without one of its terms against the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from medn_edu.explorers.kit.style import ERROR, INK, MUTED, styled

_STYLES: dict[str, dict[str, Any]] = {
    "Theorem 8": {"color": INK, "marker": "o"},
    "margin loss": {"color": "#56B4E9", "linestyle": (0, (8, 2)), "marker": "P"},
    "averaging": {"color": "#CC79A7", "linestyle": ":", "marker": "v"},
    "complexity": {"color": "#5D6B78", "linestyle": "--", "marker": "s"},
    "with the paper's m": {"color": "#E69F00", "linestyle": "--", "marker": "s"},
    "with the best m": {"color": INK, "marker": "o"},
    "Seeger's last step": {"color": "#009E73", "linestyle": "-.", "marker": "D"},
    "e × Gibbs, by Seeger": {"color": "#8A6FB0", "linestyle": (0, (3, 1)), "marker": "X"},
    "Gibbs' own error, by Seeger": {
        "color": "#0072B2", "linestyle": "-", "linewidth": 1, "marker": "^", "markersize": 4,
    },
    "Gibbs' own error": {"color": "#D3D8DD"},
}  # fmt: skip
_TRUTH: dict[str, Any] = {
    "color": "#A9B1B9",
    "linestyle": "-",
    "linewidth": 5,
    "solid_capstyle": "butt",
    "zorder": 1,
}
_GAP = 0.052  # between two names, as a share of the axis
_SWATCHES = (("#56B4E9", "//"), ("#E69F00", ""))


@dataclass(frozen=True, eq=False)
class BoundCurve:
    """A bound, one of its terms, or the truth, for several numbers of samples."""

    name: str  # its name, which chooses its look, and stands at its right end
    n_samples: np.ndarray
    values: np.ndarray
    is_truth: bool = False  # whether it is what bounds are about: drawn broad and pale, behind them


def draw_bound_curves(
    ax: Axes, curves: Sequence[BoundCurve], *, limits: tuple[float, float]
) -> None:
    """Draw bounds over N, on logarithmic axes."""
    first = min(curve.n_samples[0] for curve in curves)
    last = max(curve.n_samples[-1] for curve in curves)
    with styled():
        ax.axhspan(1, limits[1], color=ERROR, alpha=0.08, linewidth=0, zorder=0)
        ax.axhline(1, color=ERROR, linewidth=1.2, zorder=1)
        ax.text(last, 1.06, "says nothing", color=ERROR, fontsize=9, ha="right", va="bottom")
        for curve in curves:
            look = _TRUTH if curve.is_truth else {"markersize": 5}
            look = {**look, **_STYLES.get(curve.name, {})}
            ax.plot(curve.n_samples, curve.values, label=curve.name, **look)
        ax.set(xscale="log", yscale="log", xlim=(first * 0.85, last * 1.1), ylim=limits)
        ax.set_xlabel("number of samples N")
        if limits[1] < 100 * limits[0]:
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.grid(axis="y")
        _name_ends(ax, curves, limits)


def _name_ends(ax: Axes, curves: Sequence[BoundCurve], limits: tuple[float, float]) -> None:
    """Write each curve's name at its right end, moved apart where two are too close."""
    ends = sorted(curves, key=lambda curve: float(curve.values[-1]))
    low, high = np.log(limits)
    heights = np.array([(np.log(curve.values[-1]) - low) / (high - low) for curve in ends])
    for curve, y in zip(ends, _apart(heights), strict=True):
        colour = MUTED if curve.is_truth else _STYLES.get(curve.name, {}).get("color", INK)
        ax.annotate(
            curve.name, (1.015, y), xycoords="axes fraction", color=colour, fontsize=9, va="center",
        )  # fmt: skip


def _apart(heights: np.ndarray) -> np.ndarray:
    """Return ascending heights, none closer to the next than a name is high."""
    placed = heights.copy()
    for _ in range(100):
        for k in range(1, len(placed)):
            lack = _GAP - (placed[k] - placed[k - 1])
            if lack > 0:
                placed[k - 1], placed[k] = placed[k - 1] - lack / 2, placed[k] + lack / 2
    return placed


def draw_rooms(ax: Axes, rooms: Mapping[str, np.ndarray], *, n_bins: int = 40) -> None:
    """Draw by how many percentage points bounds exceed the truth, over many samples."""
    together = 100 * np.concatenate([[0.0], *rooms.values()])
    spare = 0.05 * np.ptp(together)
    low, high = together.min() - spare, together.max() + spare
    with styled():
        for (name, room), (colour, hatch) in zip(rooms.items(), _SWATCHES, strict=False):
            look = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
            weights = np.full(len(room), 100 / len(room))
            ax.hist(
                100 * room, bins=list(np.linspace(low, high, n_bins + 1)), weights=weights, alpha=0.85,
                label=f"{name}: broken in {_percent(float(np.mean(room < 0)))}", **look,
            )  # fmt: skip
        ax.axvspan(low, 0, color=ERROR, alpha=0.08, linewidth=0, zorder=0)
        ax.axvline(0, color=ERROR, linewidth=1.5)
        ax.set(xlim=(low, high), ylabel="% of samples")
        ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), handlelength=1.5, borderpad=0)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def draw_lapses(ax: Axes, values: Mapping[str, np.ndarray], truth: float) -> None:
    """Draw what is left of a bound without one of its terms, over many samples."""
    bottom, right = (
        len(values) - 0.4,
        max(1.45, 1.1 * max(float(v.max()) for v in values.values())),
    )
    with styled():
        ax.axvspan(0, truth, color=ERROR, alpha=0.08, linewidth=0, zorder=0)
        ax.axvline(truth, color=ERROR, linewidth=1.5)
        ax.axvspan(1, right, color=MUTED, alpha=0.08, linewidth=0, zorder=0)
        ax.text(truth / 2, bottom - 0.08, "broken", fontsize=9, color=ERROR, ha="center")
        ax.text(
            (1 + right) / 2, bottom - 0.08, "says nothing", fontsize=9, color=MUTED, ha="center"
        )
        for row, found in enumerate(values.values()):
            _draw_range(ax, row, found, float(np.mean(found < truth)))
        names = [f"without {name}" if name else "all of it" for name in values]
        ax.set_yticks(range(len(names)), names)
        ax.set(xlim=(0, right), ylim=(bottom, -0.6), xticks=(0, 0.5, 1))
        ax.tick_params(axis="y", length=0)
        ax.annotate("broken in", (1.02, 1.0), xycoords="axes fraction", fontsize=9, va="bottom")


def _draw_range(ax: Axes, row: int, found: np.ndarray, lapses: float) -> None:
    """Draw median and range, and write next to them how often they are too low."""
    color, marker = (ERROR, "X") if lapses else (INK, "o")
    if found.min() >= 1:
        ax.text(
            float(found.min()) - 0.07, row, "cannot be broken:\nno error is above 1", fontsize=9,
            color=MUTED, ha="right", va="center",
        )  # fmt: skip
    ends = [float(found.min()), float(found.max())]
    ax.plot(ends, [row, row], linestyle="-", linewidth=4, alpha=0.5, color=color)
    ax.plot([float(np.median(found))], [row], marker, color=color, markersize=8)
    ax.annotate(
        _percent(lapses), (1.02, row), xycoords=("axes fraction", "data"), color=color, fontsize=9,
        va="center",
    )  # fmt: skip
