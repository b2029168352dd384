"""Soft-max problems, with squares and magnitudes, against enumeration and duality."""

import math
import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from enumerated import FORBIDDEN, KINDS, RICH, alpha_of, make_data, random_shares
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, logsumexp

from medn_edu import inference
from medn_edu.priors import GaussianPrior
from medn_edu.problems import (
    DualMarginals,
    DualVariables,
    ElasticNet,
    L1Ball,
    L1Norm,
    L2Norm,
    MarginLoss,
    Problem,
    SoftMaxLoss,
    SquaredL1Norm,
    soft_max,
)
from medn_edu.problems.dual_variables import ModelDistributions
from medn_edu.problems.regularisers import minimum_norm_subgradient
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem

CASES = ["chain", "chain forbidden weights", "tree weights", KINDS[1], *RICH]


def draw_weights(data: LabelledSamples, seed: int, size: float = 1.0) -> np.ndarray:
    """Draw weights, about two fifths of them 0."""
    rng, n_weights = np.random.default_rng(seed), data.weight_shape.size
    return rng.normal(scale=size, size=n_weights) * (rng.random(n_weights) < 0.6)


def distributions(problem: Problem, weights: np.ndarray) -> ModelDistributions:
    """Return ``c_i p_w(. | x_i)``, the dual variables by which `Problem.certify` judges."""
    data, loss = problem.data, problem.soft_max_loss
    coef, transitions = data.weight_shape.split(weights)
    found = inference.expected_statistics(
        data.samples,
        coef,
        inference.edge_potentials(data.samples.edge_tables(transitions), data.allowed_pairs),
        sample_weight=data.sample_weight,
        epsilon=loss.epsilon,
        loss_labels=data.labels if loss.loss_augmented else None,
        loss_scale=data.loss_scale,
        mask=data.allowed_labels,
        want_entropies=True,
    )
    eta = problem.observed - data.join(found.feature_sums, found.edge_counts)
    losses = np.zeros(data.samples.n_samples) if found.losses is None else found.losses
    truth = inference.labelling_scores(problem.potentials(weights), data.labels)
    log_losses = (found.log_partition - truth) / loss.epsilon
    return ModelDistributions(eta, losses, found.entropies, log_losses)


def rows_of(data: LabelledSamples) -> EnumeratedProblem:
    return enumerate_problem(data, GaussianPrior(), LinearSlack())


@dataclass
class Enumerated:
    """What listing all labellings yields; the dual value is at the best share of the distributions."""

    objective: float
    eta: np.ndarray
    share: float
    dual: float
    entropies: np.ndarray
    softness: float


def enumerated(problem: Problem, weights: np.ndarray) -> Enumerated:
    """Objective and dual value by the definition, the rest of the distributions on the truth."""
    net, loss, rows = problem.elastic_net, problem.soft_max_loss, rows_of(problem.data)
    epsilon, gain = loss.epsilon, rows.losses * float(loss.loss_augmented)
    scores = (gain - rows.differences @ weights) / epsilon  # beyond that of the truth
    p, entropies = np.zeros(len(gain)), np.zeros(rows.n_samples)
    objective, softness = problem.regulariser.value(weights), 0.0
    for i, c in enumerate(rows.sample_weight):
        of_sample = rows.sample == i
        log_sum = logsumexp(scores[of_sample])
        p[of_sample] = np.exp(scores[of_sample] - log_sum)
        entropies[i] = entr(p[of_sample]).sum()
        objective += c * epsilon * log_sum
        softness += c * epsilon * math.log(of_sample.sum())
    count = rows.sample_weight[rows.sample]
    eta = rows.eta(count * p)
    share = min(1.0, net.l1 / np.abs(eta).max()) if net.l2 == 0 < net.l1 else 1.0
    alpha = (1 - share) * (rows.losses == 0) + share * p
    dual = count @ (epsilon * entr(alpha) + alpha * gain)
    if net.l2 > 0:
        dual -= eta @ eta / (2 * net.l2)
    elif net.l1 == 0:
        dual = -math.inf
    return Enumerated(objective, eta, share, dual, entropies, softness)


