"""The study ``pac-bayes`` summed up: its table, its figures, and what they say."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.style import new_figure, save_figure, styled
from medn_edu.studies.kit.specs import Report
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.pac_bayes_panels import BoundCurve, draw_bound_curves, draw_lapses, draw_rooms
from medn_edu.studies.pac_bayes_posteriors import DELTA

MAIN_SIZE = 100_000
"""Size of the samples of which many are drawn."""

N_POSTERIORS = {"quick": 50, "paper": 200}
"""How many posteriors the bound has to hold for at once."""

COLUMNS = (
    "world", "prior", "n_samples", "draw", "kl", "true_error", "training_error", "gamma_over_c", "m",
    "margin_loss", "averaging", "complexity", "theorem_8", "papers_m", "theorem_8_papers_m", "kl_m",
    "theorem_8_kl", "gibbs_true", "gibbs_training", "gibbs_bound", "averaged", "without_averaging",
    "without_divergence", "least_room", "least_training_room",
)  # fmt: skip

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
_TRUTHS = ("true_error", "gibbs_true")
_LEFT_OUT = {
    "theorem_8": "", "training_error": "complexity", "without_averaging": "averaging",
    "without_divergence": "divergence",
}  # fmt: skip
_ONE, _MANY = "MEDN", "worst of all"


# ---------------------------------------------------------------------------------------------
# figures


def draw_sizes(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the bounds over N."""
    figure = new_figure(11, 4.6)
    with styled():
        left, right = figure.subplots(1, 2)
        draw_bound_curves(left, _curves(rows, "two points", _TERMS), limits=(5e-4, 3))
        draw_bound_curves(right, _curves(rows, "box", _STEPS), limits=(0.05, 3))
        left.set_title("Theorem 8 and its terms (two points)")
        right.set_title("Which step loses how much (box)")
        left.set_ylabel("share of wrongly labelled words")
    save_figure(figure, path)


def _curves(
    rows: Sequence[Mapping[str, Any]], prior: str, names: Mapping[str, str]
) -> list[BoundCurve]:
    mine = [row for row in rows if (row["world"], row["prior"], row["draw"]) == ("words", prior, 0)]
    sizes = _column(mine, "n_samples")
    return [
        BoundCurve(name, sizes, _column(mine, column), is_truth=column in _TRUTHS)
        for column, name in names.items()
    ]


