"""Labels, transitions and weights of samples: checked, and turned into codes and tables."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Integral
from typing import Any

import numpy as np

from medn_edu.checks import as_numbers, check_positive, shown, warn_user
from medn_edu.samples.checks import MAGNITUDE, N_WEIGHTS, are_positions, as_list
from medn_edu.samples.packing import pack
from medn_edu.samples.structures import LabelledSamples, SampleSet

_SHOWN = 12  # labels in a sentence


# -- labels -------------------------------------------------------------------------------------


def encode_labels(
    y: Iterable[Any], samples: SampleSet, classes: Sequence[Hashable] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn label sequences into codes: each node's position in ``classes``, and the classes.

    Labels are any hashable values.  ``classes`` are the labels known from training.  If they are not
    given, the classes are the labels found in ``y``, sorted.  Labels that cannot be compared are sorted
    by type and text.

    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> encode_labels(["aba"], pack([np.ones((3, 2))]))
    (array([0, 1, 0]), array(['a', 'b'], dtype='<U1'))
    """
    flat = _flat_labels(y, samples)
    known = sorted_labels(flat) if classes is None else list(classes)
    codes = _positions(flat, known)
    unseen = np.flatnonzero(codes < 0)
    if len(unseen):
        t = unseen[0]
        raise ValueError(
            f"label {shown(flat[t])} of sample {samples.sample_of_node[t]} was not seen in training; "
            f"the known labels are {_shortened(known)}."
        )
    return samples.as_packed(codes), class_array(known)


def encode_seen_labels(
    y: Iterable[Any], samples: SampleSet, classes: Sequence[Hashable]
) -> tuple[np.ndarray, str]:
    """Turn label sequences into codes, -1 for labels not in ``classes``; also list these labels.

    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> encode_seen_labels(["abz"], pack([np.ones((3, 2))]), ["a", "b"])
    (array([ 0,  1, -1]), "'z'")
    """
    flat = _flat_labels(y, samples)
    codes = _positions(flat, classes)
    unseen = dict.fromkeys(flat[t] for t in np.flatnonzero(codes < 0))
    return samples.as_packed(codes), _shortened(list(unseen))


def sorted_labels(labels: Iterable[Hashable]) -> list[Hashable]:
    """Return the different labels in order; those that cannot be compared by type and text.

    >>> sorted_labels("banana"), sorted_labels([2, "a", 1])
    (['a', 'b', 'n'], [1, 2, 'a'])
    """
    known: list[Any] = list(set(labels))
    try:
        return sorted(known)
    except TypeError:
        return sorted(known, key=lambda label: (type(label).__name__, repr(label)))


def _positions(labels: list[Hashable], known: Sequence[Hashable]) -> np.ndarray:
    """Return where each label stands among the known ones; -1 for all others."""
    code_of = {label: code for code, label in enumerate(known)}
    return np.array([code_of.get(label, -1) for label in labels], dtype=np.int64)


def _flat_labels(y: Iterable[Any], samples: SampleSet) -> list[Hashable]:
    """Return the labels of all nodes as Python objects, if there is one at each."""
    return [label for labels in label_lists(y, samples.lengths) for label in labels]


def label_lists(y: Iterable[Any], lengths: Sequence[int] | np.ndarray) -> list[list[Hashable]]:
    """Return the labels of samples with so many nodes as Python objects, if there is one at each.

    >>> import numpy as np
    >>> label_lists(["ab", np.array([3])], [2, 1])
    [['a', 'b'], [3]]
    """
    if isinstance(y, Set):
        raise TypeError(f"y is a {type(y).__name__}, which has no order; expected a list.")
    sequences = as_list(y, "y", "one label sequence per sample")
    if len(sequences) != len(lengths):
        raise ValueError(
            f"X has {len(lengths)} samples but y has {len(sequences)} label sequences; "
            "expected one label sequence per sample."
        )
    lists = [_label_list(sequence, i) for i, sequence in enumerate(sequences)]
    for i, (labels, length) in enumerate(zip(lists, lengths, strict=True)):
        if len(labels) != length:
            raise ValueError(
                f"sample {i} has {length} nodes but y[{i}] has {len(labels)} labels; "
                "expected one label per node."
            )
        for label in labels:
            _check_label(label, i)
    return lists


def _label_list(sequence: Any, i: int) -> list[Hashable]:
    """Return one sample's labels as Python objects; a string is a sequence of characters."""
    if np.ma.is_masked(sequence):
        raise ValueError(f"y[{i}] has masked entries; expected a label at every node.")
    if isinstance(sequence, np.ndarray):
        if sequence.ndim != 1:
            raise ValueError(
                f"y[{i}] has {sequence.ndim} dimensions; expected one label per node, shape (n_nodes,)."
            )
        return sequence.tolist()
    try:
        if isinstance(sequence, Set | Mapping) or hasattr(sequence, "columns"):
            raise TypeError
        return [label.item() if isinstance(label, np.generic) else label for label in sequence]
    except TypeError:
        raise TypeError(
            f"y[{i}] is a {type(sequence).__name__}; expected a sequence of labels, one per node."
        ) from None


