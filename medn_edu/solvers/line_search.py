"""Line search on a concave function whose domain may end, for slopes that are computed in Python.

`medn_edu.kernels.line_search` says how it searches.  The maximum of ``log(1 - t) + 4 t`` is at 3/4:

>>> step = highest_point(lambda t: (4 - 1 / (1 - t), 1 / (1 - t) ** 2), 3.0, 1.0, accuracy=1e-9)
>>> round(step, 6)
0.75
"""

import math
from collections.abc import Callable

from medn_edu.kernels.line_search import (
    INSIDE,
    N_EVALUATIONS,
    SMALL_SLOPE,
    is_high_enough,
    next_step,
)


def highest_point(
    slope: Callable[[float], tuple[float, float]],
    start: float,
    limit: float,
    accuracy: float = SMALL_SLOPE,
    inside: float = INSIDE,
) -> float:
    """Return the step, at most 1, at which a concave function stops growing along a direction.

    ``slope`` returns the slope at a step and how fast it falls there.  ``start`` is the slope at 0.  The
    search ends where the function has grown and its slope is down to ``accuracy * start``.  It also ends
    at the share ``inside`` of the way to ``limit``, where the domain ends; another search can go on from
    there.  The step is 0 if the function does not grow at all, or if the domain has already ended.
    """
    if not (start > 0 and limit > 0):
        return 0.0
    start, end = float(start), min(float(inside * limit), 1.0)
    low, high = 0.0, math.inf
    step = end if end == 1.0 else 0.5 * end
    for _ in range(N_EVALUATIONS):
        now, curvature = map(float, slope(step))
        if is_high_enough(step, end, start, now, accuracy):
            return step
        step, low, high = next_step(step, end, now, curvature, low, high)
    return low
