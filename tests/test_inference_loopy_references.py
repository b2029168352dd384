"""Four exact references against enumeration in plain Python, and against each other."""

import itertools
import math

import numpy as np
import pytest

from medn_edu.inference import Potentials, edge_marginals, marginals
from medn_edu.inference.loopy import enumerate_labellings, local_polytope, min_cut, transfer_matrix
from medn_edu.samples import Forest, Graph, grid, pack

EPSILONS = [1.0, 0.3, 0.01, 0.0]
SHAPES = {  # with at most 4 ** 6 labellings
    "triangle": (3, [[0, 1], [2, 1], [2, 0]]),
    "circle": (5, [[0, 1], [1, 2], [3, 2], [3, 4], [4, 0]]),
    "tree": (5, [[3, 0], [0, 1], [1, 4], [1, 2]]),
    "grid": (6, grid(np.ones((2, 3))).edges.tolist()),
    "complete": (4, [[b, a] for a, b in itertools.combinations(range(4), 2)]),
    "loose": (4, [[1, 3]]),
    "single": (1, []),
}
FEASIBLE = 1e-7  # for HiGHS


def graphs(shapes, rng, *, n_labels=2, forbid=0.0, ties=False, attractive=False) -> Potentials:
    """Random potentials for graphs whose every edge has a table of its own; all zeros is allowed."""
    forms, n_edges = [], 0
    for n, edges in shapes:
        edges = np.array(edges, dtype=int).reshape(-1, 2)
        forms.append(Graph(np.ones((n, 1)), edges, n_edges + np.arange(len(edges))))
        n_edges += len(edges)
    samples = pack(forms)

    def draw(*size):
        unit = 1.0 if attractive else 0.1  # whose sums are rounded
        drawn = rng.integers(0, 3, size) * unit if ties else rng.normal(size=size)
        drawn[rng.random(size) < forbid] = -np.inf
        return drawn

    node, edge = draw(samples.n_nodes, n_labels), draw(n_edges, n_labels, n_labels)
    node[:, 0], edge[:, 0, 0] = finite(node[:, 0]), finite(edge[:, 0, 0])
    if not ties:
        edge *= 5.0  # so that circles are frustrated now and then
    if attractive:
        edge[:, 1, 1] = finite(edge[:, 1, 1])
        repulsive = edge[:, 0, 0] + edge[:, 1, 1] < edge[:, 0, 1] + edge[:, 1, 0]
        edge[repulsive] = edge[repulsive][:, ::-1]
    return Potentials(samples, node, edge)


def finite(values):
    return np.where(values == -np.inf, 0.0, values)


def brute(potentials: Potentials, i: int, epsilon: float):
    """Value, node and edge marginals of one sample, labelling by labelling."""
    samples, n_labels = potentials.samples, potentials.n_labels
    start, stop = samples.offsets[i], samples.offsets[i + 1]
    rows = range(samples.edge_offsets[i], samples.edge_offsets[i + 1])
    n, scored = stop - start, {}
    for y in itertools.product(range(n_labels), repeat=n):
        score = sum(potentials.node[start + v, y[v]] for v in range(n))
        for e in rows:
            a, b = samples.edges[e] - start
            score += potentials.edge[samples.edge_kinds[e], y[a], y[b]]
        scored[y] = score
    best = max(scored.values())
    if epsilon > 0:
        weights = {y: math.exp((score - best) / epsilon) for y, score in scored.items()}
    else:
        weights = {y: float(score > best - 1e-9) for y, score in scored.items()}
    total = sum(weights.values())
    node, edge = np.zeros((n, n_labels)), np.zeros((len(rows), n_labels, n_labels))
    for y, weight in weights.items():
        node[np.arange(n), y] += weight / total
        for k, e in enumerate(rows):
            a, b = samples.edges[e] - start
            edge[k, y[a], y[b]] += weight / total
    return best + (epsilon * math.log(total) if epsilon > 0 else 0.0), node, edge


def scores(potentials, labels):
    """Scores of the labellings of all samples."""
    samples, every = potentials.samples, np.arange(len(labels))
    node = np.add.reduceat(potentials.node[every, labels], samples.offsets[:-1])
    first, second = labels[samples.edges].T
    pairs = potentials.edge[samples.edge_kinds, first, second]
    owner = samples.sample_of_node[samples.edges[:, 0]]
    return node + np.bincount(owner, pairs, samples.n_samples)


