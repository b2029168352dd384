"""The study ``synthetic-correlated``: random CRFs whose relevant features come in groups.

How it works, and what the paper leaves open, stands at the head of ``synthetic_correlated.md``.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets import make_chain_crf
from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import (
    INK,
    MUTED,
    new_figure,
    save_figure,
    series_style,
    styled,
)
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    COMPARED,
    FAIR_MODELS,
    SIX_LAM,
    Ranges,
    choices_text,
    choosing,
    ends_text,
    fair_grids,
    fair_models,
    grids_text,
    measure_choice,
    once,
    six_lam_crfs,
    split_and_validate,
)
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE, TRIED, Grid, Selected, paths_of
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import FOLDS, correlated_split
from medn_edu.studies.kit.summary import groups, matrix, mean_of, numbers_text, values
from medn_edu.studies.kit.texts import Texts, counted, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.stopped import ENDLESS, MEAN, PASSES, printed_models, stopped_name
from medn_edu.studies.synthetic_iid import (
    draw_pair,
    finish,
    measure_truth,
    n_units,
    place,
    report_errors,
    table_lines,
)

_TEXTS = Texts("synthetic_correlated.md")
_PARTS = (20, 10, 7, 5, 4)
_SHOWN = "correlated-10-0"  # whose weights are kept, for MEDN Fig. 5 and 6
_N_RELEVANT, _GROUP = 30, 3  # relevant features, and how many of these copy one value

RANGES = Ranges(l2_crf=(100, 0.1), l1_crf=(50, 0.5), m3n=(3e-4, 1), l1_m3n=(0.003, 0.3))
"""Constants of the fair protocol, before paths are extended."""

_BETAS = (60.0, 50.0, 40.0, 30.0, 20.0, 10.0, 1.0)
_STOPPED: dict[str, Grid] = {
    "M3N": (("beta", _BETAS),),
    "LapMEDN": (("lam", (64.0, 49.0, 36.0, 25.0, 16.0, 9.0)), ("beta", _BETAS)),
}
_CHOOSING = 20  # passes at which the papers' constants are chosen
_READ = {base: printed_models(base) for base in _STOPPED}
_FIRST = tuple(f"{base} {_CHOOSING} passes{ending}" for base in _STOPPED for ending in ("", MEAN))
_EARLY = _FIRST[::2]  # with C as the price of the sum
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_N_READ = 4  # parts that train the papers' readings, but for those of `_SHOWN`, which all do


def _models() -> dict[str, Model]:
    models = {
        name: once(name, FAIR_MODELS[name], model) for name, model in fair_models(RANGES).items()
    }
    for base, readings in _READ.items():
        for name, model in readings.items():
            build = partial(Selected, name, paths_of(_STOPPED[base]), readings, tol=ENDLESS)
            models[name] = once(name, model, Model(name, build, model.summary))
    return models | six_lam_crfs()


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    parts, numbers = ((10,), range(1)) if quick else (_PARTS, FOLDS)
    # At quick scale the 42 pairs of constants of sub-gradient LapMEDN would take long.
    read = {
        name: base for base in _STOPPED for name in _READ[base] if not (quick and base != "M3N")
    }
    specs = []
    for number, n_parts in itertools.product(numbers, parts):
        data = f"correlated-{n_parts}-{number}"

        def first(name: str, data: str = data, n_parts: int = n_parts) -> FitSpec:
            return FitSpec(data, 0, name, choosing(name, -(-1000 // n_parts), scale), seed)

        def later(name: str, fold: int, by: str, data: str = data) -> FitSpec:
            return FitSpec(data, fold, name, (), seed, "" if by == "CRF" else first(by).key)

        folds = range(1, 2 if quick else n_parts)
        specs += [first(name) for name in (*COMPARED, *(name for name in _FIRST if name in read))]
        specs += [later(name, fold, name) for name in COMPARED for fold in folds]
        for name, base in read.items():
            if name == stopped_name(base, None):
                continue  # too far away; see synthetic_correlated.md
            by = f"{base} {_CHOOSING} passes{MEAN if name.endswith(MEAN) else ''}"
            n_trained = 1 if "optimum" in name else _N_READ
            trained = [0, *folds] if data == _SHOWN else [0, *folds][:n_trained]
            specs += [later(name, fold, by) for fold in trained if (name, fold) != (by, 0)]
        parts_read = [0, *folds] if data == _SHOWN else [0, *folds][:_N_READ]
        specs += [
            FitSpec(data, k, name, TRIED[scale], seed) for k in parts_read for name in SIX_LAM
        ]
    return specs


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    found = measure_choice(spec, model)
    if spec.data == _SHOWN:
        found["weights"] = numbers_text(model.coef_)
        if "LapMEDN" in spec.model and model.result_.variance is not None:
            # one for each feature: those of its two labels agree
            variances = model.posterior_variance_[: model.coef_.size]
            found["variances"] = numbers_text(variances.reshape(model.coef_.shape).mean(axis=0))
    return found | measure_truth(spec)


def _averaged(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average the parts of a data set, whose number then is the fold."""
    known = [row for row in rows if row.get("error") is not None]
    return [
        {
            **group[0],
            "data": data.rpartition("-")[0],
            "fold": int(data.rpartition("-")[2]),
            "n_train": round(float(values(group, "n_train").mean())),
            "error": float(values(group, "error").mean()),
            "truth_error": float(values(group, "truth_error").mean()),
        }
        for (data, _), group in groups(known, "data", "model").items()
    ]


