r"""Weights that switch off along the path to L1-M3N.

The Laplace MEDN with constant :math:`2 C \sqrt\lambda` becomes L1-M3N with constant :math:`C` as
:math:`\lambda` grows.  At every :math:`\lambda` the posterior means are weights, which cost no less
than the optimum of the linear program; and :math:`\eta`, divided by :math:`2\sqrt\lambda`, is a
point of its dual, because the Laplace prior never lets it reach a half.  So there are two bounds
all the way, and at their distance ``g`` no solution has a weight larger than
:math:`g / (\tfrac12 - |\eta_k|)`: weights whose :math:`|\eta_k|` stays below a half die.

`l1_path_frames` follows this on a small synthetic set with correlated features;
`WeightsOnPath` is the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets import make_chain_crf
from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, new_figure, styled
from medn_edu.priors import LaplacePrior
from medn_edu.problems import DualVariables, L1Norm, MarginLoss, Problem, weight_bounds
from medn_edu.results import run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.solvers.l1_path import l1_path as solve_along_path

PRICES = (0.02, 0.05, 0.1)
"""Constants C that the explorer offers."""

_LAMS = 10.0 ** np.arange(0, 7, 0.5)
N_LABELS, N_RELEVANT, N_FEATURES = 3, 6, 9
"""Labels, relevant features and features of `correlated_problem`."""

GROUPS = {
    "relevant": ("#0072B2", N_RELEVANT * N_LABELS),
    "irrelevant": ("#D55E00", (N_FEATURES - N_RELEVANT) * N_LABELS),
    "transitions": ("#5D6B78", N_LABELS**2),
}
"""Colour and number of the weights of each group, in the order drawn."""

N_COPIES = 3
"""Number of near-copies in each of the two groups of correlated relevant features."""

_STRETCHES = {
    "near-copies 1": N_COPIES * N_LABELS,
    "near-copies 2": N_COPIES * N_LABELS,
    "irrelevant": GROUPS["irrelevant"][1],
    "transitions": GROUPS["transitions"][1],
}
"""Stretches of weights with a thin gap between them, as named below the axis."""

_STRETCH_OF = np.repeat(np.arange(len(_STRETCHES)), list(_STRETCHES.values()))
_AT = np.arange(len(_STRETCH_OF)) + 0.8 * _STRETCH_OF
"""Where each weight stands on the axis."""

_MARKS = {"relevant": "o", "irrelevant": "s", "transitions": "^"}
_SORTED: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    {"color": INK, "linestyle": "none", "marker": "+"},
    {"color": "#009E73", "linestyle": "-.", "marker": "D"},
    {"color": "#E69F00", "linestyle": "--", "marker": "s"},
    {"color": "#D55E00", "linestyle": ":", "marker": "v"},
)
_FLOOR, _TOP = 1e-5, 4.0
_ZERO = _FLOOR / 4  # height at which exact zeros are drawn


def correlated_problem(C: float) -> Problem:
    """Return the L1-M3N of 30 chains with two groups of correlated features and three of noise."""
    chains = make_chain_crf(
        30, N_FEATURES, N_RELEVANT, N_LABELS, 5, correlated=True, sampler="exact", random_state=0
    )
    allowed = np.ones((1, N_LABELS, N_LABELS), dtype=bool)
    data = label_samples(pack(chains.data), np.concatenate(chains.target), allowed)
    return Problem(data, MarginLoss(LinearSlack(C)), L1Norm())


def in_order(weights: np.ndarray) -> np.ndarray:
    """Return weights feature by feature, so that those of one feature and one group are neighbours."""
    n = N_LABELS * N_FEATURES
    return np.concatenate([weights[:n].reshape(N_LABELS, N_FEATURES).T.ravel(), weights[n:]])


@dataclass(frozen=True, eq=False)
class PathFrame:
    """Where the path is after a step."""

    step: int  # number of the step, from 0
    lam: float  # constant of the Laplace prior; infinite after the clean-up
    weights: np.ndarray
    eta: np.ndarray
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Primal less dual, 0 where nothing but rounding is left."""
        gap = self.primal - self.dual
        return gap if gap > 1e-9 * abs(self.primal) else 0.0

    @property
    def bounds(self) -> np.ndarray:
        """What the weights of a solution cannot exceed."""
        tight = self.eta > 0.5 * (1 - 1e-9)  # but for rounding
        return weight_bounds(self.gap, np.where(tight, 0.5, self.eta))

    @property
    def zeros(self) -> int:
        """Number of weights that are exactly 0."""
        return int(np.sum(self.weights == 0))

    @property
    def is_clean(self) -> bool:
        """Whether this is the solution after the clean-up."""
        return not np.isfinite(self.lam)


