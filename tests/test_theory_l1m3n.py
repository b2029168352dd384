"""Programs of L1-M3N solved outright: what a linear program's solution must fulfil, on both sides."""

import numpy as np
import pytest
from enumerated import KINDS, make_data
from scipy.optimize import minimize_scalar

from medn_edu.priors import GaussianPrior
from medn_edu.slacks import LinearSlack, QuadraticSlack
from medn_edu.theory.l1m3n import solve_l1_ball, solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem


def rows(kind: str = KINDS[1], price: float = 1.3, seed: int = 0) -> EnumeratedProblem:
    return enumerate_problem(make_data(kind, seed), GaussianPrior(), LinearSlack(price))


PROGRAMS = {
    "P1": (solve_l1m3n, lambda w: np.abs(w).sum() / 2, lambda eta: 0.0),
    "P1'": (lambda p: solve_l1_ball(p, 1.5), lambda w: 0.0, lambda eta: 1.5 * abs(eta).max()),
    "P4": (
        lambda p: solve_squared_l1(p, 0.7),
        lambda w: 0.7 * np.abs(w).sum() ** 2,
        lambda eta: abs(eta).max() ** 2 / (4 * 0.7),
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", [0.05, 0.3, 1.3, 20.0])
def test_both_sides_of_a_program(program, kind, price):
    problem = rows(kind, price)
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


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_of_the_programs(kind):
    """P1 has slopes of a half, the square those of a parabola, the ball whatever it needs."""
    problem = rows(kind)
    one = solve_l1m3n(problem)
    assert one.l1_norm > 0
    assert one.largest == pytest.approx(0.5, rel=1e-9)
    square = solve_squared_l1(problem, 0.7)
    assert square.largest == pytest.approx(2 * 0.7 * square.l1_norm, rel=1e-8)
    radii = np.linspace(0.1, 1.2, 6) * one.l1_norm
    balls = [solve_l1_ball(problem, r) for r in radii]
    values = np.array([ball.value for ball in balls])
    for here, ball in zip(radii, balls, strict=True):  # tangents from below
        assert np.all(ball.value - ball.largest * (radii - here) <= values + 1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [0.01, 0.3, 5.0])
def test_squared_norm_against_a_search_for_the_radius(seed, scale):
    problem = rows(KINDS[0], 1.0, seed)
    solution = solve_squared_l1(problem, scale)
    found = minimize_scalar(
        lambda r: scale * r**2 + solve_l1_ball(problem, r).value,
        bounds=(1e-9, 2 * solution.l1_norm + 0.1),
        method="bounded",
        options={"maxiter": 25},
    )
    assert solution.value <= found.fun + 1e-9
    assert solution.value == pytest.approx(found.fun, rel=1e-3)


def test_prices_too_low_for_any_weight():
    """Where no feature is worth its price nothing is bought, and ``alpha`` is on the worst only."""
    problem = rows(price=1e-3)
    solution = solve_l1m3n(problem)
    assert not solution.weights.any()
    assert solution.value == pytest.approx(problem.penalty(problem.xi(np.zeros(problem.n_weights))))
    assert solution.largest < 0.5


def test_bad_input():
    quadratic = enumerate_problem(make_data(KINDS[0]), GaussianPrior(), QuadraticSlack(1.0))
    with pytest.raises(TypeError, match="expected a LinearSlack"):
        solve_l1m3n(quadratic)
    with pytest.raises(ValueError, match="radius"):
        solve_l1_ball(rows(), 0.0)
    with pytest.raises(ValueError, match="scale"):
        solve_squared_l1(rows(), -1.0)
