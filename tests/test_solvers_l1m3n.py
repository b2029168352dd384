"""L1-M3N by cutting planes and along the path: the linear program's optimum, and trouble."""

import itertools
import math
import subprocess
import sys
from functools import partial

import highspy
import numpy as np
import pytest
from enumerated import KINDS, make_data

from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Norm, MarginLoss, Problem, weight_bounds
from medn_edu.results import SolveResult, run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import l1_cutting_plane, l1_path
from medn_edu.theory.l1m3n import ProgramSolution, solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem

PRICES = [1e-6, 0.05, 0.3, 1.0, 20.0, 1e4]


def make_problem(kind: str = KINDS[1], price: float = 0.3, seed: int = 0) -> Problem:
    return Problem(make_data(kind, seed), MarginLoss(LinearSlack(price)), L1Norm())


def rows_of(problem: Problem) -> EnumeratedProblem:
    return enumerate_problem(problem.data, GaussianPrior(), problem.loss.slack)


def solve(problem: Problem, **options) -> SolveResult:
    return run(l1_cutting_plane(problem, **options), problem, tol=1e-9, max_iter=200)


def path(problem: Problem, **options):
    return l1_path(problem, rng=np.random.default_rng(0), **options)


def solve_by_path(problem: Problem, tol: float = 1e-9, **options) -> SolveResult:
    return run(path(problem, tol=tol, **options), problem, tol=tol, max_iter=200)


BOTH = {
    "cutting planes": solve,
    "path": solve_by_path,
    "path that has to clean up": partial(solve_by_path, clean_up=True),
}
each_solver = pytest.mark.parametrize("solver", BOTH.values(), ids=list(BOTH))


def assert_solved(problem: Problem, result: SolveResult) -> ProgramSolution:
    """Both values are the optimum's."""
    best = solve_l1m3n(rows_of(problem))
    assert result.converged, result.status
    assert result.primal == pytest.approx(best.value, rel=1e-8)
    assert result.dual == pytest.approx(best.value, rel=1e-8)
    return best


def is_vertex(problem: Problem, weights: np.ndarray) -> bool:
    """Say whether the tight rows leave the weights that are not 0, and the slacks, no freedom."""
    rows = rows_of(problem)
    xi = rows.xi(weights)
    tight = rows.losses - rows.differences @ weights >= xi[rows.sample] - 1e-6
    owner = np.eye(rows.n_samples)[rows.sample[tight]]
    matrix = np.hstack([rows.differences[tight][:, weights != 0], owner])
    return np.linalg.matrix_rank(matrix, tol=1e-6) == matrix.shape[1]


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
@each_solver
def test_the_optimum_at_a_vertex(solver, kind, seed, price):
    """Chains, trees, types of edges, forbidden transitions, sample weights; C from tiny to huge."""
    problem = make_problem(kind, price, seed)
    result = solver(problem)
    best = assert_solved(problem, result)
    assert is_vertex(problem, result.weights)
    # Where |eta_k| is below a half a weight is exactly 0, and so it is in other solutions.
    assert np.abs(result.eta).max(initial=0.0) <= 0.5 * (1 + 1e-9)
    assert not result.weights[np.abs(result.eta) < 0.5 - 1e-6].any()
    bound = weight_bounds(max(result.gap, 1e-9 * result.primal), result.eta)
    assert np.all(np.abs(best.weights) <= bound * (1 + 1e-6) + 1e-9)


def test_a_program_by_hand():
    """One node with one feature: either w pays, or xi does."""
    data = label_samples(pack([np.array([[2.0]])]), np.array([0]), np.ones((1, 2, 2), bool))
    for price, value, norm in ((0.1, 0.1, 0.0), (1.0, 0.25, 0.5)):
        # w . (f - f') = 2 (w_0 - w_1) >= 1 - xi costs at least 1/4, or C without any weight
        problem = Problem(data, MarginLoss(LinearSlack(price)), L1Norm())
        for result in (solve(problem), solve_by_path(problem)):
            assert (result.primal, result.dual) == pytest.approx((value, value))
            assert np.abs(result.weights).sum() == pytest.approx(norm)