def average_weights(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[np.ndarray, int]]:
    """Return each model's weights of state features, averaged over the parts that train."""
    return {
        name: (weights.reshape(2, -1).T.ravel(), n)
        for name, (weights, n) in _average_of(rows, "weights").items()
    }


def true_weights(rows: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return the generating model's weights of the first data set, in the order of `average_weights`."""
    seed = 1000 * int(rows[0].get("seed") or 0)
    bunch = make_chain_crf(n_samples=1, correlated=True, n_sweeps=1, random_state=seed)
    return bunch.coef.T.ravel()


def _average_of(rows: Iterable[dict[str, Any]], column: str) -> dict[str, tuple[np.ndarray, int]]:
    """Average numbers that rows hold as text, over the fits of each model; with their number."""
    shown = (*COMPARED, *_EARLY)
    known = [row for row in rows if row.get(column) and row["model"] in shown]
    return {
        name: (matrix(group, column).mean(axis=0), len(group))
        for name, group in groups(known, "model", order=place).items()
    }


def _within_groups(variances: np.ndarray) -> float:
    """Return the share of the variation of log variances that lies within groups.

    By chance it would be 0.69, as 20 of 29 degrees of freedom are within groups.
    """
    values = np.log(variances[:_N_RELEVANT]).reshape(-1, _GROUP)
    inside = np.sum((values - values.mean(axis=1, keepdims=True)) ** 2)
    return float(inside / np.sum((values - values.mean()) ** 2))


def draw_correlated(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 4 and L1-M3N Fig. 2: errors against the number of training sequences."""
    part = _averaged(row for row in rows if row["model"] in COMPARED)
    figure = new_figure(11.5, 4.6)
    with styled():
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
        draw_pair((left, right), part)
        _begin_near(left)
        finish(figure, (left, right), part, "data sets, each the mean over its parts")
        label_ends(left)
    save_figure(figure, path)


def _begin_near(ax: Any) -> None:
    """Let an axis of errors begin just below the smallest one, so that close curves come apart."""
    low, high = ax.dataLim.intervaly
    if not high > low:  # nothing is drawn yet
        return
    bottom = math.floor(100 * (low - 0.05 * (high - low))) / 100
    ax.set_ylim(max(bottom, 0), high + 0.04 * (high - low))


def _draw_weights(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 5 and L1-M3N Fig. 3: the true weights, and the models' average weights."""
    found = average_weights(rows)
    panels = {"generating model": true_weights(rows), **{name: w for name, (w, _) in found.items()}}
    n_rows = -(-len(panels) // 2)
    figure = new_figure(11.5, 1.35 * n_rows + 0.9)
    with styled():
        axes = figure.subplots(n_rows, 2, squeeze=False, sharex=True, sharey=True)
        for ax, (name, weights) in zip(axes.flat, panels.items(), strict=False):
            largest = np.abs(weights).max()
            _draw_stems(ax, weights / (largest or 1))
            ax.set_title(f"{name}, largest weight {_size(largest)}", fontsize=10)
        _name_features(axes[0, 0])
        for ax in axes.flat[len(panels) :]:
            ax.set_axis_off()
        letter_panels(axes.flat[: len(panels)])
        figure.supxlabel(_TEXTS("weights-note", n_parts=_most_parts(found)), fontsize=10, color=INK)
        figure.supylabel("average weight, divided by the largest", fontsize=10, color=INK)
    save_figure(figure, path)


def _draw_stems(ax: Axes, weights: np.ndarray) -> None:
    """Draw each weight as a line from zero, the two of a feature side by side."""
    ax.axvspan(0.25, _N_RELEVANT + 0.75, color=MUTED, alpha=0.12, linewidth=0)
    ax.vlines(0.75 + np.arange(len(weights)) / 2, 0, weights, color=INK, linewidth=1.1)
    ax.axhline(0, color=MUTED, linewidth=0.8)
    ax.set(xlim=(-0.5, len(weights) / 2 + 1.5), ylim=(-1.1, 1.1), yticks=(-1, 0, 1))


def _name_features(ax: Axes) -> None:
    """Say which features are relevant, on an axis that counts features from 1."""
    ax.set_xticks([1, *range(10, 101, 10)])
    said = "← 30 relevant features, 70 irrelevant ones →"
    place = (_N_RELEVANT + 1.5, 0.96)
    ax.annotate(said, place, xycoords=("data", "axes fraction"), fontsize=9, color=MUTED, va="top")


def _draw_variances(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 6: average posterior variances of the features under LapMEDN."""
    found = _average_of(rows, "variances")
    n_panels = max(len(found), 1)
    figure = new_figure(11.5, 2.2 * n_panels + 0.7)
    with styled():
        axes = figure.subplots(n_panels, 1, squeeze=False, sharex=True, sharey=True)[:, 0]
        for ax, (name, (variances, _)) in zip(axes, found.items(), strict=False):
            _draw_diamonds(ax, variances / np.median(variances[_N_RELEVANT:]))
            ax.set_title(f"{name}: {100 * _within_groups(variances):.2g} % within groups")
        _name_features(axes[0])
        letter_panels(axes)
        axes[-1].set_xlabel(_TEXTS("variances-note", n_parts=_most_parts(found)))
        figure.supylabel(
            "posterior variance, divided by the irrelevant features' median", fontsize=10, color=INK
        )
    save_figure(figure, path)


def _draw_diamonds(ax: Axes, variances: np.ndarray) -> None:
    """Draw variances on a logarithmic scale, the groups of relevant features joined and shaded."""
    features = np.arange(1, len(variances) + 1)
    for start in range(0, _N_RELEVANT, _GROUP):
        copies = slice(start, start + _GROUP)
        if (start // _GROUP) % 2 == 0:
            ax.axvspan(start + 0.5, start + _GROUP + 0.5, color=MUTED, alpha=0.12, linewidth=0)
        ax.plot(features[copies], variances[copies], color=INK, linewidth=1.2, linestyle="-")
    style = {**series_style("LapMEDN"), "linestyle": "none", "markersize": 4}
    ax.plot(features, variances, **style)
    ax.axvline(_N_RELEVANT + 0.5, color=MUTED, linewidth=1, linestyle=":")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlim(-0.5, len(variances) + 1.5)
    ax.grid(axis="y")


def _most_parts(found: dict[str, tuple[np.ndarray, int]]) -> int:
    return max((n for _, n in found.values()), default=0)


def report_correlated(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``synthetic-correlated`` up."""
    shown = [row for row in rows if row.get("error") is not None]
    means = _averaged(shown)
    lines = table_lines(means)
    fair = [row for row in shown if row["model"] in COMPARED]
    caption = _TEXTS(
        "caption",
        sets=counted(n_units(means), "data set"),
        notice=_notice(lines),
        grids=grids_text(fair_grids(RANGES)),
        choice=CHOICE[scale],
        choices=choices_text(fair),
        ends=ends_text(shown),
    )
    report = report_errors(shown, lines, (), caption)
    more = paragraphs(
        _compare_optima(shown),
        _count_ends(shown),
        _compare_weights(shown),
        _compare_variances(shown),
    )
    return replace(
        report,
        caption=report.caption + (f"\n{more}\n" if more else ""),
        captions={"weights": _about_weights(shown), "variances": _about_variances(shown)},
    )


def _notice(lines: Sequence[dict[str, Any]]) -> str:
    """Say how a lead over M3N changes with the number of sequences, if there are several."""
    by_size = groups(
        [line for line in lines if line["model"] in COMPARED and "to_m3n" in line], "n_train",
        order=lambda n: n,
    )  # fmt: skip
    if len(by_size) < 2:
        return ""
    few, *_, many = by_size
    least = min(by_size[few], key=lambda line: line["to_m3n"])
    later = {line["model"]: line["to_m3n"] for line in by_size[many]}.get(least["model"])
    if later is None:
        return ""
    points = {"first": -100 * least["to_m3n"], "last": -100 * later}
    return _TEXTS("notice", model=least["model"], few=few, many=many, **points)


def _about_weights(rows: Sequence[dict[str, Any]]) -> str:
    """Say what the figure of average weights shows."""
    found = average_weights(rows)
    if not found:
        return _TEXTS("no-weights")
    sizes = {
        name: f"{name} ±{_size(np.abs(weights).max())}" for name, (weights, _) in found.items()
    }
    early = [sizes.pop(name) for name in _EARLY if name in sizes]
    scale = [_TEXTS("scale", others=", ".join(sizes.values()))]
    if early:
        scale.append(_TEXTS("scale-early", early=" and ".join(early)))
    return _TEXTS("weights", parts=_parts_text(found), scale="  ".join(scale))


def _about_variances(rows: Sequence[dict[str, Any]]) -> str:
    """Say what the figure of average variances shows."""
    found = _average_of(rows, "variances")
    return _TEXTS("variances", parts=_parts_text(found)) if found else _TEXTS("no-variances")


def _parts_text(found: dict[str, tuple[np.ndarray, int]]) -> str:
    n = _most_parts(found)
    return _TEXTS("several-parts", n=n) if n > 1 else _TEXTS("one-part")


def _size(value: float) -> str:
    """Write the size of a weight, however large it is, with two digits."""
    if value < 1e4:
        return f"{float(f'{value:.2g}'):g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa} · 10{str(int(exponent)).translate(_RAISED)}"


def _compare_optima(rows: Sequence[dict[str, Any]]) -> str:
    """Compare descent that stops early with its optimum, on the first part of each data set."""
    first = groups([row for row in rows if row["fold"] == 0], "model")
    texts = []
    for base in _READ:
        names = [stopped_name(base, passes) + MEAN for passes in (*PASSES, None)]
        errors = [mean_of(values(first[name], "error")).value for name in names if name in first]
        if len(errors) == len(names):
            early = ", ".join(f"{100 * error:.1f}" for error in errors[:-1])
            at = {
                "at": 100 * errors[-1],
                "gap": 100 * values(first[names[-1]], "relative_gap").max(),
            }
            texts.append(_TEXTS("optimum", model=base, early=early, **at))
    return _TEXTS("optima", models="; ".join(texts)) if texts else ""


def _count_ends(rows: Sequence[dict[str, Any]]) -> str:
    """Say how often the best of the papers' beta was the first or the last of them."""
    chose = groups([row for row in rows if row.get("at_end") is not None], "model")
    counts = {name: values(chose[name], "at_end") for name in _FIRST if name in chose}
    texts = [f"{name} {np.count_nonzero(ends)} of {len(ends)}" for name, ends in counts.items()]
    least, most = _BETAS[-1], _BETAS[0]
    return _TEXTS("beta-ends", least=least, most=most, models="; ".join(texts)) if texts else ""


def _compare_weights(rows: Sequence[dict[str, Any]]) -> str:
    texts = []
    for name, (weights, _) in average_weights(rows).items():
        sizes = np.abs(weights)
        relevant, other = sizes[: 2 * _N_RELEVANT].mean(), sizes[2 * _N_RELEVANT :].mean()
        texts.append(f"{name} {other / relevant:.2f}")
    return _TEXTS("weights-sizes", models=", ".join(texts)) if texts else ""


def _compare_variances(rows: Sequence[dict[str, Any]]) -> str:
    found = _average_of(rows, "variances")
    texts = [f"{name} {_within_groups(variances):.2f}" for name, (variances, _) in found.items()]
    return _TEXTS("variances-within", models=", ".join(texts)) if texts else ""


CORRELATED_STUDY = Study(
    "synthetic-correlated",
    "random CRFs, relevant features in groups",
    fits=_specs,
    fit=Trained(
        split_and_validate(correlated_split),
        models=_models(),
        measure=_measure,
        measured=("truth_error", "truth_sequences", "weights", "variances", *CHOICE_COLUMNS),
    ),
    draw=draw_correlated,
    report=report_correlated,
    duration="quick 8 s, paper 23 min",
    shows="MEDN 4-6",
    more_figures={
        "weights": _draw_weights,
        "variances": _draw_variances,
    },
    place=6,
)
"""The study of features in groups."""
