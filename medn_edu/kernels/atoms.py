"""Kept labellings, the *atoms* of sparse dual variables: where they are kept, and their inner products.

Of the exponentially many labellings of a sample only those with ``alpha_i(y) > 0`` are kept, a handful,
in an *arena*: a few flat arrays in which each sample owns a stretch.  A sample that needs more room
moves to the free end of the arena, where it gets twice the room.  When the arena is full the kernels
say so and do nothing.  The caller enlarges the arena and goes on from there.

**Inner products.**  Pairwise steps between atoms need no features, only the products ``Q[j, k] = sum_c
variance_c f_c(y_j) f_c(y_k)``.  While all variances are 1, a product never changes, and a new atom needs
one new row.  It comes from the sample's Gram matrix ``X_i X_i^T``, computed beforehand, or, for samples
so long that this would not pay, from the sparse rows.  Otherwise variances may change with every step,
so all products are computed anew at each visit.  Steps add up to zero, so what all atoms have in common
does not matter, and nodes at which they all agree are left out.  Atoms that differ at a few nodes are
many combinations of few *parts*, a node with a label each.  Two parts have a product only if their label
is the same, so the products of parts, label by label, are often fewer than those of atoms.  The kernel
counts and takes the quicker way; features of edges are always multiplied atom by atom.
"""

from typing import NamedTuple

import numpy as np

from medn_edu.kernels.compile import inner_kernel, kernel


class Atoms(NamedTuple):
    """The arena of kept labellings.  Atom ``k`` of sample ``i`` has slot ``first[i] + k``."""

    used: np.ndarray  # (3,), how much of slots, labels and products is taken
    first: np.ndarray  # (n_samples,), first slot
    capacity: np.ndarray  # (n_samples,), number of slots
    count: np.ndarray  # (n_samples,), number of atoms
    first_label: np.ndarray  # (n_samples,), where the first atom's labels start
    first_product: np.ndarray  # (n_samples,), where the (capacity, capacity) products start
    alpha: np.ndarray  # per slot: dual variable
    previous: np.ndarray  # per slot: dual variable when `extrapolate` was last called
    violation: np.ndarray  # per slot: H, from stage 3 less the slope of U*; stage 4 updates it
    moved: np.ndarray  # per slot: change of the dual variable along the current direction
    labels: np.ndarray  # n_nodes labels per slot
    products: np.ndarray  # Q, row by row


@inner_kernel
def labels_of(labels, start, count, n_nodes):
    """Labels of one sample's atoms, a view of shape (count, n_nodes)."""
    return labels[start : start + count * n_nodes].reshape(count, n_nodes)


@inner_kernel
def products_of(products, start, capacity):
    """Inner products of one sample's atoms, a view of shape (capacity, capacity)."""
    return products[start : start + capacity * capacity].reshape(capacity, capacity)


@inner_kernel
def find_atom(labels, labelling):
    """Number of the atom with these labels, or -1."""
    for k in range(labels.shape[0]):
        t, n_nodes = 0, labels.shape[1]
        while t < n_nodes and labels[k, t] == labelling[t]:
            t += 1
        if t == n_nodes:
            return k
    return -1


@inner_kernel
def keep_atom(k, labelling, labels, alpha, previous):
    """Keep a labelling as atom ``k``, for which there is room, with a dual variable of 0."""
    alpha[k] = 0.0
    previous[k] = 0.0
    for t in range(labels.shape[1]):
        labels[k, t] = labelling[t]


@kernel
def drop_atoms(count, alpha, previous, labels, products):
    """Drop atoms whose dual variable is 0, but never all; return how many are left.

    The last atom takes the place of each that is dropped.
    """
    k = 0
    while k < count and count > 1:
        if alpha[k] > 0.0:
            k += 1
            continue
        count -= 1
        alpha[k] = alpha[count]
        previous[k] = previous[count]
        for t in range(labels.shape[1]):
            labels[k, t] = labels[count, t]
        corner = products[count, count]
        for j in range(count):
            products[k, j] = products[count, j]
            products[j, k] = products[j, count]
        products[k, k] = corner
    return count


