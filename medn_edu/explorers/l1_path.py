"""Weights that switch off along the path to L1-M3N.

As lambda grows the Laplace MEDN becomes L1-M3N.  All along the path its means are weights for L1-M3N,
and its ``eta / (2 sqrt(lam))`` is a dual point.  So there are two bounds.  While they are ``gap``
apart, no weight of a solution is larger than ``gap / (1/2 - |eta / (2 sqrt(lam))|)``, so some weights
must become zero.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets import make_chain_crf
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import readable
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import LaplacePrior
from medn_edu.problems import DualVariables, L1Norm, MarginLoss, Problem, weight_bounds
from medn_edu.results import run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.solvers.l1_path import l1_path as solve_along_path

PRICES = (0.02, 0.05, 0.1)  # constants C
LAST = 14  # the step of the clean-up
_LAMS = 10.0 ** np.arange(0, LAST / 2, 0.5)

# The problem: two groups of three correlated relevant features, near-copies, and three of noise.
_N_LABELS, _N_RELEVANT, _N_FEATURES, _N_COPIES = 3, 6, 9, 3
_GROUPS = {  # marker, colour and place among the weights
    "relevant": ("o", palette.BLUE, slice(0, 18)),
    "irrelevant": ("s", palette.VERMILION, slice(18, 27)),
    "transitions": ("^", palette.SLATE, slice(27, 36)),
}
_COLOURS = [palette.BLUE] * 18 + [palette.VERMILION] * 9 + [palette.SLATE] * 9
# Three weights of one feature, one per label, are neighbours; three features make a stretch.
_TRIPLES = [f"copy {k}" for k in (1, 2, 3)] * 2 + [f"noise {k}" for k in (1, 2, 3)]
_TRIPLES += [f"from {label}" for label in "abc"]
_STRETCHES = ("first feature", "second feature", "irrelevant", "transitions")
_AT = np.arange(36) + 0.8 * np.repeat(range(12), 3) + 1.2 * np.repeat(range(4), 9)

_SORTED: tuple[dict[str, Any], ...] = (
    {"color": palette.BLUE, "linestyle": "-", "marker": "o"},
    {"color": INK, "linestyle": (0, (1, 3)), "marker": "+"},
    {"color": palette.GREEN, "linestyle": "-.", "marker": "D"},
    {"color": palette.ORANGE, "linestyle": "--", "marker": "s"},
    {"color": palette.VERMILION, "linestyle": ":", "marker": "v"},
)
_FLOOR, _TOP = 1e-5, 4.0
_ROOM = 80.0  # above the weights: for every finite bound on them
_ZERO = _FLOOR / 4  # height at which exact zeros are drawn
_SMALL = 1e-3


def correlated_problem(C: float) -> Problem:
    """Return the L1-M3N of 30 chains with two groups of correlated features and three of noise."""
    chains = make_chain_crf(
        30, _N_FEATURES, _N_RELEVANT, _N_LABELS, 5, correlated=True, sampler="exact", random_state=0
    )
    allowed = np.ones((1, _N_LABELS, _N_LABELS), dtype=bool)
    data = label_samples(pack(chains.data), np.concatenate(chains.target), allowed)
    return Problem(data, MarginLoss(LinearSlack(C)), L1Norm())


@dataclass(frozen=True, eq=False)
class PathFrame:
    """Where the path is after a step."""

    lam: float  # constant of the Laplace prior; infinite after the clean-up
    weights: np.ndarray  # magnitudes, feature by feature and then transitions
    eta: np.ndarray  # magnitudes, by 2 sqrt(lam)
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
    def where(self) -> str:
        """The step in words."""
        return f"λ = {self.lam:,.0f}" if np.isfinite(self.lam) else "after the clean-up"


@cache
def l1_path_frames(C: float) -> tuple[PathFrame, ...]:
    """Solve the Laplace MEDN for growing lambda, and then clean up by `medn_edu.solvers.l1_path`.

    The solver itself begins where the weights are of the right size, and takes larger steps.
    """
    problem = correlated_problem(C)
    frames: list[PathFrame] = []

    def keep(lam: float, weights: np.ndarray, alpha: DualVariables) -> None:
        in_order, eta = (_in_order(np.abs(each)) for each in (weights, alpha.eta(problem.data)))
        primal, dual = problem.primal(weights), problem.dual(alpha)
        frames.append(PathFrame(lam, in_order, np.minimum(eta, 0.5), primal, dual))

    alpha: DualVariables | None = None
    for lam in _LAMS:
        scale = 1 / (2 * np.sqrt(lam))
        medn = Problem(problem.data, MarginLoss(LinearSlack(C / scale)), LaplacePrior(lam))
        passes = block_frank_wolfe(medn, rng=np.random.default_rng(0), warm_start=alpha)
        result = run(passes, medn, tol=1e-6, max_iter=2000)
        alpha = result.alpha
        assert alpha is not None
        keep(lam, result.weights, alpha.scaled(scale))
    vertices = solve_along_path(problem, rng=np.random.default_rng(0), tol=1e-9, clean_up=True)
    clean = run(vertices, problem, tol=1e-9, max_iter=200)
    assert clean.alpha is not None
    keep(np.inf, clean.weights, clean.alpha)
    return tuple(frames)


def _in_order(weights: np.ndarray) -> np.ndarray:
    """Return weights feature by feature, so that those of one feature and one group are neighbours."""
    n = _N_LABELS * _N_FEATURES
    return np.concatenate([weights[:n].reshape(_N_LABELS, _N_FEATURES).T.ravel(), weights[n:]])


def _draw_scale(ax: Axes, top: float = 2 * _TOP) -> None:
    """Make a logarithmic scale of magnitudes, with a strip for exact zeros below it."""
    powers = range(-4, 1 + int(np.log10(top)))
    names = [f"$10^{{{power}}}$" for power in powers]
    ax.set(yscale="log", ylim=(_ZERO / 1.6, top), ylabel="size of the weight, $|w_k|$")
    heights = [_ZERO, _FLOOR, *(10.0**power for power in powers)]
    ax.set_yticks(heights, ["0", "up to $10^{-5}$", *names])
    ax.minorticks_off()
    ax.axhspan(_ZERO / 1.6, _FLOOR / 1.5, color="#F2F4F5", lw=0, zorder=0)


def _height(weights: np.ndarray) -> np.ndarray:
    return np.where(weights > 0, np.clip(weights, _FLOOR, _TOP), _ZERO)


def _draw_weights(ax: Axes) -> Callable[[PathFrame], None]:
    """Draw the magnitudes of the weights: dots on stems, hollow where they are exactly 0."""
    stems = ax.vlines(_AT, _ZERO, _ZERO, colors=_COLOURS, lw=2, alpha=0.5)
    solid, hollow = {}, {}
    for name, (marker, colour, _) in _GROUPS.items():
        style = {"ls": "none", "marker": marker, "color": colour, "ms": 6, "zorder": 4}
        (solid[name],) = ax.plot([], [], **style)
        (hollow[name],) = ax.plot([], [], mfc="white", clip_on=False, **style)
        hollow[name].set_in_layout(False)  # while it is empty it would be in a corner
    (caps,) = ax.plot(
        [], [], "_", color=MUTED, ms=7, mew=1.2, label="upper bound on this weight in any solution"
    )
    _draw_scale(ax, _ROOM)
    ax.set_xlim(-0.8, _AT[-1] + 0.8)
    ax.tick_params(axis="x", length=0)
    title = ax.set_title("λ = 1", pad=24)
    place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.99)}
    ax.legend(**place, handletextpad=0.1)

    def show(frame: PathFrame) -> None:
        height, gone = _height(frame.weights), frame.weights == 0
        stems.set_segments(
            [np.array([[x, _ZERO], [x, y]]) for x, y in zip(_AT, height, strict=True)]
        )
        for name, (_, _, part) in _GROUPS.items():
            for dots, chosen in ((solid, ~gone[part]), (hollow, gone[part])):
                dots[name].set_data(_AT[part][chosen], height[part][chosen])
        shown = (frame.bounds > _FLOOR) & (frame.bounds < _ROOM)
        caps.set_data(_AT[shown], frame.bounds[shown])
        where = frame.where.replace("after", "After")
        title.set_text(f"{where}: cost {frame.primal:.3f} ≥ optimum ≥ {frame.dual:.3f}")

    return show


def _draw_eta(ax: Axes) -> Callable[[PathFrame], None]:
    """Draw the natural parameters' magnitudes as bars that must come to a half."""
    bars = ax.bar(_AT, 0, 0.72, color=_COLOURS, alpha=0.8)
    ax.axhline(0.5, color=INK, lw=1.2, ls="--")
    ax.text(_AT[-1] + 0.8, 0.52, "½, the price of a unit of weight", ha="right", va="bottom")
    ax.set(ylim=(0, 0.64), ylabel="natural parameter,\n|η| / (2√λ)")
    ax.set_yticks([0, 0.25, 0.5], ["0", "¼", "½"])
    middle = dict(zip(range(1, 12, 3), _STRETCHES, strict=True))
    words = [f"{name}\n{middle.get(k, ' ')}" for k, name in enumerate(_TRIPLES)]
    ax.set_xticks(_AT.reshape(12, 3).mean(axis=1), words)
    ax.tick_params(axis="x", length=0)

    def show(frame: PathFrame) -> None:
        for bar, value in zip(bars, frame.eta, strict=True):
            bar.set_height(value)

    return show