@cache
def l1_path_frames(C: float) -> tuple[PathFrame, ...]:
    """Solve the Laplace MEDN for growing lambda, and then clean up by `medn_edu.solvers.l1_path`.

    The solver itself begins where the weights are of the right size, and takes larger steps.
    """
    problem = correlated_problem(C)
    frames: list[PathFrame] = []
    alpha: DualVariables | None = None
    for lam in _LAMS:
        scale = 1 / (2 * np.sqrt(lam))
        medn = Problem(problem.data, MarginLoss(LinearSlack(C / scale)), LaplacePrior(lam))
        passes = block_frank_wolfe(medn, rng=np.random.default_rng(0), warm_start=alpha)
        result = run(passes, medn, tol=1e-6, max_iter=2000)
        alpha = result.alpha
        assert alpha is not None
        frames.append(_frame(problem, len(frames), lam, result.weights, alpha.scaled(scale)))
    vertices = solve_along_path(problem, rng=np.random.default_rng(0), tol=1e-9, clean_up=True)
    clean = run(vertices, problem, tol=1e-9, max_iter=200)
    assert clean.alpha is not None
    frames.append(_frame(problem, len(frames), np.inf, clean.weights, clean.alpha))
    return tuple(frames)


def _frame(
    problem: Problem, step: int, lam: float, weights: np.ndarray, alpha: DualVariables
) -> PathFrame:
    return PathFrame(
        step=step,
        lam=lam,
        weights=np.abs(in_order(weights)),
        eta=np.minimum(np.abs(in_order(alpha.eta(problem.data))), 0.5),
        primal=problem.primal(weights),
        dual=problem.dual(alpha),
    )


class WeightsOnPath:
    """The figure: magnitudes of the weights, and below them those of their natural parameters."""

    def __init__(self) -> None:
        self.figure = new_figure(7.8, 5.2)
        top, bottom = self.figure.subplots(2, 1, sharex=True, height_ratios=[1.7, 1])
        with styled():
            self._draw_weights(top)
            self._draw_eta(bottom)

    def show(self, frame: PathFrame) -> None:
        """Show a step."""
        height = np.where(frame.weights > 0, np.clip(frame.weights, _FLOOR, _TOP), _ZERO)
        stems = [np.array([[x, _ZERO], [x, y]]) for x, y in zip(_AT, height, strict=True)]
        self._stems.set_segments(stems)
        gone = frame.weights == 0
        for name, part in group_slices().items():
            self._dots[name].set_data(_AT[part][~gone[part]], height[part][~gone[part]])
            self._gone[name].set_data(_AT[part][gone[part]], height[part][gone[part]])
        shown = (frame.bounds > _FLOOR) & (frame.bounds < 2 * _TOP)
        self._caps.set_data(_AT[shown], frame.bounds[shown])
        for bar, value in zip(self._bars, frame.eta, strict=True):
            bar.set_height(value)
        self._title.set_text(_title(frame))

    def _draw_weights(self, ax: Axes) -> None:
        colours = np.concatenate([[colour] * size for colour, size in GROUPS.values()])
        self._stems = ax.vlines(_AT, _ZERO, _ZERO, colors=colours, lw=2, alpha=0.5)
        self._dots, self._gone = {}, {}
        for name, (colour, size) in GROUPS.items():
            style = {"ls": "none", "marker": _MARKS[name], "color": colour, "zorder": 4}
            (self._dots[name],) = ax.plot([], [], ms=6, label=f"{name} ({size})", **style)
            (self._gone[name],) = ax.plot([], [], ms=6, mfc="white", clip_on=False, **style)
            self._gone[name].set_in_layout(False)  # while it is empty it would be in a corner
        (self._caps,) = ax.plot([], [], "_", color=INK, ms=9, mew=1.5, label="bound of $|w_k^*|$")
        _draw_scale(ax)
        ax.set_xlim(-0.8, _AT[-1] + 0.8)
        ax.tick_params(axis="x", length=0)
        self._title = ax.set_title("λ = 1", pad=24)
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(-0.02, 0.99),
            ncols=4,
            handletextpad=0.1,
            columnspacing=1,
        )

    def _draw_eta(self, ax: Axes) -> None:
        colours = np.concatenate([[colour] * size for colour, size in GROUPS.values()])
        self._bars = ax.bar(_AT, 0, 0.72, color=colours, alpha=0.8)
        ax.axhline(0.5, color=INK, lw=1.2, ls="--")
        ax.set(ylim=(0, 0.56), yticks=(0, 0.25, 0.5), ylabel="|η| / 2√λ")
        ax.set_yticks([0, 0.25, 0.5], ["0", "¼", "½"])
        middles = [_AT[i == _STRETCH_OF].mean() for i in range(len(_STRETCHES))]
        ax.set_xticks(middles, list(_STRETCHES))
        ax.tick_params(axis="x", length=0)


