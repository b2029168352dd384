"""Figures, tables and captions of the studies ``synthetic-iid`` and ``synthetic-correlated``.

What is averaged, and over what, is told in `synthetic_means`.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.studies.kit.figures import draw_errors, draw_grouped_errors
from medn_edu.studies.kit.selection import CHOICE
from medn_edu.studies.kit.specs import Report
from medn_edu.studies.kit.summary import curves, curves_less, with_intervals
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.synthetic_means import (
    GROUP,
    N_FEATURES,
    N_RELEVANT,
    OPTIMA,
    REFERENCE,
    STOPPED,
    average_of,
    average_weights,
    averaged,
    n_relevant_of,
    n_units,
    place,
    relevant_counts,
    table_lines,
    true_weights,
    within_groups,
)
from medn_edu.studies.synthetic_panels import draw_stems, draw_variances

# ---------------------------------------------------------------------------------------------
# independent features


def draw_iid(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 3: errors against the number of training sequences."""
    settings = relevant_counts(rows)
    figure = new_figure(4.2 * len(settings) + 0.6, 7.4)
    with styled():
        axes = figure.subplots(2, len(settings), sharey="row", squeeze=False)
        for column, n_relevant in zip(axes.T, settings, strict=True):
            part = [row for row in rows if n_relevant_of(row) == n_relevant]
            column[0].set_title(f"{n_relevant} of 100 features relevant")
            _draw_pair(column, part)
        _finish(figure, axes, _repetitions(rows, "random CRFs"))
    save_figure(figure, path)


