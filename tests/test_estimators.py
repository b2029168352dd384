"""Estimators: scikit-learn's manners, predictions against enumeration, bad input, saving."""

import itertools
import json
import math
import pickle
import warnings
import zipfile
from collections import namedtuple
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneGroupOut,
    cross_val_predict,
    cross_val_score,
)

from medn_edu import (
    CRF,
    L1M3N,
    M3N,
    MEDN,
    EpsilonMarkovNetwork,
    Forest,
    LaplaceMEDN,
    load_model,
)
from medn_edu.priors import GaussianPrior, NormalGammaPrior, Prior
from medn_edu.samples import pack
from medn_edu.slacks import LinearSlack, QuadraticSlack


class NotSteep(Prior):
    """A mean that stays below 1 up to the end of the domain."""

    domain = (-1.0, 1.0)

    def log_mgf(self, eta, index=None):
        return eta**2 / 2

    def mean(self, eta, index=None):
        return np.asarray(eta, dtype=float)


MODELS = {
    "M3N": M3N(C=1.0, tol=1e-6),
    "L2-CRF": CRF(lam=0.5),
    "visited CRF": CRF(solver="online_exponentiated_gradient", lam=0.5, tol=1e-6),
    "CRF": CRF(penalty=None, max_iter=50),
    "LapMEDN": LaplaceMEDN(lam=4.0, tol=1e-4),
    "variational LapMEDN": LaplaceMEDN(lam=4.0, method="variational", tol=1e-4),
    "MEDN": MEDN(prior=NormalGammaPrior(), slack=QuadraticSlack(), tol=1e-4),
    "epsilon": EpsilonMarkovNetwork(epsilon=0.5, tol=1e-4),
    "low epsilon": EpsilonMarkovNetwork(epsilon=0.001, tol=1e-4, max_iter=5000),
    "L1-CRF": CRF(penalty="l1", lam=0.5, tol=1e-6),
    "elastic-net CRF": CRF("elasticnet", 0.5, l1_ratio=0.5, tol=1e-6),
    "elastic-net M3N": M3N(C=0.3, l1_ratio=0.5, tol=1e-4),
    "L1M3N": L1M3N(0.2, tol=1e-6),
    "L1M3N by cutting planes": L1M3N(0.2, "cutting_plane", tol=1e-6),
    "L1M3N in a ball": L1M3N(solver="subgradient", radius=2.0, tol=0.05),
    "L1M3N in a ball, online": L1M3N(solver="online_subgradient", radius=2.0, tol=0.05),
    "L1M3N by EM": L1M3N(0.2, "em", n_iterations=5, tol=1e-4),
}
GRIDS = {"C": [0.1, 1.0], "lam": [0.1, 1.0], "prior": [GaussianPrior(), NormalGammaPrior()]}
ENDLESS = ("CRF", "variational LapMEDN", "L1M3N by EM")  # end when their work is done, not at a gap
AFRESH = ("L1M3N in a ball", "L1M3N in a ball, online")  # start so, whatever was learned before
# Starts near its weights, but with new dual variables, which hardly pays where samples are few.
NEARLY_AFRESH = ("visited CRF",)
WARM = [name for name in MODELS if name not in ENDLESS + AFRESH + NEARLY_AFRESH]
# What fit refuses, and how its sentence begins.
REFUSED = [
    (M3N(C=0), "C is 0; expected a finite number > 0"),
    (M3N(C=-(10**400)), "C is -1000"),
    (M3N(C=math.nan), "C is nan; expected"),
    (M3N(C="1"), "C is '1'; expected a number"),
    (M3N(tol=0), "tol is 0"),
    (M3N(max_iter=0), "max_iter is 0"),
    (M3N(n_jobs=0), "n_jobs is 0"),
    (M3N(n_jobs=10**6), "n_jobs is 1000000; expected 1 to 1024 threads."),
    (M3N(random_state="x"), "random_state is 'x'"),
    (M3N(solver="nonsense"), "solver is 'nonsense'; expected one of 'block_frank_wolfe', "),
    (M3N(solver="subgradient", beta=-1.0), "beta is -1.0"),
    (M3N(l1_ratio=1.0), "l1_ratio is 1, which leaves no squares; expected below 1, or L1M3N."),
    (M3N(l1_ratio=-0.1), "l1_ratio is -0.1; expected a share from 0 to 1."),
    (M3N(l1_ratio="half"), "l1_ratio is 'half'; expected a share from 0 to 1."),
    (M3N(l1_ratio=math.nan), "l1_ratio is nan; expected a share from 0 to 1."),
    (M3N(l1_ratio=0.5, solver="smo"), "l1_ratio is 0.5 and solver 'smo'; expected "),
    (CRF(lam=0), "lam is 0"),
    (CRF("l1", lam=-2), "lam is -2"),
    (CRF("l3"), "penalty is 'l3'; expected one of None, 'l1', 'l2' or 'elasticnet'."),
    (
        CRF(solver="adam"),
        "solver is 'adam'; expected one of 'auto', 'online_exponentiated_gradient'",
    ),
    (
        CRF(solver="owlqn"),
        "solver is 'owlqn', which cannot train with penalty='l2'; expected 'online_exponentia",
    ),
    (
        CRF("elasticnet", l1_ratio=0.5, solver="lbfgs"),
        "solver is 'lbfgs', which cannot train with penalty='elasticnet' and l1_ratio=0.5; expect",
    ),
    (
        CRF(None, solver="online_exponentiated_gradient"),
        "solver is 'online_exponentiated_gradient', which cannot train with penalty=None; expected 'lbf",
    ),
    (CRF(random_state="x"), "random_state is 'x'"),
    (CRF(l1_ratio=0.5), "l1_ratio is 0.5 and penalty is 'l2'; expected a share from 0 to 1 "),
    (CRF("elasticnet"), "l1_ratio is None and penalty is 'elasticnet'; expected a share "),
    (CRF("elasticnet", l1_ratio=1.5), "l1_ratio is 1.5; expected a share from 0 to 1"),
    (EpsilonMarkovNetwork(C=0), "C is 0"),
    (EpsilonMarkovNetwork(epsilon=-0.1), "epsilon is -0.1"),
    (EpsilonMarkovNetwork(epsilon=math.inf), "epsilon is inf"),
    (EpsilonMarkovNetwork(epsilon="1"), "epsilon is '1'"),
    (EpsilonMarkovNetwork(loss="zero-one"), "loss is 'zero-one'"),
    (EpsilonMarkovNetwork(epsilon=0, loss=None), "epsilon is 0 and loss is None"),
    (MEDN(prior=GaussianPrior), "prior is the class GaussianPrior; expected"),
    (MEDN(prior=scipy.stats.laplace()), "prior is the distribution 'laplace' of scipy"),
    (MEDN(prior="laplace"), "prior is 'laplace'; expected a Prior"),
    (MEDN(prior=3.0), "prior is 3.0, of type float, and lacks domain"),
    (MEDN(prior=NotSteep()), "mean of NotSteep stays finite"),
    (
        MEDN(prior=GaussianPrior(np.ones(22))),
        "prior_variance has one variance for each of 22 weights",
    ),
    (MEDN(slack="linear"), "slack is 'linear'; expected LinearSlack"),
    (MEDN(slack=LinearSlack), "slack is <class "),
    (LaplaceMEDN(C=0), "C is 0; expected a finite number > 0"),
    (LaplaceMEDN(lam=math.nan), "lam is nan; expected"),
    (LaplaceMEDN(lam="36"), "lam is '36'; expected a number"),
    (LaplaceMEDN(method="exakt"), "method is 'exakt'; expected 'exact'"),
    (LaplaceMEDN(n_iterations=0), "n_iterations is 0; expected a whole"),
    (LaplaceMEDN(n_iterations=2.5), "n_iterations is 2.5; expected a whole"),
    (LaplaceMEDN(method="variational", tol=0), "tol is 0"),
    (LaplaceMEDN(method="variational", beta=4.0), "beta is 4.0 and solver 'block_frank_wolfe'; "),
    (L1M3N(C=0), "C is 0; expected a finite number > 0"),
    (L1M3N(-1.0, "em"), "C is -1.0; expected"),
    (L1M3N(0.0, "subgradient"), "C is 0.0; expected"),
    (L1M3N(1e300), "the weights cannot be computed in double precision"),
    (L1M3N(solver="simplex"), "solver is 'simplex'; expected one of 'auto', 'path'"),
    (L1M3N(solver="subgradient", radius=0.0), "radius is 0.0; expected a finite"),
    (L1M3N(solver="online_subgradient", beta=0), "beta is 0; expected a finite"),
    (L1M3N(solver="em", lam=-1), "lam is -1; expected a finite"),
    (L1M3N(solver="em", lam="5"), "lam is '5'; expected a number"),
    (L1M3N(solver="em", n_iterations=1.5), "n_iterations is 1.5; expected a whole"),
    (L1M3N(solver="em", threshold=1e300), "threshold is 1e+300; expected a number between"),
    (L1M3N(radius=1.0), "radius is 1.0, but the solver 'auto' does not use it; expected None, or"),
    (L1M3N(solver="cutting_plane", lam=2.0), "lam is 2.0, but the solver 'cutting_plane'"),
    (L1M3N(beta=3.0), "beta is 3.0, but the solver 'auto' does not use it"),
    (L1M3N(threshold=0.1), "threshold is 0.1, but the solver 'auto' does not use it"),
    (L1M3N(solver="em", clean_up=True), "clean_up is True, but the solver 'em' does not use it"),
    (L1M3N(clean_up="yes"), "clean_up is 'yes'; expected True, False or None"),
]


