"""The study ``predictors``: what a posterior is good for, and the papers' explanations put to a test.

How it works, and what the papers leave open, stands at the head of ``predictors.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
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
    N_POINTS,
    choices_text,
    fair_grids,
    grids_text,
    split_and_validate,
)
from medn_edu.studies.kit.figures import draw_against_constant
from medn_edu.studies.kit.selection import CHOICE
from medn_edu.studies.kit.specs import Report, Row, Study
from medn_edu.studies.kit.summary import (
    MISSING,
    constant,
    crossed,
    curve,
    differences,
    groups,
    mean,
    mean_of,
    numbers,
    plus_minus,
    values,
    with_intervals,
)
from medn_edu.studies.kit.texts import Texts, listed, paragraphs
from medn_edu.studies.posterior import L1_CONSTANT, N_DRAWS
from medn_edu.studies.predictors_fits import (
    ARGMAX,
    CHOSEN,
    CONSTANTS,
    CORRELATED,
    FLIPPED,
    IID,
    LOSSES,
    MEASURED,
    N_BINS,
    OCR,
    PARTS,
    POSTERIORS,
    PREDICTORS,
    RANGES,
    THRESHOLDED,
    VARIANCES,
    Fits,
    measure,
    models_of,
    specs,
    split_of,
)

# -- figures --------------------------------------------------------------------------------------

TITLES = {IID: "chains", CORRELATED: "chains, features in groups", OCR: "OCR100"}
"""What figures call the data."""

_COLOURS = {
    IID: palette.BLUE, CORRELATED: palette.GREEN, OCR: palette.VERMILION, PARTS: palette.GREEN,
}  # fmt: skip
_MARKERS = {IID: "o", CORRELATED: "s", OCR: "D", PARTS: "s"}
_SHOWN = (*PREDICTORS, "L1-M3N")
_CALIBRATED = ("L2-CRF", "L1-CRF", "epsilon = 1", "epsilon = 0.5", "epsilon = 0.1")
_TEMPERATURES = dict(
    zip(
        LOSSES,
        (
            (palette.BROWN, "p", "-"),
            (palette.GREEN, "D", "-."),
            (palette.BLUE, "o", ":"),
            (palette.INDIGO, ">", (0, (4, 1, 1, 1))),
        ),
        strict=True,
    )
)
_ALONG = ("L2-CRF", *LOSSES, "M3N")  # from the log-loss to the hinge loss
_SPARSE = ("L1-CRF", "L1-M3N")  # the same two losses with the other penalty

Found = dict[tuple[str, str], list[Row]]


def _by(rows: Iterable[Row]) -> Found:
    """Return the rows of each model on each kind of data."""
    return groups((row for row in rows if row.get("error") is not None), "data", "model")


def _style(model: str) -> dict[str, Any]:
    if model in _TEMPERATURES:
        colour, marker, line = _TEMPERATURES[model]
        return {"color": colour, "marker": marker, "linestyle": line}
    base = model.partition(" ")[0]
    return series_style(base if base in POSTERIORS else model)


def _percent(ax: Axes, axis: str) -> None:
    getattr(ax, f"{axis}axis").set_major_formatter(lambda value, _: f"{100 * value:.3g} %")


def _bar(found: Sequence[Row], column: str = "error") -> tuple[float, float]:
    """Return the mean of a column, and half its interval, which one fit has not."""
    average = mean_of(values(found, column))
    return average.value, average.half or 0.0


def _draw_posterior(rows: Sequence[Row], path: Path) -> None:
    """Draw predictors of posteriors, how marginals are calibrated, and M3N's draws by their width."""
    of = _by(rows)
    figure = new_figure(13, 7.6)
    with styled():
        axes = figure.subplots(2, 3)
        for line, data in zip(axes, (IID, OCR), strict=True):
            _draw_predictors(line[0], of, data)
            _draw_reliability(line[1], of, data)
            _draw_widths(line[2], of, data)
        letter_panels(axes.flat)
        label_ends(*axes[:, 1])
    save_figure(figure, path)


