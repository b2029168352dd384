"""Log-partition, marginals and expected features.

At *temperature* ``epsilon`` a labelling has the probability

    p(y | x) = exp(F(x, y) / epsilon) / sum_y' exp(F(x, y') / epsilon),

and the log-partition is ``epsilon * log sum_y exp(F(x, y) / epsilon)``.  This is a smooth version of
``max_y F(x, y)``.  It is never below the maximum, and it exceeds the maximum by at most ``epsilon``
times the logarithm of the number of labellings.  ``epsilon = 1`` is the conditional random field.  At
``epsilon = 0`` the log-partition *is* the maximum, and all probability lies on the best labelling.

The sum over all labellings splits in the same way as the maximum, so the same two sweeps compute it
(the forward-backward algorithm; Baum et al. 1970, Pearl 1982).  The derivative of the log-partition with
respect to a potential is a marginal probability, which gives the gradients of conditional random
fields (Lafferty et al. 2001).
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from medn_edu.checks import check_nonnegative
from medn_edu.inference._sweeps import Sweeps, TemperedEdge, sweep
from medn_edu.inference.features import edge_counts, feature_sums
from medn_edu.inference.groups import feature_groups, run
from medn_edu.inference.maximization import best_labelling
from medn_edu.inference.potentials import (
    Potentials,
    add_loss,
    check_edge,
    check_labels,
    check_mask,
    check_possible,
    check_scale,
    check_weight,
    node_potentials,
    transposed_coef,
)
from medn_edu.kernels import scores as kernels
from medn_edu.samples import SampleSet


@dataclass(frozen=True, eq=False)
class Marginals:
    """Label probabilities, expected transitions and log-partitions, as `marginals` returns them.

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
    """Log-partitions and expected features under a model, as `expected_statistics` returns them.

    Parameters
    ----------
    log_partition : ndarray of shape (n_samples,)
        Log-partition of each sample.
    feature_sums : ndarray of shape (n_labels, n_features)
        Expected node features per label: a sum over samples, each times its weight.
    edge_counts : ndarray of shape (n_edge_types, n_labels, n_labels)
        Expected number of transitions: a sum over samples, each times its weight.
    entropies : ndarray of shape (n_samples,) or None
        Entropy of each sample's distribution over labellings, if asked for.
    losses : ndarray of shape (n_samples,) or None
        Expected Hamming loss of each sample, if entropies were asked for and labels were given.
    """

    log_partition: np.ndarray
    feature_sums: np.ndarray
    edge_counts: np.ndarray
    entropies: np.ndarray | None = None
    losses: np.ndarray | None = None


def log_partition(potentials: Potentials, epsilon: float = 1.0, *, n_jobs: int = 1) -> np.ndarray:
    """Return ``epsilon * log sum_y exp(F(x, y) / epsilon)`` of each sample.

    Parameters
    ----------
    potentials, epsilon, n_jobs
        See `medn_edu.inference`.

    Returns
    -------
    ndarray of shape (n_samples,)
        Log-partitions; at temperature 0, the scores of the best labellings.

    Examples
    --------
    If all potentials are 0, every labelling counts the same, and here there are 2 ** 3 of them:

    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> even = Potentials(pack([np.ones((3, 1))]), np.zeros((3, 2)), np.zeros((1, 2, 2)))
    >>> np.exp(log_partition(even)).round(10)
    array([8.])
    """
    if check_nonnegative("epsilon", epsilon) == 0.0:
        return best_labelling(potentials, n_jobs=n_jobs)[1]
    return sweep(potentials, epsilon, n_jobs)[0]