def draw_draws(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw how the bounds fare on many samples."""
    words, noise = _draws(rows, "words"), _draws(rows, "noise")
    figure = new_figure(11, 4.2)
    with styled():
        left, middle, right = figure.subplots(1, 3)
        rooms = _rooms(words)
        draw_rooms(left, rooms["training_error"])
        draw_rooms(middle, rooms["theorem_8"])
        values = {name: _column(noise, column) for column, name in _LEFT_OUT.items()}
        draw_lapses(right, values, float(noise[0]["true_error"]))
        left.set_title("Words: without complexity", pad=40)
        middle.set_title("Words: Theorem 8", pad=40)
        right.set_title("Noise: a term left out", pad=40)
        left.set_xlabel("error on the sample − error to come\n(percentage points)")
        middle.set_xlabel("bound − error to come\n(percentage points)")
        right.set_xlabel("bound; the error to come is 0.5")
    save_figure(figure, path)


def _rooms(words: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, np.ndarray]]:
    """Return bound minus truth, with the complexity and without it, of MEDN and of the worst."""
    truth = _column(words, "true_error")
    return {
        "training_error": {
            _ONE: _column(words, "training_error") - truth,
            _MANY: _column(words, "least_training_room"),
        },
        "theorem_8": {
            _ONE: _column(words, "theorem_8") - truth,
            _MANY: _column(words, "least_room"),
        },
    }


def _draws(rows: Sequence[Mapping[str, Any]], world: str) -> list[Mapping[str, Any]]:
    """Return the rows of the samples of which there are many."""
    if world == "noise":
        return [row for row in rows if row["world"] == world]
    return [row for row in rows if row["world"] == world and row.get("least_room") is not None]


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=float)


# ---------------------------------------------------------------------------------------------
# the table summed up


def shares_that_hold(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return in which share of the samples each bound, and each without a term, is true."""
    words, noise = _draws(rows, "words"), _draws(rows, "noise")

    def share(mine: Sequence[Mapping[str, Any]], bound: str, truth: str = "true_error") -> float:
        return float(np.mean(_column(mine, bound) >= _column(mine, truth)))

    return {
        "Theorem 8, MEDN": share(words, "theorem_8"),
        "Theorem 8, all posteriors at once": float(np.mean(_column(words, "least_room") >= 0)),
        "Seeger's last step, MEDN": share(words, "theorem_8_kl"),
        "Gibbs by Seeger, MEDN": share(words, "gibbs_bound", "gibbs_true"),
        "without complexity, MEDN": share(words, "training_error"),
        "without complexity, all posteriors at once": float(
            np.mean(_column(words, "least_training_room") >= 0)
        ),
        **{
            f"noise, without {name}" if name else "noise, Theorem 8": share(noise, column)
            for column, name in _LEFT_OUT.items()
        },
    }


def report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum the study up."""
    headers, cells = ["", "two points", "box"], _ladder(rows)
    held, shares = ["bound", "holds in"], _held(rows)
    notes = [_wrapped(text) for text in (_caption(), _findings(rows), _test(rows, scale))]
    return Report(
        COLUMNS,
        list(rows),
        "\n\n".join(
            [
                text_table(headers, cells, right=(1, 2)),
                text_table(held, shares, right=(1,)),
                notes[1],
            ]
        ),
        "\n\n".join(
            [
                *notes[:2],
                markdown_table(headers, cells).rstrip(),
                notes[2],
                markdown_table(held, shares),
            ]
        ),
        {"draws": _caption_of_draws(rows, scale)},
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_on_hyphens=False)


def _at_main_size(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the first sample of the main size, for either prior."""
    return [
        row
        for row in rows
        if (row["world"], row["n_samples"], row["draw"]) == ("words", MAIN_SIZE, 0)
    ]


def _ladder(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
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
    return [[name, *(_number(row.get(key)) for row in pair)] for name, key in columns.items()]


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _held(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [[name, f"{100 * share:.4g} %"] for name, share in shares_that_hold(rows).items()]


def _caption() -> str:
    return (
        "Theorem 8 of MEDN with all its constants, where everything is known: words of three letters, "
        "two kinds of letters, neighbours equal with probability 0.95, letters seen wrong in 2 % of "
        "all cases and the one in the middle not at all in 30 %.  A word counts as wrong if one of "
        "its letters is; the error to come is an exact sum.  Posteriors: MEDN, C = 10 / N, trained on "
        "each sample.  "
        "Left, the prior puts each weight at ±1: the bound and the three terms it is the sum of; where "
        "margin loss drops and the others rise, a smaller γ has become worth its price.  "
        "Right, weights are uniform on [-1, 1]: Theorem 8 with two choices of m; the same proof with "
        "Seeger's last step; and e times Seeger's bound on the Gibbs predictor, which labels every "
        "word by one drawn model.  Thin: that bound itself, from 10,000 draws, which bounds Gibbs' "
        "own error and not the average's.  Broad and grey: the errors to come, of the "
        "average and, paler, of Gibbs, estimated by as many other draws.  "
        f"δ = {DELTA:g} for each bound.  Assumed: words are independent and of "
        "one distribution, the prior is fixed before they are seen, and scores are bounded, |F| ≤ c "
        "= 5, as the list of inputs is complete and no weight is beyond 1."
    )


def _findings(rows: Sequence[Mapping[str, Any]]) -> str:
    two, box = _at_main_size(rows)
    return (
        f"At N = {MAIN_SIZE:,}: {_terms_in_words(two)}  Of the sizes tried, the bound is below 1 with "
        f"{_speaks(rows, 'two points')}, and with {_speaks(rows, 'box')}.  With the box, at N = "
        f"{MAIN_SIZE:,}, e times the Gibbs bound says {box['averaged']:.2f} "
        f"and Theorem 8 {box['theorem_8']:.2f}: a drawn model errs on {100 * box['gibbs_true']:.0f} % "
        f"of the words and the average on {100 * box['true_error']:.1f} %, and only margins tell the "
        "two apart.  With two points, where no such factor is known, a drawn model errs on "
        f"{100 * two['gibbs_true']:.0f} %, for ties count as errors."
    )


def _terms_in_words(row: Mapping[str, Any]) -> str:
    return (
        f"with two points, KL = {row['kl']:.2f}, γ = {row['gamma_over_c']:.2f} c and m = "
        f"{row['m']:,}, the bound is {row['theorem_8']:.3f} = {row['margin_loss']:.3f} margin loss + "
        f"{row['averaging']:.3f} averaging + {row['complexity']:.3f} complexity, and the error to come "
        f"{row['true_error']:.3f}."
    )


def _speaks(rows: Sequence[Mapping[str, Any]], prior: str) -> str:
    mine = [row for row in rows if (row["world"], row["prior"], row["draw"]) == ("words", prior, 0)]

    def first(limit: float) -> str:
        below = [row["n_samples"] for row in mine if row["theorem_8"] < limit]
        return f"N = {min(below):,}" if below else "no N here"

    name = "the box" if prior == "box" else prior
    return f"{name} from {first(1)} on and below 0.5 from {first(0.5)} on"


def _test(rows: Sequence[Mapping[str, Any]], scale: str) -> str:
    words = _draws(rows, "words")
    rooms = _rooms(words)["theorem_8"]
    kl, bound = (float(np.median(_column(words, name))) for name in ("kl", "theorem_8"))
    return (
        f"Is it true?  {len(words):,} samples of {MAIN_SIZE:,} words each, two points, KL = {kl:.2f}: "
        f"the median of the bound is {bound:.3f}.  It exceeds the error to come by "
        f"{rooms[_ONE].min():.3f} at least, and by {rooms[_MANY].min():.3f} for the worst of "
        f"{N_POSTERIORS[scale]} further posteriors (KL 0.5 to 2).  In the world of noise one of 400 "
        "letters is seen without error and a coin says its label; 400 samples of it are learned by "
        "heart by a posterior with KL = 1."
    )


def _caption_of_draws(rows: Sequence[Mapping[str, Any]], scale: str) -> str:
    words, noise = _draws(rows, "words"), _draws(rows, "noise")
    rooms = _rooms(words)
    times = rooms["theorem_8"][_ONE].min() / np.std(rooms["training_error"][_ONE])
    return (
        f"Bounds on {len(words):,} samples, each of {MAIN_SIZE:,} words (two points).  *MEDN* has been "
        f"trained on the sample; *worst of all* is the one of {N_POSTERIORS[scale]} posteriors (KL "
        "0.5 to 2) that makes a bound look worst, for Theorem 8 promises that all hold at once, but for "
        f"a share of δ = {DELTA:g} of the samples.  Left: without its complexity the bound says that no "
        "error to come exceeds the one on the sample, as more and more draws m make the averaging "
        f"term vanish.  Middle: Theorem 8, whose room is {times:.0f} times the standard deviation of "
        "the error on a sample.  Another term that is lost would not be noticed there, so to the right "
        f"another world: {len(noise):,} times 400 letters of 400 kinds, with coin flips for labels, "
        "learned by heart by a posterior with KL = 1.  Without complexity, averaging (m = 1) or "
        "divergence (KL = 0) the bound is wrong.  The whole bound is above 1, which no error can "
        "exceed: that it is never broken is no merit, but rightly it says nothing."
    )
