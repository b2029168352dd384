"""Margin problems with priors, norms and balls against their definition, by enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from enumerated import KINDS, RICH, alpha_of, make_data, marginals_of, random_shares
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.problems import (
    DualMarginals,
    DualVariables,
    L1Ball,
    L1Norm,
    L2Ball,
    L2Norm,
    MarginLoss,
    Problem,
    Regulariser,
    SoftMaxLoss,
    SquaredL1Norm,
    weight_bounds,
)
from medn_edu.problems.regularisers import dual_scaling
from medn_edu.results import Iterate
from medn_edu.samples import Forest, label_samples, labelled, pack
from medn_edu.slacks import LinearSlack
from medn_edu.theory.l1m3n import solve_l1_ball, solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem

C = 1.3
NORMS: dict[str, Regulariser] = {
    "Gaussian": GaussianPrior(),
    "Laplace": LaplacePrior(400.0),
    "L2": L2Norm(0.4),
    "L1": L1Norm(),
    "squared L1": SquaredL1Norm(0.7),
    "L1 ball": L1Ball(1.5),
    "L2 ball": L2Ball(0.9),
}
SCALED = ["L1", "squared L1", "L1 ball", "L2 ball"]  # whose dual variables are scaled
# What weights cost once more, from the formulas.
COST = {
    "Gaussian": lambda w: 0.5 * w @ w,
    "Laplace": lambda w: LaplacePrior(400.0).kl(w).sum(),
    "L2": lambda w: 0.2 * w @ w,
    "L1": lambda w: 0.5 * np.abs(w).sum(),
    "squared L1": lambda w: 0.7 * np.abs(w).sum() ** 2,
    "L1 ball": lambda w: 0.0 if np.abs(w).sum() <= 1.5 else np.inf,
    "L2 ball": lambda w: 0.0 if np.sqrt(w @ w) <= 0.9 else np.inf,
}


def make(norm: str, kind: str = KINDS[1], seed: int = 0) -> tuple[Problem, EnumeratedProblem]:
    data, slack = make_data(kind, seed), LinearSlack(C)
    problem = Problem(data, MarginLoss(slack), NORMS[norm])
    return problem, enumerate_problem(data, GaussianPrior(), slack)


def random_alpha(rows: EnumeratedProblem, rng: np.random.Generator) -> DualVariables:
    """Feasible dual variables."""
    return alpha_of(rows, random_shares(rows, rng), C)


def inside(norm: str, weights: np.ndarray) -> np.ndarray:
    """Weights inside the ball."""
    size = {"L1 ball": np.abs(weights).sum() / 1.5, "L2 ball": np.linalg.norm(weights) / 0.9}
    return weights / max(1.0, size.get(norm, 0.0))


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", [*KINDS, *RICH])
def test_values(norm, kind):
    """The dual one at alpha or, of what is scaled, the best on the way there from the truth."""
    problem, rows = make(norm, kind)
    rng = np.random.default_rng(1)
    for size in (0.01, 0.1, 1.0):
        weights = size * rng.normal(size=rows.n_weights)
        expected = COST[norm](weights) + rows.penalty(rows.xi(weights))
        assert problem.primal(weights) == pytest.approx(expected)
        alpha = random_alpha(rows, rng)
        eta, loss = rows.eta(alpha.values), alpha.values @ rows.losses
        scalings = np.linspace(0, 1, 2001) if norm in SCALED else [1.0]
        best = max(s * loss - problem.regulariser.conjugate(s * eta) for s in scalings)
        assert best - 1e-9 <= problem.dual(alpha) <= best + 1e-3 * loss
        np.testing.assert_allclose(alpha.eta(problem.data), eta, atol=1e-12)


@pytest.mark.parametrize("norm", SCALED)
def test_conjugate_is_a_maximum(norm):
    """``max_w eta . w - R(w)``: no direction does better, and the best ones do as well."""
    regulariser, rng = NORMS[norm], np.random.default_rng(3)
    eta = rng.normal(size=3)
    if norm == "L1":
        eta *= 0.5 / np.abs(eta).max()
        assert regulariser.conjugate(1.01 * eta) == np.inf
    corner = np.where(np.arange(3) == np.abs(eta).argmax(), np.sign(eta), 0.0)
    directions = np.array([*rng.normal(size=(50, 3)), corner, eta])
    directions /= np.abs(directions).sum(axis=1, keepdims=True)
    points = [inside(norm, length * d) for d in directions for length in np.linspace(0, 3, 61)]
    best = max(eta @ w - COST[norm](w) for w in points)
    assert regulariser.conjugate(eta) == pytest.approx(best, rel=1e-2, abs=1e-12)
    assert regulariser.conjugate(eta) >= best - 1e-12


@pytest.mark.parametrize("norm", SCALED)
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_dual_scaling_is_the_best(norm, scale):
    """For gains that are worth it and gains that are not."""
    regulariser, rng = NORMS[norm], np.random.default_rng(2)
    for _ in range(10):
        eta, loss = scale * rng.normal(size=4), float(rng.exponential(2 * scale))
        scaling = dual_scaling(regulariser, loss, eta)
        assert 0 <= scaling <= 1
        scalings = [scaling, *np.linspace(0, 1, 2001)]
        values = [s * loss - regulariser.conjugate(s * eta) for s in scalings]
        assert values[0] >= max(values) - 1e-9


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), norm=st.sampled_from(sorted(NORMS)))
def test_weak_duality(seed, norm):
    """No dual value exceeds any primal value, of labellings or of marginals."""
    problem, rows = make(norm, KINDS[seed % 2], seed % 5)
    rng = np.random.default_rng(seed)
    weights = inside(norm, rng.normal(scale=rng.uniform(0, 1), size=rows.n_weights))
    alpha = random_alpha(rows, rng).scaled(rng.uniform(0, 1))
    primal = problem.primal(weights)
    assert np.isfinite(primal)
    assert problem.dual(alpha) <= primal + 1e-9
    assert problem.dual(marginals_of(problem.data, rows, alpha.values)) <= primal + 1e-9


@pytest.mark.parametrize("kind", [*KINDS, *RICH])
@pytest.mark.parametrize(
    ("norm", "solve"),
    [
        ("L1", solve_l1m3n),
        ("squared L1", lambda rows: solve_squared_l1(rows, 0.7)),
        ("L1 ball", lambda rows: solve_l1_ball(rows, 1.5)),
    ],
)
def test_certificate_of_the_solution(norm, solve, kind):
    """At the program's solution there is no gap."""
    problem, rows = make(norm, kind)
    solution = solve(rows)
    alpha = replace(random_alpha(rows, np.random.default_rng(0)), values=solution.alpha)
    iterate = Iterate(solution.weights, 0.0, 0.0, 0, dual=lambda: alpha)
    certificate = iterate.certify(problem)
    assert certificate.primal == pytest.approx(solution.value, rel=1e-8)
    assert certificate.dual == pytest.approx(solution.value, rel=1e-8)
    np.testing.assert_allclose(certificate.eta, solution.eta, atol=1e-7)
    np.testing.assert_allclose(certificate.eta, certificate.alpha.eta(problem.data), atol=1e-12)


