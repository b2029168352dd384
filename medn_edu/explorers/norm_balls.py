"""A line turned around balls: where it touches decides which weights are zero (MEDN, Figure 2).

The cheapest mean that meets a margin constraint is the point at which the constraint's line touches a
ball. On the L1 ball that is a corner in almost every direction. On the L2 ball it is the direction
itself, and the KL ball of a Laplace prior lies between the two.

The study ``kl-norm`` uses `draw_tangents` and `draw_smaller_weight`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Slider, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import draw_cross
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import LaplacePrior
from medn_edu.theory.norms import (
    kl_ball,
    kl_level,
    norm_ball,
    touching_corners,
    touching_l2,
    touching_point,
)

LAMS = np.logspace(-1, 6, 29)
"""Constants of the Laplace prior at which the smaller weight is drawn."""

_CHOICES = (
    *(0.1, 0.2, 0.4, 0.6, 1, 2, 4, 6, 10, 20, 36, 60, 100, 200, 400, 600),
    *(k * 10**zeros for zeros in (3, 4, 5) for k in (1, 2, 4, 6)),
    1_000_000,
)

_LOOKS = {
    "L1": (MUTED, "D", 12),
    "L2": (INK, "s", 11),
    "KL": (palette.BLUE, "o", 8),
}  # the last on top
_TOP = (0.0, 1.0)  # the point that all balls pass
_REACH = 1.35  # how far the axes reach


@dataclass(frozen=True, eq=False)
class TouchingFrame:
    """Lines of one direction, and where they touch the balls through (0, 1)."""

    lam: float
    direction: np.ndarray  # of length 1, perpendicular to the lines
    touched: Mapping[str, np.ndarray]  # the points by ball, as rows: an edge of L1 has two ends
    ball: np.ndarray  # boundary of the KL ball
    turned: np.ndarray  # angles, and the first weight of the point on the KL ball there
    smaller: np.ndarray  # the smaller weight of the point on the KL ball, for all of `LAMS`


def touching_frame(lam: float, angle: float) -> TouchingFrame:
    """Compute where lines touch balls; the angle is in degrees."""
    radians = np.deg2rad(angle)
    # Rounded, so that the two coordinates are alike at 45 degrees.
    direction = np.round([np.cos(radians), np.sin(radians)], 12) + 0.0
    touched = {
        "KL": touching_kl(lam, direction)[None],
        "L2": touching_l2(direction)[None],
        "L1": touching_corners(direction),
    }
    return TouchingFrame(lam, direction, touched, *_ball(lam), _smaller(*direction))


def in_full(lam: float) -> str:
    """Write a constant as the text does: 0.4, 36 or 10,000, never in powers of ten."""
    return f"{lam:,.0f}" if lam >= 10 else f"{lam:g}"


def touching_kl(lam: float, direction: np.ndarray) -> np.ndarray:
    """Return where a line touches the KL ball of a Laplace prior through (0, 1)."""
    prior = LaplacePrior(lam)
    return touching_point(prior, direction, kl_level(prior, _TOP))


@lru_cache(maxsize=128)
def _ball(lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a ball, and the normals of its first quarter, edge by edge, with first weights there."""
    ball = kl_ball(LaplacePrior(lam), _TOP)
    quarter = ball[: (len(ball) - 1) // 4 + 1]
    across, up = np.diff(quarter, axis=0).T
    angles = np.rad2deg(np.arctan2(-across, up))
    first = (quarter[1:, 0] + quarter[:-1, 0]) / 2
    turned = [(0.0, quarter[0, 0]), *zip(angles, first, strict=True), (90.0, 0.0)]
    return ball, np.array(turned)


@lru_cache(maxsize=128)
def _smaller(*direction: float) -> np.ndarray:
    # In units of 1 / sqrt(lambda) all Laplace priors are one, and their balls those of one prior.
    unit, scale = LaplacePrior(1.0), np.sqrt(LAMS)
    points = touching_point(unit, np.array(direction), unit.kl(scale))
    return points.min(axis=1) / scale


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[TouchingFrame], None]


