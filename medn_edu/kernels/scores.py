"""Scores and features: products of sparse node features with weights, and sums of features.

Weights have the shape ``(n_features, n_labels)`` here, so that the innermost loop runs along the
labels, which are contiguous: compilers vectorise it.  Several values at a time save traffic of the sums.
"""

from medn_edu.kernels.compile import kernel


@kernel
def node_scores(data, indices, indptr, weights, first, last, out):
    """Write the scores of all labels at nodes ``first <= t < last`` into ``out[t - first]``."""
    n_labels = weights.shape[1]
    for t in range(first, last):
        row = out[t - first]
        for a in range(n_labels):
            row[a] = 0.0
        j, end = indptr[t], indptr[t + 1]
        while j + 8 <= end:
            x0, x1, x2, x3 = data[j], data[j + 1], data[j + 2], data[j + 3]
            x4, x5, x6, x7 = data[j + 4], data[j + 5], data[j + 6], data[j + 7]
            w0, w1 = weights[indices[j]], weights[indices[j + 1]]
            w2, w3 = weights[indices[j + 2]], weights[indices[j + 3]]
            w4, w5 = weights[indices[j + 4]], weights[indices[j + 5]]
            w6, w7 = weights[indices[j + 6]], weights[indices[j + 7]]
            for a in range(n_labels):
                row[a] += ((x0 * w0[a] + x1 * w1[a]) + (x2 * w2[a] + x3 * w3[a])) + (
                    (x4 * w4[a] + x5 * w5[a]) + (x6 * w6[a] + x7 * w7[a])
                )
            j += 8
        while j + 2 <= end:
            x0, x1 = data[j], data[j + 1]
            w0, w1 = weights[indices[j]], weights[indices[j + 1]]
            for a in range(n_labels):
                row[a] += x0 * w0[a] + x1 * w1[a]
            j += 2
        if j < end:
            x0, w0 = data[j], weights[indices[j]]
            for a in range(n_labels):
                row[a] += x0 * w0[a]


@kernel
def add_feature_sums(data, indices, indptr, values, first, last, sums):
    """Add ``sum_t outer(x_t, values[t - first])`` over ``first <= t < last`` to ``sums``."""
    n_labels = sums.shape[1]
    for t in range(first, last):
        row = values[t - first]
        j, end = indptr[t], indptr[t + 1]
        while j + 2 <= end:  # the columns of a row are different ones
            x0, x1 = data[j], data[j + 1]
            s0, s1 = sums[indices[j]], sums[indices[j + 1]]
            for a in range(n_labels):
                s0[a] += x0 * row[a]
                s1[a] += x1 * row[a]
            j += 2
        if j < end:
            x0, s0 = data[j], sums[indices[j]]
            for a in range(n_labels):
                s0[a] += x0 * row[a]


@kernel
def labelling_scores(node, edge, parents, edge_types, offsets, labels, scores):
    """Write the score of each sample's labelling into ``scores``."""
    for i in range(scores.size):
        total = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            total += node[t, labels[t]]
            if parents[t] >= 0:
                total += edge[edge_types[t], labels[parents[t]], labels[t]]
        scores[i] = total


@kernel
def add_edge_counts(parents, edge_types, offsets, labels, weight, counts):
    """Add each sample's transitions, times its weight, to ``counts[type, parent, child]``."""
    for i in range(weight.size):
        for t in range(offsets[i], offsets[i + 1]):
            if parents[t] >= 0:
                counts[edge_types[t], labels[parents[t]], labels[t]] += weight[i]
