"""Algorithm 1 of MEDN: its steps by hand, its bound, and the minimum it goes to."""

import itertools
import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from enumerated import KINDS, make_data
from sklearn.exceptions import ConvergenceWarning

from medn_edu.priors import GaussianPrior, LaplacePrior, NormalGammaPrior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack, QuadraticSlack
from medn_edu.solvers import block_frank_wolfe, variational_bound, variational_laplace
from medn_edu.theory import solve_dual
from medn_edu.theory.medn import enumerate_problem

LAM, C = 4.0, 1.3


def make_problem(kind: str = KINDS[1], lam: float = LAM, price: float = C, **options):
    return Problem(make_data(kind, **options), MarginLoss(LinearSlack(price)), LaplacePrior(lam))


@dataclass(frozen=True, eq=False)
class Point:
    """What is left of an iterate once the next has come."""

    mean: np.ndarray
    variance: np.ndarray
    bound: float
    gap: float
    alpha: DualVariables
    iterate: Iterate


def copies(problem: Problem, n_iterations: int, tol: float = 1e-8, **options) -> list[Point]:
    iterates = variational_laplace(
        problem,
        rng=np.random.default_rng(0),
        n_iterations=n_iterations,
        tol=tol,
        **{"max_iter": 5000, **options},
    )
    return [
        Point(
            mean=iterate.weights.copy(),
            variance=iterate.variance.copy(),
            bound=iterate.objective_estimate,
            gap=iterate.gap_estimate,
            alpha=iterate.dual(),
            iterate=iterate,
        )
        for iterate in iterates
    ]


def by_hand(data: LabelledSamples, lam: float, price: float, mean, variance) -> float:
    """The bound from the definition: entropy, <log p(w, tau)> and <log q(tau)> put together."""
    slack = enumerate_problem(data, LaplacePrior(lam), LinearSlack(price)).xi(mean)
    entropy = 0.5 * np.log(2 * math.pi * math.e * variance)
    # log of the integral of N(sqrt(<w^2>) | 0, tau) lam / 2 exp(-lam tau / 2) over tau (before Eq. 11)
    log_integral = math.log(math.sqrt(lam) / 2) - np.sqrt(lam * (mean**2 + variance))
    return float(np.sum(-entropy - log_integral) + price * data.sample_weight @ slack)


def exact_optimum(problem: Problem) -> SolveResult:
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(0))
    return run(iterates, problem, tol=1e-7, max_iter=5000)


def quadratic_gap(problem: Problem, point: Point) -> float:
    """Gap of the quadratic program, from its weights and its dual variables, back at their full sum."""
    quadratic = Problem(problem.data, MarginLoss(problem.loss.slack), GaussianPrior(point.variance))
    totals = np.bincount(point.alpha.sample, point.alpha.values, minlength=problem.n_samples)
    alpha = replace(
        point.alpha, values=(problem.C / totals)[point.alpha.sample] * point.alpha.values
    )
    return quadratic.primal(point.mean) - quadratic.dual(alpha)


# -- steps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [1.0, 36.0])
def test_steps_of_algorithm_1(kind, lam):
    """Means solve the quadratic program of their variances; variances follow from Eq. 11."""
    problem = make_problem(kind, lam)
    points = copies(problem, 4)
    assert len(points) == 4
    np.testing.assert_array_equal(points[0].variance, 1.0)
    for point, following in itertools.pairwise(points):
        second_moment = point.mean**2 + point.variance
        inverse = np.sqrt(lam / second_moment)
        np.testing.assert_allclose(following.variance, 1 / inverse, rtol=1e-12)
    for point in points:
        # step 1: mu = Sigma eta for the eta of the whole total, a share of which is in point.alpha
        eta = point.alpha.eta(problem.data)
        share = (point.mean @ eta) / (point.variance @ eta**2)
        assert share >= 1 - 1e-12
        np.testing.assert_allclose(point.mean, share * point.variance * eta, atol=1e-8)
        assert 0 <= quadratic_gap(problem, point) <= 2e-8 * abs(point.bound)


def test_first_quadratic_program_is_m3n():
    problem = make_problem()
    m3n = Problem(problem.data, MarginLoss(problem.loss.slack), GaussianPrior())
    result = run(block_frank_wolfe(m3n, rng=np.random.default_rng(0)), m3n, tol=1e-9, max_iter=5000)
    (point,) = copies(problem, 1, tol=1e-9)
    np.testing.assert_allclose(point.mean, result.weights, atol=1e-4)
    assert m3n.primal(point.mean) == pytest.approx(result.primal, rel=1e-8)