NORMS = [L2Norm(0.0), L2Norm(0.3), L1Norm(0.3), L1Norm(3.0), L1Norm(1e3)]
FAMILY = [(1.0, False), (1.0, True), (0.3, True), (0.01, True), (0.05, False), (7.0, True)]


@pytest.mark.parametrize("norm", NORMS, ids=str)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("epsilon", "loss_augmented"), FAMILY)
def test_agrees_with_enumeration(case, norm, epsilon, loss_augmented):
    for seed in range(3):
        data = make_data(case, seed)
        weights = draw_weights(data, seed + 100)
        problem = Problem(data, SoftMaxLoss(epsilon, loss_augmented=loss_augmented), norm)
        expected = enumerated(problem, weights)
        value, slope = soft_max.smooth_part(problem, weights)
        assert value + norm.magnitudes(weights) == pytest.approx(expected.objective, rel=1e-12)
        assert problem.primal(weights) == pytest.approx(expected.objective, rel=1e-12)
        np.testing.assert_allclose(slope, norm.l2 * weights - expected.eta, atol=1e-10)
        found, certificate = distributions(problem, weights), problem.certify(weights)
        np.testing.assert_allclose(found.entropy, expected.entropies, rtol=1e-10, atol=1e-11)
        assert certificate.primal == problem.primal(weights)
        assert certificate.dual == problem.dual(found)
        assert certificate.dual == pytest.approx(expected.dual, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(certificate.eta, expected.share * expected.eta, atol=1e-11)
        softness = soft_max.softness(problem)
        assert softness == pytest.approx(expected.softness, rel=1e-12, abs=1e-14)
        if norm.l1:
            assert np.abs(certificate.eta).max() <= norm.l1
            # The subdifferential is [left, right], and its entry closest to 0 is wanted.
            left, right = (
                np.where(weights == 0, side, np.sign(weights)) * norm.l1 - expected.eta
                for side in (-1, 1)
            )
            shortest = minimum_norm_subgradient(weights, slope, norm.l1)
            np.testing.assert_allclose(shortest, np.clip(0.0, left, right), atol=1e-10)
            steepest = np.abs(shortest).max()
            assert certificate.subgradient_norm == pytest.approx(steepest, rel=1e-9)


@pytest.mark.parametrize("norm", [L2Norm(1.0), L1Norm(0.1)], ids=str)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [10.0, 200.0, 1e4])
def test_entropies_where_potentials_are_far_apart(case, size, norm):
    """Both ways of the sweeps, the scaled one and the log domain, and what is flushed in between."""
    for seed in range(4):
        data = make_data(case, seed)
        weights = np.round(draw_weights(data, seed, 2.0)) * size  # with ties, so with entropy
        problem = Problem(data, SoftMaxLoss(0.5), norm)
        expected = enumerated(problem, weights)
        entropies = distributions(problem, weights).entropy
        np.testing.assert_allclose(entropies, expected.entropies, atol=1e-11 * size)
        assert (entropies >= 0).all()
        dual = problem.certify(weights).dual
        assert dual == pytest.approx(expected.dual, abs=1e-11 * size)
        assert dual >= 0 or norm.l2


REGULARISERS = [
    *(L2Norm(lam) for lam in (1e-3, 1.0, 1e3)),
    ElasticNet(0.2, 0.5),
    *(L1Norm(lam) for lam in (1e-3, 0.1, 1.0, 30.0, 1e4)),
]


