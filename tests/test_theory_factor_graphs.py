"""Factor graphs: enumeration against brute force, messages against enumeration, training pairs."""

import itertools

import numpy as np
import pytest

from medn_edu.theory.factor_graphs.entropies import CountingNumbers, local_value
from medn_edu.theory.factor_graphs.graph import (
    FactorGraph,
    distribution,
    labellings,
    log_partition,
    marginals,
    probabilities,
    scores,
    soft_max,
)
from medn_edu.theory.factor_graphs.learning import random_examples
from medn_edu.theory.factor_graphs.messages import (
    beliefs,
    decomposed_soft_max,
    node_beliefs,
    norm_product,
)

TREES = [
    (((0, 1), (1, 2), (2, 3)), (2, 3, 2, 3)),
    (((0, 1), (0, 2), (3, 2, 4)), (2, 3, 2, 2, 3)),
    (((1, 0, 2),), (3, 2, 2)),
]
LOOPS = [
    (((0, 1), (1, 2), (2, 0)), (2, 3, 2)),
    (((0, 1), (2, 3), (0, 2), (1, 3)), (2, 2, 2, 2)),
    (((0, 1, 2), (2, 3), (3, 0)), (2, 2, 2, 3)),
]


def draw(scopes, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    nodes = tuple(rng.normal(size=n) for n in n_labels)
    tables = tuple(rng.normal(size=[n_labels[v] for v in scope]) for scope in scopes)
    return FactorGraph(nodes, scopes, tables)


def worst(first, second):
    return max(np.abs(x - y).max() for x, y in zip(first, second, strict=True))


@pytest.mark.parametrize("epsilon", [1.0, 0.2, -0.7])
def test_soft_max_and_distribution_by_their_definitions(epsilon):
    z = np.random.default_rng(0).normal(size=(2, 3, 4))
    direct = epsilon * np.log(np.exp(z / epsilon).sum(axis=(0, 2)))
    np.testing.assert_allclose(soft_max(z, epsilon, (0, 2)), direct, rtol=1e-13)
    direct = np.exp(z / epsilon) / np.exp(z / epsilon).sum()
    np.testing.assert_allclose(distribution(z, epsilon), direct, rtol=1e-13)


def test_soft_max_at_zero_from_either_side_and_where_numbers_would_overflow():
    z = np.array([3.0, -1.0, 3.0])
    assert soft_max(z, 0.0) == 3.0
    assert soft_max(z, -0.0) == -1.0
    np.testing.assert_array_equal(distribution(z, 0.0), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(distribution(z, -0.0), [0.0, 1.0, 0.0])
    assert abs(soft_max(z, 1e-9) - 3.0) < 1e-8
    assert abs(soft_max(z, -1e-9) + 1.0) < 1e-8
    assert soft_max(np.array([1e4, 0.0]), 1e-3) == 1e4
    assert soft_max(np.array([1e4, 0.0]), -1e-3) == 0.0


@pytest.mark.parametrize(("scopes", "n_labels"), TREES + LOOPS)
def test_scores_and_marginals_by_loops(scopes, n_labels):
    graph = draw(scopes, n_labels)
    p = probabilities(graph, 0.7)
    found = marginals(graph, p)
    nodes = [np.zeros(n) for n in n_labels]
    tables = [np.zeros_like(table) for table in graph.factor]
    for i, y in enumerate(itertools.product(*map(range, n_labels))):
        assert tuple(labellings(graph)[i]) == y
        score = sum(graph.node[v][y[v]] for v in range(graph.n_nodes))
        for a, scope in enumerate(scopes):
            score += graph.factor[a][tuple(y[v] for v in scope)]
            tables[a][tuple(y[v] for v in scope)] += p[i]
        for v in range(graph.n_nodes):
            nodes[v][y[v]] += p[i]
        assert scores(graph)[i] == pytest.approx(score, abs=1e-13)
        log_p = (score - log_partition(graph, 0.7)) / 0.7
        assert p[i] == pytest.approx(np.exp(log_p), rel=1e-12)
    assert worst(found.node, nodes) < 1e-14
    assert worst(found.factor, tables) < 1e-14
    assert worst(found.disagreement(graph).values(), [np.zeros(1)] * len(graph.edges)) < 1e-14


def test_tables_and_counting_numbers_that_are_refused():
    nodes = (np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match=r"factor\[0\] has shape \(3, 2\); expected \(2, 3\)"):
        FactorGraph(nodes, ((0, 1),), (np.zeros((3, 2)),))
    with pytest.raises(ValueError, match="different nodes"):
        FactorGraph(nodes, ((0, 0),), (np.zeros((2, 2)),))
    graph, c = draw(*TREES[0]), CountingNumbers(np.full(4, -1.0), np.full(3, 0.5))
    with pytest.raises(ValueError, match="c of node 1 and its factors add up to 0"):
        norm_product(graph, c, 1.0)


@pytest.mark.parametrize("epsilon", [1.0, 0.3])
@pytest.mark.parametrize(("scopes", "n_labels"), LOOPS)
def test_beliefs_agree_at_convergence(scopes, n_labels, epsilon):
    graph = draw(scopes, n_labels)
    rng = np.random.default_rng(1)
    c = CountingNumbers(rng.uniform(0.5, 2, graph.n_nodes), rng.uniform(0.5, 2, graph.n_factors))
    lam = norm_product(graph, c, epsilon, n_sweeps=2000)
    found = beliefs(graph, lam, c, epsilon)
    assert worst(found.disagreement(graph).values(), [np.zeros(1)] * len(graph.edges)) < 1e-10
    assert worst(found.node, node_beliefs(graph, lam, c, epsilon)) < 1e-10
    bound = decomposed_soft_max(graph, lam, c, epsilon)
    assert local_value(graph, found, c, epsilon) == pytest.approx(bound, abs=1e-9)
    assert bound > local_value(graph, marginals(graph, probabilities(graph)), c, epsilon)


def test_without_entropy_the_linear_program_relaxes_the_maximum():
    """All counting numbers 0: on a frustrated cycle the bound stays above every labelling."""
    differ = 1.0 - np.eye(2)
    scopes = ((0, 1), (1, 2), (2, 0))
    graph = FactorGraph((np.zeros(2),) * 3, scopes, (differ,) * 3)
    c = CountingNumbers(np.zeros(3), np.zeros(3))
    lam = norm_product(graph, c, 1.0)
    assert log_partition(graph, 0.0) == 2.0
    assert decomposed_soft_max(graph, lam, c, 1.0) == pytest.approx(3.0, abs=1e-12)


def test_an_example_by_loops():
    scopes, n_labels = LOOPS[2]
    example = random_examples(np.random.default_rng(0), scopes, n_labels)[0]
    theta, index = np.array([0.3, -1.0, 0.7]), np.ravel_multi_index(example.truth, n_labels)
    assert np.flatnonzero(example.losses == 0).tolist() == [index]
    np.testing.assert_allclose(example.features[index], example.true_features, atol=1e-13)
    by_features = example.losses + example.features @ theta
    np.testing.assert_allclose(scores(example.graph(theta)), by_features, atol=1e-13)
