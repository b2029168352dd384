"""The k best labellings of a forest: the maximisation with sorted lists in place of single numbers.

For each node and label the upward sweep keeps the ``k`` best scores of the subtree below, best first.
Two operations on such lists are needed, and for both the ``k`` best of the result need only the
``k`` best of the parts.

* *Choose*: a child's message lists the best over all labels ``b`` of the child of
  ``score[t, b, rank] + edge[a, b]``: a merge of sorted lists.
* *Combine*: a parent's list and a child's message add up, each entry of one with each of the other.
  Of the sums ``x[i] + y[j]`` those of row ``i`` are sorted, and row ``i + 1`` is no better than row
  ``i`` entry by entry, so it is looked at only after the first of row ``i`` is taken.

Which parts an entry came from is noted, and followed down from the root.  Several roots are the
children of one more node that has a single label and no potential.  Ties and the order of additions
are those of the maximisation, so the first labelling is the best labelling bit for bit.
"""

import numpy as np

from medn_edu.kernels.compile import inner_kernel, kernel


@kernel
def k_best_labellings(
    node, edge, parents, edge_types, start, stop, score, message, choice, origin, labels, scores
):
    """Write the best labellings of nodes ``start <= t < stop`` and return how many there are.

    Scratch space for at least ``stop - start + 1`` nodes: ``score`` and ``message`` of shape
    (n, n_labels, k), ``choice`` and ``origin`` of shape (n, n_labels, k, 2), int32.  ``labels`` has
    shape (k, stop - start), ``scores`` (k,).
    """
    n_labels, k = score.shape[1], score.shape[2]
    n_nodes = stop - start
    size = np.zeros((n_nodes + 1, n_labels), np.int64)
    for t in range(n_nodes):
        for b in range(n_labels):
            score[t, b, 0] = node[start + t, b]
            size[t, b] = 1 if node[start + t, b] > -np.inf else 0
    score[n_nodes, 0, 0] = 0.0
    size[n_nodes, 0] = 1
    position = np.empty(max(n_labels, k), np.int64)
    nothing = np.zeros(n_labels)
    sums = np.empty(k)
    for t in range(n_nodes - 1, -1, -1):
        p = parents[start + t] - start
        is_root = parents[start + t] < 0
        above = n_nodes if is_root else p
        for a in range(1 if is_root else n_labels):
            step = nothing if is_root else edge[edge_types[start + t], a]
            n = _choose(score[t], size[t], step, position, message[t, a], choice[t, a])
            n = _combine(
                score[above, a], size[above, a], message[t, a], n, position, sums, origin[t, a]
            )
            for r in range(n):
                score[above, a, r] = sums[r]
            size[above, a] = n
    n_found = size[n_nodes, 0]
    rank = np.empty(n_nodes + 1, np.int64)
    for r in range(n_found):
        scores[r] = score[n_nodes, 0, r]
        rank[n_nodes] = r
        for t in range(n_nodes):
            is_root = parents[start + t] < 0
            above = n_nodes if is_root else parents[start + t] - start
            a = 0 if is_root else labels[r, above]
            entry = origin[t, a, rank[above], 1]
            rank[above] = origin[t, a, rank[above], 0]
            labels[r, t] = choice[t, a, entry, 0]
            rank[t] = choice[t, a, entry, 1]
    return n_found


@inner_kernel
def _choose(score, size, step, position, message, choice):
    """Merge the lists ``score[b] + step[b]``; return the length of the result."""
    n_labels, k = score.shape
    for b in range(n_labels):
        position[b] = 0
    for r in range(k):
        best, largest = -1, -np.inf
        for b in range(n_labels):
            if position[b] < size[b]:
                x = score[b, position[b]] + step[b]
                if x > largest:
                    best, largest = b, x
        if best < 0:
            return r
        message[r] = largest
        choice[r, 0], choice[r, 1] = best, position[best]
        position[best] += 1
    return k


@inner_kernel
def _combine(x, n_x, y, n_y, position, sums, origin):
    """List the best sums ``x[i] + y[j]``; return how many there are."""
    k = sums.size
    for i in range(n_x):
        position[i] = 0
    for r in range(k):
        best, largest = -1, -np.inf
        for i in range(n_x):
            if position[i] < n_y and x[i] + y[position[i]] > largest:
                best, largest = i, x[i] + y[position[i]]
            if position[i] == 0:
                break  # rows below are no better
        if best < 0:
            return r
        sums[r] = largest
        origin[r, 0], origin[r, 1] = best, position[best]
        position[best] += 1
    return k
