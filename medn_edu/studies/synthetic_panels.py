"""Weights and variances of many features, one stem or dot each, what is known of them shaded."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from medn_edu.explorers.kit.style import INK, MUTED, series_style, styled

_SHADE = 0.12


def draw_stems(ax: Axes, weights: np.ndarray, *, n_relevant: int) -> None:
    """Draw each weight as a line from zero."""
    with styled():
        ax.axvspan(-0.5, n_relevant - 0.5, color=MUTED, alpha=_SHADE, linewidth=0)
        ax.vlines(np.arange(len(weights)), 0, weights, color=INK, linewidth=1.1)
        ax.axhline(0, color=MUTED, linewidth=0.8)
        ax.set_xlim(-1, len(weights))
        ax.yaxis.set_major_locator(MaxNLocator(3, symmetric=True))
        ax.yaxis.set_major_formatter(lambda value, _: _short(value))
        ax.margins(y=0.1)


def _short(value: float) -> str:
    """Write a weight briefly, however large it is."""
    if abs(value) < 1e4:
        return f"{value:g}"
    mantissa, _, exponent = f"{value:.0e}".partition("e")
    return rf"${mantissa} \cdot 10^{{{int(exponent)}}}$"


def draw_variances(
    ax: Axes, variances: np.ndarray, *, n_relevant: int, group_size: int = 3
) -> None:
    """Draw variances on a logarithmic scale, the groups of relevant features joined and shaded."""
    style = {**series_style("LapMEDN"), "linestyle": "none", "markersize": 4}
    with styled():
        for start in range(0, n_relevant, group_size):
            place = np.arange(start, min(start + group_size, n_relevant))
            if (start // group_size) % 2 == 0:
                ax.axvspan(place[0] - 0.5, place[-1] + 0.5, color=MUTED, alpha=_SHADE, linewidth=0)
            ax.plot(place, variances[place], color=INK, linewidth=1.2, linestyle="-")
        ax.plot(np.arange(len(variances)), variances, **style)
        ax.axvline(n_relevant - 0.5, color=MUTED, linewidth=1, linestyle=":")
        ax.set_yscale("log")
        ax.set_xlim(-1, len(variances))
        ax.grid(axis="y")