def assert_same(one, other, atol=1e-10):
    np.testing.assert_allclose(one.value, other.value, atol=atol)
    np.testing.assert_allclose(one.beliefs.node, other.beliefs.node, atol=atol)
    np.testing.assert_allclose(one.beliefs.edge, other.beliefs.edge, atol=atol)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("forbid", [0.0, 0.15])
@pytest.mark.parametrize(("n_labels", "ties"), [(2, False), (3, True), (4, False), (2, True)])
def test_marginals_are_those_of_brute_force(n_labels, ties, forbid, epsilon):
    shapes = [SHAPES[name] for name in SHAPES if n_labels < 4 or name not in ("circle", "grid")]
    rng = np.random.default_rng([n_labels, ties])
    potentials = graphs(shapes, rng, n_labels=n_labels, forbid=forbid, ties=ties)
    found = enumerate_labellings(potentials, epsilon)
    for i in range(len(shapes)):
        value, node, edge = brute(potentials, i, epsilon)
        own = slice(*potentials.samples.edge_offsets[i : i + 2])
        np.testing.assert_allclose(found.value[i], value, atol=1e-12)
        np.testing.assert_allclose(
            potentials.samples.split(found.beliefs.node)[i], node, atol=1e-12
        )
        np.testing.assert_allclose(found.beliefs.edge[own], edge, atol=1e-12)
    assert_same(transfer_matrix(potentials, epsilon), found)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("forbid", [0.0, 0.2])
def test_a_cut_is_a_best_labelling_and_tight(ties, forbid):
    shapes = [(16, grid(np.ones((4, 4)), 8).edges), *SHAPES.values()] * 3
    rng = np.random.default_rng(5)
    potentials = graphs(shapes, rng, forbid=forbid, ties=ties, attractive=True)
    best, cut = transfer_matrix(potentials, 0.0), min_cut(potentials)
    relaxed = local_polytope(potentials)
    np.testing.assert_allclose(cut.score, best.value, atol=1e-12)
    np.testing.assert_allclose(scores(potentials, cut.labels), cut.score, atol=1e-12)
    assert (cut.most_lost >= 0).all()
    assert (cut.most_lost <= (0 if ties else 1e-11)).all()
    np.testing.assert_allclose(relaxed.value, best.value, atol=FEASIBLE)
    if not ties:  # otherwise a vertex need not be unique
        assert relaxed.is_integral.all()
        np.testing.assert_array_equal(relaxed.beliefs.node.argmax(axis=1), cut.labels)
        assert_same(relaxed, best, FEASIBLE)


@pytest.mark.parametrize("forbid", [0.0, 0.1])
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_the_local_polytope_bounds_the_best_score_by_beliefs_that_agree(n_labels, forbid):
    rng = np.random.default_rng([n_labels, 1])
    names = [name for name in SHAPES if n_labels < 4 or name not in ("circle", "grid")] * 8
    potentials = graphs([SHAPES[name] for name in names], rng, n_labels=n_labels, forbid=forbid)
    samples, found = potentials.samples, local_polytope(potentials)
    node, edge, best = found.beliefs.node, found.beliefs.edge, transfer_matrix(potentials, 0.0)
    assert (found.value >= best.value - FEASIBLE).all()
    exact = np.isin(names, ["tree", "loose", "single"])
    tight = exact | found.is_integral
    np.testing.assert_allclose(found.value[tight], best.value[tight], atol=FEASIBLE)
    if not forbid:
        assert (found.value > best.value + 0.01)[~tight].any()
    assert (node >= 0).all()
    assert (edge >= 0).all()
    np.testing.assert_allclose(node.sum(axis=1), 1.0, atol=FEASIBLE)
    np.testing.assert_allclose(edge.sum(axis=2), node[samples.edges[:, 0]], atol=FEASIBLE)
    np.testing.assert_allclose(edge.sum(axis=1), node[samples.edges[:, 1]], atol=FEASIBLE)
    tables = potentials.edge[samples.edge_kinds]
    assert not node[potentials.node == -np.inf].any()
    assert not edge[tables == -np.inf].any()
    gained = node[node > 0] @ potentials.node[node > 0] + edge[edge > 0] @ tables[edge > 0]
    np.testing.assert_allclose(found.value.sum(), gained)


def moved(potentials: Potentials, nodes, edges, labels, swap) -> Potentials:
    """The same graph told in another way: node ``nodes[v]`` is ``v`` now, and so on."""
    samples = potentials.samples
    place = np.argsort(nodes)
    ends, tables = place[samples.edges[edges]], potentials.edge[samples.edge_kinds[edges]]
    tables = tables[:, labels][:, :, labels]
    ends[swap], tables[swap] = ends[swap][:, ::-1], tables[swap].swapaxes(1, 2)
    other = pack([Graph(np.ones((len(nodes), 1)), ends, np.arange(len(ends)))])
    return Potentials(other, potentials.node[nodes][:, labels], tables)