def draw_tangents(
    ax: Axes,
    direction: np.ndarray,
    points: Mapping[str, np.ndarray],
    colours: Mapping[str, str],
    *,
    length: float,
) -> None:
    """Draw pieces of parallel lines with the points at which they touch balls."""
    along = length * np.array([-direction[1], direction[0]]) / np.linalg.norm(direction)
    with styled():
        for name, point in points.items():
            ends = np.array([np.add(point, along), np.subtract(point, along)])
            ax.plot(*ends.T, "-", color=colours[name], lw=1.0)
            ax.plot(*np.transpose([point]), "o", color=colours[name], ms=8, mec="white", zorder=5)


def draw_smaller_weight(
    ax: Axes,
    lams: np.ndarray,
    smaller: np.ndarray,
    on_l2: float,
    *,
    least: float = 1e-4,
    guide: float = 1e-2,
    words: tuple[float, float] = (30.0, 6e-3),
) -> Any:
    """Draw the smaller weight where a line touches, against lambda, and how a square root falls."""
    with styled():
        (level,) = ax.plot(lams[[0, -1]], [on_l2] * 2, "-", color=INK, lw=1.5, label="L2")
        (curve,) = ax.plot(lams, smaller, "-", color=palette.BLUE, label="KL")
        slope = guide * np.array([1, 10**-1.5])
        ax.plot([1, 1e3], slope, "--", color=MUTED, lw=1)
        ax.text(*words, "like 1/√λ", ha="left", va="center", color=MUTED)
        ax.set(xscale="log", yscale="log", xlim=lams[[0, -1]], ylim=(least, 1.3), xlabel="λ")
        # Plain text, which is drawn more quickly than formulas.
        ax.set_xticks([1, 1e2, 1e4], ["1", "100", "10,000"])
        ax.set_yticks([1, 1e-2, 1e-4], ["1", "0.01", "0.0001"])
        ax.minorticks_off()
    return curve, level


def _balls(ax: Axes) -> Show:
    """Draw the balls, and lines that touch them."""
    draw_cross(ax)
    ax.plot(*norm_ball(np.square).T, "-", color=INK, lw=1.2)
    ax.plot(*norm_ball(np.abs).T, "--", color=MUTED, lw=1.2, zorder=3)
    (area,) = ax.fill([0, 0], [0, 0], color="#E6F0F6", lw=0, zorder=-1)
    (ball,) = ax.plot([0], [0], "-", color=palette.BLUE, lw=2.4)
    dots, lines = _dots(ax), {}
    for name, (colour, *_) in _LOOKS.items():
        width = 1.6 if name == "KL" else 0.7
        (lines[name],) = ax.plot([0, 0], [0, 0], "-", color=colour, lw=width, zorder=1)
    ax.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    ax.set(
        xlabel="posterior mean μ₁", ylabel="posterior mean μ₂", xticks=(-1, 0, 1), yticks=(-1, 0, 1)
    )
    ax.set_anchor("N")  # in a narrow figure too the titles are in line
    lam = ax.text(-_REACH + 0.05, -_REACH + 0.05, "", fontsize=11, color=palette.BLUE)
    ax.set_title("Where a line touches the balls")

    def show(frame: TouchingFrame) -> None:
        along = 4 * np.array([-frame.direction[1], frame.direction[0]])
        lam.set_text(f"λ = {in_full(frame.lam)}")
        ball.set_data(*frame.ball.T)
        area.set_xy(frame.ball)
        for name, points in frame.touched.items():
            lines[name].set_data(*np.transpose([points[0] - along, points[0] + along]))
            dots[name].set_data(*points.T)

    return show


