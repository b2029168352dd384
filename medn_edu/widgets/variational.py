"""Algorithm 1 on three words: weights, variances and bound, with the exact solution behind."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.variational import (
    LAMS,
    N_PROGRAMS,
    Variational,
    VariationalTrail,
    variational_trail,
)
from medn_edu.widgets.controls import Choice, Time
from medn_edu.widgets.explorer import Explorer, Lesson


def variational() -> Explorer:
    """Return an explorer of Algorithm 1 on three words of three letters.

    On the left posterior means and variances of all 18 weights with the exact solution behind them; on
    the right the bound and the true cost, and how far that is above the least one.  Drawn by
    `medn_edu.plots.variational` from runs of the package's solvers.

    Returns
    -------
    Explorer
        The explorer: its time is ``number``, that of the iteration; ``lam`` is the Laplace prior's
        constant.

    Examples
    --------
    >>> explorer = variational()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    for each in LAMS:  # four runs of a few hundredths of a second, so that sliders answer at once
        variational_trail(each)
    drawn = Variational()

    def update(number: int, lam: int) -> str:
        drawn.show(lam, number)
        trail, step = variational_trail(lam), number - 1
        return (
            f"λ = {lam}, iteration {number}: bound {trail.bounds[step]:.2f}, true cost "
            f"{trail.costs[step]:.2f}, {100 * trail.excess[step]:.2f} % above the exact solution's "
            f"{trail.exact_cost:.2f}; largest mean {np.abs(trail.means[step]).max():.2f} (exact "
            f"{np.abs(trail.exact_means).max():.2f}), variances {_interval(trail.variances[step])} "
            f"(exact {_interval(trail.exact_variances)})."
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
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="variational",
        number=Time(1, N_PROGRAMS, 1, 2, label="iteration", per_second=1),
        lam=Choice(LAMS, 16, label="λ"),
    )


def _interval(variances: np.ndarray) -> str:
    return f"{variances.min():.3f} to {variances.max():.3f}"


def _lessons() -> list[Lesson]:
    def rises(number: int, lam: int) -> bool:
        trail = variational_trail(lam)
        falls = bool((np.diff(trail.bounds[:number]) < 0).all())
        best = int(trail.excess.argmin())
        return bool(
            falls and best < number - 1 and trail.excess[number - 1] > 5 * trail.excess[best]
        )

    def third(number: int, lam: int) -> bool:
        excess = variational_trail(lam).excess
        return bool(excess[number - 1] == excess.min() and excess[number - 1] < 0.01)

    def stands(number: int, lam: int) -> bool:
        trail = variational_trail(lam)
        idle = int(np.abs(trail.exact_means).argmin())
        return _near(trail, idle, number - 1) and trail.exact_variances[idle] > 1.9 / lam

    return [
        Lesson(
            {"number": 3, "lam": 16},
            "After three quadratic programs the means are nearly the exact ones.",
            third,
        ),
        Lesson(
            {"number": N_PROGRAMS, "lam": 16},
            "The bound falls on, and the true cost rises again.",
            rises,
        ),
        Lesson(
            {"number": N_PROGRAMS, "lam": 36},
            "The variance of a weight with η = 0 goes to 1/λ, not to 0; exactly it is 2/λ.",
            stands,
        ),
    ]


def _near(trail: VariationalTrail, k: int, step: int) -> bool:
    """Whether variances have come down to 1/lam and no further."""
    scaled = trail.lam * trail.variances[step]
    return bool(1 <= scaled.min() <= scaled[k] < 1.05)
