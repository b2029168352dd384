"""From arrays, sparse matrices and forests to packed samples."""

from collections.abc import Iterable, Set
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.checks import as_numbers
from medn_edu.kernels.compress import compress_rows
from medn_edu.samples import checks
from medn_edu.samples.structures import Forest, Samples

_CHUNK_NUMBERS = 2**17  # dense rows are compressed while they are in a processor's cache


def pack(X: Iterable[Any] | Samples, *, n_features: int | None = None) -> Samples:
    """Check samples and pack them; ``n_features`` is the width they must have, if it is known.

    A sample is an array or scipy sparse matrix of shape (n_nodes, n_features), which is a chain, or a
    `Forest`.  Samples packed before are returned as they are, so that packing once and predicting
    often costs nothing.

    >>> import numpy as np
    >>> samples = pack([np.ones((3, 2)), np.ones((1, 2))])
    >>> samples.offsets, samples.parents
    (array([0, 3, 4]), array([-1,  0,  1, -1]))
    """
    if isinstance(X, Samples):
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
        checks.as_matrix(item.features if isinstance(item, Forest) else item, i)
        for i, item in enumerate(items)
    ]
    for i, matrix in enumerate(matrices):
        expected = matrices[0].shape[1] if n_features is None else n_features
        checks.check_width(matrix.shape[1], expected, f"sample {i} of X")
    lengths = [matrix.shape[0] for matrix in matrices]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    features = _stack(matrices, offsets)
    checks.check_values(features, offsets)
    parents, edge_types = _edges(items, offsets)
    return Samples(
        features, offsets, parents, edge_types,
        _edge_features(items, offsets, parents), _allowed_labels(items, lengths),
    )  # fmt: skip


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


def _edge_features(items: list[Any], offsets: np.ndarray, parents: np.ndarray) -> np.ndarray | None:
    """Return the edge features of all nodes, 0 at roots, or None if no sample has any."""
    given = [item.edge_features if isinstance(item, Forest) else None for item in items]
    has_some = [features is not None for features in given]
    if not any(has_some):
        return None
    if not all(has_some):
        raise ValueError(
            f"sample {has_some.index(False)} of X has no edge_features and sample "
            f"{has_some.index(True)} has some; expected them at all samples or at none."
        )
    tables: list[np.ndarray] = []
    for i, features in enumerate(given):
        nodes = slice(*offsets[i : i + 2])
        width = tables[0].shape[1] if tables else None
        tables.append(checks.check_edge_features(features, i, parents[nodes] < 0, width))
    return np.concatenate(tables)


def _allowed_labels(items: list[Any], lengths: list[int]) -> tuple[Any, ...] | None:
    """Return what was said of allowed labels, by sample; its labels are looked up later."""
    given = [item.allowed_labels if isinstance(item, Forest) else None for item in items]
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
