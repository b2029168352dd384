r"""A lattice of three letters, and how far its true labelling is ahead of all others.

A labelling is a path through the lattice, one label a column.  Its score :math:`F(x, y; w)` adds up the
numbers in the nodes, the ink times :math:`w_1`, and :math:`w_2` for each pair that the script likes; the
best path is the prediction of MEDN Eq. (1).  P0 of MEDN asks of the true labelling :math:`y^i` that its
*margin* over every other one, :math:`w^\top \Delta f_i(y) = F(x^i, y^i; w) - F(x^i, y; w)`, reaches the
Hamming loss :math:`\Delta\ell_i(y)`, the number of wrong letters.  What is missing at the worst
labelling is the slack,

.. math:: \xi_i = \max_y \{\Delta\ell_i(y) - w^\top \Delta f_i(y)\}
   = \max_y \{F(x^i, y; w) + \Delta\ell_i(y)\} - F(x^i, y^i; w) \ge 0,

where :math:`y = y^i` is allowed and gives 0.  The maximum on the right is a best path again, the
*loss-augmented* one: the loss adds up over letters, so it is 1 more in each node of a wrong label.

`margins_frame` computes what one position of the controls shows: all 27 labellings of a word of
`medn_edu.theory.axi`.  `Margins` is the figure; it updates its artists in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from medn_edu.explorers.kit.controls import Choice, Slider, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import ERROR, INK, MUTED, new_figure, styled
from medn_edu.inference import add_loss
from medn_edu.theory.axi import HABIT, LETTERS, WORDS, TinyWord, labelling_scores, text

_BEST, _AUGMENTED, _FINE = "#0072B2", "#E69F00", "#5D6B78"
_ON_BEST, _PAPER, _THIN = "#CFE3F0", "#FFFFFF", "#E3E7EB"
_LIKED = "#A9B1B9"
_LOW, _HIGH = -2.7, 6.2  # margins drawn; those above are arrows at the upper end
_TIE = 1e-9  # scores closer than this are alike
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
    def edge(self) -> np.ndarray:
        """What each pair adds, shape (3, 3): the label before in rows, the one after in columns."""
        return self.w[1] * HABIT

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


class Margins:
    """The figure: the lattice with its best paths, and the margins of all other labellings.

    `show` changes it in place.
    """

    def __init__(self) -> None:
        self.figure = new_figure(8.4, 4.9)
        left, right = self.figure.subplots(1, 2, width_ratios=[1, 1.25])
        with styled():
            self._draw_lattice(left)
            self._draw_margins(right)

    def show(self, frame: MarginsFrame) -> None:
        """Show a word under two weights."""
        self._show_nodes(frame)
        self._show_paths(frame)
        self._show_points(frame)
        self._show_marks(frame)

    # -- the lattice, on the left ---------------------------------------------------------------

    def _draw_lattice(self, ax: Axes) -> None:
        pairs = [(t, a, b) for t in (0, 1) for a, b in itertools.product(range(3), repeat=2)]
        liked = [pair for pair in pairs if HABIT[pair[1:]]]
        ax.plot(*_segments(pairs), "-", color=_THIN, lw=0.8, zorder=0)
        (self._liked,) = ax.plot(*_segments(liked), "-", color=_LIKED)
        at, rows = np.repeat(range(3), 3), np.tile(range(3), 3)
        (self._augmented,) = ax.plot(_NOWHERE, _NOWHERE, color=_AUGMENTED)
        self._augmented.set(linestyle=(0, (2, 1)), lw=6, marker="s", ms=38, mfc="none", mew=2.2)
        (self._best,) = ax.plot(_NOWHERE, _NOWHERE, "-", color=_BEST, lw=2.6, zorder=3)
        self._nodes = ax.scatter(at, rows, s=1000, zorder=4, clip_on=False)
        self._values, self._losses = [], []
        for t, row in zip(at, rows, strict=True):
            style = {"ha": "center", "fontsize": 9, "zorder": 5}
            self._values.append(ax.text(t, row, "", va="center", **style))
            self._losses.append(ax.text(t, row + 0.03, "+1", va="top", color="#8A5A00", **style))
        self._true = [
            ax.text(t, -0.72, "", ha="center", fontsize=15, style="italic") for t in range(3)
        ]
        ax.text(-0.42, -0.72, "truth", ha="right", color=MUTED)
        ax.set(xlim=(-0.5, 2.5), ylim=(2.5, -1.05), xticks=[])
        ax.set_yticks(range(3), LETTERS)
        ax.tick_params(axis="y", length=0, labelsize=12)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.set_title("Best path, and with the loss added")
        self._keys = [
            _key(ax, -0.07, [0, 0.06, 0.12], color=_BEST, lw=2.6, linestyle="-"),
            _key(ax, -0.13, [0, 0.06, 0.12], color=_AUGMENTED, lw=5, linestyle=(0, (1.6, 0.8))),
            _key(ax, -0.19, [0, 0.06, 0.12], color=_LIKED, lw=2.6, linestyle="-"),
        ]

    def _show_nodes(self, frame: MarginsFrame) -> None:
        true = frame.word.true
        loss = add_loss(np.zeros((3, 3)), true)
        on_best = np.zeros((3, 3), dtype=bool)
        for row in frame.best:
            on_best[range(3), frame.word.labellings[row]] = True
        self._nodes.set_facecolor([_ON_BEST if on else _PAPER for on in on_best.ravel()])
        self._nodes.set_edgecolor([MUTED if wrong else INK for wrong in loss.ravel()])
        self._nodes.set_linewidth([0.8 if wrong else 2.6 for wrong in loss.ravel()])
        for value, number in zip(self._values, frame.node.ravel(), strict=True):
            value.set_text(f"{number:.2f}")
        for value, plus, wrong in zip(self._values, self._losses, loss.ravel(), strict=True):
            plus.set_visible(bool(wrong))
            value.set_va("bottom" if wrong else "center")
        for letter, label in zip(self._true, frame.word.word, strict=True):
            letter.set_text(label)

    def _show_paths(self, frame: MarginsFrame) -> None:
        self._best.set_data(*_joined(frame.word.labellings[frame.best]))
        self._augmented.set_data(*_joined(frame.word.labellings[frame.augmented]))
        self._liked.set_linewidth(1 + 2 * frame.w[1])
        best, augmented, liked = self._keys
        score = frame.scores.max()
        best.set_text(f"best path: {frame.names(frame.best)}, score {score:.2f}")
        score = (frame.scores + frame.word.losses).max()
        augmented.set_text(f"with the loss added: {frame.names(frame.augmented)}, {score:.2f}")
        liked.set_text(f"pairs the script likes: +{frame.w[1]:.2f} each")

    # -- the margins, on the right ---------------------------------------------------------------

    def _draw_margins(self, ax: Axes) -> None:
        losses = np.sort(WORDS[0].losses)[1:]  # the same for every word: 6, 12 and 8 labellings
        self._places = np.arange(26) + 1.2 * (losses - 1)
        ax.axhline(0, color=INK, lw=0.8, zorder=0)
        for loss in (1, 2, 3):
            ends = self._places[losses == loss][[0, -1]] + [-0.6, 0.6]
            ax.fill_between(ends, _LOW, loss, color="#FBEDE3", lw=0, zorder=-2)
            ax.plot(ends, [loss, loss], "--", color=INK, lw=1.4)
            wrong = f"{loss} wrong" if loss < 3 else "3 letters wrong"
            ax.text(ends.mean(), _HIGH + 0.4, wrong, ha="center")
        ax.text(
            self._places[11] + 0.5, _LOW + 0.2, "short of the\nmargin wanted", ha="center",
            color="#8C3A00",
        )  # fmt: skip
        self._gaps = ax.vlines(self._places, 0, 0, color=ERROR, lw=2.2, alpha=0.7)
        marks = {"ls": "none", "ms": 5.5, "zorder": 4}
        (self._fine,) = ax.plot(_NOWHERE, _NOWHERE, marker="o", color=_FINE, **marks)
        (self._short,) = ax.plot(
            _NOWHERE, _NOWHERE, marker="v", color=ERROR, **{**marks, "ms": 7.5}
        )
        (self._above,) = ax.plot(_NOWHERE, _NOWHERE, marker="^", color="#A9B1B9", **marks)
        rings = {"ls": "none", "mfc": "none", "mew": 2, "zorder": 5}
        (self._closest,) = ax.plot(_NOWHERE, _NOWHERE, marker="o", mec=_BEST, ms=12, **rings)
        (self._worst,) = ax.plot(_NOWHERE, _NOWHERE, marker="s", mec=_AUGMENTED, ms=15, **rings)
        self._names = [
            ax.text(place, _LOW - 0.15, "", rotation=90, ha="center", va="top", fontsize=9)
            for place in self._places
        ]
        ax.set(xlim=self._places[[0, -1]] + [-1, 1], ylim=(_LOW, _HIGH + 0.8), xticks=[])
        ax.set_yticks(range(-2, 7, 2))
        ax.set_ylabel(r"margin $\mathbf{w}^\top \Delta\mathbf{f}(\mathbf{y})$", labelpad=1)
        ax.spines["bottom"].set_visible(False)
        ax.set_title("How far the truth is ahead of the others")
        self._facts = [
            _key(ax, -0.13, [0.03], marker="o", mec=_BEST, ms=12, **rings),
            _key(ax, -0.19, [0.03], marker="s", mec=_AUGMENTED, ms=13, **rings),
        ]

    def _show_points(self, frame: MarginsFrame) -> None:
        others = frame.others
        margins, short = frame.margins[others], frame.violations[others] > _TIE
        above = margins > _HIGH
        for points, chosen in ((self._short, short), (self._fine, ~short & ~above)):
            points.set_data(self._places[chosen], margins[chosen])
        self._above.set_data(self._places[above], np.full(above.sum(), _HIGH + 0.1))
        ends = np.where(short, margins, frame.word.losses[others])
        gaps = np.stack([ends, frame.word.losses[others]], axis=1)
        places = np.repeat(self._places[:, None], 2, axis=1)
        self._gaps.set_segments(np.stack([places, gaps], axis=2))
        for name, row in zip(self._names, others, strict=True):
            name.set_text(text(frame.word.labellings[row]))

    def _show_marks(self, frame: MarginsFrame) -> None:
        place = dict(zip(frame.others.tolist(), self._places, strict=True))
        worst = frame.augmented if frame.n_short else []
        for ring, rows in ((self._closest, frame.closest), (self._worst, worst)):
            ring.set_data([place[row] for row in rows], frame.margins[rows])
        closest, short = self._facts
        margin = frame.margins[frame.closest[0]]
        closest.set_text(f"smallest margin: {frame.names(frame.closest)}, {margin:.2f}")
        short.set_text(
            f"farthest short of its loss: {frame.names(worst)}, by {frame.hinge:.2f} (hinge)"
            if worst
            else "none falls short of its loss (hinge 0.00)"
        )


def _segments(pairs: Sequence[tuple[int, int, int]]) -> tuple[list[float], list[float]]:
    """Return edges, each from a letter's label to the next letter's, as one line with gaps."""
    at = [x for t, _, _ in pairs for x in (t, t + 1, np.nan)]
    return at, [y for _, a, b in pairs for y in (a, b, np.nan)]


def _key(ax: Axes, y: float, x: list[float], **style: Any) -> Text:
    """Draw a key below the axes and return the text next to it (a legend takes thrice the time)."""
    ax.plot(x, [y] * len(x), transform=ax.transAxes, clip_on=False, **style)
    return ax.text(x[-1] + 0.04, y, "", va="center", fontsize=9, transform=ax.transAxes)


def _joined(paths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return paths as one line with gaps between them."""
    gap = np.full((len(paths), 1), np.nan)
    at = np.broadcast_to([0.0, 1.0, 2.0, np.nan], (len(paths), 4))
    return at.ravel(), np.hstack([paths, gap]).ravel()


