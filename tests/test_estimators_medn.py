"""MEDN and LaplaceMEDN as estimators: their theorems, support labellings, warm starts, saving."""

import copy
import io
import itertools
import json
import warnings

import numpy as np
import pytest
from priors_gallery import GALLERY, names
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_estimators import labellings, make_words, rewrite

from medn_edu import L1M3N, M3N, MEDN, LaplaceMEDN, load_model
from medn_edu.priors import GaussianPrior, LaplacePrior, Prior, SpikeSlabPrior
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack
from medn_edu.solvers import M3N_SOLVERS

X, Y = make_words()
WORDS, LABELS = make_words(n_samples=40, seed=5)


class Logistic(Prior):
    """A prior of somebody's own: ``E exp(eta w) = pi eta / sin(pi eta)`` for ``|eta| < 1``."""

    domain = (-1.0, 1.0)

    def log_mgf(self, eta, index=None):
        return -np.log(np.sinc(eta))

    def mean(self, eta, index=None):
        small = np.abs(eta) < 1e-4
        safe = np.where(small, 0.5, eta)
        return np.where(small, np.pi**2 / 3 * eta, 1 / safe - np.pi / np.tan(np.pi * safe))


def test_equal_models_are_equal_to_the_last_bit():
    """By Theorem 3, and because one is short for the other; posteriors are copies."""
    options = {"tol": 1e-3}
    laplace = MEDN(LaplacePrior(9.0), LinearSlack(0.7), **options)
    for short, long in (
        (M3N(**options), MEDN(GaussianPrior(), **options)),
        (LaplaceMEDN(C=0.7, lam=9.0, **options), laplace),
        (LaplaceMEDN(lam=1.0, **options), MEDN(**options)),
    ):
        short.fit(X, Y).posterior_mean_[:] = 7.0
        short.posterior_variance_[:] = 7.0
        long.fit(X, Y)
        assert short.result_.dual == long.result_.dual
        np.testing.assert_array_equal(short.weights_, long.weights_)
        np.testing.assert_array_equal(short.posterior_mean_, long.weights_)
        np.testing.assert_array_equal(short.posterior_variance_, long.posterior_variance_)
        assert getattr(short, "bounds_", []) == []


