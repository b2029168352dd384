"""L-BFGS: optimum, certificates, CRFsuite, wide sparse features, and bad starts."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from medn_edu.problems import L2Norm, Problem, SoftMaxLoss, soft_max
from medn_edu.results import run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.solvers import lbfgs


def chains(
    seed: int = 0,
    *,
    n_samples: int = 60,
    n_labels: int = 4,
    n_features: int = 12,
    noise: float = 2.0,
    allowed: np.ndarray | None = None,
) -> LabelledSamples:
    """Make random sparse chains whose labels depend on their features."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_features, n_labels))
    X, y = [], []
    for _ in range(n_samples):
        n = int(rng.integers(1, 9))
        x = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.4)
        X.append(sp.csr_matrix(x))
        y.append(np.argmax(x @ truth + noise * rng.normal(size=(n, n_labels)), axis=1))
    if allowed is None:
        allowed = np.ones((1, n_labels, n_labels), dtype=bool)
    for codes in y:
        for t in range(1, len(codes)):
            if not allowed[0, codes[t - 1], codes[t]]:
                codes[t] = np.flatnonzero(allowed[0, codes[t - 1]])[0]
    return label_samples(pack(X), np.concatenate(y).astype(np.int64), allowed)


def solve(problem: Problem, tol: float = 1e-8, **options):
    return run(lbfgs(problem, **options), problem, tol=tol, max_iter=2000)


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
    assert solve(Problem(data, SoftMaxLoss(), L2Norm(lam))).primal == pytest.approx(
        min(losses), rel=1e-6
    )


def test_wide_sparse_features_stay_sparse(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("wide sparse features were made dense")

    rng = np.random.default_rng(1)
    X = [sp.random(5, 200_000, density=2e-4, format="csr", random_state=rng) for _ in range(30)]
    y = rng.integers(3, size=150)
    data = label_samples(pack(X), y, np.ones((1, 3, 3), dtype=bool))
    monkeypatch.setattr(sp.csr_matrix, "toarray", refuse)
    assert solve(Problem(data, SoftMaxLoss(), L2Norm(0.1)), tol=1e-4).converged


def test_the_diagonal_factor_leads_to_the_same_optimum(monkeypatch):
    problem = Problem(chains(5), SoftMaxLoss(), L2Norm(0.3))
    full = solve(problem)
    monkeypatch.setattr("medn_edu.solvers._initial_hessian.MAX_GRAM_FEATURES", 3)
    reduced = solve(problem)
    assert [p.objective_estimate for p in full.trace] != [
        p.objective_estimate for p in reduced.trace
    ]
    np.testing.assert_allclose(full.weights, reduced.weights, atol=1e-3)


def test_forbidden_transitions_stay_at_zero():
    allowed = np.ones((1, 4, 4), dtype=bool)
    allowed[0, 1, 2] = allowed[0, 3, 3] = False
    problem = Problem(chains(6, allowed=allowed), SoftMaxLoss(), L2Norm(0.3))
    start = np.ones(problem.weight_shape.size)
    result = solve(problem, warm_start=start)
    assert result.converged
    assert (problem.weight_shape.split(result.weights)[1][~allowed] == 0).all()
    assert (start == 1).all()


def test_warm_start_at_the_optimum_is_certified_at_once():
    problem = Problem(chains(), SoftMaxLoss(), L2Norm(0.5))
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-6, warm_start=first.weights)
    assert again.converged
    assert again.n_passes == 1
    assert (again.weights == first.weights).all()


def test_without_penalty_it_stops_and_does_not_claim_convergence():
    separable = chains(7, noise=0.0)
    problem = Problem(separable, SoftMaxLoss(), L2Norm(0.0))
    result = solve(problem)
    assert not result.converged
    assert result.status.startswith("log-loss below 5e-05 of guessing")
    assert 0 < result.primal < 1e-4 * problem.primal(np.zeros(problem.weight_shape.size))
    assert result.dual == -np.inf


def test_without_penalty_it_finds_an_optimum_that_exists():
    problem = Problem(chains(8, noise=20.0), SoftMaxLoss(), L2Norm(0.0))
    result = solve(problem, change_tol=1e-11)
    _, gradient = soft_max.smooth_part(problem, result.weights)
    assert np.abs(gradient).max() < 0.01
    assert not result.converged
    assert "relative change" in result.status


def test_ends_when_floating_point_does():
    problem = Problem(chains(9), SoftMaxLoss(), L2Norm(1.0))
    *_, last = lbfgs(problem)
    assert last.stopped
    assert last.gap_estimate < 1e-10 * last.objective_estimate
