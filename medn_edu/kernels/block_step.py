"""One block step of Frank-Wolfe for maximum entropy discrimination, with any prior and slack.

The dual variables of sample ``i`` are its *block*.  Only the positive ones are kept; their labellings
are the *atoms* (`medn_edu.kernels.atoms`).  With all other blocks fixed the dual
(`medn_edu.solvers.block_frank_wolfe`) is a smooth and concave function of them.  `visit_blocks` makes
its steps in these stages.

1. The node scores ``E = X_i W`` under the posterior means ``w = Lambda'(eta)``; with edge features
   also the scores of transitions, which otherwise are weights themselves.
2. Loss-augmented decoding finds the labelling that violates its margin most, which is kept as an atom.
3. The violations of all atoms, and with them the block's duality gap.
4. Pairwise steps.  They take ``Lambda`` for a parabola, with the posterior variances ``Lambda''`` as
   curvatures, and move dual variables from the worst atom to the best one, again and again, until that
   parabola's maximum is near.  The sum of these steps is a Newton direction that stays feasible.
5. A line search on the true dual along that direction, inside the domain of ``Lambda``
   (`medn_edu.kernels.line_search`).
6. The step: ``alpha``, ``eta``, means and variances.
7. Atoms whose dual variable has become 0 are dropped.

With the standard normal prior and a linear or quadratic slack the dual *is* a parabola and ``w = eta``,
so 5 is a formula, and 6 changes means and ``eta``, which are one array, at once.  For a prior that
compiled code does not know, `visit_blocks` returns the direction, and is called again when
`medn_edu.solvers.dual_state` has searched along it and made the step in Python.
`medn_edu.theory.frank_wolfe` has the same step in plain Python.

**All slacks alike.**  With a linear slack ``sum_y alpha_i(y) = C_i`` is fixed, and the true labelling
is among the ``y``.  Other slacks leave the sum free, and the true labelling has no dual variable.  It
becomes a *source* then, atom 0, that gives and takes without end.  Its feature difference and its loss
are 0, so its dual variable means nothing, and ``U*`` counts the sum over all other atoms.

Forbidden transitions are minus infinity in the transition scores, which no update can change.
"""

import numpy as np

from medn_edu.kernels.atoms import (
    add_products,
    drop_atoms,
    fill_products,
    find_atom,
    keep_atom,
    labels_of,
    make_room,
    products_of,
)
from medn_edu.kernels.bundles import (
    FIRST_NODE,
    ROUNDING,
    edge_scores,
    mask_of,
    sample_of,
)
from medn_edu.kernels.compile import inner_kernel, kernel
from medn_edu.kernels.line_search import (
    INSIDE,
    N_EVALUATIONS,
    SMALL_SLOPE,
    is_high_enough,
    next_step,
)
from medn_edu.kernels.line_search import ROUNDING as SLOPE_ROUNDING
from medn_edu.kernels.maximize import max_down, max_up
from medn_edu.kernels.scores import node_scores
from medn_edu.kernels.tilting import EXPONENTIAL_SLACK, LINEAR, OWN, slack_gap, slack_slopes, tilt

# Measured on the OCR letters; the optimum does not depend on them, times do, and only mildly.
_MOST_STEPS = 20  # at most so many pairwise steps in a visit,
_SPREAD_LEFT = 0.1  # until violations differ by this share of what they differed by at first