def make_words(n_samples=12, n_features=4, n_labels=3, seed=0, trees=False):
    """Small noisy sequences, or trees, whose features give their labels away."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_samples):
        n = int(rng.integers(2, 5))
        labels = rng.integers(0, n_labels, n)
        features = rng.normal(0, 0.7, (n, n_features))
        features[np.arange(n), labels] += 1.0
        parents = [-1] + [int(rng.integers(0, t)) for t in range(1, n)]
        X.append(Forest(features, parents) if trees else features)
        y.append(np.array(list("abc"))[labels])
    return X, y


X, Y = make_words()


@pytest.fixture(params=MODELS)
def model(request):
    """Every model, untrained."""
    return clone(MODELS[request.param])


def learned(model):
    """Return what a model holds beyond its parameters."""
    return {name: value for name, value in vars(model).items() if name not in model.get_params()}


def told(model):
    """Return all public attributes that a fitted model has; marginals are not saved with it."""
    found = {name: getattr(model, name) for name in attributes_of(model) if hasattr(model, name)}
    return {**found, "result_": asdict(model.result_) | {"marginals": None}}


def attributes_of(model):
    return [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]


def labellings(model, sample):
    """Return all labellings of a sample and their scores, straight from the definition."""
    n = len(sample)
    codes = np.array(list(itertools.product(range(len(model.classes_)), repeat=n)))
    node = sample @ model.coef_.T
    scores = node[np.arange(n), codes].sum(axis=1)
    if n > 1:
        scores = scores + model.transitions_[0][codes[:, :-1], codes[:, 1:]].sum(axis=1)
    return codes, scores


def test_predictions_equal_enumeration(model):
    """Best labelling, k-best, scores, marginals and margins, from the definitions."""
    model.fit(X, Y)
    joined = np.concatenate([model.coef_.ravel(), model.transitions_.ravel()])
    assert np.array_equal(model.weights_, joined)
    assert model.coef_.shape == (3, 4)
    assert model.transitions_.shape == (1, 3, 3)
    assert model.eta_.shape == model.weights_.shape
    assert model.n_features_in_ == 4
    decoded = model.decode(X, k=4)
    marginals = model.predict_marginals(X, temperature=0.7)
    pairs = model.predict_edge_marginals(X, temperature=0.7)
    margins = model.margins(X, Y)
    predicted = model.predict(X)
    for i, sample in enumerate(X):
        codes, scores = labellings(model, sample)
        order = np.argsort(-scores)[:4]
        assert np.array_equal(predicted[i], model.classes_[codes[order[0]]])
        for (labels, score), best in zip(decoded[i], order, strict=True):
            assert np.array_equal(labels, model.classes_[codes[best]])
            assert score == pytest.approx(scores[best])
        probability = np.exp((scores - scores.max()) / 0.7)
        probability /= probability.sum()
        expected = [
            [probability[codes[:, t] == a].sum() for a in range(3)] for t in range(len(sample))
        ]
        np.testing.assert_allclose(marginals[i], expected, atol=1e-10)
        tables = np.zeros((len(sample), 3, 3))
        for t in range(1, len(sample)):
            np.add.at(tables[t], (codes[:, t - 1], codes[:, t]), probability)
        np.testing.assert_allclose(pairs[i], tables, atol=1e-10)
        true = (model.classes_[codes] == Y[i]).all(axis=1)
        assert margins[i] == pytest.approx(scores[true][0] - scores[~true].max())
    np.testing.assert_allclose(model.decision_scores(X), [d[0][1] for d in decoded])


def test_joint_feature_times_weights_is_the_score(model):
    """F(x, y; w) = f(x, y) . w, on trees too."""
    trees, labels = make_words(trees=True, seed=3)
    model.fit(trees, labels)
    np.testing.assert_allclose(
        model.joint_feature(trees, labels) @ model.weights_, model.decision_scores(trees, labels)
    )


@pytest.mark.parametrize("name", MODELS)
def test_certificate(name):
    """Primal is never below dual; nothing is warned of, and the gap asked for is reached."""
    model = clone(MODELS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = model.fit(X, Y).result_
    assert result.primal >= result.dual
    if name in ENDLESS:
        assert not result.converged
        assert result.status
    else:
        assert result.converged
        assert result.relative_gap <= model.tol


def test_scikit_learn_manners(model):
    """Clone, grid search and cross-validation work on lists of samples."""
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    scores = cross_val_score(model, X, Y, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.4).all()
    predicted = cross_val_predict(model, X, Y, cv=3)
    assert [len(p) for p in predicted] == [len(s) for s in X]
    name = next(name for name in GRIDS if name in model.get_params())
    search = GridSearchCV(model, {name: GRIDS[name]}, cv=3).fit(X, Y)
    assert search.best_params_[name] in GRIDS[name]
    assert search.best_estimator_.result_.primal > 0


def test_same_seed_same_result_whatever_the_workers(model, small_groups):
    """Weights are equal to the last bit for one and two threads."""
    assert small_groups(pack(X)) > 1
    one = clone(model).set_params(n_jobs=1).fit(X, Y)
    two = clone(model).set_params(n_jobs=2).fit(X, Y)
    assert np.array_equal(one.weights_, two.weights_)
    assert one.result_.gap == two.result_.gap


def test_weight_two_is_a_copy(model):
    """Samples of weight 2 count like two copies of them, and not like one."""
    weight = np.where(np.arange(len(X)) < 6, 2.0, 1.0)
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    copied = clone(model).fit([*X, *X[:6]], [*Y, *Y[:6]])
    once = clone(model).fit(X, Y)
    close = max(1e-4, 2 * model.tol)
    assert weighted.result_.primal == pytest.approx(copied.result_.primal, rel=close)
    assert weighted.result_.primal != pytest.approx(once.result_.primal, rel=close)
    share = weighted.score([*X, *X[:6]], [*Y, *Y[:6]])
    assert weighted.score(X, Y, sample_weight=weight) == pytest.approx(share)


def test_sparse_and_dense_features_are_the_same(model):
    """Scipy CSR samples give the same model as arrays."""
    dense = clone(model).fit(X, Y)
    sparse = clone(model).fit([sp.csr_matrix(sample) for sample in X], Y)
    assert np.array_equal(dense.weights_, sparse.weights_)


def test_forbidden_transitions_never_occur(model):
    """A forbidden pair is in no prediction, k-best labelling or marginal."""
    words, labels = zip(
        *((x, y) for x, y in zip(X, Y, strict=True) if ("a", "b") not in itertools.pairwise(y)),
        strict=True,
    )
    model.set_params(forbidden=[("a", "b")]).fit(list(words), list(labels))
    for found in model.decode(X, k=9):
        for sequence, _ in found:
            assert ("a", "b") not in itertools.pairwise(sequence)
    assert model.decision_scores([np.eye(4)[:2]], ["ab"])[0] == -np.inf
    assert (model.transitions_[0, 0, 1]) == 0


@pytest.mark.parametrize("name", WARM)
def test_warm_start_continues(name, tmp_path):
    """Saved or not, a model that is fitted again needs fewer passes."""
    model = clone(MODELS[name]).set_params(tol=1e-3, warm_start=True).fit(X, Y)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz").set_params(tol=1e-5).fit(X, Y)
    assert again.result_.converged
    cold = clone(again).set_params(warm_start=False).fit(X, Y)
    passes = again.result_.n_passes
    assert passes < cold.result_.n_passes
    np.testing.assert_allclose(again.result_.primal, cold.result_.primal, rtol=1e-5)
    again.fit(X, Y)
    assert again.result_.converged
    assert again.result_.n_passes <= passes
    for samples, labels in ((X[:-1], Y[:-1]), (X, [np.char.upper(word) for word in Y])):
        with pytest.raises(ValueError, match="warm_start continues"):
            again.fit(samples, labels)


def test_warm_start_with_another_forbidden():
    model = M3N(C=0.01, warm_start=True).fit([np.eye(2)] * 2, ["ab", "ab"])
    model.set_params(forbidden=[("b", "a")])  # as in "ba", which is wrong at both nodes
    with pytest.raises(ValueError, match="forbidden now; expected the `forbidden` of the last fit"):
        model.fit([np.eye(2)] * 2, ["ab", "ab"])


EARLY = "{kind} reached a relative gap of {gap:.2g} instead of {tol} (stopped after 1 passes); "
DEAD = "every feature died in iteration 1: "
INNER = "the quadratic program of iteration 1 reached a relative gap of "


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (M3N(C=100.0, max_iter=1, tol=1e-9), EARLY),
        (M3N(C=0.3, l1_ratio=0.5, max_iter=1, tol=1e-9), EARLY),
        (CRF(max_iter=1, tol=1e-9), EARLY),
        (CRF("l1", max_iter=1), EARLY),
        (CRF(penalty=None, max_iter=2), "CRF used all 2 passes before its log-likelihood settled"),
        (EpsilonMarkovNetwork(max_iter=1, tol=1e-9), EARLY),
        (LaplaceMEDN(method="variational", n_iterations=1, max_iter=1, tol=1e-9), INNER),
        (L1M3N(max_iter=1, tol=1e-9), EARLY),
        (L1M3N(solver="cutting_plane", max_iter=1, tol=1e-9), EARLY),
        (L1M3N(solver="subgradient", max_iter=1), EARLY),
        (L1M3N(solver="online_subgradient", max_iter=1), EARLY),
        (L1M3N(5.0, "em", n_iterations=1, max_iter=1, tol=1e-9), INNER),
        (L1M3N(solver="em", threshold=1e9), DEAD + "no beta is above the threshold of 1e+09"),
    ],
    ids=str,
)
def test_training_cut_short_is_told(model, words):
    """Once, with what was reached, and of the line that fitted: a reader cannot change another."""
    with pytest.warns(ConvergenceWarning) as warned:
        model.fit(X, Y)
    (warning,) = warned
    text = str(warning.message)
    gap = model.result_.relative_gap
    assert text.startswith(words.format(kind=type(model).__name__, gap=gap, tol=model.tol))
    assert text.endswith((".", ")"))
    assert warning.filename == __file__
    assert not model.result_.converged
    assert len(model.predict(X)) == len(X)


def test_nothing_is_known_before_training(model):
    """Predictions and all that training tells are refused with scikit-learn's own error."""
    with pytest.raises(NotFittedError):
        model.predict(X)
    for name in attributes_of(model):
        with pytest.raises(NotFittedError):
            getattr(model, name)


