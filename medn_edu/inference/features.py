"""From labels, or their probabilities, back to sums of features.

These sums are the transpose of the product that turns weights into potentials
(`medn_edu.inference.potentials`).
"""

from functools import reduce

import numpy as np
import scipy.sparse as sp

from medn_edu.inference.groups import feature_groups, run
from medn_edu.inference.potentials import check_labels, check_table, check_weight
from medn_edu.kernels import scores as kernels
from medn_edu.samples import GraphSamples, SampleSet, WeightShape


def feature_sums(samples: SampleSet, node_values: np.ndarray, *, n_jobs: int = 1) -> np.ndarray:
    """Return ``node_values^T X``: features summed over nodes, weighted per label.

    If the values are marginals, the sums are the expected features.  If they are one-hot labels, the
    sums are the observed features.

    Parameters
    ----------
    samples, n_jobs
        See `medn_edu.inference`.
    node_values : ndarray of shape (n_nodes, n_labels)
        How much each node counts towards each label; finite numbers.

    Returns
    -------
    ndarray of shape (n_labels, n_features)
        The sums, in the shape of ``coef``.

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

    return reduce(np.add, run(add, feature_groups(samples), n_jobs)).T.copy()


def edge_counts(
    samples: SampleSet,
    labels: np.ndarray,
    n_labels: int,
    sample_weight: np.ndarray | None = None,
    *,
    n_edge_types: int | None = None,
) -> np.ndarray:
    """Return how often each transition occurs in a labelling.

    Parameters
    ----------
    samples, labels, sample_weight
        See `medn_edu.inference`.
    n_labels : int
        Number of labels.
    n_edge_types : int, optional
        Number of edge types of the model; by default as many as the samples use.

    Returns
    -------
    ndarray of shape (n_edge_types, n_labels, n_labels)
        Counts, in the shape of ``transitions``; with edge features, one table for each kind of edge.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> edge_counts(pack([np.ones((4, 1))]), np.array([0, 1, 1, 1]), 2)
    array([[[0., 1.],
            [0., 2.]]])
    """
    labels = check_labels(samples, labels, n_labels)
    n_types = samples.n_edge_kinds if n_edge_types is None else n_edge_types
    if not samples.has_plain_edges:
        n_types = samples.n_edge_kinds
    elif n_types < samples.n_edge_types:
        raise ValueError(
            f"n_edge_types is {n_types}, but the samples use {samples.n_edge_types} edge types; "
            "expected at least as many."
        )
    counts = np.zeros((n_types, n_labels, n_labels))
    weight = check_weight(samples, sample_weight)
    if isinstance(samples, GraphSamples):
        _, first, second = samples.ends
        cells = np.ravel_multi_index(
            (samples.edge_kinds, labels[first], labels[second]), counts.shape
        )
        of_edge = weight[samples.sample_of_edge]
        return np.bincount(cells, of_edge, counts.size).reshape(counts.shape)
    kernels.add_edge_counts(*samples.forests.packed.forest, labels, weight, counts)
    return counts


def joint_features(samples: SampleSet, labels: np.ndarray, shape: WeightShape) -> sp.csr_matrix:
    """Return the joint feature vectors ``f(x, y)``, one sparse row per sample.

    Parameters
    ----------
    samples, labels
        See `medn_edu.inference`.
    shape : WeightShape
        Shape of the model's weights.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_samples, shape.size)
        Features in the order of the flat weight vector, so the scores are ``joint_features @ weights``.

    Raises
    ------
    ValueError
        If a label is out of range, or the shape does not fit the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import WeightShape, pack
    >>> samples = pack([np.array([[3.0], [5.0]])])
    >>> joint_features(samples, np.array([1, 0]), WeightShape(2, 1, 1)).toarray()
    array([[5., 3., 0., 0., 1., 0.]])
    """
    labels = check_labels(samples, labels, shape.n_labels)
    n_tables = samples.n_edge_types * max(samples.n_edge_features, 1)
    if shape.n_features != samples.n_features or shape.n_tables < n_tables:
        raise ValueError(
            f"shape has {shape.n_features} features and {shape.n_tables} transition tables; expected "
            f"{samples.n_features} features and at least {n_tables} tables, as the samples need."
        )
    edges = _edge_features(samples, labels, shape)
    # One row per label of each sample: a product is faster than sorting entries into sums.
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
        shape=(samples.n_samples, shape.n_labels * shape.n_features),
    )
    if shape.table == "ising":
        nodes = nodes[:, shape.n_features :] - nodes[:, : shape.n_features]
    return sp.hstack([nodes, edges], format="csr")


def _edge_features(samples: SampleSet, labels: np.ndarray, shape: WeightShape) -> sp.csr_matrix:
    """Return the part of the joint feature vectors that belongs to transitions."""
    edges, first, second = samples.ends
    cells, n_cells = labels[first] * shape.n_labels + labels[second], shape.n_labels**2
    factors = np.ones(len(edges))
    if shape.table != "full":
        is_equal = labels[first] == labels[second]
        cells, n_cells = np.zeros_like(cells), 1
        factors = np.where(is_equal, 1.0, -1.0 if shape.table == "ising" else 0.0)
    tables = samples.kind_rows(shape.n_tables)[samples.edge_kinds[edges]].tocoo()
    edge, table = tables.coords
    place = (samples.sample_of_node[second][edge], table * n_cells + cells[edge])
    size = (samples.n_samples, shape.n_tables * n_cells)
    found = sp.csr_matrix((tables.data * factors[edge], place), shape=size)
    found.eliminate_zeros()
    return found
