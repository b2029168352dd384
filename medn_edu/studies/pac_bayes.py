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
    "theorem_8_papers_m": "with the paper's m", "theorem_8": "with the best m",
    "theorem_8_kl": "Seeger's last step", "averaged": "e × Gibbs, by Seeger",
    "gibbs_bound": "Gibbs' own error, by Seeger", "gibbs_true": "Gibbs' own error",
    "true_error": "the average's error",
}  # fmt: skip
_LEFT_OUT = {
    "theorem_8": "", "training_error": "complexity", "without_averaging": "averaging",
    "without_divergence": "divergence",
}  # fmt: skip
_LETTERS = {
    "gibbs_bound": "Gibbs' own error, by Seeger", "gibbs_certified": "on the sample, at most",
    "gibbs_true": "Gibbs' own error", "true_error": "the average's error",
}  # fmt: skip
_ONE, _MANY = "MEDN", "worst of all"
_TRUTHS = ("error to come", "Gibbs' own error", "the average's error")  # broad and pale
_STYLES: dict[str, dict[str, Any]] = {
    "Theorem 8": {"color": INK, "marker": "o"},
    "margin loss": {"color": palette.SKY, "linestyle": (0, (8, 2)), "marker": "P"},
    "averaging": {"color": palette.PINK, "linestyle": ":", "marker": "v"},
    "complexity": {"color": palette.SLATE, "linestyle": "--", "marker": "s"},
    "with the paper's m": {"color": palette.ORANGE, "linestyle": "--", "marker": "s"},
    "with the best m": {"color": INK, "marker": "o"},
    "Seeger's last step": {"color": palette.GREEN, "linestyle": "-.", "marker": "D"},
    "e × Gibbs, by Seeger": {"color": palette.PURPLE, "linestyle": (0, (3, 1)), "marker": "X"},
    "Gibbs' own error, by Seeger": {
        "color": palette.BLUE, "linestyle": "-", "linewidth": 1, "marker": "^", "markersize": 4,
    },
    "Gibbs' own error": {"color": "#D3D8DD"},
    "on the sample, at most": {"color": palette.SKY, "linestyle": (0, (8, 2)), "marker": "P"},
    "whole words, by Seeger": {"color": palette.PURPLE, "linestyle": "--", "marker": "X"},
    "Theorem 8 (box)": {"color": INK, "marker": "o"},
}  # fmt: skip
_TRUTH_STYLE: dict[str, Any] = {
    "color": palette.GREY,
    "linestyle": "-",
    "linewidth": 5,
    "solid_capstyle": "butt",
    "zorder": 1,
}
_GAP = 0.052  # between two names, as a share of the axis
_SWATCHES = ((palette.SKY, "//"), (palette.ORANGE, ""))


def _draw_sizes(rows: Sequence[Row], path: Path) -> None:
    """Draw the bounds over N: Theorem 8 with its terms, and what each step of its proof loses."""
    figure = new_figure(11, 4.6)
    with styled():
        left, right = figure.subplots(1, 2)
        for ax, prior, names, low in (
            (left, "two points", _TERMS, 5e-4),
            (right, "box", _STEPS, 0.05),
        ):
            mine = _by_size(rows, prior)
            curves = {name: values(mine, column) for column, name in names.items()}
            draw_bound_curves(ax, values(mine, "n_samples"), curves, limits=(low, 3))
        left.set_title("Theorem 8 and its terms (two points)")
        right.set_title("Which step loses how much (box)")
        left.set_ylabel("share of wrongly labelled words")
    save_figure(figure, path)


def _by_size(rows: Sequence[Row], prior: str) -> list[Row]:
    """Return the first sample of each size."""
    first = ("words", prior, 0)
    return [row for row in rows if (row["world"], row["prior"], row["draw"]) == first]


def draw_bound_curves(
    ax: Axes, sizes: np.ndarray, curves: Mapping[str, np.ndarray], *, limits: tuple[float, float]
) -> None:
    """Draw bounds, their terms and the truth over N, each named at its right end.

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
        ax.set_xlabel("number of samples N")
        if limits[1] < 100 * limits[0]:
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.grid(axis="y")
        ends = {name: float(heights[-1]) for name, heights in curves.items()}
        _name_ends(ax, ends, limits)


def _name_ends(ax: Axes, ends: Mapping[str, float], limits: tuple[float, float]) -> None:
    """Write each curve's name at its right end, moved apart where two are too close."""
    names = sorted(ends, key=lambda name: ends[name])
    low, high = np.log(limits)
    heights = np.array([(np.log(ends[name]) - low) / (high - low) for name in names])
    for name, y in zip(names, _apart(heights), strict=True):
        colour = MUTED if name in _TRUTHS else _STYLES.get(name, {}).get("color", INK)
        ax.annotate(
            name, (1.015, y), xycoords="axes fraction", color=colour, fontsize=9, va="center",
        )  # fmt: skip


def _apart(heights: np.ndarray) -> np.ndarray:
    """Return ascending heights, none closer to the next than a name is high."""
    placed = heights.copy()
    for _ in range(100):
        for k in range(1, len(placed)):
            lack = _GAP - (placed[k] - placed[k - 1])
            if lack > 0:
                placed[k - 1], placed[k] = placed[k - 1] - lack / 2, placed[k] + lack / 2
    return placed


