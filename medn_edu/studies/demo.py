"""The demo: every model there is reads the same handwritten digit words.

Each digit is blurred by noise, so it can often be read only with the help of its neighbours: a
model that looks at each letter by itself shows what the others gain by looking at both.
"""

import textwrap
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from medn_edu.datasets import load_digit_words
from medn_edu.explorers import (
    draw_weight_images,
    draw_words,
    new_figure,
    save_figure,
    styled,
    words_height,
)
from medn_edu.studies.kit.figures import draw_error_bars
from medn_edu.studies.kit.models import MODELS, make_model
from medn_edu.studies.kit.specs import Row, Split
from medn_edu.studies.kit.summary import Column, percent, table
from medn_edu.studies.kit.trained import measured

COLUMNS = (
    "model", "error", "train_error", "seconds", "relative_gap", "n_weights", "n_nonzero", "n_large",
    "n_support", "status",
)  # fmt: skip
"""Columns of the demo's table."""

_N_SHOWN = 8
_LETTERS_PER_LINE = 22
_WIDTH, _LOWER_HEIGHT = 10.0, 2.9
_READERS = ("per letter", "CRF", "M3N", "LapMEDN")  # more would hide the handwriting
_LEARNED = ("M3N", "LapMEDN")


def run_demo(
    *, seed: int = 0, n_jobs: int = 1, progress: Callable[[int, int, str], Any] | None = None
) -> tuple[Any, list[Row]]:
    """Train all models on digit words and test them; return the words, and a row for each model."""
    words = load_digit_words(random_state=seed)
    tell = progress or (lambda n_done, n_all, what: None)
    rows = []
    for number, name in enumerate(MODELS):
        tell(number, len(MODELS), name)
        rows.append(_train(name, words, seed, n_jobs))
    tell(len(MODELS), len(MODELS), "")
    return words, rows


def _train(name: str, words: Any, seed: int, n_jobs: int) -> Row:
    model = make_model(name, seed=seed, n_jobs=n_jobs, **dict(MODELS[name].parameters))
    train, test = (
        ([words.data[i] for i in part], [words.target[i] for i in part])
        for part in (words.train, words.test)
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap stands in the table
        model.fit(*train)
    seconds = time.perf_counter() - start
    found = measured(model, Split(*train, *test))
    return {"model": name, **found, "seconds": seconds, "trained": model}


def headline(words: Any) -> str:
    """Say what is read."""
    n_letters = sum(len(words.target[i]) for i in words.test)
    n_features = words.data[0].shape[1]
    return (
        f"Handwritten digit words: {len(words.train)} to train on, {len(words.test)} "
        f"({n_letters} digits) to test, {n_features} pixels a digit"
    )


_SHOWN = [
    Column("model", "model"),
    Column("error", "error", percent(".1f"), right=True),
    Column("time", "seconds", lambda seconds: f"{seconds:.2f} s", right=True),
    Column("gap", "relative_gap", percent(".2g"), right=True),
    Column("non-zero", "n_nonzero", right=True),
    Column("large", "n_large", right=True),
    Column("support", "n_support", ".1f", right=True),
    Column("what it is", lambda row: MODELS[row["model"]].summary),
]


def demo_table(rows: Sequence[Row]) -> str:
    """Return the table for a console, with notes."""
    notes = [
        "error: share of wrong labels in the test words.  gap: certified distance to the optimum, "
        "relative to it; the plain CRF and the baseline have no certificate, and the variational "
        "method does not aim at it.",
        f"non-zero, large: weights of {rows[-1]['n_weights']} that are not zero, and that are at "
        "least 1 % of the largest.  support: wrong labellings per training word with positive dual "
        "variables.",
    ]
    wrapped = [
        textwrap.fill(note, 96, initial_indent="  ", subsequent_indent="    ") for note in notes
    ]
    return "\n".join([table(_SHOWN, rows).text(), "", *wrapped])


def draw_demo(words: Any, rows: Sequence[Row], path: Path) -> Path:
    """Draw the demo's figure: words as some models read them, errors, and what two have learned."""
    shown = words.test[:_N_SHOWN]
    images = [words.images[i] for i in shown]
    models = {row["model"]: row["trained"] for row in rows}
    read = {name: list(models[name].predict([words.data[i] for i in shown])) for name in _READERS}
    learned = [models[name] for name in _LEARNED]
    height = words_height(images, read, _LETTERS_PER_LINE, _WIDTH) + 0.3  # and a title
    figure = new_figure(_WIDTH, height + _LOWER_HEIGHT)
    grid = figure.add_gridspec(
        2, 3, height_ratios=[height, _LOWER_HEIGHT], width_ratios=[1, 1.2, 1.2]
    )
    top = figure.add_subplot(grid[0, :])
    left, *panels = (figure.add_subplot(grid[1, column]) for column in range(3))
    limit = max(float(np.abs(model.coef_).max()) for model in learned)
    with styled():
        true = [words.target[i] for i in shown]
        draw_words(top, images, true, read, letters_per_line=_LETTERS_PER_LINE)
        top.set_title("The first test words as four models read them (wrong labels framed)")
        draw_error_bars(left, [row["model"] for row in rows], [row["error"] for row in rows])
        left.set_xlabel("test error (% of labels)")
        left.set_title("Errors on all test words")
        for ax, model, name in zip(panels, learned, _LEARNED, strict=True):
            draw_weight_images(
                ax, model.coef_, model.classes_, (8, 8), n_columns=4, limit=limit, colorbar=False
            )
            ax.set_title(f"{name}'s pixel weights" if ax is panels[0] else f"{name}'s, same scale")
            ax.set_anchor("N")  # squares under their titles, these in a line with the first
    return save_figure(figure, path)
