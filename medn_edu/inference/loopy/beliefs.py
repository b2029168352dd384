"""Beliefs: how probable an algorithm finds each label of a node and each pair of labels of an edge."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Beliefs:
    """A distribution over the labels of each node, and one over the pairs of labels of each edge.

    Exact marginals are beliefs that come from one distribution over labellings.  Beliefs in general
    need not come from one, and a node and its edges may even disagree about the node's labels.

    Parameters
    ----------
    node : ndarray of shape (n_nodes, n_labels)
        Beliefs of the nodes of all samples; rows sum to 1.
    edge : ndarray of shape (n_edges, n_labels, n_labels)
        Beliefs of the edges of all samples, ``[edge, label of its first end, label of its second
        end]``; tables sum to 1.  Edges of forests run from parent to child, ordered by the child.
    """

    node: np.ndarray
    edge: np.ndarray
