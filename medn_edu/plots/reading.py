"""One word at a time, with what a model read in it, in a figure whose letters change in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.plots.style import ERROR, INK, INK_ON_PAPER, MUTED, new_figure, styled

_LETTER = 0.84  # width of a letter's image, as a share of its column


@dataclass(frozen=True)
class ReadingFrame:
    """One word and how it was read."""

    images: np.ndarray
    true: Sequence[Any]
    predicted: Sequence[Any]
    confidence: np.ndarray  # the model's probability of each label it gave

    @property
    def wrong(self) -> np.ndarray:
        """Whether each letter was read wrongly, shape (n_letters,)."""
        pairs = zip(self.true, self.predicted, strict=True)
        return np.array([true != predicted for true, predicted in pairs])


class Reading:
    """A figure with room for words of up to ``most`` letters; `show` puts one in."""

    def __init__(self, most: int, shape: tuple[int, int], width: float = 7.2) -> None:
        self._blank = np.zeros(shape)
        column = min(0.75, (width - 1.3) / most)
        picture = column * _LETTER * shape[0] / shape[1]
        self._gap, line = 0.06 / picture, 0.27 / picture  # of text, in heights of a letter
        self.figure = new_figure(width, picture * (1 + 4 * self._gap + 3 * line) + 0.1)
        self._ax = self.figure.add_subplot()
        self._rows = (1 + self._gap, -self._gap, -2 * self._gap - line)
        with styled():
            self._slots = [self._slot(t) for t in range(most)]
            for y, name in zip(self._rows, ("truth", "read as", "sure"), strict=True):
                va = "bottom" if y > 0 else "top"
                self._ax.text(-0.6, y, name, ha="right", va=va, color=MUTED)
            self._ax.set(aspect="auto", xlim=(-0.55, (width - 1.3) / column - 0.5))
            self._ax.set_ylim(self._rows[2] - line - self._gap, 1 + self._gap + line)
            self._ax.set_axis_off()

    def show(self, frame: ReadingFrame) -> None:
        """Show a word."""
        ink, errors = float(frame.images.max()), frame.wrong
        for t, (image, truth, label, sure, stroke) in enumerate(self._slots):
            here = t < len(frame.true)
            for artist in (image, truth, label, sure):
                artist.set_visible(here)
            wrong = here and bool(errors[t])
            stroke.set_visible(wrong)
            if here:
                image.set(data=frame.images[t], clim=(0, ink))
                truth.set_text(str(frame.true[t]))
                label.set_text(str(frame.predicted[t]))
                label.set(color=ERROR if wrong else INK, fontweight="bold" if wrong else "normal")
                sure.set_text(f"{100 * frame.confidence[t]:.0f} %")

    def _slot(self, t: int) -> tuple[Any, ...]:
        """Make the artists of one letter: image, true label, given label, confidence, stroke."""
        ax, half, (above, below, last) = self._ax, _LETTER / 2, self._rows
        image = ax.imshow(self._blank, cmap=INK_ON_PAPER, extent=(t - half, t + half, 0, 1))
        truth = ax.text(t, above, "", ha="center", va="bottom", color=MUTED, fontsize=12)
        label = ax.text(t, below, "", ha="center", va="top", fontsize=13)
        sure = ax.text(t, last, "", ha="center", va="top", color=MUTED, fontsize=9)
        ends = [below - 3 * self._gap, below - 0.5 * self._gap]
        (stroke,) = ax.plot([t - 0.16, t + 0.16], ends, "-", color=ERROR, lw=1.5)
        return image, truth, label, sure, stroke
