"""Laws that inference obeys whatever the potentials are: derivatives, bounds, invariances, sums."""

import numpy as np
import pytest
from forests import cases, make_case
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medn_edu import inference
from medn_edu.inference import Potentials
from medn_edu.kernels import marginalize
from medn_edu.theory import reference

EPSILONS = st.sampled_from([1.0, 0.3, 2.0])
few = settings(max_examples=40, deadline=None, derandomize=True)


@few
@given(cases(forbid=(0.0,)), EPSILONS, st.integers(0, 2**16))
def test_gradient_of_the_log_partition_is_expected_features(case, epsilon, seed):
    rng = np.random.default_rng(seed)
    samples, n_labels = case.samples, case.node.shape[1]
    coef = rng.normal(size=(n_labels, samples.n_features))
    weight = rng.random(samples.n_samples) + 0.5
    found = inference.expected_statistics(
        samples, coef, case.edge, sample_weight=weight, epsilon=epsilon
    )
    direction = rng.normal(size=coef.shape), rng.normal(size=case.edge.shape)
    h = 1e-5

    def value(step: float) -> float:
        node = inference.node_potentials(samples, coef + step * direction[0])
        edge = case.edge + step * direction[1]
        return float(weight @ inference.log_partition(Potentials(samples, node, edge), epsilon))

    slope = (found.feature_sums * direction[0]).sum() + (found.edge_counts * direction[1]).sum()
    np.testing.assert_allclose((value(h) - value(-h)) / (2 * h), slope, rtol=1e-6, atol=1e-6)


@few
@given(cases(scales=(0.3, 1.0, 30.0, 1e3, 1e5)), EPSILONS)
def test_marginals_are_consistent_probabilities(case, epsilon):
    assume(all(reference.best_labelling(tree)[1] > -np.inf for tree in case.trees()))
    samples = case.samples
    found = inference.marginals(case.potentials, epsilon)
    edges = inference.edge_marginals(case.potentials, epsilon)
    assert np.isfinite(found.node).all()
    assert np.isfinite(found.log_partition).all()
    np.testing.assert_allclose(found.node.sum(axis=1), 1.0, atol=1e-9)
    child = np.flatnonzero(samples.parents >= 0)
    np.testing.assert_allclose(edges[child].sum(axis=1), found.node[child], atol=1e-9)
    np.testing.assert_allclose(
        edges[child].sum(axis=2), found.node[samples.parents[child]], atol=1e-9
    )
    np.testing.assert_array_equal(np.delete(edges, child, axis=0), 0.0)
    np.testing.assert_allclose(found.edge_counts.sum(axis=0), edges.sum(axis=0), atol=1e-9)


@few
@given(cases(forbid=(0.0,), scales=(0.0, 1.0, 1e3, 1e5)), st.sampled_from([1e-3, 0.1, 1.0, 50.0]))
def test_log_partition_is_just_above_the_maximum(case, epsilon):
    _, best = inference.best_labelling(case.potentials)
    found = inference.log_partition(case.potentials, epsilon)
    count = case.samples.lengths * np.log(case.node.shape[1])
    slack = 1e-12 * np.abs(best).max() + 1e-12
    assert (found >= best - slack).all()
    assert (found <= best + epsilon * count + slack).all()


@few
@given(cases(), st.floats(-100, 100))
def test_adding_a_constant_to_a_node_changes_nothing_else(case, constant):
    assume(all(reference.best_labelling(tree)[1] > -np.inf for tree in case.trees()))
    node = case.node.copy()
    node[-1] += constant
    before = inference.marginals(case.potentials)
    after = inference.marginals(Potentials(case.samples, node, case.edge))
    np.testing.assert_allclose(after.node, before.node, atol=1e-9)
    difference = after.log_partition - before.log_partition
    np.testing.assert_allclose(difference[-1], constant, atol=1e-9)
    np.testing.assert_allclose(difference[:-1], 0.0, atol=1e-12)


# -- where the scaled sweeps would underflow ------------------------------------------------------


def in_log_domain(monkeypatch, case, epsilon=1.0):
    """Answers with every sample sent through the log domain."""
    with monkeypatch.context() as patch:
        patch.setattr(marginalize, "scaled_up", lambda *args: args[-1].fill(True))  # all are lost
        return (
            inference.marginals(case.potentials, epsilon),
            inference.edge_marginals(case.potentials, epsilon),
        )


@pytest.mark.parametrize("scale", [3.0, 10.0, 20.0, 60.0, 200.0])
@pytest.mark.parametrize("seed", range(6))
def test_scaled_sweeps_agree_with_the_log_domain(monkeypatch, seed, scale):
    """Where all is well, where small numbers are dropped, and where some samples are lost."""
    case = make_case(seed, n_labels=4, n_nodes=60, n_samples=20, scale=scale)
    scaled, edges = (
        inference.marginals(case.potentials),
        inference.edge_marginals(case.potentials),
    )
    exact, exact_edges = in_log_domain(monkeypatch, case)
    np.testing.assert_allclose(scaled.log_partition, exact.log_partition, rtol=1e-13)
    np.testing.assert_allclose(scaled.node, exact.node, atol=1e-12 * scale)
    np.testing.assert_allclose(scaled.edge_counts, exact.edge_counts, atol=1e-10 * scale)
    np.testing.assert_allclose(edges, exact_edges, atol=1e-12 * scale)


