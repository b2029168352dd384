"""A pass of online sub-gradient descent: decode one sample, shrink everything, add one labelling.

Every step multiplies weights, average and dual variables by ``1 - a`` and adds to a few of their cells.
So all of them are kept as one *scale* times raw numbers: shrinking changes the scale alone, and what
is added is divided by it.

The average of the weights has all cells, whatever a step touched, yet it needs no loop over them
either.  Let ``s`` be the scale, ``w = s u``, and the average ``s z``.  Both shrink by the same factor,
and the average takes in the weights before the step, so that ``z`` grows by ``c u`` with
``c = a / (1 - a)``.  Write ``z = r + b u`` with ``b`` the sum of all ``c``: then

    z + c u_old = r + (b + c) u_old = [r - (b + c) (u_new - u_old)] + (b + c) u_new,

and ``r`` changes only where ``u`` does.  `descend` leaves it to its caller to multiply everything out,
at the end of a pass and whenever the scale has become too small.
"""

from medn_edu.kernels.bundles import FIRST_NODE, edge_cell, sample_of
from medn_edu.kernels.compile import inner_kernel, kernel
from medn_edu.kernels.maximize import max_down, max_up
from medn_edu.kernels.scores import node_scores

_SMALLEST = 1e-30  # scale below which everything is multiplied out


@kernel
def descend(order, steps, start, blocks, tilted, work, average, node, edge):
    """Make one step for each sample of ``order[start:]``, with these steps, all below 1.

    ``tilted.mean`` are the raw weights ``u`` and ``average`` is what ``r`` is above; ``node`` and
    ``edge`` are raw marginals of the dual variables.  All of them are updated.

    Returns the position at which it stopped, ``order.size`` unless the scale has become too small, and
    ``s`` and ``b`` above, which are 1 and 0 at the start.
    """
    scale, shares, position = 1.0, 0.0, start
    scores, labelling = work.augmented, work.labelling
    while position < order.size and scale >= _SMALLEST:
        i, step = order[position], steps[position]
        lo, hi = blocks.offsets[i], blocks.offsets[i + 1]
        sample, n_nodes = sample_of(blocks, i), hi - lo
        parents, edge_types = sample.parents, sample.edge_kinds
        node_scores(
            sample.data, sample.indices, sample.rows, tilted.coef, FIRST_NODE, n_nodes, scores
        )
        for t in range(n_nodes):  # the loss, in units of the scale
            for a in range(node.shape[1]):
                scores[t, a] += 1.0 / scale if a != sample.truth[t] else 0.0
        max_up(scores, tilted.edge_by_child, parents, edge_types, FIRST_NODE, n_nodes, work.message)
        max_down(scores, tilted.edge, parents, edge_types, FIRST_NODE, n_nodes, labelling)
        scale *= 1.0 - step
        shares += step / (1.0 - step)
        change = order.size * blocks.C[i] * step / scale
        add_labelling(sample, labelling, change, shares, average, tilted, node[lo:hi], edge[lo:hi])
        position += 1
    return position, scale, shares


@inner_kernel
def add_labelling(sample, labelling, change, shares, average, tilted, node, edge):
    """Add to the dual variable of a labelling, and what its features bring to the raw weights.

    That is ``change (f(x_i, y_i) - f(x_i, y))`` in units of the variances.
    """
    truth, shape, mean, variance = sample.truth, tilted.coef.shape, tilted.mean, tilted.variance
    for t in range(truth.size):
        parent, kind = sample.parents[t], sample.edge_kinds[t]
        node[t, labelling[t]] += change
        if parent >= 0:
            edge[t, labelling[parent], labelling[t]] += change
        for side in range(2):
            label = labelling[t] if side else truth[t]
            factor = -change if side else change
            if labelling[t] != truth[t]:
                for p in range(sample.rows[t], sample.rows[t + 1]):
                    cell = sample.indices[p] * shape[1] + label
                    more = factor * sample.data[p] * variance[cell]
                    mean[cell] += more
                    average[cell] -= shares * more
            if parent >= 0:
                above = labelling[parent] if side else truth[parent]
                cell = edge_cell(shape, kind, above, label)
                more = factor * variance[cell]
                mean[cell] += more
                average[cell] -= shares * more
                tilted.edge[kind, above, label] += more
                tilted.edge_by_child[kind, label, above] += more
