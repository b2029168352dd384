"""From what users hand in to packed arrays: every check, each with one sentence that names the thing.

Samples are checked once, here, and packed (`pack`); labels of any hashable kind become codes
(`encode_labels`); forbidden transitions become a table (`forbidden_to_allowed`).  Behind this door
nothing is checked again, so nothing that is wrong may pass it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.kernels.compress import compress_rows
from medn_edu.structures import Forest, LabelledSamples, Samples

__all__ = [
    "check_sample_weight",
    "class_array",
    "encode_labels",
    "forbidden_to_allowed",
    "label_samples",
    "pack",
]

MAGNITUDE = 1e100  # squares of larger numbers, and sums of them, come near the end of float64
N_EDGE_TYPES = 10_000  # each takes n_labels ** 2 weights, in use or not
_N_WEIGHTS = 10**8  # of all transitions together: 0.8 GB
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
        _check_width(X.n_features, n_features, "X")
        return X
    items = _as_list(X, "X", "a sequence of samples")
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


def encode_labels(
    y: Iterable[Any], samples: Samples, classes: Sequence[Hashable] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn label sequences into codes.

    Parameters
    ----------
    y : sequence of sequences of hashable labels
        One sequence per sample, one label per node.
    samples : Samples
        The samples to which the labels belong.
    classes : sequence, optional
        The labels known from training; by default those found in ``y``, sorted.

    Returns
    -------
    codes : ndarray of int64, shape (n_nodes,)
        Position of each node's label in ``classes``.
    classes : ndarray, shape (n_labels,)
        The labels.

    Raises
    ------
    TypeError
        If ``y`` is not a sequence of label sequences, or a label is not hashable.
    ValueError
        If lengths differ from those of the samples, a label is missing (None, NaN), or a label is
        not among ``classes``.

    Examples
    --------
    >>> import numpy as np
    >>> samples = pack([np.ones((3, 2))])
    >>> encode_labels(["aba"], samples)
    (array([0, 1, 0]), array(['a', 'b'], dtype='<U1'))
    """
    sequences = _as_list(y, "y", "one label sequence per sample")
    if len(sequences) != samples.n_samples:
        raise ValueError(
            f"X has {samples.n_samples} samples but y has {len(sequences)} label sequences; "
            "expected one label sequence per sample."
        )
    flat: list[Hashable] = []
    for i, sequence in enumerate(sequences):
        labels = _label_list(sequence, i)
        if len(labels) != samples.lengths[i]:
            raise ValueError(
                f"sample {i} has {samples.lengths[i]} nodes but y[{i}] has {len(labels)} labels; "
                "expected one label per node."
            )
        flat.extend(labels)
    _check_labels(flat, samples)
    known = _sorted_classes(set(flat)) if classes is None else list(classes)
    code_of = {label: code for code, label in enumerate(known)}
    codes = np.empty(len(flat), dtype=np.int64)
    for t, label in enumerate(flat):
        code = code_of.get(label)
        if code is None:
            raise ValueError(
                f"label {label!r} of sample {samples.sample_of_node[t]} was not seen in training; "
                f"the known labels are {_shortened(known)}."
            )
        codes[t] = code
    return codes, class_array(known)


def forbidden_to_allowed(forbidden: Any, classes: np.ndarray, n_edge_types: int = 1) -> np.ndarray:
    """Turn forbidden transitions into a table of what is allowed.

    Parameters
    ----------
    forbidden : None, iterable of pairs, or dict from edge type to iterable of pairs
        Pairs ``(parent's label, child's label)`` that may not occur; a dict forbids per edge type.
    classes : ndarray of shape (n_labels,)
        The labels.
    n_edge_types : int
        Number of edge types in the samples.

    Returns
    -------
    ndarray of bool, shape (n_edge_types, n_labels, n_labels)
        True where a transition is allowed.

    Raises
    ------
    TypeError, ValueError
        If a pair is not a pair, or names a label or an edge type that does not occur; or if labels
        and edge types are too many for the table.

    Examples
    --------
    >>> import numpy as np
    >>> forbidden_to_allowed([("a", "a")], np.array(["a", "b"]))
    array([[[False,  True],
            [ True,  True]]])
    """
    code_of = {label: code for code, label in enumerate(_class_list(classes))}
    if n_edge_types * len(code_of) ** 2 > _N_WEIGHTS:
        raise ValueError(
            f"{n_edge_types} edge types and {len(code_of)} labels make more than {_N_WEIGHTS} "
            "transitions; expected fewer labels, or edge types numbered 0, 1, 2, ... without gaps."
        )
    allowed = np.ones((n_edge_types, len(code_of), len(code_of)), dtype=bool)
    if forbidden is None:
        return allowed
    pairs_are = "pairs (parent's label, child's label)"
    if not isinstance(forbidden, dict):
        forbidden = dict.fromkeys(range(n_edge_types), _as_list(forbidden, "forbidden", pairs_are))
    for edge_type, pairs in forbidden.items():
        if edge_type not in range(n_edge_types):
            raise ValueError(
                f"forbidden names edge type {edge_type!r}, but the samples have edge types "
                f"0 to {n_edge_types - 1}."
            )
        for pair in _as_list(pairs, f"forbidden[{edge_type}]", pairs_are):
            allowed[edge_type][_pair_codes(pair, code_of)] = False
    return allowed


