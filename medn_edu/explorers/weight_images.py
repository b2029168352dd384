"""Weights as pictures: what each label looks for in an image, and which labels go together."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from medn_edu.datasets import load_handwriting
from medn_edu.estimators import M3N
from medn_edu.explorers.kit.controls import listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, Lesson
from medn_edu.explorers.kit.style import INK, SIGNED, new_figure, styled

_MARGIN = 1  # empty pixels at the left, the right and below each image of the mosaic
_HEADING = 0.34  # room above each image for its label, as a share of its height


def weight_mosaic(
    coef: np.ndarray, shape: tuple[int, int], n_columns: int | None = None
) -> np.ndarray:
    """Lay the weights of all labels, shape (n_labels, n_features), out as images in one array.

    The first weights of each label belong to pixels, row by row; between the images the array is
    NaN.  By default it is about as wide as 13 letters.
    """
    height, width = shape
    coef = np.asarray(coef, dtype=np.float64)
    if coef.shape[1] < height * width:
        raise ValueError(
            f"coef has {coef.shape[1]} features per label; expected at least {height * width}, "
            f"one per pixel of {height} x {width} images."
        )
    n_columns = n_columns or min(13, len(coef))
    n_rows = math.ceil(len(coef) / n_columns)
    tiles = np.full((n_rows * n_columns, *_tile(shape)), np.nan)
    images = coef[:, : height * width].reshape(-1, height, width)
    tiles[: len(coef), -_MARGIN - height : -_MARGIN, _MARGIN:-_MARGIN] = images
    grid = tiles.reshape(n_rows, n_columns, *tiles.shape[1:]).swapaxes(1, 2)
    return grid.reshape(n_rows * tiles.shape[1], n_columns * tiles.shape[2])


def _tile(shape: tuple[int, int]) -> tuple[int, int]:
    """Height and width of one image of a mosaic with the room around it."""
    return shape[0] + math.ceil(_HEADING * shape[0]) + _MARGIN, shape[1] + 2 * _MARGIN


def draw_weight_images(
    ax: Axes,
    coef: np.ndarray,
    classes: Sequence[Any],
    shape: tuple[int, int],
    *,
    n_columns: int | None = None,
    limit: float | None = None,
    colorbar: bool = True,
) -> AxesImage:
    """Draw the weights of each label as an image: blue pixels count for it, vermilion against.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    coef : ndarray of shape (n_labels, n_features)
        Weights, those of the pixels first.
    classes : sequence
        The labels.
    shape : (height, width)
        Shape of an image.
    n_columns : int, optional
        Images per row.
    limit : float, optional
        Weight of the darkest colour; by default the largest absolute weight.
    colorbar : bool, default=True
        Whether to add the scale of colours.

    Returns
    -------
    matplotlib.image.AxesImage
        The picture; ``set_data(weight_mosaic(...))`` shows other weights.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure().add_subplot()
    >>> draw_weight_images(ax, np.eye(4), "abcd", (2, 2)).get_clim()
    (-1.0, 1.0)
    """
    mosaic = weight_mosaic(coef, shape, n_columns)
    height, width = _tile(shape)
    n_columns = mosaic.shape[1] // width
    with styled():
        image = _show_signed(ax, mosaic, limit, colorbar)
        for c, label in enumerate(classes):
            row, column = divmod(c, n_columns)
            ax.text(
                (column + 0.5) * width - 0.5, (row + 1) * height - shape[0] - 1.9, str(label),
                ha="center", va="bottom", fontsize=10, color=INK,
            )  # fmt: skip
        ax.set_axis_off()
    return image


def draw_transitions(
    ax: Axes,
    transitions: np.ndarray,
    classes: Sequence[Any],
    *,
    limit: float | None = None,
    colorbar: bool = True,
) -> AxesImage:
    """Draw transition weights as a heat map, one row per parent's label.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    transitions : ndarray of shape (n_labels, n_labels)
        Weights of the pairs (parent's label, child's label); those not finite are left blank.
    classes : sequence
        The labels.
    limit, colorbar
        As of `draw_weight_images`.

    Returns
    -------
    matplotlib.image.AxesImage
        The heat map; ``set_data`` shows other weights.

    Raises
    ------
    ValueError
        If the table is not square with one row per label.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure().add_subplot()
    >>> draw_transitions(ax, np.eye(2), ["noun", "verb"]).get_clim()
    (-1.0, 1.0)
    """
    table = np.asarray(transitions, dtype=np.float64)
    if table.shape != (len(classes), len(classes)):
        raise ValueError(
            f"transitions has shape {table.shape}; expected ({len(classes)}, {len(classes)}), "
            "the pairs of labels of one edge type."
        )
    with styled():
        finite = np.where(np.isfinite(table), table, np.nan)
        image = _show_signed(ax, finite, limit, colorbar)
        ticks = range(len(classes))
        ax.set_xticks(ticks, [str(label) for label in classes])
        ax.set_yticks(ticks, [str(label) for label in classes])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("child's label (the next one)")
        ax.set_ylabel("parent's label (the one before)")
    return image


def _show_signed(ax: Axes, values: np.ndarray, limit: float | None, colorbar: bool) -> AxesImage:
    finite = np.abs(values[np.isfinite(values)])
    limit = limit or float(finite.max(initial=0.0)) or 1.0
    image = ax.imshow(values, cmap=SIGNED, vmin=-limit, vmax=limit)
    if colorbar:
        figure = ax.get_figure(root=False)
        assert figure is not None
        bar = figure.colorbar(image, ax=ax, shrink=0.8, aspect=22, pad=0.02)
        bar.set_label("weight")
        bar.outline.set_visible(False)
    return image


@cache
def _growing_models() -> tuple[dict[int, Any], tuple[int, int]]:
    """Return M3Ns of more and more words, and the shape of a letter's image."""
    words = load_handwriting()
    sizes = (5, 10, 25, 50, 100, 200, 400)
    fits = {n: M3N(C=0.1, verbose=0).fit(*words.take(words.train[:n])) for n in sizes}
    return fits, words.shape


