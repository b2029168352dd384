"""Graphs: samples whose nodes may be joined in any way, such as the pixels of an image.

If no sample has a cycle, `medn_edu.samples.pack` turns them into forests, on which all inference is
exact.  If one of them has a cycle, all samples become `GraphSamples`, and `medn_edu.inference.loopy`
has approximate inference for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from medn_edu.checks import as_numbers, check_count, shown
from medn_edu.samples.checks import check_packed, check_packed_edges
from medn_edu.samples.structures import SampleSet, as_writeable, ranges


@dataclass(frozen=True, eq=False)
class Graph:
    """One sample whose nodes are joined by any edges, which may form cycles.

    If no sample of a set has a cycle, every model treats them exactly, as if the graphs were `Forest`
    objects.  If one sample has a cycle, inference is approximate.

    Parameters
    ----------
    features : array_like or scipy sparse matrix of shape (n_nodes, n_features)
        One row per node.
    edges : array_like of int, shape (n_edges, 2)
        The two nodes that each edge joins, numbered from 0 within this sample.  No edge joins a node to
        itself, and no two edges join the same nodes.  The order within a pair says how an edge's table
        is indexed: ``[type, label of the first node, label of the second node]``.
    edge_types : array_like of int, shape (n_edges,), optional
        Type of each edge, ``0 .. n_edge_types - 1``; each type has its own transition weights.  By
        default, all edges are of type 0.  If every edge needs weights of its own, give each edge a
        type of its own.
    edge_features : array_like of shape (n_edges, n_edge_features), optional
        Real numbers for each edge, as for a `Forest`.
    allowed_labels : sequence or ndarray of bool, optional
        The labels that each node may have, as for a `Forest`.

    Examples
    --------
    A triangle, whose last edge is of another type:

    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> triangle = Graph(np.eye(3), edges=[[0, 1], [1, 2], [2, 0]], edge_types=[0, 0, 1])
    >>> len(triangle.edges)
    3
    """

    features: Any
    edges: Any
    edge_types: Any = None
    edge_features: Any = None
    allowed_labels: Any = None


def grid(
    features: Any,
    connectivity: int = 4,
    *,
    shape: tuple[int, int] | None = None,
    share: bool = True,
    allowed_labels: Any = None,
) -> Graph:
    """Turn an image, or another rectangle of nodes, into a `Graph` in which neighbours are joined.

    Nodes are numbered row by row.  Each edge runs from the earlier node to the later one.

    Parameters
    ----------
    features : array_like of shape (height, width) or (height, width, n_features)
        One number per node, such as the brightness of a pixel, or several numbers.  If you give
        ``shape``, one row per node: an array or sparse matrix of shape (height * width, n_features).
    connectivity : {4, 8}, default=4
        How many neighbours a node has, away from the border.  With 4, these are the nodes to the left,
        to the right, above and below.  With 8, diagonal neighbours are added.  Diagonal edges are of
        type 1, and all others of type 0.
    shape : (height, width), optional
        Shape of the grid, if features come one row per node.
    share : bool, default=True
        Whether all nodes share their feature weights, and all edges of a type their transition weights.
        If False, every node and every edge has weights of its own.  To that end, each node ``v`` gets
        feature columns of its own, ``v * n_features`` to ``(v + 1) * n_features``, and each edge gets a
        type of its own.  Then all grids of a data set must have the same size.
    allowed_labels : sequence or ndarray of bool, optional
        The labels that each node may have, node by node, as for a `Graph`.

    Returns
    -------
    Graph
        The grid.

    Examples
    --------
    Two rows of three pixels.  The first two edges lie within the first row:

    >>> import numpy as np
    >>> from medn_edu import grid
    >>> image = grid(np.zeros((2, 3)))
    >>> image.edges.tolist()
    [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    >>> grid(np.zeros((2, 3)), connectivity=8).edge_types.tolist()
    [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]

    If each pixel has weights of its own, it also has features of its own:

    >>> grid(np.array([[0.5, 2.0]]), share=False).features.toarray()
    array([[0.5, 0. ],
           [0. , 2. ]])
    """
    if not isinstance(connectivity, Integral) or connectivity not in (4, 8):
        raise ValueError(f"connectivity is {shown(connectivity)}; expected 4 or 8.")
    rows, size = _rows(features) if shape is None else _rows_of(features, shape)
    node = np.arange(size[0] * size[1]).reshape(size)
    straight = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    diagonal = [(node[:-1, :-1], node[1:, 1:]), (node[:-1, 1:], node[1:, :-1])]
    pairs = straight + diagonal * (connectivity == 8)
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    n_straight = sum(a.size for a, _ in straight)
    if share:
        types = (np.arange(len(edges)) >= n_straight).astype(np.int64)
        return Graph(rows, edges, types, allowed_labels=allowed_labels)
    # Each node's columns are moved to a block of their own.
    own = sp.csr_matrix(rows)
    moved = own.indices + np.repeat(np.arange(node.size), np.diff(own.indptr)) * rows.shape[1]
    own = sp.csr_matrix((own.data, moved, own.indptr), shape=(node.size, node.size * rows.shape[1]))
    return Graph(own, edges, np.arange(len(edges)), allowed_labels=allowed_labels)


def _rows(features: Any) -> tuple[np.ndarray, tuple[int, int]]:
    """Return a row of features for each pixel of an image, and its size."""
    try:
        numbers = as_numbers(features)
    except TypeError as what:
        raise TypeError(f"features of a grid holds {what}; expected real numbers.") from None
    if numbers.ndim not in (2, 3) or not numbers.size:
        raise ValueError(
            f"features of a grid has shape {numbers.shape}; expected (height, width) or (height, width, "
            "n_features), none of them 0."
        )
    height, width = numbers.shape[:2]
    return numbers.reshape(height * width, -1), (height, width)


def _rows_of(features: Any, shape: Any) -> tuple[Any, tuple[int, int]]:
    """Return features that come one row per node, and the size of their grid."""
    try:
        height, width = (check_count("shape", n) for n in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape is {shown(shape)}; expected (height, width) of a grid.") from None
    rows = features if sp.issparse(features) else as_numbers(features)
    if rows.ndim != 2 or rows.shape[0] != height * width or not rows.shape[1]:
        raise ValueError(
            f"features of a grid has shape {rows.shape}, which does not fit its shape ({height}, "
            f"{width}); expected ({height * width}, n_features), one row per node."
        )
    return rows, (height, width)


class PackedGraphs(NamedTuple):
    """The arrays of `GraphSamples` as kernels want them (`as_writeable`).

    ``sources`` are the arrays of which these are copies or views.
    """

    data: np.ndarray  # values of the node features,
    indices: np.ndarray  # their columns,
    indptr: np.ndarray  # and where the row of each node starts
    offsets: np.ndarray  # where each sample's nodes start
    edges: np.ndarray  # (n_edges, 2), first and second node of each edge
    edge_offsets: np.ndarray  # where each sample's edges start
    edge_kinds: np.ndarray  # of each edge
    sources: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls, sources: tuple[np.ndarray, ...], before: PackedGraphs | None = None
    ) -> PackedGraphs:
        """Pack arrays; copies made ``before`` are taken over where they still hold."""
        dtypes = (np.float64, np.int32, np.int64, np.int64, np.int64, np.int64, np.int64)
        return cls._make([*as_writeable(sources, dtypes, before), sources])

    @property
    def features(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, columns and row starts of the node features."""
        return self.data, self.indices, self.indptr


@dataclass(frozen=True, eq=False)
class GraphSamples(SampleSet):
    """Many graphs, packed into flat arrays by `medn_edu.samples.pack`.  Do not write to them.

    Parameters
    ----------
    features : scipy.sparse.csr_matrix of float64, shape (n_nodes, n_features)
        One row per node.
    offsets : ndarray of int64, shape (n_samples + 1,)
        Sample ``i`` owns nodes ``offsets[i]:offsets[i + 1]``.
    edges : ndarray of int64, shape (n_edges, 2)
        First and second node of each edge, numbered through the whole set.
    edge_offsets : ndarray of int64, shape (n_samples + 1,)
        Sample ``i`` owns edges ``edge_offsets[i]:edge_offsets[i + 1]``.
    edge_types : ndarray of int64, shape (n_edges,)
        Type of each edge.
    edge_features : ndarray of float64, shape (n_edges, n_edge_features), optional
        Features of each edge.
    allowed_labels : tuple, optional
        The allowed labels of each sample, as handed in.
    """

    features: sp.csr_matrix
    offsets: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray
    edge_types: np.ndarray
    edge_features: np.ndarray | None = None
    allowed_labels: tuple[Any, ...] | None = None

    def _check(self) -> None:
        n_edges = len(self.edges) if isinstance(self.edges, np.ndarray) and self.edges.ndim else -1
        check_packed(
            "GraphSamples", self.features, self.offsets, self.edge_types, self.edge_features,
            self.allowed_labels, n_edges=n_edges,
        )  # fmt: skip
        check_packed_edges(self.edges, self.edge_offsets, self.offsets)

    @cached_property
    def packed(self) -> PackedGraphs:
        """The arrays as kernels want them; those that are read-only are copied, once."""
        return PackedGraphs.of(self._sources())

    def _sources(self) -> tuple[np.ndarray, ...]:
        rows = self.features
        arrays = rows.data, rows.indices, rows.indptr, self.offsets, self.edges
        return *arrays, self.edge_offsets, self.edge_kinds

    @property
    def n_edges(self) -> int:
        """Number of edges of all samples together."""
        return len(self.edges)

    @cached_property
    def sample_of_edge(self) -> np.ndarray:
        """Sample to which each edge belongs, int64, shape (n_edges,)."""
        return np.repeat(np.arange(self.n_samples), np.diff(self.edge_offsets))

    @cached_property
    def first_with_cycle(self) -> int:
        """The first sample that has a cycle."""
        return int(np.argmax(has_cycle(self.edges, self.edge_offsets, self.offsets)))

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All edges, and the first and second node of each."""
        return np.arange(self.n_edges), self.edges[:, 0], self.edges[:, 1]

    @property
    def forests(self) -> NoReturn:
        """Nothing: forests have no cycles."""
        raise ValueError(
            f"sample {self.first_with_cycle} was packed as a graph with cycles, for which exact "
            "inference is not possible; expected samples without cycles, or the functions of "
            "medn_edu.inference.loopy."
        )

    def split_edges(self, per_edge: np.ndarray) -> list[np.ndarray]:
        """Cut an array with one row per edge into one array per sample."""
        return np.split(per_edge, self.edge_offsets[1:-1])

    def take(self, index: np.ndarray) -> GraphSamples:
        """Return the samples ``index`` (ints), in that order, packed anew."""
        index, offsets, nodes = self._taken(index)
        edge_offsets, rows = ranges(self.edge_offsets, index)
        moved = np.repeat(self.offsets[index] - offsets[:-1], np.diff(edge_offsets))
        return GraphSamples(
            features=self.features[nodes],
            offsets=offsets,
            edges=self.edges[rows] - moved[:, None],
            edge_offsets=edge_offsets,
            edge_types=self.edge_types[rows],
            edge_features=None if self.edge_features is None else self.edge_features[rows],
            allowed_labels=self.allowed_labels and tuple(self.allowed_labels[i] for i in index),
        )


def has_cycle(edges: np.ndarray, edge_offsets: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return for each sample whether its edges form a cycle.

    A forest of k trees has k fewer edges than nodes, and any further edge closes a cycle.
    """
    n_nodes = int(offsets[-1])
    _, tree_of_node = csgraph.connected_components(adjacency(edges, n_nodes), directed=False)
    _, first = np.unique(tree_of_node, return_index=True)
    n_trees = np.diff(np.searchsorted(np.sort(first), offsets))
    return np.diff(edge_offsets) > np.diff(offsets) - n_trees


def adjacency(edges: np.ndarray, n_nodes: int) -> sp.csr_matrix:
    """Return a matrix with a 1 for each edge, in the row of its first node."""
    ones = np.ones(len(edges))
    return sp.csr_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))
