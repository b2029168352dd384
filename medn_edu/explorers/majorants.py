r"""Algorithm 1 with one weight: parabolas, what they touch, and what they do not.

One weight is to be 1 ahead, :math:`\mu \ge 1 - \xi`, and violations cost :math:`C \xi`.  With a Laplace
prior P1 asks for the least of the *true cost*

.. math:: \Lambda^*(\mu) + C \max(0, 1 - \mu),

where :math:`\Lambda^*`, the KL-norm's one term, is the divergence of the cheapest posterior of mean
:math:`\mu` (Corollary 6).  Step 1 of Algorithm 1 (MEDN §5) puts a parabola of curvature
:math:`1 / \sigma^2` in its place, `medn_edu.theory.jensen_bound` with
:math:`1 / \langle 1/\tau \rangle = \sigma^2`.  For each mean the lowest of all these parabolas is the
*bound*, Eq. (11) being put in and the variance chosen best,

.. math:: \min_\sigma \big\{ \sqrt{\lambda (\mu^2 + \sigma^2)} - \log \sigma \big\} + \text{const},
          \qquad \lambda \sigma^4 = \mu^2 + \sigma^2 .

Each parabola touches the bound, where :math:`\mu^2 = \lambda \sigma^4 - \sigma^2`, and none comes nearer
to the true cost than :math:`\tfrac12 + \log 2 - \tfrac12 \log 2 \pi = 0.274`.

There is a parabola that touches :math:`\Lambda^*`, as that is a concave function of :math:`\mu^2`.  Its
variance is the expected one under the tilted prior,
:math:`\langle \tau \rangle = 2 / (\lambda - \eta^2) = (1 + \sqrt{1 + \lambda \mu^2}) / \lambda`, and
iterations with it lead to the exact solution.

Both kinds of iterations are in `medn_edu.theory.variational`; `majorant_frame` puts together what one of
them shows, and `Majorants` is the figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit.controls import Choice, Slider, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.theory.laplace import jensen_bound
from medn_edu.theory.variational import cheapest_mean, one_weight_bounds, one_weight_tangents

KINDS = ("Algorithm 1", "touching the KL-norm")
"""Which parabolas the explorer offers."""

MOST_ITERATIONS = 12
"""How many iterations are shown."""

_LOW, _HIGH = -0.8, 2.2  # how far the weight's axis reaches
_TRUE, _BOUND, _PARABOLA = INK, "#E69F00", "#0072B2"
_BOUND_TEXT = "#8A5A00"  # the bound's colour, dark enough to be read
_END = MOST_ITERATIONS + 0.6


@dataclass(frozen=True, eq=False)
class MajorantFrame:
    """One iteration, and all before it."""

    kind: str  # one of `KINDS`
    lam: float
    C: float
    number: int  # number of the iteration, from 1
    w: np.ndarray  # means at which curves are given
    true: np.ndarray
    bound: np.ndarray
    parabola: np.ndarray
    touch: float  # the mean at which the parabola touches the bound, or the true cost
    variances: np.ndarray
    means: np.ndarray
    costs: np.ndarray
    bounds: np.ndarray
    exact: float
    limit: float

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
    w = np.linspace(_LOW, _HIGH, 301)
    true, bound = _curves(lam, C)
    variances, means = (path[:number] for path in _iterations(kind, lam, C))
    costs = _true_cost(means, lam, C)
    if kind == KINDS[0]:
        parabola = _parabola(w, variances[-1], lam) + _penalty(w, C)
        touch = _touch_of_bound(variances[-1], lam)
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
    w = np.linspace(_LOW, _HIGH, 301)
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


def _touch_of_bound(variance: float, lam: float) -> float:
    square = lam * variance**2 - variance
    return float(np.sqrt(square)) if square >= 0 else float("nan")


class Majorants:
    """The figure: cost, bound and parabola over the mean; what each iteration paid.

    `show` changes it in place.
    """

    def __init__(self) -> None:
        self.figure = new_figure(8.0, 4.3)
        axes = self.figure.subplot_mosaic(
            [["curves", "means"], ["curves", "costs"]], width_ratios=[1.7, 1]
        )
        with styled():
            self._draw_curves(axes["curves"])
            self._draw_means(axes["means"])
            self._draw_costs(axes["costs"])
            keys, names = axes["curves"].get_legend_handles_labels()
            self.figure.legend(keys, names, loc="outside lower center", ncols=3, handlelength=2)

    def show(self, frame: MajorantFrame) -> None:
        """Show an iteration."""
        self._show_curves(frame)
        self._show_means(frame)
        self._show_costs(frame)

    # -- the curves, on the left ------------------------------------------------------------------

    def _draw_curves(self, ax: Axes) -> None:
        nowhere = np.zeros(2)
        self._left = ax
        (self._true,) = ax.plot(nowhere, nowhere, "-", color=_TRUE, lw=2.2, label="true cost")
        (self._bound,) = ax.plot(
            nowhere, nowhere, "--", color=_BOUND, lw=2.2, label="bound, at its best"
        )
        (self._parabola,) = ax.plot(
            nowhere, nowhere, "-.", color=_PARABOLA, lw=1.8, label="this iteration's parabola"
        )
        marks = {"ls": "none", "mec": "white", "zorder": 5}
        (self._touch,) = ax.plot(
            [0], [0], color=_PARABOLA, marker="D", ms=9, label="touches", **marks
        )
        (self._mean,) = ax.plot([0], [0], color=_PARABOLA, marker="o", ms=10, label="mean", **marks)
        (self._exact,) = ax.plot(
            [0], [0], color=_TRUE, marker="*", ms=14, label="exact solution", **marks
        )
        (self._drop,) = ax.plot(nowhere, nowhere, ":", color=_PARABOLA, lw=1.2)
        self._number = ax.text(0.02, 0.03, "", transform=ax.transAxes, color=MUTED)
        ax.set(xlim=(_LOW, _HIGH), xlabel=r"mean $\mu$ of the weight", ylabel="cost")
        ax.set_title("Over the mean")

    def _show_curves(self, frame: MajorantFrame) -> None:
        here, top = frame.means[-1], _top(frame.lam, frame.C)
        self._true.set_data(frame.w, frame.true)
        self._bound.set_data(frame.w, frame.bound)
        self._bound.set_alpha(1.0 if frame.kind == KINDS[0] else 0.35)
        self._parabola.set_data(frame.w, frame.parabola)
        height = np.interp(here, frame.w, frame.parabola)
        self._mean.set_data([here], [height])
        self._drop.set_data([here, here], [0, height])
        shown = not np.isnan(frame.touch) and frame.touch <= _HIGH
        self._touch.set_data(
            [frame.touch] if shown else [],
            [np.interp(frame.touch, frame.w, frame.parabola)] if shown else [],
        )
        self._exact.set_data([frame.exact], [frame.least])
        self._number.set_text(f"iteration {frame.number}")
        self._left.set_ylim(0, top)

    # -- means and costs of all iterations, on the right ------------------------------------------

    def _draw_means(self, ax: Axes) -> None:
        (self._means,) = ax.plot([0, 0], [0, 0], "o-", color=_PARABOLA, ms=6, mec="white")
        self._ends, self._end_texts = [], []
        for name, dashes, side in (("exact", ":", "bottom"), ("limit", "--", "top")):
            colour = _TRUE if name == "exact" else _BOUND_TEXT
            (line,) = ax.plot([0, 20], [0, 0], dashes, color=colour, lw=1.2, zorder=1)
            text = ax.text(_END, 0, "", ha="right", va=side, color=colour, fontsize=9)
            self._ends.append(line)
            self._end_texts.append(text)
        ax.set(xlim=(0.4, _END), ylim=(-0.25, 1.3), xticks=(1, 4, 8, 12), yticks=(0, 0.5, 1))
        ax.tick_params(labelbottom=False)
        ax.set_title("Its mean")

    def _show_means(self, frame: MajorantFrame) -> None:
        self._means.set_data(np.arange(1, frame.number + 1), frame.means)
        names = (f"exact {frame.exact:.2f}", f"least bound {frame.limit:.2f}")
        values = (frame.exact, frame.limit)
        for line, text, name, value in zip(self._ends, self._end_texts, names, values, strict=True):
            line.set_ydata([value, value])
            text.set_y(value + (0.05 if value == frame.exact else -0.09))
            text.set_text(name)
        if frame.exact == frame.limit:
            self._end_texts[0].set_text(f"exact and least bound {frame.exact:.2f}")
        self._end_texts[1].set_visible(frame.exact != frame.limit)

    def _draw_costs(self, ax: Axes) -> None:
        self._right = ax
        (self._bounds,) = ax.plot([0, 0], [0, 0], "s--", color=_BOUND, ms=6, mec="white")
        (self._costs,) = ax.plot([0, 0], [0, 0], "o-", color=_TRUE, ms=6, mec="white")
        (self._least,) = ax.plot([0, 20], [0, 0], ":", color=_TRUE, lw=1.2, zorder=1)
        self._bound_text = ax.text(0, 0, "bound", ha="left", va="bottom", color=_BOUND_TEXT)
        self._cost_text = ax.text(0, 0, "true cost", ha="left", va="top", color=_TRUE)
        ax.set(xlim=(0.4, _END), xlabel="iteration", xticks=(1, 4, 8, 12))
        ax.set_title("What it costs")

    def _show_costs(self, frame: MajorantFrame) -> None:
        numbers = np.arange(1, frame.number + 1)
        self._bounds.set_data(numbers, frame.bounds)
        self._costs.set_data(numbers, frame.costs)
        self._least.set_ydata([frame.least] * 2)
        for artist in (self._bounds, self._bound_text):
            artist.set_visible(frame.kind == KINDS[0])
        low, high = _range(frame.lam, frame.C)
        pad = 0.06 * (high - low)
        self._bound_text.set_position((0.8, float(frame.bounds[0]) + pad))
        self._cost_text.set_position((0.8, frame.least - pad))
        self._right.set_ylim(low, high)


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


_OFFSET = 0.5 + np.log(2) - 0.5 * np.log(2 * np.pi)  # what the bound loses at mean 0


def majorants() -> Explorer:
    """Return an explorer of the quadratic programs of Algorithm 1, for one weight.

    On the left true cost, bound and the present parabola over the mean of the weight; on the right
    means and costs of the iterations so far.  Drawn by `medn_edu.explorers.majorants`.

    Returns
    -------
    Explorer
        The explorer: its time is ``number``, that of the iteration; ``kind`` says whose parabolas,
        ``lam`` is the Laplace prior's constant and ``C`` the price of a missing margin.

    Examples
    --------
    >>> explorer = majorants()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Majorants()

    def update(kind: str, number: int, lam: int, C: float) -> str:
        frame = majorant_frame(kind, number, float(lam), C)
        drawn.show(frame)
        known = f", bound {frame.bounds[-1]:.3f}" if kind == KINDS[0] else ""
        return (
            f"{_named(kind)}, λ = {lam}, C = {C:g}, iteration {number}: variance "
            f"{frame.variances[-1]:.3f}, the parabola touches {_touch(frame)}; mean "
            f"{frame.means[-1]:.3f}{known}, true cost {frame.costs[-1]:.3f}; the exact mean is "
            f"{frame.exact:.3f} and costs {frame.least:.3f}."
        )

    def alt(kind: str, number: int, lam: int, C: float) -> str:
        frame = majorant_frame(kind, number, float(lam), C)
        return (
            "Left, over the mean of one weight: the true cost, least at "
            f"{frame.exact:.3f}, above it the bound, least at {frame.limit:.3f}, and the parabola of "
            f"iteration {number}, least at {frame.means[-1]:.3f}, which touches {_touch(frame)}. "
            f"Right, the means of {number} iterations and their costs, now {frame.costs[-1]:.3f}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="majorants",
        kind=Choice(KINDS, KINDS[0], label="parabolas"),
        number=Time(1, MOST_ITERATIONS, 1, 2, label="iteration", per_second=1),
        lam=Slider(1, 9, 1, 4, label="λ"),
        C=Slider(0.25, 2.0, 0.25, 1.0, label="C"),
    )