def marginals(
    potentials: Potentials,
    epsilon: float = 1.0,
    *,
    sample_weight: np.ndarray | None = None,
    n_jobs: int = 1,
) -> Marginals:
    """Return the probability of every label at every node, and expected transitions.

    Parameters
    ----------
    potentials, epsilon, sample_weight, n_jobs
        See `medn_edu.inference`.  Sample weights affect ``edge_counts`` only.

    Returns
    -------
    Marginals

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> node, edge = np.log([[3.0, 1.0], [1.0, 1.0]]), np.zeros((1, 2, 2))
    >>> found = marginals(Potentials(pack([np.ones((2, 1))]), node, edge))
    >>> found.node
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    >>> found.edge_counts
    array([[[0.375, 0.375],
            [0.125, 0.125]]])
    """
    samples, edge = potentials.samples, potentials.edge
    weight = check_weight(samples, sample_weight)
    if check_nonnegative("epsilon", epsilon) == 0.0:
        labels, best = best_labelling(potentials, n_jobs=n_jobs)
        counts = edge_counts(samples, labels, len(edge[0]), weight, n_edge_types=len(edge))
        return Marginals(np.eye(potentials.n_labels)[labels], counts, best)
    probability = np.empty_like(potentials.node)

    def visit(sweeps: Sweeps) -> None:
        sweeps.marginal = probability[sweeps.nodes]
        sweeps.down(weight)

    log_sums, counts = sweep(potentials, epsilon, n_jobs, visit)
    return Marginals(probability, counts, log_sums)


def edge_marginals(potentials: Potentials, epsilon: float = 1.0, *, n_jobs: int = 1) -> np.ndarray:
    """Return the probability of every pair of labels at every edge.

    Parameters
    ----------
    potentials, epsilon, n_jobs
        See `medn_edu.inference`.

    Returns
    -------
    ndarray of shape (n_nodes, n_labels, n_labels)
        Row ``t`` is the marginal of the edge from the parent of node ``t``, indexed
        ``[parent's label, child's label]``.  Rows of roots are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> node, edge = np.zeros((2, 2)), np.log([[[3.0, 1.0], [1.0, 3.0]]])
    >>> edge_marginals(Potentials(pack([np.ones((2, 1))]), node, edge))[1]
    array([[0.375, 0.125],
           [0.125, 0.375]])
    """
    samples, n_labels = potentials.samples.forests, potentials.n_labels
    found = np.zeros((samples.n_nodes, n_labels, n_labels))
    if check_nonnegative("epsilon", epsilon) == 0.0:
        labels, _ = best_labelling(potentials, n_jobs=n_jobs)
        child = np.flatnonzero(samples.parents >= 0)
        found[child, labels[samples.parents[child]], labels[child]] = 1.0
        return found
    ones = np.ones(samples.n_samples)

    def visit(sweeps: Sweeps) -> None:
        sweeps.down(ones, edge_marginal=found[sweeps.nodes])

    sweep(potentials, epsilon, n_jobs, visit)
    return found


