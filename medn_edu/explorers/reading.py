"""One word at a time, with what a model read in it, in a figure whose letters change in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.explorers.kit.controls import Choice, Slider
from medn_edu.explorers.kit.examples import two_models
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import ERROR, INK, INK_ON_PAPER, MUTED, new_figure, styled

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


def read_words(
    models: Mapping[str, Any] | None = None,
    X: Sequence[np.ndarray] = (),
    y: Sequence[Sequence[Any] | np.ndarray] = (),
    images: Sequence[np.ndarray] = (),
) -> Explorer:
    """Return an explorer that turns over words and shows what each model read.

    Drawn by `medn_edu.explorers.reading`.

    Parameters
    ----------
    models : mapping of str to fitted estimator, optional
        The models by name; without any, two small ones read handwriting that they have not seen.
    X : sequence of ndarray of shape (n_letters, n_features)
        The words.
    y : sequence of sequences
        Their true labels.
    images : sequence of ndarray of shape (n_letters, height, width)
        Their letters.

    Returns
    -------
    Explorer
        The explorer, with the controls ``word`` (from 1) and ``model``.

    Raises
    ------
    ValueError
        If there are fewer than two words or no model.
    """
    if models is None and not len(X):
        models, words, some = two_models()
        X, y = words.take(some)
        images = [words.images[i] for i in some]
    if len(X) < 2 or not models:
        raise ValueError("read_words needs two words or more, and a model.")
    frames = {name: _read(model, X, y, images) for name, model in models.items()}
    reading = Reading(max(map(len, y)), np.asarray(images[0]).shape[1:])

    def update(word: int, model: str) -> str:
        frame = frames[model][word - 1]
        reading.show(frame)
        return (
            f"Word {word} of {len(X)}, {len(frame.true)} handwritten letters: {_text(frame.true)}; "
            f"{model} reads {_text(frame.predicted)} ({frame.wrong.sum()} wrong)."
        )

    def alt(word: int, model: str) -> str:
        return f"Handwritten word number {word}, the true labels above and those of {model} below."

    return Explorer(
        reading.figure,
        update,
        alt,
        lessons=_lessons(frames),
        name="words",
        word=Slider(1, len(X), 1),
        model=Choice(list(models)),
    )


def _read(
    model: Any, X: Sequence[np.ndarray], y: Sequence[Any], images: Sequence[np.ndarray]
) -> list[ReadingFrame]:
    """Let a model read all words, with its probability of every label it gives."""
    position = {label: code for code, label in enumerate(list(model.classes_))}
    marginals = model.predict_marginals(X)
    frames = []
    for image, true, labels, p in zip(images, y, model.predict(X), marginals, strict=True):
        sure = np.array([p[t, position[label]] for t, label in enumerate(labels)])
        frames.append(ReadingFrame(np.asarray(image), list(true), list(labels), sure))
    return frames


def _lessons(frames: dict[str, list[ReadingFrame]]) -> list[Lesson]:
    """Return where a model is least sure, and where two models read differently."""
    return [*_less_sure(frames), *_differ(frames)]


def _less_sure(frames: dict[str, list[ReadingFrame]]) -> list[Lesson]:
    name, words = next(iter(frames.items()))
    lowest = [frame.confidence.min() for frame in words]
    doubtful = int(np.argmin(lowest))
    right = np.concatenate([frame.confidence[~frame.wrong] for frame in words])
    wrong = np.concatenate([frame.confidence[frame.wrong] for frame in words])

    def holds(word: int, model: str) -> bool:
        return bool(wrong.mean() < right.mean())

    if not len(wrong) or not len(right):
        return []
    move = {"word": doubtful + 1, "model": name}
    return [Lesson(move, "Models are less sure of the letters that they read wrongly.", holds)]


def _differ(frames: dict[str, list[ReadingFrame]]) -> list[Lesson]:
    """Compare the first two models, if they differ anywhere."""
    pairs = zip(*list(frames.values())[:2], strict=True) if len(frames) > 1 else ()
    apart = [i for i, (one, other) in enumerate(pairs) if one.predicted != other.predicted]

    def holds(word: int, model: str) -> bool:
        one, other = (read[word - 1].predicted for read in list(frames.values())[:2])
        return one != other

    if not apart:
        return []
    fact = "Two models of the same words, both at their optimum, can read a word differently."
    return [Lesson({"word": apart[0] + 1, "model": list(frames)[1]}, fact, holds)]


def _text(labels: Sequence[Any]) -> str:
    names = [str(label) for label in labels]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names)
