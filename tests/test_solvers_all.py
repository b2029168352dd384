"""What every solver promises, over a table of all of them.

A row names a solver, a problem that it solves, and what its estimates are.  The optimum comes from
`medn_edu.theory`, which lists all labellings, or from scipy, whose answer is certified first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import islice, product

import numpy as np
import pytest
from enumerated import KINDS, PRIORS, RICH, SLACKS, make_data, uneven_prior
from optimality import assert_no_lower_at_non_negative, certified_minimum
from priors_gallery import Own
from scipy.optimize import minimize

from medn_edu import load_digit_words, solvers
from medn_edu.priors import GaussianPrior, LaplacePrior, Prior
from medn_edu.problems import (
    DualVariables,
    ElasticNet,
    L1Ball,
    L1Norm,
    L2Ball,
    L2Norm,
    MarginLoss,
    Problem,
    SoftMaxLoss,
    SquaredL1Norm,
    soft_max,
)
from medn_edu.problems.dual_variables import ModelDistributions
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack
from medn_edu.solvers import M3N_SOLVERS
from medn_edu.theory.l1m3n import solve_l1_ball, solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import enumerate_problem
from medn_edu.theory.medn_solvers import solve_dual

MARGIN = MarginLoss(LinearSlack(C=1.3))
MOST = 5000


@dataclass(frozen=True)
class Row:
    """A solver at work, and what it says of itself on the way."""

    solver: Callable[..., Iterator[Iterate]]
    regulariser: object
    loss: MarginLoss | SoftMaxLoss = MARGIN
    options: dict = field(default_factory=dict)
    tol: float = 1e-3  # first-order methods crawl at the end
    estimate: str = "primal"  # what ``objective_estimate`` is: "primal", "dual" or "" if it depends
    monotone: bool = True  # whether that never gets worse
    exact: bool = True  # whether ``gap_estimate`` is the certified gap
    tied: bool = False  # whether weights are those of the dual variables at every moment
    draws: bool = True  # whether another seed leads to other iterates

    def at_work(self, problem: Problem, seed: int = 0, **options) -> Iterator[Iterate]:
        takes_rng = self.solver not in WITHOUT_RNG
        rng = {"rng": np.random.default_rng(seed)} if takes_rng else {}
        return self.solver(problem, **{**rng, **self.options, **options})

    def problem(self, data: LabelledSamples, n_jobs: int = 1) -> Problem:
        regulariser = self.regulariser
        if callable(regulariser):
            regulariser = regulariser(data)
        return Problem(data, self.loss, regulariser, n_jobs)

    def solve(self, problem: Problem, seed: int = 0) -> SolveResult:
        return run(self.at_work(problem, seed), problem, tol=self.tol, max_iter=MOST)


WITHOUT_RNG = (
    solvers.cutting_plane, solvers.one_slack_cutting_plane, solvers.l1_cutting_plane,
    solvers.lbfgs, solvers.owlqn, solvers.proximal_lbfgs,
)  # fmt: skip
# Solvers whose true labellings have dual variables too, so that those of a sample sum to ``C_i``.
FILLED = (
    solvers.block_frank_wolfe, solvers.subgradient, solvers.online_subgradient, solvers.smo,
    solvers.exponentiated_gradient, solvers.block_exponentiated_gradient, solvers.extragradient,
    solvers.projected_subgradient,
)  # fmt: skip
M3N = {
    "block_frank_wolfe": {"exact": False, "tied": True, "tol": 1e-6},
    "cutting_plane": {"draws": False},
    "one_slack_cutting_plane": {"draws": False},
    "subgradient": {"tol": 1e-2, "estimate": "primal", "draws": False},
    "online_subgradient": {"tol": 1e-2, "estimate": "primal", "monotone": False},
    "smo": {"exact": False, "tied": True, "tol": 1e-6},
    "exponentiated_gradient": {"tied": True, "draws": False},
    "block_exponentiated_gradient": {"tied": True},
    "extragradient": {"tol": 1e-2, "monotone": False, "draws": False},
}
# What block Frank-Wolfe solves: every prior and slack, one's own prior, domains with hardly any room
# and with all of it, prices of every size, and variances that differ from weight to weight.
SOLVED = {
    **{(p, s): (PRIORS[p], SLACKS[s]) for p, s in product(PRIORS, SLACKS)},
    **{("own", s): (Own(LaplacePrior(4.0)), SLACKS[s]) for s in SLACKS},
    **{
        (f"lam = {lam:g}", s): (LaplacePrior(lam), SLACKS[s])
        for lam, s in product((1e-3, 1.0, 36.0, 1e6), SLACKS)
    },
    **{
        ("laplace", f"{slack.__name__}, C = {C:g}"): (LaplacePrior(4.0), slack(C))
        for slack in (LinearSlack, QuadraticSlack, ExponentialSlack)
        for C in (1e-3, 0.1, 10.0, 1e3)
    },
    **{("variances", s): (uneven_prior, SLACKS[s]) for s in ("quadratic", "exponential")},
    ("own variances", "linear"): (lambda data: Own(uneven_prior(data)), SLACKS["linear"]),
}
TABLE = {
    **{
        f"{name}, {words}": Row(
            M3N_SOLVERS[name], prior, MarginLoss(LinearSlack(C)), **{"estimate": "dual", **promises}
        )
        for name, promises in M3N.items()
        for words, prior, C in (
            ("C = 0.2", GaussianPrior(), 0.2),
            ("C = 3", GaussianPrior(), 3.0),
            ("variances", uneven_prior, 1.3),
        )
    },
    **{
        f"block_frank_wolfe, {p}, {s}": Row(
            solvers.block_frank_wolfe, prior, MarginLoss(slack),
            tol=1e-6, estimate="dual", exact=False, tied=True,
        )
        for (p, s), (prior, slack) in SOLVED.items()
    },
    **{
        f"{solver.__name__}, no momentum": Row(
            solver, GaussianPrior(), options={"momentum": False}, tied=True,
            tol=1e-2, estimate="dual", draws=solver is solvers.block_exponentiated_gradient,
        )
        for solver in (solvers.exponentiated_gradient, solvers.block_exponentiated_gradient)
    },
    **{
        f"{solver.__name__}, beta {beta:g}": Row(
            solver, uneven_prior, options={"beta": beta}, tol=0.2,
            monotone=solver is solvers.subgradient, draws=solver is solvers.online_subgradient,
        )
        for solver in (solvers.subgradient, solvers.online_subgradient)
        for beta in (0.05, 2.0)
    },
    "smo, one step": Row(
        solvers.smo, GaussianPrior(), options={"n_steps": 1}, tied=True,
        tol=1e-6, estimate="dual", exact=False,
    ),
    **{
        f"adaptive_m3n, {words}": Row(
            solvers.adaptive_m3n, norm, MarginLoss(LinearSlack(C)),
            options={"tol": 1e-9, "n_iterations": 60},
        )
        for words, norm, C in (
            ("L1", L1Norm(), 1.3), ("L1, C = 20", L1Norm(), 20.0), ("L1, C = 0.3", L1Norm(), 0.3),
            ("squared L1", SquaredL1Norm(0.7), 1.3),
            ("squared L1, C = 20", SquaredL1Norm(0.7), 20.0),
        )
    },
    **{
        f"l1_cutting_plane, {words}": Row(
            solvers.l1_cutting_plane, L1Norm(), MarginLoss(LinearSlack(C)), options,
            tol=1e-9, draws=False,
        )
        for words, C, options in (
            ("as it is", 1.3, {}),
            ("no smoothing", 1.3, {"smoothing": 0.0, "patience": 0}),
            ("C = 0.05", 0.05, {"smoothing": 0.5, "patience": 1}),
            ("C = 20", 20.0, {"smoothing": 0.8, "patience": 0}),
        )
    },
    **{
        f"l1_path, C = {C:g}": Row(
            solvers.l1_path, L1Norm(), MarginLoss(LinearSlack(C)), {"tol": 1e-9}, tol=1e-9
        )
        for C in (0.05, 20.0)
    },
    "l1_path": Row(solvers.l1_path, L1Norm(), options={"tol": 1e-9}, tol=1e-9),
    "l1_path, no clean-up": Row(
        solvers.l1_path, L1Norm(), options={"tol": 1e-3, "clean_up": False}, monotone=False
    ),
    **{
        f"proximal_point, C = {C:g}": Row(
            solvers.proximal_point, L1Norm(), MarginLoss(LinearSlack(C)), tol=1e-6
        )
        for C in (0.05, 1.3, 20.0)
    },
    **{
        f"projected_subgradient, {ball}, {options}": Row(
            solvers.projected_subgradient, ball, options=options, **{"tol": 1e-2, **promises}
        )
        for ball in (L1Ball(1.5), L2Ball(0.9))
        for options, promises in (
            ({}, {"draws": False}),
            ({"online": True}, {}),
            ({"beta": 2.0}, {"tol": 0.05, "monotone": False, "draws": False}),
            ({"online": True, "beta": 2.0}, {"tol": 0.05, "exact": False, "estimate": ""}),
        )
    },
    **{
        f"lbfgs, {scale:g}, {options}": Row(
            solvers.lbfgs, L2Norm(scale), SoftMaxLoss(), options, tol=1e-8, draws=False
        )
        for scale in (1e-2, 1.0, 100.0)
        for options in ({}, {"preconditioned": False})
    },
    **{
        f"{solver.__name__}, {words}": Row(
            solver, regulariser, SoftMaxLoss(), tol=1e-7, exact=False, draws=False
        )
        for solver in (solvers.owlqn, solvers.proximal_lbfgs)
        for words, regulariser in (
            ("0.3", L1Norm(0.3)), ("2", L1Norm(2.0)), ("elastic net", ElasticNet(0.3, 0.2)),
        )
    },
    **{
        f"online_exponentiated_gradient, {words}": Row(
            solvers.online_exponentiated_gradient, net, loss, tol=1e-6, estimate="", exact=False,
        )
        for words, net, loss in (
            ("L2 0.01", L2Norm(0.01), SoftMaxLoss()), ("L2", L2Norm(1.0), SoftMaxLoss()),
            ("L1", L1Norm(0.3), SoftMaxLoss()), ("L1 2", L1Norm(2.0), SoftMaxLoss()),
            ("elastic net", ElasticNet(0.3, 0.2), SoftMaxLoss()),
            ("with the loss", L2Norm(0.5), SoftMaxLoss(0.3, loss_augmented=True)),
            ("L1 with the loss", L1Norm(2.0), SoftMaxLoss(0.3, loss_augmented=True)),
        )
    },
    **{
        f"softening, {epsilon:g}": Row(
            solvers.softening, L2Norm(0.5), SoftMaxLoss(epsilon, loss_augmented=True),
            tol=1e-6, estimate="", exact=False,
        )
        for epsilon in (2.0, 0.3, 0.03)
    },
}  # fmt: skip
ALL = pytest.mark.parametrize("name", TABLE)
# Solvers that take neither edge features nor label sets nor costs.
PLAIN_ONLY = (
    solvers.online_subgradient, solvers.smo, solvers.exponentiated_gradient,
    solvers.block_exponentiated_gradient, solvers.extragradient,
)  # fmt: skip
TAKES_RICH = [
    "block_frank_wolfe, C = 3", "block_frank_wolfe, laplace, linear",
    "block_frank_wolfe, own, exponential", "block_frank_wolfe, variances, quadratic",
    "cutting_plane, C = 3", "one_slack_cutting_plane, C = 3", "subgradient, C = 3",
    "l1_cutting_plane, as it is", "l1_path", "proximal_point, C = 1.3",
    f"projected_subgradient, {L1Ball(1.5)}, {{}}",
    "lbfgs, 1, {}", "lbfgs, 1, {'preconditioned': False}", "owlqn, 0.3",
    "proximal_lbfgs, elastic net", "softening, 0.3",
]  # fmt: skip
# Label sets and costs, but neither edge features nor Potts tables.
TAKES_SETS = [
    "online_exponentiated_gradient, L2", "online_exponentiated_gradient, elastic net",
    "online_exponentiated_gradient, with the loss",
    "online_exponentiated_gradient, L1 with the loss",
]  # fmt: skip
EVERY = pytest.mark.parametrize(
    ("name", "kind"),
    [
        *product(TABLE, KINDS),
        *product(TAKES_RICH, RICH),
        *product(TAKES_SETS, RICH[:1]),
        (f"projected_subgradient, {L1Ball(1.5)}, {{'online': True}}", RICH[0]),
    ],
)
# At one constant, where another would tell nothing more.
ONCE = pytest.mark.parametrize("name", [name for name in TABLE if " = " not in name])


@cache
def optimum(name: str, kind: str) -> float:
    """Least value of the row's problem, by listing all labellings or by a certified library."""
    row = TABLE[name]
    problem = row.problem(make_data(kind))
    norm = problem.regulariser
    if isinstance(row.loss, SoftMaxLoss):
        return library(problem)
    if isinstance(norm, Prior):
        return solve_dual(enumerate_problem(problem.data, norm, row.loss.slack)).value
    listed = enumerate_problem(problem.data, GaussianPrior(), row.loss.slack)
    if isinstance(norm, L1Norm):
        return solve_l1m3n(listed).value
    if isinstance(norm, SquaredL1Norm):
        return solve_squared_l1(listed, norm.scale).value
    if isinstance(norm, L1Ball):
        return solve_l1_ball(listed, norm.radius).value
    return least_in_l2_ball(listed, norm.radius)


