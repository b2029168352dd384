"""A lattice of three letters, and how far its true labelling is ahead of all others.

The best path is the prediction of MEDN Eq. (1).  P0 asks that the margin of the true labelling over
every other one reaches its Hamming loss.  The slack is the amount by which the margin of the worst
labelling falls short.  The worst labelling is a best path, too, once the loss has added 1 to each node
with a wrong label.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Slider, listed, true_minus
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import ERROR, INK, MUTED, new_figure, styled
from medn_edu.inference import add_loss
from medn_edu.theory.axi import HABIT, LETTERS, WORDS, TinyWord, labelling_scores, text

_LOW, _HIGH = -2.7, 6.2  # margins drawn; those above are arrows at the upper end
_TIE = 1e-9  # scores closer than this are alike
_HABITS = [k / 10 for k in range(31)]
_HABIT_TEXTS = [f"{habit:.2f}" for habit in _HABITS]  # as many digits as the ink's weight has
_NOWHERE = np.full(2, np.nan)


@dataclass(frozen=True, eq=False)
class MarginsFrame:
    """All labellings of a word under two weights."""

    word: TinyWord
    w: np.ndarray  # weights of ink and habit
    scores: np.ndarray  # scores of the labellings, in the order of ``word.labellings``

    @property
    def node(self) -> np.ndarray:
        """What each node adds to the score, shape (3, 3): letters in rows, labels in columns."""
        return self.w[0] * self.word.ink

    @property
    def margins(self) -> np.ndarray:
        """``w^T Delta f(y)`` of every labelling, shape (27,); 0 for the true one."""
        return np.asarray(np.round(self.scores[self.word.true_row] - self.scores, 9) + 0.0)

    @property
    def violations(self) -> np.ndarray:
        """Hamming loss minus margin of every labelling, shape (27,); positive if it is violated."""
        return np.asarray(np.round(self.word.losses - self.margins, 9) + 0.0)

    @property
    def others(self) -> np.ndarray:
        """Rows of the 26 other labellings, by their loss, then by ink and habit that they lack."""
        ink, habit = self.word.differences.T
        order = np.lexsort((habit, ink, self.word.losses))
        return order[order != self.word.true_row]

    @property
    def hinge(self) -> float:
        """The largest margin violation; 0 where there is none."""
        return float(self.violations.max())

    @property
    def n_short(self) -> int:
        """Number of labellings whose margin is violated."""
        return int((self.violations > _TIE).sum())

    @cached_property
    def best(self) -> list[int]:
        """Rows of the best labellings: one, or several where scores are alike."""
        return _largest(self.scores)

    @cached_property
    def augmented(self) -> list[int]:
        """Rows of the best labellings once the loss is added."""
        return _largest(self.violations)

    @cached_property
    def closest(self) -> list[int]:
        """Rows of the other labellings of the smallest margin."""
        return [int(self.others[i]) for i in _largest(-self.margins[self.others])]

    def names(self, rows: Sequence[int]) -> str:
        """Return labellings as text."""
        names = [text(self.word.labellings[row]) for row in rows]
        return " or ".join(names) if len(names) <= 3 else f"{names[0]} or {len(names) - 1} others"


def _largest(values: np.ndarray) -> list[int]:
    return [int(row) for row in np.flatnonzero(values >= values.max() - _TIE)]


def margins_frame(word: str, ink: float, habit: float) -> MarginsFrame:
    """Score all labellings of a tiny word."""
    for each in WORDS:
        if each.word == word:
            w = np.array([ink, habit], dtype=float)
            return MarginsFrame(each, w, labelling_scores(each, w))
    raise ValueError(f"there is no word {word!r}; expected {', '.join(w.word for w in WORDS)}.")


def segments(pairs: Sequence[tuple[int, ...]]) -> tuple[list[float], list[float]]:
    """Return edges, each from a letter's label to the next letter's, as one line with gaps."""
    at = [x for t, _, _ in pairs for x in (t, t + 1, np.nan)]
    return at, [y for _, a, b in pairs for y in (a, b, np.nan)]


def _joined(paths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return paths as one line with gaps between them."""
    gap = np.full((len(paths), 1), np.nan)
    at = np.broadcast_to([0.0, 1.0, 2.0, np.nan], (len(paths), 4))
    return at.ravel(), np.hstack([paths, gap]).ravel()


