"""From arrays, sparse matrices, forests and graphs to packed samples."""

from collections.abc import Iterable, Set
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from medn_edu.checks import as_numbers
from medn_edu.kernels.compress import compress_rows
from medn_edu.samples import checks
from medn_edu.samples.graphs import Graph, GraphSamples, adjacency, has_cycle
from medn_edu.samples.structures import AsGiven, Forest, Samples, SampleSet

_CHUNK_NUMBERS = 2**17  # dense rows are compressed while they are in a processor's cache


def pack(X: Iterable[Any] | SampleSet, *, n_features: int | None = None) -> SampleSet:
    """Check samples and pack them; ``n_features`` is the number of features they must have, if known.

    A sample is an array or scipy sparse matrix of shape (n_nodes, n_features), which stands for a chain,
    or it is a `Forest` or a `Graph`.  If no sample has a cycle, the result is `Samples`, which are
    forests.  If one has a cycle, the result is `GraphSamples`.  Chains and forests then become graphs
    whose edges run from parents to children.  Samples that are packed already are returned as they are.
    So if you predict often, pack once.

    >>> import numpy as np
    >>> samples = pack([np.ones((3, 2)), np.ones((1, 2))])
    >>> samples.offsets, samples.parents
    (array([0, 3, 4]), array([-1,  0,  1, -1]))

    A tree whose edges run towards node 2 is packed from node 0 on.  A triangle is not a forest:

    >>> tree, triangle = [[0, 1], [1, 2]], [[0, 1], [1, 2], [2, 0]]
    >>> pack([Graph(np.eye(3), tree)]).parents
    array([-1,  0,  1])
    >>> pack([Graph(np.eye(3), triangle)]).edges.tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    if isinstance(X, SampleSet):
        X.check()  # as they were packed, unless somebody wrote into their arrays
        checks.check_values(X.features, X.offsets)
        checks.check_width(X.n_features, n_features, "X")
        if not X.n_samples:
            raise ValueError("X holds no samples; expected at least one.")
        return X
    if isinstance(X, Set) or (not sp.issparse(X) and getattr(X, "ndim", 3) in (0, 2)):
        what = f"a {type(X).__name__}" + " with 2 dimensions" * (getattr(X, "ndim", 0) == 2)
        raise TypeError(f"X is {what}; expected a sequence of samples, one matrix for each.")
    items = checks.as_list(X, "X", "a sequence of samples")
    if not items:
        raise ValueError("X holds no samples; expected at least one.")
    matrices = [
        checks.as_matrix(item.features if isinstance(item, Forest | Graph) else item, i)
        for i, item in enumerate(items)
    ]
    for i, matrix in enumerate(matrices):
        expected = matrices[0].shape[1] if n_features is None else n_features
        checks.check_width(matrix.shape[1], expected, f"sample {i} of X")
    lengths = [matrix.shape[0] for matrix in matrices]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    features = _stack(matrices, offsets)
    checks.check_values(features, offsets)
    allowed_labels = _allowed_labels(items, lengths)
    if any(isinstance(item, Graph) for item in items):
        return _graphs(features, offsets, _rows(items, offsets), allowed_labels)
    parents, edge_types = _edges(items, offsets)
    edge_features = _edge_features(items, [parents[a:b] < 0 for a, b in pairwise(offsets)])
    return Samples(features, offsets, parents, edge_types, edge_features, allowed_labels)


def _edges(items: list[Any], offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parents and edge types of all nodes; what is no `Forest` is a chain."""
    parents = np.arange(-1, offsets[-1] - 1, dtype=np.int64)
    parents[offsets[:-1]] = -1
    edge_types = np.zeros(offsets[-1], dtype=np.int64)
    for i, item in enumerate(items):
        if not isinstance(item, Forest):
            continue
        first, last = offsets[i], offsets[i + 1]
        if item.parents is not None:
            local = checks.check_parents(item.parents, i, last - first)
            parents[first:last] = np.where(local < 0, -1, local + first)
        if item.edge_types is not None:
            is_root = parents[first:last] < 0
            edge_types[first:last] = checks.check_edge_types(item.edge_types, i, is_root)
    return parents, edge_types


