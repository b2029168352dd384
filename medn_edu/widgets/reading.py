"""Words with what models read in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from medn_edu.plots.reading import Reading, ReadingFrame
from medn_edu.widgets._examples import two_models
from medn_edu.widgets.controls import Choice, Slider
from medn_edu.widgets.explorer import Explorer, Lesson


def read_words(
    models: Mapping[str, Any] | None = None,
    X: Sequence[np.ndarray] = (),
    y: Sequence[Sequence[Any] | np.ndarray] = (),
    images: Sequence[np.ndarray] = (),
) -> Explorer:
    """Return an explorer that turns over words and shows what each model read.

    Drawn by `medn_edu.plots.reading`.

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
