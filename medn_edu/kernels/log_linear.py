"""Visits of single samples for the soft-max loss: potentials move, dual variables and weights follow.

The dual variables of sample ``i`` are those of a log-linear model of its own,

    alpha_i(y) = c_i exp(theta_i(y)) / sum_y' exp(theta_i(y')),

where ``theta_i`` adds up potentials on the sample's nodes and one table of potentials for each type of
edge.  A visit (`visit_samples`)

1. computes the *target* ``g_i(y) = (loss_i(y) + F(x_i, y; w)) / epsilon``, whose dual variables are
   those of the weights ``w``.  It is made of potentials again;
2. tries ``theta_i + step (g_i - theta_i)`` and computes the marginals of both;
3. moves ``eta`` by the change of the marginals, which touches only the features of this sample, and
   adds up the change of the dual on the way;
4. undoes that if the dual has fallen, and tries half the step;
5. computes from the change how long the next step at this sample should be.

Each sample starts on its true labelling, where ``theta_i`` would be infinite.  Its first visit goes to
the target plus a bonus for the true labels, which is doubled until the dual rises.

The weights are ``share * soft(eta, l1)``, with a share for each row of ``eta``: first a row for each
feature, then one for each type of edge and label of the parent, all with a column per label.  ``soft``
moves numbers towards 0 by ``l1``.

Potentials are all that is stored of a sample's distribution.  Its marginals are computed anew at each
visit: that makes visits a fifth slower, and halves what is kept.  Single precision is enough for
potentials: others give slightly other dual variables, and the dual is flat where it is highest.
"""

import math
from typing import NamedTuple

import numpy as np

from medn_edu.kernels.bundles import mask_of, sample_of
from medn_edu.kernels.compile import inner_kernel, kernel
from medn_edu.kernels.marginalize import (
    LOG_LEAST,
    LOG_TINY,
    log_down,
    log_up,
    scaled_down,
    scaled_up,
)

ON_THE_TRUTH = -1.0  # in place of an entropy, until a first visit
FIRST_BONUS = 4.0  # of the true labels then; doubled until the dual rises
FIRST_STEP = 0.5  # of the visit after that, and after one that found nothing to gain
N_TRIALS = 30  # in one visit
LONGEST = 1.0  # step, which leads to the target
SHORTER = 0.3  # how much of a step the next one is at least
ROUNDING = 1e-12  # a dual that falls by less, relative to the terms of its change, has not fallen


class LogLinear(NamedTuple):
    """The log-linear model of each sample, and what belongs to it."""

    node: np.ndarray  # (n_nodes, n_labels), potentials
    edge: np.ndarray  # (n_samples, n_edge_types, n_labels, n_labels), potentials
    entropy: np.ndarray  # (n_samples,), or `ON_THE_TRUTH`
    loss: np.ndarray  # (n_samples,), expected under it
    log_truth: np.ndarray  # (n_samples,), logarithm of the true labelling's probability
    step: np.ndarray  # (n_samples,), which to try next
    gap: np.ndarray  # (n_samples,), what the dual could rise by at this sample when last visited


