"""Extragradient: its steps against the game they play, and where they lead."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from enumerated import KINDS, make_data, solved

from medn_edu.priors import GaussianPrior, LaplacePrior
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


@pytest.mark.parametrize("kind", KINDS)
def test_reaches_the_enumerated_optimum(kind):
    problem = make_problem(kind)
    _, reference = solved(kind, problem.regulariser, SLACK)
    iterates = extragradient(problem, rng=np.random.default_rng(0))
    result = run(iterates, problem, tol=1e-3, max_iter=2000)
    assert result.converged
    assert result.primal == pytest.approx(reference.value, rel=1e-3)
    assert result.dual <= reference.value + 1e-8


def test_variances_may_differ():
    problem = make_problem(KINDS[1])
    problem = Problem(problem.data, MarginLoss(SLACK), uneven_prior(problem))
    listed = enumerate_problem(problem.data, GaussianPrior(), SLACK)
    iterates = extragradient(problem, rng=np.random.default_rng(0))
    result = run(iterates, problem, tol=1e-3, max_iter=2000)
    assert result.converged
    w, v = result.weights, problem.regulariser.prior_variance
    assert result.primal == pytest.approx(0.5 * np.sum(w**2 / v) + listed.penalty(listed.xi(w)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_pass_is_feasible(kind):
    problem = make_problem(kind)
    for iterate in islice(extragradient(problem, rng=np.random.default_rng(0)), 40):
        alpha = iterate.dual()
        assert alpha.is_feasible(problem.data)
        np.testing.assert_allclose(alpha.totals(problem.data), problem.C)
        certificate = iterate.certify(problem)
        assert certificate.gap >= 0
        assert certificate.gap == pytest.approx(iterate.gap_estimate, abs=1e-9)


def test_steps_too_long_are_taken_again():
    problem = make_problem(KINDS[0])
    iterates = extragradient(problem, rng=np.random.default_rng(0), step=1e4)
    first = next(iterates)
    np.testing.assert_array_equal(first.weights, 0.0)  # refused
    assert run(iterates, problem, tol=1e-2, max_iter=2000).converged


def test_same_weights_every_time():
    problem = make_problem(KINDS[1])
    one, two = (
        next(islice(extragradient(problem, rng=np.random.default_rng(seed)), 10, None))
        for seed in (0, 1)
    )
    np.testing.assert_array_equal(one.weights, two.weights)


def test_bad_input():
    problem = make_problem(KINDS[0])
    rng = np.random.default_rng(0)
    for name in ("step", "ratio"):
        with pytest.raises(ValueError, match=name):
            next(extragradient(problem, rng=rng, **{name: -1.0}))
    with pytest.raises(TypeError, match="GaussianPrior"):
        next(extragradient(Problem(problem.data, MarginLoss(SLACK), LaplacePrior(4.0)), rng=rng))
