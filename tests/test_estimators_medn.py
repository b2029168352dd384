"""MEDN and LaplaceMEDN as estimators: their theorems, support labellings, warm starts, saving."""

import copy
import io
import itertools
import json
import math
import warnings

import numpy as np
import pytest
from priors_gallery import GALLERY, names
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_estimators import labellings, learned, make_words, rewrite

from medn_edu import M3N, MEDN, LaplaceMEDN, load_model
from medn_edu.priors import (
    BoxPrior,
    ExponentialPrior,
    GaussianPrior,
    LaplacePrior,
    Prior,
    SpikeSlabPrior,
)
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack

X, Y = make_words()
WORDS, LABELS = make_words(n_samples=40, seed=5)
TREES, TREE_LABELS = make_words(trees=True, seed=3)
N_WEIGHTS = 3 * 4 + 3 * 3


class Logistic(Prior):
    """A prior of somebody's own: ``E exp(eta w) = pi eta / sin(pi eta)`` for ``|eta| < 1``."""

    domain = (-1.0, 1.0)

    def log_mgf(self, eta, index=None):
        return -np.log(np.sinc(eta))

    def mean(self, eta, index=None):
        small = np.abs(eta) < 1e-4
        safe = np.where(small, 0.5, eta)
        return np.where(small, np.pi**2 / 3 * eta, 1 / safe - np.pi / np.tan(np.pi * safe))


# -- the papers' statements ---------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.5, 4.0, 100.0])
@pytest.mark.parametrize("trees", [False, True])
def test_corollary_7(lam, trees):
    """The posterior's mean and variance are those of the tilted Laplace prior."""
    data = (TREES, TREE_LABELS) if trees else (X, Y)
    model = LaplaceMEDN(C=0.5, lam=lam, tol=1e-4).fit(*data)
    eta = model.eta_
    assert np.abs(eta).max() < math.sqrt(lam)
    assert np.abs(eta).max() > 0.1 * math.sqrt(lam)
    np.testing.assert_allclose(
        model.posterior_mean_, 2 * eta / (lam - eta**2), rtol=1e-9, atol=1e-12
    )
    variance = 2 * (lam + eta**2) / (lam - eta**2) ** 2
    np.testing.assert_allclose(model.posterior_variance_, variance, rtol=1e-9)
    np.testing.assert_array_equal(model.posterior_mean_, model.weights_)
    assert model.bounds_ == []


def test_posterior_is_a_copy():
    model = LaplaceMEDN().fit(X, Y)
    mean, variance = model.posterior_mean_.copy(), model.posterior_variance_.copy()
    model.posterior_mean_[:] = model.posterior_variance_[:] = 7.0
    np.testing.assert_array_equal(model.posterior_mean_, mean)
    np.testing.assert_array_equal(model.posterior_variance_, variance)


def test_laplace_medn_is_medn_with_a_laplace_prior():
    short = LaplaceMEDN(C=0.7, lam=9.0, tol=1e-3).fit(X, Y)
    long = MEDN(prior=LaplacePrior(9.0), slack=LinearSlack(0.7), tol=1e-3).fit(X, Y)
    np.testing.assert_array_equal(short.weights_, long.weights_)
    assert short.result_.dual == long.result_.dual
    default = MEDN().fit(X, Y)
    np.testing.assert_array_equal(default.weights_, LaplaceMEDN(lam=1.0).fit(X, Y).weights_)


def test_theorem_3():
    """With the standard normal prior MEDN is M3N, to the last bit."""
    medn = MEDN(prior=GaussianPrior(), tol=1e-3).fit(X, Y)
    m3n = M3N(tol=1e-3).fit(X, Y)
    np.testing.assert_array_equal(medn.weights_, m3n.weights_)
    np.testing.assert_allclose(m3n.weights_, m3n.eta_, atol=1e-10)
    np.testing.assert_array_equal(m3n.posterior_variance_, 1.0)


