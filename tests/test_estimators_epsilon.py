"""The family between M3N and CRF: both ends, its bound, its gaps, and bad input."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from test_estimators import labellings, make_words

from medn_edu import CRF, M3N, EpsilonMarkovNetwork

X, Y = make_words()
TREES, TREE_LABELS = make_words(trees=True, seed=3)


def fitted(samples=X, labels=Y, **parameters) -> EpsilonMarkovNetwork:
    return EpsilonMarkovNetwork(**{"tol": 1e-5, **parameters}).fit(samples, labels)


def listed(model: EpsilonMarkovNetwork, C: float, epsilon: float, with_loss: bool):
    """Primal and dual value at the model's weights, and eta, by listing all labellings of X."""
    w = model.weights_
    loss_sum, gain, eta = 0.0, 0.0, np.zeros_like(w)
    for sample, truth in zip(X, Y, strict=True):
        codes, scores = labellings(model, sample)
        labels = model.classes_[codes]
        loss = (labels != truth).sum(axis=1) * float(with_loss)
        soft = epsilon * np.logaddexp.reduce((scores + loss) / epsilon)
        p = np.exp((scores + loss - soft) / epsilon)
        features = model.joint_feature([sample] * len(codes), list(labels))
        observed = model.joint_feature([sample], [truth]).toarray()[0]
        eta += C * (observed - features.T @ p)
        loss_sum += C * (soft - observed @ w)
        gain += C * (p @ loss - epsilon * p @ np.log(p))
    return w @ w / 2 + loss_sum, gain - eta @ eta / 2, eta


@pytest.mark.parametrize(("epsilon", "loss"), [(1.0, "hamming"), (0.4, "hamming"), (0.6, None)])
def test_certificate_is_of_the_objective_as_stated(epsilon, loss):
    """Values in the scale of M3N, from the definition; eta as with the other estimators."""
    model = fitted(C=0.7, epsilon=epsilon, loss=loss)
    primal, dual, eta = listed(model, 0.7, epsilon, loss is not None)
    assert model.result_.primal == pytest.approx(primal, rel=1e-10)
    assert model.result_.dual == pytest.approx(dual, rel=1e-9)
    np.testing.assert_allclose(model.eta_, eta, atol=1e-8)
    np.testing.assert_allclose(model.eta_, model.weights_, atol=0.02)


@pytest.mark.parametrize("C", [0.1, 3.0])
@pytest.mark.parametrize("trees", [False, True])
def test_one_end_is_the_crf(C, trees):
    data = (TREES, TREE_LABELS) if trees else (X, Y)
    model = fitted(*data, C=C, epsilon=1.0, loss=None, tol=1e-10)
    crf = CRF(lam=1 / C, tol=1e-10).fit(*data)
    np.testing.assert_allclose(model.weights_, crf.weights_, atol=1e-4)
    assert model.result_.primal == pytest.approx(C * crf.result_.primal, rel=1e-8)


@pytest.mark.parametrize("trees", [False, True])
def test_the_other_end_is_m3n(trees):
    """At 0 to the last bit; towards 0 the optimum falls to that of M3N, within its bound."""
    data = (TREES, TREE_LABELS) if trees else (X, Y)
    C = 0.5
    m3n = M3N(C=C, tol=1e-5).fit(*data)
    zero = fitted(*data, C=C, epsilon=0.0)
    assert np.array_equal(zero.weights_, m3n.weights_)
    assert zero.result_.primal == m3n.result_.primal
    assert zero.result_.dual == m3n.result_.dual
    log_numbers = sum(len(labels) for labels in data[1]) * np.log(3)
    above = np.inf
    for epsilon in (1.0, 0.3, 0.1, 0.03, 0.01, 0.001):
        result = fitted(*data, C=C, epsilon=epsilon, tol=1e-4, max_iter=5000).result_
        assert result.converged
        assert result.primal >= m3n.result_.dual
        assert result.dual <= m3n.result_.primal + C * epsilon * log_numbers
        assert result.dual < above
        above = result.primal
    assert result.primal == pytest.approx(m3n.result_.primal, rel=2e-3)


@pytest.mark.parametrize("epsilon", [10.0, 1.0, 0.1, 0.01, 1e-3, 1e-6, 1e-12, 0.0])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_a_gap_for_every_temperature(epsilon, C):
    result = fitted(C=C, epsilon=epsilon, tol=1e-2).result_
    assert result.converged
    assert 0 <= result.primal - result.dual <= 0.01 * result.primal


@pytest.mark.parametrize("epsilon", [3.0, 0.1, 0.01])
def test_without_the_loss_it_is_a_crf_of_another_scale(epsilon):
    """Dividing by ``epsilon`` twice: weights are ``epsilon`` times those of ``lam = epsilon / C``."""
    model = fitted(C=2.0, epsilon=epsilon, loss=None, tol=1e-8, max_iter=3000)
    crf = CRF(lam=epsilon / 2.0, tol=1e-8, max_iter=3000).fit(X, Y)
    assert model.result_.converged
    np.testing.assert_allclose(model.weights_ / epsilon, crf.weights_, atol=2e-3)


@pytest.mark.parametrize("epsilon", [0.3, 0.001])
def test_warm_start_goes_on(epsilon):
    """From the optimum nothing is left to do; along a path of temperatures less than from scratch."""
    model = EpsilonMarkovNetwork(epsilon=epsilon, tol=1e-2, warm_start=True).fit(X, Y)
    passes = model.result_.n_passes
    model.fit(X, Y)
    assert model.result_.converged
    assert model.result_.n_passes < passes
    model.set_params(epsilon=epsilon / 2, C=2.0).fit(X, Y)
    assert model.result_.converged
    model.set_params(epsilon=0.0).fit(X, Y)
    assert model.result_.converged
    with pytest.raises(ValueError, match="warm_start continues"):
        model.fit(X[:-1], Y[:-1])


@pytest.mark.parametrize("size", [1e-200, 1e20, 1e90, 1e160, 1e308])
@pytest.mark.parametrize("epsilon", [1.0, 0.01, 1e-300])
@pytest.mark.parametrize("loss", ["hamming", None])
def test_huge_numbers_get_a_model_or_a_sentence(size, epsilon, loss):
    huge = [np.array([[size, -size], [size, size]])]
    model = EpsilonMarkovNetwork(epsilon=epsilon, loss=loss, max_iter=20)
    for C in (1.0, 1e-300, 1e300):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.set_params(C=C).fit(huge, ["ab"])
        except ValueError as error:
            assert str(error).endswith(".")
        else:
            assert np.isfinite(model.weights_).all()
            assert model.result_.primal >= model.result_.dual * (1 - 1e-9) - 1e-12


def test_ocr_letters_at_a_low_temperature(ocr):
    """Real words: a gap of 1 % at a temperature where L-BFGS from 0 would be slow."""
    few = np.flatnonzero(ocr.fold == 0)[:300]
    samples, labels = [ocr.data[i] for i in few], [ocr.target[i] for i in few]
    m3n = M3N(C=0.1).fit(samples, labels).result_
    for epsilon in (0.1, 0.01, 0.001):
        result = EpsilonMarkovNetwork(C=0.1, epsilon=epsilon).fit(samples, labels).result_
        assert result.converged
        most = 0.1 * epsilon * sum(map(len, labels)) * np.log(26)
        assert m3n.dual <= result.primal
        assert result.dual <= m3n.primal + most