def margins() -> Explorer:
    """Return an explorer of a three-letter word's lattice and of its margins.

    On the left the best path and, next to it, the best path once the Hamming loss is added; on the
    right the margin of each of the 26 other labellings against the margin wanted.  Drawn by
    `medn_edu.explorers.margins`.

    Returns
    -------
    Explorer
        The explorer: its time is ``habit``, the weight of the pairs that the script likes, from 0 to
        3; ``ink`` is the weight of the ink, and ``word`` one of the three words of
        `medn_edu.theory.axi`.

    Examples
    --------
    >>> explorer = margins()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Margins()

    def update(word: str, habit: float, ink: float) -> str:
        frame = margins_frame(word, ink, habit)
        drawn.show(frame)
        return (
            f"{word} with w = ({ink:.2f}, {habit:.2f}): best path {frame.names(frame.best)}, score "
            f"{frame.scores.max():.2f}; with the loss added {frame.names(frame.augmented)}, "
            f"{(frame.scores + frame.word.losses).max():.2f}; smallest margin "
            f"{frame.margins[frame.closest[0]]:.2f} ({frame.names(frame.closest)}); {_short(frame)}."
        )

    def alt(word: str, habit: float, ink: float) -> str:
        frame = margins_frame(word, ink, habit)
        return (
            f"Left, a lattice of three letters by three labels for the word {word}: the best path "
            f"{frame.names(frame.best)} as a solid line, the best path with the loss added, "
            f"{frame.names(frame.augmented)}, dashed. Right, the margins of the 26 other labellings "
            f"in groups of 1, 2 and 3 wrong letters, each with the margin wanted as a dashed line: "
            f"{_short(frame)}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="margins",
        word=Choice([each.word for each in WORDS]),
        habit=Time(0.0, 3.0, 0.1, 0.3, label="w₂, weight of the habit", per_second=5),
        ink=Slider(0.5, 2.0, 0.25, 1.0, label="w₁, weight of the ink"),
    )


def _short(frame: MarginsFrame) -> str:
    if not frame.n_short:
        return "none of the 26 margins is short of its loss, hinge 0.00"
    return f"{frame.n_short} of 26 margins short of their loss, hinge {frame.hinge:.2f}"


def _lessons() -> list[Lesson]:
    def jumps(word: str, habit: float, ink: float) -> bool:
        before, here, after = (margins_frame(word, ink, habit + step) for step in (-0.1, 0, 0.1))
        return len(before.best) == len(after.best) == 1 and here.best == before.best + after.best

    def falls_behind(word: str, habit: float, ink: float) -> bool:
        frame = margins_frame(word, ink, habit)
        return (
            frame.best == [frame.word.true_row]
            and bool((frame.violations[frame.closest] <= 0).all())
            and frame.hinge > 0
        )

    def scales(word: str, habit: float, ink: float) -> bool:
        here, half = margins_frame(word, ink, habit), margins_frame(word, ink / 2, habit / 2)
        return (
            here.best == half.best
            and bool(np.allclose(here.margins, 2 * half.margins))
            and here.hinge == 0 < half.hinge
        )

    return [
        Lesson(
            {"word": "axi", "habit": 0.5, "ink": 1.0},
            "The best path jumps, here from aai to axi, and at the jump both score alike.",
            jumps,
        ),
        Lesson(
            {"word": "axi", "habit": 0.8, "ink": 0.5},
            "The labelling with the largest violation need not be the runner-up: aai keeps its "
            "distance, iax, with three letters wrong, does not.",
            falls_behind,
        ),
        Lesson(
            {"word": "axi", "habit": 1.0, "ink": 1.0},
            "Twice the weights have the same best path and twice the margins: from half of these "
            "weights the hinge falls to 0.",
            scales,
        ),
    ]
