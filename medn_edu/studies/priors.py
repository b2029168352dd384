"""The study ``priors``: whether it matters which prior the weights have.

How it works, and what the paper leaves open, stands at the head of ``priors.md``.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path as File
from typing import Any

import numpy as np

from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, styled
from medn_edu.explorers.shrinkage import prior_gallery, prior_style
from medn_edu.studies import synthetic_correlated, synthetic_iid
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    N_POINTS,
    N_SHAPES,
    PRICES,
    Ranges,
    choices_text,
    choosing,
    fair_grids,
    fair_model,
    grids_text,
    laplace_strengths,
    measure_choice,
    shapes_text,
    split_and_validate,
)
from medn_edu.studies.kit.figures import draw_means
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE, Path, Selected
from medn_edu.studies.kit.specs import FitSpec, Report, Split, Study
from medn_edu.studies.kit.splits import FOLDS, correlated_split, iid_split, ocr_split, word_errors
from medn_edu.studies.kit.summary import (
    MISSING,
    By,
    Column,
    Mean,
    Row,
    differences,
    groups,
    largest,
    matrix,
    mean,
    mean_of,
    most,
    numbers_text,
    percent,
    plus_minus,
    read_constants,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, counted, listed, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.shaped import ShapedMEDN

SHAPES = tuple(prior_gallery())
"""Names of the priors."""

_NORMAL = "Gaussian"  # what all others are compared with
_SLOW = "normal-inverse Gaussian"  # to train where C is large
_IID, _CORRELATED, _OCR = "iid-10-50", "correlated-20", "ocr-100"  # kinds of data

_N_TRAIN = {_IID: 50, _CORRELATED: 50, _OCR: 100}
TITLES = {_IID: "independent features", _CORRELATED: "features in groups", _OCR: "OCR100"}
"""What tables and figures call them."""

RANGES = {
    _IID: synthetic_iid.RANGES,
    _CORRELATED: synthetic_correlated.RANGES,
    _OCR: Ranges((100, 0.1), (50, 0.5), m3n=(0.01, 0.5), l1_m3n=(0.08, 0.8)),
}
"""Constants of M3N and of L1-M3N that the paths cover."""

_BOUNDS = (0.02, 1.0)  # of weights that are kept between two


def prior_paths(shape: str, ranges: Ranges) -> tuple[Path, ...]:
    """Return the paths that a prior may try, each from narrow to wide.

    With a normal prior nothing matters but ``C`` times the variance, so it has one path.  All others
    are like it where ``C`` times the deviation is small.  Where that is large, their tails decide.
    Exponential tails turn the regulariser into an L1 norm.  Bounds keep their width whatever ``C`` is.
    Spike and slab becomes normal again, with the variance of its slab.
    """
    if shape == _NORMAL:
        return (_path(1.0, np.geomspace(*ranges.m3n, N_POINTS)),)
    return tuple(_path(C, _variances(shape, C, ranges)) for C in _prices(shape))


def _prices(shape: str) -> tuple[float, ...]:
    """Return the ``C`` that a prior may try.

    That of the normal-inverse Gaussian is finite at the end of its domain, so it comes to its limit
    sooner, and beyond it training would take long.
    """
    return (0.1, 0.3, 1.0, 3.0) if shape == _SLOW else PRICES


def _path(C: float, variances: np.ndarray) -> Path:
    return Path("variance", tuple(float(f"{v:.4g}") for v in variances), (("C", C),))


def _variances(shape: str, C: float, ranges: Ranges) -> np.ndarray:
    n = N_POINTS // N_SHAPES
    narrow, wide = (c / C for c in ranges.m3n)
    if shape in ("box", "two-point"):
        return np.geomspace(narrow, wide, n) + np.geomspace(*_BOUNDS, n) ** 2
    if shape == "spike and slab":
        return np.geomspace(0.1 * narrow, wide, n)  # a tenth of the weights are in the slab
    return 2 / laplace_strengths(C, ranges, n)


_PLAIN = {
    shape: Model(shape, partial(ShapedMEDN, shape, max_iter=200), f"MEDN with the prior {shape}")
    for shape in SHAPES
}
_KINDS = {
    data: {
        shape: fair_model(shape, prior_paths(shape, ranges), _PLAIN, tol=0.05) for shape in SHAPES
    }
    for data, ranges in RANGES.items()
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    return [
        FitSpec(*_place(data, number), shape, choosing(shape, _N_TRAIN[data], scale), seed)
        for data in TITLES
        if not (quick and data == _OCR)  # takes longer than all others
        for number in (FOLDS[:1] if quick else FOLDS)
        for shape in SHAPES
    ]


def _place(data: str, number: int) -> tuple[str, int]:
    """Return data and fold of a set: the random CRFs have a number each, the words a fold."""
    return (f"{data}-{number}", 0) if data == _CORRELATED else (data, number)


def _split(spec: FitSpec, *, validate: bool) -> Split:
    kinds = {"iid": iid_split, "correlated": correlated_split, "ocr": ocr_split}
    return kinds[spec.data.partition("-")[0]](spec, validate=validate)


def _measure(spec: FitSpec, model: Selected) -> dict[str, Any]:
    """Note errors at the points of the grid, as the choice has seen them, and on which words."""
    seen = [
        error
        for path, trial in zip(model.paths, model.trials_, strict=True)
        for value, error in zip(trial.path.values, trial.errors, strict=True)
        if value in path.values
    ]
    return {
        "grid_errors": numbers_text(seen),
        **word_errors(spec, model),
        **measure_choice(spec, model),
    }


# -- groups of fits -------------------------------------------------------------------------------

Fits = dict[tuple[str, str], list[Row]]
"""The rows of the study that did not fail, by data and prior."""


def _fits(rows: Iterable[Row]) -> Fits:
    known = [row for row in rows if row.get("error") is not None]
    order = [*TITLES, *SHAPES]
    return groups(
        known, _kind, "model", order=lambda key: (order.index(key[0]), order.index(key[1]))
    )


def _kind(row: Row) -> str:
    return next(kind for kind in TITLES if row["data"].startswith(kind))


def _large(row: Row) -> float:
    return float(row["n_large"] / row["n_weights"])


def _to_normal(fits: Fits, data: str, shape: str) -> Mean:
    """Return by how much a prior's errors exceed those of the normal one, set by set."""
    return mean_of(differences(fits[data, shape], fits.get((data, _NORMAL), ())))