def _turned(ax: Axes) -> Show:
    """Draw the first weight of the touched points against the direction."""
    degrees = np.linspace(0, 90, 61)
    ax.plot(degrees, np.cos(np.deg2rad(degrees)), "-", color=INK, lw=1.2)
    ax.plot([0, 45, 45, 90], [1, 1, 0, 0], "--", color=MUTED, lw=1.2, zorder=3)
    ax.text(58, 0.72, "L2", color=INK)
    ax.text(38, 0.06, "L1", color=MUTED, ha="right")
    (turning,) = ax.plot([0], [0], "-", color=palette.BLUE, lw=2.4)
    dots = _dots(ax)
    ax.set(xlim=(0, 90), ylim=(-0.08, 1.1), xticks=(0, 45, 90), yticks=(0, 1))
    ax.set_xticklabels(["0", "45", "90"])
    ax.set_xlabel("direction in degrees")
    ax.set_title("μ₁ as the line turns")

    def show(frame: TouchingFrame) -> None:
        turning.set_data(*frame.turned.T)
        angle = np.rad2deg(np.arctan2(*frame.direction[::-1]))
        for name, points in frame.touched.items():
            dots[name].set_data([angle] * len(points), points[:, 0])

    return show


def _dots(ax: Axes) -> dict[str, Any]:
    """Draw a mark for the point on each ball."""
    dots = {}
    for zorder, (name, (colour, marker, size)) in enumerate(_LOOKS.items(), start=5):
        look = {"ls": "none", "marker": marker, "ms": size, "mec": "white", "color": colour}
        (dots[name],) = ax.plot([0], [0], **look, zorder=zorder, label=f"on the {name} ball")
    return dots


def _smaller_weight(ax: Axes) -> Show:
    """Draw the smaller weight of the touched points against lambda."""
    ones, low = np.ones_like(LAMS), (0.15, 3e-5)  # all words stand below the lowest curve
    curve, level = draw_smaller_weight(ax, LAMS, ones, 1.0, least=1e-6, guide=2e-3, words=low)
    (now,) = ax.plot([1], [1], "o", color=palette.BLUE, ms=9, mec="white", zorder=5, clip_on=False)
    text = ax.text(0, 0, "", color=palette.BLUE, ha="right", va="top", fontweight="bold")
    l2_text = ax.text(LAMS[-1], 0, "L2", color=INK, ha="right", va="bottom")
    l1_text = ax.text(0.97, 0.02, "", ha="right", color=MUTED, transform=ax.transAxes)
    ax.set_title("The smaller mean")

    def show(frame: TouchingFrame) -> None:
        smaller, on_l2 = (float(frame.touched[name].min()) for name in ("KL", "L2"))
        is_corner = len(frame.touched["L1"]) == 1
        l1_text.set_text("L1: exactly 0" if is_corner else "L1: from 0 to 0.5")
        curve.set_ydata(frame.smaller)
        level.set_ydata([on_l2, on_l2])
        l2_text.set_y(1.05 * on_l2)
        now.set_data([frame.lam], [smaller])
        before = frame.lam > 1  # else the text would lie across the axis
        under = smaller if before else np.interp(250 * frame.lam, LAMS, frame.smaller)
        text.set_position((frame.lam * (0.65 if before else 1.5), under / 1.15))
        text.set_ha("right" if before else "left")
        text.set_text(f"{smaller:.4f}" if smaller < 0.1 else f"{smaller:.2f}")

    return show


# -- sentence, lessons, controls ------------------------------------------------------------------


def _text(point: np.ndarray, digits: int) -> str:
    return f"({point[0]:.{digits}f}, {point[1]:.{digits}f})"


@lesson(
    "However large λ is, the smaller mean isn't zero on the KL ball. On the L1 ball it is.",
    {"lam": 1_000_000, "angle": 65},
)
def _never_sticks(lam: float, angle: float) -> bool:
    touched = touching_frame(lam, angle).touched
    return bool((touched["L1"] == 0).any() and 0 < touched["KL"].min() < 0.002)


@lesson(
    "With a small λ the KL ball is almost the L2 ball, and no mean is small.",
    {"lam": 0.1, "angle": 65},
)
def _round_like_l2(lam: float, angle: float) -> bool:
    touched = touching_frame(lam, angle).touched
    apart = np.abs(touched["KL"] - touched["L2"])
    return bool(apart.max() < 0.01 and touched["KL"].min() > 0.3)


