"""Block-coordinate Frank-Wolfe for maximum margin Markov networks, on the dual.

The dual of M3N,

    maximise  sum_i,y alpha_i(y) loss_i(y) - |eta|^2 / 2,
    with      eta = sum_i,y alpha_i(y) (f(x_i, y_i) - f(x_i, y)),
    such that alpha_i(y) >= 0 and sum_y alpha_i(y) = C_i,

has one variable per labelling, exponentially many, but its constraints couple only the labellings of
one sample, a *block*, and a linear function is maximised over a block by putting all mass on one
labelling, the one that violates its margin most.  Decoding finds it.  Block-coordinate Frank-Wolfe
(Lacoste-Julien, Jaggi, Schmidt and Pletscher 2013) takes block after block, asks for that labelling
and moves mass towards it, as far as the dual grows.  The weights are ``w = eta`` at all times, and what
the decoding promised, ``C_i H_i(best) - sum_y alpha_i(y) H_i(y)``, is the block's share of the duality
gap.

Plain Frank-Wolfe steps take mass from *all* labellings alike and zigzag when ``C`` is large.  So the
labellings that carry mass, few per sample, are kept, and mass is moved between any two of them
(*pairwise* steps; Shah, Kolmogorov and Lampert 2015, Osokin et al. 2016), again and again until the
block is nearly optimal over its kept labellings.  `medn_edu.kernels.block_frank_wolfe` tells how that
costs hardly more than the decoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from medn_edu.kernels import block_frank_wolfe as kernels
from medn_edu.kernels.block_frank_wolfe import Atoms, Blocks, Model, Scratch
from medn_edu.results import DualVariables, Iterate

if TYPE_CHECKING:
    from medn_edu.problems.max_margin import MaxMarginProblem

__all__ = ["block_frank_wolfe"]


def block_frank_wolfe(
    problem: MaxMarginProblem,
    *,
    rng: np.random.Generator,
    warm_start: DualVariables | None = None,
    n_steps: int = 20,
    accuracy: float = 0.1,
    plan=((True, 1.0), (False, 1.0)),
    gram_budget: int = 64_000_000,
    first_capacity: int = 4,
    factor=1.0,
) -> Iterator[Iterate]:
    """Maximise the dual of M3N block by block; yields after each pass."""
    blocks = _blocks(problem, gram_budget)
    model = _zero_model(problem)
    scratch = _scratch(blocks, model)
    atoms = _initial_atoms(blocks, first_capacity, scratch)
    gaps = np.full(len(blocks.mass), np.inf)
    n_oracle_calls = 0
    dual_value = 0.0
    n = len(blocks.mass)
    while True:
        for with_oracle, share in plan:
            order = rng.permutation(n)
            if factor and n_oracle_calls:
                direction = _zero_model(problem)
                gain = kernels.aim(blocks, direction, atoms, scratch, factor)
                dw, w = _weights(direction, problem), _weights(model, problem)
                slope, curvature = gain - dw @ w, dw @ dw
                step = np.clip(slope / curvature, 0.0, 1.0) if curvature > 0 else 0.0
                kernels.go_along(atoms, step)
                model.coef[...] += step * direction.coef
                model.edge[...] += step * np.where(problem.data.allowed, direction.edge, 0.0)
                model.edge_by_child[...] = model.edge.transpose(0, 2, 1)
                dual_value += step * slope - step**2 / 2 * curvature
            position = 0
            while position < order.size:
                position, growth = kernels.visit_blocks(
                    order, position, blocks, model, atoms, scratch, gaps,
                    with_oracle, n_steps, accuracy,
                )
                dual_value += growth
                if position < order.size:
                    atoms = _enlarged(blocks, atoms)
            if with_oracle:
                n_oracle_calls += order.size
        yield Iterate(
            weights=_weights(model, problem),
            gap_estimate=float(gaps.sum()),
            objective_estimate=dual_value,
            n_oracle_calls=n_oracle_calls,
            dual=lambda: _dual_variables(blocks, atoms),
        )


def _blocks(problem: MaxMarginProblem, gram_budget: int) -> Blocks:
    samples = problem.data.samples
    lengths = samples.lengths
    n_nonzero = np.diff(samples.indptr[samples.offsets])
    # The Gram matrix pays while it is smaller than the sample's rows, and within the budget.
    size = np.where(lengths**2 <= n_nonzero, lengths**2, 0)
    size[np.cumsum(size) * 8 > gram_budget] = 0
    gram_start = np.where(size > 0, np.cumsum(size) - size, -1)
    gram = np.empty(size.sum())
    row = np.zeros(samples.n_features)
    for i in np.flatnonzero(size):
        lo, hi = samples.offsets[i], samples.offsets[i + 1]
        out = gram[gram_start[i] : gram_start[i] + size[i]]
        kernels.fill_gram(samples.data, samples.indices, samples.indptr, lo, hi, row, out)
    return Blocks(
        data=samples.data,
        indices=samples.indices,
        indptr=samples.indptr,
        offsets=samples.offsets,
        parents=samples.parents,
        edge_types=samples.edge_types,
        labels=problem.data.labels,
        mass=np.asarray(problem.mass, dtype=np.float64),
        gram=gram,
        gram_start=gram_start,
    )


def _zero_model(problem: MaxMarginProblem) -> Model:
    shape = problem.weight_shape
    allowed = problem.data.allowed
    return Model(
        coef=np.zeros((shape.n_features, shape.n_labels)),
        edge=np.where(allowed, 0.0, -np.inf),
        edge_by_child=np.where(allowed, 0.0, -np.inf).transpose(0, 2, 1).copy(),
    )


def _weights(model: Model, problem: MaxMarginProblem) -> np.ndarray:
    transitions = np.where(problem.data.allowed, model.edge, 0.0)
    return problem.weight_shape.join(model.coef.T, transitions)


def _scratch(blocks: Blocks, model: Model) -> Scratch:
    longest = int(np.diff(blocks.offsets).max())
    n_labels = model.edge.shape[1]
    return Scratch(
        scores=np.empty((longest, n_labels)),
        augmented=np.empty((longest, n_labels)),
        message=np.empty(n_labels),
        labelling=np.empty(longest, dtype=np.int32),
        feature_sum=np.zeros_like(model.coef),
        edge_count=np.zeros_like(model.edge),
    )


def _empty_arena(n_samples: int, n_slots: int, n_labels: int, n_products: int) -> Atoms:
    per_block = [np.zeros(n_samples, dtype=np.int64) for _ in range(5)]
    return Atoms(
        np.zeros(3, dtype=np.int64),
        *per_block,
        alpha=np.zeros(n_slots),
        previous=np.zeros(n_slots),
        violation=np.zeros(n_slots),
        moved=np.zeros(n_slots),
        labels=np.zeros(n_labels, dtype=np.int32),
        products=np.zeros(n_products),
    )


def _initial_atoms(blocks: Blocks, capacity: int, scratch: Scratch) -> Atoms:
    n_samples = len(blocks.mass)
    n_nodes = len(blocks.parents)
    atoms = _empty_arena(
        n_samples, 2 * capacity * n_samples, 2 * capacity * n_nodes, 2 * capacity**2 * n_samples
    )
    atoms.count[:] = 1
    atoms.capacity[:] = capacity
    atoms.first[:] = capacity * np.arange(n_samples)
    atoms.first_label[:] = capacity * blocks.offsets[:-1]
    atoms.first_product[:] = capacity**2 * np.arange(n_samples)
    atoms.used[:] = capacity * n_samples, capacity * n_nodes, capacity**2 * n_samples
    atoms.alpha[atoms.first] = blocks.mass
    shift = np.repeat(atoms.first_label - blocks.offsets[:-1], np.diff(blocks.offsets))
    atoms.labels[np.arange(n_nodes) + shift] = blocks.labels
    kernels.first_products(blocks, atoms, scratch)
    return atoms


def _enlarged(blocks: Blocks, atoms: Atoms) -> Atoms:
    larger = _empty_arena(
        len(atoms.count), 2 * atoms.alpha.size, 2 * atoms.labels.size, 2 * atoms.products.size
    )
    kernels.move_atoms(blocks, atoms, larger)
    return larger


def _dual_variables(blocks: Blocks, atoms: Atoms) -> DualVariables:
    sample = np.repeat(np.arange(len(atoms.count)), atoms.count)
    number = np.arange(len(sample)) - np.repeat(np.cumsum(atoms.count) - atoms.count, atoms.count)
    lengths = np.diff(blocks.offsets)[sample]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    start = atoms.first_label[sample] + number * lengths
    labels = atoms.labels[np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], lengths)]
    values = atoms.alpha[atoms.first[sample] + number]
    return DualVariables(sample, offsets, labels.astype(np.int64), values)
