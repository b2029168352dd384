r"""The study ``laplace``: what the Laplace prior is made of, what a bound loses, and two limits.

Four panels.  (a) MEDN's Eq. (4): normal densities of six variances, each counted as often as the
exponential density says, make the Laplace density but for its tip.  (b) The gap between the variational
bound and the divergence against the variance :math:`\tau` that Algorithm 1 works with; Eq. (11) is where
it is least, and it is not 0 there.  (c) With a large :math:`\lambda` the KL-norm becomes the L1-norm, as
slowly as :math:`\log\lambda / \sqrt\lambda`; (d) with a small one it becomes a parabola and its ball
round, as fast as :math:`\lambda`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import MUTED, new_figure, save_figure, styled
from medn_edu.explorers.laplace import draw_bells, draw_gaps, draw_rates
from medn_edu.priors import LaplacePrior
from medn_edu.studies.kit.specs import CurveStudy
from medn_edu.theory.laplace import best_tau, gaussian_kl, jensen_bound, jensen_gap, tau_density
from medn_edu.theory.norms import l1_ball_error, l1_error, l2_ball_error, quadratic_error

_LAM = 4.0  # of (a) and (b)
_RATIO = 4  # from one variance of (a) to the next
_TAUS = tuple(Fraction(2, _RATIO**k) for k in range(6))
_GRID = np.linspace(-1, 1, 91)
_WEIGHTS = 2.5 * _GRID * np.abs(_GRID)  # denser at the tip
_BESIDE = 0.1  # as far from the tip as the caption says how good the six are
_POSTERIORS = np.array([[0.0, 0.25], [1.0, 0.5], [1.0, 0.05]])  # means and variances
_SHADED = _POSTERIORS[1]
_TAU_ENDS = (0.03, 150.0)
_MU = np.array([1.0, -0.5])  # where (c) and (d) compare norms
_LARGE, _SMALL = np.logspace(2, 8, 25), np.logspace(-5, 1, 25)

Rows = Sequence[dict[str, Any]]
Part = Iterator[tuple[str, str, np.ndarray]]


def _rows() -> list[dict[str, Any]]:
    return [
        {"panel": panel, "what": what, "of": of, "x": float(x), "y": float(y)}
        for panel, part in {"a": _mixture, "b": _gaps, "c": _to_l1, "d": _to_l2}.items()
        for what, of, points in part()
        for x, y in points
    ]


def _share(tau: float) -> float:
    """Return a bell's share, by the trapezoidal rule in log(tau)."""
    return float(tau_density(np.array(tau), _LAM)) * tau * float(np.log(_RATIO))


def _bell(tau: float, w: np.ndarray) -> np.ndarray:
    return _share(tau) * np.exp(-np.square(w) / (2 * tau)) / np.sqrt(2 * np.pi * tau)


def _mixture() -> Part:
    """Yield what (a) shows: bells with their shares, and the exact density."""
    for tau in map(float, _TAUS):
        name = f"τ = {Fraction(tau)}"
        yield "share", name, np.array([[tau, _share(tau)]])
        yield "bell", name, np.column_stack([_WEIGHTS, np.round(_bell(tau, _WEIGHTS), 12)])
    exact = np.exp(LaplacePrior(_LAM).log_density(_WEIGHTS))
    yield "density", f"λ = {_LAM:g}", np.column_stack([_WEIGHTS, exact])


def _posterior(mean: float, variance: float) -> str:
    return f"μ = {mean:g}, σ² = {variance:g}"


def _gaps() -> Part:
    """Yield what (b) shows: the gap against tau, and bound, divergence and gap at the best tau."""
    taus = np.geomspace(*_TAU_ENDS, 121)
    for mean, variance in _POSTERIORS:
        name = _posterior(mean, variance)
        yield "gap", name, np.column_stack([taus, jensen_gap(mean, variance, _LAM, taus)])
        best = best_tau(mean**2 + variance, _LAM)
        for what, function in (
            ("least bound", jensen_bound), ("KL", gaussian_kl), ("least gap", jensen_gap),
        ):  # fmt: skip
            yield what, name, np.array([[best, function(mean, variance, _LAM)]])


