"""Block-coordinate Frank-Wolfe: room for labellings, odd problems, one's own prior, warm starts."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from enumerated import FORBIDDEN, KINDS, N_LABELS, PRIORS, RICH, SLACKS, make_data, solved
from hypothesis import given, settings
from hypothesis import strategies as st
from priors_gallery import Own
from test_solvers_all import copied

from medn_edu.priors import ExponentialPrior, GaussianPrior, LaplacePrior, Prior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import ExponentialSlack, LinearSlack
from medn_edu.solvers import block_frank_wolfe
from medn_edu.solvers.dual_state import DualState
from medn_edu.theory.medn import enumerate_problem
from medn_edu.theory.medn_solvers import solve_dual

each_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=list(SLACKS))


def make_problem(prior: Prior, slack: LinearSlack, kind: str = KINDS[1], **options) -> Problem:
    return Problem(make_data(kind, **options), MarginLoss(slack), prior)


def passes(problem: Problem, n: int, **options) -> list[Iterate]:
    """Return copies of the first iterates, whose arrays are live."""
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(0), **options)
    return [copied(iterate) for iterate in itertools.islice(iterates, n)]


def solve(problem: Problem, tol: float = 3e-6, **options) -> SolveResult:
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(0), **options)
    return run(iterates, problem, tol=tol, max_iter=3000)


def assert_solved(result: SolveResult, optimum: float) -> None:
    """Primal and dual enclose the optimum within 1e-5."""
    assert result.converged, (result.status, result.relative_gap)
    assert optimum * (1 - 1e-5) <= result.dual <= optimum * (1 + 1e-8)
    assert optimum * (1 - 1e-8) <= result.primal <= optimum * (1 + 1e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["chain", "tree types", "chain forbidden weights", *KINDS]),
    prior=st.sampled_from(sorted(PRIORS)),
    slack=st.sampled_from(sorted(SLACKS)),
)
def test_optimum_on_any_small_set(seed, kind, prior, slack):
    problem = make_problem(PRIORS[prior], SLACKS[slack], kind, seed=seed, n_samples=3)
    judge = enumerate_problem(problem.data, PRIORS[prior], SLACKS[slack])
    assert_solved(solve(problem), solve_dual(judge).value)


@each_slack
@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_arena_growth_changes_nothing(prior, slack):
    problem = make_problem(PRIORS[prior], slack, n_samples=20)
    tiny, roomy = passes(problem, 8, capacity=1), passes(problem, 8, capacity=64)
    for a, b in zip(tiny, roomy, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
    np.testing.assert_array_equal(tiny[-1].dual().labels, roomy[-1].dual().labels)


def test_products_from_sparse_rows_are_those_of_the_gram_matrix():
    problem = make_problem(GaussianPrior(), LinearSlack(5.0), "tree types", n_samples=20)
    # Later passes may part ways: rounding can decide a comparison, and so which block moves how.
    gram = passes(problem, 1)[-1]
    for gram_budget in (0, 200):
        rows = passes(problem, 1, gram_budget=gram_budget)[-1]
        np.testing.assert_allclose(gram.weights, rows.weights, atol=1e-10)
    solved = [passes(problem, 200, gram_budget=budget)[-1] for budget in (0, 64_000_000)]
    np.testing.assert_allclose(solved[0].weights, solved[1].weights, atol=1e-3)


@pytest.mark.parametrize("kind", ["tree types", *KINDS, *RICH])
def test_products_of_parts_are_those_of_whole_labellings(kind, monkeypatch):
    monkeypatch.setattr("enumerated.N_FEATURES", 12)  # with few, atoms are multiplied one by one
    problem = make_problem(PRIORS["laplace"], LinearSlack(5.0), kind, n_samples=20)

    def means_after_a_pass(most_parts):
        monkeypatch.setattr("medn_edu.solvers.training._MOST_PARTS", most_parts)
        state = DualState(problem, gram_budget=0, capacity=4)
        state.load(None)
        rng = np.random.default_rng(0)
        for with_oracle in (True, True, True, False):
            state.visit(rng.permutation(20), with_oracle=with_oracle)
        return state.weights(), state.work.parts.gram.any()

    (by_parts, has_gram), (by_atoms, has_none) = means_after_a_pass(64), means_after_a_pass(0)
    assert has_gram
    assert not has_none
    np.testing.assert_allclose(by_parts, by_atoms, atol=1e-9)


def test_weights_that_no_labelling_uses_keep_the_priors_mean():
    """Of the one-sided exponential prior that is not zero, and zero would cost infinitely much."""
    problem = make_problem(ExponentialPrior(rate=2.0), LinearSlack(1.0), "chain forbidden")
    result = solve(problem)
    _, transitions = problem.weight_shape.split(result.weights)
    assert (transitions[~problem.data.allowed] == 0.5).all()
    assert math.isfinite(result.primal)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_price_at_which_the_prior_itself_is_best(prior):
    """The exponential slack allows violations up to 1/c for nothing: P = D = 0, at once."""
    prior, slack = PRIORS[prior], ExponentialSlack(c=0.05)
    judge, solution = solved("chain", prior, slack)
    assert solution.value == 0
    result = solve(make_problem(prior, slack, "chain"))
    assert result.converged
    np.testing.assert_allclose([result.primal, result.dual], 0.0, atol=1e-9)
    np.testing.assert_allclose(result.weights, prior.mean(np.zeros(judge.n_weights)), atol=1e-9)


@each_slack
@pytest.mark.parametrize("shipped", [GaussianPrior(), *map(LaplacePrior, (4.0, 0.1))], ids=str)
def test_a_users_own_prior_gives_the_iterates_of_the_shipped_one(shipped, slack):
    mine = Own(shipped)
    assert mine.compiled is None
    both = [passes(make_problem(each, slack, seed=2, n_samples=8), 6) for each in (mine, shipped)]
    for a, b in zip(*both, strict=True):
        scale = max(1.0, np.abs(b.weights).max())
        np.testing.assert_allclose(a.weights, b.weights, rtol=0, atol=1e-10 * scale)
        np.testing.assert_array_equal(a.dual().labels, b.dual().labels)
        np.testing.assert_allclose(a.dual().values, b.dual().values, atol=1e-10)


def scaled_slack(slack, factor: float):
    constant = "c" if isinstance(slack, ExponentialSlack) else "C"
    return replace(slack, **{constant: factor * getattr(slack, constant)})


@pytest.mark.parametrize("before", SLACKS)
@pytest.mark.parametrize("after", SLACKS)
@pytest.mark.parametrize("prior", [GaussianPrior(), *map(LaplacePrior, (0.01, 400.0))], ids=str)
@pytest.mark.parametrize("factor", [0.05, 20.0])
def test_warm_start_from_another_problem(before, after, prior, factor):
    """Whatever its C, prior and slack: made feasible, and the optimum is that of a cold start."""
    alpha = passes(make_problem(LaplacePrior(4.0), SLACKS[before]), 20)[-1].dual()
    slack = scaled_slack(SLACKS[after], factor)
    problem = make_problem(prior, slack)
    assert problem.dual(passes(problem, 1, warm_start=alpha)[0].dual()) > -math.inf
    _, solution = solved(KINDS[1], prior, slack)
    assert_solved(solve(problem, warm_start=alpha), solution.value)


@each_slack
@pytest.mark.parametrize("prior", ["gaussian", "laplace", "exponential", "two-point"])
def test_warm_start_continues_where_it_was(prior, slack):
    problem = make_problem(PRIORS[prior], slack)
    result = solve(problem)
    still = passes(problem, 1, warm_start=result.alpha)[0]
    assert problem.dual(still.dual()) >= result.dual - 1e-9 * result.primal
    np.testing.assert_allclose(still.weights, result.weights, atol=0.02)


def test_warm_starts_walk_to_the_L1_penalty():
    """With C = 2 sqrt(lam) and lam growing eta has to grow, too; from eta = 0 it is a long way."""
    alpha = None
    for lam in 10.0 ** np.arange(2, 7):
        problem = make_problem(LaplacePrior(lam), LinearSlack(2 * math.sqrt(lam)))
        warm = solve(problem, tol=1e-3, warm_start=alpha)
        assert warm.converged
        alpha = warm.alpha
    assert warm.n_passes < 0.5 * solve(problem, tol=1e-3).n_passes


@each_slack
def test_warm_start_from_nothing(slack):
    problem = make_problem(PRIORS["laplace"], slack, "chain")
    cold, warm = passes(problem, 1)[0], passes(problem, 1, warm_start=DualVariables.empty())[0]
    np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample": np.array([9])}, "sample that is not among the 6"),
        ({"labels": np.zeros(9, int), "offsets": np.array([0, 9])}, "9 nodes for sample 0"),
        ({"values": np.array([-1.0])}, "negative or not finite"),
        ({"labels": np.full(2, 7)}, "outside the 3 labels"),
        (
            {"labels": np.array(FORBIDDEN)},
            "forbidden now; expected the `forbidden` of the last fit",
        ),
    ],
)
def test_warm_start_of_other_samples_is_refused(change, message):
    allowed = np.ones((1, N_LABELS, N_LABELS), dtype=bool)
    allowed[0][FORBIDDEN] = False
    data = label_samples(pack([np.ones((2, 4))] * 6), np.tile([0, 1], 6), allowed)
    problem = Problem(data, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    start = DualVariables(np.array([0]), np.array([0, 2]), np.array([1, 1]), np.array([0.5]))
    assert len(passes(problem, 1, warm_start=start)) == 1
    with pytest.raises(ValueError, match=message):
        passes(problem, 1, warm_start=replace(start, **change))
