r"""Shrinkage curves: the posterior mean of a weight against its natural parameter.

MEDN learns one number per weight from the data, its natural parameter
:math:`\eta_k = \sum \alpha_i(y) \Delta f_i^k(y)`, and tilts the prior by it,
:math:`p(w) = p_0(w) e^{\eta w} / Z` (Theorem 2).  The *shrinkage curve* of a prior is the mean of the
tilted prior against :math:`\eta`: a straight line for the Gaussian, and for the Laplace prior
:math:`2\eta / (\lambda - \eta^2)` (Corollary 7), which grows without bound towards
:math:`|\eta| = \sqrt\lambda`.

Curves are computed by `shrinkage_curve` and drawn by `draw_shrinkage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit.controls import Check, Choice, Slider, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import (
    BoxPrior,
    ExponentialPrior,
    GaussianPrior,
    LaplacePrior,
    NormalGammaPrior,
    NormalInverseGaussianPrior,
    Prior,
    SpikeSlabPrior,
    TwoPointPrior,
)

STYLES: dict[str, dict[str, Any]] = {
    "Gaussian": {"color": INK, "linestyle": "-"},
    "Laplace": {"color": "#0072B2", "linestyle": "-"},
    "normal-gamma": {"color": "#56B4E9", "linestyle": "--"},
    "normal-inverse Gaussian": {"color": "#009E73", "linestyle": "-."},
    "box": {"color": "#E69F00", "linestyle": "--"},
    "two-point": {"color": "#8A6FB0", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    "exponential": {"color": "#5D6B78", "linestyle": (0, (1, 1))},
    "spike and slab": {"color": "#CC79A7", "linestyle": (0, (8, 2))},
}
_SECOND = {"color": "#009E73", "linestyle": "--"}  # of two priors of the same kind
_SLAB_SHARE = 0.1
_SLOPE = "#B9C2CA"


def prior_gallery(lam: float = 4.0, *, matched: bool = False) -> dict[str, Prior]:
    r"""Return the priors that the figures show, by name.

    Those whose tails fall exponentially all end their domain at ``sqrt(lam)``; the others have
    the scale 1, whatever ``lam`` is.

    Parameters
    ----------
    lam : float
        Constant of the Laplace prior and its relatives.
    matched : bool
        Whether all are stretched to the Laplace prior's variance, ``2 / lam``.

    Returns
    -------
    dict of str to Prior
        The priors.

    Examples
    --------
    >>> {float(prior.variance(0.0).round(9)) for prior in prior_gallery(8.0, matched=True).values()}
    {0.25}
    """
    end = float(np.sqrt(lam))
    priors: dict[str, Prior] = {
        "Gaussian": GaussianPrior(),
        "Laplace": LaplacePrior(lam),
        "normal-gamma": NormalGammaPrior(shape=2.0, lam=lam),
        "normal-inverse Gaussian": NormalInverseGaussianPrior(alpha=end, delta=1.0),
        "box": BoxPrior(a=1.0),
        "two-point": TwoPointPrior(a=1.0),
        "exponential": ExponentialPrior(rate=end),
        "spike and slab": SpikeSlabPrior(pi=_SLAB_SHARE, slab_variance=1.0),
    }
    if matched:
        return {name: prior.with_variance(2 / lam) for name, prior in priors.items()}
    return priors


def prior_style(name: str) -> dict[str, Any]:
    """Return colour and line style of a prior, the same in every figure.

    Parameters
    ----------
    name : str
        A name of `prior_gallery`, or one that begins so, such as "Laplace, λ = 6"; others share a
        style.

    Returns
    -------
    dict
        Keyword arguments for ``ax.plot``.

    Examples
    --------
    >>> prior_style("Gaussian")["linestyle"], prior_style("somebody's own")["linestyle"]
    ('-', (0, (1, 1)))
    """
    for known, style in STYLES.items():
        if name.startswith(known):
            return dict(style)
    return {"color": "#009E73", "linestyle": (0, (1, 1))}


@dataclass(frozen=True, eq=False)
class ShrinkageCurve:
    """The mean of a tilted prior against ``eta``.

    Parameters
    ----------
    name : str
        Name of the prior.
    eta : ndarray of float, shape (n_points,)
        Where the mean was computed, ascending, inside the domain.
    mean : ndarray of float, shape (n_points,)
        The means.
    domain : (float, float)
        Open interval outside which the prior cannot be tilted.
    """

    name: str
    eta: np.ndarray
    mean: np.ndarray
    domain: tuple[float, float]


def shrinkage_curve(
    name: str, prior: Prior, low: float = -4.0, high: float = 4.0, n_points: int = 241
) -> ShrinkageCurve:
    """Compute a prior's shrinkage curve.

    Parameters
    ----------
    name : str
        Name of the prior.
    prior : Prior
        The prior.
    low, high : float
        From where to where, as far as the domain goes.
    n_points : int
        Number of points, denser towards both ends, where a mean may leave every bound.

    Returns
    -------
    ShrinkageCurve
        The curve.

    Raises
    ------
    ValueError
        If the prior's domain has no part in the range.

    Examples
    --------
    >>> from medn_edu.priors import LaplacePrior
    >>> curve = shrinkage_curve("Laplace", LaplacePrior(lam=4.0))
    >>> bool(-2 < curve.eta[0] < curve.eta[-1] < 2), bool(curve.mean[-1] > 1000)
    (True, True)
    """
    first, last = max(low, prior.domain[0]), min(high, prior.domain[1])
    if not first < last:
        raise ValueError(
            f"{name}: no eta from {low:g} to {high:g} is in the domain {prior.domain}."
        )
    share = np.sin(np.pi / 2 * np.linspace(-1, 1, n_points))
    eta = (first + last) / 2 + (last - first) / 2 * share
    eta = eta[(eta > prior.domain[0]) & (eta < prior.domain[1])]
    return ShrinkageCurve(name, eta, np.asarray(prior.mean(eta)), prior.domain)


def draw_shrinkage(
    ax: Axes, curves: Iterable[ShrinkageCurve], *, reach: float = 4.0, legend: bool = True
) -> None:
    """Draw shrinkage curves, with a dotted line where a mean leaves every bound.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    curves : iterable of ShrinkageCurve
        The curves; the same name begins the same style, the second of a style is dashed.
    reach : float
        How far the axis of means reaches.
    legend : bool
        Whether the axes get a legend.

    Examples
    --------
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure().add_subplot()
    >>> draw_shrinkage(ax, [shrinkage_curve(*item) for item in prior_gallery().items()])
    >>> len(ax.get_legend().get_texts())
    8
    """
    with styled():
        draw_cross(ax)
        used: list[Any] = []
        for curve in curves:
            style = prior_style(curve.name)
            if style in used:
                style = dict(_SECOND)
            used.append(style)
            ax.plot(curve.eta, curve.mean, label=curve.name, **style)
            for end in curve.domain:
                if np.isfinite(end):
                    ax.axvline(end, color=style["color"], linestyle=":", linewidth=1, zorder=0)
        ax.set(ylim=(-reach, reach), xlabel="η", ylabel="posterior mean")
        if legend:
            ax.legend(loc="upper left", frameon=True, framealpha=1, edgecolor="white")


def draw_cross(ax: Axes) -> None:
    """Draw faint axes through the origin."""
    ax.axhline(0, color=_SLOPE, linewidth=0.8, zorder=0)
    ax.axvline(0, color=_SLOPE, linewidth=0.8, zorder=0)


_ETA, _WEIGHT = 3.0, 4.0  # how far the axes reach
_TOP = 0.82  # height of the highest density


@dataclass(frozen=True, eq=False)
class TiltingFrame:
    """A prior of the gallery, tilted."""

    name: str  # name of the prior
    prior: Prior
    eta: float  # by how much it is tilted
    curves: Mapping[str, ShrinkageCurve]  # the curves of the whole gallery
    w: np.ndarray  # weights at which densities are given
    before: np.ndarray
    after: np.ndarray
    points: np.ndarray  # single points that have a probability of their own
    mass_before: np.ndarray
    mass_after: np.ndarray
    peak: float  # the highest density that this prior reaches on the way of the explorer's ``eta``
    mean: float  # mean of the posterior; not a number outside the domain, where there is none

    @property
    def exists(self) -> bool:
        """Whether the prior can be tilted so far."""
        return bool(np.isfinite(self.mean))

    @property
    def deviation(self) -> float:
        """Standard deviation of the posterior."""
        return float(np.sqrt(self.prior.variance(np.array([self.eta]))[0]))

    @property
    def mode(self) -> float | None:
        """Where the posterior's density is highest; None where single points have probability."""
        if self.points.size or not self.exists:
            return None
        return float(self.w[self.after.argmax()])


