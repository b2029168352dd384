"""Answers to the exercises of medn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from medn_edu.course import exercises

Array = np.ndarray


def gap(alpha: Array, losses: Array, differences: Array, mean: Array) -> float:
    violation = losses - differences @ mean
    return float(alpha.sum() * violation.max() - alpha @ violation)


def without_the_truth(alpha: Array, losses: Array, differences: Array, mean: Array) -> float:
    violation = losses - differences @ mean
    wrong = losses > 0
    return float(alpha.sum() * violation[wrong].max() - alpha @ violation)


def best_alpha(difference: Array, loss: float, mean: Callable[..., Any], C: float) -> float:
    low, high = 0.0, C
    for _ in range(60):
        middle = (low + high) / 2
        if loss > difference @ mean(middle * difference):
            low = middle
        else:
            high = middle
    return high


def below_zero(difference: Array, loss: float, mean: Callable[..., Any], C: float) -> float:
    found = best_alpha(difference, loss, mean, C)
    if found > 1e-9:
        return found
    return brentq(lambda a: loss - difference @ mean(a * difference), -9, C)


def all_or_inside(difference: Array, loss: float, mean: Callable[..., Any], C: float) -> float:
    ends = [loss - difference @ mean(a * difference) for a in (0.0, C)]
    if ends[0] * ends[1] > 0:  # no change of sign
        return C
    return best_alpha(difference, loss, mean, C)


def proportional(difference: Array, loss: float, mean: Callable[..., Any], C: float) -> float:
    return min(C, loss / (difference @ mean(difference)))


def unweighted(difference: Array, loss: float, mean: Callable[..., Any], C: float) -> float:
    candidates = np.linspace(0, C, 200_001)
    short = loss > mean(candidates[:, None] * difference).sum(axis=1)
    return C if short.all() else float(candidates[short.sum()])


_laplace = [2 * 0.5 / (4 - 0.25), 2 * 0.3 / (4 - 0.09)]

ANSWERS: dict[Any, list[Any]] = {
    exercises.check_tight_labellings: [
        ["aax", "xax"],
        "aax",
        ["aax", "xax", "axi"],
        ["aai", "aax", "iax", "xax"],
        ["aax", "xax", "iax"],
        ["aai"],
        ["aaa"],
    ],
    exercises.check_mean_from_alpha: [
        _laplace,
        [0.5, 0.3],
        [0.25, 0.15],
        _laplace[::-1],
        [_laplace[0] / 2, _laplace[1] / 2],
        [1 / 1.75, 0.6 / 1.91],
        0.5,
    ],
    exercises.check_d1_value: [
        0.7 + np.log(1 - 0.25 / 4) + np.log(1 - 0.09 / 4),
        0.7,
        0.7 - np.log(1 - 0.25 / 4) - np.log(1 - 0.09 / 4),
        0.53,
        -0.7 - np.log(1 - 0.25 / 4) - np.log(1 - 0.09 / 4),
        0.5 + np.log(1 - 0.25 / 4) + np.log(1 - 0.09 / 4),
    ],
    exercises.check_duality_gap: [
        gap,
        lambda *given: -gap(*given),
        lambda alpha, losses, differences, mean: alpha.sum() * max(losses - differences @ mean),
        lambda alpha, losses, differences, mean: alpha @ losses - alpha @ differences @ mean,
        lambda alpha, losses, differences, mean: (
            alpha.sum() * losses.max() - alpha @ (losses - differences @ mean)
        ),
        without_the_truth,
        lambda alpha, *given: gap((alpha > 0).astype(float), *given),
    ],
    exercises.check_alpha_step: [
        best_alpha,
        lambda difference, loss, mean, C: C,
        lambda difference, loss, mean, C: min(loss / (difference @ difference), C),
        proportional,
        unweighted,
        below_zero,
        all_or_inside,
    ],
}