def _key(ax: Axes, y: float, x: list[float], **style: Any) -> Text:
    """Draw a key below the axes and return the text next to it (a legend takes thrice the time)."""
    ax.plot(x, [y] * len(x), transform=ax.transAxes, clip_on=False, **style)
    look: dict[str, Any] = {"va": "center", "fontsize": 9, "in_layout": False}
    place = {"xy": (x[-1], y), "xycoords": "axes fraction", "textcoords": "offset points"}
    return ax.annotate("", xytext=(12, 0), **place, **look)


def _draw_lattice(ax: Axes) -> Callable[[MarginsFrame], None]:
    """Draw the lattice with its best paths."""
    pairs = [(t, a, b) for t in (0, 1) for a, b in itertools.product(range(3), repeat=2)]
    ax.plot(*segments(pairs), "-", color=palette.HAIRLINE, lw=0.8, zorder=0)
    (liked,) = ax.plot(
        *segments([pair for pair in pairs if HABIT[pair[1:]]]), "-", color=palette.GREY
    )
    (augmented,) = ax.plot(_NOWHERE, _NOWHERE, color=palette.ORANGE)
    augmented.set(linestyle=(0, (2, 1)), lw=6, marker="s", ms=38, mfc="none", mew=2.2)
    (best,) = ax.plot(_NOWHERE, _NOWHERE, "-", color=palette.BLUE, lw=2.6, zorder=3)
    at, rows = np.repeat(range(3), 3), np.tile(range(3), 3)
    nodes = ax.scatter(at, rows, s=1000, zorder=4, clip_on=False)
    values, pluses = [], []
    for t, row in zip(at, rows, strict=True):
        style = {"ha": "center", "fontsize": 9, "zorder": 5}
        values.append(ax.text(t, row, "", va="center", **style))
        pluses.append(ax.text(t, row + 0.03, "+1", va="top", color=palette.ORANGE_TEXT, **style))
    true = [ax.text(t, -0.72, "", ha="center", fontsize=15, style="italic") for t in range(3)]
    ax.text(-0.42, -0.72, "truth", ha="right", color=MUTED)
    ax.set(xlim=(-0.5, 2.5), ylim=(2.5, -1.05), xticks=[])
    ax.set_yticks(range(3), LETTERS)
    ax.tick_params(axis="y", length=0, labelsize=12)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_title("Best paths")
    x = [0, 0.06, 0.12]
    best_key = _key(ax, -0.07, x, color=palette.BLUE, lw=2.6, linestyle="-")
    augmented_key = _key(ax, -0.13, x, color=palette.ORANGE, lw=5, linestyle=(0, (1.6, 0.8)))
    liked_key = _key(ax, -0.19, x, color=palette.GREY, lw=2.6, linestyle="-")

    def show(frame: MarginsFrame) -> None:
        word, loss = frame.word, add_loss(np.zeros((3, 3)), frame.word.true).ravel()
        on_best = np.zeros((3, 3), dtype=bool)
        for row in frame.best:
            on_best[range(3), word.labellings[row]] = True
        nodes.set_facecolor(["#CFE3F0" if on else "#FFFFFF" for on in on_best.ravel()])
        nodes.set_edgecolor([MUTED if wrong else INK for wrong in loss])
        nodes.set_linewidth([0.8 if wrong else 2.6 for wrong in loss])
        for value, plus, number, wrong in zip(values, pluses, frame.node.flat, loss, strict=True):
            value.set_text(f"{number:.2f}")
            value.set_va("bottom" if wrong else "center")
            plus.set_visible(bool(wrong))
        for letter, label in zip(true, word.word, strict=True):
            letter.set_text(label)
        best.set_data(*_joined(word.labellings[frame.best]))
        augmented.set_data(*_joined(word.labellings[frame.augmented]))
        liked.set_linewidth(1 + 2 * frame.w[1])
        best_key.set_text(f"best path: {frame.names(frame.best)}, score {frame.scores.max():.2f}")
        score = (frame.scores + word.losses).max()
        augmented_key.set_text(f"loss added: {frame.names(frame.augmented)}, {score:.2f}")
        liked_key.set_text(f"pairs the script likes: +{frame.w[1]:.2f} each")

    return show


