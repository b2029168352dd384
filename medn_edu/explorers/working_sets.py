"""The cutting plane method in a plane: two words, two features, and a working set that grows.

Algorithm 1 of L1-M3N keeps few of the planes whose maximum is the cost.  The optimum of the linear
program over these working sets is a *lower* bound.  The true cost of its solution is an *upper* bound.
The words have five letters, two labels and no transitions, so that only two weights count.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, Lesson, lesson
from medn_edu.explorers.kit.panels import draw_bounds, draw_cross
from medn_edu.explorers.kit.style import ERROR, INK, MUTED, new_figure, styled
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, L1Norm, MarginLoss, Problem
from medn_edu.samples import Forest, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.textbook.l1_cutting_plane import l1_cutting_plane
from medn_edu.theory import enumerate_problem
from medn_edu.theory.medn import EnumeratedProblem

PRICES = (0.05, 0.3, 0.6, 1.0)  # constants C
MOST_ROWS = 6  # of one word's working set
LOW, HIGH = np.array([-0.5, -0.8]), np.array([4.0, 1.8])  # what the plane shows

_FEATURES = (
    ((2.04, -2.56), (0.42, -0.57), (-0.45, -0.22), (-2.02, -0.23), (-0.87, 3.32)),
    ((0.23, -0.35), (-0.28, -0.67), (-1.06, -0.39), (0.48, -0.24), (0.96, -0.2)),
)
_LABELS = ((1, 1, 0, 0, 1), (1, 1, 0, 1, 1))
_LENGTH = 5
_MISSING = LinearSegmentedColormap.from_list("missing", ["#FFFFFF", "#F6D9A8", palette.ORANGE])


def two_word_problem(C: float) -> Problem:
    """Return the L1-M3N of the two words."""
    words = pack([Forest(np.array(x), parents=[-1] * _LENGTH) for x in _FEATURES])
    data = label_samples(words, np.concatenate(_LABELS), np.ones((1, 2, 2), dtype=bool))
    return Problem(data, MarginLoss(LinearSlack(C)), L1Norm())


@cache
def labellings() -> EnumeratedProblem:
    """Return all labellings of both words, the true ones included."""
    return enumerate_problem(two_word_problem(1.0).data, GaussianPrior(), LinearSlack(1.0))


def cost(C: float, points: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Cost at points of the plane, shape (..., 2), if only some labellings are kept."""
    every, total = labellings(), 0.5 * np.abs(points).sum(axis=-1)
    for i in (0, 1):
        mine = kept & (every.sample == i)
        slopes = every.differences[mine, 2:4]  # those of label 0 are the same with another sign
        violation = every.losses[mine] - points @ slopes.T
        total = total + C * violation.max(axis=-1, initial=0.0)
    return total


@dataclass(frozen=True, eq=False)
class CuttingPlaneRound:
    """State of the cutting plane method after some rounds."""

    number: int  # number of rounds so far; 0 before the first, with empty working sets
    weights: np.ndarray
    kept: np.ndarray  # labellings in the working sets, of all those of both words
    new: np.ndarray  # those added in this round
    alpha: np.ndarray  # their dual variables; 0 where the row is not tight
    lower: float  # what the linear program pays
    cost: float  # what its solution really costs
    upper: float  # least of the costs so far

    @property
    def gap(self) -> float:
        """Upper less lower bound, 0 where nothing but rounding is left."""
        gap = self.upper - self.lower
        return gap if gap > 1e-9 * max(1.0, self.upper) else 0.0


