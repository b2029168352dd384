"""The lattice of a word: a column of labels for each letter, and the best path through it.

Labelling a word means picking one label in each column.  A labelling's score adds up what each
letter's image says for its label (the node potentials) and what the model says for each pair of
neighbours (the edge potentials, here times a *strength*).  At strength 0 every letter is read
alone; as it grows the best path (Eq. (1) of MEDN) jumps, at a few strengths, from one labelling to
another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.inference import Potentials, k_best
from medn_edu.plots.style import ERROR, INK, INK_ON_PAPER, MUTED, new_figure, styled
from medn_edu.samples import Samples

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