def check_sample_weight(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return positive sample weights as a float64 array; ones by default.

    Parameters
    ----------
    sample_weight : array_like of shape (n_samples,) or None
        Weights; None stands for ones.
    n_samples : int
        Number of samples.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        The weights.

    Raises
    ------
    ValueError
        If there is not one positive weight of at most 1e100 per sample.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        given = np.asarray(sample_weight)
        if _holds_complex(given):
            raise TypeError
        weight = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("sample_weight must be numbers, one per sample.") from None
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected ({n_samples},), one per sample."
        )
    bad = np.flatnonzero(~((weight > 0) & (weight <= MAGNITUDE)))
    if len(bad):
        raise ValueError(
            f"sample_weight of sample {bad[0]} is {weight[bad[0]]}; expected a finite number > 0, "
            f"up to {MAGNITUDE:g}."
        )
    return weight


def label_samples(
    samples: Samples, codes: np.ndarray, allowed: np.ndarray, sample_weight: Any = None
) -> LabelledSamples:
    """Join samples and label codes for training.

    Parameters
    ----------
    samples : Samples
        The samples.
    codes : ndarray of int64, shape (n_nodes,)
        Codes of their labels.
    allowed : ndarray of bool, shape (n_edge_types, n_labels, n_labels)
        The allowed transitions.
    sample_weight : array_like of shape (n_samples,), optional
        How often each sample counts.

    Returns
    -------
    LabelledSamples
        The samples with their labels.

    Raises
    ------
    ValueError
        If there is a single label, or the labels of a sample use a forbidden transition.
    """
    if allowed.shape[1] < 2:
        raise ValueError("y holds a single label; expected at least two different labels.")
    children = np.flatnonzero(samples.parents >= 0)
    fine = allowed[samples.edge_types[children], codes[samples.parents[children]], codes[children]]
    if not fine.all():
        node = children[np.argmin(fine)]
        i = samples.sample_of_node[node]
        raise ValueError(
            f"the labels of sample {i} use a forbidden transition, at node "
            f"{node - samples.offsets[i]}; expected training labels without forbidden transitions."
        )
    weight = check_sample_weight(sample_weight, samples.n_samples)
    return LabelledSamples(samples, codes, allowed, weight)


# ---------------------------------------------------------------------------------------------
# Checks.  Each raises one sentence that names the sample.


def _as_list(value: Any, name: str, expected: str) -> list[Any]:
    if isinstance(value, (str, bytes, dict, Forest)) or sp.issparse(value):
        raise TypeError(f"{name} is a {type(value).__name__}; expected {expected}.")
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}; expected {expected}.") from None


def _as_matrix(features: Any, i: int) -> Any:
    """Return one sample's features as a float64 matrix, dense or CSR, with rows and columns."""
    if type(features) is np.ndarray and features.dtype == np.float64:
        matrix = features
    else:
        matrix = _converted(features, i)
    if matrix.ndim > 0 and matrix.shape[0] == 0:
        raise ValueError(f"sample {i} of X has no nodes; expected at least one.")
    if matrix.ndim != 2:
        raise ValueError(
            f"sample {i} of X has {matrix.ndim} dimension{'s' * (matrix.ndim != 1)}; "
            "expected 2, (n_nodes, n_features)."
        )
    if matrix.shape[1] == 0:
        raise ValueError(f"sample {i} of X has no features; expected at least one.")
    return matrix


