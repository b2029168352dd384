"""Messages, bounds and mean field on graphs with cycles, against enumeration and solvers."""

import itertools
import warnings

import numpy as np
import pytest
from loops import SHAPES, draw, exactly, quietly, states
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from medn_edu import Forest, Graph, grid
from medn_edu.inference import Potentials
from medn_edu.inference.loopy import (
    CountingNumbers,
    enumerate_labellings,
    local_polytope,
    loopy_bp,
    mean_field,
    norm_product,
)
from medn_edu.inference.loopy import bounds as bounding
from medn_edu.inference.loopy.graphs import equal_graphs
from medn_edu.inference.loopy.norm_product import hard_form
from medn_edu.samples import pack

NAMES = ["ones", "conditional", "trw", "convexified-bethe", (1.0, 0.5)]


@pytest.mark.parametrize("choice", ["ones", "trw"])
def test_temperature_and_counting_numbers_only_matter_as_products(choice):
    potentials = draw("grid", 3)
    (graphs,) = equal_graphs(potentials.samples)
    c = CountingNumbers.of(choice, graphs)
    one = exactly(potentials, c, 0.6)
    other = exactly(potentials, CountingNumbers(3.0 * c.node, 3.0 * c.edge), 0.2)
    np.testing.assert_allclose(one.beliefs.node, other.beliefs.node, atol=1e-9)
    np.testing.assert_allclose(one.upper, other.upper, atol=1e-9)