def _draw_margins(ax: Axes) -> Callable[[MarginsFrame], None]:
    """Draw the margins of the other labellings, in groups by their loss, which they should reach."""
    losses = np.sort(WORDS[0].losses)[1:]  # the same for every word: 6, 12 and 8 labellings
    places = np.arange(26) + 1.2 * (losses - 1)
    ax.axhline(0, color=INK, lw=0.8, zorder=0)
    for loss in (1, 2, 3):
        ends = places[losses == loss][[0, -1]] + [-0.6, 0.6]
        ax.fill_between(ends, _LOW, loss, color="#FBEDE3", lw=0, zorder=-2)
        ax.plot(ends, [loss, loss], "--", color=INK, lw=1.4)
        wrong = f"{loss} wrong"
        ax.text(ends.mean(), _HIGH + 0.4, wrong, ha="center")
    words = "short of the\nmargin wanted"
    ax.text(places[11] + 0.5, _LOW + 0.2, words, ha="center", color="#8C3A00")
    gaps = ax.vlines(places, 0, 0, color=ERROR, lw=2.2, alpha=0.7)

    def points(marker: str, **style: Any) -> Any:
        return ax.plot(_NOWHERE, _NOWHERE, ls="none", marker=marker, **style)[0]

    fine = points("o", ms=5.5, color=palette.SLATE, zorder=4)
    short = points("v", ms=7.5, color=ERROR, zorder=4)
    above = points("^", ms=5.5, color=palette.GREY, zorder=4)
    ring = {"mfc": "none", "mew": 2, "zorder": 5}
    closest = points("o", ms=12, mec=palette.BLUE, **ring)
    worst = points("s", ms=15, mec=palette.ORANGE, **ring)
    names = [
        ax.text(place, _LOW - 0.15, "", rotation=90, ha="center", va="top", fontsize=9)
        for place in places
    ]
    ax.set(xlim=places[[0, -1]] + [-1, 1], ylim=(_LOW, _HIGH + 0.8), xticks=[])
    ax.set_yticks(range(-2, 7, 2))
    ax.set_ylabel(r"margin $\mathbf{w}^\top \Delta\mathbf{f}(\mathbf{y})$", labelpad=1)
    ax.spines["bottom"].set_visible(False)
    ax.set_title("How far the truth is ahead")
    closest_key = _key(ax, -0.13, [0.03], marker="o", mec=palette.BLUE, ms=12, ls="none", **ring)
    worst_key = _key(ax, -0.19, [0.03], marker="s", mec=palette.ORANGE, ms=13, ls="none", **ring)

    def show(frame: MarginsFrame) -> None:
        others = frame.others
        margins, is_short = frame.margins[others], frame.violations[others] > _TIE
        is_above = margins > _HIGH
        short.set_data(places[is_short], margins[is_short])
        fine.set_data(places[~is_short & ~is_above], margins[~is_short & ~is_above])
        above.set_data(places[is_above], np.full(is_above.sum(), _HIGH + 0.1))
        tops = frame.word.losses[others]
        ends = np.stack([np.where(is_short, margins, tops), tops], axis=1)
        gaps.set_segments(np.stack([np.repeat(places[:, None], 2, axis=1), ends], axis=2))
        for name, row in zip(names, others, strict=True):
            name.set_text(text(frame.word.labellings[row]))
        place = dict(zip(others.tolist(), places, strict=True))
        farthest = frame.augmented if frame.n_short else []
        for rings, rows in ((closest, frame.closest), (worst, farthest)):
            rings.set_data([place[row] for row in rows], frame.margins[rows])
        margin = frame.margins[frame.closest[0]]
        smallest = f"smallest margin: {frame.names(frame.closest)}, {margin:.2f}"
        closest_key.set_text(true_minus(smallest))
        worst_key.set_text(
            f"largest violation: {frame.names(farthest)}, {frame.hinge:.2f} (hinge)"
            if farthest
            else "every margin reaches its loss (hinge 0.00)"
        )

    return show


