"""The study ``sensitivity``: test error against each model's constant (MEDN Fig. 9, LapM3N Fig. 5).

How it works, and what the paper leaves open, stands at the head of ``sensitivity.md``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.estimators import CRF, L1M3N, M3N, LaplaceMEDN
from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, series_style, styled
from medn_edu.intervals import deviation
from medn_edu.studies.em import l1_em
from medn_edu.studies.kit.fair import FAIR_MODELS, Ranges, fair_grids, grids_text
from medn_edu.studies.kit.figures import draw_against_constant
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.selection import Path as Constants
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import FOLDS, ocr_split, word_errors
from medn_edu.studies.kit.summary import (
    MISSING,
    Column,
    constants_text,
    curve,
    groups,
    largest,
    mean,
    mean_of,
    read_constants,
    scores,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, over, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.stopped import MEAN, mean_slack, steps, stopped_name

_TEXTS = Texts("sensitivity.md")
_BETA, _PASSES = 4.0, 20  # of the online sub-gradients

_PENALTIES = (25.0, 16.0, 9.0, 4.0, 1.0, 0.1, 0.01, 0.001, 0.0001)
_SQUARES = tuple(float(k * k) for k in range(1, 10))
_LARGE = tuple(float(k * k) for k in range(13, 22))
_ONE = (("C", 1.0),)

_ENDING = stopped_name("", _PASSES)
_STOPPED = {
    stopped_name("M3N", _PASSES): Constants("C", _SQUARES),
    stopped_name("LapMEDN", _PASSES): Constants("lam", _SQUARES, _ONE),
}

PRINTED = {
    "L2-CRF": Constants("lam", _PENALTIES),
    "L1-CRF": Constants("lam", _PENALTIES),
    "M3N": Constants("C", _SQUARES),
    "LapMEDN variational": Constants("lam", _SQUARES, _ONE),
    "LapMEDN": Constants("lam", _SQUARES, _ONE),
    "L1-M3N EM": Constants("lam", _LARGE, _ONE),
    "L1-M3N online sub-gradient": Constants("radius", _LARGE),
    "L1-M3N": Constants("C", (0.1, 0.15, 0.2, 0.3)),
    **_STOPPED,
    **{name + MEAN: path for name, path in _STOPPED.items()},
}
"""The papers' constants, in the order of tables; those of the exact L1-M3N are ours."""

# by OWL-QN, as in the papers
_L1_CRF = partial(CRF, penalty="l1", solver="owlqn", tol=2e-2, max_iter=10_000, verbose=0)
_ONLINE = partial(L1M3N, beta=_BETA, **steps(_PASSES))
_PATH = partial(L1M3N, solver="path", tol=2e-2, verbose=0)
_M3N = partial(M3N, beta=_BETA, **steps(_PASSES))
_MEDN = partial(LaplaceMEDN, beta=_BETA, method="variational", n_iterations=3, **steps(_PASSES))

_MODELS = {name: MODELS[name] for name in ("L2-CRF", "M3N", "LapMEDN variational", "LapMEDN")} | {
    model.name: model
    for model in (
        Model("L1-CRF", _L1_CRF, MODELS["L1-CRF"].summary),
        Model("L1-M3N EM", l1_em, "adaptive M3N, 15 quadratic programs"),
        Model("L1-M3N online sub-gradient", _ONLINE, "projected on the L1 ball after each word"),
        Model("L1-M3N", _PATH, "the linear program, by exact Laplace MEDNs with growing lambda"),
        *(
            Model(stopped_name(base, _PASSES) + ending, made, "stopped early")
            for base, build in (("M3N", _M3N), ("LapMEDN", _MEDN))
            for ending, made in (("", build), (MEAN, partial(mean_slack, build)))
        ),
    )
}

FAIR = ", fair"
"""Ends the names of models whose constants span the same factor."""

SPAN = 100.0
"""How many times weaker the last constant of each path regularises than its first."""

POINT = 0.01
"""By how much an error may exceed the model's best where a constant counts as good."""

_RANGES = Ranges(
    l2_crf=(15, 15 / SPAN),
    l1_crf=(6, 6 / SPAN),
    m3n=(0.01, 0.01 * SPAN),
    l1_m3n=(0.03, 0.03 * SPAN),
)
_GRIDS = fair_grids(_RANGES)
PATHS = {name + FAIR: paths for name, paths in _GRIDS.items()}
"""The paths of each model, one for each of its shapes, with 24 points together."""

