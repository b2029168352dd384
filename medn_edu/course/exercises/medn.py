"""Checks of the exercises of medn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number

_DIFFERS = "some results differ; try it on aax alone, with alpha = 1, on paper."


@check
def check_tight_labellings(answer: Any) -> Verdict:
    """Check the labellings of *axi* that may have positive dual variables at the mean (0.5, 0.3).

    Parameters
    ----------
    answer : object
        The learner's labellings.

    Examples
    --------
    >>> check_tight_labellings(["aax"])
    Not quite: aax is one of them; another violates its margin by as much.
    """
    given = {answer} if isinstance(answer, str) else set(answer)
    if not given or not all(isinstance(name, str) for name in given):
        return False, 'expected labellings as words, such as ["aai", "aax"].'
    known = {"aai", "aax", "iax", "xax", "axi"}
    if given == {"aax", "xax"}:
        return True, "both violate by 1.2, the slack; all others by less, so their alpha must be 0."
    if not given <= known:
        return False, "expected labellings of the table, written as there."
    if "axi" in given:
        return False, "the true labelling has the margin violation 0, which is less than the slack."
    if given == {"aax", "xax", "iax", "aai"}:
        return False, "all four violate their margins; only the *largest* violation counts."
    if given < {"aax", "xax"}:
        return False, f"{min(given)} is one of them; another violates its margin by as much."
    if "iax" in given:
        return (
            False,
            "iax violates its margin by 3 - 4 * 0.5 = 1 only; look for the largest violation.",
        )
    return False, "aai violates its margin by 1 + 0.5 - 2 * 0.3 = 0.9 only; others by more."


@check
def check_mean_from_alpha(answer: Any) -> Verdict:
    """Check the posterior mean for alpha(aax) = 0.2 and alpha(xax) = 0.1, under a Laplace prior.

    Parameters
    ----------
    answer : object
        The learner's two numbers.

    Examples
    --------
    >>> check_mean_from_alpha([0.5, 0.3])
    Not quite: that is eta, the Gaussian's mean; send it through the slope of the Laplace prior.
    """
    given = np.asarray(answer, dtype=float)
    if given.shape != (2,):
        return False, "expected two numbers, the means of the weights of ink and habit."
    eta = np.array([0.5, 0.3])
    right = 2 * eta / (4 - eta**2)
    mistakes = [
        (eta, "that is eta, the Gaussian's mean; send it through the slope of the Laplace prior."),
        (right[::-1], "ink and habit have changed places."),
        (eta / 2, "that is the tangent at 0, eta times the prior's variance; the curve bends."),
        (2 * eta / (2 - eta**2), "the denominator has lambda = 4, not its root."),
        (eta / (4 - eta**2), "the factor 2 in the numerator is missing."),
    ]
    if np.allclose(given, right, rtol=5e-3) or np.array_equal(given, right.round(2)):
        return True, "eta = (0.5, 0.3), then weight by weight the shrinkage of Corollary 7."
    for wrong, hint in mistakes:
        if np.allclose(given, wrong, rtol=5e-3):
            return False, hint
    return False, "other numbers; first eta = 0.2 * (1, 1) + 0.1 * (3, 1), then its mean."


@check
def check_d1_value(answer: Any) -> Verdict:
    """Check the value of D1 for alpha(aax) = 0.2 and alpha(xax) = 0.1, under a Laplace prior.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_d1_value(0.7)
    Not quite: that is alpha times the loss; what the prior takes, Lambda, is missing.
    """
    taken = -np.log(1 - 0.25 / 4) - np.log(1 - 0.09 / 4)
    return judge_number(
        answer,
        0.7 - taken,
        "0.2 * 2 + 0.1 * 3, less Lambda of both weights. No distribution costs less in P1.",
        {
            0.7: "that is alpha times the loss; what the prior takes, Lambda, is missing.",
            0.7 + taken: "the sign of Lambda: D1 is minus log Z.",
            0.7 - 0.17: "that is the standard normal's; the Laplace prior's Lambda is a logarithm.",
            taken - 0.7: "that is log Z; D1 has it with a minus.",
            0.5 - taken: "each alpha counts times its own loss: aax has 2 wrong letters, xax 3.",
            0.7 - taken / 2: "Lambda is to be added up over both weights.",
        },
    )


def _gap(alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray, mean: np.ndarray) -> float:
    violation = losses - differences @ mean
    return float(alpha @ (violation.max() - violation))


_LOSSES = np.array([0.0, 1.0, 2.0, 3.0])
_DIFFERENCES = np.array([[0, 0], [-1, 2], [1, 1], [3, 1.0]])


@check
def check_duality_gap(answer: Any) -> Verdict:
    """Check a function ``gap(alpha, losses, differences, mean)``.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_duality_gap(lambda alpha, losses, differences, mean: 0.0)
    Not quite: some results differ; try it on aax alone, with alpha = 1, on paper.
    """
    cases = [
        (np.array(alpha), _LOSSES, _DIFFERENCES, np.array(mean))
        for alpha, mean in [
            ((0.5, 0.0, 0.5, 0.0), (0.5, 0.5)),
            ((0.0, 0.2, 0.3, 0.5), (0.2, 0.9)),
            ((0.0, 0.0, 0.0, 2.0), (0.6, 0.2)),
            ((0.4, 0.3, 0.2, 0.1), (1.5, 0.1)),
            ((0.5, 0.5, 0.0, 0.0), (2.0, 2.0)),  # all margins kept
        ]
    ]

    def without_the_truth(
        alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray, mean: np.ndarray
    ) -> float:
        violation = losses - differences @ mean
        return float(alpha.sum() * violation[losses > 0].max() - alpha @ violation)

    def sum_of_slack(
        alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray, mean: np.ndarray
    ) -> float:
        return float(alpha.sum() * (losses - differences @ mean).max())

    return judge_function(
        answer,
        cases,
        _gap,
        "alpha times what is missing to the largest violation: zero exactly if every labelling "
        "with a positive alpha has the largest.",
        [
            (
                lambda alpha, losses, differences, mean: -_gap(alpha, losses, differences, mean),
                "the sign: a gap is never negative; take the slack minus each margin violation.",
            ),
            (
                without_the_truth,
                "once all margins are kept the slack is 0, not negative: the true labelling counts.",
            ),
            (sum_of_slack, "that is C times the slack; the violations times alpha are missing."),
            (
                lambda alpha, losses, differences, mean: alpha @ (losses - differences @ mean),
                "that is alpha times each violation; compare it with C times the slack.",
            ),
            (
                lambda alpha, losses, differences, mean: (
                    alpha @ (losses.max() - losses + differences @ mean)
                ),
                "the slack is the largest *violation*, not the largest loss.",
            ),
            (
                lambda alpha, losses, differences, mean: float(
                    np.sum(
                        (alpha > 0)
                        * ((losses - differences @ mean).max() - losses + differences @ mean)
                    )
                ),
                "each labelling counts with its alpha, not only whether that is positive.",
            ),
        ],
        _DIFFERS,
    )


def _step(
    difference: np.ndarray, loss: float, mean: Callable[..., Any], C: float, floor: float = 0.0
) -> float:
    def violation(a: float) -> float:
        return float(loss - difference @ mean(a * difference))

    if violation(C) >= 0:
        return C
    if floor == 0 and violation(0.0) <= 0:  # the prior's mean has the margin already
        return 0.0
    low, high = floor, C
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if violation(middle) > 0 else (low, middle)
    return low


def _exponential(eta: np.ndarray) -> np.ndarray:
    return 1 / (2 - eta)


def _laplace(eta: np.ndarray) -> np.ndarray:
    return 2 * eta / (4 - eta**2)


@check
def check_alpha_step(answer: Any) -> Verdict:
    """Check a function ``best_alpha(difference, loss, mean, C)`` for one labelling and any prior.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_alpha_step(lambda difference, loss, mean, C: C)
    Not quite: right while C is small; a large C is not used up: stop where the violation is 0.
    """
    cases = [
        (np.array([1.0, 1.0]), 2.0, _laplace, 1.0),
        (np.array([1.0, 1.0]), 2.0, _laplace, 1.9),
        (np.array([1.0, 1.0]), 2.0, lambda eta: eta, 3.0),
        (np.array([-1.0, 2.0]), 1.0, np.tanh, 4.0),
        (np.array([3.0, 1.0]), 3.0, np.tanh, 2.0),
        (np.array([3.0, 1.0]), 3.0, lambda eta: 1 / (2 - eta) - 0.5, 0.1),
        (np.array([1.0, 1.0]), 0.5, _exponential, 1.0),
    ]
    return judge_function(
        answer,
        cases,
        _step,
        "a step of coordinate ascent on D1, for every prior: the violation falls as alpha grows, "
        "and bisection finds where it ends, or C.",
        [
            (
                lambda difference, loss, mean, C: C,
                "right while C is small; a large C is not used up: stop where the violation is 0.",
            ),
            (
                lambda difference, loss, mean, C: (
                    _step(difference, loss, mean, C, floor=-3 * C)
                    if mean is _exponential  # others' domains end before
                    else _step(difference, loss, mean, C)
                ),
                "alpha is never negative: where the prior's mean has the margin already, it is 0.",
            ),
            (
                lambda difference, loss, mean, C: _step(difference, loss, mean, C) or C,
                "where the prior's mean has the margin already, alpha must be 0.",
            ),
            (
                lambda difference, loss, mean, C: min(C, loss / (difference @ difference)),
                "that is the Gaussian's answer, where the mean is eta; use `mean`.",
            ),
            (
                lambda difference, loss, mean, C: min(C, loss / (difference @ mean(difference))),
                "the mean does not grow in proportion to alpha; look for the zero by halving.",
            ),
            (
                lambda difference, loss, mean, C: _step(
                    np.ones(2), loss, lambda eta: mean(eta * difference), C
                ),
                "the margin is difference @ mean, not the sum of the mean.",
            ),
        ],
        "some results differ; under the standard normal aax wants alpha = 1.",
    )
