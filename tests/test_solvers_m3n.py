"""All solvers of M3N on the same problems: enumerated ones, digit words, and inside the estimators."""

import numpy as np
import pytest
from enumerated import make_data

from medn_edu import M3N, LaplaceMEDN, load_digit_words, load_model
from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import SolveResult, run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import M3N_SOLVERS, m3n_iterates, smo

OTHERS = [name for name in M3N_SOLVERS if name != "block_frank_wolfe"]
# Relative gap that each is run to: first-order methods with fixed or decreasing steps crawl at the end.
WITHIN = {"subgradient": 1e-2, "online_subgradient": 1e-2, "extragradient": 1e-2}
MOST = 5000

X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]]), np.array([[1.0, 0.2]])]
Y = [["noun", "verb"], ["verb"], ["noun"]]


def within(solver: str) -> float:
    return WITHIN.get(solver, 1e-3)


def solve(problem: Problem, solver: str, tol: float) -> SolveResult:
    iterates = m3n_iterates(problem, solver, rng=np.random.default_rng(0))
    return run(iterates, problem, tol=tol, max_iter=MOST)


@pytest.fixture(scope="module")
def digit_words() -> tuple[Problem, SolveResult]:
    """Digit words, and M3N's optimum for them."""
    words = load_digit_words(n_train=20, n_test=1)
    codes = np.concatenate([words.target[i] for i in words.train])
    allowed = np.ones((1, 10, 10), dtype=bool)
    data = label_samples(pack([words.data[i] for i in words.train]), codes, allowed)
    problem = Problem(data, MarginLoss(LinearSlack(C=0.1)), GaussianPrior())
    return problem, solve(problem, "block_frank_wolfe", tol=1e-6)


@pytest.mark.parametrize("solver", OTHERS)
def test_optimum_of_the_digit_words(solver, digit_words):
    problem, best = digit_words
    assert best.converged
    result = solve(problem, solver, within(solver))
    assert result.converged, result.status
    assert result.primal <= best.primal * (1 + 1.01 * within(solver))
    assert result.dual >= best.dual * (1 - 1.01 * within(solver))


def test_first_gap_of_smo_is_that_of_the_true_labels():
    problem = Problem(
        make_data("chain", n_samples=1), MarginLoss(LinearSlack(C=1.3)), GaussianPrior()
    )
    first = next(smo(problem, rng=np.random.default_rng(0)))
    assert first.gap_estimate == pytest.approx(problem.primal(np.zeros(len(first.weights))))


# -- inside the estimators ------------------------------------------------------------------------


def test_a_solver_that_there_is_not():
    message = "solver is 'nonsense'; expected one of 'block_frank_wolfe', .*'cutting_plane'"
    for model in (M3N(solver="nonsense"), LaplaceMEDN(method="variational", solver="nonsense")):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)


@pytest.mark.parametrize("solver", M3N_SOLVERS)
def test_m3n_is_the_same_model_saved_and_loaded_and_fitted_again(solver, tmp_path):
    tol = within(solver)
    model = M3N(solver=solver, tol=tol, max_iter=MOST, warm_start=True)
    for C in (1.0, 2.0):
        model.set_params(C=C).fit(X, Y)
        best = M3N(C=C, tol=1e-8).fit(X, Y)
        assert model.result_.relative_gap <= tol
        assert model.result_.primal <= best.result_.primal * (1 + 1.01 * tol)
        # |w - w*|^2 / 2 is at most the distance of the primal value, because the primal bends that much.
        distance = np.linalg.norm(model.weights_ - best.weights_)
        assert distance <= np.sqrt(2 * model.result_.gap) + 1e-3
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.solver == solver
    assert loaded.result_.relative_gap == model.result_.relative_gap
    np.testing.assert_array_equal(loaded.weights_, model.weights_)
    for one, other, true in zip(model.predict(X), loaded.predict(X), Y, strict=True):
        assert list(one) == list(other) == true


@pytest.mark.parametrize("solver", OTHERS)
def test_variational_method_takes_any_solver_and_the_exact_one_takes_none(solver):
    tol = within(solver)
    options = {"C": 1.0, "lam": 4.0, "method": "variational", "max_iter": MOST}
    model = LaplaceMEDN(solver=solver, tol=tol, **options).fit(X, Y)
    usual = LaplaceMEDN(tol=1e-6, **options).fit(X, Y)
    assert len(model.bounds_) == len(usual.bounds_) == 3
    np.testing.assert_allclose(model.bounds_, usual.bounds_, rtol=2 * tol)
    with pytest.raises(ValueError, match=f"solver is '{solver}' and method 'exact'"):
        LaplaceMEDN(method="exact", solver=solver).fit(X, Y)
