"""From soft to hard on a square of nodes: what the local program becomes as the temperature falls.

Its value lies above the log-partition, and at temperature 0 it is a linear program over the local
polytope.  If every cell of the square has an odd number of repelling edges, the program has a corner
that is not a labelling.  Its optimum then stays above the best score, however cold it gets.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.grids import draw_square, square
from medn_edu.explorers.kit.style import INK, new_figure, styled
from medn_edu.inference import labelling_scores
from medn_edu.inference.loopy import enumerate_labellings, local_polytope, norm_product

SIGNS = ("all attract", "two repel")
NUMBERS = ("trw", "ones")
NAMES = ("TRW", "ones")
EVIDENCE = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
TEMPERATURES = (*(k / 8 for k in range(12, 1, -1)), 1 / 8, 1 / 16, 1 / 32, 0.0)
"""From one and a half down to 1/32; then 0, the linear program."""

_MOST_SWEEPS = 400


@dataclass(frozen=True, eq=False)
class HardeningFrame:
    """The square at a temperature; arrays have an entry for each of `TEMPERATURES`."""

    epsilon: float
    node: np.ndarray  # belief of label 1; at 0, at the corner that the linear program found
    labels: np.ndarray  # decoded from the messages, ties one node after the other
    score: float  # of these labels
    uppers: np.ndarray  # bounds on the optimum of the local program
    lowers: np.ndarray
    soft_maxima: np.ndarray  # exact log-partition, at 0 the best score

    @property
    def place(self) -> int:
        """Number of the temperature."""
        return TEMPERATURES.index(self.epsilon)

    @property
    def value(self) -> float:
        """Optimum of the local program, between its bounds."""
        return float(self.uppers[self.place] + self.lowers[self.place]) / 2

    @property
    def soft_max(self) -> float:
        """The exact value."""
        return float(self.soft_maxima[self.place])

    @property
    def gap(self) -> float:
        """By how much the local program exceeds it; zero is written without a sign."""
        return max(0.0, self.value - self.soft_max)


def hardening_frame(epsilon: float, evidence: float, signs: str, numbers: str) -> HardeningFrame:
    """Solve the local program and the exact one."""
    node, labels, scores, uppers, lowers, soft = _cooled(evidence, signs, numbers)
    k = TEMPERATURES.index(epsilon)
    return HardeningFrame(epsilon, node[k], labels[k], float(scores[k]), uppers, lowers, soft)


@lru_cache(maxsize=64)
def _cooled(evidence: float, signs: str, numbers: str) -> tuple[np.ndarray, ...]:
    """Return beliefs, labels, their scores, bounds and exact values, temperature by temperature."""
    potentials = square(1.0, evidence, signs == SIGNS[1])
    with warnings.catch_warnings():  # bounds are shown, so nobody need be warned
        warnings.simplefilter("ignore")
        found = [
            norm_product(potentials, numbers, e, max_sweeps=_MOST_SWEEPS) for e in TEMPERATURES
        ]
    hard = local_polytope(potentials)
    node = np.array([each.beliefs.node[:, 1] for each in found[:-1]] + [hard.beliefs.node[:, 1]])
    bounds = [
        np.array([getattr(each, name)[0] for each in found[:-1]] + [hard.value[0]])
        for name in ("upper", "lower")
    ]
    labels = np.array([each.labels for each in found])
    scores = np.array([labelling_scores(potentials, each)[0] for each in labels])
    soft = np.array([enumerate_labellings(potentials, e).value[0] for e in TEMPERATURES])
    return np.abs(np.round(node, 9)), labels, scores, *bounds, soft


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------


def _curves(ax: Axes) -> Callable[[HardeningFrame], None]:
    """Draw the local program and the exact value over the temperature."""
    zeros = np.zeros(len(TEMPERATURES))
    (local,) = ax.plot(TEMPERATURES, zeros, "-", color=palette.BLUE, label="local program")
    (exact,) = ax.plot(TEMPERATURES, zeros, "--", color=INK, label="exact value")
    (between,) = ax.plot([0, 0], [0, 0], "-", color=palette.VERMILION, lw=2.5)
    (ends,) = ax.plot([0, 0], [0, 0], "o", color=palette.VERMILION, mec="white", ms=8)
    (best,) = ax.plot(
        [0], [0], "D", color=INK, ms=7, clip_on=False, label="best labelling", ls="none"
    )
    gap = ax.text(0.98, 0.03, "", transform=ax.transAxes, ha="right", fontsize=11)
    for each in (between, ends):
        each.set_clip_on(False)
    ax.set(xlim=(0, TEMPERATURES[0]), xlabel="temperature ε", ylabel="value")
    ax.set_title("Program and exact value")
    ax.legend(loc="upper left", borderpad=0.1)

    def show(frame: HardeningFrame) -> None:
        values = (frame.uppers + frame.lowers) / 2
        local.set_ydata(values)
        exact.set_ydata(frame.soft_maxima)
        best.set_ydata([frame.soft_maxima[-1]])
        for each in (between, ends):
            each.set_data([frame.epsilon] * 2, [frame.soft_max, frame.value])
        gap.set_text(f"gap {frame.gap:.2f}")
        low, high = frame.soft_maxima.min(), values.max()
        ax.set_ylim(low - 0.2 * (high - low), high + 0.35 * (high - low))

    return show


# -- sentence, lessons, controls ------------------------------------------------------------------


@lesson(
    "If all edges attract, beliefs sharpen as ε falls, and at ε = 0 the optimum is the best score.",
    {"epsilon": 0.0, "evidence": 1.0, "signs": "all attract", "numbers": "trw"},
)
def _sharpens(epsilon: float, evidence: float, signs: str, numbers: str) -> bool:
    frame = hardening_frame(epsilon, evidence, signs, numbers)
    soft = hardening_frame(1.0, evidence, signs, numbers)
    sharp = np.abs(frame.node - 0.5).min() > np.abs(soft.node - 0.5).max()
    return bool(sharp and frame.gap < 1e-6)


@lesson(
    "If two edges repel, beliefs of one half satisfy every edge, so a gap stays at ε = 0.",
    {"epsilon": 0.0, "evidence": 0.5, "signs": "two repel", "numbers": "trw"},
)
def _gap_stays(epsilon: float, evidence: float, signs: str, numbers: str) -> bool:
    frame = hardening_frame(epsilon, evidence, signs, numbers)
    halves = np.allclose(frame.node, 0.5) and frame.gap > 1
    return epsilon == 0 and evidence > 0 and bool(halves)


@lesson(
    "Without evidence, beliefs of one half are a tie. Decoded one by one, the labels still score best.",
    {"epsilon": 1 / 32, "evidence": 0.0, "signs": "all attract", "numbers": "trw"},
)
def _tie(epsilon: float, evidence: float, signs: str, numbers: str) -> bool:
    frame = hardening_frame(epsilon, evidence, signs, numbers)
    tied = epsilon > 0 and np.allclose(frame.node, 0.5)
    return bool(tied and np.isclose(frame.score, frame.soft_maxima[-1]) and signs == SIGNS[0])


@lesson(
    "With strong evidence the best labelling beats beliefs of one half, and at ε = 0 the gap is closed.",
    {"epsilon": 0.0, "evidence": 3.0, "signs": "two repel", "numbers": "trw"},
)
def _evidence_helps(epsilon: float, evidence: float, signs: str, numbers: str) -> bool:
    frame = hardening_frame(epsilon, evidence, signs, numbers)
    return signs == SIGNS[1] and epsilon == 0 and frame.gap < 1e-6


@lesson(
    "Counting numbers fade: ones and TRW differ by more than 10 at ε = 1, by less than 0.5 at 1/32.",
    {"epsilon": 1 / 32, "evidence": 1.0, "signs": "all attract", "numbers": "ones"},
)
def _numbers_leave(epsilon: float, evidence: float, signs: str, numbers: str) -> bool:
    apart, warm = (
        hardening_frame(e, evidence, signs, "ones").value
        - hardening_frame(e, evidence, signs, "trw").value
        for e in (epsilon, 1.0)
    )
    return apart < 0.5 and warm > 10


_CAPTION = (
    "On the left, each node's belief in label 1 and the label that it gets. On the right, the "
    "optimum of the local program and the exact value (dashed) at each temperature ε. The gap "
    "between them is marked at the chosen temperature. Watch what happens to the gap as ε goes "
    "to 0."
)


def hardening() -> Explorer:
    """Return an explorer of the temperature on a square of nine nodes.

    Returns
    -------
    Explorer
        The explorer: its time is ``epsilon``, from 0 and 1/32 up to 1.5; ``evidence`` says how
        much the nodes know on their own, ``signs`` what edges want; ``numbers`` are the counting
        numbers.
    """
    figure = new_figure(8.4, 4.1)
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1.2])
    with styled():
        show_square = draw_square(left)
        title = left.set_title("Belief of label 1 (decoded)")
        show_curves = _curves(right)

    def update(epsilon: float, evidence: float, signs: str, numbers: str) -> str:
        frame = hardening_frame(epsilon, evidence, signs, numbers)
        show_square(frame.node, [f"label {label}" for label in frame.labels], signs == SIGNS[1])
        title.set_text(f"Beliefs at ε = {_named(epsilon)}, and labels")
        show_curves(frame)
        best, name = frame.soft_maxima[-1], NAMES[NUMBERS.index(numbers)]
        return (
            f"ε = {_named(epsilon)}, evidence {evidence:.1f}, {signs}, {name}: local program "
            f"{frame.value:.2f}, exact value {frame.soft_max:.2f}, gap {frame.gap:.2f}. The decoded "
            f"labels score {frame.score:.2f}, and the best labelling scores {best:.2f}."
        )

    def alt(epsilon: float, evidence: float, signs: str, numbers: str) -> str:
        frame = hardening_frame(epsilon, evidence, signs, numbers)
        return (
            f"Left, a square of 9 nodes with beliefs of label 1 and decoded labels. Right, over the "
            f"temperature, the local program, {frame.value:.2f} here, above the exact value, "
            f"{frame.soft_max:.2f}, with a gap of {frame.gap:.2f}."
        )

    rising = TEMPERATURES[::-1]  # so that a slider moved to the right warms up
    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_sharpens, _gap_stays, _tie, _evidence_helps, _numbers_leave],
        name="hardening",
        epsilon=listed(rising, 1.0, "ε, temperature", texts=[*map(_named, rising)], per_second=3),
        evidence=listed(EVIDENCE, 1.0, "evidence at nodes", texts=[f"{e:.1f}" for e in EVIDENCE]),
        signs=Choice(SIGNS, label="signs of the couplings"),
        numbers=Choice(NUMBERS, label="counting numbers", texts=NAMES),
    )


def _named(epsilon: float) -> str:
    return f"1/{1 / epsilon:g}" if 0 < epsilon < 0.1 else f"{epsilon:g}"


EXHIBIT = Exhibit("From soft to hard, and a gap that stays", "loopy", hardening, 2)
