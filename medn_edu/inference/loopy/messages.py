r"""Messages, and three ways to send them.

Each node tells each of its edges what the edge doesn't know yet (Hazan and Urtasun 2010, Lemma 3):

.. math:: \mu_{\alpha \to v}(y_v) = \epsilon c_\alpha \ln \sum_{y_u}
          e^{(\phi_\alpha + \lambda_{u \to \alpha}) / \epsilon c_\alpha}, \qquad
          \lambda_{v \to \alpha} = \frac{c_\alpha}{\hat c_v} \Big( \phi_v + \sum_\beta \mu_{\beta \to v}
          \Big) - \mu_{\alpha \to v}, \qquad \hat c_v = c_v + \sum_\alpha c_\alpha .

Where nothing can overflow, *powers* ``exp(message / t)`` are multiplied instead, because that needs
fewer logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from medn_edu.inference.loopy.counting import ConcaveForm, CountingNumbers
from medn_edu.inference.loopy.graphs import GraphPotentials, Tempered
from medn_edu.inference.loopy.solutions import disagreement
from medn_edu.kernels import norm_product as kernels

SAFE = 300.0  # exponents up to which powers are multiplied without overflow
_LEAST = 1e-300  # smallest power of a label that is allowed


@dataclass(eq=False)
class MessageState:
    """Messages on samples with the same edges, sent by one node after the other."""

    potentials: GraphPotentials
    numbers: CountingNumbers
    epsilon: float
    messages: np.ndarray  # (2 n_edges, n_labels, n_samples)
    back: bool = False  # whether the next sweep goes from the last node to the first

    def __post_init__(self) -> None:
        graphs = self.potentials.graphs
        self.totals = self.numbers.totals(graphs)
        # A node without edges, whose entropy may not count, sends no messages.
        is_wrong = (self.totals < 0) | (self.totals == 0) & (graphs.degrees > 0)
        if is_wrong.any():
            v = int(np.argmax(is_wrong))
            raise ValueError(
                f"counting_numbers add up to {self.totals[v]:.3g} at node {v} of sample "
                f"{graphs.samples[0]} and its edges; expected a positive sum."
            )
        self.shares = np.repeat(self.numbers.edge, 2) / self.totals[graphs.ends.ravel()]
        self.beliefs = np.empty_like(self.potentials.node)

    @property
    def temperatures(self) -> np.ndarray:
        """Temperature of each edge."""
        return self.epsilon * self.numbers.edge

    def tempered(self) -> Tempered:
        """Potentials of the edges at their temperatures."""
        return self.potentials.tempered(self.temperatures)

    def sweep(self, n_sweeps: int = 1) -> None:
        """Let each node send its messages, ``n_sweeps`` times."""
        edges = self.tempered()
        if self.are_powers_safe(edges):
            self._sweep_powers(edges, n_sweeps)
            return
        for _ in range(n_sweeps):
            self.sweep_logs(edges, self.messages)

    def sweep_logs(self, edges: Tempered, new: np.ndarray, damping: float = 0.0) -> None:
        """Send all messages once, into an array that may be the old one."""
        kernels.sweep_of_logs(
            *self.potentials.graphs.slots, *edges, self.potentials.node, self.messages, new,
            self.shares, damping, self.beliefs, self.epsilon * self.totals, self.back,
        )  # fmt: skip
        self.messages, self.back = new, not self.back

    def are_powers_safe(self, edges: Tempered) -> bool:
        """Whether the powers that a node receives can be multiplied without overflow or underflow."""
        return self.reach(edges) < SAFE

    def reach(self, edges: Tempered) -> float:
        """Return the largest exponent among the powers a node receives; infinite without powers."""
        if not (self.epsilon > 0 and (self.numbers.edge > 0).all() and (self.totals > 0).all()):
            return np.inf
        lowest = edges.tables.min(axis=(1, 2), initial=np.inf)
        with np.errstate(invalid="ignore"):  # where all pairs are forbidden
            spread = (edges.peaks - lowest)[edges.kinds].max(axis=1) / self.temperatures
        sums = self.potentials.graphs.onto_ends(np.repeat(spread, 2) * np.maximum(self.shares, 1.0))
        if (self.numbers.node < 0).any():  # then the bound magnifies what small powers lose
            node = self.potentials.node
            lowest = np.where(node > -np.inf, node, np.inf).min(axis=1)
            sums += (node.max(axis=1) - lowest).max(axis=1) / (self.epsilon * self.totals)
        return float(np.nan_to_num(sums, nan=np.inf).max(initial=0.0))

    def _sweep_powers(self, edges: Tempered, n_sweeps: int) -> None:
        powers, _ = edges.powers_of(self.messages)
        self.sweep_powers(edges, powers, n_sweeps)
        self._take_powers(powers)

    def _take_powers(self, powers: np.ndarray) -> None:
        """Take the logarithms of powers, in place, as messages."""
        ends, ruled_out = self.potentials.graphs.ends.ravel(), self.potentials.node == -np.inf
        np.log(np.maximum(powers, _LEAST, out=powers), out=powers)
        powers *= np.repeat(self.temperatures, 2)[:, None, None]
        if ruled_out.any():
            powers[ruled_out[ends]] = -np.inf
        self.messages = powers

    def sweep_powers(
        self,
        edges: Tempered,
        powers: np.ndarray,
        n_sweeps: int,
        new: np.ndarray | None = None,
        damping: float = 0.0,
    ) -> None:
        """Send powers ``exp(lambda / t)`` in place, instead of this state's own messages.

        With a ``new`` array all nodes send at once.  After an odd number of sweeps, ``new`` holds the
        messages.
        """
        graphs, node = self.potentials.graphs, self.potentials.node
        own = node / (self.epsilon * self.totals)[:, None, None]
        own -= own.max(axis=1, keepdims=True)
        told = np.empty((int(graphs.degrees.max(initial=0)) + 1, *node.shape[1:]))
        kernels.sweeps_of_powers(
            *graphs.slots, edges.kinds, edges.powers, np.exp(own, out=own), powers,
            powers if new is None else new, self.shares, damping, self.beliefs, told, n_sweeps,
            self.back,
        )  # fmt: skip
        self.back ^= n_sweeps % 2 == 1

    def edge_beliefs(self, values: np.ndarray | None = None) -> np.ndarray:
        """Return the beliefs of the edges, (n_edges, n_labels, n_labels, n_samples).

        The edges' terms in Theorem 2 are added to ``values``.
        """
        values = np.zeros(self.potentials.node.shape[2]) if values is None else values
        return self.tempered().beliefs(self.messages, values)

    def terms(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Add Theorem 2's terms to ``values``; return the beliefs that follow from Lemma 4."""
        node = np.empty_like(self.potentials.node)
        kernels.node_terms(
            *self.potentials.graphs.slots, self.potentials.node, self.messages,
            self.epsilon * self.numbers.node, node, values,
        )  # fmt: skip
        return node, self.edge_beliefs(values)

    def disagreement(self) -> float:
        """Return the largest difference between a node's belief and that of one of its edges."""
        return disagreement(self.potentials.graphs, self.beliefs, self.edge_beliefs())

    def decode(self) -> tuple[np.ndarray, int]:
        """Return the best labels, (n_nodes, n_samples), and the number of nodes where several tied."""
        graphs = self.potentials.graphs
        labels = np.empty(graphs.nodes.shape, dtype=np.int64)
        n_ties = kernels.decode_labels(
            *graphs.slots, graphs.ends.ravel(), *self.tempered(), self.potentials.node, self.messages,
            labels,
        )  # fmt: skip
        return labels, n_ties


