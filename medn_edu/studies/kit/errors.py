"""Errors: one bar per model, curves against the number of training samples, or groups of markers.

What is drawn is computed apart from the drawing: `error_curves` turns raw rows, one per fit, into
means and spreads, `error_differences` into those of the differences from one of the models, fold by
fold, and `with_intervals` puts intervals of the means in place of the spreads; `draw_errors` and
`draw_grouped_errors` draw them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from medn_edu.explorers.kit.style import INK, MUTED, series_style, styled
from medn_edu.intervals import student_quantile


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Mean and spread of one model's errors.

    Parameters
    ----------
    model : str
        Name of the model.
    n_train : ndarray of int, shape (n_points,)
        Numbers of training samples, ascending.
    mean, deviation : ndarray of float, shape (n_points,)
        Mean and standard deviation of the errors over the fits (deviation 0 for a single fit).
    n_fits : ndarray of int, shape (n_points,)
        Number of fits.
    """

    model: str
    n_train: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    n_fits: np.ndarray


def error_curves(rows: Iterable[Mapping[str, Any]]) -> list[ErrorCurve]:
    """Average raw rows per model and number of training samples.

    Parameters
    ----------
    rows : iterable of mappings
        Each with ``model``, ``n_train`` and ``error``; rows whose error is missing are left out.

    Returns
    -------
    list of ErrorCurve
        One per model, in order of appearance.

    Examples
    --------
    >>> rows = [{"model": "M3N", "n_train": 100, "error": e} for e in (0.3, 0.4)]
    >>> error_curves(rows)[0].mean.round(3)
    array([0.35])
    """
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        error = row.get("error")
        if error is not None and np.isfinite(error):
            found.setdefault(row["model"], {}).setdefault(int(row["n_train"]), []).append(error)
    return [_curve(model, by_size) for model, by_size in found.items()]


def _curve(model: str, by_size: dict[int, list[float]]) -> ErrorCurve:
    sizes = sorted(by_size)
    groups = [np.array(by_size[size]) for size in sizes]
    return ErrorCurve(
        model=model,
        n_train=np.array(sizes),
        mean=np.array([group.mean() for group in groups]),
        deviation=np.array([group.std(ddof=1) if len(group) > 1 else 0.0 for group in groups]),
        n_fits=np.array([len(group) for group in groups]),
    )


def error_differences(rows: Iterable[Mapping[str, Any]], reference: str) -> list[ErrorCurve]:
    """Subtract the errors of one model on the same data, then average.

    What makes a fold hard makes it hard for all models, so that differences vary less than errors.

    Parameters
    ----------
    rows : iterable of mappings
        Each with ``model``, ``data``, ``fold``, ``n_train`` and ``error``.
    reference : str
        The model that is subtracted.

    Returns
    -------
    list of ErrorCurve
        One per other model; fits without a counterpart are left out.

    Examples
    --------
    >>> same = {"data": "ocr-100", "fold": 0, "n_train": 100}
    >>> rows = [{**same, "model": "M3N", "error": 0.3}, {**same, "model": "CRF", "error": 0.5}]
    >>> error_differences(rows, "M3N")[0].mean.round(3)
    array([0.2])
    """
    known = [row for row in rows if row.get("error") is not None]
    subtracted = {
        (row["data"], row["fold"]): row["error"] for row in known if row["model"] == reference
    }
    return error_curves(
        {**row, "error": row["error"] - subtracted[row["data"], row["fold"]]}
        for row in known
        if row["model"] != reference and (row["data"], row["fold"]) in subtracted
    )


def with_intervals(curve: ErrorCurve) -> ErrorCurve:
    """Put half the 95 % interval of the mean (Student's) in place of the standard deviation.

    The deviation tells how far a single fit is from the mean, the interval how far the mean is from
    what infinitely many fits would give.
    """
    n = np.maximum(curve.n_fits, 2)  # of a single fit, whose deviation is 0
    return replace(curve, deviation=student_quantile(n - 1) * curve.deviation / np.sqrt(n))


def draw_errors(
    ax: Axes,
    curves: Iterable[ErrorCurve] | Iterable[Mapping[str, Any]],
    *,
    unit: str = "words",
    logarithmic: bool = False,
) -> None:
    """Draw error against the number of training samples, with one standard deviation as spread.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    curves : iterable of ErrorCurve, or of raw rows
        What `error_curves` returns, or its argument.
    unit : str, default="words"
        What the samples are.
    logarithmic : bool, default=False
        Whether the numbers of samples stand on a logarithmic axis.

    Examples
    --------
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure().add_subplot()
    >>> draw_errors(ax, [{"model": "M3N", "n_train": n, "error": 1 / n} for n in (10, 20)])
    >>> ax.get_xlabel()
    'training words'
    """
    items = list(curves)
    known = [item for item in items if isinstance(item, ErrorCurve)]
    shown = known or error_curves(items)  # type: ignore[arg-type]
    with styled():
        if logarithmic:
            ax.set_xscale("log")
        for k, curve in enumerate(shown):
            _draw_curve(ax, curve, (k - (len(shown) - 1) / 2), logarithmic)
        sizes = sorted({int(n) for curve in shown for n in curve.n_train})
        ax.xaxis.set_major_locator(FixedLocator(sizes))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.set_xlabel(f"training {unit}")
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        ax.set_ylabel("test error (% of labels)")
        ax.set_ylim(bottom=0)
        ax.grid(axis="y")
        ax.legend(loc="best")