@lesson(
    "With a large λ the point on the KL ball moves from next to one corner to next to the other while "
    "the line turns from 37 to 53 degrees.",
    {"lam": 10_000, "angle": 53},
)
def _passes_fast(lam: float, angle: float) -> bool:
    here, there = (touching_frame(lam, a).touched for a in (angle, 90 - angle))
    moved = {name: np.abs(here[name] - there[name]) for name in ("KL", "L2")}
    return bool(moved["KL"].min() > 0.9 and moved["L2"].max() < 0.25)


_CAPTION = (
    "Left: the L1 ball (dashed), the L2 ball (thin) and the KL ball (blue), and three parallel lines, "
    "each touching one of them. Upper right: μ₁ at the touching points, for every direction of the "
    "line. Lower right: the smaller of the two means, for every λ. Watch the blue dot. How close does "
    "it come to a corner, and does it ever get there?"
)


def norm_balls() -> Explorer:
    """Return an explorer of the KL ball between the L2 and the L1 ball, and of lines that touch them.

    On the left the balls through (0, 1), the Laplace prior's KL ball in colour, and lines of one
    direction with the points at which they touch; on the right the first weight of these points against
    the direction, and the smaller weight of the point on the KL ball against lambda.

    Returns
    -------
    Explorer
        The explorer: its time is ``lam``, the Laplace prior's constant; ``angle`` is the direction
        perpendicular to the lines, in degrees.
    """
    figure = new_figure(8.0, 4.8)
    figure.get_layout_engine().set(wspace=0.06)
    axes = figure.subplot_mosaic(
        [["balls", "turned"], ["balls", "smaller"]], width_ratios=[1.45, 1]
    )
    with styled():
        panels = [_balls(axes["balls"]), _turned(axes["turned"]), _smaller_weight(axes["smaller"])]
        keys, names = axes["balls"].get_legend_handles_labels()
        figure.legend(keys, names, loc="outside lower center", ncols=3, handlelength=1)

    def update(lam: float, angle: float) -> str:
        frame = touching_frame(lam, angle)
        for show in panels:
            show(frame)
        on_kl, on_l2, on_l1 = (frame.touched[name] for name in ("KL", "L2", "L1"))
        corner = "along an edge" if len(on_l1) == 2 else f"at its corner {_text(on_l1[0], 0)}"
        return (
            f"λ = {in_full(frame.lam)}, direction {angle:.0f} degrees: the line touches the KL ball at "
            f"{_text(on_kl[0], 4)}, the L2 ball at {_text(on_l2[0], 2)}, and the L1 ball {corner}."
        )

    def alt(lam: float, angle: float) -> str:
        frame = touching_frame(lam, angle)
        on_kl, on_l2 = frame.touched["KL"], frame.touched["L2"]
        return (
            f"Left: the L2 ball, the L1 ball and between them the KL ball of a Laplace prior with "
            f"λ = {in_full(frame.lam)}. All pass through (0, 1), and each is touched by a line "
            f"perpendicular to the direction of {angle:.0f} degrees. Upper right: μ₁ at the touching "
            f"points against the direction. It is a falling cosine on the L2 ball, a step at 45 degrees "
            f"on the L1 ball, and a curve between them on the KL ball, now at {on_kl[0, 0]:.4f}. Lower "
            f"right: the smaller mean against λ, now {on_kl.min():.4f} on the KL ball and "
            f"{on_l2.min():.2f} on the L2 ball."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_never_sticks, _round_like_l2, _passes_fast],
        name="norm-balls",
        lam=listed(_CHOICES, 36, "λ", texts=[in_full(lam) for lam in _CHOICES], per_second=8),
        angle=Slider(5, 85, 1, 65, label="direction in degrees"),
    )


EXHIBIT = Exhibit("A line turned around the balls of three norms", "kl-norm", norm_balls)
