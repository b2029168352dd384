"""Sub-gradient descent against enumeration, and the dual point that it carries along."""

from itertools import islice

import numpy as np
import pytest
from enumerated import KINDS, SLACKS, make_data, solved, uneven_prior

from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import online_subgradient, subgradient

METHODS = [subgradient, online_subgradient]
SLACK = SLACKS["linear"]


def make_problem(kind: str, prior=None, seed: int = 0) -> Problem:
    return Problem(make_data(kind, seed), MarginLoss(SLACK), prior or GaussianPrior())


def iterates(method, problem, n, seed=0, **options):
    return list(islice(method(problem, rng=np.random.default_rng(seed), **options), n))


@pytest.mark.filterwarnings("error")
def test_dual_variables_that_vanish_are_those_of_the_true_labellings():
    # C = 200 beta, as in the papers: all 120 steps are capped, and leave 1e-360 of the first sample.
    problem = Problem(make_data(KINDS[1], 0, 120), MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    passes = online_subgradient(problem, rng=np.random.default_rng(0), beta=0.005)
    for iterate in islice(passes, 3):
        alpha = iterate.dual()
        assert alpha.is_feasible(problem.data)
        np.testing.assert_allclose(alpha.totals(problem.data), problem.C, rtol=1e-9)
        assert np.isfinite(iterate.gap_estimate)
        primal, dual = problem.primal(iterate.weights), problem.dual(alpha)
        assert iterate.gap_estimate == pytest.approx(primal - dual)
        assert primal >= dual
    order = np.random.default_rng(0).permutation(120)
    marginals = next(online_subgradient(problem, rng=np.random.default_rng(0), beta=0.005)).dual()
    for place, true in ((0, True), (-1, False)):
        nodes = np.flatnonzero(problem.data.samples.sample_of_node == order[place])
        on_true = marginals.node[nodes, problem.data.labels[nodes]]
        assert (on_true == problem.C[order[place]]).all() == true


def test_batch_weights_belong_to_the_dual_point_throughout():
    """The docstring's line: each step changes the gap of the averages in one way only."""
    problem = make_problem(KINDS[1], uneven_prior(make_data(KINDS[1])))
    variances = problem.regulariser.prior_variance
    passes = subgradient(problem, rng=np.random.default_rng(0))
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
def test_online_pass_is_that_of_its_definition(kind, beta):
    prior = uneven_prior(make_data(kind))
    problem = make_problem(kind, prior)
    enumerated, _ = solved(kind, prior, SLACK)
    variances, n = prior.prior_variance, problem.n_samples
    weights, average, t = np.zeros(len(variances)), np.zeros(len(variances)), 0
    rng = np.random.default_rng(3)
    for iterate in iterates(online_subgradient, problem, 4, seed=3, beta=beta):
        for i in rng.permutation(n):
            t += 1
            step = min(1 / (2 * beta * np.sqrt(t)), 0.999)
            rows = np.flatnonzero(enumerated.sample == i)
            violation = enumerated.losses[rows] - enumerated.differences[rows] @ weights
            best = rows[np.argmax(violation)]
            target = variances * n * problem.C[i] * enumerated.differences[best]
            average = (1 - step) * average + step * weights
            weights = (1 - step) * weights + step * target
        np.testing.assert_allclose(iterate.weights, average, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_gap_falls_like_one_over_time(method):
    problem = make_problem("chain")
    gaps = [iterate.gap_estimate for iterate in iterates(method, problem, 300)]
    assert gaps[299] < 0.3 * gaps[49]
