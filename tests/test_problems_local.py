"""The local problem against factor graphs, differences and its optimum; what a power of a norm costs."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from loopy_programs import make_graphs, make_problem, messages_of, program_of, random_point

from medn_edu import CRF, Graph
from medn_edu.inference.loopy.walk import MessageWalk
from medn_edu.problems import LocalPoint, LocalProblem, PowerNorm
from medn_edu.results import run
from medn_edu.samples import label_samples, pack
from medn_edu.solvers import epsilon_continuation, nested_lbfgs, swept_lbfgs

PLAIN = ["ring", "crossed types potts", "ring edges costs", "crossed ising"]
RICH = [
    "mixed types costs weights",
    "mixed sets edges",
    "mixed potts",
    "mixed sets forbidden types",
]
CERTIFIED = [None, "ones", "conditional", "trw", "convexified-bethe", (0.5, 2.0), (-0.2, 1.0)]


def cases():
    for words in PLAIN:
        for n_labels in (2, 3):
            if n_labels == 2 or "ising" not in words:
                yield words, n_labels


@pytest.mark.parametrize(("words", "n_labels"), [*cases()])
@pytest.mark.parametrize(
    ("epsilon", "numbers", "p"), [(1.0, "ones", 2.0), (0.3, (0.5, 2.0), 1.2), (0.0, "ones", 1.5)]
)
def test_primal_is_theorem_2_and_its_gradient_lemma_4(words, n_labels, epsilon, numbers, p):
    problem = make_problem(words, epsilon, numbers, p=p, n_labels=n_labels)
    program = program_of(problem)
    weights, point = random_point(problem, np.random.default_rng(1))
    lam = messages_of(problem, point.messages)
    value = program.value(weights, lam)
    assert problem.upper(weights, point) == pytest.approx(value, rel=1e-12)
    smooth, slope, *_ = problem.smooth_part(weights, problem.states(weights, point.messages))
    assert smooth + problem.power_norm.value(weights) == pytest.approx(value, rel=1e-12)
    slope = slope + problem.power_norm.gradient(weights)
    np.testing.assert_allclose(slope, program.gradient(weights, lam), atol=1e-10)


@pytest.mark.parametrize("words", [*PLAIN, *RICH])
@pytest.mark.parametrize("epsilon", [1.0, 0.02])
def test_slopes_where_beliefs_disagree(words, epsilon):
    """Of weights and of messages; the lower temperature leaves the range of powers."""
    problem = make_problem(words, epsilon, "ones")
    rng = np.random.default_rng(2)
    weights, point = random_point(problem, rng, size=0.5 if epsilon == 1 else 3.0)
    states = problem.states(weights, point.messages)
    assert problem.disagreement(weights, point) > 0.1
    _, slope, *_ = problem.smooth_part(weights, states)
    slope = slope + problem.power_norm.gradient(weights)
    step = 1e-6
    for k in rng.choice(len(weights), 4):
        ends = [weights + sign * step * np.eye(len(weights))[k] for sign in (1, -1)]
        rise = problem.upper(ends[0], point) - problem.upper(ends[1], point)
        assert rise / (2 * step) == pytest.approx(slope[k], abs=2e-6 / epsilon)
    for graphs, state in zip(problem.graphs, states, strict=True):
        told = state.potentials.zero_messages() == 0.0
        walk = MessageWalk(state, problem.weight_of(graphs), told)
        vector = 0.5 * rng.normal(size=walk.size)
        slopes, bends = np.empty(walk.size), np.empty(walk.size)
        sums = np.zeros((len(problem.data.allowed_pairs), *[problem.data.n_labels] * 2))
        values, _ = walk.sweep_and_evaluate(vector, 0, slopes, bends, sums)

        def bound(vector, walk=walk, graphs=graphs, state=state):
            total = np.zeros(len(graphs.samples))
            state.messages = walk.messages(vector)
            state.terms(total)
            return float(problem.weight_of(graphs) @ total)

        assert problem.weight_of(graphs) @ values == pytest.approx(bound(vector), rel=1e-10)
        free = np.flatnonzero(walk.told[:, 1:].ravel())
        for k in rng.choice(free, 4):
            ends = [vector + sign * step * np.eye(walk.size)[k] for sign in (1, -1)]
            rise = bound(ends[0]) - bound(ends[1])
            assert rise / (2 * step) == pytest.approx(slopes[k], abs=2e-6 / epsilon)


def solved(problem: LocalProblem, tol: float = 1e-6):
    solver = epsilon_continuation if problem.epsilon == 0 else nested_lbfgs
    if problem.epsilon > 0 and problem.is_plain:
        solver = swept_lbfgs
    return run(solver(problem), problem, tol=tol, max_iter=3000)


@pytest.mark.parametrize(("words", "n_labels"), [*((words, 2) for words in RICH), (RICH[0], 3)])
@pytest.mark.parametrize(
    ("epsilon", "p", "all_numbers"),
    [
        (1.0, 2.0, CERTIFIED),
        (0.1, 1.5, [None, "trw"]),
        (0.0, 2.0, [None]),
        (0.0, 1.2, [(0.5, 2.0)]),
    ],
)
def test_both_bounds_hold_anywhere(words, n_labels, epsilon, p, all_numbers):
    """At random weights, messages and beliefs, and near the optimum, where they are tight."""
    rng = np.random.default_rng(3)
    for numbers in all_numbers:
        problem = make_problem(words, epsilon, numbers, p=p, n_labels=n_labels)
        best = solved(problem, 1e-3 if epsilon > 0 else 1e-2)
        assert best.converged
        rounding = 1e-9 * best.primal
        for size, n_sweeps in ((0.1, 0), (1.0, 0), (1.0, 1), (5.0, 2)):
            weights, point = random_point(problem, rng, size, n_sweeps)
            found = problem.certify(weights, point)
            assert found.primal >= best.dual - rounding
            assert found.dual <= best.primal + rounding
            near = problem.certify(
                best.weights + 1e-3 * rng.normal(size=len(weights)), best.marginals
            )
            assert near.primal >= best.dual - rounding
            assert near.dual <= best.primal + rounding


def test_labels_that_have_no_partner_left_are_ruled_out():
    """A neighbour's label set and a forbidden pair together: the messages stay finite."""
    edges = [[0, 1], [1, 2], [0, 2]]
    sets = [[1], [0, 1], [0, 1]]
    X = [Graph(np.eye(3), edges, allowed_labels=sets), Graph(np.eye(3) + 1.0, edges)]
    model = CRF(forbidden=[(1, 0)], tol=1e-6, n_jobs=1).fit(X, [[1, 1, 1], [0, 0, 0]])
    assert model.result_.converged
    np.testing.assert_array_equal(model.predict(X)[0], [1, 1, 1])
    np.testing.assert_allclose(model.predict_marginals(X)[0][:, 1], 1.0)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("words", ["ring forbidden", "mixed sets forbidden"])