@kernel
def visit_samples(order, blocks, costs, allowed, epsilon, l1, shares, models, eta):
    """Visit samples; return how many sums over labellings that took.

    ``costs`` are added to the scores of wrong labels, ``allowed`` says which transitions are.
    """
    n_types, n_labels, _ = allowed.shape
    longest = longest_sample(blocks.offsets)
    target, trial = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    marginal, counts = np.empty((longest, n_labels)), np.empty(allowed.shape)
    old_marginal, old_counts = np.empty((longest, n_labels)), np.empty(allowed.shape)
    edge_target, edge_trial = np.empty(allowed.shape), np.empty(allowed.shape)
    space = sweep_space(longest, allowed)
    edge_eta = eta[len(eta) - n_types * n_labels :].reshape(allowed.shape)
    n_sums = 0
    for i in order:
        lo, hi = blocks.offsets[i], blocks.offsets[i + 1]
        n_nodes, c = hi - lo, blocks.C[i]
        sample, mask = sample_of(blocks, i), mask_of(blocks, i)
        truth, cost = sample.truth, costs[lo:hi]
        node, edge, old_entropy = models.node[lo:hi], models.edge[i], models.entropy[i]
        is_first = old_entropy == ON_THE_TRUTH
        if is_first:
            old_entropy = 0.0
            old_marginal[:], old_counts[:] = 0.0, 0.0
            add_labelling(sample, 1.0, old_marginal, old_counts)
        else:
            trial[:n_nodes], edge_trial[:] = node, edge
            marginals(sample, trial, edge_trial, mask, allowed, space, old_marginal, old_counts)

        # 1. The target.
        soft_scores(sample, l1, shares, eta, target)
        for t in range(n_nodes):
            for a in range(n_labels):
                target[t, a] = (target[t, a] + cost[t]) / epsilon
            target[t, truth[t]] -= cost[t] / epsilon
        for k in range(n_types):
            for a in range(n_labels):
                for b in range(n_labels):
                    edge_target[k, a, b] = shares[-1] * soft(edge_eta[k, a, b], l1) / epsilon

        step = FIRST_BONUS if is_first else models.step[i]
        for _ in range(N_TRIALS):
            # 2. Other potentials, and their marginals.
            share = 1.0 if is_first else step
            move_to(node, target, share, trial[:n_nodes])
            for k in range(n_types):
                move_to(edge[k], edge_target[k], share, edge_trial[k])
            if is_first:
                for t in range(n_nodes):
                    trial[t, truth[t]] = np.float32(trial[t, truth[t]] + step + cost[t] / epsilon)
            log_partition = marginals(
                sample, trial, edge_trial, mask, allowed, space, marginal, counts
            )
            n_sums += 1

            # 3. The change of the dual: entropy and loss rise or fall, the conjugate bends.
            entropy = entropy_of(log_partition, trial[:n_nodes], edge_trial, marginal, counts)
            loss = expected_loss(sample, cost, marginal)
            pull, along, size = 0.0, 0.0, entropy + old_entropy
            for t in range(n_nodes):
                for a in range(n_labels):
                    moved = marginal[t, a] - old_marginal[t, a]
                    pull += moved * target[t, a]
                    size += abs(moved * target[t, a])
                    along += moved * (target[t, a] - node[t, a])
            for k in range(n_types):
                for a in range(n_labels):
                    for b in range(n_labels):
                        moved = counts[k, a, b] - old_counts[k, a, b]
                        pull += moved * edge_target[k, a, b]
                        size += abs(moved * edge_target[k, a, b])
                        along += moved * (edge_target[k, a, b] - edge[k, a, b])
            conjugate = tilt(
                sample, marginal, old_marginal, counts, old_counts, c, l1, shares, eta, edge_eta
            )
            bend = conjugate + c * epsilon * pull - c * (loss - models.loss[i])
            change = c * epsilon * (entropy - old_entropy + pull) - bend

            # 4. Take it or undo it.
            if change >= -ROUNDING * c * epsilon * size:
                models.entropy[i], models.loss[i] = entropy, loss
                models.log_truth[i] = log_probability(sample, trial, edge_trial, log_partition)
                node[:], edge[:] = trial[:n_nodes], edge_trial
                # 5. The next step: where a parabola through what was found is highest.
                gain = c * epsilon * max(along, 0.0)
                models.step[i] = FIRST_STEP
                if not is_first:
                    models.gap[i] = 0.5 * gain / step
                if not is_first and gain > 0.0:
                    best = step * gain / (step * gain + max(2.0 * bend, 0.0))
                    models.step[i] = min(max(best, SHORTER * step), LONGEST)
                break
            tilt(sample, old_marginal, marginal, old_counts, counts, c, l1, shares, eta, edge_eta)
            step = 2.0 * step if is_first else 0.5 * step
            if not is_first:
                models.step[i] = step
    return n_sums


