"""Cutting planes at work on two words: rows come in, the program's solution jumps, bounds close."""

from __future__ import annotations

from medn_edu.plots.working_sets import PRICES, CuttingPlaneRound, WorkingSets, cutting_plane_rounds
from medn_edu.widgets.controls import Choice, Time
from medn_edu.widgets.explorer import Explorer, Lesson


def working_sets() -> Explorer:
    """Return an explorer of the cutting plane method on a problem of two weights.

    On the left the plane of the weights: contours of the true cost and of the cost that the working
    sets know of, shaded where they miss something, and the way of the program's solutions.  On the
    right both bounds and the working sets themselves.  Drawn by `medn_edu.plots.working_sets` from
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
