"""Compiled block visits for max-margin learning with a standard normal prior.

The dual variables of sample ``i``, its *block*, spread the mass ``C_i`` over labellings.  Only
labellings that carry mass are kept, the *atoms*.  A visit to a block

1. computes the node scores ``E = X_i W`` from the sparse rows;
2. asks the *oracle*, loss-augmented max-product from the leaves to the roots, for the labelling that
   violates its margin most, and keeps it as a new atom;
3. moves mass between atoms, again and again from the worst atom that has mass to the best one
   (*pairwise steps*), each time as far as the dual grows;
4. writes the sum of all moves into the weights, once, and drops atoms left without mass.

The moves need no features: with ``H_j`` the violation of atom ``j`` and ``Q`` the inner products
``Q[j, k] = f(y_j) . f(y_k)`` of the atoms' joint feature vectors, a move of mass ``g`` from ``s`` to
``v`` raises the dual by ``g (H_v - H_s) - g^2 / 2 (Q[s, s] + Q[v, v] - 2 Q[s, v])`` and changes every
``H_j`` by ``g (Q[j, s] - Q[j, v])``, up to a constant shared by all.  ``Q`` stays with the block, and a
new atom needs one new row of it.  That row comes from the block's Gram matrix ``X_i X_i^T``, which is
computed beforehand (`products_by_gram`), or, for samples so long that it would not pay, from the
sparse rows (`products_by_rows`).

Atoms live in an *arena*, a few flat arrays in which each block owns a stretch.  A block that needs
more room moves to the free end of the arena with twice the room.  When the arena is full the kernel
says so, before the visit in question begins; the caller enlarges the arena and goes on from there.

Forbidden transitions are minus infinity in the transition scores, which no update can change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medn_edu.kernels._compile import kernel
from medn_edu.kernels.maximize import max_message
from medn_edu.kernels.scores import node_scores

__all__ = [
    "Atoms",
    "Blocks",
    "Model",
    "Scratch",
    "fill_gram",
    "move_atoms",
    "visit_blocks",
]

class Blocks(NamedTuple):
    """The training samples, as packed by `medn_edu.structures`, and what is known beforehand."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    offsets: np.ndarray
    parents: np.ndarray
    edge_types: np.ndarray
    labels: np.ndarray
    mass: np.ndarray  # (n_samples,), C_i
    gram: np.ndarray  # X_i X_i^T of all samples that have one, row by row
    gram_start: np.ndarray  # (n_samples,), where a sample's matrix starts; -1 where it has none


class Model(NamedTuple):
    """The weights in the layout the kernels want: labels, or parents' labels, contiguous."""

    coef: np.ndarray  # (n_features, n_labels)
    edge: np.ndarray  # (n_edge_types, parent's label, child's label), -inf where forbidden
    edge_by_child: np.ndarray  # (n_edge_types, child's label, parent's label), the transpose


class Atoms(NamedTuple):
    """The arena of kept labellings.  Atom ``k`` of sample ``i`` sits in slot ``first[i] + k``."""

    used: np.ndarray  # (3,), how much of slots, labels and products is taken
    first: np.ndarray  # (n_samples,), first slot
    capacity: np.ndarray  # (n_samples,), number of slots
    count: np.ndarray  # (n_samples,), number of atoms
    first_label: np.ndarray  # (n_samples,), where the first atom's labels start
    first_product: np.ndarray  # (n_samples,), where the (capacity, capacity) products start
    alpha: np.ndarray  # per slot: mass
    previous: np.ndarray  # per slot: mass at an earlier time
    violation: np.ndarray  # per slot: H_j at the current weights
    moved: np.ndarray  # per slot: change of mass during this visit
    labels: np.ndarray  # n_nodes labels per slot
    products: np.ndarray  # Q, row by row


class Scratch(NamedTuple):
    """Room to work in."""

    scores: np.ndarray  # (longest sample, n_labels)
    augmented: np.ndarray  # (longest sample, n_labels)
    message: np.ndarray  # (n_labels,)
    labelling: np.ndarray  # (longest sample,)
    feature_sum: np.ndarray  # (n_features, n_labels), zero between uses
    edge_count: np.ndarray  # (n_edge_types, n_labels, n_labels), zero between uses