def draw_sorted_weights(ax: Axes, weights: Mapping[str, np.ndarray]) -> None:
    """Draw the magnitudes of several solutions, the largest first, exact zeros below all others."""
    with styled():
        _draw_scale(ax)
        for (name, found), style in zip(weights.items(), _SORTED, strict=False):
            size = np.sort(np.abs(found))[::-1]
            height = np.where(size > 0, np.clip(size, _FLOOR, _TOP), _ZERO)
            label = f"{name}: {np.sum(size == 0)} of {len(size)} exactly 0"
            ax.plot(
                np.arange(1, len(size) + 1), height, lw=1.2, ms=6, mfc="none", label=label, **style
            )
        ax.set_xlabel("weights, the largest first")
        ax.legend(loc="upper right")


def _draw_scale(ax: Axes) -> None:
    """Make a logarithmic scale of magnitudes, with a strip for exact zeros below it."""
    powers = range(-4, 1)
    names = [f"$10^{{{power}}}$" for power in powers]
    ax.set(yscale="log", ylim=(_ZERO / 1.6, 2 * _TOP), ylabel="$|w_k|$")
    heights = [_ZERO, _FLOOR, *(10.0**power for power in powers)]
    ax.set_yticks(heights, ["0", r"$\leq 10^{-5}$", *names])
    ax.minorticks_off()
    ax.axhspan(_ZERO / 1.6, _FLOOR / 1.5, color="#F2F4F5", lw=0, zorder=0)


@cache
def group_slices() -> dict[str, slice]:
    """Return where each group of `GROUPS` stands among the weights."""
    ends = np.cumsum([0, *(size for _, size in GROUPS.values())]).tolist()
    return {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(GROUPS)}


def _title(frame: PathFrame) -> str:
    where = "After the clean-up" if frame.is_clean else f"λ = {frame.lam:,.0f}"
    return f"{where}: cost {frame.primal:.3f} ≥ optimum ≥ {frame.dual:.3f}"


_SMALL = 1e-3


