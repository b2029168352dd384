"""The two sweeps of the sum over labellings, a few samples at a time, scaled or in the log domain.

`Sweeps` is the scratch space of one thread, and `sweep` takes it over all samples.  Exponentials are
taken by numpy, on whole arrays between the kernels, where they are vectorised.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from medn_edu.inference._groups import chunks, groups, run
from medn_edu.inference.features import sum_in_order
from medn_edu.inference.potentials import Potentials, check_possible
from medn_edu.kernels import marginalize as kernels
from medn_edu.samples.structures import Packed

__all__ = ["Sweeps", "TemperedEdge", "inverse", "sweep"]

_THREAD = threading.local()
_KEPT_NUMBERS = 1 << 19  # 4 MB
_BLAS_ALONE = 1 << 18
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
    """Upward and downward sweeps over the samples ``first <= i < last``: `up`, then perhaps `down`.

    They go chunk by chunk (``chunks``).  ``node_rows`` and ``marginal_rows`` are uninitialised room
    for a row of labels at each node of the longest chunk.  All scratch space belongs to the thread,
    whose next sweeps overwrite it.  ``edge_counts`` sums up the weighted edge marginals.
    """

    def __init__(self, packed: Packed, edge: TemperedEdge, first: int, last: int) -> None:
        self._packed, self._edge = packed, edge
        n_labels = edge.log.shape[1]
        self.chunks = chunks(packed.offsets, first, last, 4 * n_labels)
        n_rows = max(int(packed.offsets[b] - packed.offsets[a]) for a, b in self.chunks)
        size = n_rows * n_labels
        self._belief, self._message, self.node_rows, self.marginal_rows = _thread_space(4 * size)[
            : 4 * size
        ].reshape(4, n_rows, n_labels)
        self.edge_counts = np.zeros_like(edge.log)

    def up(self, node: np.ndarray, offset: int, first: int, last: int) -> np.ndarray:
        """Sweep up and return log-partitions; node ``t`` has the potentials ``node[t - offset]``."""
        edge, forest = self._edge, self._packed.forest
        everyone = np.ones(last - first, dtype=np.bool_)
        shift, log_norm = np.empty(last - first), np.empty(last - first)
        self._lost = np.empty(last - first, dtype=np.bool_)
        self._centre(node, offset, first, last, everyone, shift, self._lost)
        if edge.is_low:
            self._lost[:] = True  # as long as nothing else is known
        belief = self._belief[self._rows(first, last)]
        np.exp(belief, out=belief)
        kernels.scaled_up(
            belief, self._message, edge.exp_t, *forest, first, last, log_norm, self._lost
        )
        if self._lost.any():
            low = everyone  # who is low does not matter here
            self._centre(node, offset, first, last, self._lost, shift, low)
            kernels.log_up(belief, edge.log, *forest, first, last, self._lost, log_norm)
        with np.errstate(over="ignore", invalid="ignore"):
            return shift + edge.epsilon * log_norm

    def down(
        self,
        first: int,
        last: int,
        weight: np.ndarray,
        marginal: np.ndarray,
        edge_marginal: np.ndarray | None = None,
        entropy: np.ndarray | None = None,
    ) -> None:
        """Sweep down, after `up` on the same samples.

        Fills ``marginal`` and, if given, ``edge_marginal``, with a row for each node of the chunk,
        and adds to ``edge_counts``; writes the samples' entropies into ``entropy[first:last]``.
        """
        edge, forest = self._edge, self._packed.forest
        rows = self._rows(first, last)
        belief, quotient = self._belief[rows], self._message[rows]
        kernels.scaled_down(belief, quotient, edge.exp, *forest, first, last, self._lost, marginal)
        found = np.empty(last - first)
        if entropy is not None:
            kernels.scaled_entropies(
                belief, quotient, marginal, edge.log_exp, *forest, first, last, self._lost, found
            )
        if self._lost.any():
            kernels.log_down(
                belief, edge.log, *forest, first, last, self._lost, weight, marginal,
                self.edge_counts, _NO_PAIRS if edge_marginal is None else edge_marginal,
                edge_marginal is not None, found,
            )  # fmt: skip
            done = self._lost_rows(first, last)
            belief[done] = quotient[done] = 0.0  # nothing for what follows to add
        if entropy is not None:
            entropy[first:last] = found
        start, stop = self._packed.offsets[[first, last]]
        types = self._packed.edge_types[start:stop]
        if edge_marginal is not None:
            edge_marginal += quotient[:, :, None] * edge.exp[types] * belief[:, None, :]
        self._count(belief, quotient, types, first, last, weight)

    def log_belief(self, first: int, last: int) -> np.ndarray:
        """Return, after `up`, the logarithms of its beliefs, each row up to a constant."""
        belief = self._belief[self._rows(first, last)]
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm = np.log(belief)
        lost = self._lost_rows(first, last)
        logarithm[lost] = belief[lost]  # are logarithms already
        return logarithm

    def _count(
        self,
        belief: np.ndarray,
        quotient: np.ndarray,
        types: np.ndarray,
        first: int,
        last: int,
        weight: np.ndarray,
    ) -> None:
        """Add ``sum_t weight q_t[a] exp(edge[a, b]) v_t[b]`` to the counts of each edge type."""
        if (weight[first:last] != 1.0).any():
            lengths = np.diff(self._packed.offsets[first : last + 1])
            quotient *= np.repeat(weight[first:last], lengths)[:, None]
        if len(self.edge_counts) == 1:
            self.edge_counts[0] += _product(quotient, belief) * self._edge.exp[0]
            return
        for k in np.unique(types):
            nodes = types == k
            self.edge_counts[k] += _product(quotient[nodes], belief[nodes]) * self._edge.exp[k]

    def _centre(
        self,
        node: np.ndarray,
        offset: int,
        first: int,
        last: int,
        wanted: np.ndarray,
        shift: np.ndarray,
        low: np.ndarray,
    ) -> None:
        """Fill the beliefs of the samples wanted with potentials; say which have low ones."""
        kernels.centre(
            node, offset, inverse(self._edge.epsilon), self._edge.shift, *self._packed.forest,
            first, last, wanted, self._belief, shift, low,
        )  # fmt: skip

    def _lost_rows(self, first: int, last: int) -> np.ndarray:
        """Return the positions of the nodes of lost samples."""
        lengths = np.diff(self._packed.offsets[first : last + 1])
        return np.flatnonzero(np.repeat(self._lost, lengths))

    def _rows(self, first: int, last: int) -> slice:
        """Rows of the nodes of samples ``first <= i < last``."""
        start, stop = self._packed.offsets[[first, last]].tolist()
        return slice(0, stop - start)


def sweep(
    potentials: Potentials,
    epsilon: float,
    n_jobs: int,
    visit: Callable[[Sweeps, int, int], object] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sweep up over all samples and call ``visit(sweeps, first, last)`` after each chunk.

    Returns the samples' log-partitions, and the edge counts that visits have added up.
    """
    samples, tempered = potentials.samples, TemperedEdge.of(potentials.edge, epsilon)
    log_sums = np.empty(samples.n_samples)

    def each(first: int, last: int) -> np.ndarray:
        sweeps = Sweeps(samples.packed, tempered, first, last)
        for a, b in sweeps.chunks:
            log_sums[a:b] = sweeps.up(potentials.node, 0, a, b)
            if visit is not None:
                visit(sweeps, a, b)
        return sweeps.edge_counts

    counts = sum_in_order(run(each, groups(samples), n_jobs))
    check_possible(log_sums)
    return log_sums, counts


def _thread_space(size: int) -> np.ndarray:
    """Return at least ``size`` numbers of scratch space, the same ones each time if not too many.

    Memory that is given back after every group of samples has to be mapped anew for the next one,
    which can cost as much as the sweeps themselves.
    """
    space = getattr(_THREAD, "space", None)
    if space is None or space.size < size:
        space = np.empty(size)
        if size <= _KEPT_NUMBERS:
            _THREAD.space = space
    return space


def _product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x^T y`` by pieces so small that BLAS starts no threads of its own for them.

    Those would get in the way of ours, and of each other.  (OpenBLAS stays in the calling thread up
    to 2 ** 18 multiplications.)
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
