"""Magnitudes and squares together: M3N and CRF with an elastic net, and the solvers of CRF by name."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from enumerated import KINDS, make_data
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from test_solvers_lbfgs import chains

from medn_edu import CRF, L1M3N, M3N, load_model
from medn_edu.priors import GaussianPrior
from medn_edu.problems import ElasticNet, MarginLoss, Problem, SoftMaxLoss
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import (
    block_frank_wolfe,
    lbfgs,
    online_exponentiated_gradient,
    owlqn,
    proximal_lbfgs,
)
from medn_edu.theory.medn import enumerate_problem

C = 1.3
NETS = {"few": ElasticNet(0.1, 0.8), "many": ElasticNet(0.45, 0.1), "none": ElasticNet(0.0, 2.0)}


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def words():
    data = chains(0, n_labels=5)
    X = data.samples.split(data.samples.features.toarray())
    return X, [np.array(list("abcde"))[y] for y in data.samples.split(data.labels)]


def without_python(net: ElasticNet) -> ElasticNet:
    class Own(ElasticNet):
        compiled = None  # so that Python is asked instead of compiled code

    return Own(net.l1, net.l2)


@given(
    st.floats(0, 3), st.floats(0.05, 3), st.lists(st.floats(-9, 9), min_size=2, max_size=2),
    st.lists(st.floats(-9, 9), min_size=2, max_size=2),
)  # fmt: skip
def test_conjugate_is_the_conjugate(l1, l2, w, eta):
    """Fenchel's inequality for all pairs, and equality where the weights belong to eta."""
    net, w, eta = ElasticNet(l1, l2), np.array(w), np.array(eta)
    assert net.value(w) + net.conjugate(eta) >= w @ eta - 1e-9
    mean = net.mean(eta)
    assert net.value(mean) + net.conjugate(eta) == pytest.approx(mean @ eta, abs=1e-9)
    assert net.conjugate(eta) == pytest.approx(net.log_mgf(eta).sum())


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("kind", KINDS)
def test_margins_by_enumeration(kind, net, compiled):
    """Primal and dual written out over all labellings, and the gap between them closes."""
    data, net = make_data(kind), NETS[net]
    problem = Problem(data, MarginLoss(LinearSlack(C)), net if compiled else without_python(net))
    result = run(block_frank_wolfe(problem, rng=rng()), problem, tol=1e-7, max_iter=2000)
    assert result.converged
    assert result.variance is None
    rows = enumerate_problem(data, GaussianPrior(), LinearSlack(C))
    w, alpha = result.weights, rows.dense(result.alpha)
    eta = alpha @ rows.differences
    primal = net.l1 * np.abs(w).sum() + net.l2 * w @ w / 2 + rows.penalty(rows.xi(w))
    dual = alpha @ rows.losses - (np.maximum(np.abs(eta) - net.l1, 0) ** 2).sum() / (2 * net.l2)
    assert (alpha >= 0).all()
    np.testing.assert_allclose(
        np.bincount(rows.sample, weights=alpha), C * data.sample_weight, rtol=1e-9
    )
    assert -1e-9 <= primal - dual <= 1e-6 * primal
    assert (result.primal, result.dual) == pytest.approx((primal, dual), rel=1e-9)


def test_between_m3n_and_l1m3n():
    """Squares alone at one end, half the L1 norm at the other, and more zeros on the way."""
    X, y = words()
    ratios = (0.0, 1e-7, 0.3, 0.6, 0.9, 0.99)
    models = [M3N(C=0.3, l1_ratio=ratio, tol=1e-4).fit(X, y) for ratio in ratios]
    assert all(model.result_.converged for model in models)
    np.testing.assert_allclose(models[1].weights_, models[0].weights_, atol=0.05)
    l1 = L1M3N(C=0.3, tol=1e-5).fit(X, y).result_.primal
    short = [l1 - model.result_.primal for model in models[2:]]
    assert short[0] > short[1] > short[2] > short[3] > 0
    assert short[3] < 1e-3 * l1
    zeros = [int((model.weights_ == 0).sum()) for model in models[2:]]
    assert 0 < zeros[0] < zeros[1] < zeros[2] < zeros[3]


