"""One word at a time, with what a model read in it, in a figure whose letters change in place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets import Handwriting, load_handwriting
from medn_edu.estimators import CRF, M3N
from medn_edu.explorers.kit.controls import Choice, Slider
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, Lesson
from medn_edu.explorers.kit.letters import mark_label, written
from medn_edu.explorers.kit.style import INK_ON_PAPER, MUTED, new_figure, styled

_WIDTH = 7.2
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


@cache
def _two_models() -> tuple[dict[str, Any], Handwriting, np.ndarray]:
    """Return an M3N and a CRF of a hundred words, the words, and numbers of eight to be read."""
    words = load_handwriting()
    X, y = words.take(words.train[:100])
    models = {"M3N": M3N(C=0.1, verbose=0).fit(X, y), "L2-CRF": CRF(lam=1.0, verbose=0).fit(X, y)}
    return models, words, words.test[:: len(words.test) // 8][:8]


def _draw_slots(
    ax: Axes, n_slots: int, picture: float, right: float
) -> Callable[[ReadingFrame], None]:
    """Draw room for letters whose pictures are so many inches high, up to the right end of the axis."""
    gap, line = 0.06 / picture, 0.27 / picture  # of text, in heights of a letter
    above, below, last = rows = (1 + gap, -gap, -2 * gap - line)
    slots = []
    for t in range(n_slots):
        extent = (t - _LETTER / 2, t + _LETTER / 2, 0, 1)
        image = ax.imshow(np.zeros((1, 1)), cmap=INK_ON_PAPER, extent=extent)
        truth = ax.text(t, above, "", ha="center", va="bottom", color=MUTED, fontsize=12)
        label = ax.text(t, below, "", ha="center", va="top", fontsize=13)
        sure = ax.text(t, last, "", ha="center", va="top", color=MUTED, fontsize=9)
        slots.append((image, truth, label, sure))
    for y, name in zip(rows, ("truth", "read as", "% sure"), strict=True):
        ax.text(-0.6, y, name, ha="right", va="bottom" if y > 0 else "top", color=MUTED)
    ax.set(aspect="auto", xlim=(-0.55, right), ylim=(last - line - gap, 1 + gap + line))
    ax.set_axis_off()

    def show(frame: ReadingFrame) -> None:
        for t, (image, truth, label, sure) in enumerate(slots):
            here = t < len(frame.true)
            for artist in (image, truth, label, sure):
                artist.set_visible(here)
            if here:
                image.set(data=frame.images[t], clim=(0, float(frame.images.max())))
                truth.set_text(str(frame.true[t]))
                label.set_text(str(frame.predicted[t]))
                mark_label(label, bool(frame.wrong[t]))
                sure.set_text(f"{100 * frame.confidence[t]:.0f}")

    return show


def _lessons(frames: dict[str, list[ReadingFrame]]) -> list[Lesson]:
    """Return where the first model is least sure, and where it and the second read differently."""
    first, *others = frames
    right = np.concatenate([frame.confidence[~frame.wrong] for frame in frames[first]])
    wrong = np.concatenate([frame.confidence[frame.wrong] for frame in frames[first]])
    lessons = []
    if len(wrong) and len(right):
        doubtful = int(np.argmin([frame.confidence.min() for frame in frames[first]]))
        move = {"word": doubtful + 1, "model": first}
        fact = "Models are less sure of the letters that they get wrong."
        lessons.append(Lesson(move, fact, lambda word, model: bool(wrong.mean() < right.mean())))

    def differ(word: int, model: str) -> bool:
        one, other = (frames[name][word - 1].predicted for name in (first, others[0]))
        return one != other

    apart = [i for i in range(len(frames[first])) if others and differ(i + 1, "")]
    if apart:
        fact = (
            "Two models of the same words can read a word differently, although both are optimal."
        )
        lessons.append(Lesson({"word": apart[0] + 1, "model": others[0]}, fact, differ))
    return lessons


_CAPTION = (
    "A handwritten word. The top row shows the true letters, and the row below the images shows what "
    "the chosen model reads. The last row says how sure the model is of each letter. Wrong letters are "
    "framed. How sure is the model of those?"
)


def read_words(
    models: Mapping[str, Any] | None = None,
    X: Sequence[np.ndarray] = (),
    y: Sequence[Sequence[Any] | np.ndarray] = (),
    images: Sequence[np.ndarray] = (),
) -> Explorer:
    """Return an explorer that turns over words and shows what each model read.

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
        models, words, some = _two_models()
        X, y = words.take(some)
        images = [words.images[i] for i in some]
    if len(X) < 2 or not models:
        raise ValueError("read_words needs two words or more, and a model.")
    frames = {name: _read(model, X, y, images) for name, model in models.items()}
    most, (_, height, width) = max(map(len, y)), np.asarray(images[0]).shape
    column = min(0.75, (_WIDTH - 1.3) / most)
    picture = column * _LETTER * height / width
    figure = new_figure(_WIDTH, picture + 4 * 0.06 + 3 * 0.27 + 0.1)
    with styled():
        show = _draw_slots(figure.add_subplot(), most, picture, (_WIDTH - 1.3) / column - 0.5)

    def update(word: int, model: str) -> str:
        frame = frames[model][word - 1]
        show(frame)
        return (
            f"Word {word} of {len(X)}, {len(frame.true)} handwritten letters: {written(frame.true)}; "
            f"{model} reads {written(frame.predicted)} ({frame.wrong.sum()} wrong)."
        )

    def alt(word: int, model: str) -> str:
        return f"Handwritten word number {word}, the true labels above and those of {model} below."

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=_lessons(frames),
        name="words",
        word=Slider(1, len(X), 1),
        model=Choice(list(models)),
    )


EXHIBIT = Exhibit("Words as models read them", "ocr-study", read_words)