def _by_price(fits: Fits, data: str, shape: str) -> np.ndarray:
    """Return the smallest mean error on the grid at each ``C``, minus the normal prior's."""
    mine, normal = (
        matrix(fits[data, name], "grid_errors").mean(axis=0) for name in (shape, _NORMAL)
    )
    return mine.reshape(N_SHAPES, -1).min(axis=1) - normal.min()


@cache
def kurtosis(shape: str) -> float:
    """Return a prior's excess kurtosis, the fourth derivative of ``Lambda`` at unit variance."""
    step = 0.02
    mean = prior_gallery()[shape].with_variance(1.0).mean(step * np.arange(-2.0, 3.0))
    return float(np.array([-1, 2, 0, -2, 1]) @ mean / (2 * step**3))


# -- figures --------------------------------------------------------------------------------------

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
_ORDER = sorted(SHAPES, key=kurtosis)  # from top to bottom


def _style(shape: str) -> dict[str, Any]:
    return {"marker": _MARKERS[shape], "markersize": 6, **prior_style(shape)}


def _draw(rows: Sequence[Row], file: File) -> None:
    """Draw differences to the normal prior: with all constants chosen, and at each ``C``."""
    fits = _fits(rows)
    shown = [data for data in TITLES if (data, _NORMAL) in fits]
    figure = new_figure(9.6, 0.9 + 2.2 * len(shown))
    with styled():
        axes = figure.subplots(len(shown), 2, sharex="col", squeeze=False)
        for (left, right), data in zip(axes, shown, strict=True):
            others = [s for s in _ORDER if s != _NORMAL and (data, s) in fits]
            draw_means(left, {name: _to_normal(fits, data, name) for name in others}, _style)
            right.sharey(axes[0, 1])
            for name in others:
                right.plot(_prices(name), _by_price(fits, data, name), label=name, **_style(name))
            for ax, line in ((left, left.axvline), (right, right.axhline)):
                line(0, color=MUTED, linewidth=0.8)
                ax.set_title(TITLES[data])
            right.set_xscale("log")
            right.set_ylabel("above Gaussian's (points)")
            right.grid(axis="y")
        axes[0, 1].yaxis.set_major_formatter(_points)
        for ax, label, form in (
            (axes[-1, 0], "test error above Gaussian's (points)", _points),
            (axes[-1, 1], "price C of a margin violation", lambda value, _: f"{value:g}"),
        ):
            ax.set_xlabel(label)
            ax.xaxis.set_major_formatter(form)
        letter_panels(axes.flat)
        label_ends(*axes[:, 1])
    save_figure(figure, file)