@kernel
def fill_gram(data, indices, indptr, lo, hi, row, gram):
    """Write ``X X^T`` of nodes ``lo .. hi - 1`` into ``gram``; ``row`` is all zero, before and after."""
    n_nodes = hi - lo
    for t in range(lo, hi):
        for k in range(indptr[t], indptr[t + 1]):
            row[indices[k]] = data[k]
        for u in range(lo, t + 1):
            total = 0.0
            for k in range(indptr[u], indptr[u + 1]):
                total += data[k] * row[indices[k]]
            gram[(t - lo) * n_nodes + u - lo] = total
            gram[(u - lo) * n_nodes + t - lo] = total
        for k in range(indptr[t], indptr[t + 1]):
            row[indices[k]] = 0.0


@kernel
def block_scores(blocks, i, model, scores):
    """Scores ``E = X_i W`` of every label at every node of sample ``i``."""
    lo, hi = blocks.offsets[i], blocks.offsets[i + 1]
    node_scores(blocks.data, blocks.indices, blocks.indptr, model.coef, lo, hi, scores)


@kernel
def augment(blocks, i, scores, augmented):
    """Add the Hamming loss to the node scores: 1 at every wrong label."""
    lo = blocks.offsets[i]
    for t in range(blocks.offsets[i + 1] - lo):
        for a in range(scores.shape[1]):
            augmented[t, a] = scores[t, a] + 1.0
        augmented[t, blocks.labels[lo + t]] -= 1.0


@kernel
def best_labelling(blocks, i, model, augmented, message, labelling):
    """Max-product over sample ``i``; ``augmented`` is used up."""
    lo = blocks.offsets[i]
    n_labels = augmented.shape[1]
    for t in range(blocks.offsets[i + 1] - 1, lo - 1, -1):
        parent = blocks.parents[t]
        if parent < 0:
            continue
        score = augmented[t - lo]
        table = model.edge_by_child[blocks.edge_types[t]]
        max_message(score, table, message)
        parent_score = augmented[parent - lo]
        for a in range(n_labels):
            parent_score[a] += message[a]
    for t in range(lo, blocks.offsets[i + 1]):
        parent = blocks.parents[t]
        if parent >= 0:
            row = model.edge[blocks.edge_types[t], labelling[parent - lo]]
            labelling[t - lo] = best_sum(augmented[t - lo], row)
        else:
            labelling[t - lo] = np.argmax(augmented[t - lo])


@kernel
def best_sum(left, right):
    """Position of the largest ``left + right``."""
    best = 0
    largest = -np.inf
    for a in range(left.size):
        value = left[a] + right[a]
        if value > largest:
            largest = value
            best = a
    return best


@kernel
def score_of(blocks, i, model, scores, labelling):
    """Hamming loss plus score of one labelling of sample ``i``."""
    lo = blocks.offsets[i]
    total = 0.0
    for t in range(lo, blocks.offsets[i + 1]):
        label = labelling[t - lo]
        total += scores[t - lo, label]
        if label != blocks.labels[t]:
            total += 1.0
        parent = blocks.parents[t]
        if parent >= 0:
            total += model.edge[blocks.edge_types[t], labelling[parent - lo], label]
    return total


@kernel
def labels_of(blocks, i, atoms, k):
    """Labels of atom ``k`` of sample ``i``, a view."""
    n_nodes = blocks.offsets[i + 1] - blocks.offsets[i]
    start = atoms.first_label[i] + k * n_nodes
    return atoms.labels[start : start + n_nodes]


@kernel
def products_of(atoms, i):
    """Inner products of the atoms of sample ``i``, a view of shape (capacity, capacity)."""
    capacity = atoms.capacity[i]
    start = atoms.first_product[i]
    return atoms.products[start : start + capacity * capacity].reshape(capacity, capacity)


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
def products_by_gram(blocks, i, atoms, k):
    """Fill row and column ``k`` of the products, from the Gram matrix of the nodes."""
    products = products_of(atoms, i)
    new = labels_of(blocks, i, atoms, k)
    for j in range(k + 1):
        value = product_by_gram(blocks, i, new, labels_of(blocks, i, atoms, j))
        products[j, k] = value
        products[k, j] = value


