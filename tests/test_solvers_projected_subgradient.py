"""Projected sub-gradient against the programs solved outright, and its steps against plain ones."""

import itertools

import numpy as np
import pytest
from enumerated import KINDS, make_data

from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Ball, L2Ball, MarginLoss, Problem, l1_constant
from medn_edu.results import run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.textbook.projected_subgradient import projected_subgradient
from medn_edu.theory.l1m3n import solve_l1_ball, solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

online_too = pytest.mark.parametrize("online", [False, True], ids=["batch", "online"])


def rows(kind: str, price: float, seed: int = 1) -> EnumeratedProblem:
    return enumerate_problem(make_data(kind, seed), GaussianPrior(), LinearSlack(price))


def ball(kind: str, norm: L1Ball | L2Ball, price: float = 1.0, seed: int = 1) -> Problem:
    return Problem(make_data(kind, seed), MarginLoss(LinearSlack(price)), norm)


def at_work(problem, **options):
    return projected_subgradient(problem, rng=np.random.default_rng(0), **options)


def test_the_constant_comes_near():
    """At the radius of the solution of P1, to the constant of P1 that belongs to it."""
    kind, C = KINDS[0], 0.6
    problem = ball(kind, L1Ball(solve_l1m3n(rows(kind, C)).l1_norm))
    result = run(at_work(problem), problem, tol=0.002, max_iter=3000)
    assert result.converged
    own = l1_constant(1.0, result.eta)
    same = [solve_l1m3n(rows(kind, each)).l1_norm for each in (0.9 * own, C, 1.1 * own)]
    assert same[0] * (1 - 1e-9) <= same[1] <= same[2] * (1 + 1e-9)


def plain(reference, project, online, beta, n_passes):
    """Algorithm 2 over enumerated rows, as printed."""
    w, t, weight = np.zeros(reference.n_weights), 0, reference.sample_weight
    yield w
    rng = np.random.default_rng(0)
    for _ in range(n_passes):
        order = rng.permutation(reference.n_samples) if online else [range(reference.n_samples)]
        for block in order:
            g, block = np.zeros_like(w), np.atleast_1d(block)
            for i in block:
                mine = np.flatnonzero(reference.sample == i)
                worst = mine[np.argmax(reference.losses[mine] - reference.differences[mine] @ w)]
                g -= weight[i] / weight.mean() * reference.differences[worst] / len(block)
            t += 1
            w = project(w - g / (2 * beta * np.sqrt(t)))
        yield w


@online_too
@pytest.mark.parametrize(
    ("norm", "project"),
    [
        (L1Ball(1.5), lambda v: project_l1_ball(v, 1.5)),
        (L2Ball(0.8), lambda v: project_l2_ball(v, 0.8)),
    ],
)
def test_steps_of_the_papers(norm, project, online):
    """Whatever C is: the steps are for the mean."""
    kind, beta = KINDS[1], 0.7
    expected = list(plain(rows(kind, 1.0), project, online, beta, 6))
    problem = ball(kind, norm, price=3.0)
    iterates = at_work(problem, online=online, beta=beta)
    for w in expected[1:] if online else expected:
        iterate = next(iterates)
        np.testing.assert_allclose(iterate.weights, w, atol=1e-12)
        assert iterate.certify(problem).dual <= problem.primal(w)
        if not online:
            assert iterate.objective_estimate == pytest.approx(problem.primal(w))


@online_too
def test_steps_of_the_papers_get_there_too(online):
    kind = KINDS[0]
    optimum = solve_l1_ball(rows(kind, 1.0), 1.0).value
    problem = ball(kind, L1Ball(1.0))
    n_passes = 60 if online else 400
    *_, last = itertools.islice(at_work(problem, online=online, beta=2.0), n_passes)
    assert problem.primal(last.weights) <= 1.02 * optimum
    assert last.certify(problem).dual >= 0.97 * optimum


def test_weights_of_no_use_keep_a_tail():
    """Zeros are exact, but there are fewer of them than at the vertex that solves the program."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 40)
    features = rng.normal(size=(40, 12))
    features[:, :2] += 2.0 * codes[:, None]
    data = label_samples(pack(np.split(features, 20)), codes, np.ones((1, 2, 2), bool))
    enumerated = enumerate_problem(data, GaussianPrior(), LinearSlack(1.0))
    vertex = solve_l1_ball(enumerated, 1.0).weights
    problem = Problem(data, MarginLoss(LinearSlack(1.0)), L1Ball(1.0))
    result = run(at_work(problem), problem, tol=0.01, max_iter=1000)
    assert result.converged
    n_zeros = np.sum(result.weights == 0)
    assert 0 < n_zeros < np.sum(np.abs(vertex) < 1e-9)


@online_too
def test_separable_samples_end_the_run(online):
    data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    problem = Problem(data, MarginLoss(LinearSlack(1.0)), L1Ball(10.0))
    result = run(at_work(problem, online=online), problem, tol=1e-6, max_iter=500)
    assert (result.primal, result.dual, result.converged) == (0, 0, True)


@online_too
def test_squares_beyond_all_bounds(online):
    data = label_samples(pack([1e90 * np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    problem = Problem(data, MarginLoss(LinearSlack(1e80)), L1Ball(1.0))
    with pytest.raises(ValueError, match="rescale the features"):
        run(at_work(problem, online=online), problem, tol=0.01, max_iter=5)
