"""Messages and beliefs on graphs with cycles, for many samples with the same edges at a time.

Arrays end in an axis over samples.  Edge ``e`` has two *slots*, ``2 e`` for its first end and
``2 e + 1`` for its second; ``slot ^ 1`` is the other one.  A slot holds the message from the node at
that end to the edge.  The slots of node ``v`` are ``slots[starts[v]:starts[v + 1]]``.  Edge ``e`` of
sample ``s`` has the table ``kinds[e, s]``, or ``kinds[e, 0]`` where all samples agree.  ``epsilon``
times a counting number is a *temperature* ``t``.  All edges of a kind have the same, so there are
``powers`` of tables, ``exp((phi - peak) / t)``, with the largest entry of each table as its peak.
"""

import math

import numpy as np

from medn_edu.kernels.compile import inlined_kernel, inner_kernel, kernel

TINY = 1e-200  # sums of powers above it miss nothing that became too small for a number
SMALL = 1e-300  # adds nothing to such a sum
MANY = 8  # samples from which loops over them are worth being the innermost


@kernel
def sweeps_of_powers(
    starts, slots, kinds, powers, node, old, new, shares, damping, beliefs, told, n_sweeps, back
):
    """Update the messages of all nodes, ``n_sweeps`` times, alternately forward and ``back``.

    Messages are powers ``exp(lambda / t)``, and ``node`` holds ``exp(phi / t)`` at the temperature of
    all counting numbers of a node together, of which each edge has a share.  As in `sweep_of_logs`
    messages go from ``old`` to ``new``, and are ``damping`` a share of the old ones.  The last are in
    ``old`` after an even number of sweeps, in ``new`` after an odd one.
    """
    n_nodes, n_labels, _ = node.shape
    for _ in range(n_sweeps):
        for i in range(n_nodes):
            v = n_nodes - 1 - i if back else i
            own = slots[starts[v] : starts[v + 1]]
            # With a number of labels that the compiler knows it unrolls the loops over them.
            if n_labels == 2:
                send(own, kinds, powers, node[v], old, new, shares, damping, beliefs[v], told, 2)
            else:
                send(
                    own,
                    kinds,
                    powers,
                    node[v],
                    old,
                    new,
                    shares,
                    damping,
                    beliefs[v],
                    told,
                    n_labels,
                )
        old, new, back = new, old, not back


@inlined_kernel
def send(own, kinds, powers, node, old, new, shares, damping, belief, told, n_labels):
    """Compute the belief of a node, and with it the messages from all its slots."""
    n_samples, total = node.shape[1], told[own.size, 0]
    for a in range(n_labels):
        for s in range(n_samples):
            belief[a, s] = 1.0
    share, same = 1.0, True
    for j in range(own.size):
        hear(own[j], kinds, powers, old[own[j] ^ 1], told[j], belief, n_labels)
        share = shares[own[j]]
        same = same and share == shares[own[0]]
    # Relative to the first label, which saves a logarithm.
    if not same:
        for a in range(1, n_labels):
            for s in range(n_samples):
                belief[a, s] = 0.0
            for j in range(own.size):
                for s in range(n_samples):
                    belief[a, s] += shares[own[j]] * math.log(told[j, a, s] / told[j, 0, s])
            for s in range(n_samples):
                belief[a, s] = math.exp(belief[a, s])
    elif share != 1.0:
        for a in range(1, n_labels):
            for s in range(n_samples):
                belief[a, s] = math.exp(share * math.log(belief[a, s] / belief[0, s]))
    if share != 1.0 or not same:
        for s in range(n_samples):
            belief[0, s] = 1.0
    for s in range(n_samples):
        total[s] = 0.0
        for a in range(n_labels):
            belief[a, s] *= node[a, s]
            total[s] += belief[a, s]
    for a in range(n_labels):
        for s in range(n_samples):
            belief[a, s] /= total[s]
    for j in range(own.size):
        heard, before, message = told[j], old[own[j]], new[own[j]]
        for s in range(n_samples):
            total[s] = 0.0  # with it messages neither grow nor shrink from sweep to sweep
            for a in range(n_labels):
                total[s] += heard[a, s]
        for a in range(n_labels):
            if damping == 0.0:
                for s in range(n_samples):
                    message[a, s] = belief[a, s] * total[s] / heard[a, s]
            elif damping == 0.5:
                for s in range(n_samples):
                    sent = belief[a, s] * total[s] / heard[a, s]
                    message[a, s] = math.sqrt(before[a, s] + SMALL) * math.sqrt(sent + SMALL)
            else:
                for s in range(n_samples):
                    sent = belief[a, s] * total[s] / heard[a, s]
                    change = math.log((sent + SMALL) / (before[a, s] + SMALL))
                    message[a, s] = (before[a, s] + SMALL) * math.exp((1.0 - damping) * change)


