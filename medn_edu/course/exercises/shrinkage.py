"""Checks of the exercises of shrinkage."""

import numpy as np
from scipy.special import softmax

from medn_edu.course.exercises.declarations import Function, Number, differs

_DIFFERS = "some results differ; try it on one pair of numbers, on paper."

check_posterior_mean = Number(
    "the posterior mean under the Laplace prior with lambda 4 at eta 1",
    right=2 / 3,
    praise="2 / (4 - 1). The standard normal would have left it at 1.",
    mistakes={
        1.0: "that is the standard normal's mean, which is eta itself.",
        0.5: "that is the slope at 0 times eta; the denominator is lambda - eta^2.",
        2.0: "sqrt(lambda) took the place of lambda in the denominator.",
        0.4: "lambda *minus* eta^2: a larger eta lets the mean grow faster.",
        1 / 3: "the factor 2 in the numerator is missing.",
    },
)

check_equal_variance = Number(
    "the lambda for which the Laplace prior has the variance of the standard normal",
    right=2.0,
    praise="the variance is 2 / lambda. So lambda = 4 and 6 in Figure 1 are *narrower* than N(0, 1).",
    mistakes={
        1.0: "at lambda = 1 the variance is 2: it is 2 / lambda, not 1 / lambda.",
        2**0.5: "that is sqrt(lambda), the rate at which the density falls.",
        0.5: "upside down: the variance is 2 / lambda.",
        4.0: "that is a variance of 1/2; did you set the standard deviation to 2 / lambda?",
    },
)


def _mean(eta: float, lam: float) -> float:
    return 2 * eta / (lam - eta**2)


def _eta(mu: float, lam: float) -> float:
    return float((np.sqrt(1 + lam * mu**2) - 1) / mu) if mu else 0.0


check_eta_for_mean = Function(
    "eta_for(mu, lam), the inverse of Corollary 7",
    cases=[(0.5, 4.0), (-2.0, 5.0), (3.0, 6.0), (0.1, 9.0)],
    right=_eta,
    praise="the root with |eta| < sqrt(lambda), as in Appendix B.4. Dividing by "
    "1 + sqrt(1 + lambda mu^2) instead avoids the 0/0 and loses no digits.",
    mistakes=[
        (
            lambda mu, lam: (-np.sqrt(1 + lam * mu**2) - 1) / mu,
            "that root has |eta| > sqrt(lambda), where no posterior exists; take the other.",
        ),
        (lambda mu, lam: np.sqrt(1 + lam * mu**2) - 1, "that is eta times mu; divide by mu."),
        (_mean, "that is Corollary 7 itself, from eta to the mean; wanted is the way back."),
        (
            lambda mu, lam: lam * mu / 2,
            "that is the tangent at 0; solve mu eta^2 + 2 eta - lambda mu = 0.",
        ),
    ],
    hidden=[
        (
            lambda mu, lam: (np.sqrt(1 + lam * mu**2) - 1) / mu,
            "right elsewhere, but at mean 0 the quotient is 0/0; its limit is 0.",
            differs(_eta, (0.0, 4.0)),
        ),
    ],
    otherwise=_DIFFERS,
)


def _tilted_mean(w: np.ndarray, log_p0: np.ndarray, eta: float) -> float:
    return float(softmax(log_p0 + eta * w) @ w)


_GRID = np.linspace(-40, 40, 3201)  # so wide that sums and other rules agree
_WIDE = np.linspace(-100, 100, 2001)
check_tilted_mean = Function(
    "tilted_mean(w, log_p0, eta) for a density given on a grid",
    cases=[
        (_GRID, np.log(0.5) - np.abs(_GRID - 0.5), 0.4),
        (_GRID, -0.5 * _GRID**2 - 0.3 * np.cos(3 * _GRID), -1.2),
        (_GRID, np.where(np.abs(_GRID) <= 2, -np.log(4), -np.inf), 1.5),
    ],
    right=_tilted_mean,
    praise="any prior at all, on a grid. Real solvers have Lambda' in closed form.",
    mistakes=[
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
    hidden=[
        (
            lambda w, log_p0, eta: np.average(w, weights=np.exp(log_p0 + eta * w)),
            "right while numbers are small, but e^2000 overflows; subtract the largest exponent from "
            "all of them first.",
            differs(_tilted_mean, (_WIDE, -(_WIDE**2) / 8, 20.0)),
        ),
    ],
    otherwise="some results differ; try it with the standard normal, whose mean must be eta.",
)
