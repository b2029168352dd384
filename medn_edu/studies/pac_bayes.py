"""The study ``pac-bayes``: where Theorem 8 says something, and whether it is true there.

How it works, and what the paper leaves open, stands at the head of ``pac_bayes.md``.
"""

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import ERROR, INK, MUTED, new_figure, save_figure, styled
from medn_edu.priors import BoxPrior, TwoPointPrior
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.summary import MISSING, Column, Row, Table, groups, table, values
from medn_edu.studies.kit.texts import Texts, paragraphs
from medn_edu.studies.pac_bayes_ocr import CONSTANTS, SHARES, box_row, normal_rows
from medn_edu.studies.pac_bayes_posteriors import DELTA, BoundedPrior, Trial, posteriors_around
from medn_edu.studies.pac_bayes_worlds import fit_medn, learn_by_heart, noise, words

MAIN_SIZE = 100_000
"""Size of the samples of which many are drawn."""

COLUMNS = (
    "world", "prior", "n_samples", "draw", "kl", "true_error", "training_error", "gamma_over_c", "m",
    "margin_loss", "averaging", "complexity", "theorem_8", "papers_m", "theorem_8_papers_m", "kl_m",
    "theorem_8_kl", "gibbs_true", "gibbs_training", "gibbs_bound", "averaged", "without_averaging",
    "without_divergence", "least_room", "least_training_room", "C", "gibbs_certified", "gibbs_words",
    "gibbs_words_bound", "words_needed",
)  # fmt: skip

_PRIORS: dict[str, BoundedPrior] = {"two points": TwoPointPrior(), "box": BoxPrior()}
_MAIN = "two points"  # of whose posteriors a thousand samples are drawn
_DIGITS = 7  # of the table's numbers
_PRICE = 10.0  # C = 10 / N
_SIZES = {
    "quick": (1_000, 10_000, 100_000, 1_000_000),
    "paper": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
}
_N_DRAWS = {"quick": 40, "paper": 1000}
_NOISE_SIZE = 400
_N_POSTERIORS = {"quick": 50, "paper": 200}  # that the bound has to hold for at once
_OCR_SIZES = {"quick": (300,), "paper": (625, 1_250, 2_500, 6_251)}  # the last are nine folds


def _specs(scale: str, seed: int) -> list[FitSpec]:
    draws, many = range(_N_DRAWS[scale]), _N_POSTERIORS[scale]
    places = [(prior, n, 0) for prior, n in itertools.product(_PRIORS, _SIZES[scale])]
    places += [(_MAIN, MAIN_SIZE, draw) for draw in draws[1:]]
    return [
        *(FitSpec("words", d, p, (("N", n), ("posteriors", many)), seed) for p, n, d in places),
        *(FitSpec("noise", d, _MAIN, (("N", _NOISE_SIZE),), seed) for d in draws),
        *(
            FitSpec("ocr", 0, "normal", (("N", n), ("C", C)), seed)
            for n, C in itertools.product(_OCR_SIZES[scale], CONSTANTS)
        ),
        *(FitSpec("ocr", 0, "box", (("N", n),), seed) for n in _OCR_SIZES[scale]),
    ]


def _sample(spec: FitSpec) -> list[dict[str, Any]]:
    return [{name: _short(value) for name, value in row.items()} for row in _rows(spec)]


def _rows(spec: FitSpec) -> list[dict[str, Any]]:
    constants, draw, seed = dict(spec.parameters), spec.fold, spec.seed
    if spec.data == "ocr":
        n_words = int(constants["N"])
        if spec.model == "box":
            return [box_row(n_words, seed)]
        return normal_rows(n_words, constants["C"], seed)
    if spec.data == "noise":
        row = _noise_row(draw, seed)
    elif (spec.model, constants["N"]) == (_MAIN, MAIN_SIZE):
        m = _first_row(seed)["kl_m"] if draw else None
        row = _words_row(_MAIN, MAIN_SIZE, draw, seed, m=m)
        row |= _worst(draw, int(constants["posteriors"]), seed)
    else:
        row = _words_row(spec.model, int(constants["N"]), draw, seed)
    return [row]


@cache
def _first_row(seed: int) -> dict[str, Any]:
    return _words_row(_MAIN, MAIN_SIZE, 0, seed)


