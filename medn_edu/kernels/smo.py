"""Visits of sequential minimal optimisation: mass moves from one labelling to another, in marginals.

`medn_edu.solvers.smo` tells what is done here and why.  A visit to a sample takes several steps of

1. two decodings: the labelling ``best`` that violates its margin most, and the one that does so least
   among those that carry mass (`least_violating`), ``worst``;
2. the step: mass from ``worst`` to ``best``, as much as the dual wants, at most all that can be moved;
3. bringing marginals, weights and transition tables up to date.
"""

from __future__ import annotations

import numpy as np

from medn_edu.kernels._compile import kernel
from medn_edu.kernels.block_frank_wolfe import touch
from medn_edu.kernels.block_model import ROUNDING, edge_cell
from medn_edu.kernels.block_oracle import augment, block_scores, most_violating

__all__ = ["visit_samples"]


@kernel
def visit_samples(order, blocks, model, work, worst, node, edge, gaps, n_steps, accuracy):
    """Visit samples in this order.

    Parameters
    ----------
    order : ndarray of int64
        Samples.
    blocks, model, work
        See `Blocks`, `Tilted`, `Workspace`; ``model.mean`` are the weights.
    worst : ndarray of int32, shape (longest sample,)
        Room for a labelling.
    node, edge : ndarray of float64, shapes (n_nodes, n_labels), (n_nodes, n_labels, n_labels)
        Marginals of the dual masses, updated.
    gaps : ndarray of float64, shape (n_samples,)
        Duality gap of each sample when visited; updated.
    n_steps : int
        Largest number of steps in a visit.
    accuracy : float
        End a visit when violations differ by at most this share of the first difference.

    Returns
    -------
    int
        Number of decodings.
    """
    n_decodings = 0
    for i in order:
        first = 0.0
        for step in range(n_steps):
            block_scores(blocks, i, model, work.scores)
            most_violating(blocks, i, model, work)
            augment(blocks, i, work.scores, work.augmented)
            if step == 0:
                gaps[i] = sample_gap(blocks, i, model, work.augmented, work.labelling, node, edge)
            difference = score(blocks, i, model, work.augmented, work.labelling)
            least_violating(blocks, i, model, work, worst, node, edge)
            augment(blocks, i, work.scores, work.augmented)
            difference -= score(blocks, i, model, work.augmented, worst)
            n_decodings += 2
            first = max(first, difference)
            if not difference > accuracy * first:
                break
            move(blocks, i, model, work, worst, node, edge, difference)
    return n_decodings


@kernel
def score(blocks, i, model, augmented, labelling):
    """Loss plus score of a labelling of sample ``i``."""
    lo = blocks.offsets[i]
    total = 0.0
    for t in range(blocks.offsets[i + 1] - lo):
        total += augmented[t, labelling[t]]
        parent = blocks.parents[lo + t] - lo
        if parent >= 0:
            total += model.edge[blocks.edge_types[lo + t], labelling[parent], labelling[t]]
    return total


@kernel
def sample_gap(blocks, i, model, augmented, best, node, edge):
    """Violation of the best labelling times the sample's mass, less that of all mass where it is."""
    lo = blocks.offsets[i]
    total = blocks.mass[i] * score(blocks, i, model, augmented, best)
    for t in range(lo, blocks.offsets[i + 1]):
        for a in range(node.shape[1]):
            total -= node[t, a] * augmented[t - lo, a]
        if blocks.parents[t] < 0:
            continue
        table = model.edge[blocks.edge_types[t]]
        for a in range(node.shape[1]):
            for b in range(node.shape[1]):
                if edge[t, a, b] > 0.0:  # what is forbidden has no mass and an infinite score
                    total -= edge[t, a, b] * table[a, b]
    return total