@pytest.mark.parametrize(("model", "words"), REFUSED)
def test_bad_parameters(model, words):
    """One sentence when fit is called, not before; nothing is learned, nothing is lost."""
    model = clone(model)
    with pytest.raises((TypeError, ValueError)) as error:
        model.fit(X, Y)
    assert str(error.value).startswith(words)
    assert str(error.value).endswith((".", "?"))
    assert "\n" not in str(error.value)
    assert not learned(model)
    good = type(model)().fit(X, Y)
    before = learned(good)
    with pytest.raises((TypeError, ValueError)):
        good.set_params(**model.get_params()).fit(X, Y)
    assert learned(good).keys() == before.keys()
    assert all(value is before[name] for name, value in learned(good).items())
    assert good.set_params(n_jobs=1).score(X, Y) > 0.5


def test_bad_samples(model):
    """Are named, and nothing is learned."""
    spoilt = [np.where(np.arange(4) == 2, np.nan, X[0]), *X[1:]]
    weight = np.zeros(len(X))
    for samples, labels, more, words in (
        (spoilt, Y, {}, "sample 0"),
        ([], [], {}, "expected"),
        (X, Y[:-1], {}, "expected"),
        (X, Y, {"sample_weight": weight}, "sample_weight"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(samples, labels, **more)
    assert not learned(model)


EXTREME = [
    *(clone(model).set_params(max_iter=20) for model in MODELS.values()),
    *(
        EpsilonMarkovNetwork(C, epsilon=epsilon, loss=loss, max_iter=20)
        for C in (1.0, 1e-300, 1e300)
        for epsilon in (1.0, 0.01, 1e-300)
        for loss in ("hamming", None)
    ),
    *(
        LaplaceMEDN(C=C, lam=lam, method=method, max_iter=10)
        for C in (1e-300, 1e-9, 1e9, 1e300)
        for lam in (1e-300, 1e-9, 1e9, 1e300)
        for method in ("exact", "variational")
    ),
    CRF("l1", lam=5e-324, max_iter=5),
]


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e20, 1e60, 1e90, 1e110, 1e160, 1e308])
@pytest.mark.parametrize("model", EXTREME)
def test_numbers_of_any_size_get_a_model_or_a_sentence(model, size):
    """Those that overflow are refused, and never reach a kernel unnoticed."""
    model, sample = clone(model), np.array([[size, -size], [size, size]])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit([sample, sample, sample[::-1]], ["ab", "ba", "bb"])
    except ValueError as error:
        assert str(error).endswith(".")
        if size == 1.0 and isinstance(model, LaplaceMEDN):  # it is the constants
            assert str(error).startswith("the weights cannot be computed in double precision")
        assert not learned(model)
    else:
        result = model.result_
        assert np.isfinite(model.weights_).all()
        assert np.all(getattr(model, "posterior_variance_", 0) >= 0)
        assert np.isfinite(getattr(model, "bounds_", 0)).all()
        assert result.primal >= result.dual - 1e-9 * abs(result.primal)


