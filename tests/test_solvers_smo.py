"""SMO on marginals against enumeration, and what it promises of its marginals."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from enumerated import KINDS, SLACKS, make_data, solved

from medn_edu.kernels.textbook import smo as kernels
from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.problems import DualMarginals, MarginLoss, Problem
from medn_edu.results import run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack, QuadraticSlack
from medn_edu.solvers import M3N_SOLVERS, smo
from medn_edu.solvers._training import tilted_prior, training_blocks, workspace

SLACK = SLACKS["linear"]


def make_problem(kind: str, prior=None, seed: int = 0, n_samples: int = 5) -> Problem:
    return Problem(make_data(kind, seed, n_samples), MarginLoss(SLACK), prior or GaussianPrior())


def iterates(problem, n, seed=0, **options):
    return list(islice(smo(problem, rng=np.random.default_rng(seed), **options), n))


def varied(kind: str) -> GaussianPrior:
    """Return a prior with a variance of its own for each weight."""
    size = make_data(kind).weight_shape.size
    return GaussianPrior(np.random.default_rng(5).uniform(0.2, 3.0, size))


@pytest.mark.parametrize("n_steps", [1, 5])
@pytest.mark.parametrize("own_variances", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_optimum_of_the_enumeration(kind, own_variances, n_steps):
    prior = varied(kind) if own_variances else GaussianPrior()
    problem = make_problem(kind, prior)
    _, reference = solved(kind, prior, SLACK)
    iterates = smo(problem, rng=np.random.default_rng(0), n_steps=n_steps)
    result = run(iterates, problem, tol=1e-6, max_iter=3000)
    assert result.converged
    assert result.primal == pytest.approx(reference.value, rel=2e-6)
    assert result.dual == pytest.approx(reference.value, rel=2e-6)
    np.testing.assert_allclose(result.weights, reference.w, atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_marginals_stay_feasible_and_the_dual_never_falls(kind):
    problem = make_problem(kind, varied(kind), seed=1, n_samples=12)
    last, seen = 0.0, 0
    for iterate in islice(smo(problem, rng=np.random.default_rng(0)), 150):
        alpha = iterate.dual()
        assert alpha.is_feasible(problem.data)
        np.testing.assert_allclose(alpha.totals(problem.data), problem.C, rtol=1e-10)
        eta = alpha.eta(problem.data)
        np.testing.assert_allclose(
            iterate.weights, problem.regulariser.prior_variance * eta, rtol=1e-9, atol=1e-10
        )
        dual, primal = problem.dual(alpha), problem.primal(iterate.weights)
        assert iterate.objective_estimate == pytest.approx(dual, rel=1e-10)
        assert last - 1e-10 * abs(last) <= dual <= primal * (1 + 1e-10)
        last = dual
        assert seen < iterate.n_oracle_calls <= seen + 10 * problem.n_samples
        seen = iterate.n_oracle_calls
    assert primal - last < 1e-3 * primal


def test_first_gap_is_that_of_the_true_labels():
    problem = make_problem("chain", n_samples=1)
    first = iterates(problem, 1)[0]
    assert first.gap_estimate == pytest.approx(problem.primal(np.zeros(len(first.weights))))


def test_a_step_may_move_more_than_the_product_of_largest_entropy():
    """Three nodes that know nothing of each other: the product is 1/8, the least marginal 1/4."""
    data = label_samples(
        pack([np.zeros((3, 1))]), np.array([0, 1, 0]), np.ones((1, 2, 2), dtype=bool)
    )
    problem = Problem(data, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    blocks, tilted = training_blocks(problem), tilted_prior(problem, np.zeros(6))
    work = workspace(blocks, problem.weight_shape)
    marginals = DualMarginals(np.full((3, 2), 0.5), np.full((3, 2, 2), 0.25))
    marginals.edge[0] = 0.0
    worst, gaps = np.zeros_like(work.labelling), np.zeros(1)
    tables = worst, marginals.node, marginals.edge, gaps
    # All labels wrong is best, all of them right is worst, and the weights of both are the same.
    kernels.visit_samples(np.zeros(1, np.int64), blocks, tilted, work, *tables, 1, 0.1)
    assert (worst.tolist(), work.labelling.tolist()) == ([0, 1, 0], [1, 0, 1])
    np.testing.assert_allclose(marginals.node, [[0.25, 0.75], [0.75, 0.25], [0.25, 0.75]])
    np.testing.assert_allclose(
        marginals.edge[1:], [[[0.25, 0], [0.5, 0.25]], [[0.25, 0.5], [0, 0.25]]]
    )
    assert marginals.is_feasible(problem.data)


def test_forbidden_transitions_get_no_dual_variables():
    kind = KINDS[1]
    problem = make_problem(kind, n_samples=12)
    edge = iterates(problem, 20)[-1].dual().edge
    types = problem.data.samples.edge_types
    assert not edge[~problem.data.allowed[types]].any()
    assert edge.any()


def test_same_generator_same_iterates():
    problem = make_problem(KINDS[1], n_samples=12)
    first, second, other = (iterates(problem, 3, seed)[-1] for seed in (2, 2, 3))
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.dual().edge, second.dual().edge)
    assert not np.array_equal(first.weights, other.weights)


def test_dual_is_a_copy():
    passes = smo(make_problem("chain"), rng=np.random.default_rng(0))
    alpha = next(passes).dual()
    before = alpha.node.copy()
    next(passes)
    np.testing.assert_array_equal(alpha.node, before)


def test_bad_input_is_refused():
    rng, data = np.random.default_rng(0), make_data("chain")
    with pytest.raises(ValueError, match="n_steps"):
        next(smo(make_problem("chain"), rng=rng, n_steps=0))
    with pytest.raises(TypeError, match="GaussianPrior"):
        next(smo(Problem(data, MarginLoss(LinearSlack(1.0)), LaplacePrior(4.0)), rng=rng))
    with pytest.raises(TypeError, match="LinearSlack"):
        next(smo(Problem(data, MarginLoss(QuadraticSlack(1.0)), GaussianPrior()), rng=rng))


def test_it_is_found_by_name():
    assert M3N_SOLVERS["smo"] is smo
