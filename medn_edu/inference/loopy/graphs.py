"""Samples with the same edges, side by side, as `medn_edu.kernels.norm_product` expects them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from medn_edu.inference.potentials import Potentials, check_possible
from medn_edu.kernels import norm_product as kernels
from medn_edu.samples import GraphSamples, SampleSet


@dataclass(frozen=True, eq=False)
class EqualGraphs:
    """Samples whose nodes are joined by the same edges.

    Attributes
    ----------
    samples : ndarray of int, shape (n_samples,)
        Which samples these are.
    nodes : ndarray of int, shape (n_nodes, n_samples)
        Number of each node in the packed samples.
    rows : ndarray of int, shape (n_edges, n_samples)
        Row of each edge in ``edge_kinds`` of the packed samples.
    places : ndarray of int, shape (n_edges, n_samples)
        Number of each edge among all edges of the packed samples.
    ends : ndarray of int, shape (n_edges, 2)
        The nodes that each edge joins.
    """

    samples: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray
    places: np.ndarray
    ends: np.ndarray

    @classmethod
    def of_edges(cls, n_nodes: int, ends: bytes) -> EqualGraphs:
        """Return a graph with these edges that belongs to no sample."""
        local = np.frombuffer(ends, dtype=np.int64).reshape(-1, 2)
        none, of_edges = np.empty((n_nodes, 0), dtype=np.int64), np.empty((len(local), 0), np.int64)
        return cls(np.arange(0), none, of_edges, of_edges, local)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of each sample."""
        return len(self.nodes)

    @property
    def n_edges(self) -> int:
        """Number of edges of each sample."""
        return len(self.ends)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Number of edges of each node."""
        return np.bincount(self.ends.ravel(), minlength=self.n_nodes)

    @cached_property
    def components(self) -> tuple[int, np.ndarray]:
        """Number of connected components, and which one each node is in."""
        first, second = self.ends.T
        joined = sp.csr_matrix((np.ones(len(first)), (first, second)), (self.n_nodes, self.n_nodes))
        n_parts, part = csgraph.connected_components(joined, directed=False)
        return int(n_parts), part

    @property
    def is_forest(self) -> bool:
        """Whether there is no cycle."""
        return self.n_edges == self.n_nodes - self.components[0]

    @cached_property
    def slots(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each node's slots start, and the slots, node by node."""
        starts = np.concatenate([[0], np.cumsum(self.degrees)]).astype(np.int64)
        return starts, np.argsort(self.ends.ravel(), kind="stable").astype(np.int64)

    def kinds(self, edge_kinds: np.ndarray) -> np.ndarray:
        """Return the kind of each edge in each sample, or in a single column if all samples agree."""
        kinds = edge_kinds[self.rows]
        agree = kinds.shape[1] > 0 and (kinds == kinds[:, :1]).all()
        return np.ascontiguousarray(kinds[:, :1] if agree else kinds, dtype=np.int64)

    @cached_property
    def _are_all(self) -> bool:
        """Whether these are all nodes of the packed samples, in their order."""
        return bool((self.nodes.T.ravel() == np.arange(self.nodes.size)).all())

    def node_table(self, per_node: np.ndarray) -> np.ndarray:
        """Return values per node and label as an array of shape (n_nodes, n_labels, n_samples)."""
        if self._are_all and len(per_node) == self.nodes.size:  # far quicker than looking up each
            table = per_node.reshape(*self.nodes.T.shape, -1).transpose(1, 2, 0)
            return np.ascontiguousarray(table)
        return np.ascontiguousarray(per_node[self.nodes].transpose(0, 2, 1))

    def put(self, table: np.ndarray, per_node: np.ndarray) -> None:
        """Write a `node_table` into the rows of packed samples."""
        if self._are_all and len(per_node) == self.nodes.size:
            per_node.reshape(*self.nodes.T.shape, -1)[:] = table.transpose(2, 0, 1)
        else:
            per_node[self.nodes] = table.transpose(0, 2, 1)

    def onto_ends(self, per_slot: np.ndarray) -> np.ndarray:
        """Add up the values of slots, node by node."""
        starts, slots = self.slots
        sums = np.zeros((self.n_nodes, *per_slot.shape[1:]))
        has_edges = self.degrees > 0
        if len(slots):
            sums[has_edges] = np.add.reduceat(per_slot[slots], starts[:-1][has_edges], axis=0)
        return sums