@kernel
def visit_blocks(order, start, blocks, tilted, parameters, atoms, work, gaps, with_oracle):
    """Make a step in each of the blocks ``order[start:]``.

    Without ``with_oracle`` stage 2 is left out: steps go among the kept labellings.  ``gaps``, the
    duality gap of each block when last seen, is updated.  Returns five numbers: the position at which
    it stopped, ``order.size`` at the end; and for a line search in Python the number of cells of eta
    that move (-1 if it stopped because the arena is full), the moves' loss, what they add to the total
    ``s_i``, and ``s_i``.
    """
    prior, p, q, is_parabola = parameters.prior, parameters.p, parameters.q, parameters.is_parabola
    slack, constant = parameters.slack, parameters.constant
    source = 0 if slack == LINEAR else 1  # how many atoms are sources
    shape, edge, edge_by_child = tilted.coef.shape, tilted.edge, tilted.edge_by_child
    eta, mean, variance = tilted.eta, tilted.mean, tilted.variance
    edges = blocks.edges
    scores, augmented, found = work.scores, work.augmented, work.labelling
    differs, delta, cells, seen = work.differs, work.delta, work.cells, work.seen
    for position in range(start, order.size):
        i = order[position]
        n_nodes = blocks.offsets[i + 1] - blocks.offsets[i]
        if with_oracle and not make_room(i, n_nodes, atoms):
            return position, -1, 0.0, 0.0, 0.0
        count, first, capacity = atoms.count[i], atoms.first[i], atoms.capacity[i]
        if not with_oracle and count == 1:
            continue
        sample, C = sample_of(blocks, i), blocks.C[i]
        labels = labels_of(atoms.labels, atoms.first_label[i], capacity, n_nodes)
        products = products_of(atoms.products, atoms.first_product[i], capacity)
        alpha = atoms.alpha[first : first + capacity]
        previous = atoms.previous[first : first + capacity]

        # 1. Scores of all labels, and of transitions where they are no weights.
        node_scores(
            sample.data, sample.indices, sample.rows, tilted.coef, FIRST_NODE, n_nodes, scores
        )
        if not edges.is_plain:
            edge_scores(sample, edges, mean, edge, edge_by_child)

        # 2. Loss-augmented decoding; the labelling found becomes an atom.
        if with_oracle:
            mask = mask_of(blocks, i)
            decode(sample, mask, scores, edge, edge_by_child, augmented, work.message, found)
            if find_atom(labels[:count], found) < 0:
                keep_atom(count, found, labels, alpha, previous)
                if is_parabola:
                    gram, at = blocks.gram, blocks.gram_start[i]
                    add_products(
                        count, sample, edges, gram, at, labels, products,
                        shape, variance, differs, delta,
                    )  # fmt: skip
                count += 1
                atoms.count[i] = count
        labels, alpha = labels[:count], alpha[:count]
        moved = atoms.moved[first : first + count]
        violation = atoms.violation[first : first + count]

        # 3. Violations and duality gap.
        total = 0.0  # s_i, without the source; a linear slack does not ask for it
        if source > 0:
            for k in range(source, count):
                total += alpha[k]
        slope, curvature = slack_slopes(slack, constant, C, total)
        find_violations(sample, scores, edge, labels, source, violation)
        largest, weighted, spread = compare(violation, alpha, slope)
        if with_oracle:
            gaps[i] = max(slack_gap(slack, constant, C, total, largest) - weighted, 0.0)

        # 4. Pairwise steps.
        has_moved = False
        if spread > 0.0:
            if not is_parabola:
                fill_products(
                    sample, edges, labels, products, shape, variance, differs, delta, work.parts
                )
            accuracy = _SPREAD_LEFT * spread
            has_moved = pairwise_steps(
                alpha, violation, products, source, curvature, accuracy, moved
            )

        # 5. Line search, and 6. the step.
        if has_moved and is_parabola:
            step = search_parabola(moved, violation, products, curvature)
            take_step(alpha[source:], moved[source:], step)
            add_moves(sample, edges, labels, moved, step, augmented, tilted.coef, eta)
            if edges.is_plain:
                add_transitions(sample, labels, moved, step, edge, edge_by_child)
        elif has_moved:
            loss, change = sum_moves(sample, labels, moved, source)
            n_cells = find_direction(
                sample, edges, labels, moved, shape, differs, augmented, delta, cells, seen
            )
            if prior == OWN:
                return position, n_cells, loss, change, total
            along = cells[:n_cells]
            step = search(along, delta, eta, mean, variance, parameters, C, total, loss, change)
            take_step(alpha[source:], moved[source:], step)
            for cell in along:
                eta[cell] += step * delta[cell]
                mean[cell], variance[cell] = tilt(prior, p, q, eta[cell], variance[cell])
            copy_transitions(along, edges.is_plain, delta, seen, mean, edge, edge_by_child)

        # 7. Atoms that are no longer needed.
        atoms.count[i] = drop_atoms(count, alpha, previous, labels, products)
    return order.size, 0, 0.0, 0.0, 0.0


