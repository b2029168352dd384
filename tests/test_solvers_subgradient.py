"""Sub-gradient descent against enumeration, and the dual point that it carries along."""

from itertools import islice

import numpy as np
import pytest
from enumerated import KINDS, make_data, uneven_prior

from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import m3n_iterates, online_subgradient, subgradient
from medn_edu.theory.medn import enumerate_problem
from medn_edu.theory.textbook import subgradient_step


def make_problem(kind: str, prior=None, C: float = 1.3, **options) -> Problem:
    data = make_data(kind, **options)
    return Problem(data, MarginLoss(LinearSlack(C)), prior or GaussianPrior())


def at_work(method, problem: Problem, **options):
    return method(problem, rng=np.random.default_rng(0), **options)


@pytest.mark.filterwarnings("error")
def test_dual_variables_that_vanish_are_those_of_the_true_labellings():
    # C = 200 beta, as in the papers: all 120 steps are capped, and leave 1e-360 of the first sample.
    problem = make_problem(KINDS[1], C=1.0, n_samples=120)
    for iterate in islice(at_work(online_subgradient, problem, beta=0.005), 3):
        alpha = iterate.dual()
        assert alpha.is_feasible(problem.data)
        np.testing.assert_allclose(alpha.totals(problem.data), problem.C, rtol=1e-9)
        assert np.isfinite(iterate.gap_estimate)
        primal, dual = problem.primal(iterate.weights), problem.dual(alpha)
        assert iterate.gap_estimate == pytest.approx(primal - dual)
        assert primal >= dual
    order = np.random.default_rng(0).permutation(120)
    marginals = next(at_work(online_subgradient, problem, beta=0.005)).dual()
    for place, true in ((0, True), (-1, False)):
        nodes = np.flatnonzero(problem.data.samples.sample_of_node == order[place])
        on_true = marginals.node[nodes, problem.data.labels[nodes]]
        assert (on_true == problem.C[order[place]]).all() == true


def test_batch_weights_belong_to_the_dual_point_throughout():
    """The docstring's line: each step changes the gap of the averages in one way only."""
    problem = make_problem(KINDS[1], uneven_prior(make_data(KINDS[1])))
    variances = problem.regulariser.prior_variance
    passes = at_work(subgradient, problem)
    weights, average, value, gap = np.zeros(len(variances)), np.zeros(len(variances)), 0.0, 0.0
    for t, iterate in enumerate(islice(passes, 30), start=1):
        step = 2.0 / (t + 1)
        value = (1 - step) * value + step * problem.primal(weights)
        average = (1 - step) * average + step * weights
        alpha = iterate.dual()
        following = variances * alpha.eta(problem.data)
        target = weights + (following - weights) / step
        distance = np.sum((target - weights) ** 2 / variances)
        gap = (1 - step) * gap + step**2 * distance / 2
        assert value - problem.dual(alpha) == pytest.approx(gap, rel=1e-9)
        assert problem.primal(average) <= value * (1 + 1e-12)
        weights = following
    assert problem.primal(iterate.weights) <= min(value, problem.primal(np.zeros_like(weights)))


@pytest.mark.parametrize("beta", [0.02, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_online_passes_take_the_papers_steps(kind, beta):
    problem = make_problem(kind, uneven_prior(make_data(kind)))
    listed = enumerate_problem(problem.data, problem.regulariser, problem.loss.slack)
    alpha, average, t = np.zeros(len(listed.losses)), np.zeros(listed.n_weights), 0
    rng = np.random.default_rng(0)
    for iterate in islice(at_work(online_subgradient, problem, beta=beta), 4):
        for i in rng.permutation(problem.n_samples):
            t += 1
            step = min(1 / (2 * beta * np.sqrt(t)), 0.999)
            alpha, average = subgradient_step(listed, alpha, average, i, step)
        np.testing.assert_allclose(iterate.weights, average, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", [subgradient, online_subgradient])
def test_gap_falls_like_one_over_time(method):
    passes = at_work(method, make_problem("chain"))
    gaps = [iterate.gap_estimate for iterate in islice(passes, 300)]
    assert gaps[299] < 0.3 * gaps[49]


def test_what_nobody_watches_ends_at_the_same_weights_and_certificate():
    """With a tol that it cannot reach, online descent computes the gap at its end alone."""
    problem, how = make_problem("chain"), {"solver": "online_subgradient", "beta": 0.02}
    watched, alone = (
        run(at_work(m3n_iterates, problem, **how, tol=tol), problem, tol=tol, max_iter=7)
        for tol in (1e-10, 1e-11)
    )
    assert [np.isinf(r.trace[0].gap_estimate) for r in (watched, alone)] == [False, True]
    assert np.array_equal(alone.weights, watched.weights)
    assert (alone.primal, alone.dual) == (watched.primal, watched.dual)
    assert alone.n_oracle_calls == watched.n_oracle_calls - 7 * problem.n_samples
    assert not alone.converged
