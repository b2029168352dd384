"""Solvers of the local problem: the same optimum as general convex solvers, honest at every step."""

import itertools

import numpy as np
import pytest
from loopy_programs import make_problem, program_of, random_point

from medn_edu.problems import LocalProblem
from medn_edu.results import STUCK, run
from medn_edu.solvers import (
    epsilon_continuation,
    nested_lbfgs,
    norm_product_learning,
    swept_lbfgs,
)
from medn_edu.theory.factor_graphs import learning, solvers


def solve(solver, problem: LocalProblem, tol: float = 1e-6, max_iter: int = 3000, **arguments):
    return run(solver(problem, **arguments), problem, tol=tol, max_iter=max_iter)


def reference(problem: LocalProblem) -> float:
    """The optimum by a barrier method on the dual, which knows of no messages."""
    program = program_of(problem)
    b = solvers.maximise(solvers.local_blocks(program))
    return program.dual_value(solvers.as_beliefs(program, b))


# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "n_labels"), [("ring types", 2), ("crossed costs", 3), ("crossed ising", 2)]
)
@pytest.mark.parametrize(("epsilon", "p"), [(1.0, 2.0), (0.2, 1.5), (0.2, 1.2)])
def test_all_find_the_optimum(words, n_labels, epsilon, p):
    problem = make_problem(words, epsilon, (0.5, 1.0), p=p, n_labels=n_labels, n_samples=2)
    best = reference(problem)
    for solver, arguments in (
        (swept_lbfgs, {}),
        (swept_lbfgs, {"n_sweeps": 0}),
        (nested_lbfgs, {}),
        (norm_product_learning, {}),
        (norm_product_learning, {"in_turn": True}),
    ):
        found = solve(solver, problem, 1e-5, **arguments)
        assert found.converged
        assert found.dual <= best * (1 + 1e-6) + 1e-6
        assert found.primal >= best * (1 - 1e-6) - 1e-6


@pytest.mark.parametrize("numbers", ["conditional", "trw", "convexified-bethe", (-0.2, 1.0)])
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_numbers_that_are_not_positive(numbers, epsilon):
    problem = make_problem("ring", epsilon, numbers, n_samples=2)
    best = reference(problem)
    found = solve(nested_lbfgs, problem, 1e-5)
    assert found.converged
    assert found.dual <= best * (1 + 1e-6) + 1e-6
    assert found.primal >= best * (1 - 1e-6) - 1e-6


@pytest.mark.parametrize("n_labels", [2, 3])
def test_at_zero_one_is_stuck_and_cooling_is_not(n_labels):
    """The reference is a quadratic program over the local polytope."""
    problem = make_problem("crossed", 0.0, n_labels=n_labels, n_samples=2)
    best = reference(problem)
    cooled = solve(epsilon_continuation, problem, 1e-5)
    assert cooled.converged
    assert cooled.primal == pytest.approx(best, rel=2e-5)
    assert cooled.dual == pytest.approx(best, rel=2e-5)
    stuck = solve(norm_product_learning, problem, 1e-5, max_iter=1000)
    assert not stuck.converged
    assert stuck.primal > 1.01 * best
    assert stuck.dual <= best * (1 + 1e-6)
    values = [point.objective_estimate for point in stuck.trace]
    assert (np.diff(values) <= 1e-12).all()
    given_up = stuck.status == STUCK
    assert given_up or values[-100] - values[-1] < 1e-3 * (values[-1] - best)
    in_turn = solve(norm_product_learning, problem, 1e-5, max_iter=300, in_turn=True)
    assert best < in_turn.primal < 0.5 * (stuck.primal + best)
    assert in_turn.dual <= best * (1 + 1e-6)


@pytest.mark.parametrize("numbers", ["bethe", "trw", (0.5, 2.0)])
def test_cooling_with_any_numbers_and_mixed_graphs(numbers):
    problem = make_problem("mixed types weights", 0.0, numbers)
    plain = solve(epsilon_continuation, make_problem("mixed types weights", 0.0), 1e-4)
    found = solve(epsilon_continuation, problem, 1e-4)
    assert found.converged
    assert plain.converged
    assert found.primal == pytest.approx(plain.primal, rel=2e-4)


def test_gaps_at_zero_fall_with_the_temperature():
    problem, gaps = make_problem("ring", 0.0, n_labels=3), []
    for iterate in itertools.islice(epsilon_continuation(problem), 400):
        if iterate.gap_estimate == 0.0:
            gaps.append(iterate.certify(problem).gap)
    assert len(gaps) >= 5
    assert all(later < 0.7 * gap for gap, later in itertools.pairwise(gaps))


# -- Fig. 1 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", ["ring", "mixed sets weights", "mixed forbidden", "crossed ising"]
)
@pytest.mark.parametrize(("epsilon", "p"), [(1.0, 2.0), (0.1, 1.2), (0.0, 1.5)])
def test_no_update_raises_the_objective(words, epsilon, p):
    """From anywhere: neither single sweeps, to and fro, nor steps of the weights, at once or in turn."""
    problem = make_problem(words, epsilon, "ones", p=p)
    weights, point = random_point(problem, np.random.default_rng(0), size=2.0)
    before = problem.upper(weights, point)
    states = problem.states(weights, point.messages)
    for n_sweeps in range(20):
        for state in states:
            state.back = n_sweeps % 2 == 1
            state.sweep()
        after, *_ = problem.smooth_part(weights, states)
        after += problem.power_norm.value(weights)
        assert after <= before + 1e-9 * abs(before)
        before = after
    for in_turn in (False, True):
        passes, start = norm_product_learning(problem, warm_start=weights, in_turn=in_turn), np.inf
        for iterate in itertools.islice(passes, 30):
            value = problem.upper(iterate.weights, iterate.dual())
            assert value == pytest.approx(iterate.objective_estimate, rel=1e-9)
            assert value <= start + 1e-9 * abs(value)
            start = value


