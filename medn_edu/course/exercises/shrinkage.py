"""Checks of the exercises of shrinkage."""

import numpy as np
from scipy.special import softmax

from medn_edu.course.exercises.declarations import Function, Number, differs

check_posterior_mean = Number(right=2 / 3, mistakes={"without_factor_2": 1 / 3})

check_equal_variance = Number(right=2.0, mistakes={"rate": 2**0.5})


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
