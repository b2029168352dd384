"""Block-coordinate Frank-Wolfe against general convex solvers, and what it promises of itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.samples import Forest, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_frank_wolfe

N_LABELS, N_FEATURES = 3, 4
FORBIDDEN = (0, 2)


def make_problem(kind: str, C: float, seed: int = 0, n_samples: int = 5) -> Problem:
    """Return a small problem whose labels come from a noisy random model."""
    rng = np.random.default_rng(seed)
    n_types = 2 if "types" in kind else 1
    allowed = np.ones((n_types, N_LABELS, N_LABELS), dtype=bool)
    if "forbidden" in kind:
        allowed[:, FORBIDDEN[0], FORBIDDEN[1]] = False
    forests = []
    for _ in range(n_samples):
        n = int(rng.integers(1, 4))
        features = rng.normal(size=(n, N_FEATURES)) * (rng.random((n, N_FEATURES)) < 0.7)
        if "tree" in kind:
            parents = [-1] + [int(rng.integers(-1, t)) for t in range(1, n)]
        else:
            parents = list(range(-1, n - 1))
        forests.append(Forest(features, parents, rng.integers(0, n_types, size=n)))
    samples = pack(forests)
    coef = rng.normal(size=(N_FEATURES, N_LABELS))
    noisy = samples.features @ coef + rng.normal(size=(samples.n_nodes, N_LABELS))
    codes = noisy.argmax(axis=1)
    for t in range(samples.n_nodes):
        parent = samples.parents[t]
        if parent >= 0 and not allowed[0, codes[parent], codes[t]]:
            codes[t] = codes[parent]
    weight = rng.uniform(0.5, 2.0, size=n_samples) if "weights" in kind else None
    data = label_samples(samples, codes, allowed, weight)
    return Problem(data, MarginLoss(LinearSlack(C=C)), GaussianPrior())


def enumerate_labellings(problem: Problem) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each sample all allowed ``f(x, y_i) - f(x, y)``, in rows, and their losses."""
    data, samples = problem.data, problem.data.samples
    X = samples.features.toarray()
    out = []
    for i in range(samples.n_samples):
        nodes = range(samples.offsets[i], samples.offsets[i + 1])
        true = data.labels[samples.offsets[i] : samples.offsets[i + 1]]
        differences, losses = [], []
        for y in itertools.product(range(data.n_labels), repeat=len(nodes)):
            coef = np.zeros((data.n_labels, samples.n_features))
            transitions = np.zeros(data.allowed.shape)
            fine = True
            for t, a, b in zip(nodes, true, y, strict=True):
                coef[a] += X[t]
                coef[b] -= X[t]
                if samples.parents[t] >= 0:
                    p, e = samples.parents[t] - nodes[0], samples.edge_types[t]
                    transitions[e, true[p], a] += 1
                    transitions[e, y[p], b] -= 1
                    fine &= bool(data.allowed[e, y[p], b])
            if fine:
                differences.append(np.concatenate([coef.ravel(), transitions.ravel()]))
                losses.append(np.sum(np.array(y) != true))
        out.append((np.array(differences), np.array(losses, dtype=float)))
    return out


def optimum(problem: Problem) -> tuple[float, float]:
    """Solve the dual by SLSQP over all labellings; return it and the primal at its weights."""
    blocks = enumerate_labellings(problem)
    sizes = [len(losses) for _, losses in blocks]
    D = np.concatenate([d for d, _ in blocks])
    loss = np.concatenate([losses for _, losses in blocks])
    owner = np.repeat(np.arange(len(blocks)), sizes)
    member = (owner == np.arange(len(blocks))[:, None]).astype(float)
    start = problem.C[owner] / np.array(sizes)[owner]
    result = minimize(
        lambda a: (a @ D) @ (a @ D) / 2 - a @ loss,
        start,
        jac=lambda a: D @ (a @ D) - loss,
        bounds=[(0, None)] * len(loss),
        constraints={
            "type": "eq",
            "fun": lambda a: member @ a - problem.C,
            "jac": lambda a: member,
        },
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-10},
    )
    w = result.x @ D
    xi = np.array([np.max(losses - d @ w) for d, losses in blocks])
    return -result.fun, w @ w / 2 + problem.C @ xi


def passes(problem: Problem, n: int, seed: int = 0, **options) -> list:
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(seed), **options)
    return list(itertools.islice(iterates, n))


@pytest.mark.parametrize("C", [0.1, 3.0])
@pytest.mark.parametrize(
    "kind", ["chain", "tree", "chain types", "tree types forbidden weights", "chain forbidden"]
)
def test_optimum_of_a_general_solver(kind, C):
    problem = make_problem(kind, C)
    dual, primal = optimum(problem)
    assert primal - dual < 1e-4 * primal  # the oracle itself is certified
    iterate = passes(problem, 400)[-1]
    alpha = iterate.dual()
    assert problem.primal(iterate.weights) <= primal * (1 + 1e-4)
    assert problem.dual(alpha) == pytest.approx(dual, rel=1e-4)
    assert problem.primal(iterate.weights) - problem.dual(alpha) < 1e-4 * primal
    assert iterate.gap_estimate < 1e-3 * primal


