"""The best path through a word's lattice, as the transitions gain strength."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from medn_edu.inference import node_potentials
from medn_edu.plots.lattice import Lattice, LatticeFrame, lattice_frame
from medn_edu.samples import pack
from medn_edu.widgets._examples import digit_word
from medn_edu.widgets.controls import Time
from medn_edu.widgets.explorer import Explorer, Lesson


def best_path(
    model: Any = None,
    x: np.ndarray | None = None,
    y: Sequence[Any] | np.ndarray | None = None,
    images: np.ndarray | None = None,
) -> Explorer:
    """Return an explorer of one word's lattice, whose only slider scales the model's transitions.

    At strength 0 every letter is read alone, at 1 by the model as it was trained; in between the
    best path jumps.  Drawn by `medn_edu.plots.lattice`.

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
