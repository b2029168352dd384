"""Weights of the local problem that move one after the other: step (b) of Hazan and Urtasun's Fig. 1.

A *factor* is a node or an edge of a sample.  Its labels or pairs of labels have the scores
``scores[bounds[f]:bounds[f + 1]]``, which are potentials and messages added up.  It has a temperature,
and it counts as often as its sample does.  Weight ``r`` acts on the scores
``places[starts[r]:starts[r + 1]]``, in order.  They change by its own change times ``features``.
"""

import math

import numpy as np

from medn_edu.kernels.compile import inlined_kernel, kernel
from medn_edu.kernels.norm_product import distribution

LEAST = 1e-12  # step below which a weight stays where it is
LONGER = 2.0  # factor by which each visit tries a longer step than the last one


@kernel
def step_in_turn(
    weights, steps, observed, strength, power, starts, places, features, factors, bounds, scores,
    temperatures, counts,
):  # fmt: skip
    """Take a gradient step on each weight in turn, halved until the objective falls.

    ``factors`` says which factor each score belongs to.  ``weights``, ``steps`` and ``scores`` change in
    place.  Return by how much the objective has fallen, and what the slopes promised.
    """
    flat = np.empty(np.max(np.diff(bounds)))
    fallen, promised = 0.0, 0.0
    for r in range(weights.size):
        own, by = places[starts[r] : starts[r + 1]], features[starts[r] : starts[r + 1]]
        weight = weights[r]
        value, slope = along(0.0, own, by, factors, bounds, scores, temperatures, counts, flat)
        slope += math.copysign(strength * abs(weight) ** (power - 1.0), weight) - observed[r]
        step = LONGER * steps[r]
        while slope != 0.0 and step >= LEAST:
            change = -step * slope
            after, _ = along(change, own, by, factors, bounds, scores, temperatures, counts, flat)
            cost = strength / power * (abs(weight + change) ** power - abs(weight) ** power)
            fall = value - after + observed[r] * change - cost
            if fall > 0.0:
                weights[r] += change
                for j in range(own.size):
                    scores[own[j]] += change * by[j]
                steps[r] = step
                fallen += fall
                promised += step * slope * slope
                break
            step /= 2.0
    return fallen, promised


@inlined_kernel
def along(change, own, by, factors, bounds, scores, temperatures, counts, flat):
    """Return the terms of the factors that a weight moves, after a change of it, and their slope."""
    value, slope, j = 0.0, 0.0, 0
    while j < own.size:
        f = factors[own[j]]
        start, size, first = bounds[f], bounds[f + 1] - bounds[f], j
        for a in range(size):
            flat[a] = scores[start + a]
        while j < own.size and factors[own[j]] == f:
            flat[own[j] - start] += change * by[j]
            j += 1
        value += counts[f] * distribution(flat[:size], temperatures[f])
        for i in range(first, j):
            slope += counts[f] * by[i] * flat[own[i] - start]
    return value, slope
