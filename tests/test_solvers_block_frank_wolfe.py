"""Block-coordinate Frank-Wolfe for any prior and slack, judged by enumeration."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from enumerated import FORBIDDEN, KINDS, N_LABELS, PRIORS, SLACKS, make_data, solved
from hypothesis import given, settings
from hypothesis import strategies as st
from test_solvers_all import copied

from medn_edu.priors import ExponentialPrior, GaussianPrior, LaplacePrior, Prior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack
from medn_edu.solvers import block_frank_wolfe
from medn_edu.solvers._training import starting_point
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.medn_solvers import solve_dual


def make_problem(kind: str, prior: Prior, slack: LinearSlack, **options) -> Problem:
    return Problem(make_data(kind, **options), MarginLoss(slack), prior)


def passes(problem: Problem, n: int, seed: int = 0, **options) -> list[Iterate]:
    """Return copies of the first iterates, whose arrays are live."""
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(seed), **options)
    return [copied(iterate) for iterate in itertools.islice(iterates, n)]


def solve(problem: Problem, tol: float = 3e-6, **options) -> SolveResult:
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(0), **options)
    return run(iterates, problem, tol=tol, max_iter=3000)


def check_solution(judge: EnumeratedProblem, result: SolveResult, optimum: float) -> None:
    """Primal and dual, both recomputed by enumeration, enclose the optimum within 1e-5."""
    assert result.converged, (result.status, result.relative_gap)
    dual = judge.dual_value(judge.dense(result.alpha))
    primal = judge.primal_value(result.weights)
    assert dual <= optimum * (1 + 1e-8)
    assert dual >= optimum * (1 - 1e-5)
    assert optimum * (1 - 1e-8) <= primal <= optimum * (1 + 1e-5)
    assert result.dual == pytest.approx(dual, rel=1e-9)
    assert result.primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("prior", PRIORS)
def test_optimum(prior, slack, kind):
    prior, slack = PRIORS[prior], SLACKS[slack]
    judge, solution = solved(kind, prior, slack)
    check_solution(judge, solve(make_problem(kind, prior, slack)), solution.value)


@pytest.mark.parametrize("lam", [1e-3, 1.0, 36.0, 1e6])
@pytest.mark.parametrize("slack", SLACKS)
def test_optimum_for_every_lambda(lam, slack):
    """From a domain that leaves hardly any room to one that leaves it all."""
    prior, slack = LaplacePrior(lam), SLACKS[slack]
    judge, solution = solved(KINDS[1], prior, slack)
    result = solve(make_problem(KINDS[1], prior, slack))
    check_solution(judge, result, solution.value)
    assert np.abs(judge.eta(judge.dense(result.alpha))).max() < math.sqrt(lam)


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0, 1e3])
@pytest.mark.parametrize("slack", [LinearSlack, QuadraticSlack, ExponentialSlack])
def test_optimum_for_every_price(slack, C):
    prior = LaplacePrior(4.0)
    judge, solution = solved(KINDS[1], prior, slack(C))
    check_solution(judge, solve(make_problem(KINDS[1], prior, slack(C))), solution.value)


def test_variances_that_differ_from_weight_to_weight():
    data = make_data(KINDS[1])
    variance = np.random.default_rng(0).uniform(0.1, 3.0, data.weight_shape.size)
    for slack in SLACKS.values():
        prior = GaussianPrior(variance)
        judge = enumerate_problem(data, prior, slack)
        result = solve(Problem(data, MarginLoss(slack), prior))
        check_solution(judge, result, solve_dual(judge).value)
        np.testing.assert_allclose(result.weights, variance * result.eta, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["chain", "tree types", "chain forbidden weights", *KINDS]),
    prior=st.sampled_from(sorted(PRIORS)),
    slack=st.sampled_from(sorted(SLACKS)),
)
def test_optimum_on_any_small_set(seed, kind, prior, slack):
    data = make_data(kind, seed=seed, n_samples=3)
    judge = enumerate_problem(data, PRIORS[prior], SLACKS[slack])
    result = solve(Problem(data, MarginLoss(SLACKS[slack]), PRIORS[prior]))
    check_solution(judge, result, solve_dual(judge).value)


# -- on the way ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("prior", PRIORS)
def test_every_pass(prior, slack):
    """Feasible, consistent, bracketing the optimum, and never worse than before."""
    prior, slack = PRIORS[prior], SLACKS[slack]
    judge, solution = solved(KINDS[1], prior, slack)
    problem = make_problem(KINDS[1], prior, slack)
    last, low, high = -math.inf, *prior.domain
    for iterate in passes(problem, 12):
        alpha = judge.dense(iterate.dual())
        eta = judge.eta(alpha)
        assert ((low < eta) & (eta < high)).all()
        np.testing.assert_allclose(iterate.dual().eta(problem.data), eta, atol=1e-10)
        np.testing.assert_allclose(iterate.weights, prior.mean(eta), rtol=1e-7, atol=1e-9)
        dual, primal = judge.dual_value(alpha), judge.primal_value(iterate.weights)
        assert problem.dual(iterate.dual()) == pytest.approx(dual, rel=1e-9, abs=1e-12)
        assert problem.primal(iterate.weights) == pytest.approx(primal, rel=1e-9)
        assert iterate.objective_estimate == pytest.approx(dual, rel=1e-7, abs=1e-9)
        assert dual >= last - 1e-10
        assert dual <= solution.value * (1 + 1e-8) <= primal * (1 + 2e-8)
        assert iterate.gap_estimate >= 0
        totals = judge.totals(alpha)
        if isinstance(slack, LinearSlack):
            np.testing.assert_allclose(totals, slack.C * judge.sample_weight, rtol=1e-12)
        else:
            assert not alpha[judge.losses == 0].any()
        if isinstance(slack, ExponentialSlack):
            assert (totals < slack.c * judge.sample_weight).all()
        last = dual
    assert last > 0.5 * solution.value


@pytest.mark.parametrize("lam", [1e-3, 1.0])
@pytest.mark.parametrize("slack", SLACKS)
def test_every_pass_stays_inside_a_narrow_domain(lam, slack):
    prior = LaplacePrior(lam)
    data = make_data(KINDS[1], seed=1, n_samples=12)
    judge = enumerate_problem(data, prior, SLACKS[slack])
    iterates = passes(Problem(data, MarginLoss(SLACKS[slack]), prior), 15)
    assert len(iterates) == 15
    for iterate in iterates:
        eta = judge.eta(judge.dense(iterate.dual()))
        assert np.abs(eta).max() < math.sqrt(lam)
        assert np.isfinite(iterate.weights).all()
        np.testing.assert_allclose(iterate.weights, 2 * eta / (lam - eta**2), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_arena_growth_changes_nothing(prior, slack):
    problem = make_problem(KINDS[1], PRIORS[prior], SLACKS[slack], n_samples=20)
    tiny, roomy = passes(problem, 8, capacity=1), passes(problem, 8, capacity=64)
    for a, b in zip(tiny, roomy, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
    np.testing.assert_array_equal(tiny[-1].dual().labels, roomy[-1].dual().labels)


def test_products_from_sparse_rows_are_those_of_the_gram_matrix():
    problem = make_problem("tree types", GaussianPrior(), LinearSlack(5.0), n_samples=20)
    # Later passes may part ways: rounding can decide a comparison, and so which block moves how.
    gram = passes(problem, 1)[-1]
    for gram_budget in (0, 200):
        rows = passes(problem, 1, gram_budget=gram_budget)[-1]
        np.testing.assert_allclose(gram.weights, rows.weights, atol=1e-10)
    solved = [passes(problem, 200, gram_budget=budget)[-1] for budget in (0, 64_000_000)]
    np.testing.assert_allclose(solved[0].weights, solved[1].weights, atol=1e-3)


def test_weights_that_no_labelling_uses_keep_the_priors_mean():
    """Of the one-sided exponential prior that is not zero, and zero would cost infinitely much."""
    prior = ExponentialPrior(rate=2.0)
    data = make_data("chain forbidden")
    result = solve(Problem(data, MarginLoss(LinearSlack(C=1.0)), prior))
    _, transitions = data.weight_shape.split(result.weights)
    assert (transitions[~data.allowed] == 0.5).all()
    assert math.isfinite(result.primal)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_price_at_which_the_prior_itself_is_best(prior):
    """The exponential slack allows violations up to 1/c for nothing: P = D = 0, at once."""
    prior, slack = PRIORS[prior], ExponentialSlack(c=0.05)
    judge, solution = solved("chain", prior, slack)
    assert solution.value == 0
    result = solve(make_problem("chain", prior, slack))
    assert result.converged
    assert abs(result.primal) < 1e-9
    assert abs(result.dual) < 1e-9
    np.testing.assert_allclose(result.weights, prior.mean(np.zeros(judge.n_weights)), atol=1e-9)


# -- a user's own prior -------------------------------------------------------------------------------


@dataclass(frozen=True)
class MyGaussian(Prior):
    """The standard normal prior, declared by someone who does not know the shipped one."""

    @property
    def domain(self):
        return (-math.inf, math.inf)

    def log_mgf(self, eta, index=None):
        return 0.5 * eta**2

    def mean(self, eta, index=None):
        return np.array(eta, dtype=float)

    def variance(self, eta, index=None):
        return np.ones_like(eta)

    def kl(self, mu, index=None):
        return 0.5 * mu**2


@dataclass(frozen=True)
class MyLaplace(Prior):
    """The Laplace prior, from Theorem 5 and Corollaries 6 and 7."""

    lam: float = 4.0

    @property
    def domain(self):
        return (-math.sqrt(self.lam), math.sqrt(self.lam))

    def log_mgf(self, eta, index=None):
        return -np.log1p(-(eta**2) / self.lam)

    def mean(self, eta, index=None):
        return 2 * eta / (self.lam - eta**2)

    def variance(self, eta, index=None):
        return 2 * (self.lam + eta**2) / (self.lam - eta**2) ** 2

    def kl(self, mu, index=None):
        root = np.sqrt(1 + self.lam * mu**2)
        return root - 1 - np.log((root + 1) / 2)


PAIRS = {
    "gaussian": (MyGaussian(), GaussianPrior()),
    "laplace": (MyLaplace(4.0), LaplacePrior(4.0)),
    "laplace, narrow": (MyLaplace(0.1), LaplacePrior(0.1)),
}


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("pair", PAIRS)
def test_a_users_own_prior_gives_the_iterates_of_the_shipped_one(pair, slack):
    mine, shipped = PAIRS[pair]
    assert mine.compiled is None
    data = make_data(KINDS[1], seed=2, n_samples=8)
    own = passes(Problem(data, MarginLoss(SLACKS[slack]), mine), 6)
    theirs = passes(Problem(data, MarginLoss(SLACKS[slack]), shipped), 6)
    for a, b in zip(own, theirs, strict=True):
        scale = max(1.0, np.abs(b.weights).max())
        np.testing.assert_allclose(a.weights, b.weights, rtol=0, atol=1e-10 * scale)
        np.testing.assert_array_equal(a.dual().labels, b.dual().labels)
        np.testing.assert_allclose(a.dual().values, b.dual().values, atol=1e-10)


@dataclass(frozen=True)
class Logistic(Prior):
    """A prior that is not shipped, by its log moment generating function and mean alone.

    The logistic distribution has ``E[exp(eta w)] = pi eta / sin(pi eta)`` for ``|eta| < 1``.
    """

    @property
    def domain(self):
        return (-1.0, 1.0)

    def log_mgf(self, eta, index=None):
        return -np.log(np.sinc(eta))

    def mean(self, eta, index=None):
        eta = np.asarray(eta, dtype=float)
        small = np.abs(eta) < 1e-4
        safe = np.where(small, 0.5, eta)
        return np.where(small, np.pi**2 / 3 * eta, 1 / safe - np.pi / np.tan(np.pi * safe))


@pytest.mark.parametrize("slack", SLACKS)
def test_a_prior_that_is_not_shipped(slack):
    """Variance and divergence come from the base class; the reference needs the variance, too."""
    judge, solution = solved(KINDS[1], Logistic(), SLACKS[slack])
    result = solve(make_problem(KINDS[1], Logistic(), SLACKS[slack]))
    check_solution(judge, result, solution.value)


# -- warm starts --------------------------------------------------------------------------------------


def scaled_slack(slack, factor: float):
    constant = "c" if isinstance(slack, ExponentialSlack) else "C"
    return replace(slack, **{constant: factor * getattr(slack, constant)})


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(
    "prior", [GaussianPrior(), *map(LaplacePrior, (0.01, 4.0, 400.0))], ids=str
)
@pytest.mark.parametrize("factor", [0.05, 1.0, 20.0])
def test_warm_start_from_another_problem(slack, prior, factor):
    """Whatever its C and prior: made feasible, and the optimum is that of a cold start."""
    slack = SLACKS[slack]
    before = passes(make_problem(KINDS[1], LaplacePrior(4.0), slack), 20)[-1].dual()
    other = scaled_slack(slack, factor)
    judge, solution = solved(KINDS[1], prior, other)
    problem = make_problem(KINDS[1], prior, other)
    first = judge.dense(passes(problem, 1, warm_start=before)[0].dual())
    assert judge.dual_value(first) > -math.inf
    check_solution(judge, solve(problem, warm_start=before), solution.value)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("prior", ["gaussian", "laplace", "exponential", "two-point"])
def test_warm_start_continues_where_it_was(prior, slack):
    problem = make_problem(KINDS[1], PRIORS[prior], SLACKS[slack])
    judge, solution = solved(KINDS[1], PRIORS[prior], SLACKS[slack])
    result = solve(problem)
    still = passes(problem, 1, warm_start=result.alpha)[0]
    assert judge.dual_value(judge.dense(still.dual())) >= result.dual - 1e-9 * solution.value
    np.testing.assert_allclose(still.weights, result.weights, atol=0.02)


def test_warm_start_between_slacks():
    """Those of true labellings, which only the linear slack has, are dropped by the others."""
    prior = PRIORS["laplace"]
    for a, b in itertools.permutations(SLACKS, 2):
        alpha = solve(make_problem(KINDS[1], prior, SLACKS[a]), tol=1e-3).alpha
        judge, solution = solved(KINDS[1], prior, SLACKS[b])
        result = solve(make_problem(KINDS[1], prior, SLACKS[b]), warm_start=alpha)
        check_solution(judge, result, solution.value)


def test_dual_variables_grow_with_C():
    """All by the same factor, until the first sample is full; the true labellings take the rest."""
    data = make_data(KINDS[1])
    lean, rich = LinearSlack(0.5), LinearSlack(2.0)
    before = solve(Problem(data, MarginLoss(lean), LaplacePrior(4.0))).alpha
    halved = replace(before, values=before.values * np.where(before.sample == 0, 0.5, 1.0))
    totals = rich.C * data.sample_weight
    for alpha, shares in ((before, 1.0), (halved, np.where(np.arange(len(totals)) == 0, 0.5, 1.0))):
        start = starting_point(alpha, data, totals, is_fixed=True)
        rest, grown = start.values[: len(totals)], start.values[len(totals) :]
        np.testing.assert_allclose(grown, 4 * alpha.values[alpha.values != 0])
        np.testing.assert_allclose(rest, (1 - shares) * totals, atol=1e-12)


def test_warm_starts_walk_to_the_L1_penalty():
    """With C = 2 sqrt(lam) and lam growing eta has to grow, too; from eta = 0 it is a long way."""
    data, alpha = make_data(KINDS[1]), None
    for lam in 10.0 ** np.arange(2, 7):
        problem = Problem(data, MarginLoss(LinearSlack(2 * math.sqrt(lam))), LaplacePrior(lam))
        warm = solve(problem, tol=1e-3, warm_start=alpha)
        assert warm.converged
        alpha = warm.alpha
    assert warm.n_passes < 0.5 * solve(problem, tol=1e-3).n_passes


def test_warm_start_from_nothing():
    empty = DualVariables(
        np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    )
    for slack in SLACKS.values():
        problem = make_problem("chain", PRIORS["laplace"], slack)
        cold, warm = passes(problem, 1)[0], passes(problem, 1, warm_start=empty)[0]
        np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample": np.array([9])}, "sample beyond the 6"),
        ({"labels": np.zeros(9, int), "offsets": np.array([0, 9])}, "9 nodes for sample 0"),
        ({"values": np.array([-1.0])}, "negative or not finite"),
        ({"labels": np.full(2, 7)}, "beyond the 3 labels"),
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
    fields = {
        "sample": np.array([0]),
        "offsets": np.array([0, 2]),
        "labels": np.array([1, 1]),
        "values": np.array([0.5]),
    }
    assert len(passes(problem, 1, warm_start=DualVariables(**fields))) == 1
    with pytest.raises(ValueError, match=message):
        passes(problem, 1, warm_start=DualVariables(**{**fields, **change}))
