"""Constants of L1-M3N, its ball and the adaptive M3N that belong together."""

import numpy as np
import pytest
from enumerated import KINDS, make_data

from medn_edu.priors import GaussianPrior
from medn_edu.problems import em_constant, l1_constant, l1_constant_of_em
from medn_edu.slacks import LinearSlack
from medn_edu.theory.l1m3n import solve_l1_ball, solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem


def rows(kind: str, price: float, seed: int = 0) -> EnumeratedProblem:
    return enumerate_problem(make_data(kind, seed), GaussianPrior(), LinearSlack(price))


def l1_value(problem: EnumeratedProblem, weights: np.ndarray) -> float:
    return np.abs(weights).sum() / 2 + problem.penalty(problem.xi(weights))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", [0.3, 1.3, 20.0])
def test_ball_and_square_of_an_l1_m3n(kind, price):
    """P1' at ``|w*|_1`` and P4 at lam = C K / (4 C' |w*|_1), at any C, solve P1."""
    problem = rows(kind, price)
    one = solve_l1m3n(problem)
    assert one.l1_norm > 0
    hinge = problem.penalty(one.xi) / price
    ball = solve_l1_ball(rows(kind, 1.0), one.l1_norm)
    assert ball.value == pytest.approx(hinge, rel=1e-8)
    assert l1_value(problem, ball.weights) == pytest.approx(one.value, rel=1e-8)
    for C in (0.5, 4.0):
        lam = em_constant(price, C, problem.n_weights, one.l1_norm)
        square = solve_squared_l1(rows(kind, C), lam / problem.n_weights)
        assert l1_value(problem, square.weights) == pytest.approx(one.value, rel=1e-7)
        assert square.l1_norm == pytest.approx(one.l1_norm, rel=1e-5)
        assert problem.penalty(square.xi) / price == pytest.approx(hinge, rel=1e-5)
        back = l1_constant_of_em(C, lam, problem.n_weights, one.l1_norm)
        assert back == pytest.approx(price, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_l1_m3n_of_a_ball_and_of_a_square(kind, seed):
    """P1 is solved by P1' at C' = 1 / (2 max |eta_k|) and by P4 at C' = C K / (4 lam |w*|_1)."""
    widest = solve_l1m3n(rows(kind, 20.0, seed)).l1_norm
    for radius in (0.2 * widest, 0.7 * widest):
        ball = solve_l1_ball(rows(kind, 1.0, seed), radius)
        problem = rows(kind, l1_constant(1.0, ball.eta), seed)
        value = solve_l1m3n(problem).value
        assert l1_value(problem, ball.weights) == pytest.approx(value, rel=1e-8)
    for scale in (0.02, 0.7):
        square = solve_squared_l1(rows(kind, 1.3, seed), scale)
        n_weights = len(square.weights)
        constant = l1_constant_of_em(1.3, scale * n_weights, n_weights, square.l1_norm)
        assert constant == pytest.approx(l1_constant(1.3, square.eta), rel=1e-7)
        problem = rows(kind, constant, seed)
        value = solve_l1m3n(problem).value
        assert l1_value(problem, square.weights) == pytest.approx(value, rel=1e-8)


def test_constants_must_be_positive():
    with pytest.raises(ValueError, match="eta is zero"):
        l1_constant(1.0, np.zeros(3))
    with pytest.raises(ValueError, match="lam"):
        l1_constant_of_em(1.0, 0.0, 3, 1.0)
    with pytest.raises(ValueError, match="l1_norm"):
        em_constant(1.0, 1.0, 3, 0.0)
    with pytest.raises(ValueError, match="l1_C"):
        em_constant(-1.0, 1.0, 3, 1.0)
