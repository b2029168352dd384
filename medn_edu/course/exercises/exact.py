"""Checks of the exercises of exact."""

from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number, differs
from medn_edu.priors import LaplacePrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.axi import AXI, axi_problem, text

check_next_corner = Choice(right="b")

check_excess = Number(right=0.25)


def faulty_run() -> str:
    """Return the printout of a run on the three tiny words that has a mistake in it.

    It is the notebook's run, except that each step goes on as long as the dual rises.  This leads
    beyond step size 1, where a dual variable becomes negative.
    """
    problem = axi_problem(LaplacePrior(4.0), LinearSlack(1.0))
    F, losses, steps = problem.differences, problem.losses, np.linspace(0, 2, 2001)
    alpha, lines = np.where(losses == 0, 1.0, 0.0), []

    def dual_values(gains: Any, etas: np.ndarray) -> Any:
        inside = np.all(etas**2 < 4, axis=-1)
        return np.where(
            inside, gains + np.log(1 - np.minimum(etas**2 / 4, 0.9999)).sum(axis=-1), -9
        )

    for visit in range(61):
        w = problem.prior.mean(alpha @ F)
        if visit % 10 == 0:
            dual, primal = dual_values(alpha @ losses, alpha @ F), problem.primal_value(w)
            lines.append(f"visit {visit:2}: dual {dual:.2f}, primal {primal:.2f}")
        block = problem.sample == visit % 3
        corner = np.where(block, 0.0, alpha)
        corner[np.where(block, losses - F @ w, -np.inf).argmax()] = 1.0
        way = corner - alpha
        heights = dual_values(
            alpha @ losses + steps * (way @ losses), alpha @ F + np.outer(steps, way @ F)
        )
        alpha = alpha + steps[heights.argmax()] * way
    return "\n".join(lines)


check_impossible_run = Choice(right="c")


def _judge_certificate(alpha: Any) -> str | None:
    """Say what a certificate of *axi* with C = 3 and lambda = 4 still lacks."""
    words = [text(labels) for labels in AXI.labellings]
    if not isinstance(alpha, dict) or not alpha:
        return 'expected a dictionary, such as {"axi": 2.0, "xaa": 1.0}.'
    if unknown := [name for name in alpha if name not in words]:
        return f"{str(unknown[0])[:20]!r} isn't a labelling of three letters a, x and i."
    values = np.array([float(alpha.get(word, 0.0)) for word in words])
    if not np.isfinite(values).all():
        return "the dual variables must be numbers."
    if values.min() < 0:
        return "a dual variable is negative, so the dual value is no longer a lower bound."
    if abs(values.sum() - 3) > 1e-6:
        return f"they add up to {values.sum():.3g}, not to C = 3; put the rest on axi."
    problem = axi_problem(LaplacePrior(4.0), LinearSlack(3.0), [AXI])
    eta = problem.eta(values)
    if np.any(eta**2 >= 4):
        return (
            f"eta = ({eta[0]:.2f}, {eta[1]:.2f}) lies beyond the wall at 2: move some back to axi."
        )
    w = problem.posterior_mean(values)
    primal, dual = problem.primal_value(w), problem.dual_value(values)
    if primal - dual <= 0.05 * primal:
        return None
    H = AXI.losses - AXI.differences @ w
    found = f"the gap is {(primal - dual) / primal:.0%}, with w = ({w[0]:.2f}, {w[1]:.2f})"
    if H.max() > 1e-9:
        return f"{found}; {words[H.argmax()]} violates its margin most, by {H.max():.2f}: it needs more."
    spent = np.where(values > 0, H, 0)
    return (
        f"{found}; every margin holds, so {words[spent.argmin()]} has too much. Move some to axi."
    )


check_own_certificate = Judged(
    right={"aax": 1.24, "axi": 1.76},
    judge=_judge_certificate,
    expected='a dictionary, such as {"axi": 2.0, "xaa": 1.0}',
    mistakes=[
        {"axi": 3.0},
        {"aax": 3.0},
        {"aax": 1.24},
        {"aax": 1.1, "axi": 1.9},
        {"aax": 1.4, "axi": 1.6},
        {"aax": 4.0, "axi": -1.0},
        {"abc": 3.0},
        {},
    ],
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
