"""SMO on marginals against enumeration, and what it promises of its marginals."""

import numpy as np
import pytest
from enumerated import SLACKS, make_data

from medn_edu.kernels.textbook import smo as kernels
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualMarginals, MarginLoss, Problem
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import smo
from medn_edu.solvers._training import tilted_prior, training_blocks, workspace

SLACK = SLACKS["linear"]


def make_problem(kind: str, prior=None, seed: int = 0, n_samples: int = 5) -> Problem:
    return Problem(make_data(kind, seed, n_samples), MarginLoss(SLACK), prior or GaussianPrior())


def test_first_gap_is_that_of_the_true_labels():
    problem = make_problem("chain", n_samples=1)
    first = next(smo(problem, rng=np.random.default_rng(0)))
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


def test_dual_is_a_copy():
    passes = smo(make_problem("chain"), rng=np.random.default_rng(0))
    alpha = next(passes).dual()
    before = alpha.node.copy()
    next(passes)
    np.testing.assert_array_equal(alpha.node, before)