def draw_sorted_weights(ax: Axes, weights: Mapping[str, np.ndarray]) -> None:
    """Draw the magnitudes of several solutions, the largest first, exact zeros below all others."""
    with styled():
        _draw_scale(ax)
        drawn, ends = [], dict[int, list[tuple[str, str]]]()
        for (name, found), style in zip(weights.items(), _SORTED, strict=False):
            size = np.sort(np.abs(found))[::-1]
            at = np.arange(1, len(size) + 1)
            drawn.append(_height(size))
            ax.plot(at, drawn[-1], lw=1.2, ms=6, mfc="none", label=name, **style)
            ends.setdefault(int(np.count_nonzero(size)), []).append((name, style["color"]))
        for kept, named in ends.items():  # next to where a solution ends
            names, colours = zip(*named, strict=True)
            words = ",\n".join(names) + f"\n{len(size) - kept} of {len(size)}\nare 0"
            look = {"linespacing": 1, "color": readable(colours[0])}
            here = np.array(drawn)[:, kept : kept + 6]  # what is drawn where the words stand
            if ((here >= _FLOOR) & (here < 20 * _FLOOR)).any():
                ax.text(kept + 0.2, 2 * np.max(drawn, axis=0)[kept - 1], words, va="bottom", **look)
            else:
                ax.text(kept + 1.2, 10 * _FLOOR, words, va="top", **look)
        ax.set_xlabel("place of the weight, the largest first")