def test_beliefs_that_need_forbidden_pairs_do_not_count(words, n_labels):
    """Those that would be best without restrictions exceed what is best with them."""
    data = make_graphs(words, n_labels=n_labels)
    norm, numbers = PowerNorm(1e9), (20.0, 1.0)  # weights are all but 0; nodes' beliefs count most
    problem = LocalProblem(data, 1.0, norm, numbers)
    everything = replace(data, allowed=np.ones_like(data.allowed))
    best, free = solved(problem), solved(LocalProblem(everything, 1.0, norm, numbers))
    assert free.dual > best.primal + 0.1
    point = LocalPoint(best.marginals.messages, free.marginals.beliefs, 1.0)
    found = problem.certify(best.weights, point)
    assert found.dual <= best.primal * (1 + 1e-9)


@pytest.mark.parametrize("words", ["ring", "mixed types costs weights", "crossed potts"])
def test_temperature_and_counting_numbers_are_one(words):
    """``(epsilon, k c)`` is the same problem as ``(k epsilon, c)``, point by point."""
    first, second = make_problem(words, 0.4, (1.5, 3.0)), make_problem(words, 1.2, (0.5, 1.0))
    weights, point = random_point(first, np.random.default_rng(4))
    found = first.certify(weights, point)
    other = second.certify(weights, LocalPoint(point.messages, point.beliefs, 1.2))
    assert found.primal == pytest.approx(other.primal, rel=1e-12)
    assert found.dual == pytest.approx(other.dual, rel=1e-9)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_what_a_temperature_costs(n_labels):
    """The gap at 0 exceeds that at a temperature by at most the largest entropy, wherever one is."""
    hard = make_problem("mixed weights", 0.0, "ones", n_labels=n_labels)
    rng = np.random.default_rng(5)
    entropy = sum(
        hard.weight_of(graphs).sum() * (len(c.node) + 2 * len(c.edge)) * np.log(n_labels)
        for graphs, c in zip(hard.graphs, hard.numbers, strict=True)
    )
    for epsilon in (2.0, 0.3, 0.01):
        smooth = hard.at_temperature(epsilon)
        for n_sweeps in (0, 3, 20):
            weights, point = random_point(smooth, rng, 0.5, n_sweeps)
            at_zero, warm = hard.certify(weights, point), smooth.certify(weights, point)
            assert at_zero.primal <= warm.primal + 1e-9
            assert at_zero.dual >= warm.dual - epsilon * entropy - 1e-9
            assert at_zero.gap <= warm.gap + epsilon * entropy + 1e-9


