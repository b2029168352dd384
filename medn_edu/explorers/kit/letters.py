"""Handwritten words with the labels that models gave them.

Each word is a row of letter images, its true labels above and a line of labels per model below.  A
wrong label is vermilion, bold and framed, so it also shows in grey print and can still be read.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from medn_edu.explorers.kit.style import ERROR, INK, INK_ON_PAPER, MUTED, new_figure, styled

_GAP = 0.12  # between letters, as a share of a letter's width
_WORD_GAP = 0.9
_TEXT = 0.62  # height of a line of labels
_NAME = 0.18  # room next to the names of the models
_LINE_GAP = 0.3
_NO_WORDS = "images holds no words; expected at least one."


def draw_words(
    ax: Axes,
    images: Sequence[np.ndarray],
    true: Sequence[Sequence[Any]],
    predicted: Sequence[Sequence[Any]] | Mapping[str, Sequence[Sequence[Any]]] | None = None,
    *,
    letters_per_line: int = 20,
) -> None:
    """Draw words as images, their true labels above and the predicted ones below.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw; its frame and ticks are removed.
    images : sequence of ndarray of shape (n_letters, height, width)
        The letters of each word, dark where there is ink (larger values).
    true : sequence of label sequences
        The true labels of each word.
    predicted : sequence of label sequences, or dict from model name to such, optional
        Labels given by one model, or by several.  The names of several models are written at the left.
    letters_per_line : int, default=20
        Words flow into lines of about this many letters.

    Raises
    ------
    ValueError
        If images and labels differ in number; the message names the word.

    Examples
    --------
    >>> import numpy as np
    >>> figure = words_figure([np.eye(8)[None].repeat(2, axis=0)], ["on"], {"M3N": ["an"]})
    >>> sorted({text.get_text() for text in figure.axes[0].texts})
    ['M3N', 'a', 'n', 'o', 'truth']
    """
    models = _models(predicted)
    _check(images, true, models)
    tall = images[0].shape[1] / images[0].shape[2]
    pitch = _pitch(tall, len(models))
    placed = _flow([len(word) for word in images], letters_per_line)
    n_lines = placed[-1][0] + 1
    with styled():
        for i, (line, left) in enumerate(placed):
            top = -line * pitch
            ink = max(float(np.max(images[i])), 1e-300)
            for t, image in enumerate(images[i]):
                x, y = left + t * (1 + _GAP), top - _TEXT
                extent = (x, x + 1, y - tall, y)
                ax.imshow(image, cmap=INK_ON_PAPER, vmin=0, vmax=ink, extent=extent, zorder=1)
            _draw_labels(ax, true[i], None, left, top)
            for m, labels in enumerate(models.values()):
                _draw_labels(ax, labels[i], true[i], left, top - _TEXT - tall - m * _TEXT)
        for line in range(n_lines):  # what its labels are
            top = -line * pitch
            heights = [top - 0.5 * _TEXT]
            heights += [top - _TEXT - tall - (m + 0.5) * _TEXT for m in range(len(models))]
            for name, y in zip(["truth", *models], heights, strict=True):
                ax.text(-_NAME, y, name, ha="right", va="center", fontsize=9, color=MUTED)
        ax.set_xlim(-_NAME, _widest(images, letters_per_line) * (1 + _GAP))
        ax.set_ylim(-n_lines * pitch + _LINE_GAP, 0.1)
        ax.set_aspect("equal", anchor="W")
        ax.set_axis_off()


def words_figure(
    images: Sequence[np.ndarray],
    true: Sequence[Sequence[Any]],
    predicted: Sequence[Sequence[Any]] | Mapping[str, Sequence[Sequence[Any]]] | None = None,
    *,
    letters_per_line: int = 20,
    width: float = 8.0,
) -> Figure:
    """Return a figure of words whose height fits them; see `draw_words`.

    Parameters
    ----------
    images, true, predicted, letters_per_line
        As in `draw_words`.
    width : float, default=8.0
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    figure = new_figure(width, words_height(images, predicted, letters_per_line, width))
    draw_words(figure.add_subplot(), images, true, predicted, letters_per_line=letters_per_line)
    return figure


