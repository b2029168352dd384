"""Compiled block visits for maximum entropy discrimination, with any prior and slack.

The dual variables of sample ``i``, its *block*, spread mass over labellings.  Only labellings that
carry mass are kept, the *atoms*.  With all other blocks fixed the dual is a function of them,

    sum_y alpha_i(y) loss_i(y) - sum_k Lambda(eta_k) - U*(sum_y alpha_i(y)),

smooth, concave, and ``eta`` linear in ``alpha``.  A visit

1. computes the node scores ``E = X_i W`` under the posterior means ``w = Lambda'(eta)``;
2. asks the *oracle*, loss-augmented max-product from the leaves to the roots, for the labelling that
   violates its margin most, and keeps it as a new atom;
3. takes ``Lambda`` for a parabola, with the posterior variances ``Lambda''`` as curvatures, and moves
   mass between atoms until that parabola's maximum is near (`medn_edu.kernels.block_masses`): a Newton
   direction that stays feasible;
4. looks along it for the maximum of the true dual inside the domain of ``Lambda`` (`search`), goes
   there, brings ``eta``, means and variances up to date, and drops atoms left without mass.

With the standard normal prior the parabola is the truth, ``w = eta``, and step 4 is one write.  With a
prior that compiled code does not know, `propose` and `accept` are called from Python, which searches in
between.

Forbidden transitions are minus infinity in the transition scores, which no update can change.
"""

from __future__ import annotations

import numpy as np

from medn_edu.kernels._compile import inlined_kernel, kernel
from medn_edu.kernels.block_atoms import (
    drop_atoms,
    find_atom,
    keep_atom,
    labels_of,
    make_room,
    products_of,
)
from medn_edu.kernels.block_masses import (
    extrapolate,
    free_mass,
    move_mass,
    moved_loss,
    settle,
    violations,
)
from medn_edu.kernels.block_model import ROUNDING, edge_cell
from medn_edu.kernels.block_oracle import block_scores, most_violating
from medn_edu.kernels.block_products import add_products, fill_products
from medn_edu.kernels.tilting import EXPONENTIAL_SLACK, LINEAR, slack_slopes, tilt

__all__ = [
    "accept",
    "aim",
    "follow",
    "load_atoms",
    "propose",
    "shrink",
    "sum_losses",
    "sum_up",
    "visit_blocks",
]

# The line search takes at most so many looks, until it is before the highest point, so that the dual
# has grown, and the slope is this share of what it was; it stays within this share of the way to the
# end of the domain, where rounding would be without bounds.
SEARCH_LOOKS, SEARCH_ACCURACY, SEARCH_ROUNDING, INSIDE = 60, 0.1, 1e-9, 0.99


@kernel
def load_atoms(start, sample, offsets, labels, values, blocks, model, terms, atoms, work):
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
            k = new_atom(blocks, i, model, terms, atoms, labelling, work)
        atoms.alpha[atoms.first[i] + k] += values[j]
        atoms.previous[atoms.first[i] + k] += values[j]
    return sample.size


@inlined_kernel
def new_atom(blocks, i, model, terms, atoms, labelling, work):
    """Keep a labelling as an atom without mass; there is room.  Returns its number."""
    k = keep_atom(blocks, i, atoms, labelling)
    if terms.unit:
        add_products(blocks, i, model, atoms, k, work)
    return k


@kernel
def visit_blocks(
    order, start, blocks, model, terms, atoms, work, gaps, with_oracle, n_steps, accuracy
):
    """Visit the blocks ``order[start:]``; the other arguments are those of `propose`.

    Returns the position at which it stopped: ``order.size``, or that of the visit for which the arena
    was too small.
    """
    for position in range(start, order.size):
        i = order[position]
        if with_oracle and not make_room(blocks, i, atoms):
            return position
        n_cells, loss, mass = propose(
            i, blocks, model, terms, atoms, work, gaps, with_oracle, n_steps, accuracy
        )
        if n_cells >= 0:
            if terms.unit:
                step = search_parabola(blocks, i, terms, atoms)
            else:
                step = search(blocks, i, model, terms, atoms, work, n_cells, loss, mass)
                tilt_cells(model, terms, work, n_cells, step)
            accept(blocks, i, model, terms, atoms, work, n_cells, step)
        drop_atoms(blocks, i, atoms)
    return order.size


