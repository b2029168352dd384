"""From M3N to the soft-max problem: optima, certificates on both legs, warm starts."""

import numpy as np
import pytest
from test_problems_soft_max import distributions
from test_solvers_lbfgs import chains

from medn_edu.problems import L2Norm, Problem, SoftMaxLoss
from medn_edu.results import run
from medn_edu.solvers import lbfgs, softening


def solve(problem: Problem, tol: float = 1e-6, **options):
    rng = np.random.default_rng(0)
    return run(softening(problem, rng=rng, **options), problem, tol=tol, max_iter=3000)


@pytest.mark.parametrize("lam", [0.2, 1.0, 5.0])
def test_dual_variables_certify_where_it_is_cold(lam):
    """M3N's own dual variables prove the soft optimum; with less patience than that, L-BFGS does."""
    cold = Problem(chains(), SoftMaxLoss(1e-4, loss_augmented=True), L2Norm(lam))
    result = solve(cold, tol=1e-2)
    assert result.converged
    assert result.alpha is not None
    assert result.variance is None
    again = solve(cold, tol=1e-2, warm_start=result.alpha)
    assert again.converged
    assert again.n_passes < result.n_passes
    assert result.dual == cold.dual(result.alpha)
    np.testing.assert_allclose(result.weights, result.eta / lam, atol=1e-9)
    warm = Problem(chains(), SoftMaxLoss(0.5, loss_augmented=True), L2Norm(lam))
    result = solve(warm, tol=1e-2)
    assert result.converged
    assert result.alpha is None
    assert result.dual == warm.dual(distributions(warm, result.weights))


@pytest.mark.parametrize("epsilon", [10.0, 0.1, 0.01])
def test_every_iterate_of_both_legs_has_an_honest_gap(epsilon):
    problem = Problem(chains(2), SoftMaxLoss(epsilon, loss_augmented=True), L2Norm(0.5))
    best = solve(problem, tol=1e-7)
    n_passes, calls = {True: 0, False: 0}, 0
    for iterate in softening(problem, rng=np.random.default_rng(1)):
        certificate = iterate.certify(problem)
        slack = 1e-10 * abs(best.primal)
        assert certificate.dual <= best.primal + slack
        assert certificate.primal >= best.dual - slack
        assert iterate.n_oracle_calls > calls
        calls = iterate.n_oracle_calls
        n_passes[iterate.dual is not None] += 1
        if n_passes[False] == 20 or n_passes[True] == 500:
            break
    assert n_passes[False] > 0  # it came to L-BFGS,
    assert (n_passes[True] > 0) == (epsilon < 1)  # and had begun with M3N where it is cold


def test_the_cold_problem_is_easier_from_the_hard_one():
    """The reason for this solver, as numbers of passes."""
    problem = Problem(chains(3, n_samples=150), SoftMaxLoss(0.01, loss_augmented=True), L2Norm(0.5))
    straight = run(lbfgs(problem), problem, tol=1e-2, max_iter=3000)
    assert straight.converged
    assert solve(problem, tol=1e-2).n_passes < straight.n_passes / 2


def test_weights_to_start_from_are_used_if_they_are_near_and_dropped_if_they_are_far():
    data = chains()
    warm, cool, cold = (
        Problem(data, SoftMaxLoss(epsilon, loss_augmented=True), L2Norm(0.5))
        for epsilon in (1.0, 0.9, 1e-3)
    )
    weights = solve(warm, tol=1e-4).weights
    again = solve(warm, tol=1e-4, warm_start=weights)
    assert again.converged
    assert again.n_passes == 1
    near = solve(cool, warm_start=weights)
    assert near.converged
    assert near.alpha is None
    far = solve(cold, tol=1e-2, warm_start=weights)
    assert far.converged
    assert far.alpha is not None  # of M3N, which is where the cold problem is solved
    fresh = solve(cold, tol=1e-2)
    assert far.n_passes == fresh.n_passes + 1
    assert far.n_oracle_calls == fresh.n_oracle_calls + cold.n_samples
