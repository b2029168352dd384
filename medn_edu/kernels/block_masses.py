"""Moving mass between the atoms of a block.

A block's dual variables spread mass over labellings.  With a linear slack the mass is fixed, ``C_i``,
and the true labelling may carry some of it.  Other slacks leave the mass free, and the true labelling
carries none.  Both fit under one roof when, with a free mass, the true labelling is taken for a source
that gives mass and takes it back without end: its feature difference and its loss are 0, so what it
carries means nothing.  It is atom 0 then, and the slack counts the mass on all others.

Let ``H_j`` be the violation of atom ``j``, less the slope of ``U*`` for atoms other than the source,
and ``Q`` the atoms' inner products under the variances.  Moving mass ``g`` from ``s`` to ``v`` raises
the dual, where ``Lambda`` and ``U*`` are parabolas, by

    g (H_v - H_s) - g^2 / 2 (Q[s, s] + Q[v, v] - 2 Q[s, v] + curvature of U* if s or v is the source)

and changes every ``H_j`` by ``g (Q[j, s] - Q[j, v])`` and what the slope of ``U*`` changes by.
"""

from __future__ import annotations

import numpy as np

from medn_edu.kernels._compile import inlined_kernel, kernel
from medn_edu.kernels.block_atoms import labels_of, products_of
from medn_edu.kernels.block_model import ROUNDING
from medn_edu.kernels.block_oracle import score_of
from medn_edu.kernels.tilting import EXPONENTIAL_SLACK, LINEAR, slack_gap, slack_slopes

__all__ = [
    "extrapolate",
    "free_mass",
    "move_mass",
    "moved_loss",
    "settle",
    "slack_room",
    "slack_slopes_along",
    "violations",
]


@inlined_kernel
def free_mass(i, terms, atoms):
    """Mass of block ``i`` that the slack counts; 0 with a linear slack, which does not ask."""
    total = 0.0
    if terms.slack != LINEAR:
        for k in range(1, atoms.count[i]):
            total += atoms.alpha[atoms.first[i] + k]
    return total


@inlined_kernel
def violations(blocks, i, model, terms, atoms, scores):
    """Compute ``H_j`` of all atoms, up to a constant if the mass is fixed.

    Returns the block's duality gap, and by how much the best atom exceeds the worst that has mass.
    """
    base = 0.0
    if terms.slack != LINEAR:
        base = score_of(blocks, i, model, scores, labels_of(blocks, i, atoms, 0))
    mass = free_mass(i, terms, atoms)
    slope, _ = slack_slopes(terms.slack, terms.constant, blocks.mass[i], mass)
    largest, mean = -np.inf, 0.0
    best, worst = -np.inf, np.inf
    for k in range(atoms.count[i]):
        slot = atoms.first[i] + k
        value = score_of(blocks, i, model, scores, labels_of(blocks, i, atoms, k)) - base
        largest = max(largest, value)
        if atoms.alpha[slot] > 0.0:
            mean += atoms.alpha[slot] * value
        if k > 0:
            value -= slope
        atoms.violation[slot] = value
        best = max(best, value)
        if atoms.alpha[slot] > 0.0:
            worst = min(worst, value)
    gap = slack_gap(terms.slack, terms.constant, blocks.mass[i], mass, largest) - mean
    return max(gap, 0.0), best - worst