def _words_row(
    name: str, n_samples: int, draw: int, seed: int, m: int | None = None
) -> dict[str, Any]:
    world, prior, rng = _words(), _PRIORS[name], _rng(seed, n_samples, draw)
    counts = world.draw(n_samples, rng)
    trial = Trial(world, prior, counts, _tilts_of_medn(counts, prior))
    return {
        "world": "words", "prior": name, "n_samples": n_samples, "draw": draw,
        **trial.measure(), **trial.measure_steps(m), **trial.measure_gibbs(rng),
    }  # fmt: skip


def _noise_row(draw: int, seed: int) -> dict[str, Any]:
    world, prior = _noise(), _PRIORS[_MAIN]
    counts = world.draw(_NOISE_SIZE, _rng(seed, _NOISE_SIZE, draw))
    trial = Trial(world, prior, counts, learn_by_heart(world, counts))
    return {
        "world": "noise", "prior": _MAIN, "n_samples": _NOISE_SIZE, "draw": draw,
        **trial.measure(), **trial.left_out(),
    }  # fmt: skip


def _tilts_of_medn(counts: np.ndarray, prior: BoundedPrior) -> np.ndarray:
    eta = fit_medn(_words(), counts, prior, _PRICE).eta
    assert eta is not None
    return eta


def _rng(seed: int, n_samples: int, draw: int) -> np.random.Generator:
    return np.random.default_rng((seed, n_samples, draw))


_words, _noise = cache(words), cache(noise)  # their tables of features are made once


