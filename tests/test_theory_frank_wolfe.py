"""The readable block step against the compiled one, from visit to visit."""

import math

import numpy as np
import pytest
from enumerated import KINDS, PRIORS, SLACKS, make_data

from medn_edu.priors import LaplacePrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.solvers import block_frank_wolfe
from medn_edu.solvers.dual_state import DualState
from medn_edu.solvers.training import public_order
from medn_edu.theory.frank_wolfe import block_step, dense, start
from medn_edu.theory.medn import enumerate_problem


class OwnLaplace(LaplacePrior):
    """A prior that compiled code does not know, so that Python searches."""


CHOSEN = ("gaussian", "laplace", "normal-inverse-gaussian", "exponential", "spike-slab")
CHOSEN_PRIORS = {**{name: PRIORS[name] for name in CHOSEN}, "own": OwnLaplace(lam=4.0)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("prior", CHOSEN_PRIORS)
def test_every_visit_of_the_compiled_solver_is_the_readable_step(prior, slack, kind):
    """Same blocks in the same order: same eta, same dual value, and it never falls."""
    data, prior, slack = make_data(kind, seed=2, n_samples=6), CHOSEN_PRIORS[prior], SLACKS[slack]
    problem, enumerated = (
        Problem(data, MarginLoss(slack), prior),
        enumerate_problem(data, prior, slack),
    )
    state = DualState(problem, gram_budget=10**6, capacity=1)
    state.load(None)
    alpha, eta, last = start(enumerated), np.zeros(enumerated.n_weights), -math.inf
    order = np.random.default_rng(0).integers(0, 6, size=40)
    for i in order:
        state.visit(np.array([i]), with_oracle=True)
        eta, gap = block_step(enumerated, alpha, eta, i)
        np.testing.assert_allclose(eta, public_order(state.tilted.eta, state.shape), atol=1e-10)
        assert state.gaps[i] == pytest.approx(gap, abs=1e-10)
        values = dense(enumerated, alpha)
        np.testing.assert_allclose(values, enumerated.dense(state.dual_variables()), atol=1e-10)
        np.testing.assert_allclose(eta, enumerated.eta(values), atol=1e-10)
        dual = enumerated.dual_value(values)
        assert dual == pytest.approx(state.dual_value(), abs=1e-10)
        assert dual >= last - 1e-12
        last = dual
    assert dual > 0


@pytest.mark.parametrize("prior", ["gaussian", "laplace", "box"])
def test_a_pass_of_the_solver_is_a_step_in_each_block(prior):
    data, slack = make_data(KINDS[1], seed=3, n_samples=8), SLACKS["linear"]
    problem = Problem(data, MarginLoss(slack), PRIORS[prior])
    enumerated = enumerate_problem(data, PRIORS[prior], slack)
    passes = block_frank_wolfe(problem, rng=np.random.default_rng(5), n_cached_rounds=0)
    iterate = next(passes)
    alpha, eta = start(enumerated), np.zeros(enumerated.n_weights)
    for i in np.random.default_rng(5).permutation(8):
        eta, _ = block_step(enumerated, alpha, eta, i)
    np.testing.assert_allclose(iterate.weights, enumerated.prior.mean(eta), atol=1e-10)
    dual = enumerated.dual_value(dense(enumerated, alpha))
    assert iterate.objective_estimate == pytest.approx(dual, abs=1e-10)
