"""The study ``exact-vs-variational``: what Algorithm 1 of MEDN costs, and where it goes.

How it works, and what the paper leaves open, stands at the head of ``exact_vs_variational.md``.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import draw_cross
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.explorers.shrinkage import shrinkage_curve
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.studies.both_laplace import ITERATIONS, BothLaplaceMEDNs
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.specs import FitSpec, Report, Split, Study
from medn_edu.studies.kit.splits import correlated_split, ocr_split
from medn_edu.studies.kit.summary import (
    Column,
    Curve,
    constant,
    groups,
    largest,
    mean,
    mean_of,
    most,
    numbers,
    numbers_text,
    percent,
    plus_minus,
    read_constants,
    table,
)
from medn_edu.studies.kit.texts import Texts, listed, over, paragraphs
from medn_edu.studies.kit.trained import Trained, label_error

_LAMS = (1.0, 9.0, 36.0, 268.0)  # 1 and 268 end the papers' grid, 36 is that of their OCR
_CHAIN_CS = (1.0, 0.1, 10.0)
_CHAINS, _OCR = "correlated", "ocr-100"  # kinds of data
_TITLES = {_CHAINS: "chains", _OCR: "OCR100"}
_N_SETS, _N_WORD_SETS = 5, 3  # random CRFs and folds of words at paper scale
_SETS = tuple(f"correlated-10-{number}" for number in range(_N_SETS))
_MODEL = "LapMEDN"
_KEPT = (1, 3, 20)  # iterations whose weights are kept, of one fit:
_SHOWN = (_SETS[0], 0, {"C": 1.0, "lam": 36.0})


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    points = [
        (data, 0, C, lam)
        for data in (_SETS[:1] if quick else _SETS)
        for C in (_CHAIN_CS[:1] if quick else _CHAIN_CS)
        for lam in _LAMS
    ]
    points += [
        (_OCR, fold, 1.0, lam)
        for fold in range(1 if quick else _N_WORD_SETS)
        for lam in (_LAMS[2:3] if quick else _LAMS)
    ]
    return [
        FitSpec(data, fold, _MODEL, (("C", C), ("lam", lam)), seed) for data, fold, C, lam in points
    ]


def _split(spec: FitSpec) -> Split:
    return ocr_split(spec) if spec.data == _OCR else correlated_split(spec)


_LISTS = ("errors", "primals", "gaps", "bounds", "distances", "correlations", "limit_distances")
_LIMIT = ("limit_error", "limit_primal", "limit_distance", "limit_correlation")
_WEIGHTS = ("exact_weights", *(f"{what}_{n}" for n in _KEPT for what in ("weights", "etas")))


def _measure(spec: FitSpec, model: BothLaplaceMEDNs) -> dict[str, Any]:
    """Compare the limit and each step of the trail with the exact solution."""
    data, exact = _split(spec), model.result_.weights

    def error(weights: np.ndarray) -> float:
        return label_error(model.predict(data.X_test, weights), data.y_test)

    found: dict[str, Any] = {
        "limit_error": error(model.limit_.weights),
        "limit_primal": model.limit_primal_,
        "limit_distance": _distance(model.limit_.weights, exact),
        "limit_correlation": _correlation(model.limit_.weights, exact),
    }
    lists: dict[str, Any] = {
        "errors": [error(step.weights) for step in model.trail_],
        "primals": [step.primal for step in model.trail_],
        "gaps": [step.relative_gap for step in model.trail_],
        "bounds": [step.trace[-1].objective_estimate for step in model.trail_],
        "distances": [_distance(step.weights, exact) for step in model.trail_],
        "correlations": [_correlation(step.weights, exact) for step in model.trail_],
        "limit_distances": [_distance(step.weights, model.limit_.weights) for step in model.trail_],
    }
    if (spec.data, spec.fold, dict(spec.parameters)) == _SHOWN:
        lists["exact_weights"] = exact
        for number, step in zip(ITERATIONS, model.trail_, strict=True):
            if number in _KEPT:
                lists[f"weights_{number}"] = step.weights
                lists[f"etas_{number}"] = step.weights / step.variance
    return found | {name: numbers_text(values, ".7g") for name, values in lists.items()}


def _distance(weights: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of weights to others, relative to the length of these."""
    return float(np.linalg.norm(weights - other) / np.linalg.norm(other))