def _edge_features(items: list[Any], no_edge: list[np.ndarray]) -> np.ndarray | None:
    """Return the features of all edges, or None if no sample has any.

    They are 0 where there is no edge, at roots.
    """
    is_rich = [
        isinstance(item, Forest | Graph) and item.edge_features is not None for item in items
    ]
    if not any(is_rich):
        return None
    if not all(is_rich):
        raise ValueError(
            f"sample {is_rich.index(False)} of X has no edge_features and sample "
            f"{is_rich.index(True)} has some; expected them at all samples or at none."
        )
    tables: list[np.ndarray] = []
    for i, (item, none) in enumerate(zip(items, no_edge, strict=True)):
        width, per = tables[0].shape[1] if tables else None, _per(item)
        tables.append(checks.check_edge_features(item.edge_features, i, none, width, per))
    return np.concatenate(tables)


def _per(item: Any) -> str:
    """Return what has a row of edge types and features each: a graph's edges, a forest's nodes."""
    return "edge" if isinstance(item, Graph) else "node"


class _Rows(NamedTuple):
    """What was said of edges, row by row: one for each edge of a graph and each node of a forest."""

    ends: np.ndarray  # (n_rows, 2), numbered through the whole set; -1 and the node at a root
    offsets: np.ndarray  # (n_samples + 1,), where each sample's rows start
    types: np.ndarray  # (n_rows,)
    features: np.ndarray | None  # (n_rows, n_edge_features)


def _rows(items: list[Any], offsets: np.ndarray) -> _Rows:
    """Collect what was said of edges, with the forests' edges from parents to children."""
    ends, types = [], []
    for i, (item, n_nodes) in enumerate(zip(items, np.diff(offsets), strict=True)):
        if isinstance(item, Graph):
            pairs = checks.check_edges(item.edges, i, n_nodes)
        else:
            parents = np.arange(-1, n_nodes - 1)
            if isinstance(item, Forest) and item.parents is not None:
                parents = checks.check_parents(item.parents, i, n_nodes)
            pairs = np.stack([parents, np.arange(n_nodes)], axis=1)
        is_root, given = pairs[:, 0] < 0, getattr(item, "edge_types", None)
        if not isinstance(item, Forest | Graph) or given is None:
            given = np.zeros(len(pairs))
        types.append(checks.check_edge_types(given, i, is_root, _per(item)))
        ends.append(np.where(pairs < 0, -1, pairs + offsets[i]))
    starts = np.concatenate([[0], np.cumsum([len(pairs) for pairs in ends])])
    features = _edge_features(items, [pairs[:, 0] < 0 for pairs in ends])
    return _Rows(np.concatenate(ends), starts, np.concatenate(types), features)


def _graphs(
    features: sp.csr_matrix,
    offsets: np.ndarray,
    rows: _Rows,
    allowed_labels: tuple[Any, ...] | None,
) -> SampleSet:
    """Return graphs with their cycles or, if there are none, the forests that they are."""
    is_edge = rows.ends[:, 0] >= 0
    edges = rows.ends[is_edge]
    edge_offsets = np.concatenate([[0], np.cumsum(is_edge)])[rows.offsets]
    if has_cycle(edges, edge_offsets, offsets).any():
        edge_features = None if rows.features is None else rows.features[is_edge]
        return GraphSamples(
            features,
            offsets,
            edges,
            edge_offsets,
            rows.types[is_edge],
            edge_features,
            allowed_labels,
        )
    above, nodes = _rooted(edges, offsets)
    position = np.empty_like(nodes)
    position[nodes] = np.arange(len(nodes))
    first, second = rows.ends.T
    is_turned = above[second] != first
    child = position[np.where(is_turned, first, second)]
    turned, edge_types, edge_features = np.zeros(len(nodes), bool), np.zeros_like(nodes), None
    turned[child], edge_types[child] = is_turned, rows.types
    if rows.features is not None:
        edge_features = np.zeros((len(nodes), rows.features.shape[1]))
        edge_features[child] = rows.features
    return Samples(
        features=features[nodes],
        offsets=offsets,
        parents=np.where(above[nodes] < 0, -1, position[above[nodes]]),
        edge_types=edge_types,
        edge_features=edge_features,
        allowed_labels=allowed_labels,
        given=AsGiven(nodes, turned, child, rows.offsets),
    )


