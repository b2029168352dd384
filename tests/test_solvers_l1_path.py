"""L1-M3N along the path of Laplace MEDNs: bounds on the way, the clean-up, and rounding."""

import importlib
import itertools
import math

import numpy as np
import pytest
from enumerated import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_solvers_l1_cutting_plane import (
    assert_solved,
    bounds_hold,
    failing,
    is_vertex,
    make_problem,
    odd_data,
    rows_of,
)

from medn_edu.problems import (
    L1Norm,
    MarginLoss,
    Problem,
)
from medn_edu.results import SolveResult, run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import l1_path
from medn_edu.theory.l1m3n import solve_l1m3n

module = importlib.import_module("medn_edu.solvers.l1_path")


def at_work(problem: Problem, tol: float, clean_up: bool | None = None):
    return l1_path(problem, rng=np.random.default_rng(0), tol=tol, clean_up=clean_up)


def solve(problem: Problem, tol: float = 1e-9, clean_up: bool | None = None) -> SolveResult:
    return run(at_work(problem, tol, clean_up), problem, tol=tol, max_iter=200)


# -- the optimum --------------------------------------------------------------------------------------


@settings(max_examples=4, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    price=st.floats(-2, 1.5).map(lambda x: 10.0**x),
    clean_up=st.booleans(),
)
def test_bounds_on_the_way(seed, kind, price, clean_up):
    problem = make_problem(kind, price, seed)
    best = solve_l1m3n(rows_of(problem)).value
    lower = []
    for point in itertools.islice(at_work(problem, 1e-2, clean_up), 10):
        bounds_hold(problem, [point], best)
        lower.append(point.objective_estimate - point.gap_estimate)
    assert np.all(np.diff(lower) >= -1e-9 * best)
    assert point.gap_estimate <= 0.1 * best


def test_the_barrier_accounts_for_the_gap(monkeypatch):
    """``K / (2 sqrt(lam))`` is what the logarithms leave of it, and the rest is the MEDN's own gap."""
    gaps: list[float] = []
    lams: list[float] = []
    monkeypatch.setattr(module, "_SHARE", 1e-4)
    monkeypatch.setattr(module, "_MOST_PASSES", 5000)
    prior = module.LaplacePrior
    monkeypatch.setattr(module, "LaplacePrior", lambda lam: lams.append(lam) or prior(lam))
    problem = make_problem(KINDS[1], 0.5)
    for point in itertools.islice(at_work(problem, 1e-3, clean_up=False), 1, 8):
        gaps.append(point.gap_estimate)
    barrier = problem.weight_shape.size / (2 * np.sqrt(lams))
    assert np.all(np.array(gaps) <= barrier + 1e-5)
    np.testing.assert_allclose(np.divide(lams[1:], lams[:-1]), 4.0)


# -- zeros by rounding --------------------------------------------------------------------------------


