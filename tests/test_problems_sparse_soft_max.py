"""Log-loss with L1 penalty against enumeration, finite differences and its own duality."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_problems_soft_max import CASES, distributions, features_of, random_data, random_weights

from medn_edu.problems import L1Norm, Problem, SoftMaxLoss, soft_max
from medn_edu.problems.dual_variables import ModelDistributions
from medn_edu.problems.regularisers import minimum_norm_subgradient
from medn_edu.samples import label_samples


def subgradient(problem: Problem, weights: np.ndarray) -> np.ndarray:
    _, gradient = soft_max.smooth_part(problem, weights)
    return minimum_norm_subgradient(weights, gradient, problem.elastic_net.l1)


def sparse_weights(data, seed: int, size: float = 1.0) -> np.ndarray:
    weights = random_weights(data, seed, size)
    weights[np.random.default_rng(seed).random(weights.size) < 0.4] = 0.0
    return weights


def enumerated(data, weights: np.ndarray, lam: float):
    """Objective, eta and dual value by listing all labellings and mixing their distributions."""
    objective, eta, listed = lam * np.abs(weights).sum(), np.zeros_like(weights), []
    for i, s in enumerate(data.sample_weight):
        nodes = slice(data.samples.offsets[i], data.samples.offsets[i + 1])
        true = tuple(data.labels[nodes])
        every = itertools.product(range(data.n_labels), repeat=int(data.samples.lengths[i]))
        found = [(y, f) for y in every if (f := features_of(data, i, y)) is not None]
        f = np.array([features for _, features in found])
        truth = np.array([float(y == true) for y, _ in found])
        scores = f @ weights
        p = np.exp(scores - np.logaddexp.reduce(scores))
        objective += s * (np.logaddexp.reduce(scores) - truth @ scores)
        eta += s * (truth - p) @ f
        listed.append((s, truth, p))
    share = min(1.0, lam / np.abs(eta).max())
    dual = 0.0
    for s, truth, p in listed:
        alpha = (1 - share) * truth + share * p
        dual -= s * np.sum(alpha[alpha > 0] * np.log(alpha[alpha > 0]))
    return objective, eta, share, dual


@pytest.mark.parametrize("lam", [0.3, 3.0, 1e3])
@pytest.mark.parametrize("case", CASES)
def test_agrees_with_enumeration(case, lam):
    for seed in range(3):
        data = random_data(seed, **CASES[case])
        weights = sparse_weights(data, seed + 100)
        problem = Problem(data, SoftMaxLoss(), L1Norm(lam))
        objective, eta, share, dual = enumerated(data, weights, lam)
        loss, gradient = soft_max.smooth_part(problem, weights)
        assert loss + problem.regulariser.value(weights) == pytest.approx(objective, rel=1e-12)
        np.testing.assert_allclose(gradient, -eta, atol=1e-11)
        assert problem.primal(weights) == pytest.approx(objective, rel=1e-12)
        assert problem.dual(distributions(problem, weights)) == pytest.approx(dual, rel=1e-9)
        certificate = problem.certify(weights)
        assert certificate.primal == problem.primal(weights)
        assert certificate.dual == problem.dual(distributions(problem, weights))
        np.testing.assert_allclose(certificate.eta, share * eta, atol=1e-11)
        assert np.abs(certificate.eta).max() <= lam
        assert certificate.subgradient_norm == pytest.approx(
            np.abs(subgradient(problem, weights)).max(), rel=1e-9
        )


@given(seed=st.integers(0, 10**6), lam=st.sampled_from([0.1, 1.0, 5.0]))
@settings(max_examples=25, deadline=None)
def test_subgradient_is_the_steepest_slope(seed, lam):
    """Its entries are the one-sided slopes of the objective that lead down, else 0."""
    data = random_data(seed)
    problem = Problem(data, SoftMaxLoss(), L1Norm(lam))
    weights = sparse_weights(data, seed)
    minimum_norm = subgradient(problem, weights)
    h = 1e-6
    for k in np.random.default_rng(seed).choice(weights.size, 6):
        unit = np.eye(weights.size)[k] * h
        right = (problem.primal(weights + unit) - problem.primal(weights)) / h
        left = (problem.primal(weights) - problem.primal(weights - unit)) / h
        if not data.weight_shape.split(unit)[1][~data.allowed].any():
            # The subdifferential is [left, right]; its entry closest to 0:
            assert minimum_norm[k] == pytest.approx(max(left, min(right, 0.0)), abs=1e-3)


@given(
    seed=st.integers(0, 10**6),
    lam=st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e4]),
    size=st.sampled_from([0.0, 0.1, 1.0, 30.0]),
)
@settings(max_examples=60, deadline=None)
def test_no_dual_value_exceeds_a_primal_one(seed, lam, size):
    data = random_data(seed)
    problem = Problem(data, SoftMaxLoss(), L1Norm(lam))
    primals = [problem.primal(sparse_weights(data, seed + k, size)) for k in range(3)]
    duals = [problem.certify(sparse_weights(data, seed + k, size)).dual for k in range(3)]
    assert max(duals) <= min(primals) * (1 + 1e-12) + 1e-12
    assert min(duals) >= -1e-12


@given(
    loss=st.floats(1e-9, 40.0),
    share=st.floats(1e-6, 1.0),
    n=st.integers(1, 6),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=100, deadline=None)
def test_entropy_of_a_mixture(loss, share, n, seed):
    q = math.exp(-loss)
    others = (1 - q) * np.random.default_rng(seed).dirichlet(np.ones(n))
    p = np.append(q, others)
    alpha = share * p
    alpha[0] += 1 - share

    def entropy(x):
        return -np.sum(x[x > 0] * np.log(x[x > 0]))

    zero = np.zeros(1)
    whole = ModelDistributions(zero, zero, np.array([entropy(p)]), np.array([loss]))
    found = whole.scaled(share)
    assert found.log_losses[0] == pytest.approx(-math.log(alpha[0]))
    assert found.entropy[0] == pytest.approx(entropy(alpha), rel=1e-6, abs=1e-9)


def test_estimate_of_the_gap_is_exact_for_one_sample_and_close_for_all():
    for seed in range(5):
        one, many = random_data(seed, n_samples=1), random_data(seed, n_samples=30)
        for data, rel in ((one, 1e-7), (many, 0.3)):
            problem = Problem(data, SoftMaxLoss(), L1Norm(0.2))
            weights = sparse_weights(data, seed + 3, 0.3)
            estimate = soft_max.gap_estimate(
                problem, weights, *soft_max.smooth_part(problem, weights)
            )
            gap = problem.certify(weights).gap
            assert estimate == pytest.approx(gap, rel=rel, abs=1e-10)


def test_sample_weight_two_is_the_sample_twice():
    data = random_data(5, weighted=False, n_samples=4)
    index = np.array([0, 1, 1, 2, 3])
    labels = np.concatenate([data.samples.split(data.labels)[i] for i in index])
    twice = Problem(
        label_samples(data.samples.take(index), labels, data.allowed), SoftMaxLoss(), L1Norm(0.7)
    )
    heavy = Problem(
        label_samples(data.samples, data.labels, data.allowed, [1.0, 2.0, 1.0, 1.0]),
        SoftMaxLoss(),
        L1Norm(0.7),
    )
    weights = sparse_weights(data, 1)
    assert twice.primal(weights) == pytest.approx(heavy.primal(weights), rel=1e-13)
    assert twice.certify(weights).dual == pytest.approx(heavy.certify(weights).dual, rel=1e-12)
    np.testing.assert_allclose(subgradient(twice, weights), subgradient(heavy, weights), atol=1e-12)


def test_results_do_not_depend_on_workers(small_groups):
    data = random_data(7, n_samples=40)
    assert small_groups(data.samples) > 1
    weights = sparse_weights(data, 2)
    one, two = (
        Problem(data, SoftMaxLoss(), L1Norm(1.0), n_jobs=1),
        Problem(data, SoftMaxLoss(), L1Norm(1.0), n_jobs=2),
    )
    assert one.primal(weights) == two.primal(weights)
    assert one.certify(weights).dual == two.certify(weights).dual
    assert (subgradient(one, weights) == subgradient(two, weights)).all()


@pytest.mark.parametrize("lam", [0.0, -1.0, math.nan, math.inf])
def test_bad_penalty_is_named(lam):
    with pytest.raises(ValueError, match="scale is"):
        Problem(random_data(0), SoftMaxLoss(), L1Norm(lam))
