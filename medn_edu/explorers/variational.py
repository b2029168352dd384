"""Algorithm 1 on three words, weight by weight, in front of the exact solution.

Each of the 18 weights has a name: ``a|x`` is label a where the marks look like x, and ``ax`` is an x
after an a.  `variational_trail` runs `medn_edu.solvers.variational_laplace` and `block_frank_wolfe` on
the words of `medn_edu.theory.axi`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import LaplacePrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_frank_wolfe, variational_laplace
from medn_edu.theory.axi import LETTERS, axi_samples

LAMS = (4, 9, 16, 36)  # constants of the Laplace prior
N_PROGRAMS = 8  # quadratic programs that are shown
_TOL = 1e-4
_END = N_PROGRAMS + 0.6
_GHOST = "#B4BCC4"


@dataclass(frozen=True, eq=False)
class VariationalTrail:
    """What Algorithm 1 found in each iteration, and the exact solution."""

    lam: float  # the Laplace prior's constant
    names: tuple[str, ...]  # names of the weights, in the order of the exact means
    means: np.ndarray
    variances: np.ndarray
    exact_means: np.ndarray
    exact_variances: np.ndarray
    bounds: np.ndarray
    costs: np.ndarray
    exact_cost: float  # the true cost of the exact means

    @property
    def excess(self) -> np.ndarray:
        """By how much the true cost exceeds the exact solution's, relative to it."""
        return self.costs / self.exact_cost - 1


@cache
def variational_trail(lam: float) -> VariationalTrail:
    """Train on the three words, exactly and by Algorithm 1, with C = 1."""
    problem = Problem(axi_samples(), MarginLoss(LinearSlack(1.0)), LaplacePrior(float(lam)))
    exact = run(
        block_frank_wolfe(problem, rng=np.random.default_rng(0)), problem, tol=_TOL, max_iter=5000
    )
    assert exact.variance is not None
    order = np.argsort(-exact.weights, kind="stable")
    iterates = variational_laplace(
        problem, rng=np.random.default_rng(0), n_iterations=N_PROGRAMS, tol=_TOL, max_iter=5000
    )
    steps = [(s.weights.copy(), s.variance, s.objective_estimate) for s in iterates]
    means, variances, bounds = (np.array(column) for column in zip(*steps, strict=True))
    every = [f"{b}|{x}" for b in LETTERS for x in LETTERS] + [
        a + b for a in LETTERS for b in LETTERS
    ]
    return VariationalTrail(
        float(lam),
        tuple(every[k] for k in order),
        means[:, order],
        variances[:, order],
        exact.weights[order],
        exact.variance[order],
        bounds,
        np.array([problem.primal(mean) for mean in means]),
        problem.primal(exact.weights),
    )


def _draw_means(ax: Axes) -> Callable[[VariationalTrail, int], None]:
    """Draw the posterior means of all weights with the exact ones behind."""
    places = np.arange(18)
    ax.axhline(0, color=MUTED, lw=0.8, zorder=0)
    bars = {"color": _GHOST, "lw": 11, "capstyle": "butt", "zorder": 1}
    exact = ax.vlines(places, 0, 0, label="exact solution", **bars)
    (means,) = ax.plot(
        places, np.zeros(18), "o", color=palette.BLUE, ms=7, mec="white", label="Algorithm 1"
    )
    ax.set(xlim=(-0.7, 17.7), ylim=(-0.8, 0.8), yticks=(-0.5, 0, 0.5))
    ax.set_xticks(places, [""] * 18, rotation=90)
    ax.tick_params(axis="x", length=0, labelsize=9)
    title = ax.text(17.6, 0.78, "", ha="right", va="top", color=MUTED)
    ax.set_title("Posterior means")

    def show(trail: VariationalTrail, number: int) -> None:
        exact.set_segments([[(k, 0), (k, mean)] for k, mean in enumerate(trail.exact_means)])
        means.set_data(places, trail.means[number - 1])
        ax.set_xticklabels(trail.names)
        title.set_text(f"λ = {trail.lam:g}, iteration {number}")

    return show


