"""Answers to the exercises of variational."""

from __future__ import annotations

from typing import Any

import numpy as np

from medn_edu.course import exercises
from medn_edu.theory import gaussian_kl, jensen_bound


def bound(mean: Any, variance: Any, lam: float, *, root: Any = None, sign: float = -1) -> float:
    """Return the bound, from its formula, with a mistake or without."""
    root = np.sqrt(lam * (mean**2 + variance)) if root is None else root
    entropy = np.log(2 * np.pi * np.e * variance) / 2
    return sum(root + sign * entropy - np.log(lam) / 2 + np.log(2))


def rest(eta: float, lam: float, factor: float = 1.0) -> tuple[float, float]:
    variance = 1 / (lam - eta**2)
    return factor * eta * variance, variance


def algorithm_1(
    program: Any,
    n_weights: int,
    lam: float,
    n_programs: int,
    step: Any = lambda m, v, k: 1 / np.sqrt(k / (m**2 + v)),
    start: Any = lambda k: 1.0,
) -> list[Any]:
    means, variance = [], start(lam) * np.ones(n_weights)
    while len(means) < n_programs:
        means.append(program(variance))
        variance = step(means[-1], variance, lam)
    return means


ANSWERS = {
    exercises.check_expected_precision: [
        *(2, 3 / 0.8, 1 / 2, 9 / 2.25, 3 / 2.25, 3 / np.sqrt(2.41), 3 / np.hypot(0.8, 1.61), 7),
    ],
    exercises.check_touching_mean: [
        *(np.sqrt(7) / 2, 1.5, 1.75, np.sqrt(1.25), np.sqrt(2.75), 2, 2 / 3, 7),
    ],
    exercises.check_resting_point: [
        rest,
        lambda eta, lam: np.multiply(2, rest(eta, lam)),
        lambda eta, lam: rest(eta, lam, 2),
        lambda eta, lam: (rest(eta, lam, 2)[0], 2 * (lam + eta**2) / (lam - eta**2) ** 2),
        lambda eta, lam: (eta / lam, 1 / lam),
        lambda eta, lam: (1 / (lam - eta**2), eta / (lam - eta**2)),
        lambda eta, lam: eta / (lam - eta**2),
        lambda eta, lam: (rest(eta, lam)[0], np.sqrt(rest(eta, lam)[1])),
        lambda eta, lam: (eta / (lam + eta**2), 1 / (lam + eta**2)),
        lambda eta, lam: (eta, 0.0),
    ],
    exercises.check_bound_value: [
        bound,
        jensen_bound,
        lambda m, v, k: gaussian_kl(m, v, k).sum(),
        lambda m, v, k: bound(m, v, k, root=np.sqrt(k) * np.abs(m)),
        lambda m, v, k: bound(m, v, k, sign=1),
        lambda m, v, k: bound(m, v / np.e, k, root=np.sqrt(k * (m**2 + v))),
        lambda m, v, k: bound(m, v, k) + np.log(k / 4) / 2 * (len(m) - 1),
        lambda m, v, k: bound(m, v, k) + len(m) * np.log(np.sqrt(k) / 2),
        lambda m, v, k: bound(m, v, k, root=np.hypot(m, np.sqrt(v))),
        lambda m, v, k: bound(m, v, k, root=np.sqrt(k) * np.hypot(m, v)),
        lambda m, v, k: 0.0,
    ],
    exercises.check_algorithm_1: [
        algorithm_1,
        lambda p, k, lam, n: algorithm_1(p, k, lam, n, lambda m, v, lam: v),
        lambda p, k, lam, n: algorithm_1(p, k, lam, n, lambda m, v, lam: abs(m) / lam**0.5),
        lambda p, k, lam, n: algorithm_1(p, k, lam, n, lambda m, v, lam: np.sqrt(lam / (m**2 + v))),
        lambda p, k, lam, n: algorithm_1(p, k, lam, n, lambda m, v, lam: (m**2 + v) / lam),
        lambda p, k, lam, n: algorithm_1(p, k, lam, n, lambda m, v, lam: np.hypot(m, v) / lam**0.5),
        lambda p, k, lam, n: algorithm_1(
            p, k, lam, n, lambda m, v, lam: (1 + np.sqrt(1 + lam * m**2)) / lam
        ),
        lambda p, k, lam, n: algorithm_1(p, k, lam, n, start=lambda lam: 1 / lam),
        lambda p, k, lam, n: algorithm_1(p, k, lam, n + 1)[1:],
        lambda p, k, lam, n: algorithm_1(p, k, lam, n)[-1],
        lambda p, k, lam, n: np.column_stack(algorithm_1(p, k, lam, n)),
        lambda p, k, lam, n: np.zeros((n, k)),
    ],
}