def _draw_predictors(ax: Axes, of: Found, data: str) -> None:
    names = [name for name in _SHOWN if (data, name) in of]
    for place, name in enumerate(names):
        mean, half = _bar(of[data, name])
        style = {**_style(name), "linestyle": "none"}
        ax.errorbar(mean, place, xerr=half, capsize=2, markersize=6, **style)
        ax.annotate(
            f"{100 * mean:.1f}", (mean + half, place), (5, 0), textcoords="offset points",
            va="center", fontsize=9, color=INK,
        )  # fmt: skip
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12 * max(sum(_bar(of[data, name])) for name in names))
    _percent(ax, "x")
    ax.set_xlabel("test error (% of labels)")
    ax.set_title(f"Predictors of a posterior: {TITLES[data]}")
    ax.grid(axis="x")


def _draw_reliability(ax: Axes, of: Found, data: str) -> None:
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=":")
    for name in _CALIBRATED:
        count, sums, hits = reliability(of.get((data, name), []))
        some = count >= 0.005 * max(count.sum(), 1)  # in others chance decides
        confidence, right = sums[some] / count[some], hits[some] / count[some]
        ax.plot(confidence, right, label=name, markersize=4, **{**_style(name), "linewidth": 1.4})
    ax.set_xlim(0.45 if data == IID else 0, 1.01)
    ax.set_ylim(0.3 if data == IID else 0, 1.01)
    _percent(ax, "x")
    _percent(ax, "y")
    ax.set_xlabel("probability of the most probable label")
    ax.set_ylabel("how often it is right")
    ax.set_title(f"Calibration: {TITLES[data]}")
    ax.grid(axis="both")


def reliability(rows: Iterable[Row]) -> np.ndarray:
    """Return nodes, sums of confidence and right nodes in each bin, over all rows, shape (3, bins)."""
    found = [numbers(row["bins"]).reshape(3, N_BINS) for row in rows]
    return np.sum(found, axis=0) if found else np.zeros((3, N_BINS))


def _draw_widths(ax: Axes, of: Found, data: str) -> None:
    line = curve(
        "M3N", of[f"{data}{CONSTANTS}", "M3N Gibbs"], lambda row: constant(row, "variance")
    )
    draw_against_constant(
        ax, [with_intervals(line)], label="variance of the prior, C times it fixed", share=True
    )
    mean, _ = _bar(of[data, "M3N mean"])
    ax.axhline(mean, color=MUTED, linewidth=1)
    ax.annotate("mean", (1, mean), (-4, 4), textcoords="offset points", ha="right", color=MUTED)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("test error (% of labels)")
    ax.set_title(f"Gibbs draws of M3N: {TITLES[data]}")


def _draw_explanations(rows: Sequence[Row], path: Path) -> None:
    """Draw a panel for each explanation: losses, labels, outliers, what L1-CRF discards, thresholds."""
    of = _by(rows)
    figure = new_figure(13, 8)
    with styled():
        upper, lower = axes = figure.subplots(2, 3)
        _draw_losses(upper[0], of)
        _draw_labels(upper[1], of, "plotted_cosine")
        _draw_labels(upper[2], of, "error")
        _draw_flips(lower[0], of)
        _draw_discarded(lower[1], of)
        _draw_thresholds(lower[2], of)
        letter_panels(axes.flat)
        label_ends(lower[0])
    save_figure(figure, path)


def _draw_losses(ax: Axes, of: Found) -> None:
    """Draw errors less that of L2-CRF on the same data, loss by loss, and with the other penalty."""
    places = {name: float(k) for k, name in enumerate(_ALONG)}
    places |= {name: len(_ALONG) + 0.6 + k for k, name in enumerate(_SPARSE)}
    for k, data in enumerate(TITLES):
        for part in (_ALONG, _SPARSE):
            names = [name for name in part if (data, name) in of]
            means = [mean_of(differences(of[data, name], of[data, "L2-CRF"])) for name in names]
            ax.errorbar(
                [places[name] + 0.1 * (k - 1) for name in names],
                [100 * mean.value for mean in means],
                yerr=[100 * (mean.half or 0.0) for mean in means],
                color=_COLOURS[data], marker=_MARKERS[data], markersize=5, elinewidth=1.2,
                label=TITLES[data] if part is _ALONG else None,
            )  # fmt: skip
    ax.axhline(0, color=INK, linewidth=1, zorder=0.5)
    ax.set_xticks(list(places.values()), list(places), rotation=40, ha="right")
    ax.set_ylabel("difference from L2-CRF (percentage points)")
    ax.set_title("Only the losses differ?")
    ax.grid(axis="y")
    ax.legend(loc="best")


