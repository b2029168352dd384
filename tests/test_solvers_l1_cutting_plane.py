"""L1-M3N by cutting planes: against the linear program over all labellings, and when things go wrong."""

import itertools
import subprocess
import sys
from functools import partial

import highspy
import numpy as np
import pytest
from enumerated import KINDS, make_data
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Norm, MarginLoss, Problem, weight_bounds
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import l1_cutting_plane, l1_path
from medn_edu.solvers._l1_bounds import Bounds
from medn_edu.solvers._linear_program import LinearProgram, cut
from medn_edu.theory.l1m3n import ProgramSolution, solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem

PRICES = [1e-6, 0.05, 0.3, 1.0, 20.0, 1e4]
ANY = np.ones((1, 2, 2), dtype=bool)


def make_problem(kind: str = KINDS[1], price: float = 0.3, seed: int = 0, n_jobs: int = 1):
    return Problem(make_data(kind, seed), MarginLoss(LinearSlack(price)), L1Norm(), n_jobs=n_jobs)


def rows_of(problem: Problem) -> EnumeratedProblem:
    return enumerate_problem(problem.data, GaussianPrior(), problem.loss.slack)


def solve(problem: Problem, tol: float = 1e-9, **options) -> SolveResult:
    return run(l1_cutting_plane(problem, **options), problem, tol=tol, max_iter=200)


def solve_by_path(problem: Problem, clean_up: bool | None = None) -> SolveResult:
    rng = np.random.default_rng(0)
    iterates = l1_path(problem, rng=rng, tol=1e-9, clean_up=clean_up)
    return run(iterates, problem, tol=1e-9, max_iter=200)


BOTH = {
    "cutting planes": solve,
    "path": solve_by_path,
    "path that has to clean up": partial(solve_by_path, clean_up=True),
}


def assert_solved(problem: Problem, result: SolveResult) -> ProgramSolution:
    """Both values are the optimum's."""
    best = solve_l1m3n(rows_of(problem))
    assert result.converged, result.status
    assert result.primal == pytest.approx(best.value, rel=1e-8)
    assert result.dual == pytest.approx(best.value, rel=1e-8)
    return best


def is_vertex(rows: EnumeratedProblem, weights: np.ndarray) -> bool:
    """Say whether the tight rows leave the weights that are not 0, and the slacks, no freedom."""
    xi = rows.xi(weights)
    tight = rows.losses - rows.differences @ weights >= xi[rows.sample] - 1e-6
    owner = np.eye(rows.n_samples)[rows.sample[tight]]
    matrix = np.hstack([rows.differences[tight][:, weights != 0], owner])
    return np.linalg.matrix_rank(matrix, tol=1e-6) == matrix.shape[1]


# -- the optimum --------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", BOTH)
def test_the_optimum_at_a_vertex(solver, kind, seed, price):
    """Chains, trees, types of edges, forbidden transitions, sample weights; C from tiny to huge."""
    problem = make_problem(kind, price, seed)
    result = BOTH[solver](problem)
    best = assert_solved(problem, result)
    assert is_vertex(rows_of(problem), result.weights)
    # Where |eta_k| is below a half a weight is exactly 0, and so it is in other solutions.
    assert np.abs(result.eta).max(initial=0.0) <= 0.5 * (1 + 1e-9)
    assert not result.weights[np.abs(result.eta) < 0.5 - 1e-6].any()
    bound = weight_bounds(max(result.gap, 1e-9 * result.primal), result.eta)
    assert np.all(np.abs(best.weights) <= bound * (1 + 1e-6) + 1e-9)


def bounds_hold(problem: Problem, iterates: list[Iterate], best: float) -> None:
    """Upper bounds are those of the weights, lower ones those of the dual; neither gets worse."""
    allowed = 1e-9 * best
    upper = [point.objective_estimate for point in iterates]
    lower = [point.objective_estimate - point.gap_estimate for point in iterates]
    for point, above, below in zip(iterates, upper, lower, strict=True):
        certificate = point.certify(problem)
        assert certificate.primal == pytest.approx(above, rel=1e-12)
        assert certificate.dual == pytest.approx(below, rel=1e-9, abs=allowed)
        assert below - allowed <= best <= above + allowed
        alpha = point.dual()
        assert np.all(np.diff(alpha.sample) >= 0)
        assert np.all(alpha.values >= 0)
        assert np.all(alpha.totals(problem.data) <= problem.C * (1 + 1e-12))
    assert np.all(np.diff(upper) <= 0)
    assert np.all(np.diff(lower) >= -allowed)
    assert np.all(np.diff([point.n_oracle_calls for point in iterates]) > 0)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    price=st.floats(-2, 2).map(lambda x: 10.0**x),
    smoothing=st.sampled_from([0.0, 0.5, 0.8]),
    patience=st.integers(0, 3),
)
def test_bounds_on_the_way(seed, kind, price, smoothing, patience):
    problem = make_problem(kind, price, seed)
    iterates = list(l1_cutting_plane(problem, smoothing=smoothing, patience=patience))
    best = solve_l1m3n(rows_of(problem)).value
    bounds_hold(problem, iterates, best)
    assert iterates[-1].stopped == "no margin is violated any more, to the accuracy of HiGHS"
    assert iterates[-1].gap_estimate <= 1e-8 * best


# -- the working set ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_smoothing_and_patience_change_the_way_only(kind):
    problem = make_problem(kind, 1.0)
    for smoothing, patience in itertools.product([0.0, 0.8], [0, 2, 100]):
        assert_solved(problem, solve(problem, smoothing=smoothing, patience=patience))