@kernel
def least_violating(blocks, i, model, work, worst, node, edge):
    """Find the labelling of least loss plus score all of whose marginals are positive.

    Min-product over the support; ``work.augmented`` is used up.
    """
    lo = blocks.offsets[i]
    n_labels = node.shape[1]
    low = work.augmented
    for t in range(blocks.offsets[i + 1] - 1, lo - 1, -1):
        parent = blocks.parents[t] - lo
        if parent < 0:
            continue
        table = model.edge[blocks.edge_types[t]]
        for a in range(n_labels):
            least = np.inf
            for b in range(n_labels):
                if edge[t, a, b] > 0.0:
                    least = min(least, low[t - lo, b] + table[a, b])
            low[parent, a] += least
    for t in range(lo, blocks.offsets[i + 1]):
        parent = blocks.parents[t] - lo
        least = np.inf
        for b in range(n_labels):
            if parent < 0:
                value = low[t - lo, b] if node[t, b] > 0.0 else np.inf
            elif edge[t, worst[parent], b] > 0.0:
                value = low[t - lo, b] + model.edge[blocks.edge_types[t], worst[parent], b]
            else:
                value = np.inf
            if value < least:
                least = value
                worst[t - lo] = b


@kernel
def move(blocks, i, model, work, worst, node, edge, difference):
    """Move mass from ``worst`` to ``work.labelling``, whose violations differ by so much."""
    best = work.labelling
    n_cells = touch_difference(blocks, i, model, work, worst, best)
    bend = 0.0
    for j in range(n_cells):
        cell = work.cells[j]
        bend += model.variance[cell] * work.delta[cell] ** 2
    room = least_marginal(blocks, i, worst, best, node, edge)
    mass = difference / bend if difference < room * bend else room
    n_coef, n_labels = model.coef.size, model.coef.shape[1]
    for j in range(n_cells):
        cell = work.cells[j]
        model.mean[cell] += mass * model.variance[cell] * work.delta[cell]
        work.delta[cell] = 0.0
        work.seen[cell] = False
        if cell >= n_coef:
            rest, child = divmod(cell - n_coef, n_labels)
            kind, parent = divmod(rest, n_labels)
            model.edge[kind, parent, child] = model.mean[cell]
            model.edge_by_child[kind, child, parent] = model.mean[cell]
    least = ROUNDING * blocks.mass[i]
    add_mass(blocks, i, best, worst, mass, least, node, edge)
    add_mass(blocks, i, worst, best, -mass, least, node, edge)


@kernel
def touch_difference(blocks, i, model, work, plus, minus):
    """Write the features of one labelling less those of another to ``work.delta``."""
    lo = blocks.offsets[i]
    n_labels = model.coef.shape[1]
    n_cells = 0
    for t in range(blocks.offsets[i + 1] - lo):
        parent = blocks.parents[lo + t] - lo
        differ = plus[t] != minus[t]
        if differ:
            for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
                row, value = blocks.indices[p] * n_labels, blocks.data[p]
                n_cells = touch(work, n_cells, row + plus[t], value)
                n_cells = touch(work, n_cells, row + minus[t], -value)
        if parent >= 0 and (differ or plus[parent] != minus[parent]):
            kind = blocks.edge_types[lo + t]
            more = edge_cell(model, kind, plus[parent], plus[t])
            less = edge_cell(model, kind, minus[parent], minus[t])
            n_cells = touch(work, n_cells, more, 1.0)
            n_cells = touch(work, n_cells, less, -1.0)
    return n_cells


@kernel
def least_marginal(blocks, i, labelling, other, node, edge):
    """Least marginal along a labelling, where it differs from another.

    Edges suffice, and nodes without one: those are the marginals that make up the support.
    """
    lo = blocks.offsets[i]
    least = np.inf
    for t in range(blocks.offsets[i + 1] - lo):
        label, parent = labelling[t], blocks.parents[lo + t] - lo
        if parent < 0 and label != other[t]:
            least = min(least, node[lo + t, label])
        if parent >= 0 and (label != other[t] or labelling[parent] != other[parent]):
            least = min(least, edge[lo + t, labelling[parent], label])
    return least


@kernel
def add_mass(blocks, i, labelling, other, mass, least, node, edge):
    """Add mass along a labelling, where it differs from another; less than ``least`` is rounding."""
    lo = blocks.offsets[i]
    for t in range(blocks.offsets[i + 1] - lo):
        label, parent = labelling[t], blocks.parents[lo + t] - lo
        if label != other[t]:
            value = node[lo + t, label] + mass
            node[lo + t, label] = value if value > least else 0.0
        if parent >= 0 and (label != other[t] or labelling[parent] != other[parent]):
            value = edge[lo + t, labelling[parent], label] + mass
            edge[lo + t, labelling[parent], label] = value if value > least else 0.0
