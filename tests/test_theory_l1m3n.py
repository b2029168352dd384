"""Programs of L1-M3N solved outright: what a linear program's solution must fulfil, on both sides."""

import math

import numpy as np
import pytest
from enumerated import KINDS, make_data

from medn_edu.priors import GaussianPrior
from medn_edu.slacks import LinearSlack, QuadraticSlack
from medn_edu.theory.l1m3n import solve_l1_ball, solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem


def rows(kind: str = KINDS[1], price: float = 1.3, seed: int = 0) -> EnumeratedProblem:
    return enumerate_problem(make_data(kind, seed), GaussianPrior(), LinearSlack(price))


PROGRAMS = {
    "P1": (
        solve_l1m3n,
        lambda w: np.abs(w).sum() / 2,
        lambda eta: 0.0 if abs(eta).max() <= 0.5 + 1e-9 else math.inf,
    ),
    "P1'": (lambda p: solve_l1_ball(p, 1.5), lambda w: 0.0, lambda eta: 1.5 * abs(eta).max()),
    "P4": (
        lambda p: solve_squared_l1(p, 0.7),
        lambda w: 0.7 * np.abs(w).sum() ** 2,
        lambda eta: abs(eta).max() ** 2 / (4 * 0.7),
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", [1e-3, 0.05, 0.3, 1.3, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_both_sides_of_a_program(program, kind, price, seed):
    problem = rows(kind, price, seed)
    solve, regulariser, conjugate = PROGRAMS[program]
    solution = solve(problem)
    # the primal
    short = problem.losses - problem.differences @ solution.weights - solution.xi[problem.sample]
    assert short.max() <= 1e-9
    assert solution.xi.min() >= -1e-12
    np.testing.assert_allclose(solution.xi, problem.xi(solution.weights), atol=1e-8)
    value = regulariser(solution.weights) + problem.penalty(solution.xi)
    assert value == pytest.approx(solution.value, rel=1e-9, abs=1e-9)
    # the dual
    assert solution.alpha.min() >= 0
    np.testing.assert_allclose(problem.totals(solution.alpha), price * problem.sample_weight)
    np.testing.assert_allclose(solution.eta, problem.eta(solution.alpha), atol=1e-9)
    dual = solution.alpha @ problem.losses - conjugate(solution.eta)
    assert dual == pytest.approx(solution.value, rel=1e-8, abs=1e-9)
    # complementary slackness: alpha on tight margins only, weights on the largest eta only
    np.testing.assert_allclose(solution.alpha * short, 0.0, atol=1e-8)
    room = solution.largest - np.sign(solution.weights) * solution.eta
    np.testing.assert_allclose(solution.weights * room, 0.0, atol=1e-8)


def test_bad_input():
    quadratic = enumerate_problem(make_data(KINDS[0]), GaussianPrior(), QuadraticSlack(1.0))
    with pytest.raises(TypeError, match="expected a LinearSlack"):
        solve_l1m3n(quadratic)
    with pytest.raises(ValueError, match="radius"):
        solve_l1_ball(rows(), 0.0)
    with pytest.raises(ValueError, match="scale"):
        solve_squared_l1(rows(), -1.0)
