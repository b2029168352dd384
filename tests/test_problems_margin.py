"""Margin problems with priors, norms and balls against their definition, by enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from enumerated import KINDS, make_data, marginals_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

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


def make(norm: str, kind: str = KINDS[1], seed: int = 0):
    data = make_data(kind, seed)
    slack = LinearSlack(C)
    return (
        Problem(data, MarginLoss(slack), NORMS[norm]),
        enumerate_problem(data, GaussianPrior(), slack),
    )


def random_alpha(rows: EnumeratedProblem, rng: np.random.Generator) -> DualVariables:
    """Feasible dual variables on all labellings, some of them 0."""
    values = rng.exponential(size=len(rows.losses)) * (rng.random(len(rows.losses)) < 0.5)
    values += rows.losses == 0
    values *= (C * rows.sample_weight / rows.totals(values))[rows.sample]
    offsets = np.cumsum([0, *map(len, rows.labellings)])
    return DualVariables(rows.sample, offsets, np.concatenate(rows.labellings), values)


def even_alpha(rows: EnumeratedProblem) -> DualVariables:
    """The same dual variable for all labellings of a sample."""
    even = np.ones(len(rows.losses))
    values = (C * rows.sample_weight / rows.totals(even))[rows.sample]
    return replace(random_alpha(rows, np.random.default_rng(0)), values=values)


def inside(norm: str, weights: np.ndarray) -> np.ndarray:
    """Weights inside the ball."""
    size = {"L1 ball": np.abs(weights).sum() / 1.5, "L2 ball": np.linalg.norm(weights) / 0.9}
    return weights / max(1.0, size.get(norm, 0.0))


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_primal_value(norm, kind):
    problem, rows = make(norm, kind)
    rng = np.random.default_rng(1)
    for scale in (0.01, 0.1, 1.0):
        weights = scale * rng.normal(size=rows.n_weights)
        expected = COST[norm](weights) + rows.penalty(rows.xi(weights))
        assert problem.primal(weights) == pytest.approx(expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_dual_value(norm, kind):
    """At alpha or, of what is scaled, the best on the way there from the true labellings."""
    problem, rows = make(norm, kind)
    for seed in range(3):
        alpha = random_alpha(rows, np.random.default_rng(seed))
        eta, loss = rows.eta(alpha.values), alpha.values @ rows.losses
        scalings = np.linspace(0, 1, 2001) if norm in SCALED else [1.0]
        values = [s * loss - problem.regulariser.conjugate(s * eta) for s in scalings]
        best = max(values)
        assert best - 1e-9 <= problem.dual(alpha) <= best + 1e-3 * loss
        np.testing.assert_allclose(alpha.eta(problem.data), eta, atol=1e-12)


@pytest.mark.parametrize("norm", SCALED)
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_dual_scaling_is_the_best(norm, scale):
    """Against a bounded search, for gains that are worth it and gains that are not."""
    regulariser, rng = NORMS[norm], np.random.default_rng(2)
    for _ in range(10):
        eta, loss = scale * rng.normal(size=4), float(rng.exponential(2 * scale))

        def value(s, eta=eta, loss=loss):
            return s * loss - regulariser.conjugate(s * eta)

        scaling = dual_scaling(regulariser, loss, eta)
        assert 0 <= scaling <= 1
        highest = 1.0 if norm != "L1" else min(1.0, 0.5 / np.abs(eta).max())
        found = minimize_scalar(lambda s: -value(s), bounds=(0, highest), method="bounded")
        assert value(scaling) >= max(-found.fun, value(0.0)) - 1e-9


@pytest.mark.parametrize("norm", SCALED)
def test_conjugate_is_a_maximum(norm):
    """``max_w eta . w - R(w)``: no direction does better, and the best ones do as well."""
    regulariser, rng = NORMS[norm], np.random.default_rng(3)
    eta = rng.normal(size=3)
    if norm == "L1":
        eta *= 0.5 / np.abs(eta).max()
    corner = np.where(np.arange(3) == np.abs(eta).argmax(), np.sign(eta), 0.0)
    directions = np.array([*rng.normal(size=(50, 3)), corner, eta])
    directions /= np.abs(directions).sum(axis=1, keepdims=True)
    points = [inside(norm, length * d) for d in directions for length in np.linspace(0, 3, 61)]
    best = max(eta @ w - COST[norm](w) for w in points)
    assert regulariser.conjugate(eta) == pytest.approx(best, rel=1e-2, abs=1e-12)
    assert regulariser.conjugate(eta) >= best - 1e-12


def test_conjugate_of_the_norm_is_infinite_outside():
    assert L1Norm().conjugate(np.array([0.1, -0.51])) == np.inf
    assert L1Norm().conjugate(np.array([0.5, -0.5])) == 0.0


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


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.parametrize("kind", KINDS)
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


def _break(name: str, problem: Problem, good: DualMarginals) -> DualMarginals:
    node, edge = good.node.copy(), good.edge.copy()
    child = int(np.flatnonzero(problem.data.samples.parents >= 0)[0])
    if name == "negative node":
        node[0] += [-1.0 - node[0, 0], 1.0 + node[0, 0], 0.0]
    elif name == "negative edge":  # its sums are right
        edge[child] += 9.0 * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0]])
    elif name == "edge and child disagree":
        edge[child] += [[0.1, -0.1, 0], [0, 0, 0], [0, 0, 0]]
    elif name == "edge and parent disagree":
        edge[child] += [[0.1, 0, 0], [-0.1, 0, 0], [0, 0, 0]]
    elif name == "too much":
        return good.scaled(1.01)
    return DualMarginals(node, edge)


@pytest.mark.parametrize(
    "name",
    [
        "negative node",
        "negative edge",
        "edge and child disagree",
        "edge and parent disagree",
        "too much",
    ],
)
def test_infeasible_marginals_bound_nothing(name):
    problem, rows = make("squared L1", KINDS[0])
    alpha = even_alpha(rows)
    good = marginals_of(problem.data, rows, alpha.values)
    assert np.isfinite(problem.dual(good))
    bad = _break(name, problem, good)
    if name == "too much":
        scaling = dual_scaling(problem.regulariser, bad.loss(problem.data), bad.eta(problem.data))
        assert scaling < 1  # a scaling of it is feasible: no harm
        assert problem.dual(bad) == pytest.approx(problem.dual(good))
        wide = Problem(problem.data, MarginLoss(problem.loss.slack), L1Ball(1e-6))
        assert np.isfinite(wide.dual(good))
        assert wide.dual(bad) == -np.inf
    else:
        assert not bad.is_feasible(problem.data)
        assert problem.dual(bad) == -np.inf


def test_forbidden_transitions_have_no_dual_variables():
    problem, rows = make("L1", "chain forbidden")
    good = marginals_of(problem.data, rows, even_alpha(rows).values)
    assert good.is_feasible(problem.data)
    assert not problem.data.allowed[0, 0, 2]
    child = int(np.flatnonzero(problem.data.samples.parents >= 0)[0])
    edge = good.edge.copy()
    # An amount moved round a square of transitions: sums stay right, and nothing is negative.
    edge[child] += 1e-3 * np.array([[-1, 0, 1], [0, 0, 0], [1, 0, -1]])
    assert edge.min() >= 0
    assert not DualMarginals(good.node, edge).is_feasible(problem.data)


@pytest.mark.parametrize("norm", ["Gaussian", "Laplace", "L2", "L1"])
def test_infeasible_dual_variables_bound_nothing(norm):
    """Negative ones, and a total above C; the other norms scale these to 0, which proves 0."""
    problem, rows = make(norm)
    alpha = random_alpha(rows, np.random.default_rng(0))
    assert problem.dual(alpha.scaled(-1.0)) == -np.inf
    if norm not in SCALED:
        assert problem.dual(alpha.scaled(1.01)) == -np.inf


# -- bounds of weights ---------------------------------------------------------------------------


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


def test_weight_bounds_at_the_solution_are_zero_or_infinite():
    _, rows = make("L1")
    solution = solve_l1m3n(rows)
    bound = weight_bounds(0.0, np.where(solution.weights == 0, 0.9, 1.0) * solution.eta)
    assert not bound[solution.weights == 0].any()


def test_certificate_needs_dual_variables():
    problem, rows = make("L1")
    with pytest.raises(TypeError, match="dual variables"):
        problem.certify(np.zeros(rows.n_weights))


@pytest.mark.parametrize("norm", [SquaredL1Norm, L1Ball, L2Ball])
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf])
def test_constants_are_positive(norm, value):
    with pytest.raises(ValueError, match="expected"):
        norm(value)


# -- squares that adapt --------------------------------------------------------------------------


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


# -- what is checked -----------------------------------------------------------------------------


def test_dual_variables_that_are_no_numbers_are_not_feasible():
    data = make_data(KINDS[0])
    alpha = DualVariables.on(data.samples, data.labels, np.full(data.samples.n_samples, np.nan))
    assert not alpha.is_feasible(data)


def test_losses_and_slacks_are_checked():
    with pytest.raises(TypeError, match=r"^slack is 1\.0; expected LinearSlack\(C\)"):
        MarginLoss(1.0)
    with pytest.raises(TypeError, match=r"^loss is LinearSlack\(C=1\.0\); expected a MarginLoss"):
        Problem(make_data(KINDS[0]), LinearSlack(), GaussianPrior())


@pytest.mark.parametrize("regulariser", [None, "l2", L2Norm])
def test_data_regularisers_and_weights_are_checked(regulariser):
    data, loss = make_data(KINDS[0]), MarginLoss(LinearSlack())
    with pytest.raises(TypeError, match=r"^regulariser is .*; expected a prior or another"):
        Problem(data, loss, regulariser)
    with pytest.raises(TypeError, match=r"^data is \[\]; expected LabelledSamples"):
        Problem([], loss, GaussianPrior())
    with pytest.raises(ValueError, match=r"^weights has shape \(3,\); expected"):
        Problem(data, loss, GaussianPrior()).primal(np.zeros(3))


def test_dual_variables_of_other_samples_are_refused():
    problem, _ = make("Gaussian")
    samples, labels = problem.data.samples, problem.data.labels
    values = np.ones(samples.n_samples)
    with pytest.raises(ValueError, match=r"^labels and values have shapes"):
        DualVariables.on(samples, labels[1:], values)
    with pytest.raises(ValueError, match=r"^alpha holds a label code beyond the"):
        problem.dual(DualVariables.on(samples, labels + 99, values))
    alpha = DualVariables.on(samples, labels, values)
    with pytest.raises(ValueError, match=r"^alpha names a sample beyond the"):
        problem.dual(replace(alpha, sample=alpha.sample + 1))


@pytest.mark.parametrize("chosen", [[99], [-1], [True], slice(1)])
def test_labellings_are_taken_by_their_positions(chosen):
    data = make_data(KINDS[0])
    alpha = DualVariables.on(data.samples, data.labels, np.ones(data.samples.n_samples))
    assert len(alpha.take([1, 0])) == 2
    with pytest.raises(ValueError, match=r"^chosen must hold .* booleans, or whole numbers"):
        alpha.take(chosen)


def test_sweeps_do_not_depend_on_threads(small_groups):
    """One and two threads give the same bits."""
    problem, rows = make("Gaussian")
    assert small_groups(problem.data.samples) > 1
    weights = np.random.default_rng(1).normal(size=rows.n_weights)
    threaded = Problem(problem.data, problem.loss, problem.regulariser, n_jobs=2)
    assert threaded.primal(weights) == problem.primal(weights)


def test_labellings_that_are_forbidden_bound_nothing():
    """A total all on a labelling that cannot occur would prove too much."""
    allowed = np.ones((1, 2, 2), bool)
    allowed[0, 0, 1] = False
    data = label_samples(pack([np.eye(2)]), np.array([0, 0]), allowed)
    problem = Problem(data, MarginLoss(LinearSlack(1.0)), GaussianPrior())
    for labels, feasible in (([0, 1], False), ([1, 1], True)):
        alpha = DualVariables(np.array([0]), np.array([0, 2]), np.array(labels), np.array([0.5]))
        assert alpha.is_feasible(problem.data) == feasible
        assert (problem.dual(alpha) > -np.inf) == feasible


def test_marginals_are_judged_by_the_total_of_their_own_sample():
    """A sample that hardly counts has to be as consistent as the others."""
    weight = np.array([1.0, 1e-10])
    data = label_samples(
        pack([np.eye(1), np.eye(1)]), np.array([0, 1]), np.ones((1, 2, 2), bool), weight
    )
    problem = Problem(data, MarginLoss(LinearSlack(1.0)), GaussianPrior())
    edge = np.zeros((2, 2, 2))
    fine = DualMarginals(np.array([[0.5, 0.5], [1e-10, 0.0]]), edge)
    wrong = DualMarginals(np.array([[0.5, 0.5], [2e-10, -1e-10]]), edge)
    assert fine.is_feasible(problem.data)
    assert not wrong.is_feasible(problem.data)


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
