"""Checks of the exercises of variational."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import Function, Number
from medn_edu.theory.laplace import gaussian_kl, jensen_bound

check_expected_precision = Number(
    right=2.0,
    mistakes={
        "without_root": 3 / 2.25,
        "mean_not_squared": 3 / 2.41**0.5,
        "variance_squared": 3 / (0.64 + 1.61**2) ** 0.5,
    },
)

check_touching_mean = Number(
    right=1.75**0.5,
    mistakes={"true_cost": 1.25**0.5, "sign": 2.75**0.5, "variance_not_squared": 4.0**0.5 / 3},
)


def _rest(eta: float, lam: float) -> tuple[float, float]:
    return eta / (lam - eta**2), 1 / (lam - eta**2)


check_resting_point = Function(
    cases=[(1.0, 4.0), (-1.5, 4.0), (0.3, 6.0), (2.9, 9.0), (0.0, 2.0)],
    right=_rest,
    mistakes={
        "exact_solution": lambda eta, lam: (2 * eta / (lam - eta**2), 2 / (lam - eta**2)),
        "exact_mean": lambda eta, lam: (2 * eta / (lam - eta**2), 1 / (lam - eta**2)),
        "exact_posterior": lambda eta, lam: (
            2 * eta / (lam - eta**2),
            2 * (lam + eta**2) / (lam - eta**2) ** 2,
        ),
        "at_zero_only": lambda eta, lam: (eta / lam, 1 / lam),
        "swapped": lambda eta, lam: _rest(eta, lam)[::-1],
        "mean_alone": lambda eta, lam: _rest(eta, lam)[0],
        "deviation": lambda eta, lam: (_rest(eta, lam)[0], np.sqrt(_rest(eta, lam)[1])),
        "sign": lambda eta, lam: (eta / (lam + eta**2), 1 / (lam + eta**2)),
    },
)


def _bound(mean: np.ndarray, variance: np.ndarray, lam: float) -> float:
    return float(jensen_bound(mean, variance, lam).sum())


def _formula(
    mean: np.ndarray, variance: np.ndarray, lam: float, root: Any, sign: float = -1
) -> float:
    entropy = np.log(2 * np.pi * np.e * variance) / 2
    return float(np.sum(root + sign * entropy - np.log(np.sqrt(lam) / 2)))


check_bound_value = Function(
    cases=[
        (np.array([1.0, 0.0, -0.3]), np.array([0.5, 0.25, 2.0]), 4.0),
        (np.array([0.0, 2.0]), np.array([0.1, 0.7]), 9.0),
        (np.array([-1.5]), np.array([3.0]), 1.7),
    ],
    right=_bound,
    mistakes={
        "jensen_bound": jensen_bound,
        "divergence": lambda m, v, lam: gaussian_kl(m, v, lam).sum(),
        "without_variance": lambda m, v, lam: _formula(m, v, lam, np.sqrt(lam) * np.abs(m)),
        "sign_of_entropy": lambda m, v, lam: _formula(m, v, lam, np.sqrt(lam * (m**2 + v)), sign=1),
        "without_e": lambda m, v, lam: _bound(m, v, lam) + len(m) / 2,
        "constant_once": lambda m, v, lam: (
            _bound(m, v, lam) + (len(m) - 1) * np.log(np.sqrt(lam) / 2)
        ),
        "without_constant": lambda m, v, lam: _bound(m, v, lam) + len(m) * np.log(np.sqrt(lam) / 2),
        "without_rate": lambda m, v, lam: _formula(m, v, lam, np.sqrt(m**2 + v)),
        "variance_squared": lambda m, v, lam: _formula(m, v, lam, np.sqrt(lam * (m**2 + v**2))),
    },
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
    cases=[
        (_program(_ROWS), 4, 4.0, 5),
        (_program(_MORE), 3, 25.0, 3),
        (_program(_MORE), 3, 1.5, 1),
    ],
    right=_run,
    mistakes={
        "variances_kept": _algorithm(lambda m, v, lam: v),
        "without_variance": _algorithm(lambda m, v, lam: np.sqrt(m**2 / lam)),
        "inverted": _algorithm(lambda m, v, lam: np.sqrt(lam / (m**2 + v))),
        "without_root": _algorithm(lambda m, v, lam: (m**2 + v) / lam),
        "variance_squared": _algorithm(lambda m, v, lam: np.sqrt((m**2 + v**2) / lam)),
        "exact_solution": _algorithm(lambda m, v, lam: (1 + np.sqrt(1 + lam * m**2)) / lam),
        "first_variances": _algorithm(start=lambda lam: 1 / lam),
        "one_too_early": lambda p, k, lam, n: _run(p, k, lam, n + 1)[1:],
        "last_alone": lambda p, k, lam, n: _run(p, k, lam, n)[-1],
        "turned_over": lambda p, k, lam, n: _run(p, k, lam, n).T,
    },
)
