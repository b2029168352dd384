"""Checks of samples, in the order in which `pack` makes them.

Compiled code follows every number it is given, even past the end of an array, so nothing that is
wrong may pass.  Each check raises one sentence that names the sample and says what was expected.
"""

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.checks import as_numbers

MAGNITUDE = 1e100  # squares of larger numbers, and sums of them, come near the end of float64
_N_EDGE_TYPES = 10_000  # each takes n_labels ** 2 weights, in use or not
_MOST_FEATURES = 2**31 - 1  # columns are numbered by int32


# -- lists and matrices -------------------------------------------------------------------------


def as_list(value: Any, name: str, expected: str) -> list[Any]:
    """Return a sequence as a list.

    Strings, dicts, data frames and sparse matrices are refused, since listing them gives something
    else.
    """
    odd = isinstance(value, (str, bytes, dict)) or hasattr(value, "columns") or sp.issparse(value)
    try:
        if odd:
            raise TypeError
        return list(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}; expected {expected}.") from None


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
        words = "text" in str(what) or (isinstance(values, list) and isinstance(values[0], dict))
        hint = " SequenceVectorizer makes samples of words and dictionaries." if words else ""
        raise ValueError(
            f"sample {i} of X holds {what}; expected a matrix of real numbers, of shape "
            f"(n_nodes, n_features) with rows of one length.{hint}"
        ) from None


def _as_rows(matrix: Any, i: int) -> Any:
    """Return a sparse sample as CSR, checked before scipy's compiled code walks along its arrays."""
    if getattr(matrix, "dtype", np.float64) != np.float64:
        _numbers(np.empty(0, matrix.dtype), i)
    try:
        rows = matrix.tocsr() if _is_sound(matrix) else None
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError):
        rows = None
    if rows is None:
        raise ValueError(
            f"sample {i} of X is a damaged {type(matrix).__name__}: it has entries outside its shape "
            f"{matrix.shape}, or its arrays do not fit together; expected one as scipy makes it."
        )
    if rows.dtype == object:
        rows = sp.csr_matrix((_numbers(rows.data, i), rows.indices, rows.indptr), rows.shape)
    return rows


def _is_sound(matrix: Any) -> bool:
    """Tell whether all numbers of a sparse matrix of any format are inside it."""
    n_rows, n_columns = matrix.shape
    match matrix.format:
        case "csr" | "csc":
            shape = matrix.shape if matrix.format == "csr" else (n_columns, n_rows)
            return _are_rows(matrix.data, matrix.indices, matrix.indptr, shape, ndim=1)
        case "bsr":
            blocks = matrix.data
            if np.ndim(blocks) != 3 or not all(blocks.shape[1:]):
                return False
            shape, left = np.divmod(matrix.shape, blocks.shape[1:])
            return not left.any() and _are_rows(
                blocks, matrix.indices, matrix.indptr, shape, ndim=3
            )
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
    entries = matrix.tocoo()  # coo itself, or a dictionary of keys, which is walked along in Python
    pairs = zip(entries.coords, matrix.shape, strict=True)
    return all(are_positions(at, n) and len(at) == len(entries.data) for at, n in pairs)


def _are_rows(data: Any, indices: Any, indptr: Any, shape: Sequence[int], *, ndim: int) -> bool:
    """Tell whether compressed rows stay inside their arrays and their shape; scipy may not ask."""
    if any(map(np.ma.isMaskedArray, (data, indices, indptr))):
        return False
    if not (isinstance(data, np.ndarray) and _are_integers(indices) and _are_integers(indptr)):
        return False
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return False
    n = indptr[-1]
    return (
        data.ndim == ndim
        and n <= min(len(indices), len(data))
        and are_positions(indices[:n], shape[1])
    )


def are_positions(values: Any, n: int) -> bool:
    """Tell whether values are a vector of whole numbers from 0 to n - 1."""
    return _are_integers(values) and (
        not len(values) or bool(values.min() >= 0 and values.max() < n)
    )


def _are_integers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"


def check_width(width: int, expected: int | None, name: str) -> None:
    """Refuse samples with more or fewer features than expected, if it is known how many."""
    if expected is not None and width != expected:
        raise ValueError(f"{name} has {width} features; expected {expected}.")


def check_values(features: sp.csr_matrix, offsets: np.ndarray) -> None:
    """Refuse NaN and numbers that are too large.

    All samples are tested at once; only on failure is the sample looked up.
    """
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


