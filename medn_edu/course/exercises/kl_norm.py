"""Checks of the exercises of kl-norm."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Function, Judged, Number, differs

_DIFFERS = "some results differ; try it on one pair of numbers, on paper."

check_kl_norm_at_zero = Number(
    "the KL-norm of five weights at mean 0, for lambda 4",
    right=2.5,
    praise="K / sqrt(lambda) = 5 / 2. The divergence there is 0: sqrt(lambda) times it, less K.",
    mistakes={
        0.0: "that is what a norm would be at 0; put the mean 0 into the formula of Corollary 6.",
        0.5: "that is one weight's share; there are five.",
        1.25: "sqrt(1 / lambda) is 1/2, not 1/4.",
        5.0: "that is sqrt(lambda) times the KL-norm, the K that is taken off to get a divergence.",
        10.0: "K was multiplied by sqrt(lambda); it is divided by it.",
    },
)


def _judge_names(answer: Any) -> str | None:
    if isinstance(answer, str):
        answer = {answer}
    if not isinstance(answer, set | frozenset | list | tuple):
        return 'expected a set of names, such as {"L2"}.'
    names = frozenset(str(name).strip().upper() for name in answer)
    if names - {"L1", "L2", "KL"}:
        return 'the names are "L2", "KL" and "L1".'
    hints = {
        frozenset({"L1"}): None,
        frozenset({"L1", "KL"}): (
            "on the KL ball with lambda 10^6 the smaller weight is 0.0013, which is not 0."
        ),
        frozenset({"KL"}): "the KL ball has no corners, however sharply it turns; which ball has?",
        frozenset(): "one of the balls has corners, and corners lie on axes.",
    }
    otherwise = "on the L2 ball the point lies in the direction (2, 1) itself, with no weight 0."
    return hints.get(names, otherwise)


check_exact_zeros = Judged(
    "which balls a line across (2, 1) touches where a weight is exactly 0",
    right={"L1"},
    praise="a corner of the L1 ball; the others are round there.",
    judge=_judge_names,
    mistakes=[{"L1", "KL"}, {"KL"}, set(), {"L1", "L2"}, {"M3N"}, 1],
)


def _log_mgf(eta: float, lam: float) -> float:
    return float(-np.log(1 - eta**2 / lam))


def _mean(eta: Any, lam: float) -> Any:
    return 2 * eta / (lam - eta**2)


check_conjugate = Function(
    "divergence(eta, lam): KL of the tilted Laplace prior from the prior",
    cases=[(1.0, 4.0), (-1.5, 4.0), (0.3, 6.0), (2.9, 9.0), (0.0, 2.0)],
    right=lambda eta, lam: eta * _mean(eta, lam) - _log_mgf(eta, lam),
    praise="eta mu - Lambda(eta), which is Lambda*(mu): where the tangent's slope is mu.",
    mistakes=[
        (
            lambda eta, lam: eta * _mean(eta, lam),
            "that is eta times the mean; the normaliser is missing: subtract Lambda(eta).",
        ),
        (
            lambda eta, lam: eta * _mean(eta, lam) + _log_mgf(eta, lam),
            "the sign of Lambda: log(p / p0) is eta w *minus* log Z.",
        ),
        (_log_mgf, "that is Lambda(eta), which is KL(p0 || p): the other direction."),
        (
            lambda eta, lam: _log_mgf(eta, lam) - eta * _mean(eta, lam),
            "a divergence is never negative; yours is the right one with its sign turned.",
        ),
        (
            lambda eta, lam: _mean(eta, lam) ** 2 / 2,
            "mu^2 / 2 is the divergence of the standard normal (Corollary 4).",
        ),
    ],
    otherwise=_DIFFERS,
)


def _slope(mu: float, lam: float) -> float:
    scaled = np.sqrt(lam) * mu
    return float(scaled / (1 + np.hypot(1, scaled)))


def _is_undefined_at_zero(slope: Callable[..., Any]) -> bool:
    try:
        value = slope(0.0, 4.0)
    except ZeroDivisionError:
        return True
    return bool(value != value)


check_kl_slope = Function(
    "kl_slope(mu, lam): the derivative of one weight's share of the KL-norm",
    cases=[(0.5, 4.0), (-2.0, 5.0), (3.0, 0.5), (0.01, 9.0)],
    right=_slope,
    praise="eta / sqrt(lambda): 0 at 0, where L1 has its kink, and below 1 everywhere.",
    mistakes=[
        (
            lambda mu, lam: np.sign(mu),
            "that is the slope of the L1-norm, which the KL-norm only comes near to.",
        ),
        (
            lambda mu, lam: np.sqrt(lam) * _slope(mu, lam),
            "that is eta, the slope of sqrt(lambda) times the KL-norm; divide by sqrt(lambda).",
        ),
        (
            lambda mu, lam: np.sqrt(lam) * mu / np.hypot(1, np.sqrt(lam) * mu),
            "that is the slope of the root alone; the logarithm has one, too.",
        ),
        (lambda mu, lam: np.sqrt(lam) * mu / 2, "that is the parabola's slope, right near 0 only."),
        (
            lambda mu, lam: 2 * mu / (lam - mu**2),
            "that is Corollary 7, from eta to mean; here the mean is given.",
        ),
        (
            lambda mu, lam: abs(_slope(mu, lam)),
            "right for positive means; at negative ones the KL-norm falls.",
        ),
    ],
    hidden=[
        (
            lambda mu, lam: (np.sqrt(1 + lam * mu**2) - 1) / (np.sqrt(lam) * np.float64(mu)),
            "right but at mu = 0, where yours is 0/0: multiply above and below by the root + 1.",
            _is_undefined_at_zero,
        ),
        (
            lambda mu, lam: _slope(mu, lam) if mu else 1.0,
            "right but at mu = 0: there the slope is 0.",
            differs(_slope, (0.0, 4.0)),
        ),
    ],
    otherwise=_DIFFERS,
)


def _cheapest(a: np.ndarray, margin: float, lam: float, end: float | None = None) -> np.ndarray:
    """Bisect along the shrinkage curve, up to the end of the domain or to a wrong one."""
    end = np.sqrt(lam) / np.abs(a).max() if end is None else end
    return _mean(a * bisect(lambda t: a @ _mean(t * a, lam) < margin, 0.0, end), lam)


def _corner(a: np.ndarray, margin: float, lam: float) -> np.ndarray:
    return np.where(np.arange(len(a)) == np.abs(a).argmax(), margin / a, 0.0)


def _last_eta(a: np.ndarray, margin: float, lam: float) -> np.ndarray:
    mu = _cheapest(a, margin, lam)
    return lam * mu / (1 + np.sqrt(1 + lam * mu**2))


check_cheapest_mean = Function(
    "cheapest_mean(a, margin, lam): where a line touches a KL ball",
    cases=[
        (np.array([1.0, 0.5]), 1.0, 400.0),
        (np.array([2.3, -0.7]), 3.0, 4.0),
        (np.array([-0.3, 0.2, 0.1]), 0.5, 36.0),
        (np.array([0.2, 5.0, 1.0]), 0.01, 0.5),
    ],
    right=_cheapest,
    praise="the shrinkage curve along one direction, until the margin is met: P1 with one row.",
    mistakes=[
        (
            lambda a, margin, lam: margin * a / (a @ a),
            "that is the point on the L2 ball; on the KL ball it is mu = Lambda'(t a).",
        ),
        (_corner, "that is the corner of the L1 ball; on the KL ball no weight is exactly 0."),
        (_last_eta, "that is eta = t a; return the mean it leads to."),
        (
            lambda a, margin, lam: np.abs(_cheapest(a, margin, lam)),
            "the signs are lost: a mean has the sign of its eta.",
        ),
        (
            lambda a, margin, lam: _cheapest(a, margin, lam, np.sqrt(lam)),
            "t ends where the *largest* |t a_k| reaches sqrt(lambda), not where t does.",
        ),
    ],
    nearly="nearly: the margin is not met to the last digits; halve more often.",
    otherwise="some results differ; does a @ mu equal the margin, and is mu = Lambda'(t a)?",
)
