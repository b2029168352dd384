"""Kernels of messages and of mean field against their readable twins."""

import numpy as np
import pytest
from loops import SHAPES, draw, exactly, states

from medn_edu import Graph
from medn_edu.inference import Potentials
from medn_edu.inference.loopy import CountingNumbers, enumerate_labellings, mean_field
from medn_edu.inference.loopy import bounds as bounding
from medn_edu.inference.loopy.graphs import equal_graphs
from medn_edu.inference.loopy.messages import ConditionalState, DampedState
from medn_edu.samples import pack
from medn_edu.theory import factor_graphs, loopy
from medn_edu.theory.factor_graphs import messages as lemma


def graph_of(state, s=0):
    """A sample as a factor graph, and its counting numbers."""
    phi, n = state.potentials, state.potentials.graphs.n_nodes
    kinds = phi.kinds[:, s if phi.kinds.shape[1] > 1 else 0]
    graph = factor_graphs.FactorGraph(
        tuple(phi.node[v, :, s] for v in range(n)),
        tuple(map(tuple, phi.graphs.ends.tolist())),
        tuple(phi.tables[k] for k in kinds),
    )
    return graph, factor_graphs.CountingNumbers(state.numbers.node, state.numbers.edge)


def as_dict(state, s=0):
    """Messages of a sample, by node and edge."""
    ends = state.potentials.graphs.ends.ravel()
    return {(ends[slot], slot // 2): state.messages[slot, :, s] for slot in range(len(ends))}


def centred(messages):
    return {key: message - message.mean() for key, message in messages.items()}


def same_messages(found, expected, atol=1e-9):
    assert found.keys() == expected.keys()
    for key, message in centred(found).items():
        np.testing.assert_allclose(message, centred(expected)[key], atol=atol)


def swept(graph, lam, c, epsilon, back):
    """Messages after every node has sent its best, and what each node believed when it did."""
    beliefs = {}
    for v in range(graph.n_nodes)[:: -1 if back else 1]:
        beliefs[v] = lemma.node_beliefs(graph, lam, c, epsilon)[v]
        lam = lam | lemma.messages_from_node(graph, lam, c, epsilon, v)
    return lam, [beliefs[v] for v in range(graph.n_nodes)]


def uneven(n_labels):
    """Samples with the same edges whose kinds differ, so that no table is shared."""
    rng = np.random.default_rng(3)
    n, edges = SHAPES["grid"]
    kinds = rng.integers(0, 4, size=(3, len(edges)))
    samples = pack([Graph(np.ones((n, 1)), edges, own) for own in kinds])
    return Potentials(
        samples, rng.normal(size=(3 * n, n_labels)), rng.normal(size=(4, n_labels, n_labels))
    )


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("choice", ["ones", "bethe", "convexified-bethe"])
def test_messages_and_beliefs_are_those_of_the_lemma(choice, n_labels, epsilon):
    """By powers where these are safe and by logarithms, with shared tables and without."""
    for potentials in (draw("grid", n_labels, n_samples=9), uneven(n_labels)):
        powers, logs = (states(potentials, choice, epsilon) for _ in range(2))
        assert powers.are_powers_safe(powers.tempered()) == (epsilon > 0)
        powers.sweep(3)
        for _ in range(3):
            logs.sweep_logs(logs.tempered(), logs.messages)
        last = powers.beliefs.shape[2] - 1
        graph, c = graph_of(powers, last)
        lam = lemma.zero_messages(graph)
        for back in (False, True, False):
            lam, expected = swept(graph, lam, c, epsilon, back)
        for state in (powers, logs):
            same_messages(as_dict(state, last), lam)
            np.testing.assert_allclose(state.beliefs[:, :, last], expected, atol=1e-9)
            tables = lemma.beliefs(graph, lam, c, epsilon).factor
            np.testing.assert_allclose(state.edge_beliefs()[..., last], tables, atol=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 1e-3, 0.0])
@pytest.mark.parametrize("choice", ["ones", "bethe", (0.7, 0.2)])
def test_terms_are_those_of_theorem_2(choice, epsilon):
    state = states(draw("grid", 3, n_samples=2), choice, epsilon)
    state.messages = np.random.default_rng(0).normal(size=state.messages.shape)
    values = np.zeros(2)
    node, edge = state.terms(values)
    for s in range(2):
        graph, c = graph_of(state, s)
        lam = as_dict(state, s)
        expected = lemma.beliefs(graph, lam, c, epsilon)
        assert values[s] == pytest.approx(lemma.decomposed_soft_max(graph, lam, c, epsilon))
        np.testing.assert_allclose(node[:, :, s], expected.node, atol=1e-9)
        np.testing.assert_allclose(edge[..., s], expected.factor, atol=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.25, 0.5])