def tilting_frame(
    name: str, eta: float, lam: float = 4.0, *, matched: bool = False
) -> TiltingFrame:
    """Tilt a prior of the gallery."""
    prior, curves = _gallery(lam, matched)[name], _curves(lam, matched)
    w = np.linspace(-_WEIGHT, _WEIGHT, 801)
    before, points, mass = _density(prior, w), *_atoms(prior)
    low, high = prior.domain
    inside = low < eta < high
    at = np.array([eta if inside else 0.0])
    normaliser = prior.log_mgf(at)
    return TiltingFrame(
        name, prior, eta, curves, w,
        before,
        before * np.exp(eta * w - normaliser) if inside else 0 * w,
        points,
        mass,
        mass * np.exp(eta * points - normaliser) if inside else 0 * mass,
        _peak(name, lam, matched),
        float(prior.mean(at)[0]) if inside else float("nan"),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _gallery(lam: float, matched: bool) -> Mapping[str, Prior]:
    return MappingProxyType(prior_gallery(lam, matched=matched))


@lru_cache(maxsize=64)
def _curves(lam: float, matched: bool) -> Mapping[str, ShrinkageCurve]:
    gallery = _gallery(lam, matched)
    return MappingProxyType(
        {name: shrinkage_curve(name, prior, -_ETA, _ETA, 161) for name, prior in gallery.items()}
    )


@lru_cache(maxsize=512)
def _peak(name: str, lam: float, matched: bool) -> float:
    """Return the highest density on the way, so that the axis can stand still."""
    prior = _gallery(lam, matched)[name]
    w = np.linspace(-_WEIGHT, _WEIGHT, 801)
    low, high = max(-_ETA, prior.domain[0]), min(_ETA, prior.domain[1])
    etas = np.linspace(low, high, 31)[1:-1]
    tilted = _density(prior, w) * np.exp(np.outer(etas, w) - prior.log_mgf(etas)[:, None])
    return float(tilted.max()) or 1.0


def _atoms(prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """Return the single points that have a probability of their own, and their probabilities."""
    if isinstance(prior, TwoPointPrior):
        return np.array([-prior.a, prior.a]), np.array([0.5, 0.5])
    if isinstance(prior, SpikeSlabPrior):
        return np.zeros(1), np.array([1 - prior.pi])
    return np.zeros(0), np.zeros(0)


def _density(prior: Prior, w: np.ndarray) -> np.ndarray:
    """Return the part of the prior that has a density."""
    if isinstance(prior, TwoPointPrior):
        return np.zeros_like(w)
    if isinstance(prior, SpikeSlabPrior):
        slab = GaussianPrior(prior_variance=prior.slab_variance)
        return prior.pi * np.exp(slab.log_density(w))
    return np.exp(prior.log_density(w))


class TiltedDensity:
    """A prior and the posterior when it is tilted, drawn on given axes.

    Densities are scaled to the highest that this prior reaches on its way; probabilities of single
    points are bars, and probability 1 is as high as the highest density.  `show` changes them in place.
    """

    def __init__(self, ax: Axes, *, flat: bool = False) -> None:
        nowhere = np.zeros(2)
        (self._before,) = ax.plot(nowhere, nowhere, "--", color=MUTED, lw=1.5, label="prior $p_0$")
        (self._after,) = ax.plot(
            nowhere, nowhere, "-", color="#0072B2", label=r"posterior $p_0\,e^{\eta w}/Z$"
        )
        self._area = ax.fill_between(nowhere, nowhere, color="#0072B2", alpha=0.15, lw=0)
        bars = {"lw": 6, "alpha": 0.9, "capstyle": "butt"}
        self._bars_before = ax.vlines([0, 0], 0, 0, color="#C3CAD1", **{**bars, "lw": 14})
        self._bars_after = ax.vlines([0, 0], 0, 0, color="#0072B2", **bars)
        (self._mean_line,) = ax.plot([0, 0], [0, 0.9], "-", color=INK, lw=1.5)
        (self._mean_dot,) = ax.plot([0], [0], "^", color=INK, ms=9, clip_on=False, zorder=5)
        self._mean_text = ax.text(0, 0.92, "", ha="center", va="bottom")
        self._no_text = ax.text(
            0.56 * _WEIGHT, 0.55, "no posterior:\n$\\int p_0(w)\\,e^{\\eta w}\\,dw = \\infty$",
            ha="center", va="center", fontsize=12,
        )  # fmt: skip
        ax.set(xlim=(-_WEIGHT, _WEIGHT), ylim=(0, 1.4 if flat else 1.2), yticks=[])
        ax.set_xlabel("weight $w$")
        ax.spines["left"].set_visible(False)
        ax.set_title("The prior, tilted")
        corner = {"loc": "upper left", "bbox_to_anchor": (-0.02, 1.02 + 0.04 * flat)}
        legend = ax.legend(**corner, handlelength=2, ncols=2 if flat else 1)
        self._after_key = legend.legend_handles[1]

    def show(self, frame: TiltingFrame) -> None:
        """Show a tilted prior."""
        self._show_density(frame)
        self._show_atoms(frame)
        self._show_mean(frame)

    def _show_density(self, frame: TiltingFrame) -> None:
        unit = _TOP / frame.peak
        self._before.set_data(frame.w, unit * frame.before)
        self._after.set_data(frame.w, unit * frame.after)
        vertices = np.column_stack([frame.w, unit * frame.after])
        closed = np.vstack([vertices, [[frame.w[-1], 0.0], [frame.w[0], 0.0]]])
        self._area.set_verts([closed])
        colour = STYLES[frame.name]["color"]
        for artist in (self._after, self._after_key, self._area, self._bars_after):
            artist.set_color(colour)
        self._no_text.set_visible(not frame.exists)
        self._after.set_visible(frame.exists)
        self._area.set_visible(frame.exists)

    def _show_atoms(self, frame: TiltingFrame) -> None:
        masses = (frame.mass_before, frame.mass_after)
        for bars, mass in zip((self._bars_before, self._bars_after), masses, strict=True):
            tops = zip(frame.points, _TOP * mass, strict=True)
            bars.set_segments([np.array([[point, 0.0], [point, top]]) for point, top in tops])

    def _show_mean(self, frame: TiltingFrame) -> None:
        for artist in (self._mean_line, self._mean_dot, self._mean_text):
            artist.set_visible(frame.exists)
        if not frame.exists:
            return
        at = float(np.clip(frame.mean, -_WEIGHT, _WEIGHT))
        self._mean_line.set_data([at, at], [0, 0.9])
        self._mean_line.set_visible(at == frame.mean)
        arrow = ">" if frame.mean > at else "<" if frame.mean < at else "^"
        self._mean_dot.set_marker(arrow)
        self._mean_dot.set_data([at], [0.0])
        near = float(np.clip(at, -0.72 * _WEIGHT, 0.72 * _WEIGHT))
        self._mean_text.set_position((near, 0.92))
        self._mean_text.set_text(f"mean {frame.mean:.2f}")


class Tilting:
    """A figure of a tilted prior, and of the shrinkage curve that its mean draws.

    `show` changes it in place.
    """

    def __init__(self) -> None:
        self.figure = new_figure(9.0, 4.3)
        axes = self.figure.subplot_mosaic(
            [["left", "right"], ["names", "names"]], width_ratios=[1, 1.15], height_ratios=[1, 0.14]
        )
        with styled():
            self._density = TiltedDensity(axes["left"])
            self._draw_mode(axes["left"])
            self._draw_curves(axes["right"])
            self._draw_names(axes["names"])

    def show(self, frame: TiltingFrame) -> None:
        """Show a tilted prior."""
        self._density.show(frame)
        self._show_mode(frame)
        self._show_curves(frame)

    # -- the mode, on the left -----------------------------------------------------------------

    def _draw_mode(self, ax: Axes) -> None:
        (self._mode_dot,) = ax.plot([0], [0], "v", mfc="white", mec=INK, ms=7, clip_on=False)
        self._mode_text = ax.text(0, 0, "", va="center", fontsize=9)

    def _show_mode(self, frame: TiltingFrame) -> None:
        mode = frame.mode
        for artist in (self._mode_dot, self._mode_text):
            artist.set_visible(mode is not None)
        if mode is not None:
            top = _TOP / frame.peak * frame.after.max()
            self._mode_dot.set_data([mode], [top + 0.025])
            self._mode_text.set_position((mode, top + 0.03))
            before_mean = frame.mean >= mode  # the text stands aside on the other side
            self._mode_text.set_text("mode   " if before_mean else "   mode")
            self._mode_text.set_ha("right" if before_mean else "left")

    # -- the curves, on the right --------------------------------------------------------------

    def _draw_curves(self, ax: Axes) -> None:
        draw_cross(ax)
        nowhere = np.zeros(2)
        self._lines = {
            name: ax.plot(nowhere, nowhere, label=name, **style)[0]
            for name, style in STYLES.items()
        }
        self._ends = [ax.axvline(0, linestyle=":", lw=1.5, color=MUTED) for _ in range(2)]
        (self._now,) = ax.plot([0], [0], "o", color=INK, ms=9, zorder=6, clip_on=False)
        (self._drop,) = ax.plot(nowhere, nowhere, "-", color=INK, lw=1, zorder=0)
        ax.set(xlim=(-_ETA, _ETA), ylim=(-_WEIGHT, _WEIGHT), xlabel="η", ylabel="posterior mean")
        ax.set_title("Its mean draws the shrinkage curve")

    def _draw_names(self, ax: Axes) -> None:
        """Name the curves: plain artists, a third of the time that a legend takes in each frame."""
        self._names = {}
        for k, (name, style) in enumerate(STYLES.items()):
            x, y = (0.0, 0.85, 2.15, 3.1)[k // 2], 1 - k % 2
            ax.plot([x, x + 0.18], [y, y], **style)
            self._names[name] = ax.text(x + 0.22, y, name, va="center", fontsize=9)
        ax.set(xlim=(0, 4), ylim=(-0.5, 1.5))
        ax.set_axis_off()

    def _show_curves(self, frame: TiltingFrame) -> None:
        for name, line in self._lines.items():
            curve, chosen = frame.curves[name], name == frame.name
            line.set_data(curve.eta, curve.mean)
            line.set(alpha=1.0 if chosen else 0.4, linewidth=3.0 if chosen else 1.3)
            line.set_zorder(4 if chosen else 2)
            self._names[name].set_fontweight("bold" if chosen else "normal")
        for line, end in zip(self._ends, frame.prior.domain, strict=True):
            line.set_visible(bool(np.isfinite(end)))
            if np.isfinite(end):
                line.set_xdata([end, end])
        self._now.set_visible(frame.exists)
        self._drop.set_data([frame.eta] * 2, [0 if frame.exists else -_WEIGHT, _WEIGHT])
        if frame.exists:
            at = float(np.clip(frame.mean, -_WEIGHT, _WEIGHT))
            self._now.set_data([frame.eta], [at])
            self._now.set_marker("^" if frame.mean > at else "v" if frame.mean < at else "o")
            self._drop.set_data([frame.eta] * 2, [0, at])


def shrinkage() -> Explorer:
    """Return an explorer of the gallery of priors: tilt one by ``eta`` and watch its mean.

    On the left the prior and the posterior that ``exp(eta w)`` makes of it; on the right the
    posterior's mean against ``eta``, with the rest of the gallery behind.  Drawn by
    `medn_edu.explorers.shrinkage`.

    Returns
    -------
    Explorer
        The explorer: its time is ``eta``, from -3 to 3; ``prior`` is a name of the gallery, ``lam``
        the Laplace prior's constant, and ``matched`` stretches all priors to its variance.

    Examples
    --------
    >>> explorer = shrinkage()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    tilting = Tilting()

    def update(prior: str, eta: float, lam: int, matched: bool) -> str:
        frame = tilting_frame(prior, eta, float(lam), matched=matched)
        tilting.show(frame)
        setting = f"{prior} prior{_constant(prior, lam, matched)}, η = {eta:.1f}"
        if not frame.exists:
            return f"{setting}: no posterior, for η is outside the domain {_interval(frame)}."
        mode = "" if frame.mode is None else f", mode {frame.mode + 0.0:.2f}"
        return (
            f"{setting}: posterior mean {frame.mean:.2f}, standard deviation "
            f"{frame.deviation:.2f}{mode}; a Gaussian of the prior's variance has the mean "
            f"{_gaussian_mean(prior, eta, lam, matched):.2f}."
        )

    def alt(prior: str, eta: float, lam: int, matched: bool) -> str:
        frame = tilting_frame(prior, eta, float(lam), matched=matched)
        reached = f"mean {frame.mean:.2f}" if frame.exists else "no posterior"
        return (
            f"Left, the {prior} prior and the posterior after tilting by η = {eta:.1f}, {reached}; "
            "right, the mean against η as a curve with the present point on it, those of the other "
            "priors of the gallery faint behind it."
        )

    return Explorer(
        tilting.figure,
        update,
        alt,
        lessons=_lessons(),
        name="shrinkage",
        prior=Choice(list(prior_gallery()), "Laplace"),
        eta=Time(-3.0, 3.0, 0.1, 1.5, label="η, natural parameter", per_second=8),
        lam=Slider(1, 9, 1, 4, label="λ"),
        matched=Check(False, label="match prior variances (to 2/λ)"),
    )


def _constant(prior: str, lam: int, matched: bool) -> str:
    if matched:
        return f" of variance 2/λ = {2 / lam:.2f}"
    return f", λ = {lam}" if prior in ("Laplace", "normal-gamma") else ""


def _interval(frame: TiltingFrame) -> str:
    low, high = frame.prior.domain
    below = f"{low:.2f} < " if np.isfinite(low) else ""
    return f"{below}η < {high:.2f}"


def _gaussian_mean(prior: str, eta: float, lam: int, matched: bool) -> float:
    at_zero = prior_gallery(float(lam), matched=matched)[prior]
    return float((at_zero.mean(np.zeros(1)) + eta * at_zero.variance(np.zeros(1)))[0])


def _lessons() -> list[Lesson]:
    def runs_away(prior: str, eta: float, lam: int, matched: bool) -> bool:
        frame = tilting_frame(prior, eta, float(lam), matched=matched)
        beyond = tilting_frame(prior, 2.0, float(lam), matched=matched)
        return frame.mode == 0.0 and frame.mean > 9 and not beyond.exists

    def lets_go(prior: str, eta: float, lam: int, matched: bool) -> bool:
        curves = tilting_frame(prior, eta, float(lam), matched=matched).curves
        mine, slope = curves[prior], 2 / lam
        return bool(
            matched
            and np.allclose(curves["Gaussian"].mean, slope * curves["Gaussian"].eta)
            and np.all(np.abs(mine.mean) >= slope * np.abs(mine.eta) * (1 - 1e-12))
        )

    def selects(prior: str, eta: float, lam: int, matched: bool) -> bool:
        near, far = (tilting_frame(prior, e, float(lam), matched=matched) for e in (0.1, eta))
        return near.mean / 0.1 < 0.11 and far.mean / eta > 0.9

    def wall_moves(prior: str, eta: float, lam: int, matched: bool) -> bool:
        before, now = (tilting_frame(prior, eta, other, matched=matched) for other in (4.0, lam))
        ends = [each.prior.domain[1] for each in (before, now)]
        slopes = [float(each.prior.variance(np.zeros(1))[0]) for each in (before, now)]
        return (
            now.exists
            and not before.exists
            and np.allclose(ends, [2, 3])
            and np.allclose(slopes, [1 / 2, 2 / 9])
        )

    return [
        Lesson(
            {"prior": "Laplace", "eta": 1.9, "lam": 4, "matched": False},
            "Near η = √λ the Laplace posterior's mean leaves every bound, and its mode is still 0.",
            runs_away,
        ),
        Lesson(
            {"prior": "Laplace", "eta": 1.0, "lam": 4, "matched": True},
            "At equal prior variance Laplace nowhere shrinks more than the Gaussian: it lets large "
            "weights go.",
            lets_go,
        ),
        Lesson(
            {"prior": "Laplace", "eta": 2.5, "lam": 9, "matched": False},
            "λ moves the wall: at λ = 9 it stands at 3, not at 2, and the slope at 0 is 2/9, not 1/2.",
            wall_moves,
        ),
        Lesson(
            {"prior": "spike and slab", "eta": 3.0, "lam": 4, "matched": False},
            "Spike and slab shrinks small weights to a tenth and leaves large ones nearly alone.",
            selects,
        ),
    ]
