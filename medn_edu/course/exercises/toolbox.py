"""Checks of the exercises of toolbox."""

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Choice, Function, Number, differs

check_tilted_coin = Number(right=3 / 7, mistakes={"eta_negative": 1 / 13, "value_0": 4 / 7})

check_which_lambda = Choice(right="c")

check_no_tilt = Choice(right="b")

check_infinite_conjugate = Choice(right="d")


def _multiplier(m: float, b: float, v: float, C: float) -> float:
    return float(min(max((m - b) / v, 0.0), C))


check_multiplier = Function(
    cases=[
        (1.0, 0.0, 1.0, 2.0),
        (1.0, 0.0, 2.0, 0.3),
        (2.0, 0.5, 4.0, 1.0),
        (1.0, 1.5, 1.0, 1.0),
        (-1.0, -3.0, 0.5, 1.5),
        (-1.0, -3.0, 0.5, 9.0),
    ],
    right=_multiplier,
    mistakes={
        "unbounded": lambda m, b, v, C: (m - b) / v,
        "below_zero": lambda m, b, v, C: min((m - b) / v, C),
        "above_C": lambda m, b, v, C: max((m - b) / v, 0.0),
        "without_mean": lambda m, b, v, C: min(max(m / v, 0.0), C),
        "without_variance": lambda m, b, v, C: min(max(m - b, 0.0), C),
        "times_variance": lambda m, b, v, C: min(max((m - b) * v, 0.0), C),
        "resulting_mean": lambda m, b, v, C: b + v * _multiplier(m, b, v, C),
    },
)


def _tilted(w: np.ndarray, p0: np.ndarray, eta: float) -> np.ndarray:
    exponent = np.where(p0 > 0, eta * w, -np.inf)
    unscaled = p0 * np.exp(exponent - exponent.max())
    return unscaled / unscaled.sum()


def _eta(w: np.ndarray, p0: np.ndarray, m: float, floor: float = 0.0) -> float:
    """Tilt so far that the mean is at least ``m``, not backwards unless ``floor`` is negative."""

    def falls_short(eta: float) -> bool:
        return bool(_tilted(w, p0, eta) @ w < m)

    high = 1.0
    while falls_short(high):
        high *= 2
    return bisect(falls_short, floor, high) if falls_short(floor) else floor


def _closest(w: np.ndarray, p0: np.ndarray, m: float) -> np.ndarray:
    return _tilted(w, p0, _eta(w, p0, m))


def _mixed(w: np.ndarray, p0: np.ndarray, m: float) -> np.ndarray:
    """Reach the mean by moving probability straight to the largest value."""
    share = max((m - p0 @ w) / (w.max() - p0 @ w), 0.0)
    return (1 - share) * p0 + share * (w == w.max())


def _overflowing(w: np.ndarray, p0: np.ndarray, m: float) -> np.ndarray:
    p = p0 * np.exp(_eta(w, p0, m) * w)
    return p / p.sum()


def _largest_impossible(w: np.ndarray, p0: np.ndarray, m: float) -> np.ndarray:
    """Subtract the largest exponent of all values, even if that value has probability 0."""
    p = p0 * np.exp(_eta(w, p0, m) * (w - w.max()))
    return p / p.sum()


_DIE, _FAIR = np.arange(1.0, 7.0), np.full(6, 1 / 6)
check_closest = Function(
    cases=[
        (_DIE, _FAIR, 4.5),
        (_DIE, _FAIR, 3.0),
        (_DIE, np.array([0.3, 0.25, 0.2, 0.15, 0.07, 0.03]), 5.5),
        (np.array([-2.0, -0.5, 0.0, 1.0]), np.array([0.1, 0.4, 0.0, 0.5]), 0.9),
        (np.array([0.0, 0.01, 0.03]), np.array([0.6, 0.3, 0.1]), 0.02),
        (1e-4 * np.array([0.0, 1.0, 3.0]), np.array([0.6, 0.3, 0.1]), 2e-4),
    ],
    right=_closest,
    mistakes={
        "prior": lambda w, p0, m: p0,
        "negative_eta": lambda w, p0, m: _tilted(w, p0, _eta(w, p0, m, floor=-5000.0)),
        "eta": _eta,
        "mixed": _mixed,
        "from_uniform": lambda w, p0, m: _closest(w, np.full(len(w), 1 / len(w)), m),
        "eta_to_one": lambda w, p0, m: _tilted(w, p0, min(_eta(w, p0, m), 1.0)),
        "eta_to_thousand": lambda w, p0, m: _tilted(w, p0, min(_eta(w, p0, m), 1000.0)),
        "not_normalised": lambda w, p0, m: p0 * np.exp(_eta(w, p0, m) * w),
    },
    hidden={
        "overflowing": (
            _overflowing,
            differs(_closest, (2000 + np.arange(4.0), np.full(4, 0.25), 2002.0)),
        ),
        "largest_impossible": (
            _largest_impossible,
            differs(_closest, (np.array([0.0, 1.0, 2000.0]), np.array([0.5, 0.5, 0.0]), 0.9)),
        ),
    },
)