def test_turns_end_where_those_of_the_theory_end():
    problem = make_problem("ring", 0.5, "ones", n_samples=2)
    found = learning.coordinate_descent(program_of(problem), n_rounds=300)
    mine = solve(norm_product_learning, problem, 1e-8)
    assert mine.primal == pytest.approx(found.values[-1], rel=1e-7)
    np.testing.assert_allclose(mine.weights, found.theta, atol=1e-3)


# -- beginnings and ends --------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [swept_lbfgs, nested_lbfgs])
def test_a_solution_is_a_start(solver):
    """It converges at once, and what it starts from stays as it was."""
    problem = make_problem("mixed sets", 0.3, "ones")
    first = solve(solver, problem, 1e-6)
    kept = [messages.copy() for messages in first.marginals.messages]
    arguments = {"warm_start": first.weights, "messages": first.marginals.messages}
    again = solve(solver, problem, 2e-6, **arguments)
    assert again.n_passes <= 2 < first.n_passes
    solve(solver, make_problem("mixed sets", 0.1, "ones"), 1e-4, **arguments)
    for messages, copy in zip(first.marginals.messages, kept, strict=True):
        np.testing.assert_array_equal(messages, copy)


@pytest.mark.parametrize(
    ("solver", "epsilon"),
    [
        (swept_lbfgs, 0.2),
        (nested_lbfgs, 0.2),
        (norm_product_learning, 0.2),
        (epsilon_continuation, 0),
    ],
)
def test_twice_the_same_to_the_last_bit(solver, epsilon):
    runs = [solve(solver, make_problem("mixed", epsilon, "ones"), 1e-3) for _ in range(2)]
    assert np.array_equal(runs[0].weights, runs[1].weights)
    assert (runs[0].primal, runs[0].dual) == (runs[1].primal, runs[1].dual)


def test_estimates_are_certificates():
    """What the solvers know of their objective is the primal value, computed anew."""
    problem = make_problem("mixed types weights", 0.3, "ones")
    for solver in (swept_lbfgs, nested_lbfgs):
        for iterate in itertools.islice(solver(problem), 1, 6):
            found = iterate.certify(problem)
            assert iterate.objective_estimate == pytest.approx(found.primal, rel=1e-9)
            assert found.dual <= found.primal


@pytest.mark.parametrize(
    ("solver", "epsilon", "numbers", "said"),
    [
        (swept_lbfgs, 0.0, "ones", "swept_lbfgs expects epsilon > 0"),
        (swept_lbfgs, 1.0, "trw", "swept_lbfgs expects .* positive counting numbers"),
        (nested_lbfgs, 0.0, "ones", "nested_lbfgs expects epsilon > 0"),
        (norm_product_learning, 1.0, "conditional", "expects positive counting numbers"),
        (
            epsilon_continuation,
            1.0,
            "trw",
            "epsilon_continuation expects positive counting numbers",
        ),
    ],
)
def test_problems_that_are_refused(solver, epsilon, numbers, said):
    with pytest.raises(TypeError, match=said):
        next(iter(solver(make_problem("ring", epsilon, numbers))))


@pytest.mark.parametrize("seed", range(30))
def test_random_problems_end_with_a_gap_that_is_small(seed):
    """All counting numbers, norms, temperatures, tables and kinds of graphs, drawn at random."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(2, 4))
    words = ["ring", "crossed", "mixed", "star pair ring"][seed // 6 % 4]
    for word in ("types", "edges", "sets", "costs", "weights", "forbidden"):
        words += f" {word}" * bool(rng.random() < 0.4)
    words += ["", " potts", " ising"][int(rng.integers(0, 5 - n_labels))]
    numbers = [None, "ones", "trw", (1.0, 0.4), "convexified-bethe", (0.3, 0.7)][seed % 6]
    epsilon = float(rng.choice([3.0, 0.5, 0.05, 0.0], p=[0.3, 0.4, 0.2, 0.1]))
    p = float(rng.choice([2.0, 1.5, 1.2]))
    problem = make_problem(words, epsilon, numbers, p=p, seed=seed, n_labels=n_labels)
    solver = epsilon_continuation if epsilon == 0 else nested_lbfgs
    if epsilon > 0 and problem.is_plain:
        solver = swept_lbfgs
    found = solve(solver, problem, 1e-3)
    assert found.dual <= found.primal + 1e-9 * abs(found.primal)
    assert found.converged, (words, numbers, epsilon, p)


def test_cooling_stops_at_the_temperature_that_is_asked_for():
    """From cold, steps on both are short; from above they are few."""
    problem = make_problem("ring", 1e-3)
    cooled = run(epsilon_continuation(problem), problem, tol=1e-6, max_iter=2000)
    at_once = run(swept_lbfgs(problem), problem, tol=1e-6, max_iter=2000)
    assert cooled.converged
    assert cooled.primal == pytest.approx(at_once.primal, rel=1e-5)