def _draw_draws(rows: Sequence[Row], path: Path) -> None:
    """Draw how the bounds fare on many samples."""
    drawn, coins = _draws(rows, "words"), _draws(rows, "noise")
    figure = new_figure(11, 4.2)
    with styled():
        left, middle, right = figure.subplots(1, 3)
        rooms = _rooms(drawn)
        draw_rooms(left, rooms["training_error"])
        draw_rooms(middle, rooms["theorem_8"])
        left_out = {name: values(coins, column) for column, name in _LEFT_OUT.items()}
        draw_lapses(right, left_out, float(coins[0]["true_error"]))
        left.set_title("Words: without complexity", pad=40)
        middle.set_title("Words: Theorem 8", pad=40)
        right.set_title("Noise: a term left out", pad=40)
        left.set_xlabel("error on the sample − error to come\n(percentage points)")
        middle.set_xlabel("bound − error to come\n(percentage points)")
        right.set_xlabel("bound; the error to come is 0.5")
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


def draw_rooms(ax: Axes, rooms: Mapping[str, np.ndarray], *, n_bins: int = 40) -> None:
    """Draw by how many percentage points bounds exceed the truth, over many samples."""
    together = 100 * np.concatenate([[0.0], *rooms.values()])
    spare = 0.05 * np.ptp(together)
    low, high = together.min() - spare, together.max() + spare
    with styled():
        for (name, room), (colour, hatch) in zip(rooms.items(), _SWATCHES, strict=False):
            look = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
            weights = np.full(len(room), 100 / len(room))
            ax.hist(
                100 * room, bins=list(np.linspace(low, high, n_bins + 1)), weights=weights, alpha=0.85,
                label=f"{name}: broken in {_percent(float(np.mean(room < 0)))}", **look,
            )  # fmt: skip
        ax.axvspan(low, 0, color=ERROR, alpha=0.08, linewidth=0, zorder=0)
        ax.axvline(0, color=ERROR, linewidth=1.5)
        ax.set(xlim=(low, high), ylabel="% of samples")
        ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), handlelength=1.5, borderpad=0)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def draw_lapses(ax: Axes, values: Mapping[str, np.ndarray], truth: float) -> None:
    """Draw what is left of a bound without one of its terms, over many samples."""
    bottom, right = (
        len(values) - 0.4,
        max(1.45, 1.1 * max(float(v.max()) for v in values.values())),
    )
    with styled():
        ax.axvspan(0, truth, color=ERROR, alpha=0.08, linewidth=0, zorder=0)
        ax.axvline(truth, color=ERROR, linewidth=1.5)
        ax.axvspan(1, right, color=MUTED, alpha=0.08, linewidth=0, zorder=0)
        ax.text(truth / 2, bottom - 0.08, "broken", fontsize=9, color=ERROR, ha="center")
        ax.text(
            (1 + right) / 2, bottom - 0.08, "says nothing", fontsize=9, color=MUTED, ha="center"
        )
        for row, found in enumerate(values.values()):
            _draw_range(ax, row, found, float(np.mean(found < truth)))
        names = [f"without {name}" if name else "all of it" for name in values]
        ax.set_yticks(range(len(names)), names)
        ax.set(xlim=(0, right), ylim=(bottom, -0.6), xticks=(0, 0.5, 1))
        ax.tick_params(axis="y", length=0)
        ax.annotate("broken in", (1.02, 1.0), xycoords="axes fraction", fontsize=9, va="bottom")


def _draw_range(ax: Axes, row: int, found: np.ndarray, lapses: float) -> None:
    """Draw median and range, and write next to them how often they are too low."""
    color, marker = (ERROR, "X") if lapses else (INK, "o")
    if found.min() >= 1:
        ax.text(
            float(found.min()) - 0.07, row, "cannot be broken:\nno error is above 1", fontsize=9,
            color=MUTED, ha="right", va="center",
        )  # fmt: skip
    ends = [float(found.min()), float(found.max())]
    ax.plot(ends, [row, row], linestyle="-", linewidth=4, alpha=0.5, color=color)
    ax.plot([float(np.median(found))], [row], marker, color=color, markersize=8)
    ax.annotate(
        _percent(lapses), (1.02, row), xycoords=("axes fraction", "data"), color=color, fontsize=9,
        va="center",
    )  # fmt: skip


def _draw_ocr(rows: Sequence[Row], path: Path) -> None:
    """Draw what is known of M3N's Gibbs predictors on OCR words, over the divergence and over N."""
    best, box = best_on_ocr(rows), _on_ocr(rows, "box")
    mine = [row for row in _on_ocr(rows, "normal") if _same_fit(row, best[-1])]
    figure = new_figure(11, 4.6)
    with styled():
        left, right = figure.subplots(1, 2)
        curves = {name: values(mine, column) for column, name in _LETTERS.items()}
        draw_bound_curves(left, values(mine, "kl"), curves, limits=(0.15, 2))
        left.set_xlabel("divergence KL(p || N(0, I)) of the posterior")
        curves = {"Theorem 8 (box)": values(box, "theorem_8")}
        curves["whole words, by Seeger"] = values(best, "gibbs_words_bound")
        curves |= {name: values(best, column) for column, name in _LETTERS.items()}
        draw_bound_curves(right, values(best, "n_samples"), curves, limits=(0.15, 2))
        for ax, drawn, column in ((left, mine, "kl"), (right, best, "n_samples")):
            ax.minorticks_off()
            ticks = values(drawn, column)
            ax.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        left.set_title(f"M3N on {best[-1]['n_samples']:,} OCR words: how far from the prior?")
        right.set_title("The best of these posteriors, over N")
        left.set_ylabel("share of wrong letters in a word")
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
