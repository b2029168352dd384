"""The papers' statements on maximum entropy discrimination, on numbers."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from enumerated import FORBIDDEN, KINDS, PRIORS, SLACKS, make_data, solved
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp, rel_entr, softmax

from medn_edu.priors import BoxPrior, ExponentialPrior, GaussianPrior, LaplacePrior
from medn_edu.problems import DualVariables
from medn_edu.samples import Forest, label_samples, pack
from medn_edu.slacks import ExponentialSlack, LinearSlack
from medn_edu.theory import textbook
from medn_edu.theory.axi import AXI, axi_problem, labelling_scores, text
from medn_edu.theory.checks.medn_instances import DiscretePrior
from medn_edu.theory.medn import enumerate_problem, p1_value, tilt
from medn_edu.theory.medn_solvers import legendre, solve_dual, solve_primal
from medn_edu.theory.two_weights import exact_dual_variables, worst_labellings

LINEAR = LinearSlack(C=1.3)
NARROW_AND_WIDE = {f"laplace {lam:g}": LaplacePrior(lam) for lam in (1e-3, 1.0, 36.0, 1e6)}
FROM_L2_TO_L1 = PRIORS | NARROW_AND_WIDE


def test_one_row_for_every_allowed_labelling():
    data = make_data("chain forbidden")
    problem = enumerate_problem(data, GaussianPrior(), LINEAR)
    for i, length in enumerate(data.samples.lengths):
        rows = [tuple(problem.labellings[j]) for j in np.flatnonzero(problem.sample == i)]
        allowed = [
            y
            for y in itertools.product(range(3), repeat=length)
            if FORBIDDEN not in itertools.pairwise(y)
        ]
        assert rows == allowed
        assert tuple(data.samples.split(data.labels)[i]) in rows
    assert np.bincount(problem.sample[problem.losses == 0]).tolist() == [1] * problem.n_samples
    assert not problem.differences[problem.losses == 0].any()


def test_rows_of_a_tree_with_two_edge_types_by_hand():
    """A root labelled 0 with children labelled 1 and 1, over edges of type 0 and 1."""
    forest = Forest([[1.0], [10.0], [100.0]], [-1, 0, 0], [0, 0, 1])
    data = label_samples(pack([forest]), np.array([0, 1, 1]), np.ones((2, 2, 2), bool))
    problem = enumerate_problem(data, GaussianPrior(), LINEAR)
    row = [tuple(y) for y in problem.labellings].index((1, 1, 0))
    assert problem.losses[row] == 2
    coef, transitions = data.weight_shape.split(problem.differences[row])
    np.testing.assert_array_equal(coef, [[1 - 100], [110 - 11]])
    np.testing.assert_array_equal(transitions[0], [[0, 1], [0, -1]])
    np.testing.assert_array_equal(transitions[1], [[0, 1], [-1, 0]])


def test_dual_variables_written_out():
    data = make_data("chain forbidden", n_samples=2)
    problem = enumerate_problem(data, GaussianPrior(), LINEAR)
    first, last = 0, len(problem.losses) - 1
    labels = np.concatenate([problem.labellings[first], problem.labellings[last]])
    offsets = np.array([0, len(problem.labellings[first]), len(labels)])
    alpha = DualVariables(problem.sample[[first, last]], offsets, labels, np.array([0.5, 2.0]))
    dense = problem.dense(alpha)
    assert dense[[first, last]].tolist() == [0.5, 2.0]
    assert np.count_nonzero(dense) == 2
    np.testing.assert_array_equal(problem.dense(alpha.concat(alpha)), 2 * dense)
    other = DualVariables(np.array([0]), np.array([0, 4]), np.zeros(4, int), np.ones(1))
    with pytest.raises(KeyError):
        problem.dense(other)


@pytest.mark.parametrize("slack", SLACKS)
def test_what_is_not_feasible_bounds_nothing(slack):
    problem, solution = solved("chain", PRIORS["laplace"], SLACKS[slack])
    alpha = solution.alpha
    assert problem.dual_value(alpha) > 0
    assert problem.dual_value(-alpha) == -math.inf
    far = alpha * 1e4  # eta leaves |eta| < 2, totals leave their bounds
    assert problem.dual_value(far) == -math.inf


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("prior", FROM_L2_TO_L1)
def test_two_solvers_meet(prior, slack, kind):
    """D1 climbed by Newton's method and P1 descended by SLSQP reach one number from two sides."""
    problem, dual = solved(kind, FROM_L2_TO_L1[prior], SLACKS[slack])
    primal = solve_primal(problem)
    value = dual.value
    assert value > 0
    assert -1e-10 * value <= primal.value - value <= 1e-6 * value
    assert problem.primal_value(dual.w) == pytest.approx(value, rel=1e-6)
    assert problem.primal_value(primal.w) == pytest.approx(primal.value, rel=1e-9)
    np.testing.assert_allclose(primal.w, dual.w, atol=1e-3 * max(1, abs(dual.w).max()))


