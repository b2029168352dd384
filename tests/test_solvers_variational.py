"""Algorithm 1 of MEDN: its steps by hand, its bound, and the minimum it goes to."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from enumerated import KINDS, make_data
from sklearn.exceptions import ConvergenceWarning

from medn_edu.priors import GaussianPrior, LaplacePrior, NormalGammaPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.slacks import LinearSlack, QuadraticSlack
from medn_edu.solvers import block_frank_wolfe, variational_bound, variational_laplace
from medn_edu.theory import solve_dual
from medn_edu.theory.laplace import jensen_bound
from medn_edu.theory.medn import enumerate_problem

LAM, C = 4.0, 1.3


def make_problem(kind: str = KINDS[1], lam: float = LAM, price: float = C, **options):
    return Problem(make_data(kind, **options), MarginLoss(LinearSlack(price)), LaplacePrior(lam))


def iterates(problem: Problem, n_iterations: int, tol: float = 1e-8, max_iter: int = 5000):
    rng = np.random.default_rng(0)
    options = {"n_iterations": n_iterations, "tol": tol, "max_iter": max_iter}
    return list(variational_laplace(problem, rng=rng, **options))


def solve(problem: Problem, tol: float = 1e-7) -> SolveResult:
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(0))
    return run(iterates, problem, tol=tol, max_iter=5000)


def quadratic(problem: Problem, point: Iterate) -> Problem:
    return Problem(problem.data, MarginLoss(problem.loss.slack), GaussianPrior(point.variance))


def quadratic_gap(problem: Problem, point: Iterate) -> float:
    """Gap of the quadratic program, from its weights and its dual variables, back at their full sum."""
    alpha, program = point.dual(), quadratic(problem, point)
    share = problem.C / alpha.totals(problem.data)
    alpha = replace(alpha, values=share[alpha.sample] * alpha.values)
    return program.primal(point.weights) - program.dual(alpha)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [1.0, 36.0])
def test_steps_of_algorithm_1(kind, lam):
    """Means solve the quadratic program of their variances; variances follow from Eq. 11."""
    problem = make_problem(kind, lam)
    points = iterates(problem, 4)
    assert [point.stopped for point in points] == ["", "", "", "all iterations done"]
    np.testing.assert_array_equal(points[0].variance, 1.0)
    for point, following in itertools.pairwise(points):
        second_moment = point.weights**2 + point.variance
        np.testing.assert_allclose(following.variance, np.sqrt(second_moment / lam), rtol=1e-12)
    for point in points:
        # step 1: mu = Sigma eta for the eta of the whole total, a share of which is in point.dual()
        eta = point.dual().eta(problem.data)
        share = (point.weights @ eta) / (point.variance @ eta**2)
        assert share >= 1 - 1e-12
        np.testing.assert_allclose(point.weights, share * point.variance * eta, atol=1e-8)
        assert 0 <= quadratic_gap(problem, point) <= 2e-8 * abs(point.objective_estimate)


def test_a_quadratic_program_cut_short_is_told():
    problem = make_problem(lam=0.01, price=50.0, n_samples=20)
    with pytest.warns(ConvergenceWarning) as warned:
        iterates(problem, 2, tol=1e-12, max_iter=1)
    texts = [str(warning.message) for warning in warned]
    assert len(texts) == 2
    for number, text in enumerate(texts, start=1):
        assert text.startswith(
            f"the quadratic program of iteration {number} reached a relative gap"
        )
        assert "instead of 1e-12 (stopped after 1 passes)" in text
        assert text.endswith("raise max_iter or tol.")


def test_every_quadratic_program_starts_where_the_one_before_ended():
    """From their labellings and dual variables, and so with less work than from nothing."""
    problem = make_problem(lam=36.0, price=5.0, n_samples=40)
    points = iterates(problem, 6, tol=1e-3)
    warm = np.diff([point.n_oracle_calls for point in points])
    cold = [solve(quadratic(problem, point), tol=1e-3).n_oracle_calls for point in points[1:]]
    assert (warm >= problem.n_samples).all()
    assert warm.sum() < 0.8 * sum(cold)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [0.05, 4.0, 300.0])
def test_bound_and_gap_of_the_exact_problem(kind, lam):
    """The bound is above the exact primal, and dual variables are feasible for the exact problem."""
    problem = make_problem(kind, lam)
    listed = enumerate_problem(problem.data, problem.regulariser, problem.loss.slack)
    optimum = solve(problem)
    for point in iterates(problem, 4, tol=1e-3):
        divergence = jensen_bound(point.weights, point.variance, lam).sum()
        loss = C * problem.data.sample_weight @ listed.xi(point.weights)
        assert point.objective_estimate == pytest.approx(divergence + loss, rel=1e-10)
        assert point.objective_estimate == variational_bound(problem, point.weights, point.variance)
        assert point.objective_estimate > listed.primal_value(point.weights) >= optimum.dual
        dense = listed.dense(point.dual())
        assert np.abs(listed.eta(dense)).max() < math.sqrt(lam)
        assert (listed.totals(dense) <= C * problem.data.sample_weight * (1 + 1e-9)).all()
        dual = listed.dual_value(dense)
        assert 0 < dual <= optimum.primal
        # no other scaling of the same dual variables does better
        for factor in (0.97, 1.03):
            moved = factor * dense
            if (listed.totals(moved) <= C * problem.data.sample_weight).all():
                assert listed.dual_value(moved) <= dual + 1e-6 * abs(dual)


@pytest.mark.parametrize("tol", [0.3, 1e-7])
@pytest.mark.parametrize("lam", [0.05, 36.0])
def test_bound_rises_by_no_more_than_the_gap(lam, tol):
    """Step 2 never raises it, and step 1 only by what its quadratic program lacks."""
    problem = make_problem(KINDS[1], lam, 10.0, n_samples=12)
    points = iterates(problem, 8, tol=tol)
    for point, following in itertools.pairwise(points):
        bound, later = point.objective_estimate, following.objective_estimate
        assert later <= bound + following.gap_estimate + 1e-9 * abs(bound)
    if tol < 1e-3:
        assert later < points[0].objective_estimate
    for point in points:
        assert point.gap_estimate >= 0
        allowed = 1e-9 * abs(point.objective_estimate)
        gap = pytest.approx(quadratic_gap(problem, point), rel=1e-6, abs=allowed)
        assert point.gap_estimate == gap


@pytest.mark.parametrize(("lam", "price"), [(4.0, 1.3), (1.0, 5.0)])
def test_bound_goes_to_its_minimum(lam, price):
    """The papers promise a local optimum; the bound is convex in means and standard
    deviations together (`test_theory_laplace.py`), so there is one optimum only.

    With the best variances it is the divergence from the normal-gamma prior of shape 1/2 and a constant
    for each weight, so that D1 of that prior is below all bounds.
    """
    problem = make_problem("chain", lam, price, n_samples=4)
    listed = enumerate_problem(problem.data, NormalGammaPrior(0.5, lam), problem.loss.slack)
    found = solve_dual(listed, accuracy=1e-10)
    least = found.value + listed.n_weights * (0.5 - 0.5 * math.log(math.pi / 2))
    best_variance = (1 + np.sqrt(1 + 4 * lam * found.w**2)) / (2 * lam)
    assert variational_bound(problem, found.w, best_variance) == pytest.approx(least, rel=1e-8)
    bounds = [point.objective_estimate for point in iterates(problem, 60, tol=1e-8)]
    assert bounds[2] > least * (1 + 1e-3)
    assert bounds[-1] == pytest.approx(least, rel=1e-7)
    assert min(bounds) >= least * (1 - 1e-8)


@pytest.mark.parametrize("lam", [1.0, 36.0])
def test_variances_of_irrelevant_weights_go_to_one_over_lam(lam):
    """Not to zero, as the paper has it: with <w> = 0 Eq. 11 is sigma -> sqrt(sigma / lam)."""
    problem = make_problem("chain forbidden", lam)
    last = iterates(problem, 40, tol=1e-4)[-1]
    allowed, shape = problem.data.allowed, problem.weight_shape
    coef = np.zeros((shape.n_labels, shape.n_features), dtype=bool)
    unused = shape.join(coef, ~allowed)
    assert (last.weights[unused] == 0).all()
    np.testing.assert_allclose(last.variance[unused], 1 / lam, rtol=1e-9)
    assert last.variance[~unused].max() > 1.05 / lam


def test_another_slack_is_no_obstacle():
    """Only step 1 knows of the slack."""
    data = make_data(KINDS[1])
    problem = Problem(data, MarginLoss(QuadraticSlack(C)), LaplacePrior(LAM))
    bounds = [point.objective_estimate for point in iterates(problem, 6, tol=1e-6)]
    assert (np.diff(bounds) <= 1e-5 * np.abs(bounds[1:])).all()
    assert bounds[-1] > solve(problem).primal