@cache
def cutting_plane_rounds(C: float) -> tuple[CuttingPlaneRound, ...]:
    """Solve the two words' problem by `medn_edu.solvers.l1_cutting_plane` and keep every round."""
    quiet, every = two_word_problem(C), labellings()
    problem, rows = _WatchedProblem(quiet), np.array(every.labellings)
    rounds: list[CuttingPlaneRound] = []
    kept = new = np.zeros(len(every.losses), dtype=bool)
    # The plain method of the paper, no rows dropped; one sweep of decoding a round.
    for iterate in l1_cutting_plane(problem, smoothing=0.0, patience=10**6):
        alpha = iterate.dual() if iterate.dual is not None else None
        assert isinstance(alpha, DualVariables)
        values = np.zeros(len(kept))
        given = zip(alpha.sample, alpha.labels.reshape(-1, _LENGTH), alpha.values, strict=True)
        for i, row, value in given if rounds else ():
            values[(every.sample == i) & (rows == row).all(axis=1)] += value
        weights, labels = problem.seen[-1]
        rounds.append(
            CuttingPlaneRound(
                number=len(rounds),
                weights=weights[2:4] - weights[0:2],  # those of label 1 less those of label 0
                kept=kept,
                new=new,
                alpha=values,
                # The solver knows a bound at the start; the program without rows has none.
                lower=quiet.dual(alpha) if rounds else 0.0,
                cost=quiet.primal(weights),
                upper=iterate.objective_estimate,
            )
        )
        if iterate.stopped:
            break
        found = (rows == labels.reshape(2, _LENGTH)[every.sample]).all(axis=1)
        new = found & (every.losses > 0) & ~kept  # never the true labelling
        kept = kept | new
    return tuple(rounds)


class _WatchedProblem(Problem):
    """Remembers at which weights a solver had it decode, and what it found there.

    A solver recommends its best weights so far; the picture is to show where it went.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.data, problem.loss, problem.regulariser)
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []

    def violated(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find each sample's most violated margin, and remember it."""
        labels, violation = super().violated(weights)
        self.seen.append((weights.copy(), labels))
        return labels, violation


@cache
def _most() -> int:
    return max(len(cutting_plane_rounds(C)) for C in PRICES) - 1


@cache
def _grid() -> np.ndarray:
    across, up = (np.linspace(LOW[k], HIGH[k], 121) for k in (0, 1))
    return np.stack(np.meshgrid(across, up), axis=-1)


@cache
def _costs(C: float, number: int) -> np.ndarray:
    """Cost over the grid: by the working sets after some rounds, or the true one (number -1)."""
    every = np.ones(len(labellings().losses), dtype=bool)
    return cost(C, _grid(), every if number < 0 else cutting_plane_rounds(C)[number].kept)


Rounds = Sequence[CuttingPlaneRound]


def _draw_plane(ax: Axes) -> Callable[[float, Rounds], None]:
    """Draw the true cost, the method's model of it, and the way of the program's solutions."""
    extent = (LOW[0], HIGH[0], LOW[1], HIGH[1])
    image = ax.imshow(
        np.zeros((121, 121)), extent=extent, origin="lower", cmap=_MISSING, vmin=0, vmax=1,
        interpolation="bilinear", aspect="auto",
    )  # fmt: skip
    contours: dict[tuple[float, int], Any] = {}
    draw_cross(ax, INK, zorder=1)
    (way,) = ax.plot([0], [0], "-o", color=INK, lw=1.2, ms=5, mfc="white", zorder=4)
    (solution,) = ax.plot([0], [0], "D", color=palette.BLUE, mec="white", ms=11, zorder=5)
    ax.set(xlim=extent[:2], ylim=extent[2:])
    ax.set(xlabel="weight of feature 1", ylabel="weight of feature 2")
    title = ax.set_title("Round 0", pad=6)
    keys = {
        "true cost": ax.plot([], [], "-", color=MUTED, lw=1)[0],
        "cost as the working sets see it": ax.plot([], [], "--", color=palette.BLUE, lw=1.3)[0],
        "cost that the working sets miss": ax.fill([0], [0], color=_MISSING(0.6))[0],
        "solution": solution,
    }
    ax.figure.legend(keys.values(), keys, loc="outside lower left", ncols=2)

    def show(C: float, rounds: Rounds) -> None:
        here = len(rounds) - 1
        truth, model = _costs(C, -1), _costs(C, here)
        image.set_data(np.sqrt(np.maximum(truth - model, 0) / (10 * C)))  # pale is seen too
        levels = truth.min() + (truth.max() - truth.min()) * np.linspace(0.02, 0.98, 13) ** 1.5
        for number, values, style in (
            (-1, truth, {"colors": MUTED, "linewidths": 0.9, "linestyles": "-"}),
            (here, model, {"colors": palette.BLUE, "linewidths": 1.2, "linestyles": "--"}),
        ):
            if (C, number) not in contours:
                x, y = np.moveaxis(_grid(), -1, 0)
                drawn = ax.contour(x, y, values, levels=levels, zorder=2, **style)
                contours[C, number] = drawn
        for key, drawn in contours.items():
            drawn.set_visible(key in ((C, -1), (C, here)))
        way.set_data(*np.array([each.weights for each in rounds]).T)
        solution.set_data(*rounds[-1].weights[:, None])
        ended = here == len(cutting_plane_rounds(C)) - 1
        title.set_text(f"{'Ended with' if ended else 'After'} round {here}, C = {C:g}")

    return show


