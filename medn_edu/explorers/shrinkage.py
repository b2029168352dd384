"""Shrinkage curves: the posterior mean of a weight against its natural parameter eta (Theorem 2).

Tilting a prior by ``exp(eta w)`` moves its mean: along a straight line for the Gaussian, and for
the Laplace prior along ``2 eta / (lam - eta**2)``, which grows without bound (Corollary 7).
`shrinkage_curve` computes curves, `draw_shrinkage` draws them, and `shrinkage` is the explorer.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D

from medn_edu import priors
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Check, Choice, Slider, Time, true_minus
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import draw_cross
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import Prior

STYLES: dict[str, dict[str, Any]] = {
    "Gaussian": {"color": INK, "linestyle": "-"},
    "Laplace": {"color": palette.BLUE, "linestyle": "-"},
    "normal-gamma": {"color": palette.SKY, "linestyle": "--"},
    "normal-inverse Gaussian": {"color": palette.GREEN, "linestyle": "-."},
    "box": {"color": palette.ORANGE, "linestyle": "--"},
    "two-point": {"color": palette.PURPLE, "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    "exponential": {"color": palette.SLATE, "linestyle": (0, (1, 1))},
    "spike and slab": {"color": palette.PINK, "linestyle": (0, (8, 2))},
}
_SECOND = {"color": palette.GREEN, "linestyle": "--"}  # of two priors of the same kind


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
    gallery: dict[str, Prior] = {
        "Gaussian": priors.GaussianPrior(),
        "Laplace": priors.LaplacePrior(lam),
        "normal-gamma": priors.NormalGammaPrior(shape=2.0, lam=lam),
        "normal-inverse Gaussian": priors.NormalInverseGaussianPrior(alpha=end, delta=1.0),
        "box": priors.BoxPrior(a=1.0),
        "two-point": priors.TwoPointPrior(a=1.0),
        "exponential": priors.ExponentialPrior(rate=end),
        "spike and slab": priors.SpikeSlabPrior(pi=0.1, slab_variance=1.0),
    }
    if matched:
        return {name: prior.with_variance(2 / lam) for name, prior in gallery.items()}
    return gallery


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
    return {"color": palette.GREEN, "linestyle": (0, (1, 1))}


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
        Number of points, denser towards both ends, where a mean may grow without bound.

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
    """Draw shrinkage curves, with a dotted line where a mean grows without bound.

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
        ax.set(ylim=(-reach, reach), xlabel="natural parameter η", ylabel="posterior mean")
        if legend:
            ax.legend(loc="upper left", frameon=True, framealpha=1, edgecolor="white")


# -- a tilted prior ------------------------------------------------------------------------------

_ETA, _WEIGHT = 3.0, 4.0  # how far the axes reach
_W = np.linspace(-_WEIGHT, _WEIGHT, 801)
_TOP = 0.82  # height of the highest density
_NARROW = 7.5  # inches, below which a long name would cross the middle


@dataclass(frozen=True, eq=False)
class TiltingFrame:
    """A prior of the gallery, tilted."""

    name: str
    prior: Prior
    eta: float
    curves: Mapping[str, ShrinkageCurve]  # of the whole gallery
    before: np.ndarray  # densities at the weights `_W`
    after: np.ndarray
    points: np.ndarray  # single points that have a probability of their own
    mass_before: np.ndarray
    mass_after: np.ndarray
    peak: float  # the highest density that this prior reaches on the way of the explorer's ``eta``
    mean: float  # not a number outside the domain, where there is no posterior

    @property
    def exists(self) -> bool:
        """Whether the prior can be tilted so far."""
        return bool(np.isfinite(self.mean))

    @property
    def mode(self) -> float | None:
        """Where the posterior's density is highest; None where single points have probability."""
        if self.points.size or not self.exists:
            return None
        return float(_W[self.after.argmax()])


