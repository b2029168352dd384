"""The questions asked of packed samples: the best labelling, sums over all, and random ones.

`Potentials` (``potentials.py``) joins packed samples with what a model says of their nodes and edges.
It checks both, once.  Each question is a function of potentials:

* ``maximization.py``: which labelling scores best, and which are the k best?
* ``marginalization.py``: how much score is there altogether, and how probable is each label?
* ``loopy/``: the same questions on graphs with cycles, where the answers are approximate;
* ``sampling.py``: random labellings; ``textbook/`` has Gibbs sampling, for comparison.

``features.py`` leads back from labels, or their probabilities, to sums of features.  The work itself
is done by `medn_edu.kernels`, on groups of samples shared among threads (``groups.py``).  Marginals
and exact draws walk over the samples of a group a few at a time (``_sweeps.py``).  The same answers
in a few plain lines each are in `medn_edu.theory.reference`.

Most functions share these arguments:

* ``samples``: packed samples, as `medn_edu.samples.pack` returns them;
* ``potentials``: samples with their `Potentials`;
* ``coef``: weights of the node features, shape (n_labels, n_features);
* ``labels``: label codes, one integer per node of all samples, shape (n_nodes,);
* ``epsilon``: temperature, 1 by default; at 0 all probability lies on the best labelling;
* ``sample_weight``: how often each sample counts, shape (n_samples,); once by default;
* ``n_jobs``: number of threads, 1 by default; the results are the same bits for any number.

An argument that does not fit is a ValueError, or a TypeError if it holds no numbers.  A sample without
any allowed labelling is a ValueError that names the sample.
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
