"""OWL-QN and proximal L-BFGS: optimum, zeros, certificates, paths, and the ends of the scale."""

import importlib
import itertools

import numpy as np
import pytest
from optimality import assert_no_lower_at_non_negative
from scipy.optimize import minimize
from test_problems_soft_max import random_data
from test_solvers_lbfgs import chains

from medn_edu.problems import L1Norm, Problem, SoftMaxLoss, soft_max
from medn_edu.results import run
from medn_edu.solvers import owlqn, proximal_lbfgs
from medn_edu.solvers._initial_hessian import InitialHessian
from medn_edu.solvers._quasi_newton import Pair, Point

# With an odd number of labels the optimum is unique: adding a constant to a feature's weights of all
# labels leaves the loss as it is, and of all such constants the penalty prefers the median.
ODD = {"n_labels": 5}

SOLVERS = pytest.mark.parametrize("solver", [owlqn, proximal_lbfgs])


def solve(solver, problem, tol: float = 1e-7, **options):
    return run(solver(problem, **options), problem, tol=tol, max_iter=3000)


def peer_weights(problem: Problem) -> tuple[np.ndarray, float]:
    """Optimum by a library: w = u - v with u, v >= 0, which makes the penalty linear."""
    n = problem.weight_shape.size

    def objective(x):
        loss, gradient = soft_max.smooth_part(problem, x[:n] - x[n:])
        slope = np.concatenate([gradient, -gradient]) + problem.regulariser.l1
        return loss + problem.regulariser.l1 * x.sum(), slope

    found = minimize(
        objective,
        np.zeros(2 * n),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * n),
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-9},
    )
    assert_no_lower_at_non_negative(found, atol=1e-3 * problem.regulariser.l1)
    return found.x[:n] - found.x[n:], float(found.fun)


@SOLVERS
@pytest.mark.parametrize("lam", [0.3, 2.0, 10.0])
def test_reaches_optimum_and_zeros_of_a_library(solver, lam):
    problem = Problem(chains(**ODD), SoftMaxLoss(), L1Norm(lam))
    result = solve(solver, problem)
    weights, optimum = peer_weights(problem)
    assert result.converged
    assert result.primal == pytest.approx(optimum, rel=1e-7)
    assert result.dual <= optimum * (1 + 1e-12)
    assert result.subgradient_norm < 1e-3 * lam
    assert ((result.weights != 0) == (np.abs(weights) > 1e-5)).all()
    assert 0 < (result.weights == 0).sum() < result.weights.size


@SOLVERS
def test_reaches_the_optimum_on_trees_with_weights_and_forbidden_transitions(solver):
    data = random_data(4, n_samples=30)
    problem = Problem(data, SoftMaxLoss(), L1Norm(0.8))
    result = solve(solver, problem, warm_start=np.ones(problem.weight_shape.size))
    weights, optimum = peer_weights(problem)
    assert result.converged
    assert result.primal == pytest.approx(optimum, rel=1e-7)
    np.testing.assert_allclose(result.weights, weights, atol=1e-2)
    assert (data.weight_shape.split(result.weights)[1][~data.allowed] == 0).all()


def test_both_solvers_agree():
    problem = Problem(chains(3, **ODD), SoftMaxLoss(), L1Norm(1.0))
    plain, proximal = (solve(solver, problem, tol=1e-7) for solver in (owlqn, proximal_lbfgs))
    np.testing.assert_allclose(plain.weights, proximal.weights, atol=1e-3)
    assert ((plain.weights != 0) == (proximal.weights != 0)).all()
    assert proximal.n_passes < plain.n_passes


@SOLVERS
def test_just_above_the_largest_useful_penalty_nothing_is_learned_and_below_something(solver):
    data = chains(2)
    _, slope = soft_max.smooth_part(
        Problem(data, SoftMaxLoss(), L1Norm(1.0)), np.zeros(data.weight_shape.size)
    )
    largest = np.abs(slope).max()
    above = solve(solver, Problem(data, SoftMaxLoss(), L1Norm(largest * (1 + 1e-9))))
    assert above.converged
    assert above.n_passes == 1
    assert above.subgradient_norm == 0
    assert not above.weights.any()
    below = solve(solver, Problem(data, SoftMaxLoss(), L1Norm(largest * 0.99)))
    assert below.converged
    assert below.weights.any()


