"""The best labelling of a forest, by dynamic programming over ``max``.

Going up, from the last node to the first, a child ``t`` tells its parent, for each label ``a`` that
the parent may have, how well its own subtree can do: ``message[a] = max_b (score[t, b] + edge[a, b])``.
The loop over ``a`` is the inner one: with the transposed table its accesses are contiguous and it is
vectorised, which a search for the maximum over ``b`` is not.

Going down, the best label of ``t`` given its parent's is found again from one row, which costs as
little as a single label's message and saves storing a table of back-pointers.  Of labels that are
equally good the lowest is taken.  Both sweeps work in place, on one sample with the nodes ``first <= t
< last``.
"""

import numpy as np

from medn_edu.kernels.compile import inner_kernel, kernel


@kernel
def best_labellings(
    node, edge, edge_by_child, parents, edge_types, offsets, first, last, score, labels, best
):
    """Write the best labellings of samples ``first <= i < last`` and their scores.

    ``score`` is scratch space with a row for each node of the longest sample.
    """
    n_labels = node.shape[1]
    message = np.empty(n_labels)
    for i in range(first, last):
        lo, hi = offsets[i], offsets[i + 1]
        for t in range(lo, hi):
            for a in range(n_labels):
                score[t - lo, a] = node[t, a]
        max_up(score, edge_by_child, parents, edge_types, lo, hi, message)
        best[i] = max_down(score, edge, parents, edge_types, lo, hi, labels[lo:hi])


@inner_kernel
def max_up(score, edge_by_child, parents, edge_types, first, last, message):
    """Add to ``score[t - first, b]`` what the subtrees below ``t`` score at best if its label is b."""
    for t in range(last - 1, first - 1, -1):
        if parents[t] >= 0:
            max_message(score[t - first], edge_by_child[edge_types[t]], message)
            above = score[parents[t] - first]
            for a in range(message.size):
                above[a] += message[a]


@inner_kernel
def max_down(score, edge, parents, edge_types, first, last, labels):
    """Write the best labelling to ``labels[t - first]``, given what `max_up` left; return its score."""
    total = 0.0
    for t in range(first, last):
        row = score[t - first]
        label, largest = 0, -np.inf
        if parents[t] < 0:
            for b in range(row.size):
                if row[b] > largest:
                    largest, label = row[b], b
            total += largest
        else:
            step = edge[edge_types[t], labels[parents[t] - first]]
            for b in range(row.size):
                if row[b] + step[b] > largest:
                    largest, label = row[b] + step[b], b
        labels[t - first] = label
    return total


@inner_kernel
def max_message(score, table, message):
    """Write ``message[a] = max_b (score[b] + table[b, a])``."""
    n_labels = score.size
    for a in range(n_labels):
        message[a] = -np.inf
    b = 0
    while b + 4 <= n_labels:  # four at a time: one load and store of message[a] for four labels
        s0, s1, s2, s3 = score[b], score[b + 1], score[b + 2], score[b + 3]
        r0, r1, r2, r3 = table[b], table[b + 1], table[b + 2], table[b + 3]
        for a in range(n_labels):
            x0, x1, x2, x3 = s0 + r0[a], s1 + r1[a], s2 + r2[a], s3 + r3[a]
            x0 = x0 if x0 > x1 else x1
            x2 = x2 if x2 > x3 else x3
            x0 = x0 if x0 > x2 else x2
            message[a] = x0 if x0 > message[a] else message[a]
        b += 4
    while b < n_labels:
        s0, r0 = score[b], table[b]
        for a in range(n_labels):
            x0 = s0 + r0[a]
            message[a] = x0 if x0 > message[a] else message[a]
        b += 1