def tilting_frame(prior: str, eta: float, lam: float = 4.0, matched: bool = False) -> TiltingFrame:
    """Tilt a prior of the gallery."""
    gallery, curves = _gallery(float(lam), matched)
    chosen = gallery[prior]
    before, points, mass = _parts(chosen)
    low, high = chosen.domain
    inside = low < eta < high
    at = np.array([eta if inside else 0.0])
    normaliser = chosen.log_mgf(at)
    return TiltingFrame(
        prior, chosen, eta, curves,
        before, before * np.exp(eta * _W - normaliser) if inside else 0 * _W,
        points, mass, mass * np.exp(eta * points - normaliser) if inside else 0 * mass,
        _peak(prior, float(lam), matched),
        float(chosen.mean(at)[0]) if inside else float("nan"),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _gallery(lam: float, matched: bool) -> tuple[Mapping[str, Prior], Mapping[str, ShrinkageCurve]]:
    gallery = prior_gallery(lam, matched=matched)
    curves = {
        name: shrinkage_curve(name, prior, -_ETA, _ETA, 161) for name, prior in gallery.items()
    }
    return gallery, curves


@lru_cache(maxsize=512)
def _peak(name: str, lam: float, matched: bool) -> float:
    """Return the highest density on the way, so that the axis can stand still."""
    prior = _gallery(lam, matched)[0][name]
    low, high = max(-_ETA, prior.domain[0]), min(_ETA, prior.domain[1])
    etas = np.linspace(low, high, 31)[1:-1]
    tilted = _parts(prior)[0] * np.exp(np.outer(etas, _W) - prior.log_mgf(etas)[:, None])
    return float(tilted.max()) or 1.0


def _parts(prior: Prior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the density at `_W`, and the points that have a probability of their own with theirs."""
    if isinstance(prior, priors.TwoPointPrior):
        return np.zeros_like(_W), np.array([-prior.a, prior.a]), np.array([0.5, 0.5])
    if isinstance(prior, priors.SpikeSlabPrior):
        slab = priors.GaussianPrior(prior_variance=prior.slab_variance)
        return prior.pi * np.exp(slab.log_density(_W)), np.zeros(1), np.array([1 - prior.pi])
    return np.exp(prior.log_density(_W)), np.zeros(0), np.zeros(0)


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[TiltingFrame], None]


def tilted_density(ax: Axes, *, flat: bool = False) -> Show:
    """Draw a prior and the posterior.

    Densities are scaled to the highest that this prior reaches on its way; probabilities of single
    points are bars, and probability 1 is as high as the highest density.
    """
    blue, nowhere = STYLES["Laplace"]["color"], np.zeros(2)
    (before,) = ax.plot(nowhere, nowhere, "--", color=MUTED, lw=1.5, label="prior $p_0$")
    (after,) = ax.plot(nowhere, nowhere, "-", color=blue, label=r"posterior $p_0\,e^{\eta w}/Z$")
    area = ax.fill_between(nowhere, nowhere, color=blue, alpha=0.15, lw=0)
    look = {"alpha": 0.9, "capstyle": "butt"}
    bars_before = ax.vlines([0, 0], 0, 0, color=palette.PALE_GREY, lw=14, **look)
    bars_after = ax.vlines([0, 0], 0, 0, color=blue, lw=6, **look)
    (mean_line,) = ax.plot([0, 0], [0, 0.9], "-", color=INK, lw=1.5)
    (mean_dot,) = ax.plot([0], [0], "^", color=INK, ms=9, clip_on=False, zorder=5)
    mean_text = ax.text(0, 0.92, "", ha="center", va="bottom")
    no_text = ax.text(  # above every curve
        0, 1.03 if flat else 0.95, "no posterior:\n$\\int p_0(w)\\,e^{\\eta w}\\,dw = \\infty$",
        ha="center", va="center", fontsize=11,
    )  # fmt: skip
    ax.set(xlim=(-_WEIGHT, _WEIGHT), ylim=(0, 1.4 if flat else 1.2), yticks=[])
    ax.set_xlabel("weight $w$")
    ax.spines["left"].set_visible(False)
    ax.set_title("The prior, tilted")
    corner = {"loc": "upper left", "bbox_to_anchor": (-0.02, 1.02 + 0.04 * flat)}
    grey = Line2D([], [], color=palette.PALE_GREY, lw=9, solid_capstyle="butt")
    legend = ax.legend(
        [(grey, before), after], [before.get_label(), after.get_label()], **corner,
        handlelength=2, ncols=2 if flat else 1, handler_map={tuple: HandlerTuple(ndivide=1)},
    )  # fmt: skip
    grey_key, dashed_key, after_key = legend.findobj(Line2D)

    def show(frame: TiltingFrame) -> None:
        unit = _TOP / frame.peak
        before.set_data(_W, unit * frame.before)
        after.set_data(_W, unit * frame.after)
        outline = np.column_stack([_W, unit * frame.after])
        area.set_verts([np.vstack([outline, [[_WEIGHT, 0.0], [-_WEIGHT, 0.0]]])])
        for bars, mass in ((bars_before, frame.mass_before), (bars_after, frame.mass_after)):
            tops = zip(frame.points, _TOP * mass, strict=True)
            bars.set_segments([np.array([[point, 0.0], [point, top]]) for point, top in tops])
        for artist in (after, after_key, area, bars_after):
            artist.set_color(STYLES[frame.name]["color"])
        spread, pointed = bool(frame.before.any()), bool(frame.points.size)
        for artist, seen in ((before, spread), (dashed_key, spread), (grey_key, pointed)):
            artist.set_visible(seen)
        for artist in (after, area, mean_line, mean_dot, mean_text):
            artist.set_visible(frame.exists)
        no_text.set_visible(not frame.exists)
        if frame.exists:
            show_mean(frame.mean)

    def show_mean(mean: float) -> None:
        at = float(np.clip(mean, -_WEIGHT, _WEIGHT))
        mean_line.set_data([at, at], [0, 0.9])
        mean_line.set_visible(at == mean)
        mean_dot.set_marker(">" if mean > at else "<" if mean < at else "^")
        mean_dot.set_data([at], [0.0])
        mean_text.set_position((float(np.clip(at, -0.72 * _WEIGHT, 0.72 * _WEIGHT)), 0.92))
        mean_text.set_text(true_minus(f"mean {mean:.2f}"))

    return show


def _mode(ax: Axes) -> Show:
    """Mark the posterior's mode above its density."""
    (dot,) = ax.plot([0], [0], "v", mfc="white", mec=INK, ms=7, clip_on=False, zorder=5)
    text = ax.text(0, 0, "", va="center", fontsize=9)
    text.set_bbox({"fc": "white", "ec": "none", "pad": 0.5})  # the prior's curve may pass there

    def show(frame: TiltingFrame) -> None:
        mode = frame.mode
        dot.set_visible(mode is not None)
        text.set_visible(mode is not None)
        if mode is not None:
            top = _TOP / frame.peak * frame.after.max()
            dot.set_data([mode], [top + 0.025])
            text.set_position((mode, top + 0.03))
            before_mean = frame.mean >= mode  # the text stands aside on the other side
            text.set_text("mode   " if before_mean else "   mode")
            text.set_ha("right" if before_mean else "left")

    return show


def _all_curves(ax: Axes) -> Show:
    """Draw the shrinkage curves of the gallery, the chosen one in colour, each with its name."""
    draw_cross(ax)
    nowhere = np.zeros(2)
    lines = {name: ax.plot(nowhere, nowhere, "-", label=name)[0] for name in STYLES}
    ends = [ax.axvline(0, linestyle=":", lw=1.5, color=MUTED) for _ in range(2)]
    (now,) = ax.plot([0], [0], "o", color=INK, ms=9, zorder=6, clip_on=False)
    (drop,) = ax.plot(nowhere, nowhere, "-", color=INK, lw=1, zorder=0)
    ax.set(xlim=(-_ETA, _ETA), ylim=(-_WEIGHT, _WEIGHT))
    ax.set(xlabel="natural parameter η", ylabel="posterior mean")
    ax.set_title("The shrinkage curve")
    show_names = _names(ax)

    def show(frame: TiltingFrame) -> None:
        for name, line in lines.items():
            curve, chosen = frame.curves[name], name == frame.name
            line.set_data(curve.eta, curve.mean)
            line.set(**_look(name, chosen), linewidth=3.0 if chosen else 1.2)
            line.set_zorder(4 if chosen else 2)
        show_names(frame)
        for line, end in zip(ends, frame.prior.domain, strict=True):
            line.set_visible(bool(np.isfinite(end)))
            if np.isfinite(end):
                line.set_xdata([end, end])
        now.set_visible(frame.exists)
        drop.set_data([frame.eta] * 2, [0 if frame.exists else -_WEIGHT, _WEIGHT])
        if frame.exists:
            at = float(np.clip(frame.mean, -_WEIGHT, _WEIGHT))
            now.set_data([frame.eta], [at])
            now.set_marker("^" if frame.mean > at else "v" if frame.mean < at else "o")
            drop.set_data([frame.eta] * 2, [0, at])

    return show


def _look(name: str, chosen: bool) -> dict[str, Any]:
    """Return a curve's colour and dashes: few are emphasised, as eight of them cannot be told apart."""
    if chosen:
        return {"color": STYLES[name]["color"], "linestyle": "-"}
    gaussian = name == "Gaussian"
    return {"color": INK if gaussian else palette.GREY, "linestyle": "--" if gaussian else "-"}


def _names(ax: Axes) -> Show:
    """Write each curve's name at its right end, or into a list if it leaves the axes before."""
    paper = {
        "facecolor": "white",
        "edgecolor": "none",
        "pad": 2.2,
    }  # no line shows between two names
    look: dict[str, Any] = {"va": "center", "fontsize": 9, "bbox": paper}
    texts = {name: ax.text(0, 0, "", **look) for name in STYLES}
    words = "leave at the top,\nleft to right:"
    heading = ax.text(-0.97 * _ETA, 0.9 * _WEIGHT, words, color=MUTED, **look)
    longest = {"fontweight": "bold", "alpha": 0}  # keeps its room when the figure is laid out
    ax.text(1.03 * _ETA, 0, "normal-inverse", **look, **longest)

    def show(frame: TiltingFrame) -> None:
        left, ended = {}, {}
        for name, curve in frame.curves.items():
            if curve.mean[-1] > _WEIGHT:
                left[name] = float(np.interp(_WEIGHT, curve.mean, curve.eta))
            else:
                ended[name] = float(curve.mean[-1])
            broken = name in ended or ax.figure.get_figwidth() < _NARROW
            words = name.replace("-inverse ", "-inverse\n") if broken else name
            chosen = name == frame.name
            texts[name].set(text=words, color=INK if chosen else MUTED)
            texts[name].set_fontweight("bold" if chosen else "normal")
        line = 0.745
        for name in sorted(left, key=lambda name: left[name]):
            more = 0.09 * texts[name].get_text().count("\n")
            texts[name].set_position((-0.92 * _ETA, (line - more / 2) * _WEIGHT))
            line -= 0.115 + more
        heading.set_visible(bool(left))
        lowest = -np.inf
        for name in sorted(ended, key=lambda name: ended[name]):
            half = 0.055 * _WEIGHT * texts[name].get_text().count("\n") + 0.06 * _WEIGHT
            at = max(ended[name], lowest + half)
            texts[name].set_position((1.03 * _ETA, at))
            lowest = at + half

    return show


# -- sentence, lessons, controls ------------------------------------------------------------------


def _sentence(frame: TiltingFrame, lam: int, matched: bool) -> str:
    scaled = ("Laplace", "exponential", "normal-gamma", "normal-inverse Gaussian")
    constant = f", λ = {lam}" if frame.name in scaled else ""
    if matched:
        constant = f" of variance 2/λ = {2 / lam:.2f}"
    setting = f"{frame.name} prior{constant}, η = {frame.eta:.1f}"
    prior = frame.prior
    if not frame.exists:
        low, high = prior.domain
        domain = f"{low:.2f} < η < {high:.2f}" if np.isfinite(low) else f"η < {high:.2f}"
        return f"{setting}: no posterior, because η is outside the domain {domain}."
    deviation = np.sqrt(prior.variance(np.array([frame.eta]))[0])
    mode = "" if frame.mode is None else f", mode {frame.mode + 0.0:.2f}"
    other = ""
    if frame.name != "Gaussian":
        mean = _gallery(float(lam), matched)[0]["Gaussian"].mean(np.array([frame.eta]))[0]
        gaussian = "a Gaussian of the same variance" if matched else "the standard normal"
        other = f"; under {gaussian} (dashed) the mean is {mean:.2f}"
    found = f"posterior mean {frame.mean:.2f}, standard deviation {deviation:.2f}"
    return f"{setting}: {found}{mode}{other}."


@lesson(
    "Near η = √λ the mean of the Laplace posterior grows without bound, and its mode is still 0.",
    {"prior": "Laplace", "eta": 1.9, "lam": 4, "matched": True},
)
def _runs_away(**values: Any) -> bool:
    frame, beyond = tilting_frame(**values), tilting_frame(**{**values, "eta": 2.0})
    return frame.mode == 0.0 and frame.mean > 9 and not beyond.exists


@lesson(
    "At equal prior variance the Laplace prior never shrinks more than the Gaussian, and it lets "
    "large weights grow.",
    {"prior": "Laplace", "eta": 1.0, "lam": 4, "matched": True},
)
def _lets_go(prior: str, eta: float, lam: int, matched: bool) -> bool:
    curves, slope = tilting_frame(prior, eta, lam, matched).curves, 2 / lam
    mine, gaussian = curves[prior], curves["Gaussian"]
    return bool(
        matched
        and np.allclose(gaussian.mean, slope * gaussian.eta)
        and np.all(np.abs(mine.mean) >= slope * np.abs(mine.eta) * (1 - 1e-12))
    )


@lesson(
    "λ moves the wall: at λ = 9 the domain ends at 3 instead of 2, and the slope at 0 is 2/9 "
    "instead of 1/2.",
    {"prior": "Laplace", "eta": 2.5, "lam": 9, "matched": True},
)
def _wall_moves(**values: Any) -> bool:
    before, now = tilting_frame(**{**values, "lam": 4}), tilting_frame(**values)
    ends = [each.prior.domain[1] for each in (before, now)]
    slopes = [float(each.prior.variance(np.zeros(1))[0]) for each in (before, now)]
    moved = np.allclose(ends, [2, 3]) and np.allclose(slopes, [1 / 2, 2 / 9])
    return now.exists and not before.exists and moved


@lesson(
    "At equal prior variance, spike and slab starts like the Gaussian and lets weights grow early: at "
    "η = 1 its mean is almost six times the Gaussian's.",
    {"prior": "spike and slab", "eta": 1.0, "lam": 4, "matched": True},
)
def _selects(prior: str, eta: float, lam: int, matched: bool) -> bool:
    gaussian = _gallery(float(lam), matched)[0]["Gaussian"]
    shares = [
        tilting_frame(prior, at, lam, matched).mean / float(gaussian.mean(np.array([at]))[0])
        for at in (0.1, eta)
    ]
    return shares[0] < 1.05 and 5.5 < shares[1] < 6


_CAPTION = (
    "Left, the chosen prior (dashed, or a grey bar at a value that has positive probability by itself) "
    "and the posterior that results from tilting it. Right, the posterior mean against the natural "
    "parameter η. The thick curve belongs to the chosen prior, and its dot marks the current η. The "
    "dashed line is the Gaussian's. Compare the dot with the dashed line: is the mean smaller or larger?"
)


def shrinkage() -> Explorer:
    """Return an explorer of the gallery of priors: tilt one by ``eta`` and watch its mean.

    On the left the prior and the posterior that ``exp(eta w)`` makes of it; on the right the
    posterior's mean against ``eta``, with the rest of the gallery behind.

    Returns
    -------
    Explorer
        The explorer: its time is ``eta``, from -3 to 3; ``prior`` is a name of the gallery, ``lam``
        the Laplace prior's constant, and ``matched`` stretches all priors to its variance.
    """
    figure = new_figure(9.0, 4.1)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
    with styled():
        panels = [tilted_density(left), _mode(left), _all_curves(right)]

    def update(prior: str, eta: float, lam: int, matched: bool) -> str:
        frame = tilting_frame(prior, eta, lam, matched)
        for show in panels:
            show(frame)
        return _sentence(frame, lam, matched)

    def alt(**values: Any) -> str:
        frame = tilting_frame(**values)
        reached = f"mean {frame.mean:.2f}" if frame.exists else "no posterior"
        return (
            f"Left, the {frame.name} prior and the posterior after tilting by η = {frame.eta:.1f}, "
            f"{reached}; right, the mean against η as a curve"
            f"{' with the present point on it' if frame.exists else ''}, those of the other priors of "
            "the gallery faint behind it."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_runs_away, _lets_go, _wall_moves, _selects],
        name="shrinkage",
        prior=Choice(list(STYLES), "Laplace"),
        eta=Time(-3.0, 3.0, 0.1, 1.5, label="η, natural parameter", per_second=8),
        lam=Slider(1, 9, 1, 4, label="λ"),
        matched=Check(False, label="match prior variances (to 2/λ)"),
    )


EXHIBIT = Exhibit("A prior is tilted, and its mean draws a curve", "shrinkage", shrinkage)