@SOLVERS
def test_a_tiny_penalty_on_samples_without_error(solver):
    """The optimum is far out, yet there is one, and the objective falls all the way."""
    problem = Problem(chains(7, noise=0.0), SoftMaxLoss(), L1Norm(1e-3))
    result = run(solver(problem), problem, tol=1e-2, max_iter=150)
    values = [point.objective_estimate for point in result.trace]
    assert (np.diff(values) <= 0).all()
    assert result.primal < 0.02 * values[0]
    assert 0 <= result.dual <= result.primal


@SOLVERS
def test_a_path_of_penalties_is_walked_by_warm_starts(solver):
    data, weights = chains(5), None
    n_warm = n_cold = 0
    for lam in (8.0, 4.0, 2.0, 1.0):
        problem = Problem(data, SoftMaxLoss(), L1Norm(lam))
        warm = solve(solver, problem, tol=1e-6, warm_start=weights)
        cold = solve(solver, problem, tol=1e-6)
        assert warm.converged
        assert warm.primal == pytest.approx(cold.primal, rel=3e-6)
        weights = warm.weights
        n_warm, n_cold = n_warm + warm.n_passes, n_cold + cold.n_passes
    assert n_warm < n_cold
    again = solve(solver, problem, tol=1e-6, warm_start=weights)
    assert again.n_passes == 1
    assert (again.weights == weights).all()


@SOLVERS
def test_ends_when_floating_point_does(solver):
    problem = Problem(chains(9), SoftMaxLoss(), L1Norm(1.0))
    *_, last = solver(problem)
    assert last.stopped
    assert last.certify(problem).relative_gap < 1e-6


def test_the_model_and_its_inverse_belong_together():
    """Both forms satisfy the secant equation of the latest pair and undo each other."""
    module = importlib.import_module("medn_edu.solvers.proximal_lbfgs")
    problem = Problem(chains(1), SoftMaxLoss(), L1Norm(1.0))
    rng = np.random.default_rng(0)
    steps = module._ProximalSteps(problem, 5)
    start = np.zeros(problem.weight_shape.size)
    steps.initial = InitialHessian(problem, start, floor_share=1e-3)
    points = [Point.at(problem, 0.1 * rng.normal(size=64)) for _ in range(8)]
    for old, new in itertools.pairwise(points):
        steps.remember(Pair.between(old, new))
    model = steps._model()
    assert len(steps.pairs) == 5
    last = steps.pairs[-1]
    np.testing.assert_allclose(model.multiply(last.step), last.change, atol=1e-8)
    np.testing.assert_allclose(model.solve(last.change), last.step, atol=1e-8)
    vector = rng.normal(size=64)
    np.testing.assert_allclose(model.solve(model.multiply(vector)), vector, atol=1e-8)
    matrix = np.array([model.multiply(unit) for unit in np.eye(64)])
    np.testing.assert_allclose(model.root_diagonal**2, np.diag(matrix), rtol=1e-8)
    assert np.linalg.eigvalsh(matrix).min() > 0


def test_many_features_get_a_diagonal_factor(monkeypatch):
    problem = Problem(chains(5, **ODD), SoftMaxLoss(), L1Norm(0.7))
    full = solve(proximal_lbfgs, problem)
    monkeypatch.setattr("medn_edu.solvers._initial_hessian.MAX_GRAM_FEATURES", 3)
    reduced = solve(proximal_lbfgs, problem)
    assert reduced.converged
    assert reduced.n_passes != full.n_passes
    np.testing.assert_allclose(full.weights, reduced.weights, atol=1e-3)


@SOLVERS
def test_without_memory(solver):
    problem = Problem(chains(), SoftMaxLoss(), L1Norm(1.0))
    first, *_, last = itertools.islice(solver(problem, memory=0), 5)
    assert last.objective_estimate < first.objective_estimate
    with pytest.raises(ValueError, match="memory is -1"):
        solver(problem, memory=-1)


def test_no_pairs_are_kept_without_memory():
    steps = importlib.import_module("medn_edu.solvers.proximal_lbfgs")._ProximalSteps(
        Problem(chains(), SoftMaxLoss(), L1Norm(1.0)), 0
    )
    start = Point.at(steps.problem, np.zeros(steps.problem.weight_shape.size))
    found, _ = steps.take(start, 0)
    steps.remember(Pair.between(start, found))
    assert steps.pairs == []
