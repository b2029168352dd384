"""Where exponentials would over- or underflow: potentials far apart, long chains, large stars."""

import numpy as np
import pytest
from forests import cases, make_case
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medn_edu import inference
from medn_edu.kernels import marginalize
from medn_edu.theory import reference


@pytest.mark.parametrize("scale", [3.0, 10.0, 20.0, 60.0, 200.0])
@pytest.mark.parametrize("seed", range(6))
def test_scaled_sweeps_agree_with_the_log_domain(monkeypatch, seed, scale):
    """Where all is well, where small numbers are dropped, and where some samples are lost."""
    case = make_case(seed, n_labels=4, n_nodes=60, n_samples=20, scale=scale)
    scaled, edges = inference.marginals(case.potentials), inference.edge_marginals(case.potentials)
    monkeypatch.setattr(marginalize, "scaled_up", lambda *args: args[-1].fill(True))  # all are lost
    exact = inference.marginals(case.potentials)
    np.testing.assert_allclose(scaled.log_partition, exact.log_partition, rtol=1e-13)
    np.testing.assert_allclose(scaled.node, exact.node, atol=1e-12 * scale)
    np.testing.assert_allclose(scaled.edge_counts, exact.edge_counts, atol=1e-10 * scale)
    exact_edges = inference.edge_marginals(case.potentials)
    np.testing.assert_allclose(edges, exact_edges, atol=1e-12 * scale)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(cases(forbid=(0.0, 0.2), scales=(30.0, 300.0, 1e3, 1e5)), st.sampled_from([1.0, 0.3, 2.0]))
def test_potentials_far_apart(case, epsilon):
    trees = case.trees()
    assume(all(reference.best_labelling(tree)[1] > -np.inf for tree in trees))
    found = inference.marginals(case.potentials, epsilon)
    edges = inference.edge_marginals(case.potentials, epsilon)
    expected = [reference.enumerated_marginals(tree, epsilon) for tree in trees]
    log_sums = [reference.enumerated_log_partition(tree, epsilon) for tree in trees]
    np.testing.assert_allclose(found.log_partition, log_sums, rtol=1e-13)
    accuracy = 1e-14 * max(1.0, np.abs(log_sums).max() / epsilon)
    np.testing.assert_allclose(found.node, np.concatenate([n for n, _ in expected]), atol=accuracy)
    np.testing.assert_allclose(edges, np.concatenate([e for _, e in expected]), atol=accuracy)
    np.testing.assert_allclose(found.node.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(found.edge_counts.sum(axis=0), edges.sum(axis=0), atol=1e-9)


def test_mass_that_a_scaled_sweep_would_lose_comes_back():
    """Going up, label 1 looks hopeless for longer and longer, until the root allows nothing else.

    No single step is extreme: each potential alone could be exponentiated without harm.
    """
    case = make_case(0, n_labels=2, n_samples=1, n_nodes=40, kind="chain")
    case.node[:], case.edge[:] = [0.0, -50.0], [[0.0, -np.inf], [-np.inf, 0.0]]
    case.node[0] = [-np.inf, 0.0]
    found = inference.marginals(case.potentials)
    assert found.log_partition == pytest.approx(-50.0 * 39)
    np.testing.assert_array_equal(found.node, [[0.0, 1.0]] * 40)
    draws = inference.draw_labellings(case.potentials, 3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(draws, 1)


@pytest.mark.parametrize(
    ("kind", "n_nodes", "scale"), [("star", 11, 1.0), ("star", 3001, 1.0), ("chain", 5000, 2.0)]
)
def test_many_nodes(kind, n_nodes, scale):
    """Small factors multiply: of every child of a star, of every link of a chain."""
    case = make_case(1, n_labels=3, n_samples=1, n_nodes=n_nodes, kind=kind, scale=scale)
    [tree] = case.trees()
    found = inference.marginals(case.potentials)
    node, edge = reference.marginals(tree)
    np.testing.assert_allclose(found.log_partition[0], reference.log_partition(tree), rtol=1e-12)
    np.testing.assert_allclose(found.node, node, atol=1e-10)
    np.testing.assert_allclose(inference.edge_marginals(case.potentials), edge, atol=1e-10)
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