@kernel
def products_by_rows(blocks, i, atoms, k, feature_sum, edge_count):
    """Fill row and column ``k`` of the products from the sparse rows: the step for any length."""
    lo = blocks.offsets[i]
    products = products_of(atoms, i)
    new = labels_of(blocks, i, atoms, k)
    add_features(blocks, i, new, 1.0, feature_sum, edge_count)
    for j in range(k + 1):
        labelling = labels_of(blocks, i, atoms, j)
        total = 0.0
        for t in range(lo, blocks.offsets[i + 1]):
            label = labelling[t - lo]
            for p in range(blocks.indptr[t], blocks.indptr[t + 1]):
                total += blocks.data[p] * feature_sum[blocks.indices[p], label]
            parent = blocks.parents[t]
            if parent >= 0:
                total += edge_count[blocks.edge_types[t], labelling[parent - lo], label]
        products[j, k] = total
        products[k, j] = total
    add_features(blocks, i, new, 0.0, feature_sum, edge_count)


@kernel
def add_features(blocks, i, labelling, factor, feature_sum, edge_count):
    """Add a labelling's joint features to all-zero arrays, or with ``factor`` 0 zero them again."""
    lo = blocks.offsets[i]
    for t in range(lo, blocks.offsets[i + 1]):
        label = labelling[t - lo]
        for p in range(blocks.indptr[t], blocks.indptr[t + 1]):
            cell = feature_sum[blocks.indices[p]]
            cell[label] = factor * (cell[label] + blocks.data[p])
        parent = blocks.parents[t]
        if parent >= 0:
            cell = edge_count[blocks.edge_types[t], labelling[parent - lo]]
            cell[label] = factor * (cell[label] + 1.0)


@kernel
def find_atom(blocks, i, atoms, labelling):
    """Number of the atom with these labels, or -1."""
    for k in range(atoms.count[i]):
        known = labels_of(blocks, i, atoms, k)
        same = True
        for t in range(known.size):
            if known[t] != labelling[t]:
                same = False
                break
        if same:
            return k
    return -1


@kernel
def add_atom(blocks, i, atoms, labelling, scratch):
    """Keep a labelling as an atom without mass; there is room.  Returns its number."""
    k = atoms.count[i]
    atoms.count[i] = k + 1
    new = labels_of(blocks, i, atoms, k)
    for t in range(new.size):
        new[t] = labelling[t]
    atoms.alpha[atoms.first[i] + k] = 0.0
    atoms.previous[atoms.first[i] + k] = 0.0
    fill_products(blocks, i, atoms, k, scratch)
    return k


@kernel
def drop_atoms(blocks, i, atoms):
    """Drop atoms without mass; the last atom takes the place of each."""
    alpha = atoms.alpha[atoms.first[i] :]
    previous = atoms.previous[atoms.first[i] :]
    products = products_of(atoms, i)
    k = 0
    while k < atoms.count[i]:
        if alpha[k] > 0.0:
            k += 1
            continue
        last = atoms.count[i] - 1
        atoms.count[i] = last
        alpha[k] = alpha[last]
        previous[k] = previous[last]
        target, source = labels_of(blocks, i, atoms, k), labels_of(blocks, i, atoms, last)
        for t in range(target.size):
            target[t] = source[t]
        corner = products[last, last]
        for j in range(last):
            products[k, j] = products[last, j]
            products[j, k] = products[j, last]
        products[k, k] = corner


@kernel
def line_search(violation_gain, squared_length, mass):
    """Mass to move: where the dual stops growing, at most what is there."""
    if violation_gain >= mass * squared_length:
        return mass
    return violation_gain / squared_length


