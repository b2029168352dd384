"""Checks of the exercises of variational."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import Function, Number
from medn_edu.theory.laplace import gaussian_kl, jensen_bound

_DIFFERS = "some results differ; try it on one pair of numbers, on paper."

check_expected_precision = Number(
    "E[1 / tau] under the best q, for lambda 9, mean 0.8 and variance 1.61",
    right=2.0,
    praise="sqrt(9 / (0.64 + 1.61)). The next parabola has the variance 1/2.",
    mistakes={
        3.75: "that takes mean^2 for E[w^2]; the variance belongs to it.",
        0.5: "upside down: that is the variance of the next parabola, 1 / E[1/tau].",
        4.0: "the root is missing.",
        3 / 2.25: "take the root of E[w^2] as well.",
        3 / 2.41**0.5: "square the mean: E[w^2] = mean^2 + variance.",
        3 / (0.64 + 1.61**2) ** 0.5: "1.61 is the variance already; do not square it.",
    },
)

check_touching_mean = Number(
    "the positive mean at which the parabola of variance 0.5 touches the bound, lambda 9",
    right=1.75**0.5,
    praise="9 / 4 = mean^2 + 1 / 2. There, and at minus it, Eq. (11) gives back the variance 1/2.",
    mistakes={
        1.5: "that is sqrt(lambda) times the variance: E[w^2] is mean^2 *plus* the variance.",
        1.75: "that is the square of the mean.",
        1.25**0.5: "there it would touch the true cost, if it were lowered; wanted is the bound.",
        2.75**0.5: "the sign: mean^2 is lambda variance^2 *less* the variance.",
        2.0: "square the variance: E[w^2] = lambda variance^2.",
        4.0**0.5 / 3: "the variance is squared before lambda multiplies it.",
    },
)


def _rest(eta: float, lam: float) -> tuple[float, float]:
    return eta / (lam - eta**2), 1 / (lam - eta**2)


check_resting_point = Function(
    "resting_point(eta, lam): mean and variance that no iteration changes",
    cases=[(1.0, 4.0), (-1.5, 4.0), (0.3, 6.0), (2.9, 9.0), (0.0, 2.0)],
    right=_rest,
    praise="the mean is half of Corollary 7's, and at eta = 0 the variance rests at 1/lambda.",
    mistakes=[
        (
            lambda eta, lam: (2 * eta / (lam - eta**2), 2 / (lam - eta**2)),
            "that is the exact solution's mean (Corollary 7) and E[tau]; put mean = variance "
            "times eta into Step 2.",
        ),
        (
            lambda eta, lam: (2 * eta / (lam - eta**2), 1 / (lam - eta**2)),
            "the variance is right, and the mean must be the variance times eta.",
        ),
        (
            lambda eta, lam: (
                2 * eta / (lam - eta**2),
                2 * (lam + eta**2) / (lam - eta**2) ** 2,
            ),
            "that is the exact posterior; where do Algorithm 1's two steps stand still?",
        ),
        (
            lambda eta, lam: (eta / lam, 1 / lam),
            "right at eta = 0 only: the mean is part of E[w^2].",
        ),
        (lambda eta, lam: _rest(eta, lam)[::-1], "mean first, then variance."),
        (lambda eta, lam: _rest(eta, lam)[0], "the mean is right; return the variance too."),
        (
            lambda eta, lam: (_rest(eta, lam)[0], np.sqrt(_rest(eta, lam)[1])),
            "return the variance, not its root.",
        ),
        (
            lambda eta, lam: (eta / (lam + eta**2), 1 / (lam + eta**2)),
            "the sign: lambda variance^2 = mean^2 + variance, so lambda *less* eta^2.",
        ),
    ],
    otherwise=_DIFFERS,
)


def _bound(mean: np.ndarray, variance: np.ndarray, lam: float) -> float:
    return float(jensen_bound(mean, variance, lam).sum())


def _formula(
    mean: np.ndarray, variance: np.ndarray, lam: float, root: Any, sign: float = -1
) -> float:
    entropy = np.log(2 * np.pi * np.e * variance) / 2
    return float(np.sum(root + sign * entropy - np.log(np.sqrt(lam) / 2)))


check_bound_value = Function(
    "bound_value(mean, variance, lam): the bound, summed over all weights",
    cases=[
        (np.array([1.0, 0.0, -0.3]), np.array([0.5, 0.25, 2.0]), 4.0),
        (np.array([0.0, 2.0]), np.array([0.1, 0.7]), 9.0),
        (np.array([-1.5]), np.array([3.0]), 1.7),
    ],
    right=_bound,
    praise="minus the entropy, minus the expected logarithm of the prior with sqrt(E[w^2]) for |w|.",
    mistakes=[
        (jensen_bound, "right for each weight; the bound is their sum."),
        (
            lambda m, v, lam: gaussian_kl(m, v, lam).sum(),
            "that is the divergence itself, with E|w|; Jensen's bound has sqrt(E[w^2]).",
        ),
        (
            lambda m, v, lam: _formula(m, v, lam, np.sqrt(lam) * np.abs(m)),
            "E[w^2] is mean^2 plus the variance.",
        ),
        (
            lambda m, v, lam: _formula(m, v, lam, np.sqrt(lam * (m**2 + v)), sign=1),
            "the sign of the entropy: a divergence is *minus* the entropy minus E[log p0].",
        ),
        (
            lambda m, v, lam: _bound(m, v, lam) + len(m) / 2,
            "the entropy has an e: 1/2 log(2 pi e sigma^2).",
        ),
        (
            lambda m, v, lam: _bound(m, v, lam) + (len(m) - 1) * np.log(np.sqrt(lam) / 2),
            "every weight has the prior's constant log(sqrt(lambda) / 2): take it off in the sum.",
        ),
        (
            lambda m, v, lam: _bound(m, v, lam) + len(m) * np.log(np.sqrt(lam) / 2),
            "the prior's constant is missing: subtract log(sqrt(lambda) / 2).",
        ),
        (
            lambda m, v, lam: _formula(m, v, lam, np.sqrt(m**2 + v)),
            "the root must be multiplied by sqrt(lambda), the rate at which the prior falls.",
        ),
        (
            lambda m, v, lam: _formula(m, v, lam, np.sqrt(lam * (m**2 + v**2))),
            "you are handed variances; do not square them.",
        ),
    ],
    otherwise=_DIFFERS,
)


def _program(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a quadratic program: every row's margin 1 is to be met, as cheaply as can be."""

    def solve(variance: np.ndarray) -> np.ndarray:
        spread = np.asarray(variance)[:, None] * rows.T
        return spread @ np.linalg.solve(rows @ spread, np.ones(len(rows)))

    return solve


