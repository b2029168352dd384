"""Frank-Wolfe on the exact dual: labellings come and go, the gap closes, eta stays inside."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from medn_edu.plots.frank_wolfe import (
    FW_PRICES,
    FW_PRIORS,
    N_PASSES,
    FrankWolfe,
    FrankWolfePass,
    frank_wolfe_passes,
)
from medn_edu.theory.axi import WORDS
from medn_edu.widgets.controls import Check, Choice, Time
from medn_edu.widgets.explorer import Explorer, Lesson


def frank_wolfe() -> Explorer:
    """Return an explorer of block-coordinate Frank-Wolfe on the dual of three tiny words.

    Above, the labellings of each word whose dual variables are or were positive, as shares of
    ``C``; below, primal and dual value after each pass, the relative gap, and the weights on their
    prior's shrinkage curve.  Drawn by `medn_edu.plots.frank_wolfe` from the passes of
    `medn_edu.solvers.block_frank_wolfe`.

    Returns
    -------
    Explorer
        The explorer: its time is ``passes``; ``prior`` and ``C`` make the problem, and ``cached`` adds
        two rounds without decoding to each pass.

    Examples
    --------
    >>> explorer = frank_wolfe()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = FrankWolfe()
    for prior in FW_PRIORS:
        for C in FW_PRICES:
            for cached in (False, True):
                frank_wolfe_passes(prior, C, cached)

    def update(passes: int, prior: str, C: float, cached: bool) -> str:
        drawn.show(prior, C, cached, passes)
        here = frank_wolfe_passes(prior, C, cached)[passes]
        rounds = ", with more rounds" if cached else ""
        return (
            f"{_named(prior)}, C = {C:g}{rounds}, after pass {passes}: {_count(here)} of 81 labellings "
            f"have dual variables above 0, {here.new.sum()} of them new, {here.gone.sum()} gone; "
            f"largest |η| {_largest(here):.2f}{_of(prior)}; primal {here.primal:.3f}, "
            f"dual {here.dual:.3f}, relative gap {_percent(here)}."
        )

    def alt(passes: int, prior: str, C: float, cached: bool) -> str:
        here = frank_wolfe_passes(prior, C, cached)[passes]
        return (
            "Above, for each of three words the labellings with their dual variables as bars, "
            f"{_count(here)} in all, {here.new.sum()} marked new and {here.gone.sum()} drawn "
            f"hollow because they are gone. Below, the bounds up to pass {passes}, now "
            f"{here.primal:.3f} and {here.dual:.3f}, their relative gap, {_percent(here)}, and "
            f"18 points on the prior's curve, the farthest at |η| = {_largest(here):.2f}{_of(prior)}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="frank-wolfe",
        passes=Time(0, N_PASSES, 1, 4, label="passes", per_second=2),
        prior=Choice(list(FW_PRIORS), "Laplace, λ = 36"),
        C=Choice(FW_PRICES, 3.0),
        cached=Check(False, label="two more rounds a pass, without decoding"),
    )


def _named(prior: str) -> str:
    name, _, constant = prior.partition(", ")
    return f"{name} prior, {constant}" if constant else f"{name} prior"


def _count(here: FrankWolfePass) -> int:
    return int((here.alpha > 0).sum())


def _largest(here: FrankWolfePass) -> float:
    return float(np.abs(here.eta).max())


def _of(prior: str) -> str:
    end = FW_PRIORS[prior].domain[1]
    return f" of {end:g}" if np.isfinite(end) else ""


def _percent(here: FrankWolfePass) -> str:
    share = 100 * here.relative_gap
    return f"{share:.2f} %" if share >= 0.005 else "below 0.01 %"


def _lessons() -> list[Lesson]:
    def come_and_go(passes: int, prior: str, C: float, cached: bool) -> bool:
        here = frank_wolfe_passes(prior, C, cached)[passes]
        return bool(_count(here) <= 12 and here.gone.sum() >= 5)

    def stays_inside(passes: int, prior: str, C: float, cached: bool) -> bool:
        end = FW_PRIORS[prior].domain[1]
        so_far = frank_wolfe_passes(prior, C, cached)[: passes + 1]
        farthest = max(map(_largest, so_far))
        return 0.75 * end < farthest < end

    def jumps(passes: int, prior: str, C: float, cached: bool) -> bool:
        so_far = frank_wolfe_passes(prior, C, cached)[: passes + 1]
        never_falls = all(b.dual >= a.dual - 1e-12 for a, b in pairwise(so_far))
        return never_falls and so_far[-1].primal > 1.05 * so_far[-2].primal

    def more_rounds(passes: int, prior: str, C: float, cached: bool) -> bool:
        with_rounds, without = (frank_wolfe_passes(prior, C, c)[passes] for c in (True, False))
        return cached and with_rounds.relative_gap < 0.01 < without.relative_gap / 5

    def spends_all(passes: int, prior: str, C: float, cached: bool) -> bool:
        here = frank_wolfe_passes(prior, C, cached)[passes]
        true = [here.alpha[i, word.true_row] for i, word in enumerate(WORDS)]
        return not any(true) and float(np.abs(here.weights).max()) < 0.1

    laplace = {"prior": "Laplace, λ = 36", "C": 3.0}
    return [
        Lesson(
            {"passes": N_PASSES, **laplace, "cached": False},
            "Labellings come and go: at most 12 of 81 dual variables are positive, and five or more "
            "have gone back to zero.",
            come_and_go,
        ),
        Lesson(
            {"passes": 8, **laplace, "cached": False},
            "The largest |η| goes most of the way to √λ, and no step leads out.",
            stays_inside,
        ),
        Lesson(
            {"passes": 4, "prior": "Gaussian", "C": 0.3, "cached": False},
            "A pass never lowers the dual value; the primal value may rise.",
            jumps,
        ),
        Lesson(
            {"passes": 6, **laplace, "cached": True},
            "More steps among kept labellings, without decoding, close the gap in fewer passes.",
            more_rounds,
        ),
        Lesson(
            {"passes": N_PASSES, "prior": "Laplace, λ = 36", "C": 0.3, "cached": False},
            "At a small C only wrong labellings have positive dual variables, and all means are "
            "small.",
            spends_all,
        ),
    ]
