"""Visits of single samples for exponentiated gradient: potentials climb, dual variables follow.

The dual variables of sample ``i`` are ``alpha_i(y) = C_i exp(theta_i(y)) / sum_y' exp(theta_i(y'))``.
``theta_i`` adds up potentials on the sample's nodes and one table of potentials per edge type on its
edges.  A visit

1. computes the gradient of the dual, which is each labelling's score plus its loss, and as such made
   of potentials again: ``X_i W`` and one more at wrong labels, and the transition weights;
2. tries ``theta_i + step * gradient``: sums over labellings in the log domain give the new marginals,
   of labels and of transitions.  Along the chord from the old marginals to the new ones the dual is
   a parabola, so ``gained - bend / 2`` is its change, exactly;
3. takes them if the dual has not fallen, and else tries a shorter step.

The next step is longer or shorter by ``gained / bend``, which says where on the chord, or how far
beyond its end, that parabola is highest.  Weights are kept as ``(n_features, n_labels)`` and follow
each visit.  Forbidden transitions are kept apart, ``barred``, ``-inf`` there and 0 elsewhere, so that
potentials stay finite and can be extrapolated.
"""

import numpy as np

from medn_edu.kernels.compile import kernel
from medn_edu.kernels.marginalize import log_down, log_up
from medn_edu.kernels.scores import add_feature_sums, node_scores

N_TRIALS = 30  # in one visit
SHORTER, LONGER = 0.5, 1.5  # by how much a step may change at a time
LONGEST = 1e6  # potentials that differ by less than the inverse of this count as the same
ROUNDING = 1e-13  # changes of the dual below this share of C say nothing


@kernel
def climb_blocks(
    order,
    data,
    indices,
    indptr,
    parents,
    edge_types,
    offsets,
    labels,
    C,
    barred,
    coef_variance,
    edge_variance,
    coef,
    transitions,
    node,
    edge,
    node_marginal,
    counts,
    step,
):
    """Visit the samples ``order``; return how many sums over labellings that took.

    ``barred`` is ``-inf`` where a transition is forbidden, else 0.  ``node`` (one row per node) and
    ``edge`` (one table per sample and edge type) are the potentials; ``node_marginal`` and ``counts``,
    of the same shapes, their dual variables summed up.  These, the weights ``coef`` and ``transitions``
    and each sample's ``step`` are updated.
    """
    n_labels = coef.shape[1]
    slope, belief, moved = np.empty_like(node), np.empty_like(node), np.empty_like(node)
    table, moved_edge = np.empty_like(barred), np.empty_like(barred)
    change = np.zeros_like(coef)
    everyone, unused = np.ones(1, dtype=np.bool_), np.empty(1)
    # A plain False would be a type of its own to numba, and `log_down` be compiled once more for it.
    pairs, want_pairs = np.empty((0, n_labels, n_labels)), np.bool_(False)
    n_sums = 0
    for i in order:
        lo, hi = offsets[i], offsets[i + 1]
        node_scores(data, indices, indptr, coef, lo, hi, slope)
        for t in range(hi - lo):
            for a in range(n_labels):
                slope[t, a] += 1.0 if a != labels[lo + t] else 0.0
        nothing = ROUNDING * C[i]
        for _ in range(N_TRIALS):
            n_sums += 1
            for t in range(hi - lo):
                for a in range(n_labels):
                    belief[t, a] = node[lo + t, a] + step[i] * slope[t, a]
            for k in range(len(table)):
                for a in range(n_labels):
                    for b in range(n_labels):
                        x = edge[i, k, a, b] + step[i] * transitions[k, a, b]
                        table[k, a, b] = x if barred[k, a, b] == 0.0 else -np.inf
                        moved_edge[k, a, b] = -counts[i, k, a, b]
            log_up(belief, table, parents, edge_types, offsets, i, i + 1, everyone, unused)
            log_down(
                belief,
                table,
                parents,
                edge_types,
                offsets,
                i,
                i + 1,
                everyone,
                C,
                moved,
                moved_edge,
                pairs,
                want_pairs,
                unused,
            )
            gained, bend = 0.0, 0.0
            for t in range(hi - lo):
                for a in range(n_labels):
                    moved[t, a] = C[i] * moved[t, a] - node_marginal[lo + t, a]
                    gained += moved[t, a] * slope[t, a]
            for k in range(len(table)):
                for a in range(n_labels):
                    for b in range(n_labels):
                        x = moved_edge[k, a, b]
                        gained += x * transitions[k, a, b]
                        bend += x * x * edge_variance[k, a, b]
            add_feature_sums(data, indices, indptr, moved, lo, hi, change)
            # Each column's share once: what has been counted is zero when the column comes again.
            for j in range(indptr[lo], indptr[hi]):
                column = indices[j]
                for a in range(n_labels):
                    bend += coef_variance[column, a] * change[column, a] ** 2
                    change[column, a] = 0.0
            taken = gained - 0.5 * bend >= -nothing
            if taken:
                for t in range(lo, hi):
                    for a in range(n_labels):
                        node[t, a] += step[i] * slope[t - lo, a]
                        node_marginal[t, a] += moved[t - lo, a]
                    for j in range(indptr[t], indptr[t + 1]):
                        column = indices[j]
                        for a in range(n_labels):
                            x = data[j] * moved[t - lo, a]
                            coef[column, a] -= coef_variance[column, a] * x
                for k in range(len(table)):
                    for a in range(n_labels):
                        for b in range(n_labels):
                            edge[i, k, a, b] += step[i] * transitions[k, a, b]
                            counts[i, k, a, b] += moved_edge[k, a, b]
                            transitions[k, a, b] -= edge_variance[k, a, b] * moved_edge[k, a, b]
            if not taken or (gained > nothing and bend > 0.0):
                factor = max(gained / bend, SHORTER) if bend > 0.0 else SHORTER
                step[i] = min(step[i] * min(factor, LONGER), LONGEST)
            if taken:
                break
    return n_sums
