"""Messages as variables of an optimiser: one call sweeps, and computes the bound and its slopes.

Here the messages of a set of equal graphs are a flat vector.  Adding a number to a message changes
nothing, so its entry for the first label is 0 and is left out.
"""

from __future__ import annotations

import numpy as np

from medn_edu.inference.loopy.graphs import Tempered
from medn_edu.inference.loopy.messages import SAFE, MessageState
from medn_edu.kernels import local_gradient as kernels

_WIDEST = 600.0  # exponent up to which powers multiply without overflow
_FLOOR = 1e-2  # least curvature along a message, times its temperature


class MessageWalk:
    """Sweeps and slopes of the bound of Theorem 2, on equal graphs with positive counting numbers.

    ``told`` says for each message which labels its node may have.
    """

    def __init__(self, state: MessageState, weight: np.ndarray, told: np.ndarray) -> None:
        self.state, self.weight, self.told = state, weight, told
        self.edges = state.tempered()
        self.reach = state.reach(self.edges)
        self.shape = self.told[:, 1:].shape
        self.size = self.told[:, 1:].size

    def messages(self, vector: np.ndarray) -> np.ndarray:
        """Return the messages of a vector, (2 n_edges, n_labels, n_samples)."""
        messages = np.zeros(self.told.shape)
        messages[:, 1:] = vector.reshape(self.shape)
        messages[~self.told] = -np.inf
        return messages

    def sweep_and_evaluate(
        self,
        vector: np.ndarray,
        n_sweeps: int,
        slopes: np.ndarray,
        bends: np.ndarray,
        pair_sums: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sweep the messages of a vector in place; return the samples' bounds and the nodes' beliefs.

        Slopes and curvature along each message are written, and beliefs of edges are added up by kind.
        """
        found = None
        if self.reach < SAFE:
            found = self._by_powers(self.edges, vector, n_sweeps, slopes, bends, pair_sums)
        return found or self._by_logs(self.edges, vector, n_sweeps, slopes, bends, pair_sums)

    def _by_powers(
        self,
        edges: Tempered,
        vector: np.ndarray,
        n_sweeps: int,
        slopes: np.ndarray,
        bends: np.ndarray,
        pair_sums: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Multiply powers; return None if a product of them could overflow."""
        state, phi, numbers = self.state, self.state.potentials, self.state.numbers
        given, powers = vector.reshape(self.shape), np.empty(self.told.shape)
        kernels.powers_of_messages(given, state.temperatures, self.told, powers)
        state.sweep_powers(edges, powers, n_sweeps)
        sent = np.empty(self.shape)
        kernels.messages_of_powers(powers, state.temperatures, self.told, sent)
        widest = phi.graphs.onto_ends(np.abs(sent).max(axis=(1, 2)))
        if not (widest < _WIDEST * state.epsilon * numbers.node).all():
            return None
        given[:] = sent
        node = phi.node / (state.epsilon * numbers.node)[:, None, None]
        peak = node.max(axis=1)
        values, beliefs = np.zeros(phi.node.shape[2]), np.empty_like(node)
        kernels.value_and_slopes(
            *phi.graphs.slots, phi.graphs.ends.ravel(), phi.kinds, edges.kinds, edges.powers,
            edges.peaks, np.exp(node - peak[:, None]), peak, powers, state.epsilon * numbers.node,
            state.temperatures, self.weight, _FLOOR, values, beliefs, slopes.reshape(self.shape),
            bends.reshape(self.shape), pair_sums, np.empty((3, *phi.node.shape[1:])),
        )  # fmt: skip
        return values, beliefs

    def _by_logs(
        self,
        edges: Tempered,
        vector: np.ndarray,
        n_sweeps: int,
        slopes: np.ndarray,
        bends: np.ndarray,
        pair_sums: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Do the same in logarithms, where powers would overflow."""
        state, graphs, n_labels = self.state, self.state.potentials.graphs, self.told.shape[1]
        state.messages = self.messages(vector)
        for _ in range(n_sweeps):
            state.sweep_logs(edges, state.messages)
        first = np.where(self.told[:, :1], state.messages[:, :1], 0.0)
        with np.errstate(invalid="ignore"):
            sent = np.where(self.told[:, 1:], state.messages[:, 1:] - first, 0.0)
        vector[:] = sent.ravel()
        values = np.zeros(self.told.shape[2])
        node, edge = state.terms(values)
        marginals = np.stack([edge.sum(axis=2), edge.sum(axis=1)], axis=1).reshape(self.told.shape)
        p, q = marginals[:, 1:], node[graphs.ends.ravel(), 1:]
        t = np.repeat(state.temperatures, 2)[:, None, None]
        slopes[:] = (self.weight * (p - q)).ravel()
        bends[:] = (self.weight * (p * (1.0 - p) + q * (1.0 - q) + _FLOOR) / t).ravel()
        kinds = np.broadcast_to(state.potentials.kinds, (graphs.n_edges, len(self.weight)))
        weighted = (edge * self.weight).transpose(0, 3, 1, 2)
        np.add.at(pair_sums, kinds.ravel(), weighted.reshape(-1, n_labels, n_labels))
        return values, node