def library(problem: Problem) -> float:
    """Minimise a soft-max problem by L-BFGS-B; w = u - v with u, v >= 0 makes magnitudes linear."""
    n, l1, l2 = problem.weight_shape.size, problem.elastic_net.l1, problem.elastic_net.l2

    def objective(x):
        loss, gradient = soft_max.smooth_part(problem, x[:n] - x[n:])
        return loss + l1 * x.sum(), np.concatenate([gradient, -gradient]) + l1

    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-9}
    if l1 == 0:
        smooth = partial(soft_max.smooth_part, problem)
        found = minimize(smooth, np.zeros(n), jac=True, method="L-BFGS-B", options=options)
        return certified_minimum(found, l2)
    bounds = [(0, None)] * (2 * n)
    found = minimize(objective, np.zeros(2 * n), jac=True, bounds=bounds, options=options)
    assert_no_lower_at_non_negative(found, atol=1e-3 * l1)
    return float(found.fun)


def least_in_l2_ball(listed, radius: float) -> float:
    """At some variance the solution of M3N lies on the sphere; then no weights inside do better."""
    low, high = 1e-4, 1e2
    for _ in range(60):
        middle = np.sqrt(low * high)
        solution = solve_dual(replace(listed, prior=GaussianPrior(middle)))
        low, high = (middle, high) if np.linalg.norm(solution.w) < radius else (low, middle)
    return listed.penalty(listed.xi(solution.w))


