"""The lattice of a word: a column of labels for each letter, and the best path through it.

Labelling a word means picking one label in each column.  A labelling's score adds up what each
letter's image says for its label (the node potentials) and what the model says for each pair of
neighbours (the edge potentials, here times a *strength*).  At strength 0 every letter is read
alone; as it grows the best path (Eq. (1) of MEDN) jumps, at a few strengths, from one labelling to
another.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.explorers.kit.controls import Time
from medn_edu.explorers.kit.examples import digit_word
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import ERROR, INK, INK_ON_PAPER, MUTED, new_figure, styled
from medn_edu.inference import Potentials, k_best, node_potentials
from medn_edu.samples import Samples, pack

_BEST = "#0072B2"
_ALONE = "#E69F00"
_WIDTH = 7.2
_LETTER = 0.8  # width of a letter's image, as a share of its column


@dataclass(frozen=True)
class LatticeFrame:
    """What the lattice shows at one strength of the transitions."""

    strength: float  # factor of the transitions
    path: np.ndarray  # codes of the best labelling
    alone: np.ndarray
    score: float  # score of the best labelling
    lead: float  # by how much the best labelling beats the next one


def lattice_frame(
    word: Samples, node: np.ndarray, edge: np.ndarray, strength: float = 1.0
) -> LatticeFrame:
    """Find the best path through a word's lattice."""
    allowed = np.isfinite(edge)  # 0 times -inf is not a number
    scaled = np.multiply(strength, edge, where=allowed, out=np.array(edge, dtype=np.float64))
    ((labellings, scores),) = k_best(Potentials(word, node, scaled), 2)
    alone = node.argmax(axis=1)
    lead = float(scores[0] - scores[1])
    return LatticeFrame(strength, labellings[0], alone, float(scores[0]), lead)


class Lattice:
    """A figure of a word's lattice; `show` moves its path in place."""

    def __init__(
        self, images: np.ndarray, classes: Sequence[Any], node: np.ndarray, true: Sequence[int]
    ) -> None:
        self._classes = [str(label) for label in classes]
        self._true = list(true)
        n_letters, n_labels = node.shape
        tall = images.shape[1] / images.shape[2]
        picture = (_WIDTH - 1.2) / n_letters * _LETTER * tall
        self.figure = new_figure(_WIDTH, 1.15 + picture + 0.2 * n_labels)
        top, bottom = self.figure.subplots(
            2, 1, sharex=True, height_ratios=[picture + 0.5, 0.2 * n_labels]
        )
        with styled():
            self._draw_letters(top, images, tall)
            self._draw_columns(bottom, node)

    def show(self, frame: LatticeFrame) -> None:
        """Show a path."""
        self._title.set_text(f"transitions × {frame.strength:.2f}")
        self._best.set_ydata(frame.path)
        self._alone.set_ydata(frame.alone)
        for t, (text, code) in enumerate(zip(self._texts, frame.path, strict=True)):
            wrong = code != self._true[t]
            text.set_text(self._classes[code])
            text.set(color=ERROR if wrong else INK, fontweight="bold" if wrong else "normal")
            self._strokes[t].set_visible(bool(wrong))

    def _draw_letters(self, ax: Any, images: np.ndarray, tall: float) -> None:
        """Draw the images, the true labels above and room for the predicted ones below."""
        self._texts, self._strokes = [], []
        half = _LETTER / 2
        for t, image in enumerate(images):
            extent = (t - half, t + half, 0, 1)
            ax.imshow(image, cmap=INK_ON_PAPER, vmin=0, vmax=images.max(), extent=extent)
            truth = self._classes[self._true[t]]
            ax.text(t, 1.06, truth, ha="center", va="bottom", color=MUTED, fontsize=11)
            self._texts.append(ax.text(t, -0.08, "", ha="center", va="top", fontsize=13))
            (stroke,) = ax.plot([t - 0.1, t + 0.1], [-0.27, -0.1], "-", color=ERROR, lw=1.5)
            self._strokes.append(stroke)
        ax.text(-0.55, 1.06, "truth", ha="right", va="bottom", color=MUTED)
        ax.text(-0.55, -0.08, "read as", ha="right", va="top", color=MUTED)
        ax.set(aspect="auto", xlim=(-0.5, len(images) - 0.5), ylim=(-0.34, 1.25))
        ax.set_axis_off()

    def _draw_columns(self, ax: Any, node: np.ndarray) -> None:
        """Draw a dot for every label of every letter, and the two paths."""
        n_letters, n_labels = node.shape
        low, high = node.min(axis=1, keepdims=True), node.max(axis=1, keepdims=True)
        share = ((node - low) / np.maximum(high - low, 1e-12)) ** 3  # the best few stand out
        columns = np.repeat(np.arange(n_letters), n_labels)
        rows = np.tile(np.arange(n_labels), n_letters)
        ax.scatter(columns, rows, s=6 + 140 * share.ravel(), color="#B9C2CA", linewidths=0)
        at = np.arange(n_letters)
        (self._alone,) = ax.plot(
            at, np.zeros(n_letters), linestyle="--", marker="s", ms=9, mfc="none", color=_ALONE,
            label="each one alone",
        )  # fmt: skip
        (self._best,) = ax.plot(
            at, np.zeros(n_letters), linestyle="-", marker="o", ms=5, lw=2.5, color=_BEST,
            label="best path",
        )  # fmt: skip
        self._title = ax.set_title("transitions × 0.00", fontsize=10, fontweight="normal", pad=4)
        ax.set_yticks(range(n_labels), self._classes)
        ax.set(ylim=(n_labels - 0.4, -0.6), ylabel="label", xlabel="position")
        ax.set_xticks(at, [str(t + 1) for t in at])
        ax.tick_params(length=0)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.36), ncols=2)


