"""The soft-max problem against enumeration, finite differences, CRFsuite and its own duality."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu import Forest
from medn_edu.packing import label_samples, pack
from medn_edu.problems import SoftMaxProblem
from medn_edu.results import Iterate
from medn_edu.structures import LabelledSamples


def random_data(
    seed: int,
    *,
    trees: bool = True,
    n_edge_types: int = 2,
    n_labels: int = 3,
    n_features: int = 4,
    forbid: bool = True,
    weighted: bool = True,
    n_samples: int = 5,
) -> LabelledSamples:
    """Make small random samples whose labels keep to what is allowed."""
    rng = np.random.default_rng(seed)
    allowed = np.ones((n_edge_types, n_labels, n_labels), dtype=bool)
    if forbid:
        allowed[0, 0, 1] = allowed[-1, 2, 2] = False
    forests, codes = [], []
    for _ in range(n_samples):
        n = int(rng.integers(1, 5))
        parents = [-1] + [int(rng.integers(-1, t)) if trees else t - 1 for t in range(1, n)]
        types = rng.integers(n_edge_types, size=n)
        X = sp.csr_matrix(rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.7))
        forests.append(Forest(X, parents, types))
        y: list[int] = []
        for t in range(n):
            fine = np.arange(n_labels)
            if parents[t] >= 0:
                fine = np.flatnonzero(allowed[types[t], y[parents[t]]])
            y.append(int(rng.choice(fine)))
        codes.extend(y)
    weight = rng.uniform(0.5, 2.0, n_samples) if weighted else None
    return label_samples(pack(forests), np.array(codes, dtype=np.int64), allowed, weight)


def random_weights(data: LabelledSamples, seed: int, size: float = 1.0) -> np.ndarray:
    """Draw weights that are 0 at forbidden transitions."""
    weights = np.random.default_rng(seed).normal(scale=size, size=data.weight_shape.size)
    data.weight_shape.split(weights)[1][~data.allowed] = 0.0
    return weights


def features_of(data: LabelledSamples, i: int, y: tuple[int, ...]) -> np.ndarray | None:
    """Joint features of one labelling by the definition; None if it is forbidden."""
    samples, first = data.samples, data.samples.offsets[i]
    coef, transitions = data.weight_shape.split(np.zeros(data.weight_shape.size))
    for t, label in enumerate(y):
        coef[label] += samples.features[first + t].toarray()[0]
        parent = samples.parents[first + t]
        if parent >= 0:
            edge = samples.edge_types[first + t], y[parent - first], label
            if not data.allowed[edge]:
                return None
            transitions[edge] += 1.0
    return data.weight_shape.join(coef, transitions)


def enumerated(data: LabelledSamples, weights: np.ndarray, lam: float):
    """Objective, gradient and dual value by listing all labellings."""
    objective, tilt, entropy = 0.5 * lam * weights @ weights, np.zeros_like(weights), 0.0
    for i, s in enumerate(data.sample_weight):
        nodes = slice(data.samples.offsets[i], data.samples.offsets[i + 1])
        truth = features_of(data, i, tuple(data.labels[nodes]))
        labellings = itertools.product(range(data.n_labels), repeat=int(data.samples.lengths[i]))
        f = np.array([f for y in labellings if (f := features_of(data, i, y)) is not None])
        scores = f @ weights
        log_z = np.logaddexp.reduce(scores)
        p = np.exp(scores - log_z)
        objective += s * (log_z - truth @ weights)
        tilt += s * (truth - p @ f)
        entropy -= s * np.sum(p * (scores - log_z))
    dual = entropy - tilt @ tilt / (2 * lam) if lam > 0 else -math.inf
    return objective, lam * weights - tilt, dual


CASES = {
    "chains": {"trees": False, "n_edge_types": 1, "forbid": False, "weighted": False},
    "chains, forbidden": {"trees": False, "n_edge_types": 1},
    "trees": {"n_edge_types": 1, "forbid": False},
    "trees, edge types, forbidden, weights": {},
}


@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.parametrize("case", CASES)
def test_agrees_with_enumeration(case, lam):
    for seed in range(4):
        data = random_data(seed, **CASES[case])
        weights = random_weights(data, seed + 100)
        problem = SoftMaxProblem(data, lam)
        objective, gradient, dual = enumerated(data, weights, lam)
        value, slope = problem.objective_and_gradient(weights)
        assert value == pytest.approx(objective, rel=1e-12)
        assert problem.primal(weights) == pytest.approx(objective, rel=1e-12)
        np.testing.assert_allclose(slope, gradient, atol=1e-11)
        assert problem.dual(weights) == pytest.approx(dual, rel=1e-10)


@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.1, 1.0, 30.0]))
@settings(max_examples=25, deadline=None)
def test_gradient_is_the_slope_of_the_objective(seed, size):
    data = random_data(seed)
    problem = SoftMaxProblem(data, 0.1)
    weights = random_weights(data, seed, size)
    direction = random_weights(data, seed + 1)
    h = 1e-5
    ahead = problem.primal(weights + h * direction)
    behind = problem.primal(weights - h * direction)
    _, gradient = problem.objective_and_gradient(weights)
    assert gradient @ direction == pytest.approx(
        (ahead - behind) / (2 * h), rel=1e-4, abs=1e-6 * (1 + abs(ahead))
    )


@given(seed=st.integers(0, 10**6), lam=st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=25, deadline=None)
def test_gap_is_the_squared_gradient(seed, lam):
    data = random_data(seed)
    problem = SoftMaxProblem(data, lam)
    weights = random_weights(data, seed, 0.5)
    objective, gradient = problem.objective_and_gradient(weights)
    certificate = problem.certify(Iterate(weights, 0.0, 0.0, 0))
    scale = abs(objective) + abs(certificate.dual)
    assert certificate.gap == pytest.approx(
        gradient @ gradient / (2 * lam), rel=1e-8, abs=1e-11 * scale
    )
    # Weak duality, at weights that have nothing to do with each other:
    other = problem.dual(random_weights(data, seed + 1, 2.0))
    assert other <= objective + 1e-11 * abs(objective)


def test_forbidden_transitions_have_no_gradient():
    data = random_data(3)
    problem = SoftMaxProblem(data, 0.5)
    _, gradient = problem.objective_and_gradient(random_weights(data, 0))
    assert (data.weight_shape.split(gradient)[1][~data.allowed] == 0).all()


def test_sample_weight_two_is_the_sample_twice():
    data = random_data(5, weighted=False, n_samples=4)
    index = np.array([0, 1, 1, 2, 3])
    samples = data.samples.take(index)
    labels = np.concatenate([data.samples.split(data.labels)[i] for i in index])
    twice = label_samples(samples, labels, data.allowed)
    heavy = label_samples(data.samples, data.labels, data.allowed, [1.0, 2.0, 1.0, 1.0])
    weights = random_weights(data, 1)
    a, b = SoftMaxProblem(twice, 0.7), SoftMaxProblem(heavy, 0.7)
    np.testing.assert_allclose(a.primal(weights), b.primal(weights), rtol=1e-13)
    np.testing.assert_allclose(a.dual(weights), b.dual(weights), rtol=1e-12)
    for x, y in zip(
        a.objective_and_gradient(weights), b.objective_and_gradient(weights), strict=True
    ):
        np.testing.assert_allclose(x, y, atol=1e-12)


def test_a_tiny_loss_is_not_negative():
    """Where the samples are separated by far, the primal keeps its sign and stays above the dual."""
    data = random_data(7, n_samples=5)
    problem = SoftMaxProblem(data, 1e-25)
    weights = 1e9 * problem.observed  # large potentials, whose differences are mostly rounding
    assert problem.primal(weights) >= max(0.0, problem.dual(weights))


def test_results_do_not_depend_on_workers(small_groups):
    data = random_data(7, n_samples=40)
    assert small_groups(data.samples) > 1
    weights = random_weights(data, 2)
    one, two = SoftMaxProblem(data, 1.0, n_jobs=1), SoftMaxProblem(data, 1.0, n_jobs=2)
    value_one, gradient_one = one.objective_and_gradient(weights)
    value_two, gradient_two = two.objective_and_gradient(weights)
    assert value_one == value_two
    assert (gradient_one == gradient_two).all()
    assert one.primal(weights) == two.primal(weights)
    assert one.dual(weights) == two.dual(weights)


@pytest.mark.parametrize("lam", [-1.0, math.nan, math.inf])
def test_bad_penalty_is_named(lam):
    with pytest.raises(ValueError, match="lam is"):
        SoftMaxProblem(random_data(0), lam)