def _draw_variances(ax: Axes) -> Callable[[VariationalTrail, int], None]:
    """Draw the posterior variances likewise, and the levels 2/λ and 1/λ."""
    places = np.arange(18)
    exact = ax.vlines(places, 1e-3, 1e-3, color=_GHOST, lw=11, zorder=1)
    (variances,) = ax.plot(places, np.ones(18), "o", color=palette.BLUE, ms=7, mec="white")
    levels = []
    for factor, dashes in ((2, "--"), (1, ":")):
        (line,) = ax.plot([-1, 18], [1, 1], dashes, color=INK, lw=1.1, zorder=2)
        levels.append((factor, line, ax.text(17.9, 1, f"{factor}/λ", va="center", fontsize=9)))
    ax.set(xlim=(-0.7, 17.7), yscale="log", ylim=(0.01, 3), xticks=[])
    ax.minorticks_off()
    ax.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    ax.set_title("Posterior variances")

    def show(trail: VariationalTrail, number: int) -> None:
        exact.set_segments([[(k, 1e-3), (k, v)] for k, v in enumerate(trail.exact_variances)])
        variances.set_data(places, trail.variances[number - 1])
        for factor, line, text in levels:
            line.set_ydata([factor / trail.lam] * 2)
            text.set_y(factor / trail.lam)

    return show


def _draw_costs(ax: Axes) -> Callable[[VariationalTrail, int], None]:
    """Draw the bound and the true cost of the iterations so far."""
    (bounds,) = ax.plot([1], [1], "s--", color=palette.ORANGE, ms=6, mec="white")
    (costs,) = ax.plot([1], [1], "o-", color=INK, ms=6, mec="white")
    bound_text = ax.text(_END - 0.1, 1, "", ha="right", va="bottom", color=palette.ORANGE_TEXT)
    cost_text = ax.text(_END - 0.1, 1, "", ha="right", va="top", color=INK)
    ax.set(xlim=(0.5, _END), yscale="log", ylim=(1, 120), xticks=(1, 3, 5, 8))
    ax.minorticks_off()
    ax.set_yticks([1, 10, 100], ["1", "10", "100"])
    ax.tick_params(labelbottom=False)
    ax.set_title("Bound and true cost")

    def show(trail: VariationalTrail, number: int) -> None:
        numbers = np.arange(1, number + 1)
        bounds.set_data(numbers, trail.bounds[:number])
        costs.set_data(numbers, trail.costs[:number])
        bound_text.set_text(f"bound {trail.bounds[number - 1]:.2f}")
        bound_text.set_y(1.35 * trail.bounds[-1])
        cost_text.set_text(f"true cost {trail.costs[number - 1]:.2f}")
        cost_text.set_y(trail.costs[-1] / 1.35)

    return show


def _draw_excess(ax: Axes) -> Callable[[VariationalTrail, int], None]:
    """Draw how far the true cost is above the least one."""
    (excess,) = ax.plot([1], [1], "o-", color=INK, ms=6, mec="white")
    (now,) = ax.plot([1], [1], "o", mfc="none", mec=palette.BLUE, mew=2, ms=13)
    text = ax.text(_END - 0.1, 100, "", ha="right", va="top", color=INK)
    ax.set(xlim=(0.5, _END), yscale="log", ylim=(0.05, 300), xticks=(1, 3, 5, 8))
    ax.minorticks_off()
    ax.set_yticks([0.1, 1, 10, 100], ["0.1 %", "1 %", "10 %", "100 %"])
    ax.set(xlabel="iteration")
    ax.set_title("Above the least cost")

    def show(trail: VariationalTrail, number: int) -> None:
        percent = 100 * trail.excess[:number]
        excess.set_data(np.arange(1, number + 1), percent)
        now.set_data([number], percent[-1:])
        text.set_text(f"now {percent[-1]:.2f} %")

    return show


@lesson(
    "After three quadratic programs the means are nearly the exact ones.",
    {"number": 3, "lam": 16},
)
def _third(number: int, lam: int) -> bool:
    excess = variational_trail(lam).excess
    return bool(excess[number - 1] == excess.min() and excess[number - 1] < 0.01)


