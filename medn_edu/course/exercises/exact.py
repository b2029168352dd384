"""Checks of the exercises of exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._judging import (
    Verdict,
    check,
    judge_function,
    judge_number,
    without_warnings,
)


@check
def check_relative_gap(answer: Any) -> Verdict:
    """Check the relative gap at a primal value of 12.5 and a dual value of 10.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_relative_gap(2.5)
    Not quite: that is the gap itself; relative means divided by the primal value.
    """
    return judge_number(
        answer,
        0.2,
        "2.5 / 12.5. The optimum lies between 10 and 12.5, so P is at most a fifth of P too large.",
        {
            2.5: "that is the gap itself; relative means divided by the primal value.",
            0.25: "that is relative to the dual value; the package divides by the primal value.",
            0.8: "that is D / P; the gap is what is missing to 1.",
            1.25: "that is P / D; take the difference first, then divide by P.",
            -0.2: "the gap is P - D: the upper bound less the lower one.",
            20: "that is in percent; the code says 0.2.",
        },
    )


_BLOCKS = [
    (np.array([0.0, 1.5, -0.5, 2.0]), np.array([0.0, 0.5, 1.5, 0.0]), 2.0),
    (np.array([0.0, 3.0, 1.0]), np.array([0.1, 0.1, 0.3]), 0.5),
    (np.array([0.0, 1.25, 0.4]), np.array([0.0, 3.0, 0.0]), 3.0),
]


@check
def check_block_gap(answer: Any) -> Verdict:
    """Check a function ``block_gap(H, alpha, C)``: a word's share of the duality gap.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_block_gap(lambda H, alpha, C: C * H.max())
    Not quite: take off what the present alpha gives, the sum of alpha times H.
    """
    return judge_function(
        answer,
        _BLOCKS,
        lambda H, alpha, C: C * H.max() - alpha @ H,
        "what all of C would gain on the best labelling, less what alpha gains now.",
        [
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
        "some results differ; try H = [0, 2], alpha = [1, 0], C = 1, whose gap is 2.",
    )


def _update(alpha: np.ndarray, best: int, gamma: float, C: float) -> np.ndarray:
    moved = (1 - gamma) * alpha
    moved[best] += gamma * C
    return moved


def _overwritten(alpha: np.ndarray, best: int, gamma: float, C: float) -> np.ndarray:
    moved = (1 - gamma) * alpha
    moved[best] = gamma * C
    return moved


@check
def check_block_update(answer: Any) -> Verdict:
    """Check a function ``block_update(alpha, best, gamma, C)``: a Frank-Wolfe step in one block.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_block_update(lambda alpha, best, gamma, C: (1 - gamma) * alpha)
    Not quite: some of C is lost: the share gamma of C goes to the best labelling.
    """
    unit = lambda alpha, best: np.eye(len(alpha))[best]  # noqa: E731
    return judge_function(
        answer,
        [
            (np.array([1.0, 0.5, 0.5]), 2, 0.25, 2.0),
            (np.array([3.0, 0.0, 0.0, 0.0]), 1, 0.6, 3.0),
            (np.array([0.0, 0.4, 0.1]), 0, 1.0, 0.5),
        ],
        _update,
        "every dual variable shrinks by the same factor, and the sum stays C.",
        [
            (
                lambda alpha, best, gamma, C: (1 - gamma) * alpha,
                "some of C is lost: the share gamma of C goes to the best labelling.",
            ),
            (
                lambda alpha, best, gamma, C: alpha + gamma * C * unit(alpha, best),
                "the sum grows beyond C: the others must give up their share gamma.",
            ),
            (
                lambda alpha, best, gamma, C: (1 - gamma) * alpha + gamma * unit(alpha, best),
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
                lambda alpha, best, gamma, C: C * unit(alpha, best),
                "that is the corner itself; go only the share gamma of the way.",
            ),
        ],
        "some results differ; the new dual variables must add up to C.",
    )


def _room(eta: np.ndarray, d: np.ndarray, lam: float) -> float:
    moving = d != 0
    wall = np.sign(d[moving]) * np.sqrt(lam)
    return float(np.min((wall - eta[moving]) / d[moving]))


@check
def check_room(answer: Any) -> Verdict:
    """Check a function ``room(eta, d, lam)``: the step at which the Laplace prior's domain ends.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_room(lambda eta, d, lam: (lam**0.5 - abs(eta)).min() / abs(d).max())
    Not quite: some results differ; try eta = [1], d = [-1], lam = 4, whose room is 3.
    """
    if not callable(answer):
        return False, "expected a function: hand over its name, without brackets."
    quiet = without_warnings(answer)
    verdict = judge_function(
        quiet,
        [
            (np.array([1.0, -0.5]), np.array([-1.0, 0.5]), 4.0),
            (np.array([0.0, 2.0, -2.5]), np.array([0.7, 0.3, -0.1]), 9.0),
            (np.array([-1.5]), np.array([4.0]), 36.0),
        ],
        _room,
        "the nearest wall counts, and which of the two it is the sign of d says.",
        [
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
        "some results differ; try eta = [1], d = [-1], lam = 4, whose room is 3.",
    )
    if verdict[0] and not _stands_still(quiet):
        return False, "right where every weight moves; one with d = 0 meets no wall, leave it out."
    return verdict


def _stands_still(room: Callable[..., Any]) -> bool:
    """Whether weights that do not move are left out."""
    eta, d = np.array([1.9, 0.5, -1.0, 0.0]), np.array([0.0, 0.5, 0.0, 0.0])
    return bool(np.isclose(room(eta, d, 4.0), 3.0))


def _slope(eta: np.ndarray, d: np.ndarray, gain: float, lam: float, gamma: float) -> float:
    tilted = eta + gamma * d
    return gain - float(d @ (2 * tilted / (lam - tilted**2)))


def _search(eta: np.ndarray, d: np.ndarray, gain: float, lam: float, longest: float = 1.0) -> float:
    low, high = 0.0, min(longest, _room(eta, d, lam))
    if high == longest and _slope(eta, d, gain, lam, high) >= 0:
        return high
    for _ in range(100):
        middle = (low + high) / 2
        rises = _slope(eta, d, gain, lam, middle) > 0
        low, high = (middle, high) if rises else (low, middle)
    return low


def _blind(eta: np.ndarray, d: np.ndarray, gain: float, lam: float) -> float:
    """Bisect without looking where the domain ends."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        rises = _slope(eta, d, gain, lam, middle) > 0
        low, high = (middle, high) if rises else (low, middle)
    return low


