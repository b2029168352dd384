"""The readable block step and extrapolation against the compiled ones, from visit to visit.

This file also runs as plain Python (tests/test_kernels_modes.py).
"""

import math
from itertools import product

import numpy as np
import pytest
from enumerated import KINDS, PRIORS, RICH, SLACKS, make_data

from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_frank_wolfe
from medn_edu.solvers.dual_state import DualState
from medn_edu.solvers.training import public_order
from medn_edu.theory.axi import axi_problem
from medn_edu.theory.frank_wolfe import block_step, dense, extrapolate, start
from medn_edu.theory.medn import enumerate_problem


class OwnLaplace(LaplacePrior):
    """A prior that compiled code does not know, so that Python searches."""


CHOSEN = ("gaussian", "laplace", "normal-inverse-gaussian", "exponential", "spike-slab", "box")
CHOSEN_PRIORS = {**{name: PRIORS[name] for name in CHOSEN}, "own": OwnLaplace(lam=4.0)}


OTHERS = product(["gaussian", "laplace"], ["linear"], ["chain potts", "tree edges forbidden"])
CASES = [*product(CHOSEN_PRIORS, SLACKS, [*KINDS, *RICH]), *OTHERS]


@pytest.mark.parametrize(("prior", "slack", "kind"), CASES)
def test_every_step_of_the_compiled_solver_is_the_readable_one(prior, slack, kind):
    """Same blocks in the same order: same eta, same dual value, and it never falls."""
    data, prior, slack = make_data(kind, seed=2, n_samples=6), CHOSEN_PRIORS[prior], SLACKS[slack]
    listed = enumerate_problem(data, prior, slack)
    state = DualState(Problem(data, MarginLoss(slack), prior), gram_budget=10**6, capacity=1)
    state.load(None)
    alpha, eta, last = start(listed), np.zeros(listed.n_weights), -math.inf
    previous, n_moves, rng = dense(listed, alpha), 0, np.random.default_rng(1)

    def compare():
        values = dense(listed, alpha)
        np.testing.assert_allclose(eta, public_order(state.tilted.eta, state.shape), atol=1e-10)
        np.testing.assert_allclose(eta, listed.eta(values), atol=1e-10)
        np.testing.assert_allclose(values, listed.dense(state.dual_variables()), atol=1e-10)
        dual = listed.dual_value(values)
        assert dual == pytest.approx(state.dual_value(), abs=1e-10)
        assert dual >= last - 1e-12
        return values, dual

    for _ in range(6):
        for i in rng.integers(0, 6, size=7):
            state.visit(np.array([i]), with_oracle=True)
            eta, gap = block_step(listed, alpha, eta, i)
            assert state.gaps[i] == pytest.approx(gap, abs=1e-10)
            now, last = compare()
        before = eta
        state.extrapolate()
        eta = extrapolate(listed, alpha, previous, eta)
        previous, n_moves = now, n_moves + bool(np.any(eta != before))
        values, last = compare()
    assert last > 0
    assert n_moves > 1
    state.rebuild()
    compare()
    # A warm start takes a share of all dual variables, apart from those of the true labellings.
    state.load(state.dual_variables())
    loaded, wrong = listed.dense(state.dual_variables()), listed.losses > 0
    share = loaded[wrong].sum() / values[wrong].sum()
    assert 0.5 < share < 1 + 1e-9
    np.testing.assert_allclose(loaded[wrong], share * values[wrong], atol=1e-9)
    eta = public_order(state.tilted.eta, state.shape)
    np.testing.assert_allclose(listed.eta(loaded), eta, atol=1e-9)


@pytest.mark.parametrize("prior", ["gaussian", "laplace", "box"])
def test_a_pass_of_the_solver_is_a_step_in_each_block(prior):
    data, slack = make_data(KINDS[1], seed=3, n_samples=8), SLACKS["linear"]
    problem = Problem(data, MarginLoss(slack), PRIORS[prior])
    listed = enumerate_problem(data, PRIORS[prior], slack)
    passes = block_frank_wolfe(problem, rng=np.random.default_rng(5), n_cached_rounds=0)
    iterate = next(passes)
    alpha, eta = start(listed), np.zeros(listed.n_weights)
    for i in np.random.default_rng(5).permutation(8):
        eta, _ = block_step(listed, alpha, eta, i)
    np.testing.assert_allclose(iterate.weights, listed.prior.mean(eta), atol=1e-10)
    dual = listed.dual_value(dense(listed, alpha))
    assert iterate.objective_estimate == pytest.approx(dual, abs=1e-10)


@pytest.mark.parametrize("prior", [LaplacePrior(lam=4.0), GaussianPrior()])
def test_the_slope_is_the_margin_violation_and_block_gaps_add_up_to_the_duality_gap(prior):
    C = 0.7
    listed = axi_problem(prior, LinearSlack(C))
    spread = np.random.default_rng(0).dirichlet(np.ones(27), size=3).ravel()
    alpha = C * (0.9 * (listed.losses == 0) + 0.1 * spread)
    w = listed.posterior_mean(alpha)
    H = listed.losses - listed.differences @ w

    def value(alpha):  # feasible or not
        return alpha @ listed.losses - prior.log_mgf(alpha @ listed.differences).sum()

    assert value(alpha) == pytest.approx(listed.dual_value(alpha))
    nudges = 1e-6 * np.eye(81)
    slopes = [(value(alpha + nudge) - value(alpha - nudge)) / 2e-6 for nudge in nudges]
    np.testing.assert_allclose(slopes, H, atol=1e-7)
    blocks = [listed.sample == i for i in range(3)]
    gaps = [C * H[block].max() - alpha[block] @ H[block] for block in blocks]
    assert min(gaps) >= 0
    assert sum(gaps) == pytest.approx(listed.primal_value(w) - listed.dual_value(alpha))
