"""The local problem's value and slopes in one walk, next to Theorem 2 and Lemma 4 in plain numpy."""

import numpy as np
import pytest

from medn_edu import Graph
from medn_edu.inference import Potentials
from medn_edu.inference.loopy.counting import CountingNumbers
from medn_edu.inference.loopy.graphs import GraphPotentials, equal_graphs
from medn_edu.inference.loopy.messages import MessageState
from medn_edu.inference.loopy.walk import MessageWalk
from medn_edu.kernels.local_gradient import messages_of_powers, powers_of_messages
from medn_edu.samples import pack
from medn_edu.theory import factor_graphs as plain
from medn_edu.theory import loopy

EDGES = np.array([[0, 1], [2, 1], [2, 0], [2, 3]])  # a triangle, one edge of it turned, and a tail


def walk(n_labels, shared, masked, numbers, seed=0, epsilon=0.7):
    """Three samples with random potentials, and a walk over them."""
    rng = np.random.default_rng(seed)
    n_samples, kinds = 3, np.array([0, 1, 0, 1])
    features = [
        Graph(np.ones((4, 1)), EDGES, kinds, rng.normal(size=(4, 1)) if not shared else None)
        for _ in range(n_samples)
    ]
    samples = pack(features)
    node = rng.normal(size=(samples.n_nodes, n_labels))
    if masked:
        node[[1, 6], [0, n_labels - 1]] = -np.inf
    edge = rng.normal(size=(samples.n_edge_kinds, n_labels, n_labels))
    (graphs,) = equal_graphs(samples)
    phi = GraphPotentials.of(graphs, Potentials(samples, node, edge))
    state = MessageState(phi, CountingNumbers.of(numbers, graphs), epsilon, phi.zero_messages())
    weight = rng.uniform(0.5, 2.0, n_samples)
    return MessageWalk(state, weight, phi.zero_messages() == 0.0), rng


def in_numpy(walk, vector, s):
    """The same sample as a factor graph, with its counting numbers and messages."""
    phi, messages = walk.state.potentials, walk.messages(vector)
    tables = np.broadcast_to(phi.edge, (*phi.edge.shape[:3], len(walk.weight)))
    graph = plain.FactorGraph(
        tuple(phi.node[v, :, s] for v in range(4)),
        tuple(map(tuple, EDGES)),
        tuple(tables[e, :, :, s] for e in range(4)),
    )
    numbers = plain.CountingNumbers(walk.state.numbers.node, walk.state.numbers.edge)
    lam = {
        (v, e): messages[2 * e + k, :, s]
        for e, ends in enumerate(EDGES)
        for k, v in enumerate(ends)
    }
    return graph, lam, numbers


@pytest.mark.parametrize("by", ["_by_powers", "_by_logs"])
@pytest.mark.parametrize(
    ("n_labels", "shared", "masked", "numbers"),
    [
        (2, True, False, (1, 1)),
        (2, False, False, (0.4, 1.3)),
        (3, True, False, (1, 1)),
        (3, False, True, (0.4, 1.3)),
        (4, True, True, CountingNumbers(np.array([1, 0.5, 2, 1]), np.array([1, 0.7, 1, 2.0]))),
    ],
)
def test_values_slopes_and_sums_are_those_of_theorem_2(n_labels, shared, masked, numbers, by):
    one, rng = walk(n_labels, shared, masked, numbers)
    phi, epsilon = one.state.potentials, one.state.epsilon
    vector = np.where(one.told[:, 1:], rng.normal(size=one.shape), 0.0).ravel()
    slopes, bends = np.empty(one.size), np.empty(one.size)
    sums = np.zeros((len(phi.tables), n_labels, n_labels))
    with np.errstate(invalid="ignore"):  # without a compiler numpy warns of labels that are masked
        values, beliefs = getattr(one, by)(one.state.tempered(), vector, 0, slopes, bends, sums)
    expected = np.zeros_like(sums)
    slopes = slopes.reshape(one.shape)
    for s, weight in enumerate(one.weight):
        graph, lam, c = in_numpy(one, vector, s)
        with np.errstate(invalid="ignore"):  # minus infinity less minus infinity, for masked labels
            value = plain.decomposed_soft_max(cleaned(graph, lam), lam, c, epsilon)
            b = plain.beliefs(cleaned(graph, lam), lam, c, epsilon)
        assert values[s] == pytest.approx(value, abs=1e-10)
        for v in range(4):
            np.testing.assert_allclose(beliefs[v, :, s], b.node[v], atol=1e-12)
        apart = b.disagreement(graph)
        for e, ends in enumerate(EDGES):
            expected[phi.kinds[e, s if phi.kinds.shape[1] > 1 else 0]] += weight * b.factor[e]
            for k, v in enumerate(ends):
                np.testing.assert_allclose(
                    slopes[2 * e + k, :, s], weight * apart[v, e][1:], atol=1e-12
                )
    np.testing.assert_allclose(sums, expected, atol=1e-12)
    assert (bends > 0).all()


def cleaned(graph, lam):
    """Minus infinity at a node and in its messages, as a number that exp takes for it."""
    for message in lam.values():
        message[message == -np.inf] = -50.0
    return plain.FactorGraph(
        tuple(np.where(phi == -np.inf, -1e4, phi) for phi in graph.node), graph.scopes, graph.factor
    )


@pytest.mark.parametrize("masked", [False, True])
def test_powers_and_messages_are_each_others_inverse(masked):
    one, rng = walk(3, True, masked, (1, 1))
    vector = np.where(one.told[:, 1:], 3.0 * rng.normal(size=one.shape), -np.inf)
    vector -= np.where(one.told[:, :1], 0.0, vector.max(axis=1, keepdims=True))
    vector[~one.told[:, 1:]] = 0.0
    t = np.array([0.5, 1.0, 2.0, 0.1])
    powers, back = np.empty(one.told.shape), np.empty(one.shape)
    powers_of_messages(vector, t, one.told, powers)
    expected = loopy.powers(one.messages(vector.ravel()), np.repeat(t, 2)[:, None, None])
    np.testing.assert_allclose(powers, expected, atol=1e-15)
    messages_of_powers(powers, t, one.told, back)
    np.testing.assert_allclose(back, vector, atol=1e-11)


def test_sweeps_lower_the_bound_and_both_ways_agree():
    one, rng = walk(3, False, True, (1, 1), seed=4)
    vector = np.where(one.told[:, 1:], rng.normal(size=one.shape), 0.0).ravel()
    found = []
    for by in ("_by_powers", "_by_logs"):
        moved, last = vector.copy(), np.inf
        for n_sweeps in (0, 1, 1, 1):
            one.state.back = False
            scratch = (
                np.empty(one.size),
                np.empty(one.size),
                np.zeros(one.state.potentials.tables.shape),
            )
            with np.errstate(invalid="ignore"):
                values, _ = getattr(one, by)(one.state.tempered(), moved, n_sweeps, *scratch)
            total = float(one.weight @ values)
            assert total <= last + 1e-12
            last = total
        found.append((moved, last))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-9)
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-10)