def test_a_gaussian_of_another_variance_is_m3n_at_another_constant():
    """P1 is ``(|mu|^2 / 2 + C v sum xi) / v``, and every mean is that of its natural parameter."""
    v = 0.04
    narrow = MEDN(GaussianPrior(v), LinearSlack(5.0), tol=1e-8).fit(X, Y)
    m3n = M3N(C=5.0 * v, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(narrow.weights_, m3n.weights_, atol=1e-3 * abs(m3n.weights_).max())
    laplace = MEDN(LaplacePrior(2 / v), LinearSlack(5.0), tol=1e-3).fit(X, Y)
    for model in (narrow, laplace):
        np.testing.assert_allclose(model.posterior_mean_, model.prior.mean(model.eta_), atol=1e-12)


def test_one_variance_for_each_weight_is_the_shared_one():
    """Through another branch of the compiled code."""
    shared, each = (
        MEDN(GaussianPrior(variance), tol=1e-6).fit(X, Y) for variance in (0.5, np.full(21, 0.5))
    )
    np.testing.assert_allclose(each.weights_, shared.weights_, atol=5e-3)
    assert each.result_.primal == pytest.approx(shared.result_.primal, rel=2e-6)


def test_larger_lam_shrinks_more():
    models = [LaplaceMEDN(lam=lam, tol=1e-3).fit(WORDS, LABELS) for lam in (1, 10, 100, 1000)]
    assert (np.diff([np.abs(model.weights_).sum() for model in models]) < 0).all()


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


@pytest.mark.parametrize(
    "prior", [*GALLERY, None, GaussianPrior(np.linspace(0.5, 2, 21))], ids=names
)
@pytest.mark.parametrize("slack", [None, LinearSlack(0.5), QuadraticSlack(), ExponentialSlack(2.0)])
def test_every_prior_and_slack(prior, slack, tmp_path):
    """To one per cent, and better than guessing, also once it was saved and loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MEDN(prior=prior, slack=slack, warm_start=True).fit(X, Y)
    result = model.result_
    assert result.converged
    assert 0 <= result.gap <= 0.01 * result.primal
    assert model.score(X, Y) > 0.5
    tilted = LaplacePrior(1.0) if prior is None else prior
    mean, variance = tilted.mean(model.eta_), tilted.variance(model.eta_)
    np.testing.assert_allclose(model.posterior_mean_, mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.posterior_variance_, variance, rtol=1e-6, atol=1e-9)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.get_params() == model.get_params()
    assert type(again.prior) is type(prior)
    np.testing.assert_array_equal(again.weights_, model.weights_)
    np.testing.assert_array_equal(again.posterior_variance_, model.posterior_variance_)
    assert again.fit(X, Y).result_.n_passes <= result.n_passes


@pytest.mark.parametrize(
    "model",
    [
        LaplaceMEDN(C=0.8, tol=1e-5),
        M3N(C=0.8, tol=1e-5),
        M3N(C=0.8, l1_ratio=0.5, tol=1e-5),
        L1M3N(0.5, tol=1e-9),
        L1M3N(0.2, clean_up=False),
        L1M3N(0.5, "cutting_plane", tol=1e-9),
        L1M3N(0.2, "em"),
    ],
    ids=str,
)
def test_support_labellings(model):
    """Wrong labellings with positive dual variables, whose slackness adds up to the duality gap.

    With ``H = loss - w . (f(x, y_true) - f(x, y))`` the gap is
    ``sum_i (C xi_i - sum_y alpha_i(y) H_i(y))``, and no term is negative: a labelling with a
    positive dual variable violates its margin by ``xi_i``, or nearly.  L1-M3N adds what ``w . eta``
    lacks of the norm.
    """
    model = clone(model).fit(X, Y)
    C, gap = model.C, model.result_.gap
    assert 0 < sum(map(len, model.support_labellings_)) < sum(3 ** len(y) - 1 for y in Y)
    left, eta = 0.0, np.zeros_like(model.weights_)
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
        true = model.joint_feature([sample], [truth])
        for labels, value in supports:
            assert labels.dtype == model.classes_.dtype
            assert (labels != truth).any()
            here = violation[(names_of == labels).all(axis=1)][0]
            assert 0 <= value * (xi - here) + 1e-9 <= gap + 2e-9
            left -= value * here
            eta += value * (true - model.joint_feature([sample], [labels])).toarray()[0]
    np.testing.assert_allclose(eta, model.eta_, atol=1e-9)
    lacking = np.abs(model.weights_).sum() / 2 - eta @ model.weights_
    more = lacking if isinstance(model, L1M3N) else 0.0
    assert left + more == pytest.approx(gap, abs=1e-9 * model.result_.primal)


def test_a_sample_with_a_wide_margin_supports_nothing():
    easy, labels = [*X, np.eye(4)[[0, 1]] * 60], [*Y, np.array(["a", "b"])]
    model = LaplaceMEDN(C=0.3, tol=1e-6).fit(easy, labels)
    assert model.margins(easy[-1:], labels[-1:])[0] > 2
    assert model.support_labellings_[-1] == []


def test_labels_of_support_labellings_are_the_users():
    y = [[("pos", c) if c == "a" else ("neg", c) for c in word] for word in Y]
    model = LaplaceMEDN().fit(X, y)
    found = {label for supports in model.support_labellings_ for s, _ in supports for label in s}
    assert found <= {("pos", "a"), ("neg", "b"), ("neg", "c")}
    assert len(found) > 1


@pytest.mark.parametrize(
    ("name", "path"),
    [("lam", [0.3, 1.0, 3.0, 10.0, 30.0, 100.0]), ("C", [0.05, 0.2, 0.5, 1.0, 3.0, 10.0])],
)
@pytest.mark.parametrize("way", [1, -1], ids=["up", "down"])
def test_warm_start_along_a_path(name, path, way):
    """The same optimum, with fewer passes altogether."""
    tol = 1e-4
    warm = LaplaceMEDN(lam=4.0, tol=tol, warm_start=True)
    n_warm = n_cold = 0
    for value in path[::way]:
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


def test_variational_method():
    """The bound per iteration, a normal posterior, and the gap of the exact problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # to have done what was asked for is no failure
        model = LaplaceMEDN(lam=9.0, method="variational", n_iterations=5, tol=1e-4).fit(X, Y)
    exact = LaplaceMEDN(lam=9.0, tol=1e-4).fit(X, Y).result_
    assert len(model.bounds_) == 5 == model.result_.n_passes
    assert model.bounds_ == [point.objective_estimate for point in model.result_.trace]
    assert model.bounds_[-1] > model.result_.primal >= exact.dual
    assert exact.primal >= model.result_.dual
    assert np.abs(model.eta_).max() < 3.0
    assert not model.result_.converged
    assert model.result_.gap > 0
    assert model.score(X, Y) > 0.6


def test_the_first_variational_iteration_is_m3n():
    """Whatever lam is: all variances are 1 as yet."""
    model = LaplaceMEDN(lam=9.0, method="variational", n_iterations=1, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.posterior_mean_, M3N(tol=1e-8).fit(X, Y).weights_, atol=1e-3)
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
    """Without a warm start, and where an exact fit of other samples comes between."""
    model = LaplaceMEDN(lam=9.0, n_iterations=2, method="variational").fit(X, Y)
    model.fit(X[:5], Y[:5]).fit(X, Y)
    model.set_params(method="exact").fit(X[:5], Y[:5])
    again = model.set_params(method="variational", warm_start=True).fit(X[:5], Y[:5])
    fresh = clone(model).set_params(warm_start=False).fit(X[:5], Y[:5])
    assert again.result_.primal == pytest.approx(fresh.result_.primal, rel=0.05)


@pytest.mark.parametrize("solver", M3N_SOLVERS)
def test_every_solver_of_m3n(solver):
    """By itself, and of the quadratic programs of the variational method."""
    tol = 1e-2 if solver in ("subgradient", "online_subgradient", "extragradient") else 1e-3
    options = {"solver": solver, "tol": tol, "max_iter": 5000}
    found, best = (M3N(**each).fit(X[:3], Y[:3]).result_ for each in (options, {"tol": 1e-6}))
    assert found.relative_gap <= tol
    assert best.dual * (1 - 1e-9) <= found.primal <= best.primal * (1 + 1.01 * tol)
    variational = {"lam": 4.0, "method": "variational"}
    model = LaplaceMEDN(**variational, **options).fit(X[:3], Y[:3])
    usual = LaplaceMEDN(**variational, tol=1e-6).fit(X[:3], Y[:3])
    assert len(model.bounds_) == len(usual.bounds_) == 3
    np.testing.assert_allclose(model.bounds_, usual.bounds_, rtol=2 * tol)
    if solver != "block_frank_wolfe":
        with pytest.raises(ValueError, match=f"solver is '{solver}' and method 'exact'"):
            LaplaceMEDN(method="exact", solver=solver).fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        M3N(solver="online_subgradient", max_iter=3),
        LaplaceMEDN(method="variational", solver="online_subgradient", max_iter=3),
        L1M3N(solver="subgradient", radius=2.0, max_iter=3),
    ],
    ids=str,
)
def test_beta_makes_the_papers_steps(model):
    """Shorter ones, the larger it is."""
    with pytest.warns(ConvergenceWarning):
        sizes = [
            np.abs(clone(model).set_params(beta=beta).fit(X, Y).weights_).max()
            for beta in (None, 1.0, 50.0)
        ]
    assert sizes[0] != sizes[1]
    assert 0 < sizes[2] < 0.1 * sizes[1]


def test_bounds_belong_to_the_fit_not_to_the_parameters(tmp_path):
    model = LaplaceMEDN(method="variational").fit(X, Y)
    bounds = model.bounds_
    assert len(bounds) == 3
    assert model.set_params(method="exact").bounds_ == bounds
    model.save(tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").bounds_ == bounds
    model.fit(X, Y)
    assert model.set_params(method="variational").bounds_ == []


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
    told = r"holds a model of the unknown class .*LaplaceMEDN, M3N, MEDN"
    if not isinstance(name, str):
        told = r"is not a readable model .*'estimator'"
    with pytest.raises(ValueError, match=told):
        load_model(path)
