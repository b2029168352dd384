"""Samples: arrays, sparse matrices and forests, checked and packed into flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.checks import as_numbers
from medn_edu.kernels.compress import compress_rows
from medn_edu.packing._common import MAGNITUDE, as_list
from medn_edu.structures import Forest, Samples, are_positions, are_rows

__all__ = ["pack"]

_N_EDGE_TYPES = 10_000  # each takes n_labels ** 2 weights, in use or not
_MOST_FEATURES = 2**31 - 1  # columns are numbered by int32
_CHUNK_NUMBERS = 2**17  # dense rows are compressed while they are in a processor's cache


def pack(X: Iterable[Any] | Samples, *, n_features: int | None = None) -> Samples:
    """Check samples and pack them.

    Parameters
    ----------
    X : sequence of samples, or Samples
        Each sample is an array or scipy sparse matrix of shape (n_nodes, n_features), which is a
        chain, or a `Forest`.  Samples packed before are returned as they are, so that packing once
        and predicting often costs nothing.
    n_features : int, optional
        Width the features must have; by default that of the first sample.

    Returns
    -------
    Samples
        The packed samples.

    Raises
    ------
    TypeError
        If ``X`` is not a sequence of samples.
    ValueError
        If a sample is empty, ragged, of another width or not a forest, or features are not real
        numbers of magnitudes up to 1e100; the message names the sample and what was expected.

    Examples
    --------
    >>> import numpy as np
    >>> samples = pack([np.ones((3, 2)), np.ones((1, 2))])
    >>> samples.offsets, samples.parents
    (array([0, 3, 4]), array([-1,  0,  1, -1]))
    """
    if isinstance(X, Samples):
        X.check()  # as they were packed, unless somebody wrote into their arrays
        _check_values(X.features, X.offsets)
        _check_width(X.n_features, n_features, "X")
        return X
    if isinstance(X, Set) or (not sp.issparse(X) and getattr(X, "ndim", 3) in (0, 2)):
        what = f"a {type(X).__name__}" + " with 2 dimensions" * (getattr(X, "ndim", 0) == 2)
        raise TypeError(f"X is {what}; expected a sequence of samples, one matrix for each.")
    items = as_list(X, "X", "a sequence of samples")
    if not items:
        raise ValueError("X holds no samples; expected at least one.")
    matrices = [
        _as_matrix(item.features if isinstance(item, Forest) else item, i)
        for i, item in enumerate(items)
    ]
    shapes = np.array([matrix.shape for matrix in matrices])
    width = int(shapes[0, 1]) if n_features is None else n_features
    for i in np.flatnonzero(shapes[:, 1] != width)[:1]:
        _check_width(shapes[i, 1], width, f"sample {i} of X")
    offsets = np.concatenate([[0], np.cumsum(shapes[:, 0])]).astype(np.int64)
    features = _stack(matrices, offsets)
    _check_values(features, offsets)
    parents = np.arange(-1, offsets[-1] - 1, dtype=np.int64)
    parents[offsets[:-1]] = -1
    edge_types = np.zeros(offsets[-1], dtype=np.int64)
    for i, item in enumerate(items):
        if isinstance(item, Forest):
            first, last = offsets[i], offsets[i + 1]
            if item.parents is not None:
                local = _check_parents(item.parents, i, last - first)
                parents[first:last] = np.where(local < 0, -1, local + first)
            if item.edge_types is not None:
                is_root = parents[first:last] < 0
                edge_types[first:last] = _check_edge_types(item.edge_types, i, is_root)
    return Samples(features, offsets, parents, edge_types)


def _as_matrix(features: Any, i: int) -> Any:
    """Return one sample's features as a float64 array or a CSR matrix, with rows and columns."""
    fine = type(features) is np.ndarray and features.dtype == np.float64
    matrix = features if fine or sp.issparse(features) else _numbers(features, i)
    if matrix.ndim > 0 and matrix.shape[0] == 0:
        raise ValueError(f"sample {i} of X has no nodes; expected at least one.")
    if matrix.ndim != 2:
        raise ValueError(
            f"sample {i} of X has {matrix.ndim} dimension{'s' * (matrix.ndim != 1)}; "
            "expected 2, (n_nodes, n_features)."
        )
    if not 1 <= matrix.shape[1] <= _MOST_FEATURES:
        raise ValueError(
            f"sample {i} of X has {matrix.shape[1] or 'no'} features; expected at least one, and at "
            f"most {_MOST_FEATURES}."
        )
    return _as_rows(matrix, i) if sp.issparse(matrix) else matrix


def _numbers(values: Any, i: int) -> np.ndarray:
    try:
        return as_numbers(values)
    except TypeError as what:
        raise ValueError(
            f"sample {i} of X holds {what}; expected a matrix of real numbers, of shape "
            "(n_nodes, n_features) with rows of one length."
        ) from None


def _as_rows(matrix: Any, i: int) -> Any:
    """Return a sparse sample as CSR, checked before anything compiled, scipy's too, walks along it."""
    if getattr(matrix, "dtype", np.float64) != np.float64:
        _numbers(np.empty(0, matrix.dtype), i)
    try:
        rows = matrix.tocsr() if _is_sound(matrix) else None
        objects = rows is not None and rows.dtype == object
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError):
        rows = None
    if rows is None:
        raise ValueError(
            f"sample {i} of X is a damaged {type(matrix).__name__}: it has entries outside its shape "
            f"{matrix.shape}, or its arrays do not fit together; expected one as scipy makes it."
        )
    if objects:
        rows = sp.csr_matrix((_numbers(rows.data, i), rows.indices, rows.indptr), rows.shape)
    return rows