def test_one_variance_for_each_weight_is_the_shared_one():
    """Through another branch of the compiled code."""
    shared = MEDN(prior=GaussianPrior(0.5), tol=1e-6).fit(X, Y)
    each = MEDN(prior=GaussianPrior(np.full(N_WEIGHTS, 0.5)), tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(each.weights_, shared.weights_, atol=5e-3)
    assert each.result_.primal == pytest.approx(shared.result_.primal, rel=2e-6)
    # M3N of features times sqrt(1/2) and half of that again; transitions are shrunk alike
    assert shared.result_.primal > M3N(tol=1e-6).fit(X, Y).result_.primal


def test_larger_lam_shrinks_more():
    norms, supports = [], []
    for lam in (1.0, 10.0, 100.0, 1000.0):
        model = LaplaceMEDN(lam=lam, tol=1e-3).fit(WORDS, LABELS)
        norms.append(np.abs(model.weights_).sum())
        supports.append(sum(map(len, model.support_labellings_)))
    assert (np.diff(norms) < 0).all()
    n_wrong = sum(3 ** len(labels) - 1 for labels in LABELS)
    assert 0 < supports[0] < 0.1 * n_wrong


def test_irrelevant_features_are_shrunk_more_than_by_m3n():
    """Where the weights of the features that tell the labels are as large."""
    rng = np.random.default_rng(0)
    noisy = [np.hstack([sample, rng.normal(size=(len(sample), 12))]) for sample in WORDS]

    def sizes(model):
        coef = np.abs(model.fit(noisy, LABELS).coef_)
        return coef[:, :3].mean(), coef[:, 4:].mean()

    relevant, irrelevant = sizes(M3N(C=0.03, tol=1e-3))
    for sparser in (
        LaplaceMEDN(C=3.0, lam=1000.0, tol=1e-3),
        MEDN(prior=SpikeSlabPrior(pi=0.01), slack=LinearSlack(0.3), tol=1e-3),
    ):
        large, small = sizes(sparser)
        assert large == pytest.approx(relevant, rel=0.1)
        assert small < 0.7 * irrelevant


# -- every prior, every slack -------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [*GALLERY, Logistic()], ids=names)
@pytest.mark.parametrize("slack", [LinearSlack(0.5), QuadraticSlack(0.5), ExponentialSlack(2.0)])
def test_every_prior_and_slack(prior, slack):
    """To one per cent, and better than guessing; mean and variance are those of the tilted prior."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MEDN(prior=prior, slack=slack).fit(X, Y)
    result = model.result_
    assert result.converged
    assert 0 <= result.gap <= 0.01 * result.primal
    assert model.score(X, Y) > 0.5
    np.testing.assert_allclose(model.posterior_mean_, prior.mean(model.eta_), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        model.posterior_variance_, prior.variance(model.eta_), rtol=1e-6, atol=1e-9
    )


def test_weights_stay_where_the_prior_is():
    assert (MEDN(prior=ExponentialPrior(rate=2.0)).fit(X, Y).weights_ > 0).all()
    box = MEDN(prior=BoxPrior(a=0.5), slack=LinearSlack(10.0)).fit(X, Y)
    assert 0.25 < np.abs(box.weights_).max() < 0.5


# -- support labellings -------------------------------------------------------------------------------


def check_supports(model, C):
    """Wrong labellings with positive dual variables, whose slackness adds up to the duality gap.

    With ``H = loss - w . (f(x, y_true) - f(x, y))`` the gap is
    ``sum_i (C xi_i - sum_y alpha_i(y) H_i(y))``, and no term is negative: a labelling with a
    positive dual variable violates its margin by ``xi_i``, or nearly.
    """
    assert len(model.support_labellings_) == len(X)
    left = 0.0
    for sample, truth, supports in zip(X, Y, model.support_labellings_, strict=True):
        codes, scores = labellings(model, sample)
        names_of = model.classes_[codes]
        violation = (names_of != truth).sum(axis=1) + scores
        violation -= scores[(names_of == truth).all(axis=1)]
        xi = violation.max()
        alpha = [value for _, value in supports]
        assert alpha == sorted(alpha, reverse=True)
        assert all(value > 0 for value in alpha)
        assert sum(alpha) <= C * (1 + 1e-9)
        assert len({tuple(labels) for labels, _ in supports}) == len(supports)
        left += C * xi
        for labels, value in supports:
            assert labels.dtype == model.classes_.dtype
            assert (labels != truth).any()
            here = violation[(names_of == labels).all(axis=1)][0]
            assert 0 <= value * (xi - here) + 1e-9 <= model.result_.gap + 2e-9
            left -= value * here
    return left


@pytest.mark.parametrize("make", [LaplaceMEDN, M3N], ids=lambda make: make.__name__)
def test_support_labellings(make):
    model = make(C=0.8, tol=1e-5).fit(X, Y)
    left = check_supports(model, 0.8)
    assert left == pytest.approx(model.result_.gap, abs=1e-9 * model.result_.primal)
    assert any(model.support_labellings_)


def test_a_sample_with_a_wide_margin_supports_nothing():
    """Its dual variable is 0, so that without it the solution is the same."""
    easy, labels = [*X, np.eye(4)[[0, 1]] * 60], [*Y, np.array(["a", "b"])]
    model = LaplaceMEDN(C=0.3, tol=1e-6).fit(easy, labels)
    assert model.margins(easy[-1:], labels[-1:])[0] > 2
    assert model.support_labellings_[-1] == []
    without = LaplaceMEDN(C=0.3, tol=1e-6).fit(X, Y)
    assert model.result_.primal == pytest.approx(without.result_.primal, rel=1e-5)


def test_labels_of_support_labellings_are_the_users():
    y = [[("pos", c) if c == "a" else ("neg", c) for c in word] for word in Y]
    model = LaplaceMEDN().fit(X, y)
    found = {label for supports in model.support_labellings_ for s, _ in supports for label in s}
    assert found <= {("pos", "a"), ("neg", "b"), ("neg", "c")}
    assert len(found) > 1


# -- warm starts --------------------------------------------------------------------------------------

LAMBDAS = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
PRICES = [0.05, 0.2, 0.5, 1.0, 3.0, 10.0]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("lam", LAMBDAS),
        ("lam", LAMBDAS[::-1]),
        ("C", PRICES),
        ("C", PRICES[::-1]),
    ],
    ids=["lam up", "lam down", "C up", "C down"],
)
def test_warm_start_along_a_path(name, path):
    """The same optimum, with fewer passes altogether."""
    tol = 1e-4
    warm = LaplaceMEDN(lam=4.0, tol=tol, warm_start=True)
    n_warm = n_cold = 0
    for value in path:
        warm.set_params(**{name: value}).fit(WORDS, LABELS)
        cold = clone(warm).set_params(warm_start=False).fit(WORDS, LABELS)
        a, b = warm.result_, cold.result_
        assert a.converged
        assert max(a.dual, b.dual) <= min(a.primal, b.primal) * (1 + 1e-12)
        assert a.primal == pytest.approx(b.primal, rel=tol)
        n_warm += a.n_passes
        n_cold += b.n_passes
    assert n_warm < n_cold


def test_warm_start_between_priors_and_slacks():
    model = MEDN(tol=1e-4, warm_start=True)
    slacks = [LinearSlack(), QuadraticSlack(), ExponentialSlack(2.0)]
    for prior, slack in zip([*GALLERY, Logistic()], itertools.cycle(slacks), strict=False):
        warm = model.set_params(prior=prior, slack=slack).fit(X, Y).result_
        cold = clone(model).set_params(warm_start=False).fit(X, Y).result_
        assert warm.converged
        assert warm.primal == pytest.approx(cold.primal, rel=1.1e-4)


# -- the variational method ---------------------------------------------------------------------------


def test_variational_method():
    """The bound per iteration, a normal posterior, and the gap of the exact problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # to have done what was asked for is no failure
        model = LaplaceMEDN(lam=9.0, method="variational", n_iterations=5, tol=1e-4).fit(X, Y)
    exact = LaplaceMEDN(lam=9.0, tol=1e-4).fit(X, Y).result_
    assert len(model.bounds_) == 5 == model.result_.n_passes
    assert model.bounds_ == [point.objective_estimate for point in model.result_.trace]
    for before, now, point in zip(
        model.bounds_, model.bounds_[1:], model.result_.trace[1:], strict=False
    ):
        assert now <= before + point.gap_estimate + 1e-9 * before
    assert model.bounds_[-1] > model.result_.primal >= exact.dual
    assert exact.primal >= model.result_.dual
    assert np.abs(model.eta_).max() < 3.0
    assert not model.result_.converged
    assert model.result_.gap > 0
    assert model.score(X, Y) > 0.6


def test_variational_posterior_of_one_iteration_is_that_of_m3n():
    model = LaplaceMEDN(method="variational", n_iterations=1, tol=1e-8).fit(X, Y)
    m3n = M3N(tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.posterior_mean_, m3n.weights_, atol=1e-3)
    np.testing.assert_array_equal(model.posterior_variance_, 1.0)


@pytest.mark.parametrize("lam", [4.0, 9.0, 100.0])
def test_variational_warm_start_changes_nothing_but_the_time(lam):
    """Each quadratic program starts where the last one of its turn ended, and ends where it would."""
    options = {"method": "variational", "tol": 1e-7}
    model = LaplaceMEDN(lam=9.0, n_iterations=2, warm_start=True, **options).fit(X, Y)
    model.set_params(lam=lam, n_iterations=4).fit(X, Y)
    cold = LaplaceMEDN(lam=lam, n_iterations=4, **options).fit(X, Y)
    np.testing.assert_allclose(model.bounds_, cold.bounds_, rtol=1e-5)
    np.testing.assert_allclose(model.weights_, cold.weights_, atol=2e-3)
    if lam == 9.0:
        assert model.result_.n_oracle_calls < cold.result_.n_oracle_calls


def test_warm_start_from_one_method_to_the_other():
    model = LaplaceMEDN(lam=9.0, warm_start=True, tol=1e-5).fit(X, Y)
    exact, passes = model.result_.primal, model.result_.n_passes
    model.set_params(method="variational").fit(X, Y)
    cold = clone(model).set_params(warm_start=False).fit(X, Y)
    assert model.bounds_ == pytest.approx(cold.bounds_, rel=1e-3)
    model.set_params(method="exact").fit(X, Y)
    assert model.result_.converged
    assert model.result_.primal == pytest.approx(exact, rel=1e-5)
    assert model.result_.n_passes < passes


def test_programs_of_other_samples_are_forgotten():
    """An exact fit comes between: the programs of the variational fit before were of other samples."""
    model = LaplaceMEDN(lam=9.0, n_iterations=2, method="variational").fit(X, Y)
    model.set_params(method="exact").fit(X[:5], Y[:5])
    again = model.set_params(method="variational", warm_start=True).fit(X[:5], Y[:5])
    fresh = clone(model).set_params(warm_start=False).fit(X[:5], Y[:5])
    assert again.result_.primal == pytest.approx(fresh.result_.primal, rel=0.05)


def test_the_papers_steps_are_for_sub_gradients():
    steps = {"method": "variational", "solver": "online_subgradient", "max_iter": 3}
    with pytest.warns(ConvergenceWarning):
        slow, fast = (LaplaceMEDN(beta=beta, **steps).fit(X, Y).weights_ for beta in (4.0, None))
    assert not np.allclose(slow, fast)


def test_bounds_belong_to_the_fit_not_to_the_parameters(tmp_path):
    model = LaplaceMEDN(method="variational").fit(X, Y)
    bounds = model.bounds_
    assert len(bounds) == 3
    assert model.set_params(method="exact").bounds_ == bounds
    model.save(tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").bounds_ == bounds
    model.fit(X, Y)
    assert model.set_params(method="variational").bounds_ == []


# -- bad parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["exact", "variational"])
@pytest.mark.parametrize("lam", [1e-300, 1e-9, 1e9, 1e300])
@pytest.mark.parametrize("C", [1e-300, 1e-9, 1e9, 1e300])
def test_constants_of_any_size(method, lam, C):
    """A model with a valid certificate, or one sentence about numbers."""
    model = LaplaceMEDN(C=C, lam=lam, method=method, max_iter=10)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, Y)
    except ValueError as error:
        assert str(error).startswith("the weights cannot be computed in double precision")
        assert not learned(model)
    else:
        assert np.isfinite(model.weights_).all()
        assert (model.posterior_variance_ >= 0).all()
        assert model.result_.primal >= model.result_.dual - 1e-9 * abs(model.result_.primal)
        assert np.isfinite(model.bounds_).all()


# -- saving -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior", [*GALLERY, None, GaussianPrior(np.linspace(0.5, 2.0, N_WEIGHTS))], ids=names
)
@pytest.mark.parametrize("slack", [None, LinearSlack(0.5), QuadraticSlack(), ExponentialSlack(2.0)])
def test_priors_and_slacks_are_saved(prior, slack, tmp_path):
    model = MEDN(prior=prior, slack=slack, warm_start=True).fit(X, Y)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.get_params() == model.get_params()
    assert type(again.prior) is type(prior)
    np.testing.assert_array_equal(again.weights_, model.weights_)
    np.testing.assert_array_equal(again.posterior_variance_, model.posterior_variance_)
    assert again.fit(X, Y).result_.n_passes <= model.result_.n_passes


