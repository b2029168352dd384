"""The local problem's value and gradient, in one walk over the nodes and edges of equal graphs.

Arrays are those of `medn_edu.kernels.norm_product`, with potentials and messages as powers.
"""

import math

from medn_edu.kernels.compile import kernel

TINY = 1e-300  # what stands for a power of 0
MOST = 700.0  # exponent that does not overflow, for labels that are not allowed


@kernel
def powers_of_messages(vector, temperatures, told, powers):
    """Write ``exp(lambda / t)``, largest 1, of messages whose first label has 0.

    ``told`` says which labels a node may have.
    """
    n_slots, n_labels, n_samples = powers.shape
    for slot in range(n_slots):
        t = temperatures[slot >> 1]
        if n_labels == 2:  # one exponential and no branches
            for s in range(n_samples):
                message = vector[slot, 0, s]
                power = math.exp(-abs(message) / t)
                first, second = told[slot, 0, s], told[slot, 1, s]
                powers[slot, 0, s] = (power if message > 0.0 and second else 1.0) if first else 0.0
                powers[slot, 1, s] = (power if message < 0.0 and first else 1.0) if second else 0.0
            continue
        for s in range(n_samples):
            peak = 0.0 if told[slot, 0, s] else -math.inf
            for a in range(1, n_labels):
                if told[slot, a, s] and vector[slot, a - 1, s] > peak:
                    peak = vector[slot, a - 1, s]
            for a in range(n_labels):
                message = vector[slot, a - 1, s] if a > 0 else 0.0
                if not told[slot, a, s]:
                    powers[slot, a, s] = 0.0
                elif message == peak:
                    powers[slot, a, s] = 1.0
                else:
                    powers[slot, a, s] = math.exp((message - peak) / t)


@kernel
def messages_of_powers(powers, temperatures, told, vector):
    """Write the messages whose powers these are, with 0 for the first label.

    Where that is not allowed, the largest message is 0.
    """
    n_slots, n_labels, n_samples = powers.shape
    for slot in range(n_slots):
        t = temperatures[slot >> 1]
        for s in range(n_samples):
            first = powers[slot, 0, s] + TINY
            if not told[slot, 0, s]:
                for a in range(1, n_labels):
                    first = max(first, powers[slot, a, s])
            for a in range(1, n_labels):
                message = 0.0
                if told[slot, a, s]:
                    message = t * math.log((powers[slot, a, s] + TINY) / first)
                vector[slot, a - 1, s] = message


@kernel
def value_and_slopes(
    starts, slots, ends, summed, kinds, tables, peaks, node, node_logs, powers, node_t, edge_t, weight,
    floor, values, beliefs, slopes, bends, pair_sums, scratch,
):  # fmt: skip
    """Add each sample's bound to ``values``; write beliefs, and slopes and curvature by message.

    ``node`` holds ``exp(phi / t)`` for the temperatures of the nodes' own counting numbers, and
    ``node_logs`` what was subtracted from ``phi / t`` before.  Beliefs of edges are added up by the
    kinds in ``summed``, which know no temperatures.  Slopes are those of
    all samples' bounds, weighted: what an edge believes of a node less what the node does.  The
    curvature is what either would have if the other did not move.
    """
    n_nodes, n_labels, n_samples = node.shape
    total, z = scratch[0, 0], scratch[0, 1]
    for v in range(n_nodes):
        first, last = starts[v], starts[v + 1]
        belief = beliefs[v]
        equal, ratio = True, 0.0
        for j in range(first, last):
            ratio = edge_t[slots[j] >> 1] / node_t[v]
            equal = equal and edge_t[slots[j] >> 1] == edge_t[slots[first] >> 1]
        for s in range(n_samples):
            total[s] = 0.0
        for a in range(n_labels):
            if equal:
                for s in range(n_samples):
                    z[s] = 1.0
                for j in range(first, last):
                    power = powers[slots[j], a]
                    for s in range(n_samples):
                        z[s] *= power[s]
                if ratio == 1.0 or first == last:
                    for s in range(n_samples):
                        belief[a, s] = node[v, a, s] / (z[s] + TINY)
                else:
                    for s in range(n_samples):
                        exponent = min(-ratio * math.log(z[s] + TINY), MOST)
                        belief[a, s] = node[v, a, s] * math.exp(exponent)
            else:
                for s in range(n_samples):
                    z[s] = 0.0
                for j in range(first, last):
                    power, ratio = powers[slots[j], a], edge_t[slots[j] >> 1] / node_t[v]
                    for s in range(n_samples):
                        z[s] += ratio * math.log(power[s] + TINY)
                for s in range(n_samples):
                    belief[a, s] = node[v, a, s] * math.exp(min(-z[s], MOST))
            for s in range(n_samples):
                total[s] += belief[a, s]
        for s in range(n_samples):
            values[s] += node_t[v] * (math.log(total[s]) + node_logs[v, s])
            total[s] = 1.0 / total[s]
        for a in range(n_labels):
            for s in range(n_samples):
                belief[a, s] *= total[s]
    n_edges = kinds.shape[0]
    shared = kinds.shape[1] == 1
    one, two = scratch[1], scratch[2]
    for e in range(n_edges):
        left, right = powers[2 * e], powers[2 * e + 1]
        for s in range(n_samples):
            total[s] = 0.0
        for a in range(n_labels):
            for s in range(n_samples):
                one[a, s] = 0.0
                two[a, s] = 0.0
        k = kinds[e, 0]
        for a in range(n_labels):
            for b in range(n_labels):
                if shared:
                    factor = tables[k, a, b]
                    for s in range(n_samples):
                        z[s] = factor * left[a, s] * right[b, s]
                else:
                    for s in range(n_samples):
                        z[s] = tables[kinds[e, s], a, b] * left[a, s] * right[b, s]
                for s in range(n_samples):
                    total[s] += z[s]
                    one[a, s] += z[s]
                    two[b, s] += z[s]
        t = edge_t[e]
        for s in range(n_samples):
            values[s] += t * math.log(total[s]) + peaks[kinds[e, 0 if shared else s]]
            total[s] = 1.0 / total[s]
        for a in range(n_labels):
            for b in range(n_labels):
                if shared:
                    factor, added = tables[k, a, b], 0.0
                    for s in range(n_samples):
                        added += weight[s] * left[a, s] * right[b, s] * total[s]
                    pair_sums[summed[e, 0], a, b] += factor * added
                else:
                    for s in range(n_samples):
                        k = kinds[e, s]
                        pair = left[a, s] * right[b, s] * total[s]
                        pair_sums[summed[e, s], a, b] += weight[s] * tables[k, a, b] * pair
        for a in range(1, n_labels):
            for side in range(2):
                marginal = one if side == 0 else two
                slope, bend = slopes[2 * e + side, a - 1], bends[2 * e + side, a - 1]
                own = beliefs[ends[2 * e + side], a]
                for s in range(n_samples):
                    p, q = marginal[a, s] * total[s], own[s]
                    slope[s] = weight[s] * (p - q)
                    bend[s] = weight[s] * (p * (1.0 - p) + q * (1.0 - q) + floor) / t