def _check_label(label: Any, i: int) -> None:
    """Refuse labels that no dictionary takes, and those that say that there is none."""
    try:
        hash(label)
    except TypeError:
        raise TypeError(
            f"sample {i} has the label {shown(label)}, which is not "
            "hashable; expected strings, numbers, booleans or other hashable values."
        ) from None
    try:
        missing = label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas' NA answers neither yes nor no
        missing = True
    if missing:
        raise ValueError(
            f"sample {i} has a missing label ({shown(label)}); expected a label at every node."
        )


def class_array(classes: list[Hashable]) -> np.ndarray:
    """Return labels as an array; of objects when numpy would change or nest them."""
    if len({type(label) for label in classes}) == 1 and isinstance(
        classes[0], (str, bool, int, float)
    ):
        try:
            array = np.array(classes)
        except OverflowError:
            array = np.array([])
        back = array.tolist()  # numpy drops trailing NULs of strings and rounds huge integers
        if back == classes and type(back[0]) is type(classes[0]):
            return array
    array = np.empty(len(classes), dtype=object)
    array[:] = classes
    return array


def _shortened(values: list[Hashable]) -> str:
    text = ", ".join(map(shown, values[:_SHOWN]))
    return text if len(values) <= _SHOWN else f"{text}, ... ({len(values)} in all)"


# -- transitions --------------------------------------------------------------------------------


def forbidden_to_allowed(
    forbidden: Any, classes: np.ndarray, n_edge_types: int = 1, n_edge_features: int = 0
) -> np.ndarray:
    """Turn forbidden transitions into a table of what is allowed, (n_edge_types, n_labels, n_labels).

    ``forbidden`` is None, pairs ``(parent's label, child's label)``, or a dict of them by edge type.
    For a `Graph` the pairs are ``(first node's label, second node's label)``.

    >>> import numpy as np
    >>> forbidden_to_allowed([("a", "a")], np.array(["a", "b"]))
    array([[[False,  True],
            [ True,  True]]])
    """
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    if n_edge_types * max(n_edge_features, 1) * len(code_of) ** 2 > N_WEIGHTS:
        features = f", {n_edge_features} edge features" if n_edge_features else ""
        raise ValueError(
            f"{n_edge_types} edge types{features} and {len(code_of)} labels make more than {N_WEIGHTS} "
            "transitions; expected fewer labels, or edge types numbered 0, 1, 2, ... without gaps."
        )
    allowed = np.ones((n_edge_types, len(code_of), len(code_of)), dtype=bool)
    if forbidden is None:
        return allowed
    if isinstance(forbidden, Iterator):
        raise TypeError(
            "forbidden is an iterator, which the first fit would use up; expected a list of pairs."
        )
    pairs_are = "pairs (parent's label, child's label)"
    if not isinstance(forbidden, dict):
        forbidden = dict.fromkeys(range(n_edge_types), as_list(forbidden, "forbidden", pairs_are))
    for edge_type, pairs in forbidden.items():
        whole = isinstance(edge_type, Integral) and not isinstance(edge_type, bool)
        if not whole or edge_type not in range(n_edge_types):
            raise ValueError(
                f"forbidden names edge type {shown(edge_type)}, but the samples have edge types "
                f"0 to {n_edge_types - 1}."
            )
        for pair in as_list(pairs, f"forbidden[{edge_type}]", pairs_are):
            allowed[edge_type][_pair_codes(pair, code_of)] = False
    return allowed


def _pair_codes(pair: Any, code_of: dict[Hashable, int]) -> tuple[int, int]:
    try:
        parent, child = pair
        hash((parent, child))
    except (TypeError, ValueError):
        raise ValueError(
            f"forbidden holds {shown(pair)}; expected pairs (parent's label, child's label)."
        ) from None
    for label in (parent, child):
        if label not in code_of:
            raise ValueError(
                f"forbidden names the label {shown(label)}, which does not occur; "
                f"the known labels are {_shortened(list(code_of))}."
            )
    return code_of[parent], code_of[child]


# -- allowed labels and costs -------------------------------------------------------------------


def label_mask(samples: SampleSet, classes: np.ndarray) -> np.ndarray | None:
    """Return which labels each node may have, a bool array (n_nodes, n_labels), or None for all.

    >>> import numpy as np
    >>> from medn_edu.samples import Forest, pack
    >>> label_mask(pack([Forest(np.ones((2, 1)), allowed_labels=[None, ["b"]])]), np.array(["a", "b"]))
    array([[ True,  True],
           [False,  True]])
    """
    if samples.allowed_labels is None:
        return None
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    mask = np.ones((samples.n_nodes, len(code_of)), dtype=bool)
    row_of: dict[int, np.ndarray] = {}  # of collections: many nodes share one
    for i, (allowed, rows) in enumerate(
        zip(samples.allowed_labels, samples.cut(mask), strict=True)
    ):
        if isinstance(allowed, np.ndarray):
            if allowed.shape != rows.shape:
                raise ValueError(
                    f"allowed_labels of sample {i} have a mask of shape {allowed.shape}; expected "
                    f"{rows.shape}, a column for each label."
                )
            rows[:] = allowed
        elif allowed is not None:
            for t, labels in enumerate(allowed):
                if id(labels) not in row_of:
                    row_of[id(labels)] = row = np.full(len(code_of), labels is None)
                    row[[] if labels is None else _allowed_codes(labels, code_of, i, t)] = True
            rows[:] = [row_of[id(labels)] for labels in allowed]
    mask = samples.as_packed(mask)
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        i, t = samples.place(int(empty[0]))
        raise ValueError(
            f"allowed_labels of sample {i} allow no label at node {t}; expected at least one."
        )
    return mask