def copied(iterate: Iterate) -> Iterate:
    """Keep what is live."""
    iterate = replace(iterate, weights=iterate.weights.copy())
    if iterate.dual is None:
        return iterate
    dual = iterate.dual()
    return replace(iterate, dual=lambda: dual)


def first(name: str, n: int, problem: Problem, seed: int = 0) -> list[Iterate]:
    return [copied(each) for each in islice(TABLE[name].at_work(problem, seed), n)]


@EVERY
def test_optimum(name, kind):
    """The certificate encloses it, is what the result holds, and is as close as was asked for."""
    row, best = TABLE[name], optimum(name, kind)
    problem = row.problem(make_data(kind))
    result = row.solve(problem)
    assert result.converged, result.status
    allowed = 1e-7 * abs(best)
    assert result.dual <= best + allowed
    assert best - allowed <= result.primal <= best + 1.01 * row.tol * abs(best) + allowed
    assert result.primal == pytest.approx(problem.primal(result.weights), rel=1e-12)
    dual = result.marginals if result.alpha is None else result.alpha
    if dual is not None:
        assert dual.is_feasible(problem.data)
        assert result.dual == pytest.approx(problem.dual(dual), rel=1e-12)
    if isinstance(problem.regulariser, GaussianPrior):
        variance = np.broadcast_to(problem.regulariser.prior_variance, result.weights.shape)
        np.testing.assert_allclose(result.variance, variance, rtol=1e-12)


