"""The study ``shape-strength``: errors and weights of LapMEDN between its two limits.

How it works stands at the head of ``shape_strength.md``.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import letter_panels, readable
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, series_style, styled
from medn_edu.intervals import deviation, half_interval
from medn_edu.studies import chorales, ocr, synthetic_correlated, synthetic_iid
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    FAIR_MODELS,
    PRICES,
    Ranges,
    choices_text,
    choosing,
    fair_grids,
    fair_models,
    grids_text,
    laplace_strengths,
    measure_choice,
    shapes_text,
)
from medn_edu.studies.kit.models import Model, make_model, sparsity
from medn_edu.studies.kit.selection import CHOICE, TRIED
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Split, Study
from medn_edu.studies.kit.splits import (
    chorale_split,
    correlated_split,
    iid_split,
    ocr_split,
    word_errors,
)
from medn_edu.studies.kit.summary import (
    Column,
    constant,
    differences,
    groups,
    mean,
    mean_of,
    numbers,
    numbers_text,
    plus_minus,
    read_constants,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, counted, listed, paragraphs
from medn_edu.studies.kit.trained import Trained, label_error

_TEXTS = Texts("shape_strength.md")

SHAPES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""``C`` of LapMEDN: the columns of maps."""

N_STRENGTHS = 11
"""The lines of maps, from strong to weak."""

FIRST_EDITION = (1.0, 268.0)
"""The ends of ``lam`` with which LapMEDN, with C = 1, was compared at first."""

CHOSEN = ("M3N", "LapMEDN", "L1-M3N")
"""Models that choose their constants on validation samples."""

_ALONG = " along C"
_MAP, _LEFT, _RIGHT = (f"{name}{_ALONG}" for name in ("LapMEDN", "M3N", "L1-M3N"))


# -- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Data of which there is one map."""

    title: str
    units: tuple[tuple[str, int], ...]  # data and fold of each repetition
    split: Callable[..., Split]
    ranges: Ranges
    n_train: int | None = None  # samples that train while others judge; None cuts the training part
    tol: float = 2e-2  # gap of maps
    independent: bool = True  # whether training parts share no sample

    @property
    def choice(self) -> dict[str, Any]:
        """How models choose if their training part is cut: one half trains, the other judges."""
        cut = {"n_folds": 2, "n_tried": 1, "in_order": True}
        return {"tol": 5e-2, **(cut if self.n_train is None else {})}


_FIVE = range(5)
KINDS: dict[str, Kind] = {
    "iid": Kind(
        "chains, independent features",
        tuple(("iid-10-50", fold) for fold in _FIVE),
        iid_split,
        synthetic_iid.RANGES,
        50,
    ),
    "correlated": Kind(
        "chains, features in groups",
        tuple((f"correlated-20-{number}", 0) for number in _FIVE),
        correlated_split,
        synthetic_correlated.RANGES,
        50,
    ),
    "ocr": Kind(
        "OCR100",
        tuple(("ocr-100", fold) for fold in _FIVE),
        ocr_split,
        ocr.RANGES,
        100,
    ),
    "chorales": Kind(
        "Bach's chorales",
        tuple(("chorales-2", fold) for fold in range(2)),
        chorale_split,
        replace(chorales.RANGES, m3n=(0.01, 1), l1_m3n=(0.02, 0.7)),  # so that both ends err more
        tol=5e-2,
        independent=False,
    ),
}
"""The four kinds of data, by the first word of their names."""


def kind_of(data: str) -> Kind:
    """Return the kind that data belong to."""
    return KINDS[data.partition("-")[0]]


def split_of(spec: FitSpec) -> Split:
    """Return the data of a fit; if it chooses, samples to judge by stand behind those that train."""
    kind = kind_of(spec.data)
    if kind.n_train is None:
        return kind.split(spec)
    return kind.split(spec, validate=any(name == "blocks" for name, _ in spec.parameters))


# -- models ---------------------------------------------------------------------------------------


