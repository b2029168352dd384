"""Checks of the exercises of kl-norm."""

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

_DIFFERS = "some results differ; try it on one pair of numbers, on paper."


@check
def check_kl_norm_at_zero(answer: Any) -> Verdict:
    """Check the KL-norm of five weights at mean 0, for lambda 4.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_kl_norm_at_zero(0)
    Not quite: that is what a norm would be at 0; put the mean 0 into the formula of Corollary 6.
    """
    return judge_number(
        answer,
        2.5,
        "K / sqrt(lambda) = 5 / 2. The divergence there is 0: sqrt(lambda) times it, less K.",
        {
            0.0: "that is what a norm would be at 0; put the mean 0 into the formula of Corollary 6.",
            0.5: "that is one weight's share; there are five.",
            1.25: "sqrt(1 / lambda) is 1/2, not 1/4.",
            5.0: "that is sqrt(lambda) times the KL-norm, the K that is taken off to get a divergence.",
            10.0: "K was multiplied by sqrt(lambda); it is divided by it.",
        },
    )


@check
def check_exact_zeros(answer: Any) -> Verdict:
    """Check which balls a line across (2, 1) touches where a weight is exactly 0.

    Parameters
    ----------
    answer : object
        The learner's set of names, of "L2", "KL" and "L1".

    Examples
    --------
    >>> check_exact_zeros({"L1", "KL"})
    Not quite: on the KL ball with lambda 10^6 the smaller weight is 0.0013, which is not 0.
    """
    if isinstance(answer, str):
        answer = {answer}
    if not isinstance(answer, set | frozenset | list | tuple):
        return False, 'expected a set of names, such as {"L2"}.'
    names = frozenset(str(name).strip().upper() for name in answer)
    if names - {"L1", "L2", "KL"}:
        return False, 'the names are "L2", "KL" and "L1".'
    if names == {"L1"}:
        return True, "a corner of the L1 ball; the others are round there."
    return False, {
        frozenset({"L1", "KL"}): (
            "on the KL ball with lambda 10^6 the smaller weight is 0.0013, which is not 0."
        ),
        frozenset({"KL"}): (
            "the KL ball has no corners, however sharply it turns; which ball has?"
        ),
        frozenset(): "one of the balls has corners, and corners lie on axes.",
    }.get(names, "on the L2 ball the point lies in the direction (2, 1) itself, with no weight 0.")


def _log_mgf(eta: float, lam: float) -> float:
    return float(-np.log(1 - eta**2 / lam))


def _mean(eta: Any, lam: float) -> Any:
    return 2 * eta / (lam - eta**2)


@check
def check_conjugate(answer: Any) -> Verdict:
    """Check a function ``divergence(eta, lam)``: KL of the tilted Laplace prior from the prior.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> import numpy as np
    >>> check_conjugate(lambda eta, lam: 2 * eta**2 / (lam - eta**2))
    Not quite: that is eta times the mean; the normaliser is missing: subtract Lambda(eta).
    """
    return judge_function(
        answer,
        [(1.0, 4.0), (-1.5, 4.0), (0.3, 6.0), (2.9, 9.0), (0.0, 2.0)],
        lambda eta, lam: eta * _mean(eta, lam) - _log_mgf(eta, lam),
        "eta mu - Lambda(eta), which is Lambda*(mu): where the tangent's slope is mu.",
        [
            (
                lambda eta, lam: eta * _mean(eta, lam),
                "that is eta times the mean; the normaliser is missing: subtract Lambda(eta).",
            ),
            (
                lambda eta, lam: eta * _mean(eta, lam) + _log_mgf(eta, lam),
                "the sign of Lambda: log(p / p0) is eta w *minus* log Z.",
            ),
            (
                _log_mgf,
                "that is Lambda(eta), which is KL(p0 || p): the other direction.",
            ),
            (
                lambda eta, lam: _log_mgf(eta, lam) - eta * _mean(eta, lam),
                "a divergence is never negative; yours is the right one with its sign turned.",
            ),
            (
                lambda eta, lam: _mean(eta, lam) ** 2 / 2,
                "mu^2 / 2 is the divergence of the standard normal (Corollary 4).",
            ),
        ],
        _DIFFERS,
    )


