"""L-BFGS, OWL-QN and proximal L-BFGS: wide features, starts, ends of the scale, pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from enumerated import KINDS, make_data

from medn_edu.problems import L1Norm, L2Norm, Problem, SoftMaxLoss, soft_max
from medn_edu.results import run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.solvers import lbfgs, owlqn, proximal_lbfgs


def chains(
    seed: int = 0,
    *,
    n_samples: int = 60,
    n_labels: int = 4,
    n_features: int = 12,
    n_idle: int = 0,
    noise: float = 2.0,
) -> LabelledSamples:
    """Make random sparse chains whose labels depend on their features; idle ones come last."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_features, n_labels))
    X, y = [], []
    for _ in range(n_samples):
        n = int(rng.integers(1, 9))
        x = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.4)
        X.append(sp.csr_matrix(np.pad(x, ((0, 0), (0, n_idle)))))
        y.append(np.argmax(x @ truth + noise * rng.normal(size=(n, n_labels)), axis=1))
    allowed = np.ones((1, n_labels, n_labels), dtype=bool)
    return label_samples(pack(X), np.concatenate(y).astype(np.int64), allowed)


SPARSE = pytest.mark.parametrize("solver", [owlqn, proximal_lbfgs])
ALL = pytest.mark.parametrize(
    ("solver", "norm"),
    [(lbfgs, L2Norm), (owlqn, L1Norm), (proximal_lbfgs, L1Norm)],
    ids=["lbfgs", "owlqn", "proximal_lbfgs"],
)
# With an odd number of labels the optimum is unique: adding a constant to a feature's weights of all
# labels leaves the loss as it is, and of all such constants magnitudes prefer the median.
ODD = {"n_labels": 5}


def solve(solver, problem: Problem, tol: float = 1e-7, **options):
    return run(solver(problem, **options), problem, tol=tol, max_iter=3000)


@ALL
def test_wide_sparse_features_stay_sparse(solver, norm, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("wide sparse features were made dense")

    rng = np.random.default_rng(1)
    X = [sp.random(5, 20_000, density=5e-4, format="csr", random_state=rng) for _ in range(30)]
    data = label_samples(pack(X), rng.integers(3, size=150), np.ones((1, 3, 3), dtype=bool))
    monkeypatch.setattr(sp.csr_matrix, "toarray", refuse)
    result = solve(solver, Problem(data, SoftMaxLoss(), norm(0.1)), tol=1e-3)
    assert result.converged
    assert norm is L2Norm or (result.weights != 0).sum() < 0.02 * result.weights.size


@pytest.mark.parametrize(("solver", "norm"), [(lbfgs, L2Norm), (proximal_lbfgs, L1Norm)])
def test_the_diagonal_factor_leads_to_the_same_optimum(solver, norm):
    """With more than 500 features the initial Hessian knows only the diagonal of their factor."""
    full, reduced = (
        Problem(chains(5, n_idle=n, **ODD), SoftMaxLoss(), norm(0.5)) for n in (0, 500)
    )
    one, two = solve(solver, full), solve(solver, reduced)
    assert one.converged
    assert two.converged
    assert one.primal == pytest.approx(two.primal, rel=2e-7)
    third, other = (result.trace[2].objective_estimate for result in (one, two))
    assert third != pytest.approx(other, rel=1e-4)
    coef = reduced.weight_shape.split(two.weights)[0]
    np.testing.assert_allclose(full.weight_shape.split(one.weights)[0], coef[:, :12], atol=1e-3)
    assert not coef[:, 12:].any()


@ALL
def test_starts_far_away_and_at_the_optimum(solver, norm):
    """Forbidden transitions stay at 0, and what is optimal already is certified at once."""
    problem = Problem(make_data(KINDS[1], n_samples=40), SoftMaxLoss(), norm(0.3))
    start = np.ones(problem.weight_shape.size)
    result = solve(solver, problem, warm_start=start)
    assert result.converged
    transitions = problem.weight_shape.split(result.weights)[1]
    assert (transitions[~problem.data.allowed] == 0).all()
    assert (start == 1).all()
    again = solve(solver, problem, warm_start=result.weights)
    assert again.converged
    assert again.n_passes == 1
    assert (again.weights == result.weights).all()


@ALL
def test_ends_when_floating_point_does(solver, norm):
    problem = Problem(chains(9), SoftMaxLoss(), norm(1.0))
    *_, last = solver(problem)
    assert last.stopped
    assert last.certify(problem).relative_gap < (1e-10 if norm is L2Norm else 1e-6)


def test_without_penalty_it_stops_and_does_not_claim_convergence():
    """Where no weights are the best ones, and where some are and their gradient vanishes."""
    endless, noisy = (
        Problem(chains(seed, noise=noise), SoftMaxLoss(), L2Norm(0.0))
        for seed, noise in ((7, 0.0), (8, 20.0))
    )
    result = solve(lbfgs, endless)
    assert not result.converged
    assert result.status.startswith("log-loss below 5e-05 of guessing")
    assert 0 < result.primal < 1e-4 * endless.primal(np.zeros(endless.weight_shape.size))
    assert result.dual == -np.inf
    result = solve(lbfgs, noisy, change_tol=1e-11)
    assert not result.converged
    assert "relative change" in result.status
    assert np.abs(soft_max.smooth_part(noisy, result.weights)[1]).max() < 0.01


@SPARSE
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


@SPARSE
def test_a_tiny_penalty_on_samples_without_error(solver):
    """The optimum is far out, yet there is one, and the objective falls all the way."""
    problem = Problem(chains(7, noise=0.0), SoftMaxLoss(), L1Norm(1e-3))
    result = run(solver(problem), problem, tol=1e-2, max_iter=150)
    values = [point.objective_estimate for point in result.trace]
    assert (np.diff(values) <= 0).all()
    assert result.primal < 0.02 * values[0]
    assert 0 <= result.dual <= result.primal


@ALL
def test_pairs_pay(solver, norm):
    """They tell the curvature, and without any the method gets there, too."""
    problem = Problem(chains(), SoftMaxLoss(), norm(0.1))
    with_pairs, without = (solve(solver, problem, memory=n) for n in (50, 0))
    assert with_pairs.converged
    assert without.converged
    assert with_pairs.n_passes < (0.6 if solver is owlqn else 0.4) * without.n_passes
