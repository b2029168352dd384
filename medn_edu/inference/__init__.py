"""The questions asked of packed samples: the best labelling, sums over all, and random ones.

Every function takes `Samples`, node potentials and edge potentials, which is all there is to know
about a sample and a model, and answers exactly (Gibbs sampling apart).  Where the potentials come
from is `node_potentials` and `edge_potentials`; how the answers are found is told in
`medn_edu.inference.maximization`, `medn_edu.inference.marginalization` and, with the fewest words
and no compiled code, in `medn_edu.theory.reference`.
"""

from __future__ import annotations

from medn_edu.inference._warm import warm_up
from medn_edu.inference.marginalization import (
    ExpectedStatistics,
    Marginals,
    edge_marginals,
    expected_statistics,
    log_partition,
    marginals,
)
from medn_edu.inference.maximization import best_labelling, k_best
from medn_edu.inference.potentials import (
    add_loss,
    edge_counts,
    edge_potentials,
    feature_sums,
    joint_features,
    labelling_scores,
    node_potentials,
)
from medn_edu.inference.sampling import draw_labellings, gibbs_labellings

__all__ = [
    "ExpectedStatistics",
    "Marginals",
    "add_loss",
    "best_labelling",
    "draw_labellings",
    "edge_counts",
    "edge_marginals",
    "edge_potentials",
    "expected_statistics",
    "feature_sums",
    "gibbs_labellings",
    "joint_features",
    "k_best",
    "labelling_scores",
    "log_partition",
    "marginals",
    "node_potentials",
    "warm_up",
]
