"""Checks of the exercises of exact."""

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Function, Number, differs

check_relative_gap = Number(
    "the relative gap at a primal value of 12.5 and a dual value of 10",
    right=0.2,
    praise="2.5 / 12.5. The optimum lies between 10 and 12.5, so P is at most a fifth of P too large.",
    mistakes={
        2.5: "that is the gap itself; relative means divided by the primal value.",
        0.25: "that is relative to the dual value; the package divides by the primal value.",
        0.8: "that is D / P; the gap is what is missing to 1.",
        1.25: "that is P / D; take the difference first, then divide by P.",
        -0.2: "the gap is P - D: the upper bound less the lower one.",
        20: "that is in percent; the code says 0.2.",
    },
)

check_block_gap = Function(
    "block_gap(H, alpha, C): a word's share of the duality gap",
    cases=[
        (np.array([0.0, 1.5, -0.5, 2.0]), np.array([0.0, 0.5, 1.5, 0.0]), 2.0),
        (np.array([0.0, 3.0, 1.0]), np.array([0.1, 0.1, 0.3]), 0.5),
        (np.array([0.0, 1.25, 0.4]), np.array([0.0, 3.0, 0.0]), 3.0),
    ],
    right=lambda H, alpha, C: C * H.max() - alpha @ H,
    praise="what all of C would gain on the best labelling, less what alpha gains now.",
    mistakes=[
        (
            lambda H, alpha, C: H.max() - alpha @ H,
            "all of C goes to the best labelling: C times its margin violation.",
        ),
        (
            lambda H, alpha, C: C * H.max(),
            "take off what the present alpha gives, the sum of alpha times H.",
        ),
        (
            lambda H, alpha, C: alpha @ H - C * H.max(),
            "that is minus the gap, which is never negative.",
        ),
        (
            lambda H, alpha, C: C * (H.max() - H[alpha > 0].min()),
            "that moves everything away from the worst labelling; weigh each by its alpha.",
        ),
        (
            lambda H, alpha, C: C * (H.max() - alpha @ H),
            "alpha adds up to C already: alpha @ H needs no further C.",
        ),
    ],
    otherwise="some results differ; try H = [0, 2], alpha = [1, 0], C = 1, whose gap is 2.",
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
    "block_update(alpha, best, gamma, C): a Frank-Wolfe step in one block",
    cases=[
        (np.array([1.0, 0.5, 0.5]), 2, 0.25, 2.0),
        (np.array([3.0, 0.0, 0.0, 0.0]), 1, 0.6, 3.0),
        (np.array([0.0, 0.4, 0.1]), 0, 1.0, 0.5),
    ],
    right=_update,
    praise="every dual variable shrinks by the same factor, and the sum stays C.",
    mistakes=[
        (
            lambda alpha, best, gamma, C: (1 - gamma) * alpha,
            "some of C is lost: the share gamma of C goes to the best labelling.",
        ),
        (
            lambda alpha, best, gamma, C: alpha + gamma * C * _unit(alpha, best),
            "the sum grows beyond C: the others must give up their share gamma.",
        ),
        (
            lambda alpha, best, gamma, C: (1 - gamma) * alpha + gamma * _unit(alpha, best),
            "the corner of the simplex is at C, not at 1.",
        ),
        (
            lambda alpha, best, gamma, C: _update(alpha, best, 1 - gamma, C),
            "gamma and 1 - gamma have changed places: gamma = 0 must change nothing.",
        ),
        (
            _overwritten,
            "the best labelling's alpha may be positive already: add to it, do not overwrite it.",
        ),
        (
            lambda alpha, best, gamma, C: C * _unit(alpha, best),
            "that is the corner itself; go only the share gamma of the way.",
        ),
    ],
    otherwise="some results differ; the new dual variables must add up to C.",
)


def _room(eta: np.ndarray, d: np.ndarray, lam: float) -> float:
    moving = d != 0
    wall = np.sign(d[moving]) * np.sqrt(lam)
    return float(np.min((wall - eta[moving]) / d[moving]))