@inlined_kernel
def hear(slot, kinds, powers, other, heard, product, n_labels):
    """Sum over the labels of an edge's other end what it says of each label at this end.

    Multiply ``product`` by the sums.
    """
    e, turned, n_samples = slot >> 1, slot & 1 == 1, other.shape[1]
    k = kinds[e, 0]
    for a in range(n_labels):
        if kinds.shape[1] > 1:
            for s in range(n_samples):
                total = 0.0
                for b in range(n_labels):
                    i, j = (b, a) if turned else (a, b)
                    total += powers[kinds[e, s], i, j] * other[b, s]
                heard[a, s] = total
                product[a, s] *= total
        elif n_labels <= 3 or n_samples < MANY:
            for s in range(n_samples):
                total = 0.0
                for b in range(n_labels):
                    i, j = (b, a) if turned else (a, b)
                    total += powers[k, i, j] * other[b, s]
                heard[a, s] = total
                product[a, s] *= total
        else:
            for s in range(n_samples):
                heard[a, s] = 0.0
            for b in range(n_labels):
                i, j = (b, a) if turned else (a, b)
                factor = powers[k, i, j]
                for s in range(n_samples):
                    heard[a, s] += factor * other[b, s]
            for s in range(n_samples):
                product[a, s] *= heard[a, s]


@kernel
def sweep_of_logs(
    starts, slots, kinds, tables, powers, peaks, temperatures, node, old, new, shares, damping, beliefs,
    widths, back,
):  # fmt: skip
    """Update all messages once, in logarithms, from ``old`` to ``new``.

    If both are the same array, each node uses what the nodes before it have sent (asynchronous), if
    not, no node does (synchronous).  ``damping`` is the share of the old message that is kept.
    ``widths`` are the temperatures of the nodes' beliefs; at 0 these are uniform over the best labels.
    """
    n_nodes, n_labels, _ = node.shape
    heard = np.empty((most_slots(starts) + 2, n_labels))
    for i in range(n_nodes):
        v = n_nodes - 1 - i if back else i
        own = slots[starts[v] : starts[v + 1]]
        if n_labels == 2:
            send_logs(
                own, kinds, tables, powers, peaks, temperatures, node[v], old, new, shares, damping,
                beliefs[v], widths[v], heard, 2,
            )  # fmt: skip
        else:
            send_logs(
                own, kinds, tables, powers, peaks, temperatures, node[v], old, new, shares, damping,
                beliefs[v], widths[v], heard, n_labels,
            )  # fmt: skip


@inlined_kernel
def send_logs(
    own, kinds, tables, powers, peaks, temperatures, node, old, new, shares, damping, belief, width,
    heard, n_labels,
):  # fmt: skip
    """Compute the belief of a node, and with it the messages from all its slots."""
    row, total = heard[own.size], heard[own.size + 1]
    for s in range(node.shape[1]):
        for a in range(n_labels):
            total[a] = node[a, s]
        for j in range(own.size):
            slot = own[j]
            k = kinds[slot >> 1, s if kinds.shape[1] > 1 else 0]
            hear_logs(
                slot, tables, powers, peaks, k, 1.0, old[slot ^ 1], s, temperatures[slot >> 1], row,
                heard[j], n_labels,
            )  # fmt: skip
            for a in range(n_labels):
                total[a] += heard[j, a]
        for j in range(own.size):
            slot = own[j]
            peak = -np.inf
            for a in range(n_labels):
                row[a] = -np.inf
                if total[a] > -np.inf:
                    row[a] = shares[slot] * total[a] - heard[j, a]
                peak = max(peak, row[a])
            for a in range(n_labels):
                message = row[a] - peak
                if damping > 0.0 and message > -np.inf:
                    message = damping * old[slot, a, s] + (1.0 - damping) * message
                new[slot, a, s] = message
        distribution(total[:n_labels], width)
        for a in range(n_labels):
            belief[a, s] = total[a]


