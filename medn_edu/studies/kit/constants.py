"""What comes out of training against the constant it was given: error, time.

Constants of unlike algorithms cannot be compared, so each kind has a panel of its own; panels that
share what they show share the axis to the left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, NullLocator

from medn_edu.explorers.kit.style import series_style, styled


@dataclass(frozen=True, eq=False)
class ConstantCurve:
    """Means over fits for the values of a constant."""

    name: str  # name of the algorithm
    constant: np.ndarray  # values of the constant, ascending and positive
    mean: np.ndarray
    deviation: np.ndarray


def draw_against_constant(
    ax: Axes,
    curves: Iterable[ConstantCurve],
    *,
    label: str,
    share: bool = False,
    logarithmic: bool = False,
) -> None:
    """Draw means against a constant on a logarithmic axis, with one standard deviation as spread."""
    shown = list(curves)
    with styled():
        ax.set_xscale("log")
        if logarithmic:
            ax.set_yscale("log")
        for curve in shown:
            spread = np.nan_to_num(curve.deviation)
            # On a logarithmic axis a spread that reaches down to zero would fill the panel.
            below = np.minimum(spread, 0.7 * curve.mean) if logarithmic else spread
            style: dict[str, Any] = {**series_style(curve.name), "linewidth": 1.6, "markersize": 5}
            ax.errorbar(
                curve.constant, curve.mean, yerr=[below, spread] if spread.any() else None,
                label=curve.name, elinewidth=1, capsize=2, **style,
            )  # fmt: skip
        values = sorted({float(value) for curve in shown for value in curve.constant})
        ax.xaxis.set_major_locator(FixedLocator(_thinned(values)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
        if len(values) == 1:
            ax.set_xlim(values[0] / 2, values[0] * 2)
        ax.margins(x=0.08)
        ax.set_xlabel(label)
        if share:
            ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        elif logarithmic:
            low, high = ax.get_ylim()
            ax.yaxis.set_major_locator(LogLocator(subs=(1,) if high > 50 * low else (1, 2, 5)))
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
        ax.grid(axis="y")


def _thinned(values: list[float], apart: float = 0.25) -> list[float]:
    """Drop values that would stand too close to the one before, on a logarithmic axis."""
    if len(values) < 2:
        return values
    apart *= np.log(values[-1] / values[0])
    kept = values[:1]
    for value in values[1:]:
        if np.log(value / kept[-1]) >= apart * 0.999:
            kept.append(value)
    return kept
