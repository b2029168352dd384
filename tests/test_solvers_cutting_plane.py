"""Cutting planes for M3N: bounds, working sets, and what happens when HiGHS does not finish."""

import importlib
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest
from enumerated import KINDS, make_data, uneven_prior
from sklearn.exceptions import ConvergenceWarning

from medn_edu import M3N
from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import cutting_plane, one_slack_cutting_plane
from medn_edu.solvers.textbook import _quadratic_program
from medn_edu.solvers.textbook._quadratic_program import (
    CappedProgram,
    highs_maximiser,
    pairwise_maximiser,
)
from medn_edu.solvers.textbook.cutting_plane import _ConstraintSet, _LabellingSet

BOTH = [cutting_plane, one_slack_cutting_plane]


def make_problem(kind: str = KINDS[1], C: float = 1.3, n_samples: int = 12) -> Problem:
    data = make_data(kind, seed=1, n_samples=n_samples)
    return Problem(data, MarginLoss(LinearSlack(C=C)), uneven_prior(data))


def keys(alpha) -> set[tuple[int, ...]]:
    ends = zip(alpha.sample, alpha.offsets[:-1], alpha.offsets[1:], strict=True)
    return {(int(i), *map(int, alpha.labels[first:last])) for i, first, last in ends}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", BOTH)
def test_it_ends_by_itself(solver, kind):
    """Because nothing is violated by more than the precision any more."""
    problem = make_problem(kind)
    for n_rounds, iterate in enumerate(solver(problem), start=1):
        assert iterate.n_oracle_calls == n_rounds * problem.n_samples
    assert iterate.stopped == "no margin is violated by more than 1e-06 beyond its slack"
    assert iterate.gap_estimate <= 1e-5 * iterate.objective_estimate


@pytest.mark.parametrize("solver", BOTH)
def test_precision_bounds_the_gap_at_the_end(solver):
    problem = make_problem()
    *_, coarse = solver(problem, precision=0.3)
    *_, fine = solver(problem, precision=1e-3)
    for iterate, precision in ((coarse, 0.3), (fine, 1e-3)):
        assert iterate.gap_estimate <= precision * problem.C.sum() + 1e-9
        assert iterate.stopped.startswith(f"no margin is violated by more than {precision}")
    assert coarse.gap_estimate > fine.gap_estimate
    assert coarse.n_oracle_calls < fine.n_oracle_calls


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [_LabellingSet, _ConstraintSet])
def test_working_set_keeps_its_sums(make, kind):
    problem = make_problem(kind)
    working = make(problem)
    n_dropped = 0
    for _ in range(15):
        labels, violation = problem.violated(working.weights())
        before = len(working.gain)
        working.drop(1)
        n_dropped += before - len(working.gain)
        if not working.add(labels, violation, 1e-6):
            break
        # What has just joined is violated at the old weights: it needs all of the slack.
        slack = working.slacks()
        if make is _LabellingSet:
            np.testing.assert_allclose(slack, np.maximum(violation, 0), atol=2e-6)
        else:
            np.testing.assert_allclose(slack, [problem.C @ violation])
        assert working.solve(None) == ""
        rows = working.rows.toarray()
        np.testing.assert_allclose(working.gram, rows @ rows.T, atol=1e-9)
        sizes = {len(each) for each in (working.gain, working.alpha, working.idle, working.labels)}
        assert sizes == {rows.shape[0]} == {len(working.group)}
        # At the optimum of the program the weights are those of its ``alpha``, and bounds meet.
        program = CappedProgram(working.gain, working.gram, working.group, working.cap)
        assert program.upper_bound(working.alpha) == pytest.approx(working.value, rel=1e-6)
        eta = working.dual_variables().eta(problem.data)
        np.testing.assert_allclose(working.weights(), working.variance * eta, atol=1e-9)
    assert n_dropped > 0