def _to_l1() -> Part:
    """Yield what (c) shows: distances from the L1-norm and its ball."""
    yield "norm", "", np.array([(lam, abs(l1_error(_MU, lam))) for lam in _LARGE])
    yield "ball", "", np.array([(lam, l1_ball_error(lam)) for lam in _LARGE])
    yield "rate", "log λ / √λ", np.column_stack([_LARGE, np.log(_LARGE) / np.sqrt(_LARGE)])
    yield "rate", "1 / √λ", np.column_stack([_LARGE, 1 / np.sqrt(_LARGE)])


def _to_l2() -> Part:
    """Yield what (d) shows: how far the KL-norm is from a parabola, and its ball from round."""
    yield "norm", "", np.array([(lam, abs(quadratic_error(_MU, lam))) for lam in _SMALL])
    yield "ball", "", np.array([(lam, l2_ball_error(lam)) for lam in _SMALL])
    yield "rate", "λ", np.column_stack([_SMALL, _SMALL])


def _draw(rows: Rows, path: Path) -> None:
    figure = new_figure(11, 8)
    with styled():
        for number, (panel, (title, draw)) in enumerate(_PANELS.items(), 1):
            ax = figure.add_subplot(2, 2, number)
            draw(ax, [row for row in rows if row["panel"] == panel])
            ax.set_title(f"({panel}) {title}")
    save_figure(figure, path)


def _draw_mixture(ax: Any, rows: Rows) -> None:
    shares = _chosen(rows, "share")
    bells = {
        f"{name}: {100 * shares[name][0, 1]:.1f} %": bell
        for name, bell in _chosen(rows, "bell").items()
    }
    [exact] = _chosen(rows, "density").values()
    draw_bells(ax, bells, exact)


def _draw_gaps(ax: Any, rows: Rows) -> None:
    least = {name: point[0] for name, point in _chosen(rows, "least gap").items()}
    shaded = _posterior(*_SHADED)
    draw_gaps(ax, _chosen(rows, "gap"), least, shaded)
    words = {"ha": "right", "va": "center", "color": MUTED}
    ax.text(_TAU_ENDS[1] * 0.9, 0.75, "not the best τ", **words)
    ax.text(_TAU_ENDS[1] * 0.9, least[shaded][1] / 2, "one q for all w", **words)
    ax.set(xlim=_TAU_ENDS)
    ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])


def _draw_to_l1(ax: Any, rows: Rows) -> None:
    _draw_rates(ax, rows, "norms at (1, −½)", "balls through (0, 1)")
    ax.set_ylabel("distance")


def _draw_to_l2(ax: Any, rows: Rows) -> None:
    _draw_rates(ax, rows, "norms at (1, −½)", "balls through (0, 1)")
    ax.set_ylabel("relative error, distance")


def _draw_rates(ax: Any, rows: Rows, norms: str, balls: str) -> None:
    curves = {norms: _chosen(rows, "norm")[""], balls: _chosen(rows, "ball")[""]}
    draw_rates(ax, curves, _chosen(rows, "rate"))


_PANELS = {
    "a": (f"Bells make a Laplace density, λ = {_LAM:g}", _draw_mixture),
    "b": (f"What the variational bound loses, λ = {_LAM:g}", _draw_gaps),
    "c": ("λ → ∞: the KL-norm becomes L1, slowly", _draw_to_l1),
    "d": ("λ → 0: it rises like the squared L2-norm", _draw_to_l2),
}


def _chosen(rows: Rows, what: str) -> dict[str, np.ndarray]:
    """Return the points of one kind, by what they are of."""
    found = [(row["of"] or "", (row["x"], row["y"])) for row in rows if row["what"] == what]
    return {name: np.array([xy for of, xy in found if of == name]) for name, _ in found}