@lesson(
    "The best path jumps, here from aai to axi. At the jump both have the same score.",
    {"word": "axi", "habit": 0.5, "ink": 1.0},
)
def _jumps(word: str, habit: float, ink: float) -> bool:
    before, here, after = (margins_frame(word, ink, habit + step) for step in (-0.1, 0, 0.1))
    return len(before.best) == len(after.best) == 1 and here.best == before.best + after.best


@lesson(
    "The labelling with the largest violation isn't always the runner-up: aai has the margin it "
    "needs, but iax, with three wrong letters, doesn't.",
    {"word": "axi", "habit": 0.8, "ink": 0.5},
)
def _falls_behind(word: str, habit: float, ink: float) -> bool:
    frame = margins_frame(word, ink, habit)
    keeps = bool((frame.violations[frame.closest] <= 0).all())
    return frame.best == [frame.word.true_row] and keeps and frame.hinge > 0


@lesson(
    "Doubling the weights keeps the best path and doubles every margin: with half of these weights "
    "the hinge loss is still 1, here it's 0.",
    {"word": "axi", "habit": 1.0, "ink": 1.0},
)
def _scales(word: str, habit: float, ink: float) -> bool:
    here, half = margins_frame(word, ink, habit), margins_frame(word, ink / 2, habit / 2)
    doubled = bool(np.allclose(here.margins, 2 * half.margins))
    return here.best == half.best and doubled and here.hinge == 0 < half.hinge


_CAPTION = (
    "On the left, the lattice with the best path (solid) and the best path once the loss is added "
    "(dashed). On the right, the margin of each other labelling. The dashed lines are the margins "
    "wanted, and the arrows pointing down show by how much a margin falls short. Compare the ring "
    "(smallest margin) with the square (largest violation): are they at the same labelling?"
)


def margins() -> Explorer:
    """Return an explorer of a three-letter word's lattice and of its margins.

    On the left the best path and, next to it, the best path once the Hamming loss is added; on the
    right the margin of each of the 26 other labellings against the margin wanted.

    Returns
    -------
    Explorer
        The explorer: its time is ``habit``, the weight of the pairs that the script likes, from 0 to
        3; ``ink`` is the weight of the ink, and ``word`` one of the three words of
        `medn_edu.theory.axi`.
    """
    figure = new_figure(8.4, 4.9)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.4])
    with styled():
        show_lattice, show_margins = _draw_lattice(left), _draw_margins(right)

    def short(frame: MarginsFrame) -> str:
        if not frame.n_short:
            return "all 26 margins reach their loss, hinge 0.00"
        return f"{frame.n_short} of 26 margins fall short of their loss, hinge {frame.hinge:.2f}"

    def update(word: str, habit: float, ink: float) -> str:
        frame = margins_frame(word, ink, habit)
        show_lattice(frame)
        show_margins(frame)
        return (
            f"{word} with w = ({ink:.2f}, {habit:.2f}): best path {frame.names(frame.best)}, score "
            f"{frame.scores.max():.2f}; with the loss added {frame.names(frame.augmented)}, "
            f"{(frame.scores + frame.word.losses).max():.2f}; smallest margin "
            f"{frame.margins[frame.closest[0]]:.2f} ({frame.names(frame.closest)}); {short(frame)}."
        )

    def alt(word: str, habit: float, ink: float) -> str:
        frame = margins_frame(word, ink, habit)
        return (
            f"Left, a lattice of three letters by three labels for the word {word}: the best path "
            f"{frame.names(frame.best)} as a solid line, the best path with the loss added, "
            f"{frame.names(frame.augmented)}, dashed. Right, the margins of the 26 other labellings "
            f"in groups of 1, 2 and 3 wrong letters, each with the margin wanted as a dashed line: "
            f"{short(frame)}."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_jumps, _falls_behind, _scales],
        name="margins",
        word=Choice([each.word for each in WORDS]),
        ink=Slider(0.5, 2.0, 0.25, 1.0, label="w₁, weight of the ink"),
        habit=listed(_HABITS, 0.3, "w₂, weight of the habit", texts=_HABIT_TEXTS, per_second=5),
    )


EXHIBIT = Exhibit("Margins of a word, and their violations", "structured-prediction", margins)