def _draw_sparsity(rows: Sequence[Row], file: File) -> None:
    """Draw support labellings and large weights at the chosen constants."""
    fits = _fits(rows)
    shown = [data for data in TITLES if (data, _NORMAL) in fits]
    quantities: dict[str, By] = {
        "support labellings per sample": "n_support",
        "large weights (% of all)": lambda row: 100 * _large(row),
    }
    figure = new_figure(9.6, 5.8)
    with styled():
        axes = figure.subplots(2, len(shown), sharey=True, squeeze=False)
        for line, (label, of) in zip(axes, quantities.items(), strict=True):
            for ax, data in zip(line, shown, strict=True):
                if ax is not line[0] and not (
                    data == _OCR and of == "n_support"
                ):  # words have more
                    ax.sharex(line[0])
                found = {s: mean_of(values(fits.get((data, s), ()), of)) for s in _ORDER}
                draw_means(ax, found, _style)
                ax.set_xlabel(label)
            for ax in line:
                ax.set_xlim(left=0)
        for ax, data in zip(axes[0], shown, strict=True):
            ax.set_title(TITLES[data])
        letter_panels(axes.flat)
    save_figure(figure, file)


def _points(value: float, _: Any = None) -> str:
    return f"{100 * value:+.3g}" if value else "0"


# -- table and caption ----------------------------------------------------------------------------

_TEXTS = Texts("priors.md")
_COLUMNS = (
    "data", "prior", "kurtosis", "fits", "error", "error_half", "difference", "difference_half", "C",
    "variance", "train_error", "n_support", "large", "largest_gap",
)  # fmt: skip


def _report(rows: Sequence[Row], scale: str) -> Report:
    fits = _fits(rows)
    lines = [_line(fits, *key) for key in fits]
    shown = table(_TABLE, lines)
    about = _TEXTS(
        "about", choice=CHOICE[scale], choices=choices_text(rows),
        prices=listed([f"{C:g}" for C in PRICES]), slow=_SLOW,
        slow_prices=listed([f"{C:g}" for C in _prices(_SLOW)]),
        grids=_grids_text(dict.fromkeys(data for data, _ in fits)),
    )  # fmt: skip
    shapes = [
        f"{TITLES[data]}: {shapes_text(row for name in SHAPES[1:] for row in fits[data, name])}"
        for data in dict.fromkeys(data for data, _ in fits)
    ]
    figure = _TEXTS("figure", n=counted(_n_sets(fits), "set"))
    caption = paragraphs(figure, about, _answers(fits), "  ".join(shapes), _gaps(lines))
    return Report(
        _COLUMNS,
        lines,
        f"{shown.text()}\n\n{paragraphs(_TEXTS('key'), width=96)}",
        f"{caption}\n\n{shown.markdown()}\n{paragraphs(_TEXTS('key'))}\n",
        {"sparsity": _TEXTS("sparsity", n=counted(_n_sets(fits), "set"))},
    )


