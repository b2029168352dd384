"""Log-partition, marginals and expected features.

At *temperature* ``epsilon`` a labelling has the probability

    p(y | x) = exp(F(x, y) / epsilon) / sum_y' exp(F(x, y') / epsilon),

and the log-partition is ``epsilon * log sum_y exp(F(x, y) / epsilon)``, a smooth stand-in for
``max_y F(x, y)``: never below it, and above it by at most ``epsilon`` times the logarithm of the
number of labellings.  ``epsilon = 1`` is the conditional random field; at ``epsilon = 0`` the
log-partition *is* the maximum, and all probability lies on the best labelling.

The sum over all labellings splits like the maximum does, so the same two sweeps find it (the
forward-backward algorithm; Baum et al. 1970, Pearl 1982).  The derivative of the log-partition by a
potential is the marginal probability of what the potential belongs to, whence the gradients of
conditional random fields (Lafferty et al. 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medn_edu.inference._common import (
    check_edge,
    check_epsilon,
    check_labels,
    check_node,
    check_possible,
    check_weight,
    groups,
    run,
)
from medn_edu.inference._sweeps import Sweeps, TemperedEdge
from medn_edu.inference.maximization import best_labelling
from medn_edu.inference.potentials import (
    add_loss,
    edge_counts,
    feature_groups,
    feature_sums,
    node_potentials,
    sum_in_order,
    transposed_coef,
)
from medn_edu.kernels import scores as kernels
from medn_edu.samples import Samples

__all__ = [
    "ExpectedStatistics",
    "Marginals",
    "edge_marginals",
    "expected_statistics",
    "log_partition",
    "marginals",
]


@dataclass(frozen=True, eq=False)
class Marginals:
    """What `marginals` returns.

    Parameters
    ----------
    node : ndarray of shape (n_nodes, n_labels)
        Probability of each label at each node; rows sum to 1.
    edge_counts : ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge marginals summed over the edges of each type: the expected number of transitions.
    log_partition : ndarray of shape (n_samples,)
        Log-partition of each sample.
    """

    node: np.ndarray
    edge_counts: np.ndarray
    log_partition: np.ndarray


@dataclass(frozen=True, eq=False)
class ExpectedStatistics:
    """What `expected_statistics` returns.

    Parameters
    ----------
    log_partition : ndarray of shape (n_samples,)
        Log-partition of each sample.
    feature_sums : ndarray of shape (n_labels, n_features)
        Expected node features per label, summed over samples times their weights.
    edge_counts : ndarray of shape (n_edge_types, n_labels, n_labels)
        Expected number of transitions, summed over samples times their weights.
    entropies : ndarray of shape (n_samples,) or None
        Entropy of each sample's distribution over labellings, if asked for.
    losses : ndarray of shape (n_samples,) or None
        Expected Hamming loss of each sample, if entropies were asked for and labels given.
    """

    log_partition: np.ndarray
    feature_sums: np.ndarray
    edge_counts: np.ndarray
    entropies: np.ndarray | None = None
    losses: np.ndarray | None = None


def log_partition(
    samples: Samples, node: np.ndarray, edge: np.ndarray, epsilon: float = 1.0, *, n_jobs: int = 1
) -> np.ndarray:
    """Return ``epsilon * log sum_y exp(F(x, y) / epsilon)`` of each sample.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    node : ndarray of shape (n_nodes, n_labels)
        Node potentials; ``-inf`` where a label is not allowed.
    edge : ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge potentials; ``-inf`` where a transition is forbidden.
    epsilon : float, default=1.0
        Temperature; at 0 this is the score of the best labelling.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_samples,)
        Log-partitions.

    Raises
    ------
    ValueError
        If shapes do not fit, or a sample has no allowed labelling.

    Examples
    --------
    Without preferences all labellings count the same, here 2 ** 3 of them:

    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.ones((3, 1))])
    >>> np.exp(log_partition(samples, np.zeros((3, 2)), np.zeros((1, 2, 2)))).round(10)
    array([8.])
    """
    node = check_node(samples, node)
    edge = check_edge(samples, edge, node.shape[1])
    epsilon = check_epsilon(epsilon)
    if epsilon == 0.0:
        return best_labelling(samples, node, edge, n_jobs=n_jobs)[1]
    packed, tempered = samples.packed, TemperedEdge.of(edge, epsilon)
    found = np.empty(samples.n_samples)

    def fill(first: int, last: int) -> None:
        sweeps = Sweeps(packed, tempered, first, last)
        for a, b in sweeps.chunks:
            found[a:b] = sweeps.up(node, 0, a, b)

    run(fill, groups(samples), n_jobs)
    check_possible(found)
    return found


def marginals(
    samples: Samples,
    node: np.ndarray,
    edge: np.ndarray,
    epsilon: float = 1.0,
    *,
    sample_weight: np.ndarray | None = None,
    n_jobs: int = 1,
) -> Marginals:
    """Return the probability of every label at every node, and expected transitions.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    node : ndarray of shape (n_nodes, n_labels)
        Node potentials; ``-inf`` where a label is not allowed.
    edge : ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge potentials; ``-inf`` where a transition is forbidden.
    epsilon : float, default=1.0
        Temperature; at 0 all probability lies on the best labelling.
    sample_weight : ndarray of shape (n_samples,), optional
        How often each sample counts in ``edge_counts``.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    Marginals
        ``node`` marginals, ``edge_counts`` and ``log_partition``.

    Raises
    ------
    ValueError
        If shapes do not fit, or a sample has no allowed labelling.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.ones((2, 1))])
    >>> node, edge = np.log([[3.0, 1.0], [1.0, 1.0]]), np.zeros((1, 2, 2))
    >>> marginals(samples, node, edge).node
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    >>> marginals(samples, node, edge).edge_counts
    array([[[0.375, 0.375],
            [0.125, 0.125]]])
    """
    node = check_node(samples, node)
    edge = check_edge(samples, edge, node.shape[1])
    weight = check_weight(samples, sample_weight)
    epsilon = check_epsilon(epsilon)
    if epsilon == 0.0:
        labels, best = best_labelling(samples, node, edge, n_jobs=n_jobs)
        counts = edge_counts(samples, labels, len(edge[0]), weight, n_edge_types=len(edge))
        return Marginals(_one_hot(labels, node.shape[1]), counts, best)
    packed, tempered = samples.packed, TemperedEdge.of(edge, epsilon)
    log_sums = np.empty(samples.n_samples)
    probability = np.empty_like(node)

    def fill(first: int, last: int) -> np.ndarray:
        sweeps = Sweeps(packed, tempered, first, last)
        for a, b in sweeps.chunks:
            log_sums[a:b] = sweeps.up(node, 0, a, b)
            start, stop = packed.offsets[a], packed.offsets[b]
            sweeps.down(a, b, weight, probability[start:stop])
        return sweeps.edge_counts

    parts = run(fill, groups(samples), n_jobs)
    check_possible(log_sums)
    return Marginals(probability, sum_in_order(parts), log_sums)


def expected_statistics(
    samples: Samples,
    coef: np.ndarray,
    edge: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
    epsilon: float = 1.0,
    loss_labels: np.ndarray | None = None,
    want_entropies: bool = False,
    n_jobs: int = 1,
) -> ExpectedStatistics:
    """Return log-partitions and expected features under a model: one evaluation of its gradient.

    The same as `node_potentials`, `add_loss`, `marginals` and `feature_sums` one after the other,
    but each step is done for a few samples at a time, while their numbers are still in the
    processor's cache, and no array over all nodes is made.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    coef : array_like of shape (n_labels, n_features)
        Weights of the node features.
    edge : ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge potentials; ``-inf`` where a transition is forbidden.
    sample_weight : ndarray of shape (n_samples,), optional
        How often each sample counts in the two sums.
    epsilon : float, default=1.0
        Temperature.
    loss_labels : ndarray of int, shape (n_nodes,), optional
        True labels, against which the Hamming loss is added to the potentials.
    want_entropies : bool, default=False
        Whether to find entropies and expected losses too; they are made of the marginals and not
        of the log-partitions, so that each can be held against the other.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    ExpectedStatistics
        ``log_partition``, ``feature_sums``, ``edge_counts`` and, if wanted, ``entropies`` and
        ``losses``.

    Raises
    ------
    ValueError
        If shapes do not fit, or a sample has no allowed labelling.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.array([[2.0], [4.0]])])
    >>> found = expected_statistics(samples, np.zeros((2, 1)), np.zeros((1, 2, 2)))
    >>> found.feature_sums
    array([[3.],
           [3.]])
    """
    weights = transposed_coef(samples, coef)
    n_labels = weights.shape[1]
    edge = check_edge(samples, edge, n_labels)
    weight = check_weight(samples, sample_weight)
    epsilon = check_epsilon(epsilon)
    labels = None if loss_labels is None else check_labels(samples, loss_labels, n_labels)
    if epsilon == 0.0:
        return _best_statistics(samples, coef, edge, weight, labels, want_entropies, n_jobs)
    packed, tempered = samples.packed, TemperedEdge.of(edge, epsilon)
    log_sums = np.empty(samples.n_samples)
    entropies = np.empty(samples.n_samples) if want_entropies else None
    losses = np.empty(samples.n_samples) if want_entropies and labels is not None else None
    weighted = bool((weight != 1.0).any())

    def fill(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        sweeps = Sweeps(packed, tempered, first, last)
        node, mean = sweeps.new_rows(), sweeps.new_rows()
        sums = np.zeros_like(weights)
        for a, b in sweeps.chunks:
            start, stop = packed.offsets[a], packed.offsets[b]
            rows = stop - start
            kernels.node_scores(*packed.features, weights, start, stop, node)
            if labels is not None:
                node[:rows] = add_loss(node[:rows], labels[start:stop])
            log_sums[a:b] = sweeps.up(node, start, a, b)
            sweeps.down(a, b, weight, mean[:rows], entropy=entropies)
            if losses is not None and labels is not None:
                losses[a:b] = _expected_losses(
                    mean[:rows], labels[start:stop], packed.offsets[a:b] - start
                )
            if weighted:
                mean[:rows] *= np.repeat(weight[a:b], np.diff(packed.offsets[a : b + 1]))[:, None]
            kernels.add_feature_sums(*packed.features, mean, start, stop, sums)
        return sums, sweeps.edge_counts

    parts = run(fill, feature_groups(samples), n_jobs)
    check_possible(log_sums)
    return ExpectedStatistics(
        log_sums,
        sum_in_order([sums for sums, _ in parts]).T.copy(),
        sum_in_order([counts for _, counts in parts]),
        entropies,
        losses,
    )


def _best_statistics(
    samples: Samples,
    coef: np.ndarray,
    edge: np.ndarray,
    weight: np.ndarray,
    loss_labels: np.ndarray | None,
    want_entropies: bool,
    n_jobs: int,
) -> ExpectedStatistics:
    """Return what `expected_statistics` is at temperature 0: features of the best labelling."""
    node = node_potentials(samples, coef, n_jobs=n_jobs)
    if loss_labels is not None:
        node = add_loss(node, loss_labels)
    found = marginals(samples, node, edge, 0.0, sample_weight=weight, n_jobs=n_jobs)
    mean = found.node * np.repeat(weight, samples.lengths)[:, None]
    sums = feature_sums(samples, mean, n_jobs=n_jobs)
    entropies = losses = None
    if want_entropies:
        entropies = np.zeros(samples.n_samples)
        if loss_labels is not None:
            losses = _expected_losses(found.node, loss_labels, samples.offsets[:-1])
    return ExpectedStatistics(found.log_partition, sums, found.edge_counts, entropies, losses)


def _expected_losses(marginal: np.ndarray, labels: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum, over each sample, the probabilities of all labels but the true ones."""
    wrong = marginal.sum(axis=1) - marginal[np.arange(len(labels)), labels]
    return np.add.reduceat(np.maximum(wrong, 0.0), starts)