@EVERY
def test_every_pass(name, kind):
    """Bounds enclose the optimum, estimates are what they are said to be, and nothing gets worse."""
    row, best = TABLE[name], optimum(name, kind)
    data = make_data(kind)
    problem, calls, last = row.problem(data), [], None
    allowed = 1e-7 * abs(best)
    for iterate in first(name, 40, problem):
        calls.append(iterate.n_oracle_calls)
        certificate = iterate.certify(problem)
        assert certificate.dual <= best + allowed
        assert best - allowed <= certificate.primal
        assert certificate.primal == pytest.approx(problem.primal(iterate.weights), rel=1e-12)
        assert np.isfinite(certificate.gap)
        assert iterate.gap_estimate >= -allowed
        if row.exact:
            close = pytest.approx(certificate.gap, rel=1e-6, abs=allowed)
            assert iterate.gap_estimate == close
        if row.estimate:
            value = getattr(certificate, row.estimate)
            assert iterate.objective_estimate == pytest.approx(value, rel=1e-7, abs=allowed)
            rise = 0.0 if last is None else iterate.objective_estimate - last
            assert not row.monotone or (rise if row.estimate == "primal" else -rise) <= allowed
            last = iterate.objective_estimate
        if iterate.dual is not None:
            judge_dual_variables(row, problem, iterate)
    assert (np.diff([0, *calls]) >= 0).all()
    assert 0 < calls[0] < calls[-1]