@given(
    seed=st.integers(0, 10**6),
    norm=st.sampled_from(REGULARISERS),
    epsilon=st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
    loss_augmented=st.booleans(),
    size=st.sampled_from([0.0, 0.1, 1.0, 30.0]),
)
@settings(max_examples=100, deadline=None)
def test_weak_duality_and_with_squares_an_exact_estimate_of_the_gap(
    seed, norm, epsilon, loss_augmented, size
):
    data = make_data(KINDS[1], seed)
    problem = Problem(data, SoftMaxLoss(epsilon, loss_augmented=loss_augmented), norm)
    weights, other = (draw_weights(data, seed + k, size) for k in (0, 1))
    certificate = problem.certify(weights)
    rounding = 1e-11 * (abs(certificate.primal) + abs(certificate.dual))
    assert certificate.dual <= certificate.primal + rounding
    assert problem.certify(other).dual <= certificate.primal + rounding
    if norm.l2 > 0:
        smooth = soft_max.smooth_part(problem, weights)
        estimate = soft_max.gap_estimate(problem, weights, *smooth)
        assert estimate == pytest.approx(certificate.gap, rel=1e-8, abs=rounding)


def test_estimate_of_the_gap_is_exact_for_one_sample_and_close_for_all():
    for seed in range(5):
        for n_samples, rel in ((1, 1e-7), (30, 0.3)):
            data = make_data(KINDS[1], seed, n_samples)
            problem = Problem(data, SoftMaxLoss(), L1Norm(0.2))
            weights = draw_weights(data, seed + 3, 0.3)
            smooth = soft_max.smooth_part(problem, weights)
            estimate = soft_max.gap_estimate(problem, weights, *smooth)
            gap = problem.certify(weights).gap
            assert estimate == pytest.approx(gap, rel=rel, abs=1e-10)


@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=25, deadline=None)
def test_soft_max_falls_to_the_max_within_its_bound(seed, size):
    """With the temperature the objective falls, to that of M3N, never further off than softness."""
    data = make_data(KINDS[1], seed)
    weights = draw_weights(data, seed, size)
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


@pytest.mark.parametrize("seed", range(5))
def test_dual_by_definition(seed):
    """Sparse dual variables: their dual value is Claim 1, also if every labelling comes twice."""
    data = make_data("chain forbidden weights", seed)
    rows = rows_of(data)
    problem = Problem(data, SoftMaxLoss(0.4, loss_augmented=True), L2Norm(0.7))
    alpha = alpha_of(rows, random_shares(rows, np.random.default_rng(seed)))
    values, eta, count = alpha.values, rows.eta(alpha.values), data.sample_weight[rows.sample]
    entropies = count * entr(values / count)
    expected = values @ rows.losses + 0.4 * entropies.sum() - eta @ eta / (2 * 0.7)
    assert problem.dual(alpha) == pytest.approx(expected, rel=1e-11)
    twice = alpha.scaled(0.3).concat(alpha.scaled(0.7))
    assert problem.dual(twice) == pytest.approx(expected, rel=1e-11)
    assert problem.dual(alpha.scaled(1.01)) == -math.inf
    wrong = values.copy()
    wrong[:2] += [-values[0] - 0.1, values[0] + 0.1]
    assert problem.dual(replace(alpha, values=wrong)) == -math.inf
    forbidden = np.where(data.samples.parents < 0, *FORBIDDEN)
    on_forbidden = DualVariables.on(data.samples, forbidden, data.sample_weight)
    assert problem.dual(on_forbidden) == -math.inf
    assert DualVariables.empty().entropies(data).size == 0


