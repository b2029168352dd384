"""What priors are worth: something against their variance, and differences to one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from medn_edu.explorers.kit.style import INK, MUTED, styled
from medn_edu.explorers.shrinkage import prior_style
from medn_edu.studies.kit.summary import Curve

_MARKERS = {
    "Gaussian": "o",
    "Laplace": "s",
    "normal-gamma": "D",
    "normal-inverse Gaussian": "^",
    "box": "v",
    "two-point": "X",
    "exponential": "P",
    "spike and slab": "*",
}


@dataclass(frozen=True, eq=False)
class PriorDifference:
    """A mean difference to another prior, with the half width of its interval."""

    name: str  # name of the prior
    mean: float
    reach: float


def draw_against_variance(
    ax: Axes, curves: Iterable[Curve], *, banded: str = "Gaussian", share: bool = False
) -> None:
    """Draw means against the variance of priors, on a logarithmic axis."""
    with styled():
        ax.set_xscale("log")
        for curve in curves:
            style: dict[str, Any] = {"linewidth": 1.5, "markersize": 4.5, **prior_style(curve.name)}
            marker = _MARKERS.get(curve.name, "o")
            ax.plot(curve.x, curve.mean, label=curve.name, marker=marker, **style)
            if curve.name == banded:
                low, high = curve.mean - curve.deviation, curve.mean + curve.deviation
                ax.fill_between(curve.x, low, high, color=INK, alpha=0.09, linewidth=0)
        low, high = ax.get_xlim()
        ax.xaxis.set_major_locator(LogLocator(subs=(1,) if high > 200 * low else (1, 3)))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_xlabel("prior variance")
        if share:
            ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        ax.grid(axis="y")


def draw_prior_differences(
    ax: Axes, names: Sequence[str], kinds: Sequence[tuple[str, Sequence[PriorDifference]]]
) -> None:
    """Draw differences with their intervals, a line for each prior."""
    place = {name: number for number, name in enumerate(names)}
    with styled():
        ax.axvline(0, color=MUTED, linewidth=0.8)
        for (label, differences), aside, face in zip(
            kinds, (-0.14, 0.14), (INK, "white"), strict=False
        ):
            shown = [item for item in differences if item.name in place]
            ax.errorbar(
                [item.mean for item in shown], [place[item.name] + aside for item in shown],
                xerr=np.nan_to_num([item.reach for item in shown]), label=label, linestyle="",
                marker="o", markersize=5, markerfacecolor=face, color=INK, elinewidth=1, capsize=2,
            )  # fmt: skip
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