class Along:
    """A model at several points in a row, each of which is the start of the next one's training.

    ``models_`` has the model at each point, and the last one answers for all.
    """

    def __init__(self, name: str, points: Sequence[Mapping[str, float]], tol: float) -> None:
        self.name, self.points, self.tol = name, points, tol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the outcome depends on."""
        varied = set(self.points[0])
        others = self._make().get_params(deep=False).items()
        kept = {name: value for name, value in others if name not in varied}
        return {**kept, "model": self.name, "points": list(self.points)}

    def set_params(self, random_state: int) -> Self:
        """Set the seed."""
        self.random_state = random_state
        return self

    random_state = 0

    def _make(self) -> Any:
        model = make_model(self.name, FAIR_MODELS, seed=self.random_state)
        return model.set_params(tol=self.tol, warm_start=True)

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> Self:
        """Train at each point."""
        model, self.models_ = self._make(), []
        for point in self.points:
            model.set_params(**point).fit(X, y)
            self.models_.append(copy(model))
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "models_":  # asked for before there are any
            raise AttributeError(name)
        return getattr(self.models_[-1], name)


def _points(kind: Kind, model: str, parameters: Mapping[str, float]) -> list[dict[str, float]]:
    """Return the points of a fit along C: of LapMEDN with one strength, of its limits with all."""
    if model == _MAP:
        k = int(parameters["strength"])
        some = SHAPES[:-2:2] if "every" in parameters else SHAPES
        return [{"C": C, "lam": float(f"{strengths(kind, C)[k]:.6g}")} for C in some]
    ends = kind.ranges.m3n if model == _LEFT else kind.ranges.l1_m3n
    found = np.geomspace(*ends, N_STRENGTHS)[_some(parameters)]
    return [{"C": float(f"{C:.6g}")} for C in found]


def strengths(kind: Kind, C: float, n: int = N_STRENGTHS) -> np.ndarray:
    """Return ``lam`` of each line of a map, where ``C`` is this."""
    return laplace_strengths(C, kind.ranges, n)


def _some(parameters: Mapping[str, float]) -> slice:
    """Return the strengths that are tried."""
    every = int(parameters.get("every", 1))
    return slice(every // 2, None, every)


@cache
def _chosen_models(kind: Kind) -> Mapping[str, Model]:
    return fair_models(kind.ranges, CHOSEN, **kind.choice)


_MODELS: dict[str, Model] = {
    **{name: FAIR_MODELS[name] for name in CHOSEN},
    **{
        name: Model(name, partial(Along, name.removesuffix(_ALONG)), "at several points in a row")
        for name in (_MAP, _LEFT, _RIGHT)
    },
}


@dataclass(frozen=True, eq=False)
class _Fits(Trained):
    """Fits whose models depend on the data: which constants they try."""

    def build(self, spec: FitSpec) -> Any:
        """Return the model of a fit, not trained yet."""
        kind, parameters = kind_of(spec.data), dict(spec.parameters)
        if spec.model in CHOSEN:
            return make_model(spec.model, _chosen_models(kind), seed=spec.seed, **parameters)
        points = _points(kind, spec.model, parameters)
        return make_model(spec.model, _MODELS, seed=spec.seed, points=points, tol=kind.tol)


# -- fits -----------------------------------------------------------------------------------------


_QUICK = (("every", 3.0),)  # strengths, and every other shape but for the last, which takes long


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    given = _QUICK if quick else ()
    found = []
    for name, kind in KINDS.items():
        if quick and name not in ("iid", "ocr"):
            continue
        few = quick and name == "ocr"  # whose other fits take long
        lines = range(N_STRENGTHS)[_some(dict(given))][: 2 if few else None]
        for data, fold in kind.units[: 1 if quick else None]:
            fit = partial(FitSpec, data, fold, seed=seed)
            found += [fit(_MAP, (("strength", float(k)), *given)) for k in lines]
            found.append(fit(_LEFT, given))
            if not few:
                found.append(fit(_RIGHT, given))
                found += [fit(model, _choosing(kind, model, scale)) for model in CHOSEN]
    return found


def _choosing(kind: Kind, model: str, scale: str) -> tuple[tuple[str, float], ...]:
    return TRIED[scale] if kind.n_train is None else choosing(model, kind.n_train, scale)


_MEASURED = ("prices", "lams", "errors", "n_larges", "gaps", "word_errors", *CHOICE_COLUMNS)


def _measure(spec: FitSpec, model: Any) -> Row:
    """Note errors and weights at each point of a path, and how constants were chosen."""
    if not isinstance(model, Along):
        return measure_choice(spec, model) | word_errors(spec, model)
    data, models = split_of(spec), model.models_
    return {
        "prices": numbers_text([point["C"] for point in model.points], ".6g"),
        "lams": numbers_text([point.get("lam", np.nan) for point in model.points], ".6g"),
        "errors": numbers_text(
            [label_error(one.predict(data.X_test), data.y_test) for one in models], ".6g"
        ),
        "n_larges": numbers_text([sparsity(one)["n_large"] for one in models], ".6g"),
        "gaps": numbers_text([one.result_.relative_gap for one in models], ".3g"),
    }


# -- what comes out -------------------------------------------------------------------------------


def cells(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a line for each cell of the maps and of their strips, with means over repetitions.

    ``near`` says which cells err at most one standard error more than the best one of their map, where
    that error is the one of the mean difference between the two.
    """
    found = []
    for name, of_kind in groups(rows, lambda row: row["data"].partition("-")[0]).items():
        for model, group in groups(of_kind, "model").items():
            if not model.endswith(_ALONG):
                continue
            places: dict[tuple[int, float], list[tuple[Row, int]]] = {}
            for row in group:
                for at, C in enumerate(numbers(row["prices"])):
                    places.setdefault((_line(row, at), C), []).append((row, at))
            found += [
                {"kind": name, "model": model, "strength": k, "C": C, **_means(some)}
                for (k, C), some in sorted(places.items())
            ]
    for of_kind in groups(found, "kind").values():
        on_map = [cell for cell in of_kind if cell["model"] == _MAP]
        best = min(on_map, key=lambda cell: cell["error"])
        for cell in on_map:
            more = cell["errors"] - best["errors"]
            spread = deviation(more)
            cell["best"] = cell is best
            cell["near"] = spread is not None and more.mean() <= spread / np.sqrt(len(more))
    return found


