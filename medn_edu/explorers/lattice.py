"""The lattice of a word: a column of labels for each letter, and the best path through it.

A path's score adds up what each image says for its label and, times a *strength*, what the model says
for each pair of neighbours.  At strength 0 every letter is read alone.  As the strength grows, the path
jumps.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets import load_digit_words
from medn_edu.estimators import M3N
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, Lesson
from medn_edu.explorers.kit.letters import mark_label, written
from medn_edu.explorers.kit.style import INK_ON_PAPER, MUTED, new_figure, styled
from medn_edu.inference import Potentials, k_best, node_potentials
from medn_edu.samples import Samples, pack

_WIDTH = 7.2
_LETTER = 0.8  # width of a letter's image, as a share of its column


@dataclass(frozen=True)
class LatticeFrame:
    """What the lattice shows at one strength of the transitions; labellings are codes."""

    path: np.ndarray  # the best labelling
    alone: np.ndarray  # the labelling without transitions
    lead: float  # by how much the best labelling beats the next one


def lattice_frame(
    word: Samples, node: np.ndarray, edge: np.ndarray, strength: float = 1.0
) -> LatticeFrame:
    """Find the best path through a word's lattice."""
    allowed = np.isfinite(edge)  # 0 times -inf is not a number
    scaled = np.multiply(strength, edge, where=allowed, out=np.array(edge, dtype=np.float64))
    ((labellings, scores),) = k_best(Potentials(word, node, scaled), 2)
    return LatticeFrame(labellings[0], node.argmax(axis=1), float(scores[0] - scores[1]))


