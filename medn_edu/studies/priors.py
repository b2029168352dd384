"""The study ``priors``: whether it matters which prior the weights have.

How it works, and what the paper leaves open, stands at the head of ``priors.md``.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.explorers.shrinkage import prior_gallery, prior_style
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import Selected
from medn_edu.studies.kit.specs import FitSpec, Report, Split, Study
from medn_edu.studies.kit.splits import FOLDS, correlated_split, iid_split, ocr_split
from medn_edu.studies.kit.summary import (
    MISSING,
    By,
    Column,
    Curve,
    Mean,
    Row,
    constant,
    curve,
    differences,
    groups,
    is_at_end,
    largest,
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
from medn_edu.studies.kit.texts import Texts, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.shaped import ShapedMEDN

SHAPES = tuple(prior_gallery())
"""Names of the priors."""

_PRICE = 3.0  # C of the slack, for all priors
_NORMAL = "Gaussian"  # what all others are compared with
_UNBOUNDED = tuple(shape for shape in SHAPES if shape not in ("box", "two-point"))
_CHOSEN = ", chosen for "  # between prior and data in the name of a model that chooses
_IID, _CORRELATED, _OCR = "iid-10-50", "correlated-20", "ocr-100"  # kinds of data

TITLES = {_IID: "independent features", _CORRELATED: "features in groups", _OCR: "OCR100"}
"""What tables and figures call them."""

VARIANCES = {
    _IID: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    _CORRELATED: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    _OCR: (3e-3, 0.01, 0.03, 0.1),
}
"""Variances that are tried."""

_N_BLOCKS = 3  # of the data apart, each of which trains in turn
_N_TRAIN = {_IID: 50, _CORRELATED: 50, _OCR: 100}
_APART = {
    _IID: ("iid-10-1000", 10),
    _CORRELATED: ("correlated-20-10", -1),
    _OCR: ("ocr-outside-100", 0),
}


_PLAIN = {
    shape: Model(shape, partial(ShapedMEDN, shape, C=_PRICE), f"MEDN with the prior {shape}")
    for shape in SHAPES
}


def _chooser(shape: str, data: str) -> Model:
    """Return the model that chooses a prior's variance on data apart."""
    grid = (("variance", VARIANCES[data]),)
    blocks = (_N_TRAIN[data],) * _N_BLOCKS
    build = partial(Selected, shape, grid, _PLAIN, blocks=blocks)
    return Model(_chooser_name(shape, data), build, f"chooses the variance of {shape}")


def _chooser_name(shape: str, data: str) -> str:
    return f"{shape}{_CHOSEN}{TITLES[data]}"