# -- stage 2: decoding --------------------------------------------------------------------------


@inner_kernel
def decode(sample, mask, scores, edge, edge_by_child, augmented, message, labelling):
    """Write the labelling of the largest loss plus score to ``labelling``."""
    n_nodes, parents, kinds = sample.truth.size, sample.parents, sample.edge_kinds
    add_loss(sample, mask, scores, augmented)
    max_up(augmented, edge_by_child, parents, kinds, FIRST_NODE, n_nodes, message)
    max_down(augmented, edge, parents, kinds, FIRST_NODE, n_nodes, labelling)


@inner_kernel
def add_loss(sample, mask, scores, augmented):
    """Add its cost to the score of every wrong label; what is not allowed gets minus infinity."""
    truth, costs = sample.truth, sample.costs
    for t in range(truth.size):
        cost = costs[t]
        for a in range(scores.shape[1]):
            augmented[t, a] = scores[t, a] + cost
        augmented[t, truth[t]] -= cost
    for t in range(mask.shape[0]):
        for a in range(mask.shape[1]):
            if not mask[t, a]:
                augmented[t, a] = -np.inf


# -- stage 3: violations ------------------------------------------------------------------------


@inner_kernel
def find_violations(sample, scores, edge, labels, source, violation):
    """Write loss plus score of all atoms, less that of the source if there is one."""
    truth, costs, parents, kinds = sample.truth, sample.costs, sample.parents, sample.edge_kinds
    base = 0.0
    for k in range(violation.size):
        value = 0.0
        for t in range(labels.shape[1]):
            label, parent = labels[k, t], parents[t]
            value += scores[t, label]
            if label != truth[t]:
                value += costs[t]
            if parent >= 0:
                value += edge[kinds[t], labels[k, parent], label]
        if source > k:
            base = value
        violation[k] = value - base


@inner_kernel
def compare(violation, alpha, slope):
    """Take the slope of ``U*`` off the violations of all atoms but the source.

    Returns three numbers.  The first two are for the gap, from the violations as they come in: the
    largest, and ``sum_y alpha(y) H(y)``.  The third is by how much the best atom exceeds the worst one
    in use, once the slope is subtracted.
    """
    largest, weighted = -np.inf, 0.0
    best, worst = -np.inf, np.inf
    for k in range(violation.size):
        value = violation[k]
        largest = max(largest, value)
        if alpha[k] > 0.0:
            weighted += alpha[k] * value
        if k > 0:
            value -= slope
        violation[k] = value
        best = max(best, value)
        if alpha[k] > 0.0:
            worst = min(worst, value)
    return largest, weighted, best - worst


# -- stage 4: pairwise steps --------------------------------------------------------------------


@inner_kernel
def pairwise_steps(alpha, violation, products, source, curvature, accuracy, moved):
    """Step from the worst atom in use to the best one, again and again; the sum is left in ``moved``.

    Let ``H_j`` be the violation of atom ``j``, less the slope of ``U*`` for atoms other than the source,
    and ``Q`` the atoms' inner products under the variances.  A step that takes ``g`` from the worst atom
    ``k`` and gives it to the best one ``b`` raises the dual, if ``Lambda`` and ``U*`` are parabolas, by

        g (H_b - H_k) - g^2 / 2 (Q[k, k] + Q[b, b] - 2 Q[k, b] + curvature of U* if k or b is the source)

    and changes every ``H_j`` by ``g (Q[j, k] - Q[j, b])`` and what the slope of ``U*`` changes by.

    Stops when violations are within ``accuracy``.  Returns whether anything moved.
    """
    count = alpha.size
    for k in range(count):
        moved[k] = 0.0
    has_moved = False
    tie = 1e-6 * accuracy  # a step makes two violations equal: let rounding not choose between them
    for _ in range(_MOST_STEPS):
        best, worst = 0, -1
        for k in range(count):
            if violation[k] > violation[best] + tie:
                best = k
            in_use = alpha[k] + moved[k] > 0.0 or k < source
            if in_use and (worst < 0 or violation[k] < violation[worst] - tie):
                worst = k
        gain = violation[best] - violation[worst] if worst >= 0 else 0.0
        if not gain > accuracy:  # also true of NaN, which comes of numbers that overflow
            break
        bend = products[best, best] + products[worst, worst] - 2.0 * products[best, worst]
        if best < source or worst < source:
            bend += curvature
        largest_step = np.inf if worst < source else alpha[worst] + moved[worst]
        step = largest_step
        if gain < largest_step * bend:
            step = gain / bend
        if not (step > 0.0 and step < np.inf):
            break
        moved[best] += step
        if largest_step < np.inf and largest_step - step <= ROUNDING * largest_step:
            moved[worst] = -alpha[worst]
        else:
            moved[worst] -= step
        has_moved = True
        for k in range(count):
            violation[k] += step * (products[worst, k] - products[best, k])
        if best < source or worst < source:
            change = step * curvature if best < source else -step * curvature
            for k in range(source, count):
                violation[k] += change
    return has_moved


