"""Inner products of a sample's atoms, ``Q[j, k] = sum_c variance_c f_c(y_j) f_c(y_k)``.

With them, moving mass between atoms needs no features.  While all variances are 1, a product never
changes once it is known, and a new atom needs one new row.  That row comes from the sample's Gram
matrix ``X_i X_i^T``, computed beforehand (`product_by_gram`: only pairs of nodes with equal labels
count), or, for samples so long that this would not pay, from the sparse rows.

Otherwise variances change with every step, and all products are computed anew at each visit, from the
sparse rows.  Moves of mass add up to nothing, so what all atoms share does not matter, and nodes at
which they all agree need no look.
"""

from __future__ import annotations

from medn_edu.kernels._compile import kernel
from medn_edu.kernels.block_atoms import labels_of, products_of
from medn_edu.kernels.block_model import edge_cell

__all__ = ["add_products", "fill_gram", "fill_products"]


@kernel
def fill_gram(data, indices, indptr, offsets, gram_start, row, gram):
    """Write ``X_i X_i^T`` of all samples that get one; ``row`` is all zero, before and after."""
    for i in range(gram_start.size):
        if gram_start[i] < 0:
            continue
        lo, hi = offsets[i], offsets[i + 1]
        for t in range(lo, hi):
            for k in range(indptr[t], indptr[t + 1]):
                row[indices[k]] = data[k]
            for u in range(lo, t + 1):
                total = 0.0
                for k in range(indptr[u], indptr[u + 1]):
                    total += data[k] * row[indices[k]]
                gram[gram_start[i] + (t - lo) * (hi - lo) + u - lo] = total
                gram[gram_start[i] + (u - lo) * (hi - lo) + t - lo] = total
            for k in range(indptr[t], indptr[t + 1]):
                row[indices[k]] = 0.0


@kernel
def add_products(blocks, i, model, atoms, k, work):
    """Fill row and column ``k`` of the products of sample ``i``, for variances of 1."""
    if blocks.gram_start[i] < 0:
        work.differs[: blocks.offsets[i + 1] - blocks.offsets[i]] = True
        products_by_rows(blocks, i, model, atoms, k, work)
        return
    products = products_of(atoms, i)
    new = labels_of(blocks, i, atoms, k)
    for j in range(k + 1):
        value = product_by_gram(blocks, i, new, labels_of(blocks, i, atoms, j))
        products[j, k] = value
        products[k, j] = value


@kernel
def fill_products(blocks, i, model, atoms, work):
    """Fill all products of sample ``i``, up to what all atoms share, for any variances."""
    mark_differences(blocks, i, atoms, work.differs)
    for k in range(atoms.count[i]):
        products_by_rows(blocks, i, model, atoms, k, work)


@kernel
def product_by_gram(blocks, i, left, right):
    """Inner product of the joint features of two labellings, from the Gram matrix of the nodes."""
    lo = blocks.offsets[i]
    n_nodes = blocks.offsets[i + 1] - lo
    total = 0.0
    for t in range(n_nodes):
        label = left[t]
        start = blocks.gram_start[i] + t * n_nodes
        parent = blocks.parents[lo + t]
        for u in range(n_nodes):
            if right[u] != label:
                continue
            total += blocks.gram[start + u]
            other = blocks.parents[lo + u]
            if parent >= 0 and other >= 0:
                same_type = blocks.edge_types[lo + t] == blocks.edge_types[lo + u]
                if same_type and left[parent - lo] == right[other - lo]:
                    total += 1.0
    return total


@kernel
def mark_differences(blocks, i, atoms, differs):
    """Mark the nodes of sample ``i`` at which not all atoms have the same label."""
    known = labels_of(blocks, i, atoms, 0)
    differs[: known.size] = False
    for k in range(1, atoms.count[i]):
        labelling = labels_of(blocks, i, atoms, k)
        for t in range(known.size):
            if labelling[t] != known[t]:
                differs[t] = True


@kernel
def products_by_rows(blocks, i, model, atoms, k, work):
    """Fill row and column ``k`` from the sparse rows: those of nodes at which atoms differ."""
    products = products_of(atoms, i)
    new = labels_of(blocks, i, atoms, k)
    write_features(blocks, i, model, new, 1.0, work)
    for j in range(k + 1):
        value = read_features(blocks, i, model, labels_of(blocks, i, atoms, j), work)
        products[j, k] = value
        products[k, j] = value
    write_features(blocks, i, model, new, 0.0, work)


@kernel
def write_features(blocks, i, model, labelling, factor, work):
    """Add joint features to ``delta``, which is zero, or with ``factor`` 0 zero it again."""
    lo = blocks.offsets[i]
    n_labels = model.coef.shape[1]
    for t in range(labelling.size):
        if work.differs[t]:
            for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
                cell = blocks.indices[p] * n_labels + labelling[t]
                work.delta[cell] = factor * (work.delta[cell] + blocks.data[p])
        parent = blocks.parents[lo + t] - lo
        if parent >= 0 and (work.differs[t] or work.differs[parent]):
            kind = blocks.edge_types[lo + t]
            cell = edge_cell(model, kind, labelling[parent], labelling[t])
            work.delta[cell] = factor * (work.delta[cell] + 1.0)


@kernel
def read_features(blocks, i, model, labelling, work):
    """Inner product of joint features with ``delta``, weighted by the variances."""
    lo = blocks.offsets[i]
    n_labels = model.coef.shape[1]
    total = 0.0
    for t in range(labelling.size):
        if work.differs[t]:
            for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
                cell = blocks.indices[p] * n_labels + labelling[t]
                total += blocks.data[p] * (work.delta[cell] * model.variance[cell])
        parent = blocks.parents[lo + t] - lo
        if parent >= 0 and (work.differs[t] or work.differs[parent]):
            kind = blocks.edge_types[lo + t]
            cell = edge_cell(model, kind, labelling[parent], labelling[t])
            total += work.delta[cell] * model.variance[cell]
    return total