def _is_sound(matrix: Any) -> bool:
    """Tell whether all numbers of a sparse matrix of any format are inside it."""
    n_rows, n_columns = matrix.shape
    match matrix.format:
        case "csr" if np.ndim(matrix.data) == 1:
            return are_rows(matrix.data, matrix.indices, matrix.indptr, matrix.shape)
        case "csc" if np.ndim(matrix.data) == 1:
            return are_rows(matrix.data, matrix.indices, matrix.indptr, matrix.shape[::-1])
        case "bsr":
            blocks = matrix.data
            if np.ndim(blocks) != 3 or not all(blocks.shape[1:]):
                return False
            shape, left = np.divmod(matrix.shape, blocks.shape[1:])
            return not left.any() and are_rows(blocks, matrix.indices, matrix.indptr, shape)
        case "coo":
            pairs = zip(matrix.coords, matrix.shape, strict=True)
            return all(are_positions(at, n) and len(at) == len(matrix.data) for at, n in pairs)
        case "dia":
            offsets, data = matrix.offsets, matrix.data
            return (
                np.ndim(data) == 2
                and len(data) == len(offsets)
                and are_positions(np.asarray(offsets) + n_rows, n_rows + n_columns)
            )
        case "lil":
            return len(matrix.rows) == len(matrix.data) == n_rows and all(
                len(columns) == len(values) and all(0 <= column < n_columns for column in columns)
                for columns, values in zip(matrix.rows, matrix.data, strict=True)
            )
        case "csr" | "csc":
            return False
    places = matrix.tocoo().coords  # of a dictionary of keys, in Python
    return all(are_positions(at, n) for at, n in zip(places, matrix.shape, strict=True))


def _check_values(features: sp.csr_matrix, offsets: np.ndarray) -> None:
    """Check all values at once; which sample a bad one belongs to is found out only then."""
    fine = np.abs(features.data) <= MAGNITUDE  # false for NaN
    if fine.all():
        return
    bad = int(np.argmin(fine))
    node = np.searchsorted(features.indptr, bad, side="right") - 1
    i, value = np.searchsorted(offsets, node, side="right") - 1, features.data[bad]
    if not np.isfinite(value):
        raise ValueError(
            f"sample {i} of X holds NaN or infinite features; expected finite numbers."
        )
    raise ValueError(
        f"sample {i} of X holds a feature of size {value:.3g}; expected magnitudes up to "
        f"{MAGNITUDE:g}; rescale the features."
    )


def _check_width(width: int, expected: int | None, name: str) -> None:
    if expected is not None and width != expected:
        raise ValueError(f"{name} has {width} features; expected {expected}.")


def _integers(values: Any, name: str, i: int, n_nodes: int) -> np.ndarray:
    try:
        numbers = as_numbers(values)
    except TypeError:
        numbers = np.full(1, np.nan)
    with np.errstate(invalid="ignore"):  # NaN, and what is too large: unequal, whatever it becomes
        whole = numbers.astype(np.int64)
    if numbers.shape != (n_nodes,) or not ((whole == numbers) & (np.abs(numbers) < 2.0**53)).all():
        raise ValueError(f"{name} of sample {i} must be {n_nodes} whole numbers, one per node.")
    return whole


def _check_parents(parents: Any, i: int, n_nodes: int) -> np.ndarray:
    local = _integers(parents, "parents", i, n_nodes)
    bad = np.flatnonzero((local < -1) | (local >= np.arange(n_nodes)))
    if len(bad):
        raise ValueError(
            f"parents of sample {i}: node {bad[0]} has parent {local[bad[0]]}; expected -1 (a root) "
            "or the number of an earlier node, which also rules out cycles."
        )
    return local


def _check_edge_types(edge_types: Any, i: int, is_root: np.ndarray) -> np.ndarray:
    """Return one sample's edge types, 0 at its roots, where they mean nothing."""
    types = np.where(is_root, 0, _integers(edge_types, "edge_types", i, len(is_root)))
    if (types < 0).any():
        raise ValueError(f"edge_types of sample {i} holds a negative type; expected 0, 1, 2, ...")
    if (types >= _N_EDGE_TYPES).any():
        raise ValueError(
            f"edge_types of sample {i} holds type {types.max()}; expected types below "
            f"{_N_EDGE_TYPES}, numbered 0, 1, 2, ..."
        )
    return types


def _stack(matrices: list[Any], offsets: np.ndarray) -> sp.csr_matrix:
    """Stack sample matrices into one CSR matrix without zeros, never making a sparse one dense."""
    if not any(sp.issparse(matrix) for matrix in matrices):
        return _compressed(matrices, offsets)
    rows = [m if sp.issparse(m) else sp.csr_matrix(m) for m in matrices]
    sizes = [m.indptr[-1] for m in rows]  # arrays may be longer than what is used of them
    data = np.concatenate([m.data[:n] for m, n in zip(rows, sizes, strict=True)])
    indices = np.concatenate([m.indices[:n] for m, n in zip(rows, sizes, strict=True)])
    counts = np.concatenate([np.diff(m.indptr) for m in rows])
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    shape = (len(counts), rows[0].shape[1])
    stacked = sp.csr_matrix((as_numbers(data), indices.astype(np.int32), indptr), shape=shape)
    stacked.sum_duplicates()
    stacked.eliminate_zeros()
    return stacked


def _compressed(matrices: list[np.ndarray], offsets: np.ndarray) -> sp.csr_matrix:
    """Compress dense matrices, some at a time, so that all of them never stand side by side."""
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
