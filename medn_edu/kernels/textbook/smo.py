"""Visits of sequential minimal optimisation: pairs of labellings trade, in terms of marginals.

`medn_edu.solvers.textbook.smo` tells what is done here and why.  A visit takes several steps of

1. two decodings: the labelling ``best`` that violates its margin most, and the one that does so least
   among those in use (`least_violating`), ``worst``;
2. the step from ``worst`` to ``best``, as long as the dual wants, at most as long as marginals allow,
   and with it weights, marginals and transition tables.

Here `work.scores` hold the loss too.
"""

import numpy as np

from medn_edu.kernels.block_step import add_loss, decode
from medn_edu.kernels.bundles import FIRST_NODE, ROUNDING, edge_cell, mask_of, sample_of
from medn_edu.kernels.compile import inner_kernel, kernel
from medn_edu.kernels.scores import node_scores


@kernel
def visit_samples(order, blocks, tilted, work, worst, node, edge, gaps, n_steps, accuracy):
    """Visit samples in this order; return the number of decodings.

    ``node`` and ``edge``, the marginals of the dual variables, are updated, and so is ``gaps``, the
    duality gap of each sample when visited.  A visit has at most ``n_steps`` steps.  It ends when
    violations differ by no more than the share ``accuracy`` of the first difference.  ``worst`` is
    scratch space for a labelling.
    """
    n_decodings = 0
    scores, low, best = work.scores, work.augmented, work.labelling
    for i in order:
        lo, hi = blocks.offsets[i], blocks.offsets[i + 1]
        sample, C, label, pair = sample_of(blocks, i), blocks.C[i], node[lo:hi], edge[lo:hi]
        first, mask = 0.0, mask_of(blocks, i)
        for step in range(n_steps):
            node_scores(
                sample.data, sample.indices, sample.rows, tilted.coef, FIRST_NODE, hi - lo, scores
            )
            decode(sample, mask, scores, tilted.edge, tilted.edge_by_child, low, work.message, best)
            add_loss(sample, mask, scores, scores)
            highest = score(sample, scores, tilted.edge, best)
            if step == 0:
                gaps[i] = sample_gap(sample, scores, tilted.edge, label, pair, C * highest)
            least_violating(sample, scores, tilted.edge, label, pair, low, worst)
            n_decodings += 2
            difference = highest - score(sample, scores, tilted.edge, worst)
            first = max(first, difference)
            if not difference > accuracy * first:
                break
            move(
                sample,
                C,
                best,
                worst,
                difference,
                label,
                pair,
                tilted,
                work.delta,
                work.cells,
                work.seen,
            )
    return n_decodings


@inner_kernel
def score(sample, scores, edge, labelling):
    """Loss plus score of a labelling."""
    total = 0.0
    for t in range(sample.truth.size):
        total += scores[t, labelling[t]]
        parent = sample.parents[t]
        if parent >= 0:
            total += edge[sample.edge_kinds[t], labelling[parent], labelling[t]]
    return total


@inner_kernel
def sample_gap(sample, scores, edge, label, pair, most):
    """By how much ``most`` exceeds the loss plus score of all labellings, weighted by alpha."""
    total = most
    for t in range(sample.truth.size):
        for a in range(label.shape[1]):
            total -= label[t, a] * scores[t, a]
        if sample.parents[t] < 0:
            continue
        table = edge[sample.edge_kinds[t]]
        for a in range(label.shape[1]):
            for b in range(label.shape[1]):
                if pair[t, a, b] > 0.0:  # what is forbidden has no marginal and an infinite score
                    total -= pair[t, a, b] * table[a, b]
    return total


