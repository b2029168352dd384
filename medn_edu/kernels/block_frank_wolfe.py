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
``H_j`` by ``g (Q[j, s] - Q[j, v])``, up to a constant shared by all.  ``Q`` is kept with the atoms, see
`medn_edu.kernels.block_atoms`.

Forbidden transitions are minus infinity in the transition scores, which no update can change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medn_edu.kernels._compile import kernel
from medn_edu.kernels.block_atoms import (
    add_atom,
    drop_atoms,
    find_atom,
    labels_of,
    make_room,
    products_of,
)
from medn_edu.kernels.maximize import max_message
from medn_edu.kernels.scores import node_scores

__all__ = ["Model", "Scratch", "aim", "follow", "load_atoms", "visit_blocks", "write_all"]

# Mass below this share of a block's mass is what rounding leaves behind.  Taken for mass, it would
# make an atom without mass the worst that has some.
ROUNDING = 1e-13


class Model(NamedTuple):
    """The weights in the layout the kernels want: labels, or parents' labels, contiguous."""

    coef: np.ndarray  # (n_features, n_labels)
    edge: np.ndarray  # (n_edge_types, parent's label, child's label), -inf where forbidden
    edge_by_child: np.ndarray  # (n_edge_types, child's label, parent's label), the transpose


class Scratch(NamedTuple):
    """Room to work in."""

    scores: np.ndarray  # (longest sample, n_labels)
    augmented: np.ndarray  # (longest sample, n_labels)
    message: np.ndarray  # (n_labels,)
    labelling: np.ndarray  # (longest sample,)
    feature_sum: np.ndarray  # (n_features, n_labels), zero between uses
    edge_count: np.ndarray  # (n_edge_types, n_labels, n_labels), zero between uses


@kernel
def load_atoms(start, sample, offsets, labels, values, blocks, atoms, scratch):
    """Add mass to labellings ``start, start + 1, ...``, which become atoms where they are not.

    Returns the number of the labelling for which the arena was too small, or their number.
    """
    for j in range(start, sample.size):
        i = sample[j]
        labelling = labels[offsets[j] : offsets[j + 1]]
        k = find_atom(blocks, i, atoms, labelling)
        if k < 0:
            if not make_room(blocks, i, atoms):
                return j
            k = add_atom(blocks, i, atoms, labelling, scratch)
        atoms.alpha[atoms.first[i] + k] += values[j]
        atoms.previous[atoms.first[i] + k] += values[j]
    return sample.size


@kernel
def write_all(blocks, model, atoms, scratch):
    """Add ``eta = sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` to the weights; returns the loss."""
    loss = 0.0
    for i in range(atoms.count.size):
        first, count = atoms.first[i], atoms.count[i]
        atoms.moved[first : first + count] = atoms.alpha[first : first + count]
        write_moves(blocks, i, model, atoms, scratch.augmented, blocks.mass[i])
        loss += moved_loss(blocks, i, atoms)
    return loss


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
        if not with_oracle and atoms.count[i] == 1:
            continue  # nothing to move
        if with_oracle and not make_room(blocks, i, atoms):
            return position, growth
        block_scores(blocks, i, model, scratch.scores)
        if with_oracle:
            augment(blocks, i, scratch.scores, scratch.augmented)
            best_labelling(blocks, i, model, scratch.augmented, scratch.message, scratch.labelling)
            if find_atom(blocks, i, atoms, scratch.labelling) < 0:
                add_atom(blocks, i, atoms, scratch.labelling, scratch)
        gap, spread = violations(blocks, i, model, atoms, scratch.scores)
        if with_oracle:
            gaps[i] = gap
        grown = move_mass(blocks, i, atoms, n_steps, accuracy * spread)
        if grown > 0.0:
            write_moves(blocks, i, model, atoms, scratch.augmented, 0.0)
            growth += grown
        drop_atoms(blocks, i, atoms)
    return order.size, growth


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
def violations(blocks, i, model, atoms, scores):
    """Compute the violations of all atoms, up to a constant.

    Returns the gap ``C_i max_j H_j - sum_j alpha_j H_j``, and by how much the best atom's violation
    exceeds that of the worst that has mass.
    """
    best, worst, mean = -np.inf, np.inf, 0.0
    for k in range(atoms.count[i]):
        slot = atoms.first[i] + k
        value = score_of(blocks, i, model, scores, labels_of(blocks, i, atoms, k))
        atoms.violation[slot] = value
        best = max(best, value)
        if atoms.alpha[slot] > 0.0:
            worst = min(worst, value)
            mean += atoms.alpha[slot] * value
    return max(blocks.mass[i] * best - mean, 0.0), best - worst


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
def move_mass(blocks, i, atoms, n_steps, accuracy):
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
        gain = violation[best] - violation[worst] if worst >= 0 else 0.0
        if not gain > accuracy:  # also true of NaN, which comes of numbers that overflow
            break
        squared = products[best, best] + products[worst, worst] - 2.0 * products[best, worst]
        step = line_search(gain, squared, alpha[worst])
        if not step > 0.0:
            break
        if alpha[worst] - step <= ROUNDING * blocks.mass[i]:
            step = alpha[worst]
        alpha[best] += step
        alpha[worst] -= step
        moved[best] += step
        moved[worst] -= step
        for k in range(count):
            violation[k] += step * (products[worst, k] - products[best, k])
        growth += step * (gain - 0.5 * step * squared)
    return growth


