"""Random labellings of forests: exact, from the root down, and by Gibbs sampling.

Both draw a label from weights given by logarithms, ``p[b]`` proportional to ``exp(x[b])``: the first
label at which the running sum passes ``uniform * total``.  Uniform numbers are handed in.
"""

from __future__ import annotations

import math

import numpy as np

from medn_edu.kernels._compile import inner_kernel, kernel

__all__ = ["draw_down", "gibbs_sweeps"]


@kernel
def draw_down(log_belief, edge, parents, edge_types, offsets, first, last, uniforms, labels):
    """Draw labellings of samples ``first <= i < last``, each node given its parent's label.

    ``log_belief`` is what the upward sweep leaves, row ``t - offsets[first]`` for node ``t``;
    ``uniforms`` and ``labels`` have shape (n_draws, n_nodes).
    """
    n_labels = log_belief.shape[1]
    base = offsets[first]
    x = np.empty(n_labels)
    for t in range(base, offsets[last]):
        row = log_belief[t - base]
        for draw in range(uniforms.shape[0]):
            for b in range(n_labels):
                x[b] = row[b]
            if parents[t] >= 0:
                step = edge[edge_types[t], labels[draw, parents[t]]]
                for b in range(n_labels):
                    x[b] += step[b]
            _running_sums(x, 1.0)
            labels[draw, t] = _drawn(x, uniforms[draw, t])


@kernel
def gibbs_sweeps(
    node,
    edge,
    edge_by_child,
    inverse_temperature,
    parents,
    edge_types,
    child_starts,
    children,
    uniforms,
    labels,
    table,
):
    """Draw every node in turn given all others, once for each row of ``uniforms``.

    ``children[child_starts[t]:child_starts[t + 1]]`` are the children of node ``t``.  ``table``, zeros
    at first, of shape (n_nodes, labellings of a node's neighbours, n_labels), keeps the running sums
    of weights that have been worked out; where it is empty, they are worked out each time.
    """
    n_nodes, n_labels = node.shape
    sums = np.empty(n_labels)
    for sweep in range(uniforms.shape[0]):
        for t in range(n_nodes):
            if table.size > 0:
                place = labels[parents[t]] if parents[t] >= 0 else 0
                for j in range(child_starts[t], child_starts[t + 1]):
                    place = place * n_labels + labels[children[j]]
                sums = table[t, place]
            if table.size == 0 or sums[-1] == 0.0:
                for b in range(n_labels):
                    sums[b] = node[t, b]
                if parents[t] >= 0:
                    step = edge[edge_types[t], labels[parents[t]]]
                    for b in range(n_labels):
                        sums[b] += step[b]
                for j in range(child_starts[t], child_starts[t + 1]):
                    step = edge_by_child[edge_types[children[j]], labels[children[j]]]
                    for b in range(n_labels):
                        sums[b] += step[b]
                _running_sums(sums, inverse_temperature)
            labels[t] = _drawn(sums, uniforms[sweep, t])


@inner_kernel
def _running_sums(x, inverse_temperature):
    """Turn logarithms of weights into running sums of ``exp(x[b] / temperature)``, up to a factor."""
    largest = -np.inf
    for b in range(x.size):
        largest = x[b] if x[b] > largest else largest
    total = 0.0
    for b in range(x.size):
        total += math.exp((x[b] - largest) * inverse_temperature)
        x[b] = total


@inner_kernel
def _drawn(sums, uniform):
    """Return the first label at which the running sums of weights pass ``uniform`` times the last."""
    total = sums[-1]
    for b in range(sums.size):
        if sums[b] > uniform * total or sums[b] == total:  # should rounding leave all below
            return b
    return 0