check_room = Function(
    "room(eta, d, lam): the step at which the Laplace prior's domain ends",
    cases=[
        (np.array([1.0, -0.5]), np.array([-1.0, 0.5]), 4.0),
        (np.array([0.0, 2.0, -2.5]), np.array([0.7, 0.3, -0.1]), 9.0),
        (np.array([-1.5]), np.array([4.0]), 36.0),
    ],
    right=_room,
    praise="the nearest wall counts, and which of the two it is the sign of d says.",
    mistakes=[
        (
            lambda eta, d, lam: np.min((np.sign(d) * lam - eta) / d),
            "the walls stand at plus and minus the square root of lambda.",
        ),
        (
            lambda eta, d, lam: np.min(np.sqrt(lam) / np.abs(d)),
            "that is the room from eta = 0; start from eta.",
        ),
        (
            lambda eta, d, lam: np.min((np.sqrt(lam) - np.abs(eta)) / np.abs(d)),
            "that is the way to the nearer wall; the sign of d says to which one it goes.",
        ),
        (
            lambda eta, d, lam: np.max((np.sign(d) * np.sqrt(lam) - eta) / d),
            "the domain ends where the *first* weight meets its wall: the least of them.",
        ),
        (
            lambda eta, d, lam: np.min((np.sqrt(lam) - eta) / d),
            "with d negative the wall ahead is the one at minus the square root of lambda.",
        ),
        (
            lambda eta, d, lam: (np.sign(d) * np.sqrt(lam) - eta) / d,
            "that is one number for each weight; the step must suit all of them.",
        ),
    ],
    hidden=[
        (
            lambda eta, d, lam: np.min((np.sign(d) * np.sqrt(lam) - eta) / d),
            "right where every weight moves; one with d = 0 meets no wall, leave it out.",
            differs(_room, (np.array([1.9, 0.5, -1.0, 0.0]), np.array([0.0, 0.5, 0.0, 0.0]), 4.0)),
        ),
    ],
    otherwise="some results differ; try eta = [1], d = [-1], lam = 4, whose room is 3.",
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
    "line_search(eta, d, gain, lam) for the Laplace prior",
    cases=[
        (_ETA, _D, 6.0, 4.0),  # the highest point is inside
        (np.array([5.0, 0.0, -2.0]), np.array([2.0, 1.0, 3.0]), 4.0, 36.0),
        (np.zeros(1), np.array([0.25]), 1.0, 4.0),  # still rising at 1
        (_ETA, _D, 1.5, 4.0),  # falls from the start
        (np.array([-1.0]), np.array([7.0]), 8.0, 4.0),  # half of the way lies beyond the wall
    ],
    right=_search,
    praise="exact, and it never leaves the domain. The package does the same, with Newton's steps.",
    mistakes=[
        (
            lambda eta, d, gain, lam: (gain - d @ eta) / (d @ d),
            "that is the Gaussian's step, whose Lambda' is eta itself; and cut it to [0, 1].",
        ),
        (
            lambda eta, d, gain, lam: _clipped((gain - d @ eta) / (d @ d)),
            "that is the Gaussian's step; the Laplace slope is 2 eta / (lambda - eta^2).",
        ),
        (_newton_once, "one step of Newton's method is not the root; go on until the slope is 0."),
        (_blind, "a middle beyond the wall counted as rising: there lambda - eta^2 is negative."),
        (
            lambda eta, d, gain, lam: min(1.0, _room(eta, d, lam)),
            "that is as far as one may go; stop where the slope is 0.",
        ),
        (
            lambda eta, d, gain, lam: _search(eta, d, gain, lam, longest=1e6),
            "a step beyond 1 would leave negative dual variables behind: stop at 1.",
        ),
        (
            lambda eta, d, gain, lam: _slope(eta, d, gain, lam, 0.0),
            "that is the slope at 0; wanted is the step at which it has fallen to 0.",
        ),
        (
            lambda eta, d, gain, lam: _search(eta, d, gain + float(d @ eta), lam),
            "the slope along the way is gain minus d times Lambda'(eta + gamma d), no more.",
        ),
    ],
    otherwise="some results differ; where the slope is negative at 0 the step is 0, and where it is "
    "positive at 1, it is 1.",
)