def _draw_sets(ax: Axes) -> Callable[[float, Rounds], None]:
    """Draw the working sets: a row of boxes for each labelling, and a bar for its dual variable."""
    rows: list[list[tuple[list[Rectangle], Rectangle]]] = [[], []]
    for i in (0, 1):
        left = 8.2 * i
        ax.text(left, -1.1, f"word {i + 1}", ha="left", va="center", fontweight="bold")
        for j in range(MOST_ROWS):
            boxes = [
                ax.add_patch(Rectangle((left + t, j - 0.36), 0.8, 0.72, ec=MUTED, lw=0.8))
                for t in range(_LENGTH)
            ]
            bar = ax.add_patch(Rectangle((left + 5.1, j - 0.2), 0, 0.4, color=palette.BLUE, lw=0))
            rows[i].append((boxes, bar))
    ax.set(xlim=(-0.2, 15.9), ylim=(MOST_ROWS + 3.0, -1.6))
    ax.set_axis_off()
    ax.set_title("Working sets", pad=6)
    words = "five boxes: a labelling\nfilled: a wrong letter\nbold frame: new\nblue bar: its α"
    ax.text(0, MOST_ROWS - 0.3, words, va="top", fontsize=10, color=MUTED)

    def show(C: float, rounds: Rounds) -> None:
        here, every = rounds[-1], labellings()
        order = [k for each in rounds for k in np.flatnonzero(each.new)]
        for i in (0, 1):
            mine = [k for k in order if every.sample[k] == i]
            for j, (boxes, bar) in enumerate(rows[i]):
                shown = j < len(mine)
                for t, box in enumerate(boxes):
                    box.set_visible(shown)
                    if shown:
                        wrong = every.labellings[mine[j]][t] != _LABELS[i][t]
                        box.set_facecolor(palette.VERMILION if wrong else "white")
                        box.set_alpha(1.0 if here.kept[mine[j]] else 0.3)
                        box.set_linewidth(1.8 if here.new[mine[j]] else 0.8)
                alpha = here.alpha[mine[j]] if shown else 0.0
                bar.set_width(max(0.3, 2.4 * alpha / C) if alpha > 0 else 0.0)  # each can be seen

    return show


def _at(C: float, number: int) -> CuttingPlaneRound:
    """Return a round, the last one when the method has ended before."""
    rounds = cutting_plane_rounds(C)
    return rounds[min(number, len(rounds) - 1)]


def _lessons() -> list[Lesson]:
    @lesson(
        "A round raises the lower bound, but its solution may cost more than the one before.",
        {"rounds": 2, "C": 1.0},
    )
    def overshoots(rounds: int, C: float) -> bool:
        before, here = _at(C, rounds - 1), _at(C, rounds)
        return here.cost > before.cost and here.lower > before.lower

    @lesson(
        "A few labellings out of 62 are enough to close the gap.",
        {"rounds": _most(), "C": 1.0},
    )
    def few_are_enough(rounds: int, C: float) -> bool:
        here = _at(C, rounds)
        return here.gap == 0 and here.kept.sum() < 62 / 4 and (here.weights != 0).all()

    @lesson(
        "At a small C the optimum lies on an axis: one weight is exactly 0.",
        {"rounds": _most(), "C": 0.3},
    )
    def sticks(rounds: int, C: float) -> bool:
        here = _at(C, rounds)
        return here.gap == 0 and here.weights[0] != 0 and here.weights[1] == 0

    @lesson("At a still smaller C both weights are 0.", {"rounds": _most(), "C": 0.05})
    def stays_empty(rounds: int, C: float) -> bool:
        here = _at(C, rounds)
        return here.gap == 0 and not here.weights.any()

    return [overshoots, few_are_enough, sticks, stays_empty]


