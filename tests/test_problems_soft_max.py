"""Soft-max problems, with squares and magnitudes, against enumeration, differences and duality."""

import dataclasses
import itertools
import math
import tracemalloc
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr

from medn_edu import Forest
from medn_edu.problems import (
    DualMarginals,
    DualVariables,
    ElasticNet,
    L1Ball,
    L1Norm,
    L2Norm,
    Problem,
    SoftMaxLoss,
    SquaredL1Norm,
    soft_max,
)
from medn_edu.problems.dual_variables import ModelDistributions
from medn_edu.problems.regularisers import minimum_norm_subgradient
from medn_edu.samples import LabelledSamples, label_samples, pack


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


def distributions(problem: Problem, weights: np.ndarray) -> ModelDistributions:
    """Return ``c_i p_w(. | x_i)``, the dual variables by which `Problem.certify` judges."""
    loss = problem.soft_max_loss
    return loss._distributions(problem, weights, loss._evaluate(problem, weights).losses)


def random_weights(data: LabelledSamples, seed: int, size: float = 1.0) -> np.ndarray:
    """Draw weights that are 0 at forbidden transitions."""
    weights = np.random.default_rng(seed).normal(scale=size, size=data.weight_shape.size)
    data.weight_shape.split(weights)[1][~data.allowed] = 0.0
    return weights


def subgradient(problem: Problem, weights: np.ndarray) -> np.ndarray:
    _, gradient = soft_max.smooth_part(problem, weights)
    return minimum_norm_subgradient(weights, gradient, problem.elastic_net.l1)


def sparse_weights(data, seed: int, size: float = 1.0) -> np.ndarray:
    weights = random_weights(data, seed, size)
    weights[np.random.default_rng(seed).random(weights.size) < 0.4] = 0.0
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


@dataclass
class Enumerated:
    """What listing all labellings yields; the dual value is at the best share of the distributions."""

    objective: float
    eta: np.ndarray
    share: float
    dual: float
    entropies: np.ndarray
    sizes: np.ndarray


def entropy(p: np.ndarray) -> float:
    return float(entr(p).sum())


def enumerated(problem: Problem, weights: np.ndarray) -> Enumerated:
    """Objective and dual value by the definition, the rest of the distributions on the truth."""
    data, net, loss = problem.data, problem.elastic_net, problem.soft_max_loss
    epsilon = loss.epsilon
    objective, eta = problem.regulariser.value(weights), np.zeros_like(weights)
    listed = []
    for i, s in enumerate(data.sample_weight):
        nodes = slice(data.samples.offsets[i], data.samples.offsets[i + 1])
        every = itertools.product(range(data.n_labels), repeat=int(data.samples.lengths[i]))
        pairs = [(y, f) for y in every if (f := features_of(data, i, y)) is not None]
        f = np.array([f for _, f in pairs])
        wrong = np.array([np.sum(np.array(y) != data.labels[nodes]) for y, _ in pairs])
        truth, gain = (wrong == 0).astype(float), wrong * float(loss.loss_augmented)
        scores = f @ weights + gain
        soft = epsilon * np.logaddexp.reduce(scores / epsilon)
        p = np.exp((scores - soft) / epsilon)
        objective += s * (soft - truth @ f @ weights)
        eta += s * (truth - p) @ f
        listed.append((s, truth, p, gain))
    share = min(1.0, net.l1 / np.abs(eta).max()) if net.l2 == 0 < net.l1 else 1.0
    mixed = [(s, (1 - share) * truth + share * p, gain) for s, truth, p, gain in listed]
    dual = sum(s * (epsilon * entropy(alpha) + alpha @ gain) for s, alpha, gain in mixed)
    if net.l2 > 0:
        dual -= eta @ eta / (2 * net.l2)
    elif net.l1 == 0:
        dual = -math.inf
    entropies = np.array([entropy(p) for _, _, p, _ in listed])
    return Enumerated(
        objective, eta, share, dual, entropies, np.array([p.size for _, _, p, _ in listed])
    )


CASES = {
    "chains": {"trees": False, "n_edge_types": 1, "forbid": False, "weighted": False},
    "chains, forbidden": {"trees": False, "n_edge_types": 1},
    "trees": {"n_edge_types": 1, "forbid": False},
    "trees, edge types, forbidden, weights": {},
}


