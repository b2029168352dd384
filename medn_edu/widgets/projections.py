"""A point outside two balls and the points it is brought back to (L1-M3N, Figure 1)."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.projections import ProjectionFrame, Projections, projection_frame
from medn_edu.widgets.controls import Slider, Time
from medn_edu.widgets.explorer import Explorer, Lesson

_NAMES = ("w₁", "w₂")


def projections() -> Explorer:
    """Return an explorer of a point in the plane and its projections onto the L2 and the L1 ball.

    On the left the point, both unit balls and their nearest points; on the right each magnitude, the
    part below the threshold taken away.  Drawn by `medn_edu.plots.projections`.

    Returns
    -------
    Explorer
        The explorer: its time is ``angle``, in degrees, once around; ``distance`` is the point's from
        the origin.

    Examples
    --------
    >>> explorer = projections()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Projections()

    def update(angle: float, distance: float) -> str:
        frame = projection_frame(angle, distance)
        drawn.show(frame)
        return f"Point {_text(frame.point)}: L1 projection {_on_l1(frame)}; {_on_l2(frame)}."

    def alt(angle: float, distance: float) -> str:
        frame = projection_frame(angle, distance)
        return (
            f"Left, the plane of two weights with the L2 and the L1 ball of radius 1, the point "
            f"{_text(frame.point)} and its projections {_text(frame.on_l2)} and "
            f"{_text(frame.on_l1)}; dashed lines bound the shaded regions from which the L1 "
            f"projection goes to a corner. Right, both magnitudes as bars, cut at the threshold "
            f"{frame.theta:.2f}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="projections",
        angle=Time(0, 360, 5, 15, label="direction in degrees", per_second=8),
        distance=Slider(0.1, 2.0, 0.1, 1.8, label="distance from the origin"),
    )


def _text(point: np.ndarray) -> str:
    return f"({point[0] + 0.0:.2f}, {point[1] + 0.0:.2f})"


def _on_l1(frame: ProjectionFrame) -> str:
    if frame.inside:
        return f"{_text(frame.on_l1)}, where it is, for the ball contains it (θ = 0)"
    zeros = " and ".join(_NAMES[k] for k in frame.zeros)
    becomes = f"{zeros} becomes exactly 0" if zeros else "no coordinate becomes 0"
    return f"{_text(frame.on_l1)} with threshold θ = {frame.theta:.2f}, {becomes}"


def _on_l2(frame: ProjectionFrame) -> str:
    length = np.linalg.norm(frame.point)
    if length <= frame.radius:
        return f"L2 projection {_text(frame.on_l2)}, where it is"
    return f"L2 projection {_text(frame.on_l2)}, both coordinates divided by {length:.2f}"


def _lessons() -> list[Lesson]:
    def to_a_corner(angle: float, distance: float) -> bool:
        frame = projection_frame(angle, distance)
        return bool(frame.zeros == (1,) and frame.point[1] > 0.3 and (frame.on_l2 != 0).all())

    def to_an_edge(angle: float, distance: float) -> bool:
        frame = projection_frame(angle, distance)
        lost = np.abs(frame.point) - np.abs(frame.on_l1)
        return bool(not frame.zeros and frame.theta > 0 and np.allclose(lost, frame.theta))

    def not_enough(angle: float, distance: float) -> bool:
        frame = projection_frame(angle, distance)
        return bool(frame.theta > 0 and (frame.on_l2 == frame.point).all())

    return [
        Lesson(
            {"angle": 15, "distance": 1.8},
            "Near an axis the L1 projection is a corner: the small weight becomes exactly 0, and "
            "the L2 projection keeps it.",
            to_a_corner,
        ),
        Lesson(
            {"angle": 60, "distance": 1.2},
            "Between the dashed lines both weights lose the same amount θ and none becomes 0.",
            to_an_edge,
        ),
        Lesson(
            {"angle": 45, "distance": 0.9},
            "Between the balls only the L1 projection moves the point.",
            not_enough,
        ),
    ]