def test_bad_samples_at_prediction(model):
    """Other widths, unseen labels and unseen edge types are named."""
    model.fit(X, Y)
    with pytest.raises(ValueError, match="sample 1 of X has 5 features; expected 4"):
        model.predict([X[0], np.ones((2, 5))])
    with pytest.raises(ValueError, match="'z' of sample 0 was not seen in training"):
        model.margins(X[:1], [["z"] * len(X[0])])
    with pytest.raises(ValueError, match="edge type that was not seen"):
        model.predict([Forest(np.ones((2, 4)), [-1, 0], [0, 1])])
    with pytest.raises(ValueError, match="temperature"):
        model.predict_marginals(X, temperature=0)
    with pytest.raises(ValueError, match="temperature"):
        model.predict_edge_marginals(X, temperature=0)
    with pytest.raises(ValueError, match="k is 0"):
        model.decode(X, k=0)


def test_labels_that_training_did_not_see_count_as_wrong():
    """One warning names them all, so that groups can be left out; missing labels are still errors."""
    model = M3N().fit(X, Y)
    novel = [np.array(word, dtype=object) for word in Y]
    novel[0][:], novel[1][0] = "z", ("x", 1)
    n_nodes, n_novel = sum(map(len, Y)), len(Y[0]) + 1
    right = sum((p == y).sum() for p, y in zip(model.predict(X), novel, strict=True))
    with pytest.warns(
        UserWarning, match=rf"at {n_novel} of {n_nodes} .*: 'z', \('x', 1\)\."
    ) as told:
        assert model.score(X, novel) == right / n_nodes
    assert len(told) == 1
    assert told[0].category is UserWarning
    assert told[0].filename == __file__
    groups = [i % 3 for i in range(len(X))]
    y = [["z"] * len(word) if g == 0 else word for word, g in zip(Y, groups, strict=True)]
    with pytest.warns(UserWarning, match="did not see"):
        scores = cross_val_score(model, X, y, groups=groups, cv=LeaveOneGroupOut())
    assert scores[0] == 0
    assert (scores[1:] > 0).all()
    for missing, error in ((None, ValueError), (math.nan, ValueError), ([1], TypeError)):
        with pytest.raises(error, match=r"missing label|not hashable"):
            model.score(X[:1], [[missing] * len(X[0])])