def _algorithm(
    step: Callable[..., Any] = lambda m, v, lam: np.sqrt((m**2 + v) / lam),
    start: Callable[[float], float] = lambda lam: 1.0,
) -> Callable[..., Any]:
    def run(program: Any, n_weights: int, lam: float, n_programs: int) -> np.ndarray:
        """Run Algorithm 1, with a mistake or without."""
        variance = np.full(n_weights, start(lam))
        means = []
        for _ in range(n_programs):
            means.append(program(variance))
            variance = step(means[-1], variance, lam)
        return np.array(means)

    return run


_run = _algorithm()
_ROWS = np.array([[1.0, 0.5, -0.2, 0.1]])
_MORE = np.array([[1.0, 0.4, 0.0], [0.2, 0.8, -0.5]])
check_algorithm_1 = Function(
    "my_algorithm_1(program, n_weights, lam, n_programs)",
    cases=[
        (_program(_ROWS), 4, 4.0, 5),
        (_program(_MORE), 3, 25.0, 3),
        (_program(_MORE), 3, 1.5, 1),
    ],
    right=_run,
    praise="Algorithm 1 of MEDN. With the package's solver for Step 1 it is LaplaceMEDN's.",
    mistakes=[
        (
            _algorithm(lambda m, v, lam: v),
            "every program has the variances 1: Step 2 must hand new ones to the next.",
        ),
        (
            _algorithm(lambda m, v, lam: np.sqrt(m**2 / lam)),
            "Step 2 needs E[w^2], the variance included: with mean^2 alone small weights die out.",
        ),
        (
            _algorithm(lambda m, v, lam: np.sqrt(lam / (m**2 + v))),
            "Step 2 gives E[1/tau] = sqrt(lambda / E[w^2]); the variance is 1 over it.",
        ),
        (_algorithm(lambda m, v, lam: (m**2 + v) / lam), "the root is missing in Step 2."),
        (
            _algorithm(lambda m, v, lam: np.sqrt((m**2 + v**2) / lam)),
            "E[w^2] = mean^2 + variance; the variance is no standard deviation.",
        ),
        (
            _algorithm(lambda m, v, lam: (1 + np.sqrt(1 + lam * m**2)) / lam),
            "these parabolas touch the KL-norm and lead to the exact solution; Algorithm 1's are "
            "others.",
        ),
        (
            _algorithm(start=lambda lam: 1 / lam),
            "the first variances are 1 (Sigma = I): the first program is M3N's.",
        ),
        (
            lambda p, k, lam, n: _run(p, k, lam, n + 1)[1:],
            "one program too early: keep the first one's mean, with the variances 1.",
        ),
        (
            lambda p, k, lam, n: _run(p, k, lam, n)[-1],
            "that is the last mean; return the means of all programs, a row for each.",
        ),
        (
            lambda p, k, lam, n: _run(p, k, lam, n).T,
            "turned over: a row for each program, a column for each weight.",
        ),
    ],
    otherwise="some means differ; print the variances of each program and compare with the table.",
)