@kernel
def move_mass(i, atoms, n_steps, accuracy):
    """Pairwise steps among the atoms of a block; returns by how much the dual grew.

    Stops when the best and the worst violation are within ``accuracy``, or after ``n_steps`` steps.
    """
    first, count = atoms.first[i], atoms.count[i]
    alpha = atoms.alpha[first : first + count]
    violation = atoms.violation[first : first + count]
    moved = atoms.moved[first : first + count]
    products = products_of(atoms, i)
    moved[:] = 0.0
    growth = 0.0
    for _ in range(n_steps):
        best, worst = 0, -1
        for k in range(count):
            if violation[k] > violation[best]:
                best = k
            if alpha[k] > 0.0 and (worst < 0 or violation[k] < violation[worst]):
                worst = k
        gain = violation[best] - violation[worst]
        if gain <= accuracy:
            break
        squared = products[best, best] + products[worst, worst] - 2.0 * products[best, worst]
        step = line_search(gain, squared, alpha[worst])
        alpha[best] += step
        alpha[worst] = alpha[worst] - step if step < alpha[worst] else 0.0
        moved[best] += step
        moved[worst] -= step
        for k in range(count):
            violation[k] += step * (products[worst, k] - products[best, k])
        growth += step * (gain - 0.5 * step * squared)
    return growth


@kernel
def write_moves(blocks, i, model, atoms, change):
    """Write the moved mass into the weights: ``W -= sum_j moved_j f(x_i, y_j)``."""
    lo = blocks.offsets[i]
    n_nodes = blocks.offsets[i + 1] - lo
    n_labels = model.coef.shape[1]
    change[:n_nodes] = 0.0
    for k in range(atoms.count[i]):
        moved = atoms.moved[atoms.first[i] + k]
        if moved == 0.0:
            continue
        labelling = labels_of(blocks, i, atoms, k)
        for t in range(n_nodes):
            change[t, labelling[t]] -= moved
            parent = blocks.parents[lo + t]
            if parent >= 0:
                edge_type, above = blocks.edge_types[lo + t], labelling[parent - lo]
                model.edge[edge_type, above, labelling[t]] -= moved
                model.edge_by_child[edge_type, labelling[t], above] -= moved
    for t in range(n_nodes):
        row = change[t]
        largest = 0.0
        for a in range(n_labels):
            largest = max(largest, abs(row[a]))
        if largest <= 1e-15 * blocks.mass[i]:
            continue  # all moves agree on this node: what is left is rounding
        for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
            value = blocks.data[p]
            weight = model.coef[blocks.indices[p]]
            for a in range(n_labels):
                weight[a] += value * row[a]


@kernel
def move_block(blocks, i, source, target, capacity):
    """Move the atoms of sample ``i`` to the free end of ``target``; False if there is no room.

    ``source`` and ``target`` may be one and the same arena.
    """
    n_nodes = blocks.offsets[i + 1] - blocks.offsets[i]
    slot, label, product = target.used[0], target.used[1], target.used[2]
    if (
        slot + capacity > target.alpha.size
        or label + capacity * n_nodes > target.labels.size
        or product + capacity * capacity > target.products.size
    ):
        return False
    count = source.count[i]
    old = source.first[i]
    target.alpha[slot : slot + count] = source.alpha[old : old + count]
    target.previous[slot : slot + count] = source.previous[old : old + count]
    old = source.first_label[i]
    target.labels[label : label + count * n_nodes] = source.labels[old : old + count * n_nodes]
    for k in range(count):
        old = source.first_product[i] + k * source.capacity[i]
        new = product + k * capacity
        target.products[new : new + count] = source.products[old : old + count]
    target.first[i], target.first_label[i], target.first_product[i] = slot, label, product
    target.capacity[i], target.count[i] = capacity, count
    target.used[0] += capacity
    target.used[1] += capacity * n_nodes
    target.used[2] += capacity * capacity
    return True


@kernel
def move_atoms(blocks, source, target):
    """Move all blocks into another, larger arena, without the holes left by blocks that grew."""
    for i in range(source.count.size):
        if not move_block(blocks, i, source, target, source.capacity[i]):
            return False
    return True


@kernel
def first_products(blocks, atoms, scratch):
    """Fill in the products of all atoms there are."""
    for i in range(atoms.count.size):
        for k in range(atoms.count[i]):
            fill_products(blocks, i, atoms, k, scratch)


