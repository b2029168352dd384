"""Checks of the exercises of variational."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number
from medn_edu.theory.laplace import gaussian_kl, jensen_bound

_DIFFERS = "some results differ; try it on one pair of numbers, on paper."


@check
def check_expected_precision(answer: Any) -> Verdict:
    """Check E[1 / tau] under the best q, for lambda 9, mean 0.8 and variance 1.61.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_expected_precision(3.75)
    Not quite: that takes mean^2 for E[w^2]; the variance belongs to it.
    """
    return judge_number(
        answer,
        2.0,
        "sqrt(9 / (0.64 + 1.61)). The next parabola has the variance 1/2.",
        {
            3.75: "that takes mean^2 for E[w^2]; the variance belongs to it.",
            0.5: "upside down: that is the variance of the next parabola, 1 / E[1/tau].",
            4.0: "the root is missing.",
            3 / 2.25: "take the root of E[w^2] as well.",
            3 / 2.41**0.5: "square the mean: E[w^2] = mean^2 + variance.",
            3 / (0.64 + 1.61**2) ** 0.5: "1.61 is the variance already; do not square it.",
        },
    )


@check
def check_touching_mean(answer: Any) -> Verdict:
    """Check the positive mean at which the parabola of variance 0.5 touches the bound, lambda 9.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_touching_mean(1.5)
    Not quite: that is sqrt(lambda) times the variance: E[w^2] is mean^2 *plus* the variance.
    """
    return judge_number(
        answer,
        1.75**0.5,
        "9 / 4 = mean^2 + 1 / 2. There, and at minus it, Eq. (11) gives back the variance 1/2.",
        {
            1.5: "that is sqrt(lambda) times the variance: E[w^2] is mean^2 *plus* the variance.",
            1.75: "that is the square of the mean.",
            1.25
            ** 0.5: "there it would touch the true cost, if it were lowered; wanted is the bound.",
            2.75**0.5: "the sign: mean^2 is lambda variance^2 *less* the variance.",
            2.0: "square the variance: E[w^2] = lambda variance^2.",
            4.0**0.5 / 3: "the variance is squared before lambda multiplies it.",
        },
    )


def _rest(eta: float, lam: float) -> tuple[float, float]:
    return eta / (lam - eta**2), 1 / (lam - eta**2)


@check
def check_resting_point(answer: Any) -> Verdict:
    """Check a function ``resting_point(eta, lam)``: mean and variance that no iteration changes.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_resting_point(lambda eta, lam: (eta / lam, 1 / lam))
    Not quite: right at eta = 0 only: the mean is part of E[w^2].
    """
    return judge_function(
        answer,
        [(1.0, 4.0), (-1.5, 4.0), (0.3, 6.0), (2.9, 9.0), (0.0, 2.0)],
        _rest,
        "the mean is half of Corollary 7's, and at eta = 0 the variance rests at 1/lambda.",
        [
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
            (
                lambda eta, lam: _rest(eta, lam)[::-1],
                "mean first, then variance.",
            ),
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
        _DIFFERS,
    )


def _bound(mean: np.ndarray, variance: np.ndarray, lam: float) -> float:
    return float(jensen_bound(mean, variance, lam).sum())


@check
def check_bound_value(answer: Any) -> Verdict:
    """Check a function ``bound_value(mean, variance, lam)``: the bound, summed over all weights.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> from medn_edu.theory import jensen_bound
    >>> check_bound_value(jensen_bound)
    Not quite: right for each weight; the bound is their sum.
    """

    def entropy(variance: np.ndarray) -> np.ndarray:
        return 0.5 * np.log(2 * np.pi * np.e * variance)

    def roots(mean: np.ndarray, variance: np.ndarray, lam: float) -> np.ndarray:
        return np.sqrt(lam * (mean**2 + variance))

    def without(mean: np.ndarray, variance: np.ndarray, lam: float, root: Any) -> float:
        return float(np.sum(root - entropy(variance) - np.log(np.sqrt(lam) / 2)))

    return judge_function(
        answer,
        [
            (np.array([1.0, 0.0, -0.3]), np.array([0.5, 0.25, 2.0]), 4.0),
            (np.array([0.0, 2.0]), np.array([0.1, 0.7]), 9.0),
            (np.array([-1.5]), np.array([3.0]), 1.7),
        ],
        _bound,
        "minus the entropy, minus the expected logarithm of the prior with sqrt(E[w^2]) for |w|.",
        [
            (jensen_bound, "right for each weight; the bound is their sum."),
            (
                lambda mean, variance, lam: float(gaussian_kl(mean, variance, lam).sum()),
                "that is the divergence itself, with E|w|; Jensen's bound has sqrt(E[w^2]).",
            ),
            (
                lambda mean, variance, lam: without(
                    mean, variance, lam, np.sqrt(lam) * np.abs(mean)
                ),
                "E[w^2] is mean^2 plus the variance.",
            ),
            (
                lambda mean, variance, lam: float(
                    np.sum(
                        roots(mean, variance, lam) + entropy(variance) - np.log(np.sqrt(lam) / 2)
                    )
                ),
                "the sign of the entropy: a divergence is *minus* the entropy minus E[log p0].",
            ),
            (
                lambda mean, variance, lam: _bound(mean, variance, lam) + len(mean) / 2,
                "the entropy has an e: 1/2 log(2 pi e sigma^2).",
            ),
            (
                lambda mean, variance, lam: (
                    _bound(mean, variance, lam) + (len(mean) - 1) * np.log(np.sqrt(lam) / 2)
                ),
                "every weight has the prior's constant log(sqrt(lambda) / 2): take it off in the sum.",
            ),
            (
                lambda mean, variance, lam: float(
                    np.sum(roots(mean, variance, lam) - entropy(variance))
                ),
                "the prior's constant is missing: subtract log(sqrt(lambda) / 2).",
            ),
            (
                lambda mean, variance, lam: without(
                    mean, variance, lam, roots(mean, variance, lam) / np.sqrt(lam)
                ),
                "the root must be multiplied by sqrt(lambda), the rate at which the prior falls.",
            ),
            (
                lambda mean, variance, lam: without(
                    mean, variance, lam, np.sqrt(lam * (mean**2 + variance**2))
                ),
                "you are handed variances; do not square them.",
            ),
        ],
        _DIFFERS,
    )


def _program(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a quadratic program: every row's margin 1 is to be met, as cheaply as can be."""

    def solve(variance: np.ndarray) -> np.ndarray:
        spread = np.asarray(variance)[:, None] * rows.T
        return spread @ np.linalg.solve(rows @ spread, np.ones(len(rows)))

    return solve


