"""Checks of the exercises of medn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Function, Judged, Number

_DIFFERS = "some results differ; try it on aax alone, with alpha = 1, on paper."


def _judge_labellings(answer: Any) -> str | None:
    given = {answer} if isinstance(answer, str) else set(answer)
    if not given or not all(isinstance(name, str) for name in given):
        return 'expected labellings as words, such as ["aai", "aax"].'
    if given == {"aax", "xax"}:
        return None
    if not given <= {"aai", "aax", "iax", "xax", "axi"}:
        return "expected labellings of the table, written as there."
    if "axi" in given:
        return "the true labelling has the margin violation 0, which is less than the slack."
    if given == {"aax", "xax", "iax", "aai"}:
        return "all four violate their margins; only the *largest* violation counts."
    if given < {"aax", "xax"}:
        return f"{min(given)} is one of them; another violates its margin by as much."
    if "iax" in given:
        return "iax violates its margin by 3 - 4 * 0.5 = 1 only; look for the largest violation."
    return "aai violates its margin by 1 + 0.5 - 2 * 0.3 = 0.9 only; others by more."


check_tight_labellings = Judged(
    "the labellings of *axi* that may have positive dual variables at the mean (0.5, 0.3)",
    right=["aax", "xax"],
    praise="both violate by 1.2, the slack; all others by less, so their alpha must be 0.",
    judge=_judge_labellings,
    mistakes=[
        "aax",
        ["aax", "xax", "axi"],
        ["aai", "aax", "iax", "xax"],
        ["aax", "xax", "iax"],
        ["aai"],
        ["aaa"],
    ],
)

_ETA = np.array([0.5, 0.3])
_MEAN = 2 * _ETA / (4 - _ETA**2)
_MISTAKEN_MEANS = [
    (_ETA, "that is eta, the Gaussian's mean; send it through the slope of the Laplace prior."),
    (_MEAN[::-1], "ink and habit have changed places."),
    (_ETA / 2, "that is the tangent at 0, eta times the prior's variance; the curve bends."),
    (2 * _ETA / (2 - _ETA**2), "the denominator has lambda = 4, not its root."),
    (_MEAN / 2, "the factor 2 in the numerator is missing."),
]


def _judge_mean(answer: Any) -> str | None:
    given = np.asarray(answer, dtype=float)
    if given.shape != (2,):
        return "expected two numbers, the means of the weights of ink and habit."
    if np.allclose(given, _MEAN, rtol=5e-3) or np.array_equal(given, _MEAN.round(2)):
        return None
    for wrong, hint in _MISTAKEN_MEANS:
        if np.allclose(given, wrong, rtol=5e-3):
            return hint
    return "other numbers; first eta = 0.2 * (1, 1) + 0.1 * (3, 1), then its mean."


check_mean_from_alpha = Judged(
    "the posterior mean for alpha(aax) = 0.2 and alpha(xax) = 0.1, under a Laplace prior",
    right=_MEAN,
    praise="eta = (0.5, 0.3), then weight by weight the shrinkage of Corollary 7.",
    judge=_judge_mean,
    mistakes=[*(wrong for wrong, _ in _MISTAKEN_MEANS), 0.5, [0.2, 0.1]],
)

_TAKEN = -np.log(1 - 0.25 / 4) - np.log(1 - 0.09 / 4)
check_d1_value = Number(
    "the value of D1 for alpha(aax) = 0.2 and alpha(xax) = 0.1, under a Laplace prior",
    right=0.7 - _TAKEN,
    praise="0.2 * 2 + 0.1 * 3, less Lambda of both weights. No distribution costs less in P1.",
    mistakes={
        0.7: "that is alpha times the loss; what the prior takes, Lambda, is missing.",
        0.7 + _TAKEN: "the sign of Lambda: D1 is minus log Z.",
        0.7 - 0.17: "that is the standard normal's; the Laplace prior's Lambda is a logarithm.",
        _TAKEN - 0.7: "that is log Z; D1 has it with a minus.",
        0.5 - _TAKEN: "each alpha counts times its own loss: aax has 2 wrong letters, xax 3.",
        0.7 - _TAKEN / 2: "Lambda is to be added up over both weights.",
    },
)


def _gap(alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray, mean: np.ndarray) -> float:
    violation = losses - differences @ mean
    return float(alpha @ (violation.max() - violation))


def _without_the_truth(
    alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray, mean: np.ndarray
) -> float:
    violation = losses - differences @ mean
    return float(alpha.sum() * violation[losses > 0].max() - alpha @ violation)


_LOSSES = np.array([0.0, 1.0, 2.0, 3.0])
_DIFFERENCES = np.array([[0, 0], [-1, 2], [1, 1], [3, 1.0]])

check_duality_gap = Function(
    "gap(alpha, losses, differences, mean)",
    cases=[
        (np.array(alpha), _LOSSES, _DIFFERENCES, np.array(mean))
        for alpha, mean in [
            ((0.5, 0.0, 0.5, 0.0), (0.5, 0.5)),
            ((0.0, 0.2, 0.3, 0.5), (0.2, 0.9)),
            ((0.0, 0.0, 0.0, 2.0), (0.6, 0.2)),
            ((0.4, 0.3, 0.2, 0.1), (1.5, 0.1)),
            ((0.5, 0.5, 0.0, 0.0), (2.0, 2.0)),  # all margins kept
        ]
    ],
    right=_gap,
    praise="alpha times what is missing to the largest violation: zero exactly if every labelling "
    "with a positive alpha has the largest.",
    mistakes=[
        (
            lambda alpha, losses, d, mean: -_gap(alpha, losses, d, mean),
            "the sign: a gap is never negative; take the slack minus each margin violation.",
        ),
        (
            _without_the_truth,
            "once all margins are kept the slack is 0, not negative: the true labelling counts.",
        ),
        (
            lambda alpha, losses, d, mean: alpha.sum() * (losses - d @ mean).max(),
            "that is C times the slack; the violations times alpha are missing.",
        ),
        (
            lambda alpha, losses, d, mean: alpha @ (losses - d @ mean),
            "that is alpha times each violation; compare it with C times the slack.",
        ),
        (
            lambda alpha, losses, d, mean: alpha @ (losses.max() - losses + d @ mean),
            "the slack is the largest *violation*, not the largest loss.",
        ),
        (
            lambda alpha, *given: _gap((alpha > 0).astype(float), *given),
            "each labelling counts with its alpha, not only whether that is positive.",
        ),
    ],
    otherwise=_DIFFERS,
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
    return bisect(lambda a: violation(a) > 0, floor, C)


def _exponential(eta: np.ndarray) -> np.ndarray:
    return 1 / (2 - eta)


def _laplace(eta: np.ndarray) -> np.ndarray:
    return 2 * eta / (4 - eta**2)


check_alpha_step = Function(
    "best_alpha(difference, loss, mean, C) for one labelling and any prior",
    cases=[
        (np.array([1.0, 1.0]), 2.0, _laplace, 1.0),
        (np.array([1.0, 1.0]), 2.0, _laplace, 1.9),
        (np.array([1.0, 1.0]), 2.0, lambda eta: eta, 3.0),
        (np.array([-1.0, 2.0]), 1.0, np.tanh, 4.0),
        (np.array([3.0, 1.0]), 3.0, np.tanh, 2.0),
        (np.array([3.0, 1.0]), 3.0, lambda eta: 1 / (2 - eta) - 0.5, 0.1),
        (np.array([1.0, 1.0]), 0.5, _exponential, 1.0),
    ],
    right=_step,
    praise="a step of coordinate ascent on D1, for every prior: the violation falls as alpha grows, "
    "and bisection finds where it ends, or C.",
    mistakes=[
        (
            lambda d, loss, mean, C: C,
            "right while C is small; a large C is not used up: stop where the violation is 0.",
        ),
        (
            lambda d, loss, mean, C: (
                # below 0 only where the domain goes on that far
                _step(d, loss, mean, C, floor=-3 * C if mean is _exponential else 0.0)
            ),
            "alpha is never negative: where the prior's mean has the margin already, it is 0.",
        ),
        (
            lambda d, loss, mean, C: _step(d, loss, mean, C) or C,
            "where the prior's mean has the margin already, alpha must be 0.",
        ),
        (
            lambda d, loss, mean, C: min(C, loss / (d @ d)),
            "that is the Gaussian's answer, where the mean is eta; use `mean`.",
        ),
        (
            lambda d, loss, mean, C: min(C, loss / (d @ mean(d))),
            "the mean does not grow in proportion to alpha; look for the zero by halving.",
        ),
        (
            lambda d, loss, mean, C: _step(np.ones(2), loss, lambda eta: mean(eta * d), C),
            "the margin is difference @ mean, not the sum of the mean.",
        ),
    ],
    otherwise="some results differ; under the standard normal aax wants alpha = 1.",
)