def l1_path() -> Explorer:
    """Return an explorer of the weights along the path of lambda to L1-M3N.

    Above the magnitudes of 36 weights, with the bounds that the gap puts on those of a solution;
    below their ``|eta| / (2 sqrt(lam))``, which must come to a half for a weight to stay.  The last
    step is the clean-up, of `medn_edu.solvers.l1_path`, after which weights are exactly 0.  Drawn
    by `medn_edu.explorers.l1_path`.

    Returns
    -------
    Explorer
        The explorer: its time is ``step``; ``C`` is the price of violated margins.

    Examples
    --------
    >>> explorer = l1_path()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = WeightsOnPath()
    most = max(len(l1_path_frames(C)) for C in PRICES) - 1

    def update(step: int, C: float) -> str:
        frame = _at(C, step)
        drawn.show(frame)
        return (
            f"C = {C:g}, {_where(frame)}: {np.sum(frame.weights > _SMALL)} of {len(frame.weights)} "
            f"weights above {_SMALL}, {frame.zeros} exactly 0; cost {frame.primal:.3f}, dual value "
            f"{frame.dual:.3f}, {_gap(frame)}."
        )

    def alt(step: int, C: float) -> str:
        frame = _at(C, step)
        largest = {name: frame.weights[part].max() for name, part in group_slices().items()}
        sizes = ", ".join(f"{name} {size:.2g}" for name, size in largest.items())
        return (
            f"Above, the magnitudes of {len(frame.weights)} weights on a logarithmic scale, largest "
            f"by group: {sizes}; below, |η| / 2√λ of each as a bar, "
            f"{np.sum(frame.eta > 0.495)} of them at the line of one half."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(most),
        name="l1-path",
        step=Time(0, most, 1, 0, label="step along λ", per_second=2),
        C=Choice(PRICES, 0.05),
    )


def _at(C: float, step: int) -> PathFrame:
    frames = l1_path_frames(C)
    return frames[min(step, len(frames) - 1)]


def _where(frame: PathFrame) -> str:
    return "after the clean-up" if frame.is_clean else f"λ = {frame.lam:,.0f}"


def _gap(frame: PathFrame) -> str:
    return "no gap" if frame.gap == 0 else f"gap {frame.gap / frame.primal:.1%}"


def _lessons(most: int) -> list[Lesson]:
    parts = group_slices()

    def nothing_is_zero(step: int, C: float) -> bool:
        frame = _at(C, step)
        return bool(frame.zeros == 0 and frame.eta.max() < 0.5)

    def those_below_die(step: int, C: float) -> bool:
        frame, clean = _at(C, step), _at(C, most)
        below = frame.eta < 0.45
        return bool(
            frame.gap < 0.05 * frame.primal
            and below.sum() > 10
            and np.all(clean.weights[below] == 0)
            and np.all(clean.weights <= frame.bounds * (1 + 1e-9))
        )

    def exact_zeros(step: int, C: float) -> bool:
        frame = _at(C, step)
        stays = frame.weights > 0
        return bool(frame.gap == 0 and frame.zeros > 18 and np.allclose(frame.eta[stays], 0.5))

    def one_copy_stays(step: int, C: float) -> bool:
        relevant = _at(C, step).weights[parts["relevant"]].reshape(-1, N_COPIES, N_LABELS)
        kept = np.sum(relevant > 0, axis=1)  # of the copies, for each group and label
        return bool(kept.max() == 1 and np.all(kept.sum(axis=1) > 0))

    def noise_is_gone(step: int, C: float) -> bool:
        weights = _at(C, step).weights
        return bool(np.all(weights[parts["irrelevant"]] == 0) and weights.any())

    return [
        Lesson(
            {"step": 0, "C": 0.05},
            "At a small λ no weight is 0 and no |η| / 2√λ reaches a half.",
            nothing_is_zero,
        ),
        Lesson(
            {"step": most - 3, "C": 0.05},
            "Near the end a weight whose |η| / 2√λ stays below a half is one that dies.",
            those_below_die,
        ),
        Lesson(
            {"step": most, "C": 0.05},
            "After the clean-up zeros are exact, and where a weight is left |η| / 2√λ is ½.",
            exact_zeros,
        ),
        Lesson(
            {"step": most, "C": 0.05},
            "Of three near-copies at most one keeps a weight for a label.",
            one_copy_stays,
        ),
        Lesson(
            {"step": most, "C": 0.02},
            "At a small C every weight of the irrelevant features is exactly 0.",
            noise_is_gone,
        ),
    ]