def _draw_curve(ax: Axes, curve: ErrorCurve, shift: float, logarithmic: bool) -> None:
    """Draw one curve, moved aside a little so that the spreads of several stay apart."""
    n = curve.n_train.astype(float)
    spread = curve.deviation if (curve.n_fits > 1).any() else None
    shift = shift if spread is not None else 0.0
    x = n * 1.02**shift if logarithmic else n + shift * 0.015 * max(float(np.ptp(n)), 1.0)
    style = series_style(curve.model)
    ax.errorbar(x, curve.mean, yerr=spread, label=curve.model, elinewidth=1.2, **style)


def draw_grouped_errors(
    ax: Axes, curves: Sequence[ErrorCurve], *, unit: str = "words", reference: str = ""
) -> None:
    """Draw errors as a group of markers for each number of training samples.

    Markers stand side by side, in the order of the curves, so that many models can be told apart; a
    line through each is the curve's deviation, to both sides.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    curves : sequence of ErrorCurve
        Errors, or differences from those of a model.
    unit : str, default="words"
        What the samples are.
    reference : str, default=""
        The model that was subtracted, if the curves are differences.

    Examples
    --------
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure().add_subplot()
    >>> rows = [{"model": "M3N", "n_train": n, "error": 1 / n} for n in (10, 20)]
    >>> draw_grouped_errors(ax, error_curves(rows))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['10', '20']
    """
    sizes = sorted({int(n) for curve in curves for n in curve.n_train})
    step = 0.84 / max(len(curves), 1)
    with styled():
        for place in range(0, len(sizes), 2):
            ax.axvspan(place - 0.5, place + 0.5, color=MUTED, alpha=0.08, linewidth=0)
        for k, curve in enumerate(curves):
            x = [sizes.index(int(n)) + step * (k - (len(curves) - 1) / 2) for n in curve.n_train]
            style = {**series_style(curve.model), "linestyle": "none", "markersize": 6}
            spread = 100 * curve.deviation if (curve.n_fits > 1).any() else None
            y = 100 * curve.mean
            ax.errorbar(x, y, yerr=spread, label=curve.model, elinewidth=1.2, **style)
        ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        ax.set_xlim(-0.5, max(len(sizes) - 0.5, 0.5))
        ax.tick_params(axis="x", length=0)
        ax.set_xlabel(f"training {unit}")
        if reference:
            ax.axhline(0, color=INK, linewidth=1, zorder=0.5)
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:+.3g}" if value else "0")
            ax.set_ylabel(f"points more than {reference}")
        else:
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:.3g} %")
            ax.set_ylabel("test error (% of labels)")
        ax.grid(axis="y")


def draw_error_bars(
    ax: Axes,
    names: Sequence[str],
    errors: Sequence[float],
    deviations: Sequence[float] | None = None,
    *,
    widest: float | None = None,
) -> None:
    """Draw one bar per model, its value written at its end.

    Bars of two panels can be compared only on the same axis: give ``widest`` to both, which then have
    ticks as well.  A panel by itself has none, as its values are written out.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    names : sequence of str
        The models, from top to bottom.
    errors : sequence of float
        Their errors, between 0 and 1.
    deviations : sequence of float, optional
        Their standard deviations, drawn as whiskers.
    widest : float, optional
        The largest error in any of several panels, whisker and all.

    Examples
    --------
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure().add_subplot()
    >>> draw_error_bars(ax, ["M3N", "CRF"], [0.1, 0.2])
    >>> [text.get_text() for text in ax.texts]
    ['10.0 %', '20.0 %']
    """
    with styled():
        y = np.arange(len(names))
        colours = [series_style(name)["color"] for name in names]
        ax.barh(y, errors, height=0.62, color=colours, xerr=deviations, ecolor=INK)
        reach = np.asarray(errors, dtype=float)
        reach = reach + (0 if deviations is None else np.asarray(deviations, dtype=float))
        longest = max(float(reach.max(initial=0.0)) if widest is None else widest, 1e-3)
        for bar, end, error in zip(y, reach, errors, strict=True):
            ax.text(end + 0.02 * longest, bar, f"{100 * error:.1f} %", va="center", color=INK)
        ax.set_yticks(y, names)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.22 * longest)
        ax.tick_params(axis="y", length=0)
        if widest is None:
            ax.set_xticks([])
            ax.spines["bottom"].set_visible(False)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
            ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
            ax.grid(axis="x")
            ax.set_axisbelow(True)
        ax.spines["left"].set_color(MUTED)