def _allowed_codes(labels: Any, code_of: dict[Hashable, int], i: int, t: int) -> list[int]:
    try:
        if isinstance(labels, str):
            raise TypeError
        found = list(labels)
        is_mask = found and all(isinstance(label, bool | np.bool_) for label in found)
        if is_mask and not any(isinstance(label, bool) for label in code_of):
            raise TypeError
        codes = [code_of[label] for label in found if label in code_of]
    except TypeError:
        raise TypeError(
            f"allowed_labels of sample {i} hold {shown(labels)} at node {t}; expected a collection of "
            "labels, or None (a mask must be one array of bool for all nodes)."
        ) from None
    if found and not codes:
        raise ValueError(
            f"allowed_labels of sample {i} allow only unknown labels at node {t}, such as "
            f"{shown(found[0])}; the known labels are {_shortened(list(code_of))}."
        )
    return codes


def node_costs(label_costs: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
    """Return the loss of a wrong label at each node: the cost of its true label, 1 by default.

    >>> import numpy as np
    >>> node_costs({"b": 5.0}, np.array(["a", "b"]), np.array([0, 1, 1]))
    array([1., 5., 5.])
    """
    if label_costs is None:
        return None
    if not isinstance(label_costs, Mapping):
        raise TypeError(
            f"label_costs is {shown(label_costs)}; expected a dict from label to its cost, or None."
        )
    costs = {
        label: check_positive(f"label_costs[{shown(label)}]", cost, most=MAGNITUDE)
        for label, cost in label_costs.items()
    }
    absent = [label for label in costs if label not in set(classes.tolist())]
    if absent:  # no error: in cross-validation a rare label may be missing from a part
        warn_user(
            f"label_costs names the label {shown(absent[0])}, which does not occur in y; its cost does "
            "nothing.",
            UserWarning,
        )
    return np.array([costs.get(label, 1.0) for label in classes.tolist()])[codes]


# -- training samples ---------------------------------------------------------------------------


def check_sample_weight(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return positive sample weights as a float64 array; ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        weight = as_numbers(sample_weight)
    except TypeError as what:
        raise TypeError(f"sample_weight holds {what}; expected numbers, one per sample.") from None
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


def labelled(X: Iterable[Any], y: Iterable[Any], *, forbidden: Any = None) -> LabelledSamples:
    """Pack samples and labels for training.  Each sample has the weight 1.

    >>> import numpy as np
    >>> labelled([np.eye(2)], ["ab"]).labels
    array([0, 1])
    """
    samples = pack(X)
    codes, classes = encode_labels(y, samples)
    allowed = forbidden_to_allowed(forbidden, classes, samples.n_edge_types)
    return label_samples(samples, codes, allowed, mask=label_mask(samples, classes))


def label_samples(
    samples: SampleSet,
    codes: np.ndarray,
    allowed: np.ndarray,
    sample_weight: Any = None,
    *,
    mask: np.ndarray | None = None,
    costs: np.ndarray | None = None,
    table: str = "full",
) -> LabelledSamples:
    """Join samples and label codes for training, if the labels and all transitions are allowed."""
    if allowed.shape[1] < 2:
        raise ValueError("y holds a single label; expected at least two different labels.")
    if len(codes) != samples.n_nodes or not are_positions(codes, allowed.shape[1]):
        raise ValueError(
            f"codes are not {samples.n_nodes} whole numbers from 0 to {allowed.shape[1] - 1}; "
            "expected those of encode_labels, one per node."
        )
    if samples.n_edge_types > len(allowed):
        raise ValueError(
            f"the samples have {samples.n_edge_types} edge types but allowed has {len(allowed)}; "
            "expected at least as many."
        )
    edge, first, second = samples.ends
    fine = allowed[samples.edge_types[edge], codes[first], codes[second]]
    if not fine.all():
        (i, u), (_, v) = (samples.place(ends[np.argmin(fine)]) for ends in (first, second))
        raise ValueError(
            f"the labels of sample {i} use a forbidden transition, from node {u} to node {v}; expected "
            "training labels without forbidden transitions."
        )
    if mask is not None and not mask[np.arange(samples.n_nodes), codes].all():
        i, t = samples.place(int(np.argmin(mask[np.arange(samples.n_nodes), codes])))
        raise ValueError(
            f"the label of sample {i} at node {t} is not among its allowed_labels; expected training "
            "labels that are allowed."
        )
    weight = check_sample_weight(sample_weight, samples.n_samples)
    return LabelledSamples(samples, codes, allowed, weight, mask, costs, table)