def _n_known(coef: np.ndarray) -> int:
    return int(np.sum(np.any(coef != 0, axis=1)))


def _similarity(coef: np.ndarray, last: np.ndarray) -> float:
    """Return the cosine between two tables of weights; nothing is like weights that are all 0."""
    lengths = np.linalg.norm(coef) * np.linalg.norm(last)
    return float(np.sum(coef * last) / lengths) if lengths else 0.0


_CAPTION = (
    "The weights of the pixels, one image per letter. Ink on a blue pixel counts for the letter, and "
    "ink on an orange pixel against it. The darker the colour, the larger the weight. Step through "
    "the numbers of training words and watch which images still change."
)


def weight_images(
    models: Mapping[int, Any] | None = None, shape: tuple[int, int] = (16, 8)
) -> Explorer:
    """Return an explorer of the weights of models that have seen more and more words.

    Each picture is scaled by its own largest weight.

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
        models, shape = _growing_models()
    if len(models) < 2:
        raise ValueError("weight_images needs two models or more.")
    sizes = sorted(models)
    classes = list(models[sizes[-1]].classes_)
    n_pixels, coefs = shape[0] * shape[1], {}
    for n in sizes:  # zeros for labels that a model does not know
        rows = dict(zip(list(models[n].classes_), models[n].coef_, strict=True))
        blank = np.zeros(models[n].coef_.shape[1])
        coefs[n] = np.array([rows.get(label, blank) for label in classes])[:, :n_pixels]
    n_rows = math.ceil(len(classes) / 13)  # images of a row, as `weight_mosaic` has it
    figure = new_figure(8, 0.7 + 0.55 * n_rows * shape[0] / shape[1])
    ax = figure.add_subplot()
    image = draw_weight_images(ax, coefs[sizes[-1]], classes, shape, limit=1, colorbar=False)
    with styled():
        title = ax.set_title(" ")

    def update(words: int) -> str:
        coef = coefs[words]
        image.set_data(weight_mosaic(coef / (np.abs(coef).max() or 1.0), shape))
        title.set_text(f"{words} training words")
        return (
            f"{words} training words: {_n_known(coef)} of {len(classes)} labels have an image; "
            f"similarity to the last images {_similarity(coef, coefs[sizes[-1]]):.2f}."
        )

    def alt(words: int) -> str:
        return (
            f"Weights of each label's pixels after training on {words} words: blue for, orange "
            "against."
        )

    def some_are_blank(words: int) -> bool:
        return _n_known(coefs[words]) < len(classes)

    def they_settle(words: int) -> bool:
        alike = [_similarity(coefs[n], coefs[sizes[-1]]) for n in sizes]
        return bool(np.all(np.diff(alike) > 0))

    at_first = {"words": sizes[0]}
    if some_are_blank(sizes[0]):
        fact = (
            "A label that no training word contains stays blank, because nothing is known about it."
        )
        first = Lesson(at_first, fact, some_are_blank)
    else:
        fact = "Every label is in the first words already, so each has an image from the start."
        first = Lesson(at_first, fact, lambda words: not some_are_blank(words))
    fact = "The more words, the more similar the images are to the last ones."
    lessons = [first, Lesson({"words": sizes[-2]}, fact, they_settle)]
    texts = [f"{n:,}" for n in sizes]
    time = listed(sizes, sizes[-1], "training words", texts=texts, per_second=2)
    return Explorer(
        figure, update, alt, caption=_CAPTION, lessons=lessons, name="weights", words=time
    )


EXHIBIT = Exhibit("Weights as images, from few words and from many", "ocr-study", weight_images)
