"""Local entropies and messages (ASP sections 2.2 and 4): Theorem 2, Lemmas 3 and 4, Claims 2 and 3."""

from dataclasses import replace

import numpy as np

from medn_edu.theory.checks.asp_exact import EPSILONS, central_differences, draw_program
from medn_edu.theory.checks.check import apart, discrepancy_of, excess
from medn_edu.theory.factor_graphs.entropies import CountingNumbers, local_entropy
from medn_edu.theory.factor_graphs.graph import (
    FactorGraph,
    Messages,
    entropy,
    log_partition,
    marginals,
    probabilities,
)
from medn_edu.theory.factor_graphs.learning import Program, coordinate_descent
from medn_edu.theory.factor_graphs.messages import (
    Update,
    decomposed_soft_max,
    messages_from_node,
    node_beliefs,
    norm_product,
)
from medn_edu.theory.factor_graphs.printed import (
    messages_of_section_2,
    messages_of_the_proof,
    messages_with_any_numbers,
    node_beliefs_of_section_2,
)
from medn_edu.theory.factor_graphs.solvers import (
    as_beliefs,
    as_messages,
    feasible_steps,
    local_blocks,
    maximise,
    message_columns,
    minimise,
    restrict,
)

_TREE = ((0, 1), (0, 2), (2, 3, 4))
_LOOPS = (
    (((0, 1), (1, 2), (2, 0)), (2, 3, 2)),
    (((0, 1), (2, 3), (0, 2), (1, 3)), (2, 2, 2, 2)),
    (((0, 1, 2), (2, 3), (3, 0)), (2, 2, 2, 2)),
)


def _draw_tree(rng: np.random.Generator) -> FactorGraph:
    """A tree of five nodes, one of its factors over three."""
    n_labels = rng.integers(2, 4, size=5)
    nodes = tuple(rng.normal(size=n) for n in n_labels)
    return FactorGraph(nodes, _TREE, tuple(rng.normal(size=n_labels[list(s)]) for s in _TREE))


def _draw_loop(rng: np.random.Generator, epsilon: float, p: float | None = None) -> Program:
    """A program on a triangle, a 2 x 2 grid, or a cycle with a factor over three nodes."""
    scopes, n_labels = _LOOPS[rng.integers(3)]
    program = draw_program(rng, epsilon=epsilon, p=p, scopes=scopes, n_labels=n_labels)
    c = program.c
    node, factor = (rng.uniform(0.3, 2.0, len(each)) for each in (c.node, c.factor))
    return replace(program, c=CountingNumbers(node, factor))


def _draw_variables(rng: np.random.Generator, program: Program) -> np.ndarray:
    """Weights and messages at random, in a row."""
    return rng.normal(size=len(local_blocks(program).d))


def _value(program: Program, u: np.ndarray) -> float:
    """Theorem 2 at weights and messages in a row."""
    return program.value(u[: len(program.d)], as_messages(program, u))


# -- section 2.2 ----------------------------------------------------------------------------------


@discrepancy_of("bethe-entropy")
def _bethe_entropy(rng: np.random.Generator, slip: bool) -> float:
    tree = _draw_tree(rng)
    c, p = CountingNumbers.bethe(tree), probabilities(tree)
    numbers = CountingNumbers(-c.node, c.factor) if slip else c
    return apart(local_entropy(marginals(tree, p), numbers), entropy(p))


@discrepancy_of("exact-on-trees")
def _exact_on_trees(rng: np.random.Generator, slip: bool) -> float:
    tree, worst = _draw_tree(rng), 0.0
    c = CountingNumbers.bethe(tree)
    update: Update = messages_of_section_2 if slip else messages_from_node
    for epsilon in EPSILONS:
        lam = norm_product(tree, c, epsilon, n_sweeps=10, update=update)
        found = decomposed_soft_max(tree, lam, c, epsilon)
        worst = max(worst, apart(found, log_partition(tree, epsilon)))
    return worst


@discrepancy_of("beliefs-on-trees")
def _beliefs_on_trees(rng: np.random.Generator, slip: bool) -> float:
    tree, epsilon = _draw_tree(rng), rng.uniform(0.2, 1.0)
    c = CountingNumbers.bethe(tree)
    lam = norm_product(tree, c, epsilon)
    found = (node_beliefs_of_section_2 if slip else node_beliefs)(tree, lam, c, epsilon)
    exact = marginals(tree, probabilities(tree, epsilon))
    return apart(np.concatenate(found), np.concatenate(exact.node))


# -- Theorem 2 ------------------------------------------------------------------------------------


@discrepancy_of("approximated-duality")
def _approximated_duality(rng: np.random.Generator, slip: bool) -> float:
    """One of three temperatures, some counting numbers 0."""
    program = _draw_loop(rng, rng.choice([1.0, 0.2, 0.0]))
    some = rng.random(len(program.c.node)) < 0.5
    c = CountingNumbers(np.where(some, 0.0, program.c.node), program.c.factor)
    program = replace(program, c=c)
    blocks = local_blocks(program)
    u = minimise(blocks)
    sign = -1.0 if slip else 1.0
    primal = _value(program, u) + (sign - 1) * program.regulariser(u[: len(program.d)])
    return apart(primal, program.dual_value(as_beliefs(program, maximise(blocks))))