# -- dual variables in two forms -----------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, *RICH])
def test_marginals_have_the_sums_of_the_labellings(kind):
    problem, rows = make("L1", kind)
    alpha = random_alpha(rows, np.random.default_rng(4))
    summed = marginals_of(problem.data, rows, alpha.values)
    np.testing.assert_allclose(summed.eta(problem.data), alpha.eta(problem.data), atol=1e-12)
    np.testing.assert_allclose(summed.totals(problem.data), alpha.totals(problem.data))
    np.testing.assert_allclose(alpha.totals(problem.data), problem.C)
    assert summed.loss(problem.data) == pytest.approx(alpha.loss(problem.data))
    assert problem.dual(summed) == pytest.approx(problem.dual(alpha))
    assert summed.is_feasible(problem.data)
    np.testing.assert_allclose(alpha.differences(problem.data).toarray(), rows.differences)
    np.testing.assert_array_equal(alpha.losses(problem.data), rows.losses)


def test_what_is_not_feasible_bounds_nothing():
    """Negative dual variables, totals above C, forbidden transitions, sums that do not agree."""
    problem, rows = make("Gaussian", "chain forbidden")
    samples = problem.data.samples
    alpha = alpha_of(rows, np.ones(len(rows.losses)), C)
    good = marginals_of(problem.data, rows, alpha.values)
    for dual in (alpha, good):
        assert np.isfinite(problem.dual(dual))
        assert problem.dual(dual.scaled(-1.0)) == problem.dual(dual.scaled(1.01)) == -np.inf
        assert not dual.scaled(np.nan).is_feasible(problem.data)
    assert not problem.data.allowed[0, 0, 2]
    for first, value in ((2, True), (0, False)):
        labels = np.where(samples.parents < 0, first, 2)
        assert DualVariables.on(samples, labels, problem.C).is_feasible(problem.data) == value
    child = int(np.flatnonzero(samples.parents >= 0)[0])
    for change in (
        [[0.1, -0.1, 0], [0, 0, 0], [0, 0, 0]],  # other sums for the child
        [[0.1, 0, 0], [-0.1, 0, 0], [0, 0, 0]],  # other sums for the parent
        [[9, -9, 0], [-9, 9, 0], [0, 0, 0]],  # the same sums, but some are negative
        [[-0.1, 0, 0.1], [0, 0, 0], [0.1, 0, -0.1]],  # and none, but one is forbidden
    ):
        bad = DualMarginals(good.node, good.edge.copy())
        bad.edge[child] += change
        assert (bad.edge.min() < 0) == (9 in change[0])
        assert problem.dual(bad) == -np.inf
    square = Problem(problem.data, problem.loss, NORMS["squared L1"])
    assert square.dual(good.scaled(1.01)) == pytest.approx(square.dual(good))  # it is scaled
    assert square.dual(good.scaled(-1.0)) == 0  # by 0, not by a number below it
    wide = Problem(problem.data, problem.loss, L1Ball(1e-6))
    assert wide.dual(good) > wide.dual(good.scaled(1.01)) == -np.inf


