"""Models on graphs with cycles: what they solve, their manners, predictions, files and bad input."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

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
    load_model,
)
from medn_edu.inference import Potentials
from medn_edu.inference.loopy import norm_product
from medn_edu.samples import pack

MODELS = [EpsilonMarkovNetwork(tol=1e-3), CRF(tol=1e-3), M3N(tol=1e-2)]


def make_images(n=6, height=3, width=4, n_labels=2, seed=0, **parameters):
    """Draw noisy images whose left side tends to one label and whose right side to another."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = np.broadcast_to(np.arange(width) * n_labels // width, (height, width))
        labels = np.where(
            rng.random(labels.shape) < 0.15, rng.integers(0, n_labels, labels.shape), labels
        )
        pixels = labels[..., None] + rng.normal(0.0, 0.7, (height, width, 1))
        X.append(grid(np.concatenate([pixels, np.ones_like(pixels)], axis=-1), **parameters))
        y.append(np.array(["dark", "light", "grey"])[labels.ravel()])
    return X, y


X, Y = make_images()
FORESTS = [Forest(np.asarray(x.features), [-1, 0, 0, *range(2, 11)]) for x in X]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param)


# -- what is solved -------------------------------------------------------------------------------


@pytest.mark.parametrize("chains", [True, False])
@pytest.mark.parametrize(("epsilon", "loss"), [(1.0, "hamming"), (0.3, "hamming"), (1.0, None)])
def test_on_forests_bethe_is_the_exact_path(chains, epsilon, loss):
    samples = [np.asarray(x.features) for x in X] if chains else FORESTS
    settings = {"C": 0.7, "epsilon": epsilon, "loss": loss, "tol": 1e-10, "max_iter": 5000}
    exact = EpsilonMarkovNetwork(**settings).fit(samples, Y)
    assert exact.solved_ == "exactly, because no graph has a cycle"
    for numbers in ("bethe", "trw", "convexified-bethe"):
        local = EpsilonMarkovNetwork(counting_numbers=numbers, **settings).fit(samples, Y)
        assert local.solved_.startswith(f"with local entropies, counting_numbers='{numbers}'")
        assert local.result_.primal == pytest.approx(exact.result_.primal, rel=1e-8)
        assert local.result_.dual == pytest.approx(exact.result_.dual, rel=1e-8)
        np.testing.assert_allclose(local.weights_, exact.weights_, atol=1e-4)
    if loss is None:
        crf = CRF(lam=1 / 0.7, counting_numbers="bethe", tol=1e-10, max_iter=5000).fit(samples, Y)
        np.testing.assert_allclose(crf.weights_, exact.weights_, atol=1e-4)
        assert 0.7 * crf.result_.primal == pytest.approx(exact.result_.primal, rel=1e-8)


def test_on_forests_the_relaxation_is_tight():
    exact = M3N(tol=1e-5, max_iter=5000).fit(FORESTS, Y)
    local = M3N(counting_numbers="ones", tol=1e-4).fit(FORESTS, Y)
    assert local.solved_ == "with the maximum relaxed to the local polytope (epsilon = 0)"
    assert local.result_.primal == pytest.approx(exact.result_.primal, rel=2e-4)


