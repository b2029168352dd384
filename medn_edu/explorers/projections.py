"""A point and its projections onto the L2 and the L1 ball (L1-M3N, Figure 1).

The L2 projection scales the point.  The L1 projection subtracts the threshold theta from every
magnitude, and sets to 0 what would become negative.  So all points in four wedges of the plane go to a
corner of the ball, where one weight is exactly 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Slider, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import draw_cross
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

L1, L2, TAKEN, REGION = palette.BLUE, palette.ORANGE, palette.PALE_GREY, "#EAF1F6"
_REACH = 2.1


@dataclass(frozen=True, eq=False)
class ProjectionFrame:
    """A point of the plane and its nearest points in the unit balls."""

    point: np.ndarray
    on_l1: np.ndarray
    on_l2: np.ndarray

    @property
    def theta(self) -> float:
        """Threshold of the L1 projection, 0 inside the ball.

        What a kept magnitude loses; one that is not kept is smaller still.
        """
        return float(np.max(np.abs(self.point) - np.abs(self.on_l1)))

    @property
    def zeros(self) -> tuple[int, ...]:
        """Coordinates that the L1 projection makes exactly 0 and that were not, counted from 0."""
        gone = (self.on_l1 == 0) & (self.point != 0)
        return tuple(int(k) for k in np.flatnonzero(gone))

    @property
    def inside(self) -> bool:
        """Whether the point is in the L1 ball."""
        return bool(np.abs(self.point).sum() <= 1 + 1e-12)


def projection_frame(angle: float, distance: float) -> ProjectionFrame:
    """Project a point onto both unit balls; the angle is in degrees."""
    turned = np.deg2rad(angle)
    # Rounded, so that the cosine of a right angle is 0.
    point = np.round(distance * np.array([np.cos(turned), np.sin(turned)]), 12) + 0.0
    return ProjectionFrame(point, project_l1_ball(point, 1.0), project_l2_ball(point, 1.0))


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[ProjectionFrame], None]


def _plane(ax: Axes) -> tuple[Show, list[Artist]]:
    """Draw both unit balls; the point and its projections are returned for the legend, too."""
    draw_cross(ax, TAKEN)
    _draw_wedges(ax)
    turn = np.linspace(0, 2 * np.pi, 241)
    ax.plot(np.cos(turn), np.sin(turn), "-", color=L2, lw=1.8)
    ax.plot([1, 0, -1, 0, 1], [0, 1, 0, -1, 0], "-", color=L1, lw=1.8)
    nowhere = np.zeros(2)
    (to_l2,) = ax.plot(nowhere, nowhere, ":", color=L2, lw=1.5)
    (to_l1,) = ax.plot(nowhere, nowhere, "-", color=L1, lw=1.2)
    marks = {"ls": "none", "zorder": 5, "mec": "white"}
    (dot_l2,) = ax.plot([0], [0], "s", color=L2, ms=11, label="on the L2 ball", **marks)
    (dot_l1,) = ax.plot([0], [0], "D", color=L1, ms=9, label="on the L1 ball", **marks)
    (dot,) = ax.plot([0], [0], "o", color=INK, ms=8, label="the point", **marks)
    ax.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    ax.set_anchor("N")  # in a narrow figure too the titles are in line
    ax.set(
        xlabel="weight $w_1$",
        ylabel="weight $w_2$",
        xticks=(-2, -1, 0, 1, 2),
        yticks=(-2, -1, 0, 1, 2),
    )
    ax.set_title("Nearest points", pad=18)

    def show(frame: ProjectionFrame) -> None:
        for line, end, target in ((to_l1, dot_l1, frame.on_l1), (to_l2, dot_l2, frame.on_l2)):
            line.set_data(*np.transpose([frame.point, target]))
            end.set_data(*target[:, None])
        dot.set_data(*frame.point[:, None])

    return show, [dot, dot_l2, dot_l1]


def _draw_wedges(ax: Axes) -> None:
    """Shade where a coordinate becomes 0, between dashed lines as in Figure 1."""
    far = 2 * _REACH
    for corner in np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]]):
        aside = corner[::-1]
        ends = [corner + far * (corner + aside), corner + far * (corner - aside)]
        ax.fill(*np.transpose([corner, *ends]), color=REGION, lw=0, zorder=-1)
        for end in ends:
            ax.plot(*np.transpose([corner, end]), "--", color=MUTED, lw=1, zorder=0)
    words = {"fontsize": 9, "color": MUTED}  # next to the axes, where no point covers them
    outside = 1.02 * _REACH
    ax.text(0, outside, "$w_1$ becomes 0", ha="center", va="bottom", **words)
    ax.text(outside, 0, "$w_2$ becomes 0", ha="left", va="center", rotation=90, **words)


def _magnitudes(ax: Axes) -> tuple[Show, list[Artist]]:
    """Draw each magnitude as a bar from which the part below the threshold is taken."""
    taken = ax.bar([0, 1], 0, 0.5, color=TAKEN, hatch="///", ec="white", lw=0)
    left = ax.bar([0, 1], 0, 0.5, color=L1)
    scaled = ax.bar([0.38, 1.38], 0, 0.16, color=L2)
    line = ax.axhline(0, color=INK, lw=1.5, ls="--")
    threshold = ax.text(1.55, 0, "", ha="left", va="bottom", fontsize=11)
    values = [ax.text(k, 0, "", ha="center", va="bottom", color=L1) for k in (0, 1)]
    ax.set(xlim=(-0.42, 2.1), ylim=(0, _REACH), ylabel="size of the weight")
    ax.set_xticks([0, 1], ["$|w_1|$", "$|w_2|$"])
    ax.tick_params(axis="x", length=0, labelsize=11)
    ax.set_title("What each weight gives up", pad=18)

    def show(frame: ProjectionFrame) -> None:
        sizes, theta = np.abs(frame.point), frame.theta
        for k, (size, kept) in enumerate(zip(sizes, np.abs(frame.on_l1), strict=True)):
            taken[k].set_height(min(size, theta))
            left[k].set_y(theta)
            left[k].set_height(kept)
            scaled[k].set_height(abs(frame.on_l2[k]))
            values[k].set_text("0" if kept == 0 else f"{kept:.2f}")
            hidden = 0 < theta - size < 0.15  # the text would lie across the line
            values[k].set_position((k, (theta if hidden else size) + 0.02))
            values[k].set_fontweight("bold" if kept == 0 else "normal")
        line.set_ydata([theta, theta])
        threshold.set_position((1.52, theta + 0.02))
        threshold.set_text(f"θ = {theta:.2f}")

    return show, [taken[0]]


# -- sentence, lessons, controls ------------------------------------------------------------------


def _text(point: np.ndarray) -> str:
    return f"({point[0] + 0.0:.2f}, {point[1] + 0.0:.2f})"


def _on_l1(frame: ProjectionFrame) -> str:
    if frame.inside:
        return f"{_text(frame.on_l1)}, because the point is already inside (θ = 0)"
    becomes = "neither weight becomes 0"
    for k, name in enumerate(("w₁", "w₂")):
        if frame.on_l1[k] == 0:
            becomes = f"{name} {'becomes exactly' if k in frame.zeros else 'stays'} 0"
    return f"{_text(frame.on_l1)} with threshold θ = {frame.theta:.2f}, and {becomes}"


def _on_l2(frame: ProjectionFrame) -> str:
    length = np.linalg.norm(frame.point)
    moved = (
        "because it's already inside" if length <= 1 else f"both weights divided by {length:.2f}"
    )
    return f"{_text(frame.on_l2)}, {moved}"


@lesson(
    "Near an axis the L1 projection is a corner. The small weight becomes exactly 0 there, while the L2 "
    "projection keeps it.",
    {"angle": 15, "distance": 1.8},
)
def _to_a_corner(angle: float, distance: float) -> bool:
    frame = projection_frame(angle, distance)
    return bool(frame.zeros == (1,) and frame.point[1] > 0.3 and (frame.on_l2 != 0).all())


@lesson(
    "Between the dashed lines both weights give up the same amount θ, and neither becomes 0.",
    {"angle": 60, "distance": 1.2},
)
def _to_an_edge(angle: float, distance: float) -> bool:
    frame = projection_frame(angle, distance)
    lost = np.abs(frame.point) - np.abs(frame.on_l1)
    return bool(not frame.zeros and frame.theta > 0 and np.allclose(lost, frame.theta))


@lesson(
    "A point inside the L2 ball but outside the L1 ball is moved by the L1 projection only.",
    {"angle": 45, "distance": 0.9},
)
def _not_enough(angle: float, distance: float) -> bool:
    frame = projection_frame(angle, distance)
    return bool(frame.theta > 0 and (frame.on_l2 == frame.point).all())


_CAPTION = (
    "On the left, a point and two balls of radius 1, with the nearest point on the L2 ball (square) "
    "and on the L1 ball (diamond). On the right, the size of each weight. The L1 ball takes the "
    "hatched part away, and the narrow bar is what the L2 ball leaves. Compare what each ball takes "
    "from the larger and from the smaller weight."
)


def projections() -> Explorer:
    """Return an explorer of a point in the plane and its projections onto the L2 and the L1 ball.

    On the left the point, both unit balls and their nearest points; on the right each magnitude, the
    part below the threshold taken away.

    Returns
    -------
    Explorer
        The explorer: its time is ``angle``, in degrees, once around; ``distance`` is the point's from
        the origin.
    """
    figure = new_figure(7.6, 4.4)
    figure.get_layout_engine().set(wspace=0.1)
    left, right = figure.subplots(1, 2, width_ratios=[1.45, 1])
    with styled():
        (show_plane, dots), (show_magnitudes, bar) = _plane(left), _magnitudes(right)
        names = ["the point", "on the L2 ball", "on the L1 ball", "taken away for the L1 ball"]
        below = {"loc": "outside lower center", "ncols": 2, "handlelength": 1.5}
        figure.legend([*dots, *bar], names, **below)

    def update(angle: float, distance: float) -> str:
        frame = projection_frame(angle, distance)
        show_plane(frame)
        show_magnitudes(frame)
        return (
            f"The point is {_text(frame.point)}. Nearest on the L1 ball: {_on_l1(frame)}. "
            f"Nearest on the L2 ball: {_on_l2(frame)}."
        )

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
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_to_a_corner, _to_an_edge, _not_enough],
        name="projections",
        angle=Time(0, 360, 5, 15, label="direction in degrees", per_second=8),
        distance=Slider(0.1, 2.0, 0.1, 1.8, label="distance from the origin"),
    )


EXHIBIT = Exhibit("Projections onto two balls", "l1-m3n", projections)
