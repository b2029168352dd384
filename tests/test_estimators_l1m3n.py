"""L1M3N, the estimator: four ways to one solution, what it tells of it, and bad input."""

import math
import warnings

import numpy as np
import pytest
from enumerated import FORBIDDEN, KINDS, make_data
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_estimators import make_words

from medn_edu import L1M3N, make_chain_crf
from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Norm, MarginLoss, Problem, em_constant
from medn_edu.slacks import LinearSlack
from medn_edu.theory.l1m3n import solve_l1m3n
from medn_edu.theory.medn import enumerate_problem

X, Y = make_words()
TREES, TREE_LABELS = make_words(trees=True, seed=3)
N_WEIGHTS = 3 * 4 + 3 * 3
BALL = {"radius": 2.0, "tol": 0.05}
SOLVERS = {
    "path": L1M3N(0.2),
    "path, rounded": L1M3N(0.2, clean_up=False),
    "cutting_plane": L1M3N(0.2, "cutting_plane"),
    "subgradient": L1M3N(solver="subgradient", **BALL),
    "online_subgradient": L1M3N(solver="online_subgradient", **BALL),
    "em": L1M3N(0.2, "em"),
    "em, lam": L1M3N(solver="em", lam=5.0),
}
WITH_LABELLINGS = [name for name in SOLVERS if "subgradient" not in name]
OF_L1M3N = ["path", "path, rounded", "cutting_plane", "em"]


@pytest.fixture(params=SOLVERS)
def model(request) -> L1M3N:
    """Every solver, untrained."""
    return clone(SOLVERS[request.param])


def fit_without_warnings(model: L1M3N, *data, **options) -> L1M3N:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(*data, **options)


# -- manners ------------------------------------------------------------------------------------------


# -- what it tells of the solution --------------------------------------------------------------------


def test_support_labellings(model):
    """Few dual variables are positive, at most C per sample in all; sub-gradients list none."""
    model.fit(X, Y)
    if "subgradient" in model.solver:
        with pytest.raises(AttributeError, match=r"this L1M3N has no support_labellings_: .*few"):
            _ = model.support_labellings_
        return
    assert 0 < sum(map(len, model.support_labellings_)) < sum(3 ** len(y) - 1 for y in Y)
    for found, truth in zip(model.support_labellings_, Y, strict=True):
        alpha = [value for _, value in found]
        assert sum(alpha) <= model.C * (1 + 1e-9)
        assert alpha == sorted(alpha, reverse=True)
        assert all((labels != truth).any() for labels, _ in found)


def test_support_labellings_are_those_of_the_program():
    """Where the solution is exact, their differences add up to eta, and their margins are tight."""
    model = L1M3N(0.5, tol=1e-9).fit(X, Y)
    eta = np.zeros(N_WEIGHTS)
    for i, found in enumerate(model.support_labellings_):
        true = model.decision_scores([X[i]], [Y[i]])[0]
        hinge = [
            np.count_nonzero(labels != Y[i]) - true + model.decision_scores([X[i]], [labels])[0]
            for labels, _ in found
        ]
        np.testing.assert_allclose(hinge, hinge[:1] * len(hinge), atol=1e-7)
        truth = model.joint_feature([X[i]], [Y[i]]).toarray()[0]
        for labels, value in found:
            eta += value * (truth - model.joint_feature([X[i]], [labels]).toarray()[0])
    np.testing.assert_allclose(eta, model.eta_, atol=1e-9)


