"""Checks of samples, in the order in which `pack` makes them.

Compiled code follows every number it is given, even past the end of an array, so nothing that is
wrong may pass.  Each check raises one sentence that names the sample and says what was expected.
"""

from collections.abc import Sequence, Set
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.checks import as_numbers

MAGNITUDE = 1e100  # squares of larger numbers, and sums of them, come near the end of float64
N_WEIGHTS = 10**8  # of all transitions together: 0.8 GB
_N_EDGE_TYPES = N_WEIGHTS // 4  # each takes at least 2 * 2 weights, in use or not
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


def check_edge_types(edge_types: Any, i: int, is_root: np.ndarray, per: str = "node") -> np.ndarray:
    """Return one sample's edge types, 0 at its roots, where they mean nothing."""
    types = np.where(is_root, 0, _integers(edge_types, "edge_types", i, len(is_root), per))
    if (types < 0).any():
        raise ValueError(f"edge_types of sample {i} holds a negative type; expected 0, 1, 2, ...")
    if (types >= _N_EDGE_TYPES).any():
        raise ValueError(
            f"edge_types of sample {i} holds type {types.max()}; expected types below "
            f"{_N_EDGE_TYPES}, numbered 0, 1, 2, ..."
        )
    return types


def check_edge_features(
    values: Any, i: int, is_root: np.ndarray, width: int | None, per: str = "node"
) -> np.ndarray:
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
            f"{wide}), one row per {per}."
        )
    features = np.where(is_root[:, None], 0.0, features)
    bad = np.flatnonzero(~(np.abs(features) <= MAGNITUDE).all(axis=1))
    if len(bad):
        raise ValueError(
            f"edge_features of sample {i} holds NaN or a number above {MAGNITUDE:g} in size, at {per} "
            f"{bad[0]}; expected finite numbers, of about 1."
        )
    return features


# -- graphs -------------------------------------------------------------------------------------


def check_edges(edges: Any, i: int, n_nodes: int) -> np.ndarray:
    """Return one sample's edges: pairs of different nodes, each pair once."""
    expected = "expected whole numbers, of shape (n_edges, 2), the two nodes of each edge"
    try:
        numbers = as_numbers(edges)
    except TypeError as what:
        raise ValueError(f"edges of sample {i} holds {what}; {expected}.") from None
    if numbers.size == 0 and numbers.ndim in (1, 2):
        return np.zeros((0, 2), dtype=np.int64)
    if numbers.ndim != 2 or numbers.shape[1] != 2:
        raise ValueError(f"edges of sample {i} has shape {numbers.shape}; {expected}.")
    pairs = _whole(numbers)
    if pairs is None:
        raise ValueError(f"edges of sample {i} holds a number that is not whole; {expected}.")
    outside = ((pairs < 0) | (pairs >= n_nodes)).any(axis=1)
    if outside.any():
        edge = int(np.argmax(outside))
        raise ValueError(
            f"edges of sample {i}: edge {edge} joins nodes {pairs[edge, 0]} and {pairs[edge, 1]}; "
            f"expected numbers from 0 to {n_nodes - 1}, because there are {n_nodes} nodes."
        )
    is_loop = pairs[:, 0] == pairs[:, 1]
    if is_loop.any():
        edge = int(np.argmax(is_loop))
        raise ValueError(
            f"edges of sample {i}: edge {edge} joins node {pairs[edge, 0]} to itself; expected two "
            "different nodes."
        )
    number_of_pair = pairs.min(axis=1) * n_nodes + pairs.max(axis=1)
    if (np.diff(np.sort(number_of_pair)) == 0).any():
        order = np.argsort(number_of_pair, kind="stable")
        again = int(np.argmin(np.diff(number_of_pair[order])))
        one, other = order[again : again + 2]
        raise ValueError(
            f"edges of sample {i}: edges {one} and {other} both join nodes {pairs[one, 0]} and "
            f"{pairs[one, 1]}; expected one edge between two nodes, in either direction."
        )
    return pairs


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


def _integers(values: Any, name: str, i: int, n_rows: int, per: str = "node") -> np.ndarray:
    try:
        numbers = as_numbers(values)
    except TypeError:
        numbers = np.full(1, np.nan)
    whole = _whole(numbers)
    if numbers.shape != (n_rows,) or whole is None:
        raise ValueError(f"{name} of sample {i} must be {n_rows} whole numbers, one per {per}.")
    return whole


def _whole(numbers: np.ndarray) -> np.ndarray | None:
    """Return numbers as int64, or None if one is not whole."""
    with np.errstate(invalid="ignore"):  # NaN, and what is too large: unequal, whatever it becomes
        whole = numbers.astype(np.int64)
    return whole if ((whole == numbers) & (np.abs(numbers) < 2.0**53)).all() else None


