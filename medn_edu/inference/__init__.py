"""The questions asked of packed samples: the best labelling, sums over all, and random ones.

`Potentials` joins samples with what a model says of their nodes and edges, and every question is a
function of it, answered exactly (Gibbs sampling apart).  How the answers are found is told in
`medn_edu.inference.maximization`, `medn_edu.inference.marginalization` and, in the fewest words and
without compiled code, in `medn_edu.theory.reference`.
"""

from __future__ import annotations

from medn_edu.inference.features import edge_counts, feature_sums, joint_features
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
    Potentials,
    add_loss,
    edge_potentials,
    labelling_scores,
    node_potentials,
)
from medn_edu.inference.sampling import draw_labellings, gibbs_labellings

__all__ = [
    "ExpectedStatistics",
    "Marginals",
    "Potentials",
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
]
