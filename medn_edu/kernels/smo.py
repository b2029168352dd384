"""Visits of sequential minimal optimisation: mass moves from one labelling to another, in marginals.

`medn_edu.solvers.textbook.smo` tells what is done here and why.  A visit takes several steps of

1. two decodings: the labelling ``best`` that violates its margin most, and the one that does so least
   among those that carry mass (`least_violating`), ``worst``;
2. the step: mass from ``worst`` to ``best``, as much as the dual wants, at most all that can be moved,
   and with it weights, marginals and transition tables.

From the first decoding on ``work.scores`` hold the loss too.
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
            augment(blocks, i, work.scores, work.scores)
            highest = score(blocks, i, model, work, work.labelling)
            if step == 0:
                gaps[i] = sample_gap(blocks, i, model, work, highest, node, edge)
            least_violating(blocks, i, model, work, worst, node, edge)
            n_decodings += 2
            difference = highest - score(blocks, i, model, work, worst)
            first = max(first, difference)
            if not difference > accuracy * first:
                break
            move(blocks, i, model, work, worst, node, edge, difference)
    return n_decodings


@kernel
def score(blocks, i, model, work, labelling):
    """Loss plus score of a labelling of sample ``i``."""
    lo = blocks.offsets[i]
    total = 0.0
    for t in range(blocks.offsets[i + 1] - lo):
        total += work.scores[t, labelling[t]]
        parent = blocks.parents[lo + t] - lo
        if parent >= 0:
            total += model.edge[blocks.edge_types[lo + t], labelling[parent], labelling[t]]
    return total


@kernel
def sample_gap(blocks, i, model, work, highest, node, edge):
    """The highest violation times the sample's mass, less that of all mass where it is."""
    lo = blocks.offsets[i]
    total = blocks.mass[i] * highest
    for t in range(lo, blocks.offsets[i + 1]):
        for a in range(node.shape[1]):
            total -= node[t, a] * work.scores[t - lo, a]
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

    Min-product over the support.
    """
    lo = blocks.offsets[i]
    n_labels = node.shape[1]
    low = work.augmented
    for t in range(blocks.offsets[i + 1] - lo):
        for a in range(n_labels):
            low[t, a] = work.scores[t, a]
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
    """Move mass from ``worst`` to ``work.labelling``, whose violations differ by so much.

    Marginals change where the labellings differ; less than ``ROUNDING`` is what rounding has left.
    """
    n_cells, room = touch_difference(blocks, i, model, work, worst, node, edge)
    bend = 0.0
    for j in range(n_cells):
        cell = work.cells[j]
        bend += model.variance[cell] * work.delta[cell] ** 2
    mass = difference / bend if difference < room * bend else room
    for j in range(n_cells):
        cell = work.cells[j]
        model.mean[cell] += mass * model.variance[cell] * work.delta[cell]
        work.delta[cell] = 0.0
        work.seen[cell] = False
    lo = blocks.offsets[i]
    best, least = work.labelling, ROUNDING * blocks.mass[i]
    for t in range(blocks.offsets[i + 1] - lo):
        kind, parent = blocks.edge_types[lo + t], blocks.parents[lo + t] - lo
        differ = best[t] != worst[t]
        for side in range(2):
            label = worst[t] if side else best[t]
            more = -mass if side else mass
            if differ:
                value = node[lo + t, label] + more
                node[lo + t, label] = value if value > least else 0.0
            if parent >= 0 and (differ or best[parent] != worst[parent]):
                above = worst[parent] if side else best[parent]
                value = edge[lo + t, above, label] + more
                edge[lo + t, above, label] = value if value > least else 0.0
                weight = model.mean[edge_cell(model, kind, above, label)]
                model.edge[kind, above, label] = weight
                model.edge_by_child[kind, label, above] = weight


@kernel
def touch_difference(blocks, i, model, work, worst, node, edge):
    """Write the features of ``worst`` less those of ``work.labelling`` to ``work.delta``.

    Returns the number of cells written to, and the least marginal along ``worst`` where it differs.
    For that edges suffice, and nodes without one: those are the marginals that make up the support.
    """
    lo = blocks.offsets[i]
    best, n_labels = work.labelling, node.shape[1]
    n_cells, room = 0, np.inf
    for t in range(blocks.offsets[i + 1] - lo):
        parent = blocks.parents[lo + t] - lo
        differ = best[t] != worst[t]
        if differ:
            for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
                row, value = blocks.indices[p] * n_labels, blocks.data[p]
                n_cells = touch(work, n_cells, row + worst[t], value)
                n_cells = touch(work, n_cells, row + best[t], -value)
        if parent >= 0 and (differ or best[parent] != worst[parent]):
            kind = blocks.edge_types[lo + t]
            more = edge_cell(model, kind, worst[parent], worst[t])
            less = edge_cell(model, kind, best[parent], best[t])
            n_cells = touch(work, n_cells, more, 1.0)
            n_cells = touch(work, n_cells, less, -1.0)
            room = min(room, edge[lo + t, worst[parent], worst[t]])
        if parent < 0 and differ:
            room = min(room, node[lo + t, worst[t]])
    return n_cells, room