def test_certified_zeros():
    """At a wide gap nothing is certain; once it is closed, every zero with room is."""
    wide = L1M3N(0.2, tol=1e-2, clean_up=False).fit(X, Y)
    assert wide.dead_features_.any()
    assert wide.result_.gap > 0
    assert not wide.certified_zeros_.any()
    exact = L1M3N(0.2, tol=1e-9).fit(X, Y)
    zero = exact.weights_ == 0
    assert zero.sum() > N_WEIGHTS / 3
    np.testing.assert_array_equal(exact.dead_features_, zero)
    assert not (exact.certified_zeros_ & ~zero).any()
    room = 0.5 - np.abs(exact.eta_)
    np.testing.assert_array_equal(exact.certified_zeros_, zero & (room > 1e-6))
    assert exact.certified_zeros_.sum() > 0.5 * zero.sum()
    # What the one is certain of, every other solution has to respect.
    for name in OF_L1M3N:
        other = clone(SOLVERS[name]).fit(X, Y)
        assert (np.abs(exact.weights_) <= other.weight_bounds_ * (1 + 1e-6)).all()


def test_dead_features_of_em():
    rng = np.random.default_rng(0)
    noisy = [np.hstack([sample, rng.normal(size=(len(sample), 5))]) for sample in X]
    model = L1M3N(0.1, "em").fit(noisy, Y)
    dead = model.dead_features_
    assert f"; {dead.sum()} of 36 features died" in model.result_.status
    assert not model.weights_[dead].any()
    died = dead[: model.coef_.size].reshape(model.coef_.shape)
    assert died[:, 4:].mean() > died[:, :4].mean()
    np.testing.assert_array_equal(dead, model.weights_ == 0)


@pytest.mark.parametrize(
    ("solver", "why"), [("subgradient", "subgradient"), ("em, lam", "'em'")], ids=["ball", "lam"]
)
def test_no_bounds_of_weights_of_another_problem(solver, why):
    model = clone(SOLVERS[solver]).fit(X, Y)
    assert not hasattr(model, "certified_zeros_")
    with pytest.raises(AttributeError, match=f"own C; expected no radius .*{why}.*'path'"):
        _ = model.weight_bounds_