@lesson("At a small λ no weight is 0, and no bar reaches a half.", {"step": 0, "C": 0.05})
def _nothing_is_zero(step: int, C: float) -> bool:
    frame = l1_path_frames(C)[step]
    return bool(frame.zeros == 0 and frame.eta.max() < 0.5)


@lesson(
    "Near the end, every weight whose bar stays well below a half is on its way to 0.",
    {"step": LAST - 3, "C": 0.05},
)
def _those_below_die(step: int, C: float) -> bool:
    frame, clean = l1_path_frames(C)[step], l1_path_frames(C)[LAST]
    below = frame.eta < 0.45
    return bool(
        frame.gap < 0.05 * frame.primal
        and below.sum() > 10
        and np.all(clean.weights[below] == 0)
        and np.all(clean.weights <= frame.bounds * (1 + 1e-9))
    )


@lesson(
    "After the clean-up the zeros are exact, and every weight that is left has a bar of exactly ½.",
    {"step": LAST, "C": 0.05},
)
def _exact_zeros(step: int, C: float) -> bool:
    frame = l1_path_frames(C)[step]
    stays = frame.weights > 0
    return bool(frame.gap == 0 and frame.zeros > 18 and np.allclose(frame.eta[stays], 0.5))


@lesson(
    "For each label, at most one of three near-copies keeps a weight.", {"step": LAST, "C": 0.05}
)
def _one_copy_stays(step: int, C: float) -> bool:
    relevant = l1_path_frames(C)[step].weights[:18].reshape(-1, _N_COPIES, _N_LABELS)
    kept = np.sum(relevant > 0, axis=1)  # of the copies, for each group and label
    return bool(kept.max() == 1 and np.all(kept.sum(axis=1) > 0))


