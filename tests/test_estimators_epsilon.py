"""The family between M3N and CRF: both ends, its bound, its gaps, and bad input."""

import numpy as np
import pytest
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


@pytest.mark.parametrize(
    ("C", "epsilon"), [(0.1, 1.0), (3.0, 1.0), (2.0, 3.0), (2.0, 0.1), (2.0, 0.01)]
)
@pytest.mark.parametrize("trees", [False, True])
def test_without_the_loss_it_is_a_crf_of_another_scale(trees, C, epsilon):
    """Dividing by ``epsilon`` twice: weights are ``epsilon`` times those of ``lam = epsilon / C``."""
    data = (TREES, TREE_LABELS) if trees else (X, Y)
    model = fitted(*data, C=C, epsilon=epsilon, loss=None, tol=1e-10, max_iter=3000)
    crf = CRF(lam=epsilon / C, tol=1e-10, max_iter=3000).fit(*data)
    assert model.result_.converged
    np.testing.assert_allclose(model.weights_ / epsilon, crf.weights_, atol=2e-4)
    np.testing.assert_allclose(model.eta_ / C, crf.eta_, atol=2e-4)
    assert model.result_.primal == pytest.approx(C * epsilon * crf.result_.primal, rel=1e-8)


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


@pytest.mark.parametrize("epsilon", [0.3, 0.001])
def test_warm_start_along_temperatures(epsilon):
    model = fitted(epsilon=epsilon, tol=1e-2, warm_start=True)
    for following in ({"epsilon": epsilon / 2, "C": 2.0}, {"epsilon": 0.0}):
        assert model.set_params(**following).fit(X, Y).result_.converged
