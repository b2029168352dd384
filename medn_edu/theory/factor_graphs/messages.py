"""Messages: inference on a factor graph without looking at all labellings.

``messages.md`` explains the theory, with its formulas typeset.
"""

from typing import Protocol

import numpy as np

from medn_edu.theory.factor_graphs.entropies import CountingNumbers
from medn_edu.theory.factor_graphs.graph import (
    Beliefs,
    FactorGraph,
    Messages,
    distribution,
    soft_max,
)


class Update(Protocol):
    """A rule for the messages from one node."""

    def __call__(
        self, graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float, v: int, /
    ) -> Messages:
        """Return the messages from node ``v``, given all others."""


def zero_messages(graph: FactorGraph) -> Messages:
    """Return messages that are all zero."""
    return {(v, a): np.zeros(len(graph.node[v])) for v, a in graph.edges}


def message_to_node(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float, a: int, v: int
) -> np.ndarray:
    r"""Return :math:`\mu_{\alpha \to v}` of Lemma 3."""
    axis = graph.scopes[a].index(v)
    others = tuple(i for i in range(graph.factor[a].ndim) if i != axis)
    return soft_max(_reweighted(graph, lam, a, but=v), epsilon * c.factor[a], others)


def messages_from_node(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float, v: int
) -> Messages:
    r"""Return the best :math:`\lambda_{v \to \alpha}` of one node, given those of the others (Lemma 3).

    Each message is normalised to sum 0, which changes no belief.  If all counting numbers of the node
    and of its factors are 0, ones are used instead.
    """
    factors = graph.factors_of(v)
    shares = np.array([c.node[v], *c.factor[factors]])
    if not shares.any():
        shares = np.ones(len(shares))
    if shares.sum() == 0:
        raise ValueError(f"c of node {v} and its factors add up to 0; expected another sum.")
    mu = [message_to_node(graph, lam, c, epsilon, a, v) for a in factors]
    total = graph.node[v] + sum(mu)
    new = [s / shares.sum() * total - mu_a for s, mu_a in zip(shares[1:], mu, strict=True)]
    return {(v, a): message - message.mean() for a, message in zip(factors, new, strict=True)}


def sweep(
    graph: FactorGraph,
    lam: Messages,
    c: CountingNumbers,
    epsilon: float,
    update: Update = messages_from_node,
) -> Messages:
    """Return the messages after every node has sent its best messages, one node after another."""
    for v in range(graph.n_nodes):
        lam = lam | update(graph, lam, c, epsilon, v)
    return lam


def norm_product(
    graph: FactorGraph,
    c: CountingNumbers,
    epsilon: float,
    *,
    n_sweeps: int = 200,
    tolerance: float = 1e-13,
    update: Update = messages_from_node,
) -> Messages:
    """Send messages until they no longer change."""
    lam = zero_messages(graph)
    for _ in range(n_sweeps):
        before, lam = lam, sweep(graph, lam, c, epsilon, update)
        if max(np.abs(lam[key] - before[key]).max() for key in lam) <= tolerance:
            break
    return lam


def decomposed_soft_max(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float
) -> float:
    """Return the sum of local soft-maxes that replaces ``ln Z_epsilon`` in Theorem 2."""
    nodes = [soft_max(_rest(graph, lam, v), epsilon * c.node[v]) for v in range(graph.n_nodes)]
    factors = [
        soft_max(_reweighted(graph, lam, a), epsilon * c.factor[a]) for a in range(graph.n_factors)
    ]
    return float(sum(nodes) + sum(factors))


def beliefs(graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float) -> Beliefs:
    """Return the beliefs that follow from messages, as in Lemma 4."""
    return Beliefs(
        tuple(
            distribution(_rest(graph, lam, v), epsilon * c.node[v]) for v in range(graph.n_nodes)
        ),
        tuple(
            distribution(_reweighted(graph, lam, a), epsilon * c.factor[a])
            for a in range(graph.n_factors)
        ),
    )


def node_beliefs(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float
) -> tuple[np.ndarray, ...]:
    r"""Return the nodes' beliefs from what the factors send them, as in section 2.2.

    :math:`b_v \propto \exp\{(\phi_v + \sum_\alpha \mu_{\alpha \to v}) / \epsilon \hat c_v\}`.  At
    convergence these are the beliefs of Lemma 4.  They make sense even where ``c_v`` is 0, as it is at
    a leaf with Bethe's numbers.
    """
    found = []
    for v in range(graph.n_nodes):
        mu = [message_to_node(graph, lam, c, epsilon, a, v) for a in graph.factors_of(v)]
        found.append(distribution(graph.node[v] + sum(mu), epsilon * c.hat(graph, v)))
    return tuple(found)


def _rest(graph: FactorGraph, lam: Messages, v: int) -> np.ndarray:
    """What remains of a node's potentials after its messages."""
    return graph.node[v] - sum(lam[v, a] for a in graph.factors_of(v))


def _reweighted(graph: FactorGraph, lam: Messages, a: int, but: int | None = None) -> np.ndarray:
    """A factor's potentials and the messages to it, but not the one from ``but``."""
    table = graph.factor[a]
    for axis, u in enumerate(graph.scopes[a]):
        if u != but:
            shape = [-1 if i == axis else 1 for i in range(table.ndim)]
            table = table + lam[u, a].reshape(shape)
    return table
