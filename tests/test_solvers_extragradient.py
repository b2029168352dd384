"""Extragradient: its steps against the game they play, and where they lead."""

import numpy as np
import pytest
from enumerated import KINDS, make_data

from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import extragradient
from medn_edu.theory.medn import enumerate_problem

SLACK = LinearSlack(C=1.3)


def make_problem(kind: str, prior: GaussianPrior | None = None) -> Problem:
    """Return a problem on enumerable data."""
    return Problem(make_data(kind), MarginLoss(SLACK), prior or GaussianPrior())


def uneven_prior(problem: Problem) -> GaussianPrior:
    """Return a prior with a variance of its own for each weight."""
    rng = np.random.default_rng(3)
    return GaussianPrior(rng.uniform(0.2, 2.0, problem.weight_shape.size))


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_written_out_over_labellings(kind):
    problem = make_problem(kind)
    problem = Problem(problem.data, MarginLoss(SLACK), uneven_prior(problem))
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