def _draw_labels(ax: Axes, of: Found, column: str) -> None:
    """Draw what models learn from drawn labels, and from the generating model's own best labels."""
    for k, data in enumerate((IID, CORRELATED)):
        for ending, face in (("", _COLOURS[data]), (ARGMAX, "white")):
            names = [name for name in CHOSEN if (f"{data}{ending}", name) in of]
            bars = [_bar(of[f"{data}{ending}", name], column) for name in names]
            ax.errorbar(
                [CHOSEN.index(name) + 0.16 * (k - 0.5) for name in names],
                [mean for mean, _ in bars], yerr=[half for _, half in bars], linestyle="none",
                color=_COLOURS[data], marker=_MARKERS[data], markerfacecolor=face, elinewidth=1.2,
                label=f"{TITLES[data]}, {'best' if ending else 'drawn'} labels",
            )  # fmt: skip
        if column == "plotted_cosine" and (data, "M3N") in of:
            limit, _ = _bar(of[data, "M3N"], "reachable_cosine")
            ax.axhline(limit, color=_COLOURS[data], linewidth=1, linestyle=":")
    ax.set_xticks(range(len(CHOSEN)), CHOSEN, rotation=40, ha="right")
    ax.grid(axis="y")
    ax.set_ylim(bottom=0)
    if column == "error":
        _percent(ax, "y")
        ax.set_ylabel("test error (% of labels)")
        ax.set_title("Labels without chance: errors")
    else:
        ax.set_ylabel("cosine to the generating weights")
        ax.set_title("Labels without chance: weights")
        ax.legend(loc="lower left")


def _draw_flips(ax: Axes, of: Found) -> None:
    for k, name in enumerate(CHOSEN):
        shares = [
            share
            for share in (0, *FLIPPED)
            if (f"{IID}-flipped-{share}" if share else IID, name) in of
        ]
        bars = [_bar(of[f"{IID}-flipped-{share}" if share else IID, name]) for share in shares]
        ax.errorbar(
            [share + 0.25 * (k - 2) for share in shares], [mean for mean, _ in bars],
            yerr=[half for _, half in bars], label=name, elinewidth=1.2, **_style(name),
        )  # fmt: skip
    ax.set_xticks((0, *FLIPPED))
    _percent(ax, "y")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("flipped training labels (%)")
    ax.set_ylabel("error on clean test labels")
    ax.set_title(f"Outliers: {TITLES[IID]}")
    ax.grid(axis="y")


def _draw_discarded(ax: Axes, of: Found) -> None:
    """Draw the error of L1-CRF against how many irrelevant weights are left along its constant."""
    for data in (IID, PARTS):
        some = of.get((f"{data}{CONSTANTS}", "L1-CRF"), [])
        found = groups(some, lambda row: constant(row, "lam"), order=lambda lam: -lam)
        left = [_bar(group, "n_irrelevant")[0] for group in found.values()]
        errors = [_bar(group)[0] for group in found.values()]
        ax.plot(
            left, errors, color=_COLOURS[data], marker=_MARKERS[data], markersize=4,
            label="10 of 100 relevant" if data == IID else "30 of 100 relevant, in groups",
        )  # fmt: skip
    _percent(ax, "y")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("weights left of irrelevant features")
    ax.set_ylabel("test error (% of labels)")
    ax.set_title("What L1-CRF discards")
    ax.grid(axis="both")
    ax.legend(loc="upper right")


