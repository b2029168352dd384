r"""The soft-max of the word *axi*, cooled down to the maximum: the figure behind `softening`.

The paper's Eq. (2) (Hazan and Urtasun 2010) puts a temperature :math:`\epsilon` between log-loss
and hinge loss.  With :math:`g(y) = \Delta\ell(y) + F(y) - F(y^i)`, the margin violation of
labelling ``y``,

.. math:: \max_y g(y) \le \epsilon \log \sum_y e^{g(y) / \epsilon}
          \le \max_y g(y) + \epsilon \log 27,

so the loss at temperature :math:`\epsilon` lies in a band above the hinge that closes as
:math:`\epsilon` falls.  Its slope is an expectation under :math:`p_\epsilon(y) \propto e^{g(y) /
\epsilon}`, Eq. (5), whose marginals sharpen meanwhile.  At :math:`\epsilon = 0` the maximum is taken,
and :math:`p_0` is the limit: even over all labellings that attain it.

`softening_frame` puts together what `medn_edu.theory` says of one position of the controls; `Softening`
is the figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from scipy.special import entr, softmax

from medn_edu.checks import check_nonnegative
from medn_edu.explorers.kit.controls import Check, Control, Slider
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, INK_ON_PAPER, MUTED, new_figure, styled
from medn_edu.theory.axi import AXI, LETTERS, labelling_scores
from medn_edu.theory.factor_graphs.graph import distribution, soft_max

HABITS = np.linspace(0.0, 3.0, 121)
"""Weights of habit over which losses are drawn; the weight of ink is 1."""

FAINT = (1.0, 0.5, 0.25)
"""Temperatures of the curves in the background."""

SHOWN = ("axi", "aai", "aax", "xai", "iax")
"""Labellings that have a bar of their own."""

_SOFT, _BAND, _OTHERS = "#0072B2", "#DCEAF3", "#E69F00"
_TOP = 7.4


@dataclass(frozen=True, eq=False)
class SofteningFrame:
    """The word *axi* at a temperature and a weight of habit."""

    epsilon: float  # temperature; 0 for the maximum itself
    habit: float  # weight of habit; that of ink is 1
    with_loss: bool  # whether the Hamming loss is added to the scores
    curve: np.ndarray
    hinge: np.ndarray
    faint: np.ndarray  # losses at the temperatures `FAINT`
    loss: float
    hard_loss: float
    probabilities: np.ndarray
    marginals: np.ndarray  # probability of each label (column) at each letter (row)
    entropy: float  # entropy of the distribution, in nats

    @property
    def gap(self) -> float:
        """By how much the soft-max exceeds the maximum."""
        return self.loss - self.hard_loss

    @property
    def bound(self) -> float:
        """By how much it may: ``epsilon log 27``."""
        return float(self.epsilon * np.log(len(self.probabilities)))

    def probability(self, labelling: str) -> float:
        """Return the probability of a labelling, given as letters."""
        codes = [LETTERS.index(letter) for letter in labelling]
        return float(self.probabilities[(AXI.labellings == codes).all(axis=1)][0])


def softening_frame(epsilon: float, habit: float, *, with_loss: bool = True) -> SofteningFrame:
    """Compute loss, distribution and marginals of the word *axi*."""
    epsilon = check_nonnegative("epsilon", epsilon)
    violations = _violations(habit, with_loss)
    p = distribution(violations, epsilon)
    return SofteningFrame(
        epsilon, habit, with_loss,
        _curve(epsilon, with_loss),
        _curve(0.0, with_loss),
        np.array([_curve(each, with_loss) for each in FAINT]),
        float(soft_max(violations, epsilon)),
        float(violations.max()),
        p,
        AXI.marginals(p),
        float(entr(p).sum()),
    )  # fmt: skip


def _violations(habit: float, with_loss: bool) -> np.ndarray:
    """Return ``loss + F(y) - F(y^i)`` of all labellings."""
    scores = labelling_scores(AXI, [1.0, habit])
    return with_loss * AXI.losses + scores - scores[AXI.true_row]


@cache
def _curve(epsilon: float, with_loss: bool) -> np.ndarray:
    violations = np.array([_violations(habit, with_loss) for habit in HABITS])
    return soft_max(violations, epsilon, axes=(1,))


class Softening:
    """The figure: the loss over a weight on the left, the distribution behind its slope on the right.

    `show` changes it in place.
    """

    def __init__(self) -> None:
        self.figure = new_figure(8.4, 4.5)
        axes = self.figure.subplot_mosaic(
            [["loss", "tiles"], ["loss", "bars"]], width_ratios=[1.35, 1], height_ratios=[1, 1.15]
        )
        with styled():
            self._draw_losses(axes["loss"])
            self._draw_tiles(axes["tiles"])
            self._draw_bars(axes["bars"])

    def show(self, frame: SofteningFrame) -> None:
        """Show a temperature and a weight."""
        self._show_losses(frame)
        for t, row in enumerate(frame.marginals):
            for a, p in enumerate(row):
                self._tiles[t][a].set_facecolor(INK_ON_PAPER(p))
                self._numbers[t][a].set_text(f"{p:.2f}")
                self._numbers[t][a].set_color("white" if p > 0.55 else INK)
        probabilities = [frame.probability(labelling) for labelling in SHOWN]
        probabilities.append(max(0.0, 1.0 - sum(probabilities)))
        for bar, number, p in zip(self._bars, self._written, probabilities, strict=True):
            bar.set_width(p)
            number.set_x(p + 0.015)
            number.set_text(f"{p:.2f}")
        self._entropy.set_text(f"entropy {frame.entropy:.2f} of log 27 = {np.log(27):.2f}")

    # -- the loss, on the left -----------------------------------------------------------------

    def _draw_losses(self, ax: Axes) -> None:
        nowhere = np.zeros_like(HABITS)
        (self._band,) = ax.fill(HABITS, nowhere, color=_BAND, lw=0, zorder=0)
        self._faint = [ax.plot(HABITS, nowhere, "-", color="#9DB8C9", lw=1)[0] for _ in FAINT]
        (self._hinge,) = ax.plot(HABITS, nowhere, "--", color=INK, lw=1.6)
        (self._curve,) = ax.plot(HABITS, nowhere, "-", color=_SOFT, lw=2.6)
        above = {"clip_on": False, "zorder": 4}
        (self._between,) = ax.plot([0, 0], [0, 0], "-", color="#D55E00", lw=2, **above)
        (self._ends,) = ax.plot([0, 0], [0, 0], "o", color=_SOFT, mec="white", ms=8, **above)
        looks = (self._faint[0], self._curve, self._faint[0], self._hinge, self._between)
        self._names = [self._key(ax, i, look) for i, look in enumerate(looks)]
        ax.lines[-len(looks)].set(color="#B9D3E3", lw=9, solid_capstyle="butt")
        ax.set(xlim=(HABITS[0], HABITS[-1]), ylim=(0, _TOP), ylabel="loss")
        ax.set(xticks=range(4), yticks=range(0, 8, 2), xlabel="weight of habit (weight of ink: 1)")
        ax.set_title("The loss of axi")

    @staticmethod
    def _key(ax: Axes, row: int, look: Line2D) -> Text:
        """Draw one row of the legend; matplotlib's own is laid out anew at every frame."""
        y, axes = 0.955 - 0.05 * row, ax.transAxes
        (line,) = ax.plot([0.43, 0.49], [y, y], transform=axes)
        line.update_from(look)
        line.set_transform(axes)
        return ax.text(0.51, y, "", transform=axes, va="center", fontsize=9)

    def _show_losses(self, frame: SofteningFrame) -> None:
        edges = (frame.hinge, (frame.hinge + frame.bound)[::-1])
        around = np.concatenate([HABITS, HABITS[::-1]])
        self._band.set_xy(np.column_stack([around, np.concatenate(edges)]))
        self._curve.set_ydata(frame.curve)
        self._hinge.set_ydata(frame.hinge)
        for line, losses in zip(self._faint, frame.faint, strict=True):
            line.set_ydata(losses)
        for artist in (self._between, self._ends):
            artist.set_data([frame.habit] * 2, [frame.hard_loss, frame.loss])
        hard = "hinge loss" if frame.with_loss else "maximum, no margin"
        names = (
            f"band of width ε log 27 = {frame.bound:.2f}",
            f"soft-max at ε = {frame.epsilon:.3f}",
            "at ε = 1, 1/2, 1/4",
            f"ε = 0: {hard}",
            f"gap {frame.gap:.2f}",
        )
        for label, name in zip(self._names, names, strict=True):
            label.set_text(name)

    # -- the distribution, on the right --------------------------------------------------------

    def _draw_tiles(self, ax: Axes) -> None:
        self._tiles, self._numbers = [], []
        for t in range(3):
            tiles, numbers = [], []
            for a in range(3):
                is_true = AXI.true[t] == a
                tile = Rectangle(
                    (t + 0.05, a + 0.05), 0.9, 0.9, lw=2.5 if is_true else 0.8,
                    edgecolor=_SOFT if is_true else "#C3CAD1",
                )  # fmt: skip
                tiles.append(ax.add_patch(tile))
                numbers.append(ax.text(t + 0.5, a + 0.5, "", ha="center", va="center"))
            self._tiles.append(tiles)
            self._numbers.append(numbers)
        for i, letter in enumerate(LETTERS):
            ax.text(-0.12, i + 0.5, letter, ha="right", va="center", fontsize=11)
            ax.text(i + 0.5, 3.08, f"letter {i + 1}", ha="center", va="top", fontsize=9)
        ax.set(xlim=(0, 3), ylim=(3.3, 0))
        ax.set_axis_off()
        ax.set_title("Marginals (framed: true labels)")

    def _draw_bars(self, ax: Axes) -> None:
        names = [*SHOWN, f"{27 - len(SHOWN)} others"]
        colours = [_SOFT, *[_OTHERS] * (len(SHOWN) - 1), MUTED]
        self._bars = ax.barh(range(len(names)), 0.0, height=0.72, color=colours)
        self._bars[0].set_hatch("//")
        self._bars[0].set_edgecolor("white")
        self._written = [ax.text(0, i, "", va="center", fontsize=9) for i in range(len(names))]
        for i, name in enumerate(names):
            ax.text(-0.02, i, name, ha="right", va="center", fontsize=9)
        last = len(names) - 0.5
        ax.plot([0, 0], [-0.5, last], "-", color=MUTED, lw=0.8)
        self._entropy = ax.text(0, last + 0.2, "", va="top")
        ax.set(xlim=(0, 1.16), ylim=(last + 0.9, -0.5))
        ax.set_axis_off()
        ax.set_title("Probabilities of labellings")