def test_marginals_are_judged_by_the_total_of_their_own_sample():
    """A sample that hardly counts has to be as consistent as the others."""
    weight, allowed = np.array([1.0, 1e-10]), np.ones((1, 2, 2), bool)
    data = label_samples(pack([np.eye(1), np.eye(1)]), np.array([0, 1]), allowed, weight)
    for small, feasible in (([1e-10, 0.0], True), ([2e-10, -1e-10], False)):
        marginals = DualMarginals(np.array([[0.5, 0.5], small]), np.zeros((2, 2, 2)))
        assert marginals.is_feasible(data) == feasible


# -- what is said of solutions -------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_weight_bounds_hold_for_the_solution(seed):
    """Whatever feasible pair the gap comes from."""
    problem, rows = make("L1", KINDS[seed % 2], seed % 5)
    rng = np.random.default_rng(seed)
    solution = solve_l1m3n(rows)
    mixture = rng.uniform(0, 1)
    other = random_alpha(rows, rng)
    alpha = replace(other, values=(1 - mixture) * solution.alpha + mixture * other.values)
    weights = solution.weights + mixture * rng.normal(scale=0.1, size=rows.n_weights)
    certificate = problem.certify(weights, alpha)
    bound = weight_bounds(certificate.gap, certificate.eta)
    assert np.all(np.abs(solution.weights) <= bound + 1e-7)
    assert weight_bounds(0.0, np.array([0.25]), rounding=0.1) == 0.4  # a gap of 0 is rounding