@kernel
def sum_models(blocks, costs, allowed, models, eta, entropies, losses, log_truths):
    """Compute what a dual value needs from the potentials alone, and add to ``eta``, zeros at first."""
    n_types, n_labels, _ = allowed.shape
    longest = longest_sample(blocks.offsets)
    node, edge = np.empty((longest, n_labels)), np.empty(allowed.shape)
    marginal, counts = np.empty((longest, n_labels)), np.empty(allowed.shape)
    true_marginal, true_counts = np.zeros((longest, n_labels)), np.zeros(allowed.shape)
    space, shares = sweep_space(longest, allowed), np.zeros(len(eta))
    edge_eta = eta[len(eta) - n_types * n_labels :].reshape(allowed.shape)
    for i in range(blocks.C.size):
        entropies[i], losses[i], log_truths[i] = 0.0, 0.0, 0.0
        if models.entropy[i] == ON_THE_TRUTH:
            continue
        lo, hi = blocks.offsets[i], blocks.offsets[i + 1]
        sample, mask, n_nodes = sample_of(blocks, i), mask_of(blocks, i), hi - lo
        node[:n_nodes], edge[:] = models.node[lo:hi], models.edge[i]
        log_partition = marginals(sample, node, edge, mask, allowed, space, marginal, counts)
        entropies[i] = entropy_of(log_partition, node[:n_nodes], edge, marginal, counts)
        losses[i] = expected_loss(sample, costs[lo:hi], marginal)
        log_truths[i] = log_probability(sample, node, edge, log_partition)
        add_labelling(sample, 1.0, true_marginal, true_counts)
        tilt(
            sample, marginal, true_marginal, counts, true_counts, blocks.C[i], 0.0, shares,
            eta, edge_eta,
        )  # fmt: skip
        add_labelling(sample, -1.0, true_marginal, true_counts)


@inner_kernel
def add_labelling(sample, number, marginal, counts):
    """Add a number to the marginals of the true labelling."""
    truth, parents = sample.truth, sample.parents
    for t in range(truth.size):
        marginal[t, truth[t]] += number
        if parents[t] >= 0:
            counts[sample.edge_kinds[t], truth[parents[t]], truth[t]] += number


@kernel
def mean_squares(data, indices, means):
    """Write the mean square of each feature over the nodes that have it; 1 if none has."""
    counts = np.zeros(means.size)
    means[:] = 0.0
    for j in range(data.size):
        means[indices[j]] += data[j] ** 2
        counts[indices[j]] += 1.0
    for k in range(means.size):
        means[k] = means[k] / counts[k] if counts[k] > 0.0 else 1.0