def _slope(mu: float, lam: float) -> float:
    scaled = np.sqrt(lam) * mu
    return float(scaled / (1 + np.hypot(1, scaled)))


@check
def check_kl_slope(answer: Any) -> Verdict:
    """Check a function ``kl_slope(mu, lam)``: the derivative of one weight's share of the KL-norm.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> import numpy as np
    >>> check_kl_slope(lambda mu, lam: np.sign(mu))
    Not quite: that is the slope of the L1-norm, which the KL-norm only comes near to.
    """
    if not callable(answer):
        return False, "expected a function: hand over its name, without brackets."
    quiet = without_warnings(answer)
    verdict = judge_function(
        quiet,
        [(0.5, 4.0), (-2.0, 5.0), (3.0, 0.5), (0.01, 9.0)],
        _slope,
        "eta / sqrt(lambda): 0 at 0, where L1 has its kink, and below 1 everywhere.",
        [
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
            (
                lambda mu, lam: np.sqrt(lam) * mu / 2,
                "that is the parabola's slope, right near 0 only.",
            ),
            (
                lambda mu, lam: 2 * mu / (lam - mu**2),
                "that is Corollary 7, from eta to mean; here the mean is given.",
            ),
            (
                lambda mu, lam: abs(_slope(mu, lam)),
                "right for positive means; at negative ones the KL-norm falls.",
            ),
        ],
        _DIFFERS,
    )
    if verdict[0]:
        return _wrong_at_zero(quiet) or verdict
    return verdict


def _wrong_at_zero(slope: Callable[..., Any]) -> Verdict | None:
    """Judge a slope at mean 0, where the most natural formula is 0/0; None where it is right."""
    try:
        value = slope(0.0, 4.0)
    except ZeroDivisionError:
        value = np.nan
    if value is not None and np.isnan(value):
        return False, (
            "right but at mu = 0, where yours is 0/0: multiply above and below by the root + 1."
        )
    return None if value == 0 else (False, "right but at mu = 0: there the slope is 0.")


def _cheapest(a: np.ndarray, margin: float, lam: float, end: float | None = None) -> np.ndarray:
    """Bisect along the shrinkage curve, up to the end of the domain or to a wrong one."""
    low, high = 0.0, np.sqrt(lam) / np.abs(a).max() if end is None else end
    for _ in range(100):
        t = (low + high) / 2
        mu = _mean(t * a, lam)
        low, high = (t, high) if a @ mu < margin else (low, t)
    return mu


def _corner(a: np.ndarray, margin: float, lam: float) -> np.ndarray:
    return np.where(np.arange(len(a)) == np.abs(a).argmax(), margin / a, 0.0)


def _last_eta(a: np.ndarray, margin: float, lam: float) -> np.ndarray:
    mu = _cheapest(a, margin, lam)
    return lam * mu / (1 + np.sqrt(1 + lam * mu**2))


@check
def check_cheapest_mean(answer: Any) -> Verdict:
    """Check a function ``cheapest_mean(a, margin, lam)``: where a line touches a KL ball.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_cheapest_mean(lambda a, margin, lam: margin * a / (a @ a))
    Not quite: that is the point on the L2 ball; on the KL ball it is mu = Lambda'(t a).
    """
    cases = [
        (np.array([1.0, 0.5]), 1.0, 400.0),
        (np.array([2.3, -0.7]), 3.0, 4.0),
        (np.array([-0.3, 0.2, 0.1]), 0.5, 36.0),
        (np.array([0.2, 5.0, 1.0]), 0.01, 0.5),
    ]
    verdict = judge_function(
        answer,
        cases,
        _cheapest,
        "the shrinkage curve along one direction, until the margin is met: P1 with one row.",
        [
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
        "some results differ; does a @ mu equal the margin, and is mu = Lambda'(t a)?",
    )
    if not verdict[0] and _nearly(answer, cases):
        return False, "nearly: the margin is not met to the last digits; halve more often."
    return verdict


def _nearly(answer: Any, cases: list[tuple[np.ndarray, float, float]]) -> bool:
    if not callable(answer):
        return False
    pairs = [(answer(a.copy(), *rest), _cheapest(a, *rest)) for a, *rest in cases]
    return all(
        np.shape(given) == right.shape and np.allclose(given, right, rtol=0.02)
        for given, right in pairs
    )
