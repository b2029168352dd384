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

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.plots.style import INK, styled
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
    >>> from medn_edu.plots import new_figure
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
