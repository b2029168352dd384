"""The bundles of arrays that training kernels share: training samples, weights, parameters, workspace.

Inside these kernels the weights are one flat vector, first *feature, label* and then the transitions,
so that the scores of all labels are updated along contiguous rows.  A *cell* is a position in that
vector.

Passing a bundle with many fields from kernel to kernel is slow to compile.  So kernels that Python
calls mostly take `Blocks`, `Atoms`, `TiltedPrior` and `Workspace` apart and pass on arrays.  `Sample`
and `Parameters` are small and are passed on whole.
"""

from typing import NamedTuple

import numpy as np

from medn_edu.kernels.compile import inner_kernel

# What is left of a dual variable below this share of it is rounding.  Taken for a positive number,
# it would make a labelling that should be gone the worst one still in use.
ROUNDING = 1e-13

# The first node of a `Sample`.  A plain 0 is a type of its own to numba, and compiled once more.
FIRST_NODE = np.int64(0)


class Edges(NamedTuple):
    """Which tables of transition weights count at each kind of edge, and how often.

    The weight of a pair of labels in the table of entry ``p`` is in the cell
    ``tables[p] + pairs[turned[kind], parent's label, child's label]``.
    """

    starts: np.ndarray  # (n_kinds + 1,), where the entries of each kind begin
    tables: np.ndarray  # first cell of a table
    factors: np.ndarray  # what its weights are multiplied by: an edge feature, or 1
    pairs: np.ndarray  # (2, n_labels, n_labels), position in a table, or in a transposed one;
    #                    negative: no weight
    turned: np.ndarray  # (n_kinds,), 1 where the tables of a kind are transposed, or 0
    is_plain: bool  # whether each kind has a full table to itself, with the factor 1


class Blocks(NamedTuple):
    """The training samples, one *block* of dual variables each, and what is known beforehand."""

    data: np.ndarray  # node features, as packed by `medn_edu.samples`
    indices: np.ndarray
    indptr: np.ndarray
    offsets: np.ndarray  # (n_samples + 1,), first node of each sample
    parents: np.ndarray  # (n_nodes,), counted from the sample's first node; negative at roots
    edge_kinds: np.ndarray
    edges: Edges
    labels: np.ndarray  # the true ones
    costs: np.ndarray  # (n_nodes,), loss of a wrong label
    mask: np.ndarray  # (n_nodes, n_labels), the labels that nodes may have; no rows if all may
    C: np.ndarray  # (n_samples,), the slack's constant times the sample's weight
    gram: np.ndarray  # X_i X_i^T of all samples that have one, row by row
    gram_start: np.ndarray  # (n_samples,), where a sample's matrix starts; -1 where it has none


class Sample(NamedTuple):
    """One sample of `Blocks`: views, so that nodes count from 0."""

    data: np.ndarray
    indices: np.ndarray
    rows: np.ndarray  # (n_nodes + 1,), where the features of each node start in data and indices
    parents: np.ndarray
    edge_kinds: np.ndarray
    truth: np.ndarray
    costs: np.ndarray


class TiltedPrior(NamedTuple):
    """The prior tilted by ``eta``: its means, which are the weights, and its variances."""

    coef: np.ndarray  # (n_features, n_labels), a view of the first part of `mean`
    edge: np.ndarray  # (n_edge_kinds, parent's label, child's label), scores, -inf where forbidden
    edge_by_child: np.ndarray  # (n_edge_kinds, child's label, parent's label), the transpose
    eta: np.ndarray  # (n_weights,)
    mean: np.ndarray  # (n_weights,); with `Parameters.is_parabola` `eta` itself
    variance: np.ndarray  # (n_weights,)


class Parameters(NamedTuple):
    """Prior and slack, as `medn_edu.kernels.tilting` numbers them."""

    prior: int
    p: float  # parameters of the prior
    q: float
    lower: float  # ends of its domain
    upper: float
    is_parabola: bool  # standard normal prior, and a slack whose conjugate is at most quadratic
    slack: int
    constant: float


class Parts(NamedTuple):
    """Room for the parts of a sample's atoms, and for their inner products, one label at a time."""

    nodes: np.ndarray  # (n_labels, most), the nodes at which some atoms, not all, have a label
    count: np.ndarray  # (n_labels,), how many these are
    gram: np.ndarray  # (most, most), inner products of the parts with one label
    along: np.ndarray  # (most,), an atom's inner products with each of them


class Workspace(NamedTuple):
    """Scratch space.  Python reads ``delta``, ``cells`` and ``seen`` where it does the line search."""

    scores: np.ndarray  # (longest sample, n_labels)
    augmented: np.ndarray  # (longest sample, n_labels)
    message: np.ndarray  # (n_labels,)
    labelling: np.ndarray  # (longest sample,)
    differs: np.ndarray  # (longest sample,), whether labellings disagree at a node
    parts: Parts
    delta: np.ndarray  # (n_weights,), zero between uses
    cells: np.ndarray  # (n_weights,), where delta has been written
    seen: np.ndarray  # (n_weights,), whether it has; False between uses


@inner_kernel
def sample_of(blocks, i):
    """Sample ``i``."""
    lo, hi = blocks.offsets[i], blocks.offsets[i + 1]
    return Sample(
        blocks.data,
        blocks.indices,
        blocks.indptr[lo : hi + 1],
        blocks.parents[lo:hi],
        blocks.edge_kinds[lo:hi],
        blocks.labels[lo:hi],
        blocks.costs[lo:hi],
    )


@inner_kernel
def mask_of(blocks, i):
    """The labels that the nodes of sample ``i`` may have; no rows if all may."""
    return blocks.mask[blocks.offsets[i] : blocks.offsets[i + 1]]


@inner_kernel
def edge_cell(shape, edge_type, parent_label, label):
    """Cell of a transition, behind the weights of all features; ``shape`` is that of ``coef``.

    Only for solvers that know plain edges alone; others look into `Edges`.
    """
    n_features, n_labels = shape
    return (n_features + edge_type * n_labels + parent_label) * n_labels + label


@inner_kernel
def edge_scores(sample, edges, mean, edge, edge_by_child):
    """Write the scores of a sample's transitions, where they are not weights themselves."""
    starts, tables, factors, pairs, turned, _ = edges
    parents, kinds = sample.parents, sample.edge_kinds
    for t in range(parents.size):
        if parents[t] < 0:
            continue
        kind = kinds[t]
        for a in range(pairs.shape[1]):
            for b in range(pairs.shape[2]):
                if edge[kind, a, b] == -np.inf:
                    continue
                score = 0.0
                pair = pairs[turned[kind], a, b]
                if pair >= 0:
                    for p in range(starts[kind], starts[kind + 1]):
                        score += factors[p] * mean[tables[p] + pair]
                edge[kind, a, b] = score
                edge_by_child[kind, b, a] = score
