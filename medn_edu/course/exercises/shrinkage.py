"""Checks of the exercises of shrinkage."""

from __future__ import annotations

from typing import Any

import numpy as np

from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number

_OVERFLOW = (
    "right while numbers are small, but e^2000 overflows; subtract the largest exponent from all of "
    "them first."
)
_DIFFERS = "some results differ; try it on one pair of numbers, on paper."


@check
def check_posterior_mean(answer: Any) -> Verdict:
    """Check the posterior mean under the Laplace prior with lambda 4 at eta 1.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_posterior_mean(1.0)
    Not quite: that is the standard normal's mean, which is eta itself.
    """
    return judge_number(
        answer,
        2 / 3,
        "2 / (4 - 1). The standard normal would have left it at 1.",
        {
            1.0: "that is the standard normal's mean, which is eta itself.",
            0.5: "that is the slope at 0 times eta; the denominator is lambda - eta^2.",
            2.0: "sqrt(lambda) took the place of lambda in the denominator.",
            0.4: "lambda *minus* eta^2: a larger eta lets the mean grow faster.",
            1 / 3: "the factor 2 in the numerator is missing.",
        },
    )


@check
def check_equal_variance(answer: Any) -> Verdict:
    """Check the lambda for which the Laplace prior has the variance of the standard normal.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_equal_variance(1)
    Not quite: at lambda = 1 the variance is 2: it is 2 / lambda, not 1 / lambda.
    """
    return judge_number(
        answer,
        2.0,
        "the variance is 2 / lambda. So lambda = 4 and 6 in Figure 1 are *narrower* than N(0, 1).",
        {
            1.0: "at lambda = 1 the variance is 2: it is 2 / lambda, not 1 / lambda.",
            2**0.5: "that is sqrt(lambda), the rate at which the density falls.",
            0.5: "upside down: the variance is 2 / lambda.",
            4.0: "that is a variance of 1/2; did you set the standard deviation to 2 / lambda?",
        },
    )


def _mean(eta: float, lam: float) -> float:
    return 2 * eta / (lam - eta**2)


@check
def check_eta_for_mean(answer: Any) -> Verdict:
    """Check a function ``eta_for(mu, lam)``, the inverse of Corollary 7.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> import numpy as np
    >>> check_eta_for_mean(lambda mu, lam: (np.sqrt(1 + lam * mu**2) - 1) / mu if mu else np.nan)
    Not quite: right elsewhere, but at mean 0 the quotient is 0/0; its limit is 0.
    """

    def right(mu: float, lam: float) -> float:
        return float((np.sqrt(1 + lam * mu**2) - 1) / mu) if mu else 0.0

    verdict = judge_function(
        answer,
        [(0.5, 4.0), (-2.0, 5.0), (3.0, 6.0), (0.1, 9.0)],
        right,
        "the root with |eta| < sqrt(lambda), as in Appendix B.4. Dividing by "
        "1 + sqrt(1 + lambda mu^2) instead avoids the 0/0 and loses no digits.",
        [
            (
                lambda mu, lam: (-np.sqrt(1 + lam * mu**2) - 1) / mu,
                "that root has |eta| > sqrt(lambda), where no posterior exists; take the other.",
            ),
            (
                lambda mu, lam: np.sqrt(1 + lam * mu**2) - 1,
                "that is eta times mu; divide by mu.",
            ),
            (
                _mean,
                "that is Corollary 7 itself, from eta to the mean; wanted is the way back.",
            ),
            (
                lambda mu, lam: lam * mu / 2,
                "that is the tangent at 0; solve mu eta^2 + 2 eta - lambda mu = 0.",
            ),
        ],
        _DIFFERS,
    )
    if verdict[0] and not _is_zero_at_zero(answer):
        return False, "right elsewhere, but at mean 0 the quotient is 0/0; its limit is 0."
    return verdict


def _is_zero_at_zero(answer: Any) -> bool:
    try:
        with np.errstate(all="ignore"):
            return bool(np.isclose(answer(0.0, 4.0), 0.0))
    except ZeroDivisionError:
        return False


def _tilted(w: np.ndarray, log_p0: np.ndarray, eta: float) -> np.ndarray:
    exponent = log_p0 + eta * w
    p = np.exp(exponent - exponent.max())
    return p / p.sum()


def _tilted_mean(w: np.ndarray, log_p0: np.ndarray, eta: float) -> float:
    return float(_tilted(w, log_p0, eta) @ w)


@check
def check_tilted_mean(answer: Any) -> Verdict:
    """Check a function ``tilted_mean(w, log_p0, eta)`` for a density given on a grid.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_tilted_mean(lambda w, log_p0, eta: w[(log_p0 + eta * w).argmax()])
    Not quite: that is the posterior's mode, its highest point; wanted is its mean.
    """
    grid = np.linspace(-40, 40, 3201)  # so wide that sums and other rules agree
    mild = [
        (grid, np.log(0.5) - np.abs(grid - 0.5), 0.4),
        (grid, -0.5 * grid**2 - 0.3 * np.cos(3 * grid), -1.2),
        (grid, np.where(np.abs(grid) <= 2, -np.log(4), -np.inf), 1.5),
    ]
    verdict = judge_function(
        answer,
        mild,
        _tilted_mean,
        "any prior at all, on a grid. Real solvers have Lambda' in closed form.",
        [
            (
                lambda w, log_p0, eta: np.exp(log_p0 + eta * w) @ w,
                "divide by the sum of p0(w) e^(eta w): the posterior must add up to 1.",
            ),
            (
                lambda w, log_p0, eta: np.exp(log_p0 + eta * w) @ w * (w[1] - w[0]),
                "divide by Z: tilting has changed the integral, which must be 1.",
            ),
            (
                lambda w, log_p0, eta: _tilted_mean(w, 0 * w, eta),
                "p0 is missing: the posterior is in proportion to p0(w) e^(eta w).",
            ),
            (
                lambda w, log_p0, eta: _tilted_mean(w, log_p0, 0.0),
                "that is the prior's mean; e^(eta w) is missing.",
            ),
            (
                lambda w, log_p0, eta: _tilted_mean(w, log_p0, -eta),
                "the factor is e^(+eta w): a positive eta pushes to the right.",
            ),
            (
                lambda w, log_p0, eta: w[(log_p0 + eta * w).argmax()],
                "that is the posterior's mode, its highest point; wanted is its mean.",
            ),
        ],
        "some results differ; try it with the standard normal, whose mean must be eta.",
    )
    if verdict[0] and not _survives(answer):
        return False, _OVERFLOW
    return verdict


def _survives(answer: Any) -> bool:
    """Whether a wide Gaussian is tilted rightly even where e^(eta w) overflows."""
    wide = np.linspace(-100, 100, 2001)
    log_p0 = -(wide**2) / 8  # of variance 4: the mean is 80
    with np.errstate(all="ignore"):
        return bool(np.isclose(answer(wide, log_p0, 20.0), 80.0))
