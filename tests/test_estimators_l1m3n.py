"""L1M3N, the estimator: four ways to one solution, what it tells of it, and bad input."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
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
N_WEIGHTS = 3 * 4 + 3 * 3
SOLVERS = {
    "path": L1M3N(0.2),
    "path, rounded": L1M3N(0.2, clean_up=False),
    "proximal": L1M3N(0.2, "proximal"),
    "cutting_plane": L1M3N(0.2, "cutting_plane"),
    "subgradient": L1M3N(solver="subgradient", radius=2.0, tol=0.05),
    "em": L1M3N(0.2, "em"),
    "em, lam": L1M3N(solver="em", lam=5.0),
}


def fit_without_warnings(model: L1M3N, *data, **options) -> L1M3N:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(*data, **options)


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
    for name in ("path", "path, rounded", "proximal", "cutting_plane", "em"):
        other = clone(SOLVERS[name]).fit(X, Y)
        assert (np.abs(exact.weights_) <= other.weight_bounds_ * (1 + 1e-6)).all()


def test_dead_features_of_em():
    """Noise gets weights of 0, not small ones, and the status tells how many."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    features = np.c_[2.0 * labels - 1, rng.normal(size=(60, 6))]
    model = L1M3N(0.1, "em", n_iterations=6).fit(np.split(features, 20), np.split(labels, 20))
    assert model.coef_[:, 0].all()
    assert not model.coef_[:, 1:].any()
    n_dead = np.sum(model.weights_ == 0)
    assert model.dead_features_.sum() == n_dead >= 12
    assert model.result_.status == f"all iterations done; {n_dead} of 18 features died"


@pytest.mark.parametrize(
    ("solver", "why"), [("subgradient", "'subgradient'"), ("em, lam", "'em'")], ids=["ball", "lam"]
)
def test_no_bounds_of_weights_of_another_problem(solver, why):
    model = clone(SOLVERS[solver]).fit(X, Y)
    assert not hasattr(model, "certified_zeros_")
    with pytest.raises(
        AttributeError, match=f"no weight_bounds_, .*{why}.*expected no radius .*'path'"
    ):
        _ = model.weight_bounds_


def test_no_constant_belongs_to_a_ball_that_is_too_large():
    """Within it all margins are kept, whatever slacks cost."""
    model = L1M3N(solver="subgradient", radius=1e4, tol=0.01, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    assert math.isnan(model.l1_constant_)


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
    assert excess("proximal", C=price, tol=1e-7) <= 1e-6
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


def test_many_weights_choose_the_proximal_solver():
    """Its optimum is the path's; a clean-up that is asked for chooses the path."""
    wide = [sp.hstack([x, sp.csr_matrix((x.shape[0], 4_000))]).tocsr() for x in X]
    auto, proximal = (L1M3N(0.2, solver, tol=1e-3).fit(wide, Y) for solver in ("auto", "proximal"))
    np.testing.assert_array_equal(auto.weights_, proximal.weights_)
    path = L1M3N(0.2, tol=1e-3, clean_up=True).fit(wide, Y)
    assert auto.result_.primal == pytest.approx(path.result_.primal, rel=1e-3)
    assert (auto.weights_ != path.weights_).any()


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_the_proximal_solver_at_any_scale(scale):
    """Squares adapt, however far the weights are from 1; a warm start needs fewer passes."""
    model = L1M3N(0.2, "proximal", tol=1e-5, warm_start=True)
    model.fit([scale * np.asarray(x) for x in X], Y)
    assert model.result_.converged
    assert model.result_.n_passes < 60
    cold = model.result_.n_passes
    assert (
        model.set_params(C=0.21).fit([scale * np.asarray(x) for x in X], Y).result_.n_passes < cold
    )


def test_a_ball_without_a_radius_of_its_own():
    """Is that of the path's solution with this C; it lists no labellings."""
    path = L1M3N(0.2, tol=1e-3).fit(X, Y)
    ball = L1M3N(0.2, "subgradient", tol=0.02).fit(X, Y)
    radius = np.abs(path.weights_).sum()
    given = L1M3N(0.9, "subgradient", radius=radius, tol=0.02).fit(X, Y)
    np.testing.assert_array_equal(ball.weights_, given.weights_)
    with pytest.raises(AttributeError, match=r"this L1M3N has no support_labellings_, .*few"):
        _ = ball.support_labellings_


@pytest.mark.parametrize("name", ["path", "proximal", "cutting_plane"])
def test_a_C_at_which_every_weight_is_zero(name):
    """Is a solution like any other, and its ball is one, too."""
    model = fit_without_warnings(clone(SOLVERS[name]).set_params(C=1e-5), X, Y)
    assert model.dead_features_.all()
    assert model.certified_zeros_.all()
    assert model.result_.gap == 0.0
    assert (model.weight_bounds_ > 0).all()  # as far as rounding lets a gap be believed
    assert model.l1_constant_ == 1e-5
    ball = fit_without_warnings(L1M3N(1e-5, "subgradient"), X, Y)
    assert np.abs(ball.weights_).sum() <= 1e-99


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


def test_what_was_learned_does_not_follow_new_parameters():
    model = L1M3N(C=0.3, tol=1e-6, verbose=0).fit(X[:4], Y[:4])
    bounds = model.weight_bounds_
    model.set_params(C=5.0, solver="subgradient", radius=1.0)
    assert model.l1_constant_ == 0.3
    np.testing.assert_array_equal(model.weight_bounds_, bounds)


@pytest.mark.parametrize("solver", ["path", "cutting_plane"])
def test_zeros_are_certified_only_where_they_are(solver):
    """A gap and a room that are 0 by rounding prove nothing."""
    for seed in range(4):
        chains = make_chain_crf(3, 4, 2, 2, 3, random_state=seed)
        for C in (0.02, 0.1, 1.0):
            model = L1M3N(C, solver, tol=1e-9, verbose=0).fit(chains.data, chains.target)
            assert not np.any(model.certified_zeros_ & (np.abs(model.weights_) > 1e-6))
            assert model.certified_zeros_.any()