def odd_data() -> dict[str, LabelledSamples]:
    rng = np.random.default_rng(0)
    every = np.ones((1, 2, 2), dtype=bool)
    sample, rare = rng.normal(size=(3, 2)), np.c_[rng.normal(size=(4, 2)), np.zeros((4, 2))]
    one_way = np.array([[[False, True], [True, False]]])  # after 0 comes only 1, after 1 only 0
    table = {
        "one node": ([np.ones((1, 1))], [1], every),
        "no features that say anything": ([np.zeros((2, 2))] * 2, [0, 1, 1, 0], every),
        "contradictions": ([np.ones((1, 2))] * 2, [0, 1], every),
        "features that never occur": ([rare[:2], rare[2:]], [0, 1, 1, 0], every),
        "all samples alike": ([sample] * 6, [0, 1, 0] * 6, every),
        "two labellings": ([sample[:2]], [0, 1], one_way),
    }
    return {
        name: label_samples(pack(X), np.array(labels), allowed)
        for name, (X, labels, allowed) in table.items()
    }


@pytest.mark.parametrize("price", [1e-8, 0.3, 1e4])
@pytest.mark.parametrize("name", odd_data())
@each_solver
def test_odd_data(solver, name, price):
    problem = Problem(odd_data()[name], MarginLoss(LinearSlack(price)), L1Norm())
    result = solver(problem)
    assert_solved(problem, result)
    if name == "features that never occur":
        coef, _ = problem.weight_shape.split(result.weights)
        assert not coef[:, 2:].any()
    if price == 1e-8:
        assert not result.weights.any()
        assert result.gap == 0


@pytest.mark.parametrize("kind", KINDS)
def test_smoothing_and_patience_change_the_way_only(kind, monkeypatch):
    """Labellings leave; had they to stay away, some would be missed."""
    left, drop = [], highspy.Highs.deleteRows
    monkeypatch.setattr(
        highspy.Highs, "deleteRows", lambda self, n, rows: left.append(n) or drop(self, n, rows)
    )
    problem = make_problem(kind, 1.0)
    for smoothing, patience in itertools.product([0.0, 0.8], [0, 2, 100]):
        left.clear()
        assert_solved(problem, solve(problem, smoothing=smoothing, patience=patience))
        assert bool(left) == (patience < 100)


def failing(monkeypatch, first: int, last: float = np.inf) -> None:
    """Let HiGHS do nothing from one run to another."""
    runs, run_highs = itertools.count(1), highspy.Highs.run

    def patched(self):
        if not first <= next(runs) <= last:
            run_highs(self)

    monkeypatch.setattr(highspy.Highs, "run", patched)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_highs_gives_up(monkeypatch, n):
    """A sentence says so, and the best solution so far is kept with its gap."""
    problem = make_problem(KINDS[0], 1.0, 4)
    plain = list(itertools.islice(l1_cutting_plane(problem), n - 1))
    failing(monkeypatch, n)
    result = solve(problem)
    assert not result.converged
    assert "HiGHS ended a linear program of" in result.status
    assert "with the status 'Not Set'" in result.status
    assert result.n_passes == n
    if n == 1:
        assert not result.weights.any()
        assert result.primal == problem.primal(np.zeros_like(result.weights))
        assert 0 < result.dual < result.primal
    else:
        np.testing.assert_array_equal(result.weights, plain[-1].weights)
        assert result.primal == pytest.approx(plain[-1].objective_estimate)
        assert result.gap == pytest.approx(plain[-1].gap_estimate)


