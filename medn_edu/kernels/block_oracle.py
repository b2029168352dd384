"""The oracle of block visits: loss-augmented decoding of one sample, and scores of its atoms."""

from __future__ import annotations

import numpy as np

from medn_edu.kernels._compile import inlined_kernel, kernel
from medn_edu.kernels.maximize import max_message
from medn_edu.kernels.scores import node_scores

__all__ = ["block_scores", "most_violating", "score_of"]


@inlined_kernel
def block_scores(blocks, i, model, scores):
    """Scores ``E = X_i W`` of every label at every node of sample ``i``."""
    lo, hi = blocks.offsets[i], blocks.offsets[i + 1]
    node_scores(blocks.data, blocks.indices, blocks.indptr, model.coef, lo, hi, scores)


@kernel
def most_violating(blocks, i, model, work):
    """Find the labelling of the largest loss plus score, given the scores, in ``work.labelling``."""
    augment(blocks, i, work.scores, work.augmented)
    best_labelling(blocks, i, model, work.augmented, work.message, work.labelling)


@kernel
def augment(blocks, i, scores, augmented):
    """Add the Hamming loss to the node scores: 1 at every wrong label."""
    lo = blocks.offsets[i]
    for t in range(blocks.offsets[i + 1] - lo):
        for a in range(scores.shape[1]):
            augmented[t, a] = scores[t, a] + 1.0
        augmented[t, blocks.labels[lo + t]] -= 1.0


@kernel
def best_labelling(blocks, i, model, augmented, message, labelling):
    """Max-product over sample ``i``; ``augmented`` is used up."""
    lo = blocks.offsets[i]
    n_labels = augmented.shape[1]
    for t in range(blocks.offsets[i + 1] - 1, lo - 1, -1):
        parent = blocks.parents[t]
        if parent < 0:
            continue
        score = augmented[t - lo]
        table = model.edge_by_child[blocks.edge_types[t]]
        max_message(score, table, message)
        parent_score = augmented[parent - lo]
        for a in range(n_labels):
            parent_score[a] += message[a]
    for t in range(lo, blocks.offsets[i + 1]):
        parent = blocks.parents[t]
        if parent >= 0:
            row = model.edge[blocks.edge_types[t], labelling[parent - lo]]
            labelling[t - lo] = best_sum(augmented[t - lo], row)
        else:
            labelling[t - lo] = np.argmax(augmented[t - lo])


@kernel
def best_sum(left, right):
    """Position of the largest ``left + right``."""
    best = 0
    largest = -np.inf
    for a in range(left.size):
        value = left[a] + right[a]
        if value > largest:
            largest = value
            best = a
    return best


@inlined_kernel
def score_of(blocks, i, model, scores, labelling):
    """Hamming loss plus score of one labelling of sample ``i``."""
    lo = blocks.offsets[i]
    total = 0.0
    for t in range(lo, blocks.offsets[i + 1]):
        label = labelling[t - lo]
        total += scores[t - lo, label]
        if label != blocks.labels[t]:
            total += 1.0
        parent = blocks.parents[t]
        if parent >= 0:
            total += model.edge[blocks.edge_types[t], labelling[parent - lo], label]
    return total
