"""Random potentials on small graphs, and messages on them."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from medn_edu import Graph, grid
from medn_edu.inference import Potentials
from medn_edu.inference.loopy import CountingNumbers, norm_product
from medn_edu.inference.loopy.graphs import GraphPotentials, equal_graphs
from medn_edu.inference.loopy.messages import MessageState
from medn_edu.samples import pack

SHAPES = {
    "triangle": (3, [[0, 1], [2, 1], [2, 0]]),
    "circle": (5, [[0, 1], [1, 2], [3, 2], [3, 4], [4, 0]]),
    "tree": (5, [[3, 0], [0, 1], [1, 4], [1, 2]]),
    "grid": (9, grid(np.ones((3, 3))).edges.tolist()),
    "loose": (4, [[1, 3]]),
}


def draw(shape, n_labels=2, *, n_samples=1, scale=1.0, seed=0, forbid=(), kinds=None):
    """Random potentials for samples with the same edges; each edge has a table of its own."""
    rng = np.random.default_rng(seed)
    n, edges = SHAPES[shape] if isinstance(shape, str) else shape
    types = np.arange(len(edges)) if kinds is None else kinds
    samples = pack([Graph(np.ones((n, 1)), edges, types) for _ in range(n_samples)])
    node = scale * rng.normal(size=(samples.n_nodes, n_labels))
    edge = scale * rng.normal(size=(samples.n_edge_kinds, n_labels, n_labels))
    for e, a, b in forbid:
        edge[e, a, b] = -np.inf
    return Potentials(samples, node, edge)


def quietly(*args, **kwargs):
    """Messages without their warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return norm_product(*args, **kwargs)


def exactly(potentials, *args, **kwargs):
    return norm_product(potentials, *args, tol=1e-11, max_sweeps=200_000, **kwargs)


def states(potentials, choice, epsilon, state=MessageState, **more):
    """Messages on potentials of samples with the same edges."""
    (graphs,) = equal_graphs(potentials.samples)
    phi, numbers = GraphPotentials.of(graphs, potentials), CountingNumbers.of(choice, graphs)
    return state(phi, numbers, epsilon, phi.zero_messages(), **more)