@pytest.mark.parametrize("seed", range(4))
def test_other_names_for_nodes_edges_and_labels_change_nothing(seed):
    rng = np.random.default_rng(seed)
    one = graphs([(12, grid(np.ones((3, 4))).edges)], rng, attractive=True, forbid=0.1)
    nodes, edges = rng.permutation(12), rng.permutation(17)
    swap = rng.random(17) < 0.5
    other = moved(one, nodes, edges, [1, 0], swap)
    for epsilon in EPSILONS:
        for infer in (enumerate_labellings, transfer_matrix):
            before, after = infer(one, epsilon), infer(other, epsilon)
            np.testing.assert_allclose(after.value, before.value, atol=1e-12)
            node = before.beliefs.node[nodes][:, [1, 0]]
            edge = before.beliefs.edge[edges][:, ::-1, ::-1]
            edge[swap] = edge[swap].swapaxes(1, 2)
            np.testing.assert_allclose(after.beliefs.node, node, atol=1e-10)
            np.testing.assert_allclose(after.beliefs.edge, edge, atol=1e-10)
    np.testing.assert_allclose(min_cut(other).score, min_cut(one).score, atol=1e-12)
    np.testing.assert_array_equal(min_cut(other).labels, 1 - min_cut(one).labels[nodes])
    np.testing.assert_allclose(
        local_polytope(other).value, local_polytope(one).value, atol=FEASIBLE
    )


def test_elimination_counts_the_patterns_without_two_black_neighbours():
    """On n x n grids there are 2, 7, 63, 1234, ... of them; all are best at temperature 0."""
    counts = [7, 63, 1234, 55447, 5598861, 1280128950]
    samples = pack([grid(np.ones((n, n))) for n in range(2, 8)])
    hard = Potentials(samples, np.zeros((samples.n_nodes, 2)), [[[0.0, 0.0], [0.0, -np.inf]]])
    found = transfer_matrix(hard, 0.5)
    np.testing.assert_allclose(np.exp(found.value / 0.5), counts, rtol=1e-10)
    best = transfer_matrix(hard, 0.0)
    np.testing.assert_array_equal(best.value, np.zeros(6))
    np.testing.assert_allclose(best.beliefs.node, found.beliefs.node, atol=1e-12)
    np.testing.assert_allclose(best.beliefs.edge, found.beliefs.edge, atol=1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 0.05])
def test_marginals_of_a_wide_grid_are_slopes_of_its_value(epsilon):
    rng = np.random.default_rng(0)
    given = graphs([(30, grid(np.ones((3, 10))).edges)], rng)
    found, step = transfer_matrix(given, epsilon), 1e-5 * epsilon
    node, edge = rng.normal(size=given.node.shape), rng.normal(size=given.edge.shape)

    def value(size):
        shifted = Potentials(given.samples, given.node + size * node, given.edge + size * edge)
        return transfer_matrix(shifted, epsilon).value[0]

    slope = (value(step) - value(-step)) / (2 * step)
    expected = (found.beliefs.node * node).sum() + (found.beliefs.edge * edge).sum()
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


@pytest.mark.parametrize(("connectivity", "shape"), [(4, (2, 14)), (4, (14, 2)), (8, (4, 7))])
def test_grids_are_visited_along_their_shorter_side(connectivity, shape):
    """With six labels, whose frontier must not be wider than five nodes."""
    lying = pack([grid(np.ones(shape), connectivity)])
    standing = pack([grid(np.ones(shape[::-1]), connectivity)])
    rng = np.random.default_rng(0)
    node, edge = rng.normal(size=(*shape, 6)), rng.normal(size=(lying.n_edge_kinds, 6, 6))
    edge += edge.swapaxes(1, 2)  # diagonals change their direction
    one = transfer_matrix(Potentials(lying, node.reshape(-1, 6), edge), 0.1)
    other = transfer_matrix(Potentials(standing, node.swapaxes(0, 1).reshape(-1, 6), edge), 0.1)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
    turned = other.beliefs.node.reshape(*shape[::-1], 6).swapaxes(0, 1)
    np.testing.assert_allclose(one.beliefs.node.reshape(turned.shape), turned, atol=1e-12)