def _correlation(weights: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(weights, other)[0, 1])


# -- groups of fits: the same kind of data, the same C and the same lam ---------------------------

Rows = Sequence[dict[str, Any]]
Groups = dict[tuple[str, float, float], list[dict[str, Any]]]


def _groups_of(rows: Rows) -> Groups:
    """Return the fits that did not fail, by kind of data and constants."""

    def setting(row: dict[str, Any]) -> tuple[str, float | None, float | None]:
        kind = _CHAINS if row["data"].startswith(_CHAINS) else row["data"]
        return kind, constant(row, "C"), constant(row, "lam")

    return groups([row for row in rows if row.get("errors")], setting, order=lambda key: key)


def _along(row: dict[str, Any], name: str) -> np.ndarray:
    """Return a quantity along the iterations, and behind them in the limit."""
    if name == "excess":
        return np.append(numbers(row["primals"]), row["limit_primal"]) / row["primal"] - 1
    if name == "error_difference":
        return np.append(numbers(row["errors"]), row["limit_error"]) - row["error"]
    if name == "limit_distance":
        return np.append(numbers(row["limit_distances"]), 0.0)
    if name == "gap":
        return np.append(numbers(row["gaps"]), math.nan)
    return np.append(numbers(row[f"{name}s"]), row[f"limit_{name}"])


def _at(place: int, name: str, fits: Rows) -> np.ndarray:
    """Return what fits have at a place of `ITERATIONS`, or behind them, in the limit."""
    return np.array([_along(row, name)[place] for row in fits])


_STYLES: tuple[dict[str, Any], ...] = (
    {"color": INK, "linestyle": "-", "marker": "o"},
    {"color": palette.BLUE, "linestyle": "--", "marker": "s"},
    {"color": palette.ORANGE, "linestyle": "-.", "marker": "D"},
    {"color": palette.PINK, "linestyle": ":", "marker": "^"},
)
_PLACES = (*ITERATIONS, 2.0 * ITERATIONS[-1])  # on the axis of iterations; the limit is the last
_MARKS: tuple[dict[str, Any], ...] = (
    {"color": palette.BLUE, "marker": "s", "markersize": 3.5, "linestyle": "", "alpha": 0.55},
    {"color": palette.ORANGE, "marker": "^", "markersize": 4.5, "linestyle": "", "alpha": 0.8},
    {"color": INK, "marker": "o", "markersize": 3, "linestyle": ""},
)
_ROWS = {
    "distance": "distance of the weights",
    "excess": "excess of the objective",
    "error_difference": "test error, difference (points)",
}