@pytest.mark.parametrize(
    ("C", "value", "supports"),
    [(0.75, 0.9375, {"aax": 0.75}), (1.0, 1.0, {"aax": 1.0}), (4.0, 1.0, {"aax": 1.0, "axi": 3.0})],
)
def test_the_dual_variables_of_axi(C, value, supports):
    """P0 and its dual meet; a part of C that the weights don't need goes to the true labelling."""
    problem = axi_problem(GaussianPrior(), LinearSlack(C), [AXI])
    solution = solve_dual(problem)
    assert problem.primal_value(solution.w) == pytest.approx(solution.value, abs=1e-6)
    assert solution.value == pytest.approx(value, abs=1e-6)
    expected = [supports.get(text(y), 0.0) for y in AXI.labellings]
    np.testing.assert_allclose(solution.alpha, expected, atol=1e-3)


def test_a_penalised_crf_has_dual_variables_too():
    """Its weights are sum alpha Delta f, with alpha = C p."""
    for C in (0.5, 3.0):
        done = minimize(
            lambda w, C=C: w @ w / 2 + C * logsumexp(-AXI.differences @ w), np.zeros(2), tol=1e-10
        )
        alpha = C * softmax(labelling_scores(AXI, done.x))
        np.testing.assert_allclose(alpha @ AXI.differences, done.x, atol=1e-5)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_price_at_which_the_prior_itself_is_best(prior):
    """The exponential slack allows violations up to 1/c for nothing."""
    problem, solution = solved("chain", PRIORS[prior], ExponentialSlack(c=0.05))
    assert solution.value == 0
    assert solve_primal(problem).value == pytest.approx(0, abs=1e-9)
    np.testing.assert_array_equal(solution.w, PRIORS[prior].mean(np.zeros(problem.n_weights)))


def test_no_divergence_where_no_weights_are():
    assert legendre(BoxPrior(a=1.0), np.array([1.1]))[0] == math.inf
    assert legendre(ExponentialPrior(rate=1.0), np.array([-0.1]))[0] == math.inf


def test_what_needs_the_linear_slack_says_so():
    problem, _ = solved("chain", GaussianPrior(), SLACKS["quadratic"])
    for call in (textbook.totals, lambda p: exact_dual_variables(p, worst_labellings())):
        with pytest.raises(ValueError, match="expected a LinearSlack"):
            call(problem)


def test_the_closest_die_with_a_required_mean_is_the_tilted_one():
    """Every other one is farther away, by its own divergence from the tilted one at least."""
    faces, fair, m = np.arange(1.0, 7.0), np.full(6, 1 / 6), 4.5
    eta = brentq(lambda eta: tilt(faces[:, None], fair, np.array([eta])) @ faces - m, 0, 5)
    p = tilt(faces[:, None], fair, np.array([eta]))
    cost = rel_entr(p, fair).sum()
    assert cost == pytest.approx(eta * m - np.log(np.mean(np.exp(eta * faces))))
    for q in np.random.default_rng(0).dirichlet([1, 1, 1, 2, 3, 4], size=300):
        parts = rel_entr(q, p).sum() + eta * (q @ faces - m) + cost
        assert rel_entr(q, fair).sum() == pytest.approx(parts)


@pytest.mark.parametrize("slack", SLACKS)
def test_theorem_2_with_two_weights_of_three_values(slack):
    """The tilted prior has the mean and divergence that the problem reckons with, and it is best."""
    values, mass = np.array([-0.8, 0.1, 1.0]), np.array([0.5, 0.2, 0.3])
    every, _ = solved("chain", GaussianPrior(), SLACKS[slack])
    prior, differences = DiscretePrior(values, mass), every.differences[:, :2]
    problem = dataclasses.replace(every, differences=differences, prior=prior)
    points = np.array(list(itertools.product(values, repeat=2)))
    solution, prior_mass = solve_dual(problem), np.outer(mass, mass).ravel()
    best = tilt(points, prior_mass, problem.eta(solution.alpha))
    assert best @ points == pytest.approx(solution.w, rel=1e-9)
    assert best @ np.log(best / prior_mass) == pytest.approx(prior.kl(solution.w).sum(), rel=1e-9)
    value = p1_value(problem, points, prior_mass, best)
    assert value == pytest.approx(solution.value, rel=1e-6)
    for other in [*np.random.default_rng(0).dirichlet(9 * prior_mass, 200), *np.eye(9)]:
        assert p1_value(problem, points, prior_mass, other) > value
