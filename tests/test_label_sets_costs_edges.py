"""Edge features, tables, label sets, costs and graphs without cycles in every model, by brute force.

What is right is computed here from the samples as they are handed in, one labelling at a time.
"""

import math
import pickle
import re
import warnings
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from medn_edu import (
    CRF,
    L1M3N,
    M3N,
    MEDN,
    EpsilonMarkovNetwork,
    Forest,
    Graph,
    LaplaceMEDN,
    load_model,
)
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.samples import pack
from medn_edu.slacks import QuadraticSlack

LABELS = "abc"
COSTS = {"a": 0.5, "c": 3.0}
FORBIDDEN = {0: ("a", "c"), 1: ("c", "b")}  # a pair for each type of edge
TIGHT = {"tol": 1e-8, "max_iter": 20_000}


def square(w: np.ndarray) -> float:
    return w @ w / 2


def magnitude(w: np.ndarray) -> float:
    return np.abs(w).sum()


def laplace(w: np.ndarray) -> float:
    return LaplacePrior(4.0).kl(w).sum()


def hinge(v: np.ndarray) -> float:
    return 0.5 * v.max()


# Each model with its penalty on weights and its loss of violations, by their formulas.
MODELS = {
    "M3N": (M3N(C=0.5, tol=1e-5), square, hinge),
    "elastic-net M3N": (
        M3N(C=0.5, l1_ratio=0.5, tol=1e-4), lambda w: square(w) / 2 + magnitude(w) / 4, hinge),
    "MEDN": (
        MEDN(NormalGammaPrior(), QuadraticSlack(0.7), tol=1e-4),
        lambda w: NormalGammaPrior().kl(w).sum(), lambda v: 0.35 * v.max() ** 2),
    "LaplaceMEDN": (LaplaceMEDN(0.5, 4.0, tol=1e-4), laplace, hinge),
    "variational": (LaplaceMEDN(0.5, 4.0, "variational", tol=1e-4), laplace, hinge),
    "L1M3N": (L1M3N(0.5, tol=1e-6), lambda w: magnitude(w) / 2, hinge),
    "CRF": (CRF(lam=0.5, tol=1e-6), lambda w: square(w) / 2, logsumexp),
    "L1-CRF": (CRF("l1", 0.5, tol=1e-6), lambda w: magnitude(w) / 2, logsumexp),
    "elastic-net CRF": (
        CRF("elasticnet", 0.5, l1_ratio=0.5, tol=1e-6),
        lambda w: square(w) / 4 + magnitude(w) / 4, logsumexp),
    "epsilon": (
        EpsilonMarkovNetwork(0.8, epsilon=0.5, tol=1e-4),
        square, lambda v: 0.4 * logsumexp(v / 0.5)),
    "no epsilon": (EpsilonMarkovNetwork(0.5, epsilon=0, tol=1e-4), square, hinge),
}  # fmt: skip
KINDS = [
    "chain edges sets weights",
    "tree types sets costs forbidden",
    "tree types edges sets costs forbidden weights",
    "tree types edges potts costs",
    "chain potts sets",
    "graph types sets costs forbidden weights",
    "graph types edges",
]