@pytest.mark.parametrize("scale", [60.0, 300.0, 1e3, 1e5])
@pytest.mark.parametrize("forbid", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(8))
def test_potentials_far_apart(seed, scale, forbid):
    case = make_case(seed, scale=scale, forbid=forbid, ties=seed % 2 == 0)
    trees = case.trees()
    if any(reference.best_labelling(tree)[1] == -np.inf for tree in trees):
        pytest.skip("no allowed labelling")
    found = inference.marginals(case.potentials)
    edges = inference.edge_marginals(case.potentials)
    expected = [reference.enumerated_marginals(tree) for tree in trees]
    np.testing.assert_allclose(
        found.log_partition,
        [reference.enumerated_log_partition(tree) for tree in trees],
        rtol=1e-13,
    )
    accuracy = 1e-14 * scale * 100
    np.testing.assert_allclose(found.node, np.concatenate([n for n, _ in expected]), atol=accuracy)
    np.testing.assert_allclose(edges, np.concatenate([e for _, e in expected]), atol=accuracy)


def test_mass_that_a_scaled_sweep_would_lose_comes_back():
    """Going up, label 1 looks hopeless for longer and longer, until the root allows nothing else.

    No single step is extreme: each potential alone could be exponentiated without harm.
    """
    n = 40
    case = make_case(0, n_labels=2, n_samples=1, n_nodes=n, kind="chain")
    case.node[:] = [[0.0, -50.0]]
    case.node[0] = [-np.inf, 0.0]
    case.edge[:] = [[0.0, -np.inf], [-np.inf, 0.0]]
    case.samples.edge_types[:] = 0
    found = inference.marginals(case.potentials)
    assert found.log_partition == pytest.approx(-50.0 * (n - 1))
    np.testing.assert_array_equal(found.node, np.tile([0.0, 1.0], (n, 1)))
    draws = inference.draw_labellings(case.potentials, 3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(draws, 1)


@pytest.mark.parametrize("n_children", [10, 3000])
def test_star_with_many_children(n_children):
    """Every child votes a little, and the votes multiply."""
    case = make_case(1, n_labels=3, n_samples=1, n_nodes=n_children + 1, kind="star")
    tree = case.trees()[0]
    found = inference.marginals(case.potentials)
    node, edge = reference.marginals(tree)
    np.testing.assert_allclose(found.log_partition[0], reference.log_partition(tree), rtol=1e-12)
    np.testing.assert_allclose(found.node, node, atol=1e-10)
    np.testing.assert_allclose(inference.edge_marginals(case.potentials), edge, atol=1e-10)


def test_long_chain():
    case = make_case(2, n_labels=3, n_samples=1, n_nodes=20_000, kind="chain", scale=2.0)
    tree = case.trees()[0]
    found = inference.marginals(case.potentials)
    np.testing.assert_allclose(found.log_partition[0], reference.log_partition(tree), rtol=1e-12)
    np.testing.assert_allclose(found.node.sum(axis=1), 1.0, atol=1e-9)
    _, best = inference.best_labelling(case.potentials)
    assert best[0] == pytest.approx(reference.best_labelling(tree)[1], rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-4, 1e-12, 1e-300])
def test_small_temperatures_approach_the_best_labelling(epsilon):
    for seed in range(10):
        case = make_case(seed)
        labels, best = inference.best_labelling(case.potentials)
        found = inference.marginals(case.potentials, epsilon)
        np.testing.assert_allclose(found.log_partition, best, rtol=1e-12)
        np.testing.assert_allclose(found.node, np.eye(case.node.shape[1])[labels], atol=1e-9)


def test_unlikely_transition_is_not_a_forbidden_one():
    """A penalty of 1e4 hides a transition from a float, but where all have it, it decides nothing."""
    case = make_case(3, n_labels=2, n_samples=4, n_nodes=5, kind="chain")
    plain = inference.marginals(case.potentials)
    low = np.where(np.eye(2, dtype=bool), 0.0, -1e4)
    case.node[:, 0] = np.where(np.arange(20) % 2, -1e5, 0.0)
    case.node[:, 1] = np.where(np.arange(20) % 2, 0.0, -1e5)
    case.edge[:] += low
    found = inference.marginals(case.potentials)
    expected = [reference.enumerated_log_partition(tree) for tree in case.trees()]
    np.testing.assert_allclose(found.log_partition, expected, rtol=1e-12)
    assert not np.allclose(found.node, plain.node)