_CAPTION = (
    "On the left, the cost of every pair of weights: the true cost (solid contours) and the cost as the "
    "working sets see it (dashed). In the shaded part of the plane, the working sets underestimate the "
    "cost. The black line joins the solutions of the rounds so far. On the right, the two bounds and "
    "the labellings in the working sets. Watch where the solution jumps, and what each jump does to "
    "the bounds."
)


def working_sets() -> Explorer:
    """Return an explorer of the cutting plane method on a problem of two weights.

    On the left the plane of the weights: contours of the true cost and of the cost that the working
    sets know of, shaded where they miss something, and the way of the program's solutions.  On the
    right both bounds and the working sets themselves.

    Returns
    -------
    Explorer
        The explorer: its time is ``rounds``; ``C`` is the price of violated margins.
    """
    figure = new_figure(7.8, 5.4)
    axes = figure.subplot_mosaic(
        [["plane", "bounds"], ["plane", "sets"]], width_ratios=[1.6, 1], height_ratios=[1, 1.5]
    )
    with styled():
        show_plane, show_sets = _draw_plane(axes["plane"]), _draw_sets(axes["sets"])
        bounds = axes["bounds"]
        show_bounds = draw_bounds(bounds, size=5)
        bounds.set(xlabel="round", ylabel="cost")
        bounds.set_title("Both bounds", pad=6)
        for height, side, name, colour in (
            (0.98, "top", "upper bound", ERROR),
            (0.03, "bottom", "lower bound", palette.BLUE),
        ):
            place = {"transform": bounds.transAxes, "ha": "right", "va": side}
            bounds.text(0.98, height, name, color=colour, **place)

    def text(here: CuttingPlaneRound) -> str:
        return f"({here.weights[0] + 0.0:.2f}, {here.weights[1] + 0.0:.2f})"

    def update(rounds: int, C: float) -> str:
        every, here = cutting_plane_rounds(C), _at(C, rounds)
        past = every[: rounds + 1]
        with styled():  # for new contours
            show_plane(C, past)
        show_sets(C, past)
        show_bounds(np.array([r.lower for r in past]), np.array([r.upper for r in past]))
        bounds.set(xlim=(-0.2, _most() + 0.2), ylim=(-0.04, 1.25 * every[0].upper))
        bounds.set_xticks(range(_most() + 1))
        last = len(every) - 1
        end = f" The method ended with round {last}." if rounds > last else ""
        closed = "so this is the optimum" if here.gap == 0 else f"gap {here.gap:.3f}"
        return (
            f"C = {C:g}, after round {here.number}: {here.kept.sum()} of 62 labellings are in the "
            f"working sets, {(here.alpha[here.kept] > 0).sum()} of them with a dual variable above 0. "
            f"The weights {text(here)} really cost {here.cost:.3f}. Lower bound {here.lower:.3f}, "
            f"upper bound {here.upper:.3f}, {closed}.{end}"
        )

    def alt(rounds: int, C: float) -> str:
        here = _at(C, rounds)
        return (
            "Left, the plane of two weights with contours of the true cost and of the cost by the "
            f"working sets, and the solutions of the linear programs up to {text(here)}; right, "
            f"the bounds {here.lower:.3f} and {here.upper:.3f} after round {here.number}, and the "
            f"{here.kept.sum()} labellings of the working sets with their dual variables."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=_lessons(),
        name="working-sets",
        rounds=Time(0, _most(), 1, 2, label="rounds", per_second=1),
        C=Choice(PRICES, 1.0),
    )


EXHIBIT = Exhibit("Cutting planes close in", "l1-m3n", working_sets)
