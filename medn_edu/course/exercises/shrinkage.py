"""Checks of the exercises of shrinkage."""

from typing import Any

import numpy as np
from scipy.special import softmax

from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number, differs

check_posterior_mean = Number(right=2 / 3, mistakes={"without_factor_2": 1 / 3})

# -- a prior that holds a weight back at 1 and lets it grow at 3 -----------------------------------


def _ratio(values: np.ndarray, chances: np.ndarray, eta: float) -> float:
    """Return the mean at ``eta``, divided by the mean under a Gaussian of the same variance."""
    with np.errstate(divide="ignore"):
        tilted = softmax(np.log(chances) + eta * values)
    return float(tilted @ values / (eta * (chances @ values**2)))


def _judge_prior(pairs: Any) -> str | None:
    table = np.asarray(pairs, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 2 or not np.isfinite(table).all():
        return "expected pairs of a value and its probability, such as [(-1, 0.5), (1, 0.5)]."
    values, chances = table.T
    if (chances < 0).any():
        return "a probability is never negative."
    if abs(chances.sum() - 1) > 1e-9:
        return f"the probabilities add up to {chances.sum():g}, and not to 1."
    if chances @ values**2 == 0:
        return "this prior allows only the weight 0, so no tilting can move it."
    if abs(chances @ values) > 1e-9:
        return (
            f"its mean is {chances @ values:.3g} before any tilting. Make the prior symmetric, "
            "so that its curve starts at 0."
        )
    near, far = _ratio(values, chances, 1.0), _ratio(values, chances, 3.0)
    said = f"its mean is {near:.2f} times the Gaussian's at η = 1 and {far:.2f} times at η = 3"
    if near >= 1 and far <= 1:
        return f"{said}. That's the other way round."
    if near >= 1:
        return f"{said}: it lets the weight grow too early. Make the far values rarer."
    if far <= 1:
        return f"{said}: it holds the weight back all the way. Add rare values farther out."
    return None


check_late_prior = Judged(
    right=[(-5, 0.0005), (-1, 0.4995), (1, 0.4995), (5, 0.0005)],
    judge=_judge_prior,
    expected="pairs of a value and its probability, such as [(-1, 0.5), (1, 0.5)]",
    mistakes=[
        [(-1, 0.5), (1, 0.5)],
        [(-1, 0.05), (0, 0.9), (1, 0.05)],
        [(-5, 0.05), (-1, 0.45), (1, 0.45), (5, 0.05)],
        [(0, 0.5), (1, 0.5)],
        [(-1, 0.5), (1, 0.4)],
        [(-1, 1.5), (1, -0.5)],
        [(0, 1.0)],
        [1, 2, 3],
    ],
)

# -- the curve read backwards ----------------------------------------------------------------------


def _mean(eta: float, lam: float) -> float:
    return 2 * eta / (lam - eta**2)


def _eta(mu: float, lam: float) -> float:
    return float((np.sqrt(1 + lam * mu**2) - 1) / mu) if mu else 0.0


check_eta_for_mean = Function(
    cases=[(0.5, 4.0), (-2.0, 5.0), (3.0, 6.0), (0.1, 9.0)],
    right=_eta,
    mistakes={
        "other_root": lambda mu, lam: (-np.sqrt(1 + lam * mu**2) - 1) / mu,
        "eta_times_mu": lambda mu, lam: np.sqrt(1 + lam * mu**2) - 1,
        "mean": _mean,
        "tangent": lambda mu, lam: lam * mu / 2,
    },
    hidden={
        "zero_over_zero": (
            lambda mu, lam: (np.sqrt(1 + lam * mu**2) - 1) / mu,
            differs(_eta, (0.0, 4.0)),
        )
    },
)

# -- the wide crops --------------------------------------------------------------------------------

check_border_order = Choice(right="d")

check_border_claim = Choice(right="c")

# -- any prior on a grid ---------------------------------------------------------------------------


def _tilted_mean(w: np.ndarray, log_p0: np.ndarray, eta: float) -> float:
    return float(softmax(log_p0 + eta * w) @ w)


_GRID = np.linspace(-40, 40, 3201)  # so wide that sums and other rules agree
_WIDE = np.linspace(-100, 100, 2001)
check_tilted_mean = Function(
    cases=[
        (_GRID, np.log(0.5) - np.abs(_GRID - 0.5), 0.4),
        (_GRID, -0.5 * _GRID**2 - 0.3 * np.cos(3 * _GRID), -1.2),
        (_GRID, np.where(np.abs(_GRID) <= 2, -np.log(4), -np.inf), 1.5),
    ],
    right=_tilted_mean,
    mistakes={
        "not_normalised": lambda w, log_p0, eta: np.exp(log_p0 + eta * w) @ w,
        "sum_as_integral": lambda w, log_p0, eta: np.exp(log_p0 + eta * w) @ w * (w[1] - w[0]),
        "without_prior": lambda w, log_p0, eta: _tilted_mean(w, 0 * w, eta),
        "without_tilt": lambda w, log_p0, eta: _tilted_mean(w, log_p0, 0.0),
        "tilted_left": lambda w, log_p0, eta: _tilted_mean(w, log_p0, -eta),
        "mode": lambda w, log_p0, eta: w[(log_p0 + eta * w).argmax()],
    },
    hidden={
        "overflowing": (
            lambda w, log_p0, eta: np.average(w, weights=np.exp(log_p0 + eta * w)),
            differs(_tilted_mean, (_WIDE, -(_WIDE**2) / 8, 20.0)),
        )
    },
)