def test_labels_of_every_kind(model):
    """Integers, strings, floats, booleans and tuples come back as they went in."""
    for labels in ([3, 7], ["x", "yy"], [0.5, -1.0], [True, False], [("a", 1), ("b", 2)]):
        y = [[labels[0] if c == "a" else labels[1] for c in word] for word in Y]
        predicted = clone(model).fit(X, y).predict(X)
        assert {label for word in predicted for label in word.tolist()} <= set(labels)


MATRICES = st.lists(
    st.lists(st.floats(-3, 3) | st.just(float("nan")), min_size=0, max_size=3),
    min_size=0,
    max_size=3,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    X=st.lists(MATRICES, max_size=3),
    y=st.lists(st.lists(st.sampled_from(["a", "b", 1, None]), max_size=3), max_size=3),
)
def test_arbitrary_input_at_fit(X, y):
    """Whatever is handed in, there is a fitted model or one sentence."""
    try:
        model = M3N(max_iter=5, tol=0.1, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
    except (TypeError, ValueError) as error:
        assert str(error).endswith(".")
        assert "\n" not in str(error)
    else:
        assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        (CRF, "penalty", "None, 'l1', 'l2' or 'elasticnet'"),
        (EpsilonMarkovNetwork, "loss", "None or 'hamming'"),
        (LaplaceMEDN, "method", "'exact' or 'variational'"),
        (LaplaceMEDN, "solver", "one of 'block_frank_wolfe', "),
        (M3N, "solver", "one of 'block_frank_wolfe', "),
        (L1M3N, "solver", "one of 'auto', "),
        (M3N, "warm_start", "True or False"),
        (CRF, "verbose", "a whole number of at least 0"),
        (M3N, "n_jobs", "a whole number of at least 1"),
        (M3N, "max_iter", "a whole number of at least 1"),
        (M3N, "tol", "a number > 0"),
        (L1M3N, "clean_up", "True, False or None"),
        (L1M3N, "threshold", ""),
        (MEDN, "prior", "a subclass of medn_edu.priors.Prior"),
        (MEDN, "slack", "LinearSlack"),
        (M3N, "random_state", "a whole number of at least 0"),
        (CRF, "random_state", "a whole number of at least 0"),
    ],
)
def test_odd_parameters_are_named(model, name, words):
    """Arrays, lists and what looks like a number get the same sentence, on one line."""
    solver = {"solver": "em"} if name == "threshold" else {}
    for odd in (np.eye(50), ["l2"], b"l2", np.timedelta64(2, "s"), 2j):
        with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; expected .*") as error:
            model(**{name: odd}, **solver).fit(X, Y)
        text = str(error.value)
        assert words in text
        assert text.endswith(".")
        assert "\n" not in text