def check_edge_features(values: Any, i: int, is_root: np.ndarray, width: int | None) -> np.ndarray:
    """Return one sample's edge features, 0 at its roots, where they mean nothing."""
    try:
        features = as_numbers(values.toarray() if sp.issparse(values) else values)
    except TypeError as what:
        raise ValueError(
            f"edge_features of sample {i} holds {what}; expected real numbers, of shape "
            f"({len(is_root)}, n_edge_features)."
        ) from None
    fits = features.ndim == 2 and len(features) == len(is_root) and features.shape[1] > 0
    if not fits or width not in (None, features.shape[1]):
        wide = "n_edge_features" if width is None else width
        raise ValueError(
            f"edge_features of sample {i} has shape {features.shape}; expected ({len(is_root)}, "
            f"{wide}), one row per node."
        )
    features = np.where(is_root[:, None], 0.0, features)
    bad = np.flatnonzero(~(np.abs(features) <= MAGNITUDE).all(axis=1))
    if len(bad):
        raise ValueError(
            f"edge_features of sample {i} holds NaN or a number above {MAGNITUDE:g} in size, at node "
            f"{bad[0]}; expected finite numbers, of about 1."
        )
    return features


def check_allowed_length(allowed: Any, i: int, n_nodes: int) -> Any:
    """Return one sample's allowed labels, a mask or a list with one entry per node."""
    is_table = isinstance(allowed, np.ndarray) and allowed.ndim > 1
    if is_table and allowed.dtype.kind in "iuf":  # zeros and ones are a mask, or labels: who knows?
        raise TypeError(
            f"allowed_labels of sample {i} is a table of numbers; expected a mask of bool, or a list "
            "with a collection of labels, or None, for each node."
        )
    is_mask = isinstance(allowed, np.ndarray) and allowed.dtype == bool and allowed.ndim > 0
    if isinstance(allowed, Set):
        raise TypeError(
            f"allowed_labels of sample {i} is a set, which has no order; expected a list."
        )
    entries = allowed if is_mask else as_list(
        allowed, f"allowed_labels of sample {i}", "a collection of labels, or None, for each node"
    )  # fmt: skip
    if len(entries) != n_nodes:
        raise ValueError(
            f"allowed_labels of sample {i} have {len(entries)} entries for {n_nodes} nodes; expected "
            "one per node."
        )
    return entries


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


# -- packed samples -----------------------------------------------------------------------------


def check_packed(
    features: Any,
    offsets: Any,
    parents: Any,
    edge_types: Any,
    edge_features: Any,
    allowed_labels: Any,
) -> None:
    """Refuse packed arrays that do not fit together; each question trusts those before it."""

    def require(name: str, fits: bool) -> None:
        if not fits:
            raise ValueError(
                f"the {name} of these Samples do not fit, because somebody built or changed them "
                "by hand; expected Samples as medn_edu.samples.pack makes them."
            )

    require("features", getattr(features, "format", "") == "csr" and features.ndim == 2)
    rows = features.data, features.indices, features.indptr
    require("features", _are_rows(*rows, features.shape, ndim=1))
    require("features", features.data.dtype == np.float64)
    n_nodes = features.shape[0]
    require("offsets", _are_integers(offsets) and len(offsets) > 0)
    require("offsets", offsets[0] == 0 and offsets[-1] == n_nodes)
    require("offsets", (offsets[1:] > offsets[:-1]).all())
    require("parents", _are_integers(parents) and len(parents) == n_nodes)
    start = np.repeat(offsets[:-1], np.diff(offsets))
    inside = (parents >= start) & (parents < np.arange(n_nodes))
    require("parents", (inside | (parents == -1)).all())
    require("edge_types", _are_integers(edge_types) and len(edge_types) == n_nodes)
    require("edge_types", (edge_types >= 0).all())
    if edge_features is not None:
        require("edge_features", isinstance(edge_features, np.ndarray) and edge_features.ndim == 2)
        require("edge_features", edge_features.dtype == np.float64)
        require("edge_features", edge_features.shape[0] == n_nodes and edge_features.shape[1] > 0)
        require("edge_features", bool((np.abs(edge_features) <= MAGNITUDE).all()))
    if allowed_labels is not None:
        require("allowed_labels", isinstance(allowed_labels, tuple))
        require("allowed_labels", len(allowed_labels) == len(offsets) - 1)
        for allowed, n in zip(allowed_labels, np.diff(offsets), strict=True):
            fine = allowed is None or (isinstance(allowed, list | np.ndarray) and len(allowed) == n)
            require("allowed_labels", fine)