def _short(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _worst(draw: int, n_posteriors: int, seed: int) -> dict[str, float]:
    """Return how the worst of many posteriors fares on a sample of words."""
    counts = _words().draw(MAIN_SIZE, _rng(seed, MAIN_SIZE, draw))[None]
    many = _posteriors(n_posteriors, seed)
    return {
        "least_room": float(many.rooms(counts).min()),
        "least_training_room": float(many.training_rooms(counts).min()),
    }


@cache
def _posteriors(number: int, seed: int) -> Any:
    world, prior = _words(), _PRIORS[_MAIN]
    eta = _tilts_of_medn(MAIN_SIZE * world.probability, prior)
    return posteriors_around(world, prior, eta, MAIN_SIZE, number, _rng(seed, 0, 0))


_TERMS = {
    "theorem_8": "Theorem 8", "margin_loss": "margin loss", "averaging": "averaging",
    "complexity": "complexity", "true_error": "error to come",
}  # fmt: skip
_STEPS = {
    "theorem_8_papers_m": "Theorem 8, paper's m", "theorem_8": "Theorem 8, best m",
    "theorem_8_kl": "Theorem 8, Seeger's last step", "averaged": "e × bound on Gibbs' error",
    "gibbs_bound": "bound on Gibbs' error", "gibbs_true": "Gibbs' error",
    "true_error": "the average's error",
}  # fmt: skip
_LEFT_OUT = {
    "theorem_8": "", "training_error": "complexity", "without_averaging": "averaging",
    "without_divergence": "divergence",
}  # fmt: skip
_LETTERS = {
    "gibbs_bound": "bound on Gibbs' error", "gibbs_certified": "Gibbs on the sample, at most",
    "gibbs_true": "Gibbs' error", "true_error": "the average's error",
}  # fmt: skip
_ONE, _MANY = "MEDN", "worst posterior"
_TRUTHS = ("error to come", "Gibbs' error", "the average's error")  # broad and pale
_STYLES: dict[str, dict[str, Any]] = {
    "Theorem 8": {"color": INK, "marker": "o"},
    "margin loss": {"color": palette.SKY, "linestyle": (0, (8, 2)), "marker": "P"},
    "averaging": {"color": palette.PINK, "linestyle": ":", "marker": "v"},
    "complexity": {"color": palette.SLATE, "linestyle": "--", "marker": "s"},
    "Theorem 8, paper's m": {"color": palette.ORANGE, "linestyle": "--", "marker": "s"},
    "Theorem 8, best m": {"color": INK, "marker": "o"},
    "Theorem 8, Seeger's last step": {"color": palette.GREEN, "linestyle": "-.", "marker": "D"},
    "e × bound on Gibbs' error": {"color": palette.PURPLE, "linestyle": (0, (3, 1)), "marker": "X"},
    "bound on Gibbs' error": {
        "color": palette.BLUE, "linestyle": "-", "linewidth": 1, "marker": "^", "markersize": 4,
    },
    "Gibbs' error": {"color": palette.FAINT_GREY},
    "Gibbs on the sample, at most": {"color": palette.SKY, "linestyle": (0, (8, 2)), "marker": "P"},
    "bound on wrong words": {"color": palette.PURPLE, "linestyle": "--", "marker": "X"},
    "Theorem 8 (box)": {"color": INK, "marker": "o"},
}  # fmt: skip
_TRUTH_STYLE: dict[str, Any] = {
    "color": palette.GREY,
    "linestyle": "-",
    "linewidth": 5,
    "solid_capstyle": "butt",
    "zorder": 1,
}


def _draw_sizes(rows: Sequence[Row], path: Path) -> None:
    """Draw the bounds over N: Theorem 8 with its terms, and what each step of its proof loses."""
    figure = new_figure(11, 4.6)
    with styled():
        axes = figure.subplots(1, 2, sharey=True)
        for ax, prior, names in zip(axes, _PRIORS, (_TERMS, _STEPS), strict=True):
            mine = _by_size(rows, prior)
            curves = {name: values(mine, column) for column, name in names.items()}
            draw_bound_curves(ax, values(mine, "n_samples"), curves, limits=(0.01, 2))
        axes[0].set(title="Theorem 8 and its terms (two points)", ylabel="share of wrong words")
        axes[1].set_title("Which step loses how much (box)")
        letter_panels(axes)
        label_ends(*axes)
    save_figure(figure, path)


def _by_size(rows: Sequence[Row], prior: str) -> list[Row]:
    """Return the first sample of each size."""
    first = ("words", prior, 0)
    return [row for row in rows if (row["world"], row["prior"], row["draw"]) == first]


def draw_bound_curves(
    ax: Axes, sizes: np.ndarray, curves: Mapping[str, np.ndarray], *, limits: tuple[float, float]
) -> None:
    """Draw bounds, their terms and the truth over N.

    The line at 1 is where a bound on an error begins to say something.
    """
    with styled():
        ax.axhspan(1, limits[1], color=ERROR, alpha=0.08, linewidth=0, zorder=0)
        ax.axhline(1, color=ERROR, linewidth=1.2, zorder=1)
        ax.text(sizes[-1], 1.06, "says nothing", color=ERROR, fontsize=9, ha="right", va="bottom")
        for name, heights in curves.items():
            look = _TRUTH_STYLE if name in _TRUTHS else {"markersize": 5}
            ax.plot(sizes, heights, label=name, **{**look, **_STYLES.get(name, {})})
        ax.set(xscale="log", yscale="log", xlim=(sizes[0] * 0.85, sizes[-1] * 1.1), ylim=limits)
        ax.set_xlabel("number of training words")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.grid(axis="y")


def _draw_draws(rows: Sequence[Row], path: Path) -> None:
    """Draw how the bounds fare on many samples."""
    coins = _draws(rows, "noise")
    rooms = _rooms(_draws(rows, "words"))
    words = {
        f"{name}, {whose}": found
        for name, column in (("Theorem 8", "theorem_8"), ("without complexity", "training_error"))
        for whose, found in rooms[column].items()
    }
    noise = {
        f"without {name}" if name else "Theorem 8": values(coins, column) - coins[0]["true_error"]
        for column, name in _LEFT_OUT.items()
    }
    figure = new_figure(11, 3.6)
    with styled():
        left, right = axes = figure.subplots(1, 2)
        draw_rooms(left, words, 1 - _draws(rows, "words")[0]["true_error"])
        draw_rooms(right, noise, 1 - coins[0]["true_error"])
        left.set_title("Words")
        right.set_title("Noise, learned by heart")
        letter_panels(axes)
    save_figure(figure, path)


def _rooms(drawn: Sequence[Row]) -> dict[str, dict[str, np.ndarray]]:
    """Return bound minus truth, with the complexity and without it, of MEDN and of the worst."""
    columns = {"training_error": "least_training_room", "theorem_8": "least_room"}
    truth = values(drawn, "true_error")
    return {
        bound: {_ONE: values(drawn, bound) - truth, _MANY: values(drawn, least)}
        for bound, least in columns.items()
    }


def _draws(rows: Sequence[Row], world: str) -> list[Row]:
    """Return the rows of the samples of which there are many."""
    if world == "noise":
        return [row for row in rows if row["world"] == world]
    return [row for row in rows if row["world"] == world and row.get("least_room") is not None]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def draw_rooms(ax: Axes, rooms: Mapping[str, np.ndarray], vacuous: float) -> None:
    """Draw by how much bounds exceed the truth on many samples: a line each, the range and the median.

    Below 0 a bound is broken; from ``vacuous`` on it is above 1 and says nothing.
    """
    together = 100 * np.concatenate([[0.0], *rooms.values()])
    low, high = together.min() - 0.08 * np.ptp(together), together.max() + 0.12 * np.ptp(together)
    bottom = len(rooms) - 0.2
    with styled():
        ax.axvspan(low, 0, color=ERROR, alpha=0.08, linewidth=0, zorder=0)
        ax.axvline(0, color=ERROR, linewidth=1.5)
        if high > 100 * vacuous:
            ax.axvspan(100 * vacuous, high, color=MUTED, alpha=0.08, linewidth=0, zorder=0)
            place = (50 * vacuous + high / 2, bottom - 0.08)
            ax.text(*place, "says nothing", fontsize=9, color=MUTED, ha="center")
        for row, found in enumerate(rooms.values()):
            lapses = float(np.mean(found < 0))
            look = {"color": ERROR if lapses else INK, "solid_capstyle": "butt", "linestyle": "-"}
            ax.plot(100 * np.array([found.min(), found.max()]), [row, row], lw=7, alpha=0.4, **look)
            ax.plot([100 * np.median(found)], [row], "|", markersize=14, mew=2, color=look["color"])
            ax.annotate(
                _percent(lapses), (1.02, row), xycoords=("axes fraction", "data"), fontsize=9,
                color=look["color"], va="center",
            )  # fmt: skip
        ax.annotate("broken in", (1.02, 1.0), xycoords="axes fraction", fontsize=9, va="top")
        ax.set_yticks(range(len(rooms)), list(rooms))
        ax.set(xlim=(low, high), ylim=(bottom, -0.8))
        ax.set_xlabel("bound minus error to come (percentage points)")
        ax.tick_params(axis="y", length=0)


def _draw_ocr(rows: Sequence[Row], path: Path) -> None:
    """Draw what is known of M3N's Gibbs predictors on OCR words, over the divergence and over N."""
    best, box = best_on_ocr(rows), _on_ocr(rows, "box")
    mine = [row for row in _on_ocr(rows, "normal") if _same_fit(row, best[-1])]
    figure = new_figure(11, 4.6)
    with styled():
        left, right = axes = figure.subplots(1, 2, sharey=True)
        curves = {name: values(mine, column) for column, name in _LETTERS.items()}
        draw_bound_curves(left, values(mine, "kl"), curves, limits=(0.15, 2))
        left.set_xlabel("divergence of the posterior from the prior, KL (nats)")
        curves = {"Theorem 8 (box)": values(box, "theorem_8")}
        curves["bound on wrong words"] = values(best, "gibbs_words_bound")
        curves |= {name: values(best, column) for column, name in _LETTERS.items()}
        draw_bound_curves(right, values(best, "n_samples"), curves, limits=(0.15, 2))
        for ax, drawn, column in ((left, mine, "kl"), (right, best, "n_samples")):
            ax.minorticks_off()
            ticks = values(drawn, column)
            ax.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        left.set_title(f"How far from the prior? ({best[-1]['n_samples']:,} OCR words)")
        right.set_title("The best posteriors, by number of words")
        left.set_ylabel("share of wrong letters in a word")
        letter_panels(axes)
        label_ends(*axes)
    save_figure(figure, path)


def _on_ocr(rows: Sequence[Row], prior: str) -> list[Row]:
    mine = [row for row in rows if (row["world"], row["prior"]) == ("ocr", prior)]
    return sorted(mine, key=lambda row: (row["n_samples"], row["C"], row["kl"]))


def _same_fit(row: Row, other: Row) -> bool:
    return bool((row["n_samples"], row["C"]) == (other["n_samples"], other["C"]))


def best_on_ocr(rows: Sequence[Row]) -> list[Row]:
    """Return the posterior with the least bound on the share of wrong letters, for each N."""
    by_size = groups(_on_ocr(rows, "normal"), "n_samples")
    return [min(mine, key=lambda row: row["gibbs_bound"]) for mine in by_size.values()]


def shares_that_hold(rows: Sequence[Row]) -> dict[str, float]:
    """Return in which share of the samples each bound, and each without a term, is true."""
    drawn, coins = _draws(rows, "words"), _draws(rows, "noise")

    def share(mine: Sequence[Row], bound: str, truth: str = "true_error") -> float:
        return float(np.mean(values(mine, bound) >= values(mine, truth)))

    return {
        "Theorem 8, MEDN": share(drawn, "theorem_8"),
        "Theorem 8, all posteriors at once": float(np.mean(values(drawn, "least_room") >= 0)),
        "Seeger's last step, MEDN": share(drawn, "theorem_8_kl"),
        "Gibbs by Seeger, MEDN": share(drawn, "gibbs_bound", "gibbs_true"),
        "without complexity, MEDN": share(drawn, "training_error"),
        "without complexity, all posteriors at once": float(
            np.mean(values(drawn, "least_training_room") >= 0)
        ),
        **{
            f"noise, without {name}" if name else "noise, Theorem 8": share(coins, column)
            for column, name in _LEFT_OUT.items()
        },
    }


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    held = [[name, f"{100 * share:.4g} %"] for name, share in shares_that_hold(rows).items()]
    bounds, shares = _ladder(rows), Table(["bound", "holds in"], held, right=(1,))
    letters = table(_OCR, best_on_ocr(rows))
    findings = paragraphs(_findings(rows))
    return Report(
        COLUMNS,
        list(rows),
        "\n\n".join([bounds.text(), shares.text(), findings, letters.text()]),
        "\n\n".join([
            paragraphs(_TEXTS("caption", delta=DELTA)), findings, bounds.markdown().rstrip(),
            paragraphs(_test(rows, scale)), shares.markdown().rstrip(), _TEXTS("letters"),
            letters.markdown(),
        ]),
        {"draws": _about_draws(rows, scale), "ocr": _about_ocr(rows)},
    )  # fmt: skip


_TEXTS = Texts("pac_bayes.md")


def _at_main_size(rows: Sequence[Row]) -> tuple[Row, Row]:
    """Return the first sample of the main size, for two points and for the box."""
    two, box = (
        row for prior in _PRIORS for row in _by_size(rows, prior) if row["n_samples"] == MAIN_SIZE
    )
    return two, box


def _ladder(rows: Sequence[Row]) -> Table:
    """Return errors and bounds at the main size from the least to the loosest, a column a prior."""
    columns = {
        "KL": "kl", "γ / c": "gamma_over_c", "m": "m", "the paper's m": "papers_m",
        "error to come": "true_error", "error on the sample": "training_error",
        "Gibbs: error to come": "gibbs_true", "Gibbs, by Seeger": "gibbs_bound",
        "e × Gibbs, by Seeger": "averaged", "Theorem 8 with Seeger's last step": "theorem_8_kl",
        "Theorem 8 with the best m": "theorem_8",
        "Theorem 8 with the paper's m": "theorem_8_papers_m",
    }  # fmt: skip
    pair = _at_main_size(rows)
    cells = [[name, *(_number(row.get(key)) for row in pair)] for name, key in columns.items()]
    return Table(["", *_PRIORS], cells, right=(1, 2))


def _number(value: Any) -> str:
    if value is None:
        return MISSING
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _findings(rows: Sequence[Row]) -> str:
    two, box = _at_main_size(rows)
    terms = (
        "kl", "gamma_over_c", "m", "theorem_8", "margin_loss", "averaging", "complexity", "true_error",
    )  # fmt: skip
    return _TEXTS(
        "findings", size=MAIN_SIZE, terms=_TEXTS("terms", **{name: two[name] for name in terms}),
        two_below_1=_first(rows, "two points", 1), two_below_half=_first(rows, "two points", 0.5),
        box_below_1=_first(rows, "box", 1), box_below_half=_first(rows, "box", 0.5),
        averaged=box["averaged"], theorem_8=box["theorem_8"], box_error=100 * box["true_error"],
        box_gibbs=100 * box["gibbs_true"], two_gibbs=100 * two["gibbs_true"], **_spared(two),
    )  # fmt: skip


def _spared(row: Row) -> dict[str, float]:
    """Return what Theorem 8 pays for all m and gamma at once, and what would do."""
    paid = 3 * np.log((row["m"] + 1) / DELTA)
    enough = np.log(row["m"] * (row["m"] + 1) ** 2 / DELTA)
    inside = row["complexity"] ** 2 - (paid - enough) / (2 * row["n_samples"] - 1)
    return {
        "paid": float(paid), "enough": float(enough), "draws": row["m"] * row["kl"],
        "spared": float(row["complexity"] - np.sqrt(inside)),
    }  # fmt: skip


def _first(rows: Sequence[Row], prior: str, limit: float) -> str:
    """Say from which size on the bound is below a limit."""
    below = [row["n_samples"] for row in _by_size(rows, prior) if row["theorem_8"] < limit]
    return f"N = {min(below):,}" if below else "no N here"


def _test(rows: Sequence[Row], scale: str) -> str:
    drawn = _draws(rows, "words")
    rooms = _rooms(drawn)["theorem_8"]
    return _TEXTS(
        "test", n=len(drawn), size=MAIN_SIZE, n_posteriors=_N_POSTERIORS[scale],
        kl=np.median(values(drawn, "kl")), bound=np.median(values(drawn, "theorem_8")),
        own_room=rooms[_ONE].min(), least_room=rooms[_MANY].min(),
    )  # fmt: skip


def _about_draws(rows: Sequence[Row], scale: str) -> str:
    """Say what the second figure shows."""
    drawn, coins = _draws(rows, "words"), _draws(rows, "noise")
    rooms = _rooms(drawn)
    return _TEXTS(
        "draws", n=len(drawn), size=MAIN_SIZE, n_posteriors=_N_POSTERIORS[scale], delta=DELTA,
        times=rooms["theorem_8"][_ONE].min() / np.std(rooms["training_error"][_ONE]),
        n_noise=len(coins),
    )  # fmt: skip


_OCR = (
    Column("words", "n_samples", ",d", right=True),
    Column("C", "C", "g", right=True),
    Column("KL", "kl", ",.0f", right=True),
    Column("Gibbs on the sample", "gibbs_training", ".3f", right=True),
    Column("at most", "gibbs_certified", ".3f", right=True),
    Column("Gibbs, by Seeger", "gibbs_bound", ".3f", right=True),
    Column("Gibbs on new words", "gibbs_true", ".3f", right=True),
    Column("average on new words", "true_error", ".3f", right=True),
    Column("whole words, by Seeger", "gibbs_words_bound", ".3f", right=True),
)


def _about_ocr(rows: Sequence[Row]) -> str:
    """Say what the third figure shows."""
    best, box = best_on_ocr(rows)[-1], _on_ocr(rows, "box")[-1]
    return _TEXTS(
        "ocr", n=best["n_samples"], C=best["C"], kl=best["kl"], bound=best["gibbs_bound"],
        gibbs=best["gibbs_true"], average=best["true_error"],
        n_choices=len(CONSTANTS) * len(SHARES), constants=_listed(CONSTANTS), shares=_listed(SHARES),
        theorem_8=box["theorem_8"], needed=box["words_needed"] / 1e12,
        next_c=_next_to_least(rows), delta=DELTA,
    )  # fmt: skip


def _listed(numbers: Sequence[float]) -> str:
    *first, last = (f"{number:g}" for number in numbers)
    return f"{', '.join(first)} or {last}"


def _next_to_least(rows: Sequence[Row]) -> float:
    """Return by how much the second constant C makes the bound larger where the least is the best."""
    least, second, *_ = CONSTANTS
    larger = [0.0]
    for best in best_on_ocr(rows):
        mine = [row for row in _on_ocr(rows, "normal") if row["n_samples"] == best["n_samples"]]
        other = min(row["gibbs_bound"] for row in mine if row["C"] == second)
        if best["C"] == least:
            larger.append(other - best["gibbs_bound"])
    return max(larger)


PAC_BAYES_STUDY = Study(
    "pac-bayes",
    "Theorem 8 where the error to come is known",
    fits=_specs,
    fit=_sample,
    draw=_draw_sizes,
    report=_report,
    columns=COLUMNS,
    duration="quick 8 s, paper 2 min",
    shows="MEDN Thm 8",
    more_figures={"draws": _draw_draws, "ocr": _draw_ocr},
    unit="samples",
    place=15,
)
"""The study."""
