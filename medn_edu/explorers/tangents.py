r"""The log moment generating function as curve, slope and tangent: the figure behind its explorer.

Tilting a prior gives :math:`p(w) = p_0(w) e^{\eta w} / Z`, and :math:`\log Z = \Lambda(\eta)`.  The
slope of this curve is the mean :math:`\mu` of the tilted prior (MEDN, proof of Corollary 7), and as
:math:`\log (p / p_0) = \eta w - \Lambda(\eta)`,

.. math:: KL(p \| p_0) = \eta \mu - \Lambda(\eta) .

That is minus the height at which the tangent at :math:`\eta`,
:math:`t \mapsto \Lambda(\eta) + \mu (t - \eta)`, cuts the vertical axis.  A convex curve lies above its
tangents, hence :math:`\Lambda(t) + KL \ge \mu t` for all ``t``: the divergence is
:math:`\max_t \mu t - \Lambda(t) = \Lambda^*(\mu)`, the conjugate, which the paper introduces after
Theorem 2.

`tangent_frame` computes what one position of the controls shows; `Tangents` is the figure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.explorers.shrinkage import (
    STYLES,
    TiltedDensity,
    TiltingFrame,
    draw_cross,
    prior_gallery,
    shrinkage_curve,
    tilting_frame,
)

PRIORS = ("Gaussian", "Laplace", "box", "two-point")
"""The priors of the gallery that are shown."""

_ETA, _MEAN = 2.5, 4.0  # how far the axes reach
_LOW, _HIGH = -4.4, 3.5  # of Lambda
_DEEPEST = -3.75  # where an intercept far below is marked
_COST = 3.9  # how high the axis of the conjugate reaches
_TANGENT, _SEGMENT = "#009E73", "#CC79A7"


@dataclass(frozen=True, eq=False)
class TangentFrame:
    """A tilted prior, and the tangent at its point of the log moment generating function."""

    tilted: TiltingFrame  # the tilted prior, as densities or bars
    curve: np.ndarray  # ``Lambda`` inside the domain: ``eta`` and values
    conjugate: np.ndarray  # ``Lambda*`` where it is finite: means and values
    height: float  # ``Lambda(eta)``; not a number outside the domain
    kl: float  # divergence of the tilted prior from the prior, ``Lambda*(mu)``

    @property
    def eta(self) -> float:
        """By how much the prior is tilted."""
        return self.tilted.eta

    @property
    def slope(self) -> float:
        """Slope of the tangent, the mean of the tilted prior."""
        return self.tilted.mean

    @property
    def intercept(self) -> float:
        """Height of the tangent above ``eta = 0``."""
        return self.height - self.eta * self.slope

    @property
    def exists(self) -> bool:
        """Whether the prior can be tilted so far."""
        return self.tilted.exists


def tangent_frame(name: str, eta: float) -> TangentFrame:
    """Tilt a prior of the gallery (with lambda 4 for Laplace) and lay the tangent."""
    if name not in PRIORS:
        raise ValueError(f"prior is {name!r}; expected one of {', '.join(PRIORS)}.")
    tilted = tilting_frame(name, eta)
    curve, conjugate = _curves(name)
    height = kl = float("nan")
    if tilted.exists:
        height = float(tilted.prior.log_mgf(np.array([eta]))[0])
        kl = float(tilted.prior.kl(np.array([tilted.mean]))[0])
    return TangentFrame(tilted, curve, conjugate, height, kl)


@lru_cache(maxsize=len(PRIORS))
def _curves(name: str) -> tuple[np.ndarray, np.ndarray]:
    prior = prior_gallery()[name]
    eta = shrinkage_curve(name, prior, -1.1 * _ETA, 1.1 * _ETA).eta
    mu = np.linspace(-_MEAN, _MEAN, 1601)
    cost = prior.kl(mu)
    finite = np.isfinite(cost)
    return np.array([eta, prior.log_mgf(eta)]), np.array([mu[finite], cost[finite]])


class Tangents:
    """A figure of a tilted prior, of its point and tangent on ``Lambda``, and of ``Lambda*``.

    `show` changes it in place.
    """

    def __init__(self) -> None:
        self.figure = new_figure(8.4, 5.0)
        axes = self.figure.subplot_mosaic(
            [["density", "curve"], ["conjugate", "curve"]], width_ratios=[1, 1.1]
        )
        with styled():
            self._density = TiltedDensity(axes["density"], flat=True)
            self._draw_curve(axes["curve"])
            self._draw_conjugate(axes["conjugate"])
            for name in (
                "density",
                "conjugate",
            ):  # few ticks: they take half of the time of a frame
                axes[name].set_xticks([-4, -2, 0, 2, 4])

    def show(self, frame: TangentFrame) -> None:
        """Show a tilted prior and its tangent."""
        self._density.show(frame.tilted)
        self._show_curve(frame)
        self._show_conjugate(frame)
        for artist in self._only_inside:
            artist.set_visible(frame.exists)
        if frame.exists:
            self._show_tangent(frame)
            self._show_intercept(frame)
            self._show_cost(frame)

    # -- Lambda, on the right ------------------------------------------------------------------

    def _draw_curve(self, ax: Axes) -> None:
        draw_cross(ax)
        ax.set(xlim=(-1.1 * _ETA, 1.1 * _ETA), ylim=(_LOW, _HIGH), xlabel="natural parameter η")
        ax.set(xticks=range(-2, 3), yticks=[-4, -2, 0, 2])
        ax.set_title("Λ: height, slope and intercept")
        nowhere = np.zeros(2)
        (self._tangent,) = ax.plot(nowhere, nowhere, "--", color=_TANGENT, lw=1.8, zorder=4)
        (self._curve,) = ax.plot(nowhere, nowhere, lw=2.4, zorder=3)
        (self._drop,) = ax.plot(nowhere, nowhere, ":", color=INK, lw=1.3)
        (self._intercept,) = ax.plot(
            nowhere, nowhere, color=_SEGMENT, ls="-", lw=5, solid_capstyle="butt", zorder=5
        )
        (self._cut,) = ax.plot([0], [0], "s", color=_TANGENT, ms=7, zorder=6)
        (self._point,) = ax.plot([0], [0], "o", color=INK, ms=9, zorder=6)
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        above: dict[str, Any] = {"ha": "center", "va": "top", "bbox": paper, "zorder": 7}
        self._slope_text = ax.text(0, 0.955 * _HIGH, "", **above, color="#00664B")
        self._height_text = ax.text(0, 0.815 * _HIGH, "", **above)
        self._kl_text = ax.text(0, 0, "", va="top")
        self._no_point = ax.text(
            0,
            0.955 * _HIGH,
            "Λ(η) = ∞: no point, no tangent",
            ha="center",
            va="top",
        )
        self._beyond = _Bands(ax, -1.1 * _ETA, 1.1 * _ETA, "Λ = ∞", _LOW / 2)
        self._only_inside = [
            self._tangent, self._drop, self._intercept, self._cut, self._point,
            self._slope_text, self._height_text, self._kl_text,
        ]  # fmt: skip

    def _show_curve(self, frame: TangentFrame) -> None:
        self._curve.set_data(*frame.curve)
        self._curve.set(**STYLES[frame.tilted.name])
        self._beyond.show(*frame.tilted.prior.domain)
        self._no_point.set_visible(not frame.exists)

    def _show_tangent(self, frame: TangentFrame) -> None:
        t = np.array([-1.1 * _ETA, 1.1 * _ETA])
        self._tangent.set_data(t, frame.intercept + frame.slope * t)
        self._point.set_data([frame.eta], [frame.height])
        self._drop.set_data([frame.eta, frame.eta], [0, frame.height])
        self._slope_text.set_text(f"slope μ = Λ′(η) = {_signed(frame.slope)}")
        self._height_text.set_text(f"height Λ(η) = {frame.height:.2f}")

    def _show_intercept(self, frame: TangentFrame) -> None:
        """Mark the intercept, and write its length where the tangent is not."""
        bottom = max(frame.intercept, _DEEPEST)
        far = bottom > frame.intercept
        self._intercept.set_data([0, 0], [0, bottom])
        self._cut.set_data([0], [bottom])
        self._cut.set_marker("v" if far else "s")
        rightwards = (frame.eta >= 0) != far
        self._kl_text.set_text(f"−Λ*(μ) = {_signed(frame.intercept)}")
        self._kl_text.set_position((0.12 if rightwards else -0.12, bottom - 0.12))
        self._kl_text.set_ha("left" if rightwards else "right")

    # -- the conjugate, below the density ------------------------------------------------------

    def _draw_conjugate(self, ax: Axes) -> None:
        ax.set(xlim=(-_MEAN, _MEAN), ylim=(0, _COST), xlabel="mean μ of the posterior")
        ax.set_yticks([0, 2])
        ax.set_title("Λ*: divergence")
        nowhere = np.zeros(2)
        (self._conjugate,) = ax.plot(nowhere, nowhere, lw=2.4, zorder=3)
        (self._cost,) = ax.plot(
            nowhere, nowhere, color=_SEGMENT, ls="-", lw=5, solid_capstyle="butt", zorder=2
        )
        (self._price,) = ax.plot(nowhere, nowhere, "--", color=_TANGENT, lw=2.2, zorder=5)
        (self._cost_point,) = ax.plot([0], [0], "o", color=INK, ms=8, zorder=6, clip_on=False)
        self._cost_text = ax.text(1, 1.045, "", ha="right", transform=ax.transAxes)
        self._impossible = _Bands(ax, -_MEAN, _MEAN, "Λ* = ∞", 0.4 * _COST)
        self._only_inside += [self._cost, self._price, self._cost_point, self._cost_text]

    def _show_conjugate(self, frame: TangentFrame) -> None:
        means, costs = frame.conjugate
        self._conjugate.set_data(means, costs)
        self._conjugate.set(**STYLES[frame.tilted.name])
        self._impossible.show(means[0], means[-1])

    def _show_cost(self, frame: TangentFrame) -> None:
        inside = abs(frame.slope) <= _MEAN and frame.kl <= _COST
        for artist in (self._cost, self._price, self._cost_point):
            artist.set_visible(inside)
        self._cost.set_data([frame.slope] * 2, [0, frame.kl])
        self._cost_point.set_data([frame.slope], [frame.kl])
        run = 1.6 / np.hypot(1, frame.eta)  # longer than the point is wide
        around = np.array([-run, run])
        self._price.set_data(frame.slope + around, frame.kl + frame.eta * around)
        outside = "" if inside else ", outside"
        self._cost_text.set_text(f"KL = Λ*({_signed(frame.slope)}) = {frame.kl:.2f}{outside}")


class _Bands:
    """Where a function is infinite, on both sides of its axes: two grey bands with words."""

    def __init__(self, ax: Axes, low: float, high: float, words: str, y: float) -> None:
        self._ends = (low, high)
        self._spans = [ax.axvspan(0, 0, color="#EEF1F3", lw=0, zorder=0) for _ in range(2)]
        self._texts: list[Text] = [
            ax.text(0, y, words, rotation=90, ha="center", va="center", color=MUTED)
            for _ in range(2)
        ]

    def show(self, first: float, last: float) -> None:
        """Show that the function is finite from ``first`` to ``last`` only."""
        low, high = self._ends
        sides = zip(self._spans, self._texts, ((low, first), (last, high)), strict=True)
        for span, text, (left, right) in sides:
            wide = right - left > 1e-9
            span.set_visible(wide)
            text.set_visible(wide)
            if wide:
                span.set_x(left)
                span.set_width(right - left)
                text.set_x((left + right) / 2)


def _signed(value: float) -> str:
    """Return two digits after the point, with a true minus, and 0.00 for what rounds to it."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def tangents() -> Explorer:
    """Return an explorer of ``Lambda``: tilt a prior, and read height, slope and intercept.

    On the left the prior, tilted, and below it what its mean costs, ``Lambda*``; on the right the curve
    ``Lambda`` with the tangent at ``eta``, whose slope is the mean and whose intercept on the vertical
    axis is minus the divergence.  Drawn by `medn_edu.explorers.tangents`.

    Returns
    -------
    Explorer
        The explorer: its time is ``eta``, from -2.5 to 2.5; ``prior`` is Gaussian, Laplace (with lambda
        4), box or two-point.

    Examples
    --------
    >>> explorer = tangents()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Tangents()

    def update(prior: str, eta: float) -> str:
        frame = tangent_frame(prior, eta)
        drawn.show(frame)
        setting = f"{prior} prior, η = {eta + 0.0:.1f}"
        if not frame.exists:
            low, high = frame.tilted.prior.domain
            return f"{setting}: Λ is infinite, for it is finite only if {low:.2f} < η < {high:.2f}."
        return (
            f"{setting}: height Λ(η) = {frame.height:.2f}, slope μ = {frame.slope + 0.0:.2f}, "
            f"intercept {_number(frame.intercept)}, so KL(p‖p0) = {frame.kl:.2f}."
        )

    def alt(prior: str, eta: float) -> str:
        frame = tangent_frame(prior, eta)
        if not frame.exists:
            return (
                f"Left, the {prior} prior without a posterior, and the conjugate curve; right, Λ, which "
                f"ends before η = {eta:.1f}, without a tangent."
            )
        return (
            f"Left, the {prior} prior and the posterior after tilting by η = {eta + 0.0:.1f}, and below "
            f"it the conjugate, {frame.kl:.2f} at the mean {frame.slope + 0.0:.2f}; right, the curve Λ "
            f"with its tangent at η, which cuts the vertical axis at {_number(frame.intercept)}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="tangents",
        prior=Choice(list(PRIORS), "Gaussian"),
        eta=Time(-2.5, 2.5, 0.1, 1.6, label="η, natural parameter", per_second=8),
    )


def _number(value: float) -> str:
    """Return two digits after the point, and 0.00 for what rounds to it from below."""
    return f"{round(value, 2) + 0.0:.2f}"


def _lessons() -> list[Lesson]:
    def mirrored(prior: str, eta: float) -> bool:
        frame = tangent_frame(prior, eta)
        return eta != 0 and math.isclose(frame.height, -frame.intercept, rel_tol=1e-9)

    def runs_away(prior: str, eta: float) -> bool:
        frame, beyond = tangent_frame(prior, eta), tangent_frame(prior, 2.0)
        return frame.height < 2.5 and frame.slope > 9 and frame.kl > 15 and not beyond.exists

    def saturates(prior: str, eta: float) -> bool:
        kls = [tangent_frame(prior, t).kl for t in (eta, 2 * eta, 10 * eta)]
        return kls[0] > 0.9 * math.log(2) and kls[0] < kls[1] < kls[2] <= math.log(2)

    return [
        Lesson(
            {"prior": "Gaussian", "eta": 1.6},
            "The standard normal's tangent cuts the axis as far below 0 as the curve is above it: "
            "height and divergence are both η²/2.",
            mirrored,
        ),
        Lesson(
            {"prior": "Laplace", "eta": 1.9},
            "Near η = √λ = 2 the Laplace prior's Λ is still low, but its tangent is steep and cuts the "
            "axis far below; from 2 on there is no Λ.",
            runs_away,
        ),
        Lesson(
            {"prior": "two-point", "eta": 2.5},
            "However far the two-point prior is tilted, the divergence stays below log 2 = 0.69.",
            saturates,
        ),
    ]