def make(kind: str, seed: int = 0, n_samples: int = 6) -> tuple[list, list[list[str]]]:
    """Draw chains or forests of one to four nodes; at roots edges mean nothing and hold NaN.

    Of graphs the first sample stays a forest.
    """
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n_samples):
        n = 4 if i == 0 else int(rng.integers(1, 5))
        parents = range(-1, n - 1)
        if "chain" not in kind:
            parents = [-1, *(rng.integers(0 if i == 0 else -1, t) for t in range(1, n))]
        types = np.arange(n) % 2 if i == 0 else rng.integers(0, 2, n)
        codes = rng.integers(0, 3, n)
        for t, p in enumerate(parents):
            if p >= 0 and (LABELS[codes[p]], LABELS[codes[t]]) == FORBIDDEN[types[t]]:
                codes[t] = codes[p]
        features = rng.normal(0, 0.7, (n, 2)) + codes[:, None]
        edges = rng.normal(size=(n, 2)) * (rng.random((n, 2)) < 0.8)
        edges[np.array(parents) < 0] = np.nan
        mask = rng.random((n, 3)) < 0.6
        mask[np.arange(n), codes] = True
        sets = [None if all(row) else {LABELS[a] for a in np.flatnonzero(row)} for row in mask]
        X.append(
            Forest(
                features,
                None if "chain" in kind else parents,
                types if "types" in kind else None,
                edges if "edges" in kind else None,
                (mask if i % 2 else sets) if "sets" in kind else None,
            )
        )
        y.append([LABELS[a] for a in codes])
        if "graph" in kind and i > 0:
            X[-1], y[-1] = as_graph(X[-1], y[-1], rng)
    return X, y


def as_graph(x: Forest, y: list[str], rng: np.random.Generator) -> tuple[Graph, list[str]]:
    """Shuffle nodes and edges, and turn edges round where that does not make labels forbidden ones."""
    order = rng.permutation(len(y))
    place, edges = np.argsort(order), [edges_of(x)[k] for k in rng.permutation(len(edges_of(x)))]
    pairs = []
    for _, p, t, kind, _ in edges:
        turned = rng.random() < 0.6 and (y[t], y[p]) != FORBIDDEN[kind]
        pairs.append([place[t], place[p]] if turned else [place[p], place[t]])
    allowed = x.allowed_labels
    if allowed is not None:
        allowed = allowed[order] if isinstance(allowed, np.ndarray) else [allowed[t] for t in order]
    graph = Graph(
        x.features[order],
        pairs,
        [kind for *_, kind, _ in edges],
        None if x.edge_features is None else np.reshape([v for *_, v in edges], (-1, 2)),
        allowed,
    )
    return graph, [y[t] for t in order]


def parameters(kind: str) -> dict:
    return {
        "label_costs": COSTS if "costs" in kind else None,
        "edge_table": "potts" if "potts" in kind else "full",
        "forbidden": {k: [pair] for k, pair in FORBIDDEN.items()} if "forbidden" in kind else None,
    }


def edges_of(x: Forest | Graph) -> list[tuple]:
    """Return each edge: where things are said of it, its first and second node, type and features."""
    if isinstance(x, Graph):
        pairs = x.edges
    else:
        parents = range(-1, len(x.features) - 1) if x.parents is None else x.parents
        pairs = [(p, t) for t, p in enumerate(parents)]
    types = [0] * len(pairs) if x.edge_types is None else x.edge_types
    vectors = np.ones((len(pairs), 1)) if x.edge_features is None else x.edge_features
    return [(k, *pair, types[k], vectors[k]) for k, pair in enumerate(pairs) if pair[0] >= 0]


def allows(x: Forest, t: int, label: str) -> bool:
    if x.allowed_labels is None or x.allowed_labels[t] is None:
        return True
    if isinstance(x.allowed_labels, np.ndarray):
        return x.allowed_labels[t, LABELS.index(label)]
    return label in x.allowed_labels[t]


def allowed_labellings(x: Forest, kind: str) -> list[tuple[str, ...]]:
    """Return every labelling that neither its label sets nor a forbidden transition rules out."""
    found = []
    for y in product(LABELS, repeat=len(x.features)):
        fine = all(allows(x, t, label) for t, label in enumerate(y))
        if "forbidden" in kind:
            fine = fine and all((y[p], y[t]) != FORBIDDEN[k] for _, p, t, k, _ in edges_of(x))
        if fine:
            found.append(y)
    return found


