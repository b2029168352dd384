r"""The cutting plane method in a plane: two words, two features, and a working set that grows.

L1-M3N minimises :math:`\tfrac12\|w\|_1 + C\sum_i \max_y H_i(y; w)`, where
:math:`H_i(y; w) = \Delta\ell_i(y) - w^\top \Delta f_i(y)` is one plane for each labelling.  The cutting
plane method (L1-M3N, Algorithm 1) keeps few of these planes, those of the working sets
:math:`S_i`.  The largest of few is no more than the largest of all: what the linear program over the
working sets pays is a *lower* bound, and what its solution really costs an *upper* one.

The two words here have five letters each, with two labels and two features and without transitions
(every letter is a root), so that only the difference of the two labels' weights counts and everything
can be drawn.  `two_word_problem` makes them, `cutting_plane_rounds` replays the package's own solver
on them, and `WorkingSets` is the figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, L1Norm, MarginLoss, Problem
from medn_edu.samples import Forest, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.textbook.l1_cutting_plane import l1_cutting_plane
from medn_edu.theory import enumerate_problem

PRICES = (0.05, 0.3, 0.6, 1.0)
"""Constants C that the explorer offers."""

_FEATURES = (
    ((2.04, -2.56), (0.42, -0.57), (-0.45, -0.22), (-2.02, -0.23), (-0.87, 3.32)),
    ((0.23, -0.35), (-0.28, -0.67), (-1.06, -0.39), (0.48, -0.24), (0.96, -0.2)),
)
_LABELS = ((1, 1, 0, 0, 1), (1, 1, 0, 1, 1))
_LENGTH = 5
_LOW, _HIGH = np.array([-0.5, -0.8]), np.array([4.0, 1.8])  # what the plane shows
_MODEL, _TRUTH, _WRONG = "#0072B2", MUTED, "#D55E00"
_MISSING = LinearSegmentedColormap.from_list("missing", ["#FFFFFF", "#F6D9A8", "#E69F00"])
_MOST_ROWS = 6  # of one word's working set


def two_word_problem(C: float) -> Problem:
    """Return the L1-M3N of the two words."""
    words = pack([Forest(np.array(x), parents=[-1] * _LENGTH) for x in _FEATURES])
    data = label_samples(words, np.concatenate(_LABELS), np.ones((1, 2, 2), dtype=bool))
    return Problem(data, MarginLoss(LinearSlack(C)), L1Norm())


class _Planes:
    """The cost over the plane of the two words' weights, from all their labellings."""

    def __init__(self) -> None:
        data = two_word_problem(1.0).data
        every = enumerate_problem(data, GaussianPrior(), LinearSlack(1.0))
        self.sample, self.losses = every.sample, every.losses
        self.labels = np.array(every.labellings)
        self.slopes = every.differences[:, 2:4]  # those of label 0 are the same with another sign

    def cost(self, C: float, points: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Cost at points, shape (..., 2), if only some labellings are kept."""
        total = 0.5 * np.abs(points).sum(axis=-1)
        for i in (0, 1):
            mine = kept & (self.sample == i)
            violation = self.losses[mine] - points @ self.slopes[mine].T
            total = total + C * violation.max(axis=-1, initial=0.0)
        return total

    def find(self, labels: np.ndarray) -> np.ndarray:
        """Mark one labelling of each word, given one after the other; not the true one."""
        given = labels.reshape(2, _LENGTH)[self.sample]
        return (self.labels == given).all(axis=1) & (self.losses > 0)

    def written_out(self, alpha: DualVariables) -> np.ndarray:
        """Return the dual variable of every labelling, 0 where none is given."""
        values = np.zeros(len(self.losses))
        given = alpha.labels.reshape(-1, _LENGTH)
        for i, labels, value in zip(alpha.sample, given, alpha.values, strict=True):
            values[(self.sample == i) & (self.labels == labels).all(axis=1)] += value
        return values


def plane(weights: np.ndarray) -> np.ndarray:
    """Return what counts of weights: those of label 1 less those of label 0."""
    return weights[2:4] - weights[0:2]


@cache
def _planes() -> _Planes:
    return _Planes()


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
    quiet, planes = two_word_problem(C), _planes()
    problem = _WatchedProblem(quiet)
    rounds: list[CuttingPlaneRound] = []
    kept = new = np.zeros(len(planes.losses), dtype=bool)
    # The plain method of the paper, no rows dropped; one sweep of decoding a round.
    for iterate in l1_cutting_plane(problem, smoothing=0.0, patience=10**6):
        alpha = iterate.dual() if iterate.dual is not None else None
        assert isinstance(alpha, DualVariables)
        weights, labels = problem.seen[-1]
        rounds.append(
            CuttingPlaneRound(
                number=len(rounds),
                weights=plane(weights),
                kept=kept,
                new=new,
                # The solver knows a bound at the start; the program without rows has none.
                alpha=planes.written_out(alpha) if rounds else np.zeros(len(kept)),
                lower=quiet.dual(alpha) if rounds else 0.0,
                cost=quiet.primal(weights),
                upper=iterate.objective_estimate,
            )
        )
        if iterate.stopped:
            break
        new = planes.find(labels) & ~kept
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
def _costs(C: float, number: int | None) -> np.ndarray:
    """Cost over the grid: the true one, or that by the working sets after some rounds."""
    planes = _planes()
    every = np.ones(len(planes.losses), dtype=bool)
    kept = every if number is None else cutting_plane_rounds(C)[number].kept
    return planes.cost(C, _grid(), kept)


@cache
def _grid() -> np.ndarray:
    across, up = (np.linspace(_LOW[k], _HIGH[k], 121) for k in (0, 1))
    return np.stack(np.meshgrid(across, up), axis=-1)


class WorkingSets:
    """The figure: the plane with the method's model of the cost, both bounds, and the working sets."""

    def __init__(self) -> None:
        self.figure = new_figure(7.8, 5.4)
        axes = self.figure.subplot_mosaic(
            [["plane", "bounds"], ["plane", "sets"]], width_ratios=[1.6, 1], height_ratios=[1, 1.5]
        )
        with styled():
            self._draw_plane(axes["plane"])
            self._draw_bounds(axes["bounds"])
            self._draw_sets(axes["sets"])

    def show(self, C: float, number: int) -> None:
        """Show a round."""
        rounds = cutting_plane_rounds(C)
        number = min(number, len(rounds) - 1)
        with styled():
            self._show_plane(C, rounds[: number + 1])
        self._show_bounds(rounds, number)
        self._show_sets(C, rounds[: number + 1])

    # -- the plane ------------------------------------------------------------------------------

    def _draw_plane(self, ax: Axes) -> None:
        self._plane = ax
        extent = (_LOW[0], _HIGH[0], _LOW[1], _HIGH[1])
        self._image = ax.imshow(
            np.zeros((121, 121)), extent=extent, origin="lower", cmap=_MISSING, vmin=0, vmax=1,
            interpolation="bilinear", aspect="auto",
        )  # fmt: skip
        self._lines: dict[tuple[float, int], Any] = {}
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
        ax.axvline(0, color=INK, lw=0.8, zorder=1)
        (self._way,) = ax.plot([0], [0], "-o", color=INK, lw=1.2, ms=5, mfc="white", zorder=4)
        (self._here,) = ax.plot([0], [0], "D", color=_MODEL, mec="white", ms=11, zorder=5)
        ax.set(xlim=extent[:2], ylim=extent[2:])
        ax.set(xlabel="weight of feature 1", ylabel="weight of feature 2")
        self._title = ax.set_title("Round 0", pad=6)
        keys = [
            ax.plot([], [], "-", color=_TRUTH, lw=1)[0],
            ax.plot([], [], "--", color=_MODEL, lw=1.3)[0],
            ax.fill([0], [0], color=_MISSING(0.6))[0],
            self._here,
        ]
        names = [
            "true cost",
            "cost by the working sets",
            "what they miss",
            "the program's solution",
        ]
        ax.legend(keys, names, loc="upper center", bbox_to_anchor=(0.47, -0.11), ncols=2)

    def _show_plane(self, C: float, rounds: tuple[CuttingPlaneRound, ...]) -> None:
        here = rounds[-1]
        truth, model = _costs(C, None), _costs(C, here.number)
        self._image.set_data(np.sqrt(np.maximum(truth - model, 0) / (10 * C)))  # pale is seen too
        levels = truth.min() + (truth.max() - truth.min()) * np.linspace(0.02, 0.98, 13) ** 1.5
        for number, values, style in (
            (-1, truth, {"colors": _TRUTH, "linewidths": 0.9, "linestyles": "-"}),
            (here.number, model, {"colors": _MODEL, "linewidths": 1.2, "linestyles": "--"}),
        ):
            if (C, number) not in self._lines:
                x, y = np.moveaxis(_grid(), -1, 0)
                drawn = self._plane.contour(x, y, values, levels=levels, zorder=2, **style)
                self._lines[C, number] = drawn
        for key, drawn in self._lines.items():
            drawn.set_visible(key in ((C, -1), (C, here.number)))
        way = np.array([each.weights for each in rounds])
        self._way.set_data(*way.T)
        self._here.set_data(*here.weights[:, None])
        self._title.set_text(f"After round {here.number}, C = {C:g}")

    # -- the bounds -----------------------------------------------------------------------------

    def _draw_bounds(self, ax: Axes) -> None:
        self._bounds = ax
        (self._upper,) = ax.plot([0], [0], "--s", color=_WRONG, ms=5, lw=1.5, label="upper bound")
        (self._lower,) = ax.plot([0], [0], "-o", color=_MODEL, ms=5, lw=1.5, label="lower bound")
        self._between = ax.fill_between([0, 0], [0, 0], [0, 0], color="#EDEFF1", lw=0, zorder=0)
        ax.set(xlabel="round", ylabel="cost")
        ax.set_title("Bounds of the optimum", pad=6)
        ax.legend(loc="lower right")

    def _show_bounds(self, rounds: tuple[CuttingPlaneRound, ...], number: int) -> None:
        past = rounds[: number + 1]
        at = np.arange(number + 1)
        lower, upper = (np.array([getattr(r, name) for r in past]) for name in ("lower", "upper"))
        self._lower.set_data(at, lower)
        self._upper.set_data(at, upper)
        edge = np.concatenate([np.stack([at, lower], 1), np.stack([at, upper], 1)[::-1]])
        self._between.set_verts([edge])
        most = max(len(cutting_plane_rounds(C)) for C in PRICES) - 1
        self._bounds.set(xlim=(-0.2, most + 0.2), ylim=(-0.04, 1.08 * rounds[0].upper))
        self._bounds.set_xticks(range(most + 1))

    # -- the working sets -------------------------------------------------------------------------

    def _draw_sets(self, ax: Axes) -> None:
        self._rows: list[list[tuple[list[Rectangle], Rectangle]]] = []
        for i in (0, 1):
            left = 8.2 * i
            ax.text(left, -1.1, f"word {i + 1}", ha="left", va="center", fontweight="bold")
            rows = []
            for j in range(_MOST_ROWS):
                boxes = [
                    ax.add_patch(Rectangle((left + t, j - 0.36), 0.8, 0.72, ec=MUTED, lw=0.8))
                    for t in range(_LENGTH)
                ]
                bar = ax.add_patch(Rectangle((left + 5.1, j - 0.2), 0, 0.4, color=_MODEL, lw=0))
                rows.append((boxes, bar))
            self._rows.append(rows)
        ax.set(xlim=(-0.2, 15.6), ylim=(_MOST_ROWS + 1.4, -1.6))
        ax.set_axis_off()
        ax.set_title("Working sets", pad=6)
        words = "a row: a labelling, its wrong letters filled\nbold frame: new;  bar: its α"
        ax.text(0, _MOST_ROWS - 0.3, words, va="top", fontsize=9, color=MUTED)

    def _show_sets(self, C: float, rounds: tuple[CuttingPlaneRound, ...]) -> None:
        here, planes = rounds[-1], _planes()
        order = [k for each in rounds for k in np.flatnonzero(each.new)]
        for i in (0, 1):
            mine = [k for k in order if planes.sample[k] == i]
            for j, (boxes, bar) in enumerate(self._rows[i]):
                for t, box in enumerate(boxes):
                    box.set_visible(j < len(mine))
                    if j < len(mine):
                        wrong = planes.labels[mine[j], t] != _LABELS[i][t]
                        box.set_facecolor(_WRONG if wrong else "white")
                        box.set_alpha(1.0 if here.kept[mine[j]] else 0.3)
                        box.set_linewidth(1.8 if here.new[mine[j]] else 0.8)
                bar.set_width(2.4 * here.alpha[mine[j]] / C if j < len(mine) else 0.0)


def working_sets() -> Explorer:
    """Return an explorer of the cutting plane method on a problem of two weights.

    On the left the plane of the weights: contours of the true cost and of the cost that the working
    sets know of, shaded where they miss something, and the way of the program's solutions.  On the
    right both bounds and the working sets themselves.  Drawn by `medn_edu.explorers.working_sets` from
    the rounds of `medn_edu.solvers.l1_cutting_plane`.

    Returns
    -------
    Explorer
        The explorer: its time is ``rounds``; ``C`` is the price of violated margins.

    Examples
    --------
    >>> explorer = working_sets()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = WorkingSets()
    most = max(len(cutting_plane_rounds(C)) for C in PRICES) - 1

    def update(rounds: int, C: float) -> str:
        drawn.show(C, rounds)
        here, last = _at(C, rounds)
        end = f" The method ended with round {last}." if rounds > last else ""
        closed = "the optimum" if here.gap == 0 else f"gap {here.gap:.3f}"
        return (
            f"C = {C:g}, after round {here.number}: {here.kept.sum()} of 62 labellings in the "
            f"working sets, {(here.alpha[here.kept] > 0).sum()} of them with dual variables above 0; "
            f"weights {_text(here)}; lower bound {here.lower:.3f}, upper bound {here.upper:.3f}, "
            f"{closed}.{end}"
        )

    def alt(rounds: int, C: float) -> str:
        here, _ = _at(C, rounds)
        return (
            "Left, the plane of two weights with contours of the true cost and of the cost by the "
            f"working sets, and the solutions of the linear programs up to {_text(here)}; right, "
            f"the bounds {here.lower:.3f} and {here.upper:.3f} after round {here.number}, and the "
            f"{here.kept.sum()} labellings of the working sets with their dual variables."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(most),
        name="working-sets",
        rounds=Time(0, most, 1, 2, label="rounds", per_second=1),
        C=Choice(PRICES, 1.0),
    )


def _at(C: float, number: int) -> tuple[CuttingPlaneRound, int]:
    rounds = cutting_plane_rounds(C)
    last = len(rounds) - 1
    return rounds[min(number, last)], last


def _text(here: CuttingPlaneRound) -> str:
    return f"({here.weights[0] + 0.0:.2f}, {here.weights[1] + 0.0:.2f})"


def _lessons(most: int) -> list[Lesson]:
    def overshoots(rounds: int, C: float) -> bool:
        before, here = (_at(C, n)[0] for n in (rounds - 1, rounds))
        return here.cost > before.cost and here.lower > before.lower

    def few_are_enough(rounds: int, C: float) -> bool:
        here, _ = _at(C, rounds)
        return here.gap == 0 and here.kept.sum() < 62 / 4 and (here.weights != 0).all()

    def sticks(rounds: int, C: float) -> bool:
        here, _ = _at(C, rounds)
        return here.gap == 0 and here.weights[0] != 0 and here.weights[1] == 0

    def stays_empty(rounds: int, C: float) -> bool:
        here, _ = _at(C, rounds)
        return here.gap == 0 and not here.weights.any()

    return [
        Lesson(
            {"rounds": 2, "C": 1.0},
            "A round raises the lower bound and may all the same lead to a costlier place.",
            overshoots,
        ),
        Lesson(
            {"rounds": most, "C": 1.0},
            "Working sets of a few labellings out of 62 are enough to close the gap.",
            few_are_enough,
        ),
        Lesson(
            {"rounds": most, "C": 0.3},
            "At a small C the optimum lies on an axis: one weight is exactly 0.",
            sticks,
        ),
        Lesson(
            {"rounds": most, "C": 0.05}, "At a still smaller C no weight is worth it.", stays_empty
        ),
    ]
