"""Learners with shared weights, mostly with exact marginals, which leave nothing to approximate."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import softmax

from medn_edu.inference.loopy import Beliefs, enumerate_labellings, loopy_bp, transfer_matrix
from medn_edu.samples import WeightShape
from medn_edu.studies.kit.shared_parameters import (
    Objective,
    bfgs,
    independent_pixels,
    likelihood,
    pseudo_likelihood,
    sgd,
    shared_grids,
    smd,
)


def exact(potentials, start=None):
    return transfer_matrix(potentials)


def bethe(potentials, start=None):
    return loopy_bp(potentials, tol=1e-11, start=start)


def mean_field(potentials, start=None):
    """Damped parallel updates of independent beliefs, until nothing moves."""
    samples, node = potentials.samples, potentials.node
    _, first, second = samples.ends
    tables = potentials.edge[samples.edge_kinds]
    b = softmax(node, axis=1) if start is None else start.beliefs.node
    for _ in range(300):
        field = node.copy()
        np.add.at(field, first, np.einsum("eab,eb->ea", tables, b[second]))
        np.add.at(field, second, np.einsum("eab,ea->eb", tables, b[first]))
        b = (b + softmax(field, axis=1)) / 2
    edge = b[first][:, :, None] * b[second][:, None, :]
    value = np.add.reduceat((b * (node - np.log(b))).sum(axis=1), samples.offsets[:-1])
    of_edges = (edge * tables).sum(axis=(1, 2))
    value += np.bincount(samples.sample_of_edge, of_edges, samples.n_samples)
    return SimpleNamespace(value=value, beliefs=Beliefs(b, edge))


APPROXIMATE = {"bethe": bethe, "mean field": mean_field}


def make(loss, *, differences=True, table="ising", n=4, shape=(3, 4), lam=0.5, seed=0) -> Objective:
    rng = np.random.default_rng(seed)
    labels = (rng.normal(size=(n, *shape)).cumsum(axis=2) > 0).astype(int)
    images = labels - 0.5 + rng.normal(scale=0.6, size=labels.shape)
    samples = shared_grids(images, differences=differences)
    form = WeightShape(2, 2, 2 if differences else 1, table)
    return Objective(samples, labels.ravel(), form, loss, lam)


def some_weights(objective, seed=1):
    return np.random.default_rng(seed).normal(size=objective.shape.size)


def plain_scores(objective, weights, i):
    """Scores of all labellings of sample i, from the formula sum y w.f + sum y y' v.g."""
    samples, n = objective.samples, objective.samples.lengths[i]
    first = samples.offsets[i]
    signs = 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1
    score = signs @ (samples.features[first : first + n] @ weights[:2])
    for e, *ends in zip(*samples.ends, strict=True):
        a, b = ends - first
        if not 0 <= a < n:
            continue
        g = samples.edge_features[e] if samples.edge_features is not None else np.ones(1)
        score = score + signs[:, a] * signs[:, b] * (g @ weights[2:])
    return signs, score


def plain_likelihood(objective, weights):
    total = 0.5 * objective.lam * weights @ weights
    for i, truth in enumerate(np.split(objective.labels, objective.samples.offsets[1:-1])):
        signs, score = plain_scores(objective, weights, i)
        is_truth = (signs == 2 * truth - 1).all(axis=1)
        total += np.log(np.exp(score).sum()) - score[is_truth][0]
    return total / len(objective.labels)


def plain_pseudo_likelihood(objective, weights):
    """Each pixel's label against its flip, all others as they are."""
    total = 0.5 * objective.lam * weights @ weights
    for i, truth in enumerate(np.split(objective.labels, objective.samples.offsets[1:-1])):
        _, score = plain_scores(objective, weights, i)
        code = int((truth << np.arange(len(truth))).sum())
        for v in range(len(truth)):
            total += np.log1p(np.exp(score[code ^ (1 << v)] - score[code]))
    return total / len(objective.labels)


PLAIN = {
    "likelihood": (likelihood(exact), plain_likelihood),
    "pseudo": (pseudo_likelihood, plain_pseudo_likelihood),
}


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("shape", [(3, 3), (1, 5)])  # a grid of one row is a chain
def test_values_are_those_of_the_formula(name, differences, shape):
    loss, plain = PLAIN[name]
    objective = make(loss, differences=differences, shape=shape, n=2)
    weights = some_weights(objective)
    np.testing.assert_allclose(objective(weights).value, plain(objective, weights), rtol=1e-12)