@lesson(
    "At a small C every weight of the irrelevant features is exactly 0.",
    {"step": LAST, "C": 0.02},
)
def _noise_is_gone(step: int, C: float) -> bool:
    weights = l1_path_frames(C)[step].weights
    return bool(np.all(weights[_GROUPS["irrelevant"][2]] == 0) and weights.any())


_CAPTION = (
    "Above, the size of each of the 36 weights at this $\\lambda$. Three neighbouring weights, one per "
    "label, belong to one feature, or to the transitions from one label. A short grey line marks the "
    "largest size that a weight can have in any solution. Below, the natural parameter of each weight, "
    "divided by $2\\sqrt\\lambda$, and a dashed line at one half. Compare the two panels weight by "
    "weight: which weights keep their size?"
)


def l1_path() -> Explorer:
    """Return an explorer of the weights along the path of lambda to L1-M3N.

    Above the magnitudes of 36 weights, with the bounds that the gap puts on those of a solution;
    below their ``|eta| / (2 sqrt(lam))``, which must come to a half for a weight to stay.  The last
    step is the clean-up, of `medn_edu.solvers.l1_path`, after which weights are exactly 0.

    Returns
    -------
    Explorer
        The explorer: its time is ``step``; ``C`` is the price of violated margins.
    """
    figure = new_figure(7.8, 5.2)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[1.7, 1])
    with styled():
        show_weights, show_eta = _draw_weights(top), _draw_eta(bottom)

    def update(step: int, C: float) -> str:
        frame = l1_path_frames(C)[step]
        show_weights(frame)
        show_eta(frame)
        gap = "no gap" if frame.gap == 0 else f"gap {frame.gap / frame.primal:.1%}"
        return (
            f"C = {C:g}, {frame.where}: {np.sum(frame.weights > _SMALL)} of {len(frame.weights)} "
            f"weights are above {_SMALL}, and {frame.zeros} are exactly 0. The cost is "
            f"{frame.primal:.3f}, the dual value {frame.dual:.3f}, {gap}."
        )

    def alt(step: int, C: float) -> str:
        frame = l1_path_frames(C)[step]
        largest = {name: frame.weights[part].max() for name, (_, _, part) in _GROUPS.items()}
        sizes = ", ".join(f"{name} {size:.2g}" for name, size in largest.items())
        return (
            f"Above, the magnitudes of {len(frame.weights)} weights on a logarithmic scale, largest "
            f"by group: {sizes}; below, the natural parameter |η| / (2√λ) of each as a bar, "
            f"{np.sum(frame.eta > 0.495)} of them at the line of one half."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_nothing_is_zero, _those_below_die, _exact_zeros, _one_copy_stays, _noise_is_gone],
        name="l1-path",
        step=listed(
            range(LAST + 1),
            0,
            "λ",
            texts=[*(f"{lam:,.0f}" for lam in _LAMS), "clean-up"],
            per_second=2,
        ),
        C=Choice(PRICES, 0.05),
    )


EXHIBIT = Exhibit("Weights switch off along the path", "l1-m3n", l1_path, place=1)
