"""Whether what users hand in is what it should be: matrices, parents, edge types.

Compiled code follows every number it is given, out of memory if need be, so nothing that is wrong may
pass.  Each check raises one sentence that names the sample and says what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.checks import as_numbers

__all__ = [
    "MAGNITUDE",
    "are_integers",
    "are_positions",
    "are_rows",
    "as_matrix",
    "check_edge_types",
    "check_parents",
    "check_values",
]

MAGNITUDE = 1e100  # squares of larger numbers, and sums of them, come near the end of float64
_N_EDGE_TYPES = 10_000  # each takes n_labels ** 2 weights, in use or not
_MOST_FEATURES = 2**31 - 1  # columns are numbered by int32


# -- matrices -----------------------------------------------------------------------------------


def as_matrix(features: Any, i: int) -> Any:
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


def are_rows(data: Any, indices: Any, indptr: Any, shape: Sequence[int]) -> bool:
    """Tell whether compressed rows stay inside their arrays and their shape; scipy may not ask."""
    if any(map(np.ma.isMaskedArray, (data, indices, indptr))):
        return False
    if not (isinstance(data, np.ndarray) and are_integers(indices) and are_integers(indptr)):
        return False
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return False
    n = indptr[-1]
    return n <= min(len(indices), len(data)) and are_positions(indices[:n], shape[1])


def are_positions(values: Any, n: int) -> bool:
    """Tell whether values are an array of whole numbers from 0 to n - 1."""
    return are_integers(values) and (
        not len(values) or bool(values.min() >= 0 and values.max() < n)
    )


def are_integers(values: Any) -> bool:
    """Tell whether values are a vector of whole numbers."""
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"


def check_values(features: sp.csr_matrix, offsets: np.ndarray) -> None:
    """Refuse NaN and what is too large, all samples at once; only then look for the sample."""
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


# -- forests ------------------------------------------------------------------------------------


def check_parents(parents: Any, i: int, n_nodes: int) -> np.ndarray:
    """Return one sample's parents, each -1 or an earlier node."""
    local = _integers(parents, "parents", i, n_nodes)
    bad = np.flatnonzero((local < -1) | (local >= np.arange(n_nodes)))
    if len(bad):
        raise ValueError(
            f"parents of sample {i}: node {bad[0]} has parent {local[bad[0]]}; expected -1 (a root) "
            "or the number of an earlier node, which also rules out cycles."
        )
    return local


def check_edge_types(edge_types: Any, i: int, is_root: np.ndarray) -> np.ndarray:
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
