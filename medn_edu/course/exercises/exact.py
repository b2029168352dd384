"""Checks of the exercises of exact."""

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Function, Number, differs

check_relative_gap = Number(right=0.2)

check_block_gap = Function(
    cases=[
        (np.array([0.0, 1.5, -0.5, 2.0]), np.array([0.0, 0.5, 1.5, 0.0]), 2.0),
        (np.array([0.0, 3.0, 1.0]), np.array([0.1, 0.1, 0.3]), 0.5),
        (np.array([0.0, 1.25, 0.4]), np.array([0.0, 3.0, 0.0]), 3.0),
    ],
    right=lambda H, alpha, C: C * H.max() - alpha @ H,
    mistakes={
        "without_C": lambda H, alpha, C: H.max() - alpha @ H,
        "without_present": lambda H, alpha, C: C * H.max(),
        "minus_the_gap": lambda H, alpha, C: alpha @ H - C * H.max(),
        "from_worst_labelling": lambda H, alpha, C: C * (H.max() - H[alpha > 0].min()),
        "C_twice": lambda H, alpha, C: C * (H.max() - alpha @ H),
    },
)


def _update(alpha: np.ndarray, best: int, gamma: float, C: float) -> np.ndarray:
    moved = (1 - gamma) * alpha
    moved[best] += gamma * C
    return moved


def _unit(alpha: np.ndarray, best: int) -> np.ndarray:
    return np.eye(len(alpha))[best]


def _overwritten(alpha: np.ndarray, best: int, gamma: float, C: float) -> np.ndarray:
    moved = (1 - gamma) * alpha
    moved[best] = gamma * C
    return moved


check_block_update = Function(
    cases=[
        (np.array([1.0, 0.5, 0.5]), 2, 0.25, 2.0),
        (np.array([3.0, 0.0, 0.0, 0.0]), 1, 0.6, 3.0),
        (np.array([0.0, 0.4, 0.1]), 0, 1.0, 0.5),
    ],
    right=_update,
    mistakes={
        "nothing_added": lambda alpha, best, gamma, C: (1 - gamma) * alpha,
        "others_kept": lambda alpha, best, gamma, C: alpha + gamma * C * _unit(alpha, best),
        "corner_at_one": lambda alpha, best, gamma, C: (
            (1 - gamma) * alpha + gamma * _unit(alpha, best)
        ),
        "gamma_swapped": lambda alpha, best, gamma, C: _update(alpha, best, 1 - gamma, C),
        "overwritten": _overwritten,
        "the_corner": lambda alpha, best, gamma, C: C * _unit(alpha, best),
    },
)


def _room(eta: np.ndarray, d: np.ndarray, lam: float) -> float:
    moving = d != 0
    wall = np.sign(d[moving]) * np.sqrt(lam)
    return float(np.min((wall - eta[moving]) / d[moving]))


check_room = Function(
    cases=[
        (np.array([1.0, -0.5]), np.array([-1.0, 0.5]), 4.0),
        (np.array([0.0, 2.0, -2.5]), np.array([0.7, 0.3, -0.1]), 9.0),
        (np.array([-1.5]), np.array([4.0]), 36.0),
    ],
    right=_room,
    mistakes={
        "lambda_without_root": lambda eta, d, lam: np.min((np.sign(d) * lam - eta) / d),
        "from_zero": lambda eta, d, lam: np.min(np.sqrt(lam) / np.abs(d)),
        "nearer_wall": lambda eta, d, lam: np.min((np.sqrt(lam) - np.abs(eta)) / np.abs(d)),
        "last_wall": lambda eta, d, lam: np.max((np.sign(d) * np.sqrt(lam) - eta) / d),
        "upper_wall": lambda eta, d, lam: np.min((np.sqrt(lam) - eta) / d),
        "one_per_weight": lambda eta, d, lam: (np.sign(d) * np.sqrt(lam) - eta) / d,
    },
    hidden={
        "unmoved_weights": (
            lambda eta, d, lam: np.min((np.sign(d) * np.sqrt(lam) - eta) / d),
            differs(_room, (np.array([1.9, 0.5, -1.0, 0.0]), np.array([0.0, 0.5, 0.0, 0.0]), 4.0)),
        )
    },
)


def _slope(eta: np.ndarray, d: np.ndarray, gain: float, lam: float, gamma: float) -> float:
    tilted = eta + gamma * d
    return gain - float(d @ (2 * tilted / (lam - tilted**2)))


def _search(eta: np.ndarray, d: np.ndarray, gain: float, lam: float, longest: float = 1.0) -> float:
    end = min(longest, _room(eta, d, lam))
    if end == longest and _slope(eta, d, gain, lam, end) >= 0:
        return end
    return bisect(lambda gamma: _slope(eta, d, gain, lam, gamma) > 0, 0.0, end)


def _blind(eta: np.ndarray, d: np.ndarray, gain: float, lam: float) -> float:
    """Bisect without looking where the domain ends."""
    return bisect(lambda gamma: _slope(eta, d, gain, lam, gamma) > 0, 0.0, 1.0)


def _clipped(value: float) -> float:
    return float(np.clip(value, 0, 1))


def _newton_once(eta: np.ndarray, d: np.ndarray, gain: float, lam: float) -> float:
    bend = float(d**2 @ (2 * (lam + eta**2) / (lam - eta**2) ** 2))
    return _clipped(_slope(eta, d, gain, lam, 0.0) / bend)


_ETA, _D = np.array([0.5, -1.0]), np.array([2.0, -1.5])
check_line_search = Function(
    cases=[
        (_ETA, _D, 6.0, 4.0),  # the highest point is inside
        (np.array([5.0, 0.0, -2.0]), np.array([2.0, 1.0, 3.0]), 4.0, 36.0),
        (np.zeros(1), np.array([0.25]), 1.0, 4.0),  # still rising at 1
        (_ETA, _D, 1.5, 4.0),  # falls from the start
        (np.array([-1.0]), np.array([7.0]), 8.0, 4.0),  # half of the way lies beyond the wall
    ],
    right=_search,
    mistakes={
        "gaussian_unclipped": lambda eta, d, gain, lam: (gain - d @ eta) / (d @ d),
        "gaussian": lambda eta, d, gain, lam: _clipped((gain - d @ eta) / (d @ d)),
        "newton_once": _newton_once,
        "blind": _blind,
        "as_far_as_room": lambda eta, d, gain, lam: min(1.0, _room(eta, d, lam)),
        "beyond_one": lambda eta, d, gain, lam: _search(eta, d, gain, lam, longest=1e6),
        "slope_at_zero": lambda eta, d, gain, lam: _slope(eta, d, gain, lam, 0.0),
        "gain_shifted": lambda eta, d, gain, lam: _search(eta, d, gain + float(d @ eta), lam),
    },
)