_FAIR_MODELS = {name: FAIR_MODELS[name.removesuffix(FAIR)] for name in PATHS} | {
    # to a gap of 1 % only, as it took a third of the time
    "L1-CRF, fair": replace(MODELS["L1-CRF"], build=partial(CRF, penalty="l1", tol=1e-2, verbose=0))
}
_QUICK = ("L2-CRF, fair", "M3N, fair")  # other paths would take too long at quick scale


def _factor(name: str, path: Constants, number: int) -> float:
    """Return how many times weaker than the first constant of its path another one is.

    ``lam`` of LapMEDN is placed by the constants of M3N and L1-M3N, its limits, and it is these that
    span the same factor as the constants of other models.
    """
    if name.startswith("LapMEDN"):
        return float(SPAN ** (number / (len(path.values) - 1)))
    return math.exp(abs(math.log(path.values[number] / path.values[0])))


_ALL = {name: (path,) for name, path in PRINTED.items()} | PATHS
_PLACES: dict[Any, dict[str, Any]] = {  # what tables say of a model with its constants
    (name, frozenset(path.point(number).items())): {
        "model": name,
        "shape": constants_text(path.shape),
        "parameter": path.name,
        "constant": value,
        "factor": _factor(name, path, number) if name in PATHS else None,
    }
    for name, paths in _ALL.items()
    for path in paths
    for number, value in enumerate(path.values)
}


def _place(row: dict[str, Any]) -> Any:
    return row["model"], frozenset(read_constants(row["parameters"]))


def _constant(row: dict[str, Any]) -> float:
    """Return the constant that is varied."""
    return float(_PLACES[_place(row)]["constant"])


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    some = slice(1, None, 3) if quick else slice(None)
    return [
        FitSpec("ocr-100", fold, name, tuple(path.point(number).items()), seed)
        for name, paths in _ALL.items()
        if not quick or name in (*PRINTED, *_QUICK)
        for path in paths
        for number in range(len(path.values))[some]
        for fold in (range(1) if quick else FOLDS)
    ]


_COLUMNS = (
    "model", "shape", "parameter", "constant", "factor", "fits", "error", "error_deviation",
    "n_nonzero", "n_weights", "largest_gap",
)  # fmt: skip


