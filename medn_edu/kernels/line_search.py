"""Line search on a concave function whose domain may end: safeguarded Newton on its slope.

A prior with a bounded domain makes the dual a barrier: towards the end of the domain the slope falls
to minus infinity.  So the maximum along a direction lies inside, and Newton's method finds the root of
the slope, with bisection where it would leave the interval known to hold it.  It stops where the slope
has fallen to a tenth, because the next visit goes on from there.

This is what to do between two evaluations of the slope.  `medn_edu.kernels.block_step` evaluates it in
compiled code, `medn_edu.solvers.line_search` in Python.
"""

from medn_edu.kernels.compile import kernel

# The search ends where the slope is not negative, so that the function has grown, and small.
N_EVALUATIONS = 60  # at most so many
SMALL_SLOPE = 0.1  # a slope below this share of what it was at first is small
ROUNDING = 1e-9  # a slope that is negative by this share counts as zero
INSIDE = 0.99  # share of the way to the end of the domain, near which rounding grows without bounds


@kernel
def is_high_enough(step, end, start, slope, accuracy):
    """Whether the search may stop at ``step``, where ``start`` was the slope at 0."""
    return -ROUNDING * start <= slope <= accuracy * start or (slope > 0.0 and step == end)


@kernel
def next_step(step, end, slope, curvature, low, high):
    """Narrow the interval that holds the maximum; return where to evaluate next, and the interval."""
    if slope > 0.0:
        low = step
    else:
        high = step
    step = min(step + slope / curvature, end) if curvature > 0.0 else end
    if not low < step < high:
        step = 0.5 * (low + min(high, end))
    return step, low, high
