"""Algorithm 1 with one weight: parabolas touch its bound, and the exact solution stays behind."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.majorants import (
    KINDS,
    MOST_ITERATIONS,
    MajorantFrame,
    Majorants,
    majorant_frame,
)
from medn_edu.widgets.controls import Choice, Slider, Time
from medn_edu.widgets.explorer import Explorer, Lesson

_OFFSET = 0.5 + np.log(2) - 0.5 * np.log(2 * np.pi)  # what the bound loses at mean 0


def majorants() -> Explorer:
    """Return an explorer of the quadratic programs of Algorithm 1, for one weight.

    On the left true cost, bound and the present parabola over the mean of the weight; on the right
    means and costs of the iterations so far.  Drawn by `medn_edu.plots.majorants`.

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
