"""The best labelling, and the k best.

Enumerating all ``n_labels ** n_nodes`` labellings is out of the question even for a word.  But the
score of a forest splits at every node: given the label of ``t``, what happens below one child does
not concern the others.  So each subtree only has to report the best score it can reach for each
label of its parent.  This is dynamic programming, at a cost of ``n_nodes * n_labels ** 2``.  On chains
it is the algorithm of Viterbi (1967).
"""

import numpy as np

from medn_edu.checks import check_count
from medn_edu.inference.groups import groups, run
from medn_edu.inference.potentials import Potentials, check_possible
from medn_edu.kernels.k_best import k_best_labellings
from medn_edu.kernels.maximize import best_labellings
from medn_edu.samples import Samples

_MOST_BYTES = 2**31  # what the k best labellings, and the making of them, may take
_LIST_BYTES = 32  # per entry of the sorted lists: two scores and where they came from


def best_labelling(potentials: Potentials, *, n_jobs: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the highest-scoring labelling of each sample.

    Parameters
    ----------
    potentials, n_jobs
        See `medn_edu.inference`.

    Returns
    -------
    labels : ndarray of int64, shape (n_nodes,)
        The best labels.  Ties are resolved from the root down: each node takes the lowest label code.
    scores : ndarray of shape (n_samples,)
        The score of each best labelling.

    Examples
    --------
    The second node prefers label 0, but not strongly enough to differ from its neighbour:

    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> node, edge = np.array([[0.0, 3.0], [1.0, 0.0]]), np.array([[[2.0, 0.0], [0.0, 2.0]]])
    >>> best_labelling(Potentials(pack([np.ones((2, 1))]), node, edge))
    (array([1, 1]), array([5.]))
    """
    samples, node, edge = potentials.samples.forests, potentials.node, potentials.edge
    edge_t = np.array(edge.transpose(0, 2, 1), order="C")
    labels = np.empty(samples.n_nodes, dtype=np.int64)
    scores = np.empty(samples.n_samples)

    def fill(first: int, last: int) -> None:
        space = np.empty((samples.lengths[first:last].max(), node.shape[1]))
        forest = samples.packed.forest
        best_labellings(node, edge, edge_t, *forest, first, last, space, labels, scores)

    run(fill, groups(samples), n_jobs)
    check_possible(scores)
    return labels, scores


def k_best(
    potentials: Potentials, k: int, *, n_jobs: int = 1
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the ``k`` best labellings of each sample.

    Parameters
    ----------
    potentials, n_jobs
        See `medn_edu.inference`.
    k : int
        Number of labellings.  A sample with fewer allowed labellings returns all of them.  If the
        labellings and the scratch space would take more than 2 GiB, a ValueError is raised.

    Returns
    -------
    list of (labels, scores)
        One pair per sample: ``labels`` of shape (k', n_nodes of the sample) and ``scores`` of shape
        (k',).  The labellings are all different, best first, and the first is that of `best_labelling`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> node, edge = np.array([[0.0, 3.0], [1.0, 0.0]]), np.array([[[2.0, 0.0], [0.0, 2.0]]])
    >>> labels, scores = k_best(Potentials(pack([np.ones((2, 1))]), node, edge), 3)[0]
    >>> labels.tolist(), scores.tolist()
    ([[1, 1], [1, 0], [0, 0]], [5.0, 4.0, 3.0])
    """
    samples, n_labels = potentials.samples.forests, potentials.n_labels
    k = check_count("k", k)
    with np.errstate(over="ignore"):  # infinitely many labellings are more than k, too
        most = np.minimum(float(min(k, 2**62)), float(n_labels) ** samples.lengths)
    _check_memory(samples, n_labels, k, most)
    parents, edge_types, offsets = samples.packed.forest

    def find(first: int, last: int) -> list[tuple[np.ndarray, np.ndarray]]:
        n_best = int(most[first:last].max())
        shape = (int(samples.lengths[first:last].max()) + 1, n_labels, n_best)
        score, message = np.empty(shape), np.empty(shape)
        choice, origin = np.empty((*shape, 2), np.int32), np.empty((*shape, 2), np.int32)
        found = []
        for i in range(first, last):
            labels = np.empty((n_best, samples.lengths[i]), np.int64)
            scores = np.empty(n_best)
            n = k_best_labellings(
                potentials.node, potentials.edge, parents, edge_types, offsets[i], offsets[i + 1],
                score, message, choice, origin, labels, scores,
            )  # fmt: skip
            found.append((labels[:n].copy(), scores[:n].copy()))
        return found

    best = [one for part in run(find, groups(samples), n_jobs) for one in part]
    check_possible(np.array([scores[0] if len(scores) else -np.inf for _, scores in best]))
    return best


def _check_memory(samples: Samples, n_labels: int, k: int, most: np.ndarray) -> None:
    """Refuse a ``k`` whose labellings, or the lists they are made from, would not fit.

    ``most`` is how many labellings each sample may have: ``k``, or all if there are fewer.
    """
    per_list = _LIST_BYTES * n_labels * (int(samples.lengths.max()) + 1)
    fits = max(1, _MOST_BYTES // (per_list + 8 * samples.n_nodes))
    needed = per_list * most.max() + 8 * float(samples.lengths @ most)
    if k > fits and needed > _MOST_BYTES:
        raise ValueError(
            f"k is {k}, but so many labellings of {samples.n_nodes} nodes with {n_labels} labels would "
            f"take more than {_MOST_BYTES // 2**30} GiB of memory; expected k up to {fits}, or "
            "fewer samples at a time."
        )