@inner_kernel
def make_room(i, n_nodes, atoms):
    """Make sure that sample ``i`` can get one more atom; False if the arena is full."""
    count = atoms.count[i]
    capacity = 2 * atoms.capacity[i]
    if count < atoms.capacity[i]:
        return True
    used, alpha, previous = atoms.used, atoms.alpha, atoms.previous
    slot, label, product = used[0], used[1], used[2]
    if (
        slot + capacity > alpha.size
        or label + capacity * n_nodes > atoms.labels.size
        or product + capacity * capacity > atoms.products.size
    ):
        return False
    first = atoms.first[i]
    for k in range(count):
        alpha[slot + k] = alpha[first + k]
        previous[slot + k] = previous[first + k]
    first_label = atoms.first_label[i]
    for t in range(count * n_nodes):
        atoms.labels[label + t] = atoms.labels[first_label + t]
    before = products_of(atoms.products, atoms.first_product[i], atoms.capacity[i])
    after = products_of(atoms.products, product, capacity)
    for j in range(count):
        for k in range(count):
            after[j, k] = before[j, k]
    atoms.first[i], atoms.first_label[i], atoms.first_product[i] = slot, label, product
    atoms.capacity[i] = capacity
    used[0] += capacity
    used[1] += capacity * n_nodes
    used[2] += capacity * capacity
    return True


# -- inner products -----------------------------------------------------------------------------


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


@inner_kernel
def add_products(
    k, sample, edges, gram, gram_start, labels, products, shape, variance, differs, delta
):
    """Fill row and column ``k``, for variances of 1."""
    if gram_start < 0:
        for t in range(labels.shape[1]):
            differs[t] = True
        product_row(k, sample, edges, labels, products, shape, variance, differs, delta)
        return
    for j in range(k + 1):
        value = product_by_gram(
            gram, gram_start, sample.parents, sample.edge_kinds, labels[k], labels[j]
        )
        products[j, k] = value
        products[k, j] = value


@inner_kernel
def product_by_gram(gram, gram_start, parents, edge_types, left, right):
    """Inner product of the joint features of two labellings, from the Gram matrix of the nodes.

    Only samples without edge features, and with full tables, have a Gram matrix.
    """
    n_nodes = left.size
    total = 0.0
    for t in range(n_nodes):
        label, parent = left[t], parents[t]
        row = gram_start + t * n_nodes
        for u in range(n_nodes):
            if right[u] != label:
                continue
            total += gram[row + u]
            if parent >= 0 and parents[u] >= 0:
                same_type = edge_types[t] == edge_types[u]
                if same_type and left[parent] == right[parents[u]]:
                    total += 1.0
    return total


@inner_kernel
def fill_products(sample, edges, labels, products, shape, variance, differs, delta, parts):
    """Fill all products of one sample, up to what all atoms share, for any variances."""
    n_atoms, n_nodes = labels.shape
    n_differ = 0
    for t in range(n_nodes):
        differs[t] = False
        for k in range(1, n_atoms):
            if labels[k, t] != labels[0, t]:
                differs[t] = True
        n_differ += differs[t]

    # How many numbers each way multiplies or adds; n_features is a node's, on average.
    n_features = (sample.rows[n_nodes] - sample.rows[0]) / n_nodes
    n_pairs_of_atoms = n_atoms * (n_atoms + 1) / 2
    n_pairs_of_parts = find_parts(labels, differs, parts.nodes, parts.count)
    by_atoms = n_pairs_of_atoms * n_differ * n_features
    by_parts = n_pairs_of_parts * n_features + n_pairs_of_atoms * parts.count.sum()
    if n_pairs_of_parts < 0 or by_parts > by_atoms:
        for k in range(n_atoms):
            product_row(k, sample, edges, labels, products, shape, variance, differs, delta)
        return

    for k in range(n_atoms):
        write_edges(sample, edges, labels[k], 1.0, differs, delta)
        for j in range(k + 1):
            products[k, j] = read_edges(sample, edges, labels[j], variance, differs, delta)
        write_edges(sample, edges, labels[k], 0.0, differs, delta)
    for a in range(shape[1]):
        nodes = parts.nodes[a, : parts.count[a]]
        if nodes.size > 0:
            fill_part_gram(a, nodes, sample, shape, variance, delta, parts.gram)
            add_part_products(a, nodes, labels, parts.gram, parts.along, products)
    for k in range(n_atoms):
        for j in range(k):
            products[j, k] = products[k, j]


@inner_kernel
def find_parts(labels, differs, part_nodes, n_parts):
    """List for each label the nodes that have it in some atom, of those at which atoms differ.

    Returns how many pairs of nodes have a label in common; -1 if some label has more nodes than there
    is room for.
    """
    n_parts[:] = 0
    n_pairs = 0
    for t in range(labels.shape[1]):
        if not differs[t]:
            continue
        for k in range(labels.shape[0]):
            a = labels[k, t]
            m = n_parts[a]
            if m > 0 and part_nodes[a, m - 1] == t:
                continue
            if m == part_nodes.shape[1]:
                return -1
            part_nodes[a, m] = t
            n_parts[a] = m + 1
            n_pairs += m + 1
    return n_pairs


