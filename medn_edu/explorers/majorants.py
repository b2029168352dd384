"""Algorithm 1 with one weight: its parabolas, what they touch and what they don't.

The *true cost* of a mean is its divergence plus ``C max(0, 1 - mean)``.  Algorithm 1 (MEDN §5) puts a
parabola in place of the divergence (see `medn_edu.theory.jensen_bound`).  The lower envelope of all its
parabolas is the *bound*, which lies at least 0.274 above the true cost.  Other parabolas touch the true
cost itself and lead to the exact solution.  `medn_edu.theory.variational` has both kinds of iterations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Slider, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import INK, new_figure, styled
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.theory.laplace import jensen_bound
from medn_edu.theory.variational import cheapest_mean, one_weight_bounds, one_weight_tangents

KINDS = ("Algorithm 1", "touching the KL-norm")  # whose parabolas
MOST_ITERATIONS = 12
LATE = 10  # from here on the picture says where the bound is least: learners are asked before

_LOW, _HIGH = -0.8, 2.2  # how far the weight's axis reaches
_W = np.linspace(_LOW, _HIGH, 301)
_END = MOST_ITERATIONS + 0.6
_OFFSET = 0.5 + np.log(2) - 0.5 * np.log(2 * np.pi)  # what the bound loses at mean 0


@dataclass(frozen=True, eq=False)
class MajorantFrame:
    """One iteration, and all before it."""

    kind: str  # one of `KINDS`
    lam: float
    C: float
    number: int  # number of the iteration, from 1
    w: np.ndarray  # means at which the next three curves are given
    true: np.ndarray
    bound: np.ndarray
    parabola: np.ndarray
    touch: float  # the mean at which the parabola touches the bound, or the true cost
    variances: np.ndarray  # these four of all iterations so far
    means: np.ndarray
    costs: np.ndarray
    bounds: np.ndarray
    exact: float  # the mean of least true cost
    limit: float  # the mean of least bound

    @property
    def least(self) -> float:
        """The least true cost."""
        return float(_true_cost(np.array(self.exact), self.lam, self.C))


def majorant_frame(kind: str, number: int, lam: float, C: float) -> MajorantFrame:
    """Run iterations with one weight."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}.")
    if not 1 <= number <= MOST_ITERATIONS:
        raise ValueError(f"number is {number}; expected 1 to {MOST_ITERATIONS}.")
    w, (true, bound) = _W, _curves(lam, C)
    variances, means = (path[:number] for path in _iterations(kind, lam, C))
    costs = _true_cost(means, lam, C)
    if kind == KINDS[0]:
        parabola = _parabola(w, variances[-1], lam) + _penalty(w, C)
        square = lam * variances[-1] ** 2 - variances[-1]
        touch = float(np.sqrt(square)) if square >= 0 else float("nan")
        bounds = jensen_bound(means, variances, lam) + _penalty(means, C)
    else:
        touch = float(means[-2]) if number > 1 else 0.0
        height = float(LaplacePrior(lam).kl(np.array(touch)))
        parabola = height + (w**2 - touch**2) / (2 * variances[-1]) + _penalty(w, C)
        bounds = costs  # the next parabola touches the true cost here
    return MajorantFrame(
        kind, lam, C, number, w, true, bound, parabola, touch, variances, means, costs, bounds,
        exact=cheapest_mean(LaplacePrior(lam), C),
        limit=cheapest_mean(NormalGammaPrior(0.5, lam), C),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _curves(lam: float, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Return true cost and bound over the axis."""
    w = _W
    best = (1 + np.sqrt(1 + 4 * lam * w**2)) / (2 * lam)  # lam best^2 = w^2 + best
    return _true_cost(w, lam, C), jensen_bound(w, best, lam) + _penalty(w, C)


@lru_cache(maxsize=256)
def _iterations(kind: str, lam: float, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Return variances and means of all iterations."""
    iterations = one_weight_bounds if kind == KINDS[0] else one_weight_tangents
    return iterations(lam, C, MOST_ITERATIONS)


def _penalty(w: np.ndarray, C: float) -> np.ndarray:
    return C * np.maximum(0, 1 - w)


def _true_cost(w: np.ndarray, lam: float, C: float) -> np.ndarray:
    return LaplacePrior(lam).kl(w) + _penalty(w, C)


def _parabola(w: np.ndarray, variance: float, lam: float) -> np.ndarray:
    """Return the bound for one q and the best normal posterior of each mean."""
    return jensen_bound(w, np.array(variance), lam, tau=np.array(variance))


@lru_cache(maxsize=256)
def _top(lam: float, C: float) -> float:
    """Return how high the axes reach, the same for all iterations and both kinds."""
    variances, means = _iterations(KINDS[0], lam, C)
    first = float(_parabola(means[:1], variances[0], lam)[0] + _penalty(means[0], C))
    return 1.25 * max(first, float(_curves(lam, C)[1].max()) * 0.7)


@lru_cache(maxsize=256)
def _range(lam: float, C: float) -> tuple[float, float]:
    """Return the ends of the axis of costs, the same for all iterations and both kinds."""
    variances, means = _iterations(KINDS[0], lam, C)
    high = float((jensen_bound(means, variances, lam) + _penalty(means, C)).max())
    high = max(high, float(_true_cost(_iterations(KINDS[1], lam, C)[1], lam, C).max()))
    low = float(_true_cost(np.array(cheapest_mean(LaplacePrior(lam), C)), lam, C))
    return low - 0.45 * (high - low), high + 0.3 * (high - low)


def _draw_curves(ax: Axes) -> Callable[[MajorantFrame], None]:
    """Draw cost, bound and parabola over the mean."""
    nowhere = np.zeros(2)
    (true,) = ax.plot(nowhere, nowhere, "-", color=INK, lw=2.2, label="true cost")
    (bound,) = ax.plot(nowhere, nowhere, "--", color=palette.ORANGE, lw=2.2, label="lowest bound")
    (parabola,) = ax.plot(nowhere, nowhere, "-.", color=palette.BLUE, lw=1.8, label="parabola")
    marks = {"ls": "none", "mec": "white", "zorder": 5}
    (touch,) = ax.plot(
        [0], [0], color=palette.BLUE, marker="D", ms=9, label="touching point", **marks
    )
    (mean,) = ax.plot([0], [0], color=palette.BLUE, marker="o", ms=10, **marks)
    (exact,) = ax.plot([0], [0], color=INK, marker="*", ms=14, **marks)
    words = {"textcoords": "offset points", "fontsize": 9, "zorder": 6}
    mean_text = ax.annotate("mean", (0, 0), (3, 3), color=palette.BLUE, **words)
    exact_text = ax.annotate("exact", (0, 0), (0, -8), va="top", color=INK, **words)
    (drop,) = ax.plot(nowhere, nowhere, ":", color=palette.BLUE, lw=1.2)
    ax.set(xlim=(_LOW, _HIGH), xlabel=r"mean $\mu$ of the weight", ylabel="cost")
    ax.yaxis.set_major_formatter("{x:.2f}")  # so that all ticks are of one width
    title = ax.set_title(" ")

    def show(frame: MajorantFrame) -> None:
        true.set_data(frame.w, frame.true)
        bound.set_data(frame.w, frame.bound)
        bound.set_alpha(1.0 if frame.kind == KINDS[0] else 0.35)
        parabola.set_data(frame.w, frame.parabola)
        here = frame.means[-1]
        height = np.interp(here, frame.w, frame.parabola)
        mean.set_data([here], [height])
        low, top = -_top(frame.lam, frame.C) / 20, _top(frame.lam, frame.C)
        drop.set_data([here, here], [low, height])
        touches = [] if np.isnan(frame.touch) or frame.touch > _HIGH else [frame.touch]
        touch.set_data(touches, np.interp(touches, frame.w, frame.parabola))
        exact.set_data([frame.exact], [frame.least])
        mean_text.xy, exact_text.xy = (here, low), (frame.exact, frame.least)
        pair = (mean_text, exact_text) if here <= frame.exact else (exact_text, mean_text)
        pair[0].set(ha="right", x=-4)  # either side of the line that drops
        pair[1].set(ha="left", x=4)
        title.set_text(f"The cost of each mean, iteration {frame.number}")
        ax.set_ylim(low, top)

    return show


def _draw_means(ax: Axes) -> Callable[[MajorantFrame], None]:
    """Draw the means of the iterations so far, and those where they should and do end."""
    (means,) = ax.plot([0, 0], [0, 0], "o-", color=palette.BLUE, ms=6, mec="white")

    def level(dashes: str, side: str, colour: str) -> tuple[Any, Any]:
        (line,) = ax.plot([0, 20], [0, 0], dashes, color=colour, lw=1.2, zorder=1)
        return line, ax.text(_END, 0, "", ha="right", va=side, color=colour, fontsize=9)

    exact, exact_text = level(":", "bottom", INK)
    limit, limit_text = level("--", "top", palette.ORANGE_TEXT)
    ax.set(xlim=(0.4, _END), ylim=(-0.25, 1.3), xticks=(1, 4, 8, 12), yticks=(0, 0.5, 1))
    ax.tick_params(labelbottom=False)
    ax.set_title("Mean so far")

    def show(frame: MajorantFrame) -> None:
        means.set_data(np.arange(1, frame.number + 1), frame.means)
        late = frame.number >= LATE
        alike = late and frame.exact == frame.limit
        exact.set_ydata([frame.exact] * 2)
        exact_text.set_y(frame.exact + 0.05)
        exact_text.set_text(f"exact{', least bound' if alike else ''} {frame.exact:.2f}")
        limit.set_ydata([frame.limit] * 2)
        limit_text.set_y(frame.limit - 0.09)
        limit_text.set_text(f"least bound {frame.limit:.2f}")
        limit.set_visible(late)
        limit_text.set_visible(late and not alike)

    return show


def _draw_costs(ax: Axes) -> Callable[[MajorantFrame], None]:
    """Draw what each iteration paid, by the bound and in truth."""
    (bounds,) = ax.plot([0, 0], [0, 0], "s--", color=palette.ORANGE, ms=6, mec="white")
    (costs,) = ax.plot([0, 0], [0, 0], "o-", color=INK, ms=6, mec="white")
    (least,) = ax.plot([0, 20], [0, 0], ":", color=INK, lw=1.2, zorder=1)
    bound_text = ax.text(0, 0, "bound", ha="left", va="bottom", color=palette.ORANGE_TEXT)
    cost_text = ax.text(0, 0, "true cost", ha="left", va="top", color=INK)
    ax.set(xlim=(0.4, _END), xlabel="iteration", xticks=(1, 4, 8, 12))
    ax.set_title("Its cost so far")

    def show(frame: MajorantFrame) -> None:
        numbers = np.arange(1, frame.number + 1)
        bounds.set_data(numbers, frame.bounds)
        costs.set_data(numbers, frame.costs)
        least.set_ydata([frame.least] * 2)
        for artist in (bounds, bound_text):
            artist.set_visible(frame.kind == KINDS[0])
        low, high = _range(frame.lam, frame.C)
        pad = 0.06 * (high - low)
        bound_text.set_position((0.8, float(frame.bounds[0]) + pad))
        cost_text.set_position((0.8, frame.least - pad))
        ax.set_ylim(low, high)

    return show


@lesson(
    "Algorithm 1's parabola touches the bound and stays at least 0.274 above the true cost.",
    {"kind": KINDS[0], "number": 4, "lam": 4, "C": 1.0},
)
def _stays_above(kind: str, number: int, lam: int, C: float) -> bool:
    frame = majorant_frame(kind, number, float(lam), C)
    above = (frame.parabola - frame.bound).min()
    return bool(0 <= above < 1e-3 and (frame.parabola - frame.true).min() > _OFFSET - 1e-9)


@lesson(
    "The bound falls all the time. The mean passes the exact one and goes to half of it, so the "
    "true cost rises again.",
    {"kind": KINDS[0], "number": MOST_ITERATIONS, "lam": 4, "C": 1.0},
)
def _passes(kind: str, number: int, lam: int, C: float) -> bool:
    frame = majorant_frame(kind, number, float(lam), C)
    passed = frame.means[0] > frame.exact > frame.means[-1]
    falls = bool((np.diff(frame.bounds) < 0).all())
    half = np.isclose(frame.limit, frame.exact / 2)
    near = abs(frame.means[-1] - frame.limit) < 0.01
    rises = frame.costs[-1] > frame.costs.min() + 0.03
    return bool(passed and falls and half and near and rises)


@lesson(
    "Parabolas that touch the true cost lead to the exact solution.",
    {"kind": KINDS[1], "number": 8, "lam": 4, "C": 1.0},
)
def _arrives(kind: str, number: int, lam: int, C: float) -> bool:
    frame = majorant_frame(kind, number, float(lam), C)
    touches = np.interp(frame.touch, frame.w, frame.parabola - frame.true)
    return bool(abs(touches) < 1e-3 and abs(frame.means[-1] - frame.exact) < 1e-3)


_CAPTION = (
    "Left, three costs of one weight against its mean: the true cost (solid), the lowest bound "
    "that Algorithm 1 has (orange, dashed), and the parabola that this iteration minimises "
    "(dash-dotted). The diamond marks where the parabola touches one of the other two. Right, the "
    "means so far and their costs. Look at which curve the parabola touches, and where the means "
    "are heading."
)


def majorants() -> Explorer:
    """Return an explorer of the quadratic programs of Algorithm 1, for one weight.

    On the left, the true cost, the bound and the present parabola against the mean of the weight. On
    the right, the means and costs of the iterations so far.

    Returns
    -------
    Explorer
        The explorer: its time is ``number``, that of the iteration; ``kind`` says whose parabolas,
        ``lam`` is the Laplace prior's constant and ``C`` the price of violating the margin by 1.
    """
    figure = new_figure(8.0, 4.3)
    axes = figure.subplot_mosaic([["curves", "means"], ["curves", "costs"]], width_ratios=[1.7, 1])
    with styled():
        panels = [
            _draw_curves(axes["curves"]),
            _draw_means(axes["means"]),
            _draw_costs(axes["costs"]),
        ]
        keys, names = axes["curves"].get_legend_handles_labels()
        figure.legend(keys, names, loc="outside lower center", ncols=4, handlelength=1.8)

    def touched(frame: MajorantFrame) -> str:
        if np.isnan(frame.touch):
            return "nothing"
        what = "the bound" if frame.kind == KINDS[0] else "the true cost"
        return (
            f"{what} at {frame.touch:.3f}{', right of the picture' if frame.touch > _HIGH else ''}"
        )

    def update(kind: str, number: int, lam: int, C: float) -> str:
        frame = majorant_frame(kind, number, float(lam), C)
        for show in panels:
            show(frame)
        whose = kind if kind == KINDS[0] else f"Parabolas {kind}"
        known = f", bound {frame.bounds[-1]:.3f}" if kind == KINDS[0] else ""
        return (
            f"{whose}, λ = {lam}, C = {C:g}, iteration {number}: variance "
            f"{frame.variances[-1]:.3f}, the parabola touches {touched(frame)}; mean "
            f"{frame.means[-1]:.3f}{known}, true cost {frame.costs[-1]:.3f}; the exact mean is "
            f"{frame.exact:.3f} and costs {frame.least:.3f}."
        )

    def alt(kind: str, number: int, lam: int, C: float) -> str:
        frame = majorant_frame(kind, number, float(lam), C)
        least = f", least at {frame.limit:.3f}," if number >= LATE else ""
        return (
            "Left, against the mean of one weight: the true cost, least at "
            f"{frame.exact:.3f}, above it the bound{least} and the parabola of "
            f"iteration {number}, least at {frame.means[-1]:.3f}, which touches {touched(frame)}. "
            f"Right, the mean of each iteration so far and its cost, now {frame.costs[-1]:.3f}."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_stays_above, _passes, _arrives],
        name="majorants",
        kind=Choice(KINDS, KINDS[0], label="parabolas"),
        number=Time(1, MOST_ITERATIONS, 1, 2, label="iteration", per_second=1),
        lam=Slider(1, 9, 1, 4, label="λ"),
        C=Slider(0.25, 2.0, 0.25, 1.0, label="C"),
    )


EXHIBIT = Exhibit("Majorants come down to the cost", "variational", majorants)
