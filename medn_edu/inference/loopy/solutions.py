"""Answers of inference on graphs with cycles, put together from samples with the same edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from medn_edu.inference.loopy.beliefs import Beliefs
from medn_edu.inference.loopy.graphs import EqualGraphs, edges_of, equal_graphs
from medn_edu.inference.potentials import Potentials, check_possible


@dataclass(frozen=True, eq=False)
class LocalSolution:
    """Beliefs, and bounds on the optimum of the local program that the beliefs should solve.

    Parameters
    ----------
    beliefs : Beliefs
        Of all nodes, and of all edges as potentials list them.
    labels : ndarray of int, shape (n_nodes,)
        Each node's best label given the messages to it; ties are resolved one node after the other.
    value : ndarray of shape (n_samples,)
        Value of the local program at these beliefs.  It is not a bound while the beliefs disagree.
    upper, lower : ndarray of shape (n_samples,)
        Bounds on the optimum of the local program: the upper one from the messages, the lower one from
        beliefs that agree.  They are infinite where the entropy is not certified to be concave.
    disagreement : float
        Largest difference between a node's belief and what one of its edges believes about the node.
    tied : float
        Share of the nodes at which several labels are equally good.
    n_sweeps : int
        Sweeps over all nodes.
    converged : bool
        Whether the algorithm has settled, as its ``tol`` says.
    messages : list of ndarray
        The last messages, one array for each set of samples with the same edges.
    """

    beliefs: Beliefs
    labels: np.ndarray
    value: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    disagreement: float
    tied: float
    n_sweeps: int
    converged: bool
    messages: list[np.ndarray] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Part:
    """A local solution for samples with the same edges; the last axis of each array is the sample."""

    node: np.ndarray
    edge: np.ndarray
    labels: np.ndarray
    value: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    n_ties: int
    n_sweeps: int
    converged: bool
    messages: np.ndarray


def possible_groups(potentials: Potentials) -> list[EqualGraphs]:
    """Group samples by their edges, and check that each node has an allowed label."""
    samples = potentials.samples
    best = potentials.node.max(axis=1)
    check_possible(np.minimum.reduceat(best, samples.offsets[:-1]))
    return equal_graphs(samples)


def gathered(
    potentials: Potentials, groups: Sequence[EqualGraphs], parts: Sequence[Part]
) -> LocalSolution:
    """Put the parts together in the order of the samples."""
    samples, n_labels = potentials.samples, potentials.n_labels
    node = np.empty((samples.n_nodes, n_labels))
    edge = np.empty((len(edges_of(samples)[0]), n_labels, n_labels))
    labels = np.empty(samples.n_nodes, dtype=np.int64)
    value, upper, lower = (np.empty(samples.n_samples) for _ in range(3))
    for graphs, part in zip(groups, parts, strict=True):
        node[graphs.nodes] = part.node.transpose(0, 2, 1)
        edge[graphs.places] = part.edge.transpose(0, 3, 1, 2)
        labels[graphs.nodes] = part.labels
        for whole, own in ((value, part.value), (upper, part.upper), (lower, part.lower)):
            whole[graphs.samples] = own
    pairs = zip(groups, parts, strict=True)
    return LocalSolution(
        Beliefs(node, edge),
        labels,
        value,
        upper,
        lower,
        disagreement=max(disagreement(graphs, part.node, part.edge) for graphs, part in pairs),
        tied=sum(part.n_ties for part in parts) / samples.n_nodes,
        n_sweeps=max(part.n_sweeps for part in parts),
        converged=all(part.converged for part in parts),
        messages=[part.messages for part in parts],
    )


def disagreement(graphs: EqualGraphs, node: np.ndarray, edge: np.ndarray) -> float:
    """Return the largest difference between a node's belief and that of one of its edges."""
    first, second = graphs.ends.T
    apart = [np.abs(edge.sum(axis=2) - node[first]), np.abs(edge.sum(axis=1) - node[second])]
    return float(max((a.max(initial=0.0) for a in apart), default=0.0))
