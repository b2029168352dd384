r"""The study ``laplace``: what the Laplace prior is made of, what a bound loses, and two limits.

Four panels.  (a) MEDN's Eq. (4): normal densities of six variances, each counted as often as the
exponential density says, make the Laplace density but for its tip.  (b) The gap between the variational
bound and the divergence against the variance :math:`\tau` that Algorithm 1 works with; Eq. (11) is where
it is least, and it is not 0 there.  (c) With a large :math:`\lambda` the KL-norm becomes the L1-norm, as
slowly as :math:`\log\lambda / \sqrt\lambda`; (d) with a small one it becomes a parabola and its ball
round, as fast as :math:`\lambda`.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import MUTED, new_figure, save_figure, styled
from medn_edu.explorers.laplace import draw_bells, draw_gaps, draw_rates
from medn_edu.priors import LaplacePrior
from medn_edu.studies.kit.points import POINT_COLUMNS, Curves, Rows, point_rows, points_of
from medn_edu.studies.kit.specs import Study, caption_only, panels
from medn_edu.studies.kit.texts import Texts
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


def _share(tau: float) -> float:
    """Return a bell's share, by the trapezoidal rule in log(tau)."""
    return float(tau_density(np.array(tau), _LAM)) * tau * float(np.log(_RATIO))


def _bell(tau: float, w: np.ndarray) -> np.ndarray:
    return _share(tau) * np.exp(-np.square(w) / (2 * tau)) / np.sqrt(2 * np.pi * tau)


def _mixture() -> Curves:
    """Yield what (a) shows: bells with their shares, and the exact density."""
    for tau in map(float, _TAUS):
        name = f"τ = {Fraction(tau)}"
        yield "share", name, np.array([[tau, _share(tau)]])
        yield "bell", name, np.column_stack([_WEIGHTS, np.round(_bell(tau, _WEIGHTS), 12)])
    exact = np.exp(LaplacePrior(_LAM).log_density(_WEIGHTS))
    yield "density", f"λ = {_LAM:g}", np.column_stack([_WEIGHTS, exact])


def _posterior(mean: float, variance: float) -> str:
    return f"μ = {mean:g}, σ² = {variance:g}"


def _gaps() -> Curves:
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


def _to_l1() -> Curves:
    """Yield what (c) shows: distances from the L1-norm and its ball."""
    yield "norm", "", np.array([(lam, abs(l1_error(_MU, lam))) for lam in _LARGE])
    yield "ball", "", np.array([(lam, l1_ball_error(lam)) for lam in _LARGE])
    yield "rate", "log λ / √λ", np.column_stack([_LARGE, np.log(_LARGE) / np.sqrt(_LARGE)])
    yield "rate", "1 / √λ", np.column_stack([_LARGE, 1 / np.sqrt(_LARGE)])


def _to_l2() -> Curves:
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
    shares = points_of(rows, "share")
    bells = {
        f"{name}: {100 * shares[name][0, 1]:.1f} %": bell
        for name, bell in points_of(rows, "bell").items()
    }
    [exact] = points_of(rows, "density").values()
    draw_bells(ax, bells, exact)


def _draw_gaps(ax: Any, rows: Rows) -> None:
    least = {name: point[0] for name, point in points_of(rows, "least gap").items()}
    shaded = _posterior(*_SHADED)
    draw_gaps(ax, points_of(rows, "gap"), least, shaded)
    words = {"ha": "right", "va": "center", "color": MUTED}
    ax.text(_TAU_ENDS[1] * 0.9, 0.75, "not the best τ", **words)
    ax.text(_TAU_ENDS[1] * 0.9, least[shaded][1] / 2, "one q for all w", **words)
    ax.set(xlim=_TAU_ENDS)
    ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])


def _draw_to_l1(ax: Any, rows: Rows, label: str = "distance") -> None:
    names = {"norm": "norms at (1, −½)", "ball": "balls through (0, 1)"}
    curves = {name: points_of(rows, what)[""] for what, name in names.items()}
    draw_rates(ax, curves, points_of(rows, "rate"))
    ax.set_ylabel(label)


def _draw_to_l2(ax: Any, rows: Rows) -> None:
    _draw_to_l1(ax, rows, "relative error, distance")


_PANELS = {
    "a": (f"Bells make a Laplace density, λ = {_LAM:g}", _draw_mixture),
    "b": (f"What the variational bound loses, λ = {_LAM:g}", _draw_gaps),
    "c": ("λ → ∞: the KL-norm becomes L1, slowly", _draw_to_l1),
    "d": ("λ → 0: it rises like the squared L2-norm", _draw_to_l2),
}


_TEXTS = Texts("laplace.md")


def _about_bells() -> str:
    exact = np.exp(LaplacePrior(_LAM).log_density(_WEIGHTS))
    missing = exact - sum(_bell(float(tau), _WEIGHTS) for tau in _TAUS)
    return _TEXTS(
        "bells", lam=_LAM, mean=2 / _LAM, n_taus=len(_TAUS), ratio=_RATIO, beside=_BESIDE,
        percent=100 * sum(_share(float(tau)) for tau in _TAUS),
        distance=np.abs(missing[np.abs(_WEIGHTS) >= _BESIDE]).max(),
        missing=100 * missing.max() / exact.max(),
    )  # fmt: skip


def _about_gaps() -> str:
    mean, variance = _SHADED
    bound, kl, gap = (f(mean, variance, _LAM) for f in (jensen_bound, gaussian_kl, jensen_gap))
    return _TEXTS("gaps", posterior=_posterior(*_SHADED), bound=bound, kl=kl, gap=gap)


def _about_limits() -> str:
    large, larger, small, smaller = 1e4, 1e6, 1e-2, 1e-4
    to_l1, nearer = l1_ball_error(large), l1_ball_error(larger)
    return _TEXTS(
        "limits", large=large, larger=larger, small=small, smaller=smaller, to_l1=to_l1,
        nearer=nearer, slow=to_l1 / nearer, fast=l2_ball_error(small) / l2_ball_error(smaller),
    )  # fmt: skip


_PARTS = {"a": _mixture, "b": _gaps, "c": _to_l1, "d": _to_l2}

LAPLACE = Study(
    "laplace",
    "the Laplace prior: bells, bound and limits",
    fits=panels("laplace", tuple(_PARTS)),
    fit=lambda spec: point_rows(spec.model, _PARTS[spec.model]()),
    draw=_draw,
    report=caption_only("laplace", "  ".join([_about_bells(), _about_gaps(), _about_limits()])),
    columns=POINT_COLUMNS,
    duration="1 s",
    shows="MEDN Eq. 4",
    unit="panels",
    scaled=False,
    place=3,
)
"""The study."""