def _draw_thresholds(ax: Axes, of: Found) -> None:
    data = f"{OCR}{CONSTANTS}"
    lines = [
        with_intervals(curve(name, of[data, name], lambda row: constant(row, "lam")))
        for name in ("LapMEDN", f"LapMEDN {THRESHOLDED}")
        if (data, name) in of
    ]
    draw_against_constant(ax, lines, label="lam of LapMEDN (C = 1)", share=True)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("test error (% of labels)")
    ax.set_title(f"Few of the mean's weights: {TITLES[OCR]}")
    ax.legend(loc="lower right")


# -- the report -----------------------------------------------------------------------------------

_TEXTS = Texts("predictors.md")
_AVERAGED = (
    "error", "train_error", "n_nonzero", "ece", "log_loss", "truth_error", "truth_cosine",
    "plotted_cosine", "reachable_cosine", "n_relevant", "n_irrelevant",
)  # fmt: skip
_SUMMARY = ("data", "model", "n", "half", *_AVERAGED)


def _report(rows: Sequence[Row], scale: str) -> Report:
    of = _by(rows)
    order = (*CHOSEN, *LOSSES, *PREDICTORS)
    lines = [
        {
            "data": data,
            "model": model,
            "n": len(found),
            "half": mean_of(values(found, "error")).half,
            **{name: mean(found, name) for name in _AVERAGED},
        }
        for (data, model), found in sorted(of.items(), key=lambda item: order.index(item[0][1]))
        if not data.endswith(CONSTANTS)
    ]
    errors = crossed(lines, ("model",), "data", _line_text)
    probable = [line for line in lines if line["ece"] is not None and line["data"] in TITLES]
    calibrated = crossed(
        probable,
        ("model",),
        "data",
        lambda line: _calibration_text(of[line["data"], line["model"]]),
    )
    said = {
        f"{short}_{how.lower()}": _error_text(of[IID, f"{base} {how}"])
        for short, base in (("lap", "LapMEDN"), ("m3n", "M3N"))
        for how in ("mean", "Gibbs")
    }
    caption = paragraphs(
        _TEXTS(
            "caption",
            crfs=_repeated(of[IID, "M3N"], "random CRF"),
            folds=_repeated(of[OCR, "M3N"], "fold"),
            n_draws=N_DRAWS,
            widest=VARIANCES[0],
            narrowest=VARIANCES[-1],
            best_chains=_calibrated_best(of, IID),
            best_letters=_calibrated_best(of, OCR),
            **said,
        ),
        _TEXTS(
            "choice",
            n_points=N_POINTS,
            grids="  ".join(
                f"Grids on {title}: {grids_text(fair_grids(RANGES[data], CHOSEN))}."
                for data, title in TITLES.items()
            ),
            ends=choices_text(rows),
            choice=CHOICE[scale],
        ),
    )
    heads = _TEXTS("predictors"), _TEXTS("calibration")
    parts = [caption, heads[0], errors.markdown(), heads[1], calibrated.markdown()]
    text = f"{errors.text()}\n\n{heads[1]}\n\n{calibrated.text()}"
    captions = {"explanations": _explanations(of)}
    return Report(_SUMMARY, lines, text, "\n\n".join(parts), captions)


def _calibrated_best(of: Found, data: str) -> str:
    """Return the model with the smallest expected calibration error, and that."""
    errors = {name: mean(of[data, name], "ece") for name in _CALIBRATED if (data, name) in of}
    best = min(errors, key=lambda name: errors[name] or 0.0)
    return f"{best} ({100 * (errors[best] or 0.0):.1f} points)"


def _repeated(found: Sequence[Row], what: str) -> str:
    return f"{len(found)} {what}{'s' * (len(found) > 1)}"


def _line_text(line: Mapping[str, Any]) -> str:
    return plus_minus(line["error"], line["half"], ".1f", times=100)


def _error_text(found: Sequence[Row]) -> str:
    error = mean(found, "error")
    return MISSING if error is None else f"{100 * error:.1f} %"