@pytest.mark.parametrize("price", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding(kind, price):
    """As many zeros as the gap allows; without it only weights that nothing pulls are 0."""
    problem = make_problem(kind, price)
    tol = 0.05
    result = solve(problem, tol, clean_up=False)
    best = solve_l1m3n(rows_of(problem)).value
    assert result.converged, result.status
    assert 0 <= result.gap <= tol * result.primal
    assert best * (1 - 1e-9) <= result.primal <= best * (1 + 1.03 * tol)
    zero = result.weights == 0
    assert np.count_nonzero(zero) > np.count_nonzero(result.eta == 0)
    assert not is_vertex(rows_of(problem), result.weights)
    smallest = np.abs(result.weights[~zero]).min()
    fewer = np.where(np.abs(result.weights) <= smallest, 0.0, result.weights)
    assert problem.primal(fewer) - result.dual > tol * problem.primal(fewer)


def test_a_huge_price_is_no_standstill():
    """Although the gap is hardly seen to shrink at first, so far is the lower bound from the upper."""
    problem = make_problem(KINDS[0], 1e4, 8)
    result = solve(problem, 0.1, clean_up=False)
    gaps = np.array([point.gap_estimate for point in result.trace])
    assert (gaps[2:5] > 0.99 * gaps[1:4]).all()
    assert result.converged, result.status


# -- when the linear program takes over ----------------------------------------------------------------


def test_a_program_that_is_too_large(monkeypatch):
    """It goes on without, and rounds in the end; who insists gets it once the gap is closed."""
    problem = make_problem(KINDS[1], 0.3, 1)
    monkeypatch.setattr(module, "_MOST_CELLS", -1)
    wanted = solve(problem, 1e-4, clean_up=True)
    assert wanted.converged
    assert is_vertex(rows_of(problem), wanted.weights)
    monkeypatch.setattr(module, "LinearProgram", None)
    without = solve(problem, 1e-4)
    assert without.converged
    assert not is_vertex(rows_of(problem), without.weights)
    assert (without.weights == 0).any()


@pytest.mark.parametrize("clean_up", [None, True, False])
def test_a_path_that_stands_still(monkeypatch, clean_up):
    """The linear program is the way out, where it is not too large."""
    problem = make_problem(KINDS[1], 20.0, 2)
    monkeypatch.setattr(module, "_MOST_PASSES", 1)
    monkeypatch.setattr(module, "_PROGRESS", 0.9)  # so that this counts as standing still
    monkeypatch.setattr(module, "_WORTH", 0.0)
    result = solve(problem, clean_up=clean_up)
    if clean_up is False:
        assert not result.converged
        assert result.status == "the gap does not shrink any more without a clean-up"
        assert result.primal > 1.01 * solve_l1m3n(rows_of(problem)).value
    else:
        assert_solved(problem, result)


def test_features_left_out_at_first_join(monkeypatch):
    """Even if all but a few are left out."""
    problem = make_problem(KINDS[0], 1.0)
    monkeypatch.setattr(module, "_NEAR", 0.499)
    joined = []
    add = module.LinearProgram.add_features
    monkeypatch.setattr(
        module.LinearProgram,
        "add_features",
        lambda self, features: joined.append(len(features)) or add(self, features),
    )
    assert_solved(problem, solve(problem))
    assert sum(joined[1:]) > 0


@pytest.mark.parametrize("worth", [3e3, 0.0])
@pytest.mark.parametrize("n", [1, 2])
def test_highs_gives_up(monkeypatch, n, worth):
    """Of the mean and the vertices the better one is kept, with its gap and the sentence."""
    problem = make_problem(KINDS[0], 1.0, 4)
    monkeypatch.setattr(
        module, "_WORTH", worth
    )  # 0: takes over where the mean is good to 1 per cent
    failing(monkeypatch, n)
    points = list(at_work(problem, 1e-9))
    result = run(points, problem, tol=1e-9, max_iter=200)
    assert not result.converged
    assert "with the status 'Iteration limit'" in result.status
    assert points[-1].n_oracle_calls >= points[-2].n_oracle_calls
    best = solve_l1m3n(rows_of(problem)).value
    assert math.isfinite(result.gap)
    assert best <= result.primal <= 1.01 * min(p.objective_estimate for p in points)
    assert result.gap <= 1.01 * min(p.gap_estimate for p in points) + 0.01 * result.primal
    if worth == 0.0:
        assert result.relative_gap <= 0.011


# -- warm starts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [10**5, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts(monkeypatch, kind, few):
    """By a small linear program or, where it would be large, by the path: to the same optimum."""
    monkeypatch.setattr(module, "_FEW_CELLS", few)
    last = None
    for price in (0.3, 0.5, 0.1, 1e-6, 20.0):
        problem = make_problem(kind, price)
        path = l1_path(problem, rng=np.random.default_rng(0), tol=1e-9, warm_start=last)
        points = list(path)
        last = run(points, problem, tol=1e-9, max_iter=200)
        best = assert_solved(problem, last)
        bounds_hold(problem, points, best.value)
        assert is_vertex(rows_of(problem), last.weights)


def test_a_warm_start_from_other_samples():
    last = solve(make_problem(KINDS[0], 0.3))
    problem = Problem(odd_data()["one node"], MarginLoss(LinearSlack(0.3)), L1Norm())
    with pytest.raises(ValueError, match="warm_start"):
        next(l1_path(problem, rng=np.random.default_rng(0), warm_start=last))


# -- manners --------------------------------------------------------------------------------------------


def test_constants_beyond_all_numbers():
    with pytest.raises(ValueError, match="cannot be computed in double precision"):
        solve(make_problem(price=1e300))
    least = solve(make_problem(price=1e-300))
    assert least.converged
    assert not least.weights.any()
