"""Log-loss and hinge loss of one word over one weight, and which labellings each of them looks at.

The log-loss of a CRF takes a soft maximum over all 27 labellings of *axi*, so its slope is a mean
over all of them.  The structured hinge loss of an M3N takes a hard maximum, with the Hamming loss
added.  Its slope comes from one labelling, and jumps where two attain the maximum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from scipy.special import logsumexp

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Slider, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.theory.axi import AXI, HABIT, LETTERS, labelling_scores, text
from medn_edu.theory.reference import Tree, enumerated_probabilities, log_partition, marginals

WEIGHTS = np.linspace(-1, 3, 161)
"""Weights of the habit at which the curves are drawn; the kinks are among them."""

SHOWN = ("axi", "aai", "aax", "xai", "xax", "iax")
"""Labellings with a row of their own: the true one first; the hinge's maximum is one of them."""

_LOG, _HINGE, _OTHERS = palette.ORANGE, palette.BLUE, "#C9DDEB"
_WIDEST = 3.0  # violations beyond are cut off, to the left
_STEP = 0.05  # of the weight of the habit
_NAMES = [text(labels) for labels in AXI.labellings]
_ROWS = [_NAMES.index(name) for name in SHOWN]


@dataclass(frozen=True, eq=False)
class LossCurves:
    """Losses of the word *axi* over the weight of the habit."""

    log_loss: np.ndarray
    hinge: np.ndarray
    wrong: np.ndarray


@dataclass(frozen=True, eq=False)
class LossesFrame:
    """Both losses at one pair of weights, and what they are made of."""

    ink: float
    habit: float
    curves: LossCurves  # losses over the weight of the habit, with the same weight of the ink
    log_loss: float
    hinge: float
    log_slope: float  # slope of the log-loss over the weight of the habit
    probabilities: np.ndarray  # probability of every labelling, in the order of ``AXI.labellings``
    violations: np.ndarray  # ``Delta l(y) - w . Delta f(y)`` of every labelling
    marginals: np.ndarray  # probability of each label (column) at each letter (row)
    wrong: float  # number of wrong letters of the labelling with the highest score

    @property
    def suppliers(self) -> list[str]:
        """Labellings that attain the hinge's maximum, those of `SHOWN` in its order."""
        rows = np.flatnonzero(np.isclose(self.violations, self.hinge, atol=1e-9))
        return sorted((_NAMES[row] for row in rows), key=lambda name: (*SHOWN, name).index(name))

    @property
    def hinge_slopes(self) -> tuple[float, float]:
        """Slopes of the hinge to the left and to the right; equal but at kinks."""
        slopes = [-AXI.differences[_NAMES.index(name), 1] for name in self.suppliers]
        return float(min(slopes)), float(max(slopes))


def axi_tree(ink: float, habit: float) -> Tree:
    """Return the word *axi* with the potentials that two weights give it."""
    parents, types = np.array([-1, 0, 1]), np.zeros(3, dtype=int)
    return Tree(ink * AXI.ink, habit * HABIT[None], parents, types)