@inlined_kernel
def propose(i, blocks, model, terms, atoms, work, gaps, with_oracle, n_steps, accuracy):
    """Find a direction for block ``i`` and leave it in ``atoms.moved`` and ``work.delta``.

    Parameters
    ----------
    i : int
        The block.
    blocks, model, terms, atoms, work
        See `Blocks`, `Tilted`, `Terms`, `Atoms`, `Workspace`.
    gaps : ndarray of float64, shape (n_samples,)
        Duality gap of each block when last seen; updated.
    with_oracle : bool
        Whether to ask the oracle for a new labelling, for which there must be room, or to move mass
        among the atoms only.
    n_steps : int
        Largest number of pairwise steps.
    accuracy : float
        Stop the pairwise steps when violations differ by at most this share of the first difference.

    Returns
    -------
    n_cells : int
        Number of cells written to ``delta`` (none with the standard normal prior); -1 if there is
        nothing to move.
    loss, mass : float
        Loss of the moved mass, and its free mass.
    """
    if not with_oracle and atoms.count[i] == 1:
        return -1, 0.0, 0.0
    block_scores(blocks, i, model, work.scores)
    if with_oracle:
        most_violating(blocks, i, model, work)
        if find_atom(blocks, i, atoms, work.labelling) < 0:
            new_atom(blocks, i, model, terms, atoms, work.labelling, work)
    gap, spread = violations(blocks, i, model, terms, atoms, work.scores)
    if with_oracle:
        gaps[i] = gap
    if not spread > 0.0:
        return -1, 0.0, 0.0
    if not terms.unit:
        fill_products(blocks, i, model, atoms, work)
    if not move_mass(blocks, i, terms, atoms, n_steps, accuracy * spread):
        return -1, 0.0, 0.0
    if terms.unit:
        return 0, 0.0, 0.0
    loss, mass = moved_loss(blocks, i, terms, atoms)
    return collect(blocks, i, model, atoms, work), loss, mass


@kernel
def collect(blocks, i, model, atoms, work):
    """Write the change of eta, ``-sum_j moved_j f(y_j)``, to ``delta``; return the number of cells."""
    lo = blocks.offsets[i]
    n_nodes = blocks.offsets[i + 1] - lo
    n_labels = model.coef.shape[1]
    change = work.augmented
    change[:n_nodes] = 0.0
    n_cells, scale = 0, 0.0
    for k in range(atoms.count[i]):
        moved = atoms.moved[atoms.first[i] + k]
        if moved == 0.0:
            continue
        scale += abs(moved)
        labelling = labels_of(blocks, i, atoms, k)
        for t in range(n_nodes):
            parent = blocks.parents[lo + t] - lo
            if work.differs[t]:
                change[t, labelling[t]] -= moved
            if parent >= 0 and (work.differs[t] or work.differs[parent]):
                kind = blocks.edge_types[lo + t]
                cell = edge_cell(model, kind, labelling[parent], labelling[t])
                n_cells = touch(work, n_cells, cell, -moved)
    for t in range(n_nodes):
        if not work.differs[t]:
            continue
        for a in range(n_labels):
            if abs(change[t, a]) <= ROUNDING * scale:
                continue  # moves that cancel: what is left is rounding
            for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
                cell = blocks.indices[p] * n_labels + a
                n_cells = touch(work, n_cells, cell, blocks.data[p] * change[t, a])
    return n_cells


@kernel
def touch(work, n_cells, cell, value):
    """Add to a cell of ``delta``; returns the number of cells written to."""
    if not work.seen[cell]:
        work.seen[cell] = True
        work.cells[n_cells] = cell
        n_cells += 1
    work.delta[cell] += value
    return n_cells


@inlined_kernel
def search_parabola(blocks, i, terms, atoms):
    """Do what `search` does where the dual is the parabola: pairwise steps may overshoot together."""
    first, count = atoms.first[i], atoms.count[i]
    moved = atoms.moved[first : first + count]
    products = products_of(atoms, i)
    end, bend, mass = 0.0, 0.0, 0.0  # slope at the end of the way, and how fast it falls
    for j in range(count):
        if moved[j] != 0.0:
            end += moved[j] * atoms.violation[first + j]
            mass += moved[j] if j > 0 else 0.0
            for k in range(count):
                bend += moved[j] * moved[k] * products[j, k]
    _, curvature = slack_slopes(
        terms.slack, terms.constant, blocks.mass[i], free_mass(i, terms, atoms)
    )
    bend += mass * (mass * curvature)  # the square of a tiny mass underflows
    start = end + bend
    if not start > 0.0:
        return 0.0
    return 1.0 if end >= -SEARCH_ROUNDING * start else start / bend


