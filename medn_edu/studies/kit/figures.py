"""Panels of studies: errors, one bar per model or against training samples; means against a constant."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, NullLocator

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.style import INK, MUTED, series_style, styled
from medn_edu.studies.kit.summary import Curve, Mean


def draw_errors(
    ax: Axes, curves: Sequence[Curve], *, unit: str = "words", logarithmic: bool = False
) -> None:
    """Draw error against the number of training samples, with one standard deviation as spread."""
    with styled():
        if logarithmic:
            ax.set_xscale("log")
        for k, curve in enumerate(curves):
            _draw_curve(ax, curve, (k - (len(curves) - 1) / 2), logarithmic)
        sizes = sorted({int(n) for curve in curves for n in curve.x})
        ax.xaxis.set_major_locator(FixedLocator(sizes))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.set_xlabel(f"training {unit}")
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        ax.set_ylabel("test error (% of labels)")
        ax.set_ylim(bottom=0)
        ax.grid(axis="y")
        ax.legend(loc="best")


def _draw_curve(ax: Axes, curve: Curve, shift: float, logarithmic: bool) -> None:
    """Draw one curve, moved aside a little so that the spreads of several stay apart."""
    n = curve.x.astype(float)
    spread = curve.deviation if (curve.n > 1).any() else None
    shift = shift if spread is not None else 0.0
    x = n * 1.02**shift if logarithmic else n + shift * 0.015 * max(float(np.ptp(n)), 1.0)
    style = series_style(curve.name)
    ax.errorbar(x, curve.mean, yerr=spread, label=curve.name, elinewidth=1.2, **style)


def draw_grouped_errors(
    ax: Axes, curves: Sequence[Curve], *, unit: str = "words", reference: str = ""
) -> None:
    """Draw errors as a group of markers for each number of training samples.

    Markers are side by side, in the order of the curves, so that many models can be told apart.  A line
    through each marker shows one deviation to both sides.
    """
    sizes = sorted({int(n) for curve in curves for n in curve.x})
    step = 0.84 / max(len(curves), 1)
    with styled():
        for place in range(0, len(sizes), 2):
            ax.axvspan(place - 0.5, place + 0.5, color=MUTED, alpha=0.08, linewidth=0)
        for k, curve in enumerate(curves):
            x = [sizes.index(int(n)) + step * (k - (len(curves) - 1) / 2) for n in curve.x]
            style = {**series_style(curve.name), "linestyle": "none", "markersize": 6}
            spread = 100 * curve.deviation if (curve.n > 1).any() else None
            y = 100 * curve.mean
            ax.errorbar(x, y, yerr=spread, label=curve.name, elinewidth=1.2, **style)
        ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        ax.set_xlim(-0.5, max(len(sizes) - 0.5, 0.5))
        ax.tick_params(axis="x", length=0)
        ax.set_xlabel(f"training {unit}")
        if reference:
            ax.axhline(0, color=INK, linewidth=1, zorder=0.5)
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:+.3g}" if value else "0")
            ax.set_ylabel(f"difference from {reference} (percentage points)")
        else:
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:.3g} %")
            ax.set_ylabel("test error (% of labels)")
        ax.grid(axis="y")


def draw_error_bars(
    ax: Axes,
    names: Sequence[str],
    errors: Sequence[float],
    deviations: Sequence[float] | None = None,
) -> None:
    """Draw one bar per model, its value written at its end, so that no ticks are needed."""
    with styled():
        y = np.arange(len(names))
        colours = [series_style(name)["color"] for name in names]
        ax.barh(y, errors, height=0.62, color=colours, xerr=deviations, ecolor=INK)
        reach = np.asarray(errors, dtype=float)
        reach = reach + (0 if deviations is None else np.asarray(deviations, dtype=float))
        longest = max(float(reach.max(initial=0.0)), 1e-3)
        for bar, end, error in zip(y, reach, errors, strict=True):
            ax.text(end + 0.02 * longest, bar, f"{100 * error:.1f} %", va="center", color=INK)
        ax.set_yticks(y, names)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.22 * longest)
        ax.tick_params(axis="y", length=0)
        ax.set_xticks([])
        ax.spines["bottom"].set_visible(False)
        ax.spines["left"].set_color(MUTED)


def name_row(ax: Axes, title: str, *, above_titles: bool = False) -> None:
    """Write the title of a row of panels above its first one, and above the columns' own titles."""
    place = {"xycoords": "axes fraction", "textcoords": "offset points", "weight": "bold"}
    with styled():
        text = ax.annotate(title, (0, 1), (0, 26 if above_titles else 8), fontsize=11, **place)
        ax.set_title("\n" if above_titles else " ")  # room, to the left of the columns' titles
    text.set_in_layout(False)  # it may be longer than the panel is wide