# -- stage 5: line search -----------------------------------------------------------------------


@inner_kernel
def search_parabola(moved, violation, products, curvature):
    """Do what `search` does where the dual is the parabola: pairwise steps may overshoot together."""
    end, bend, change = 0.0, 0.0, 0.0  # slope at the end of the way, and how fast it falls
    for j in range(moved.size):
        if moved[j] != 0.0:
            end += moved[j] * violation[j]
            change += moved[j] if j > 0 else 0.0
            for k in range(moved.size):
                bend += moved[j] * moved[k] * products[j, k]
    bend += change * (change * curvature)  # the square of a tiny change underflows
    start = end + bend
    if not start > 0.0:
        return 0.0
    return 1.0 if end >= -SLOPE_ROUNDING * start else start / bend


@inner_kernel
def sum_moves(sample, labels, moved, source):
    """Loss of the moves, ``sum_j moved_j loss(y_j)``, and what they add to the total ``s_i``."""
    truth, costs = sample.truth, sample.costs
    loss, change = 0.0, 0.0
    for k in range(moved.size):
        if moved[k] == 0.0:
            continue
        if 0 < source <= k:
            change += moved[k]
        for t in range(truth.size):
            if labels[k, t] != truth[t]:
                loss += moved[k] * costs[t]
    return loss, change


@inner_kernel
def find_direction(sample, edges, labels, moved, shape, differs, node_change, delta, cells, seen):
    """Write the change of eta, ``-sum_j moved_j f(y_j)``, to ``delta``; return the number of cells."""
    n_nodes, n_labels = labels.shape[1], shape[1]
    parents, kinds = sample.parents, sample.edge_kinds
    starts, tables, factors, pairs, turned, _ = edges
    node_change[:n_nodes] = 0.0
    n_cells, scale = 0, 0.0
    for k in range(moved.size):
        move = moved[k]
        if move == 0.0:
            continue
        scale += abs(move)
        for t in range(n_nodes):
            label, parent = labels[k, t], parents[t]
            if differs[t]:
                node_change[t, label] -= move
            if parent >= 0 and (differs[t] or differs[parent]):
                pair = pairs[turned[kinds[t]], labels[k, parent], label]
                for p in range(starts[kinds[t]], starts[kinds[t] + 1] if pair >= 0 else 0):
                    cell = tables[p] + pair
                    if not seen[cell]:
                        seen[cell] = True
                        cells[n_cells] = cell
                        n_cells += 1
                    delta[cell] -= move * factors[p]
    for t in range(n_nodes):
        if not differs[t]:
            continue
        for a in range(n_labels):
            change = node_change[t, a]
            if abs(change) <= ROUNDING * scale:
                continue  # moves that cancel: what is left is rounding
            for p in range(sample.rows[t], sample.rows[t + 1]):
                cell = sample.indices[p] * n_labels + a
                if not seen[cell]:
                    seen[cell] = True
                    cells[n_cells] = cell
                    n_cells += 1
                delta[cell] += sample.data[p] * change
    return n_cells