def edge_marginals(
    samples: Samples, node: np.ndarray, edge: np.ndarray, epsilon: float = 1.0, *, n_jobs: int = 1
) -> np.ndarray:
    """Return the probability of every pair of labels at every edge.

    Parameters
    ----------
    samples : Samples
        Packed samples.
    node : ndarray of shape (n_nodes, n_labels)
        Node potentials; ``-inf`` where a label is not allowed.
    edge : ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge potentials; ``-inf`` where a transition is forbidden.
    epsilon : float, default=1.0
        Temperature; at 0 all probability lies on the best labelling.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_nodes, n_labels, n_labels)
        At node ``t`` the marginal of its edge, ``[parent's label, child's label]``; zeros at roots.

    Raises
    ------
    ValueError
        If shapes do not fit, or a sample has no allowed labelling.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.ones((2, 1))])
    >>> node, edge = np.zeros((2, 2)), np.log([[[3.0, 1.0], [1.0, 3.0]]])
    >>> edge_marginals(samples, node, edge)[1]
    array([[0.375, 0.125],
           [0.125, 0.375]])
    """
    node = check_node(samples, node)
    edge = check_edge(samples, edge, node.shape[1])
    epsilon = check_epsilon(epsilon)
    found = np.zeros((samples.n_nodes, node.shape[1], node.shape[1]))
    if epsilon == 0.0:
        labels, _ = best_labelling(samples, node, edge, n_jobs=n_jobs)
        child = np.flatnonzero(samples.parents >= 0)
        found[child, labels[samples.parents[child]], labels[child]] = 1.0
        return found
    packed, tempered = samples.packed, TemperedEdge.of(edge, epsilon)
    log_sums = np.empty(samples.n_samples)
    ones = np.ones(samples.n_samples)

    def fill(first: int, last: int) -> None:
        sweeps = Sweeps(packed, tempered, first, last)
        mean = sweeps.new_rows()
        for a, b in sweeps.chunks:
            log_sums[a:b] = sweeps.up(node, 0, a, b)
            start, stop = packed.offsets[a], packed.offsets[b]
            sweeps.down(a, b, ones, mean[: stop - start], found[start:stop])

    run(fill, groups(samples), n_jobs)
    check_possible(log_sums)
    return found


def _one_hot(labels: np.ndarray, n_labels: int) -> np.ndarray:
    indicator = np.zeros((len(labels), n_labels))
    indicator[np.arange(len(labels)), labels] = 1.0
    return indicator