@kernel
def search(blocks, i, model, terms, atoms, work, n_cells, loss, mass):
    """Share of the way along ``delta`` at which the dual stops growing, at most all of it.

    Safeguarded Newton on the dual's slope, which falls, to minus infinity at the end of the domain.
    `medn_edu.solvers.line_search` has the same in Python.
    """
    before = free_mass(i, terms, atoms)
    largest = blocks.mass[i]
    slope, _ = slack_slopes(terms.slack, terms.constant, largest, before)
    start = loss - mass * slope
    limit = np.inf
    if mass > 0.0 and terms.slack == EXPONENTIAL_SLACK:
        limit = (largest - before) / mass
    for j in range(n_cells):
        cell = work.cells[j]
        delta = work.delta[cell]
        start -= delta * model.mean[cell]
        if delta > 0.0:
            limit = min(limit, (terms.upper - model.eta[cell]) / delta)
        elif delta < 0.0:
            limit = min(limit, (terms.lower - model.eta[cell]) / delta)
    if not (start > 0.0 and limit > 0.0):
        return 0.0
    end = min(INSIDE * limit, 1.0)
    low, high = 0.0, np.inf
    step = end if end == 1.0 else 0.5 * end
    for _ in range(SEARCH_LOOKS):
        now, bend = slack_slopes(terms.slack, terms.constant, largest, before + step * mass)
        now, bend = loss - mass * now, mass * mass * bend
        for j in range(n_cells):
            cell = work.cells[j]
            delta = work.delta[cell]
            eta = model.eta[cell] + step * delta
            mean, variance = tilt(terms.prior, terms.p, terms.q, eta, model.variance[cell])
            now -= delta * mean
            bend += delta * delta * variance
        if -SEARCH_ROUNDING * start <= now <= SEARCH_ACCURACY * start or (
            now > 0.0 and step == end
        ):
            return step
        if now > 0.0:
            low = step
        else:
            high = step
        step = min(step + now / bend, end) if bend > 0.0 else end
        if not low < step < high:
            step = 0.5 * (low + min(high, end))
    return low


@kernel
def tilt_cells(model, terms, work, n_cells, step):
    """Go the share ``step`` of the way along ``delta``: eta, means and variances."""
    for j in range(n_cells):
        cell = work.cells[j]
        model.eta[cell] += step * work.delta[cell]
        model.mean[cell], model.variance[cell] = tilt(
            terms.prior, terms.p, terms.q, model.eta[cell], model.variance[cell]
        )


@inlined_kernel
def accept(blocks, i, model, terms, atoms, work, n_cells, step):
    """Go the share ``step`` of the way: masses, and the weights as the oracle wants them."""
    settle(i, terms, atoms, step)
    if terms.unit:
        add_moves(blocks, i, model, atoms, step, work.augmented, model.coef, model.eta)
        write_transitions(blocks, i, model, atoms, step)
        return
    n_coef, n_labels = model.coef.size, model.coef.shape[1]
    for j in range(n_cells):
        cell = work.cells[j]
        work.delta[cell] = 0.0
        work.seen[cell] = False
        if cell >= n_coef:
            rest, child = divmod(cell - n_coef, n_labels)
            kind, parent = divmod(rest, n_labels)
            model.edge[kind, parent, child] = model.mean[cell]
            model.edge_by_child[kind, child, parent] = model.mean[cell]


@inlined_kernel
def write_transitions(blocks, i, model, atoms, step):
    """Write moved mass into the tables of transitions, where they are eta."""
    lo = blocks.offsets[i]
    for k in range(atoms.count[i]):
        mass = step * atoms.moved[atoms.first[i] + k]
        if mass == 0.0:
            continue
        labelling = labels_of(blocks, i, atoms, k)
        for t in range(labelling.size):
            parent = blocks.parents[lo + t] - lo
            if parent >= 0:
                kind, above, label = blocks.edge_types[lo + t], labelling[parent], labelling[t]
                model.edge[kind, above, label] -= mass
                model.edge_by_child[kind, label, above] -= mass