@inner_kernel
def longest_sample(offsets):
    """Return the largest number of nodes of a sample."""
    longest = 0
    for i in range(offsets.size - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@inner_kernel
def move_to(old, target, step, new):
    """Write the points a step of the way from old numbers to their targets, in single precision."""
    for t in range(new.shape[0]):
        for a in range(new.shape[1]):
            new[t, a] = np.float32(old[t, a] + step * (target[t, a] - old[t, a]))


# -- eta and weights ----------------------------------------------------------------------------


@inner_kernel
def tilt(sample, new, old, new_counts, old_counts, c, l1, shares, eta, edge_eta):
    """Move ``eta`` as marginals go from old to new; return the change of the conjugate."""
    n_labels = eta.shape[1]
    moved, change = np.empty(n_labels), np.zeros(n_labels)
    for t in range(sample.truth.size):
        for a in range(n_labels):
            moved[a] = c * (new[t, a] - old[t, a])
        for j in range(sample.rows[t], sample.rows[t + 1]):
            x, row, share = sample.data[j], eta[sample.indices[j]], shares[sample.indices[j]]
            for a in range(n_labels):
                before, after = row[a], row[a] - x * moved[a]
                row[a] = after
                before, after = soft(before, l1), soft(after, l1)
                change[a] += share * (after - before) * (after + before)
    share = shares[-1]
    for k in range(len(edge_eta)):
        for a in range(n_labels):
            row = edge_eta[k, a]
            for b in range(n_labels):
                before = row[b]
                after = before - c * (new_counts[k, a, b] - old_counts[k, a, b])
                row[b] = after
                before, after = soft(before, l1), soft(after, l1)
                change[b] += share * (after - before) * (after + before)
    return 0.5 * change.sum()


@inner_kernel
def soft_scores(sample, l1, shares, eta, out):
    """Write the scores of all nodes and labels; four features at a time save traffic."""
    for t in range(sample.truth.size):
        row = out[t]
        for a in range(row.size):
            row[a] = 0.0
        j, end = sample.rows[t], sample.rows[t + 1]
        while j + 4 <= end:
            k0, k1 = sample.indices[j], sample.indices[j + 1]
            k2, k3 = sample.indices[j + 2], sample.indices[j + 3]
            x0, x1 = sample.data[j] * shares[k0], sample.data[j + 1] * shares[k1]
            x2, x3 = sample.data[j + 2] * shares[k2], sample.data[j + 3] * shares[k3]
            e0, e1, e2, e3 = eta[k0], eta[k1], eta[k2], eta[k3]
            for a in range(row.size):
                row[a] += (x0 * soft(e0[a], l1) + x1 * soft(e1[a], l1)) + (
                    x2 * soft(e2[a], l1) + x3 * soft(e3[a], l1)
                )
            j += 4
        while j < end:
            k0 = sample.indices[j]
            x0, e0 = sample.data[j] * shares[k0], eta[k0]
            for a in range(row.size):
                row[a] += x0 * soft(e0[a], l1)
            j += 1


@inner_kernel
def soft(x, l1):
    """Return a number moved towards 0, and 0 if it would cross it."""
    above, below = x - l1, x + l1
    return (above if above > 0.0 else 0.0) + (below if below < 0.0 else 0.0)


# -- the distribution of one sample -------------------------------------------------------------


class SweepSpace(NamedTuple):
    """Scratch space for the sweeps over one sample."""

    belief: np.ndarray
    message: np.ndarray
    table: np.ndarray  # potentials of edges less their maximum, minus infinity where forbidden
    factor: np.ndarray  # their exponentials
    factor_by_child: np.ndarray
    pairs: np.ndarray  # transitions that some edge of the sample can make
    span: np.ndarray  # first and last node
    lost: np.ndarray
    log_norm: np.ndarray
    weight: np.ndarray
    no_pairs: np.ndarray
    entropy: np.ndarray


@inner_kernel
def sweep_space(longest, allowed):
    """Make room for the sweeps."""
    n_labels = allowed.shape[1]
    return SweepSpace(
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty(allowed.shape),
        np.empty(allowed.shape),
        np.empty(allowed.shape),
        np.empty(allowed.shape, dtype=np.bool_),
        np.zeros(2, dtype=np.int64),
        np.zeros(1, dtype=np.bool_),
        np.zeros(1),
        np.ones(1),
        np.empty((0, n_labels, n_labels)),
        np.zeros(1),
    )


@inner_kernel
def marginals(sample, node, edge, mask, allowed, space, marginal, counts):
    """Write the marginals of potentials and return their log-partition.

    ``counts`` are marginals of edges, summed up for each type.
    """
    belief, message, table, factor, factor_by_child, pairs, span, lost = space[:8]
    log_norm, weight, no_pairs, entropy = space[8:]
    parents, kinds = sample.parents, sample.edge_kinds
    n_nodes, n_labels = parents.size, node.shape[1]
    span[1] = n_nodes
    find_pairs(sample, mask, pairs)
    is_low, shift = False, 0.0
    for k in range(len(edge)):
        largest = -np.inf
        for a in range(n_labels):
            for b in range(n_labels):
                if allowed[k, a, b]:
                    largest = max(largest, edge[k, a, b])
        for a in range(n_labels):
            for b in range(n_labels):
                x = edge[k, a, b] - largest if allowed[k, a, b] else -np.inf
                is_low = is_low or ((x < LOG_TINY) & (x > -np.inf))
                table[k, a, b] = x
                factor[k, a, b] = math.exp(x) if x > LOG_LEAST and pairs[k, a, b] else 0.0
                factor_by_child[k, b, a] = factor[k, a, b]
                counts[k, a, b] = 0.0
        for t in range(n_nodes):
            shift += largest if parents[t] >= 0 and kinds[t] == k else 0.0
    edge_shift = shift
    for t in range(n_nodes):
        largest = -np.inf
        for a in range(n_labels):
            belief[t, a] = node[t, a] if mask.shape[0] == 0 or mask[t, a] else -np.inf
            largest = max(largest, belief[t, a])
        for a in range(n_labels):
            x = belief[t, a] - largest
            is_low = is_low or ((x < LOG_TINY) & (x > -np.inf))
            belief[t, a] = math.exp(x) if x != -np.inf else 0.0
        shift += largest
    lost[0] = is_low
    scaled_up(belief, message, factor_by_child, parents, kinds, span, 0, 1, log_norm, lost)
    if lost[0]:
        for t in range(n_nodes):
            for a in range(n_labels):
                belief[t, a] = node[t, a] if mask.shape[0] == 0 or mask[t, a] else -np.inf
        log_up(belief, table, parents, kinds, span, 0, 1, lost, log_norm)
        log_down(
            belief, table, parents, kinds, span, 0, 1, lost, weight, marginal, counts,
            no_pairs, len(no_pairs) > 0, entropy,
        )  # fmt: skip
        return edge_shift + log_norm[0]
    scaled_down(belief, message, factor, parents, kinds, span, 0, 1, lost, marginal)
    for t in range(n_nodes):
        if parents[t] >= 0:
            count = counts[kinds[t]]
            for a in range(n_labels):
                quotient = message[t, a]
                if quotient == 0.0:
                    continue  # as of labels that the parent may not have
                for b in range(n_labels):
                    count[a, b] += quotient * belief[t, b]
    for k in range(len(edge)):
        for a in range(n_labels):
            for b in range(n_labels):
                counts[k, a, b] *= factor[k, a, b]
    return shift + log_norm[0]


@inner_kernel
def find_pairs(sample, mask, pairs):
    """Write which transitions some edge can make, with the labels that its nodes may have."""
    pairs[:] = mask.shape[0] == 0
    for t in range(mask.shape[0]):
        parent, kind = sample.parents[t], sample.edge_kinds[t]
        for a in range(mask.shape[1] if parent >= 0 else 0):
            if mask[parent, a]:
                for b in range(mask.shape[1]):
                    pairs[kind, a, b] |= mask[t, b]


@inner_kernel
def entropy_of(log_partition, node, edge, marginal, counts):
    """Return the entropy: the log-partition less the expected potentials."""
    expected = 0.0
    for t in range(node.shape[0]):
        for a in range(node.shape[1]):
            expected += marginal[t, a] * node[t, a]
    for k in range(edge.shape[0]):
        for a in range(edge.shape[1]):
            for b in range(edge.shape[2]):
                expected += counts[k, a, b] * edge[k, a, b]
    return max(log_partition - expected, 0.0)


@inner_kernel
def expected_loss(sample, cost, marginal):
    """Return the expected cost of wrong labels."""
    loss = 0.0
    for t in range(cost.size):
        loss += cost[t] * max(1.0 - marginal[t, sample.truth[t]], 0.0)
    return loss


@inner_kernel
def log_probability(sample, node, edge, log_partition):
    """Return the logarithm of the true labelling's probability."""
    truth, parents = sample.truth, sample.parents
    total = -log_partition
    for t in range(truth.size):
        total += node[t, truth[t]]
        if parents[t] >= 0:
            total += edge[sample.edge_kinds[t], truth[parents[t]], truth[t]]
    return min(total, 0.0)