def _run(
    program: Any,
    n_weights: int,
    lam: float,
    n_programs: int,
    *,
    start: float = 1.0,
    step: Callable[[np.ndarray, np.ndarray, float], np.ndarray] | None = None,
) -> np.ndarray:
    """Run Algorithm 1, with a mistake or without."""
    variance = np.full(n_weights, start)
    means = []
    for _ in range(n_programs):
        mean = program(variance)
        means.append(mean)
        variance = (
            np.sqrt((mean**2 + variance) / lam) if step is None else step(mean, variance, lam)
        )
    return np.array(means)


@check
def check_algorithm_1(answer: Any) -> Verdict:
    """Check a function ``my_algorithm_1(program, n_weights, lam, n_programs)``.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> import numpy as np
    >>> check_algorithm_1(lambda program, k, lam, n: np.array(n * [program(np.ones(k))]))
    Not quite: every program has the variances 1: Step 2 must hand new ones to the next.
    """
    rows = np.array([[1.0, 0.5, -0.2, 0.1]])
    more = np.array([[1.0, 0.4, 0.0], [0.2, 0.8, -0.5]])
    return judge_function(
        answer,
        [(_program(rows), 4, 4.0, 5), (_program(more), 3, 25.0, 3), (_program(more), 3, 1.5, 1)],
        _run,
        "Algorithm 1 of MEDN. With the package's solver for Step 1 it is LaplaceMEDN's.",
        [
            (
                lambda p, k, lam, n: _run(p, k, lam, n, step=lambda m, v, lam: v),
                "every program has the variances 1: Step 2 must hand new ones to the next.",
            ),
            (
                lambda p, k, lam, n: _run(p, k, lam, n, step=lambda m, v, lam: np.sqrt(m**2 / lam)),
                "Step 2 needs E[w^2], the variance included: with mean^2 alone small weights die out.",
            ),
            (
                lambda p, k, lam, n: _run(
                    p, k, lam, n, step=lambda m, v, lam: np.sqrt(lam / (m**2 + v))
                ),
                "Step 2 gives E[1/tau] = sqrt(lambda / E[w^2]); the variance is 1 over it.",
            ),
            (
                lambda p, k, lam, n: _run(p, k, lam, n, step=lambda m, v, lam: (m**2 + v) / lam),
                "the root is missing in Step 2.",
            ),
            (
                lambda p, k, lam, n: _run(
                    p, k, lam, n, step=lambda m, v, lam: np.sqrt((m**2 + v**2) / lam)
                ),
                "E[w^2] = mean^2 + variance; the variance is no standard deviation.",
            ),
            (
                lambda p, k, lam, n: _run(
                    p, k, lam, n, step=lambda m, v, lam: (1 + np.sqrt(1 + lam * m**2)) / lam
                ),
                "these parabolas touch the KL-norm and lead to the exact solution; Algorithm 1's are "
                "others.",
            ),
            (
                lambda p, k, lam, n: _run(p, k, lam, n, start=1 / lam),
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
        "some means differ; print the variances of each program and compare with the table.",
    )
