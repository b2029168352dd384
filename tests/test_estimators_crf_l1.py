"""CRF with an L1 penalty, as a user meets it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from test_solvers_lbfgs import chains

from medn_edu import CRF, load_model


def words(seed: int = 0):
    data = chains(seed, n_labels=5)  # with an odd number the optimum is unique
    X = data.samples.split(data.samples.features.toarray())
    return X, [np.array(list("abcde"))[y] for y in data.samples.split(data.labels)]


def test_many_weights_are_zero_and_more_with_more_penalty():
    X, y = words()
    numbers = [
        int((CRF(penalty="l1", lam=lam).fit(X, y).weights_ != 0).sum()) for lam in (0.5, 4.0, 20.0)
    ]
    assert numbers[0] > numbers[1] > numbers[2] > 0


def test_result_carries_both_certificates():
    X, y = words()
    model = CRF(penalty="l1", lam=1.0, tol=1e-7).fit(X, y)
    result = model.result_
    assert result.converged
    assert 0 <= result.gap <= 1e-7 * result.primal
    assert result.subgradient_norm < 1e-3
    assert np.abs(model.eta_).max() <= 1.0
    at_work = model.weights_ != 0
    np.testing.assert_allclose(model.eta_[at_work], np.sign(model.weights_[at_work]), atol=1e-3)
    assert CRF(penalty="l2").fit(X, y).result_.subgradient_norm is None


def test_saved_and_loaded(tmp_path):
    X, y = words()
    model = CRF(penalty="l1", lam=2.0).fit(X, y)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.get_params() == model.get_params()
    assert (again.weights_ == model.weights_).all()
    assert again.result_.subgradient_norm == model.result_.subgradient_norm
    assert all((a == b).all() for a, b in zip(again.predict(X), model.predict(X), strict=True))


def test_warm_start_goes_on():
    X, y = words()
    model = CRF(penalty="l1", lam=2.0, tol=1e-6, warm_start=True).fit(X, y)
    cold = CRF(penalty="l1", lam=1.5, tol=1e-6).fit(X, y)
    warm = model.set_params(lam=1.5).fit(X, y)
    assert warm.result_.n_passes < cold.result_.n_passes
    assert warm.result_.primal == pytest.approx(cold.result_.primal, rel=3e-6)


def test_stopping_early_is_said():
    X, y = words()
    with pytest.warns(ConvergenceWarning, match=r"relative gap of .* raise max_iter or tol"):
        CRF(penalty="l1", max_iter=3).fit(X, y)


def test_other_penalties_are_named():
    X, y = words()
    with pytest.raises(
        ValueError, match=r"penalty is 'l3'; expected one of None, 'l1', 'l2' or 'elasticnet'\."
    ):
        CRF(penalty="l3").fit(X, y)
    with pytest.raises(ValueError, match="lam"):
        CRF(penalty="l1", lam=0.0).fit(X, y)