@inner_kernel
def most_slots(starts):
    """Return the largest number of slots of a node."""
    most = 0
    for v in range(starts.size - 1):
        most = max(most, starts[v + 1] - starts[v])
    return most


@inlined_kernel
def hear_logs(slot, tables, powers, peaks, k, stretch, other, s, temperature, row, heard, n_labels):
    """Write the soft maximum over the labels of an edge's other end of table and message.

    ``powers`` are ``exp(stretch (table - peak) / temperature)``.  One exponential per label is enough,
    unless their sum becomes too small to be trusted.
    """
    turned, best = slot & 1 == 1, -np.inf
    for b in range(n_labels):
        best = max(best, other[b, s])
    if temperature > 0.0:
        for b in range(n_labels):
            less = other[b, s] - best
            row[b] = 1.0 if less == 0.0 else math.exp(less / temperature)
    for a in range(n_labels):
        total = 0.0
        if temperature > 0.0:
            for b in range(n_labels):
                total += (powers[k, b, a] if turned else powers[k, a, b]) * row[b]
        if total > TINY:
            heard[a] = stretch * peaks[k] + best + temperature * math.log(total)
            continue
        most = -np.inf
        for b in range(n_labels):
            phi = tables[k, b, a] if turned else tables[k, a, b]
            most = max(most, stretch * phi + other[b, s])
        heard[a] = most
        if temperature > 0.0 and most > -np.inf:
            total = 0.0
            for b in range(n_labels):
                phi = tables[k, b, a] if turned else tables[k, a, b]
                total += math.exp((stretch * phi + other[b, s] - most) / temperature)
            heard[a] += temperature * math.log(total)


@inlined_kernel
def distribution(values, temperature):
    """Turn values into ``exp(values / t)``, normalised, at 0 into equal shares of the largest ones.

    Return ``t log sum exp(values / t)``, the maximum at 0.
    """
    peak, total = -np.inf, 0.0
    for a in range(values.size):
        peak = max(peak, values[a])
    near = 1e-10 * max(1.0, abs(peak))
    for a in range(values.size):
        if temperature == 0.0:
            values[a] = 1.0 if peak - values[a] <= near else 0.0
        else:
            values[a] = 1.0 if values[a] == peak else math.exp((values[a] - peak) / temperature)
        total += values[a]
    for a in range(values.size):
        values[a] /= total
    return peak if temperature == 0.0 else peak + temperature * math.log(total)


@kernel
def sweep_with_conditionals(
    starts, slots, kinds, tables, powers, peaks, temperatures, node, own, far, epsilon, hard, parts,
    totals, beliefs, back,
):  # fmt: skip
    """Minimise the bound with conditional entropies over the messages of node after node.

    The message from an end of an edge is a table, ``-(part / c) phi + own(label here) + far(label
    there)``, with ``part`` the counting number of the conditional entropy that belongs to this end and
    ``c`` that of the edge.  ``hard`` is what remains to the edge itself.
    """
    n_nodes, n_labels, n_samples = node.shape
    heard = np.empty((most_slots(starts), n_labels))
    row, total = np.empty(n_labels), np.empty(n_labels)
    for i in range(n_nodes):
        v = n_nodes - 1 - i if back else i
        first, last = starts[v], starts[v + 1]
        for s in range(n_samples):
            for a in range(n_labels):
                total[a] = node[v, a, s]
            for j in range(first, last):
                slot = slots[j]
                e = slot >> 1
                k = kinds[e, s if kinds.shape[1] > 1 else 0]
                width = hard[e] + parts[slot]
                hear_logs(
                    slot, tables, powers, peaks, k, width / (width + parts[slot ^ 1]), own[slot ^ 1],
                    s, epsilon * width, row, heard[j - first], n_labels,
                )  # fmt: skip
                for a in range(n_labels):
                    heard[j - first, a] += far[slot ^ 1, a, s]
                    total[a] += heard[j - first, a]
            for j in range(first, last):
                slot = slots[j]
                rest = hard[slot >> 1]
                part = parts[slot] / (rest + parts[slot])
                for a in range(n_labels):
                    own[slot, a, s] = -np.inf
                    if total[a] > -np.inf:
                        own[slot, a, s] = (
                            rest / totals[v] * total[a]
                            - (1.0 - part) * heard[j - first, a]
                            - part * far[slot ^ 1, a, s]
                        )
                    other = own[slot ^ 1, a, s]
                    far[slot, a, s] = -part * other if other > -np.inf else 0.0
            distribution(total, epsilon * totals[v])
            for a in range(n_labels):
                beliefs[v, a, s] = total[a]


