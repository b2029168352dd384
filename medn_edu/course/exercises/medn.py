"""Checks of the exercises of medn."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number
from medn_edu.theory.axi import AXI, labelling_scores, text

check_out_of_reach = Choice(right="c")


def _judge_pair(answer: Any) -> str | None:
    pair = np.asarray(answer, dtype=float)
    if pair.shape != (2, 2):
        return "expected two weight vectors of two numbers each, such as [[1, 0], [0, 0]]."
    if not (np.abs(pair) < 1e6).all():
        return "choose numbers below a million."
    for name, w in [("the first vector", pair[0]), ("the second vector", pair[1])]:
        if _lead(w) > _NOTHING:
            return f"{name} reads axi right by itself; look for one that reads another word."
        if _lead(w) > -_NOTHING:
            return f"under {name} axi and another labelling tie; find one that reads another word."
    average = pair.mean(axis=0)
    if abs(_lead(average)) <= _NOTHING:
        return "at the average, axi ties with another labelling; move one of the two a little."
    if _lead(average) < 0:
        read = text(AXI.labellings[labelling_scores(AXI, average).argmax()])
        return f"both read another word, but so does their average: it reads {read}."
    return None


_NOTHING = 1e-9


def _lead(w: np.ndarray) -> float:
    """Return by how much axi scores higher than the best wrong labelling."""
    return float((AXI.differences @ w)[AXI.losses > 0].min())


check_wrong_pair = Judged(
    right=[[3, 0], [-1, 3]],
    judge=_judge_pair,
    expected="two weight vectors, such as [[1, 0], [0, 0]]",
    mistakes=[
        [[1, 1], [3, 0]],
        [[3, 0], [1, 1]],
        [[0, 2], [3, 0]],
        [[3, 0], [0, 2]],
        [[3, 0], [1, 0]],
        [[-1, 3], [-1, 4]],
        [[3, 0], [-1, 1]],
        [1, 1],
        [[1e9, 0], [0, 1]],
    ],
)

check_largest_alpha = Number(
    right=2 / 3,
    mistakes={
        "lambda_itself": 4 / 3,
        "second_weight_only": 2.0,
        "times": 6.0,
        "sum": 0.5,
        "length": 2 / np.sqrt(10),
    },
)

check_faulty_printout = Choice(right="b")


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
