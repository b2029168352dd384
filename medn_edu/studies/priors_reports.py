"""Figures, table and caption of the study ``priors``.

The first figure shows test errors against the variance, for all priors and kinds of data: means over
sets, with the standard deviation as a band around the normal prior's alone; curves that go far above the
others are cut.  Below stand differences to the normal prior's error at chosen variances, set by set,
with 95 % intervals of the mean (Student's).
The second figure shows support labellings and large weights in the same way.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, styled
from medn_edu.intervals import deviation
from medn_edu.studies.kit.specs import Report
from medn_edu.studies.kit.summary import Curve
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.priors_means import (
    COLUMNS,
    NORMAL,
    OCR,
    PRICE,
    SHAPES,
    TITLES,
    VARIANCES,
    Fits,
    compared,
    kurtosis,
    mean_difference,
    table_of,
)
from medn_edu.studies.priors_panels import (
    PriorDifference,
    draw_against_variance,
    draw_prior_differences,
)
from medn_edu.studies.shaped import ShapedMEDN

_UNBOUNDED = tuple(shape for shape in SHAPES if shape not in ("box", "two-point"))


# ---------------------------------------------------------------------------------------------
# figures


def draw_priors(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw errors against the variance, and below differences at the chosen variances."""
    fits = Fits(rows)
    shown = fits.data() or [OCR]
    comparisons = {data: kinds for data in shown if (kinds := compared(fits, data))}
    figure = new_figure(max(3.9 * len(shown), 6.5), 7.4 if comparisons else 4.4)
    names = sorted((shape for shape in SHAPES if shape != NORMAL), key=kurtosis)
    with styled():
        ratios = (1.25, 1) if comparisons else (1,)
        rows_of_axes = figure.subplots(len(ratios), len(shown), squeeze=False, height_ratios=ratios)
        upper = rows_of_axes[0]
        for ax, data in zip(upper, shown, strict=True):
            curves = _curves(fits, data, "error")
            draw_against_variance(ax, curves, share=True)
            ax.set_ylim(top=min(ax.get_ylim()[1], _top(curves)))
            ax.set_title(_title(fits, data))
        upper[0].set_ylabel("test error (% of labels)")
        entries = _entries(upper[0])
        if comparisons:
            lower = rows_of_axes[1]
            for ax, data in zip(lower, shown, strict=True):
                draw_prior_differences(ax, names, comparisons.get(data, []))
                ax.set_xlabel("difference to Gaussian (points)")
            for ax in lower[1:]:
                ax.set_yticklabels([])
            entries |= _entries(lower[0])
        legend = {"loc": "outside upper center", "ncols": 5, "handlelength": 2.6}
        figure.legend(entries.values(), entries.keys(), **legend)
        cut = "; curves beyond the axis are cut" if any(_cut(fits, data) for data in shown) else ""
        bars = "; bars: 95 % intervals of the mean difference, set by set" if comparisons else ""
        note = f"C = {PRICE:g}; band: deviation of the Gaussian's errors over the sets{cut}{bars}"
        figure.supxlabel(note, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _top(curves: Sequence[Curve]) -> float:
    """Return where errors are cut: well above all priors without bounds, as narrow ones go far up."""
    near = [curve.mean + curve.deviation for curve in curves if curve.name == NORMAL]
    near += [curve.mean for curve in curves if curve.name in _UNBOUNDED]
    return 1.12 * max((float(values.max()) for values in near), default=np.inf)


def _cut(fits: Fits, data: str) -> dict[str, float]:
    """Return the priors whose curves leave the axis, and their largest mean errors."""
    curves = _curves(fits, data, "error")
    highest = {curve.name: float(curve.mean.max()) for curve in curves}
    return {name: error for name, error in highest.items() if error > _top(curves)}


def _entries(ax: Any) -> dict[str, Any]:
    """Return what stands in the legend, by its label."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def draw_prior_sparsity(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw support labellings and large weights against the variance."""
    fits = Fits(rows)
    shown = fits.data() or [OCR]
    figure = new_figure(max(3.9 * len(shown), 6.5), 6.6)
    with styled():
        axes = figure.subplots(2, len(shown), squeeze=False, sharex="col")
        for (upper, lower), data in zip(axes.T, shown, strict=True):
            draw_against_variance(upper, _curves(fits, data, "n_support"))
            draw_against_variance(lower, _curves(fits, data, "large"), share=True)
            upper.set_title(_title(fits, data))
            upper.set_xlabel("")
        axes[0, 0].set_ylabel("support labellings per sample")
        axes[1, 0].set_ylabel("large weights (% of all)")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, handlelength=2.6)
        note = (
            f"C = {PRICE:g}; large: at least 1 % of the largest; band: deviation of the Gaussian's "
            "numbers over the sets"
        )
        figure.supxlabel(note, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _curves(fits: Fits, data: str, column: str) -> list[Curve]:
    curves = []
    for shape in SHAPES:
        points = [
            (variance, values.mean(), deviation(values) or 0.0, len(values))
            for variance in fits.variances(data, shape)
            if len(values := fits.values(data, shape, variance, column))
        ]
        if points:
            curves.append(Curve(shape, *np.array(points, dtype=float).T))
    return curves


def _title(fits: Fits, data: str) -> str:
    most = max((len(group) for key, group in fits.groups.items() if key[0] == data), default=0)
    return f"{TITLES[data]} ({most} set{'s' if most != 1 else ''})"


# ---------------------------------------------------------------------------------------------
# report


def report_priors(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``priors`` up."""
    fits = Fits(rows)
    table = table_of(fits)
    head = (
        "data", "prior", "kurtosis", "variance", "test error", "to Gaussian",
        "to Gaussian, same variance", "support", "large weights", "largest gap",
    )  # fmt: skip
    cells = [_cells(fits, line) for line in table if line["chosen"] or not fits.chosen]
    text = text_table(list(head), cells, right=range(2, len(head)))
    parts = (_about(fits, scale), _choices(fits), _answers(fits), _equal(fits), _gaps(table))
    caption = "\n\n".join(
        textwrap.fill(part, 100, break_on_hyphens=False) for part in parts if part
    )
    key = textwrap.fill(_KEY, 96)
    return Report(
        COLUMNS,
        table,
        f"{text}\n\n{key}",
        f"{caption}\n\n{markdown_table(list(head), cells)}\n{key}\n",
        {"sparsity": _about_sparsity(fits)},
    )


_KEY = (
    "Each prior at its chosen variance (* at an end of its grid), or at all where none was chosen.  to "
    "Gaussian: difference of test errors to the normal prior at that one's chosen variance, in "
    "percentage points, with its 95 % interval over the sets; to Gaussian, same variance: to the normal "
    "prior at the variance in this line, which is often a bad one for it; support: wrong labellings "
    "with positive dual variables per training sample; large weights: share of the weights that are "
    "at least 1 % of the largest."
)


def _cells(fits: Fits, line: dict[str, Any]) -> list[str]:
    data, shape, spread = line["data"], line["prior"], line["error_deviation"]
    end = "*" if line["chosen"] and _is_at_end(fits, data, shape) else ""
    return [
        TITLES[data],
        shape,
        f"{line['kurtosis']:g}",
        f"{line['variance']:g}{end}",
        f"{100 * line['error']:.1f} %" + ("" if spread is None else f" ± {100 * spread:.1f}"),
        _to_normal(fits, line),
        "–" if shape == NORMAL else _interval(line["difference"], line["difference_reach"]),
        f"{line['n_support']:.1f}",
        f"{100 * line['large']:.0f} %",
        f"{100 * line['largest_gap']:.2g} %",
    ]


def _to_normal(fits: Fits, line: dict[str, Any]) -> str:
    """Return the difference that the figure shows, each prior at its chosen variance."""
    own = fits.chosen.get((line["data"], NORMAL))
    if line["prior"] == NORMAL or own is None:
        return "–"
    values = fits.differences(line["data"], line["prior"], line["variance"], (NORMAL, own))
    difference = mean_difference(line["prior"], values)
    return (
        _interval(difference.mean, difference.reach if len(values) > 1 else None)
        if len(values)
        else "–"
    )


def _is_at_end(fits: Fits, data: str, shape: str) -> bool:
    return fits.chosen.get((data, shape)) in (VARIANCES[data][0], VARIANCES[data][-1])


def _interval(mean: float | None, reach: float | None) -> str:
    if mean is None:
        return "–"
    return f"{100 * mean:+.2f}" + ("" if reach is None else f" ± {100 * reach:.2f}")


def _about(fits: Fits, scale: str) -> str:
    sets = (
        "one set of each kind and some variances" if scale == "quick" else "ten sets of each kind"
    )
    return (
        f"MEDN with the gallery of priors at equal variances and C = {PRICE:g}, {sets}: random CRFs "
        "with independent features, of which 10 in 100 matter, and with features in groups of three, of "
        "which 30 matter (50 sequences train, 950 test); 100 OCR words of a fold train, 900 test.  "
        "Each prior's variance is chosen on an eleventh CRF or on words that are in none of the sets.  "
        "Below: differences to the Gaussian's test error, set by set, each at its chosen variance, and "
        "all at the one chosen for the Gaussian.  At variance 0.1 spike and slab is the prior that drew "
        "the feature weights of the first kind.  The exponential prior has no negative weights, which "
        "costs no labelling: raising a feature's weights for all labels together changes nothing.  Its "
        "weights with η = 0 are not 0 but alike, so that counting large ones says little of it."
        f"{_cut_text(fits)}{_n_ends(fits)}"
    )


def _cut_text(fits: Fits) -> str:
    """Say which curves leave the figure at its top."""
    texts = [
        f"{TITLES[data]}: {', '.join(f'{name} (up to {100 * e:.0f} %)' for name, e in cut.items())}"
        for data in fits.data()
        if (cut := _cut(fits, data))
    ]
    return f"  Curves beyond the axis are cut, {'; '.join(texts)}." if texts else ""


def _n_ends(fits: Fits) -> str:
    """Say how many choices are at an end of the grid."""
    texts = []
    for data, title in TITLES.items():
        known = [shape for shape in SHAPES if (data, shape) in fits.chosen]
        ends = sum(_is_at_end(fits, data, shape) for shape in known)
        if ends:
            texts.append(f"{ends} of {len(known)} on {title}")
    return f"  Chosen at an end of the grid of variances: {', '.join(texts)}." if texts else ""


def _about_sparsity(fits: Fits) -> str:
    """Say what the second figure shows."""
    n_sets = max((len(group) for group in fits.groups.values()), default=0)
    sets = f"{n_sets} sets" if n_sets != 1 else "1 set"
    return (
        "Sparsity in two senses, against the variance of the priors, means over "
        f"{sets} of each kind.  Above: support labellings, wrong ones with positive dual variables, "
        "for each training sample; no others take part in the weights.  Below: large weights, the "
        "share of those that are at least 1 % of the largest.  Bands: standard deviation of the "
        "Gaussian's numbers over the sets.  Weights of the exponential prior are all positive, and "
        "those with η = 0 are alike but not 0."
    )


def _choices(fits: Fits) -> str:
    """Say which choices are at an end of the grid."""
    sentences = []
    for data, title in TITLES.items():
        ends = [
            f"{shape} ({fits.chosen[data, shape]:g})"
            for shape in SHAPES
            if _is_at_end(fits, data, shape)
        ]
        if ends:
            sentences.append(f"{title}: {', '.join(ends)}.")
    if not sentences:
        return ""
    return "  ".join(["Chosen at an end of the grid; others might be better still.", *sentences])


def _answers(fits: Fits) -> str:
    """Say which priors read better or worse than the normal one."""
    sentences = []
    for data in fits.data():
        for label, differences in compared(fits, data):
            better = [item for item in differences if item.mean + item.reach < 0]
            worse = [item for item in differences if item.mean - item.reach > 0]
            sentences.append(
                f"{TITLES[data]}, {label}: better than the Gaussian {_listed(better)}; worse "
                f"{_listed(worse)}."
            )
    if not sentences:
        return ""
    head = "Percentage points, where the 95 % interval of the mean difference is on one side of 0."
    return "  ".join([head, *sentences])


def _listed(items: Sequence[PriorDifference]) -> str:
    return ", ".join(f"{item.name} {_interval(item.mean, item.reach)}" for item in items) or "none"


def _equal(fits: Fits) -> str:
    """Say how far errors lie apart at equal variances."""
    sentences = []
    for data in fits.data():
        parts = []
        for variance in fits.variances(data, NORMAL):
            errors = [fits.values(data, shape, variance, "error") for shape in _UNBOUNDED]
            if all(len(values) for values in errors):
                span = float(np.ptp([values.mean() for values in errors]))
                parts.append(f"{100 * span:.1f} at {variance:g}")
        if parts:
            sentences.append(f"{TITLES[data]}: {', '.join(parts)}.")
    head = (
        "From the best to the worst mean error of the priors without bounds (all but box and "
        "two-point) at equal variance, in percentage points:"
    )
    return "  ".join([head, *sentences]) if sentences else ""


def _gaps(table: Sequence[dict[str, Any]]) -> str:
    """Say which fits did not reach their gap."""
    aim = ShapedMEDN().tol
    late = [
        f"{line['prior']} at {line['variance']:g}, {TITLES[line['data']]} "
        f"({100 * line['largest_gap']:.2g} %)"
        for line in table
        if line["largest_gap"] > aim
    ]
    return (
        f"Gaps above {100 * aim:g} % when the passes were used up: {'; '.join(late)}."
        if late
        else ""
    )