def test_what_was_dropped_comes_back():
    problem = make_problem(C=3.0)
    seen, gone, back = set(), set(), set()
    for hasty in cutting_plane(problem, patience=1):
        present = keys(hasty.dual())
        back |= present & gone
        seen |= present
        gone = seen - present
    *_, patient = cutting_plane(problem, patience=10**6)
    assert back
    assert len(hasty.dual()) < len(patient.dual())
    assert hasty.objective_estimate == pytest.approx(patient.objective_estimate, rel=1e-6)


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize(("C", "size"), [(1e-6, 1.0), (1e4, 1.0), (1.0, 1e2), (1.0, 1e-4)])
def test_any_scale_of_constant_and_features(solver, C, size):
    data = make_data(KINDS[0])
    data.samples.data[:] *= size
    problem = Problem(data, MarginLoss(LinearSlack(C=C)), GaussianPrior())
    result = run(solver(problem), problem, tol=1e-3, max_iter=300)
    assert result.converged, result.status


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", BOTH)
def test_programs_that_highs_finds_hard(solver, kind):
    # With small constants curvatures are small compared with gains, and it went to and fro for
    # ever; with C = 1 it takes a program of the second kind for one that is not concave.
    for C in (1e-4, 1e-3, 1e-2, 1.0):
        problem = Problem(make_data(kind), MarginLoss(LinearSlack(C=C)), GaussianPrior())
        result = run(solver(problem), problem, tol=1e-5, max_iter=300)
        assert result.converged, (C, result.status)