TEMPERATURES = (*(2.0 ** (1 - k / 3) for k in range(22)), 0.0)
"""From 2 down to 1/64, each a cube root of two cooler than the one before; then 0, the maximum."""


class _Temperature(Control):
    """A time that runs from the warmest to the coldest."""

    def __init__(self, start: float, label: str) -> None:
        texts = tuple(f"{epsilon:.3f}" if epsilon else "0" for epsilon in TEMPERATURES)
        super().__init__("time", TEMPERATURES, texts, TEMPERATURES.index(start), label, 4.0)

    def position(self, value: Any) -> int:
        """Return the position of the temperature nearest to ``value``."""
        if not isinstance(value, (int, float)) or not 0 <= value <= TEMPERATURES[0]:
            raise ValueError(f"{value!r} is no temperature here; expected 0 to {TEMPERATURES[0]}.")
        return int(np.argmin(np.abs(np.array(TEMPERATURES) - value)))


def softening() -> Explorer:
    """Return an explorer of the temperature that leads from log-loss to hinge loss.

    On the left the loss of the word *axi* over the weight of habit, in its band above the hinge; on
    the right the distribution that the slope is an expectation of: node marginals, and the
    probabilities of a few labellings.  Drawn by `medn_edu.explorers.softening`.

    Returns
    -------
    Explorer
        The explorer: its time is ``epsilon``, from 2 down to 1/64 and then 0; ``habit`` is a weight,
        and ``with_loss`` adds the Hamming loss to the scores.

    Examples
    --------
    >>> explorer = softening()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Softening()

    def update(epsilon: float, habit: float, with_loss: bool) -> str:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        drawn.show(frame)
        return (
            f"ε = {epsilon:.3f}, habit {habit:.2f}, {_loss(frame)} loss: soft-max {frame.loss:.2f}, "
            f"maximum {frame.hard_loss:.2f}, gap {frame.gap:.2f} of at most ε log 27 = "
            f"{frame.bound:.2f}; entropy {frame.entropy:.2f}, p(axi) = "
            f"{frame.probability('axi'):.2f}."
        )

    def alt(epsilon: float, habit: float, with_loss: bool) -> str:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        return (
            f"Left, the loss of axi over the weight of habit, {_loss(frame)} Hamming loss: the curve "
            f"at ε = {epsilon:.3f} in a band of width {frame.bound:.2f} above that at 0, with a gap "
            f"of {frame.gap:.2f} at habit {habit:.2f}. Right, tiles of the node marginals, "
            f"{_true_marginals(frame)} for the true labels, and bars of probabilities of labellings, "
            f"{frame.probability('axi'):.2f} for axi."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="softening",
        epsilon=_Temperature(1.0, "ε, temperature"),
        habit=Slider(0.0, 3.0, 0.25, 0.5, label="weight of habit"),
        with_loss=Check(True, label="with Hamming loss"),
    )


def _loss(frame: SofteningFrame) -> str:
    return "with" if frame.with_loss else "without"


def _true_marginals(frame: SofteningFrame) -> str:
    return ", ".join(f"{frame.marginals[t, a]:.2f}" for t, a in enumerate((0, 1, 2)))


def _lessons() -> list[Lesson]:
    def sharpens(epsilon: float, habit: float, with_loss: bool) -> bool:
        colder = [e for e in TEMPERATURES if e <= epsilon]
        frames = [softening_frame(e, habit, with_loss=with_loss) for e in colder]
        in_band = all(-1e-12 <= f.gap <= f.bound + 1e-12 for f in frames)
        falls = np.all(np.diff([f.gap for f in frames]) <= 1e-12)
        last = frames[-1]
        return bool(in_band and falls and last.gap == 0 and last.probability("aai") == 1)

    def ties(epsilon: float, habit: float, with_loss: bool) -> bool:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        equal = [frame.probability(labelling) for labelling in ("axi", "aai", "aax")]
        before, here, after = np.interp(habit + np.array([-0.05, 0, 0.05]), HABITS, frame.curve)
        kink = (after - here) - (here - before)
        return bool(np.allclose(equal, 1 / 3) and kink > 0.04)

    def log_loss(epsilon: float, habit: float, with_loss: bool) -> bool:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        log_loss = -np.log(softmax(labelling_scores(AXI, [1.0, habit])))[AXI.true_row]
        return bool(np.isclose(frame.loss, log_loss) and frame.hard_loss == 0 and frame.loss > 0.1)

    return [
        Lesson(
            {"epsilon": 2.0, "habit": 0.5, "with_loss": True},
            "From ε = 2 down to 0 the gap shrinks inside its band, and all probability ends on aai.",
            sharpens,
        ),
        Lesson(
            {"epsilon": 0.0, "habit": 1.0, "with_loss": True},
            "At ε = 0 and habit 1 three labellings share the maximum, and the loss has a kink there.",
            ties,
        ),
        Lesson(
            {"epsilon": 1.0, "habit": 2.0, "with_loss": False},
            "At ε = 1 without the loss this is the CRF's -log p(axi), above 0 where axi already wins.",
            log_loss,
        ),
    ]
