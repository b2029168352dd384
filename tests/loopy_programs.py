"""Random training sets of graphs with cycles, and the same programs on enumerable factor graphs."""

import numpy as np

from medn_edu.problems import LocalPoint, LocalProblem, PowerNorm
from medn_edu.samples import Graph, LabelledSamples, label_samples, pack
from medn_edu.theory.factor_graphs import entropies, learning

RING = [[0, 1], [2, 1], [2, 3], [3, 0]]
CROSSED = [*RING, [2, 0]]
EDGES = {"ring": RING, "crossed": CROSSED, "star": [[0, 1], [0, 2], [3, 0]], "pair": [[1, 0]]}


def make_graphs(
    words: str, seed: int = 0, *, n_samples: int = 3, n_labels: int = 2, n_features: int = 2
) -> LabelledSamples:
    """Draw graphs of four nodes with labels from a noisy random model.

    ``words`` name what is in them: edges ("ring", "crossed", "star", "pair", "mixed" for one of each in
    turn), "types" of edges, "edges" with features, tables ("potts", "ising"), sample "weights", label
    "costs", label "sets" per node, a "forbidden" pair.
    """
    rng = np.random.default_rng(seed)
    said = words.split()
    named = list(EDGES) if "mixed" in said else [word for word in said if word in EDGES]
    n_types = 2 if "types" in said else 1
    table = next((word for word in said if word in ("potts", "ising")), "full")
    graphs = []
    for i in range(n_samples):
        edges = EDGES[named[i % len(named)]]
        n_edges = len(edges)
        graphs.append(
            Graph(
                rng.normal(size=(4, n_features)), edges, rng.integers(0, n_types, n_edges),
                rng.normal(size=(n_edges, 2)) if "edges" in said else None,
            )
        )  # fmt: skip
    samples = pack(graphs)
    codes = rng.integers(0, n_labels, samples.n_nodes)
    codes[:n_labels] = range(n_labels)
    allowed = np.ones((len(np.unique(samples.edge_kinds)), n_labels, n_labels), dtype=bool)
    if "forbidden" in said:
        codes[codes == 0] = 1  # so that 0 may be forbidden next to the last label
        allowed[:, 0, -1] = False
    mask = rng.random((samples.n_nodes, n_labels)) < 0.6
    mask[np.arange(samples.n_nodes), codes] = True
    return label_samples(
        samples, codes, allowed,
        rng.uniform(0.5, 2.0, n_samples) if "weights" in said else None,
        mask=mask if "sets" in said else None,
        costs=np.array([0.5, 2.0, 1.0])[codes] if "costs" in said else None,
        table=table,
    )  # fmt: skip


def make_problem(
    words: str, epsilon: float = 1.0, numbers: object = None, *, p: float = 2.0, **parameters
) -> LocalProblem:
    """Return the local problem of `make_graphs`."""
    return LocalProblem(make_graphs(words, **parameters), epsilon, PowerNorm(0.7, p), numbers)


def program_of(problem: LocalProblem) -> learning.Program:
    """Write a problem whose graphs have the same edges, and no restrictions, as the theory has it.

    Potentials are linear in the weights, so those of unit weights are the features.
    """
    (graphs,), (numbers,) = problem.graphs, problem.numbers
    units = [problem.potentials(unit) for unit in np.eye(problem.weight_shape.size)]
    node = np.stack([unit.node for unit in units], axis=-1)
    edge = np.stack([unit.edge for unit in units], axis=-1)[problem.data.samples.edge_kinds]
    loss = problem.augmented(np.zeros(len(units))).node
    scopes = tuple(map(tuple, graphs.ends.tolist()))
    examples = []
    for s in range(len(graphs.samples)):
        nodes, rows = graphs.nodes[:, s], graphs.rows[:, s]
        truth = tuple(problem.data.labels[nodes].tolist())
        examples.append(
            learning.Example(
                tuple(loss[nodes]), tuple(node[nodes]), scopes, tuple(edge[rows]), truth
            )
        )
    c = entropies.CountingNumbers(numbers.node, numbers.edge)
    norm = problem.power_norm
    return learning.Program(tuple(examples), norm.C, norm.p, problem.epsilon, c)


def messages_of(problem: LocalProblem, messages: list[np.ndarray]) -> tuple[dict, ...]:
    """Sort messages of a single set of equal graphs as the theory has them."""
    (graphs,), (sent,) = problem.graphs, messages
    slots = [(v, e) for e, ends in enumerate(graphs.ends.tolist()) for v in ends]
    return tuple(
        {place: sent[slot, :, s] for slot, place in enumerate(slots)}
        for s in range(len(graphs.samples))
    )


def random_point(
    problem: LocalProblem, rng: np.random.Generator, size: float = 1.0, n_sweeps: int = 0
) -> tuple[np.ndarray, LocalPoint]:
    """Draw weights, messages and beliefs of nodes, which disagree with those of the edges."""
    weights = size * rng.normal(size=problem.weight_shape.size)
    silent = [state.messages for state in problem.states(weights)]
    drawn = [told + size * rng.normal(size=told.shape) for told in silent]
    states = problem.states(weights, drawn)
    for state in states:
        state.sweep(n_sweeps)
        if n_sweeps == 0:
            state.beliefs = state.terms(np.zeros(len(state.potentials.graphs.samples)))[0]
    point = LocalPoint([s.messages for s in states], [s.beliefs for s in states], problem.epsilon)
    return weights, point