_CHOOSERS = {
    model.name: model for model in (_chooser(shape, data) for data in TITLES for shape in SHAPES)
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    fits = [
        FitSpec(*_place(data, number), shape, (("variance", variance),), seed)
        for data in TITLES
        for number in (FOLDS[:1] if quick else FOLDS)
        for variance in VARIANCES[data][:: 2 if quick else 1]
        for shape in SHAPES
    ]
    choosers = [
        FitSpec(*_APART[data], _chooser_name(shape, data), seed=seed)
        for data in TITLES
        for shape in SHAPES
    ]
    return fits if quick else fits + choosers


def _place(data: str, number: int) -> tuple[str, int]:
    """Return data and fold of a set: the random CRFs have a number each, the words a fold."""
    return (f"{data}-{number}", 0) if data == _CORRELATED else (data, number)


def _split(spec: FitSpec) -> Split:
    kinds = {"iid": iid_split, "correlated": correlated_split, "ocr": ocr_split}
    return kinds[spec.data.partition("-")[0]](spec)


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note the errors that a chooser has seen, at each of the variances."""
    del spec
    if not isinstance(model, Selected):
        return {}
    return {"grid_errors": numbers_text(model.errors_)}


# -- groups of fits -------------------------------------------------------------------------------

_PLACE = [*TITLES, *SHAPES]


class Fits:
    """The rows of the study by data, prior and variance, and the variances that were chosen."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.chosen: dict[tuple[str, str], float] = {}
        fits = []
        for row in rows:
            if row["model"] in SHAPES and row.get("error") is not None:
                fits.append(row)
            elif row.get("chosen"):
                shape, _, title = row["model"].partition(_CHOSEN)
                data = next(kind for kind, text in TITLES.items() if text == title)
                self.chosen[data, shape] = dict(read_constants(row["chosen"]))["variance"]
        self.groups: dict[tuple[str, str, float], list[Row]] = groups(
            fits, _kind, "model", _variance,
            order=lambda key: (_PLACE.index(key[0]), _PLACE.index(key[1]), key[2]),
        )  # fmt: skip

    def data(self) -> list[str]:
        """Return which data there are."""
        return list(dict.fromkeys(data for data, _, _ in self.groups))

    def at(self, data: str, shape: str, variance: float) -> list[Row]:
        """Return the fits of one prior at one variance, a row for each set."""
        return self.groups.get((data, shape, variance), [])

    def variances(self, data: str, shape: str) -> list[float]:
        """Return at which variances a prior was tried."""
        return [key[2] for key in self.groups if key[:2] == (data, shape)]

    def curves(self, data: str, column: By) -> list[Curve]:
        """Return means against the variance, a curve for each prior."""
        rows = {
            shape: [
                row for key, some in self.groups.items() if key[:2] == (data, shape) for row in some
            ]
            for shape in SHAPES
        }
        found = [curve(shape, some, _variance, column) for shape, some in rows.items()]
        return [one for one in found if len(one.x)]

    def difference(self, data: str, shape: str, variance: float, normal: float) -> Mean:
        """Return by how much errors exceed the normal prior's of some variance, set by set."""
        mine, others = self.at(data, shape, variance), self.at(data, _NORMAL, normal)
        return mean_of(differences(mine, others))

    def compared(self, data: str) -> dict[str, dict[str, Mean]]:
        """Compare all priors with the normal one: at their own variances, and at the normal one's."""
        own = self.chosen.get((data, _NORMAL))
        if own is None:
            return {}
        others = [shape for shape in SHAPES if shape != _NORMAL and (data, shape) in self.chosen]
        return {
            "each at its chosen variance": {
                shape: self.difference(data, shape, self.chosen[data, shape], own)
                for shape in others
            },
            "all at the Gaussian's": {
                shape: self.difference(data, shape, own, own) for shape in others
            },
        }

    def is_chosen_at_end(self, data: str, shape: str) -> bool:
        """Say whether the chosen variance is at an end of its grid."""
        return is_at_end(self.chosen.get((data, shape)), VARIANCES[data])


def _kind(row: Row) -> str:
    return next(kind for kind in TITLES if row["data"].startswith(kind))


def _variance(row: Row) -> float | None:
    return constant(row, "variance")


def _large(row: Row) -> float:
    return float(row["n_large"] / row["n_weights"])


@cache
def kurtosis(shape: str) -> float:
    """Return a prior's excess kurtosis, the fourth derivative of ``Lambda`` at unit variance."""
    step = 0.02
    mean = prior_gallery()[shape].with_variance(1.0).mean(step * np.arange(-2.0, 3.0))
    return float(np.array([-1, 2, 0, -2, 1]) @ mean / (2 * step**3))


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


def _draw(rows: Sequence[Row], path: Path) -> None:
    """Draw errors against the variance, and below differences at the chosen variances."""
    fits = Fits(rows)
    shown = fits.data() or [_OCR]
    comparisons = {data: kinds for data in shown if (kinds := fits.compared(data))}
    figure = new_figure(max(3.9 * len(shown), 6.5), 7.4 if comparisons else 4.4)
    names = sorted((shape for shape in SHAPES if shape != _NORMAL), key=kurtosis)
    with styled():
        ratios = (1.25, 1) if comparisons else (1,)
        rows_of_axes = figure.subplots(len(ratios), len(shown), squeeze=False, height_ratios=ratios)
        upper = rows_of_axes[0]
        for ax, data in zip(upper, shown, strict=True):
            curves = fits.curves(data, "error")
            draw_against_variance(ax, curves, share=True)
            ax.set_ylim(top=min(ax.get_ylim()[1], _top(curves)))
            ax.set_title(_title(fits, data))
        upper[0].set_ylabel("test error (% of labels)")
        entries = _entries(upper[0])
        if comparisons:
            lower = rows_of_axes[1]
            for ax, data in zip(lower, shown, strict=True):
                draw_differences(ax, names, comparisons.get(data, {}))
                ax.set_xlabel("difference to Gaussian (points)")
            for ax in lower[1:]:
                ax.set_yticklabels([])
            entries |= _entries(lower[0])
        legend = {"loc": "outside upper center", "ncols": 5, "handlelength": 2.6}
        figure.legend(entries.values(), entries.keys(), **legend)
        cut = _TEXTS("note-cut") if any(_cut(fits, data) for data in shown) else ""
        bars = _TEXTS("note-bars") if comparisons else ""
        note = _TEXTS("note", C=_PRICE, cut=cut, bars=bars)
        figure.supxlabel(note, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _top(curves: Sequence[Curve]) -> float:
    """Return where errors are cut: well above all priors without bounds, as narrow ones go far up."""
    near = [curve.mean + curve.deviation for curve in curves if curve.name == _NORMAL]
    near += [curve.mean for curve in curves if curve.name in _UNBOUNDED]
    return 1.12 * max((float(values.max()) for values in near), default=np.inf)


def _cut(fits: Fits, data: str) -> dict[str, float]:
    """Return the priors whose curves leave the axis, and their largest mean errors."""
    curves = fits.curves(data, "error")
    highest = {curve.name: float(curve.mean.max()) for curve in curves}
    return {name: error for name, error in highest.items() if error > _top(curves)}


def _entries(ax: Any) -> dict[str, Any]:
    """Return what stands in the legend, by its label."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def _draw_sparsity(rows: Sequence[Row], path: Path) -> None:
    """Draw support labellings and large weights against the variance."""
    fits = Fits(rows)
    shown = fits.data() or [_OCR]
    figure = new_figure(max(3.9 * len(shown), 6.5), 6.6)
    with styled():
        axes = figure.subplots(2, len(shown), squeeze=False, sharex="col")
        for (upper, lower), data in zip(axes.T, shown, strict=True):
            draw_against_variance(upper, fits.curves(data, "n_support"))
            draw_against_variance(lower, fits.curves(data, _large), share=True)
            upper.set_title(_title(fits, data))
            upper.set_xlabel("")
        axes[0, 0].set_ylabel("support labellings per sample")
        axes[1, 0].set_ylabel("large weights (% of all)")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, handlelength=2.6)
        figure.supxlabel(_TEXTS("sparsity-note", C=_PRICE), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _title(fits: Fits, data: str) -> str:
    return f"{TITLES[data]} ({_sets(fits, data)})"


def _sets(fits: Fits, *data: str) -> str:
    n = most(group for key, group in fits.groups.items() if key[0] in data)
    return f"{n} set{'s' if n != 1 else ''}"


def draw_against_variance(ax: Axes, curves: Sequence[Curve], *, share: bool = False) -> None:
    """Draw means against the variance of priors, on a logarithmic axis."""
    with styled():
        ax.set_xscale("log")
        for one in curves:
            style: dict[str, Any] = {"linewidth": 1.5, "markersize": 4.5, **prior_style(one.name)}
            marker = _MARKERS.get(one.name, "o")
            ax.plot(one.x, one.mean, label=one.name, marker=marker, **style)
            if one.name == _NORMAL:
                low, high = one.mean - one.deviation, one.mean + one.deviation
                ax.fill_between(one.x, low, high, color=INK, alpha=0.09, linewidth=0)
        low, high = ax.get_xlim()
        ax.xaxis.set_major_locator(LogLocator(subs=(1,) if high > 200 * low else (1, 3)))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_xlabel("prior variance")
        if share:
            ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        ax.grid(axis="y")


def draw_differences(
    ax: Axes, names: Sequence[str], kinds: Mapping[str, Mapping[str, Mean]]
) -> None:
    """Draw differences with their intervals, a line for each prior."""
    place = {name: number for number, name in enumerate(names)}
    with styled():
        ax.axvline(0, color=MUTED, linewidth=0.8)
        for (label, found), aside, face in zip(
            kinds.items(), (-0.14, 0.14), (INK, "white"), strict=False
        ):
            shown = {name: one for name, one in found.items() if name in place}
            ax.errorbar(
                [one.value for one in shown.values()], [place[name] + aside for name in shown],
                xerr=[one.half or 0.0 for one in shown.values()], label=label, linestyle="",
                marker="o", markersize=5, markerfacecolor=face, color=INK, elinewidth=1, capsize=2,
            )  # fmt: skip
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")


_TEXTS = Texts("priors.md")
_COLUMNS = (
    "data", "prior", "kurtosis", "variance", "chosen", "fits", "error", "error_deviation",
    "train_error", "n_support", "large", "largest_gap", "difference", "difference_reach",
)  # fmt: skip


def _report(rows: Sequence[Row], scale: str) -> Report:
    fits = Fits(rows)
    lines = [_line(fits, *key) for key in fits.groups]
    shown = table(_columns(fits), [line for line in lines if line["chosen"] or not fits.chosen])
    about = [
        _TEXTS("about", C=_PRICE, sets=_TEXTS(f"sets-{scale}")),
        _cut_text(fits),
        _n_ends(fits),
    ]
    caption = paragraphs(
        "  ".join(filter(None, about)), _choices(fits), _answers(fits), _equal(fits), _gaps(lines)
    )
    key = paragraphs(_TEXTS("key"), width=96)
    return Report(
        _COLUMNS,
        lines,
        f"{shown.text()}\n\n{key}",
        f"{caption}\n\n{shown.markdown()}\n{key}\n",
        {"sparsity": _TEXTS("sparsity", sets=_sets(fits, *TITLES))},
    )


def _line(fits: Fits, data: str, shape: str, variance: float) -> dict[str, Any]:
    """Return means over sets; differences are those to the normal prior of the same variance."""
    rows = fits.at(data, shape, variance)
    errors = mean_of(values(rows, "error"))
    difference = fits.difference(data, shape, variance, variance)
    return {
        "data": data,
        "prior": shape,
        "kurtosis": round(kurtosis(shape), 1) + 0.0,
        "variance": variance,
        "chosen": int(fits.chosen.get((data, shape)) == variance),
        "fits": errors.n,
        "error": errors.value,
        "error_deviation": errors.deviation,
        "train_error": mean(rows, "train_error"),
        "n_support": mean(rows, "n_support"),
        "large": mean(rows, _large),
        "largest_gap": largest(rows, "relative_gap"),
        "difference": difference.value,
        "difference_reach": difference.half,
    }


def _columns(fits: Fits) -> list[Column]:
    def variance(line: Row) -> str:
        end = line["chosen"] and fits.is_chosen_at_end(line["data"], line["prior"])
        return f"{line['variance']:g}{'*' if end else ''}"

    def error(line: Row) -> str:
        return plus_minus(line["error"], line["error_deviation"], ".1f", times=100, unit=" %")

    def to_normal(line: Row) -> str:
        """The difference that the figure shows, each prior at its chosen variance."""
        own = fits.chosen.get((line["data"], _NORMAL))
        if line["prior"] == _NORMAL or own is None:
            return MISSING
        return _points(fits.difference(line["data"], line["prior"], line["variance"], own))

    def to_same(line: Row) -> str:
        if line["prior"] == _NORMAL:
            return MISSING
        at = line["variance"]
        return _points(fits.difference(line["data"], line["prior"], at, at))

    return [
        Column("data", "data", TITLES.__getitem__),
        Column("prior", "prior"),
        Column("kurtosis", "kurtosis", "g", right=True),
        Column("variance", variance, right=True),
        Column("test error", error, right=True),
        Column("to Gaussian", to_normal, right=True),
        Column("to Gaussian, same variance", to_same, right=True),
        Column("support", "n_support", ".1f", right=True),
        Column("large weights", "large", percent(".0f"), right=True),
        Column("largest gap", "largest_gap", percent(".2g"), right=True),
    ]


def _points(difference: Mean) -> str:
    return plus_minus(difference.value, difference.half, ".2f", times=100, sign="+")


def _cut_text(fits: Fits) -> str:
    """Say which curves leave the figure at its top."""
    texts = [
        f"{TITLES[data]}: {', '.join(f'{name} (up to {100 * e:.0f} %)' for name, e in cut.items())}"
        for data in fits.data()
        if (cut := _cut(fits, data))
    ]
    return _TEXTS("cut", curves="; ".join(texts)) if texts else ""


def _n_ends(fits: Fits) -> str:
    """Say how many choices are at an end of the grid."""
    counts = []
    for data, title in TITLES.items():
        known = [shape for shape in SHAPES if (data, shape) in fits.chosen]
        if ends := sum(fits.is_chosen_at_end(data, shape) for shape in known):
            counts.append(f"{ends} of {len(known)} on {title}")
    return _TEXTS("n-ends", counts=", ".join(counts)) if counts else ""


def _choices(fits: Fits) -> str:
    """Say which choices are at an end of the grid."""
    sentences = []
    for data, title in TITLES.items():
        ends = [
            f"{shape} ({fits.chosen[data, shape]:g})"
            for shape in SHAPES
            if fits.is_chosen_at_end(data, shape)
        ]
        if ends:
            sentences.append(f"{title}: {', '.join(ends)}.")
    return "  ".join([_TEXTS("ends"), *sentences]) if sentences else ""


def _answers(fits: Fits) -> str:
    """Say which priors read better or worse than the normal one."""

    def of_sign(found: Mapping[str, Mean], sign: int) -> str:
        texts = [f"{name} {_points(one)}" for name, one in found.items() if one.sign == sign]
        return ", ".join(texts) or "none"

    sentences = [
        _TEXTS(
            "answer", title=TITLES[data], variances=label,
            better=of_sign(found, -1), worse=of_sign(found, 1),
        )
        for data in fits.data()
        for label, found in fits.compared(data).items()
    ]  # fmt: skip
    return "  ".join([_TEXTS("answers"), *sentences]) if sentences else ""


def _equal(fits: Fits) -> str:
    """Say how far errors lie apart at equal variances."""
    sentences = []
    for data in fits.data():
        parts = []
        for variance in fits.variances(data, _NORMAL):
            means = [mean(fits.at(data, shape, variance), "error") for shape in _UNBOUNDED]
            known = [value for value in means if value is not None]
            if len(known) == len(means):
                parts.append(f"{100 * np.ptp(known):.1f} at {variance:g}")
        if parts:
            sentences.append(f"{TITLES[data]}: {', '.join(parts)}.")
    return "  ".join([_TEXTS("equal"), *sentences]) if sentences else ""


def _gaps(lines: Sequence[Row]) -> str:
    """Say which fits did not reach their gap."""
    aim = ShapedMEDN().tol
    late = [
        f"{line['prior']} at {line['variance']:g}, {TITLES[line['data']]} "
        f"({100 * line['largest_gap']:.2g} %)"
        for line in lines
        if line["largest_gap"] > aim
    ]
    return _TEXTS("gaps", aim=100 * aim, fits="; ".join(late)) if late else ""


PRIOR_STUDY = Study(
    "priors",
    "the gallery of priors, at equal variances",
    fits=_specs,
    fit=Trained(
        _split, models={**_PLAIN, **_CHOOSERS}, measure=_measure, measured=("grid_errors",)
    ),
    draw=_draw,
    report=_report,
    duration="quick 11 s, paper 5 min",
    more_figures={"sparsity": _draw_sparsity},
    place=12,
)
"""The study."""