@kernel
def node_terms(starts, slots, node, messages, temperatures, beliefs, values):
    """Write the beliefs of the nodes given their messages, and add their terms of the bound.

    Where a temperature is negative the term is a soft minimum.  Labels that a node may not have are left
    out of either.
    """
    n_nodes, n_labels, n_samples = node.shape
    rest = np.empty(n_labels)
    for v in range(n_nodes):
        sign = math.copysign(1.0, temperatures[v])
        belief = beliefs[v]
        for a in range(n_labels):
            for s in range(n_samples):
                belief[a, s] = node[v, a, s]
            for j in range(starts[v], starts[v + 1]):
                for s in range(n_samples):
                    belief[a, s] -= messages[slots[j], a, s]
        for s in range(n_samples):
            for a in range(n_labels):
                rest[a] = sign * belief[a, s] if node[v, a, s] > -np.inf else -np.inf
            values[s] += sign * distribution(rest, abs(temperatures[v]))
            for a in range(n_labels):
                belief[a, s] = rest[a]


@kernel
def edge_terms(
    kinds, tables, powers, peaks, temperatures, messages, best, sent, totals, beliefs, values
):
    """Write the beliefs of the edges given all messages, and add their terms of the bound.

    ``sent`` are powers of messages, whose ``best`` is 1.  Where a sum of products, of which ``totals``
    has room for one per sample, becomes too small to be trusted, logarithms are used.
    """
    n_edges, n_labels, _, n_samples = beliefs.shape
    flat = np.empty(n_labels * n_labels)
    for e in range(n_edges):
        first, second = sent[2 * e], sent[2 * e + 1]
        if n_labels == 2:
            join(kinds[e], powers, first, second, totals, beliefs[e], 2)
        else:
            join(kinds[e], powers, first, second, totals, beliefs[e], n_labels)
        t = temperatures[e]
        for s in range(n_samples):
            k = kinds[e, s if kinds.shape[1] > 1 else 0]
            if t > 0.0 and totals[s] > TINY:
                values[s] += (
                    peaks[k] + best[2 * e, s] + best[2 * e + 1, s] + t * math.log(totals[s])
                )
                continue
            for a in range(n_labels):
                for b in range(n_labels):
                    flat[a * n_labels + b] = (
                        tables[k, a, b] + messages[2 * e, a, s] + messages[2 * e + 1, b, s]
                    )
            values[s] += distribution(flat, t)
            for a in range(n_labels):
                for b in range(n_labels):
                    beliefs[e, a, b, s] = flat[a * n_labels + b]


@inlined_kernel
def join(kinds, powers, first, second, totals, belief, n_labels):
    """Write products of a table with the messages from both ends, normalised, and their sums."""
    n_samples = totals.size
    for s in range(n_samples):
        totals[s] = SMALL  # so that nothing is divided by 0
    for a in range(n_labels):
        for b in range(n_labels):
            if kinds.size > 1:
                for s in range(n_samples):
                    belief[a, b, s] = powers[kinds[s], a, b] * first[a, s] * second[b, s]
                    totals[s] += belief[a, b, s]
            else:
                power = powers[kinds[0], a, b]
                for s in range(n_samples):
                    belief[a, b, s] = power * first[a, s] * second[b, s]
                    totals[s] += belief[a, b, s]
    for a in range(n_labels):
        for b in range(n_labels):
            for s in range(n_samples):
                belief[a, b, s] /= totals[s]


