r"""A line turned around balls: where it touches decides which weights are zero (MEDN, Figure 2).

A margin constraint is linear, and the cheapest mean that meets it is where its line touches a ball.
On the L1 ball that is a corner in almost every direction, and one weight is exactly 0.  On the L2 ball
it is the direction itself.  The KL ball of a Laplace prior lies between: the larger :math:`\lambda`,
the nearer to the corner; the distance falls like :math:`1/\sqrt\lambda` and is never 0.  While the line
turns, the point on the L1 ball jumps from one corner to the next, that on the KL ball runs through
everything between, the faster the larger :math:`\lambda`.

`touching_frame` computes what one direction and one :math:`\lambda` show; `Touching` is the figure;
`draw_tangents` and `draw_smaller_weight` draw its parts on given axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit.controls import Slider, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
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

_KL, _AXIS, _INSIDE = "#0072B2", "#B9C2CA", "#E6F0F6"
_LOOKS = {"L1": (MUTED, "D", 12), "L2": (INK, "s", 11), "KL": (_KL, "o", 8)}  # the last on top
_TOP = (0.0, 1.0)  # the point that all balls pass
_REACH, _LEAST = 1.35, 1e-4  # how far the axes reach


@dataclass(frozen=True, eq=False)
class TouchingFrame:
    """Lines of one direction, and where they touch the balls through (0, 1)."""

    lam: float  # constant of the Laplace prior
    direction: np.ndarray  # of length 1, across the lines
    ball: np.ndarray  # boundary of the KL ball
    on_kl: np.ndarray
    on_l2: np.ndarray
    on_l1: np.ndarray
    turned: np.ndarray
    smaller: np.ndarray  # the smaller weight of the touched point of the KL ball, for all of `LAMS`


def touching_kl(lam: float, direction: np.ndarray) -> np.ndarray:
    """Return where a line touches the KL ball of a Laplace prior through (0, 1)."""
    prior = LaplacePrior(lam)
    return touching_point(prior, direction, kl_level(prior, _TOP))


def touching_frame(log_lam: float, angle: float) -> TouchingFrame:
    r"""Compute where lines touch balls."""
    turned = np.deg2rad(angle)
    # Rounded, so that the two coordinates are alike at 45 degrees.
    direction = np.round([np.cos(turned), np.sin(turned)], 12) + 0.0
    lam = float(10**log_lam)
    return TouchingFrame(
        lam,
        direction,
        _ball(lam),
        touching_kl(lam, direction),
        touching_l2(direction),
        touching_corners(direction),
        _turned(lam),
        _smaller(angle, *direction),
    )


@lru_cache(maxsize=128)
def _ball(lam: float) -> np.ndarray:
    return kl_ball(LaplacePrior(lam), _TOP)


@lru_cache(maxsize=128)
def _turned(lam: float) -> np.ndarray:
    """Return the normals of the ball's first quarter, edge by edge, and the first weights there."""
    ball = _ball(lam)
    quarter = ball[: (len(ball) - 1) // 4 + 1]
    across, up = np.diff(quarter, axis=0).T
    angles = np.rad2deg(np.arctan2(-across, up))
    first = (quarter[1:, 0] + quarter[:-1, 0]) / 2
    return np.array([(0.0, quarter[0, 0]), *zip(angles, first, strict=True), (90.0, 0.0)])


@lru_cache(maxsize=128)
def _smaller(angle: float, *direction: float) -> np.ndarray:
    # In units of 1 / sqrt(lambda) all Laplace priors are one, and their balls those of one prior.
    unit, scale = LaplacePrior(1.0), np.sqrt(LAMS)
    points = touching_point(unit, np.array(direction), unit.kl(scale))
    return points.min(axis=1) / scale


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


def draw_smaller_weight(ax: Axes, lams: np.ndarray, smaller: np.ndarray, on_l2: float) -> Any:
    r"""Draw the smaller weight where a line touches, against lambda."""
    with styled():
        (level,) = ax.plot(lams[[0, -1]], [on_l2] * 2, "-", color=INK, lw=1.5, label="L2")
        (curve,) = ax.plot(lams, smaller, "-", color=_KL, label="KL")
        slope = 1e-2 * np.array([1, 10**-1.5])
        ax.plot([1, 1e3], slope, "--", color=MUTED, lw=1)
        ax.text(10, 1e-3, "∝ 1/√λ", ha="right", va="center", color=MUTED)
        ax.set(xscale="log", yscale="log", xlim=lams[[0, -1]], ylim=(_LEAST, 1.3), xlabel="λ")
        # Plain text, which is drawn more quickly than formulas.
        ax.set_xticks([1, 1e2, 1e4, 1e6], ["1", "10²", "10⁴", "10⁶"])
        ax.set_yticks([1, 1e-2, 1e-4], ["1", "10⁻²", "10⁻⁴"])
        ax.minorticks_off()
    return curve, level


class Touching:
    """The figure: the balls with lines that touch them, and what the weights there are.

    The first weight is drawn against the direction across the lines, the smaller one against lambda.

    `show` changes it in place.
    """

    def __init__(self) -> None:
        self.figure = new_figure(8.0, 4.8)
        axes = self.figure.subplot_mosaic(
            [["balls", "turned"], ["balls", "smaller"]], width_ratios=[1.45, 1]
        )
        with styled():
            self._draw_balls(axes["balls"])
            self._draw_turned(axes["turned"])
            self._draw_smaller(axes["smaller"])
            keys, names = axes["balls"].get_legend_handles_labels()
            self.figure.legend(keys, names, loc="outside lower center", ncols=3, handlelength=1)

    def show(self, frame: TouchingFrame) -> None:
        """Show lines of one direction, and one KL ball."""
        along = 4 * np.array([-frame.direction[1], frame.direction[0]])
        self._lam.set_text(f"λ = {frame.lam:,.3g}" if frame.lam < 1000 else f"λ = {frame.lam:,.0f}")
        self._ball.set_data(*frame.ball.T)
        self._area.set_xy(frame.ball)
        for name, point in (("KL", frame.on_kl), ("L2", frame.on_l2), ("L1", frame.on_l1[0])):
            self._lines[name].set_data(*np.transpose([point - along, point + along]))
        self._dots["KL"].set_data(*frame.on_kl[:, None])
        self._dots["L2"].set_data(*frame.on_l2[:, None])
        self._dots["L1"].set_data(*frame.on_l1.T)
        self._show_turned(frame)
        self._show_smaller(frame)

    def _draw_balls(self, ax: Axes) -> None:
        ax.axhline(0, color=_AXIS, lw=0.8, zorder=0)
        ax.axvline(0, color=_AXIS, lw=0.8, zorder=0)
        ax.plot(*norm_ball(np.square).T, "-", color=INK, lw=1.2)
        ax.plot(*norm_ball(np.abs).T, "--", color=MUTED, lw=1.2, zorder=3)
        (self._area,) = ax.fill([0, 0], [0, 0], color=_INSIDE, lw=0, zorder=-1)
        (self._ball,) = ax.plot([0], [0], "-", color=_KL, lw=2.4)
        self._lines, self._dots = {}, _dots(ax)
        for name, (colour, *_) in _LOOKS.items():
            width = 1.6 if name == "KL" else 0.7
            (self._lines[name],) = ax.plot([0, 0], [0, 0], "-", color=colour, lw=width, zorder=1)
        ax.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
        ax.set(xlabel="mean μ₁", ylabel="mean μ₂", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        self._lam = ax.text(-_REACH + 0.05, -_REACH + 0.05, "", fontsize=11)
        ax.set_title("Where a margin constraint touches balls")

    def _draw_turned(self, ax: Axes) -> None:
        degrees = np.linspace(0, 90, 61)
        ax.plot(degrees, np.cos(np.deg2rad(degrees)), "-", color=INK, lw=1.2)
        ax.plot([0, 45, 45, 90], [1, 1, 0, 0], "--", color=MUTED, lw=1.2, zorder=3)
        ax.text(58, 0.72, "L2", color=INK)
        ax.text(42, 0.06, "L1", color=MUTED, ha="right")
        (self._turning,) = ax.plot([0], [0], "-", color=_KL, lw=2.4)
        self._turned = _dots(ax)
        ax.set(xlim=(0, 90), ylim=(-0.08, 1.1), xticks=(0, 45, 90), yticks=(0, 1))
        ax.set_xticklabels(["0°", "45°", "90°"])
        ax.set_title("Its μ₁ as the line turns")

    def _show_turned(self, frame: TouchingFrame) -> None:
        self._turning.set_data(*frame.turned.T)
        angle = np.rad2deg(np.arctan2(*frame.direction[::-1]))
        for name, points in (
            ("KL", frame.on_kl[None]),
            ("L2", frame.on_l2[None]),
            ("L1", frame.on_l1),
        ):
            self._turned[name].set_data([angle] * len(points), points[:, 0])

    def _draw_smaller(self, ax: Axes) -> None:
        self._curve, self._level = draw_smaller_weight(ax, LAMS, np.ones_like(LAMS), 1.0)
        (self._now,) = ax.plot([1], [1], "o", color=_KL, ms=9, mec="white", zorder=5, clip_on=False)
        self._text = ax.text(0, 0, "", color=_KL, ha="right", va="top", fontweight="bold")
        self._l2_text = ax.text(LAMS[-1], 0, "L2", color=INK, ha="right", va="bottom")
        self._l1_text = ax.text(0.97, 0.02, "", ha="right", color=MUTED, transform=ax.transAxes)
        ax.set_title("Its smaller mean as λ grows")

    def _show_smaller(self, frame: TouchingFrame) -> None:
        smaller, on_l2 = float(frame.on_kl.min()), float(frame.on_l2.min())
        is_corner = len(frame.on_l1) == 1
        self._l1_text.set_text("L1: exactly 0" if is_corner else "L1: anything from 0 to 0.5")
        self._curve.set_ydata(frame.smaller)
        self._level.set_ydata([on_l2, on_l2])
        self._l2_text.set_y(1.05 * on_l2)
        self._now.set_data([frame.lam], [smaller])
        before = frame.lam > 1  # else the text would lie across the axis
        self._text.set_position((frame.lam * (0.65 if before else 1.5), smaller / 1.15))
        self._text.set_ha("right" if before else "left")
        self._text.set_text(f"{smaller:.4f}" if smaller < 0.1 else f"{smaller:.2f}")


def _dots(ax: Axes) -> dict[str, Any]:
    """Draw a mark for the point on each ball."""
    dots = {}
    for zorder, (name, (colour, marker, size)) in enumerate(_LOOKS.items(), start=5):
        (dots[name],) = ax.plot(
            [0], [0], ls="none", marker=marker, ms=size, mec="white", color=colour, zorder=zorder,
            label=f"on the {name} ball",
        )  # fmt: skip
    return dots


def norm_balls() -> Explorer:
    """Return an explorer of the KL ball between the L2 and the L1 ball, and of lines that touch them.

    On the left the balls through (0, 1), the Laplace prior's KL ball in colour, and lines of one
    direction with the points at which they touch; on the right the first weight of these points against
    the direction, and the smaller weight of the point on the KL ball against lambda.  Drawn by
    `medn_edu.explorers.norm_balls`.

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
