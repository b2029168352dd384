"""Checks of the exercises of variational."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import Choice, Function, Number
from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory import solve_dual
from medn_edu.theory.axi import AXI, axi_problem
from medn_edu.theory.laplace import jensen_bound

check_expected_precision = Number(
    right=2.0,
    mistakes={
        "without_root": 3 / 2.25,
        "mean_not_squared": 3 / 2.41**0.5,
        "variance_squared": 3 / (0.64 + 1.61**2) ** 0.5,
    },
)

# The parabola 2 w^2 - 1 and the price w^4, at w = 2.
check_quartic = Number(
    right=-9.0,
    mistakes={
        "turned_over": 9.0,
        "parabola_alone": 7.0,
        "no_offset": 2.0 * 2**2 - 2**4,
        "value_alone": 2.0**2 - 2**4,
        "at_one": 0.0,
    },
)

check_rising_bound = Choice(right="b")


def rising_run() -> str:
    """Return what Algorithm 1 prints on *axi* if Step 2 leaves the variance out of ``E[w^2]``."""
    problem = axi_problem(LaplacePrior(4.0), LinearSlack(C=1.0), [AXI])
    variance, lines = np.ones(2), []
    for n in range(1, 6):
        mean = solve_dual(replace(problem, prior=GaussianPrior(variance))).w
        bound = jensen_bound(mean, variance, 4.0).sum() + problem.penalty(problem.xi(mean))
        means, variances = (" ".join(f"{x:.3f}" for x in pair) for pair in (mean, variance))
        lines.append(f"{n}: mean {means}, variance {variances}, bound {bound:.3f}")
        variance = np.sqrt(mean**2 / 4.0)
    return "\n".join(lines)


check_best_program = Number(right=4, mistakes={})


def _program(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a quadratic program: meet the margin 1 of every constraint, at the lowest price."""

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