def check_packed(
    kind: str,
    features: Any,
    offsets: Any,
    edge_types: Any,
    edge_features: Any,
    allowed_labels: Any,
    *,
    n_edges: int,
) -> None:
    """Refuse packed arrays that do not fit together; each question trusts those before it."""
    require = partial(_require, kind)
    require("features", getattr(features, "format", "") == "csr" and features.ndim == 2)
    rows = features.data, features.indices, features.indptr
    require("features", _are_rows(*rows, features.shape, ndim=1))
    require("features", features.data.dtype == np.float64)
    require("offsets", _are_cuts(offsets, features.shape[0]))
    require("offsets", (offsets[1:] > offsets[:-1]).all())
    require("edge_types", _are_integers(edge_types) and len(edge_types) == n_edges)
    require("edge_types", (edge_types >= 0).all())
    if edge_features is not None:
        require("edge_features", isinstance(edge_features, np.ndarray) and edge_features.ndim == 2)
        require("edge_features", edge_features.dtype == np.float64)
        require("edge_features", edge_features.shape[0] == n_edges and edge_features.shape[1] > 0)
        require("edge_features", bool((np.abs(edge_features) <= MAGNITUDE).all()))
    if allowed_labels is not None:
        require("allowed_labels", isinstance(allowed_labels, tuple))
        require("allowed_labels", len(allowed_labels) == len(offsets) - 1)
        for allowed, n in zip(allowed_labels, np.diff(offsets), strict=True):
            fine = allowed is None or (isinstance(allowed, list | np.ndarray) and len(allowed) == n)
            require("allowed_labels", fine)


def check_packed_parents(parents: Any, offsets: np.ndarray) -> None:
    """Refuse parents of packed nodes that are not earlier nodes of the same sample."""
    require, n_nodes = partial(_require, "Samples"), offsets[-1]
    require("parents", _are_integers(parents) and len(parents) == n_nodes)
    inside = (parents >= _first_nodes(offsets)) & (parents < np.arange(n_nodes))
    require("parents", (inside | (parents == -1)).all())


def check_as_given(given: dict[str, Any], offsets: np.ndarray) -> None:
    """Refuse an order of nodes and edges that samples cannot have been given in."""
    require, n_nodes = partial(_require, "Samples"), offsets[-1]
    nodes, turned, edges = given["nodes"], given["turned"], given["edges"]
    require("given nodes", are_positions(nodes, n_nodes) and len(nodes) == n_nodes)
    require("given nodes", bool((np.bincount(nodes, minlength=n_nodes) == 1).all()))
    first = _first_nodes(offsets)
    require("given nodes", np.array_equal(first[nodes], first))
    require("turned edges", isinstance(turned, np.ndarray) and turned.dtype == bool)
    require("turned edges", turned.shape == (n_nodes,))
    require("given edges", are_positions(edges, n_nodes))
    require("given edges", _are_cuts(given["edge_offsets"], len(edges)))
    require("given edges", len(given["edge_offsets"]) == len(offsets))
    start = np.repeat(offsets[:-1], np.diff(given["edge_offsets"]))
    require("given edges", np.array_equal(first[edges], start))


def check_packed_edges(edges: Any, edge_offsets: Any, offsets: np.ndarray) -> None:
    """Refuse edges of packed graphs that do not join two nodes of their sample."""
    require = partial(_require, "GraphSamples")
    fits = isinstance(edges, np.ndarray) and edges.ndim == 2 and edges.shape[1] == 2
    require("edges", fits and are_positions(edges.ravel(), offsets[-1]))
    require(
        "edge_offsets", _are_cuts(edge_offsets, len(edges)) and len(edge_offsets) == len(offsets)
    )
    start = np.repeat(offsets[:-1], np.diff(edge_offsets))
    require("edges", bool((_first_nodes(offsets)[edges] == start[:, None]).all()))
    require("edges", not (edges[:, 0] == edges[:, 1]).any())


def _require(kind: str, name: str, fits: bool) -> None:
    if not fits:
        raise ValueError(
            f"the {name} of these {kind} do not fit, because somebody built or changed them "
            f"by hand; expected {kind} as medn_edu.samples.pack makes them."
        )


def _are_cuts(offsets: Any, n: int) -> bool:
    """Tell whether offsets cut n rows into ranges, some of which may be empty."""
    fine = _are_integers(offsets) and len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == n
    return bool(fine and (offsets[1:] >= offsets[:-1]).all())


def _first_nodes(offsets: np.ndarray) -> np.ndarray:
    """Return the first node of each node's sample."""
    return np.repeat(offsets[:-1], np.diff(offsets))
