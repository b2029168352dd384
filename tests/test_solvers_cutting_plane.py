"""Cutting planes for M3N: how they end, working sets, and what happens when HiGHS does not finish."""

from itertools import count

import highspy
import numpy as np
import pytest
from enumerated import KINDS, make_data, uneven_prior

from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import cutting_plane, one_slack_cutting_plane

both = pytest.mark.parametrize("solver", [cutting_plane, one_slack_cutting_plane])


def make_problem(kind: str = KINDS[1], C: float = 1.3) -> Problem:
    data = make_data(kind, seed=1, n_samples=12)
    return Problem(data, MarginLoss(LinearSlack(C=C)), uneven_prior(data))


def plain_problem(kind: str = KINDS[0], C: float = 1.0, size: float = 1.0) -> Problem:
    """Without variances, and with features of any size."""
    data = make_data(kind)
    data.samples.data[:] *= size
    return Problem(data, MarginLoss(LinearSlack(C=C)), GaussianPrior())


def keys(alpha) -> set[tuple[int, ...]]:
    ends = zip(alpha.sample, alpha.offsets[:-1], alpha.offsets[1:], strict=True)
    return {(int(i), *map(int, alpha.labels[first:last])) for i, first, last in ends}


@pytest.mark.parametrize("kind", KINDS)
@both
def test_it_ends_by_itself_and_precision_bounds_the_gap_then(solver, kind):
    """Because nothing is violated by more than the precision any more."""
    problem = make_problem(kind)
    rounds = []
    for precision in (0.3, 1e-3, 1e-6):
        for n_rounds, iterate in enumerate(solver(problem, precision=precision), start=1):
            assert iterate.n_oracle_calls == n_rounds * problem.n_samples
        assert iterate.stopped == (
            f"no margin is violated by more than {precision:g} beyond its slack"
        )
        assert iterate.gap_estimate <= precision * problem.C.sum() + 1e-9
        rounds.append(n_rounds)
    assert rounds[0] < rounds[1] <= rounds[2]
    assert iterate.gap_estimate <= 1e-5 * iterate.objective_estimate


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


@pytest.mark.parametrize("kind", KINDS)
@both
def test_programs_that_highs_finds_hard(solver, kind, capfd):
    # With small constants curvatures are small compared with gains, and it went to and fro for
    # ever; with C = 1 it takes a program of the second kind for one that is not concave.
    usual = [(C, 1.0) for C in (1e-6, 1e-4, 1e-3, 1e-2, 1.0, 1e4)]
    for C, size in (*usual, (1.0, 1e-4), (1.0, 1e2)):
        problem = plain_problem(kind, C, size)
        result = run(solver(problem), problem, tol=1e-5, max_iter=300)
        assert result.converged, (C, size, result.status)
    assert capfd.readouterr() == ("", "")  # HiGHS keeps quiet


@both
def test_nothing_to_choose(solver):
    allowed = np.array([[[False, True], [False, False]]])  # so that there is one labelling
    only = label_samples(pack([np.eye(2)]), np.array([0, 1]), allowed)
    problem = Problem(only, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    (iterate,) = solver(problem)
    assert iterate.stopped.startswith("no margin is violated")
    assert not iterate.weights.any()
    assert len(iterate.dual()) == 0


@both
def test_numbers_that_overflow(solver):
    problem = plain_problem(size=1e200)
    with pytest.raises(ValueError, match="rescale the features"):
        run(solver(problem), problem, tol=1e-3, max_iter=10)


@pytest.mark.parametrize("fails", ["every other time", "always"])
@pytest.mark.parametrize("kind", KINDS)
@both
def test_a_second_try_with_regularisation_and_then_steps_between_pairs(
    solver, kind, fails, monkeypatch
):
    """Both lead to the optimum, and nothing is tried twice."""
    runs, asked = count(), []
    run_highs, set_option = highspy.Highs.run, highspy.Highs.setOptionValue

    def patched(self):
        if fails == "every other time" and next(runs) % 2 == 1:
            run_highs(self)

    def watched(self, name, value):
        if name == "qp_regularization_value":
            asked.append(value)
        return set_option(self, name, value)

    problem = make_problem(kind)
    usual = run(solver(problem), problem, tol=1e-5, max_iter=100)
    monkeypatch.setattr(highspy.Highs, "run", patched)
    monkeypatch.setattr(highspy.Highs, "setOptionValue", watched)
    result = run(solver(problem), problem, tol=1e-5, max_iter=100)
    assert result.converged, result.status
    assert result.primal == pytest.approx(usual.primal, rel=2e-5)
    assert asked[:2] == [0.0, 1e-7]
    if fails == "always":
        assert set(zip(asked[::2], asked[1::2], strict=True)) == {(0.0, 1e-7)}


@pytest.mark.parametrize(("solver", "limit"), [(cutting_plane, 12), (one_slack_cutting_plane, 8)])
def test_best_so_far_is_kept_when_neither_finishes(solver, limit):
    problem = make_problem()
    result = run(solver(problem, qp_iteration_limit=limit), problem, tol=1e-9, max_iter=100)
    iterates = list(solver(problem, qp_iteration_limit=limit))
    assert len(iterates) == result.n_passes > 1
    assert not result.converged
    assert result.status == iterates[-1].stopped
    assert result.status == (
        f"HiGHS ended the quadratic program of round {result.n_passes} with "
        "'Iteration limit reached'"
    )
    values = [iterate.objective_estimate for iterate in iterates]
    assert (np.diff(values) > 0).all()
    assert result.dual == pytest.approx(values[-1])
    assert result.primal == pytest.approx(min(problem.primal(each.weights) for each in iterates))
