"""Random labellings of forests: exact, from the root down, and by Gibbs sampling.

Both draw a label from weights given by logarithms, ``p[b]`` proportional to ``exp(x[b])``: the first
label at which the running sum passes ``uniform * total``.  Uniform numbers are handed in, so that
results depend on nothing but them.
"""

from __future__ import annotations

import math

import numpy as np

from medn_edu.kernels._compile import kernel

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
            if parents[t] < 0:
                for b in range(n_labels):
                    x[b] = row[b]
            else:
                step = edge[edge_types[t], labels[draw, parents[t]]]
                for b in range(n_labels):
                    x[b] = row[b] + step[b]
            labels[draw, t] = _draw(x, 1.0, uniforms[draw, t])


@kernel
def gibbs_sweeps(
    node,
    edge,
    edge_t,
    inverse_temperature,
    parents,
    edge_types,
    child_starts,
    children,
    uniforms,
    labels,
):
    """Draw every node in turn given all others, once for each row of ``uniforms``.

    ``children[child_starts[t]:child_starts[t + 1]]`` are the children of node ``t``.
    """
    n_nodes, n_labels = node.shape
    x = np.empty(n_labels)
    for sweep in range(uniforms.shape[0]):
        for t in range(n_nodes):
            for b in range(n_labels):
                x[b] = node[t, b]
            if parents[t] >= 0:
                step = edge[edge_types[t], labels[parents[t]]]
                for b in range(n_labels):
                    x[b] += step[b]
            for j in range(child_starts[t], child_starts[t + 1]):
                step = edge_t[edge_types[children[j]], labels[children[j]]]
                for b in range(n_labels):
                    x[b] += step[b]
            labels[t] = _draw(x, inverse_temperature, uniforms[sweep, t])


@kernel
def _draw(x, inverse_temperature, uniform):
    """Return ``b`` with probability proportional to ``exp(x[b] / temperature)``; overwrites ``x``."""
    n_labels = x.size
    largest = -np.inf
    for b in range(n_labels):
        largest = x[b] if x[b] > largest else largest
    total = 0.0
    for b in range(n_labels):
        x[b] = math.exp((x[b] - largest) * inverse_temperature)
        total += x[b]
    goal = uniform * total
    below = 0.0
    label = 0
    for b in range(n_labels):
        if x[b] > 0.0:
            label = b  # also the answer should rounding leave the sum below its goal
            below += x[b]
            if below > goal:
                break
    return label