@inner_kernel
def search(cells, delta, eta, mean, variance, parameters, C, total, loss, change):
    """Share of the way along ``delta`` at which the dual stops growing, at most all of it."""
    slack, constant = parameters.slack, parameters.constant
    prior, p, q = parameters.prior, parameters.p, parameters.q
    slope, _ = slack_slopes(slack, constant, C, total)
    start = loss - change * slope
    limit = np.inf  # where the domain ends
    if change > 0.0 and slack == EXPONENTIAL_SLACK:
        limit = (C - total) / change
    for cell in cells:
        d = delta[cell]
        start -= d * mean[cell]
        if d > 0.0:
            limit = min(limit, (parameters.upper - eta[cell]) / d)
        elif d < 0.0:
            limit = min(limit, (parameters.lower - eta[cell]) / d)
    if not (start > 0.0 and limit > 0.0):
        return 0.0
    end = min(INSIDE * limit, 1.0)
    low, high = 0.0, np.inf
    step = end if end == 1.0 else 0.5 * end
    for _ in range(N_EVALUATIONS):
        slope, bend = slack_slopes(slack, constant, C, total + step * change)
        slope, bend = loss - change * slope, change * change * bend
        for cell in cells:
            d = delta[cell]
            m, v = tilt(prior, p, q, eta[cell] + step * d, variance[cell])
            slope -= d * m
            bend += d * d * v
        if is_high_enough(step, end, start, slope, SMALL_SLOPE):
            return step
        step, low, high = next_step(step, end, slope, bend, low, high)
    return low


# -- stage 6: the step --------------------------------------------------------------------------


@kernel
def take_step(alpha, moved, step):
    """Move ``alpha`` the share ``step`` of the way along ``moved``; what rounding leaves becomes 0."""
    for k in range(alpha.size):
        value = alpha[k] + step * moved[k]
        alpha[k] = value if value > ROUNDING * alpha[k] else 0.0


@kernel
def copy_transitions(cells, is_plain, delta, seen, mean, edge, edge_by_child):
    """Clear ``delta``; copy the means of transitions among these cells to their tables.

    Only where these are weights themselves; elsewhere `edge_scores` makes them at each visit.
    """
    n_labels = edge.shape[1]
    n_coef = mean.size - edge.size
    for cell in cells:
        delta[cell] = 0.0
        seen[cell] = False
        if is_plain and cell >= n_coef:
            rest, child = divmod(cell - n_coef, n_labels)
            kind, parent = divmod(rest, n_labels)
            edge[kind, parent, child] = mean[cell]
            edge_by_child[kind, child, parent] = mean[cell]


@inner_kernel
def add_transitions(sample, labels, moved, step, edge, edge_by_child):
    """Add the step to the tables of transitions, where they are eta."""
    for k in range(moved.size):
        change = step * moved[k]
        if change == 0.0:
            continue
        for t in range(labels.shape[1]):
            parent = sample.parents[t]
            if parent >= 0:
                kind, above, label = sample.edge_kinds[t], labels[k, parent], labels[k, t]
                edge[kind, above, label] -= change
                edge_by_child[kind, label, above] -= change


@inner_kernel
def add_moves(sample, edges, labels, moved, factor, node_change, coef, eta):
    """Add ``factor sum_j moved_j (f(x_i, y_i) - f(x_i, y_j))`` to ``eta``; ``coef`` is a view of it."""
    n_nodes, n_labels = labels.shape[1], coef.shape[1]
    node_change[:n_nodes] = 0.0
    total, scale = 0.0, 0.0
    for k in range(moved.size):
        change = factor * moved[k]
        total += change
        scale += abs(change)
        if change != 0.0:
            add_labelling(sample, edges, labels[k], -change, node_change, coef.shape, eta)
    if abs(total) > ROUNDING * scale:
        add_labelling(sample, edges, sample.truth, total, node_change, coef.shape, eta)
    for t in range(n_nodes):
        row = node_change[t]
        largest = 0.0
        for a in range(n_labels):
            largest = max(largest, abs(row[a]))
        if largest <= ROUNDING * scale:
            continue  # all moves agree on this node's label: what is left is rounding
        for p in range(sample.rows[t], sample.rows[t + 1]):
            value, cells = sample.data[p], coef[sample.indices[p]]
            for a in range(n_labels):
                cells[a] += value * row[a]


