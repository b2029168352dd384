"""Graphs: grids, cycles packed as they are, graphs without cycles as forests, and Ising tables."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu import (
    CRF,
    L1M3N,
    M3N,
    MEDN,
    EpsilonMarkovNetwork,
    Forest,
    Graph,
    LaplaceMEDN,
    grid,
    inference,
    load_model,
)
from medn_edu.problems import L2Norm, Problem, SoftMaxLoss
from medn_edu.samples import (
    GraphSamples,
    Samples,
    WeightShape,
    encode_labels,
    forbidden_to_allowed,
    label_mask,
    label_samples,
    pack,
)

SEEDS = st.integers(0, 10**6)

# -- grids --------------------------------------------------------------------------------------


@given(height=st.integers(1, 4), width=st.integers(1, 4), connectivity=st.sampled_from([4, 8]))
def test_grids_join_neighbours(height, width, connectivity):
    """Each pair of neighbours once, the earlier node first, straight edges before diagonal ones."""
    image = grid(np.arange(height * width).reshape(height, width), connectivity)
    place = [(t // width, t % width) for t in range(height * width)]
    expected = {}
    for a, (i, j) in enumerate(place):
        for b, (k, m) in enumerate(place[:a]):
            down, across = abs(i - k), abs(j - m)
            if max(down, across) == 1 and (down + across == 1 or connectivity == 8):
                expected[b, a] = down + across - 1
    found = dict(zip(map(tuple, image.edges.tolist()), image.edge_types.tolist(), strict=True))
    assert found == expected
    assert len(image.edges) == len(expected)
    assert image.features.ravel().tolist() == list(range(height * width))
    own = grid(np.arange(height * width).reshape(height, width), connectivity, share=False)
    assert np.array_equal(own.edges, image.edges)
    assert own.edge_types.tolist() == list(range(len(expected)))
    assert np.array_equal(own.features.toarray(), np.diag(np.arange(height * width)))


def test_grids_with_several_features():
    features = np.arange(1.0, 13).reshape(2, 3, 2)
    assert np.array_equal(grid(features).features, features.reshape(6, 2))
    own = grid(features, share=False).features.toarray()
    assert own.shape == (6, 12)
    for v in range(6):
        assert np.array_equal(own[v, 2 * v : 2 * v + 2], features.reshape(6, 2)[v])
    assert np.count_nonzero(own) == 12


def test_a_type_for_every_edge():
    """Images as large as those of the literature, and a model of them."""
    images = [grid(np.random.default_rng(i).normal(size=(64, 64)), 8, share=False) for i in (0, 1)]
    samples = pack(images)
    assert samples.n_edge_types == samples.n_edge_kinds == 16_002
    assert WeightShape(2, samples.n_features, samples.n_edge_types, "ising").size == 20_098


# -- forests ------------------------------------------------------------------------------------


def random_forest(rng: np.random.Generator, n: int, *, is_rich: bool = True) -> Forest:
    parents = [-1, *(int(rng.integers(-1, t)) for t in range(1, n))]
    edges = rng.normal(size=(n, 2)) if is_rich else None
    return Forest(rng.normal(size=(n, 2)), parents, rng.integers(0, 2, n), edges)


def as_graph(tree: Forest) -> Graph:
    """Name the edges of a forest by their ends."""
    children = [t for t, p in enumerate(tree.parents) if p >= 0]
    edges, features = [(tree.parents[t], t) for t in children], tree.edge_features
    types = tree.edge_types[children]
    return Graph(tree.features, edges, types, None if features is None else features[children])


def shuffled(graph: Graph, order: np.ndarray, edge_order: np.ndarray) -> Graph:
    """Give nodes and edges in another order; node ``order[t]`` becomes node ``t``."""
    edges = np.argsort(order)[np.reshape(graph.edges, (-1, 2)).astype(int)][edge_order]
    features = None if graph.edge_features is None else graph.edge_features[edge_order]
    return Graph(graph.features[order], edges, graph.edge_types[edge_order], features)


ARRAYS = ["offsets", "parents", "edge_types", "edge_features", "edge_kinds"]


@given(seed=SEEDS, is_rich=st.booleans())
def test_graphs_of_parents_and_children_are_the_same_forests(seed, is_rich):
    rng = np.random.default_rng(seed)
    X = [random_forest(rng, int(n), is_rich=is_rich) for n in rng.integers(1, 6, 4)]
    forests, graphs = pack(X), pack([as_graph(X[0]), X[1], *map(as_graph, X[2:])])
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(graphs, name), getattr(forests, name))
    assert (graphs.features != forests.features).nnz == 0
    assert graphs.has_plain_edges == forests.has_plain_edges


@settings(max_examples=10)
@given(seed=SEEDS, model=st.sampled_from([M3N(), CRF(), MEDN()]))
def test_order_and_direction_do_not_matter(seed, model):
    """Potts tables have no direction, so edges may be turned round, and nothing else changes."""
    rng = np.random.default_rng(seed)
    X = [random_forest(rng, int(n)) for n in rng.integers(1, 7, 6)]
    y = [rng.choice(["a", "b", "c"], len(x.features)) for x in X]
    y[0][0], y[1][0] = "a", "b"
    orders = [rng.permutation(len(labels)) for labels in y]
    G = []
    for x, order in zip(X, orders, strict=True):
        graph = as_graph(x)
        graph = shuffled(graph, order, rng.permutation(len(graph.edges)))
        turned = rng.random((len(graph.edges), 1)) < 0.5
        G.append(replace(graph, edges=np.where(turned, graph.edges[:, ::-1], graph.edges)))
    labels = [sequence[order] for sequence, order in zip(y, orders, strict=True)]
    model.set_params(edge_table="potts", tol=1e-8, max_iter=20_000)
    weights, nodes = model.fit(X, y).weights_, model.predict_marginals(X)
    scores, joint = model.decision_scores(X), model.joint_feature(X, y)
    predicted = model.predict(X)
    twin = model.fit(G, labels)
    assert isinstance(pack(G), Samples)
    np.testing.assert_allclose(twin.weights_, weights, atol=1e-3)
    np.testing.assert_allclose(twin.joint_feature(G, labels).toarray(), joint.toarray(), atol=1e-9)
    np.testing.assert_allclose(twin.decision_scores(G), scores, atol=1e-2)
    np.testing.assert_allclose(twin.decision_scores(G, twin.predict(G)), twin.decision_scores(G))
    for i, order in enumerate(orders):
        np.testing.assert_allclose(twin.predict_marginals(G)[i], nodes[i][order], atol=1e-2)
        best = twin.decision_scores(G[i : i + 1], [predicted[i][order]])
        np.testing.assert_allclose(best, twin.decision_scores(G[i : i + 1]), atol=1e-2)
        pairs = twin.predict_edge_marginals(G)[i]
        assert pairs.shape == (len(G[i].edges), *[len(twin.classes_)] * 2)
        for (u, v), pair in zip(G[i].edges, pairs, strict=True):
            np.testing.assert_allclose(pair.sum(axis=1), twin.predict_marginals(G)[i][u])
            np.testing.assert_allclose(pair.sum(axis=0), twin.predict_marginals(G)[i][v])


TURNED = Graph(
    np.diag([1.0, 2.0, 3.0]), [[1, 0], [2, 1]], [1, 0], allowed_labels=[["a"], None, ["b"]]
)


def test_a_chain_the_other_way_round():
    """Its last node is the root, and its edges run from parents to children."""
    samples = pack([np.eye(3), TURNED])
    assert samples.parents.tolist() == [-1, 0, 1, -1, 3, 4]
    assert samples.edge_types.tolist() == [0, 0, 0, 0, 0, 1]
    assert samples.features.toarray()[3:].tolist() == [[0, 0, 3], [0, 2, 0], [1, 0, 0]]
    assert samples.has_plain_edges
    codes, _ = encode_labels(["abc", "abc"], samples)
    assert codes.tolist() == [0, 1, 2, 2, 1, 0]
    assert samples.split(codes)[1].tolist() == [0, 1, 2]
    assert [samples.place(t) for t in (2, 3, 5)] == [(0, 2), (1, 2), (1, 0)]


def test_roots_are_chosen_so_that_few_edges_are_turned_round():
    """Two edges lead to node 1, so one must be turned round: its tables are transposed."""
    samples = pack([Graph(np.eye(3), [[2, 1], [0, 1]])])
    assert samples.parents.tolist() == [-1, 0, 1]
    assert samples.given.turned.tolist() == [False, False, True]
    assert not samples.has_plain_edges
    assert samples.n_edge_kinds == 2
    table = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    assert samples.edge_tables(table)[samples.edge_kinds[1:]].tolist() == [
        table[0].tolist(),
        table[0].T.tolist(),
    ]
    counts = inference.edge_counts(samples, np.array([0, 1, 0]), 2)
    assert samples.table_sums(counts, 1).tolist() == [[[0, 2], [0, 0]]]
    for solver in ("smo", "online_subgradient", "exponentiated_gradient"):
        with pytest.raises(TypeError, match=r"takes no graphs with edges that do not run from par"):
            M3N(solver=solver).fit(samples, ["aba"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_taking_pickling_and_allowed_labels():
    rng = np.random.default_rng(0)
    X = [TURNED, Graph(np.eye(3), [[2, 1], [0, 1]]), Graph(np.eye(3), []), np.eye(3)]
    samples = pack(X)
    classes = np.array(["a", "b"])
    expected = [[1, 0], [1, 1], [0, 1], *[[1, 1]] * 9]
    assert np.array_equal(np.concatenate(samples.split(label_mask(samples, classes))), expected)
    per_edge = rng.normal(size=(12, 2, 2))
    assert [len(tables) for tables in samples.split_edges(per_edge)] == [2, 2, 0, 3]
    for found in (
        samples.take([3, 1, 0, 0]),
        pickle.loads(pickle.dumps(samples)).take([3, 1, 0, 0]),
    ):
        again = pack([X[3], X[1], X[0], X[0]])
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
        for name, array in vars(again.given).items():
            assert np.array_equal(getattr(found.given, name), array)
        assert (found.features != again.features).nnz == 0
    model = CRF(verbose=0).fit(samples, ["abb", "aba", "aaa", "bbb"])
    assert model.predict(samples)[0][0] == "a"
    assert model.predict(samples)[0][2] == "b"
    text = "the labels of sample 1 use a forbidden transition, from node 2 to node 1; expected"
    with pytest.raises(ValueError, match=text):
        CRF(forbidden=[("a", "b")]).fit([X[0], X[1]], ["aab", "bba"])


# -- cycles -------------------------------------------------------------------------------------


def random_graph(rng: np.random.Generator, *, is_rich: bool) -> Graph:
    n = int(rng.integers(3, 6))
    pairs = [(u, v) for u in range(n) for v in range(n) if u < v]
    chosen = rng.permutation(len(pairs))[: rng.integers(1, len(pairs) + 1)]
    edges = [pairs[k][:: rng.choice([1, -1])] for k in chosen]
    features = rng.normal(size=(len(edges), 2)).round() if is_rich else None
    return Graph(rng.normal(size=(n, 2)), edges, rng.integers(0, 2, len(edges)), features)


def joint(x: Graph, y: np.ndarray, table: str, n_tables: int) -> np.ndarray:
    """Return ``f(x, y)`` of two labels, one node and one edge at a time."""
    coef = np.zeros((2, 2))
    for t, label in enumerate(y):
        coef[label] += x.features[t]
    tables = np.zeros((n_tables, 2, 2))
    for k, (u, v) in enumerate(x.edges):
        values = [1.0] if x.edge_features is None else x.edge_features[k]
        for j, value in enumerate(values):
            tables[x.edge_types[k] * len(values) + j, y[u], y[v]] += value
    if table == "ising":
        coef = coef[1] - coef[0]
        tables = tables[:, 0, 0] + tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0]
    if table == "potts":
        tables = tables[:, 0, 0] + tables[:, 1, 1]
    return np.concatenate([coef.ravel(), tables.ravel()])


TRIANGLE = Graph(np.eye(3, 2), [[0, 1], [1, 2], [2, 0]], [0, 1, 1], np.ones((3, 2)))


@given(seed=SEEDS, is_rich=st.booleans(), table=st.sampled_from(["full", "potts", "ising"]))
def test_scores_and_features_of_graphs_with_cycles(seed, is_rich, table):
    rng = np.random.default_rng(seed)
    X = [random_graph(rng, is_rich=is_rich) for _ in range(3)]
    X.append(TRIANGLE if is_rich else replace(TRIANGLE, edge_features=None))
    samples, n_tables = pack(X), 4 if is_rich else 2
    assert isinstance(samples, GraphSamples)
    codes = rng.integers(0, 2, samples.n_nodes)
    weight = rng.uniform(0.5, 2.0, len(X))
    data = label_samples(samples, codes, np.ones((2, 2, 2), bool), weight, table=table)
    expected = np.array(
        [joint(x, y, table, n_tables) for x, y in zip(X, samples.split(codes), strict=True)]
    )
    w = rng.normal(size=data.weight_shape.size)
    assert np.array_equal(data.weight_shape.weights(*data.weight_shape.split(w)), w)
    found = inference.joint_features(samples, codes, data.weight_shape).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    problem = Problem(data, SoftMaxLoss(), L2Norm())
    np.testing.assert_allclose(problem.observed, weight @ expected, atol=1e-12)
    potentials = problem.potentials(w)
    np.testing.assert_allclose(
        inference.labelling_scores(potentials, codes), expected @ w, atol=1e-9
    )
    one, two, _, three = (samples.take([i]) for i in range(4))
    assert [one.n_edges, two.n_edges, three.n_edges] == [len(X[i].edges) for i in (0, 1, 3)]


def test_chains_and_forests_among_graphs_with_cycles():
    """They become graphs whose edges run from parents to children."""
    tree = Forest(np.eye(3, 2), [-1, 0, 0], [7, 1, 0], np.arange(6.0).reshape(3, 2))
    lonely = Graph(np.ones((1, 2)), np.zeros((0, 2)), edge_features=np.zeros((0, 2)))
    X = [tree, TRIANGLE, lonely]
    samples = pack(X)
    assert samples.edges.tolist() == [[0, 1], [0, 2], [3, 4], [4, 5], [5, 3]]
    assert samples.edge_offsets.tolist() == [0, 2, 5, 5]
    assert samples.edge_types.tolist() == [1, 0, 0, 1, 1]
    assert samples.edge_features[:2].tolist() == [[2, 3], [4, 5]]
    assert samples.sample_of_edge.tolist() == [0, 0, 1, 1, 1]
    assert [len(part) for part in samples.split_edges(np.zeros((5, 2, 2)))] == [2, 3, 0]
    assert samples.n_edge_kinds == 4
    assert pack(samples) is samples
    for found in (samples.take([2, 1, 0]), pickle.loads(pickle.dumps(samples)).take([2, 1, 0])):
        again = pack(X[::-1])
        for name in (
            "offsets",
            "edges",
            "edge_offsets",
            "edge_types",
            "edge_features",
            "edge_kinds",
        ):
            assert np.array_equal(getattr(found, name), getattr(again, name))
        assert (found.features != again.features).nnz == 0
    chain = pack([np.eye(2), replace(TRIANGLE, edge_features=None)])
    assert chain.edges.tolist() == [[0, 1], [2, 3], [3, 4], [4, 2]]
    packed = chain.packed
    assert packed.edges.dtype == packed.edge_offsets.dtype == packed.edge_kinds.dtype == np.int64
    assert packed.features[0] is chain.features.data


QUESTIONS = [
    inference.best_labelling, inference.log_partition, inference.marginals,
    inference.edge_marginals, lambda p: inference.k_best(p, 2),
    lambda p: inference.marginals(p, 0.0), lambda p: inference.edge_marginals(p, 0.0),
    lambda p: inference.draw_labellings(p, rng=np.random.default_rng(0)),
    lambda p: inference.gibbs_labellings(p, 1, rng=np.random.default_rng(0)),
    lambda p: inference.expected_statistics(p.samples, np.zeros((2, 2)), p.edge),
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_for_forests_say_where_to_go(question):
    samples = pack([np.eye(2), replace(TRIANGLE, edge_features=None)])
    potentials = inference.Potentials(samples, np.zeros((5, 2)), np.zeros((2, 2, 2)))
    with pytest.raises(
        ValueError, match=r"^sample 1 .* cycles.*, or the .* medn_edu.inference.loo"
    ):
        question(potentials)


def test_labels_of_graphs_with_cycles():
    square = Graph(
        np.eye(4), [[0, 1], [1, 2], [2, 3], [3, 0]], allowed_labels=[None, ["b"], None, ["a"]]
    )
    samples = pack([square])
    codes, classes = encode_labels(["abba"], samples)
    text = "labels of sample 0 use a forbidden transition, from node 2 to node 3;"
    with pytest.raises(ValueError, match=text):
        label_samples(samples, codes, forbidden_to_allowed([("b", "a")], classes))
    with pytest.raises(ValueError, match="from node 3 to node 0"):
        label_samples(samples, codes, forbidden_to_allowed([("a", "a")], classes))
    mask, codes = label_mask(samples, classes), np.array([0, 0, 1, 0])
    with pytest.raises(
        ValueError, match=r"label of sample 0 at node 1 is not among its allowed_lab"
    ):
        label_samples(samples, codes, forbidden_to_allowed(None, classes), mask=mask)
    assert mask.tolist() == [[1, 1], [0, 1], [1, 1], [1, 0]]


# -- Ising tables -------------------------------------------------------------------------------


def test_ising_is_potts_in_other_units():
    """Weights of -1 and +1 count double: two rows of node weights, and what equal labels gain."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in (4, 1, 5, 3)]
    y = [(x[:, 0] + rng.normal(size=len(x)) > 0).astype(int) for x in X]
    rescaled = [Forest(x / np.sqrt(2), edge_features=np.full((len(x), 1), 0.5)) for x in X]
    for model in (
        CRF(tol=1e-10),
        EpsilonMarkovNetwork(0.5, epsilon=0.3, tol=1e-8),
        M3N(solver="cutting_plane", tol=1e-8),
    ):
        potts = model.set_params(edge_table="potts").fit(X, y)
        primal, weights = potts.result_.primal, potts.weights_
        marginals, margins = potts.predict_marginals(X), potts.margins(X, y)
        ising = model.set_params(edge_table="ising").fit(rescaled, y)
        assert ising.result_.converged
        assert ising.result_.primal == pytest.approx(primal, rel=1e-7)
        np.testing.assert_allclose(ising.weights_[:3], np.sqrt(2) * weights[3:6], atol=1e-3)
        np.testing.assert_allclose(ising.weights_[3], weights[6], atol=1e-3)
        np.testing.assert_allclose(ising.coef_[0], -ising.coef_[1])
        np.testing.assert_allclose(ising.margins(rescaled, y), margins, atol=1e-3)
        for found, expected in zip(ising.predict_marginals(rescaled), marginals, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-3)