@pytest.mark.parametrize("n_iterations", [1, 2, 5])
def test_iterations_are_quadratic_programs(n_iterations):
    """One entry each in the trace; the last says so; nothing is warned of."""
    problem = make_problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = copies(problem, n_iterations, tol=1e-2)
    assert [point.iterate.stopped for point in points] == [""] * (n_iterations - 1) + [
        "all iterations done"
    ]
    calls = [point.iterate.n_oracle_calls for point in points]
    assert (np.diff([0, *calls]) >= problem.n_samples).all()


def test_a_quadratic_program_cut_short_is_told():
    problem = make_problem(lam=0.01, price=50.0, n_samples=20)
    with pytest.warns(ConvergenceWarning) as warned:
        copies(problem, 2, tol=1e-12, max_iter=1)
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
    points = copies(problem, 6, tol=1e-3)
    warm = np.diff([point.iterate.n_oracle_calls for point in points])
    cold = []
    for point in points[1:]:
        quadratic = Problem(
            problem.data, MarginLoss(problem.loss.slack), GaussianPrior(point.variance)
        )
        iterates = block_frank_wolfe(quadratic, rng=np.random.default_rng(0))
        cold.append(run(iterates, quadratic, tol=1e-3, max_iter=5000).n_oracle_calls)
    assert warm.sum() < 0.8 * sum(cold)


# -- the bound ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [0.05, 4.0, 300.0])
def test_bound(kind, lam):
    """From the definition; above the exact primal there, and so above the exact optimum."""
    problem = make_problem(kind, lam)
    optimum = exact_optimum(problem).primal
    for point in copies(problem, 4, tol=1e-3):
        expected = by_hand(problem.data, lam, C, point.mean, point.variance)
        assert point.bound == pytest.approx(expected, rel=1e-10)
        assert point.bound == variational_bound(problem, point.mean, point.variance)
        assert point.bound > problem.primal(point.mean) >= optimum * (1 - 1e-6)


@pytest.mark.parametrize("tol", [0.3, 0.01, 1e-7])
@pytest.mark.parametrize("lam", [0.05, 1.0, 36.0])
def test_bound_rises_by_no_more_than_the_gap(lam, tol):
    """Step 2 never raises it, and step 1 only by what its quadratic program lacks."""
    problem = make_problem(KINDS[1], lam, 10.0, n_samples=12)
    points = copies(problem, 8, tol=tol)
    for point, following in itertools.pairwise(points):
        assert following.bound <= point.bound + following.gap + 1e-9 * abs(point.bound)
    if tol < 1e-3:
        assert points[-1].bound < points[0].bound
    for point in points:
        assert point.gap >= 0
        gap = quadratic_gap(problem, point)
        assert point.gap == pytest.approx(gap, rel=1e-6, abs=1e-9 * abs(point.bound))


def least_bound(data: LabelledSamples, lam: float, price: float) -> float:
    """Least bound over means and variances, by a dual value below it and a bound as low as that.

    With the best variances the bound is the divergence from the normal-gamma prior of shape 1/2 and a
    constant for each weight (`test_theory_laplace.py`), so that D1 of that prior is below all bounds.
    """
    listed = enumerate_problem(data, NormalGammaPrior(0.5, lam), LinearSlack(price))
    found = solve_dual(listed, accuracy=1e-10)
    least = found.value + listed.n_weights * (0.5 - 0.5 * math.log(math.pi / 2))
    variance = (1 + np.sqrt(1 + 4 * lam * found.w**2)) / (2 * lam)
    assert by_hand(data, lam, price, found.w, variance) == pytest.approx(least, rel=1e-8)
    return least


@pytest.mark.parametrize(("lam", "price"), [(4.0, 1.3), (1.0, 5.0)])
def test_bound_goes_to_its_minimum(lam, price):
    """The papers promise a local optimum; the bound is convex in means and variances together."""
    problem = make_problem("chain", lam, price, n_samples=4)
    least = least_bound(problem.data, lam, price)
    bounds = [point.bound for point in copies(problem, 60, tol=1e-8)]
    assert bounds[2] > least * (1 + 1e-3)
    assert bounds[-1] == pytest.approx(least, rel=1e-7)
    assert min(bounds) >= least * (1 - 1e-8)


