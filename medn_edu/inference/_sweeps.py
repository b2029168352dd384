"""The two sweeps of the sum over labellings, a few samples at a time, scaled or in the log domain.

`sweep` takes `Sweeps`, the scratch space of one thread, over all samples.  Exponentials are taken by
numpy, on whole arrays between the kernels, where they are vectorised.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from medn_edu.inference.groups import cut, groups, run
from medn_edu.inference.potentials import Potentials, check_possible
from medn_edu.kernels import marginalize as kernels
from medn_edu.samples.structures import Packed

_THREAD = threading.local()
_KEPT_NUMBERS = 1 << 19  # of a thread's scratch space: 4 MB
_CHUNK_NUMBERS = 1 << 17  # that are worked on at a time: 1 MB, to stay in a processor's cache
_BLAS_ALONE = 1 << 18  # multiplications for which OpenBLAS stays in the calling thread
_MANY_KINDS = 20  # of edges, which are not worth a product each
_NO_PAIRS = np.empty((0, 0, 0))


@dataclass(frozen=True, eq=False)
class TemperedEdge:
    """Edge potentials divided by the temperature, less their maxima, in the forms sweeps need.

    The maxima are those over the parent's labels; sweeps give them to the nodes, so that nothing is
    lost.  It keeps exponentials as large as they can be.
    """

    epsilon: float
    shift: np.ndarray  # (n_edge_types, n_labels): the maxima taken away
    log: np.ndarray
    exp: np.ndarray
    exp_t: np.ndarray  # transposed: [type, child's label, parent's label]
    log_exp: np.ndarray  # the product of both, 0 where a transition is forbidden
    is_low: bool  # whether an allowed transition is too unlikely to be exponentiated

    @classmethod
    def of(cls, edge: np.ndarray, epsilon: float) -> TemperedEdge:
        """Prepare edge potentials."""
        shift = edge.max(axis=1)
        shift[shift == -np.inf] = 0.0
        with np.errstate(over="ignore"):
            log = (edge - shift[:, None, :]) * inverse(epsilon)
        exp = np.where(log > kernels.LOG_LEAST, np.exp(log), 0.0)
        exp_t = np.array(exp.transpose(0, 2, 1), order="C")
        log_exp = np.where(exp > 0, log, 0.0) * exp
        is_low = bool((np.isfinite(log) & (log < kernels.LOG_TINY)).any())
        return cls(epsilon, shift, log, exp, exp_t, log_exp, is_low)


class Sweeps:
    """Upward and downward sweeps over one group of samples, one of its ``chunks`` after the other.

    `up` goes to a chunk and sets ``nodes``, the range of its nodes, and ``where``, its forest and range
    of samples as kernels take them.  Then `down` fills ``marginal`` for the same chunk.  ``edge_counts``
    sums up the edge marginals of all chunks.  ``node_rows`` is room for the potentials of a chunk.  All
    scratch space belongs to the thread, whose next sweeps overwrite it.  To keep marginals without
    copying them, replace ``marginal`` before `down` by rows of an array.
    """

    def __init__(self, packed: Packed, edge: TemperedEdge, first: int, last: int) -> None:
        self.packed, self.edge = packed, edge
        n_labels = edge.log.shape[1]
        self.chunks = cut(packed.offsets, first, last, max(1.0, _CHUNK_NUMBERS / (4 * n_labels)))
        n_rows = max(int(packed.offsets[b] - packed.offsets[a]) for a, b in self.chunks)
        self._space = _thread_space(4 * n_rows * n_labels).reshape(4, n_rows, n_labels)
        self.node_rows = self._space[3]
        self.edge_counts = np.zeros_like(edge.log)

    def up(self, node: np.ndarray, first: int, last: int) -> np.ndarray:
        """Sweep up over a chunk and return log-partitions; ``node`` has a row for each of its nodes."""
        edge, n_samples = self.edge, last - first
        start, stop = self.packed.offsets[[first, last]].tolist()
        self.nodes, self.where = slice(start, stop), (*self.packed.forest, first, last)
        belief, message, self.marginal = self._space[:3, : stop - start]
        lost = np.empty(n_samples, dtype=np.bool_)
        self._belief, self._message, self._lost = belief, message, lost
        shift, log_norm = np.empty(n_samples), np.empty(n_samples)

        def centre(wanted: np.ndarray, low: np.ndarray) -> None:
            """Write potentials into the beliefs of the samples wanted; tell which have low ones."""
            given = node, start, inverse(edge.epsilon), edge.shift
            kernels.centre(*given, *self.where, wanted, belief, shift, low)

        everyone = np.ones(n_samples, dtype=np.bool_)
        centre(everyone, lost)
        if edge.is_low:
            lost[:] = True  # as long as nothing else is known
        np.exp(belief, out=belief)
        kernels.scaled_up(belief, message, edge.exp_t, *self.where, log_norm, lost)
        if lost.any():
            centre(lost, everyone)  # overwritten; which of them are low does not matter here
            kernels.log_up(belief, edge.log, *self.where, lost, log_norm)
        with np.errstate(over="ignore", invalid="ignore"):
            return shift + edge.epsilon * log_norm

    def down(
        self,
        weight: np.ndarray,
        edge_marginal: np.ndarray | None = None,
        entropy: np.ndarray | None = None,
    ) -> None:
        """Sweep down: fill ``marginal``, and add edge marginals times weights to ``edge_counts``.

        ``weight`` is that of all samples.  If given, ``edge_marginal`` is filled with a table for each
        node of the chunk, and ``entropy`` with a number for each of its samples.
        """
        edge, belief, quotient, lost = self.edge, self._belief, self._message, self._lost
        kernels.scaled_down(belief, quotient, edge.exp, *self.where, lost, self.marginal)
        if entropy is not None:
            terms = belief, quotient, self.marginal, edge.log_exp
            kernels.scaled_entropies(*terms, *self.where, lost, entropy)
        if lost.any():
            kernels.log_down(
                belief, edge.log, *self.where, lost, weight, self.marginal, self.edge_counts,
                _NO_PAIRS if edge_marginal is None else edge_marginal, edge_marginal is not None,
                np.empty(len(lost)) if entropy is None else entropy,
            )  # fmt: skip
            is_lost = self._per_node(lost)
            belief[is_lost] = quotient[is_lost] = 0.0  # nothing for what follows to add
        types = self.packed.edge_kinds[self.nodes]
        if edge_marginal is not None:
            edge_marginal += quotient[:, :, None] * edge.exp[types] * belief[:, None, :]
        *_, first, last = self.where
        if (weight[first:last] != 1.0).any():
            quotient *= self._per_node(weight[first:last])[:, None]
        if len(self.edge_counts) > _MANY_KINDS:
            pairs = quotient[:, :, None] * edge.exp[types] * belief[:, None, :]
            np.add.at(self.edge_counts, types, pairs)
            return
        is_single = len(self.edge_counts) == 1
        for k in [0] if is_single else np.unique(types):
            nodes = slice(None) if is_single else types == k
            self.edge_counts[k] += _product(quotient[nodes], belief[nodes]) * edge.exp[k]

    def log_belief(self) -> np.ndarray:
        """Return the logarithms of the beliefs of `up`, each row up to a constant."""
        is_log = self._per_node(self._lost)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(is_log, self._belief, np.log(self._belief))

    def _per_node(self, per_sample: np.ndarray) -> np.ndarray:
        """Repeat what belongs to each sample of the chunk for each of its nodes."""
        *_, offsets, first, last = self.where
        return np.repeat(per_sample, np.diff(offsets[first : last + 1]))


def sweep(
    potentials: Potentials,
    epsilon: float,
    n_jobs: int,
    visit: Callable[[Sweeps], object] = lambda sweeps: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sweep up over all samples, and call ``visit`` after each chunk.

    Returns the samples' log-partitions, and the edge counts that visits have added up.
    """
    packed, tempered = potentials.samples.forests.packed, TemperedEdge.of(potentials.edge, epsilon)
    log_sums = np.empty(potentials.samples.n_samples)

    def each(first: int, last: int) -> np.ndarray:
        sweeps = Sweeps(packed, tempered, first, last)
        for a, b in sweeps.chunks:
            rows = slice(*packed.offsets[[a, b]])
            log_sums[a:b] = sweeps.up(potentials.node[rows], a, b)
            visit(sweeps)
        return sweeps.edge_counts

    counts = reduce(np.add, run(each, groups(potentials.samples), n_jobs))
    check_possible(log_sums)
    return log_sums, counts


def _thread_space(size: int) -> np.ndarray:
    """Return so many numbers of scratch space, the same ones each time if not too many.

    Memory that is given back after every group of samples has to be mapped anew for the next one,
    which can cost as much as the sweeps themselves.
    """
    space = getattr(_THREAD, "space", None)
    if space is None or space.size < size:
        space = np.empty(size)
        if size <= _KEPT_NUMBERS:
            _THREAD.space = space
    return space[:size]


def _product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x^T y`` by pieces so small that BLAS starts no threads of its own for them.

    Those would get in the way of ours, and of each other.
    """
    n_rows = max(1, _BLAS_ALONE // (x.shape[1] * y.shape[1]))
    total = x[:n_rows].T @ y[:n_rows]
    for start in range(n_rows, len(x), n_rows):
        rows = slice(start, start + n_rows)
        total += x[rows].T @ y[rows]
    return total


def inverse(epsilon: float) -> float:
    """Return ``1 / epsilon``, at most the largest float."""
    return float(min(1.0 / epsilon, np.finfo(np.float64).max))
