"""Pixel weights of all labels as images, while the number of training words grows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from medn_edu.plots.style import new_figure, styled
from medn_edu.plots.weights import draw_weight_images, weight_mosaic
from medn_edu.widgets._examples import growing_models
from medn_edu.widgets.controls import Control
from medn_edu.widgets.explorer import Explorer, Lesson


def weight_images(
    models: Mapping[int, Any] | None = None, shape: tuple[int, int] = (16, 8)
) -> Explorer:
    """Return an explorer of the weights of models that have seen more and more words.

    Each picture is scaled by its own largest weight.  Drawn by `medn_edu.plots.weights`.

    Parameters
    ----------
    models : mapping of int to fitted estimator, optional
        Models by the number of words that trained them; the last one knows all labels.  Without
        any, M3Ns are trained on handwriting.
    shape : (height, width), default=(16, 8)
        Shape of a letter's image, whose pixels are the first features.

    Returns
    -------
    Explorer
        The explorer; its time is ``words``.

    Raises
    ------
    ValueError
        If there are fewer than two models.
    """
    if models is None:
        models, shape = growing_models()
    if len(models) < 2:
        raise ValueError("weight_images needs two models or more.")
    sizes = sorted(models)
    classes = list(models[sizes[-1]].classes_)
    coefs = {n: _aligned(models[n], classes)[:, : shape[0] * shape[1]] for n in sizes}
    n_rows = math.ceil(len(classes) / 13)  # images of a row, as `weight_mosaic` has it
    figure = new_figure(8, 0.7 + 0.55 * n_rows * shape[0] / shape[1])
    ax = figure.add_subplot()
    image = draw_weight_images(ax, coefs[sizes[-1]], classes, shape, limit=1, colorbar=False)
    with styled():
        title = ax.set_title(" ")

    def update(words: int) -> str:
        coef = coefs[words]
        image.set_data(weight_mosaic(coef / np.abs(coef).max(), shape))
        title.set_text(f"{words} training words")
        return (
            f"{words} training words: {_n_known(coef)} of {len(classes)} labels have an image; "
            f"likeness to the last images {_likeness(coef, coefs[sizes[-1]]):.2f}."
        )

    def alt(words: int) -> str:
        return (
            f"Weights of each label's pixels after training on {words} words: blue for, vermilion "
            "against."
        )

    def some_are_blank(words: int) -> bool:
        return _n_known(coefs[words]) < len(classes)

    def none_is_blank(words: int) -> bool:
        return not some_are_blank(words)

    def they_settle(words: int) -> bool:
        alike = [_likeness(coefs[n], coefs[sizes[-1]]) for n in sizes]
        return bool(np.all(np.diff(alike) > 0))

    if some_are_blank(sizes[0]):
        fact = "A label that no training word has remains blank: nothing is known of it."
        first = Lesson({"words": sizes[0]}, fact, some_are_blank)
    else:
        fact = "Every label is among the first words, so that each has an image from the start."
        first = Lesson({"words": sizes[0]}, fact, none_is_blank)
    fact = "The more words, the more alike to the last."
    lessons = [first, Lesson({"words": sizes[-2]}, fact, they_settle)]
    texts = tuple(f"{n:,}" for n in sizes)
    time = Control("time", tuple(sizes), texts, len(sizes) - 1, "training words", per_second=2)
    return Explorer(figure, update, alt, lessons=lessons, name="weights", words=time)


def _aligned(model: Any, classes: list[Any]) -> np.ndarray:
    """Return one row of weights for each class, zeros for those the model does not know."""
    rows = dict(zip(list(model.classes_), model.coef_, strict=True))
    blank = np.zeros(model.coef_.shape[1])
    return np.array([rows.get(label, blank) for label in classes])


def _n_known(coef: np.ndarray) -> int:
    return int(np.sum(np.any(coef != 0, axis=1)))


def _likeness(coef: np.ndarray, last: np.ndarray) -> float:
    """Return the cosine between two tables of weights."""
    return float(np.sum(coef * last) / (np.linalg.norm(coef) * np.linalg.norm(last)))
