"""Groups of samples, and threads over them.

How samples are cut into *groups* depends on the data alone, never on the number of threads, and the
groups' results are joined in order.  So the results are the same, bit for bit, for any number of
threads.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np

from medn_edu.checks import check_jobs
from medn_edu.samples import SampleSet

_N_GROUPS = 16  # at most; enough to keep the cores of a desktop busy
_KINDS_SHARED = 10_000  # of edges, over all groups: each sums up what belongs to each kind
GROUP_NODES = 2048  # and at least so many nodes each, or starting threads costs more than the work

_Result = TypeVar("_Result")


def groups(samples: SampleSet, most: int = _N_GROUPS) -> list[tuple[int, int]]:
    """Cut samples into at most ``most`` ranges ``first, last`` of about as many nodes."""
    most = min(most, 1 + _KINDS_SHARED // samples.n_edge_kinds)
    n_groups = max(1, min(most, samples.n_nodes // GROUP_NODES))
    return cut(samples.offsets, 0, samples.n_samples, samples.n_nodes / n_groups)


def feature_groups(samples: SampleSet) -> list[tuple[int, int]]:
    """Cut samples into groups, few where feature sums are large compared with the features."""
    return groups(samples, most=min(_N_GROUPS, 1 + len(samples.data) // (8 * samples.n_features)))


def cut(offsets: np.ndarray, first: int, last: int, n_nodes: float) -> list[tuple[int, int]]:
    """Cut samples ``first <= i < last`` into ranges of about ``n_nodes`` nodes; none is empty."""
    start, stop = offsets[first], offsets[last]
    n_ranges = max(1, round((stop - start) / n_nodes))
    if n_ranges == 1:  # as for a single sample, where the rest would take longer than the work
        return [(first, last)] if first < last else []
    goals = start + np.arange(1, n_ranges) * ((stop - start) / n_ranges)
    cuts = np.unique(np.concatenate([[first], np.searchsorted(offsets, goals), [last]]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def run(
    function: Callable[[int, int], _Result], ranges: list[tuple[int, int]], n_jobs: int
) -> list[_Result]:
    """Call ``function(first, last)`` for each range, in threads if ``n_jobs`` is not 1, in order."""
    n_jobs = min(check_jobs(n_jobs), len(ranges))  # more threads would have no work
    if n_jobs <= 1:
        return [function(first, last) for first, last in ranges]
    from joblib import Parallel, delayed

    tasks = (delayed(function)(first, last) for first, last in ranges)
    return list(Parallel(n_jobs=n_jobs, backend="threading")(tasks))