def _about_bells() -> str:
    exact = np.exp(LaplacePrior(_LAM).log_density(_WEIGHTS))
    missing = exact - sum(_bell(float(tau), _WEIGHTS) for tau in _TAUS)
    beside = np.abs(missing[np.abs(_WEIGHTS) >= _BESIDE]).max()
    shares = sum(_share(float(tau)) for tau in _TAUS)
    return (
        f"(a) MEDN, Eq. (4), with λ = {_LAM:g}: a weight from N(0, τ), whose variance τ is itself "
        f"drawn from an exponential density of mean 2/λ = {2 / _LAM:g}, has a Laplace density.  "
        f"Here {len(_TAUS)} variances, each {_RATIO} times the next, stand for all: each bell counts as "
        f"often as variances near its own are drawn (percentages, together {100 * shares:.1f} %; "
        "trapezoidal rule in log τ), and the bells are stacked, the widest below.  Where "
        f"|w| ≥ {_BESIDE:g} they are within {beside:.4f} of the exact density (line); at 0 they lack "
        f"{100 * missing.max() / exact.max():.1f} % of it, which narrower ones would add."
    )


def _about_gaps() -> str:
    mean, variance = _SHADED
    bound, kl, gap = (f(mean, variance, _LAM) for f in (jensen_bound, gaussian_kl, jensen_gap))
    return (
        "(b) Algorithm 1 replaces the divergence KL of a posterior from this prior by an upper bound "
        "L, for which one density q(τ) has to do for all w.  Gap between bound and divergence for "
        "normal posteriors N(μ, σ²), with the best of all q that have the same τ = 1 / ⟨1/τ⟩, against "
        "this number.  Dots: the τ of Eq. (11), √((μ² + σ²) / λ), where the gap is least; the legend "
        f"says how large it still is.  Shaded for {_posterior(*_SHADED)}, where the least bound is "
        f"{bound:.2f} and the divergence {kl:.2f}: the darker part, {gap:.2f}, is lost whatever τ is, "
        "since the best q would depend on w; the paler part is the price of a τ that is not the best."
    )


def _about_limits() -> str:
    large, small = (1e4, 1e6), (1e-2, 1e-4)
    to_l1, to_l2 = [l1_ball_error(lam) for lam in large], [l2_ball_error(lam) for lam in small]
    return (
        "(c) With λ → ∞ the KL-norm of Corollary 6 goes to the L1-norm, and (d) with λ → 0 it rises "
        "from its least value, K/√λ for K weights, like √λ/4 times the squared L2-norm.  Solid: how "
        "far it stays below at μ = (1, −½), in (d) as a share of that multiple.  Dashed: the largest "
        "distance, along rays from 0, between its ball through (0, 1) and the L1 or the L2 ball.  "
        "Grey: rates; what falls at a rate runs alongside it in the end, and the curves of (c) do so "
        "beside log λ / √λ, not beside 1 / √λ.  One limit is slow, the other fast: from "
        f"λ = {large[0]:,.0f} to {large[1]:,.0f} the distance from the L1 ball falls from "
        f"{to_l1[0]:.3f} to {to_l1[1]:.4f}, by a factor of {to_l1[0] / to_l1[1]:.1f}; from "
        f"λ = {small[0]:g} to {small[1]:.4f} that from the L2 ball falls by a factor of "
        f"{to_l2[0] / to_l2[1]:.0f}."
    )


LAPLACE = CurveStudy(
    "laplace",
    "the Laplace prior: bells, bound and limits",
    ("panel", "what", "of", "x", "y"),
    _rows,
    _draw,
    "  ".join([_about_bells(), _about_gaps(), _about_limits()]),
    "1 s",
    "MEDN Eq. 4",
)
"""The study."""