@pytest.mark.parametrize("table", ["ising", "potts", "full"])
@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("name", PLAIN)
def test_gradients_against_differences(name, differences, table):
    objective = make(PLAIN[name][0], differences=differences, table=table)
    weights = some_weights(objective)
    slopes = approx_fprime(weights, lambda at: objective(at).value, 1e-6)
    np.testing.assert_allclose(objective(weights).gradient, slopes, atol=2e-6)


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("moments", APPROXIMATE.values(), ids=APPROXIMATE)
def test_gradients_of_approximations_at_a_fixed_point(moments, differences):
    objective = make(likelihood(moments), differences=differences)
    weights = 0.5 * some_weights(objective)
    point = objective(weights)
    slopes = approx_fprime(weights, lambda at: objective(at, point.answer).value, 1e-6)
    assert point.is_settled
    np.testing.assert_allclose(point.gradient, slopes, atol=2e-6)
    exact_value = replace(objective, loss=likelihood(exact))(weights).value
    if moments is mean_field:  # whose bound lies below the log-partition
        assert point.value < exact_value - 1e-3
    assert abs(exact_value - point.value) > 1e-4  # it is another function


def test_loopy_belief_propagation_on_a_chain_is_exact():
    objective = make(likelihood(bethe), shape=(1, 6))
    other = replace(objective, loss=likelihood(exact))
    weights = some_weights(objective)
    np.testing.assert_allclose(objective(weights).value, other(weights).value, rtol=1e-9)
    np.testing.assert_allclose(objective(weights).gradient, other(weights).gradient, atol=1e-9)


def test_batches_add_up_to_the_whole():
    objective = make(pseudo_likelihood, n=6)
    weights = some_weights(objective)
    parts = [part(weights) for part in objective.batches(2)]
    whole = objective(weights)
    np.testing.assert_allclose(np.mean([p.value for p in parts]), whole.value, rtol=1e-12)
    np.testing.assert_allclose(np.mean([p.gradient for p in parts], axis=0), whole.gradient)
    assert [part.samples.n_samples for part in objective.batches(4)] == [4, 2]


def test_bfgs_with_exact_marginals_finds_the_crf():
    objective = make(likelihood(exact), shape=(3, 3), n=3)
    learned = bfgs(objective, zeros(objective))
    crf = minimize(lambda at: plain_likelihood(objective, at), np.zeros(4), tol=1e-12)
    assert learned.status == "converged"
    np.testing.assert_allclose(learned.weights, crf.x, atol=1e-5)
    assert len(learned.trace) <= learned.n_evaluations
    assert (np.diff(learned.trace) < 0).all()
    # enumeration is another road to the same marginals
    other = make(likelihood(lambda p, start: enumerate_labellings(p)), shape=(3, 3), n=3)
    other = bfgs(other, zeros(other))
    np.testing.assert_allclose(other.weights, learned.weights, atol=1e-8)


def zeros(objective):
    return np.zeros(objective.shape.size)


STOCHASTIC = {
    "sgd": lambda objective, **more: sgd(objective, zeros(objective), step=0.5, **more),
    "smd": lambda objective, **more: smd(
        objective, zeros(objective), step=0.1, meta_step=2.0, **more
    ),
}


@pytest.mark.parametrize("learner", STOCHASTIC.values(), ids=STOCHASTIC)
@pytest.mark.parametrize("name", PLAIN)
def test_stochastic_learners_come_near_the_optimum(name, learner):
    objective = make(PLAIN[name][0], n=8)
    best = bfgs(objective, zeros(objective))
    learned = learner(objective, n_passes=15)
    at_start, at_end, least = (
        objective(w).value for w in (np.zeros(4), learned.weights, best.weights)
    )
    assert learned.status == "stopped"
    assert len(learned.trace) == 15
    assert least < at_end < least + 0.05 * (at_start - least)
    assert learned.trace[-1] < learned.trace[0]