@pytest.mark.parametrize("n", [1, 2])
def test_highs_gives_up_at_the_end_of_the_path(monkeypatch, n):
    """Of the mean and the vertices the better one is kept, with its gap and the sentence."""
    problem = make_problem(KINDS[0], 1.0, 4)
    failing(monkeypatch, n)
    points = list(path(problem, tol=1e-9))
    result = run(points, problem, tol=1e-9, max_iter=200)
    assert not result.converged
    assert "with the status 'Not Set'" in result.status
    assert points[-1].n_oracle_calls >= points[-2].n_oracle_calls
    assert math.isfinite(result.gap)
    best = solve_l1m3n(rows_of(problem)).value
    assert best <= result.primal <= 1.01 * min(p.objective_estimate for p in points)
    assert result.gap <= 1.01 * min(p.gap_estimate for p in points) + 0.01 * result.primal


def test_highs_gets_a_second_chance(monkeypatch):
    """From another basis."""
    problem = make_problem(KINDS[0], 1.0, 4)
    failing(monkeypatch, 3, 3)
    assert_solved(problem, solve(problem))


def test_highs_is_loaded_only_when_it_works_and_prints_nothing():
    """Not even its version, which 1.16 prints once per process."""
    code = """
import sys
from medn_edu.solvers import l1_cutting_plane
from medn_edu.problems import L1Norm, Problem
assert "highspy" not in sys.modules
next(l1_cutting_plane(Problem.of([[[1.0, 0.0], [0.0, 1.0]]], [[0, 1]], regulariser=L1Norm())))
assert "highspy" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert done.stdout == b""


@pytest.mark.parametrize("threads", [1, 2])
def test_after_somebody_else_has_used_highs(threads):
    """HiGHS keeps the threads of its first run in a process and refuses other numbers of them."""
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", threads)
    other.addVar(0.0, 1.0)
    assert other.run() == highspy.HighsStatus.kOk
    problem = make_problem()
    assert_solved(problem, solve(problem))
    highspy.Highs.resetGlobalScheduler(True)


def test_the_barrier_accounts_for_the_gap():
    """``K / (2 sqrt(lam))`` is what the logarithms leave of it, and the rest is the MEDN's own gap.

    The first lam is ten times the square of K over the objective at 0, and each next one four times the
    last.
    """
    problem = make_problem(KINDS[1], 0.5)
    at_zero = problem.primal(np.zeros(problem.weight_shape.size))
    barrier = at_zero / (2 * math.sqrt(10) * 2.0 ** np.arange(8))
    points = itertools.islice(path(problem, tol=1e-4, clean_up=False), 1, 9)
    gaps = np.array([point.gap_estimate for point in points])
    assert (gaps <= barrier + 1e-4 * at_zero).all()
    np.testing.assert_allclose(gaps[1:] / gaps[:-1], 0.5, rtol=0.1)


@pytest.mark.parametrize("price", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding(kind, price):
    """As many zeros as the gap allows; without it only weights that nothing pulls are 0."""
    problem, tol = make_problem(kind, price), 0.05
    result = solve_by_path(problem, tol, clean_up=False)
    best = solve_l1m3n(rows_of(problem)).value
    assert result.converged, result.status
    assert 0 <= result.gap <= tol * result.primal
    assert best * (1 - 1e-9) <= result.primal <= best * (1 + 1.03 * tol)
    zero = result.weights == 0
    assert np.count_nonzero(zero) > np.count_nonzero(result.eta == 0)
    assert not is_vertex(problem, result.weights)
    smallest = np.abs(result.weights[~zero]).min()
    fewer = np.where(np.abs(result.weights) <= smallest, 0.0, result.weights)
    assert problem.primal(fewer) - result.dual > tol * problem.primal(fewer)


def test_a_huge_price_is_no_standstill():
    """Although the gap is hardly seen to shrink at first, so far is the lower bound from the upper."""
    result = solve_by_path(make_problem(KINDS[0], 1e4, 8), 0.1, clean_up=False)
    gaps = np.array([point.gap_estimate for point in result.trace])
    assert (gaps[2:5] > 0.99 * gaps[1:4]).all()
    assert result.converged, result.status


def test_a_program_that_is_too_large(monkeypatch):
    """It goes on without, and rounds in the end; who insists gets it once the gap is closed."""
    problem = make_problem(KINDS[1], 0.3, 1)
    monkeypatch.setattr(sys.modules[l1_path.__module__], "MOST_CELLS", -1)
    wanted = solve_by_path(problem, 1e-4, clean_up=True)
    assert wanted.converged
    assert is_vertex(problem, wanted.weights)
    monkeypatch.setattr(highspy.Highs, "run", pytest.fail)
    without = solve_by_path(problem, 1e-4)
    assert without.converged
    assert not is_vertex(problem, without.weights)
    assert (without.weights == 0).any()
    other = make_problem(KINDS[1], 0.25, 1)
    assert solve_by_path(other, 1e-4, clean_up=False, warm_start=without).converged


@pytest.mark.parametrize("clean_up", [None, True, False])
def test_a_path_that_stands_still(clean_up):
    """The linear program is the way out, where it is not too large."""
    problem = make_problem(KINDS[1], 20.0, 2)
    result = solve_by_path(problem, clean_up=clean_up, max_passes=1)
    if clean_up is False:
        assert not result.converged
        assert result.status == "the gap does not shrink any more without a clean-up"
        assert result.primal > 1.01 * solve_l1m3n(rows_of(problem)).value
    else:
        assert_solved(problem, result)


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts(kind):
    """By a linear program of few features, which more join, or by the path; no bound gets worse."""
    last = None
    for price in (0.3, 0.5, 0.1, 1e-6, 20.0):
        problem = make_problem(kind, price)
        points = list(path(problem, tol=1e-9, warm_start=last))
        last = run(points, problem, tol=1e-9, max_iter=200)
        best = assert_solved(problem, last)
        assert is_vertex(problem, last.weights)
        proofs, allowed = [point.certify(problem) for point in points], 1e-9 * best.value
        gaps = [point.gap_estimate for point in points]
        np.testing.assert_allclose([proof.gap for proof in proofs], gaps, rtol=1e-9, atol=allowed)
        assert (np.diff([proof.primal for proof in proofs]) <= allowed).all()
        assert (np.diff([proof.dual for proof in proofs]) >= -allowed).all()


def test_where_a_warm_start_begins(monkeypatch):
    """With a bound, by dual variables scaled to the smaller constant, and a program of few features."""
    widths, run_highs = [], highspy.Highs.run
    last, problem = solve_by_path(make_problem(price=1.0)), make_problem(price=0.3)
    monkeypatch.setattr(
        highspy.Highs, "run", lambda highs: widths.append(highs.getNumCol()) or run_highs(highs)
    )
    points = path(problem, warm_start=last)
    warm, cold = (next(each).certify(problem).dual for each in (points, path(problem)))
    assert warm > 1.5 * cold
    next(points)
    n_features = np.count_nonzero(np.abs(last.eta) > 0.2)
    assert widths == [problem.n_samples + 2 * n_features]
    assert n_features < 0.3 * len(last.eta)


@pytest.mark.parametrize("price", [1e-300, 1e300])
def test_a_path_without_numbers_for_its_priors(price):
    """Where no weight pays that is no obstacle, unless somebody wants to go on."""
    problem = make_problem(price=price)
    if price < 1:
        assert solve_by_path(problem).gap == 0
    with pytest.raises(ValueError, match="cannot be computed in double precision"):
        list(path(problem))


def test_a_warm_start_from_other_samples():
    last = solve_by_path(make_problem(KINDS[0], 0.3))
    problem = Problem(odd_data()["one node"], MarginLoss(LinearSlack(0.3)), L1Norm())
    for solver in (path, l1_cutting_plane):
        with pytest.raises(ValueError, match="warm_start"):
            next(solver(problem, warm_start=last))