def _line(fits: Fits, data: str, shape: str) -> dict[str, Any]:
    """Return means over sets, with half their 95 % intervals; of constants, the medians."""
    rows = fits[data, shape]
    error, difference = mean_of(values(rows, "error")), _to_normal(fits, data, shape)
    chosen = [dict(read_constants(row["chosen"])) for row in rows]
    return {
        "data": data,
        "prior": shape,
        "kurtosis": round(kurtosis(shape), 1) + 0.0,
        "fits": error.n,
        "error": error.value,
        "error_half": error.half,
        "difference": difference.value,
        "difference_half": difference.half,
        "C": np.median([constants["C"] for constants in chosen]),
        "variance": np.median([constants["variance"] for constants in chosen]),
        "train_error": mean(rows, "train_error"),
        "n_support": mean(rows, "n_support"),
        "large": mean(rows, _large),
        "largest_gap": largest(rows, "relative_gap"),
    }


def _difference(line: Row) -> str:
    if line["prior"] == _NORMAL:
        return MISSING
    return plus_minus(line["difference"], line["difference_half"], ".2f", times=100, sign="+")


_TABLE = (
    Column("data", "data", TITLES.__getitem__),
    Column("prior", "prior"),
    Column("kurtosis", "kurtosis", "g", right=True),
    Column(
        "test error",
        lambda line: plus_minus(line["error"], line["error_half"], ".1f", times=100, unit=" %"),
        right=True,
    ),
    Column("to Gaussian", _difference, right=True),
    Column("C", "C", ".3g", right=True),
    Column("variance", "variance", ".2g", right=True),
    Column("support", "n_support", ".1f", right=True),
    Column("large weights", "large", percent(".0f"), right=True),
    Column("largest gap", "largest_gap", percent(".2g"), right=True),
)


def _n_sets(fits: Fits) -> int:
    return most(fits.values())


def _grids_text(kinds: Iterable[str]) -> str:
    """Say which constants of M3N and of L1-M3N the paths cover."""
    return "; ".join(
        f"{TITLES[data]}, {grids_text(fair_grids(RANGES[data], ('M3N', 'L1-M3N')))}"
        for data in kinds
    )


def _answers(fits: Fits) -> str:
    """Say which priors err less or more than the normal one."""
    sentences = []
    for data, title in TITLES.items():
        found = {s: _to_normal(fits, data, s) for kind, s in fits if kind == data and s != _NORMAL}
        if any(one.half is not None for one in found.values()):
            less, more = (_named(found, sign) for sign in (-1, 1))
            sentences.append(_TEXTS("answer", title=title, less=less, more=more))
    return "  ".join([_TEXTS("answers"), *sentences]) if sentences else ""


def _named(found: Mapping[str, Mean], sign: int) -> str:
    texts = [
        f"{name} {plus_minus(one.value, one.half, '.2f', times=100, sign='+')}"
        for name, one in found.items()
        if one.sign == sign
    ]
    return ", ".join(texts) or "none"


def _gaps(lines: Sequence[Row]) -> str:
    """Say which fits did not reach their gap."""
    aim = ShapedMEDN().tol
    late = [
        f"{line['prior']}, {TITLES[line['data']]} ({100 * line['largest_gap']:.2g} %)"
        for line in lines
        if line["largest_gap"] > aim
    ]
    return _TEXTS("gaps", aim=100 * aim, fits="; ".join(late)) if late else ""


PRIOR_STUDY = Study(
    "priors",
    "eight priors, each at constants it chose",
    fits=_specs,
    fit=Trained(
        split_and_validate(_split),
        models=_PLAIN,
        kinds=_KINDS,
        measure=_measure,
        measured=("grid_errors", "word_errors", *CHOICE_COLUMNS),
    ),
    draw=_draw,
    report=_report,
    duration="quick 8 s, paper 11 min",
    more_figures={"sparsity": _draw_sparsity},
    place=12,
)
"""The study."""