def best_path(
    model: Any = None,
    x: np.ndarray | None = None,
    y: Sequence[Any] | np.ndarray | None = None,
    images: np.ndarray | None = None,
) -> Explorer:
    """Return an explorer of one word's lattice, whose only slider scales the model's transitions.

    At strength 0 every letter is read alone, at 1 by the model as it was trained; in between the
    best path jumps.  Drawn by `medn_edu.explorers.lattice`.

    Parameters
    ----------
    model : fitted estimator, optional
        A fitted `M3N` or `CRF`; without one, a word of start-here is shown.
    x : ndarray of shape (n_letters, n_features)
        The word's features.
    y : sequence of length n_letters
        Its true labels.
    images : ndarray of shape (n_letters, height, width)
        Its letters.

    Returns
    -------
    Explorer
        The explorer; its time is ``strength``, from 0 to 2.

    Raises
    ------
    ValueError
        If a true label is unknown to the model, or only some of the four are given.
    """
    if model is None:
        model, x, y, images = digit_word()
    if x is None or y is None or images is None:
        raise ValueError("best_path needs a model with x, y and images, or none of them.")
    classes = list(model.classes_)
    unknown = [label for label in y if label not in classes]
    if unknown:
        raise ValueError(f"the model does not know the label {unknown[0]!r}.")
    word = pack([x])
    node = node_potentials(word, model.coef_)
    true = [classes.index(label) for label in y]
    lattice = Lattice(np.asarray(images), classes, node, true)
    time = Time(0.0, 2.0, 0.05, 0.0, label="strength of transitions", per_second=6)
    frames = {s: lattice_frame(word, node, model.transitions_, s) for s in time.values}

    def update(strength: float) -> str:
        frame = frames[strength]
        lattice.show(frame)
        wrong = int(np.sum(frame.path != true))
        return (
            f"Strength {strength:.2f}: read as {_text(classes, frame.path)} ({wrong} of "
            f"{len(true)} wrong), ahead of the next best labelling by {frame.lead:.2f}."
        )

    def alt(strength: float) -> str:
        frame = frames[strength]
        return (
            f"A handwritten word of length {len(true)}, and below it a lattice with one column of "
            f"labels per position. With transitions times {strength:.2f} the best path through it is "
            f"{_text(classes, frame.path)}; each one alone would be {_text(classes, frame.alone)}."
        )

    lessons = _lessons(frames, model.predict([x])[0], classes)
    return Explorer(lattice.figure, update, alt, lessons=lessons, name="lattice", strength=time)


def _lessons(
    frames: dict[float, LatticeFrame], predicted: Sequence[Any], classes: list[Any]
) -> list[Lesson]:
    def alone(strength: float) -> bool:
        return bool((frames[strength].path == frames[strength].alone).all())

    def trained(strength: float) -> bool:
        return [classes[code] for code in frames[strength].path] == list(predicted)

    lessons = [
        Lesson({"strength": 0.0}, "Without transitions each one is read alone.", alone),
        Lesson({"strength": 1.0}, "At strength 1 the path is the model's prediction.", trained),
    ]
    most = max(frame.lead for frame in frames.values())
    jumps = [
        after
        for before, after in itertools.pairwise(frames)
        if (frames[before].path != frames[after].path).any()
    ]
    if jumps:
        fact = "Where the path jumps, two labellings score alike: the lead is small."
        move = {"strength": jumps[0]}
        lessons.append(Lesson(move, fact, lambda strength: frames[strength].lead < most / 2))
    return lessons


def _text(classes: list[Any], path: np.ndarray) -> str:
    names = [str(classes[code]) for code in path]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names)