@inner_kernel
def fill_part_gram(a, nodes, sample, shape, variance, delta, gram):
    """Write the inner products of the nodes' features under the variances of label ``a``."""
    rows, indices, data = sample.rows, sample.indices, sample.data
    for i in range(nodes.size):
        lo, hi = rows[nodes[i]], rows[nodes[i] + 1]
        for p in range(lo, hi):
            cell = indices[p] * shape[1] + a
            delta[cell] += data[p] * variance[cell]
        for h in range(i + 1):
            total = 0.0
            for p in range(rows[nodes[h]], rows[nodes[h] + 1]):
                total += data[p] * delta[indices[p] * shape[1] + a]
            gram[i, h] = total
            gram[h, i] = total
        for p in range(lo, hi):
            delta[indices[p] * shape[1] + a] = 0.0


@inner_kernel
def add_part_products(a, nodes, labels, gram, along, products):
    """Add what the parts with label ``a`` have in common, to the lower half of the products."""
    for k in range(labels.shape[0]):
        along[: nodes.size] = 0.0  # products of atom k with each part
        for i in range(nodes.size):
            if labels[k, nodes[i]] == a:
                for h in range(nodes.size):
                    along[h] += gram[i, h]
        for j in range(k + 1):
            for h in range(nodes.size):
                if labels[j, nodes[h]] == a:
                    products[k, j] += along[h]


@inner_kernel
def product_row(k, sample, edges, labels, products, shape, variance, differs, delta):
    """Fill row and column ``k`` from the sparse features of the nodes at which atoms differ."""
    write_features(sample, edges, labels[k], 1.0, shape, differs, delta)
    for j in range(k + 1):
        value = read_features(sample, edges, labels[j], shape, variance, differs, delta)
        products[j, k] = value
        products[k, j] = value
    write_features(sample, edges, labels[k], 0.0, shape, differs, delta)


@inner_kernel
def write_features(sample, edges, labelling, factor, shape, differs, delta):
    """Add joint features to a zero ``delta``; with ``factor`` 0, set the same cells back to zero."""
    for t in range(labelling.size):
        if differs[t]:
            for p in range(sample.rows[t], sample.rows[t + 1]):
                cell = sample.indices[p] * shape[1] + labelling[t]
                delta[cell] = factor * (delta[cell] + sample.data[p])
    write_edges(sample, edges, labelling, factor, differs, delta)


@inner_kernel
def write_edges(sample, edges, labelling, factor, differs, delta):
    """Do so for the features of edges."""
    parents, kinds = sample.parents, sample.edge_kinds
    starts, tables, factors, pairs, turned, _ = edges
    for t in range(labelling.size):
        if parents[t] >= 0 and (differs[t] or differs[parents[t]]):
            pair = pairs[turned[kinds[t]], labelling[parents[t]], labelling[t]]
            for p in range(starts[kinds[t]], starts[kinds[t] + 1] if pair >= 0 else 0):
                delta[tables[p] + pair] = factor * (delta[tables[p] + pair] + factors[p])


@inner_kernel
def read_features(sample, edges, labelling, shape, variance, differs, delta):
    """Inner product of joint features with ``delta``, weighted by the variances."""
    total = 0.0
    for t in range(labelling.size):
        if differs[t]:
            for p in range(sample.rows[t], sample.rows[t + 1]):
                cell = sample.indices[p] * shape[1] + labelling[t]
                total += sample.data[p] * (delta[cell] * variance[cell])
    return total + read_edges(sample, edges, labelling, variance, differs, delta)


@inner_kernel
def read_edges(sample, edges, labelling, variance, differs, delta):
    """Do so for the features of edges."""
    parents, kinds = sample.parents, sample.edge_kinds
    starts, tables, factors, pairs, turned, _ = edges
    total = 0.0
    for t in range(labelling.size):
        if parents[t] >= 0 and (differs[t] or differs[parents[t]]):
            pair = pairs[turned[kinds[t]], labelling[parents[t]], labelling[t]]
            for p in range(starts[kinds[t]], starts[kinds[t] + 1] if pair >= 0 else 0):
                total += factors[p] * (delta[tables[p] + pair] * variance[tables[p] + pair])
    return total