@pytest.mark.parametrize("solver", BOTH)
def test_nothing_to_choose(solver):
    allowed = np.array([[[False, True], [False, False]]])  # so that there is one labelling
    only = label_samples(pack([np.eye(2)]), np.array([0, 1]), allowed)
    problem = Problem(only, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    (iterate,) = solver(problem)
    assert iterate.stopped.startswith("no margin is violated")
    assert not iterate.weights.any()
    assert len(iterate.dual()) == 0


def test_numbers_that_overflow():
    data = make_data(KINDS[0])
    data.samples.data[:] *= 1e200
    problem = Problem(data, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    for solver in BOTH:
        with pytest.raises(ValueError, match="rescale the features"):
            run(solver(problem), problem, tol=1e-3, max_iter=10)


# -- HiGHS ----------------------------------------------------------------------------------------


def random_program(n_variables: int = 40, n_weights: int = 6, seed: int = 0) -> CappedProgram:
    """A program whose Gram matrix is singular, and whose rows come twice."""
    rng = np.random.default_rng(seed)
    rows = np.tile(rng.normal(size=(n_variables // 2, n_weights)), (2, 1))
    gain = np.tile(rng.integers(1, 5, n_variables // 2).astype(float), 2)
    group = np.tile(rng.integers(0, 4, n_variables // 2), 2)
    return CappedProgram(gain, rows @ rows.T, group, rng.uniform(0.1, 2.0, 4))


@pytest.mark.parametrize("seed", range(3))
def test_singular_programs(seed, capfd):
    program = random_program(seed=seed)
    alpha, trouble = highs_maximiser(program, np.zeros(40))
    assert trouble == ""
    assert alpha.min() >= 0
    assert (np.bincount(program.group, alpha, 4) <= program.cap * (1 + 1e-12)).all()
    assert program.upper_bound(alpha) == pytest.approx(program.value(alpha), rel=1e-6)
    assert capfd.readouterr() == ("", "")  # HiGHS keeps quiet


@pytest.mark.parametrize("seed", range(3))
def test_pairs_lead_to_the_optimum_too(seed):
    program = random_program(seed=seed)
    best = program.value(highs_maximiser(program, np.zeros(40))[0])
    values = []
    for n_steps in (0, 1, 2, 10, 100, 10**5):
        alpha = pairwise_maximiser(program, np.zeros(40), n_steps)
        assert alpha.min() >= 0
        assert (np.bincount(program.group, alpha, 4) <= program.cap * (1 + 1e-12)).all()
        values.append(program.value(alpha))
    assert values[0] == 0
    assert (np.diff(values) > -1e-12).all()
    assert values[1] > 0
    assert values[-1] == pytest.approx(best, rel=2e-6)
    assert program.upper_bound(alpha) == pytest.approx(best, rel=2e-6)
    # From dual variables that fill their groups as well: those of the true labellings have to grow
    # first.
    full = program.cap[program.group] / np.bincount(program.group, minlength=4)[program.group]
    assert program.value(pairwise_maximiser(program, full, 10**5)) == pytest.approx(best, rel=2e-6)


def test_dual_variables_are_clipped():
    program = CappedProgram(np.ones(3), np.eye(3), np.array([0, 0, 1]), np.array([1.0, 2.0]))
    clipped = program.clipped(np.array([3.0, 1.0, -1e-9]))
    np.testing.assert_allclose(clipped, [0.75, 0.25, 0.0])
    np.testing.assert_array_equal(program.clipped(np.array([np.nan, 0.5, np.inf])), [0, 0.5, 0])


def test_nothing_is_worse_than_the_start():
    program = random_program()
    best, _ = highs_maximiser(program, np.zeros(40))
    alpha, trouble = highs_maximiser(program, 0.999 * best, iteration_limit=1)
    assert program.value(alpha) >= program.value(0.999 * best)
    assert "limit" in trouble
    # What is good enough is good enough, whatever HiGHS says.
    assert highs_maximiser(program, best, iteration_limit=1)[1] == ""


def test_a_second_try_with_regularisation(monkeypatch):
    real, asked = _quadratic_program._solve, []

    def first_fails(program, centre, regularisation, limit):
        asked.append(regularisation)
        if regularisation == 0:
            return np.full(len(program.gain), np.nan), "Unknown"
        return real(program, centre, regularisation, limit)

    monkeypatch.setattr(_quadratic_program, "_solve", first_fails)
    program = random_program()
    alpha, trouble = highs_maximiser(program, np.zeros(40))
    assert (trouble, asked[:2]) == ("", [0.0, 1e-7])
    assert program.upper_bound(alpha) == pytest.approx(program.value(alpha), rel=2e-6)


def test_nothing_is_tried_twice(monkeypatch):
    asked = []

    def fails(program, centre, regularisation, limit):
        asked.append(regularisation)
        return np.zeros(len(program.gain)), "Not Set"

    monkeypatch.setattr(_quadratic_program, "_solve", fails)
    program = random_program()
    alpha, trouble = highs_maximiser(program, np.zeros(40))
    assert (trouble, asked) == ("", [0.0, 1e-7])
    assert program.upper_bound(alpha) == pytest.approx(program.value(alpha), rel=2e-6)


@pytest.mark.parametrize("solver", BOTH)
def test_best_so_far_is_kept_when_highs_does_not_finish(solver, monkeypatch):
    problem = make_problem()
    third = list(islice(solver(problem), 3))[-1].objective_estimate
    real, rounds = _quadratic_program.highs_maximiser, []

    def fourth_fails(program, start, limit):
        rounds.append(1)
        return (
            real(program, start, limit) if len(rounds) < 4 else (start, "Iteration limit reached")
        )

    module = importlib.import_module(
        "medn_edu.solvers.textbook.cutting_plane"
    )  # not the function of its name
    monkeypatch.setattr(module, "highs_maximiser", fourth_fails)
    result = run(solver(problem), problem, tol=1e-9, max_iter=100)
    assert not result.converged
    assert result.status == (
        "HiGHS ended the quadratic program of round 4 with 'Iteration limit reached'"
    )
    assert result.n_passes == 4
    assert result.dual == pytest.approx(third)
    assert np.isfinite(result.gap)


@pytest.mark.parametrize("name", ["cutting_plane", "one_slack_cutting_plane"])
def test_estimator_warns_when_highs_does_not_finish(name, monkeypatch):
    def fails(program, centre, regularisation, limit):
        return np.zeros(len(program.gain)), "Time limit reached"

    monkeypatch.setattr(_quadratic_program, "_solve", fails)
    X, y = [np.eye(2), np.eye(2)[1:]], [["a", "b"], ["b"]]
    assert M3N(solver=name).fit(X, y).result_.converged  # by steps between pairs
    monkeypatch.setattr(_quadratic_program, "pairwise_maximiser", lambda program, start, n: start)
    with pytest.warns(ConvergenceWarning, match=r"HiGHS ended .* round 1 with 'Time limit"):
        model = M3N(solver=name).fit(X, y)
    assert np.isfinite(model.result_.gap)
    assert model.result_.gap > 0


@pytest.mark.parametrize("solver", BOTH)
def test_an_iteration_limit_is_obeyed(solver):
    problem = make_problem()
    result = run(solver(problem, qp_iteration_limit=1), problem, tol=1e-9, max_iter=100)
    assert "Iteration limit" in result.status
    assert result.primal >= result.dual >= 0


def test_highs_is_loaded_only_when_it_works():
    code = "import medn_edu.solvers, sys; assert 'highspy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