def report_iid(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``synthetic-iid`` up."""
    lines = [
        {"relevant": n_relevant, **line}
        for n_relevant in relevant_counts(rows)
        for line in table_lines([row for row in rows if n_relevant_of(row) == n_relevant])
    ]
    caption = (
        "Random linear-chain CRFs with independent features (MEDN Fig. 3, LapM3N Fig. 2): eight nodes, "
        "two labels, 100 features of which 10, 30 or 50 matter; for each of these "
        f"{n_units(rows)} CRFs with standard normal weights, 1,000 sequences labelled by a Gibbs "
        "sampler; nested training sets, all other sequences test.  Every model chooses its constants "
        "by 5-fold cross-validation on its training set: lam of the CRFs' penalties 0.01 to 16, C of "
        "M3N 0.001 to 1, lam of LapMEDN 20 values from 1 to 268 with C = 1, C of L1-M3N 0.0025 to 0.16 "
        f"(gap of 2 %).{CHOICE[scale]}  "
        "LapMEDN variational makes three iterations, LapMEDN is exact.  Above, mean "
        "errors; below, errors of M3N on the same data subtracted, with 95 % intervals of the mean "
        "over CRFs.  Grey: the generating model's own error, which nothing beats in the long run."
    )
    return _report(rows, lines, ("relevant",), caption)


# ---------------------------------------------------------------------------------------------
# features in groups


def draw_correlated(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 4 and L1-M3N Fig. 2: errors against the number of training sequences."""
    part = averaged(row for row in rows if row["model"] not in OPTIMA)
    figure = new_figure(11.5, 4.6)
    with styled():
        axes = figure.subplots(1, 2, width_ratios=[1, 1.25], squeeze=False)
        _draw_pair(axes[0], part)
        _begin_near(axes[0, 0])
        _finish(figure, axes, _repetitions(rows, "data sets, each the mean over its parts"))
    save_figure(figure, path)


def draw_correlated_weights(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 5 and L1-M3N Fig. 3: the true weights, and the models' average weights."""
    found = average_weights(rows)
    panels = {"generating model": true_weights(rows), **{name: w for name, (w, _) in found.items()}}
    n_rows = -(-len(panels) // 2)
    figure = new_figure(11.5, 1.35 * n_rows + 0.9)
    with styled():
        axes = figure.subplots(n_rows, 2, squeeze=False, sharex=True)
        for ax, (name, weights) in zip(axes.T.flat, panels.items(), strict=False):
            draw_stems(ax, weights, n_relevant=2 * N_RELEVANT)
            ax.set_title(name, fontsize=11)
        for ax in axes.T.flat[len(panels) :]:
            ax.set_axis_off()
        most = max((n for _, n in found.values()), default=0)
        figure.supxlabel(
            f"state feature functions, the two of a feature side by side; shaded: relevant; mean over "
            f"{most} training parts of the first data set",
            fontsize=10,
            color=MUTED,
        )
        figure.supylabel("average weight", fontsize=10, color=MUTED)
    save_figure(figure, path)


def draw_correlated_variances(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 6: average posterior variances of the features under LapMEDN."""
    found = average_of(rows, "variances")
    figure = new_figure(11.5, 2.3 * max(len(found), 1) + 0.7)
    with styled():
        axes = figure.subplots(max(len(found), 1), 1, squeeze=False, sharex=True)[:, 0]
        for ax, (name, (variances, _)) in zip(axes, found.items(), strict=False):
            draw_variances(ax, variances, n_relevant=N_RELEVANT, group_size=GROUP)
            share = 100 * within_groups(variances)
            ax.set_title(
                f"{name}: {share:.2g} % of the relevant features' variation lies within groups",
                fontsize=11,
            )
        most = max((n for _, n in found.values()), default=0)
        axes[-1].set_xlabel(
            "feature; the 30 relevant ones in groups of three (by chance 69 % of their variation would "
            f"lie within); means over {most} training parts of the first data set"
        )
        figure.supylabel("average posterior variance", fontsize=10, color=MUTED)
    save_figure(figure, path)


def report_correlated(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``synthetic-correlated`` up."""
    shown = [row for row in rows if row.get("error") is not None]
    lines = table_lines(averaged(row for row in shown if row["model"] not in OPTIMA))
    caption = (
        "Random linear-chain CRFs whose 30 relevant features are ten values in three copies each, "
        "N(0, 0.05²) apart (MEDN Fig. 4 to 6, L1-M3N Fig. 2 and 3, LapM3N Fig. 3): "
        f"{n_units(shown)} data sets of 1,000 sequences, cut into K parts of which one trains and the "
        "others test, for K from 20 to 4.  Constants are chosen once for each K on a further data set."
        f"{CHOICE[scale]}  "
        "*Sub-gradient*: C = 200 beta, steps 1/(2 beta sqrt(t)), 20 passes (the papers do not say how "
        "many), beta from 1 to 60, lam from 9 to 64; all other models are trained to their optima, "
        "LapMEDN with C = 1.  Each data set has a random CRF of its own, as in MEDN and L1-M3N; those "
        "of LapM3N are ten of one CRF.  Left, mean errors, on an axis that does not begin at 0; right, "
        "errors of M3N on the same data subtracted, with 95 % intervals of the mean over data sets.  "
        "Grey: the generating model's own error."
    )
    report = _report(shown, lines, (), caption)
    extra = [
        text for text in (_at_optimum(shown), _weights_note(shown), _variances_note(shown)) if text
    ]
    filled = "\n\n".join(textwrap.fill(text, 100, break_on_hyphens=False) for text in extra)
    return replace(
        report,
        caption=report.caption + ("\n" + filled + "\n" if filled else ""),
        captions={"weights": _about_weights(shown), "variances": _about_variances(shown)},
    )


def _about_weights(rows: Sequence[dict[str, Any]]) -> str:
    """Say what the figure of average weights shows."""
    found = average_weights(rows)
    if not found:
        return "No model has weights for this figure yet."
    sizes = {
        name: f"{name} ±{_size(np.abs(weights).max())}" for name, (weights, _) in found.items()
    }
    early = [sizes.pop(name) for name in STOPPED if name in sizes]
    others = ", ".join(sizes.values())
    scale = f"Each panel has a scale of its own; weights reach to {others}."
    if early:
        scale += (
            f"  {' and '.join(early)} are what C = 200 beta and stopping after 20 passes make of the "
            "scale: it is the shapes that are to be compared."
        )
    return (
        f"Weights of the {2 * N_FEATURES} state feature functions, the two of a feature side by side, "
        f"the {2 * N_RELEVANT} of relevant features shaded (MEDN Fig. 5, L1-M3N Fig. 3): first the "
        "CRF that has generated the first data set, then each model's weights, averaged over "
        f"{_parts(found)} of this data set.  {scale}"
    )


def _about_variances(rows: Sequence[dict[str, Any]]) -> str:
    """Say what the figure of average variances shows."""
    found = average_of(rows, "variances")
    if not found:
        return "No model has variances for this figure yet."
    return (
        f"Posterior variances of the weights of the {N_FEATURES} features with the Laplace prior, one "
        "diamond each, as the two weights of a feature have the same (MEDN Fig. 6): averages over "
        f"{_parts(found)} of the first data set, on logarithmic scales of their own.  Left of the "
        f"dotted line the {N_RELEVANT} relevant features, the three copies of a value joined by a "
        "line and every other group shaded.  A title says how much of the variation among these "
        "features' log variances lies within groups; by chance it would be 69 %."
    )


def _parts(found: dict[str, tuple[np.ndarray, int]]) -> str:
    most = max(n for _, n in found.values())
    return f"{most} training parts of 100 sequences" if most > 1 else "one part of 100 sequences"


def _size(value: float) -> str:
    """Write the size of a weight, however large it is, with two digits."""
    if value < 1e4:
        return f"{float(f'{value:.2g}'):g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa} · 10^{int(exponent)}"


def _at_optimum(rows: Sequence[dict[str, Any]]) -> str:
    """Compare what stops early with the optimum of the same program, on the same training sets."""
    errors = {(row["model"], row["data"], row["fold"]): row["error"] for row in rows}
    parts = []
    for early, optimum in zip(STOPPED, OPTIMA, strict=True):
        pairs = [
            (errors[early, data, fold], error)
            for (model, data, fold), error in errors.items()
            if model == optimum and (early, data, fold) in errors
        ]
        if pairs:
            first, second = 100 * np.mean(pairs, axis=0)
            name = early.removesuffix(" sub-gradient")
            parts.append(f"{name} {first:.1f} % stopped early, {second:.1f} % at its optimum")
    if not parts:
        return ""
    n = sum(row["model"] == OPTIMA[0] for row in rows)
    return (
        f"The same constants, C = 200 beta, on {n} training sets of 100 sequences, stopped early or "
        f"not: {'; '.join(parts)}."
    )


def _weights_note(rows: Sequence[dict[str, Any]]) -> str:
    parts = []
    for name, (weights, _) in average_weights(rows).items():
        sizes = np.abs(weights)
        relevant, other = sizes[: 2 * N_RELEVANT].mean(), sizes[2 * N_RELEVANT :].mean()
        parts.append(f"{name} {other / relevant:.2f}")
    if not parts:
        return ""
    return (
        "Weights (synthetic-correlated-weights): mean size of the 140 irrelevant state features' "
        f"average weights, as a share of that of the 60 relevant ones: {', '.join(parts)}."
    )


def _variances_note(rows: Sequence[dict[str, Any]]) -> str:
    parts = [f"{k} {within_groups(v):.2f}" for k, (v, _) in average_of(rows, "variances").items()]
    if not parts:
        return ""
    return (
        "Variances (synthetic-correlated-variances): share of the variation among the 30 relevant "
        f"features' log variances that lies within groups, 0.69 by chance: {', '.join(parts)}."
    )


# ---------------------------------------------------------------------------------------------
# both


def _draw_pair(axes: Sequence[Any], rows: Sequence[dict[str, Any]]) -> None:
    """Draw mean errors, and what is left of them after those of M3N on the same data."""
    rows = sorted(rows, key=lambda row: place(row["model"]))
    means = [replace(c, n=np.ones_like(c.n)) for c in curves(rows)]
    draw_errors(axes[0], means, unit="sequences")
    axes[0].get_legend().remove()
    truth = [{**row, "model": "generating model", "error": row["truth_error"]} for row in rows]
    for curve in curves(truth):
        axes[0].plot(
            curve.x, curve.mean, color=MUTED, linewidth=4, alpha=0.5, label="generating model"
        )
    draw_grouped_errors(
        axes[1],
        [with_intervals(curve) for curve in curves_less(rows, REFERENCE)],
        unit="sequences",
        reference=REFERENCE,
    )


def _begin_near(ax: Any) -> None:
    """Let an axis of errors begin just below the smallest one, so that close curves come apart."""
    low, high = ax.dataLim.intervaly
    if not high > low:  # nothing is drawn yet
        return
    bottom = math.floor(100 * (low - 0.05 * (high - low))) / 100
    ax.set_ylim(max(bottom, 0), high + 0.04 * (high - low))


def _finish(figure: Any, axes: np.ndarray, note: str) -> None:
    handles: dict[str, Any] = {}
    for ax in axes.flat:
        found, names = ax.get_legend_handles_labels()
        handles = dict(zip(names, found, strict=True)) | handles
        ax.label_outer() if axes.shape[0] > 1 and ax not in axes[-1] else None
    names = sorted(handles, key=place)
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside upper center",
        ncols=min(
            len(names), 5, int(figure.get_figwidth() / 2.2)
        ),  # a column is as wide as 2.2 inches
    )
    figure.supxlabel(note, fontsize=10, color=INK)


def _repetitions(rows: Sequence[dict[str, Any]], what: str) -> str:
    n = n_units(rows)
    if n == 1:
        return f"one repetition only; at paper scale 10 {what}"
    return f"means over {n} {what}; bars: 95 % intervals of the mean difference"


_COLUMNS = (
    "n_train", "model", "units", "error", "interval", "to_m3n", "to_m3n_interval", "constants",
)  # fmt: skip


def _report(
    rows: Sequence[dict[str, Any]],
    lines: list[dict[str, Any]],
    settings: tuple[str, ...],
    caption: str,
) -> Report:
    def cell(line: dict[str, Any], value: str, half: str) -> str:
        if line.get(value) is None:
            return "–"
        spread = "" if line.get(half) is None else f" ± {100 * line[half]:.1f}"
        return (
            f"{100 * line[value]:+.1f}{spread}"
            if value != "error"
            else f"{100 * line[value]:.1f}{spread}"
        )

    def table(make: Callable[..., str], **options: Any) -> str:
        sizes = sorted({line["n_train"] for line in lines})
        head = [*settings, "model", *(f"{n}" for n in sizes)]
        body: dict[tuple[str, ...], dict[int, str]] = {}
        for line in lines:
            key = (*(str(line[name]) for name in settings), line["model"])
            body.setdefault(key, {})[line["n_train"]] = cell(line, "error", "interval")
        return make(
            head, [[*k, *(v.get(n, "–") for n in sizes)] for k, v in body.items()], **options
        )

    n_left = len(settings) + 1
    n_sizes = len({line["n_train"] for line in lines})
    text = (
        table(text_table, right=range(n_left, n_left + n_sizes))
        + "\n\nTest errors in % of labels, with 95 % intervals of the mean, by number of training "
        "sequences."
    )
    findings = " ".join([*_findings(lines, settings), _truth_note(rows)])
    parts = [textwrap.fill(part, 100, break_on_hyphens=False) for part in (caption, findings)]
    return Report(
        (*settings, *_COLUMNS),
        lines,
        text,
        f"{parts[0]}\n\n{parts[1]}\n\n{table(markdown_table)}",
    )


def _findings(lines: Sequence[dict[str, Any]], settings: tuple[str, ...]) -> list[str]:
    """Say who errs least where, and who surely errs less than M3N."""
    best: Counter[str] = Counter()
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in lines:
        cells.setdefault((*(line[name] for name in settings), line["n_train"]), []).append(line)
    for group in cells.values():
        best[min(group, key=lambda line: line["error"])["model"]] += 1
    said = ", ".join(f"{name} in {n}" for name, n in best.most_common())
    texts = [f"Smallest mean error in {len(cells)} settings: {said}."]
    sure = Counter(
        line["model"]
        for line in lines
        if line.get("to_m3n_interval") is not None and line["to_m3n"] + line["to_m3n_interval"] < 0
    )
    if any(line.get("to_m3n_interval") is not None for line in lines):
        said = ", ".join(f"{name} in {n}" for name, n in sure.most_common()) or "none"
        texts.append(f"Surely less than M3N (interval below 0): {said}.")
    return texts


def _truth_note(rows: Sequence[dict[str, Any]]) -> str:
    labels = np.mean([row["truth_error"] for row in rows])
    sequences = np.mean([row["truth_sequences"] for row in rows])
    return (
        f"The generating model itself errs on {100 * labels:.1f} % of the test labels, and in "
        f"{100 * sequences:.0f} % of the sequences somewhere; the papers speak of about 0.5."
    )