def joint(x: Forest, y, kind: str) -> np.ndarray:
    """Return ``f(x, y)``."""
    codes = [LABELS.index(label) for label in y]
    coef = np.zeros((3, 2))
    tables = np.zeros((2 if "types" in kind else 1, 2 if "edges" in kind else 1, 3, 3))
    for t, a in enumerate(codes):
        coef[a] += x.features[t]
    for _, p, t, type_, vector in edges_of(x):
        tables[type_, :, codes[p], codes[t]] += vector
    tables = np.trace(tables, axis1=2, axis2=3) if "potts" in kind else tables
    return np.concatenate([coef.ravel(), tables.ravel()])


class Enumerated:
    """All labellings of a training set: how their features and losses differ from the truth's."""

    def __init__(self, X, y, kind: str, *, with_loss: bool) -> None:
        costs = {"b": 1.0} | COSTS if "costs" in kind else dict.fromkeys(LABELS, 1.0)
        self.differences, self.losses = [], []
        for x, true in zip(X, y, strict=True):
            every = allowed_labellings(x, kind)
            wrong = [[a != b for a, b in zip(other, true, strict=True)] for other in every]
            f = np.array([joint(x, other, kind) for other in every])
            self.differences.append(f - joint(x, true, kind))
            self.losses.append(with_loss * np.array(wrong) @ [costs[label] for label in true])
        self.weight = sample_weight(X, kind)

    def objective(self, w: np.ndarray, penalty, loss) -> float:
        pairs = zip(self.differences, self.losses, strict=True)
        return penalty(w) + self.weight @ [loss(f @ w + losses) for f, losses in pairs]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return that of the soft-max loss, at temperature 1."""
        pairs = zip(self.differences, self.losses, strict=True)
        return self.weight @ [softmax(f @ w + losses) @ f for f, losses in pairs]


def sample_weight(X, kind: str) -> np.ndarray:
    return np.linspace(0.5, 2.0, len(X)) if "weights" in kind else np.ones(len(X))


@cache
def trained(name: str, kind: str, **more):
    """Train a model, which tests leave as it is."""
    X, y = make(kind)
    model = clone(MODELS[name][0]).set_params(**parameters(kind), **more)
    return model.fit(X, y, sample_weight(X, kind))


def is_soft(name: str, kind: str) -> bool:
    """Whether a model has no loss next to its scores: CRFs without costs."""
    return "CRF" in name and "costs" not in kind


EVERY = pytest.mark.parametrize(("name", "kind"), list(product(MODELS, KINDS)))


@EVERY
def test_certificate_is_of_the_objective(name, kind):
    """The primal value is the formula's, over allowed labellings; the dual comes close from below."""
    _, penalty, loss = MODELS[name]
    model = trained(name, kind)
    enumerated = Enumerated(*make(kind), kind, with_loss=not is_soft(name, kind))
    expected = enumerated.objective(model.weights_, penalty, loss)
    result = model.result_
    assert result.primal == pytest.approx(expected, rel=1e-9)
    assert result.dual <= result.primal * (1 + 1e-12)
    if name != "variational":
        assert result.converged
        assert result.primal - result.dual <= model.tol * abs(result.primal)
    w, rng = model.weights_, np.random.default_rng(1)
    for size in (1e-3, 1e-1, 1.0):
        for move in size * rng.normal(size=(20, len(w))):
            assert enumerated.objective(w + move, penalty, loss) >= result.dual - 1e-9


@EVERY
def test_predictions_by_brute_force(name, kind):
    """On training samples, and on new ones whose edges are like no edge seen before."""
    model = trained(name, kind)
    for seed in (0, 7):
        judge_predictions(model, kind, *make(kind, seed))