def losses_frame(ink: float, habit: float) -> LossesFrame:
    """Compute both losses of the word *axi*."""
    tree, w = axi_tree(ink, habit), np.array([ink, habit])
    p = enumerated_probabilities(tree)
    scores, violations = labelling_scores(AXI, w), AXI.losses - AXI.differences @ w
    return LossesFrame(
        ink, habit, _curves(ink),
        float(log_partition(tree) - scores[AXI.true_row]),
        float(violations.max()),
        float(-p @ AXI.differences[:, 1]),
        p, violations, marginals(tree)[0],
        float(_wrong(scores)),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _curves(ink: float) -> LossCurves:
    points = np.column_stack([np.full_like(WEIGHTS, ink), WEIGHTS])
    scores = points @ AXI.features.T
    return LossCurves(
        logsumexp(scores, axis=1) - scores[:, AXI.true_row],
        (AXI.losses - points @ AXI.differences.T).max(axis=1),
        _wrong(scores),
    )


def _wrong(scores: np.ndarray) -> np.ndarray:
    """Return the largest loss among the best labellings, which stand along the last axis."""
    best = np.isclose(scores, scores.max(axis=-1, keepdims=True), atol=1e-9)
    return np.where(best, AXI.losses, 0.0).max(axis=-1)


def with_minus(value: float, digits: int = 2) -> str:
    """Write a number with a minus sign, and without a sign where it is zero."""
    value = round(value, digits) + 0.0
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _draw_curves(ax: Axes) -> Callable[[LossesFrame], None]:
    """Draw both losses over the habit's weight, with their tangents, and the letters wrong."""
    nowhere = np.zeros_like(WEIGHTS)
    (wrong,) = ax.plot(WEIGHTS, nowhere, ":", color=MUTED, lw=1.5, drawstyle="steps-post")
    (log,) = ax.plot(WEIGHTS, nowhere, "--", color=_LOG)
    (hinge,) = ax.plot(WEIGHTS, nowhere, "-", color=_HINGE)
    tangents = [ax.plot([0, 0], [0, 0], "-", color=INK, lw=1)[0] for _ in range(3)]
    (log_dot,) = ax.plot([0], [0], "s", color=_LOG, mec=INK, ms=8, zorder=5)
    (hinge_dot,) = ax.plot([0], [0], "o", color=_HINGE, mec="white", ms=9, zorder=6)
    (now,) = ax.plot([0, 0], [0, 0], "-", color=palette.FAINT_GREY, lw=1, zorder=0)
    ax.set(xlim=(-1.1, 3.1), ylim=(-0.15, 5.9), xticks=range(-1, 4), yticks=range(6))
    ax.set(xlabel="weight of the habit, $w_2$", ylabel="loss")
    title = ax.set_title("", y=1)  # a fixed place need not be searched for
    looks = {"ha": "right", "va": "top", "fontweight": "bold", "fontsize": 9, "in_layout": False}
    log_text = ax.text(1, 0.99, "", color=palette.ORANGE_TEXT, transform=ax.transAxes, **looks)
    hinge_text = ax.text(1, 0.93, "", color=_HINGE, transform=ax.transAxes, **looks)
    wrong_text = ax.text(1, 0.87, "", color=MUTED, transform=ax.transAxes, **looks)

    def show(frame: LossesFrame) -> None:
        w, (left, right) = frame.habit, frame.hinge_slopes
        log.set_ydata(frame.curves.log_loss)
        hinge.set_ydata(frame.curves.hinge)
        wrong.set_ydata(frame.curves.wrong)
        now.set_data([w, w], [0, max(frame.log_loss, frame.hinge)])
        log_dot.set_data([w], [frame.log_loss])
        hinge_dot.set_data([w], [frame.hinge])
        values, slopes = (frame.log_loss, *[frame.hinge] * 2), (frame.log_slope, left, right)
        for line, value, slope in zip(tangents, values, slopes, strict=True):
            reach = 0.28 / np.hypot(1, slope)
            line.set_data([w - reach, w + reach], [value - reach * slope, value + reach * slope])
        title.set_text(f"Two losses, ink $w_1$ = {frame.ink:.2f}")
        log_text.set_text(f"■ log-loss {frame.log_loss:.2f}, slope {with_minus(frame.log_slope)}")
        span = " to ".join(with_minus(value, 0) for value in sorted({left, right}))
        hinge_text.set_text(f"● hinge {frame.hinge:.2f}, slope {span}")
        wrong_text.set_text(f"⋯ letters wrong {frame.wrong:.0f}")

    return show


def _draw_labellings(left: Axes, right: Axes) -> Callable[[LossesFrame], None]:
    """Draw bars of labellings: their probabilities on the left, their violations on the right."""
    at = np.arange(len(SHOWN) + 1)
    p_bars = left.barh(at, 0 * at, height=0.62, color=_LOG, ec=INK, lw=0.5)
    p_texts = [left.text(0, y, "", va="center", fontsize=9) for y in at]
    left.set(xlim=(0, 1.32), ylim=(len(SHOWN) + 0.5, -0.6), xticks=[])
    names = [f"{_NAMES[row]}  {AXI.features[row, 1]:.0f}" for row in _ROWS]
    left.set_yticks(at, [*names, "21 others"])
    left.set_title("Probability", y=1, pad=30)
    above = {"transform": left.transAxes, "fontsize": 9}
    left.text(-0.02, 1.01, "habit ", ha="right", **above)
    left.text(0, 1.01, "log-loss:\nall count", color=palette.ORANGE_TEXT, **above)
    v_bars = right.barh(at, 0 * at, height=0.62, color=_OTHERS, ec=_HINGE, lw=0.5)
    v_texts = [right.text(0, y, "", va="center", fontsize=9) for y in at]
    right.axvline(0, color=MUTED, lw=0.8)
    right.set(xlim=(-_WIDEST, 8.6), ylim=left.get_ylim(), xticks=[], yticks=[])
    right.spines[["left", "bottom"]].set_visible(False)
    left.spines["bottom"].set_visible(False)
    right.set_title("Violation", y=1, pad=30)
    above["transform"] = right.transAxes
    right.text(0, 1.01, "hinge:\nthe largest", color=_HINGE, **above)
    for ax in (left, right):
        ax.tick_params(axis="y", length=0)

    def show(frame: LossesFrame) -> None:
        others = np.delete(np.arange(27), _ROWS)
        p = [*frame.probabilities[_ROWS], frame.probabilities[others].sum()]
        v = [*frame.violations[_ROWS], frame.violations[others].max()]
        for bar, words, value in zip(p_bars, p_texts, p, strict=True):
            bar.set_width(value)
            words.set_x(value + 0.04)
            words.set_text(f"{value:.2f}")
        for bar, words, value in zip(v_bars, v_texts, v, strict=True):
            wins = bool(np.isclose(value, frame.hinge, atol=1e-9))
            bar.set_width(max(value, -_WIDEST))
            bar.set_facecolor(_HINGE if wins else _OTHERS)
            words.set_x(max(value, 0) + 0.25)
            words.set_text(with_minus(value))
            words.set_fontweight("bold" if wins else "normal")

    return show


def _draw_marginals(ax: Axes) -> Callable[[LossesFrame], None]:
    """Draw the node marginals, with the labels of one labelling that the hinge is from framed."""
    cells = []
    for t, label in np.ndindex(3, 3):
        x, corner = 1.3 * t, (1.3 * t, label - 0.42)
        bar = ax.add_patch(Rectangle(corner, 0, 0.84, color="#F6D48A", lw=0))
        box = ax.add_patch(Rectangle(corner, 1.1, 0.84, fill=False, ec=palette.FAINT_GREY, lw=0.8))
        words = ax.text(x + 0.55, label, "", ha="center", va="center", fontsize=9)
        cells.append((t, label, bar, box, words))
    ax.set(xlim=(-0.1, 3.8), ylim=(2.6, -0.6), yticks=range(3))
    ax.set_yticks(range(3), list(LETTERS))
    ax.set_xticks([0.55, 1.85, 3.15], ["1 (a)", "2 (x)", "3 (i)"])
    ax.set_xlabel("letter (and its true label)")
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    title = ax.set_title("", y=1)

    def show(frame: LossesFrame) -> None:
        framed = frame.suppliers[0]
        title.set_text(f"Marginals; framed: {framed}")
        for t, label, bar, box, words in cells:
            inside = framed[t] == LETTERS[label]
            bar.set_width(1.1 * frame.marginals[t, label])
            box.set(
                edgecolor=_HINGE if inside else palette.FAINT_GREY, linewidth=2.2 if inside else 0.8
            )
            box.set_zorder(4 if inside else 3)
            words.set_text(f"{frame.marginals[t, label]:.2f}")

    return show


@lesson(
    "From w₂ = 1 on the hinge is exactly 0. The log-loss is positive, and still falls.",
    {"ink": 1.0, "habit": 1.5},
)
def _only_one_is_zero(habit: float, ink: float) -> bool:
    here, before = (losses_frame(ink, w) for w in (habit, 1.0 - _STEP))
    return before.hinge > 0 == here.hinge and here.log_loss > 0.1 and here.log_slope < 0


@lesson(
    "Where aai and aax tie, the hinge's slope jumps from −2 to −1. The log-loss bends smoothly.",
    {"ink": 0.75, "habit": 0.5},
)
def _jumps(habit: float, ink: float) -> bool:
    here, *both = (losses_frame(ink, w) for w in (habit, habit - _STEP, habit + _STEP))
    left, right = (each.hinge_slopes[0] for each in both)
    turned = abs(both[1].log_slope - both[0].log_slope)
    return here.hinge_slopes == (left, right) == (-2.0, -1.0) and turned < 0.1


@lesson(
    "With a faint ink the hinge stays at 1, although nothing is read wrong: iax has as many liked "
    "pairs as axi, so only a larger weight on the ink can push it back.",
    {"ink": 0.5, "habit": 1.5},
)
def _waits(habit: float, ink: float) -> bool:
    here, later = (losses_frame(ink, w) for w in (habit, 3.0))
    alike = abs(here.hinge - later.hinge) < 1e-9 and later.log_loss < here.log_loss
    return alike and here.hinge > 0 and here.wrong == 0 and here.suppliers == ["iax"]


_CAPTION = (
    "Left: the log-loss (dashed) and the hinge (solid) of *axi* as the habit's weight changes. The "
    "dotted line counts wrong letters. Right: the probability of each labelling, which the log-loss "
    "uses, and its margin violation, which the hinge uses; below them, the probability of each label at "
    "each letter. Notice how many labellings decide the slope of each curve."
)


def losses() -> Explorer:
    """Return an explorer of the log-loss and the hinge of the word *axi* over the habit's weight.

    On the left both losses with their slopes, and the number of letters that the prediction has
    wrong; on the right the probabilities of labellings, which make up the log-loss, the margin
    violations, the largest of which is the hinge, and the node marginals.

    Returns
    -------
    Explorer
        The explorer: its time is ``habit``, the weight of the habit; ``ink`` is the ink's.
    """
    figure = new_figure(8.0, 4.7)
    axes = figure.subplot_mosaic(
        [["curves", "p", "violation"], ["curves", "marginals", "marginals"]],
        width_ratios=[2.1, 1, 1],
        height_ratios=[1.55, 1],
    )
    with styled():
        panels = [
            _draw_curves(axes["curves"]),
            _draw_labellings(axes["p"], axes["violation"]),
            _draw_marginals(axes["marginals"]),
        ]

    def update(habit: float, ink: float) -> str:
        frame = losses_frame(ink, habit)
        for show in panels:
            show(frame)
        left, right = (with_minus(slope, 0) for slope in frame.hinge_slopes)
        slope = left if left == right else f"{left} before and {right} after"
        return (
            f"Weights ink {ink:.2f}, habit {with_minus(habit)}: log-loss {frame.log_loss:.2f}, slope "
            f"{with_minus(frame.log_slope)}, p(axi) {frame.probabilities[AXI.true_row]:.2f}; hinge "
            f"{frame.hinge:.2f}, slope {slope}, from {' and '.join(frame.suppliers)}; "
            f"{frame.wrong:.0f} of 3 letters wrong."
        )

    def alt(habit: float, ink: float) -> str:
        frame = losses_frame(ink, habit)
        return (
            f"Left, the log-loss, a smooth curve, and the hinge, made of straight pieces, over the "
            f"habit's weight; at {with_minus(habit)} they are {frame.log_loss:.2f} and "
            f"{frame.hinge:.2f}. Right, the labellings with their probabilities and violations, "
            f"the largest from {frame.suppliers[0]}, and the node marginals with it framed."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_only_one_is_zero, _jumps, _waits],
        name="losses",
        ink=Slider(0.5, 2.0, 0.25, 0.75, label="w₁, weight of the ink"),
        habit=Time(-1.0, 3.0, _STEP, 0.5, label="w₂, weight of the habit", per_second=8),
    )


EXHIBIT = Exhibit("Two losses over one weight", "two-losses", losses)