# -- Lemma 3 --------------------------------------------------------------------------------------


def _after_update(program: Program, u: np.ndarray, v: int, update: Update) -> tuple[float, float]:
    """What a rule for one node's messages reaches, and the least that they can reach."""
    theta, lam = u[: len(program.d)], as_messages(program, u)
    new: list[np.ndarray] = []
    for example, each in zip(program.examples, lam, strict=True):
        new += update(example.graph(theta), each, program.c, program.epsilon, v).values()
    places = [place for key, place in message_columns(program).items() if key[1] == v]
    columns = [k for place in places for k in range(place.start, place.stop)]
    block = restrict(local_blocks(program), u, columns)
    return block.value(np.concatenate(new)), block.value(minimise(block))


@discrepancy_of("best-messages")
def _best_messages(rng: np.random.Generator, slip: bool) -> float:
    program = _draw_loop(rng, epsilon=rng.uniform(0.2, 0.6))
    update: Update = messages_of_the_proof if slip else messages_from_node
    u, v = _draw_variables(rng, program), int(rng.integers(len(program.c.node)))
    return apart(*_after_update(program, u, v, update))


@discrepancy_of("best-messages-with-zeros")
def _best_messages_with_zeros(rng: np.random.Generator, slip: bool) -> float:
    """Factors without entropy; and no temperature, where any counting numbers will do."""
    program = _draw_loop(rng, epsilon=rng.uniform(1.0, 2.0))
    u, v = _draw_variables(rng, program), int(program.examples[0].scopes[0][0])
    zero = replace(program, c=CountingNumbers(program.c.node, 0 * program.c.factor))
    update: Update = messages_with_any_numbers if slip else messages_from_node
    found = apart(*_after_update(zero, u, v, update))
    return max(found, apart(*_after_update(replace(program, epsilon=0.0), u, v, update)))


# -- Lemma 4 --------------------------------------------------------------------------------------


@discrepancy_of("asp-gradient")
def _gradient(rng: np.random.Generator, slip: bool) -> float:
    program = _draw_loop(rng, epsilon=rng.uniform(0.3, 1.0))
    u = _draw_variables(rng, program)
    theta, lam = u[: len(program.d)], as_messages(program, u)
    formula = program.gradient(theta, lam)
    if slip:
        formula += (1 / program.C - 1) * program.regulariser_slope(theta)
    return apart(formula, central_differences(lambda t: program.value(t, lam), theta))


# -- Claims 2 and 3 -------------------------------------------------------------------------------


@discrepancy_of("descent")
def _descent(rng: np.random.Generator, slip: bool) -> float:
    """Any temperature and any exponent up to 2; close to p = 1 gradient steps take too many rounds."""
    epsilon, p = rng.uniform(0.2, 1.5), rng.uniform(1.5, 2.0)
    program = replace(draw_program(rng, epsilon=epsilon, p=p), C=3.0)
    update: Update = messages_of_section_2 if slip else messages_from_node
    found = coordinate_descent(program, n_rounds=100, step=0.1, update=update)
    dual = program.dual_value(as_beliefs(program, maximise(local_blocks(program))))
    ups = excess(found.values[1:], found.values[:-1], size=abs(dual))
    return max(ups, apart(found.values[-1], dual))


@discrepancy_of("stationary")
def _stationary(rng: np.random.Generator, slip: bool) -> float:
    """Bethe's numbers on a cycle: slopes of the primal, and of the dual along what is feasible."""
    program = replace(draw_program(rng, epsilon=1.0, p=2.0), C=10.0)
    c = CountingNumbers.bethe(program.examples[0].graph(np.zeros(3)))
    program = replace(program, c=c)
    update: Update = messages_of_section_2 if slip else messages_from_node
    theta, lam = np.zeros(3), program.zero_messages()
    for _ in range(60):
        graphs = [example.graph(theta) for example in program.examples]
        lam = tuple(
            norm_product(g, c, 1.0, n_sweeps=60, tolerance=1e-11, update=update) for g in graphs
        )
        theta = theta - 0.05 * program.gradient(theta, lam)
    u = np.concatenate([theta, *(message for each in lam for message in each.values())])
    primal = central_differences(lambda x: _value(program, x), u)
    return float(max(np.abs(primal).max(), np.abs(_dual_slopes(program, theta, lam)).max()))


def _dual_slopes(program: Program, theta: np.ndarray, lam: tuple[Messages, ...]) -> np.ndarray:
    """Slopes of Eq. (9) at the messages' beliefs, in all feasible directions."""
    found = program.beliefs(theta, lam)
    tables = [table for b in found for table in (*b.node, *b.factor)]
    flat = np.concatenate([table.ravel() for table in tables])
    ends, steps = (
        np.cumsum([table.size for table in tables])[:-1],
        feasible_steps(local_blocks(program)),
    )

    def value(x: np.ndarray) -> float:
        return program.dual_value(as_beliefs(program, np.split(flat + steps @ x, ends)))

    return central_differences(value, np.zeros(steps.shape[1]))
