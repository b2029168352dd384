"""What the questions share: checked arguments, arrays fit for kernels, and threads over samples.

Work is cut into *groups* of samples by the data alone, never by the number of threads, and what
groups return is joined in their order.  So results are the same, bit for bit, however many threads
work.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np

from medn_edu.checks import as_numbers, check_jobs, check_nonnegative
from medn_edu.samples import Samples

__all__ = [
    "check_edge",
    "check_epsilon",
    "check_labels",
    "check_node",
    "check_possible",
    "check_table",
    "check_weight",
    "chunks",
    "groups",
    "run",
]

_N_GROUPS = 16  # at most; enough to keep the cores of a desktop busy
_GROUP_NODES = 2048  # and at least so many nodes each, or starting them costs more than they do
_CHUNK_NUMBERS = 1 << 17  # float64 numbers that are worked on at a time: 1 MB, to stay in cache

_Result = TypeVar("_Result")


def _fit(array: np.ndarray, dtype: type) -> np.ndarray:
    return np.require(array, dtype=dtype, requirements=["C", "A", "W"])


def groups(samples: Samples, most: int = _N_GROUPS) -> list[tuple[int, int]]:
    """Cut samples into at most ``most`` ranges ``first, last`` of about as many nodes."""
    n_groups = max(1, min(most, samples.n_nodes // _GROUP_NODES))
    return _ranges(samples.offsets, 0, samples.n_samples, samples.n_nodes / n_groups)


def chunks(
    offsets: np.ndarray, first: int, last: int, numbers_per_node: int
) -> list[tuple[int, int]]:
    """Cut samples ``first <= i < last`` into ranges whose numbers fit into a processor's cache."""
    return _ranges(offsets, first, last, max(1.0, _CHUNK_NUMBERS / numbers_per_node))


def _ranges(offsets: np.ndarray, first: int, last: int, n_nodes: float) -> list[tuple[int, int]]:
    """Cut samples where their nodes pass a multiple of ``n_nodes``; no range is empty."""
    start, stop = offsets[first], offsets[last]
    n_ranges = max(1, round((stop - start) / n_nodes))
    goals = start + np.arange(1, n_ranges) * ((stop - start) / n_ranges)
    cuts = np.unique(np.concatenate([[first], np.searchsorted(offsets, goals), [last]]))
    cuts = cuts[(cuts >= first) & (cuts <= last)]
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


# -- checks -------------------------------------------------------------------------------------


def _numbers(name: str, values: np.ndarray) -> np.ndarray:
    try:
        return _fit(as_numbers(values), np.float64)
    except TypeError as what:
        raise TypeError(f"{name} holds {what}; expected real numbers.") from None


def check_node(samples: Samples, node: np.ndarray) -> np.ndarray:
    """Return node potentials fit for kernels; +inf and NaN are refused."""
    node = check_table(samples, "node", node)
    with np.errstate(all="ignore"):
        suspicious = not np.isfinite(node.sum())  # one quick pass, which -inf fails too
    if suspicious:
        bad = np.flatnonzero((np.isnan(node) | (node == np.inf)).any(axis=1))
        if len(bad):
            raise ValueError(
                f"node holds NaN or +inf in sample {samples.sample_of_node[bad[0]]}; "
                "expected numbers, or -inf for a label that is not allowed."
            )
    return node


def check_table(samples: Samples, name: str, values: np.ndarray) -> np.ndarray:
    """Return an array with a row of numbers per node, fit for kernels."""
    table = _numbers(name, values)
    if table.ndim != 2 or table.shape[0] != samples.n_nodes or table.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {table.shape}; expected ({samples.n_nodes}, n_labels), "
            "one row of numbers per node."
        )
    return table


def check_edge(samples: Samples, edge: np.ndarray, n_labels: int) -> np.ndarray:
    """Return edge potentials fit for kernels; +inf and NaN are refused."""
    edge = _numbers("edge", edge)
    if edge.shape[1:] != (n_labels, n_labels) or edge.shape[0] < samples.n_edge_types:
        raise ValueError(
            f"edge has shape {edge.shape}; expected ({samples.n_edge_types}, {n_labels}, "
            f"{n_labels}), one table of potentials per edge type."
        )
    if np.isnan(edge).any() or (edge == np.inf).any():
        raise ValueError(
            "edge holds NaN or +inf; expected numbers, or -inf for a forbidden transition."
        )
    return edge


def check_labels(samples: Samples, labels: np.ndarray, n_labels: int) -> np.ndarray:
    """Return label codes as int64, within range, one per node."""
    labels = np.asarray(labels)
    if labels.shape != (samples.n_nodes,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"labels has shape {labels.shape} and type {labels.dtype}; "
            f"expected {samples.n_nodes} label codes, one integer per node."
        )
    bad = np.flatnonzero((labels < 0) | (labels >= n_labels))
    if len(bad):
        raise ValueError(
            f"labels of sample {samples.sample_of_node[bad[0]]} hold the code {labels[bad[0]]}; "
            f"expected codes from 0 to {n_labels - 1}."
        )
    return _fit(labels, np.int64)


def check_weight(samples: Samples, weight: np.ndarray | None) -> np.ndarray:
    """Return one float64 per sample; ones by default."""
    if weight is None:
        return np.ones(samples.n_samples)
    weight = _numbers("sample_weight", weight)
    if weight.shape != (samples.n_samples,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected ({samples.n_samples},), "
            "one per sample."
        )
    return weight


def check_epsilon(epsilon: float) -> float:
    """Return the temperature as a float; it must be finite and not negative."""
    return check_nonnegative("epsilon", epsilon)


def check_possible(score: np.ndarray) -> None:
    """Refuse samples whose best score or log-partition is -inf, or too large for a float."""
    bad = np.flatnonzero(~np.isfinite(score))
    if not len(bad):
        return
    if score[bad[0]] == -np.inf:
        raise ValueError(
            f"sample {bad[0]} has no allowed labelling: forbidden transitions rule out every one; "
            "expected at least one."
        )
    raise ValueError(
        f"sample {bad[0]} has a score that is not finite ({score[bad[0]]}); expected potentials "
        "small enough to be added up."
    )