def judge_dual_variables(row: Row, problem: Problem, iterate: Iterate) -> None:
    """Feasible; each labelling once, in the order of samples; and no forbidden transition."""
    data, dual = problem.data, iterate.dual()
    assert dual.is_feasible(data)
    if not isinstance(row.loss, MarginLoss) or isinstance(row.loss.slack, LinearSlack):
        totals = dual.totals(data)
        assert (totals <= problem.C * (1 + 1e-9)).all()
        if (
            row.solver is solvers.one_slack_cutting_plane
        ):  # what it shares out is of wrong labellings
            assert (dual.losses(data) > 0).all()
        if row.solver in FILLED:
            np.testing.assert_allclose(totals, problem.C, rtol=1e-9)
    else:
        assert (dual.losses(data) > 0).all()
    if row.tied:
        prior, eta = problem.regulariser, dual.eta(data)
        assert ((prior.domain[0] < eta) & (eta < prior.domain[1])).all()
        np.testing.assert_allclose(iterate.weights, prior.mean(eta), rtol=1e-6, atol=1e-9)
    if isinstance(dual, DualVariables):
        assert (np.diff(dual.sample) >= 0).all()
        ends = zip(dual.sample, dual.offsets[:-1], dual.offsets[1:], strict=True)
        labellings = {(i, *dual.labels[a:b]) for i, a, b in ends}
        assert len(labellings) == len(dual)
    elif not isinstance(dual, ModelDistributions):
        assert dual.node.shape == (data.samples.n_nodes, data.n_labels)
        assert not dual.edge[~data.allowed_pairs[data.samples.edge_kinds]].any()


NOT_PLAIN = [(RICH[0], "allowed_labels"), (RICH[1], "edge features"), ("chain costs", "label_")]
BAD_EDGES = [(RICH[1], "edge features"), ("chain potts", "Potts tables")]
REFUSING = [
    *product(PLAIN_ONLY, NOT_PLAIN), *product([solvers.online_exponentiated_gradient], BAD_EDGES)
]  # fmt: skip


@pytest.mark.parametrize(("solver", "refused"), REFUSING)
def test_solvers_that_refuse(solver, refused):
    kind, what = refused
    problem = Problem(make_data(kind), MARGIN, GaussianPrior())
    with pytest.raises(TypeError, match=f"^this solver takes no {what}"):
        next(solver(problem, rng=np.random.default_rng(0)))


@ONCE
def test_same_seed_same_iterates_with_any_number_of_workers(name, small_groups):
    row, data = TABLE[name], make_data(KINDS[1], n_samples=12)
    assert small_groups(data.samples) > 1
    one, again, threaded = (first(name, 6, row.problem(data, n_jobs)) for n_jobs in (1, 1, 2))
    for other in (again, threaded):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a.weights, b.weights)
            assert (a.gap_estimate, a.n_oracle_calls) == (b.gap_estimate, b.n_oracle_calls)
    other_seed = first(name, 6, row.problem(data), seed=1)
    differ = not np.array_equal(one[-1].weights, other_seed[-1].weights)
    assert differ == row.draws


