"""Sweeps of Gibbs sampling over forests."""

import numpy as np

from medn_edu.kernels.compile import kernel
from medn_edu.kernels.sampling import drawn, running_sums


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
                running_sums(sums, inverse_temperature)
            labels[t] = drawn(sums, uniforms[sweep, t])
