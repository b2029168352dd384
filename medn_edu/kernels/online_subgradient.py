"""A pass of online sub-gradient descent: decode one sample, shrink everything, add one labelling.

Every step multiplies weights, average and dual masses by ``1 - a`` and adds to a few of their cells.
So all of them are kept as one *scale* times raw numbers: shrinking changes the scale alone, and what
is added is divided by it.

The average of the weights has all cells, whatever a step touched, yet it needs no loop over them
either.  Let ``s`` be the scale, ``w = s u``, and the average ``s z``.  Both shrink by the same factor,
and the average takes in the weights before the step, so that ``z`` grows by ``c u`` with
``c = a / (1 - a)``.  Write ``z = r + b u`` with ``b`` the sum of all ``c``: then

    z + c u_old = r + (b + c) u_old = [r - (b + c) (u_new - u_old)] + (b + c) u_new,

and ``r`` changes only where ``u`` does.  `fold` multiplies everything out: at the end of a pass, and
whenever the scale has become too small.
"""

from __future__ import annotations

from medn_edu.kernels._compile import kernel
from medn_edu.kernels.block_model import edge_cell
from medn_edu.kernels.block_oracle import best_labelling, block_scores

__all__ = ["descend"]

_SMALLEST = 1e-30  # scale below which everything is multiplied out


@kernel
def descend(order, steps, blocks, model, work, average, node, edge):
    """Make one step for each sample of ``order``, with these steps, all below 1.

    Parameters
    ----------
    order : ndarray of int64
        Samples in the order of their steps.
    steps : ndarray of float64, the same shape
        Sizes ``a`` of the steps.
    blocks, model, work
        See `Blocks`, `Tilted`, `Workspace`; ``model.mean`` are the weights.
    average : ndarray of float64, shape (n_weights,)
        Average of the weights, updated.
    node, edge : ndarray of float64, shapes (n_nodes, n_labels), (n_nodes, n_labels, n_labels)
        Dual masses, updated.
    """
    scale, shares = 1.0, 0.0
    for position in range(order.size):
        i, step = order[position], steps[position]
        block_scores(blocks, i, model, work.scores)
        augment_by(blocks, i, 1.0 / scale, work.scores, work.augmented)
        best_labelling(blocks, i, model, work.augmented, work.message, work.labelling)
        scale *= 1.0 - step
        shares += step / (1.0 - step)
        mass = order.size * blocks.mass[i] * step / scale
        add_features(blocks, i, model, work.labelling, mass, shares, average)
        add_mass(blocks, i, work.labelling, mass, node, edge)
        if scale < _SMALLEST:
            fold(scale, shares, model, average, node, edge)
            scale, shares = 1.0, 0.0
    fold(scale, shares, model, average, node, edge)


@kernel
def augment_by(blocks, i, loss, scores, augmented):
    """Add ``loss`` to the node scores at every wrong label."""
    lo = blocks.offsets[i]
    for t in range(blocks.offsets[i + 1] - lo):
        for a in range(scores.shape[1]):
            augmented[t, a] = scores[t, a] + loss
        augmented[t, blocks.labels[lo + t]] -= loss


@kernel
def add_features(blocks, i, model, labelling, mass, shares, average):
    """Add ``mass (f(x_i, y_i) - f(x_i, y))``, in units of the variances, to the raw weights."""
    lo = blocks.offsets[i]
    n_labels = model.coef.shape[1]
    truth = blocks.labels[lo : blocks.offsets[i + 1]]
    for t in range(truth.size):
        parent, kind = blocks.parents[lo + t] - lo, blocks.edge_types[lo + t]
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


@kernel
def add_mass(blocks, i, labelling, mass, node, edge):
    """Add mass to a labelling of sample ``i``."""
    lo = blocks.offsets[i]
    for t in range(blocks.offsets[i + 1] - lo):
        node[lo + t, labelling[t]] += mass
        parent = blocks.parents[lo + t] - lo
        if parent >= 0:
            edge[lo + t, labelling[parent], labelling[t]] += mass


@kernel
def fold(scale, shares, model, average, node, edge):
    """Multiply the raw numbers out."""
    for cell in range(average.size):
        average[cell] = scale * (average[cell] + shares * model.mean[cell])
        model.mean[cell] *= scale
    for table in (model.edge, model.edge_by_child, edge):
        flat = table.reshape(-1)
        for cell in range(flat.size):
            flat[cell] *= scale
    flat = node.reshape(-1)
    for cell in range(flat.size):
        flat[cell] *= scale
