r"""The study ``priors``: whether it matters which prior the weights have.

MEDN takes any prior whose log moment generating function is finite around 0.  Here all of the gallery
(`medn_edu.plots.prior_gallery`) are stretched to the same variances and trained on the same samples, at
one price of the slack: what differs is the shape alone.  Near 0 every such function is
:math:`v\eta^2/2` (but for the exponential prior's mean), a normal prior's, so the shape can only show
where the evidence is strong for the prior's width, :math:`\eta^2 v \gg 1`: at a high price, and not at
variances so small that the price cannot move the weights, or so large that they need not.

Its *excess kurtosis* puts a shape into one number: 0 for the normal prior, above for heavy tails, below
for bounded weights; it is the next term of :math:`\Lambda` and bends the shrinkage curve.

*The exponential prior* keeps all weights at 0 or above, which costs a chain nothing: scores of all
labels may be raised together, feature by feature and transition by transition, without changing which
labelling is best, so that any weights have a non-negative twin.  What it cannot do is to favour weights
of 0 when there is no evidence, nor to treat the two signs alike.

*Data.*  Independent features of which 10 in 100 matter, whose weights were drawn standard normal:
with variance 0.1 the prior "spike and slab" (one tenth standard normal, else 0) is what drew them, the
transitions apart.  Groups of three like features, 30 of which matter.  Handwritten words.  Ten sets
each, 50 sequences or 100 words to train.  Each prior's variance is chosen on data apart: an eleventh
random CRF, or words of no other set, of which three blocks as large as the training sets train in
turn and all others test.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.estimators.max_margin import MaxMarginNetwork
from medn_edu.experiments.models import Model
from medn_edu.experiments.selection import Selected, read_constants
from medn_edu.experiments.specs import FitSpec, Report, Split, Study
from medn_edu.experiments.splits import FOLDS, correlated_split, iid_split, ocr_split
from medn_edu.experiments.tables import markdown_table, text_table
from medn_edu.intervals import student_quantile
from medn_edu.plots.constants import ConstantCurve
from medn_edu.plots.priors import (
    PriorDifference,
    draw_against_variance,
    draw_prior_differences,
)
from medn_edu.plots.shrinkage import prior_gallery
from medn_edu.plots.style import MUTED, new_figure, save_figure, styled
from medn_edu.priors import Prior
from medn_edu.slacks import LinearSlack

__all__ = ["PRIOR_STUDY", "ShapedMEDN"]

_C = 3.0
_SHAPES = tuple(prior_gallery())
_NORMAL = "Gaussian"
_UNBOUNDED = tuple(shape for shape in _SHAPES if shape not in ("box", "two-point"))
_CHOSEN = ", chosen for "
_IID, _CORRELATED, _OCR = "iid-10-50", "correlated-20", "ocr-100"
_TITLES = {_IID: "independent features", _CORRELATED: "features in groups", _OCR: "OCR100"}
_VARIANCES = {
    _IID: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    _CORRELATED: (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3),
    _OCR: (3e-3, 0.01, 0.03, 0.1),
}
_N_BLOCKS = 3  # of the data apart, each of which trains in turn
_N_TRAIN = {_IID: 50, _CORRELATED: 50, _OCR: 100}
_APART = {
    _IID: ("iid-10-1000", 10),
    _CORRELATED: ("correlated-20-10", -1),
    _OCR: ("ocr-outside-100", 0),
}


class ShapedMEDN(MaxMarginNetwork):
    """MEDN with a prior of the gallery, told by its name and its variance.

    Parameters
    ----------
    shape : str, default="Laplace"
        Name of the prior in `medn_edu.plots.prior_gallery`.
    variance : float, default=1.0
        Its variance.
    C : float, default=1.0
        Price of margin violations.
    forbidden, tol, max_iter, warm_start, random_state, n_jobs, verbose
        As for `medn_edu.MEDN`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> X, y = [np.eye(2)] * 2, ["ab", "ab"]
    >>> normal = ShapedMEDN("Gaussian", variance=0.5, C=2.0).fit(X, y)
    >>> bool(np.allclose(normal.weights_, M3N(C=1.0).fit(X, y).weights_))
    True
    """

    def __init__(
        self,
        shape: str = "Laplace",
        variance: float = 1.0,
        C: float = 1.0,
        *,
        forbidden: Any = None,
        tol: float = 1e-2,
        max_iter: int = 300,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.shape = shape
        self.variance = variance
        self.C = C
        self.forbidden = forbidden
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _prior(self) -> Prior:
        return prior_gallery()[self.shape].with_variance(self.variance)

    def _slack(self) -> LinearSlack:
        return LinearSlack(self.C)


_PLAIN = {
    shape: Model(shape, partial(ShapedMEDN, shape, C=_C), f"MEDN with the prior {shape}")
    for shape in _SHAPES
}


def _chooser(shape: str, data: str) -> Model:
    """Return the model that chooses a prior's variance on data apart."""
    grid = (("variance", _VARIANCES[data]),)
    blocks = (_N_TRAIN[data],) * _N_BLOCKS
    build = partial(Selected, shape, grid, _PLAIN, blocks=blocks)
    return Model(_chooser_name(shape, data), build, f"chooses the variance of {shape}")


