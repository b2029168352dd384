"""The log moment generating function Lambda as curve, slope and tangent.

Tilting a prior by eta has the normaliser ``exp(Lambda(eta))``, and the slope of Lambda is the mean
of the tilted prior.  Its divergence from the prior is ``eta * mean - Lambda(eta)``.  That is minus
the height at which the tangent cuts the vertical axis, because a tangent falls by ``eta * mean`` on
its way there.  It is also the conjugate of Lambda at the mean (MEDN, after Theorem 2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import draw_cross
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.explorers.shrinkage import (
    STYLES,
    TiltingFrame,
    prior_gallery,
    shrinkage_curve,
    tilted_density,
    tilting_frame,
)

PRIORS = ("Gaussian", "Laplace", "box", "two-point")
"""The priors of the gallery that are shown."""

_ETA, _MEAN = 2.75, 4.0  # how far the axes reach
_LOW, _HIGH = -4.4, 3.5  # of Lambda
_DEEPEST = -3.75  # where an intercept far below is marked
_COST = 3.9  # how high the axis of the conjugate reaches
_NARROW = 7.0  # inches
_TANGENT, _SEGMENT = palette.GREEN, palette.PINK
_PIECE: dict[str, object] = {"color": _SEGMENT, "ls": "-", "lw": 5, "solid_capstyle": "butt"}


@dataclass(frozen=True, eq=False)
class TangentFrame:
    """A tilted prior, and the tangent at its point of the log moment generating function."""

    tilted: TiltingFrame
    curve: np.ndarray  # ``Lambda`` inside the domain: ``eta`` and values
    conjugate: np.ndarray  # ``Lambda*`` where it is finite: means and values
    eta: float
    height: float  # ``Lambda(eta)``; not a number outside the domain, like what follows
    slope: float  # of the tangent: the mean of the tilted prior
    kl: float  # divergence of the tilted prior from the prior, ``Lambda*(mu)``

    @property
    def intercept(self) -> float:
        """Height of the tangent above ``eta = 0``."""
        return self.height - self.eta * self.slope


def tangent_frame(prior: str, eta: float) -> TangentFrame:
    """Tilt a prior of the gallery (with lambda 4 for Laplace) and lay the tangent."""
    if prior not in PRIORS:
        raise ValueError(f"prior is {prior!r}; expected one of {', '.join(PRIORS)}.")
    tilted, height, kl = tilting_frame(prior, eta), math.nan, math.nan
    if tilted.exists:
        height = float(tilted.prior.log_mgf(np.array([eta]))[0])
        kl = float(tilted.prior.kl(np.array([tilted.mean]))[0])
    return TangentFrame(tilted, *_curves(prior), eta, height, tilted.mean, kl)


@lru_cache(maxsize=len(PRIORS))
def _curves(name: str) -> tuple[np.ndarray, np.ndarray]:
    prior = prior_gallery()[name]
    eta = shrinkage_curve(name, prior, -_ETA, _ETA).eta
    mu = np.linspace(-_MEAN, _MEAN, 1601)
    cost = prior.kl(mu)
    finite = np.isfinite(cost)
    return np.array([eta, prior.log_mgf(eta)]), np.array([mu[finite], cost[finite]])


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[TangentFrame], None]


def _curve(ax: Axes) -> Show:
    """Draw Lambda with point, tangent and intercept."""
    draw_cross(ax)
    ax.set(xlim=(-_ETA, _ETA), ylim=(_LOW, _HIGH), xlabel="natural parameter η")
    ax.set(xticks=range(-2, 3), yticks=[-4, -2, 0, 2])
    ax.set_title("Λ and its tangent")
    nowhere = np.zeros(2)
    (tangent,) = ax.plot(nowhere, nowhere, "--", color=_TANGENT, lw=1.8, zorder=4)
    (curve,) = ax.plot(nowhere, nowhere, lw=2.4, zorder=3)
    (drop,) = ax.plot(nowhere, nowhere, ":", color=INK, lw=1.3)
    (intercept,) = ax.plot(nowhere, nowhere, **_PIECE, zorder=5)
    (cut,) = ax.plot([0], [0], "s", color=_TANGENT, ms=7, zorder=6)
    (point,) = ax.plot([0], [0], "o", color=INK, ms=9, zorder=6)
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    above: dict[str, object] = {"ha": "center", "va": "top"}
    slope_text = ax.text(
        0, 0.955 * _HIGH, "", **above, bbox=paper, zorder=7, color=palette.GREEN_TEXT
    )
    height_text = ax.text(0, 0.815 * _HIGH, "", **above, bbox=paper, zorder=7)
    kl_text = ax.text(0, 0, "", va="top")
    no_point = ax.text(0, 0.955 * _HIGH, "Λ(η) = ∞:\nno point, no tangent", **above)
    beyond = _bands(ax, -_ETA, _ETA, "Λ = ∞", _LOW / 2)

    def show(frame: TangentFrame) -> None:
        curve.set_data(*frame.curve)
        curve.set(**STYLES[frame.tilted.name])
        beyond(*frame.tilted.prior.domain)
        exists = frame.tilted.exists
        no_point.set_visible(not exists)
        for artist in (tangent, drop, intercept, cut, point, slope_text, height_text, kl_text):
            artist.set_visible(exists)
        if exists:
            tangent.set_data([-_ETA, _ETA], frame.intercept + frame.slope * np.array([-_ETA, _ETA]))
            point.set_data([frame.eta], [frame.height])
            drop.set_data([frame.eta, frame.eta], [0, frame.height])
            slope_text.set_text(f"slope μ = Λ′(η) = {_signed(frame.slope)}")
            height_text.set_text(f"height Λ(η) = {frame.height:.2f}")
            show_intercept(frame)

    def show_intercept(frame: TangentFrame) -> None:
        """Mark the intercept, and write its length where the tangent is not."""
        bottom = max(frame.intercept, _DEEPEST)
        far = bottom > frame.intercept
        intercept.set_data([0, 0], [0, bottom])
        cut.set_data([0], [bottom])
        cut.set_marker("v" if far else "s")
        rightwards = (frame.eta >= 0) != far
        kl_text.set_text(f"−Λ*(μ) = {_signed(frame.intercept)}")
        kl_text.set_position((0.12 if rightwards else -0.12, bottom - 0.12))
        kl_text.set_ha("left" if rightwards else "right")

    return show


def _conjugate(ax: Axes) -> Show:
    """Draw Lambda*, with the cost of the mean."""
    ax.set(xlim=(-_MEAN, _MEAN), ylim=(0, _COST), xlabel="mean μ of the tilted prior")
    ax.set_yticks([0, 2])
    ax.set_title("Divergence")
    nowhere = np.zeros(2)
    (curve,) = ax.plot(nowhere, nowhere, lw=2.4, zorder=3)
    (cost,) = ax.plot(nowhere, nowhere, **_PIECE, zorder=2)
    (price,) = ax.plot(nowhere, nowhere, "--", color=_TANGENT, lw=2.2, zorder=5)
    (point,) = ax.plot([0], [0], "o", color=INK, ms=8, zorder=6, clip_on=False)
    text = ax.text(1, 1.045, "", ha="right", transform=ax.transAxes)
    impossible = _bands(ax, -_MEAN, _MEAN, "Λ* = ∞", 0.4 * _COST)

    def show(frame: TangentFrame) -> None:
        means, costs = frame.conjugate
        curve.set_data(means, costs)
        curve.set(**STYLES[frame.tilted.name])
        impossible(means[0], means[-1])
        inside = abs(frame.slope) <= _MEAN and frame.kl <= _COST  # never if these are no numbers
        for artist in (cost, price, point):
            artist.set_visible(inside)
        text.set_visible(frame.tilted.exists)
        if frame.tilted.exists:
            cost.set_data([frame.slope] * 2, [0, frame.kl])
            point.set_data([frame.slope], [frame.kl])
            run = 1.6 / np.hypot(1, frame.eta)  # longer than the point is wide
            around = np.array([-run, run])
            price.set_data(frame.slope + around, frame.kl + frame.eta * around)
            narrow = ax.figure.get_figwidth() < _NARROW  # has no room for another word
            outside = "" if inside or narrow else ", outside"
            text.set_text(f"Λ*({_signed(frame.slope)}) = {frame.kl:.2f}{outside}")

    return show


def _bands(
    ax: Axes, low: float, high: float, words: str, y: float
) -> Callable[[float, float], None]:
    """Draw grey bands where a function is infinite, on both sides of its axes."""
    spans = [ax.axvspan(0, 0, color="#EEF1F3", lw=0, zorder=0) for _ in range(2)]
    centred: dict[str, object] = {"rotation": 90, "ha": "center", "va": "center", "color": MUTED}
    texts = [ax.text(0, y, words, **centred) for _ in range(2)]

    def show(first: float, last: float) -> None:
        """Show that the function is finite from ``first`` to ``last`` only."""
        sides = ((low, first), (last, high))
        for span, text, (left, right) in zip(spans, texts, sides, strict=True):
            wide = right - left > 1e-9
            span.set_visible(wide)
            text.set_visible(wide)
            if wide:
                span.set_x(left)
                span.set_width(right - left)
                text.set_x((left + right) / 2)

    return show


def _number(value: float) -> str:
    """Return two digits after the point, and 0.00 for what rounds to it from below."""
    return f"{round(value, 2) + 0.0:.2f}"


def _signed(value: float) -> str:
    """Return the same with a true minus."""
    return _number(value).replace("-", "−")


# -- sentence, lessons, controls ------------------------------------------------------------------


@lesson(
    "With the standard normal prior the tangent cuts the axis as far below 0 as the point is above "
    "it, because height and divergence are both η²/2.",
    {"prior": "Gaussian", "eta": 1.6},
)
def _mirrored(prior: str, eta: float) -> bool:
    frame = tangent_frame(prior, eta)
    return eta != 0 and math.isclose(frame.height, -frame.intercept, rel_tol=1e-9)


@lesson(
    "Near η = √λ = 2 the Laplace prior's Λ is still low, but its tangent is so steep that it cuts the "
    "axis far below 0. From 2 on, Λ is infinite.",
    {"prior": "Laplace", "eta": 1.9},
)
def _runs_away(prior: str, eta: float) -> bool:
    frame, beyond = tangent_frame(prior, eta), tangent_frame(prior, 2.0)
    steep = frame.height < 2.5 and frame.slope > 9 and frame.kl > 15
    return steep and not beyond.tilted.exists


@lesson(
    "The divergence of the two-point prior stays below log 2 = 0.69, however far you tilt it.",
    {"prior": "two-point", "eta": 2.5},
)
def _saturates(prior: str, eta: float) -> bool:
    kls = [tangent_frame(prior, t).kl for t in (eta, 2 * eta, 10 * eta)]
    return 0.9 * math.log(2) < kls[0] < kls[1] < kls[2] <= math.log(2)


_CAPTION = (
    "Top left, a prior (dashed, or grey bars if it allows only a few values of the weight) and the "
    "tilted prior, the posterior. Bottom left, the divergence as a function of the mean. Right, "
    "the curve Λ with its tangent at η (green, dashed). Follow the tangent back to the vertical axis, "
    "and compare the thick bar there with the one at the bottom left."
)

_CALLED = {
    "Gaussian": "Gaussian prior",
    "Laplace": "Laplace prior (λ = 4)",
    "box": "Box prior on [−1, 1]",
    "two-point": "Two-point prior on ±1",
}


def tangents() -> Explorer:
    """Return an explorer of ``Lambda``: tilt a prior, and read height, slope and intercept.

    The left side shows the tilted prior, and below it the divergence as a function of the mean,
    ``Lambda*``. The right side shows the curve ``Lambda`` with its tangent at ``eta``. The tangent's
    slope is the mean, and it cuts the vertical axis at minus the divergence.

    Returns
    -------
    Explorer
        The explorer. Its time is ``eta``, from -2.5 to 2.5, and ``prior`` is Gaussian, Laplace (with
        lambda 4), box (on [-1, 1]) or two-point (on -1 and 1).
    """
    figure = new_figure(8.4, 5.0)
    axes = figure.subplot_mosaic(
        [["density", "curve"], ["conjugate", "curve"]], width_ratios=[1, 1.1]
    )
    with styled():
        show_density = tilted_density(axes["density"], flat=True)
        show_curve, show_conjugate = _curve(axes["curve"]), _conjugate(axes["conjugate"])
        for name in ("density", "conjugate"):  # few ticks: they take half of the time of a frame
            axes[name].set_xticks([-4, -2, 0, 2, 4])

    def update(prior: str, eta: float) -> str:
        frame = tangent_frame(prior, eta)
        show_density(frame.tilted)
        show_curve(frame)
        show_conjugate(frame)
        setting = f"{_CALLED[prior]}, η = {eta + 0.0:.1f}"
        if not frame.tilted.exists:
            low, high = frame.tilted.prior.domain
            return f"{setting}: Λ is infinite. It's finite only for {low:.2f} < η < {high:.2f}."
        return (
            f"{setting}: height Λ(η) = {frame.height:.2f}, slope μ = {_number(frame.slope)}, "
            f"intercept {_number(frame.intercept)}, so KL(p‖p0) = {frame.kl:.2f}."
        )

    def alt(prior: str, eta: float) -> str:
        frame = tangent_frame(prior, eta)
        if not frame.tilted.exists:
            return (
                f"Left, the {prior} prior, which can't be tilted so far, and the conjugate curve. "
                f"Right, Λ, which ends before η = {eta:.1f}, without a tangent."
            )
        return (
            f"Left, the {prior} prior and its tilted version for η = {eta + 0.0:.1f}. Below it the "
            f"conjugate, {frame.kl:.2f} at the mean {_number(frame.slope)}. Right, the curve Λ with its "
            f"tangent at η, which cuts the vertical axis at {_number(frame.intercept)}."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_mirrored, _runs_away, _saturates],
        name="tangents",
        prior=Choice(list(PRIORS), "Gaussian"),
        eta=Time(-2.5, 2.5, 0.1, 1.6, label="η, natural parameter", per_second=8),
    )


EXHIBIT = Exhibit("A tilted prior, its curve and its tangent", "toolbox", tangents)
