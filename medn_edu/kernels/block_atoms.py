"""Kept labellings, the *atoms* of sparse dual variables: where they live.

Atoms live in an *arena*, a few flat arrays in which each sample owns a stretch.  A sample that needs
more room moves to the free end of the arena with twice the room.  When the arena is full the kernels
say so and do nothing; the caller enlarges the arena and goes on from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medn_edu.kernels._compile import inlined_kernel, kernel

__all__ = [
    "Atoms",
    "Blocks",
    "drop_atoms",
    "find_atom",
    "keep_atom",
    "labels_of",
    "make_room",
    "move_atoms",
    "products_of",
]


class Blocks(NamedTuple):
    """The training samples, as packed by `medn_edu.samples`, and what is known beforehand."""

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


class Atoms(NamedTuple):
    """The arena of kept labellings.  Atom ``k`` of sample ``i`` sits in slot ``first[i] + k``."""

    used: np.ndarray  # (3,), how much of slots, labels and products is taken
    first: np.ndarray  # (n_samples,), first slot
    capacity: np.ndarray  # (n_samples,), number of slots
    count: np.ndarray  # (n_samples,), number of atoms
    first_label: np.ndarray  # (n_samples,), where the first atom's labels start
    first_product: np.ndarray  # (n_samples,), where the (capacity, capacity) products start
    alpha: np.ndarray  # per slot: mass
    previous: np.ndarray  # per slot: mass when `aim` was last called
    violation: np.ndarray  # per slot: H_j at the current weights
    moved: np.ndarray  # per slot: change of mass during this visit
    labels: np.ndarray  # n_nodes labels per slot
    products: np.ndarray  # Q, row by row


@inlined_kernel
def labels_of(blocks, i, atoms, k):
    """Labels of atom ``k`` of sample ``i``, a view."""
    n_nodes = blocks.offsets[i + 1] - blocks.offsets[i]
    start = atoms.first_label[i] + k * n_nodes
    return atoms.labels[start : start + n_nodes]


@inlined_kernel
def products_of(atoms, i):
    """Inner products of the atoms of sample ``i``, a view of shape (capacity, capacity)."""
    capacity = atoms.capacity[i]
    start = atoms.first_product[i]
    return atoms.products[start : start + capacity * capacity].reshape(capacity, capacity)


@inlined_kernel
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


@inlined_kernel
def keep_atom(blocks, i, atoms, labelling):
    """Keep a labelling as an atom without mass; there is room.  Returns its number."""
    k = atoms.count[i]
    atoms.count[i] = k + 1
    new = labels_of(blocks, i, atoms, k)
    for t in range(new.size):
        new[t] = labelling[t]
    atoms.alpha[atoms.first[i] + k] = 0.0
    atoms.previous[atoms.first[i] + k] = 0.0
    return k


@inlined_kernel
def drop_atoms(blocks, i, atoms):
    """Drop atoms without mass, but never all; the last atom takes the place of each."""
    alpha = atoms.alpha[atoms.first[i] :]
    previous = atoms.previous[atoms.first[i] :]
    products = products_of(atoms, i)
    k = 0
    while k < atoms.count[i] and atoms.count[i] > 1:
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
def make_room(blocks, i, atoms):
    """Make sure that sample ``i`` can get one more atom; False if the arena is full."""
    if atoms.count[i] < atoms.capacity[i]:
        return True
    return move_block(blocks, i, atoms, atoms, 2 * atoms.capacity[i])


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
        move_block(blocks, i, source, target, source.capacity[i])
