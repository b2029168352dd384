"""The EM-style algorithm of L1-M3N: its steps by hand, and features that all die."""

import itertools

import numpy as np
import pytest
from enumerated import KINDS, make_data
from sklearn.exceptions import ConvergenceWarning

from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Norm, MarginLoss, Problem, Regulariser, SquaredL1Norm
from medn_edu.results import Iterate
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import adaptive_m3n

C, SCALE = 1.3, 0.7
NORMS = {"L1-M3N": L1Norm(), "adaptive M3N": SquaredL1Norm(SCALE)}


def make_problem(norm: Regulariser, kind: str = KINDS[1], price: float = C, seed: int = 0):
    return Problem(make_data(kind, seed), MarginLoss(LinearSlack(price)), norm)


def iterates(problem: Problem, n_iterations: int = 8, **options) -> list[Iterate]:
    """All iterates; every one has arrays of its own."""
    options = {"tol": 1e-9, "max_iter": 5000, **options}
    rng = np.random.default_rng(0)
    return list(adaptive_m3n(problem, rng=rng, n_iterations=n_iterations, **options))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_algorithm_3(norm, kind):
    """Weights solve the quadratic program of the variances that follow from the weights before."""
    problem = make_problem(NORMS[norm], kind)
    points = iterates(problem)
    assert len(points) == 8
    if norm == "adaptive M3N":  # The first program is M3N with the sum of tau that P2 asks for.
        first, lam = points[0], SCALE * len(points[0].weights)
        eta = first.dual().eta(problem.data)
        np.testing.assert_allclose(first.weights, eta / lam / 2, atol=1e-8)
    for before, point in itertools.pairwise(points):
        size = np.abs(before.weights)
        beta_squared = len(size) * size / size.sum()  # Eq. 6
        if norm == "L1-M3N":
            variance = 2 * size
        else:
            lam = SCALE * len(size)
            variance = beta_squared / lam / 2  # tau / 2
        live = beta_squared > 1e-8
        quadratic = Problem(
            problem.data,
            MarginLoss(problem.loss.slack),
            GaussianPrior(np.where(live, variance, 1e-12)),
        )
        alpha = point.dual()
        eta = alpha.eta(problem.data)
        np.testing.assert_allclose(point.weights[live], (variance * eta)[live], atol=1e-8)
        gap = quadratic.primal(point.weights) - quadratic.dual(alpha)
        assert abs(gap) <= 1e-8 * point.objective_estimate
        assert not point.weights[~live].any()


@pytest.mark.parametrize("scale", [0.05, SCALE])
def test_scaled_features_are_the_same_as_variances(scale):
    """Eq. 5: ``gamma = w / beta`` solves M3N, with ``lam``, of features scaled by ``beta``."""
    problem = make_problem(SquaredL1Norm(scale), KINDS[0])
    first, second = iterates(problem, 2)
    size, lam = np.abs(first.weights), scale * len(first.weights)
    beta = np.sqrt(size / size.mean())
    gamma = np.divide(second.weights, beta, out=np.zeros_like(beta), where=beta > 0)
    alpha = second.dual()
    primal = lam * gamma @ gamma + problem.total_loss(beta * gamma)
    scaled_eta = beta * alpha.eta(problem.data)
    dual = alpha.loss(problem.data) - scaled_eta @ scaled_eta / (4 * lam)
    assert primal == pytest.approx(dual, rel=1e-7)


def test_the_dead_stay_dead():
    problem = make_problem(NORMS["L1-M3N"])
    points = iterates(problem, threshold=0.5)
    for before, after in itertools.pairwise(points):
        assert not after.weights[before.weights == 0].any()
    size = np.abs(points[-1].weights)
    assert np.count_nonzero(size == 0) > 0
    assert np.count_nonzero(iterates(problem, threshold=0.0)[-1].weights) > np.count_nonzero(size)


NO_FEATURES = Problem.of([np.zeros((1, 2))] * 2, [[0], [1]], regulariser=SquaredL1Norm(0.1))


@pytest.mark.parametrize(
    ("problem", "threshold", "words"),
    [
        (make_problem(L1Norm(), price=1e-3), 1e-4, r"died in iteration \d+: .* its price; raise C"),
        (NO_FEATURES, 1e-4, "no feature tells .*; check features and labels"),
        (make_problem(L1Norm()), 100.0, "iteration 1: no beta is above .* lower it"),
    ],
    ids=["a tiny C", "features that say nothing", "a high threshold"],
)
def test_where_every_feature_dies_a_sentence_says_so(problem, threshold, words):
    with pytest.warns(ConvergenceWarning, match=words) as warned:
        last = iterates(problem, threshold=threshold)[-1]
    assert str(warned[0].message) == f"{last.stopped}."
    if threshold == 100.0:  # the weights are the best there have been
        (first,) = iterates(problem, 1)
        np.testing.assert_array_equal(last.weights, first.weights)
    else:
        assert not last.weights.any()
        assert last.gap_estimate <= 1e-9