def test_no_constant_belongs_to_a_ball_that_is_too_large():
    """Within it all margins are kept, whatever slacks cost."""
    model = L1M3N(solver="subgradient", radius=1e4, tol=0.01, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    assert math.isnan(model.l1_constant_)


# -- one solution, four ways --------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "price"), [(KINDS[0], 0.15), (KINDS[0], 0.6), (KINDS[1], 0.15)])
def test_mapped_constants(kind, price):
    """At constants that belong together all solve the linear program, each as well as it can."""
    data = make_data(kind, seed=1)
    assert set(data.labels) == {0, 1, 2}
    problem = Problem(data, MarginLoss(LinearSlack(price)), L1Norm())
    best = solve_l1m3n(enumerate_problem(data, GaussianPrior(), problem.loss.slack))
    assert best.weights.any()
    fitted = {}

    def excess(solver: str, **options) -> float:
        model = L1M3N(solver=solver, **options)
        if "forbidden" in kind:
            model.set_params(forbidden={0: [FORBIDDEN]})
        y = data.samples.split(data.labels)
        model.fit(data.samples, y, sample_weight=data.sample_weight)
        fitted[solver] = model
        assert not model.transitions_[~data.allowed].any()
        value = problem.primal(model.weights_)
        assert value >= best.value * (1 - 1e-9)
        return value / best.value - 1

    assert excess("path", C=price, tol=1e-7) <= 1e-6
    assert excess("cutting_plane", C=price, tol=1e-7) <= 1e-6
    quadratic = {"tol": 1e-5, "n_iterations": 60, "max_iter": 5000}
    assert excess("em", C=price, **quadratic) <= 1e-3
    assert fitted["em"].l1_constant_ == price
    lam = em_constant(price, 2.0, len(best.weights), best.l1_norm)
    assert excess("em", C=2.0, lam=lam, **quadratic) <= 1e-3
    em = fitted["em"]
    assert em.l1_constant_ == pytest.approx(price, rel=0.01)
    steps = {"tol": 0.01, "max_iter": 4000}
    assert excess("subgradient", radius=best.l1_norm, **steps) <= 1e-2
    ball = fitted["subgradient"]
    assert np.abs(ball.weights_).sum() <= best.l1_norm * (1 + 1e-9)
    # P1 has this solution at the constant that the ball's own dual variables tell, too.
    own = Problem(data, MarginLoss(LinearSlack(ball.l1_constant_)), L1Norm())
    there = solve_l1m3n(enumerate_problem(data, GaussianPrior(), own.loss.slack)).value
    assert own.primal(ball.weights_) - there <= ball.l1_constant_ * ball.result_.gap + 1e-9


def test_the_radius_is_that_of_the_path():
    """Without one of its own a ball is that of the solution with this C."""
    path = L1M3N(0.2, tol=1e-3).fit(X, Y)
    ball = L1M3N(0.2, "subgradient", tol=0.02).fit(X, Y)
    radius = np.abs(path.weights_).sum()
    given = L1M3N(0.9, "subgradient", radius=radius, tol=0.02).fit(X, Y)
    np.testing.assert_array_equal(ball.weights_, given.weights_)


def test_whether_to_clean_up_may_come_from_a_grid():
    no, yes = (L1M3N(0.2, clean_up=choice).fit(X, Y) for choice in np.array([False, True]))
    np.testing.assert_array_equal(no.weights_, clone(SOLVERS["path, rounded"]).fit(X, Y).weights_)
    assert not np.array_equal(no.weights_, yes.weights_)


def test_beta_makes_the_papers_steps():
    papers = L1M3N(solver="subgradient", radius=2.0, beta=1.0, max_iter=5)
    with pytest.warns(ConvergenceWarning):
        a = clone(papers).fit(X, Y)
    with pytest.warns(ConvergenceWarning):
        b = clone(papers).set_params(beta=50.0).fit(X, Y)
    assert np.abs(b.weights_).max() < 0.1 * np.abs(a.weights_).max()


# -- training cut short --------------------------------------------------------------------------------


def test_em_that_is_done_is_done():
    """Iterations that were asked for are no failure."""
    model = fit_without_warnings(L1M3N(0.2, "em", n_iterations=1), X, Y)
    assert model.result_.n_passes == 1
    assert model.result_.status.startswith("all iterations done; ")
    assert not model.result_.converged


def test_em_where_everything_dies():
    model = L1M3N(1e-4, "em")
    with pytest.warns(ConvergenceWarning, match=r"every feature died in .*; raise C\.$"):
        model.fit(X, Y)
    assert model.dead_features_.all()
    assert model.result_.gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["path", "cutting_plane"])
def test_a_C_at_which_every_weight_is_zero(name):
    """Is a solution like any other."""
    model = fit_without_warnings(clone(SOLVERS[name]).set_params(C=1e-5), X, Y)
    assert model.dead_features_.all()
    assert model.certified_zeros_.all()
    assert model.result_.gap == 0.0
    assert model.l1_constant_ == 1e-5


# -- warm starts ---------------------------------------------------------------------------------------

CHAINS = make_chain_crf(12, 12, 6, 2, 5, random_state=1)
UP_AND_DOWN = (0.02, 0.05, 0.1, 0.07, 1e-5, 0.3)


@pytest.mark.parametrize(
    ("name", "tol"),
    [("path", 2e-2), ("path", 1e-8), ("path, rounded", 5e-2), ("cutting_plane", 1e-8)],
)
def test_warm_starts_along_a_path_of_constants(name, tol):
    """They find what fresh ones find, with bounds as good, and with less work."""
    warm = clone(SOLVERS[name]).set_params(warm_start=True, tol=tol)
    n_calls = np.zeros(2)
    for C in UP_AND_DOWN:
        fit_without_warnings(warm.set_params(C=C), CHAINS.data, CHAINS.target)
        cold = clone(warm).fit(CHAINS.data, CHAINS.target)
        assert warm.l1_constant_ == C
        assert warm.result_.relative_gap <= tol
        assert warm.result_.primal == pytest.approx(cold.result_.primal, rel=1.1 * tol)
        allowed = 1e-6 * np.abs(cold.weights_).sum() + 1e-9
        for one, other in ((warm, cold), (cold, warm)):
            assert (np.abs(one.weights_) <= other.weight_bounds_ + allowed).all()
        assert (np.abs(warm.eta_) <= 0.5 * (1 + 1e-9)).all()
        assert all(sum(m for _, m in s) <= C * (1 + 1e-9) for s in warm.support_labellings_)
        if tol == 1e-8:
            assert warm.certified_zeros_.any() == cold.certified_zeros_.any()
            assert not (warm.certified_zeros_ & (np.abs(cold.weights_) > 1e-6)).any()
        if C in UP_AND_DOWN[1:4]:
            n_calls += warm.result_.n_oracle_calls, cold.result_.n_oracle_calls
    assert n_calls[0] < (1.0 if name == "path, rounded" else 0.8) * n_calls[1]