def _clipped(value: float) -> float:
    return float(np.clip(value, 0, 1))


def _newton_once(eta: np.ndarray, d: np.ndarray, gain: float, lam: float) -> float:
    bend = float(d**2 @ (2 * (lam + eta**2) / (lam - eta**2) ** 2))
    return _clipped(_slope(eta, d, gain, lam, 0.0) / bend)


_ETA, _D = np.array([0.5, -1.0]), np.array([2.0, -1.5])
_SEARCHES = [
    (_ETA, _D, 6.0, 4.0),  # the highest point is inside
    (np.array([5.0, 0.0, -2.0]), np.array([2.0, 1.0, 3.0]), 4.0, 36.0),
    (np.zeros(1), np.array([0.25]), 1.0, 4.0),  # still rising at 1
    (_ETA, _D, 1.5, 4.0),  # falls from the start
    (np.array([-1.0]), np.array([7.0]), 8.0, 4.0),  # half of the way lies beyond the wall
]


@check
def check_line_search(answer: Any) -> Verdict:
    """Check a function ``line_search(eta, d, gain, lam)`` for the Laplace prior.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_line_search(lambda eta, d, gain, lam: (gain - d @ eta) / (d @ d))
    Not quite: that is the Gaussian's step, whose Lambda' is eta itself; and cut it to [0, 1].
    """
    if not callable(answer):
        return False, "expected a function: hand over its name, without brackets."
    return judge_function(
        without_warnings(answer),
        _SEARCHES,
        _search,
        "exact, and it never leaves the domain. The package does the same, with Newton's steps.",
        [
            (
                lambda eta, d, gain, lam: (gain - d @ eta) / (d @ d),
                "that is the Gaussian's step, whose Lambda' is eta itself; and cut it to [0, 1].",
            ),
            (
                lambda eta, d, gain, lam: _clipped((gain - d @ eta) / (d @ d)),
                "that is the Gaussian's step; the Laplace slope is 2 eta / (lambda - eta^2).",
            ),
            (
                _newton_once,
                "one step of Newton's method is not the root; go on until the slope is 0.",
            ),
            (
                without_warnings(_blind),
                "a middle beyond the wall counted as rising: there lambda - eta^2 is negative.",
            ),
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
        "some results differ; where the slope is negative at 0 the step is 0, and where it is "
        "positive at 1, it is 1.",
    )
