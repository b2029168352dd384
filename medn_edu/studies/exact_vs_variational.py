"""The study ``exact-vs-variational``: what Algorithm 1 of MEDN costs, and where it goes.

How it works, and what the paper leaves open, stands at the head of ``exact_vs_variational.md``.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import draw_cross, letter_panels
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.explorers.shrinkage import shrinkage_curve
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.studies import priors, synthetic_correlated
from medn_edu.studies.both_laplace import ITERATIONS, BothLaplaceMEDNs
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    PRICES,
    choices_text,
    choosing,
    fair_grids,
    fair_models,
    grids_text,
    laplace_strengths,
    measure_choice,
    shapes_text,
    split_and_validate,
)
from medn_edu.studies.kit.figures import name_row
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE
from medn_edu.studies.kit.specs import FitSpec, Report, Split, Study
from medn_edu.studies.kit.splits import correlated_split, ocr_split, word_errors
from medn_edu.studies.kit.summary import (
    MISSING,
    Column,
    Curve,
    constant,
    differences,
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
    values,
)
from medn_edu.studies.kit.texts import Texts, listed, over, paragraphs
from medn_edu.studies.kit.trained import Trained, label_error

_CHAINS, _OCR = "correlated", "ocr-100"  # kinds of data
_TITLES = {_CHAINS: "chains", _OCR: "OCR100"}
_RANGES = {_CHAINS: synthetic_correlated.RANGES, _OCR: priors.RANGES[_OCR]}
_STRENGTHS = ("strong", "rather strong", "rather weak", "weak")  # one ``lam`` each, for every ``C``
_N_SETS, _N_WORD_SETS = 5, 3  # random CRFs and folds of words at paper scale
_SETS = tuple(f"correlated-10-{number}" for number in range(_N_SETS))
_BOTH = "both"  # the same constants for both
_EXACT, _VARIATIONAL = _FAIR = "LapMEDN", "LapMEDN variational"  # each chooses its own
_KEPT = (1, 3, 20)  # iterations whose weights are kept, of one fit:
_SHOWN = (_SETS[0], 0, {"C": 1.0, "lam": 36.0})


def _lams(data: str, C: float) -> list[float]:
    """Return ``lam`` from strong to weak, so that both limits of ``C`` are covered."""
    return [float(f"{x:.3g}") for x in laplace_strengths(C, _RANGES[data], len(_STRENGTHS))]


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    sets = _SETS[:1] if quick else _SETS
    points = [(*_SHOWN[:2], 1.0, 36.0)]
    for C in PRICES[1:2] if quick else PRICES:
        points += [(data, 0, C, lam) for data in sets for lam in _lams(_CHAINS, C)]
        lams = _lams(_OCR, C)[:1] if quick else _lams(_OCR, C)
        points += [(_OCR, k, C, lam) for k in range(1 if quick else _N_WORD_SETS) for lam in lams]
    same = [FitSpec(data, k, _BOTH, (("C", C), ("lam", lam)), seed) for data, k, C, lam in points]
    places = [(data, 0) for data in sets] + [(_OCR, k) for k in range(0 if quick else _N_SETS)]
    return same + [
        FitSpec(*place, name, choosing(name, 100, scale), seed)
        for place in places
        for name in _FAIR
    ]


def _split(spec: FitSpec, *, validate: bool = False) -> Split:
    split = ocr_split if spec.data == _OCR else correlated_split
    return split(spec, validate=validate)


_LISTS = ("errors", "excesses", "distances", "correlations", "limit_distances", "gaps")
_WEIGHTS = ("exact_weights", *(f"{what}_{n}" for n in _KEPT for what in ("weights", "etas")))


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Compare each step of the trail, and behind them the limit, with the exact solution."""
    if spec.model in _FAIR:
        return measure_choice(spec, model) | word_errors(spec, model)
    data, exact, limit = _split(spec), model.result_, model.limit_.weights
    found = [*(step.weights for step in model.trail_), limit]
    primals = [*(step.primal for step in model.trail_), model.limit_primal_]
    lists: dict[str, Any] = {
        "errors": [label_error(model.predict(data.X_test, w), data.y_test) for w in found],
        "excesses": np.array(primals) / exact.primal - 1,
        "distances": [_distance(weights, exact.weights) for weights in found],
        "correlations": [np.corrcoef(weights, exact.weights)[0, 1] for weights in found],
        "limit_distances": [_distance(weights, limit) for weights in found],
        "gaps": [step.relative_gap for step in model.trail_],
    }
    if (spec.data, spec.fold, dict(spec.parameters)) == _SHOWN:
        lists["exact_weights"] = exact.weights
        for number, step in zip(ITERATIONS, model.trail_, strict=True):
            if number in _KEPT:
                lists[f"weights_{number}"] = step.weights
                lists[f"etas_{number}"] = step.weights / step.variance
    return {name: numbers_text(values, ".7g") for name, values in lists.items()}