@pytest.mark.parametrize("loss_augmented", [False, True])
@pytest.mark.parametrize("norm", [L2Norm(0.3), L1Norm(0.1), SquaredL1Norm(0.5), L1Ball(0.7)])
def test_dual_variables_bound_the_primal_from_below(norm, loss_augmented):
    """What their sums lack where they are scaled is given to the true labellings."""
    for seed in range(20):
        data = make_data(KINDS[1], seed)
        rows = rows_of(data)
        problem = Problem(data, SoftMaxLoss(1.0, loss_augmented), norm)
        alpha = alpha_of(rows, random_shares(rows, np.random.default_rng(seed)))
        weights = draw_weights(data, seed, 0.5)
        weights *= 0.7 / np.abs(weights).sum()  # inside the ball
        certificate = problem.certify(weights, alpha)
        assert (certificate.alpha is alpha) or not isinstance(norm, L2Norm)
        np.testing.assert_allclose(certificate.alpha.totals(data), data.sample_weight)
        assert (np.diff(certificate.alpha.sample) >= 0).all()
        assert certificate.primal == problem.primal(weights)
        assert certificate.dual == problem.dual(alpha)
        assert -np.inf < certificate.dual <= certificate.primal * (1 + 1e-12)


def test_certificate_of_a_long_chain_with_many_labels_stays_small():
    """It makes no table of edge marginals, which would take 320 MB here."""
    n_nodes, n_labels = 4000, 100
    X = np.random.default_rng(0).normal(size=(n_nodes, 2))
    labels, allowed = np.arange(n_nodes) % n_labels, np.ones((1, n_labels, n_labels), dtype=bool)
    problem = Problem(label_samples(pack([X]), labels, allowed), SoftMaxLoss(), L2Norm(1.0))
    weights = draw_weights(problem.data, 0)
    tracemalloc.start()
    certificate = problem.certify(weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert certificate.gap > 0
    assert peak < 60e6


def test_a_tiny_loss_is_not_negative():
    """Where the samples are separated by far, the primal keeps its sign and stays above the dual."""
    for seed in range(40):  # in 5 of them the rounding points down
        problem = Problem(make_data(KINDS[1], seed, n_samples=2), SoftMaxLoss(), L2Norm(1e-25))
        weights = 1e9 * problem.observed  # large potentials, whose differences are mostly rounding
        assert problem.primal(weights) >= max(0.0, problem.certify(weights).dual)


@pytest.mark.parametrize("norm", [L2Norm(1.0), L1Norm(1.0)], ids=str)
def test_results_do_not_depend_on_workers(norm, small_groups):
    data = make_data(KINDS[1], 7, n_samples=40)
    assert small_groups(data.samples) > 1
    weights, loss = draw_weights(data, 2), SoftMaxLoss(0.3, loss_augmented=True)
    one, two = (Problem(data, loss, norm, n_jobs) for n_jobs in (1, 2))
    for a, b in zip(
        soft_max.smooth_part(one, weights), soft_max.smooth_part(two, weights), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert one.primal(weights) == two.primal(weights)
    assert one.certify(weights).dual == two.certify(weights).dual
    one, two = (Problem(data, MarginLoss(LinearSlack()), norm, n_jobs) for n_jobs in (1, 2))
    assert one.primal(weights) == two.primal(weights)


def test_what_is_refused():
    for number in (-1.0, math.nan, math.inf, 0.0):
        for kind, name in ((SoftMaxLoss, "epsilon"), (L1Norm, "scale"), (L2Norm, "scale")):
            if number != 0 or kind != L2Norm:
                with pytest.raises(ValueError, match=f"{name} is"):
                    kind(number)
    data, augmented = make_data(KINDS[1]), SoftMaxLoss(loss_augmented=True)
    for loss, scale in ((augmented, 0.0), (SoftMaxLoss(), 1.0)):
        with pytest.raises(ValueError, match="needs l2 > 0 and loss_augmented=True"):
            soft_max.hard_problem(Problem(data, loss, L2Norm(scale)))
    with pytest.raises(TypeError, match="but M3N has no L1 norm; expected an L2Norm"):
        soft_max.hard_problem(Problem(data, augmented, ElasticNet(0.1, 1.0)))
    marginals = DualMarginals.on(data, data.labels, data.sample_weight)
    with pytest.raises(TypeError, match="has no entropies; a soft-max loss needs them"):
        Problem(data, SoftMaxLoss(), L2Norm()).dual(marginals)
