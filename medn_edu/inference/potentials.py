"""Potentials: the scores that a model gives each label of a node and each transition of an edge.

A labelling's score is a sum of *potentials*,

    F(x, y) = sum_t node[t, y_t] + sum_{edges s -> t} edge[type_t, y_s, y_t].

The model is linear, ``F = w . f(x, y)``: node potentials are products of features with the weights
of each label, and edge potentials are weights themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from medn_edu.checks import as_numbers, shown
from medn_edu.inference.groups import groups, run
from medn_edu.kernels import scores as kernels
from medn_edu.samples import GraphSamples, SampleSet
from medn_edu.samples.checks import are_positions


@dataclass(frozen=True, eq=False)
class Potentials:
    """Samples with their potentials: everything that a question about labellings needs.

    Both are checked here, once.  The other functions of `medn_edu.inference` rely on that.

    Parameters
    ----------
    samples : Samples or GraphSamples
        Packed samples.
    node : array_like of shape (n_nodes, n_labels)
        Node potentials; ``-inf`` where a label is not allowed.
    edge : array_like of shape (n_edge_types, n_labels, n_labels)
        Edge potentials, ``[type, parent's label, child's label]``; ``-inf`` where a transition is
        forbidden.  With edge features there is a table for each kind of edge, as `of_weights` makes
        them.  In graphs with cycles, an edge has a first and a second node instead of parent and child.

    Examples
    --------
    A chain of two nodes prefers equal labels, and label 0 is not allowed at the second node:

    >>> import numpy as np
    >>> from medn_edu.inference import best_labelling
    >>> from medn_edu.samples import pack
    >>> node, edge = np.array([[1.0, 0.0], [-np.inf, 0.0]]), np.array([[[2.0, 0.0], [0.0, 2.0]]])
    >>> best_labelling(Potentials(pack([np.ones((2, 1))]), node, edge))
    (array([1, 1]), array([2.]))
    """

    samples: SampleSet
    node: np.ndarray
    edge: np.ndarray

    def __post_init__(self) -> None:
        if not isinstance(self.samples, SampleSet):
            raise TypeError(
                f"samples is {shown(self.samples)}; expected packed samples, as pack returns them."
            )
        node = check_table(self.samples, "node", self.node)
        if not node.max() < np.inf:  # one quick pass; the maximum is NaN where a number is
            bad = self.samples.sample_of_node[np.argmin(node.max(axis=1) < np.inf)]
            raise ValueError(
                f"node holds NaN or +inf in sample {bad}; expected finite numbers, or -inf for a label "
                "that is not allowed."
            )
        edge = check_edge(self.samples, self.edge, node.shape[1])
        object.__setattr__(self, "node", node)
        object.__setattr__(self, "edge", edge)

    @classmethod
    def of_weights(
        cls,
        samples: SampleSet,
        coef: np.ndarray,
        transitions: np.ndarray,
        allowed: np.ndarray | None = None,
        *,
        mask: np.ndarray | None = None,
        n_jobs: int = 1,
    ) -> Potentials:
        """Return the potentials of samples under the weights of a model.

        Parameters
        ----------
        samples, coef, transitions, allowed, n_jobs
            See `node_potentials` and `edge_potentials`.  With edge features, ``transitions`` has one
            table for each edge feature, while ``allowed`` still has one for each edge type.
        mask : ndarray of bool, shape (n_nodes, n_labels), optional
            The labels that each node may have; all by default.
        """
        tables = samples.edge_tables(_numbers("transitions", transitions))
        edge = edge_potentials(tables, None if allowed is None else samples.per_kind(allowed))
        return cls(samples, node_potentials(samples, coef, mask, n_jobs=n_jobs), edge)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.node.shape[1]

    def with_loss(self, labels: np.ndarray, scale: float | np.ndarray = 1.0) -> Potentials:
        """Return these potentials with the Hamming loss against ``labels`` added (`add_loss`).

        Parameters
        ----------
        labels, scale
            See `add_loss`.
        """
        labels = check_labels(self.samples, labels, self.n_labels)
        return replace(self, node=add_loss(self.node, labels, scale))


def node_potentials(
    samples: SampleSet, coef: np.ndarray, mask: np.ndarray | None = None, *, n_jobs: int = 1
) -> np.ndarray:
    """Return the potential of every label at every node, ``X coef^T``.

    Parameters
    ----------
    samples, coef, n_jobs
        See `medn_edu.inference`.
    mask : ndarray of bool, shape (n_nodes, n_labels), optional
        The labels that each node may have; the potentials of all others are ``-inf``.

    Returns
    -------
    ndarray of shape (n_nodes, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> samples = pack([np.array([[1.0, 0.0], [0.5, 2.0]])])
    >>> node_potentials(samples, np.array([[1.0, 1.0], [0.0, -1.0]]))
    array([[ 1. ,  0. ],
           [ 2.5, -2. ]])
    """
    weights, packed = transposed_coef(samples, coef), samples.packed
    node = np.empty((samples.n_nodes, weights.shape[1]))

    def fill(first: int, last: int) -> None:
        start, stop = packed.offsets[first], packed.offsets[last]
        kernels.node_scores(*packed.features, weights, start, stop, node[start:stop])

    mask = check_mask(samples, mask, node.shape[1])
    run(fill, groups(samples), n_jobs)
    if mask is not None:
        node[~mask] = -np.inf
    return node


def edge_potentials(transitions: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Return transition weights as potentials, with ``-inf`` where a transition is forbidden.

    Parameters
    ----------
    transitions : array_like of shape (n_edge_types, n_labels, n_labels)
        Weights, indexed ``[type, parent's label, child's label]``.
    allowed : ndarray of bool, shape (n_edge_types, n_labels, n_labels), optional
        Which transitions are allowed; all by default.

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
    edge = _numbers("transitions", transitions).copy()
    if edge.ndim != 3 or edge.shape[1] != edge.shape[2]:
        raise ValueError(
            f"transitions has shape {edge.shape}; expected (n_edge_types, n_labels, n_labels)."
        )
    if allowed is not None:
        if np.shape(allowed) != edge.shape:
            raise ValueError(f"allowed has shape {np.shape(allowed)}; expected {edge.shape}.")
        edge[~np.asarray(allowed, dtype=bool)] = -np.inf
    return edge


def add_loss(node: np.ndarray, labels: np.ndarray, scale: float | np.ndarray = 1.0) -> np.ndarray:
    """Return node potentials with the Hamming loss against ``labels`` added.

    The best labelling under these potentials is the *loss-augmented* one,
    ``argmax_y F(x, y) + scale * (number of nodes at which y differs from labels)``.  Training a
    max-margin model needs it (Taskar et al. 2003).  The loss is a sum over nodes, so it becomes part
    of the node potentials and needs no algorithm of its own.

    Parameters
    ----------
    node : ndarray of shape (n_nodes, n_labels)
        Node potentials.
    labels : ndarray of int, shape (n_nodes,)
        Codes of the true labels.
    scale : float or ndarray of shape (n_nodes,), default=1.0
        Loss of a wrong label: one number for all nodes, or one per node.

    Returns
    -------
    ndarray of shape (n_nodes, n_labels)
        A new array, in which the potential of every wrong label is larger by ``scale``.

    Examples
    --------
    >>> import numpy as np
    >>> add_loss(np.zeros((2, 3)), np.array([0, 2]))
    array([[0., 1., 1.],
           [1., 1., 0.]])
    """
    node, labels = np.asarray(node), np.asarray(labels)
    if labels.shape != node.shape[:1] or not are_positions(labels, node.shape[1]):
        raise ValueError(
            f"labels do not fit the node potentials; expected {len(node)} integers from 0 to "
            f"{node.shape[1] - 1}, one label code per node."
        )
    augmented = node + check_scale("scale", scale, len(node))[:, None]
    rows = np.arange(len(labels))
    augmented[rows, labels] = node[rows, labels]
    return augmented


def labelling_scores(potentials: Potentials, labels: np.ndarray) -> np.ndarray:
    """Return the score ``F`` of one given labelling of each sample.

    Parameters
    ----------
    potentials, labels
        See `medn_edu.inference`.

    Returns
    -------
    ndarray of shape (n_samples,)
        Scores; ``-inf`` where the labelling uses a forbidden transition.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> node, edge = np.array([[1.0, 0.0], [0.0, 5.0]]), np.array([[[0.0, 2.0], [0.0, 0.0]]])
    >>> potentials = Potentials(pack([np.ones((2, 1))]), node, edge)
    >>> labelling_scores(potentials, np.array([0, 1]))
    array([8.])
    """
    samples = potentials.samples
    labels = check_labels(samples, labels, potentials.n_labels)
    if isinstance(samples, GraphSamples):
        edges, first, second = samples.ends
        of_nodes = potentials.node[np.arange(samples.n_nodes), labels]
        of_edges = potentials.edge[samples.edge_kinds[edges], labels[first], labels[second]]
        sums = np.add.reduceat(of_nodes, samples.offsets[:-1])
        return sums + np.bincount(samples.sample_of_edge, of_edges, samples.n_samples)
    found = np.empty(samples.n_samples)
    forest = samples.forests.packed.forest
    kernels.labelling_scores(potentials.node, potentials.edge, *forest, labels, found)
    return found


# -- checks -------------------------------------------------------------------------------------


def transposed_coef(samples: SampleSet, coef: Any) -> np.ndarray:
    """Return node weights as kernels want them, (n_features, n_labels), checked."""
    coef = _numbers("coef", coef)
    if coef.ndim != 2 or coef.shape[1] != samples.n_features:
        raise ValueError(
            f"coef has shape {coef.shape}; expected (n_labels, {samples.n_features}), "
            "one row of weights per label."
        )
    return np.array(coef.T, order="C")


def check_table(samples: SampleSet, name: str, values: Any) -> np.ndarray:
    """Return an array with a row of numbers per node, fit for kernels."""
    table = _numbers(name, values)
    if table.ndim != 2 or table.shape[0] != samples.n_nodes or table.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {table.shape}; expected ({samples.n_nodes}, n_labels), "
            "one row of numbers per node."
        )
    return table


def check_mask(samples: SampleSet, mask: Any, n_labels: int) -> np.ndarray | None:
    """Return which labels nodes may have, or None for all."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.dtype != bool or mask.shape != (samples.n_nodes, n_labels):
        raise ValueError(
            f"mask has shape {mask.shape} and type {mask.dtype}; expected ({samples.n_nodes}, "
            f"{n_labels}) and bool, saying which labels each node may have."
        )
    return mask


def check_scale(name: str, scale: Any, n_nodes: int) -> np.ndarray:
    """Return the loss of a wrong label at each node."""
    scale = np.asarray(scale)
    if scale.shape not in ((), (n_nodes,)):
        raise ValueError(
            f"{name} has shape {scale.shape}; expected one number, or one for each of the {n_nodes} "
            "nodes."
        )
    return np.broadcast_to(scale, n_nodes)


def check_edge(samples: SampleSet, edge: Any, n_labels: int) -> np.ndarray:
    """Return edge potentials fit for kernels; +inf and NaN are refused."""
    edge = _numbers("edge", edge)
    if edge.shape[1:] != (n_labels, n_labels) or edge.shape[0] < samples.n_edge_kinds:
        kind = "edge type" if samples.has_plain_edges else "kind of edge"
        raise ValueError(
            f"edge has shape {edge.shape}; expected ({samples.n_edge_kinds}, {n_labels}, "
            f"{n_labels}), one table of potentials per {kind}."
        )
    if not edge.max() < np.inf:
        raise ValueError(
            "edge holds NaN or +inf; expected finite numbers, or -inf for a forbidden transition."
        )
    return edge


def check_labels(samples: SampleSet, labels: Any, n_labels: int) -> np.ndarray:
    """Return label codes as int64, within range, one per node."""
    labels = np.asarray(labels)
    if labels.shape != (samples.n_nodes,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"labels has shape {labels.shape} and type {labels.dtype}; "
            f"expected {samples.n_nodes} label codes, one integer per node."
        )
    bad = np.flatnonzero((labels < 0) | (labels >= n_labels))
    if len(bad):
        raise ValueError(
            f"labels holds the code {labels[bad[0]]} in sample {samples.sample_of_node[bad[0]]}; "
            f"expected codes from 0 to {n_labels - 1}."
        )
    return np.require(labels, np.int64, ["C", "A", "W"])


def check_weight(samples: SampleSet, weight: Any) -> np.ndarray:
    """Return one float64 per sample; ones by default."""
    if weight is None:
        return np.ones(samples.n_samples)
    weight = _numbers("sample_weight", weight)
    if weight.shape != (samples.n_samples,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected ({samples.n_samples},), "
            "one number per sample."
        )
    return weight


def check_possible(scores: np.ndarray) -> None:
    """Refuse samples whose best score or log-partition is -inf, or too large for a float."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if not len(bad):
        return
    if scores[bad[0]] == -np.inf:
        raise ValueError(
            f"sample {bad[0]} has no allowed labelling: its allowed_labels, forbidden transitions or "
            "potentials of -inf rule out every one; expected at least one."
        )
    raise ValueError(
        f"sample {bad[0]} has a score that is not finite ({scores[bad[0]]}); expected potentials "
        "small enough to be added up."
    )


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.require(as_numbers(values), np.float64, ["C", "A", "W"])
    except TypeError as what:
        raise TypeError(f"{name} holds {what}; expected real numbers.") from None