FAMILY = [(1.0, False), (1.0, True), (0.3, True), (0.01, True), (0.05, False), (7.0, True)]


NORMS = [L2Norm(0.0), L2Norm(0.3), L1Norm(0.3), L1Norm(3.0), L1Norm(1e3)]


@pytest.mark.parametrize("norm", NORMS, ids=str)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("epsilon", "loss_augmented"), FAMILY)
def test_agrees_with_enumeration(case, norm, epsilon, loss_augmented):
    for seed in range(3):
        data = random_data(seed, **CASES[case])
        weights = sparse_weights(data, seed + 100) if norm.l1 else random_weights(data, seed + 100)
        problem = Problem(data, SoftMaxLoss(epsilon, loss_augmented=loss_augmented), norm)
        expected = enumerated(problem, weights)
        value, slope = soft_max.smooth_part(problem, weights)
        assert value + norm.magnitudes(weights) == pytest.approx(expected.objective, rel=1e-12)
        assert problem.primal(weights) == pytest.approx(expected.objective, rel=1e-12)
        np.testing.assert_allclose(slope, norm.l2 * weights - expected.eta, atol=1e-10)
        found, certificate = distributions(problem, weights), problem.certify(weights)
        assert certificate.primal == problem.primal(weights)
        assert certificate.dual == problem.dual(found)
        assert certificate.dual == pytest.approx(expected.dual, rel=1e-9)
        np.testing.assert_allclose(found.entropy, expected.entropies, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(found.eta(data), expected.eta, atol=1e-10)
        softness = epsilon * data.sample_weight @ np.log(expected.sizes)
        assert soft_max.softness(problem) == pytest.approx(softness, rel=1e-12, abs=1e-14)
        if norm.l1:
            np.testing.assert_allclose(certificate.eta, expected.share * expected.eta, atol=1e-11)
            assert np.abs(certificate.eta).max() <= norm.l1
            steepest = np.abs(subgradient(problem, weights)).max()
            assert certificate.subgradient_norm == pytest.approx(steepest, rel=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [10.0, 200.0, 1e4])
def test_entropies_where_potentials_are_far_apart(case, size):
    """Both ways of the sweeps, the scaled one and the log domain, and what is flushed in between."""
    for seed in range(4):
        data = random_data(seed, **CASES[case])
        weights = np.round(random_weights(data, seed, 2.0)) * size  # with ties, so with entropy
        problem = Problem(data, SoftMaxLoss(0.5), L2Norm(1.0))
        expected = enumerated(problem, weights)
        entropies = distributions(problem, weights).entropy
        np.testing.assert_allclose(entropies, expected.entropies, atol=1e-11 * size)
        assert (entropies >= 0).all()


@given(
    seed=st.integers(0, 10**6),
    lam=st.sampled_from([1e-3, 1.0, 1e3]),
    epsilon=st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
    loss_augmented=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_gap_is_the_squared_gradient(seed, lam, epsilon, loss_augmented):
    data = random_data(seed)
    problem = Problem(data, SoftMaxLoss(epsilon, loss_augmented=loss_augmented), L2Norm(lam))
    weights = random_weights(data, seed, 0.5)
    objective, gradient = soft_max.smooth_part(problem, weights)
    certificate = problem.certify(weights)
    scale = abs(objective) + abs(certificate.dual)
    assert certificate.gap == pytest.approx(
        gradient @ gradient / (2 * lam), rel=1e-8, abs=1e-11 * scale
    )
    # Weak duality, at weights that have nothing to do with each other:
    other = problem.dual(distributions(problem, random_weights(data, seed + 1, 2.0)))
    assert other <= objective + 1e-11 * abs(objective)


@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=25, deadline=None)
def test_soft_max_falls_to_the_max_within_its_bound(seed, size):
    """With the temperature the objective falls, to that of M3N, never further off than softness."""
    data = random_data(seed)
    weights = random_weights(data, seed, size)
    problems = [
        Problem(data, SoftMaxLoss(epsilon, loss_augmented=True), L2Norm(0.5))
        for epsilon in (10.0, 1.0, 0.1, 1e-2, 1e-4)
    ]
    hard = 0.5 * soft_max.hard_problem(problems[0]).primal(weights)
    values = np.array([problem.primal(weights) for problem in problems])
    slack = 1e-12 * abs(values[0])
    assert (np.diff(values) <= slack).all()
    assert (values >= hard - slack).all()
    assert (values - hard <= [soft_max.softness(problem) + slack for problem in problems]).all()


def random_alpha(data: LabelledSamples, labellings: list[list[tuple[int, ...]]], seed: int):
    """Random dual variables of some labellings; those of a sample sum to its weight."""
    rng = np.random.default_rng(seed)
    shares = [rng.dirichlet(np.ones(len(of_sample))) for of_sample in labellings]
    values = [s * share for s, share in zip(data.sample_weight, shares, strict=True)]
    lengths = [len(y) for of_sample in labellings for y in of_sample]
    return DualVariables(
        sample=np.repeat(np.arange(len(labellings)), [len(x) for x in labellings]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.array([a for of_sample in labellings for y in of_sample for a in y]),
        values=np.concatenate(values),
    )


@pytest.mark.parametrize("seed", range(5))
def test_dual_by_definition(seed):
    """Sparse dual variables: their dual value is Claim 1, and a lower bound as any other."""
    data = random_data(seed, forbid=False)
    problem = Problem(data, SoftMaxLoss(0.4, loss_augmented=True), L2Norm(0.7))
    rng = np.random.default_rng(seed)
    labellings = []
    for n in data.samples.lengths:
        found = rng.integers(0, 3, size=(4, n))
        labellings.append([tuple(y) for y in found] + [tuple(found[0])])  # one comes twice
    alpha = random_alpha(data, labellings, seed)
    expected, eta, j = 0.0, np.zeros(data.weight_shape.size), 0
    everything = dataclasses.replace(data, allowed=np.ones_like(data.allowed))
    for i, of_sample in enumerate(labellings):
        s, total = data.sample_weight[i], {}
        truth = data.labels[data.samples.offsets[i] : data.samples.offsets[i + 1]]
        for y in of_sample:
            a, j = alpha.values[j], j + 1
            total[y] = total.get(y, 0.0) + a
            difference = features_of(everything, i, tuple(truth)) - features_of(everything, i, y)
            eta += a * difference
            expected += a * np.sum(np.array(y) != truth)
        expected += 0.4 * s * entr(np.array(list(total.values())) / s).sum()
    expected -= eta @ eta / (2 * 0.7)
    assert problem.dual(alpha) == pytest.approx(expected, rel=1e-11)
    heavier = dataclasses.replace(alpha, values=1.01 * alpha.values)
    assert problem.dual(heavier) == -math.inf
    values = alpha.values.copy()
    values[:2] += [-values[0] - 0.1, values[0] + 0.1]
    assert problem.dual(dataclasses.replace(alpha, values=values)) == -math.inf


@pytest.mark.parametrize("loss_augmented", [False, True])
@given(seed=st.integers(0, 10**6), epsilon=st.sampled_from([1e-3, 0.1, 1.0]))
@settings(max_examples=25, deadline=None)
def test_dual_variables_bound_the_primal_from_below(loss_augmented, seed, epsilon):
    data = random_data(seed, forbid=False)
    problem = Problem(data, SoftMaxLoss(epsilon, loss_augmented), L2Norm(0.3))
    rng = np.random.default_rng(seed)
    labellings = [[tuple(y) for y in rng.integers(0, 3, size=(3, n))] for n in data.samples.lengths]
    alpha = random_alpha(data, labellings, seed)
    weights = random_weights(data, seed, 0.5)
    certificate = problem.certify(weights, alpha)
    assert certificate.alpha is alpha
    assert certificate.dual == problem.dual(alpha)
    assert certificate.primal == problem.primal(weights)
    assert certificate.gap >= -1e-11 * abs(certificate.primal)


@pytest.mark.parametrize("loss_augmented", [False, True])
@pytest.mark.parametrize("regulariser", [L1Norm(0.1), SquaredL1Norm(0.5), L1Ball(0.7)])
def test_scaled_dual_variables_bound_the_primal_from_below(regulariser, loss_augmented):
    """What their sums lack after scaling is given to the true labellings."""
    for seed in range(20):
        data = random_data(seed, forbid=False)
        problem = Problem(data, SoftMaxLoss(1.0, loss_augmented), regulariser)
        rng = np.random.default_rng(seed)
        labellings = [[tuple(rng.integers(0, 3, size=n))] for n in data.samples.lengths]
        alpha = random_alpha(data, labellings, seed)
        weights = random_weights(data, seed, 0.5)
        weights *= 0.7 / np.abs(weights).sum()  # inside the ball
        certificate = problem.certify(weights, alpha)
        np.testing.assert_allclose(certificate.alpha.totals(data), data.sample_weight)
        assert -np.inf < certificate.dual <= certificate.primal * (1 + 1e-12)


def test_certificate_of_a_long_chain_with_many_labels_stays_small():
    """It makes no table of edge marginals, which would take 320 MB here."""
    n_nodes, n_labels = 4000, 100
    X = np.random.default_rng(0).normal(size=(n_nodes, 2))
    labels = np.arange(n_nodes) % n_labels
    allowed = np.ones((1, n_labels, n_labels), dtype=bool)
    problem = Problem(label_samples(pack([X]), labels, allowed), SoftMaxLoss(), L2Norm(1.0))
    weights = random_weights(problem.data, 0)
    tracemalloc.start()
    certificate = problem.certify(weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert certificate.gap > 0
    assert peak < 60e6


def test_a_tiny_loss_is_not_negative():
    """Where the samples are separated by far, the primal keeps its sign and stays above the dual."""
    data = random_data(7, n_samples=5)
    problem = Problem(data, SoftMaxLoss(), L2Norm(1e-25))
    weights = 1e9 * problem.observed  # large potentials, whose differences are mostly rounding
    assert problem.primal(weights) >= max(0.0, problem.certify(weights).dual)


@pytest.mark.parametrize("norm", [L2Norm(1.0), L1Norm(1.0)], ids=str)
def test_results_do_not_depend_on_workers(norm, small_groups):
    data = random_data(7, n_samples=40)
    assert small_groups(data.samples) > 1
    weights, loss = sparse_weights(data, 2), SoftMaxLoss(0.3, loss_augmented=True)
    one, two = (Problem(data, loss, norm, n_jobs) for n_jobs in (1, 2))
    for a, b in zip(
        soft_max.smooth_part(one, weights), soft_max.smooth_part(two, weights), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert one.primal(weights) == two.primal(weights)
    assert one.certify(weights).dual == two.certify(weights).dual


NUMBERS = (-1.0, math.nan, math.inf)
AUGMENTED = SoftMaxLoss(loss_augmented=True)


@pytest.mark.parametrize(
    ("refused", "error", "message"),
    [
        *((partial(SoftMaxLoss, epsilon), ValueError, "epsilon is") for epsilon in (0.0, *NUMBERS)),
        *((partial(L2Norm, scale), ValueError, "scale is") for scale in NUMBERS),
        *((partial(L1Norm, scale), ValueError, "scale is") for scale in (0.0, *NUMBERS)),
        *((lambda loss=loss, scale=scale: soft_max.hard_problem(
              Problem(random_data(0), loss, L2Norm(scale))), ValueError, "needs l2 > 0 and a loss")
          for loss, scale in ((AUGMENTED, 0.0), (SoftMaxLoss(), 1.0))),
        (lambda: soft_max.hard_problem(Problem(random_data(0), AUGMENTED, ElasticNet(0.1, 1.0))),
         TypeError, "M3N has no L1 norm; expected an L2Norm"),
        (lambda: Problem(random_data(0), SoftMaxLoss(), L2Norm()).dual(
            DualMarginals.on(random_data(0), random_data(0).labels, random_data(0).sample_weight)),
         TypeError, "a soft-max loss needs entropies"),
    ],
)  # fmt: skip
def test_what_is_refused(refused, error, message):
    with pytest.raises(error, match=message):
        refused()


def test_without_dual_variables_there_is_no_entropy():
    assert DualVariables.empty().entropies(random_data(0)).size == 0


# -- magnitudes -----------------------------------------------------------------------------------


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