def _named(kind: str) -> str:
    return kind if kind == KINDS[0] else f"Parabolas {kind}"


def _touch(frame: MajorantFrame) -> str:
    if np.isnan(frame.touch):
        return "nothing"
    what = "the bound" if frame.kind == KINDS[0] else "the true cost"
    return f"{what} at {frame.touch:.3f}"


def _lessons() -> list[Lesson]:
    def stays_above(kind: str, number: int, lam: int, C: float) -> bool:
        frame = majorant_frame(kind, number, float(lam), C)
        above = (frame.parabola - frame.bound).min()
        return bool(0 <= above < 1e-3 and (frame.parabola - frame.true).min() > _OFFSET - 1e-9)

    def passes(kind: str, number: int, lam: int, C: float) -> bool:
        frame = majorant_frame(kind, number, float(lam), C)
        passed = frame.means[0] > frame.exact > frame.means[-1]
        falls = bool((np.diff(frame.bounds) < 0).all())
        half = np.isclose(frame.limit, frame.exact / 2)
        near = abs(frame.means[-1] - frame.limit) < 0.01
        return bool(
            passed and falls and half and near and frame.costs[-1] > frame.costs.min() + 0.03
        )

    def arrives(kind: str, number: int, lam: int, C: float) -> bool:
        frame = majorant_frame(kind, number, float(lam), C)
        touches = np.interp(frame.touch, frame.w, frame.parabola - frame.true)
        return bool(abs(touches) < 1e-3 and abs(frame.means[-1] - frame.exact) < 1e-3)

    start = {"lam": 4, "C": 1.0}
    return [
        Lesson(
            {"kind": KINDS[0], "number": 4, **start},
            "Algorithm 1's parabola touches the bound and is nowhere nearer to the true cost than "
            "0.274.",
            stays_above,
        ),
        Lesson(
            {"kind": KINDS[0], "number": MOST_ITERATIONS, **start},
            "The bound falls all the time; the mean passes the exact one, goes to half of it, and the "
            "true cost rises again.",
            passes,
        ),
        Lesson(
            {"kind": KINDS[1], "number": 8, **start},
            "Parabolas that touch the true cost lead to the exact solution.",
            arrives,
        ),
    ]