def test_bound_is_convex_in_means_and_variances_together():
    """On the straight line between any two points."""
    problem = make_problem()
    rng = np.random.default_rng(0)
    n = problem.weight_shape.size
    for _ in range(200):
        a, b = rng.normal(size=n) * 3, rng.normal(size=n) * 3
        u, v = np.exp(rng.normal(size=(2, n)) * 2)
        t = rng.uniform(0.05, 0.95)
        inside = variational_bound(problem, t * a + (1 - t) * b, t * u + (1 - t) * v)
        ends = t * variational_bound(problem, a, u) + (1 - t) * variational_bound(problem, b, v)
        assert inside <= ends + 1e-9 * abs(ends)


@pytest.mark.parametrize("lam", [1.0, 36.0])
def test_variances_of_irrelevant_weights_go_to_one_over_lam(lam):
    """Not to zero, as the paper has it: with <w> = 0 Eq. 11 is sigma -> sqrt(sigma / lam)."""
    data = make_data("chain forbidden")
    problem = Problem(data, MarginLoss(LinearSlack(C)), LaplacePrior(lam))
    last = copies(problem, 40, tol=1e-4)[-1]
    unused = np.zeros(data.allowed.shape, dtype=bool) | ~data.allowed
    coef = np.zeros((data.n_labels, data.samples.n_features), dtype=bool)
    unused = data.weight_shape.join(coef, unused)
    assert (last.mean[unused] == 0).all()
    np.testing.assert_allclose(last.variance[unused], 1 / lam, rtol=1e-9)
    assert last.variance[~unused].max() > 1.05 / lam


@pytest.mark.parametrize("lam", [1e-300, 1e-8, 1e8, 1e300])
def test_extreme_lambda_overflows_in_a_sentence_or_not_at_all(lam):
    problem = make_problem(lam=lam)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            points = copies(problem, 3, tol=1e-2, max_iter=20)
    except ValueError as error:
        assert str(error).startswith("the weights cannot be computed in double precision")
    else:
        for point in points:
            assert np.isfinite(point.variance).all()
            assert (point.variance > 0).all()
            assert math.isfinite(point.bound)
    if lam == 1e300:
        np.testing.assert_allclose(points[-1].variance, 1e-225, rtol=0.1)


# -- certificates and warm starts ---------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.05, 4.0, 300.0])
def test_dual_variables_are_feasible_for_the_exact_problem(lam):
    """A duality gap of the exact problem around its optimum, at every iteration."""
    problem = make_problem(lam=lam)
    listed = enumerate_problem(problem.data, problem.regulariser, problem.loss.slack)
    optimum = exact_optimum(problem)
    for point in copies(problem, 4, tol=1e-3):
        dense = listed.dense(point.alpha)
        assert np.abs(listed.eta(dense)).max() < math.sqrt(lam)
        assert (listed.totals(dense) <= C * problem.data.sample_weight * (1 + 1e-9)).all()
        dual = listed.dual_value(dense)
        assert 0 < dual <= optimum.primal
        assert listed.primal_value(point.mean) >= optimum.dual
        # no other dual scaling of the same dual variables does better
        for factor in (0.97, 1.03):
            moved = factor * dense
            if (listed.totals(moved) <= C * problem.data.sample_weight).all():
                assert listed.dual_value(moved) <= dual + 1e-6 * abs(dual)


def test_programs_go_on_where_they_ended():
    problem, other = make_problem(lam=36.0), make_problem(lam=49.0)
    programs = []
    copies(other, 3, programs=programs)
    assert len(programs) == 3
    warm, cold = copies(problem, 3, programs=programs), copies(problem, 3)
    for one, two in zip(warm, cold, strict=True):
        assert one.bound == pytest.approx(two.bound, rel=1e-6)
        np.testing.assert_allclose(one.mean, two.mean, atol=2e-4)
    assert warm[-1].iterate.n_oracle_calls < cold[-1].iterate.n_oracle_calls


def test_another_slack_is_no_obstacle():
    """Only step 1 knows of the slack."""
    data = make_data(KINDS[1])
    problem = Problem(data, MarginLoss(QuadraticSlack(C)), LaplacePrior(LAM))
    points = copies(problem, 6, tol=1e-6)
    bounds = [point.bound for point in points]
    assert (np.diff(bounds) <= 1e-5 * np.abs(bounds[1:])).all()
    assert bounds[-1] > exact_optimum(problem).primal