@cache
def _digit_word() -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return an M3N of digit words, as in start-here, with one test word, its labels and images."""
    digits = load_digit_words()
    model = M3N(C=0.1, tol=1e-6, verbose=0)
    model.fit([digits.data[i] for i in digits.train], [digits.target[i] for i in digits.train])
    i = digits.test[81]  # wrong without transitions, right with them, wrong with too much
    return model, digits.data[i], digits.target[i], digits.images[i]


def _draw_letters(
    ax: Axes, images: np.ndarray, classes: list[str], true: list[int]
) -> Callable[[np.ndarray], None]:
    """Draw the images, the true labels above and room for the predicted ones below."""
    half, slots = _LETTER / 2, []
    for t, image in enumerate(images):
        extent = (t - half, t + half, 0, 1)
        ax.imshow(image, cmap=INK_ON_PAPER, vmin=0, vmax=images.max(), extent=extent)
        ax.text(t, 1.06, classes[true[t]], ha="center", va="bottom", color=MUTED, fontsize=11)
        text = ax.text(t, -0.1, "", ha="center", va="top", fontsize=13)
        slots.append(text)
    ax.text(-0.55, 1.06, "truth", ha="right", va="bottom", color=MUTED)
    ax.text(-0.55, -0.08, "read as", ha="right", va="top", color=MUTED)
    ax.set(aspect="auto", xlim=(-0.5, len(images) - 0.5), ylim=(-0.34, 1.25))
    ax.set_axis_off()

    def show(path: np.ndarray) -> None:
        for text, code, right in zip(slots, path, true, strict=True):
            text.set_text(classes[code])
            mark_label(text, bool(code != right))

    return show


def _draw_columns(
    ax: Axes, node: np.ndarray, classes: list[str]
) -> Callable[[float, LatticeFrame], None]:
    """Draw a dot for every label of every letter, and the two paths."""
    n_letters, n_labels = node.shape
    low, high = node.min(axis=1, keepdims=True), node.max(axis=1, keepdims=True)
    share = ((node - low) / np.maximum(high - low, 1e-12)) ** 3  # the best few stand out
    at, rows = np.arange(n_letters), np.tile(np.arange(n_labels), n_letters)
    sizes = 6 + 140 * share.ravel()
    ax.scatter(at.repeat(n_labels), rows, s=sizes, color=palette.SILVER, linewidths=0)
    looks = {"linestyle": "--", "marker": "s", "ms": 9, "mfc": "none", "color": palette.ORANGE}
    (alone,) = ax.plot(at, np.zeros(n_letters), **looks, label="each one alone")
    looks = {"linestyle": "-", "marker": "o", "ms": 5, "lw": 2.5, "color": palette.BLUE}
    (best,) = ax.plot(at, np.zeros(n_letters), **looks, label="best path")
    title = ax.set_title("transitions × 0.00", fontsize=10, fontweight="normal", pad=4)
    ax.set_yticks(range(n_labels), classes)
    ax.set(ylim=(n_labels - 0.4, -0.6), ylabel="label", xlabel="position")
    ax.set_xticks(at, [str(t + 1) for t in at])
    ax.tick_params(length=0)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.36), ncols=2)

    def show(strength: float, frame: LatticeFrame) -> None:
        title.set_text(f"transitions × {strength:.2f}")
        best.set_ydata(frame.path)
        alone.set_ydata(frame.alone)

    return show


def _lessons(frames: dict[float, LatticeFrame], predicted: list[int]) -> list[Lesson]:
    def alone(strength: float) -> bool:
        return bool((frames[strength].path == frames[strength].alone).all())

    def trained(strength: float) -> bool:
        return frames[strength].path.tolist() == predicted

    lessons = [
        Lesson({"strength": 0.0}, "Without transitions each position is read alone.", alone),
        Lesson({"strength": 1.0}, "At strength 1 the path is the model's prediction.", trained),
    ]
    most = max(frame.lead for frame in frames.values())
    for before, after in itertools.pairwise(frames):
        if (frames[before].path != frames[after].path).any():
            fact = "Where the path jumps, two labellings have nearly the same score: the lead is small."
            move = {"strength": after}
            lessons.append(Lesson(move, fact, lambda strength: frames[strength].lead < most / 2))
            break
    return lessons


_CAPTION = (
    "A word, and below it a column of labels for each position. The more strongly the pixels favour "
    "a label, the larger its dot. The dashed path reads each position alone, and the solid one also "
    "counts transitions. Move the slider and watch where the two paths part."
)


def best_path(
    model: Any = None,
    x: np.ndarray | None = None,
    y: Sequence[Any] | np.ndarray | None = None,
    images: np.ndarray | None = None,
) -> Explorer:
    """Return an explorer of one word's lattice, whose only slider scales the model's transitions.

    At strength 0 every letter is read alone, at 1 by the model as it was trained; in between the
    best path jumps.

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
        model, x, y, images = _digit_word()
    if x is None or y is None or images is None:
        raise ValueError("best_path needs a model with x, y and images, or none of them.")
    classes = list(model.classes_)
    unknown = [label for label in y if label not in classes]
    if unknown:
        raise ValueError(f"the model does not know the label {unknown[0]!r}.")
    word = pack([x]).forests
    node = node_potentials(word, model.coef_)
    true = [classes.index(label) for label in y]
    images, names = np.asarray(images), [str(label) for label in classes]
    picture = (_WIDTH - 1.2) / len(node) * _LETTER * images.shape[1] / images.shape[2]
    labels = 0.2 * len(names)
    figure = new_figure(_WIDTH, 1.15 + picture + labels)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[picture + 0.5, labels])
    with styled():
        show_letters = _draw_letters(top, images, names, true)
        show_columns = _draw_columns(bottom, node, names)
    time = Time(0.0, 2.0, 0.05, 0.0, label="strength of transitions", per_second=6)
    frames = {s: lattice_frame(word, node, model.transitions_, s) for s in time.values}

    def read(path: np.ndarray) -> str:
        return written(names[code] for code in path)

    def update(strength: float) -> str:
        frame = frames[strength]
        show_letters(frame.path)
        show_columns(strength, frame)
        wrong = int(np.sum(frame.path != true))
        return (
            f"Strength {strength:.2f}: read as {read(frame.path)} ({wrong} of "
            f"{len(true)} wrong), ahead of the next best labelling by {frame.lead:.2f}."
        )

    def alt(strength: float) -> str:
        frame = frames[strength]
        return (
            f"A handwritten word of length {len(true)}, and below it a lattice with one column of "
            f"labels per position. With transitions times {strength:.2f} the best path through it is "
            f"{read(frame.path)}; each one alone would be {read(frame.alone)}."
        )

    lessons = _lessons(frames, [classes.index(label) for label in model.predict([x])[0]])
    return Explorer(
        figure, update, alt, caption=_CAPTION, lessons=lessons, name="lattice", strength=time
    )


EXHIBIT = Exhibit("The best path jumps as transitions gain strength", "start-here", best_path)