def test_meta_descent_takes_the_steps_of_its_formula():
    """One batch, so that nothing is random; H by differences of the gradient, column by column."""
    objective = make(pseudo_likelihood, n=2)
    step, meta_step, memory = 0.5, 3.0, 0.9
    learned = smd(
        objective,
        zeros(objective),
        step=step,
        meta_step=meta_step,
        memory=memory,
        n_passes=4,
        batch_size=2,
    )
    w, eta, v = np.zeros(4), np.full(4, step), np.zeros(4)
    for _ in range(4):
        g = objective(w).gradient
        columns = [
            (objective(w + d).gradient - objective(w - d).gradient) / 2e-5 for d in 1e-5 * np.eye(4)
        ]
        eta = eta * np.maximum(0.5, 1 - meta_step * g * v)
        w, v = w - eta * g, memory * v - eta * (g + memory * np.column_stack(columns) @ v)
    np.testing.assert_allclose(learned.weights, w, rtol=1e-3)
    assert not np.allclose(eta, step, rtol=0.05)  # steps did change


@pytest.mark.parametrize("learner", STOCHASTIC.values(), ids=STOCHASTIC)
def test_the_same_seed_gives_the_same_weights(learner):
    objective = make(pseudo_likelihood, n=6)
    first, second, other = (learner(objective, n_passes=2, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert first.trace == second.trace
    assert not np.array_equal(first.weights, other.weights)


def test_divergence_is_told():
    objective = make(pseudo_likelihood)
    learned = sgd(objective, zeros(objective), step=1e8)
    assert learned.status == "diverged"
    assert np.isfinite(learned.weights).all()
    assert learned.n_evaluations < 20


@pytest.mark.parametrize("learner", [bfgs, *STOCHASTIC.values()], ids=["bfgs", *STOCHASTIC])
def test_inference_that_did_not_converge_is_told(learner):
    class Answer:
        def __init__(self, potentials):
            found = transfer_matrix(potentials)
            self.value, self.beliefs = found.value, found.beliefs
            self.converged = bool(np.abs(potentials.node).max() == 0)  # only at the start

    objective = make(likelihood(lambda potentials, start: Answer(potentials)), n=2)
    learned = learner(objective, zeros(objective)) if learner is bfgs else learner(objective)
    n_points = learned.n_evaluations if learner is bfgs else 20 * 2  # passes, batches
    assert learned.unsettled == pytest.approx(1 - 1 / n_points)


def test_a_failed_line_search_is_told():
    """Marginals that are not the derivatives of the value, as those of inference stopped too early."""

    def wrong(potentials, start):
        answer = transfer_matrix(potentials)
        answer.beliefs.node[:] = 1 - answer.beliefs.node
        return answer

    objective = make(likelihood(wrong))
    learned = bfgs(objective, zeros(objective))
    assert learned.status == "line search failed"
    assert np.isfinite(learned.weights).all()
    objective = make(likelihood(exact))
    assert bfgs(objective, zeros(objective), max_iter=2).status == "stopped"


def test_inference_starts_where_it_ended():
    """BFGS: a line search starts from one answer.  Batches: each from its own last answer."""
    asked = []

    def moments(potentials, start):
        answer = transfer_matrix(potentials)
        asked.append((start, answer))
        return answer

    objective = make(likelihood(moments), n=2)
    smd(objective, zeros(objective), step=0.1, meta_step=0.1, n_passes=2)
    starts, answers = zip(*asked, strict=True)
    assert starts[0::2] == starts[1::2]  # both gradients of a difference
    assert starts[:4] == (None,) * 4
    assert {id(start) for start in starts[4:]} == {id(answers[0]), id(answers[2])}

    asked.clear()
    learned = bfgs(objective, zeros(objective))
    starts, answers = zip(*asked, strict=True)
    assert starts[0] is None
    assert all(start in answers[:k] for k, start in enumerate(starts) if k)
    assert len(set(map(id, starts))) <= len(learned.trace)
    assert learned.n_evaluations == len(asked)


def test_grids_of_images():
    images = np.array([[[1.0, 4.0], [2.0, 0.0]]])
    samples = shared_grids(images)
    assert samples.features.toarray().tolist() == [[1, 1], [1, 4], [1, 2], [1, 0]]
    assert samples.edge_features is None
    edges = shared_grids(images, differences=True).edge_features
    assert edges.tolist() == [[1, 3], [1, 2], [1, 1], [1, 4]]


def test_learners_start_from_independent_pixels():
    objective = make(likelihood(exact))
    start = independent_pixels(objective)
    slope = objective(start).gradient
    assert (start[2:] == 0).all()
    np.testing.assert_allclose(slope[:2], 0, atol=1e-7)
    assert np.abs(slope[2:]).min() > 0.01