def words_height(
    images: Sequence[np.ndarray],
    predicted: Any = None,
    letters_per_line: int = 20,
    width: float = 8.0,
) -> float:
    """Return the height in inches at which words fill a given width.

    Parameters
    ----------
    images, predicted, letters_per_line, width
        As in `words_figure`.

    Returns
    -------
    float
        The height.
    """
    if not len(images):
        raise ValueError(_NO_WORDS)
    models = _models(predicted)
    tall = images[0].shape[1] / images[0].shape[2]
    n_lines = _flow([len(word) for word in images], letters_per_line)[-1][0] + 1
    names = 0.085 * max((len(name) for name in [*models, "truth"]), default=0)
    letter = (width - names - 0.3) / (_widest(images, letters_per_line) * (1 + _GAP) + _NAME)
    return letter * (n_lines * _pitch(tall, len(models)) - _LINE_GAP + 0.1) + 0.2


def written(labels: Iterable[Any]) -> str:
    """Return labels as one word, or with spaces between them where they are longer than letters."""
    names = [str(label) for label in labels]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names)


def mark_label(text: Text, wrong: bool) -> None:
    """Show a label as right or, in a frame, as wrong."""
    text.set(color=ERROR if wrong else INK, fontweight="bold" if wrong else "normal")
    frame = {
        "boxstyle": "square,pad=0.1",
        "facecolor": "none",
        "edgecolor": ERROR,
        "linewidth": 1.2,
    }
    text.set_bbox(frame if wrong else None)


def _models(predicted: Any) -> dict[str, Sequence[Sequence[Any]]]:
    if predicted is None:
        return {}
    return dict(predicted) if isinstance(predicted, Mapping) else {"model": predicted}


def _check(images: Any, true: Any, models: Mapping[str, Any]) -> None:
    if not len(images):
        raise ValueError(_NO_WORDS)
    for name, labels in {"true": true, **models}.items():
        if len(labels) != len(images):
            raise ValueError(
                f"{len(images)} words but {len(labels)} label sequences in {name!r}; "
                "expected one per word."
            )
        for i, (word, sequence) in enumerate(zip(images, labels, strict=True)):
            if len(word) != len(sequence):
                raise ValueError(
                    f"word {i} has {len(word)} images but {len(sequence)} labels in {name!r}; "
                    "expected one label per image."
                )


def _pitch(tall: float, n_models: int) -> float:
    """Height of a line of words, its labels and the gap below it, in letter widths."""
    return (1 + n_models) * _TEXT + tall + _LINE_GAP


def _widest(images: Sequence[np.ndarray], letters_per_line: int) -> int:
    """Return how many letters a line must hold: a word longer than a line has one of its own."""
    return max(letters_per_line, *map(len, images))


def _flow(lengths: Sequence[int], letters_per_line: int) -> list[tuple[int, float]]:
    """Fill lines with words, as in a text; return each word's line and the left of its first letter."""
    placed, line, left = [], 0, 0.0
    for length in lengths:
        width = length * (1 + _GAP)
        if left > 0 and left + width > letters_per_line * (1 + _GAP):
            line, left = line + 1, 0.0
        placed.append((line, left))
        left += width + _WORD_GAP
    return placed


def _draw_labels(ax: Axes, labels: Any, true: Any, left: float, top: float) -> None:
    """Draw a line of labels; those that differ from ``true`` as errors."""
    y = top - 0.5 * _TEXT
    for t, label in enumerate(labels):
        x = left + t * (1 + _GAP) + 0.5
        text = ax.text(x, y, str(label), ha="center", va="center", fontsize=10, color=MUTED)
        if true is not None:
            mark_label(text, bool(label != true[t]))