def _chooser_name(shape: str, data: str) -> str:
    return f"{shape}{_CHOSEN}{_TITLES[data]}"


_CHOOSERS = {
    model.name: model for model in (_chooser(shape, data) for data in _TITLES for shape in _SHAPES)
}


# ---------------------------------------------------------------------------------------------
# fits


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    fits = [
        FitSpec(*_place(data, number), shape, (("variance", variance),), seed)
        for data in _TITLES
        for number in (FOLDS[:1] if quick else FOLDS)
        for variance in _VARIANCES[data][:: 2 if quick else 1]
        for shape in _SHAPES
    ]
    choosers = [
        FitSpec(*_APART[data], _chooser_name(shape, data), seed=seed)
        for data in _TITLES
        for shape in _SHAPES
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
    return {"grid_errors": " ".join(f"{error:.5g}" for error in model.errors_)}


# ---------------------------------------------------------------------------------------------
# means over sets


class _Fits:
    """The rows of a study by data, prior and variance, and the variances that were chosen.

    Parameters
    ----------
    rows : iterable of dict
        Rows of the results.
    """

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.groups: dict[tuple[str, str, float], dict[str, dict[str, Any]]] = {}
        self.chosen: dict[tuple[str, str], float] = {}
        for row in rows:
            if row["model"] in _SHAPES and row.get("error") is not None:
                data = next(kind for kind in _TITLES if row["data"].startswith(kind))
                variance = dict(read_constants(row["parameters"]))["variance"]
                group = self.groups.setdefault((data, row["model"], variance), {})
                group[f"{row['data']}/{row.get('fold')}"] = row
            elif row.get("chosen"):
                shape, _, title = row["model"].partition(_CHOSEN)
                data = next(kind for kind, text in _TITLES.items() if text == title)
                self.chosen[data, shape] = dict(read_constants(row["chosen"]))["variance"]

    def data(self) -> list[str]:
        """Return which data there are, in the order of the study."""
        return [data for data in _TITLES if any(key[0] == data for key in self.groups)]

    def variances(self, data: str, shape: str) -> list[float]:
        """Return at which variances a prior was tried, ascending."""
        return sorted(key[2] for key in self.groups if key[:2] == (data, shape))

    def values(self, data: str, shape: str, variance: float, column: str) -> np.ndarray:
        """Return a column of the sets, or ``large``, the share of weights that are not small."""
        if column == "large":
            large, of_all = (
                self.values(data, shape, variance, name) for name in ("n_large", "n_weights")
            )
            return large / of_all
        group = self.groups.get((data, shape, variance), {})
        values = [group[name].get(column) for name in sorted(group)]
        return np.array([value for value in values if value is not None], dtype=float)

    def differences(
        self, data: str, shape: str, variance: float, against: tuple[str, float]
    ) -> np.ndarray:
        """Return the differences of errors to another prior's, set by set."""
        mine = self.groups.get((data, shape, variance), {})
        other = self.groups.get((data, *against), {})
        both = sorted(mine.keys() & other.keys())
        return np.array([mine[name]["error"] - other[name]["error"] for name in both])


def _difference(name: str, values: np.ndarray) -> PriorDifference:
    """Return the mean with its 95 % interval, by Student's t."""
    mean = float(values.mean()) if len(values) else math.nan
    if len(values) < 2:
        return PriorDifference(name, mean, math.nan)
    error = values.std(ddof=1) / math.sqrt(len(values))
    return PriorDifference(name, mean, float(student_quantile(len(values) - 1) * error))


def _compared(fits: _Fits, data: str) -> list[tuple[str, list[PriorDifference]]]:
    """Compare all priors with the normal one: each at its variance, and all at the normal one's."""
    own = fits.chosen.get((data, _NORMAL))
    if own is None:
        return []
    others = [shape for shape in _SHAPES if shape != _NORMAL and (data, shape) in fits.chosen]

    def compare(variances: dict[str, float]) -> list[PriorDifference]:
        return [
            _difference(shape, fits.differences(data, shape, variance, (_NORMAL, own)))
            for shape, variance in variances.items()
        ]

    return [
        ("each at its chosen variance", compare({s: fits.chosen[data, s] for s in others})),
        ("all at the Gaussian's", compare(dict.fromkeys(others, own))),
    ]


@cache
def _kurtosis(shape: str) -> float:
    """Return a prior's excess kurtosis, the fourth derivative of ``Lambda`` at unit variance."""
    step = 0.02
    mean = prior_gallery()[shape].with_variance(1.0).mean(step * np.arange(-2.0, 3.0))
    return float(np.array([-1, 2, 0, -2, 1]) @ mean / (2 * step**3))


# ---------------------------------------------------------------------------------------------
# figures


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw errors against the variance, and below differences at the chosen variances."""
    fits = _Fits(rows)
    shown = fits.data() or [_OCR]
    compared = {data: kinds for data in shown if (kinds := _compared(fits, data))}
    figure = new_figure(max(3.9 * len(shown), 6.5), 7.4 if compared else 4.4)
    names = sorted((shape for shape in _SHAPES if shape != _NORMAL), key=_kurtosis)
    with styled():
        ratios = (1.25, 1) if compared else (1,)
        rows_of_axes = figure.subplots(len(ratios), len(shown), squeeze=False, height_ratios=ratios)
        upper = rows_of_axes[0]
        for ax, data in zip(upper, shown, strict=True):
            curves = _curves(fits, data, "error")
            draw_against_variance(ax, curves, share=True)
            _cut(ax, curves)
            ax.set_title(_title(fits, data))
        upper[0].set_ylabel("test error (% of labels)")
        entries = _entries(upper[0])
        if compared:
            lower = rows_of_axes[1]
            for ax, data in zip(lower, shown, strict=True):
                draw_prior_differences(ax, names, compared.get(data, []))
                ax.set_xlabel("difference to Gaussian (points)")
            for ax in lower[1:]:
                ax.set_yticklabels([])
            entries |= _entries(lower[0])
        legend = {"loc": "outside upper center", "ncols": 5, "handlelength": 2.6}
        figure.legend(entries.values(), entries.keys(), **legend)
        bars = "; bars: 95 % intervals of the mean difference, set by set" if compared else ""
        note = f"C = {_C:g}; band: deviation of the Gaussian's errors over the sets{bars}"
        figure.supxlabel(note, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _cut(ax: Any, curves: Sequence[ConstantCurve]) -> None:
    """Leave out what is far above all priors without bounds: box and two-point, if narrow."""
    near = [curve.mean + curve.deviation for curve in curves if curve.name == _NORMAL]
    near += [curve.mean for curve in curves if curve.name in _UNBOUNDED]
    if near:
        ax.set_ylim(top=1.12 * max(float(values.max()) for values in near))


def _entries(ax: Any) -> dict[str, Any]:
    """Return what stands in the legend, by its label."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def _draw_sparsity(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw support labellings and large weights against the variance."""
    fits = _Fits(rows)
    shown = fits.data() or [_OCR]
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
            f"C = {_C:g}; large: at least 1 % of the largest; band: deviation of the Gaussian's "
            "numbers over the sets"
        )
        figure.supxlabel(note, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _curves(fits: _Fits, data: str, column: str) -> list[ConstantCurve]:
    curves = []
    for shape in _SHAPES:
        points = [
            (variance, values.mean(), values.std(ddof=1) if len(values) > 1 else 0.0)
            for variance in fits.variances(data, shape)
            if len(values := fits.values(data, shape, variance, column))
        ]
        if points:
            curves.append(ConstantCurve(shape, *np.array(points, dtype=float).T))
    return curves


def _title(fits: _Fits, data: str) -> str:
    most = max((len(group) for key, group in fits.groups.items() if key[0] == data), default=0)
    return f"{_TITLES[data]} ({most} set{'s' if most != 1 else ''})"


# ---------------------------------------------------------------------------------------------
# report


_COLUMNS = (
    "data", "prior", "kurtosis", "variance", "chosen", "fits", "error", "error_deviation",
    "train_error", "n_support", "large", "largest_gap", "difference", "difference_reach",
)  # fmt: skip
_PLACE = {name: number for number, name in enumerate((*_TITLES, *_SHAPES))}


def _table(fits: _Fits) -> list[dict[str, Any]]:
    """Return means over sets; differences are those to the normal prior of the same variance."""
    order = sorted(fits.groups, key=lambda key: (_PLACE[key[0]], _PLACE[key[1]], key[2]))
    return [_line(fits, *key) for key in order]


def _line(fits: _Fits, data: str, shape: str, variance: float) -> dict[str, Any]:
    def values(column: str) -> np.ndarray:
        return fits.values(data, shape, variance, column)

    errors = values("error")
    same = fits.differences(data, shape, variance, (_NORMAL, variance))
    difference = _difference(shape, same)
    return {
        "data": data,
        "prior": shape,
        "kurtosis": round(_kurtosis(shape), 1) + 0.0,
        "variance": variance,
        "chosen": int(fits.chosen.get((data, shape)) == variance),
        "fits": len(errors),
        "error": float(errors.mean()),
        "error_deviation": float(errors.std(ddof=1)) if len(errors) > 1 else None,
        "train_error": float(values("train_error").mean()),
        "n_support": float(values("n_support").mean()),
        "large": float(values("large").mean()),
        "largest_gap": float(values("relative_gap").max()),
        "difference": difference.mean if len(same) else None,
        "difference_reach": difference.reach if len(same) > 1 else None,
    }


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    fits = _Fits(rows)
    table = _table(fits)
    head = (
        "data", "prior", "kurtosis", "variance", "test error", "to Gaussian", "support",
        "large weights", "largest gap",
    )  # fmt: skip
    cells = [_cells(line) for line in table if line["chosen"] or not fits.chosen]
    text = text_table(list(head), cells, right=range(2, len(head)))
    parts = (_about(scale), _choices(fits), _answers(fits), _equal(fits), _gaps(table))
    caption = "\n\n".join(
        textwrap.fill(part, 100, break_on_hyphens=False) for part in parts if part
    )
    return Report(
        _COLUMNS,
        table,
        f"{text}\n\n{textwrap.fill(_KEY, 96)}",
        f"{caption}\n\n{markdown_table(list(head), cells)}",
    )


_KEY = (
    "Each prior at its chosen variance, or at all where none was chosen.  to Gaussian: difference of "
    "test errors to the normal prior of the same variance, in percentage points, with its 95 % "
    "interval over the sets; support: wrong labellings with dual mass per training sample; large "
    "weights: share of the weights that are at least 1 % of the largest."
)


def _cells(line: dict[str, Any]) -> list[str]:
    spread = line["error_deviation"]
    return [
        _TITLES[line["data"]],
        line["prior"],
        f"{line['kurtosis']:g}",
        f"{line['variance']:g}",
        f"{100 * line['error']:.1f} %" + ("" if spread is None else f" ± {100 * spread:.1f}"),
        "–"
        if line["prior"] == _NORMAL
        else _interval(line["difference"], line["difference_reach"]),
        f"{line['n_support']:.1f}",
        f"{100 * line['large']:.0f} %",
        f"{100 * line['largest_gap']:.2g} %",
    ]


def _interval(mean: float | None, reach: float | None) -> str:
    if mean is None:
        return "–"
    return f"{100 * mean:+.2f}" + ("" if reach is None else f" ± {100 * reach:.2f}")


def _about(scale: str) -> str:
    sets = (
        "one set of each kind and some variances" if scale == "quick" else "ten sets of each kind"
    )
    return (
        f"MEDN with the gallery of priors at equal variances and C = {_C:g}, {sets}: random CRFs with "
        "independent features, of which 10 in 100 matter, and with features in groups of three, of "
        "which 30 matter (50 sequences train, 950 test); 100 OCR words of a fold train, 900 test.  "
        "Each prior's variance is chosen on an eleventh CRF or on words that are in none of the sets.  "
        "Below: differences to the Gaussian's test error, set by set, each at its chosen variance, and "
        "all at the one chosen for the Gaussian.  At variance 0.1 spike and slab is the prior that drew "
        "the feature weights of the first kind.  The exponential prior has no negative weights, which "
        "costs no labelling: raising a feature's weights for all labels together changes nothing.  Its "
        "weights without evidence are not 0 but alike, so that counting large ones says little of it."
    )


def _choices(fits: _Fits) -> str:
    """Say which choices are at an end of the grid."""
    sentences = []
    for data, title in _TITLES.items():
        ends = [
            f"{shape} ({fits.chosen[data, shape]:g})"
            for shape in _SHAPES
            if fits.chosen.get((data, shape)) in (_VARIANCES[data][0], _VARIANCES[data][-1])
        ]
        if ends:
            sentences.append(f"{title}: {', '.join(ends)}.")
    if not sentences:
        return ""
    return "  ".join(["Chosen at an end of the grid; others might be better still.", *sentences])


def _answers(fits: _Fits) -> str:
    """Say which priors read better or worse than the normal one."""
    sentences = []
    for data in fits.data():
        for label, differences in _compared(fits, data):
            better = [item for item in differences if item.mean + item.reach < 0]
            worse = [item for item in differences if item.mean - item.reach > 0]
            sentences.append(
                f"{_TITLES[data]}, {label}: better than the Gaussian {_listed(better)}; worse "
                f"{_listed(worse)}."
            )
    if not sentences:
        return ""
    head = "Percentage points, where the 95 % interval of the mean difference is on one side of 0."
    return "  ".join([head, *sentences])


def _listed(items: Sequence[PriorDifference]) -> str:
    return ", ".join(f"{item.name} {_interval(item.mean, item.reach)}" for item in items) or "none"


def _equal(fits: _Fits) -> str:
    """Say how far errors lie apart at equal variances."""
    sentences = []
    for data in fits.data():
        parts = []
        for variance in fits.variances(data, _NORMAL):
            errors = [fits.values(data, shape, variance, "error") for shape in _UNBOUNDED]
            if all(len(values) for values in errors):
                span = float(np.ptp([values.mean() for values in errors]))
                parts.append(f"{100 * span:.1f} at {variance:g}")
        if parts:
            sentences.append(f"{_TITLES[data]}: {', '.join(parts)}.")
    head = (
        "From the best to the worst mean error of the priors without bounds (all but box and "
        "two-point) at equal variance, in percentage points:"
    )
    return "  ".join([head, *sentences]) if sentences else ""


def _gaps(table: Sequence[dict[str, Any]]) -> str:
    """Say which fits did not reach their gap."""
    aim = ShapedMEDN().tol
    late = [
        f"{line['prior']} at {line['variance']:g}, {_TITLES[line['data']]} "
        f"({100 * line['largest_gap']:.2g} %)"
        for line in table
        if line["largest_gap"] > aim
    ]
    return (
        f"Gaps above {100 * aim:g} % when the passes were used up: {'; '.join(late)}."
        if late
        else ""
    )


PRIOR_STUDY = Study(
    "priors",
    "the gallery of priors, at equal variances",
    _specs,
    _split,
    _draw,
    duration="quick 9 s, paper 4 min",
    models={**_PLAIN, **_CHOOSERS},
    measured=("grid_errors",),
    measure=_measure,
    report=_report,
    more_figures={"sparsity": _draw_sparsity},
)
"""The study."""