@ONCE
def test_order_of_samples_and_counting_one_twice_do_not_matter(name):
    """Samples in another order, one of them twice in place of its weight: the same optimum."""
    row, data = TABLE[name], make_data(KINDS[1])
    index = np.array([3, 0, 4, 1, 2, 0])
    labels = np.concatenate([data.samples.split(data.labels)[i] for i in index])
    weight = data.sample_weight[index] * np.where(index == 0, 0.5, 1.0)
    other = label_samples(data.samples.take(index), labels, data.allowed, weight)
    problem, shuffled = row.problem(data), row.problem(other)
    one, two = row.solve(problem), row.solve(shuffled)
    assert two.converged
    assert problem.primal(two.weights) == pytest.approx(two.primal, rel=1e-9)
    assert two.primal == pytest.approx(one.primal, rel=1.01 * row.tol)


@ONCE
def test_features_that_say_nothing(name):
    """All 0, and single nodes: finite numbers, and a gap that closes."""
    samples = pack([np.zeros((2, 2)), np.zeros((1, 2))])
    data = label_samples(samples, np.array([0, 1, 1]), np.ones((1, 2, 2), dtype=bool))
    problem = TABLE[name].problem(data)
    tol = max(TABLE[name].tol, 1e-2)
    result = run(TABLE[name].at_work(problem), problem, tol=tol, max_iter=MOST)
    assert result.converged, result.status
    assert np.isfinite(result.weights).all()


@cache
def digit_words() -> tuple[Problem, SolveResult]:
    """Problem with more labels, features and nodes than enumeration takes, and its solution."""
    words = load_digit_words(n_train=20, n_test=1)
    X, y = zip(*((words.data[i], words.target[i]) for i in words.train), strict=True)
    problem = Problem.of(X, y, MarginLoss(LinearSlack(C=0.1)), GaussianPrior())
    return problem, TABLE["block_frank_wolfe, C = 3"].solve(problem)


@pytest.mark.parametrize("name", [f"{name}, C = 3" for name in M3N if name != "block_frank_wolfe"])
def test_optimum_of_digit_words(name):
    problem, best = digit_words()
    assert best.converged
    result, allowed = TABLE[name].solve(problem), 1.01 * TABLE[name].tol
    assert result.converged, result.status
    assert result.primal <= best.primal * (1 + allowed)
    assert result.dual >= best.dual * (1 - allowed)


