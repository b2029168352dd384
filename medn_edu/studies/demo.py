"""The demo: every model there is reads the same handwritten digit words.

Each digit is blurred by noise, so it can often be read only with the help of its neighbours: a
model that looks at each letter by itself shows what the others gain by looking at both.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from medn_edu.studies.kit.models import MODELS, make_model, sparsity
from medn_edu.studies.kit.trained import label_error

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


@dataclass(frozen=True, eq=False)
class DemoRow:
    """What one model achieved."""

    model: str  # name of the model
    error: float  # share of wrong labels in the test part
    train_error: float  # share of wrong labels in the training part
    seconds: float  # time that training took
    relative_gap: float | None  # certified distance to the optimum, relative to it
    n_weights: int
    n_nonzero: int
    n_large: int
    n_support: float | None
    status: str  # why training ended
    predicted: np.ndarray  # labels of the test words
    trained: Any


def run_demo(
    *, seed: int = 0, n_jobs: int = 1, progress: Callable[[int, int, str], Any] | None = None
) -> tuple[Any, list[DemoRow]]:
    """Train all models on digit words and test them."""
    words = load_digit_words(random_state=seed)
    tell = progress or (lambda n_done, n_all, what: None)
    rows = []
    for number, name in enumerate(MODELS):
        tell(number, len(MODELS), name)
        rows.append(_train(name, words, seed, n_jobs))
    tell(len(MODELS), len(MODELS), "")
    return words, rows


def _train(name: str, words: Any, seed: int, n_jobs: int) -> DemoRow:
    model = make_model(name, seed=seed, n_jobs=n_jobs, **dict(MODELS[name].parameters))
    X, y = [words.data[i] for i in words.train], [words.target[i] for i in words.train]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap stands in the table
        model.fit(X, y)
    seconds = time.perf_counter() - start
    predicted = model.predict([words.data[i] for i in words.test])
    result = getattr(model, "result_", None)
    gap = getattr(result, "relative_gap", np.inf)
    return DemoRow(
        model=name,
        error=label_error(predicted, [words.target[i] for i in words.test]),
        train_error=label_error(model.predict(X), y),
        seconds=seconds,
        relative_gap=float(gap) if np.isfinite(gap) else None,
        **sparsity(model),
        status=getattr(result, "status", ""),
        predicted=predicted,
        trained=model,
    )


def draw_demo(words: Any, rows: Sequence[DemoRow], path: Path) -> Path:
    """Draw the demo's figure: words as some models read them, errors, and what two have learned."""
    images = [words.images[i] for i in words.test[:_N_SHOWN]]
    by_name = {row.model: row for row in rows}
    read = {name: list(by_name[name].predicted[:_N_SHOWN]) for name in _READERS}
    learned = [by_name[name].trained for name in _LEARNED]
    height = words_height(images, read, _LETTERS_PER_LINE, _WIDTH) + 0.3  # and a title
    figure = new_figure(_WIDTH, height + _LOWER_HEIGHT)
    grid = figure.add_gridspec(
        2, 3, height_ratios=[height, _LOWER_HEIGHT], width_ratios=[1, 1.2, 1.2]
    )
    top = figure.add_subplot(grid[0, :])
    left, *panels = (figure.add_subplot(grid[1, column]) for column in range(3))
    limit = max(float(np.abs(model.coef_).max()) for model in learned)
    with styled():
        true = [words.target[i] for i in words.test[:_N_SHOWN]]
        draw_words(top, images, true, read, letters_per_line=_LETTERS_PER_LINE)
        top.set_title("The first test words as four models read them (wrong labels struck out)")
        draw_error_bars(left, [row.model for row in rows], [row.error for row in rows])
        left.set_xlabel("test error (% of labels)")
        left.set_title("Errors on all test words")
        for ax, model, name in zip(panels, learned, _LEARNED, strict=True):
            draw_weight_images(
                ax, model.coef_, model.classes_, (8, 8), n_columns=4, limit=limit, colorbar=False
            )
            ax.set_title(f"{name}'s pixel weights" if ax is panels[0] else f"{name}'s, same scale")
            ax.set_anchor("N")  # squares under their titles, these in a line with the first
    return save_figure(figure, path)
