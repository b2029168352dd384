"""A line turned around the balls of L2-, L1- and KL-norms (MEDN, Figure 2)."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.touching import Touching, TouchingFrame, touching_frame
from medn_edu.widgets.controls import Slider, Time
from medn_edu.widgets.explorer import Explorer, Lesson


def norm_balls() -> Explorer:
    """Return an explorer of the KL ball between the L2 and the L1 ball, and of lines that touch them.

    On the left the balls through (0, 1), the Laplace prior's KL ball in colour, and lines of one
    direction with the points at which they touch; on the right the first weight of these points against
    the direction, and the smaller weight of the point on the KL ball against lambda.  Drawn by
    `medn_edu.plots.touching`.

    Returns
    -------
    Explorer
        The explorer: its time is ``log_lam``, the decimal logarithm of lambda; ``angle`` is the
        direction across the lines, in degrees.

    Examples
    --------
    >>> explorer = norm_balls()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Touching()

    def update(log_lam: float, angle: float) -> str:
        frame = touching_frame(log_lam, angle)
        drawn.show(frame)
        return (
            f"λ = {frame.lam:.3g}, direction {angle:.0f} degrees: a line touches the KL ball in "
            f"{_text(frame.on_kl, 4)}, the L2 ball in {_text(frame.on_l2)}, and the L1 ball "
            f"{_on_l1(frame)}."
        )

    def alt(log_lam: float, angle: float) -> str:
        frame = touching_frame(log_lam, angle)
        return (
            f"Left, the L2 ball, the L1 ball and between them the KL ball of a Laplace prior with "
            f"λ = {frame.lam:.3g}, all through (0, 1), each touched by a line across {angle:.0f} "
            f"degrees. Upper right, the first weight where it touches, as the line turns: a wave on the "
            f"L2 ball, a step at 45 degrees on the L1 ball, between them the KL ball, now "
            f"{frame.on_kl[0]:.4f}. Lower right, the smaller weight there against λ: now "
            f"{frame.on_kl.min():.4f}, on the L2 ball {frame.on_l2.min():.2f}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="norm-balls",
        log_lam=Time(-1.0, 6.0, 0.25, 2.0, label="log₁₀ λ", per_second=8),
        angle=Slider(5, 85, 1, 65, label="direction in degrees"),
    )


def _text(point: np.ndarray, digits: int = 2) -> str:
    return f"({point[0]:.{digits}f}, {point[1]:.{digits}f})"


def _on_l1(frame: TouchingFrame) -> str:
    if len(frame.on_l1) == 2:
        return "along an edge"
    return f"in its corner {_text(frame.on_l1[0], 0)}"


def _lessons() -> list[Lesson]:
    def never_sticks(log_lam: float, angle: float) -> bool:
        frame = touching_frame(log_lam, angle)
        return bool((frame.on_l1 == 0).any() and 0 < frame.on_kl.min() < 0.002)

    def round_like_l2(log_lam: float, angle: float) -> bool:
        frame = touching_frame(log_lam, angle)
        return bool(np.abs(frame.on_kl - frame.on_l2).max() < 0.01 and frame.on_kl.min() > 0.3)

    def passes_fast(log_lam: float, angle: float) -> bool:
        here, there = (touching_frame(log_lam, a) for a in (angle, 90 - angle))
        moved = np.abs(here.on_kl - there.on_kl).min()
        return bool(moved > 0.9 and np.abs(here.on_l2 - there.on_l2).max() < 0.25)

    return [
        Lesson(
            {"log_lam": 6.0, "angle": 65},
            "However large λ is, the smaller weight is not zero on the KL ball; on the L1 ball it is.",
            never_sticks,
        ),
        Lesson(
            {"log_lam": -1.0, "angle": 65},
            "With a small λ the KL ball is the L2 ball, and no weight is small.",
            round_like_l2,
        ),
        Lesson(
            {"log_lam": 4.0, "angle": 53},
            "With a large λ the point on the KL ball runs from corner to corner while the line turns "
            "from 37 to 53 degrees.",
            passes_fast,
        ),
    ]
