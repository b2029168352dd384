"""The arena of kept labellings, seen from Python: how it is made, enlarged and read.

`medn_edu.kernels.atoms` says what is in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medn_edu.kernels.atoms import Atoms
from medn_edu.kernels.bundles import Blocks
from medn_edu.problems import DualVariables

__all__ = ["BlockAtoms", "atoms_of", "dual_variables", "empty_arena", "enlarged", "every_atom"]


class BlockAtoms(NamedTuple):
    """The atoms of one block, views."""

    alpha: np.ndarray
    previous: np.ndarray
    moved: np.ndarray
    labels: np.ndarray  # (count, n_nodes)
    products: np.ndarray  # (capacity, capacity)


def empty_arena(blocks: Blocks, capacity: int) -> Atoms:
    """Return an arena in which each block has room for ``capacity`` atoms and there is no more."""
    n_samples, n_nodes = len(blocks.C), len(blocks.parents)
    number, n_slots = np.arange(n_samples), capacity * n_samples
    used = np.array([n_slots, capacity * n_nodes, capacity**2 * n_samples])
    return Atoms(
        used=used,
        first=capacity * number,
        capacity=np.full(n_samples, capacity),
        count=np.zeros(n_samples, dtype=np.int64),
        first_label=capacity * blocks.offsets[:-1],
        first_product=capacity**2 * number,
        alpha=np.zeros(n_slots),
        previous=np.zeros(n_slots),
        violation=np.zeros(n_slots),
        moved=np.zeros(n_slots),
        labels=np.zeros(used[1], dtype=np.int64),
        products=np.zeros(used[2]),
    )


def enlarged(atoms: Atoms) -> Atoms:
    """Return an arena of twice the size with the same atoms in the same places."""

    def longer(array: np.ndarray, factor: int) -> np.ndarray:
        return np.concatenate([array, np.zeros((factor - 1) * len(array), dtype=array.dtype)])

    return atoms._replace(
        alpha=longer(atoms.alpha, 2),
        previous=longer(atoms.previous, 2),
        violation=longer(atoms.violation, 2),
        moved=longer(atoms.moved, 2),
        labels=longer(atoms.labels, 2),
        products=longer(atoms.products, 4),
    )


def every_atom(atoms: Atoms, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the sample of each atom and its number there, from the ``first`` number on."""
    count = atoms.count
    sample = np.repeat(np.arange(len(count)), count)
    number = np.arange(len(sample)) - np.repeat(np.cumsum(count) - count, count)
    return sample[number >= first], number[number >= first]


def atoms_of(atoms: Atoms, blocks: Blocks, i: int) -> BlockAtoms:
    """Return the atoms of block ``i``."""
    n_nodes = blocks.offsets[i + 1] - blocks.offsets[i]
    first, count, capacity = atoms.first[i], atoms.count[i], atoms.capacity[i]
    slots, label, product = (
        slice(first, first + count),
        atoms.first_label[i],
        atoms.first_product[i],
    )
    return BlockAtoms(
        atoms.alpha[slots],
        atoms.previous[slots],
        atoms.moved[slots],
        atoms.labels[label : label + count * n_nodes].reshape(count, n_nodes),
        atoms.products[product : product + capacity**2].reshape(capacity, capacity),
    )


def dual_variables(atoms: Atoms, blocks: Blocks, first: int) -> DualVariables:
    """Collect the atoms from number ``first`` on, and their dual variables."""
    sample, number = every_atom(atoms, first)
    lengths = np.diff(blocks.offsets)[sample]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    start = atoms.first_label[sample] + number * lengths
    labels = atoms.labels[np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], lengths)]
    return DualVariables(sample, offsets, labels, atoms.alpha[atoms.first[sample] + number])
