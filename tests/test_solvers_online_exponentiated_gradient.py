"""Online exponentiated gradient: optima of larger problems, estimates, starts, units, rounding."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from enumerated import KINDS, RICH, make_data
from test_solvers_lbfgs import chains

from medn_edu.problems import ElasticNet, L1Norm, L2Norm, Problem, SoftMaxLoss
from medn_edu.results import SolveResult, run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.solvers import lbfgs, online_exponentiated_gradient, proximal_lbfgs, suits_visits

LOG_LOSS = SoftMaxLoss()
HINGE_LIKE = SoftMaxLoss(0.3, loss_augmented=True)
PROBLEMS = {
    **{f"L2 {scale:g}": (L2Norm(scale), LOG_LOSS) for scale in (1e-3, 1.0, 100.0)},
    "L1": (L1Norm(0.5), LOG_LOSS),
    "few": (L1Norm(8.0), LOG_LOSS),
    "net": (ElasticNet(0.3, 0.2), LOG_LOSS),
    "loss": (L2Norm(0.5), HINGE_LIKE),
    "cool": (L2Norm(0.5), SoftMaxLoss(0.1)),
    "L1 and loss": (L1Norm(0.5), HINGE_LIKE),
}


def visits(problem: Problem, seed: int = 0, **options):
    return online_exponentiated_gradient(problem, rng=np.random.default_rng(seed), **options)


def solve(problem: Problem, tol: float = 1e-6, **options) -> SolveResult:
    return run(visits(problem, **options), problem, tol=tol, max_iter=1000)


def optimum(problem: Problem) -> SolveResult:
    solver = proximal_lbfgs if problem.elastic_net.l1 > 0 else lbfgs
    return run(solver(problem), problem, tol=1e-9, max_iter=5000)


@pytest.mark.parametrize("data", [chains(n_labels=5), make_data(RICH[0] + " weights", 3, 60)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_lbfgs_and_the_estimates_come_true(name, data):
    """At no pass is the optimum outside of the certificate, and in the end both sides meet."""
    norm, loss = PROBLEMS[name]
    problem = Problem(data, loss, norm)
    best, result = optimum(problem), solve(problem)
    assert result.converged
    assert result.primal == pytest.approx(best.primal, rel=1.1e-6)
    for k, iterate in enumerate(islice(visits(problem), result.n_passes)):
        certificate = iterate.certify(problem)
        assert certificate.dual <= best.primal * (1 + 1e-9)
        assert best.dual * (1 - 1e-9) <= certificate.primal
        allowed = 1e-6 * (best.primal + abs(certificate.dual))
        assert iterate.objective_estimate == pytest.approx(certificate.dual, abs=allowed)
        assert k == 0 or iterate.gap_estimate > 0.3 * certificate.gap
    # A visit sees what it is about to mend: with strong squares nearly all of it.
    assert iterate.gap_estimate < (1000 if name == "L2 100" else 30) * certificate.gap


@pytest.mark.parametrize("name", ["L2 1", "L1"])
@pytest.mark.parametrize("unit", [0.01, 100.0])
def test_features_in_other_units(name, unit):
    """Every other column in another unit: another problem, which takes some more passes."""
    norm, loss = PROBLEMS[name]
    data = chains(n_labels=5)
    columns = data.samples.features.toarray() * np.tile([1.0, unit], 6)
    X = np.split(columns, data.samples.offsets[1:-1])
    problem = Problem(label_samples(pack(X), data.labels, data.allowed), loss, norm)
    result = solve(problem, tol=1e-5)
    assert result.converged
    assert result.n_passes < 300
    assert result.primal == pytest.approx(optimum(problem).primal, rel=1e-5)


@pytest.mark.parametrize("name", ["L2 1", "L1", "loss"])
def test_starts_far_away_and_at_the_optimum(name):
    norm, loss = PROBLEMS[name]
    problem = Problem(make_data(KINDS[1], n_samples=40), loss, norm)
    start = np.ones(problem.weight_shape.size)
    first = next(visits(problem, warm_start=start))
    assert (first.weights[: 3 * 3] == 1).all()
    result = solve(problem, warm_start=start)
    assert result.converged
    transitions = problem.weight_shape.split(result.weights)[1]
    assert (transitions[~problem.data.allowed] == 0).all()
    assert (start == 1).all()
    best = optimum(problem)
    again = solve(problem, warm_start=best.weights)
    assert again.converged
    assert again.n_passes == 1
    assert (again.weights == best.weights).all()


@pytest.mark.parametrize("norm", [L1Norm(9.0), L1Norm(2.0), L1Norm(0.3), L2Norm(0.5)])
@pytest.mark.parametrize("kind", [RICH[0], "chain costs weights"])
def test_long_after_the_optimum(kind, norm):
    """Where rounding decides, a visit takes one sum, and nothing leaves the optimum."""
    problem = Problem(make_data(kind), HINGE_LIKE, norm)
    *_, middle, last = islice(visits(problem), 0, 1500, 499)
    assert last.n_oracle_calls - middle.n_oracle_calls < 2 * 499 * problem.n_samples
    for iterate in (middle, last):
        assert iterate.certify(problem).relative_gap < 1e-6
        assert abs(iterate.gap_estimate) < 1e-6 * iterate.objective_estimate


def test_what_suits_visits():
    def text(n_samples=60, n_features=600, per_node=20, longest=5, **more) -> LabelledSamples:
        rng, lengths = np.random.default_rng(0), [longest, *[5] * (n_samples - 1)]
        X = [sp.random(n, n_features, per_node / n_features, "csr", rng=rng) for n in lengths]
        y = rng.integers(3, size=sum(lengths))
        return label_samples(pack(X), y, np.ones((1, 3, 3), dtype=bool), **more)

    assert suits_visits(text())
    assert not suits_visits(text(n_features=500))  # L-BFGS knows how so few go together
    assert not suits_visits(text(per_node=70))  # not sparse
    assert not suits_visits(text(longest=50))  # one sample has much of the data
    assert not suits_visits(text(table="potts"))
    assert not suits_visits(make_data(RICH[1]))