def edges_of(samples: SampleSet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of edges in ``edge_kinds``, the nodes at their ends, and where samples start.

    Edges of forests run from parent to child, as their tables of potentials do.
    """
    if isinstance(samples, GraphSamples):
        return np.arange(samples.n_edges), samples.edges, samples.edge_offsets
    parents = samples.forests.parents
    child = np.flatnonzero(parents >= 0)
    offsets = np.searchsorted(child, samples.offsets)
    return child, np.stack([parents[child], child], axis=1), offsets


def equal_graphs(samples: SampleSet) -> list[EqualGraphs]:
    """Group samples that have the same edges."""
    rows, ends, offsets = edges_of(samples)
    found: dict[tuple[int, bytes], list[int]] = {}
    for i in range(samples.n_samples):
        local = ends[offsets[i] : offsets[i + 1]] - samples.offsets[i]
        found.setdefault((int(samples.lengths[i]), local.tobytes()), []).append(i)
    groups = []
    for (n_nodes, edges), members in found.items():
        index = np.array(members)
        local = np.frombuffer(edges, dtype=ends.dtype).reshape(-1, 2).astype(np.int64)
        places = offsets[index] + np.arange(len(local))[:, None]
        nodes = samples.offsets[index] + np.arange(n_nodes)[:, None]
        groups.append(EqualGraphs(index, nodes, rows[places], places, local))
    return groups


class Tempered(NamedTuple):
    """Potentials of edges as kernels expect them, with one temperature per kind of edge."""

    kinds: np.ndarray
    tables: np.ndarray
    powers: np.ndarray  # exp((table - peak) / t)
    peaks: np.ndarray
    temperatures: np.ndarray  # of the edges

    def powers_of(self, messages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``exp((message - best) / t)``, and the best number in each message."""
        best = messages.max(axis=1)
        t = np.repeat(self.temperatures, 2)[:, None, None]
        powers = messages - best[:, None]
        powers /= np.where(t > 0, t, 1.0)  # at 0 they are not used
        return np.exp(powers, out=powers), best

    def beliefs(self, messages: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the beliefs of the edges, (n_edges, n_labels, n_labels, n_samples).

        The edges' terms in Theorem 2 are added to ``values``.
        """
        n_labels, n_samples = messages.shape[1:]
        powers, best = self.powers_of(messages)
        beliefs = np.empty((len(self.temperatures), n_labels, n_labels, n_samples))
        kernels.edge_terms(*self, messages, best, powers, np.empty(n_samples), beliefs, values)
        return beliefs


@dataclass(frozen=True, eq=False)
class GraphPotentials:
    """Potentials of samples with the same edges, as kernels expect them."""

    graphs: EqualGraphs
    node: np.ndarray  # (n_nodes, n_labels, n_samples)
    kinds: np.ndarray  # (n_edges, n_samples), or (n_edges, 1) where all samples agree
    tables: np.ndarray  # (n_kinds, n_labels, n_labels)

    @classmethod
    def of(cls, graphs: EqualGraphs, potentials: Potentials) -> GraphPotentials:
        """Take the potentials of these samples."""
        kinds = graphs.kinds(potentials.samples.edge_kinds)
        node = _possible(graphs, graphs.node_table(potentials.node), kinds, potentials.edge)
        return cls(graphs, node, kinds, potentials.edge)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.node.shape[1]

    def tempered(self, temperatures: np.ndarray) -> Tempered:
        """Return the tables of the edges and their powers, each at the temperature of its edges."""
        kinds, tables, t = self.kinds, self.tables, temperatures[:1]
        if not (temperatures == t).all():
            if kinds.shape[1] == 1:
                kinds, tables, t = np.arange(len(kinds))[:, None], tables[kinds[:, 0]], temperatures
            else:
                levels, level = np.unique(temperatures, return_inverse=True)
                codes, places = np.unique(kinds * len(levels) + level[:, None], return_inverse=True)
                kinds = places.reshape(kinds.shape)
                tables, t = tables[codes // len(levels)], levels[codes % len(levels)]
        peaks = tables.max(axis=(1, 2))
        scale = np.where(t > 0, t, np.inf)[:, None, None] if len(t) else 1.0
        with np.errstate(invalid="ignore"):  # where all pairs are forbidden
            powers = np.exp((tables - peaks[:, None, None]) / scale)
        powers = np.nan_to_num(powers, nan=0.0, copy=False)
        return Tempered(kinds, tables, powers, peaks, np.ascontiguousarray(temperatures))

    @cached_property
    def edge(self) -> np.ndarray:
        """Potentials of the edges, (n_edges, n_labels, n_labels, n_samples or 1)."""
        return np.ascontiguousarray(self.tables[self.kinds].transpose(0, 2, 3, 1))

    def scores(self, labels: np.ndarray) -> np.ndarray:
        """Return the score of a labelling of each sample, (n_nodes, n_samples)."""
        nodes, samples = np.arange(len(self.node))[:, None], np.arange(self.node.shape[2])
        first, second = labels[self.graphs.ends[:, 0]], labels[self.graphs.ends[:, 1]]
        own = self.node[nodes, labels, samples].sum(axis=0)
        return own + self.tables[self.kinds, first, second].sum(axis=0)

    def zero_messages(self) -> np.ndarray:
        """Return silent messages, (2 n_edges, n_labels, n_samples).

        They are 0, and minus infinity for labels that the sending node may not have.
        """
        told = np.where(self.node == -np.inf, -np.inf, 0.0)
        return told[self.graphs.ends.ravel()]


def _possible(
    graphs: EqualGraphs, node: np.ndarray, kinds: np.ndarray, tables: np.ndarray
) -> np.ndarray:
    """Rule out labels that have only forbidden pairs along an edge, until each label has a partner.

    Nothing is lost, because beliefs that agree give these labels the probability 0.  If they stayed,
    messages would become minus infinity, which no bound can undo.
    """
    fine = tables > -np.inf
    if fine.all():
        return node
    pairs, may = fine[kinds].transpose(0, 2, 3, 1), node > -np.inf
    first, second = graphs.ends.T
    before = -1
    while may.sum() != before:
        before = may.sum()
        np.logical_and.at(may, first, (pairs & may[second][:, None]).any(axis=2))
        np.logical_and.at(may, second, (pairs & may[first][:, :, None]).any(axis=1))
    scores = np.zeros(graphs.samples.max() + 1)
    scores[graphs.samples[~may.any(axis=1).all(axis=0)]] = -np.inf
    check_possible(scores)
    return np.where(may, node, -np.inf)