@pytest.mark.parametrize("kind", ["chain", "tree types forbidden weights"])
def test_every_iterate_is_feasible_and_its_numbers_are_those_of_the_enumeration(kind):
    problem = make_problem(kind, 2.0, seed=3)
    blocks = enumerate_labellings(problem)
    iterates = block_frank_wolfe(problem, rng=np.random.default_rng(0))
    last = 0.0
    for iterate in itertools.islice(iterates, 12):
        alpha = iterate.dual()
        assert (alpha.values >= 0).all()
        totals = np.bincount(alpha.sample, weights=alpha.values, minlength=problem.n_samples)
        np.testing.assert_allclose(totals, problem.C, rtol=1e-12)
        assert (np.diff(alpha.sample) >= 0).all()
        keys = [
            (i, *alpha.labels[lo:hi])
            for i, lo, hi in zip(alpha.sample, alpha.offsets, alpha.offsets[1:], strict=False)
        ]
        assert len(set(keys)) == len(keys)
        np.testing.assert_allclose(iterate.weights, alpha.eta(problem.data), atol=1e-10)
        assert iterate.objective_estimate == pytest.approx(problem.dual(alpha), rel=1e-9)
        assert iterate.objective_estimate >= last - 1e-12
        last = iterate.objective_estimate
        xi = [np.max(losses - d @ iterate.weights) for d, losses in blocks]
        primal = iterate.weights @ iterate.weights / 2 + problem.C @ np.array(xi)
        assert primal >= last - 1e-9
    assert last > 0


def test_warm_start_continues_where_it_was():
    problem = make_problem("tree types", 2.0, n_samples=20)
    before = passes(problem, 5)[-1]
    alpha = before.dual()
    after = passes(problem, 1, warm_start=alpha)[-1]
    assert after.objective_estimate >= before.objective_estimate - 1e-12
    assert after.objective_estimate == pytest.approx(problem.dual(after.dual()), rel=1e-9)
    np.testing.assert_allclose(after.weights, after.dual().eta(problem.data), atol=1e-10)
    solution = passes(problem, 200)[-1]
    still = passes(problem, 1, warm_start=solution.dual())[-1]
    np.testing.assert_allclose(still.weights, solution.weights, atol=1e-3)


@pytest.mark.parametrize("C", [0.5, 5.0])
def test_warm_start_from_another_bound_is_made_feasible(C):
    alpha = passes(make_problem("chain weights", 2.0, n_samples=20), 30)[-1].dual()
    problem = make_problem("chain weights", C, n_samples=20)
    iterate = passes(problem, 60, warm_start=alpha)[-1]
    totals = np.bincount(iterate.dual().sample, weights=iterate.dual().values)
    np.testing.assert_allclose(totals, problem.C, rtol=1e-12)
    cold = passes(problem, 200)[-1]
    assert iterate.objective_estimate == pytest.approx(cold.objective_estimate, rel=1e-2)


def test_arena_growth_changes_nothing():
    problem = make_problem("tree types", 5.0, n_samples=20)
    tiny, roomy = passes(problem, 10, capacity=1), passes(problem, 10, capacity=64)
    for a, b in zip(tiny, roomy, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
    np.testing.assert_array_equal(tiny[-1].dual().labels, roomy[-1].dual().labels)


def test_products_from_sparse_rows_are_those_of_the_gram_matrix():
    problem = make_problem("tree types", 5.0, n_samples=20)
    # Later passes may part ways: rounding can decide a comparison, and so which block moves how.
    gram = passes(problem, 1)[-1]
    for gram_budget in (0, 200):
        rows = passes(problem, 1, gram_budget=gram_budget)[-1]
        np.testing.assert_allclose(gram.weights, rows.weights, atol=1e-10)
    solved = [passes(problem, 200, gram_budget=budget)[-1] for budget in (0, 64_000_000)]
    np.testing.assert_allclose(solved[0].weights, solved[1].weights, atol=1e-3)


def test_same_generator_same_iterates():
    problem = make_problem("chain", 5.0, n_samples=20)
    first, second, other = passes(problem, 5), passes(problem, 5), passes(problem, 5, seed=1)
    np.testing.assert_array_equal(first[-1].weights, second[-1].weights)
    assert not np.array_equal(first[-1].weights, other[-1].weights)


def test_features_without_values_and_single_nodes():
    samples = pack([np.zeros((2, 2)), np.zeros((1, 2))])
    data = label_samples(samples, np.array([0, 1, 1]), np.ones((1, 2, 2), dtype=bool))
    problem = Problem(data, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    iterate = passes(problem, 50)[-1]
    assert np.isfinite(iterate.weights).all()
    dual, primal = problem.dual(iterate.dual()), problem.primal(iterate.weights)
    assert primal - dual < 1e-3 * primal


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
    samples = pack([np.ones((2, N_FEATURES))] * 6)
    allowed = np.ones((1, N_LABELS, N_LABELS), dtype=bool)
    allowed[0][FORBIDDEN] = False
    data = label_samples(samples, np.tile([0, 1], 6), allowed)
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


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"capacity": 0}, ValueError, "capacity is 0; expected a whole number of at least 1"),
        ({"n_cached_rounds": -1}, ValueError, "n_cached_rounds is -1"),
        ({"warm_start": np.zeros(8)}, TypeError, r"warm_start is array.*; expected DualVariables"),
    ],
)
def test_bad_options_are_named(option, error, message):
    with pytest.raises(error, match=message):
        passes(make_problem("chain", 1.0, n_samples=3), 1, **option)