def expected_statistics(
    samples: SampleSet,
    coef: np.ndarray,
    edge: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
    epsilon: float = 1.0,
    loss_labels: np.ndarray | None = None,
    loss_scale: float | np.ndarray = 1.0,
    mask: np.ndarray | None = None,
    want_entropies: bool = False,
    n_jobs: int = 1,
) -> ExpectedStatistics:
    """Return log-partitions and expected features under a model: what a gradient is made of.

    The result is the same as calling `node_potentials`, `add_loss`, `marginals` and `feature_sums` one
    after the other.  This function is faster because it takes a few samples through all steps at a
    time, while their numbers are still in the processor's cache.  It also needs less memory, because
    it makes no array over all nodes.

    Parameters
    ----------
    samples, coef, sample_weight, epsilon, n_jobs
        See `medn_edu.inference`.
    edge : ndarray of shape (n_edge_types, n_labels, n_labels)
        Edge potentials; ``-inf`` where a transition is forbidden.  With edge features there is one
        table for each kind of edge, as in ``edge_counts`` of the result.
    loss_labels : ndarray of int, shape (n_nodes,), optional
        True labels.  If given, the Hamming loss against them is added to the potentials.
    loss_scale : float or ndarray of shape (n_nodes,), default=1.0
        Loss of a wrong label: one number for all nodes, or one per node.
    mask : ndarray of bool, shape (n_nodes, n_labels), optional
        The labels that each node may have; all by default.
    want_entropies : bool, default=False
        Whether to compute entropies and expected losses too.  They come from the marginals, not from
        the log-partitions, so each can be used to check the other.

    Returns
    -------
    ExpectedStatistics

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.array([[2.0], [4.0]])])
    >>> expected_statistics(samples, np.zeros((2, 1)), np.zeros((1, 2, 2))).feature_sums
    array([[3.],
           [3.]])
    """
    weights = transposed_coef(samples, coef)
    n_labels = weights.shape[1]
    edge = check_edge(samples, edge, n_labels)
    weight = check_weight(samples, sample_weight)
    labels = None if loss_labels is None else check_labels(samples, loss_labels, n_labels)
    scale = check_scale("loss_scale", loss_scale, samples.n_nodes)
    mask = check_mask(samples, mask, n_labels)
    if check_nonnegative("epsilon", epsilon) == 0.0:
        node = node_potentials(samples, coef, mask, n_jobs=n_jobs)
        potentials = Potentials(samples, node, edge)
        return _best_statistics(potentials, weight, labels, scale, want_entropies, n_jobs)
    packed, tempered = samples.forests.packed, TemperedEdge.of(edge, epsilon)
    log_sums = np.empty(samples.n_samples)
    entropies = np.empty(samples.n_samples) if want_entropies else None
    losses = np.empty(samples.n_samples) if want_entropies and labels is not None else None
    is_weighted = bool((weight != 1.0).any())

    def each(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        sweeps, sums = Sweeps(packed, tempered, first, last), np.zeros_like(weights)
        for a, b in sweeps.chunks:
            start, stop = packed.offsets[a], packed.offsets[b]
            node = sweeps.node_rows[: stop - start]
            kernels.node_scores(*packed.features, weights, start, stop, node)
            if mask is not None:
                node[~mask[start:stop]] = -np.inf
            if labels is not None:
                node = add_loss(node, labels[start:stop], scale[start:stop])
            log_sums[a:b] = sweeps.up(node, a, b)
            sweeps.down(weight, entropy=None if entropies is None else entropies[a:b])
            marginal = sweeps.marginal
            if losses is not None and labels is not None:
                starts = packed.offsets[a:b] - start
                nodes = slice(start, stop)
                losses[a:b] = _expected_losses(marginal, labels[nodes], scale[nodes], starts)
            if is_weighted:
                marginal *= np.repeat(weight[a:b], samples.lengths[a:b])[:, None]
            kernels.add_feature_sums(*packed.features, marginal, start, stop, sums)
        return sums, sweeps.edge_counts

    sums, counts = zip(*run(each, feature_groups(samples), n_jobs), strict=True)
    check_possible(log_sums)
    return ExpectedStatistics(
        log_sums, reduce(np.add, sums).T.copy(), reduce(np.add, counts), entropies, losses
    )


def _best_statistics(
    potentials: Potentials,
    weight: np.ndarray,
    labels: np.ndarray | None,
    scale: np.ndarray,
    want_entropies: bool,
    n_jobs: int,
) -> ExpectedStatistics:
    """Return what `expected_statistics` is at temperature 0: features of the best labelling."""
    samples = potentials.samples
    if labels is not None:
        potentials = potentials.with_loss(labels, scale)
    found = marginals(potentials, 0.0, sample_weight=weight, n_jobs=n_jobs)
    mean = found.node * np.repeat(weight, samples.lengths)[:, None]
    sums = feature_sums(samples, mean, n_jobs=n_jobs)
    entropies = np.zeros(samples.n_samples) if want_entropies else None
    losses = None
    if want_entropies and labels is not None:
        losses = _expected_losses(found.node, labels, scale, samples.offsets[:-1])
    return ExpectedStatistics(found.log_partition, sums, found.edge_counts, entropies, losses)


def _expected_losses(
    marginal: np.ndarray, labels: np.ndarray, scale: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Sum, over each sample, the probabilities of all labels but the true ones, times their loss."""
    wrong = marginal.sum(axis=1) - marginal[np.arange(len(labels)), labels]
    return np.add.reduceat(scale * np.maximum(wrong, 0.0), starts)
