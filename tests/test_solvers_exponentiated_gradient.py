"""Exponentiated gradient and extragradient: their steps written out over all labellings."""

from itertools import islice

import numpy as np
import pytest
from enumerated import KINDS, make_data, marginals_of, uneven_prior

from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_exponentiated_gradient, exponentiated_gradient, extragradient
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem

SOLVERS = [exponentiated_gradient, block_exponentiated_gradient]
SLACK = LinearSlack(C=1.3)


def make_problem(kind: str, **kwargs) -> Problem:
    return Problem(make_data(kind, **kwargs), MarginLoss(SLACK), GaussianPrior())


def written_out(problem: Problem, listed: EnumeratedProblem, alpha, eta, step):
    """Take one step of one exponent at a time: ``alpha exp(step * gradient)``, normalised."""
    violation = listed.losses - listed.differences @ (problem.regulariser.prior_variance * eta)
    grown = alpha * np.exp(step * violation)
    return grown * (problem.C / listed.totals(grown))[listed.sample]


@pytest.mark.parametrize("kind", KINDS)
def test_batch_steps_on_all_samples_at_once(kind):
    data = make_data(kind)
    problem = Problem(data, MarginLoss(SLACK), uneven_prior(data))
    listed = enumerate_problem(data, problem.regulariser, SLACK)
    alpha = (problem.C / listed.totals(np.ones(len(listed.losses))))[listed.sample]
    step = 1e-3
    passes = exponentiated_gradient(
        problem, rng=np.random.default_rng(0), step=step, momentum=False
    )
    for k, iterate in enumerate(islice(passes, 3)):
        alpha = written_out(problem, listed, alpha, listed.eta(alpha), step * 1.01**k)
        found, expected = iterate.dual(), marginals_of(problem.data, listed, alpha)
        np.testing.assert_allclose(found.node, expected.node, atol=1e-10)
        np.testing.assert_allclose(found.edge, expected.edge, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_long_after_the_optimum_nothing_breaks(solver):
    problem = make_problem(KINDS[1], n_samples=2)
    iterate = next(islice(solver(problem, rng=np.random.default_rng(0)), 400, None))
    assert 0 <= iterate.certify(problem).relative_gap < 1e-4
    assert iterate.dual().is_feasible(problem.data)


def test_momentum_pays():
    problem = make_problem(KINDS[0], n_samples=12)
    gaps = []
    for momentum in (True, False):
        passes = exponentiated_gradient(problem, rng=np.random.default_rng(0), momentum=momentum)
        gaps.append(next(islice(passes, 100, None)).gap_estimate)
    assert gaps[0] < 0.5 * gaps[1]


@pytest.mark.parametrize("kind", KINDS)
def test_one_extragradient_step_written_out(kind):
    problem = make_problem(kind)
    problem = Problem(problem.data, MarginLoss(SLACK), uneven_prior(problem.data))
    listed = enumerate_problem(problem.data, GaussianPrior(), SLACK)
    v, step, ratio = problem.regulariser.prior_variance, 1e-2, 0.5
    start = (problem.C / listed.totals(np.ones(len(listed.losses))))[listed.sample]

    def stepped(w, alpha):
        """Step from no weights and equal ``alpha_i(y)`` along the gradients at ``w`` and ``alpha``."""
        grown = start * np.exp(step * (listed.losses - listed.differences @ w))
        t = ratio * step
        weights = t * v * listed.eta(alpha) / (1 + t)
        return weights, grown * (problem.C / listed.totals(grown))[listed.sample]

    trial = stepped(np.zeros(len(v)), start)
    weights, alpha = stepped(*trial)
    iterate = next(extragradient(problem, rng=np.random.default_rng(0), step=step, ratio=ratio))
    np.testing.assert_allclose(iterate.weights, weights, atol=1e-12)
    np.testing.assert_allclose(iterate.dual().eta(problem.data), listed.eta(alpha), atol=1e-10)


def test_steps_too_long_are_taken_again():
    problem = make_problem(KINDS[0])
    iterates = extragradient(problem, rng=np.random.default_rng(0), step=1e4)
    first = next(iterates)
    np.testing.assert_array_equal(first.weights, 0.0)  # refused
    assert run(iterates, problem, tol=1e-2, max_iter=2000).converged