def test_beliefs_of_nodes_take_all_counting_numbers_of_their_neighbourhood():
    """And the number of a node itself matters, even where it could be 0."""
    potentials = draw("grid", 2)
    found = {c_v: exactly(potentials, (c_v, 1.0)) for c_v in (0.0, 0.5, 1.0)}
    for answer in found.values():
        edges = potentials.samples.edges
        for end, axis in ((0, 2), (1, 1)):
            marginal = answer.beliefs.edge.sum(axis=axis)
            np.testing.assert_allclose(answer.beliefs.node[edges[:, end]], marginal, atol=1e-9)
    assert np.abs(found[0.0].beliefs.node - found[0.5].beliefs.node).max() > 0.01
    assert np.abs(found[0.5].beliefs.node - found[1.0].beliefs.node).max() > 0.01


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.0])
@pytest.mark.parametrize("choice", NAMES)
def test_bounds_enclose_the_optimum_at_any_messages(choice, epsilon):
    potentials = draw("grid", 3, n_samples=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = norm_product(potentials, choice, epsilon, tol=1e-8, max_sweeps=20_000)
    gap = best.upper - best.lower
    assert (gap > -1e-9).all()
    assert (gap < 2e-2).all()
    state = states(potentials, choice, epsilon)
    form = state.numbers.concave_form(state.potentials.graphs)
    if epsilon == 0:
        form = hard_form(state.potentials.graphs)
    rng = np.random.default_rng(0)
    for size in (0.1, 1.0, 10.0):
        messages = size * rng.normal(size=state.messages.shape)
        upper = bounding.upper_bound(state.potentials, messages, form, epsilon)
        assert (upper > best.lower + 1e-3).all()
        node = rng.dirichlet(np.full(3, 1.0 / size), size=(9, 2)).transpose(0, 2, 1)
        edge = bounding.best_edges(state.potentials, messages, node, state.numbers.edge, epsilon)
        first, second = state.potentials.graphs.ends.T
        np.testing.assert_allclose(edge.sum(axis=2), node[first], atol=1e-12)
        np.testing.assert_allclose(edge.sum(axis=1), node[second], atol=1e-12)
        lower = bounding.local_value(state.potentials, node, edge, state.numbers, epsilon)
        assert (lower < best.upper - 1e-3).all()


@pytest.mark.parametrize("choice", ["ones", "trw"])
def test_sweeps_never_raise_the_bound(choice):
    for epsilon in (1.0, 0.2, 0.0):
        uppers = [
            quietly(
                draw("grid", 3), choice, epsilon, max_sweeps=n, callback=lambda *_: False
            ).upper[0]
            for n in range(1, 12)
        ]
        # That of conditional entropies is taken at messages which are not quite those that descend.
        if choice == "ones" or epsilon == 0:
            assert (np.diff(uppers) < 1e-10).all()
        assert uppers[-1] < uppers[0] - 1e-3


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_trees_are_exact_after_two_sweeps(n_labels, epsilon):
    rng = np.random.default_rng(0)
    forests = [Forest(np.ones((6, 1)), p) for p in ([-1, 0, 0, 1, 1, 4], [-1, -1, 1, 1, 3, -1])]
    samples = pack([*forests, np.ones((1, 1)), np.ones((4, 1))])
    edge = rng.normal(size=(1, n_labels, n_labels))
    potentials = Potentials(samples, rng.normal(size=(samples.n_nodes, n_labels)), edge)
    exact = enumerate_labellings(potentials, epsilon)
    found = quietly(potentials, "bethe", epsilon, max_sweeps=2)
    np.testing.assert_allclose(found.beliefs.node, exact.beliefs.node, atol=1e-12)
    np.testing.assert_allclose(found.beliefs.edge, exact.beliefs.edge, atol=1e-12)
    for value in (found.value, found.upper, found.lower):
        np.testing.assert_allclose(value, exact.value, atol=1e-10)
    found = norm_product(draw("loose", n_labels), "bethe", epsilon)  # a graph, with lonely nodes
    exact = enumerate_labellings(draw("loose", n_labels), epsilon)
    np.testing.assert_allclose(found.beliefs.node, exact.beliefs.node, atol=1e-12)
    np.testing.assert_allclose(found.upper, exact.value, atol=1e-12)


@pytest.mark.parametrize("choice", ["ones", "trw", "conditional", "convexified-bethe"])
def test_the_local_program_is_solved(choice):
    """A general solver finds the same optimum, over probabilities of label 1 and of pairs of them."""
    potentials = draw("triangle")
    state = states(potentials, choice, 0.8)
    phi, ends = state.potentials, state.potentials.graphs.ends

    def tables(x):
        p, both = x[:3], x[3:]
        one, two = p[ends[:, 0]], p[ends[:, 1]]
        rest = 1.0 - one - two + both
        flat = np.stack([rest, two - both, one - both, both], axis=1)
        return np.stack([1.0 - p, p], axis=1)[..., None], flat.reshape(-1, 2, 2)[..., None]

    def cost(x):
        node, edge = (np.maximum(table, 1e-15) for table in tables(x))
        return -bounding.local_value(phi, node, edge, state.numbers, 0.8)[0]

    inside = {
        "type": "ineq",
        "fun": lambda x: np.concatenate([t.ravel() for t in tables(x)]) - 1e-9,
    }
    begin = np.array([0.5] * 3 + [0.25] * 3)
    solved = minimize(cost, begin, method="SLSQP", constraints=inside, options={"ftol": 1e-13})
    found = exactly(potentials, choice, 0.8)
    assert found.upper[0] == pytest.approx(-solved.fun, abs=1e-6)
    np.testing.assert_allclose(found.beliefs.node[:, 1], solved.x[:3], atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_binary_max_product_reaches_the_linear_program(seed):
    potentials = draw("grid", scale=1.0, seed=seed, n_samples=2)
    linear = local_polytope(potentials)
    for choice in ("ones", "trw"):
        found = quietly(potentials, choice, 0.0, tol=1e-13, max_sweeps=20_000)
        np.testing.assert_allclose(found.upper, linear.value, atol=1e-6)
        assert (found.lower <= linear.value + 1e-9).all()


def test_bounds_meet_the_linear_program_as_it_cools():
    potentials = draw("grid", 3, seed=1)
    linear = local_polytope(potentials).value[0]
    found = quietly(potentials, "ones", 0.01, max_sweeps=5000)
    (graphs,) = equal_graphs(potentials.samples)
    most = 0.01 * (graphs.n_nodes * np.log(3) + graphs.n_edges * np.log(9))
    assert found.lower[0] - most <= linear <= found.upper[0]


@pytest.mark.parametrize("choice", ["ones", "trw"])
def test_names_of_labels_and_nodes_do_not_matter(choice):
    potentials = draw("grid", 3)
    n, edges = SHAPES["grid"]
    order, rng = np.random.default_rng(5).permutation(n), np.random.default_rng(6)
    swapped = rng.permutation(len(edges))
    place = np.argsort(order)  # of each old node among the new ones
    ends = place[np.array(edges)[swapped]][:, ::-1]
    samples = pack([Graph(np.ones((n, 1)), ends, np.arange(len(edges)))])
    node = potentials.node[order][:, [2, 0, 1]]
    edge = potentials.edge[swapped].transpose(0, 2, 1)[:, [2, 0, 1]][:, :, [2, 0, 1]]
    for epsilon in (1.0, 0.0):
        one = norm_product(potentials, choice, epsilon, tol=1e-10, max_sweeps=10_000)
        other = norm_product(
            Potentials(samples, node, edge), choice, epsilon, tol=1e-10, max_sweeps=10_000
        )
        np.testing.assert_allclose(one.upper, other.upper, atol=1e-7)
        if epsilon > 0:
            mapped = one.beliefs.node[order][:, [2, 0, 1]]
            np.testing.assert_allclose(other.beliefs.node, mapped, atol=1e-6)


@pytest.mark.parametrize("choice", ["ones", "trw", "bethe"])
def test_both_schedules_end_at_the_same_beliefs(choice):
    potentials = draw("grid", 3)
    one = quietly(potentials, choice, tol=1e-10, max_sweeps=20_000)
    other = quietly(potentials, choice, tol=1e-10, max_sweeps=20_000, schedule="synchronous")
    assert one.converged
    assert other.converged
    np.testing.assert_allclose(one.beliefs.node, other.beliefs.node, atol=1e-8)
    np.testing.assert_allclose(one.beliefs.edge, other.beliefs.edge, atol=1e-8)
    if choice == "bethe":
        assert loopy_bp(potentials, tol=1e-10).converged
        damped = loopy_bp(potentials, tol=1e-10, damping=0.5)
        np.testing.assert_allclose(damped.beliefs.node, one.beliefs.node, atol=1e-8)


def test_a_repeated_run_gives_the_same_bytes():
    for choice, epsilon in itertools.product(("ones", "trw"), (1.0, 0.0)):
        one, other = (quietly(draw("grid", 3), choice, epsilon, max_sweeps=20) for _ in range(2))
        for name in ("labels", "value", "upper", "lower"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
        assert one.beliefs.edge.tobytes() == other.beliefs.edge.tobytes()
    one, other = (mean_field(draw("grid", 3), random_state=1) for _ in range(2))
    assert one.beliefs.node.tobytes() == other.beliefs.node.tobytes()


def test_samples_packed_together_are_solved_as_alone():
    rng = np.random.default_rng(0)
    forms = [
        grid(np.ones((3, 3))),
        Graph(np.ones((3, 1)), [[0, 1], [1, 2], [2, 0]]),
        grid(np.ones((3, 3))),
        np.ones((4, 1)),
        grid(np.ones((2, 3))),
    ]
    edge = rng.normal(size=(1, 3, 3))
    together = pack(forms)
    node = rng.normal(size=(together.n_nodes, 3))
    alone = [
        Potentials(pack([form]), rows, edge)
        for form, rows in zip(forms, together.split(node), strict=True)
    ]
    together = Potentials(together, node, edge)
    for solve in (
        lambda p: quietly(p, "trw", tol=1e-9, max_sweeps=10_000),
        lambda p: quietly(p, "ones", 0.0),
        mean_field,
    ):
        found, apart = solve(together), [solve(potentials) for potentials in alone]
        value = np.concatenate([a.value for a in apart])
        np.testing.assert_allclose(found.value, value, atol=1e-6)
        beliefs = np.concatenate([a.beliefs.node for a in apart])
        np.testing.assert_allclose(found.beliefs.node, beliefs, atol=1e-6)
        labels = np.concatenate([a.labels for a in apart])
        np.testing.assert_array_equal(found.labels, labels)
        edges = np.concatenate([a.beliefs.edge for a in apart])
        np.testing.assert_allclose(found.beliefs.edge, edges, atol=1e-6)


def test_a_tie_everywhere_gives_one_of_the_best_labellings():
    """Every node and its edges are as good with 0 as with 1; independent choices would be wrong."""
    samples = pack([grid(np.zeros((4, 5)))])
    potentials = Potentials(samples, np.zeros((20, 2)), [[[0.0, 1.0], [1.0, 0.0]]])
    found = norm_product(potentials, epsilon=0.0)
    assert found.tied == 1.0
    assert found.lower == pytest.approx(31)  # a chessboard satisfies all edges
    assert found.upper == pytest.approx(31)


# -- counting numbers -------------------------------------------------------------------------------


def certified(choice, shape):
    (graphs,) = equal_graphs(draw(shape).samples)
    numbers = CountingNumbers.of(choice, graphs)
    form = numbers.concave_form(graphs)
    if form is not None:
        parts = form.parts.reshape(-1, 2).sum(axis=1)
        np.testing.assert_allclose(form.edge + parts, numbers.edge, atol=1e-6)
        np.testing.assert_allclose(
            form.node - graphs.onto_ends(form.parts), numbers.node, atol=1e-6
        )
        assert min(form.node.min(), form.edge.min(), form.parts.min()) >= 0
    return form is not None


@pytest.mark.parametrize("choice", ["ones", "conditional", "trw", "bethe", "convexified-bethe"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_certified_to_be_concave(choice, shape):
    expected = choice != "bethe" or shape != "grid"  # Bethe's is on trees and single circles
    assert certified(choice, shape) == expected


def test_convexified_numbers_are_the_closest_to_those_of_bethe():
    (graphs,) = equal_graphs(draw("grid").samples)
    bethe = CountingNumbers.of("bethe", graphs)
    apart = {}
    for choice in ("trw", "convexified-bethe"):
        numbers = CountingNumbers.of(choice, graphs)
        np.testing.assert_allclose(numbers.node, 1.0 - graphs.onto_ends(np.repeat(numbers.edge, 2)))
        apart[choice] = np.sum((numbers.edge - bethe.edge) ** 2)
    assert apart["convexified-bethe"] < apart["trw"]


def test_the_circle_under_bethe_has_a_tight_bound():
    """Nothing is left to its edges and nodes themselves: a maximum stands where a soft-max would."""
    potentials = draw("circle", 3)
    found = exactly(potentials, "bethe", 0.7)
    assert found.value[0] == pytest.approx(found.upper[0], abs=1e-7)
    assert found.value[0] == pytest.approx(found.lower[0], abs=1e-7)
    state = states(potentials, "bethe", 0.7)
    form = state.numbers.concave_form(state.potentials.graphs)
    messages = np.random.default_rng(0).normal(size=state.messages.shape)
    assert bounding.upper_bound(state.potentials, messages, form, 0.7)[0] > found.upper[0] + 1e-3


def test_structures_that_come_back_are_not_solved_again():
    (one,), (other,) = (equal_graphs(draw("grid").samples) for _ in range(2))
    assert one is not other
    numbers = CountingNumbers.of("trw", one)
    assert CountingNumbers.of("trw", other) is numbers
    assert numbers.concave_form(one) is numbers.concave_form(other)


# -- extremes and bad input -------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["ones", "trw", "bethe"])
def test_large_potentials_at_low_temperatures_do_not_overflow(choice):
    potentials = draw("grid", 3, scale=1e3)
    for epsilon in (0.01, 1.0):
        with np.errstate(over="raise", invalid="raise", divide="ignore"):
            found = quietly(potentials, choice, epsilon, max_sweeps=200)
        for array in (found.beliefs.node, found.beliefs.edge, found.value):
            assert np.isfinite(array).all()
        best = local_polytope(potentials).value[0]
        if choice != "bethe":
            assert found.lower[0] <= best + 1.0
            assert found.upper[0] >= best - 1e-6
    one = norm_product(draw("grid", 2, scale=30.0), choice if choice != "bethe" else "ones", 0.1)
    assert (one.lower <= one.upper + 1e-9).all()


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("epsilon", [1.0, 0.2, 0.0])
def test_what_is_forbidden_gets_no_belief(n_labels, epsilon):
    """One label of one node is not allowed, nor are some pairs, one label of a node among them."""
    edges = SHAPES["grid"][1]
    ruled_out = [(edges.index([0, 1]), a, 1) for a in range(n_labels)]  # label 1 of node 1
    potentials = draw("grid", n_labels, forbid=[(3, 0, 1), (6, 1, 0), *ruled_out])
    potentials.node[4, 0] = -np.inf
    for choice in ("ones", "trw", "conditional"):
        found = quietly(potentials, choice, epsilon, tol=1e-9, max_sweeps=5000)
        assert found.beliefs.node[4, 0] == 0
        assert found.beliefs.node[1, 1] == 0
        assert found.beliefs.edge[3, 0, 1] == 0
        assert np.isfinite(found.value).all()
        assert np.isfinite(found.upper).all()
        assert (found.lower <= found.upper + 1e-9).all()
        best = enumerate_labellings(potentials, 0.0).value[0]
        assert found.upper[0] >= best - 1e-9
    exact = enumerate_labellings(potentials, epsilon)
    field = mean_field(potentials, epsilon)
    assert field.value[0] <= exact.value[0] + 1e-9
    tree = draw("tree", n_labels, forbid=[(0, 0, 1), (2, 1, 1)])
    tree.node[0, 0] = -np.inf
    exact = enumerate_labellings(tree, epsilon)
    found = norm_product(tree, "bethe", epsilon)
    np.testing.assert_allclose(found.beliefs.node, exact.beliefs.node, atol=1e-12)
    np.testing.assert_allclose(found.beliefs.edge, exact.beliefs.edge, atol=1e-12)
    for value in (found.value, found.upper, found.lower):
        np.testing.assert_allclose(value, exact.value, atol=1e-9)


def test_mean_field_leaves_what_is_forbidden():
    """Only equal labels are allowed, and soft beliefs of the first node would forbid every label."""
    same = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    potentials = Potentials(pack([grid(np.ones((2, 2)))]), np.zeros((4, 2)), same[None])
    found = mean_field(potentials)
    assert found.converged
    assert found.value[0] == 0.0
    assert len(set(found.labels)) == 1


def test_graphs_without_an_edge():
    samples = pack([Graph(np.ones((3, 1)), np.empty((0, 2), dtype=int)), grid(np.ones((2, 2)))])
    node = np.random.default_rng(0).normal(size=(7, 2))
    potentials = Potentials(samples, node, np.zeros((1, 2, 2)))
    for epsilon in (1.0, 0.0):
        exact = enumerate_labellings(potentials, epsilon)
        for choice in ("trw", "bethe"):
            found = quietly(potentials, choice, epsilon)
            np.testing.assert_allclose(found.value[0], exact.value[0])
            np.testing.assert_allclose(found.beliefs.node[:3], exact.beliefs.node[:3])
        found = norm_product(potentials, "conditional", epsilon)  # the nodes' entropies don't count
        assert found.upper[0] == pytest.approx(enumerate_labellings(potentials, 0.0).value[0])
        assert mean_field(potentials, epsilon).value[0] == pytest.approx(exact.value[0])


def test_numbers_that_are_not_certified_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="'bethe' are not certified to be concave"):
        found = norm_product(draw("grid"), "bethe")
    assert found.upper[0] == np.inf
    assert found.lower[0] == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loopy_bp(draw("grid"))
        norm_product(draw("circle"), "bethe")


def test_runs_that_stop_early_say_so():
    with pytest.warns(ConvergenceWarning, match="still disagree by .* after 3 sweeps"):
        found = norm_product(draw("grid", scale=3.0), "trw", max_sweeps=3)
    assert not found.converged
    with pytest.warns(ConvergenceWarning, match="beliefs still change after 1 sweeps"):
        mean_field(draw("grid"), max_sweeps=1)
    seen = []
    with pytest.warns(ConvergenceWarning):
        norm_product(draw("grid", scale=3.0), "trw", callback=lambda n, b: seen.append(n) or n == 4)
    assert seen == [1, 2, 3, 4]


def test_messages_and_beliefs_can_be_continued():
    potentials = draw("grid", 3)
    found = norm_product(potentials, "trw", tol=1e-9, max_sweeps=5000)
    again = norm_product(potentials, "trw", tol=1e-6, start=found)
    assert again.n_sweeps == 10 < found.n_sweeps
    assert again.upper[0] == pytest.approx(found.upper[0], abs=1e-6)
    field = mean_field(potentials)
    assert mean_field(potentials, start=field).n_sweeps == 1


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"epsilon": -1.0}, ValueError, "epsilon is -1.0"),
        ({"tol": 0.0}, ValueError, "tol is 0.0"),
        ({"max_sweeps": 0}, ValueError, "max_sweeps is 0"),
        ({"schedule": "random"}, ValueError, "schedule is 'random'; expected"),
        ({"damping": 1.0}, ValueError, "damping is 1.0; expected a share below 1"),
        ({"counting_numbers": "tree"}, ValueError, "counting_numbers is 'tree'; expected"),
        ({"counting_numbers": (1, -1)}, ValueError, r"counting_numbers is \(1, -1\); expected"),
        ({"counting_numbers": (1, "a")}, ValueError, r"counting_numbers is \(1, 'a'\); expected"),
        ({"counting_numbers": 3.0}, ValueError, "counting_numbers is 3.0; expected"),
        ({"counting_numbers": (-4, 1)}, ValueError, "add up to -2 at node 0 of sample 0"),
        (
            {"counting_numbers": CountingNumbers(np.ones(2), np.ones(12))},
            ValueError,
            r"shapes \(\(2,\), \(12,\)\) .* expected \(\(9,\), \(12,\)\)",
        ),
        (
            {"counting_numbers": CountingNumbers(np.ones(9), -np.ones(12))},
            ValueError,
            "a negative number for an edge",
        ),
        ({"start": 3}, TypeError, "start is 3; expected the answer of norm_product"),
    ],
)
def test_bad_input_gets_one_sentence(options, error, sentence):
    with pytest.raises(error, match=sentence):
        quietly(draw("grid"), **options)