def test_numpys_scalars_are_parameters():
    model = M3N(
        C=np.float32(1),
        solver=np.str_("block_frank_wolfe"),
        tol=np.float16(0.5),
        max_iter=np.int8(9),
        warm_start=np.True_,
        random_state=np.uint8(3),
        n_jobs=np.int64(1),
        verbose=np.False_,
    ).fit(X, Y)
    assert np.array_equal(model.fit(X, Y).classes_, ["a", "b", "c"])
    M3N(tol=Fraction(1, 3), verbose=2).fit(X, Y)
    CRF(penalty=np.str_("l1"), tol=np.float32(0.1)).fit(X, Y)
    rounded = [L1M3N(0.2, clean_up=no, tol=1e-3).fit(X, Y).weights_ for no in (False, np.False_)]
    assert np.array_equal(*rounded)


def test_saved_models_come_back_whole(model, tmp_path):
    """All that a model can tell survives: weights, labels, certificate, history, supports."""
    model.set_params(forbidden=None).fit(X, Y)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_equal(told(again), told(model))
    np.testing.assert_equal(list(again.predict(X)), list(model.predict(X)))
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_labels_that_are_tuples_are_saved(tmp_path):
    """Labels compare as before, and so do forbidden pairs of them."""
    Tag = namedtuple("Tag", ["kind", "case"])
    y = [[Tag("pos", c) if c == "a" else ("neg", 1) for c in word] for word in Y]
    model = CRF(forbidden={0: []}).fit(X, y)
    model.save(tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.forbidden == {0: []}
    assert again.score(X, y) == model.score(X, y)


def test_labels_that_cannot_be_saved_are_named(tmp_path):
    """Nothing is written when a label has no place in JSON."""
    y = [[frozenset(c) if c == "a" else complex(1, 2) for c in word] for word in Y]
    with pytest.raises(TypeError, match="a label is a complex, which cannot be saved"):
        CRF().fit(X, y).save(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


def rewrite(path, name, change):
    """Rewrite one member of an npz file."""
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(path, "w") as archive:
        for n, content in members.items():
            archive.writestr(n, content)


def test_damaged_files_get_a_sentence(tmp_path):
    """Missing, truncated, foreign and tampered files are refused, never run."""
    good = tmp_path / "good.npz"
    M3N().fit(X, Y).save(good)
    content = good.read_bytes()
    with pytest.raises(FileNotFoundError, match="is not a file"):
        load_model(tmp_path / "none.npz")
    bad = tmp_path / "bad.npz"
    for damaged in (b"", content[:100], content[: len(content) // 2], b"\x80\x04pickle", b"{}"):
        bad.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is not a readable model .*expected a whole file"):
            load_model(bad)
    np.savez(bad, header=np.frombuffer(json.dumps({"format": "other"}).encode(), np.uint8))
    with pytest.raises(ValueError, match="is not a readable model"):
        load_model(bad)
    bad.write_bytes(content)
    rewrite(bad, "weights.npy", lambda b: b[:-8])
    with pytest.raises(ValueError, match="is not a readable model"):
        load_model(bad)
    for name in ("header", "weights"):
        np.savez(bad, **{name: np.array([object()], dtype=object)})
        with pytest.raises(ValueError, match=f"member '{name}' is not a whole array") as error:
            load_model(bad)
        assert "pickle" not in str(error.value)
    for damaged in (b"\x80\x04pickle", pickle.dumps([1]), b"\x93NUMPY"):
        bad.write_bytes(damaged)
        with pytest.raises(ValueError, match="it is not a zip archive") as error:
            load_model(bad)
        assert "pickle" not in str(error.value)


def test_where_a_model_cannot_be_saved_is_named(tmp_path):
    """Errors speak of the file that was asked for, not of a temporary one."""
    model = CRF(max_iter=20, tol=0.5).fit(X, Y)
    (tmp_path / "file").write_text("x")
    for path, kind, reason in (
        (tmp_path / "no" / "m.npz", FileNotFoundError, f"there is no folder {tmp_path / 'no'}"),
        (tmp_path, OSError, "it is a folder"),
        (tmp_path / "file" / "m.npz", OSError, f"{tmp_path / 'file'} is not a folder"),
    ):
        with pytest.raises(kind) as error:
            model.save(path)
        assert str(error.value) == f"{path} cannot be written: {reason}."
        assert error.value.errno
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert not list(tmp_path.parent.glob(".medn_edu-*"))
