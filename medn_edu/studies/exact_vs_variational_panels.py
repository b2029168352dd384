"""What becomes of something from one iteration to the next, and where it would end.

Few iterations that lie far apart, 1 to 20 say, on a logarithmic axis; to their right, apart, the value
in the limit of infinitely many.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from medn_edu.explorers.kit.style import INK, MUTED, styled

_STYLES: tuple[dict[str, Any], ...] = (
    {"color": INK, "linestyle": "-", "marker": "o"},
    {"color": "#0072B2", "linestyle": "--", "marker": "s"},
    {"color": "#E69F00", "linestyle": "-.", "marker": "D"},
    {"color": "#CC79A7", "linestyle": ":", "marker": "^"},
)
_APART = 2.0  # the limit's place, as a multiple of the last iteration's


@dataclass(frozen=True, eq=False)
class IterationCurve:
    """Means over fits after some iterations."""

    name: str  # what tells this curve from the others
    place: int  # which of the four styles it has, the same in all panels
    iterations: np.ndarray  # numbers of iterations, ascending
    mean: np.ndarray
    deviation: np.ndarray


def draw_iterations(
    ax: Axes, curves: Iterable[IterationCurve], *, logarithmic: bool = False
) -> None:
    """Draw means against the number of iterations, with one standard deviation as spread."""
    with styled():
        ax.set_xscale("log")
        if logarithmic:
            ax.set_yscale("log")
        ticks: list[float] = []
        for curve in curves:
            style = _STYLES[curve.place]
            end = _APART * curve.iterations[-1]
            ticks = [*map(float, curve.iterations), end]
            x = np.array(ticks) * 1.03 ** (curve.place - 1.5)  # spreads stay apart
            spread = np.nan_to_num(curve.deviation)
            # On a logarithmic axis a spread that reaches down to zero would fill the panel.
            below = np.clip(0.7 * curve.mean, 0, spread) if logarithmic else spread
            marks: dict[str, Any] = {
                "elinewidth": 1,
                "capsize": 2,
                "markersize": 4.5,
                "linewidth": 1.5,
            }
            for part, line in (
                (slice(None, -1), style),
                (slice(-1, None), style | {"linestyle": ""}),
            ):
                ax.errorbar(
                    x[part], curve.mean[part], yerr=[below[part], spread[part]],
                    label=curve.name if part.start is None else None, **line, **marks,
                )  # fmt: skip
        if ticks:
            ax.axvline(np.sqrt(ticks[-1] * ticks[-2]), color=MUTED, linewidth=0.8, linestyle=":")
            ax.xaxis.set_major_locator(FixedLocator(ticks))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xticks(ticks, [*(f"{tick:g}" for tick in ticks[:-1]), "limit"])
        ax.grid(axis="y")