def judge_predictions(model, kind, X, y):
    features = np.array([joint(x, true, kind) for x, true in zip(X, y, strict=True)])
    np.testing.assert_allclose(model.joint_feature(X, y).toarray(), features, atol=1e-12)
    np.testing.assert_allclose(model.decision_scores(X, y), features @ model.weights_, atol=1e-9)
    predicted, decoded = model.predict(X), model.decode(X, 3**4)
    best, margins = model.decision_scores(X), model.margins(X, y)
    marginals = model.predict_marginals(X, temperature=0.7)
    pairs = model.predict_edge_marginals(X, temperature=0.7)
    n_right = 0
    for i, (x, true) in enumerate(zip(X, y, strict=True)):
        every = allowed_labellings(x, kind)
        scores = np.array([joint(x, other, kind) for other in every]) @ model.weights_
        order = np.argsort(-scores)
        np.testing.assert_allclose([s for _, s in decoded[i]], scores[order], atol=1e-9)
        assert {tuple(found) for found, _ in decoded[i]} == set(every)
        assert best[i] == pytest.approx(scores.max())
        for found in (predicted[i], decoded[i][0][0]):
            assert scores[every.index(tuple(found))] == pytest.approx(scores.max())
        n_right += sum(a == b for a, b in zip(predicted[i], true, strict=True))
        others = np.delete(scores, every.index(tuple(true)))
        rival = others.max() if len(others) else -np.inf
        assert margins[i] == pytest.approx(scores[every.index(tuple(true))] - rival)
        shares = softmax(scores / 0.7)
        expected = [
            [shares[[y[t] == a for y in every]].sum() for a in LABELS] for t in range(len(true))
        ]
        np.testing.assert_allclose(marginals[i], expected, atol=1e-9)
        expected = np.zeros((len(x.edges if isinstance(x, Graph) else true), 3, 3))
        for (k, p, t, *_), (other, share) in product(edges_of(x), zip(every, shares, strict=True)):
            expected[k, LABELS.index(other[p]), LABELS.index(other[t])] += share
        np.testing.assert_allclose(pairs[i], expected, atol=1e-9)
        for found, score in decoded[i][:3]:
            assert model.decision_scores([x], [found])[0] == pytest.approx(score)
        outside = set(product(LABELS, repeat=len(true))) - set(every)
        for other in sorted(outside)[:3]:
            assert model.decision_scores([x], [other])[0] == -np.inf
    assert model.score(X, y) == pytest.approx(n_right / sum(map(len, y)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["CRF", "M3N"])
def test_no_other_weights_are_better(name, kind):
    """However near; for CRFs the gradient is that of the formula, and it vanishes."""
    _, penalty, loss = MODELS[name]
    model = trained(name, kind, **TIGHT)
    enumerated = Enumerated(*make(kind), kind, with_loss=not is_soft(name, kind))
    w, rng = model.weights_, np.random.default_rng(2)
    least = enumerated.objective(w, penalty, loss)
    for size in (1e-4, 1e-3, 1e-2, 1e-1):
        for move in size * rng.normal(size=(20, len(w))):
            assert enumerated.objective(w + move, penalty, loss) > least - 1e-8 * least
    if name == "CRF":
        np.testing.assert_allclose(enumerated.gradient(w) + 0.5 * w, 0, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_where_the_first_weight_leaves_zero(kind):
    X, y = make(kind)
    weight = sample_weight(X, kind)
    for name in ("L1-CRF", "L1M3N", "elastic-net M3N"):
        model = clone(MODELS[name][0]).set_params(**parameters(kind), tol=1e-8)
        constant, C = model.critical_constant(X, y, weight), "lam" if "CRF" in name else "C"
        moved = [
            model.set_params(**{C: size * constant}).fit(X, y, weight).weights_.any()
            for size in (0.99, 1.01)
        ]
        assert moved == ([True, False] if "CRF" in name else [False, True])
        if "CRF" in name:
            enumerated = Enumerated(X, y, kind, with_loss=not is_soft(name, kind))
            gradient = enumerated.gradient(np.zeros(len(model.weights_)))
            assert constant == pytest.approx(np.abs(gradient).max())


def types_as_features(x: Forest) -> Forest:
    return replace(x, edge_types=None, edge_features=np.eye(2)[x.edge_types])


def with_mask(x: Forest) -> Forest:
    nodes = range(len(x.features))
    mask = np.array([[allows(x, t, label) for label in LABELS] for t in nodes])
    return replace(x, allowed_labels=mask)


def with_all(x: Forest) -> Forest:
    return replace(
        x, allowed_labels=[set(LABELS) if t % 2 else None for t in range(len(x.features))]
    )


def with_one(x: Forest) -> Forest:
    return replace(x, edge_features=np.ones((len(x.features), 1)))


TWINS = {
    "edge types are features, of which one is 1": ("tree types costs", types_as_features),
    "a feature of 1 is none": ("tree types costs forbidden", with_one),
    "a Potts feature of 1 is none": ("chain potts", with_one),
    "a mask is sets": ("tree edges sets", with_mask),
    "sets of all labels are none": ("chain edges costs", with_all),
}


@pytest.mark.parametrize("name", ["M3N", "CRF", "LaplaceMEDN"])
@pytest.mark.parametrize(("kind", "change"), TWINS.values(), ids=TWINS)
def test_two_ways_to_say_the_same(name, kind, change):
    """The order of sums may differ, so the weights agree as far as both are optimal."""
    X, y = make(kind)
    model = trained(name, kind, **TIGHT)
    twin = clone(model).fit([change(x) for x in X], y)
    np.testing.assert_allclose(twin.weights_, model.weights_, atol=1e-3)
    assert twin.transitions_.shape == model.transitions_.shape
    new = make(kind, seed=7)[0]
    scores = twin.decision_scores([change(x) for x in new]), model.decision_scores(new)
    np.testing.assert_allclose(*scores, atol=5e-3)


@pytest.mark.parametrize("name", MODELS)
def test_costs_of_one_are_none(name):
    """For CRFs they are not: with a cost, even of 1, these are soft-max-margin models."""
    X, y = make("chain edges sets")
    every = [clone(MODELS[name][0]).set_params(label_costs=c) for c in (None, {"a": 1}, {}, COSTS)]
    none, one, empty, other = (model.fit(X, y).weights_ for model in every)
    assert np.array_equal(one, empty)
    assert np.array_equal(one, none) == ("CRF" not in name)
    assert not np.allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("name", ["M3N", "CRF", "LaplaceMEDN", "MEDN"])
def test_weights_of_samples_are_copies(name):
    kind = "tree types edges sets costs"
    X, y = make(kind)
    model = clone(trained(name, kind)).set_params(**TIGHT)
    weighted = model.fit(X, y, [2, 1, 1, 3, 1, 1]).weights_
    doubled = model.fit([*X, X[0], X[3], X[3]], [*y, y[0], y[3], y[3]]).weights_
    np.testing.assert_allclose(weighted, doubled, atol=1e-3)


@pytest.mark.parametrize("name", ["M3N", "CRF", "L1-CRF"])
def test_workers_change_nothing(name, small_groups):
    kind = "tree types edges sets costs"
    X, y = make(kind, n_samples=12)
    assert small_groups(pack(X)) > 1
    model = clone(MODELS[name][0]).set_params(**parameters(kind))
    one, two = (model.set_params(n_jobs=n).fit(X, y).weights_ for n in (1, 2))
    assert np.array_equal(one, two)


def test_an_edge_feature_that_is_always_zero_has_no_weight():
    X, y = make("chain edges sets costs")
    none = [replace(x, edge_features=x.edge_features * [1, 0]) for x in X]
    for name, (model, _, _) in MODELS.items():
        model = clone(model).set_params(label_costs=COSTS).fit(none, y)
        assert not model.transitions_[1].any(), name
        assert model.transitions_[0].any()


@pytest.mark.parametrize("name", MODELS)
def test_saved_pickled_and_continued(name, tmp_path):
    """What a model learned is whole, whatever has been set since."""
    kind = "tree types edges potts sets costs"
    model = clone(trained(name, kind)).set_params(max_iter=2000)
    X, y = make(kind)
    model.fit(X, y)
    new = make(kind, seed=7)[0]
    model.set_params(edge_table="full", label_costs={"b": 2.0})
    model.save(tmp_path / "model.npz")
    for again in (load_model(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert again.n_edge_features_in_ == 2
        assert np.array_equal(again.weights_, model.weights_)
        assert np.array_equal(again.transitions_, model.transitions_)
        np.testing.assert_equal(list(again.predict(new)), list(model.predict(new)))
        assert not (again.joint_feature(X, y) != model.joint_feature(X, y)).nnz
        again.set_params(edge_table="potts", label_costs=COSTS, warm_start=True).fit(X, y)
        assert again.result_.n_passes <= model.result_.n_passes
        np.testing.assert_allclose(again.result_.primal, model.result_.primal, rtol=1e-2)
    packed = pickle.loads(pickle.dumps(pack(new)))
    np.testing.assert_equal(list(model.predict(packed)), list(model.predict(new)))


def test_grid_search_and_what_a_fold_lacks():
    X, y = make("chain edges sets", n_samples=12)
    grid = {"edge_table": ["full", "potts"], "label_costs": [None, {"a": 2.0}]}
    found = GridSearchCV(M3N(), grid, cv=3).fit(X, y)
    assert found.best_params_.keys() == grid.keys()
    assert len({*found.cv_results_["mean_test_score"]}) > 1
    with pytest.warns(UserWarning, match=r"^label_costs names the label 'z', which does") as warned:
        M3N(label_costs={"z": 2.0}).fit(X, y)
    assert warned[0].filename == __file__


def test_another_warm_start_begins_where_it_may():
    """Weights of what is forbidden by then become 0; other kinds of edges are refused."""
    X, y = make("tree types edges forbidden")
    model = trained("CRF", "tree types edges forbidden")
    free = clone(model).set_params(forbidden=None, warm_start=True).fit(X, y)
    assert free.transitions_.all()
    again = free.set_params(forbidden=model.forbidden).fit(X, y)
    for k, (above, below) in FORBIDDEN.items():
        tables = again.transitions_[2 * k : 2 * k + 2]
        assert not tables[:, LABELS.index(above), LABELS.index(below)].any()
    np.testing.assert_allclose(again.weights_, model.weights_, atol=1e-2)
    plain = CRF(warm_start=True).fit([replace(x, edge_features=None) for x in X], y)
    with pytest.raises(ValueError, match="warm_start continues from the last fit, but these"):
        plain.fit([types_as_features(x) for x in X], y)


# -- bad input ----------------------------------------------------------------------------------

ONES = np.ones((2, 2))
SOME = Forest(np.eye(2), edge_features=ONES)
ONLY = Forest(np.eye(2), allowed_labels=[["a"], ("b",)])
# What is wrong with a sample, and how the sentence about its sets or edges goes on.
BAD_SETS = [
    ([None, []], "allow no label at node 1; expected at least one."),
    (ONES < 1, "allow no label at node 0; expected at least one."),
    ([None, ["z", "y"]], "allow only unknown labels at node 1, such as 'z'; the known"),
    ([["a"], "ab"], "hold 'ab' at node 1; expected a collection of labels, or None (a ma"),
    ([None, 3], "hold 3 at node 1; expected a collection of labels, or None (a ma"),
    ([None, [["a"]]], "hold [['a']] at node 1; expected a collection of labels, or None (a ma"),
    ([[True, False]] * 2, "hold [True, False] at node 0; expected a collection of labels, or None"),
    ({frozenset("a")}, "is a set, which has no order; expected a list."),
    ("ab", "is a str; expected a collection of labels, or None, for each node."),
    ({0: ["a"]}, "is a dict; expected a collection of labels, or None, for each node."),
    (np.array(True), "is a ndarray; expected a collection of labels, or None, for each node."),
    (ONES, "is a table of numbers; expected a mask of bool, or a list with a collection"),
    ([None], "have 1 entries for 2 nodes; expected one per node."),
    (np.ones((3, 2), bool), "have 3 entries for 2 nodes; expected one per node."),
    (np.ones((2, 3), bool), "have a mask of shape (2, 3); expected (2, 2), a column for each label."),
]  # fmt: skip
BAD_EDGES = [
    (np.ones((2, 3)), "has shape (2, 3); expected (2, 2), one row per node."),
    (np.ones((1, 2)), "has shape (1, 2); expected (2, 2), one row per node."),
    (np.ones(2), "has shape (2,); expected (2, 2), one row per node."),
    ([[0, 0], [np.nan, 1]], "holds NaN or a number above 1e+100 in size, at node 1; expected fini"),
    ([[0, 0], [0, -1e101]], "holds NaN or a number above 1e+100 in size, at node 1; expected fini"),
    ([["a", "b"]] * 2, "holds text; expected real numbers, of shape (2, n_edge_features)."),
    ([[1], [1, 2]], "holds rows of different lengths; expected real numbers, of shape (2, "),
]  # fmt: skip
BAD = [
    *(({"allowed_labels": value}, f"allowed_labels of sample 1 {words}") for value, words in BAD_SETS),
    *(({"edge_features": value}, f"edge_features of sample 1 {words}") for value, words in BAD_EDGES),
    ({"edge_features": None}, "sample 1 of X has no edge_features and sample 0 has some; expected"),
]  # fmt: skip


def judge_sentence(call, start: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(start)
    assert text.endswith(".")
    assert "\n" not in text


@pytest.mark.parametrize(("bad", "start"), BAD)
def test_bad_samples_are_named(bad, start):
    """In training and in prediction alike."""
    good = SOME if "edge_features" in bad else Forest(np.eye(2))
    X, model = [good, replace(good, **bad)], CRF().fit([good] * 2, ["ab", "ba"])
    judge_sentence(lambda: CRF().fit(X, ["ab", "ab"]), start)
    judge_sentence(lambda: model.predict(X), start)


PARAMETERS = [
    (CRF(edge_table="icing"), "edge_table is 'icing'; expected 'full', 'potts' or 'ising'."),
    (CRF(edge_table=None), "edge_table is None; expected 'full', 'potts' or 'ising'."),
    (M3N(label_costs=2.0), "label_costs is 2.0; expected a dict from label to its cost, or None."),
    (M3N(label_costs=[("a", 2.0)]), "label_costs is [('a', 2.0)]; expected a dict from label to"),
    (CRF(label_costs={"a": 0}), "label_costs['a'] is 0; expected a finite number > 0."),
    (CRF(label_costs={"a": "2"}), "label_costs['a'] is '2'; expected a number > 0."),
    (MEDN(label_costs={"b": np.nan}), "label_costs['b'] is nan; expected a finite number > 0."),
    (L1M3N(label_costs={"b": 1e101}), "label_costs['b'] is 1e+101; expected a number between 1e-1"),
    (L1M3N(label_costs={"b": 1e20}), "sample 0 of X has a labelling that costs 1e+20; expected la"),
    (EpsilonMarkovNetwork(loss=None, label_costs={}), "loss is None, so label_costs have no lo"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "start"), PARAMETERS)
def test_bad_parameters(model, start):
    judge_sentence(lambda: model.fit([np.eye(2)] * 2, ["ab", "ba"]), start)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("model", [M3N(), LaplaceMEDN(method="variational")])
@pytest.mark.parametrize("solver", ["smo", "online_subgradient", "exponentiated_gradient"])
def test_solvers_that_take_none_of_it_say_so(model, solver):
    for more, x, what in (
        ({"label_costs": {"a": 2.0}}, np.eye(2), "label_costs"),
        ({"edge_table": "potts"}, np.eye(2), "Potts tables"),
        ({}, SOME, "edge features"),
        ({}, replace(ONLY, allowed_labels=ONES > 0), "allowed_labels"),
    ):
        chosen = clone(model).set_params(solver=solver, **more)
        start = f"this solver takes no {what}; expected none, or the default solver"
        judge_sentence(lambda chosen=chosen, x=x: chosen.fit([x, x], ["ab", "ba"]), start)


def test_what_does_not_fit_what_was_learned():
    plain = CRF(forbidden=[("b", "a")]).fit([np.eye(2)] * 2, ["ab", "bb"])
    rich = M3N().fit([SOME] * 2, ["ab", "ba"])
    for model, x, start in (
        (plain, SOME, "X has 2 edge features; expected 0, as in training."),
        (rich, ONLY, "X has 0 edge features; expected 2, as in training."),
        (rich, replace(SOME, edge_features=ONES[:, :1]), "X has 1 edge features; expected 2, as"),
        (rich, replace(SOME, edge_types=[0, 1]), "sample 0 of X has an edge type that was not "),
        (plain, replace(ONLY, allowed_labels=["b", "a"]), "allowed_labels of sample 0 hold 'b' at"),
        (
            plain,
            replace(ONLY, allowed_labels=[["b"], ["a"]]),
            "sample 0 has no allowed labelling: ",
        ),
    ):
        judge_sentence(lambda model=model, x=x: model.predict([x]), start)
    assert plain.score([ONLY], ["bb"]) == 0.5  # the truth may be ruled out where nothing is learned
    assert plain.margins([ONLY], ["bb"]) == -np.inf
    assert plain.margins([ONLY], ["ab"]) == np.inf
    start = "the label of sample 1 at node 0 is not among its allowed_labels; expected training"
    judge_sentence(lambda: M3N().fit([ONLY, ONLY], ["ab", "ba"]), start)
    model = M3N(C=0.01, warm_start=True).fit([np.eye(2)] * 2, ["ab", "ab"])
    start = "warm_start holds a labelling with a label or transition that is forbidden now; exp"
    judge_sentence(lambda: model.fit([ONLY] * 2, ["ab", "ab"]), start)


ENTRIES = st.one_of(
    st.none(),
    st.lists(st.sampled_from(["a", "b", "z", 1, None, math.nan, (), [], "ab"]), max_size=3),
    st.sets(st.sampled_from("ab"), min_size=1),
    st.sampled_from(["ab", 3, b"ab", {"a": 1}, np.array(["b"]), np.ma.masked]),
)
NUMBERS = st.sampled_from([0.0, 1.0, -2.5, 1e90, math.nan, math.inf, None, "1", 1j, True, [1.0]])
SETS = st.one_of(
    st.lists(ENTRIES, max_size=3),
    st.lists(st.sampled_from([{"a", "b"}, ["a", "b"], None]), min_size=2, max_size=2),
    hnp.arrays(
        st.sampled_from([bool, int, object, "U1"]), hnp.array_shapes(min_dims=0, max_side=3)
    ),
)
FEATURES = st.lists(st.lists(NUMBERS, max_size=2) | NUMBERS, max_size=3) | hnp.arrays(
    st.sampled_from([bool, np.int8, np.float32]), hnp.array_shapes(max_side=2)
)


@given(allowed=st.none() | SETS, edges=st.none() | FEATURES)
def test_anything_is_learned_or_refused_in_one_sentence(allowed, edges):
    X = [Forest(np.eye(2), edge_features=edges, allowed_labels=allowed)] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = CRF(max_iter=3, verbose=0).fit(X, ["ab", "aa"])
        except (TypeError, ValueError) as error:
            assert re.match(r".*(sample [01]\b|has features of size).*\.$", str(error))
            return
    assert model.n_edge_features_in_ == (0 if edges is None else len(edges[0]))
    mask = [[allowed is None or allows(X[0], t, label) for label in "ab"] for t in range(2)]
    marginals = model.predict_marginals(X)[1]
    assert np.array_equal(marginals > 0, mask)