def test_warm_starts_with_other_labels_and_weights():
    """Dual variables that are too large now, and labellings that have become true."""
    rng = np.random.default_rng(0)
    labels = [rng.permutation(y) for y in CHAINS.target]
    weight = rng.uniform(0.5, 2.0, len(labels))
    for solver in ("path", "cutting_plane"):
        warm = L1M3N(0.1, solver, warm_start=True, tol=1e-6).fit(CHAINS.data, CHAINS.target)
        warm.fit(CHAINS.data, labels, sample_weight=weight)
        cold = clone(warm).fit(CHAINS.data, labels, sample_weight=weight)
        assert warm.result_.primal == pytest.approx(cold.result_.primal, rel=2e-6)


@pytest.mark.parametrize("name", ["em", "subgradient"])
def test_warm_starts_after_other_solvers(name):
    """From whatever there is; from nothing where no labellings are kept."""
    model = clone(SOLVERS[name]).fit(X, Y)
    options = {"radius": None, "lam": None, "clean_up": None, "warm_start": True, "tol": 1e-6}
    for solver in ("path", "cutting_plane"):
        model.set_params(C=0.3, solver=solver, **options).fit(X, Y)
        fresh = L1M3N(0.3, solver, tol=1e-6).fit(X, Y)
        assert model.result_.primal == pytest.approx(fresh.result_.primal, rel=2e-6)
    em = model.set_params(solver="em", tol=0.05, n_iterations=2).fit(X, Y)
    afresh = clone(em).fit(X, Y)
    np.testing.assert_array_equal(em.weights_, afresh.weights_)


# -- bad input -----------------------------------------------------------------------------------------


def test_what_was_learned_does_not_follow_new_parameters():
    model = L1M3N(C=0.3, tol=1e-6, verbose=0).fit(X[:4], Y[:4])
    bounds = model.weight_bounds_
    model.set_params(C=5.0, solver="subgradient", radius=1.0)
    assert model.l1_constant_ == 0.3
    np.testing.assert_array_equal(model.weight_bounds_, bounds)


def test_a_high_threshold_leaves_fewer_features():
    strict = L1M3N(C=0.3, solver="em", threshold=0.5, verbose=0).fit(X[:4], Y[:4])
    mild = L1M3N(C=0.3, solver="em", verbose=0).fit(X[:4], Y[:4])
    assert strict.dead_features_.sum() > mild.dead_features_.sum()


def test_a_ball_for_weights_of_zero():
    """Where no weight is worth its price, so says the ball."""
    model = fit_without_warnings(L1M3N(1e-6, "subgradient"), X, Y)
    assert np.abs(model.weights_).sum() <= 1e-99


@pytest.mark.parametrize("solver", ["path", "cutting_plane"])
def test_zeros_are_certified_only_where_they_are(solver):
    """A gap and a room that are 0 by rounding prove nothing."""
    for seed in range(4):
        chains = make_chain_crf(3, 4, 2, 2, 3, random_state=seed)
        for C in (0.02, 0.1, 1.0):
            model = L1M3N(C, solver, tol=1e-9, verbose=0).fit(chains.data, chains.target)
            assert not np.any(model.certified_zeros_ & (np.abs(model.weights_) > 1e-6))
            assert model.certified_zeros_.any()
