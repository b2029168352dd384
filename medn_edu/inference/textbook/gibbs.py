"""Gibbs sampling (Geman and Geman 1984): one node at a time is redrawn, given its neighbours.

It needs no sum over labellings, so it also works where such sums are too expensive.  On forests they are
cheap, so `medn_edu.inference.draw_labellings` is better there: its draws are exact.  The papers drew
their synthetic data by Gibbs sampling.

The draws approach the distribution only as sweeps go on, and only if every labelling can be reached from
every other by changing one node at a time.  Forbidden transitions may rule that out: if label 0 may
stand only next to 0 and 1 only next to 1, neither of two neighbours can ever change.
"""

import numpy as np

from medn_edu.checks import check_count, check_positive, check_rng
from medn_edu.inference._sweeps import inverse
from medn_edu.inference.maximization import best_labelling
from medn_edu.inference.potentials import Potentials, check_labels, labelling_scores
from medn_edu.kernels.textbook.gibbs import gibbs_sweeps

_UNIFORMS = 1 << 20  # random numbers made at a time
_KEPT = 1 << 22  # size of the largest table of running sums; what does not fit has none


def gibbs_labellings(
    potentials: Potentials,
    n_sweeps: int,
    *,
    rng: np.random.Generator,
    start: np.ndarray | None = None,
    epsilon: float = 1.0,
) -> np.ndarray:
    """Draw one labelling of each sample by Gibbs sampling.

    Forbidden transitions could trap the sampler.  They are accepted only if some label is allowed at
    every node and, as parent and as child, next to every label along edges of every type: then every
    labelling can be reached by way of the one that has this label everywhere.

    Parameters
    ----------
    potentials, epsilon
        See `medn_edu.inference`.  The temperature must be above 0.
    n_sweeps : int
        How often every node is redrawn, in the order of their numbers.
    rng : numpy.random.Generator
        Source of randomness.
    start : ndarray of int, shape (n_nodes,), optional
        Allowed labels to start from; by default the best labelling.

    Returns
    -------
    ndarray of int64, shape (n_nodes,)
        Labels after the last sweep.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> node, edge = np.zeros((3000, 2)), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> potentials = Potentials(pack([np.ones((3, 1))] * 1000), node, edge)
    >>> labels = gibbs_labellings(potentials, 20, rng=np.random.default_rng(0))
    >>> bool(abs(labels.mean() - 0.5) < 0.05)
    True
    """
    samples, node, edge = potentials.samples.forests, potentials.node, potentials.edge
    n_sweeps, rng = check_count("n_sweeps", n_sweeps, least=0), check_rng(rng)
    epsilon = check_positive("epsilon", epsilon)
    _refuse_traps(node, edge)
    if start is None:
        labels, _ = best_labelling(potentials)
    else:
        labels = check_labels(samples, start, node.shape[1]).copy()
        bad = np.flatnonzero(labelling_scores(potentials, labels) == -np.inf)
        if len(bad):
            raise ValueError(
                f"start is not an allowed labelling of sample {bad[0]}; expected labels without "
                "forbidden transitions."
            )
    packed = samples.packed
    edge_by_child = np.array(edge.transpose(0, 2, 1), order="C")
    child_starts, children = _children(packed.parents)
    table = _table(packed.parents, child_starts, node.shape[1], n_sweeps)
    at_once = max(1, _UNIFORMS // samples.n_nodes)
    for done in range(0, n_sweeps, at_once):
        n = min(at_once, n_sweeps - done)
        gibbs_sweeps(
            node, edge, edge_by_child, inverse(epsilon), packed.parents, packed.edge_kinds, child_starts,
            children, rng.random((n, samples.n_nodes)), labels, table,
        )  # fmt: skip
    return labels


def _refuse_traps(node: np.ndarray, edge: np.ndarray) -> None:
    allowed = edge > -np.inf
    neutral = allowed.all(axis=(0, 1)) & allowed.all(axis=(0, 2)) & (node > -np.inf).all(axis=0)
    if not allowed.all() and not neutral.any():
        raise ValueError(
            "forbidden transitions could trap Gibbs sampling, which changes one node at a time; "
            "expected a label that is allowed next to every label, or use draw_labellings, which "
            "is exact."
        )


def _children(parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and numbers of the children of each node."""
    order = np.argsort(parents, kind="stable")
    children = order[np.searchsorted(parents[order], 0) :]
    starts = np.searchsorted(parents[children], np.arange(len(parents) + 1))
    return starts.astype(np.int64), children.astype(np.int64)


def _table(
    parents: np.ndarray, child_starts: np.ndarray, n_labels: int, n_sweeps: int
) -> np.ndarray:
    """Return room for running sums: empty if it would be too large, or more than the sweeps can fill."""
    degrees = np.diff(child_starts) + (parents >= 0)
    n_places = n_labels ** min(int(degrees.max(initial=0)), 23)  # 2**23 is too large already
    if n_places > n_sweeps or len(parents) * n_places * n_labels > _KEPT:
        n_places = 0
    return np.zeros((len(parents), n_places, n_labels))