@inner_kernel
def least_violating(sample, scores, edge, label, pair, low, worst):
    """Find the labelling of least loss plus score all of whose marginals are positive.

    Min-product over the support.
    """
    n_nodes, n_labels = sample.truth.size, label.shape[1]
    for t in range(n_nodes):
        for a in range(n_labels):
            low[t, a] = scores[t, a]
    for t in range(n_nodes - 1, -1, -1):
        parent = sample.parents[t]
        if parent < 0:
            continue
        table = edge[sample.edge_kinds[t]]
        for a in range(n_labels):
            least = np.inf
            for b in range(n_labels):
                if pair[t, a, b] > 0.0:
                    least = min(least, low[t, b] + table[a, b])
            low[parent, a] += least
    for t in range(n_nodes):
        parent = sample.parents[t]
        least = np.inf
        for b in range(n_labels):
            if parent < 0:
                value = low[t, b] if label[t, b] > 0.0 else np.inf
            elif pair[t, worst[parent], b] > 0.0:
                value = low[t, b] + edge[sample.edge_kinds[t], worst[parent], b]
            else:
                value = np.inf
            if value < least:
                least = value
                worst[t] = b


@inner_kernel
def move(sample, C, best, worst, difference, label, pair, tilted, delta, cells, seen):
    """Step from ``worst`` to ``best``, whose violations differ by so much.

    Marginals change where the labellings differ; less than ``ROUNDING`` is what rounding has left.
    """
    shape, mean, variance = tilted.coef.shape, tilted.mean, tilted.variance
    n_cells, limit = touch_difference(sample, best, worst, label, pair, shape, delta, cells, seen)
    bend = 0.0
    for j in range(n_cells):
        cell = cells[j]
        bend += variance[cell] * delta[cell] ** 2
    step = difference / bend if difference < limit * bend else limit
    for j in range(n_cells):
        cell = cells[j]
        mean[cell] += step * variance[cell] * delta[cell]
        delta[cell] = 0.0
        seen[cell] = False
    least = ROUNDING * C
    for t in range(sample.truth.size):
        kind, parent = sample.edge_kinds[t], sample.parents[t]
        differ = best[t] != worst[t]
        for side in range(2):
            child = worst[t] if side else best[t]
            more = -step if side else step
            if differ:
                value = label[t, child] + more
                label[t, child] = value if value > least else 0.0
            if parent >= 0 and (differ or best[parent] != worst[parent]):
                above = worst[parent] if side else best[parent]
                value = pair[t, above, child] + more
                pair[t, above, child] = value if value > least else 0.0
                weight = mean[edge_cell(shape, kind, above, child)]
                tilted.edge[kind, above, child] = weight
                tilted.edge_by_child[kind, child, above] = weight


@inner_kernel
def touch_difference(sample, best, worst, label, pair, shape, delta, cells, seen):
    """Write the features of ``worst`` less those of ``best`` to ``delta``.

    Returns the number of cells written to, and the least marginal along ``worst`` where it differs.
    For that edges suffice, and nodes without one: those are the marginals that make up the support.
    """
    n_cells, limit = 0, np.inf
    for t in range(sample.truth.size):
        parent = sample.parents[t]
        differ = best[t] != worst[t]
        if differ:
            for p in range(sample.rows[t], sample.rows[t + 1]):
                row, value = sample.indices[p] * shape[1], sample.data[p]
                n_cells = touch(delta, cells, seen, n_cells, row + worst[t], value)
                n_cells = touch(delta, cells, seen, n_cells, row + best[t], -value)
        if parent >= 0 and (differ or best[parent] != worst[parent]):
            kind = sample.edge_kinds[t]
            more = edge_cell(shape, kind, worst[parent], worst[t])
            less = edge_cell(shape, kind, best[parent], best[t])
            n_cells = touch(delta, cells, seen, n_cells, more, 1.0)
            n_cells = touch(delta, cells, seen, n_cells, less, -1.0)
            limit = min(limit, pair[t, worst[parent], worst[t]])
        if parent < 0 and differ:
            limit = min(limit, label[t, worst[t]])
    return n_cells, limit


@inner_kernel
def touch(delta, cells, seen, n_cells, cell, value):
    """Add to a cell of ``delta``; return the number of cells written to."""
    if not seen[cell]:
        seen[cell] = True
        cells[n_cells] = cell
        n_cells += 1
    delta[cell] += value
    return n_cells