def test_ones_own_prior_is_saved_to_predict(tmp_path):
    """The file says which prior it was; handed in again, the model trains on."""
    model = MEDN(prior=Logistic(), tol=1e-3, warm_start=True).fit(X, Y)
    for path in (tmp_path / "once.npz", tmp_path / "twice.npz"):
        model.save(path)
        again = load_model(path)
        for a, b in zip(again.predict(X), model.predict(X), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(again.posterior_mean_, model.posterior_mean_)
        np.testing.assert_array_equal(again.posterior_variance_, model.posterior_variance_)
        assert again.result_.dual == model.result_.dual
        assert len(again.support_labellings_) == len(X)
        kept = again.result_
        with pytest.raises(TypeError, match=r"'Logistic, a prior.* set_params\(prior=") as error:
            again.fit(X, Y)
        assert str(error.value).endswith(".")
        assert again.result_ is kept
        trained = copy.copy(again).set_params(prior=Logistic(), tol=1e-5).fit(X, Y)
        assert trained.result_.converged
        assert trained.result_.dual >= model.result_.dual
        model = again


def test_a_subclass_of_a_shipped_prior_is_ones_own(tmp_path):
    """Whatever it is called: its formulas may be others."""

    class LaplacePrior(GaussianPrior):
        pass

    MEDN(prior=LaplacePrior(2.0)).fit(X, Y).save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.prior == "LaplacePrior, a prior that is not saved with the model"


def tampered(path, change):
    """Rewrite the header of a saved model."""

    def changed(content):
        header = json.loads(content[content.index(b"{", content.index(b"\n")) :])
        change(header)
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.frombuffer(json.dumps(header).encode(), np.uint8))
        return stream.getvalue()

    rewrite(path, "header.npy", changed)


