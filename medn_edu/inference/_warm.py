"""Compile every kernel of inference, or load it from disk, before it is needed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from medn_edu.inference.marginalization import (
    edge_marginals,
    expected_statistics,
    log_partition,
    marginals,
)
from medn_edu.inference.maximization import k_best
from medn_edu.inference.potentials import (
    edge_counts,
    feature_sums,
    labelling_scores,
    node_potentials,
)
from medn_edu.inference.sampling import draw_labellings, gibbs_labellings
from medn_edu.samples import Samples

__all__ = ["warm_up"]


def warm_up() -> None:
    """Run every question once on two tiny samples, so that no later call waits for the compiler.

    In the second sample the nodes insist on labels that the transition all but forbids, so that it
    takes the way through the log domain.
    Kernels have one signature each, so this compiles all there is.

    Examples
    --------
    >>> warm_up()
    """
    samples = Samples(
        features=sp.csr_matrix(np.ones((4, 1))),
        offsets=np.array([0, 2, 4]),
        parents=np.array([-1, 0, -1, 2]),
        edge_types=np.zeros(4, dtype=np.int64),
    )
    coef, rng = np.zeros((2, 1)), np.random.default_rng(0)
    edge = np.array([[[0.0, -1e4], [-1e4, 0.0]]])
    node = node_potentials(samples, coef)
    node[2, 1] = node[3, 0] = 1e4
    labels = gibbs_labellings(samples, node, edge, 1, rng=rng)  # asks for the best labelling first
    labelling_scores(samples, node, edge, labels)
    k_best(samples, node, edge, 2)
    log_partition(samples, node, edge)
    marginals(samples, node, edge)
    edge_marginals(samples, node, edge)
    expected_statistics(samples, coef, edge, want_entropies=True)
    draw_labellings(samples, node, edge, rng=rng)
    feature_sums(samples, node)
    edge_counts(samples, labels, 2)