@pytest.mark.parametrize("seed", range(3))
def test_variances_make_squares_cost_as_much(seed):
    """At the variances squares cost the norm; at others, with the same sum, more."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=5)
    half, double, square = L1Norm(), L1Norm(2.0), SquaredL1Norm(0.7)
    for regulariser, price in ((half, 1 / 8), (double, 2.0), (square, 0.0)):
        v = regulariser.variances(w)
        cost = np.sum(w**2 / (2 * v)) + price * v.sum()
        assert cost == pytest.approx(regulariser.value(w))
        other = v * rng.uniform(0.5, 2, size=5)
        if regulariser is square:
            assert v.sum() == pytest.approx(1 / (2 * 0.7))
            other *= v.sum() / other.sum()
        assert np.sum(w**2 / (2 * other)) + price * other.sum() > cost


def test_rounding_by_hand():
    """Two features and a node are three steps, over the largest weights that each may meet."""
    data = label_samples(pack([np.array([[2.0, -3.0]])]), np.array([0]), np.ones((1, 2, 2), bool))
    problem = Problem(data, MarginLoss(LinearSlack()), GaussianPrior())
    alpha = DualVariables.on(data.samples, data.labels, problem.C)
    w = np.array([1, -4, 0.5, 5, 7, 0, 0, 0])
    for size, counts in ((1e12, True), (1.0, False)):
        certificate = problem.certify(size * w, alpha)
        violation = 2 * np.finfo(float).eps * 3 * (size * (2 * 1 + 3 * 5 + 7) + 1)
        assert certificate.rounding == pytest.approx(2 * violation, rel=1e-6)
        assert certificate.rounding_counts == counts


# -- what is checked -----------------------------------------------------------------------------


def test_parts_of_a_problem_are_checked():
    problem, _ = make("Gaussian")
    data, loss, prior = problem.data, problem.loss, problem.regulariser
    with pytest.raises(TypeError, match=r"^slack is 1\.0; expected LinearSlack\(C\)"):
        MarginLoss(1.0)
    with pytest.raises(TypeError, match=r"^loss is LinearSlack\(C=1\.0\); expected a MarginLoss"):
        Problem(data, LinearSlack(), prior)
    with pytest.raises(TypeError, match=r"^data is \[\]; expected LabelledSamples"):
        Problem([], loss, prior)
    for regulariser in (None, "l2", L2Norm):
        with pytest.raises(TypeError, match=r"^regulariser is .*; expected a prior or another"):
            Problem(data, loss, regulariser)
    for norm in (SquaredL1Norm, L1Ball, L2Ball):
        for value in (0.0, -1.0, np.inf):
            with pytest.raises(ValueError, match="expected"):
                norm(value)
    with pytest.raises(ValueError, match=r"^weights has shape \(3,\); expected"):
        problem.primal(np.zeros(3))
    with pytest.raises(TypeError, match="dual variables"):
        problem.certify(np.zeros(data.weight_shape.size))


def test_dual_variables_are_checked():
    """They are of the same samples, and labellings are taken by their positions."""
    problem, _ = make("Gaussian")
    samples, labels = problem.data.samples, problem.data.labels
    values = np.ones(samples.n_samples)
    with pytest.raises(ValueError, match=r"^labels and values have shapes"):
        DualVariables.on(samples, labels[1:], values)
    with pytest.raises(ValueError, match=r"^alpha holds a label code outside the"):
        problem.dual(DualVariables.on(samples, labels + 99, values))
    alpha = DualVariables.on(samples, labels, values)
    with pytest.raises(ValueError, match=r"^alpha refers to a sample that is not among the"):
        problem.dual(replace(alpha, sample=alpha.sample + 1))
    with pytest.raises(ValueError, match=r"^alpha has a labelling of \d nodes for sample \d; exp"):
        problem.dual(replace(alpha, sample=np.argsort(samples.lengths)))
    assert alpha.take([1, 0]).sample.tolist() == [1, 0]
    for chosen in ([99], [-1], [True], slice(1)):
        with pytest.raises(ValueError, match=r"^chosen does not fit .* booleans, or whole numbers"):
            alpha.take(chosen)


def test_a_problem_of_samples_and_labels():
    X, y = [np.eye(2), np.ones((1, 2))], ["ab", "b"]
    data = label_samples(pack(X), np.array([0, 1, 1]), np.ones((1, 2, 2), dtype=bool))
    by_hand = Problem(data, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    w = np.random.default_rng(0).normal(size=8)
    assert Problem.of(X, y).primal(w) == by_hand.primal(w)
    other = Problem.of(X, y, SoftMaxLoss(), L2Norm(3.0))
    assert other.primal(w) == Problem(data, SoftMaxLoss(), L2Norm(3.0)).primal(w)
    tree = labelled([Forest(np.eye(3), [-1, 0, 0], [0, 0, 1])], ["abb"], forbidden=[("b", "b")])
    assert tree.allowed.shape == (2, 2, 2)
    assert not tree.allowed[:, 1, 1].any()
    with pytest.raises(ValueError, match=r"the labels of sample 0 use a forbidden transition"):
        labelled([np.eye(2)], ["ab"], forbidden=[("a", "b")])