def _distance(weights: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of weights to others, relative to the length of these."""
    return float(np.linalg.norm(weights - other) / np.linalg.norm(other))


# -- groups of fits: the same kind of data, the same C and the same lam ---------------------------

Rows = Sequence[dict[str, Any]]
Groups = dict[tuple[str, float, float], list[dict[str, Any]]]


def _groups_of(rows: Rows) -> Groups:
    """Return the fits that did not fail, by kind of data and constants."""

    def setting(row: dict[str, Any]) -> tuple[str, float | None, float | None]:
        return _kind(row), constant(row, "C"), constant(row, "lam")

    known = [row for row in rows if row["model"] == _BOTH and row.get("errors")]
    return groups(known, setting, order=lambda key: (*key[:2], -key[2]))


def _kind(row: dict[str, Any]) -> str:
    return _CHAINS if row["data"].startswith(_CHAINS) else _OCR


def _along(row: dict[str, Any], name: str) -> np.ndarray:
    """Return a quantity along the iterations, and behind them in the limit."""
    if name == "excess":
        return numbers(row["excesses"])
    if name == "error_difference":
        return numbers(row["errors"]) - row["error"]
    if name == "gap":
        return np.append(numbers(row["gaps"]), math.nan)
    return numbers(row[f"{name}s"])


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
    "distance": "distance from the\nexact weights",
    "error_difference": "error above the exact\nsolution's (points)",
}
_NEAR = {PRICES[0]: " (near M3N)", PRICES[-1]: " (near L1-M3N)"}


def _draw(rows: Rows, path: Path) -> None:
    """Draw distance and difference of errors against iterations, by data and ``C``."""
    found = _groups_of(rows)
    kinds = [data for data in _TITLES if any(key[0] == data for key in found)] or [_OCR]
    prices = sorted({C for _, C, _ in found}) or [1.0]
    figure = new_figure(9.6, 4.3 * len(kinds) + 0.8)
    with styled():
        axes = figure.subplots(2 * len(kinds), len(prices), sharex=True, squeeze=False)
        for place, (data, name) in enumerate(itertools.product(kinds, _ROWS)):
            for ax, C in zip(axes[place], prices, strict=True):
                curves = [
                    _curve(strength, found[data, C, lam], name)
                    for strength, lam in zip(_STRENGTHS, _lams(data, C), strict=True)
                    if (data, C, lam) in found
                ]
                is_error = name == "error_difference"
                if ax is not axes[place % 2, 0]:
                    ax.sharey(axes[place % 2, 0])  # the same for all data
                draw_iterations(ax, curves, logarithmic=not is_error)
                if is_error:
                    ax.axhline(0, color=MUTED, linewidth=0.8)
            axes[place, 0].set_ylabel(_ROWS[name])
            name_row(axes[place, 0], f"({'abcd'[place]}) {_TITLES[data]}", above_titles=not place)
        for ax, C in zip(axes[0], prices, strict=True):
            ax.set_title(f"C = {C:g}{_NEAR.get(C, '')}", weight="normal", loc="center")
        for ax, form in ((axes[0, 0], _percent), (axes[1, 0], _signed)):
            ax.yaxis.set_major_formatter(form)
            ax.yaxis.set_minor_formatter(NullFormatter())
        for ax in axes.flat:
            ax.label_outer()
        figure.supxlabel("iterations of Algorithm 1", fontsize=10)
        handles = {
            label: handle
            for ax in axes.flat
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            handles.values(), handles.keys(), title="regularisation, from the largest λ to the smallest",
            loc="outside upper center", ncols=len(_STRENGTHS),
        )  # fmt: skip
    save_figure(figure, path)


def _curve(strength: str, fits: Rows, name: str) -> Curve:
    found = [mean_of(_at(place, name, fits)) for place in range(len(_PLACES))]
    return Curve(
        strength,
        np.array(_PLACES),
        np.array([one.value for one in found]),
        np.array([one.deviation or 0.0 for one in found]),
        np.array([one.n for one in found]),
    )


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
            place = _STRENGTHS.index(curve.name)
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


def _spread(found: Groups) -> str:
    """Say what points and bars of the figure are."""
    parts = []
    for data, title in _TITLES.items():
        if n := most(fits for key, fits in found.items() if key[0] == data):
            parts.append(f"{title}, {over(n, 'sets', 'one set')}")
    return "; ".join(parts)


def _draw_weights(rows: Rows, path: Path) -> None:
    """Draw one fit's weights: against the exact ones, and against their natural parameters."""
    shown = [row for row in rows if row.get("exact_weights")]
    figure = new_figure(9.6, 4.6)
    with styled():
        left, right = axes = figure.subplots(1, 2)
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
                right.plot(numbers(row[f"etas_{number}"]), weights, **style)
            right.set_ylim(-reach, reach)
        left.set(xlabel="weight of the exact solution", ylabel="weight by Algorithm 1")
        left.set_title("Weights trained in both ways")
        right.set(xlabel="natural parameter η of the weight", ylabel="weight")
        right.set_title("Shrinkage")
        for ax in axes:
            ax.legend(loc="upper left")
        letter_panels(axes)
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
    shown = table(_TABLE, [line for line in lines if line["iterations"] in (3, "limit")])
    sets = {"n_sets": _N_SETS, "n_word_sets": _N_WORD_SETS} if scale == "paper" else {}
    grids = [
        f"{_TITLES[data]}, {grids_text(fair_grids(_RANGES[data], [_EXACT]))}" for data in _TITLES
    ]
    texts = [
        _TEXTS("figure", spread=_spread(found) or MISSING),
        _TEXTS("about", sets=_TEXTS(f"sets-{scale}", **sets), grids="; ".join(grids)),
    ]
    if found:
        texts += [_limits(found), _excesses(found), _errors(found)]
        gap = max(row["relative_gap"] for fits in found.values() for row in fits)
        texts.append(_TEXTS("exact", gap=100 * gap))
    texts.append(_chosen(rows, scale))
    return Report(
        _COLUMNS,
        lines,
        f"{shown.text()}\n\n{paragraphs(_TEXTS('key'), width=96)}",
        f"{paragraphs(*texts)}\n\n{shown.markdown()}\n{paragraphs(_TEXTS('key'))}\n",
        {"weights": _about_weights(rows)},
    )


def _chosen(rows: Rows, scale: str) -> str:
    """Say how the two ways compare where each has chosen its own constants."""
    fair = [row for row in rows if row["model"] in _FAIR and row.get("error") is not None]
    sentences = []
    for data, part in groups(fair, _kind).items():
        exact, variational = (groups(part, "model").get(name, []) for name in _FAIR)
        difference = mean_of(differences(variational, exact))
        if difference.n:
            sentences.append(_TEXTS(
                "chosen-errors", title=_TITLES[data], n=difference.n,
                exact=_mean_error(exact), other=_mean_error(variational),
                difference=plus_minus(difference.value, difference.half, ".2f", times=100, sign="+"),
            ))  # fmt: skip
    if not sentences:
        return ""
    about = _TEXTS("chosen", choice=CHOICE[scale], choices=choices_text(fair))
    return "  ".join([about, *sentences, shapes_text(fair)])


def _mean_error(rows: Rows) -> str:
    return percent()(mean_of(values(rows, "error")).value)


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


_MODELS = {
    data: {
        _BOTH: Model(_BOTH, BothLaplaceMEDNs, "Laplace prior, exactly and by Algorithm 1"),
        **fair_models(ranges, _FAIR),
    }
    for data, ranges in _RANGES.items()
}

VARIATIONAL_STUDY = Study(
    "exact-vs-variational",
    "Laplace MEDN: Algorithm 1 and exactly",
    fits=_specs,
    fit=Trained(
        split_and_validate(_split),
        models=_MODELS[_CHAINS],
        kinds=_MODELS,
        measure=_measure,
        measured=(*_LISTS, *_WEIGHTS, "word_errors", *CHOICE_COLUMNS),
    ),
    draw=_draw,
    report=_report,
    duration="quick 8 s, paper 7 min",
    more_figures={"weights": _draw_weights},
    place=11,
)
"""The study."""