@dataclass(eq=False)
class DampedState(MessageState):
    """Messages that all nodes send at once, each mixed with a share of the old one."""

    damping: float = 0.5

    def sweep(self, n_sweeps: int = 1) -> None:
        """Let all nodes send their messages, ``n_sweeps`` times."""
        edges, spare = self.tempered(), np.empty_like(self.messages)
        if self.are_powers_safe(edges):
            powers, _ = edges.powers_of(self.messages)
            self.sweep_powers(edges, powers, n_sweeps, spare, self.damping)
            if n_sweeps % 2 == 1:
                powers, spare = spare, powers
            # One more sweep, whose messages are dropped, gives the beliefs of nodes for these messages.
            self.sweep_powers(edges, powers, 1, spare)
            self._take_powers(powers)
            return
        for _ in range(n_sweeps):
            old = self.messages
            self.sweep_logs(edges, spare, self.damping)
            spare = old
        sent = self.messages  # those of one more sweep are dropped, only its beliefs are kept
        self.sweep_logs(edges, spare)
        self.messages = sent


@dataclass(eq=False)
class ConditionalState(MessageState):
    """Messages for a bound with conditional entropies, which no update of a node ever raises."""

    form: ConcaveForm = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        hard, parts = np.repeat(self.form.edge, 2), self.form.parts
        kept = hard + parts.reshape(-1, 2)[:, ::-1].ravel()  # c'_a and the other end's c_va
        # Where beliefs agree, the message to an edge is in these proportions to that of plain sweeps.
        self.kept = (kept / (kept + parts))[:, None, None]
        self.own = self.kept * self.messages
        slots = np.arange(len(self.messages)) ^ 1
        others = np.where(self.messages > -np.inf, self.messages, 0.0)[slots]
        self.far = (self.kept - 1.0) * others

    def sweep(self, n_sweeps: int = 1) -> None:
        """Let each node send its messages, ``n_sweeps`` times."""
        phi, form, edges = self.potentials, self.form, self.tempered()
        widths = form.node + phi.graphs.onto_ends(np.repeat(form.edge, 2))
        for _ in range(n_sweeps):
            kernels.sweep_with_conditionals(
                *phi.graphs.slots, *edges, phi.node, self.own, self.far, self.epsilon, form.edge,
                form.parts, widths, self.beliefs, self.back,
            )  # fmt: skip
            self.back = not self.back
        self.messages = self.own / self.kept