def _draw(rows: Rows, path: Path) -> None:
    """Draw distance, excess and difference of errors against iterations, by data and ``C``."""
    found = _groups_of(rows)
    panels = sorted({(data, C) for data, C, _ in found}) or [(_OCR, 1.0)]
    figure = new_figure(max(2.9 * len(panels) + 0.6, 6.5), 8.0)
    with styled():
        axes = figure.subplots(len(_ROWS), len(panels), sharex=True, squeeze=False)
        for column, panel in zip(axes.T, panels, strict=True):
            members = {lam: fits for (data, C, lam), fits in found.items() if (data, C) == panel}
            for ax, name in zip(column, _ROWS, strict=True):
                curves = [_curve(lam, fits, name) for lam, fits in members.items()]
                draw_iterations(ax, curves, logarithmic=name != "error_difference")
            column[-1].axhline(0, color=MUTED, linewidth=0.8)
            column[0].set_title(f"{_TITLES[panel[0]]}, C = {panel[1]:g}")
            column[-1].set_xlabel("iterations")
        for row, (name, label) in zip(axes, _ROWS.items(), strict=True):
            row[0].set_ylabel(label)
            _share(row, [panel[0] if name == "error_difference" else "" for panel in panels])
            for ax in row:
                ax.yaxis.set_major_formatter(_signed if name == "error_difference" else _percent)
        handles = {
            label: handle
            for ax in axes[0]
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            handles.values(), handles.keys(), loc="outside upper center", ncols=len(_LAMS)
        )
        figure.supxlabel(_note(found), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _share(axes: Sequence[Any], kinds: Sequence[str]) -> None:
    """Let axes of one kind have the same limits; the numbers stand at the first of them."""
    for kind in dict.fromkeys(kinds):
        first, *others = [ax for ax, its in zip(axes, kinds, strict=True) if its == kind]
        limits = [ax.get_ylim() for ax in (first, *others)]
        for ax in others:
            ax.sharey(first)
            ax.tick_params(labelleft=False)
        first.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _curve(lam: float, fits: Rows, name: str) -> Curve:
    found = [mean_of(_at(place, name, fits)) for place in range(len(_PLACES))]
    return Curve(
        _lam(lam),
        np.array(_PLACES),
        np.array([one.value for one in found]),
        np.array([one.deviation or 0.0 for one in found]),
        np.array([one.n for one in found]),
    )


def _lam(value: float) -> str:
    return f"λ = {value:g}"


def draw_iterations(ax: Axes, curves: Iterable[Curve], *, logarithmic: bool = False) -> None:
    """Draw means against the number of iterations, with one standard deviation as spread.

    Few iterations that lie far apart stand on a logarithmic axis; to their right, apart, the limit.
    """
    with styled():
        ax.set_xscale("log")
        if logarithmic:
            ax.set_yscale("log")
        ticks: list[float] = []
        for curve in curves:
            place = [_lam(lam) for lam in _LAMS].index(curve.name)
            ticks = [*map(float, curve.x)]
            x = np.array(ticks) * 1.03 ** (place - 1.5)  # spreads stay apart
            spread = np.nan_to_num(curve.deviation)
            # On a logarithmic axis a spread that reaches down to zero would fill the panel.
            below = np.clip(0.7 * curve.mean, 0, spread) if logarithmic else spread
            marks: dict[str, Any] = {
                "elinewidth": 1, "capsize": 2, "markersize": 4.5, "linewidth": 1.5, **_STYLES[place],
            }  # fmt: skip
            for part, line in (
                (slice(None, -1), marks),
                (slice(-1, None), marks | {"linestyle": ""}),
            ):
                ax.errorbar(
                    x[part], curve.mean[part], yerr=[below[part], spread[part]],
                    label=curve.name if part.start is None else None, **line,
                )  # fmt: skip
        if ticks:
            ax.axvline(np.sqrt(ticks[-1] * ticks[-2]), color=MUTED, linewidth=0.8, linestyle=":")
            ax.xaxis.set_major_locator(FixedLocator(ticks))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xticks(ticks, [*(f"{tick:g}" for tick in ticks[:-1]), "limit"])
        ax.grid(axis="y")


def _percent(value: float, _: Any = None) -> str:
    percent = 100 * value
    return f"{percent:,.0f} %" if percent >= 100 else f"{percent:.3g} %"


def _signed(value: float, _: Any = None) -> str:
    return f"{100 * value:+.3g}" if value else "0"


def _note(found: Groups) -> str:
    parts = []
    for data, title in _TITLES.items():
        if n := most(fits for key, fits in found.items() if key[0] == data):
            parts.append(f"{title}: {over(n, 'sets', 'one set')}; ")
    return _TEXTS("note", sets="".join(parts))


def _draw_weights(rows: Rows, path: Path) -> None:
    """Draw one fit's weights: against the exact ones, and against their natural parameters."""
    shown = [row for row in rows if row.get("exact_weights")]
    figure = new_figure(10, 4.8)
    with styled():
        left, right = figure.subplots(1, 2)
        for row in shown[:1]:
            lam = dict(read_constants(row["parameters"]))["lam"]
            exact = numbers(row["exact_weights"])
            reach = _reach(exact)
            draw_cross(left)
            left.plot([-reach, reach], [-reach, reach], color=MUTED, linewidth=1)
            draw_cross(right)
            _draw_limits(right, lam, reach)
            for number, style in zip(_KEPT, _MARKS, strict=True):
                weights = numbers(row[f"weights_{number}"])
                name = "1 iteration (M3N)" if number == 1 else f"{number} iterations"
                left.plot(exact, weights, label=name, **style)
                right.plot(numbers(row[f"etas_{number}"]), weights, label=name, **style)
            right.set_ylim(-reach, reach)
            right.set_title(f"Shrinkage, λ = {lam:g}")
        left.set(xlabel="exact posterior mean", ylabel="variational posterior mean")
        left.set_title("The same weights, trained in both ways")
        right.set(xlabel="η, natural parameter of a weight", ylabel="posterior mean")
        for ax in (left, right):
            ax.legend(loc="upper left")
        note = _TEXTS("weights-note", n=len(exact) if shown else 0)
        figure.supxlabel(note, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _reach(exact: np.ndarray) -> float:
    """Return up to where the axes go."""
    return 1.08 * float(np.abs(exact).max())


def _draw_limits(ax: Any, lam: float, reach: float) -> None:
    """Draw the exact shrinkage curve, and the one at which the iterations stand still."""
    end = math.sqrt(lam)
    for name, prior, line in (
        ("exact, 2η / (λ − η²)", LaplacePrior(lam), "-"),
        ("limit, η / (λ − η²)", NormalGammaPrior(0.5, lam), "--"),
    ):
        curve = shrinkage_curve(name, prior, -end, end)
        near = np.abs(curve.mean) < 2 * reach
        ax.plot(curve.eta[near], curve.mean[near], label=name, color=INK, linestyle=line)


_TEXTS = Texts("exact_vs_variational.md")
_QUANTITIES = ("excess", "error_difference", "distance", "correlation", "limit_distance", "gap")
_COLUMNS = (
    "data", "C", "lam", "fits", "iterations", "exact_error", "exact_gap",
    *(f"{name}{part}" for name in _QUANTITIES for part in ("", "_deviation")),
)  # fmt: skip


def _report(rows: Rows, scale: str) -> Report:
    found = _groups_of(rows)
    lines = _lines(found)
    shown = table(_TABLE, lines)
    sets = {"n_sets": _N_SETS, "n_word_sets": _N_WORD_SETS} if scale == "paper" else {}
    texts = [_TEXTS("about", sets=_TEXTS(f"sets-{scale}", **sets))]
    if found:
        texts += [_limits(found), _excesses(found), _errors(found)]
        gap = max(row["relative_gap"] for fits in found.values() for row in fits)
        texts.append(_TEXTS("exact", gap=100 * gap))
    return Report(
        _COLUMNS,
        lines,
        f"{shown.text()}\n\n{paragraphs(_TEXTS('key'), width=96)}",
        f"{paragraphs(*texts)}\n\n{shown.markdown()}",
        {"weights": _about_weights(rows)},
    )


def _lines(found: Groups) -> list[dict[str, Any]]:
    """Return means and deviations, a line for each number of iterations and one for the limit."""
    lines = []
    for (data, C, lam), fits in found.items():
        for place, number in enumerate((*ITERATIONS, "limit")):
            line: dict[str, Any] = {
                "data": data, "C": C, "lam": lam, "fits": len(fits), "iterations": number,
                "exact_error": mean(fits, "error"), "exact_gap": largest(fits, "relative_gap"),
            }  # fmt: skip
            for name in _QUANTITIES:
                some = mean_of(_at(place, name, fits))
                if math.isfinite(some.value):
                    line |= {name: some.value, f"{name}_deviation": some.deviation}
            lines.append(line)
    return lines


_TABLE = (
    Column("data", "data", _TITLES.__getitem__),
    Column("C", "C", "g", right=True),
    Column("λ", "lam", "g", right=True),
    Column("iterations", "iterations", right=True),
    Column("distance", "distance", percent(), right=True),
    Column("to the limit", "limit_distance", percent(), right=True),
    Column("correlation", "correlation", ".3f", right=True),
    Column("excess", "excess", percent(), right=True),
    Column("own gap", "gap", percent(), right=True),
    Column(
        "error", lambda line: line["exact_error"] + line["error_difference"], percent(), right=True
    ),
    Column("difference", lambda line: _difference(line), right=True),
)


def _difference(line: dict[str, Any]) -> str:
    spread = line["error_difference_deviation"]
    return plus_minus(line["error_difference"], spread, ".2f", times=100, sign="+")


_THIRD, _LAST = ITERATIONS.index(3), -2  # places; -1 is the limit


def _limits(found: Groups) -> str:
    """Say whether the iterations go where the derivation says."""
    along = [_along(row, "distance") for fits in found.values() for row in fits]
    by = [np.argmin(way) for way in along if min(way[:-1]) < 0.9 * way[-1]]
    return _TEXTS(
        "limits", iterations=ITERATIONS[-1], n=len(along), passing=len(by),
        nearest=sum(ITERATIONS[place] in (3, 5) for place in by),
        to_limit=_range(found, _LAST, "limit_distance"), to_exact=_range(found, _LAST, "distance"),
        after_three=_range(found, _THIRD, "distance"),
    )  # fmt: skip


def _excesses(found: Groups) -> str:
    return _TEXTS(
        "excesses", iterations=ITERATIONS[-1], after_one=_range(found, 0, "excess"),
        after_three=_range(found, _THIRD, "excess"), after_all=_range(found, _LAST, "excess"),
        gap=_range(found, _THIRD, "gap"),
    )  # fmt: skip


def _range(found: Groups, place: int, name: str) -> str:
    """Say which median and which range a quantity has over all fits."""
    some = [value for fits in found.values() for value in _at(place, name, fits)]
    median, low, high = (
        f"{100 * value:.2g}" if abs(value) < 1 else f"{100 * value:.0f}"
        for value in (float(np.median(some)), min(some), max(some))
    )
    return f"{median} % ({low} to {high} %)"


def _errors(found: Groups) -> str:
    """Count the settings in which one way reads clearly better than the other."""
    sentences = []
    for data, title in _TITLES.items():
        members = [fits for key, fits in found.items() if key[0] == data and len(fits) > 1]
        for place, after in ((_THIRD, "three iterations"), (-1, "the limit")):
            means = [mean_of(_at(place, "error_difference", fits)) for fits in members]
            if means:
                sentences.append(_TEXTS(
                    "errors", title=title, after=after, n=len(means),
                    low=f"{_signed(min(one.value for one in means))} points",
                    high=f"{_signed(max(one.value for one in means))} points",
                    better=sum(one.sign < 0 for one in means),
                    worse=sum(one.sign > 0 for one in means),
                ))  # fmt: skip
    return "  ".join(sentences)


def _about_weights(rows: Rows) -> str:
    """Say what the figure of one fit's weights shows."""
    shown = next((row for row in rows if row.get("exact_weights")), None)
    if shown is None:
        return _TEXTS("no-weights")
    exact, first = (
        np.abs(numbers(shown[name])) for name in ("exact_weights", f"weights_{_KEPT[0]}")
    )
    return _TEXTS(
        "weights", n=len(exact), C=constant(shown, "C"), lam=constant(shown, "lam"),
        iterations=listed([str(number) for number in _KEPT]), largest=first.max(),
        outside=np.sum(first > _reach(exact)),
    )  # fmt: skip


VARIATIONAL_STUDY = Study(
    "exact-vs-variational",
    "Laplace MEDN: Algorithm 1 and exactly",
    fits=_specs,
    fit=Trained(
        _split,
        models={
            _MODEL: Model(_MODEL, BothLaplaceMEDNs, "Laplace prior, exactly and by Algorithm 1")
        },
        measure=_measure,
        measured=(*_LIMIT, *_LISTS, *_WEIGHTS),
    ),
    draw=_draw,
    report=_report,
    duration="quick 8 s, paper 2 min",
    more_figures={"weights": _draw_weights},
    place=11,
)
"""The study."""