def draw_means(
    ax: Axes,
    found: Mapping[str, Mean],
    style: Callable[[str], dict[str, Any]] = series_style,
    **changes: Any,
) -> None:
    """Draw means with their intervals, a line of the panel for each name."""
    with styled():
        for place, (name, one) in enumerate(found.items()):
            look = {"markersize": 6, **style(name), "linestyle": "", **changes}
            ax.errorbar(one.value, place, xerr=one.half or 0.0, elinewidth=1.5, capsize=2, **look)
        ax.set_yticks(range(len(found)), list(found))
        ax.set_ylim(max(len(found), 1) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")


def draw_against_constant(
    ax: Axes,
    curves: Sequence[Curve],
    *,
    label: str,
    share: bool = False,
    logarithmic: bool = False,
) -> None:
    """Draw means against a constant on a logarithmic axis, with one standard deviation as spread.

    Constants of different algorithms cannot be compared, so each kind has a panel of its own.  Panels
    that show the same quantity share the axis on the left.
    """
    with styled():
        ax.set_xscale("log")
        if logarithmic:
            ax.set_yscale("log")
        for curve in curves:
            spread = np.nan_to_num(curve.deviation)
            # On a logarithmic axis a spread that reaches down to zero would fill the panel.
            below = np.minimum(spread, 0.7 * curve.mean) if logarithmic else spread
            style: dict[str, Any] = {**series_style(curve.name), "linewidth": 1.6, "markersize": 5}
            ax.errorbar(
                curve.x, curve.mean, yerr=[below, spread] if spread.any() else None,
                label=curve.name, elinewidth=1, capsize=2, **style,
            )  # fmt: skip
        values = sorted({float(value) for curve in curves for value in curve.x})
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


def draw_dots(
    ax: Axes,
    weights: np.ndarray,
    heights: Sequence[float],
    cells: Sequence[tuple[float, float]] = (),
    size: float = 560,
) -> None:
    """Draw a table of weights as dots: the area shows the size and the colour the sign.

    Each line of the table is drawn at one of the heights.  Small grey dots are zeros, and grey squares
    mark the given cells.
    """
    largest = np.nanmax(np.abs(weights))
    for column, height in cells:
        ax.add_patch(
            FancyBboxPatch(
                (column - 0.36, height - 0.36), 0.72, 0.72, boxstyle="round,pad=0.1", linewidth=0,
                facecolor=palette.SHADE, zorder=0.5,
            )
        )  # fmt: skip
    for y, line in zip(heights, weights, strict=True):
        x = np.flatnonzero(line)
        colours = np.where(line[x] > 0, palette.BLUE, palette.ORANGE)
        ax.scatter(
            x, np.full(len(x), y), s=size * np.abs(line[x]) / largest, c=colours, linewidths=0
        )
        zeros = np.flatnonzero(line == 0)
        ax.plot(zeros, np.full(len(zeros), y), ".", color=palette.PALE_GREY, markersize=2)
    ax.set_xlim(-0.6, weights.shape[1] - 0.4)
    ax.set_ylim(heights[-1] + 0.7, -0.7)
    ax.set_aspect("equal")
    ax.tick_params(length=0, labeltop=True)
    for spine in ax.spines.values():
        spine.set_visible(False)