@inner_kernel
def add_labelling(sample, edges, labelling, change, node_change, shape, eta):
    """Add ``change`` to a labelling's entries of ``node_change`` and to its transitions in ``eta``."""
    parents, kinds = sample.parents, sample.edge_kinds
    starts, tables, factors, pairs, turned, _ = edges
    for t in range(labelling.size):
        node_change[t, labelling[t]] += change
        if parents[t] >= 0:
            pair = pairs[turned[kinds[t]], labelling[parents[t]], labelling[t]]
            for p in range(starts[kinds[t]], starts[kinds[t] + 1] if pair >= 0 else 0):
                eta[tables[p] + pair] += change * factors[p]


# -- all blocks at once -------------------------------------------------------------------------


@kernel
def load_atoms(
    start, sample, offsets, labels, values, blocks, shape, is_parabola, variance, atoms, work
):
    """Add to the dual variables of labellings ``start, start + 1, ...``, which become atoms.

    Returns the number of the labelling for which the arena was too small, or their number.
    """
    for j in range(start, sample.size):
        i, labelling = sample[j], labels[offsets[j] : offsets[j + 1]]
        count, n_nodes = atoms.count[i], labelling.size
        k = find_atom(labels_of(atoms.labels, atoms.first_label[i], count, n_nodes), labelling)
        if k < 0:
            if not make_room(i, n_nodes, atoms):
                return j
            k, slot, capacity = count, atoms.first[i], atoms.capacity[i]
            known = labels_of(atoms.labels, atoms.first_label[i], capacity, n_nodes)
            keep_atom(k, labelling, known, atoms.alpha[slot:], atoms.previous[slot:])
            atoms.count[i] = count + 1
            if is_parabola:
                products = products_of(atoms.products, atoms.first_product[i], capacity)
                gram, at = blocks.gram, blocks.gram_start[i]
                differs, delta, block = work.differs, work.delta, sample_of(blocks, i)
                add_products(
                    k, block, blocks.edges, gram, at, known, products,
                    shape, variance, differs, delta,
                )  # fmt: skip
        atoms.alpha[atoms.first[i] + k] += values[j]
        atoms.previous[atoms.first[i] + k] += values[j]
    return sample.size


@kernel
def extrapolate(C, is_fixed, first, count, alpha, previous, moved):
    """Go on from the dual variables of the last call through those of now, as far again.

    The target is ``alpha + (alpha - previous)`` without its negative parts, scaled to the block's
    ``C_i`` if the sum is fixed, so that every point on the way is feasible.  The way is left in
    ``moved``.
    """
    for i in range(count.size):
        slots = range(first[i], first[i] + count[i])
        total = 0.0
        for slot in slots:
            moved[slot] = max(0.0, alpha[slot] + (alpha[slot] - previous[slot]))
            previous[slot] = alpha[slot]
            total += moved[slot]
        # With a fixed sum the total is positive: some dual variable has not shrunk.
        scale = C[i] / total if is_fixed else 1.0
        for slot in slots:
            moved[slot] = scale * moved[slot] - alpha[slot]


@kernel
def sum_eta(blocks, atoms, node_change, coef, eta):
    """Add what ``moved`` changes eta by to ``eta``; ``coef`` is a view of its first part."""
    for i in range(atoms.count.size):
        sample, count, first = sample_of(blocks, i), atoms.count[i], atoms.first[i]
        labels = labels_of(atoms.labels, atoms.first_label[i], count, sample.truth.size)
        moved = atoms.moved[first : first + count]
        add_moves(sample, blocks.edges, labels, moved, 1.0, node_change, coef, eta)


@kernel
def sum_losses(blocks, atoms, source, loss, change):
    """Write the loss of what is in ``moved``, and what it adds to the total ``s_i``, block by block."""
    for i in range(atoms.count.size):
        sample, count, first = sample_of(blocks, i), atoms.count[i], atoms.first[i]
        labels = labels_of(atoms.labels, atoms.first_label[i], count, sample.truth.size)
        moved = atoms.moved[first : first + count]
        loss[i], change[i] = sum_moves(sample, labels, moved, source)