def test_an_elastic_net_is_no_prior(tmp_path):
    X, y = words()
    model = M3N(C=0.3, l1_ratio=0.5).fit(X, y)
    for name in ("posterior_mean_", "posterior_variance_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"^this M3N has no {name}, .* l1_ratio=0\.$"):
            getattr(model, name)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert not hasattr(again, "posterior_variance_")


@pytest.mark.parametrize(
    ("net", "solver"),
    [("none", lbfgs), *itertools.product(["few", "many"], [owlqn, proximal_lbfgs])],
)
@pytest.mark.parametrize("kind", KINDS)
def test_log_loss_by_enumeration(kind, net, solver):
    """No entry of the subgradient is left, with the gradient written out over all labellings."""
    data, net = make_data(kind), NETS[net]
    problem = Problem(data, SoftMaxLoss(), net)
    result = run(solver(problem), problem, tol=1e-9, max_iter=2000)
    assert result.converged
    rows = enumerate_problem(data, GaussianPrior(), LinearSlack(C))
    w, l1, l2 = result.weights, net.l1, net.l2
    score = np.exp(-rows.differences @ w)
    Z = np.bincount(rows.sample, weights=score)
    p = score / Z[rows.sample]
    weight = data.sample_weight
    gradient = -(weight[rows.sample] * p) @ rows.differences + l2 * w
    assert np.abs((gradient + l1 * np.sign(w))[w != 0]).max() < 1e-3
    assert np.abs(gradient[w == 0]).max(initial=0.0) <= l1 + 1e-3
    primal = l1 * np.abs(w).sum() + l2 * w @ w / 2 + weight @ np.log(Z)
    assert result.primal == pytest.approx(primal, rel=1e-10)


def test_more_zeros_with_more_penalty():
    X, y = words()
    fitted = [CRF("l1", lam=lam).fit(X, y).weights_ for lam in (0.5, 4.0, 20.0)]
    numbers = [np.count_nonzero(weights) for weights in fitted]
    assert numbers[0] > numbers[1] > numbers[2] > 0


def test_result_carries_both_certificates():
    X, y = words()
    model = CRF("l1", lam=1.0, tol=1e-7).fit(X, y)
    assert model.result_.subgradient_norm < 1e-3
    assert np.abs(model.eta_).max() <= 1.0
    at_work = model.weights_ != 0
    np.testing.assert_allclose(model.eta_[at_work], np.sign(model.weights_[at_work]), atol=1e-3)
    squares = CRF("l2", lam=3.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(squares.eta_, 3.0 * squares.weights_, atol=1e-3)
    assert squares.result_.subgradient_norm is None


def test_single_nodes_are_logistic_regression():
    """Against scikit-learn, whose C divides the loss by what ``lam`` multiplies the penalty with."""
    draw = np.random.default_rng(3)
    X = draw.normal(size=(60, 4))
    y = (X @ draw.normal(size=(4, 3)) + draw.normal(size=(60, 3))).argmax(axis=1)
    lam, ratio = 2.0, 0.4
    ours = CRF("elasticnet", lam, l1_ratio=ratio, tol=1e-9).fit(
        [row[None] for row in X], [np.array([label]) for label in y]
    )
    theirs = LogisticRegression(
        C=1 / lam, l1_ratio=ratio, solver="saga", fit_intercept=False, tol=1e-9, max_iter=50_000,
        **({} if LogisticRegression().penalty == "deprecated" else {"penalty": "elasticnet"}),
    ).fit(X, y)  # fmt: skip
    assert 0 < (theirs.coef_ == 0).sum() < theirs.coef_.size
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_ends_of_the_net_are_the_penalties_alone():
    X, y = words()
    for ratio, penalty in ((0.0, "l2"), (1.0, "l1")):
        net = CRF("elasticnet", 0.7, l1_ratio=ratio).fit(X, y)
        assert (net.weights_ == CRF(penalty, 0.7).fit(X, y).weights_).all()


def test_solver_by_name_is_the_solver():
    data = chains(0, n_labels=5)
    X, y = words()
    for name, penalty, iterates in (
        ("plain_lbfgs", "l2", lambda problem: lbfgs(problem, preconditioned=False)),
        ("owlqn", "l1", owlqn),
        ("proximal_lbfgs", "l1", proximal_lbfgs),
        (
            "online_exponentiated_gradient",
            "l1",
            lambda problem: online_exponentiated_gradient(problem, rng=rng()),
        ),
        ("auto", None, lambda problem: lbfgs(problem, preconditioned=False, change_tol=1e-3)),
    ):
        tol = 1e-5 if penalty else 1e-3
        model = CRF(penalty, 1.0, solver=name, tol=tol).fit(X, y)
        net = ElasticNet(float(penalty == "l1"), float(penalty == "l2"))
        problem = Problem(data, SoftMaxLoss(), net)
        assert (
            model.weights_ == run(iterates(problem), problem, tol=tol, max_iter=1000).weights
        ).all()


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_sparse_and_many_features_choose_visits(penalty):
    """Another seed is another order of them; with fewer features it is L-BFGS, which draws nothing."""
    draw = np.random.default_rng(0)
    X = [sp.random(5, 600, 0.05, "csr", rng=draw) for _ in range(30)]
    y = [draw.integers(3, size=5) for _ in X]
    auto, other, named = (
        CRF(penalty, random_state=seed, solver=solver).fit(X, y).weights_
        for seed, solver in ((0, "auto"), (1, "auto"), (0, "online_exponentiated_gradient"))
    )
    assert (auto == named).all()
    assert (auto != other).any()
    X = [x[:, :500] for x in X]
    dense = CRF(penalty).fit(X, y).weights_
    named = "lbfgs" if penalty == "l2" else "proximal_lbfgs"
    assert (dense == CRF(penalty, solver=named, random_state=1).fit(X, y).weights_).all()