def test_more_bad_input():
    with pytest.raises(ValueError, match=r"messages of shapes \[\(6, 2, 1\)\] for other samples"):
        norm_product(draw("grid"), start=norm_product(draw("triangle")))
    for bad in ({"epsilon": -1.0}, {"tol": 0.0}, {"max_sweeps": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            mean_field(draw("grid"), **bad)
    with pytest.raises(TypeError, match="start is 3; expected the answer of mean_field"):
        mean_field(draw("grid"), start=3)
    with pytest.raises(ValueError, match=r"beliefs of shape \(3, 2\); expected \(9, 2\)"):
        mean_field(draw("grid"), start=mean_field(draw("triangle")))
    with pytest.raises(ValueError, match="damping is 1"):
        loopy_bp(draw("grid"), damping=1.0)
    nothing = draw("grid", n_samples=2)
    nothing.node[9 + 3] = -np.inf
    never = draw("grid", forbid=[(0, a, b) for a in range(2) for b in range(2)])
    for solve in (quietly, mean_field, loopy_bp):
        with pytest.raises(ValueError, match="sample 1 has no allowed labelling"):
            solve(nothing)
    for epsilon in (1.0, 0.0):
        with pytest.raises(ValueError, match="sample 0 has no allowed labelling"):
            quietly(never, "ones", epsilon)
