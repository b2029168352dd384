"""Random labellings of forests, drawn from the root down.

Labels have weights given by logarithms, ``p[b]`` proportional to ``exp(x[b])``.  The label drawn is the
first at which the running sum passes ``uniform * total``.  Uniform numbers are handed in.
"""

import math

import numpy as np

from medn_edu.kernels.compile import inner_kernel, kernel


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
            running_sums(x, 1.0)
            labels[draw, t] = drawn(x, uniforms[draw, t])


@inner_kernel
def running_sums(x, inverse_temperature):
    """Turn logarithms of weights into running sums of ``exp(x[b] / temperature)``, up to a factor."""
    largest = -np.inf
    for b in range(x.size):
        largest = x[b] if x[b] > largest else largest
    total = 0.0
    for b in range(x.size):
        total += math.exp((x[b] - largest) * inverse_temperature)
        x[b] = total


@inner_kernel
def drawn(sums, uniform):
    """Return the first label at which the running sums of weights pass ``uniform`` times the last."""
    total = sums[-1]
    for b in range(sums.size):
        if sums[b] > uniform * total or sums[b] == total:  # should rounding leave all below
            return b
    return 0