def test_the_family_has_both_ends():
    """CRF and M3N are members, and every member lies between M3N and M3N plus its entropies."""
    crf = CRF(lam=0.5, tol=1e-6).fit(X, Y)
    soft = EpsilonMarkovNetwork(C=2.0, loss=None, tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(crf.weights_, soft.weights_, atol=1e-2)
    assert 2.0 * crf.result_.primal == pytest.approx(soft.result_.primal, rel=1e-5)
    m3n = M3N(tol=1e-3).fit(X, Y)
    zero = EpsilonMarkovNetwork(epsilon=0.0, tol=1e-3).fit(X, Y)
    assert np.array_equal(zero.weights_, m3n.weights_)
    assert zero.solved_ == m3n.solved_
    entropy = len(X) * (12 + 2 * 17) * np.log(2)
    for epsilon in (1.0, 0.1, 0.01):
        result = EpsilonMarkovNetwork(epsilon=epsilon, tol=1e-3).fit(X, Y).result_
        assert m3n.result_.dual <= result.primal
        assert result.dual <= m3n.result_.primal + epsilon * entropy


def test_costs_and_weights_count():
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    index = np.repeat(np.arange(6), weight.astype(int))
    for model in (EpsilonMarkovNetwork(tol=1e-6), CRF(tol=1e-6), M3N(tol=1e-4)):
        weighted = clone(model).fit(X, Y, sample_weight=weight)
        copied = clone(model).fit([X[i] for i in index], [Y[i] for i in index])
        assert weighted.result_.primal == pytest.approx(copied.result_.primal, rel=2 * model.tol)
        costly = clone(model).set_params(label_costs={"dark": 5.0}).fit(X, Y)
        found = [(np.concatenate(each.predict(X)) == "dark").sum() for each in (weighted, costly)]
        assert found[1] > found[0]


# -- manners --------------------------------------------------------------------------------------


def test_manners_of_scikit_learn(model):
    search = GridSearchCV(model, {"counting_numbers": ["trw", (1.0, 1.0)]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.6
    assert len(cross_val_predict(model, X, Y, cv=2)) == len(X)
    assert (cross_val_score(model, X, Y, cv=2) > 0.6).all()
    first, second = (clone(model).set_params(n_jobs=n).fit(X, Y) for n in (1, 2))
    assert np.array_equal(first.weights_, second.weights_)
    assert first.result_.dual == second.result_.dual
    assert clone(model).set_params(counting_numbers=(0.5, 2.0)).counting_numbers == (0.5, 2.0)


def test_going_on_from_a_solution(model):
    model.set_params(warm_start=True).fit(X, Y)
    n_passes, primal = model.result_.n_passes, model.result_.primal
    model.fit(X, Y)
    assert model.result_.n_passes == 1 < n_passes
    assert model.result_.primal <= primal * (1 + 1e-9)
    for numbers in ("trw", None):
        assert model.set_params(counting_numbers=numbers).fit(X, Y).result_.converged
    other = [Graph(x.features, np.concatenate([x.edges, [[0, 11]]])) for x in X]
    restricted = [
        Graph(x.features, x.edges, allowed_labels=[[labels[0]], *[["dark", "light"]] * 11])
        for x, labels in zip(X, Y, strict=True)
    ]
    for samples in (other, FORESTS, X, restricted, X):
        again = clone(model).set_params(warm_start=False).fit(samples, Y)
        model.fit(samples, Y)
        assert model.result_.primal == pytest.approx(again.result_.primal, rel=2 * model.tol)


def test_saving(model, tmp_path):
    model.set_params(counting_numbers=(1.0, 0.5)).fit(X, Y)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.solved_ == model.solved_
    assert loaded.counting_numbers == (1.0, 0.5)
    assert np.array_equal(loaded.weights_, model.weights_)
    for mine, other in zip(model.predict_marginals(X), loaded.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert all(map(np.array_equal, model.predict(X), loaded.predict(X)))


# -- prediction -----------------------------------------------------------------------------------


def test_predictions_of_any_graphs(model):
    """New sizes with shared weights, chains and forests among graphs with cycles."""
    model.fit(X, Y)
    larger, truth = make_images(3, 6, 9, seed=1)
    assert 0.6 < model.score(larger, truth) <= 1.0
    assert [len(y) for y in model.predict(larger)] == [54] * 3
    chain = np.asarray(X[0].features)
    mixed = model.predict([chain, X[1], FORESTS[2]])
    assert np.array_equal(mixed[1], model.predict([X[1]])[0])
    assert np.array_equal(mixed[0], model.predict([chain])[0])
    assert np.array_equal(mixed[2], model.predict([FORESTS[2]])[0])
    on_chains = clone(model).fit([np.asarray(x.features) for x in X], Y)
    assert on_chains.score(X, Y) > 0.6
    right = [np.mean(a == b) for a, b in zip(model.predict(X), Y, strict=True)]
    assert model.score(X, Y) == pytest.approx(np.mean(right))
    weight = np.arange(1.0, 7.0)
    assert model.score(X, Y, weight) == pytest.approx(np.average(right, weights=weight))


def test_marginals_are_beliefs_at_a_temperature(model):
    model.set_params(counting_numbers="ones").fit(X, Y)
    potentials = Potentials.of_weights(pack(X), model.coef_, model.transitions_)
    for temperature in (1.0, 0.2):
        found = norm_product(potentials, "ones", temperature, tol=1e-8)
        nodes = model.predict_marginals(X, temperature)
        edges = model.predict_edge_marginals(X, temperature)
        assert [each.shape for each in nodes] == [(12, 2)] * 6
        assert [each.shape for each in edges] == [(17, 2, 2)] * 6
        np.testing.assert_allclose(np.concatenate(nodes), found.beliefs.node, atol=1e-3)
        np.testing.assert_allclose(np.concatenate(edges), found.beliefs.edge, atol=1e-3)
        first = nodes[0][X[0].edges[:, 0]]
        np.testing.assert_allclose(edges[0].sum(axis=2), first, atol=2e-3)
    scores = model.decision_scores(X)
    np.testing.assert_allclose(scores, model.decision_scores(X, model.predict(X)))
    features = model.joint_feature(X, Y) @ model.weights_
    np.testing.assert_allclose(model.decision_scores(X, Y), features)


@pytest.mark.parametrize("question", ["decode", "k best", "margins"])
def test_what_is_asked_of_graphs_without_cycles_only(model, question):
    model.fit(X, Y)
    ask = {
        "decode": lambda: model.decode(X),
        "k best": lambda: model.decode(X, k=3),
        "margins": lambda: model.margins(X, Y),
    }
    with pytest.raises(ValueError, match="sample 0 was packed as a graph with cycles, for which"):
        ask[question]()


def test_restricted_labels_stay_restricted(model):
    labels = ["dark", "light"]
    sets = [[label] if node == 4 else labels for node, label in enumerate(Y[0])]
    samples = [Graph(X[0].features, X[0].edges, allowed_labels=sets), *X[1:]]
    model.fit(samples, Y)
    assert model.result_.converged
    wrong = [["light" if Y[0][4] == "dark" else "dark"] if v == 4 else labels for v in range(12)]
    other = Graph(X[0].features, X[0].edges, allowed_labels=wrong)
    assert model.predict([other])[0][4] == wrong[4][0]
    np.testing.assert_allclose(model.predict_marginals([other])[0][4].max(), 1.0)


@pytest.mark.parametrize("table", ["full", "potts", "ising"])
def test_a_weight_for_every_pixel_and_edge(table):
    samples, y = make_images(4, share=False)
    model = EpsilonMarkovNetwork(edge_table=table, tol=1e-3).fit(samples, y)
    n_node, n_edge = {"full": (2, 4), "potts": (2, 1), "ising": (1, 1)}[table]
    assert len(model.weights_) == n_node * 24 + n_edge * 17
    assert model.score(samples, y) > 0.8


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (CRF(penalty="l1"), "penalty is 'l1' .* CRF expects penalty='l2' and solver='auto'"),
        (CRF(penalty=None), "penalty is None .* CRF expects penalty='l2'"),
        (CRF(solver="lbfgs"), "solver is 'lbfgs'; on graphs with cycles"),
        (M3N(l1_ratio=0.5), "l1_ratio is 0.5 .* M3N expects l1_ratio=0"),
        (M3N(solver="cutting_plane"), "solver 'cutting_plane'; on graphs with cycles"),
        (MEDN(), "sample 0 of X is a graph with cycles, on which MEDN cannot be trained"),
        (L1M3N(), "sample 0 of X is a graph with cycles, on which L1M3N cannot be trained"),
        (LaplaceMEDN(), "sample 0 of X is a graph with cycles, on which LaplaceMEDN cannot"),
        (CRF(counting_numbers="bethe"), "counting_numbers 'bethe' are not concave .* of sample 0"),
        (
            CRF(counting_numbers=(1, 0)),
            r"counting_numbers \(1, 0\) leave out the entropy of some edges",
        ),
        (M3N(counting_numbers="beth"), "counting_numbers is 'beth'; expected one of 'ones'"),
        (M3N(counting_numbers=(1, 2, 3)), r"counting_numbers is \(1, 2, 3\); expected"),
        (EpsilonMarkovNetwork(epsilon=-1.0), "epsilon is -1"),
    ],
)
def test_models_that_are_refused(model, said):
    with pytest.raises(ValueError, match=said) as raised:
        model.fit(X, Y)
    assert str(raised.value).count(". ") == 0  # one sentence


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([grid(np.zeros((3, 3)))], "sample 0 of X has 1 features; expected 2"),
        ([X[0], grid(np.zeros((3, 3, 2)), 8)], "sample 1 of X has an edge type that was not seen"),
        ([grid(np.full((3, 3, 2), np.nan))], "sample 0 of X holds NaN or infinite features"),
        (
            [Graph(np.zeros((3, 2)), [[0, 1], [1, 2], [2, 0]], edge_features=np.ones((3, 1)))],
            "X has 1 edge features; expected 0",
        ),
    ],
)
def test_samples_that_are_refused(model, samples, said):
    with pytest.raises(ValueError, match=said):
        model.fit(X, Y).predict(samples)