def test_labellings_leave_and_come_back(monkeypatch):
    """With no patience at all some that leave turn out to matter."""
    came: list[tuple] = []
    gone: list[tuple] = []
    add, drop = LinearProgram.add, LinearProgram.drop

    def names(labellings):
        ends = zip(labellings.offsets[:-1], labellings.offsets[1:], strict=True)
        parts = [tuple(labellings.labels[a:b]) for a, b in ends]
        return list(zip(labellings.sample, parts, strict=True))

    def watched_add(self, labellings):
        came.extend(names(labellings))
        add(self, labellings)

    def watched_drop(self, which):
        gone.extend(itertools.compress(names(self.labellings), which))
        drop(self, which)
        assert len(self) == len(self.labellings) == self._highs.getNumRow()

    monkeypatch.setattr(LinearProgram, "add", watched_add)
    monkeypatch.setattr(LinearProgram, "drop", watched_drop)
    problem = make_problem(KINDS[0], 1.0, 4)
    assert_solved(problem, solve(problem, patience=0))
    assert gone
    assert len(came) > len(set(came))


@pytest.mark.parametrize("kind", KINDS)
def test_features_join_when_they_are_worth_their_price(kind):
    """From a program without any."""
    problem = make_problem(kind, 1.0)
    program = LinearProgram(problem, np.zeros(0, dtype=np.int64))
    bounds = Bounds(problem)
    result = run(cut(program, bounds, bounds.weights), problem, tol=1e-9, max_iter=200)
    assert_solved(problem, result)
    n_features = len(program._features)
    assert np.count_nonzero(result.weights) <= n_features < problem.weight_shape.size


def test_a_program_by_hand():
    """One labelling of one node, one feature: either w pays, or xi does."""
    data = label_samples(pack([np.array([[2.0]])]), np.array([0]), ANY)
    for price, value, weight in ((0.1, 0.1, 0.0), (1.0, 0.25, 0.5)):
        # w.(f - f') = 2 (w_0 - w_1) >= 1 - xi costs at least 1/4, or C without any weight
        problem = Problem(data, MarginLoss(LinearSlack(price)), L1Norm())
        result = solve(problem)
        assert result.primal == pytest.approx(value)
        assert np.abs(result.weights).sum() == pytest.approx(weight)


# -- odd data -----------------------------------------------------------------------------------------


def odd_data() -> dict[str, LabelledSamples]:
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(3, 2))
    rare = np.c_[rng.normal(size=(4, 2)), np.zeros((4, 2))]
    one_way = ANY.copy()
    one_way[0, 0] = one_way[0, 1, 1] = False  # after 0 comes nothing, after 1 only 0
    one_way[0, 0, 1] = True
    labels = np.array([0, 1, 0])
    return {
        "one node": label_samples(pack([np.ones((1, 1))]), np.array([1]), ANY),
        "no features that say anything": label_samples(
            pack([np.zeros((2, 2))] * 2), np.array([0, 1, 1, 0]), ANY
        ),
        "contradictions": label_samples(pack([np.ones((1, 2))] * 2), np.array([0, 1]), ANY),
        "features that never occur": label_samples(
            pack([rare[:2], rare[2:]]), np.array([0, 1, 1, 0]), ANY
        ),
        "all samples alike": label_samples(pack([sample] * 6), np.tile(labels, 6), ANY),
        "two labellings": label_samples(pack([sample[:2]]), np.array([0, 1]), one_way),
    }


@pytest.mark.parametrize("price", [1e-8, 0.3, 1e4])
@pytest.mark.parametrize("name", odd_data())
@pytest.mark.parametrize("solver", BOTH)
def test_odd_data(solver, name, price):
    problem = Problem(odd_data()[name], MarginLoss(LinearSlack(price)), L1Norm())
    result = BOTH[solver](problem)
    assert_solved(problem, result)
    if name == "features that never occur":
        coef, _ = problem.weight_shape.split(result.weights)
        assert not coef[:, 2:].any()
    if price == 1e-8:
        assert not result.weights.any()
        assert result.gap == 0


# -- things that go wrong -----------------------------------------------------------------------------


def failing(monkeypatch, first: int, last: float = np.inf) -> None:
    """Let HiGHS give up from one run to another."""
    runs = itertools.count(1)
    run_highs = LinearProgram._run

    def patched(self):
        return "Iteration limit" if first <= next(runs) <= last else run_highs(self)

    monkeypatch.setattr(LinearProgram, "_run", patched)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_highs_gives_up(monkeypatch, n):
    """A sentence says so, and the best solution so far is kept with its gap."""
    problem = make_problem(KINDS[0], 1.0, 4)
    plain = list(itertools.islice(l1_cutting_plane(problem), n - 1))
    failing(monkeypatch, n)
    result = solve(problem)
    assert not result.converged
    assert "ended a linear program of" in result.status
    assert "with the status 'Iteration limit'" in result.status
    assert result.n_passes == n
    if n == 1:
        assert not result.weights.any()
        assert result.primal == problem.primal(np.zeros_like(result.weights))
        assert 0 < result.dual < result.primal
    else:
        np.testing.assert_array_equal(result.weights, plain[-1].weights)
        assert result.primal == pytest.approx(plain[-1].objective_estimate)
        assert result.gap == pytest.approx(plain[-1].gap_estimate)


def test_highs_gets_a_second_chance(monkeypatch):
    """From another basis."""
    problem = make_problem(KINDS[0], 1.0, 4)
    failing(monkeypatch, 3, 3)
    assert_solved(problem, solve(problem))


def test_highs_prints_nothing():
    """Not even its version, which 1.16 prints once per process."""
    code = """
from medn_edu.solvers._linear_program import serial_highs
highs = serial_highs()
highs.addVar(0.0, 1.0)
highs.run()
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