def _calibration_text(found: Sequence[Row]) -> str:
    ece, loss = (mean_of(values(found, name)) for name in ("ece", "log_loss"))
    first = plus_minus(ece.value, ece.half, ".1f", times=100)
    return f"{first}; {plus_minus(loss.value, loss.half, '.2f')}"


def _change(of: Found, first: tuple[str, str], second: tuple[str, str]) -> str:
    """Return by how many points the second errs more than the first, fold by fold."""
    less = mean_of(differences(of.get(second, []), of.get(first, []), by=("fold",)))
    return plus_minus(less.value, less.half, ".1f", times=100, sign="+")


def _explanations(of: Found) -> str:
    """Return the caption of the explanations, with what came out."""
    cosines = {
        ending: listed(
            [
                f"{_bar(of[f'{data}{ending}', 'M3N'], 'plotted_cosine')[0]:.2f}"
                for data in (IID, CORRELATED)
            ]
        )
        for ending in ("", ARGMAX)
    }
    rise = {
        name: _change(of, (IID, name), (f"{IID}-flipped-{FLIPPED[-1]}", name)) for name in _SPARSE
    }
    along = of.get((f"{OCR}{CONSTANTS}", "LapMEDN"), [])
    return _TEXTS(
        "explanations",
        losses=_on_all(of, "L2-CRF", "M3N"),
        penalties=_on_all(of, "L2-CRF", "L1-CRF"),
        drawn_cosine=cosines[""],
        best_cosine=cosines[ARGMAX],
        truth=listed(
            [f"{100 * _bar(of[data, 'M3N'], 'truth_error')[0]:.1f} %" for data in (IID, CORRELATED)]
        ),
        l1_m3n_rise=rise["L1-M3N"],
        l1_crf_rise=rise["L1-CRF"],
        crfs=_repeated(of[IID, "M3N"], "random CRF"),
        folds=_repeated(of[OCR, "M3N"], "fold"),
        l1_lams=_lams_text(of[f"{IID}{CONSTANTS}", "L1-CRF"]),
        medn_lams=_lams_text(along),
        sparse_C=L1_CONSTANT,
        discarded="  ".join(_discarded(of, data) for data in (IID, PARTS)),
        mean_range=_range(along),
        few_range=_range(of.get((f"{OCR}{CONSTANTS}", f"LapMEDN {THRESHOLDED}"), [])),
    )


def _lams_text(found: Sequence[Row]) -> str:
    lams = sorted(values(found, lambda row: constant(row, "lam")))
    return f"{len(set(lams))} lam from {lams[0]:g} to {lams[-1]:g}" if lams else MISSING


def _on_all(of: Found, first: str, second: str) -> str:
    return listed(
        [
            f"{_change(of, (data, first), (data, second))} ({title})"
            for data, title in TITLES.items()
        ]
    )


def _discarded(of: Found, data: str) -> str:
    """Say what the weakest penalty errs that leaves no irrelevant weight, next to the best one."""
    found = groups(of[f"{data}{CONSTANTS}", "L1-CRF"], lambda row: constant(row, "lam"))
    clean = [lam for lam, some in found.items() if not values(some, "n_irrelevant").any()]
    where = "10 relevant features" if data == IID else "30 relevant features in groups"
    if not clean:
        return _TEXTS("never-discarded", data=where)
    error, best = found[min(clean)], min(found.values(), key=lambda some: _bar(some)[0])
    return _TEXTS("discarded", error=_error_text(error), best=_error_text(best), data=where)


def _range(found: Sequence[Row]) -> str:
    """Return by how much mean errors differ along a constant, in points."""
    means = [_bar(some)[0] for some in groups(found, "parameters").values()]
    return f"{100 * (max(means) - min(means)):.1f}" if means else MISSING


PREDICTORS_STUDY = Study(
    "predictors",
    "predictions of a posterior; explanations",
    fits=specs,
    fit=Fits(split_and_validate(split_of), models_of(IID), measure, MEASURED),
    draw=_draw_posterior,
    report=_report,
    duration="quick 20 s, paper 13 min",
    more_figures={"explanations": _draw_explanations},
    place=15,
)
"""The study."""
