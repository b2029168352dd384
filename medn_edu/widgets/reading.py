"""Words with what models read in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from medn_edu.plots.reading import Reading, ReadingFrame
from medn_edu.widgets.controls import Choice, Slider
from medn_edu.widgets.explorer import Explorer, Lesson

__all__ = ["read_words"]


def read_words(
    models: Mapping[str, Any],
    X: Sequence[np.ndarray],
    y: Sequence[Sequence[Any]],
    images: Sequence[np.ndarray],
) -> Explorer:
    """Return an explorer that turns over words and shows what each model read.

    Drawn by `medn_edu.plots.reading`.

    Parameters
    ----------
    models : mapping of str to fitted estimator
        The models by name.
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
    """Return where a model is least sure of a letter, and that this is where it errs more."""
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


def _text(labels: Sequence[Any]) -> str:
    names = [str(label) for label in labels]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names)