def test_ising_models_are_saved(tmp_path):
    rng = np.random.default_rng(1)
    X, y = [rng.normal(size=(4, 2)) for _ in range(5)], ["abba", "aabb", "abab", "bbba", "aaab"]
    for model in (CRF(edge_table="ising"), CRF("l1", lam=0.1, edge_table="ising")):
        model.fit(X, y).set_params(edge_table="full").save(tmp_path / "model.npz")
        again = load_model(tmp_path / "model.npz")
        assert np.array_equal(again.weights_, model.weights_)
        assert again.weights_.shape == (3,)
        np.testing.assert_equal(list(again.predict(X)), list(model.predict(X)))
        scores = model.joint_feature(X, y) @ model.weights_
        np.testing.assert_allclose(model.decision_scores(X, y), scores)


@pytest.mark.parametrize(
    "model", [M3N(), M3N(solver="smo"), MEDN(), L1M3N(), M3N(l1_ratio=0.5), LaplaceMEDN()]
)
def test_who_takes_no_ising_tables(model):
    with pytest.raises(
        TypeError, match=r"^this solver takes no Ising tables; expected edge_table="
    ):
        model.set_params(edge_table="ising").fit([10 * np.eye(2)] * 2, ["ab", "ab"])


def test_ising_tables_are_for_two_labels():
    with pytest.raises(
        ValueError, match=r"^edge_table is 'ising', which is for 2 labels; there are 3"
    ):
        CRF(edge_table="ising").fit([np.eye(3)], ["abc"])