WEIGHTS = [np.zeros(3), np.full(18, np.nan), np.zeros((6, 3))]
BY_SOLVER = {row.solver: name for name, row in TABLE.items()}
WITH_STEPS = [solvers.exponentiated_gradient, solvers.block_exponentiated_gradient]
OTHERS = [solver for solver in M3N_SOLVERS.values() if solver is not solvers.block_frank_wolfe]
L1 = [solvers.l1_cutting_plane, solvers.l1_path, solvers.proximal_point]
SPARSE = [solvers.owlqn, solvers.proximal_lbfgs]
VISITS = solvers.online_exponentiated_gradient
BAD_OPTIONS = [
    (solvers.block_frank_wolfe, {"capacity": 0}, "capacity is 0; expected a whole number of at"),
    (solvers.block_frank_wolfe, {"n_cached_rounds": -1}, "n_cached_rounds is -1"),
    (solvers.smo, {"n_steps": 0}, "n_steps"),
    *((each, {"beta": 0.0}, "beta") for each in (solvers.subgradient, solvers.online_subgradient)),
    *((each, {"step": 0.0}, "step") for each in WITH_STEPS),
    *((solvers.extragradient, {option: -1.0}, option) for option in ("step", "ratio")),
    *(
        (solver, option, next(iter(option)))
        for solver in (solvers.cutting_plane, solvers.one_slack_cutting_plane)
        for option in ({"precision": 0.0}, {"patience": 0}, {"qp_iteration_limit": 0})
    ),
    *(
        (solver, {"warm_start": start}, "warm_start has shape .*; expected 18 finite weights")
        for solver in (solvers.lbfgs, VISITS, *SPARSE)
        for start in WEIGHTS
    ),
    *(
        (solver, {"memory": -1}, "memory is -1; expected a whole number of at least 0")
        for solver in (solvers.lbfgs, *SPARSE)
    ),
    *(
        (solvers.projected_subgradient, {"beta": beta}, "beta is .*; expected a finite number > 0")
        for beta in (0, -1.0, np.inf)
    ),
    (solvers.l1_cutting_plane, {"smoothing": 1.0}, "smoothing is 1.0; expected a share from 0 to"),
    (solvers.l1_cutting_plane, {"patience": -1}, "patience is -1"),
    (solvers.adaptive_m3n, {"threshold": -1.0}, "threshold"),
    (solvers.adaptive_m3n, {"n_iterations": 0}, "n_iterations"),
    (solvers.adaptive_m3n, {"solver": "simplex"}, "expected one of"),
]  # fmt: skip
BAD_PROBLEMS = [
    *((each, {"regulariser": LaplacePrior()}, "prior is LaplacePrior.* expects a GaussianPrior")
      for each in OTHERS),
    *((each, {"loss": MarginLoss(QuadraticSlack(1.0))}, "slack is Quadratic.* expects a LinearSlack")
      for each in (*OTHERS, *L1, solvers.projected_subgradient)),
    *((each, {"regulariser": norm}, "expects L1Norm")
      for each in L1 for norm in (SquaredL1Norm(1.0), L1Ball(1.0), L1Norm(2.0))),
    *((each, {"regulariser": L2Norm(1.0)}, "expects an L1Norm or an ElasticNet with l1 > 0")
      for each in SPARSE),
    *((each, {"loss": MARGIN}, "expected a SoftMaxLoss") for each in (*SPARSE, VISITS)),
    *((VISITS, {"regulariser": other}, "L2Norm, L1Norm or ElasticNet")
      for other in (GaussianPrior(), L1Ball(1.0))),
    (solvers.projected_subgradient, {"regulariser": L1Norm()},
     r"the norm is L1Norm\(.*\); .* an L1Ball or an L2Ball"),
    *((solvers.adaptive_m3n, {"regulariser": norm}, r"expected L1Norm\(\) or a Squared")
      for norm in (L1Ball(1.0), L1Norm(2.0))),
    (solvers.variational_laplace, {}, "expected a LaplacePrior, for which Algorithm 1 is made"),
    (solvers.block_frank_wolfe, {"regulariser": L1Norm()},
     r"^the regulariser is L1Norm\(scale=0\.5\), and its conjugate has kinks;"),
    (solvers.block_frank_wolfe, {"regulariser": L2Ball(1.0)},
     r"^the regulariser is L2Ball\(.*\), which has no log_mgf;"),
    (solvers.block_frank_wolfe, {"loss": SoftMaxLoss()},
     r"^the loss is SoftMaxLoss\(.*\); expected a MarginLoss\.$"),
]  # fmt: skip
NO_DUAL = r"warm_start is array.*; expected DualVariables"
NO_SOLUTION = r"warm_start is DualVariables.*; expected a SolveResult"
NO_PENALTY = "needs l2 > 0 and loss_augmented=True"
REFUSED = [
    *((solver, {}, options, ValueError, words) for solver, options, words in BAD_OPTIONS),
    *((solver, changes, {}, TypeError, words) for solver, changes, words in BAD_PROBLEMS),
    *((each, {}, {"warm_start": DualVariables.empty()}, TypeError, NO_SOLUTION) for each in L1),
    (solvers.block_frank_wolfe, {}, {"warm_start": np.zeros(8)}, TypeError, NO_DUAL),
    (
        VISITS,
        {"regulariser": L2Norm(0.0)},
        {},
        ValueError,
        r"L2Norm\(scale=0\.0\); .* use lbfgs\.$",
    ),
    (VISITS, {}, {"rng": 3}, TypeError, "^rng is 3; expected "),
    (solvers.softening, {"loss": SoftMaxLoss()}, {}, ValueError, NO_PENALTY),
    (solvers.softening, {"regulariser": L2Norm(0.0)}, {}, ValueError, NO_PENALTY),
]


@pytest.mark.parametrize(("solver", "changes", "options", "error", "message"), REFUSED)
def test_what_a_solver_refuses(solver, changes, options, error, message):
    usual = TABLE.get(BY_SOLVER.get(solver, ""), Row(solver, GaussianPrior()))
    row = replace(usual, **changes)
    with pytest.raises(error, match=message):
        next(row.at_work(row.problem(make_data(KINDS[0])), **options))