def means(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over folds, a line for each model and its constants."""
    found = groups(rows, _place)
    return [
        {
            **line,
            "fits": len(group),
            "error": mean(group, "error"),
            "error_deviation": deviation(values(group, "error")),
            "n_nonzero": mean(group, "n_nonzero"),
            "n_weights": mean(group, "n_weights"),
            "largest_gap": largest(group, "relative_gap"),
        }
        for place, line in _PLACES.items()
        if (group := found.get(place))
    ]


def ranges(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how far apart each model's mean errors are over its constants."""
    found = []
    printed = [line for line in lines if line["factor"] is None]
    for name, group in groups(printed, "model").items():
        best, worst = (choose(group, key=lambda line: line["error"]) for choose in (min, max))
        constants = values(group, "constant")
        found.append(
            {
                "model": name,
                "parameter": PRINTED[name].name,
                "lowest": best["error"],
                "best": best["constant"],
                "highest": worst["error"],
                "worst": worst["constant"],
                "range": worst["error"] - best["error"],
                "smallest": constants.min(),
                "largest": constants.max(),
                "span": constants.max() / constants.min(),
            }
        )
    return found


def widths(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return over which factor the mean error of each shape stays within a point of the model's best.

    Between two constants the error is taken to go straight along the logarithm.  ``closed`` says
    whether the error leaves that point before the path ends, on both sides; otherwise the factor may be
    larger.
    """
    found = []
    fair = [line for line in lines if line["factor"] is not None]
    for of_model in groups(fair, "model").values():
        best = min(values(of_model, "error"))
        for group in groups(of_model, "shape").values():
            x, errors = np.log(values(group, "factor")), values(group, "error")
            k = int(errors.argmin())
            line = {**group[k], "lowest": errors[k], "factor": None, "closed": True}
            if errors[k] <= best + POINT:
                weak, weak_closed = _reach(x[k:], errors[k:], best + POINT)
                strong, strong_closed = _reach(x[k::-1], errors[k::-1], best + POINT)
                line |= {"factor": math.exp(weak - strong), "closed": weak_closed and strong_closed}
            found.append(line)
    return found


def _reach(x: np.ndarray, errors: np.ndarray, bound: float) -> tuple[float, bool]:
    """Return how far errors stay below a bound, from the first on, and whether they ever exceed it."""
    beyond = np.flatnonzero(errors > bound)
    if not len(beyond):
        return float(x[-1]), False
    place = slice(beyond[0] - 1, beyond[0] + 1)
    return float(np.interp(bound, errors[place], x[place])), True


def _folds(lines: Iterable[dict[str, Any]]) -> str:
    return over(max((line["fits"] for line in lines), default=0))


@dataclass(frozen=True)
class _Panel:
    """A panel of the papers' constants."""

    title: str
    label: str  # of the axis
    names: Mapping[str, str]  # as they are called here, by those of the study
    legend: str  # where it covers no curve


_ALIKE = "C of M3N,\nλ of LapMEDN"
PANELS = (
    _Panel("CRFs", "penalty λ", {"L2-CRF": "L2-CRF", "L1-CRF": "L1-CRF"}, "upper left"),
    _Panel(
        "Optima", _ALIKE,
        {"M3N": "M3N", "LapMEDN variational": "variational", "LapMEDN": "LapMEDN"}, "upper right",
    ),
    _Panel(
        f"{_PASSES} passes", _ALIKE,
        {n: n.replace(_ENDING, "").replace(MEAN, ", mean") for n in PRINTED if _ENDING in n},
        "upper right",
    ),
    _Panel(
        "L1-M3N, two ways", "λ of EM, radius of\nthe sub-gradient's ball",
        {"L1-M3N EM": "EM", "L1-M3N online sub-gradient": "online\nsub-gradient"}, "center",
    ),
    _Panel("L1-M3N, exactly", "price C of\na margin violation", {"L1-M3N": "L1-M3N"}, "upper right"),
)  # fmt: skip
"""The panels of the papers' constants, which name each model of `PRINTED`."""


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    lines = means(rows)
    fair = [line for line in lines if line["factor"] is not None]
    figure = new_figure(9.8, 6.6 if fair else 3.3)
    with styled():
        upper, *lower = np.ravel(figure.subfigures(2 if fair else 1, 1))
        printed = upper.subplots(1, len(PANELS), sharey=True)
        _draw_printed(printed, rows)
        same = _draw_fair(lower[0], fair) if fair else []
        low = 100 * min(values(lines, "error"))
        for ax in (*printed, *same):
            ax.set_ylim(low - 1.5, low + _SHOWN)
        letter_panels([*printed, *same], fontsize=10)
    save_figure(figure, path)


_SHOWN = 24.0  # points above the smallest error; strong regularisation errs far more


def _draw_printed(axes: Sequence[Any], rows: Sequence[dict[str, Any]]) -> None:
    """Draw mean errors against the papers' constants."""
    by_model = groups(rows, "model")
    for ax, panel in zip(axes, PANELS, strict=True):
        curves = [curve(name, by_model.get(name, ()), _constant) for name in panel.names]
        shown = [  # in per cent, without deviations
            replace(c, name=c.name.replace(_ENDING, ""), mean=100 * c.mean, deviation=0 * c.mean)
            for c in curves
            if len(c.x)
        ]
        draw_against_constant(ax, shown, label=panel.label)
        ax.xaxis.label.set_fontsize(10)
        ax.set_title(panel.title)
        names = [panel.names[c.name] for c in curves if len(c.x)]
        ax.legend(ax.get_legend_handles_labels()[0], names, handlelength=2, loc=panel.legend)
        ax.label_outer()
    axes[0].set_ylabel("test error (% of labels)")


def _draw_fair(figure: Any, lines: Sequence[dict[str, Any]]) -> list[Any]:
    """Draw errors over the same factor: models with one constant together, shapes of others apart."""
    by_model = groups(lines, "model")
    one = [name for name in by_model if len(PATHS[name]) == 1]
    panels = [one, *([name] for name in by_model if name not in one)]
    ratios = [1.25] + [1.0] * (len(panels) - 1)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False, width_ratios=ratios)[0]
    for ax, names in zip(axes, panels, strict=True):
        what = ""
        for name in names:
            style = {**series_style(name.removesuffix(FAIR)), "markersize": 4, "linewidth": 1.5}
            for k, (shape, group) in enumerate(groups(by_model[name], "shape").items()):
                look = {**style, **_LOOKS[k]} if shape else style
                what, _, value = shape.partition("=")
                x, y = values(group, "factor"), 100 * values(group, "error")
                ax.plot(x, y, label=value or name.removesuffix(FAIR), **look)
        if names != one:
            best = 100 * min(values(by_model[names[0]], "error"))
            ax.axhspan(best, best + 100 * POINT, color=MUTED, alpha=0.15, linewidth=0)
        title = "One constant" if names == one else names[0].removesuffix(FAIR)
        ax.set_title(title.replace(" variational", ",\nvariational"))
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.legend(handlelength=2, loc="upper right", title=_SHAPES.get(what))
        ax.grid(axis="y")
    axes[0].set_ylabel("test error (% of labels)")
    figure.supxlabel("regularisation: how many times weaker than the strongest", fontsize=10)
    return list(axes)


_SHAPES = {"l1_ratio": "L1 share", "C": "price C"}
_LOOKS: list[dict[str, Any]] = [  # of shapes
    {"linestyle": "-", "marker": "o"},
    {"linestyle": "--", "marker": "s"},
    {"linestyle": "-.", "marker": "^"},
    {"linestyle": ":", "marker": "D"},
]

_RANGE_COLUMNS = (
    Column("model", "model"),
    Column("constants", lambda x: f"{x['parameter']} = {x['smallest']:g} … {x['largest']:g}"),
    Column("lowest error", "lowest", ".3f", right=True),
    Column("at", "best", "g"),
    Column("highest", "highest", ".3f", right=True),
    Column("at", "worst", "g"),
    Column("range", lambda line: 100 * line["range"], ".1f", right=True),
)
_WIDTH_COLUMNS = (
    Column("model", lambda line: line["model"].removesuffix(FAIR)),
    Column("shape", lambda line: line["shape"] or MISSING),
    Column("lowest error", "lowest", ".3f", right=True),
    Column("at", lambda line: f"{line['parameter']} = {line['constant']:g}"),
    Column("within a point over a factor of", lambda x: _factor_text(x), right=True),
)
_MEANS = (
    Column("model", "model"),
    Column("constant", lambda line: f"{line['parameter']} = {line['constant']:g}"),
    Column("fits", "fits"),
    Column("test error", "error", ".3f"),
    Column("deviation", "error_deviation", ".3f"),
    Column("non-zero", "n_nonzero", ".0f"),
    Column("largest gap", "largest_gap", ".2g"),
)


def _factor_text(line: dict[str, Any]) -> str:
    """Write over which factor errors stay low."""
    if line["factor"] is None:
        return MISSING
    return f"{line['factor']:.2g}" if line["closed"] else f"at least {line['factor']:.2g}"


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    lines = means(rows)
    printed = [line for line in lines if line["factor"] is None]
    summary, wide = table(_RANGE_COLUMNS, ranges(lines)), table(_WIDTH_COLUMNS, widths(lines))
    folds = _folds(lines)
    unknown = _TEXTS("unknown", beta=_BETA, passes=_PASSES)
    quick = "  " + _TEXTS("quick") if scale == "quick" else ""
    grids = grids_text(_GRIDS)
    figure = _TEXTS(
        "caption", n=max(values(lines, "fits"), default=0), half=_half(rows), quick=quick
    )
    about = _TEXTS("about", span=SPAN, grids=grids)
    caption = paragraphs(figure, about, unknown, _findings(printed))
    note = paragraphs(f"{_TEXTS('range', folds=folds)}  {unknown}", width=96)
    return Report(
        _COLUMNS,
        lines,
        f"{summary.text()}\n\n{note}\n\n{wide.text()}",
        f"{caption}\n\n{summary.markdown()}\n{_TEXTS('widths')}\n\n{wide.markdown()}\n"
        f"{table(_MEANS, printed).markdown()}",
    )


def _half(rows: Iterable[dict[str, Any]]) -> float:
    """Return half of a usual interval of a mean error, in points."""
    fits = groups((row for row in rows if row["model"] in PRINTED), _place).values()
    found = [mean_of(100 * scores(group)).half for group in fits if len(group) > 1]
    return float(np.median([half for half in found if half is not None] or [math.nan]))


def _findings(lines: Sequence[dict[str, Any]]) -> str:
    """Say what a reader of the ranges should know."""
    spans = [
        f"{line['span']:,.{0 if line['span'] >= 10 else 1}f} times ({line['model']})"
        for line in ranges(lines)
    ]
    return "  ".join([_TEXTS("tables"), _TEXTS("spans", spans=", ".join(spans))])


SENSITIVITY_STUDY = Study(
    "sensitivity",
    "test error against each model's constant",
    fits=_specs,
    fit=Trained(
        ocr_split,
        models={**_MODELS, **_FAIR_MODELS},
        measure=word_errors,
        measured=("word_errors",),
    ),
    draw=_draw,
    report=_report,
    remarks=_TEXTS("remarks"),
    duration="quick 10 s, paper 19 min",
    shows="MEDN 9, LapM3N 5",
    place=10,
)
"""The study."""