@pytest.mark.parametrize("is_potts", [True, False])
def test_older_files_are_read(is_potts, tmp_path):
    """They say is_potts, or nothing, where newer ones name the table."""
    path = tmp_path / "model.npz"
    model = CRF(edge_table="potts" if is_potts else "full").fit([np.eye(2)] * 2, ["ab", "ba"])
    model.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes())
    del header["table"]
    header |= {"is_potts": True} if is_potts else {}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)
    again = load_model(path)
    assert np.array_equal(again.weights_, model.weights_)
    assert np.array_equal(again.transitions_, model.transitions_)


@pytest.mark.parametrize("share", [True, False])
def test_a_grid_takes_rows_of_features_with_its_shape(share):
    image = np.random.default_rng(0).normal(size=(3, 4, 2)) * (np.arange(2) > 0)
    whole, rows = grid(image, share=share), image.reshape(12, 2)
    for features in (rows, sp.csr_matrix(rows)):
        one = grid(features, shape=(3, 4), share=share)
        np.testing.assert_array_equal(one.edges, whole.edges)
        found, expected = (pack([each]).features.toarray() for each in (one, whole))
        np.testing.assert_array_equal(found, expected)


def test_features_that_do_not_fit_a_grid_are_refused():
    with pytest.raises(ValueError, match=r"shape \(11, 2\), which does not fit its shape \(3, 4\)"):
        grid(np.ones((11, 2)), shape=(3, 4))
    with pytest.raises(ValueError, match=r"shape is 'wide'; expected \(height, width\)"):
        grid(np.ones((12, 2)), shape="wide")
