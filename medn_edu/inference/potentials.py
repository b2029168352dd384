"""From features and weights to potentials, and back from labels to features.

A labelling's score is a sum of *potentials*: one number per node and label, one per edge type and
pair of labels,

    F(x, y) = sum_t node[t, y_t] + sum_{edges s -> t} edge[type_t, y_s, y_t].

The model is linear, ``F = w . f(x, y)``: node potentials are products of features with the weights
of each label, and edge potentials are weights themselves.  The way back, from labels (or their
probabilities) to sums of features, is the transpose of the same product.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from medn_edu.inference._common import (
    check_edge,
    check_labels,
    check_node,
    check_table,
    check_weight,
    groups,
    run,
)
from medn_edu.kernels import scores as kernels
from medn_edu.samples import Samples, WeightShape

__all__ = [
    "add_loss",
    "edge_counts",
    "edge_potentials",
    "feature_sums",
    "joint_features",
    "labelling_scores",
    "node_potentials",
]


def node_potentials(samples: Samples, coef: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
    """Return the potential of every label at every node, ``X coef^T``.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    coef : array_like of shape (n_labels, n_features)
        Weights of the node features.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_nodes, n_labels)
        Node potentials.

    Raises
    ------
    ValueError
        If ``coef`` has another number of features than the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.array([[1.0, 0.0], [0.5, 2.0]])])
    >>> node_potentials(samples, np.array([[1.0, 1.0], [0.0, -1.0]]))
    array([[ 1. ,  0. ],
           [ 2.5, -2. ]])
    """
    weights = transposed_coef(samples, coef)
    packed = samples.packed
    node = np.empty((samples.n_nodes, weights.shape[1]))

    def fill(first: int, last: int) -> None:
        start, stop = packed.offsets[first], packed.offsets[last]
        kernels.node_scores(*packed.features, weights, start, stop, node[start:stop])

    run(fill, groups(samples), n_jobs)
    return node


def transposed_coef(samples: Samples, coef: np.ndarray) -> np.ndarray:
    """Return node weights as kernels want them, (n_features, n_labels), checked."""
    coef = np.asarray(coef, dtype=np.float64)
    if coef.ndim != 2 or coef.shape[1] != samples.n_features:
        raise ValueError(
            f"coef has shape {coef.shape}; expected (n_labels, {samples.n_features}), "
            "one row of weights per label."
        )
    return np.array(coef.T, order="C")


def edge_potentials(transitions: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Return transition weights as potentials, ``-inf`` where a transition is forbidden.

    Parameters
    ----------
    transitions : array_like of shape (n_edge_types, n_labels, n_labels)
        Weights, indexed ``[type, parent's label, child's label]``.
    allowed : ndarray of bool, shape (n_edge_types, n_labels, n_labels), optional
        What is allowed; everything by default.

    Returns
    -------
    ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge potentials, a copy.

    Examples
    --------
    >>> import numpy as np
    >>> edge_potentials(np.zeros((1, 2, 2)), np.array([[[True, False], [True, True]]]))
    array([[[  0., -inf],
            [  0.,   0.]]])
    """
    edge = np.array(transitions, dtype=np.float64, order="C")
    if edge.ndim != 3 or edge.shape[1] != edge.shape[2]:
        raise ValueError(
            f"transitions has shape {edge.shape}; expected (n_edge_types, n_labels, n_labels)."
        )
    if allowed is not None:
        if np.shape(allowed) != edge.shape:
            raise ValueError(f"allowed has shape {np.shape(allowed)}; expected {edge.shape}.")
        edge[~np.asarray(allowed, dtype=bool)] = -np.inf
    return edge


