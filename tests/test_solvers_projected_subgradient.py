"""Projected sub-gradient: the papers' steps against plain ones, and the end of a run."""

import numpy as np
import pytest
from enumerated import KINDS, make_data

from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Ball, L2Ball, MarginLoss, Problem
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.textbook.projected_subgradient import projected_subgradient
from medn_edu.theory.medn import enumerate_problem
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

online_too = pytest.mark.parametrize("online", [False, True], ids=["batch", "online"])


def at_work(problem, **options):
    return projected_subgradient(problem, rng=np.random.default_rng(0), **options)


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
    problem = Problem(make_data(KINDS[1], seed=1), MarginLoss(LinearSlack(3.0)), norm)
    listed = enumerate_problem(problem.data, GaussianPrior(), LinearSlack(1.0))
    expected = list(plain(listed, project, online, 0.7, 6))
    iterates = at_work(problem, online=online, beta=0.7)
    for w in expected[1:] if online else expected:
        iterate = next(iterates)
        np.testing.assert_allclose(iterate.weights, w, atol=1e-12)
        assert iterate.certify(problem).dual <= problem.primal(w)
        if not online:
            assert iterate.objective_estimate == pytest.approx(problem.primal(w))


@online_too
def test_separable_samples_end_the_run(online):
    problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L1Ball(10.0))
    result = run(at_work(problem, online=online), problem, tol=1e-6, max_iter=500)
    assert (result.primal, result.dual, result.converged) == (0, 0, True)


@online_too
def test_squares_beyond_all_bounds(online):
    loss = MarginLoss(LinearSlack(1e80))
    problem = Problem.of([1e90 * np.eye(2)], [[0, 1]], loss, L1Ball(1.0))
    with pytest.raises(ValueError, match="rescale the features"):
        run(at_work(problem, online=online), problem, tol=0.01, max_iter=5)
