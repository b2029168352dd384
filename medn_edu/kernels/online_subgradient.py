"""A pass of online sub-gradient descent: decode one sample, shrink everything, add one labelling.

Every step multiplies weights, average and dual masses by ``1 - a`` and adds to a few of their cells.
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

from __future__ import annotations

from medn_edu.kernels._compile import kernel
from medn_edu.kernels.block_model import edge_cell
from medn_edu.kernels.block_oracle import best_labelling, block_scores

__all__ = ["descend"]

_SMALLEST = 1e-30  # scale below which everything is multiplied out


@kernel
def descend(order, steps, start, blocks, model, work, average, node, edge):
    """Make one step for each sample of ``order[start:]``, with these steps, all below 1.

    Parameters
    ----------
    order : ndarray of int64
        Samples in the order of their steps.
    steps : ndarray of float64, the same shape
        Sizes ``a`` of the steps.
    start : int
        Position of the first step.
    blocks, model, work
        See `Blocks`, `Tilted`, `Workspace`; ``model.mean`` are the raw weights ``u``.
    average : ndarray of float64, shape (n_weights,)
        What ``r`` is above, updated.
    node, edge : ndarray of float64, shapes (n_nodes, n_labels), (n_nodes, n_labels, n_labels)
        Raw dual masses, updated.

    Returns
    -------
    position : int
        Where it stopped, ``order.size`` unless the scale has become too small.
    scale, shares : float
        ``s`` and ``b`` above: 1 and 0 at the start.
    """
    scale, shares, position = 1.0, 0.0, start
    while position < order.size and scale >= _SMALLEST:
        i, step = order[position], steps[position]
        lo = blocks.offsets[i]
        block_scores(blocks, i, model, work.scores)
        for t in range(blocks.offsets[i + 1] - lo):  # the loss, in units of the scale
            for a in range(node.shape[1]):
                wrong = a != blocks.labels[lo + t]
                work.augmented[t, a] = work.scores[t, a] + (1.0 / scale if wrong else 0.0)
        best_labelling(blocks, i, model, work.augmented, work.message, work.labelling)
        scale *= 1.0 - step
        shares += step / (1.0 - step)
        mass = order.size * blocks.mass[i] * step / scale
        add_labelling(blocks, i, model, work.labelling, mass, shares, average, node, edge)
        position += 1
    return position, scale, shares


@kernel
def add_labelling(blocks, i, model, labelling, mass, shares, average, node, edge):
    """Add mass to a labelling, and what its features bring to the raw weights.

    That is ``mass (f(x_i, y_i) - f(x_i, y))`` in units of the variances.
    """
    lo = blocks.offsets[i]
    n_labels = node.shape[1]
    truth = blocks.labels[lo : blocks.offsets[i + 1]]
    for t in range(truth.size):
        parent, kind = blocks.parents[lo + t] - lo, blocks.edge_types[lo + t]
        node[lo + t, labelling[t]] += mass
        if parent >= 0:
            edge[lo + t, labelling[parent], labelling[t]] += mass
        for side in range(2):
            label = labelling[t] if side else truth[t]
            factor = -mass if side else mass
            if labelling[t] != truth[t]:
                for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
                    cell = blocks.indices[p] * n_labels + label
                    change = factor * blocks.data[p] * model.variance[cell]
                    model.mean[cell] += change
                    average[cell] -= shares * change
            if parent >= 0:
                above = labelling[parent] if side else truth[parent]
                cell = edge_cell(model, kind, above, label)
                change = factor * model.variance[cell]
                model.mean[cell] += change
                average[cell] -= shares * change
                model.edge[kind, above, label] += change
                model.edge_by_child[kind, label, above] += change
