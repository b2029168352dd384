"""Euclidean projection onto the L1 ball in expected linear time.

The point of ``|w|_1 <= r`` nearest to ``v`` is ``v`` with every magnitude lowered by one ``theta``, and
zero where that is more than there is (derived in `medn_edu.theory.projection`); all the work is to find
the ``theta`` at which what is left adds up to ``r``.  Sorting the magnitudes does it in ``n log n``.
Duchi, Shalev-Shwartz, Singer and Chandra (2008, Fig. 2) do it in the manner of quickselect: take one
of the undecided magnitudes as a pivot, split the others into larger and smaller ones, and see from the
sum of the larger ones on which side of the pivot ``theta`` lies.  Either the larger ones are in for
good, and only their sum and number are kept, or the smaller ones are out; one side remains.

*Time.*  A pivot drawn at random leaves at most three quarters of the undecided with probability a half,
so all rounds together look at an expected ``n + 3/4 n + 9/16 n + ...`` entries times 2: linear.  The
draws come from a small generator in here that starts from the same number at every call, so that equal
points have equal projections, in every thread and whatever the caller draws.  The expectation is the
same for every order of the entries that has not been made with these very draws in view; such an order
would cost time and nothing else.  Entries equal to the pivot are set aside with it, so that ties, of
which one-hot features make many, shorten the work.

*Rounding.*  ``theta`` nearly equals the largest magnitude ``m`` if the radius is small, and its
difference to the others, which is the result, would be lost.  So we look at ``d_k = m - |v_k|`` and at
``tau = m - theta``, for which

    sum_k max(tau - d_k, 0) = r,    tau = (r + sum of the d_k that are in) / (how many are in):

a sum of numbers of one sign.  The entry with ``d_k = 0`` alone says that ``tau <= r``, so entries with
``d_k >= r`` are out from the start, often nearly all.
"""

import numpy as np

from medn_edu.kernels.compile import inner_kernel, kernel

# The generator x -> (A x + B) mod 2^31 of the C standard; its high bits choose the pivot.
_A, _B, _BITS, _START = 1103515245, 12345, 31, 20080705


@kernel
def project_l1_ball(point, radius, distance, projected):
    """Write the point of the ball that is nearest to ``point`` into ``projected``.

    ``distance`` is room for as many numbers; ``projected`` may be ``point`` itself.  A point with an
    entry that is not finite has no projection: then all entries become NaN.
    """
    total, largest = 0.0, 0.0
    for k in range(point.size):
        total += abs(point[k])
        largest = max(largest, abs(point[k]))
    inside = total <= radius
    if np.isnan(total) or np.isinf(largest):
        tau = np.nan
    elif inside:
        tau = 0.0
    else:
        tau = _find_tau(point, largest, radius, distance)
    for k in range(point.size):
        left = tau - (largest - abs(point[k]))
        if inside:
            projected[k] = point[k]
        elif left <= 0.0:
            projected[k] = 0.0
        else:
            projected[k] = left if point[k] > 0.0 else -left


@inner_kernel
def _find_tau(point, largest, radius, distance):
    """Find the ``tau`` at which ``sum max(tau - d_k, 0)`` is the radius."""
    # A plain 0 would be a type of its own to numba, and `_split` be compiled once more for it.
    first = end = np.int64(0)
    for k in range(point.size):
        distance[end] = largest - abs(point[k])
        end += distance[end] < radius
    # Those in distance[first:end] are undecided; `n_in` that add up to `sum_in` are in for good.
    n_in, sum_in, state = 0, 0.0, _START
    while first < end:
        state = (_A * state + _B) % (1 << _BITS)
        pivot = distance[first + ((state * (end - first)) >> _BITS)]
        nearer, farther, sum_nearer = _split(distance, first, end, pivot)
        # What would be left with tau at the pivot; those equal to it would add nothing.
        left = (n_in + nearer - first) * pivot - (sum_in + sum_nearer)
        if left < radius:
            n_in += farther - first
            sum_in += sum_nearer + (farther - nearer) * pivot
            first = farther
        else:
            end = nearer
    return (radius + sum_in) / n_in


@inner_kernel
def _split(distance, first, end, pivot):
    """Bring what is nearer than the pivot to the front, what is farther to the back.

    Returns where the nearer ones end, where the farther ones begin, and the sum of the nearer ones.
    """
    nearer, at, farther, sum_nearer = first, first, end, 0.0
    while at < farther:
        value = distance[at]
        if value < pivot:
            sum_nearer += value
            distance[at] = distance[nearer]
            distance[nearer] = value
            nearer += 1
            at += 1
        elif value > pivot:
            farther -= 1
            distance[at] = distance[farther]
            distance[farther] = value
        else:
            at += 1
    return nearer, farther, sum_nearer
