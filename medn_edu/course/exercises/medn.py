"""Checks of the exercises of medn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Function, Judged, Number

_TIGHT = {"aax", "xax"}


def _judge_labellings(answer: Any) -> str | None:
    given = {answer} if isinstance(answer, str) else set(answer)
    if given == _TIGHT:
        return None
    if not given <= {"aai", "aax", "iax", "xax", "axi"}:
        return "name labellings of the table, and write them as there."
    if "axi" in given:
        return "the true labelling has the margin violation 0, which is less than the slack."
    if given == {"aax", "xax", "iax", "aai"}:
        return "all four violate their margins; only the *largest* violation counts."
    if given < _TIGHT:
        return f"{min(given)} is one of them; another violates its margin by as much."
    if "iax" in given:
        return "iax violates its margin by only 3 - 4 * 0.5 = 1; look for the largest violation."
    return "aai violates its margin by only 1 + 0.5 - 2 * 0.3 = 0.9; others by more."


check_tight_labellings = Judged(
    right=sorted(_TIGHT),
    judge=_judge_labellings,
    expected='labellings of the table as words, such as ["aai", "aax"]',
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
    (_MEAN[::-1], "ink and habit are swapped."),
    (_ETA / 2, "that is the tangent at 0, eta times the prior's variance; the curve bends."),
    (2 * _ETA / (2 - _ETA**2), "the denominator has lambda = 4, not its root."),
    (_MEAN / 2, "the factor 2 in the numerator is missing."),
]


def _judge_mean(answer: Any) -> str | None:
    given = np.asarray(answer, dtype=float)
    if given.size == 2 and given.ndim > 1:
        return "expected a plain list of two numbers, without inner brackets."
    if given.shape != (2,):
        return f"expected two numbers, but these are {given.size}: what of ink, and of habit?"
    if np.allclose(given, _MEAN, rtol=5e-3) or np.array_equal(given, _MEAN.round(2)):
        return None
    for wrong, hint in _MISTAKEN_MEANS:
        if np.allclose(given, wrong, rtol=5e-3):
            return hint
    return "compute eta = 0.2 * (1, 1) + 0.1 * (3, 1) first, then the mean at that eta."


check_mean_from_alpha = Judged(
    right=_MEAN,
    judge=_judge_mean,
    expected="two numbers, the means of the weights of ink and habit",
    mistakes=[*(wrong for wrong, _ in _MISTAKEN_MEANS), 0.5, [0.2, 0.1]],
)

_TAKEN = -np.log(1 - 0.25 / 4) - np.log(1 - 0.09 / 4)
check_d1_value = Number(
    right=0.7 - _TAKEN,
    mistakes={
        "sign_of_log_mgf": 0.7 + _TAKEN,
        "standard_normal": 0.7 - 0.17,
        "sign": _TAKEN - 0.7,
        "one_loss_for_all": 0.5 - _TAKEN,
        "one_weight": 0.7 - _TAKEN / 2,
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
    mistakes={
        "sign": lambda alpha, losses, d, mean: -_gap(alpha, losses, d, mean),
        "without_the_truth": _without_the_truth,
        "slack_alone": lambda alpha, losses, d, mean: alpha.sum() * (losses - d @ mean).max(),
        "violations_alone": lambda alpha, losses, d, mean: alpha @ (losses - d @ mean),
        "largest_loss": lambda alpha, losses, d, mean: alpha @ (losses.max() - losses + d @ mean),
        "alpha_as_indicator": lambda alpha, *given: _gap((alpha > 0).astype(float), *given),
    },
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
    mistakes={
        "all_of_C": lambda d, loss, mean, C: C,
        "negative_alpha": lambda d, loss, mean, C: (
            # below 0 only where the domain goes on that far
            _step(d, loss, mean, C, floor=-3 * C if mean is _exponential else 0.0)
        ),
        "zero_becomes_C": lambda d, loss, mean, C: _step(d, loss, mean, C) or C,
        "gaussian": lambda d, loss, mean, C: min(C, loss / (d @ d)),
        "proportional_mean": lambda d, loss, mean, C: min(C, loss / (d @ mean(d))),
        "sum_of_mean": lambda d, loss, mean, C: _step(
            np.ones(2), loss, lambda eta: mean(eta * d), C
        ),
    },
)