def test_samples_with_equal_edges_are_eliminated_together_as_they_would_be_alone():
    rng = np.random.default_rng(1)
    names = ["grid", "circle", "grid", "triangle", "grid"]
    together = graphs([SHAPES[name] for name in names], rng)
    found = transfer_matrix(together, 0.3)
    for i in range(len(names)):
        own = slice(*together.samples.edge_offsets[i : i + 2])
        part = together.samples.take(np.array([i]))
        alone = transfer_matrix(
            Potentials(part, together.samples.split(together.node)[i], together.edge), 0.3
        )
        assert alone.value[0] == found.value[i]
        np.testing.assert_array_equal(alone.beliefs.edge, found.beliefs.edge[own])


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_references_do_not_depend_on_the_unit_of_scores(size):
    one = graphs([(100, grid(np.ones((10, 10))).edges)], np.random.default_rng(2), attractive=True)
    other = Potentials(one.samples, size * one.node, size * one.edge)
    cut, best = min_cut(other), transfer_matrix(other, 0.0)
    np.testing.assert_allclose(cut.score, size * min_cut(one).score, rtol=1e-12)
    np.testing.assert_allclose(best.value, cut.score, rtol=1e-12)
    np.testing.assert_array_equal(best.beliefs.node.argmax(axis=1), cut.labels)
    np.testing.assert_allclose(local_polytope(other).value, cut.score, rtol=1e-8)
    assert cut.most_lost < 1e-11 * cut.score


def test_forests_are_graphs_whose_edges_run_from_parent_to_child():
    rng = np.random.default_rng(3)
    samples = pack([Forest(np.ones((4, 1)), [-1, 0, 0, 2]), np.ones((3, 1))])
    potentials = Potentials(samples, rng.normal(size=(7, 3)), rng.normal(size=(1, 3, 3)))
    for epsilon in EPSILONS:
        exact = marginals(potentials, epsilon)
        pairs = edge_marginals(potentials, epsilon)[samples.parents >= 0]
        for infer in (enumerate_labellings, transfer_matrix):
            found = infer(potentials, epsilon)
            np.testing.assert_allclose(found.value, exact.log_partition, atol=1e-12)
            np.testing.assert_allclose(found.beliefs.node, exact.node, atol=1e-12)
            np.testing.assert_allclose(found.beliefs.edge, pairs, atol=1e-12)
    assert_same(local_polytope(potentials), found, FEASIBLE)


ALL = [enumerate_labellings, transfer_matrix, min_cut, local_polytope]


@pytest.mark.parametrize("infer", ALL)
def test_a_sample_without_any_labelling_is_named(infer):
    samples = pack([grid(np.ones((2, 2))), grid(np.ones((2, 2)))])
    node, attract = np.zeros((8, 2)), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    node[5] = -np.inf
    with pytest.raises(ValueError, match="sample 1 has no allowed labelling"):
        infer(Potentials(samples, node, attract))
    node[5], node[5, 0], node[6, 1] = 0.0, -np.inf, -np.inf  # linked through nodes 4 and 7
    attract[0, [0, 1], [1, 0]] = -np.inf
    with pytest.raises(ValueError, match="sample 1 has no allowed labelling"):
        infer(Potentials(samples, node, attract))


def test_what_a_reference_cannot_take_is_refused_in_a_sentence():
    samples = pack([grid(np.ones((2, 2))), grid(np.ones((17, 17)))])
    large = Potentials(samples, np.zeros((293, 2)), np.zeros((1, 2, 2)))
    with pytest.raises(
        ValueError, match=r"sample 1 has 2 \*\* 289 labellings; expected at most 65536"
    ):
        enumerate_labellings(large)
    with pytest.raises(ValueError, match=r"sample 1 has a frontier of 17 nodes.*at most 16384"):
        transfer_matrix(large)
    for infer in (enumerate_labellings, transfer_matrix):
        with pytest.raises(ValueError, match="epsilon is -1; expected"):
            infer(large, -1)
    with pytest.raises(ValueError, match="have 3 labels; expected 2"):
        min_cut(Potentials(samples, np.zeros((293, 3)), np.zeros((1, 3, 3))))
    rng = np.random.default_rng(0)
    mixed = graphs([SHAPES["triangle"], SHAPES["circle"]], rng, attractive=True)
    for table in (
        [[0.0, 1.0], [0.0, 0.5]],
        [[-np.inf, 0.0], [0.0, 9.0]],
        [[-np.inf, -np.inf], [0, 1]],
    ):
        mixed.edge[5] = table
        with pytest.raises(
            ValueError, match="edge 2 of sample 1, from node 3 to 2, has the potentials"
        ):
            min_cut(mixed)