def _rooted(edges: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose a root for each tree: return the parent of each node, and an order that parents begin.

    A root is a node to which no edge leads, so that no edge of a tree of parents and children is turned
    round.  Samples whose parents come first as they are stay in their order.
    """
    n_nodes = int(offsets[-1])
    everything, sample_of_node = (
        np.arange(n_nodes),
        np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
    )
    _, tree = csgraph.connected_components(adjacency(edges, n_nodes), directed=False)
    sources = np.setdiff1d(everything, edges[:, 1])
    roots = sources[np.unique(tree[sources], return_index=True)[1]]
    # One more node, joined to all roots, makes one tree of all.
    stem = np.column_stack([np.full(len(roots), n_nodes), roots])
    whole = adjacency(np.concatenate([edges, stem]), n_nodes + 1)
    order, above = csgraph.breadth_first_order(whole, n_nodes, directed=False)
    above = np.where(above[:-1] == n_nodes, -1, above[:-1]).astype(np.int64)
    rank = np.empty(n_nodes + 1, dtype=np.int64)
    rank[order] = np.arange(n_nodes + 1)
    is_late = np.bincount(sample_of_node, above >= everything) > 0
    rank = np.where(is_late[sample_of_node], rank[:-1], everything)
    return above, np.lexsort((rank, sample_of_node))


def _allowed_labels(items: list[Any], lengths: list[int]) -> tuple[Any, ...] | None:
    """Return what was said of allowed labels, by sample; its labels are looked up later."""
    given = [item.allowed_labels if isinstance(item, Forest | Graph) else None for item in items]
    if all(allowed is None for allowed in given):
        return None
    return tuple(
        None if allowed is None else checks.check_allowed_length(allowed, i, n)
        for i, (allowed, n) in enumerate(zip(given, lengths, strict=True))
    )


def _stack(matrices: list[Any], offsets: np.ndarray) -> sp.csr_matrix:
    """Stack sample matrices into one CSR matrix without zeros, never making a sparse one dense."""
    if not any(sp.issparse(matrix) for matrix in matrices):
        return _compressed(matrices, offsets)
    rows = [m if sp.issparse(m) else sp.csr_matrix(m) for m in matrices]
    sizes = [m.indptr[-1] for m in rows]  # arrays may be longer than what is used of them
    data = np.concatenate([m.data[:n] for m, n in zip(rows, sizes, strict=True)])
    indices = np.concatenate(
        [m.indices[:n] for m, n in zip(rows, sizes, strict=True)],
        dtype=np.int32,
        casting="same_kind",
    )
    counts = np.concatenate([np.diff(m.indptr) for m in rows])
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    shape = (len(counts), rows[0].shape[1])
    stacked = sp.csr_matrix((as_numbers(data), indices, indptr), shape=shape)
    stacked.sum_duplicates()
    stacked.eliminate_zeros()
    return stacked


def _compressed(matrices: list[np.ndarray], offsets: np.ndarray) -> sp.csr_matrix:
    """Compress dense matrices, so that never more than one chunk is dense twice."""
    n_columns = matrices[0].shape[1]
    chunk_of = offsets[:-1] * n_columns // _CHUNK_NUMBERS
    cuts = np.flatnonzero(np.diff(chunk_of, prepend=-1, append=chunk_of[-1] + 1))
    most = int(np.diff(offsets[cuts]).max())
    dense = np.empty((most, n_columns))
    values, columns = np.empty(most * n_columns), np.empty(most * n_columns, dtype=np.int32)
    indptr = np.zeros(offsets[-1] + 1, dtype=np.int64)
    data, indices = [], []
    for first, last in pairwise(cuts):
        rows = slice(offsets[first], offsets[last])
        part = np.concatenate(matrices[first:last], out=dense[: rows.stop - rows.start])
        ends = indptr[1:][rows]
        n = compress_rows(part, values, columns, ends)
        ends += indptr[rows.start]
        data.append(values[:n].copy())
        indices.append(columns[:n].copy())
    return sp.csr_matrix(
        (np.concatenate(data), np.concatenate(indices), indptr), shape=(len(indptr) - 1, n_columns)
    )