@lesson(
    "The bound goes on falling, but the true cost rises again.", {"number": N_PROGRAMS, "lam": 16}
)
def _rises(number: int, lam: int) -> bool:
    trail = variational_trail(lam)
    falls, best = (np.diff(trail.bounds[:number]) < 0).all(), int(trail.excess.argmin())
    return bool(falls and best < number - 1 and trail.excess[number - 1] > 5 * trail.excess[best])


@lesson(
    "The variance of a weight with η = 0 goes to 1/λ, not to 0. The exact variance is 2/λ.",
    {"number": N_PROGRAMS, "lam": 36},
)
def _stands(number: int, lam: int) -> bool:
    trail = variational_trail(lam)
    idle, scaled = int(np.abs(trail.exact_means).argmin()), trail.lam * trail.variances[number - 1]
    down = 1 <= scaled.min() <= scaled[idle] < 1.05  # to 1/lam and no further
    return bool(down and trail.exact_variances[idle] > 1.9 / lam)


_CAPTION = (
    "Left, the 18 weights of the three words. Bars are the exact posterior means and variances, "
    "and dots are those of Algorithm 1 after this iteration. Right, the bound, the true cost, and how "
    "far the true cost is above the least possible one. Step through the iterations and watch "
    "whether the true cost falls whenever the bound does."
)


def variational() -> Explorer:
    """Return an explorer of Algorithm 1 on three words of three letters.

    On the left, the posterior means and variances of all 18 weights in front of the exact solution. On
    the right, the bound and the true cost, and how far the true cost is above the least one.

    Returns
    -------
    Explorer
        The explorer: its time is ``number``, that of the iteration; ``lam`` is the Laplace prior's
        constant.
    """
    for each in LAMS:  # four runs of a few hundredths of a second, so that sliders answer at once
        variational_trail(each)
    figure = new_figure(8.0, 4.8)
    axes = figure.subplot_mosaic(
        [["means", "costs"], ["variances", "excess"]], width_ratios=[2.1, 1]
    )
    with styled():
        panels = [
            _draw_means(axes["means"]),
            _draw_variances(axes["variances"]),
            _draw_costs(axes["costs"]),
            _draw_excess(axes["excess"]),
        ]
        keys, names = axes["means"].get_legend_handles_labels()
        figure.legend(keys, names, loc="outside lower center", ncols=2)

    def interval(variances: np.ndarray) -> str:
        return f"{variances.min():.3f} to {variances.max():.3f}"

    def update(number: int, lam: int) -> str:
        trail, step = variational_trail(lam), number - 1
        for show in panels:
            show(trail, number)
        return (
            f"λ = {lam}, iteration {number}: bound {trail.bounds[step]:.2f}, true cost "
            f"{trail.costs[step]:.2f}, {100 * trail.excess[step]:.2f} % above the exact solution's "
            f"{trail.exact_cost:.2f}; largest mean {np.abs(trail.means[step]).max():.2f} (exact "
            f"{np.abs(trail.exact_means).max():.2f}), variances {interval(trail.variances[step])} "
            f"(exact {interval(trail.exact_variances)})."
        )

    def alt(number: int, lam: int) -> str:
        trail, step = variational_trail(lam), number - 1
        return (
            "Left, bars of the exact posterior means and variances of 18 weights and on them the dots "
            f"of Algorithm 1 after iteration {number}, with variances from "
            f"{trail.variances[step].min():.3f} to {trail.variances[step].max():.3f}. Right, the bound, "
            f"now {trail.bounds[step]:.2f}, above the true cost, now {trail.costs[step]:.2f}, and how "
            f"far that is above the least: {100 * trail.excess[step]:.2f} %."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_third, _rises, _stands],
        name="variational",
        number=Time(1, N_PROGRAMS, 1, 2, label="iteration", per_second=1),
        lam=Choice(LAMS, 16, label="λ"),
    )


EXHIBIT = Exhibit("Algorithm 1 and the exact solution", "variational", variational)