@inlined_kernel
def move_mass(blocks, i, terms, atoms, n_steps, accuracy):
    """Pairwise steps from the worst atom that has mass to the best one, left in ``moved``.

    Stops when their violations are within ``accuracy``, or after ``n_steps`` steps.  Returns whether
    anything was moved.
    """
    first, count = atoms.first[i], atoms.count[i]
    alpha = atoms.alpha[first : first + count]
    violation = atoms.violation[first : first + count]
    moved = atoms.moved[first : first + count]
    products = products_of(atoms, i)
    has_source = terms.slack != LINEAR
    _, curvature = slack_slopes(
        terms.slack, terms.constant, blocks.mass[i], free_mass(i, terms, atoms)
    )
    moved[:] = 0.0
    anything = False
    tie = 1e-6 * accuracy  # a step makes two violations equal: let rounding not choose between them
    for _ in range(n_steps):
        best, worst = 0, -1
        for k in range(count):
            if violation[k] > violation[best] + tie:
                best = k
            has_mass = alpha[k] + moved[k] > 0.0 or (has_source and k == 0)
            if has_mass and (worst < 0 or violation[k] < violation[worst] - tie):
                worst = k
        gain = violation[best] - violation[worst] if worst >= 0 else 0.0
        if not gain > accuracy:  # also true of NaN, which comes of numbers that overflow
            break
        squared = products[best, best] + products[worst, worst] - 2.0 * products[best, worst]
        at_source = has_source and (best == 0 or worst == 0)
        if at_source:
            squared += curvature
        limit = alpha[worst] + moved[worst]
        if has_source and worst == 0:
            limit = np.inf
        step = limit
        if gain < limit * squared:
            step = gain / squared
        if not (step > 0.0 and step < np.inf):
            break
        moved[best] += step
        if limit < np.inf and limit - step <= ROUNDING * limit:
            moved[worst] = -alpha[worst]
        else:
            moved[worst] -= step
        anything = True
        for k in range(count):
            violation[k] += step * (products[worst, k] - products[best, k])
        if at_source:
            change = step * curvature if best == 0 else -step * curvature
            for k in range(1, count):
                violation[k] += change
    return anything


@inlined_kernel
def moved_loss(blocks, i, terms, atoms):
    """Hamming loss of the moved mass, ``sum_j moved_j loss_i(y_j)``, and its free mass."""
    lo = blocks.offsets[i]
    loss, mass = 0.0, 0.0
    for k in range(atoms.count[i]):
        moved = atoms.moved[atoms.first[i] + k]
        if moved == 0.0:
            continue
        if k > 0 and terms.slack != LINEAR:
            mass += moved
        labelling = labels_of(blocks, i, atoms, k)
        for t in range(labelling.size):
            if labelling[t] != blocks.labels[lo + t]:
                loss += moved
    return loss, mass


@inlined_kernel
def settle(i, terms, atoms, step):
    """Go the share ``step`` of the way left in ``moved``."""
    for k in range(atoms.count[i]):
        if k == 0 and terms.slack != LINEAR:
            continue  # the source
        slot = atoms.first[i] + k
        before = atoms.alpha[slot]
        mass = before + step * atoms.moved[slot]
        atoms.alpha[slot] = mass if mass > ROUNDING * before else 0.0


@kernel
def extrapolate(blocks, i, terms, atoms, factor):
    """Aim from where the masses were at the last call, through where they are, and on.

    The target is ``alpha + factor (alpha - previous)`` without its negative parts, scaled to the
    block's mass if that is fixed; hence it is feasible, and so is every point on the way.  The way is
    left in ``moved``.
    """
    slots = range(atoms.first[i], atoms.first[i] + atoms.count[i])
    total = 0.0
    for slot in slots:
        mass = atoms.alpha[slot]
        atoms.moved[slot] = max(0.0, mass + factor * (mass - atoms.previous[slot]))
        atoms.previous[slot] = mass
        total += atoms.moved[slot]
    # With a fixed mass the total is positive: some atom's mass has not shrunk.
    scale = blocks.mass[i] / total if terms.slack == LINEAR else 1.0
    for slot in slots:
        atoms.moved[slot] = scale * atoms.moved[slot] - atoms.alpha[slot]


@kernel
def slack_room(blocks, terms, mass, change):
    """How many times ``change`` can be added to the free masses before ``U*`` ends."""
    limit = np.inf
    if terms.slack == EXPONENTIAL_SLACK:
        for i in range(mass.size):
            if change[i] > 0.0:
                limit = min(limit, (blocks.mass[i] - mass[i]) / change[i])
    return limit


@kernel
def slack_slopes_along(blocks, terms, mass, change, step):
    """First and second derivative of ``sum_i U*(mass_i + step change_i)`` by ``step``."""
    first, second = 0.0, 0.0
    for i in range(mass.size):
        slope, curvature = slack_slopes(
            terms.slack, terms.constant, blocks.mass[i], mass[i] + step * change[i]
        )
        first += change[i] * slope
        second += change[i] * change[i] * curvature
    return first, second