@kernel
def sweep_of_mean_field(starts, slots, ends, kinds, tables, node, epsilon, beliefs, back):
    """Set the belief of node after node to the best one given those of its neighbours.

    Return the largest change.  A node all of whose labels its neighbours forbid takes the one that they
    forbid with the lowest probability.
    """
    n_nodes, n_labels, n_samples = node.shape
    total, barred, change = np.empty(n_labels), np.empty(n_labels), 0.0
    for i in range(n_nodes):
        v = n_nodes - 1 - i if back else i
        for s in range(n_samples):
            for a in range(n_labels):
                total[a] = node[v, a, s]
                barred[a] = 0.0 if node[v, a, s] > -np.inf else np.inf
            for j in range(starts[v], starts[v + 1]):
                slot = slots[j]
                u, turned = ends[slot ^ 1], slot & 1 == 1
                k = kinds[slot >> 1, s if kinds.shape[1] > 1 else 0]
                for b in range(n_labels):
                    belief = beliefs[u, b, s]
                    for a in range(n_labels):
                        phi = tables[k, b, a] if turned else tables[k, a, b]
                        if phi > -np.inf:
                            total[a] += belief * phi
                        else:
                            barred[a] += belief
            least = np.min(barred)
            best = -1
            for a in range(n_labels):
                if barred[a] > least:
                    total[a] = -np.inf
                elif best < 0 or total[a] > total[best]:
                    best = a
            if least > 0.0:
                for a in range(n_labels):
                    total[a] = 0.0 if a == best else -np.inf
            distribution(total, epsilon)
            for a in range(n_labels):
                change = max(change, abs(beliefs[v, a, s] - total[a]))
                beliefs[v, a, s] = total[a]
    return change


@kernel
def decode_labels(
    starts, slots, ends, kinds, tables, powers, peaks, temperatures, node, messages, labels
):
    """Write each node's best label given the messages to it, and return how many nodes had a tie.

    Nodes with one best label are decided first.  Then the others choose, one after the other, the best
    of their tied labels given those of the neighbours that are decided.
    """
    n_nodes, n_labels, n_samples = node.shape
    row, heard, total = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    is_best, n_ties = np.empty(n_labels, dtype=np.bool_), 0
    labels[:] = -1
    for s in range(n_samples):
        for turn in range(2):
            for v in range(n_nodes):
                if labels[v, s] >= 0:
                    continue
                is_best[:] = True
                for given in range(turn + 1):
                    for a in range(n_labels):
                        total[a] = node[v, a, s]
                    for j in range(starts[v], starts[v + 1]):
                        slot = slots[j]
                        k = kinds[slot >> 1, s if kinds.shape[1] > 1 else 0]
                        known = labels[ends[slot ^ 1], s] if given == 1 else -1
                        hear_logs(
                            slot, tables, powers, peaks, k, 1.0, messages[slot ^ 1], s,
                            temperatures[slot >> 1], row, heard, n_labels,
                        )  # fmt: skip
                        for a in range(n_labels):
                            if known >= 0:
                                one, two = (known, a) if slot & 1 == 1 else (a, known)
                                heard[a] = tables[k, one, two]
                            total[a] += heard[a]
                    best = -1
                    for a in range(n_labels):
                        if is_best[a] and (best < 0 or total[a] > total[best]):
                            best = a
                    n_best = 0
                    for a in range(n_labels):
                        apart = total[best] - total[a]
                        is_best[a] = a == best or apart <= 1e-7 * max(1.0, abs(total[best]))
                        n_best += is_best[a]
                if turn == 0 and n_best > 1:
                    n_ties += 1
                else:
                    labels[v, s] = best
    return n_ties