def _line(row: Row, at: int) -> int:
    """Return on which line of the map a point is."""
    if row["model"] == _MAP:
        return int(constant(row, "strength") or 0)
    return range(N_STRENGTHS)[_some(dict(read_constants(row["parameters"])))][at]


def _means(some: Sequence[tuple[Row, int]]) -> dict[str, Any]:
    def column(name: str) -> np.ndarray:
        return np.array([numbers(row[name])[at] for row, at in some])

    errors = column("errors")
    lam = column("lams")[0]
    return {
        "lam": None if np.isnan(lam) else float(lam),
        "repetitions": len(errors),
        "errors": errors,
        "error": float(errors.mean()),
        "n_large": float(column("n_larges").mean()),
        "large": float(
            column("n_larges").mean() / values([r for r, _ in some], "n_weights").mean()
        ),
        "largest_gap": float(column("gaps").max()),
    }


def chosen(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a line for each model that chooses, with its difference to LapMEDN on the same data."""
    found = []
    picked = [row for row in rows if row["model"] in CHOSEN]
    for name, of_kind in groups(picked, lambda row: row["data"].partition("-")[0]).items():
        by_model = groups(of_kind, "model", order=CHOSEN.index)
        for model, group in by_model.items():
            less = differences(group, by_model["LapMEDN"])
            found.append(
                {
                    "kind": name,
                    "model": model,
                    "repetitions": len(group),
                    "error": mean(group, "error"),
                    "to_lapmedn": mean_of(less).value if model != "LapMEDN" else None,
                    "interval": _half(KINDS[name], group, less) if model != "LapMEDN" else None,
                    "n_large": mean(group, "n_large"),
                }
            )
    return found


def _half(kind: Kind, group: Sequence[Row], less: np.ndarray) -> float | None:
    """Return half the interval of a mean difference, longer where training parts share samples."""
    if len(less) < 2:
        return None
    if kind.independent:
        return mean_of(less).half
    return float(half_interval(less, overlap=group[0]["n_test"] / group[0]["n_train"]))


# -- figures --------------------------------------------------------------------------------------

_POINTS = 8.0  # of error above the best cell, where colours end
_SHARES = (1.0, 100.0)  # of weights, in per cent, where colours end
_ERRORS, _WEIGHTS = "YlGnBu_r", "YlOrBr"


@dataclass(frozen=True)
class _Look:
    """How a quantity becomes a colour."""

    value: Callable[[dict[str, Any], float], float]  # of a cell, with the error of the best one
    colours: str
    norm: Normalize
    title: str
    extend: str


_LOOKS = (
    _Look(
        lambda cell, best: 100 * (cell["error"] - best),
        _ERRORS,
        Normalize(0, _POINTS),
        "test error, points above the best cell",
        "both",
    ),
    _Look(
        lambda cell, best: 100 * cell["large"],
        _WEIGHTS,
        LogNorm(*_SHARES),
        "weights that are not negligible, % of all",
        "both",
    ),
)


def _draw_maps(rows: Sequence[Row], path: Path) -> None:
    """Draw error and weights over shape and strength, with the limits as strips at the two ends."""
    of_kind = groups(cells(rows), "kind", order=list(KINDS).index)
    figure = new_figure(4.1 * len(of_kind) + 1.6, 9.6)
    with styled():
        axes = figure.subplots(
            2, 3 * len(of_kind), squeeze=False, sharey="col",
            width_ratios=[1, 8, 1] * len(of_kind),
        )  # fmt: skip
        for line, look in zip(axes, _LOOKS, strict=True):
            for number, (name, found) in enumerate(of_kind.items()):
                trio = line[3 * number : 3 * number + 3]
                colours = _draw_trio(trio, KINDS[name], found, look)
                if look is _LOOKS[0]:
                    best = min(cell["error"] for cell in found if cell["model"] == _MAP)
                    trio[1].set_title(f"{KINDS[name].title}\nbest cell errs {100 * best:.1f} %")
            bar = figure.colorbar(colours, ax=list(line), extend=look.extend, pad=0.01, aspect=30)
            bar.set_label(look.title)
            bar.outline.set_visible(False)
        letter_panels(axes[:, 1::3].flat)
        _write_below(figure, _TEXTS("note"))
    save_figure(figure, path)


def _draw_trio(
    axes: Sequence[Axes], kind: Kind, found: Sequence[dict[str, Any]], look: _Look
) -> Any:
    """Draw a map between the strips of M3N and of L1-M3N."""
    by_model = groups(found, "model")
    lines = sorted({cell["strength"] for cell in by_model[_MAP]})
    best = min(cell["error"] for cell in by_model[_MAP])
    for ax, model in zip(axes, (_LEFT, _MAP, _RIGHT), strict=True):
        shapes = sorted({cell["C"] for cell in by_model[model]}) if model == _MAP else [1.0]
        shown = np.full((len(lines), len(shapes)), np.nan)
        for cell in (cell for cell in by_model.get(model, ()) if cell["strength"] in lines):
            column = shapes.index(cell["C"]) if model == _MAP else 0
            shown[lines.index(cell["strength"]), column] = look.value(cell, best)
        x, y = _edges(np.log10(shapes)), _edges(lines)
        colours = ax.pcolormesh(x, y, shown, cmap=look.colours, norm=look.norm, linewidth=0)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
    left, middle, right = axes
    for ax, ends, label in ((left, kind.ranges.m3n, "M3N"), (right, kind.ranges.l1_m3n, "L1-M3N")):
        colour = readable(series_style(label)["color"])
        constants = np.geomspace(*ends, N_STRENGTHS)
        ticks = range(0, N_STRENGTHS, 2)
        ax.set_yticks(ticks, [f"{constants[k]:.2g}" for k in ticks], color=colour)
        ax.set_xlim(-0.5, 0.5)
        ax.set_xticks([])
        ax.set_xlabel(f"{label}:\nits C", color=colour, fontweight="bold", labelpad=12)
    right.yaxis.tick_right()
    middle.tick_params(labelleft=False)
    whole = [C for C in SHAPES if f"{C:g}".strip("0.") == "1"][::2]
    middle.set_xticks(np.log10(whole), [f"{C:g}" for C in whole], fontsize=9)
    for ax in axes:  # ticks may lie outside of a coarse map
        ax.set_ylim(y[0], y[-1])
    middle.set_xlim(*_edges(np.log10(sorted({cell["C"] for cell in by_model[_MAP]})))[[0, -1]])
    middle.set_xlabel(
        "LapMEDN: its shape C", color=readable(series_style("LapMEDN")["color"]), fontweight="bold"
    )
    _draw_constants(middle, kind)
    _draw_marks(middle, kind, by_model[_MAP])
    return colours


def _edges(places: ArrayLike) -> np.ndarray:
    """Return the borders of cells around these places."""
    middle = np.asarray(places, dtype=float)
    if len(middle) == 1:
        return middle[0] + np.array([-0.5, 0.5])
    between = (middle[1:] + middle[:-1]) / 2
    return np.concatenate([[2 * middle[0] - between[0]], between, [2 * middle[-1] - between[-1]]])


def _draw_constants(ax: Axes, kind: Kind) -> None:
    """Draw the lines of equal constants of M3N, 2 C / lam, and of L1-M3N, C / (2 sqrt(lam))."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    log_C, k = np.linspace(left, right, 200), np.linspace(low, high, 200)
    c_2, c_1 = (_between(ends, k)[:, None] for ends in (kind.ranges.m3n, kind.ranges.l1_m3n))
    C = 10 ** log_C[None, :]
    lam = 2 * C / c_2 + (C / (2 * c_1)) ** 2
    for here, ends, style in (
        (2 * C / lam, kind.ranges.m3n, "solid"),
        (C / (2 * np.sqrt(lam)), kind.ranges.l1_m3n, "dashed"),
    ):
        levels = np.log(_between(ends, range(1, N_STRENGTHS, 3)))
        lines = ax.contour(
            log_C, k, np.log(here), levels, colors=[INK], linewidths=1.0, linestyles=style
        )
        lines.set_path_effects([withStroke(linewidth=2.4, foreground="white", alpha=0.7)])


def _between(ends: tuple[float, float], k: Any) -> np.ndarray:
    """Return the constants of a limit on lines of a map, which need not be whole numbers."""
    first, last = ends
    return first * (last / first) ** (np.asarray(k) / (N_STRENGTHS - 1))


def _draw_marks(ax: Axes, kind: Kind, found: Sequence[dict[str, Any]]) -> None:
    """Mark the best cell, those as good, and what the first edition tried."""
    low, high = ax.get_ylim()
    k = np.linspace(low, high, 1000)
    lam = 2 / _between(kind.ranges.m3n, k) + (1 / (2 * _between(kind.ranges.l1_m3n, k))) ** 2
    inside = k[(lam >= FIRST_EDITION[0]) & (lam <= FIRST_EDITION[1])]
    if len(inside):
        style = {"linestyle": "-", "solid_capstyle": "butt"}
        ax.plot([0, 0], inside[[0, -1]], color="white", linewidth=6, **style)
        ax.plot([0, 0], inside[[0, -1]], color=palette.VERMILION, linewidth=3.5, **style)
    for cell in found:
        marker, size = ("*", 17) if cell["best"] else ("o", 4.5)
        if cell["best"] or cell["near"]:
            ax.plot(
                np.log10(cell["C"]), cell["strength"], marker, color="white", markersize=size,
                markeredgecolor=INK, markeredgewidth=0.8,
            )  # fmt: skip


def _write_below(figure: Any, text: str) -> None:
    width = int(13 * figure.get_figwidth())  # letters of this size
    figure.supxlabel(textwrap.fill(text, width), fontsize=10, color=MUTED)


def _draw_plane(rows: Sequence[Row], path: Path) -> None:
    """Draw errors over C and lam themselves, where limits are straight lines; and chosen constants."""
    of_kind = groups(cells(rows), "kind", order=list(KINDS).index)
    figure = new_figure(4.1 * len(of_kind) + 0.8, 8.2)
    look = _LOOKS[0]
    with styled():
        axes = figure.subplots(2, len(of_kind), squeeze=False, height_ratios=[2.4, 1])
        for upper, lower, (name, found) in zip(*axes, of_kind.items(), strict=True):
            colours = _draw_band(upper, KINDS[name], found, look)
            upper.set_title(KINDS[name].title)
            _draw_chosen(lower, [line for line in chosen(rows) if line["kind"] == name])
        bar = figure.colorbar(colours, ax=list(axes[0]), extend="both", pad=0.01, aspect=30)
        bar.set_label(look.title)
        bar.outline.set_visible(False)
        letter_panels(axes.flat)
        axes[0, 0].legend(fontsize=9, loc="upper left")  # for all
        _write_below(figure, _TEXTS("plane-note"))
    save_figure(figure, path)


def _draw_band(ax: Axes, kind: Kind, found: Sequence[dict[str, Any]], look: _Look) -> Any:
    on_map = [cell for cell in found if cell["model"] == _MAP]
    shapes = sorted({cell["C"] for cell in on_map})
    lines = sorted({cell["strength"] for cell in on_map})
    best = min(cell["error"] for cell in on_map)
    shown = np.full((len(lines), len(shapes)), np.nan)
    for cell in on_map:
        shown[lines.index(cell["strength"]), shapes.index(cell["C"])] = look.value(cell, best)
    x = _edges(np.log10(shapes))
    ends = np.repeat(x[None, :], len(lines) + 1, axis=0)
    c_2, c_1 = (
        _between(limit, _edges(lines))[:, None] for limit in (kind.ranges.m3n, kind.ranges.l1_m3n)
    )
    C = 10**ends
    lam = np.log10(2 * C / c_2 + (C / (2 * c_1)) ** 2)
    colours = ax.pcolormesh(ends, lam, shown, cmap=look.colours, norm=look.norm)
    span = np.array([x[0], x[-1]])
    low, high = float(lam.min()) - 0.8, float(lam.max()) + 0.8
    for exponents, slope, shift, name in (
        (np.log10(np.geomspace(*kind.ranges.m3n, 3)), 1, lambda c: np.log10(2) - c, "M3N"),
        (np.log10(np.geomspace(*kind.ranges.l1_m3n, 3)), 2, lambda c: -2 * (np.log10(2) + c), "L1-M3N"),
    ):  # fmt: skip
        for c in exponents:
            ax.plot(
                span, slope * span + shift(c), color=INK,
                linestyle="-" if name == "M3N" else "--", linewidth=1.0,
                label=f"limit {name}: slope {slope}" if c == exponents[0] else None,
            )  # fmt: skip
    cell = min(on_map, key=lambda cell: cell["error"])
    ax.plot(
        np.log10(cell["C"]), np.log10(cell["lam"]), "*", color="white", markersize=17,
        markeredgecolor=INK, linestyle="none", label="best cell",
    )  # fmt: skip
    ax.plot(
        [0, 0], np.log10(FIRST_EDITION), "-", color=palette.VERMILION, linewidth=3.5,
        solid_capstyle="butt",
        label="C = 1, λ from 1 to 268",
    )  # fmt: skip
    ax.set_xlim(*span)
    ax.set_ylim(low, high)
    ax.set_xlabel("shape C")
    ax.set_ylabel("constant λ")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
        axis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")
    return colours


def _draw_chosen(ax: Axes, lines: Sequence[dict[str, Any]]) -> None:
    """Draw how much more the limits err than LapMEDN, all with constants chosen by validation."""
    others = [line for line in lines if line["to_lapmedn"] is not None]
    if not others:
        ax.set_axis_off()
        return
    ax.axvline(0, color=series_style("LapMEDN")["color"], linewidth=2)
    for y, line in enumerate(others):
        half = None if line["interval"] is None else 100 * line["interval"]
        style = {**series_style(line["model"]), "linestyle": "none", "markersize": 8}
        ax.errorbar(100 * line["to_lapmedn"], y, xerr=half, capsize=3, **style)
    ax.set_yticks(range(len(others)), [line["model"] for line in others])
    ax.set_ylim(len(others) - 0.4, -0.6)
    ax.set_xlabel("points more than LapMEDN, constants chosen")
    ax.grid(axis="x")


# -- the report -----------------------------------------------------------------------------------

_COLUMNS = (
    "kind", "model", "strength", "C", "lam", "repetitions", "error", "n_large", "largest_gap",
    "best", "near", "to_lapmedn", "interval",
)  # fmt: skip


def _summary(name: str, found: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]]) -> Row:
    """Return the best cells of a map, of its strips and of the first edition, and chosen constants."""
    on_map = [cell for cell in found if cell["model"] == _MAP]
    low, high = FIRST_EDITION
    first = [cell for cell in on_map if cell["C"] == 1 and low <= cell["lam"] <= high]

    def best(some: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
        return min(some, key=lambda cell: cell["error"], default=None)

    return {
        "title": KINDS[name].title,
        "map": best(on_map),
        "left": best(cell for cell in found if cell["model"] == _LEFT),
        "right": best(cell for cell in found if cell["model"] == _RIGHT),
        "first": best(first),
        **{line["model"]: line for line in lines if line["kind"] == name},
    }


def _cell_text(cell: dict[str, Any]) -> str:
    at = f"C = {cell['C']:.3g}" + ("" if cell["lam"] is None else f", λ = {cell['lam']:,.3g}")
    return f"{100 * cell['error']:.1f} ({at})"


def _chosen_text(line: dict[str, Any]) -> str:
    text = f"{100 * line['error']:.1f}"
    if line["to_lapmedn"] is None:
        return text
    more = plus_minus(line["to_lapmedn"], line["interval"], ".1f", times=100, sign="+")
    return f"{text} ({more})"


_CELLS = (
    Column("data", "title"),
    Column("M3N", "left", _cell_text),
    Column("LapMEDN", "map", _cell_text),
    Column("LapMEDN, C = 1, λ from 1 to 268", "first", _cell_text),
    Column("L1-M3N", "right", _cell_text),
)
_PICKED = (
    Column("data", "title"),
    *(Column(name, name, _chosen_text) for name in CHOSEN),
)


def _report(rows: Sequence[Row], scale: str) -> Report:
    found, lines = cells(rows), chosen(rows)
    of_kind = groups(found, "kind", order=list(KINDS).index)
    summaries = [_summary(name, some, lines) for name, some in of_kind.items()]
    cells_table, picked = table(_CELLS, summaries), table(_PICKED, summaries)
    picking = [row for row in rows if row["model"] in CHOSEN]
    grids = "; ".join(
        f"{KINDS[name].title}, {counted(max(c['repetitions'] for c in some), 'repetition')}, "
        f"{grids_text(fair_grids(KINDS[name].ranges, ('M3N', 'L1-M3N')))}"
        for name, some in of_kind.items()
    )
    caption = _TEXTS(
        "caption",
        shapes=len({cell["C"] for cell in found if cell["model"] == _MAP}),
        smallest=SHAPES[0],
        largest=max(cell["C"] for cell in found if cell["model"] == _MAP),
        n=len({cell["strength"] for cell in found}),
        grids=grids,
        gap=max(cell["largest_gap"] for cell in found),
    )
    prices = listed([f"{C:g}" for C in PRICES])
    by_choice = _TEXTS("chosen", prices=prices, choice=CHOICE[scale], choices=choices_text(picking))
    return Report(
        _COLUMNS,
        [*found, *lines],
        f"{cells_table.text()}\n\n{_TEXTS('cells')}\n\n{picked.text()}",
        f"{paragraphs(caption)}\n\n{_TEXTS('cells')}\n\n{cells_table.markdown()}\n"
        f"{paragraphs(by_choice, shapes_text(picking))}\n\n{picked.markdown()}",
        {"plane": paragraphs(_TEXTS("plane"))},
    )


SHAPE_STRENGTH_STUDY = Study(
    "shape-strength",
    "LapMEDN by shape, from M3N to L1-M3N",
    fits=_specs,
    fit=_Fits(split_of, _MODELS, _measure, _MEASURED),
    draw=_draw_maps,
    report=_report,
    duration="quick 10 s, paper 20 min",
    more_figures={"plane": _draw_plane},
    place=16,
)
"""The study."""