@kernel
def aim(blocks, model, terms, atoms, work, factor, delta, loss, mass):
    """Extrapolate all blocks (see `extrapolate`), and see where that leads.

    Adds the effect on eta to ``delta`` and writes the loss and the free mass of each block's move.
    """
    coef = delta[: model.coef.size].reshape(model.coef.shape)
    for i in range(atoms.count.size):
        extrapolate(blocks, i, terms, atoms, factor)
        add_moves(blocks, i, model, atoms, 1.0, work.augmented, coef, delta)
        loss[i], mass[i] = moved_loss(blocks, i, terms, atoms)


@kernel
def follow(terms, atoms, step):
    """Go the share ``step`` of the way that `aim` has left in ``moved``."""
    for i in range(atoms.count.size):
        settle(i, terms, atoms, step)


@kernel
def shrink(blocks, terms, atoms, share):
    """Keep a share of the masses just loaded; what is fixed goes back to atom 0, the true labelling."""
    for i in range(atoms.count.size):
        first, count = atoms.first[i], atoms.count[i]
        for slot in range(first + 1, first + count):
            left = (1.0 - share) * atoms.alpha[slot]
            atoms.alpha[slot] -= left
            if terms.slack == LINEAR:
                atoms.alpha[first] += left
        atoms.previous[first : first + count] = atoms.alpha[first : first + count]


@kernel
def sum_up(blocks, model, terms, atoms, work, eta):
    """Add up ``eta`` from the masses."""
    coef = eta[: model.coef.size].reshape(model.coef.shape)
    for i in range(atoms.count.size):
        move_all(i, terms, atoms)
        add_moves(blocks, i, model, atoms, 1.0, work.augmented, coef, eta)


@kernel
def sum_losses(blocks, terms, atoms, loss, mass):
    """Write the loss and the free mass of each block."""
    for i in range(atoms.count.size):
        move_all(i, terms, atoms)
        loss[i], mass[i] = moved_loss(blocks, i, terms, atoms)


@kernel
def move_all(i, terms, atoms):
    """Let all mass of block ``i`` count as moved."""
    first, count = atoms.first[i], atoms.count[i]
    atoms.moved[first : first + count] = atoms.alpha[first : first + count]
    if terms.slack != LINEAR:
        atoms.moved[first] = 0.0  # the source


@inlined_kernel
def add_moves(blocks, i, model, atoms, factor, change, coef, eta):
    """Add ``factor sum_j moved_j (f(x_i, y_i) - f(x_i, y_j))`` to ``eta``; ``coef`` is a view of it."""
    lo = blocks.offsets[i]
    n_nodes = blocks.offsets[i + 1] - lo
    n_labels = model.coef.shape[1]
    change[:n_nodes] = 0.0
    total, scale = 0.0, 0.0
    for k in range(atoms.count[i]):
        mass = factor * atoms.moved[atoms.first[i] + k]
        total += mass
        scale += abs(mass)
        if mass != 0.0:
            add_labelling(blocks, i, model, labels_of(blocks, i, atoms, k), -mass, change, eta)
    if abs(total) > ROUNDING * scale:
        true_labels = blocks.labels[lo : lo + n_nodes]
        add_labelling(blocks, i, model, true_labels, total, change, eta)
    for t in range(n_nodes):
        row = change[t]
        largest = 0.0
        for a in range(n_labels):
            largest = max(largest, abs(row[a]))
        if largest <= ROUNDING * scale:
            continue  # all moves agree on this node's label: what is left is rounding
        for p in range(blocks.indptr[lo + t], blocks.indptr[lo + t + 1]):
            value = blocks.data[p]
            cells = coef[blocks.indices[p]]
            for a in range(n_labels):
                cells[a] += value * row[a]


@inlined_kernel
def add_labelling(blocks, i, model, labelling, mass, change, eta):
    """Add ``mass`` to a labelling's entries of ``change`` and to its transitions in ``eta``."""
    lo = blocks.offsets[i]
    for t in range(labelling.size):
        change[t, labelling[t]] += mass
        parent = blocks.parents[lo + t] - lo
        if parent >= 0:
            kind = blocks.edge_types[lo + t]
            eta[edge_cell(model, kind, labelling[parent], labelling[t])] += mass