@pytest.mark.parametrize(("epsilon", "n_sweeps"), [(1.0, 3), (1.0, 2), (0.0, 2)])
def test_damped_messages_are_sent_at_once(epsilon, n_sweeps, damping):
    state = states(draw("grid", 3), "trw", epsilon, DampedState, damping=damping)
    state.sweep(n_sweeps)
    graph, c = graph_of(state)
    lam = lemma.zero_messages(graph)
    for _ in range(n_sweeps):
        sent = {}
        for v in range(graph.n_nodes):
            own = lemma.messages_from_node(graph, lam, c, epsilon, v)
            sent |= {key: damping * lam[key] + (1.0 - damping) * m for key, m in own.items()}
        lam = sent
    same_messages(as_dict(state), lam)
    expected = lemma.node_beliefs(graph, lam, c, epsilon)
    np.testing.assert_allclose(state.beliefs[:, :, 0], expected, atol=1e-9)


@pytest.mark.parametrize("choice", ["conditional", "trw", "convexified-bethe"])
@pytest.mark.parametrize(("n_labels", "epsilon"), [(2, 1.0), (3, 0.3)])
def test_updates_with_conditional_entropies_lower_their_bound(choice, n_labels, epsilon):
    """The bound is computed from tables of messages, which the kernel never has."""
    potentials = draw("grid", n_labels, n_samples=2)
    (graphs,) = equal_graphs(potentials.samples)
    form = CountingNumbers.of(choice, graphs).concave_form(graphs)
    state = states(potentials, choice, epsilon, ConditionalState, form=form)
    graph, _ = graph_of(state, 1)
    parts = {(v, a): form.parts[slot] for slot, (v, a) in enumerate(as_dict(state))}
    c = loopy.Conditionals(form.node, form.edge, parts)
    lam = {
        (v, a): -parts[v, a] / (form.edge[a] + sum(parts[u, a] for u in graph.scopes[a]))
        * (table if v == graph.scopes[a][0] else table.T)
        for a, table in enumerate(graph.factor) for v in graph.scopes[a]
    }  # fmt: skip
    values = [loopy.conditional_bound(graph, lam, c, epsilon)]
    beliefs = [np.empty(n_labels)] * graph.n_nodes
    for sweep in range(30):
        for v in range(graph.n_nodes)[:: -1 if sweep % 2 else 1]:
            lam, beliefs[v] = loopy.conditional_update(graph, lam, c, epsilon, v)
            values.append(loopy.conditional_bound(graph, lam, c, epsilon))
        state.sweep()
        np.testing.assert_allclose(state.beliefs[..., 1], beliefs, atol=1e-9)
    assert (np.diff(values) < 1e-10).all()
    assert values[0] - values[-1] > 0.1
    upper = bounding.upper_bound(state.potentials, state.messages, form, epsilon)[1]
    lowest = exactly(potentials, choice, epsilon).upper[1]
    assert upper >= lowest - 1e-8
    assert values[-1] >= lowest - 1e-8


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.0])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_mean_field_is_ascent_over_nodes(n_labels, epsilon):
    potentials = draw("grid", n_labels, n_samples=2)
    exact = enumerate_labellings(potentials, epsilon)
    begun = mean_field(potentials, epsilon, random_state=0, max_sweeps=1, tol=1e9)
    again = mean_field(potentials, epsilon, max_sweeps=1, tol=1e9, start=begun)
    graph, _ = graph_of(states(potentials, "ones", epsilon), 1)
    beliefs = list(begun.beliefs.node[9:])
    values = [loopy.mean_field_value(graph, beliefs, epsilon)]
    assert begun.value[1] == pytest.approx(values[0])
    for v in range(9):
        beliefs[v] = loopy.mean_field_update(graph, beliefs, epsilon, v)
        values.append(loopy.mean_field_value(graph, beliefs, epsilon))
    assert (np.diff(values) > -1e-12).all()
    np.testing.assert_allclose(again.beliefs.node[9:], beliefs, atol=1e-12)
    found = mean_field(potentials, epsilon)
    assert found.converged
    assert found.disagreement < 1e-12
    assert (found.lower <= exact.value + 1e-9).all()
    assert (found.lower == found.value).all()
    assert (found.upper == np.inf).all()
    first, second = (found.beliefs.node[potentials.samples.edges[:, k]] for k in (0, 1))
    np.testing.assert_allclose(found.beliefs.edge, first[:, :, None] * second[:, None])
    np.testing.assert_array_equal(found.labels, found.beliefs.node.argmax(axis=1))


@pytest.mark.parametrize("seed", range(4))
def test_ties_are_resolved_given_what_is_decided(seed):
    """Potentials are small integers, so that many labels are equally good."""
    rng = np.random.default_rng(seed)
    n, edges = SHAPES["grid"]
    samples = pack([Graph(np.ones((n, 1)), edges, np.arange(len(edges)))])
    node, edge = np.zeros((n, 3)), rng.integers(0, 2, (len(edges), 3, 3))
    potentials = Potentials(samples, node, edge)
    state = states(potentials, "ones", 0.0)
    state.sweep()
    graph, c = graph_of(state)
    lam = as_dict(state)
    mu = {(v, a): lemma.message_to_node(graph, lam, c, 0.0, a, v) for v, a in graph.edges}
    labels, n_ties = state.decode()
    expected, n_expected = loopy.decode(graph, mu)
    np.testing.assert_array_equal(labels[:, 0], expected)
    assert n_ties == n_expected
    assert n_ties > 0