@kernel
def line_search(violation_gain, squared_length, mass):
    """Mass to move: where the dual stops growing, at most what is there."""
    if violation_gain >= mass * squared_length:
        return mass
    return violation_gain / squared_length


@kernel
def write_moves(blocks, i, model, atoms, change, true_mass):
    """Write moved mass into the weights: ``W += true_mass f(x_i, y_i) - sum_j moved_j f(x_i, y_j)``."""
    lo = blocks.offsets[i]
    n_nodes = blocks.offsets[i + 1] - lo
    n_labels = model.coef.shape[1]
    change[:n_nodes] = 0.0
    if true_mass != 0.0:
        true_labels = blocks.labels[lo : lo + n_nodes]
        write_labelling(blocks, i, model, true_labels, true_mass, change)
    for k in range(atoms.count[i]):
        moved = atoms.moved[atoms.first[i] + k]
        if moved != 0.0:
            write_labelling(blocks, i, model, labels_of(blocks, i, atoms, k), -moved, change)
    for t in range(n_nodes):
        row = change[t]
        largest = 0.0
        for a in range(n_labels):
            largest = max(largest, abs(row[a]))
        if largest <= ROUNDING * blocks.mass[i]:
            continue  # all moves agree on this node's label: what is left is rounding
        for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
            value = blocks.data[p]
            weight = model.coef[blocks.indices[p]]
            for a in range(n_labels):
                weight[a] += value * row[a]


@kernel
def write_labelling(blocks, i, model, labelling, mass, change):
    """Add ``mass`` to a labelling's transition weights and to its entries of ``change``."""
    lo = blocks.offsets[i]
    for t in range(labelling.size):
        change[t, labelling[t]] += mass
        parent = blocks.parents[lo + t]
        if parent >= 0:
            edge_type, above = blocks.edge_types[lo + t], labelling[parent - lo]
            model.edge[edge_type, above, labelling[t]] += mass
            model.edge_by_child[edge_type, labelling[t], above] += mass


@kernel
def aim(blocks, direction, atoms, scratch, factor):
    """Extrapolate the masses from where they were at the last call, and see where that leads.

    The target is ``alpha + factor (alpha - previous)``, without its negative parts and scaled to
    the block's mass, hence feasible, and so is every point on the way to it.  The way there is left
    in ``moved``, its effect on the weights is added to ``direction``, its loss is returned.
    """
    loss = 0.0
    for i in range(atoms.count.size):
        slots = range(atoms.first[i], atoms.first[i] + atoms.count[i])
        total = 0.0
        for slot in slots:
            mass = atoms.alpha[slot]
            atoms.moved[slot] = max(0.0, mass + factor * (mass - atoms.previous[slot]))
            atoms.previous[slot] = mass
            total += atoms.moved[slot]
        for slot in slots:  # the total is positive: some mass has not shrunk
            atoms.moved[slot] = atoms.moved[slot] * (blocks.mass[i] / total) - atoms.alpha[slot]
        write_moves(blocks, i, direction, atoms, scratch.augmented, 0.0)
        loss += moved_loss(blocks, i, atoms)
    return loss


@kernel
def moved_loss(blocks, i, atoms):
    """Hamming loss of the moved mass, ``sum_j moved_j loss_i(y_j)``."""
    lo = blocks.offsets[i]
    total = 0.0
    for k in range(atoms.count[i]):
        labelling = labels_of(blocks, i, atoms, k)
        for t in range(labelling.size):
            if labelling[t] != blocks.labels[lo + t]:
                total += atoms.moved[atoms.first[i] + k]
    return total


@kernel
def follow(blocks, atoms, step):
    """Go the share ``step`` of the way that `aim` has left in ``moved``."""
    for i in range(atoms.count.size):
        for slot in range(atoms.first[i], atoms.first[i] + atoms.count[i]):
            mass = atoms.alpha[slot] + step * atoms.moved[slot]
            atoms.alpha[slot] = mass if mass > ROUNDING * blocks.mass[i] else 0.0