def add_loss(node: np.ndarray, labels: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return node potentials with the Hamming loss against ``labels`` added.

    The best labelling under these potentials is the *loss-augmented* one,
    ``argmax_y F(x, y) + scale * (number of nodes at which y differs from labels)``, which training
    a max-margin model asks for (Taskar et al. 2003): the loss is a sum over nodes, so it hides in
    the node potentials and needs no algorithm of its own.

    Parameters
    ----------
    node : ndarray of shape (n_nodes, n_labels)
        Node potentials.
    labels : ndarray of int, shape (n_nodes,)
        Codes of the true labels.
    scale : float, default=1.0
        What a wrong label costs.

    Returns
    -------
    ndarray of shape (n_nodes, n_labels)
        A new array: ``scale`` more at every wrong label.

    Examples
    --------
    >>> import numpy as np
    >>> add_loss(np.zeros((2, 3)), np.array([0, 2]))
    array([[0., 1., 1.],
           [1., 1., 0.]])
    """
    augmented = node + scale
    rows = np.arange(len(labels))
    augmented[rows, labels] = node[rows, labels]
    return augmented


def labelling_scores(
    samples: Samples, node: np.ndarray, edge: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the score ``F`` of a given labelling of each sample.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    node : ndarray of shape (n_nodes, n_labels)
        Node potentials.
    edge : ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge potentials.
    labels : ndarray of int, shape (n_nodes,)
        Label codes.

    Returns
    -------
    ndarray of shape (n_samples,)
        Scores; ``-inf`` where the labelling uses a forbidden transition.

    Raises
    ------
    ValueError
        If shapes do not fit, or a code is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.ones((2, 1))])
    >>> node, edge = np.array([[1.0, 0.0], [0.0, 5.0]]), np.array([[[0.0, 2.0], [0.0, 0.0]]])
    >>> labelling_scores(samples, node, edge, np.array([0, 1]))
    array([8.])
    """
    node = check_node(samples, node)
    edge = check_edge(samples, edge, node.shape[1])
    labels = check_labels(samples, labels, node.shape[1])
    found = np.empty(samples.n_samples)
    kernels.labelling_scores(node, edge, *samples.packed.forest, labels, found)
    return found


def feature_sums(samples: Samples, node_values: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
    """Return ``node_values^T X``: features summed over nodes, weighted per label.

    With marginals as values these are expected features, with one-hot labels observed ones.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    node_values : ndarray of shape (n_nodes, n_labels)
        How much each node counts for each label.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_labels, n_features)
        The sums, in the shape of ``coef``.

    Raises
    ------
    ValueError
        If shapes do not fit, or values are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.array([[1.0, 0.0], [0.5, 2.0]])])
    >>> feature_sums(samples, np.array([[1.0, 0.0], [0.25, 0.75]]))
    array([[1.125, 0.5  ],
           [0.375, 1.5  ]])
    """
    values = check_table(samples, "node_values", node_values)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ValueError(
            f"node_values holds NaN or an infinite number in sample "
            f"{samples.sample_of_node[bad[0]]}; expected finite numbers."
        )
    packed = samples.packed

    def add(first: int, last: int) -> np.ndarray:
        start, stop = packed.offsets[first], packed.offsets[last]
        sums = np.zeros((samples.n_features, values.shape[1]))
        kernels.add_feature_sums(*packed.features, values[start:stop], start, stop, sums)
        return sums

    return sum_in_order(run(add, feature_groups(samples), n_jobs)).T.copy()


def feature_groups(samples: Samples) -> list[tuple[int, int]]:
    """Cut samples into groups, few where feature sums are large compared with the features."""
    return groups(samples, most=min(16, 1 + len(samples.data) // (8 * samples.n_features)))


def sum_in_order(arrays: list[np.ndarray]) -> np.ndarray:
    """Add up arrays from first to last, in the memory of the first."""
    total = arrays[0]
    for array in arrays[1:]:
        total += array
    return total


def edge_counts(
    samples: Samples,
    labels: np.ndarray,
    n_labels: int,
    sample_weight: np.ndarray | None = None,
    *,
    n_edge_types: int | None = None,
) -> np.ndarray:
    """Return how often each transition occurs in a labelling.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    labels : ndarray of int, shape (n_nodes,)
        Label codes.
    n_labels : int
        Number of labels.
    sample_weight : ndarray of shape (n_samples,), optional
        How often each sample counts.
    n_edge_types : int, optional
        Number of edge types of the model; by default those that the samples use.

    Returns
    -------
    ndarray of shape (n_edge_types, n_labels, n_labels)
        Counts, in the shape of ``transitions``.

    Raises
    ------
    ValueError
        If shapes do not fit, or a code is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> edge_counts(pack([np.ones((4, 1))]), np.array([0, 1, 1, 1]), 2)
    array([[[0., 1.],
            [0., 2.]]])
    """
    labels = check_labels(samples, labels, n_labels)
    n_types = samples.n_edge_types if n_edge_types is None else n_edge_types
    if n_types < samples.n_edge_types:
        raise ValueError(
            f"n_edge_types is {n_types}, but the samples use {samples.n_edge_types} edge types; "
            "expected at least as many."
        )
    counts = np.zeros((n_types, n_labels, n_labels))
    weight = check_weight(samples, sample_weight)
    kernels.add_edge_counts(*samples.packed.forest, labels, weight, counts)
    return counts


def joint_features(samples: Samples, labels: np.ndarray, shape: WeightShape) -> sp.csr_matrix:
    """Return the joint feature vectors ``f(x, y)``, one sparse row per sample.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    labels : ndarray of int, shape (n_nodes,)
        Label codes.
    shape : WeightShape
        Shape of the model's weights.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_samples, shape.size)
        Features in the order of the flat weight vector, so that ``F = joint_features @ weights``.

    Raises
    ------
    ValueError
        If shapes do not fit, or a code is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> from medn_edu.samples import WeightShape
    >>> samples = pack([np.array([[3.0], [5.0]])])
    >>> joint_features(samples, np.array([1, 0]), WeightShape(2, 1, 1)).toarray()
    array([[5., 3., 0., 0., 1., 0.]])
    """
    labels = check_labels(samples, labels, shape.n_labels)
    n_coef = shape.n_labels * shape.n_features
    child = np.flatnonzero(samples.parents >= 0)
    pair = labels[samples.parents[child]] * shape.n_labels + labels[child]
    edges = sp.csr_matrix(
        (
            np.ones(len(child)),
            (samples.sample_of_node[child], samples.edge_types[child] * shape.n_labels**2 + pair),
        ),
        shape=(samples.n_samples, shape.size - n_coef),
    )
    # One row for each label of each sample: a product adds up what sorting would have to bring together.
    group = samples.sample_of_node * shape.n_labels + labels
    n_groups = samples.n_samples * shape.n_labels
    members = sp.csr_matrix(
        (np.ones(samples.n_nodes), (group, np.arange(samples.n_nodes))),
        shape=(n_groups, samples.n_nodes),
    )
    sums = (members @ samples.features).sorted_indices()
    label = np.repeat(np.arange(n_groups) % shape.n_labels, np.diff(sums.indptr))
    nodes = sp.csr_matrix(
        (sums.data, sums.indices + label * shape.n_features, sums.indptr[:: shape.n_labels]),
        shape=(samples.n_samples, n_coef),
    )
    return sp.hstack([nodes, edges], format="csr")