def changed(problem: LocalProblem, seed: int = 0):
    """Yield the same problem with labels flipped, nodes permuted, edges turned, samples reordered."""
    rng = np.random.default_rng(seed)
    samples = problem.data.samples
    labels = samples.split(problem.data.labels)
    graphs = []
    for i in range(samples.n_samples):
        nodes = slice(*samples.offsets[i : i + 2])
        rows = slice(*samples.edge_offsets[i : i + 2])
        features = samples.features[nodes].toarray()
        graphs.append(
            (features, samples.edges[rows] - samples.offsets[i], samples.edge_types[rows])
        )
    places = [rng.permutation(len(x)) for x, _, _ in graphs]
    turned = [
        Graph(x, np.where(rng.random((len(e), 1)) < 0.5, e, e[:, ::-1]), t) for x, e, t in graphs
    ]
    moved = [
        Graph(x[place], np.argsort(place)[e], t)
        for (x, e, t), place in zip(graphs, places, strict=True)
    ]
    plain = [Graph(*each) for each in graphs]
    for X, y in (
        (plain, [1 - y for y in labels]),
        (moved, [y[place] for y, place in zip(labels, places, strict=True)]),
        (turned, labels),
        (plain[::-1], labels[::-1]),
    ):
        yield label_samples(pack(X), np.concatenate(y), problem.data.allowed, table="potts")


@pytest.mark.parametrize("epsilon", [0.5, 0.0])
def test_what_changes_nothing(epsilon):
    problem = make_problem("mixed types potts", epsilon)
    best = solved(problem)
    for data in changed(problem):
        other = solved(LocalProblem(data, epsilon, problem.power_norm))
        assert other.primal == pytest.approx(best.primal, rel=1e-5)
        assert other.dual == pytest.approx(best.dual, rel=1e-5)