def _converted(features: Any, i: int) -> Any:
    """Turn what is not a float64 array yet into one, or into a CSR matrix."""
    try:
        array = features if sp.issparse(features) else np.asarray(features)
        is_complex = _holds_complex(array)
        if not is_complex and sp.issparse(array):
            return sp.csr_matrix(array, dtype=np.float64)
        if not is_complex:
            with np.errstate(over="ignore"):  # what does not fit becomes infinite, which is refused
                return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"sample {i} of X is not a matrix of numbers; expected an array of shape "
            "(n_nodes, n_features) with rows of one length."
        ) from None
    raise ValueError(f"sample {i} of X holds complex numbers; expected real ones.")


def _holds_complex(array: Any) -> bool:
    """Tell complex numbers, whose imaginary parts numpy would drop with no more than a warning."""
    if array.dtype == object and not sp.issparse(array):
        return any(isinstance(value, complex | np.complexfloating) for value in array.flat)
    return bool(array.dtype.kind == "c")


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
        array = np.asarray(values)
        whole = array.astype(np.int64)
        same = array.shape == (n_nodes,) and bool((whole == array).all())
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same:
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
    if (types >= N_EDGE_TYPES).any():
        raise ValueError(
            f"edge_types of sample {i} holds type {types.max()}; expected types below "
            f"{N_EDGE_TYPES}, numbered 0, 1, 2, ..."
        )
    return types


def _stack(matrices: list[Any], offsets: np.ndarray) -> sp.csr_matrix:
    """Stack sample matrices into one CSR matrix without zeros, never making a sparse one dense."""
    if not any(sp.issparse(matrix) for matrix in matrices):
        return _compressed(matrices, offsets)
    stacked = sp.vstack([sp.csr_matrix(matrix) for matrix in matrices], format="csr")
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


def _label_list(sequence: Any, i: int) -> list[Hashable]:
    """Return one sample's labels as Python objects; a string is a sequence of characters."""
    if isinstance(sequence, np.ndarray):
        if sequence.ndim != 1:
            raise ValueError(
                f"y[{i}] has {sequence.ndim} dimensions; expected one label per node, shape (n_nodes,)."
            )
        return sequence.tolist()
    try:
        return list(sequence)
    except TypeError:
        raise TypeError(
            f"y[{i}] is a {type(sequence).__name__}; expected a sequence of labels, one per node."
        ) from None


def _check_labels(flat: list[Hashable], samples: Samples) -> None:
    for t, label in enumerate(flat):
        try:
            hash(label)
        except TypeError:
            raise TypeError(
                f"sample {samples.sample_of_node[t]} has the label {label!r}, which is not "
                "hashable; expected strings, numbers, booleans or other hashable values."
            ) from None
        if label is None or label != label:
            raise ValueError(
                f"sample {samples.sample_of_node[t]} has a missing label ({label!r}); "
                "expected a label at every node."
            )


def _sorted_classes(labels: set[Hashable]) -> list[Hashable]:
    """Sort labels; those that cannot be compared are sorted by type and text."""
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, repr(label)))


def class_array(classes: list[Hashable]) -> np.ndarray:
    """Return labels as an array; of objects when numpy would change or nest them.

    Parameters
    ----------
    classes : list of hashable
        The labels.

    Returns
    -------
    ndarray, shape (n_labels,)
        The labels, unchanged.
    """
    if len({type(label) for label in classes}) == 1 and isinstance(
        classes[0], (str, bool, int, float)
    ):
        try:
            return np.array(classes)
        except OverflowError:
            pass
    array = np.empty(len(classes), dtype=object)
    array[:] = classes
    return array


def _class_list(classes: np.ndarray) -> list[Hashable]:
    return np.asarray(classes).tolist() if not isinstance(classes, list) else classes


def _pair_codes(pair: Any, code_of: dict[Hashable, int]) -> tuple[int, int]:
    try:
        parent, child = pair
        hash((parent, child))
    except (TypeError, ValueError):
        raise ValueError(
            f"forbidden holds {pair!r}; expected pairs (parent's label, child's label)."
        ) from None
    for label in (parent, child):
        if label not in code_of:
            raise ValueError(
                f"forbidden names the label {label!r}, which does not occur; "
                f"the known labels are {_shortened(list(code_of))}."
            )
    return code_of[parent], code_of[child]


def _shortened(values: list[Hashable], most: int = 12) -> str:
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, ... ({len(values)} in all)"