@pytest.mark.parametrize(
    "value",
    [
        {"check_prior": {"dict": [["prior", 3]]}},
        {"check_prior": {"dict": [["prior", {"LaplacePrior": {"dict": [["lam", 1.0]]}}]]}},
        {"check_slack": {"dict": [["slack", {"LinearSlack": {"dict": [["C", 1.0]]}}]]}},
        {"Prior": {"dict": []}},
        {"Slack": {"dict": []}},
        {"_Stretched": {"dict": [["prior", 1.0], ["factor", 1.0]]}},
        {"SolveResult": {"dict": []}},
        {"eval": {"list": ["1"]}},
        {"LaplacePrior": {"dict": [["lam", -1.0]]}},
        {"LaplacePrior": {"dict": [["lam", "4"]]}},
        {"LaplacePrior": {"dict": [["mu", 1.0]]}},
        {"LaplacePrior": 3},
        {"LaplacePrior": {"dict": []}, "list": []},
        {"GaussianPrior": {"dict": [["prior_variance", {"list": [1.0, -1.0]}]]}},
        {"list": 3},
        {},
    ],
    ids=lambda value: "+".join(value) or "nothing",
)
@pytest.mark.parametrize("where", ["prior", "slack", "classes", "status"])
def test_only_known_objects_are_made_from_a_file(value, where, tmp_path):
    path = tmp_path / "model.npz"
    MEDN().fit(X, Y).save(path)

    def change(header):
        if where == "classes":
            header["classes"][0] = value
        elif where == "status":
            header["result"]["status"] = value
        else:
            header["parameters"][where] = value

    tampered(path, lambda header: None)
    load_model(path)
    tampered(path, change)
    with pytest.raises(ValueError, match="is not a readable model") as error:
        load_model(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["PriorNetwork", "EnumeratedProblem", "eval", 3, None])
def test_only_known_estimators_are_made_from_a_file(name, tmp_path):
    path = tmp_path / "model.npz"
    MEDN().fit(X, Y).save(path)
    tampered(path, lambda header: header.update(estimator=name))
    told = r"holds a model of the kind .*LaplaceMEDN, M3N, MEDN"
    if not isinstance(name, str):
        told = r"is not a readable model .*'estimator'"
    with pytest.raises(ValueError, match=told):
        load_model(path)
