"""Inference: the best labelling of each sample, sums over all labellings, and random labellings.

`Potentials` (``potentials.py``) joins packed samples with the scores that a model gives their nodes
and edges.  It checks both, once.  Each question is a function of potentials:

* ``maximization.py``: which labelling scores best, and which are the k best?
* ``marginalization.py``: what do the scores of all labellings sum to, and how probable is each label?
* ``loopy/``: the same questions on graphs with cycles, where the answers are approximate;
* ``sampling.py``: random labellings; ``textbook/`` has Gibbs sampling, for comparison.

``features.py`` turns labels, or their probabilities, back into sums of features.  `medn_edu.kernels`
does the work itself, on groups of samples shared among threads (``groups.py``).  Marginals and exact
draws go through the samples of a group a few at a time (``_sweeps.py``).  To read the same algorithms
in a few plain lines each, see `medn_edu.theory.reference`.

Most functions share these arguments:

* ``samples``: packed samples, as `medn_edu.samples.pack` returns them;
* ``potentials``: samples with their `Potentials`;
* ``coef``: weights of the node features, shape (n_labels, n_features);
* ``labels``: label codes, one integer per node of all samples, shape (n_nodes,);
* ``epsilon``: temperature, 1 by default; at 0 all probability lies on the best labelling;
* ``sample_weight``: how often each sample counts, shape (n_samples,); once by default;
* ``n_jobs``: number of threads, 1 by default; the results are identical, bit for bit, for any number.

An argument that does not fit raises a ValueError, or a TypeError if it does not hold numbers.  A sample
without any allowed labelling raises a ValueError that names the sample.
"""

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
from medn_edu.inference.sampling import draw_labellings
from medn_edu.inference.textbook.gibbs import gibbs_labellings

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
