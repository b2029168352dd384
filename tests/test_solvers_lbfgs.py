"""L-BFGS, OWL-QN and proximal L-BFGS: zeros, CRFsuite, wide features, starts, ends of the scale."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from test_solvers_all import library

from medn_edu.problems import L1Norm, L2Norm, Problem, SoftMaxLoss, soft_max
from medn_edu.results import run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.solvers import lbfgs, owlqn, proximal_lbfgs
from medn_edu.solvers.initial_hessian import InitialHessian
from medn_edu.solvers.proximal_lbfgs import ProximalSteps
from medn_edu.solvers.quasi_newton import Pair, Point


def chains(
    seed: int = 0,
    *,
    n_samples: int = 60,
    n_labels: int = 4,
    n_features: int = 12,
    n_idle: int = 0,
    noise: float = 2.0,
    allowed: np.ndarray | None = None,
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
    if allowed is None:
        allowed = np.ones((1, n_labels, n_labels), dtype=bool)
    for codes in y:
        for t in range(1, len(codes)):
            if not allowed[0, codes[t - 1], codes[t]]:
                codes[t] = np.flatnonzero(allowed[0, codes[t - 1]])[0]
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


# -- all three ----------------------------------------------------------------------------------------


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
def test_forbidden_transitions_stay_at_zero(solver, norm):
    allowed = np.ones((1, 4, 4), dtype=bool)
    allowed[0, 1, 2] = allowed[0, 3, 3] = False
    problem = Problem(chains(6, allowed=allowed), SoftMaxLoss(), norm(0.3))
    start = np.ones(problem.weight_shape.size)
    result = solve(solver, problem, warm_start=start)
    assert result.converged
    assert (problem.weight_shape.split(result.weights)[1][~allowed] == 0).all()
    assert (start == 1).all()


@ALL
def test_warm_start_at_the_optimum_is_certified_at_once(solver, norm):
    problem = Problem(chains(), SoftMaxLoss(), norm(0.5))
    first = solve(solver, problem, tol=1e-6)
    again = solve(solver, problem, tol=1e-6, warm_start=first.weights)
    assert again.converged
    assert again.n_passes == 1
    assert (again.weights == first.weights).all()


@ALL
def test_ends_when_floating_point_does(solver, norm):
    problem = Problem(chains(9), SoftMaxLoss(), norm(1.0))
    *_, last = solver(problem)
    assert last.stopped
    assert last.certify(problem).relative_gap < (1e-10 if norm is L2Norm else 1e-6)


# -- squares, or nothing ------------------------------------------------------------------------------


def test_agrees_with_crfsuite(tmp_path: Path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    lam, data = 0.8, chains(3)
    losses: list[float] = []

    class Trainer(pycrfsuite.Trainer):
        def on_iteration(self, log, info):
            losses.append(info["loss"])

    trainer = Trainer(algorithm="lbfgs", verbose=True)
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": lam / 2,  # its penalty is c2 ||w||^2
            "feature.minfreq": -1e9,  # it drops features whose values sum to less
            "feature.possible_states": 1,
            "feature.possible_transitions": 1,
            "epsilon": 1e-9,
            "delta": 1e-12,
            "max_iterations": 2000,
        }
    )
    labels = data.samples.split(data.labels)
    for i in range(data.samples.n_samples):
        rows = data.samples.features[data.samples.offsets[i] : data.samples.offsets[i + 1]]
        items = [{str(k): x for k, x in zip(row.indices, row.data, strict=True)} for row in rows]
        trainer.append(pycrfsuite.ItemSequence(items), [str(code) for code in labels[i]])
    trainer.train(str(tmp_path / "model"))
    assert solve(lbfgs, Problem(data, SoftMaxLoss(), L2Norm(lam))).primal == pytest.approx(
        min(losses), rel=1e-6
    )


def test_without_penalty_it_stops_and_does_not_claim_convergence():
    separable = chains(7, noise=0.0)
    problem = Problem(separable, SoftMaxLoss(), L2Norm(0.0))
    result = solve(lbfgs, problem)
    assert not result.converged
    assert result.status.startswith("log-loss below 5e-05 of guessing")
    assert 0 < result.primal < 1e-4 * problem.primal(np.zeros(problem.weight_shape.size))
    assert result.dual == -np.inf


def test_without_penalty_it_finds_an_optimum_that_exists():
    problem = Problem(chains(8, noise=20.0), SoftMaxLoss(), L2Norm(0.0))
    result = solve(lbfgs, problem, change_tol=1e-11)
    _, gradient = soft_max.smooth_part(problem, result.weights)
    assert np.abs(gradient).max() < 0.01
    assert not result.converged
    assert "relative change" in result.status


# -- magnitudes ---------------------------------------------------------------------------------------


@SPARSE
@pytest.mark.parametrize("lam", [0.3, 2.0, 10.0])
def test_reaches_optimum_and_zeros_of_a_library(solver, lam):
    problem = Problem(chains(**ODD), SoftMaxLoss(), L1Norm(lam))
    result = solve(solver, problem)
    weights, _ = library(problem)
    assert result.subgradient_norm < 1e-3 * lam
    assert ((result.weights != 0) == (np.abs(weights) > 1e-5)).all()
    assert 0 < (result.weights == 0).sum() < result.weights.size


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


def test_the_model_and_its_inverse_belong_together():
    """Both forms satisfy the secant equation of the latest pair and undo each other."""
    problem = Problem(chains(1), SoftMaxLoss(), L1Norm(1.0))
    rng = np.random.default_rng(0)
    steps = ProximalSteps(problem, 5)
    steps.initial = InitialHessian(problem, np.zeros(64), floor_share=1e-3)
    points = [Point.at(problem, 0.1 * rng.normal(size=64)) for _ in range(8)]
    for old, new in itertools.pairwise(points):
        steps.remember(Pair.between(old, new))
    model = steps.model()
    assert len(steps.pairs) == 5
    last = steps.pairs[-1]
    np.testing.assert_allclose(model.multiply(last.step), last.change, atol=1e-8)
    np.testing.assert_allclose(model.solve(last.change), last.step, atol=1e-8)
    vector = rng.normal(size=64)
    np.testing.assert_allclose(model.solve(model.multiply(vector)), vector, atol=1e-8)
    matrix = np.array([model.multiply(unit) for unit in np.eye(64)])
    np.testing.assert_allclose(model.root_diagonal**2, np.diag(matrix), rtol=1e-8)
    assert np.linalg.eigvalsh(matrix).min() > 0


@ALL
def test_pairs_pay(solver, norm):
    """They tell the curvature, and without any the method gets there, too."""
    problem = Problem(chains(), SoftMaxLoss(), norm(0.1))
    with_pairs, without = (solve(solver, problem, memory=n) for n in (50, 0))
    assert with_pairs.converged
    assert without.converged
    assert with_pairs.n_passes < (0.6 if solver is owlqn else 0.4) * without.n_passes