def test_labels_that_are_refused(model):
    with pytest.raises(ValueError, match="y holds a single label"):
        model.fit(X, [np.full(12, "dark")] * 6)
    with pytest.raises(ValueError, match=r"sample 2 has 12 nodes but y\[2\] has 11 labels"):
        model.fit(X, [y[: 12 - (i == 2)] for i, y in enumerate(Y)])
    with pytest.raises(ValueError, match="sample 1 of X has 8 features; expected 6"):
        model.fit([grid(np.zeros((2, w)), share=False) for w in (3, 4)], [["a"] * 6, ["b"] * 8])


def test_not_converged(model):
    model.set_params(max_iter=2, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="relative gap of .* beliefs that disagree by"):
        model.fit(X, Y)
    assert model.result_.dual <= model.result_.primal
    assert 0.0 <= model.score(X, Y) <= 1.0


@pytest.mark.parametrize(
    ("size", "strength"), [(1e-6, 1.0), (1e6, 1.0), (1.0, 1e-8), (1.0, 1e8), (1e6, 1e8)]
)
def test_large_and_small_numbers(model, size, strength):
    """A certified gap, or the one warning that it was not reached, and never one of numpy's."""
    price = {"lam": 1.0 / strength} if isinstance(model, CRF) else {"C": strength}
    scaled = [Graph(size * np.asarray(x.features), x.edges) for x in X]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(**price).fit(scaled, Y).predict(scaled)
    assert all(issubclass(each.category, ConvergenceWarning) for each in caught)
    assert model.result_.converged or caught
    assert model.result_.dual <= model.result_.primal * (1 + 1e-9)
    assert np.isfinite(model.weights_).all()


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 0.01, 100.0, 1e6])
def test_any_temperature(epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EpsilonMarkovNetwork(epsilon=epsilon).fit(X, Y)
        assert model.result_.converged
        assert 0.3 < model.score(X, Y) <= 1.0


def test_small_sets(model):
    assert model.fit(X[:1], Y[:1]).result_.converged
    for shape in ((1, 12), (12, 1)):
        line = [grid(np.asarray(x.features).reshape(*shape, 2)) for x in X]
        assert model.fit(line, Y).solved_ == "exactly, because no graph has a cycle"
        np.testing.assert_allclose(
            model.weights_, clone(model).fit([np.asarray(x.features) for x in X], Y).weights_
        )
    dots = [grid(np.zeros((1, 1))), grid(np.ones((1, 1)))]
    assert model.fit(dots, [["a"], ["b"]]).predict(dots)[1] == ["b"]
    square = [grid(np.array([[0.0, 1.0], [0.0, 1.0]]))]
    assert model.fit(square, [[0, 1, 0, 1]]).result_.converged
    assert "exactly" not in model.solved_.replace(", and graphs without cycles exactly", "")
