"""The soft-max of the word *axi*, cooled down to the maximum (Hazan and Urtasun 2010, Eq. (2)).

The loss at temperature epsilon lies in a band of width ``epsilon log 27`` above the hinge.  Its slope
is an expectation under a distribution (Eq. (5)) whose marginals sharpen as epsilon falls.  At
temperature 0 the soft maximum is the maximum, and the distribution is uniform over all labellings that
attain it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from scipy.special import entr, softmax

from medn_edu.checks import check_nonnegative
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Check, Slider, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import readable
from medn_edu.explorers.kit.style import ERROR, INK, INK_ON_PAPER, MUTED, new_figure, styled
from medn_edu.theory.axi import AXI, LETTERS, labelling_scores
from medn_edu.theory.factor_graphs.graph import distribution, soft_max

HABITS = np.linspace(0.0, 3.0, 121)
"""Weights of habit over which losses are drawn; the weight of ink is 1."""

FAINT = (1.0, 0.5, 0.25)
"""Temperatures of the curves in the background."""

SHOWN = ("axi", "aai", "aax", "xai", "iax")
"""Labellings that have a bar of their own."""

TEMPERATURES = (0.0, *(2.0 ** (1 - k / 3) for k in range(21, -1, -1)))
"""0, the maximum; then from 1/64 to 2, each a cube root of two warmer than the one before."""


@dataclass(frozen=True, eq=False)
class SofteningFrame:
    """The word *axi* at a temperature and a weight of habit."""

    epsilon: float  # temperature; 0 for the maximum itself
    habit: float  # weight of habit; that of ink is 1
    with_loss: bool  # whether the Hamming loss is added to the scores
    curve: np.ndarray  # losses over `HABITS` at this temperature, at 0, and at those of `FAINT`
    hinge: np.ndarray
    faint: np.ndarray
    loss: float  # at this temperature and weight of habit
    hard_loss: float  # the same at temperature 0
    probabilities: np.ndarray  # of the 27 labellings
    marginals: np.ndarray  # probability of each label (column) at each letter (row)
    entropy: float  # in nats

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


def softening_frame(epsilon: float, habit: float, with_loss: bool = True) -> SofteningFrame:
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


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[SofteningFrame], None]


def _losses(ax: Axes) -> Show:
    """Draw the loss over the weight of habit, in its band above the hinge."""
    nowhere = np.zeros_like(HABITS)
    (band,) = ax.fill(HABITS, nowhere, color="#DCEAF3", lw=0, zorder=0)
    faint = [ax.plot(HABITS, nowhere, "-", color="#9DB8C9", lw=1)[0] for _ in FAINT]
    (hinge,) = ax.plot(HABITS, nowhere, "--", color=INK, lw=1.6)
    (curve,) = ax.plot(HABITS, nowhere, "-", color=palette.BLUE, lw=2.6)
    above: dict[str, Any] = {"clip_on": False, "zorder": 4}
    (between,) = ax.plot([0, 0], [0, 0], "-", color=palette.VERMILION, lw=2, **above)
    (ends,) = ax.plot([0, 0], [0, 0], "o", color=palette.BLUE, mec="white", ms=8, **above)
    hinge_text = ax.text(0.05, 0.12, "hinge", fontsize=9)  # under the slope no curve comes here
    above_axes = {"transform": ax.transAxes, "va": "bottom", "fontsize": 9}
    gap_text = ax.text(1, 1.055, "", color=ERROR, fontweight="bold", ha="right", **above_axes)
    curve_text = ax.text(0, 1.055, "", color=palette.BLUE, fontweight="bold", **above_axes)
    band_text = ax.text(0, 1.01, "", color=readable("#7FA6BD"), **above_axes)
    ax.set(xlim=(HABITS[0], HABITS[-1]), ylim=(0, 7.4), ylabel="loss")
    ax.set(xticks=range(4), yticks=range(0, 8, 2), xlabel="weight of habit (weight of ink: 1)")
    ax.set_title("The loss of axi", pad=30)

    def show(frame: SofteningFrame) -> None:
        edges = (frame.hinge, (frame.hinge + frame.bound)[::-1])
        around = np.concatenate([HABITS, HABITS[::-1]])
        band.set_xy(np.column_stack([around, np.concatenate(edges)]))
        curve.set_ydata(frame.curve)
        hinge.set_ydata(frame.hinge)
        for line, losses in zip(faint, frame.faint, strict=True):
            line.set_ydata(losses)
        for artist in (between, ends):
            artist.set_data([frame.habit] * 2, [frame.hard_loss, frame.loss])
        curve_text.set_text(f"soft maximum at ε = {frame.epsilon:.3f}")
        band_text.set_text(f"in its band of width ε log 27 = {frame.bound:.2f}")
        hinge_text.set_visible(frame.with_loss)
        gap_text.set_text(f"excess {frame.gap:.2f}")

    return show


def _tiles(ax: Axes) -> Show:
    """Draw the marginals as tiles, the darker the more probable."""
    tiles, numbers = {}, {}
    for t, a in np.ndindex(3, 3):
        is_true = AXI.true[t] == a
        tiles[t, a] = ax.add_patch(Rectangle((t + 0.05, a + 0.05), 0.9, 0.9))
        tiles[t, a].set(edgecolor=palette.BLUE if is_true else palette.PALE_GREY)
        tiles[t, a].set(linewidth=2.5 if is_true else 0.8)
        numbers[t, a] = ax.text(t + 0.5, a + 0.5, "", ha="center", va="center")
    for i, letter in enumerate(LETTERS):
        ax.text(-0.12, i + 0.5, letter, ha="right", va="center", fontsize=11)
        ax.text(i + 0.5, 3.08, f"letter {i + 1}", ha="center", va="top", fontsize=9)
    ax.set(xlim=(0, 3), ylim=(3.3, 0))
    ax.set_axis_off()
    ax.set_title("Labels")

    def show(frame: SofteningFrame) -> None:
        for place, p in np.ndenumerate(frame.marginals):
            tiles[place].set_facecolor(INK_ON_PAPER(p))
            numbers[place].set_text(f"{p:.2f}")
            numbers[place].set_color("white" if p > 0.55 else INK)

    return show


def _bars(ax: Axes) -> Show:
    """Draw the probabilities of a few labellings, and of all others together."""
    names = [*SHOWN, f"{27 - len(SHOWN)} others"]
    colours = [palette.BLUE, *[palette.ORANGE] * (len(SHOWN) - 1), MUTED]
    bars = ax.barh(range(len(names)), 0.0, height=0.72, color=colours)
    bars[0].set_hatch("//")
    bars[0].set_edgecolor("white")
    numbers = [ax.text(0, i, "", va="center", fontsize=9) for i in range(len(names))]
    for i, name in enumerate(names):
        ax.text(-0.02, i, name, ha="right", va="center", fontsize=9)
    last = len(names) - 0.5
    ax.plot([0, 0], [-0.5, last], "-", color=MUTED, lw=0.8)
    entropy = ax.text(0, last + 0.2, "", va="top")
    ax.set(xlim=(0, 1.28), ylim=(last + 0.9, -0.5))
    ax.set_axis_off()
    ax.set_title("Labellings")

    def show(frame: SofteningFrame) -> None:
        shown = [frame.probability(labelling) for labelling in SHOWN]
        shown.append(max(0.0, 1.0 - sum(shown)))
        for bar, number, p in zip(bars, numbers, shown, strict=True):
            bar.set_width(p)
            number.set_x(p + 0.015)
            number.set_text(f"{p:.2f}")
        entropy.set_text(f"entropy {frame.entropy:.2f} of {np.log(27):.2f}")

    return show


# -- sentence, lessons, controls ------------------------------------------------------------------


@lesson(
    "At ε = 0 aai has all the probability. As ε rises to 2, the excess keeps growing in its band.",
    {"epsilon": 2.0, "habit": 0.5, "with_loss": True},
)
def _softens(epsilon: float, habit: float, with_loss: bool) -> bool:
    frames = [softening_frame(e, habit, with_loss) for e in TEMPERATURES if e <= epsilon]
    in_band = all(-1e-12 <= f.gap <= f.bound + 1e-12 for f in frames)
    grows = np.all(np.diff([f.gap for f in frames]) >= -1e-12)
    first = frames[0]
    return bool(in_band and grows and first.gap == 0 and first.probability("aai") == 1)


@lesson(
    "At ε = 0 and habit 1 three labellings share the maximum, and the loss has a kink.",
    {"epsilon": 0.0, "habit": 1.0, "with_loss": True},
)
def _ties(epsilon: float, habit: float, with_loss: bool) -> bool:
    frame = softening_frame(epsilon, habit, with_loss)
    equal = [frame.probability(labelling) for labelling in ("axi", "aai", "aax")]
    before, here, after = np.interp(habit + np.array([-0.05, 0, 0.05]), HABITS, frame.curve)
    kink = (after - here) - (here - before)
    return bool(np.allclose(equal, 1 / 3) and kink > 0.04)


@lesson(
    "At ε = 1 without the Hamming loss this is the CRF's -log p(axi), above 0 even where axi wins.",
    {"epsilon": 1.0, "habit": 2.0, "with_loss": False},
)
def _log_loss(epsilon: float, habit: float, with_loss: bool) -> bool:
    frame = softening_frame(epsilon, habit, with_loss)
    log_loss = -np.log(softmax(labelling_scores(AXI, [1.0, habit])))[AXI.true_row]
    return bool(np.isclose(frame.loss, log_loss) and frame.hard_loss == 0 and frame.loss > 0.1)


_CAPTION = (
    "Left, the loss of *axi* against the weight of habit. The thick line is the soft maximum at the "
    "chosen temperature (thin lines: ε = 1, ½ and ¼), and the dashed line is the maximum, which is the "
    "hinge if the Hamming loss is on. The soft maximum must lie in the shaded band. Right, the "
    "probability of each label (true ones framed) and of some labellings, at the weight with the dots. "
    "Change ε and watch the band, the excess and the probabilities together."
)


def softening() -> Explorer:
    """Return an explorer of the temperature that leads from log-loss to hinge loss.

    On the left the loss of the word *axi* over the weight of habit, in its band above the hinge; on
    the right the distribution that the slope is an expectation of: node marginals, and the
    probabilities of a few labellings.

    Returns
    -------
    Explorer
        The explorer: its time is ``epsilon``, from 0 and 1/64 up to 2; ``habit`` is a weight, and
        ``with_loss`` adds the Hamming loss to the scores.
    """
    figure = new_figure(8.4, 4.5)
    axes = figure.subplot_mosaic(
        [["loss", "tiles"], ["loss", "bars"]], width_ratios=[1.35, 1], height_ratios=[1, 1.15]
    )
    with styled():
        panels = [_losses(axes["loss"]), _tiles(axes["tiles"]), _bars(axes["bars"])]

    def update(epsilon: float, habit: float, with_loss: bool) -> str:
        frame = softening_frame(epsilon, habit, with_loss)
        for show in panels:
            show(frame)
        return (
            f"ε = {epsilon:.3f}, habit {habit:.2f}, {'with' if with_loss else 'without'} the Hamming "
            f"loss: soft maximum {frame.loss:.2f}, maximum {frame.hard_loss:.2f}. The excess is "
            f"{frame.gap:.2f}, at most ε log 27 = {frame.bound:.2f}. Entropy {frame.entropy:.2f}, "
            f"probability of axi {frame.probability('axi'):.2f}."
        )

    def alt(epsilon: float, habit: float, with_loss: bool) -> str:
        frame = softening_frame(epsilon, habit, with_loss)
        marginals = ", ".join(f"{p:.2f}" for p in frame.marginals[range(3), AXI.true])
        return (
            f"Left, the loss of axi over the weight of habit, {'with' if with_loss else 'without'} the "
            f"Hamming loss: the curve at ε = {epsilon:.3f} in a band of width {frame.bound:.2f} above "
            f"that at 0, with an excess of {frame.gap:.2f} at habit {habit:.2f}. Right, tiles of the "
            f"node marginals, {marginals} for the true labels, and bars of probabilities of "
            f"labellings, {frame.probability('axi'):.2f} for axi."
        )

    texts = [f"{epsilon:.3f}" for epsilon in TEMPERATURES]
    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_softens, _ties, _log_loss],
        name="softening",
        epsilon=listed(TEMPERATURES, 1.0, "ε, temperature", texts=texts, per_second=4),
        habit=Slider(0.0, 3.0, 0.25, 0.5, label="weight of habit"),
        with_loss=Check(True, label="with the Hamming loss"),
    )


EXHIBIT = Exhibit("From a soft maximum to the maximum", "epsilon", softening)