@kernel
def fill_products(blocks, i, atoms, k, scratch):
    """Fill row and column ``k`` of the products of sample ``i``."""
    if blocks.gram_start[i] >= 0:
        products_by_gram(blocks, i, atoms, k)
    else:
        products_by_rows(blocks, i, atoms, k, scratch.feature_sum, scratch.edge_count)


@kernel
def aim(blocks, model, atoms, scratch, factor):
    """Direction."""
    gain = 0.0
    for i in range(atoms.count.size):
        total = 0.0
        first = atoms.first[i]
        for k in range(first, first + atoms.count[i]):
            now = atoms.alpha[k]
            atoms.moved[k] = max(0.0, now + factor * (now - atoms.previous[k]))
            atoms.previous[k] = now
            total += atoms.moved[k]
        scale = blocks.mass[i] / total if total > 0.0 else 0.0
        lo = blocks.offsets[i]
        for k in range(first, first + atoms.count[i]):
            if total > 0.0:
                atoms.moved[k] = scale * atoms.moved[k] - atoms.alpha[k]
            else:
                atoms.moved[k] = 0.0
            labelling = labels_of(blocks, i, atoms, k - first)
            for t in range(labelling.size):
                if labelling[t] != blocks.labels[lo + t]:
                    gain += atoms.moved[k]
        write_moves(blocks, i, model, atoms, scratch.augmented)
    return gain


@kernel
def go_along(atoms, step):
    for i in range(atoms.count.size):
        for k in range(atoms.first[i], atoms.first[i] + atoms.count[i]):
            atoms.alpha[k] = max(0.0, atoms.alpha[k] + step * atoms.moved[k])


@kernel
def visit_blocks(order, start, blocks, model, atoms, scratch, gaps, with_oracle, n_steps, accuracy):
    """Visit the blocks ``order[start:]``.

    Parameters
    ----------
    order : ndarray of int64
        Samples to visit.
    start : int
        Position in ``order`` at which to begin.
    blocks, model, atoms, scratch
        See `Blocks`, `Model`, `Atoms`, `Scratch`; ``model`` and ``atoms`` are updated.
    gaps : ndarray of float64, shape (n_samples,)
        Duality gap of each block when last seen; updated.
    with_oracle : bool
        Whether to ask the oracle for a new labelling, or to move mass among the atoms only.
    n_steps : int
        Largest number of pairwise steps in a visit.
    accuracy : float
        Stop the pairwise steps when violations differ by at most this share of the first difference.

    Returns
    -------
    position : int
        Where it stopped: ``order.size``, or the visit for which the arena was too small.
    growth : float
        By how much the dual grew.
    """
    growth = 0.0
    for position in range(start, order.size):
        i = order[position]
        full = atoms.count[i] == atoms.capacity[i]
        if with_oracle and full and not move_block(blocks, i, atoms, atoms, 2 * atoms.capacity[i]):
            return position, growth
        block_scores(blocks, i, model, scratch.scores)
        if with_oracle:
            augment(blocks, i, scratch.scores, scratch.augmented)
            best_labelling(blocks, i, model, scratch.augmented, scratch.message, scratch.labelling)
            if find_atom(blocks, i, atoms, scratch.labelling) < 0:
                add_atom(blocks, i, atoms, scratch.labelling, scratch)
        best, worst, mean = -np.inf, np.inf, 0.0
        for k in range(atoms.count[i]):
            slot = atoms.first[i] + k
            value = score_of(blocks, i, model, scratch.scores, labels_of(blocks, i, atoms, k))
            atoms.violation[slot] = value
            best = max(best, value)
            if atoms.alpha[slot] > 0.0:
                worst = min(worst, value)
                mean += atoms.alpha[slot] * value
        gap = blocks.mass[i] * best - mean
        if with_oracle:
            gaps[i] = gap
        grown = move_mass(i, atoms, n_steps, accuracy * (best - worst))
        if grown > 0.0:
            write_moves(blocks, i, model, atoms, scratch.augmented)
            growth += grown
        drop_atoms(blocks, i, atoms)
    return order.size, growth