@pytest.mark.parametrize("words", ["mixed types", "mixed sets costs"])
def test_weights_of_samples_are_copies_of_them(words):
    data = make_graphs(words)

    def taken(index: list[int], weight: list[float]):
        def rows(per_node):
            return None if per_node is None else np.concatenate(
                [data.samples.split(per_node)[i] for i in index]
            )  # fmt: skip

        return label_samples(
            data.samples.take(np.array(index)), rows(data.labels), data.allowed, weight,
            mask=rows(data.allowed_labels), costs=rows(data.costs), table=data.table,
        )  # fmt: skip

    twice, weighted = taken([0, 1, 1, 2], [1, 1, 1, 1]), taken([0, 1, 2], [1, 2, 1])
    first, second = (solved(LocalProblem(d, 0.5, PowerNorm(0.7))) for d in (twice, weighted))
    assert first.primal == pytest.approx(second.primal, rel=1e-5)
    np.testing.assert_allclose(first.weights, second.weights, atol=0.01)


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ("bethe", "counting_numbers 'bethe' are not concave on the graph of sample 0"),
        ((-3.0, 1.0), r"counting_numbers \(-3.0, 1.0\) are not concave"),
        ((1.0, 0.0), r"counting_numbers \(1.0, 0.0\) leave out the entropy of some edges"),
        ((1.0, -1.0), "counting_numbers is .*; expected .* the second not negative"),
        ("beth", "counting_numbers is 'beth'; expected one of 'ones'"),
        (7, "counting_numbers is 7; expected"),
        ("conditional", "leave out the entropy of node 2 of sample 1, which has no edges"),
    ],
)
def test_counting_numbers_that_cannot_be_certified(numbers, said):
    with pytest.raises(ValueError, match=said):
        make_problem("crossed pair", 1.0, numbers)


@pytest.mark.parametrize("numbers", ["bethe", "conditional", (0.0, 0.0), (-3.0, 1.0)])
def test_at_zero_counting_numbers_do_not_matter(numbers):
    problem = make_problem("mixed", 0.0, numbers)
    assert solved(problem, 1e-4).primal == pytest.approx(
        solved(make_problem("mixed", 0.0), 1e-4).primal, rel=1e-3
    )


@pytest.mark.parametrize("epsilon", [-1.0, np.nan, "warm"])
def test_temperatures_that_are_refused(epsilon):
    with pytest.raises((ValueError, TypeError), match="epsilon"):
        make_problem("ring", epsilon)


# -- powers of a norm -----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [2.0, 1.5, 1.1, 1.001])
def test_a_power_of_a_norm_and_its_conjugate(p):
    """Fenchel's inequality, tight at the gradient; for ``p`` near 1 the conjugate takes logarithms."""
    rng = np.random.default_rng(6)
    norm = PowerNorm(0.3, p)
    w = rng.normal(size=5)
    eta = norm.gradient(w)
    assert norm.value(w) + norm.conjugate(eta) == pytest.approx(w @ eta, rel=1e-9)
    assert norm.value(w) + norm.conjugate(0.999 * eta) >= 0.999 * (w @ eta)
    assert norm.conjugate(np.zeros(3)) == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert norm.conjugate(np.array([1e-200, 0.0])) == pytest.approx(0.0)
        assert norm.conjugate(np.full(2, 1e200)) > 1e100
    if p < 2:
        slope = (norm.value(w + 1e-6) - norm.value(w - 1e-6)) / 2e-6
        assert slope == pytest.approx(norm.gradient(w).sum(), rel=1e-6)


@pytest.mark.parametrize("p", [2.0, 1.5, 1.1, 1.001])
@pytest.mark.parametrize("step", [1e-6, 1.0, 1e6])
def test_proximal_steps_are_where_the_slope_vanishes(p, step):
    norm = PowerNorm(0.7, p)
    w = np.array([-3.0, -1e-3, 0.0, 1e-9, 0.5, 1e5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = norm.prox(w, step)
    assert np.array_equal(np.sign(x[x != 0]), np.sign(w[x != 0]))
    assert (np.abs(x) <= np.abs(w)).all()
    moved = x != 0  # where p is near 1 some are too small for a float
    back = x + step * norm.gradient(x)
    np.testing.assert_allclose(back[moved], w[moved], rtol=1e-7)
    assert moved.sum() >= 5 * (p > 1.01)


@pytest.mark.parametrize(
    ("C", "p", "said"),
    [(0.0, 2.0, "C is 0"), (1.0, 1.0, "p is 1"), (1.0, 2.5, "p is 2.5"), (np.nan, 2.0, "C is nan")],
)
def test_norms_that_are_refused(C, p, said):
    with pytest.raises(ValueError, match=said):
        PowerNorm(C, p)
