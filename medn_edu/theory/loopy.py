r"""What the kernels for graphs with cycles compute, in a few plain lines each.

The functions take a `FactorGraph` in which every factor is an edge between two nodes.  The messages of
Lemma 3 are in `medn_edu.theory.factor_graphs.messages`.  This file has what the paper leaves out.

**Conditional entropies.**  Counting numbers such as those of tree-reweighted messages are negative at
nodes.  The sum of entropies is still concave where beliefs agree, because it can be written as

.. math:: \sum_\alpha c'_\alpha H(b_\alpha) + \sum_v c'_v H(b_v)
          + \sum_{v, \alpha} c_{v \alpha} \{ H(b_\alpha) - H(b_v) \}

without a negative number (Heskes 2006).  Each term gets its own copy of the beliefs that it uses.
Messages :math:`\lambda_{v \to \alpha}(y_\alpha)`, which are now tables, make the copies equal (Hazan and
Shashua 2010).  With these messages `conditional_bound` bounds the local program, and
`conditional_update` minimises the bound over the messages of one node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medn_edu.theory.factor_graphs.graph import (
    FactorGraph,
    Messages,
    distribution,
    soft_max,
)


@dataclass(frozen=True, eq=False)
class Conditionals:
    """Counting numbers, none of them negative."""

    node: np.ndarray  # ``c'_v``
    factor: np.ndarray  # ``c'_alpha``
    parts: dict[tuple[int, int], float]  # ``c_v,alpha`` by (node, factor)


def _across(graph: FactorGraph, a: int, v: int) -> tuple[int, np.ndarray]:
    """The other end of an edge, and its table with the labels of ``v`` first."""
    first, second = graph.scopes[a]
    return (second, graph.factor[a]) if v == first else (first, graph.factor[a].T)


def conditional_bound(graph: FactorGraph, lam: Messages, c: Conditionals, epsilon: float) -> float:
    """Return a bound on the local program; ``lam[v, a]`` is a table with the labels of ``v`` first."""
    total = 0.0
    for v in range(graph.n_nodes):
        rest = graph.node[v]
        for a in graph.factors_of(v):
            rest = rest + soft_max(-lam[v, a], epsilon * c.parts[v, a], (1,))
        total += float(soft_max(rest, epsilon * c.node[v]))
    for a, (first, second) in enumerate(graph.scopes):
        table = graph.factor[a] + lam[first, a] + lam[second, a].T
        total += float(soft_max(table, epsilon * c.factor[a]))
    return total


def conditional_update(
    graph: FactorGraph, lam: Messages, c: Conditionals, epsilon: float, v: int
) -> tuple[Messages, np.ndarray]:
    """Return the best messages of node ``v``, given those of other nodes, and the belief of ``v``."""
    total, heard = graph.node[v], {}
    for a in graph.factors_of(v):
        u, table = _across(graph, a, v)
        given = table + lam[u, a].T
        heard[a] = given, soft_max(given, epsilon * (c.factor[a] + c.parts[v, a]), (1,))
        total = total + heard[a][1]
    width = c.node[v] + sum(c.factor[a] for a in heard)
    new = {}
    for a, (given, mu) in heard.items():
        part = c.parts[v, a] / (c.factor[a] + c.parts[v, a])
        own = c.factor[a] / width * total - (1.0 - part) * mu
        new[v, a] = own[:, None] - part * given
    return lam | new, distribution(total, epsilon * width)


def mean_field_update(
    graph: FactorGraph, beliefs: list[np.ndarray], epsilon: float, v: int
) -> np.ndarray:
    """Return the best belief of node ``v``, given those of other nodes, if all nodes are independent."""
    total = graph.node[v]
    for a in graph.factors_of(v):
        u, table = _across(graph, a, v)
        total = total + table @ beliefs[u]
    return distribution(total, epsilon)


def mean_field_value(graph: FactorGraph, beliefs: list[np.ndarray], epsilon: float) -> float:
    """Return the mean score under independent nodes, plus ``epsilon`` times their entropy."""
    value = 0.0
    for phi, b in zip(graph.node, beliefs, strict=True):
        value += float(b @ phi - epsilon * b[b > 0] @ np.log(b[b > 0]))
    for (u, v), table in zip(graph.scopes, graph.factor, strict=True):
        value += float(beliefs[u] @ table @ beliefs[v])
    return value


def decode(graph: FactorGraph, mu: Messages) -> tuple[list[int], int]:
    """Return each node's best label given the messages to it, and how many nodes had several.

    Nodes with a single best label are decided first.  Then each of the other nodes in turn takes the
    best of its tied labels.  For neighbours that are already decided, the potentials of the edge replace
    the neighbour's message.
    """
    labels, tied = [-1] * graph.n_nodes, {}
    for v in range(graph.n_nodes):
        total = graph.node[v] + sum(mu[v, a] for a in graph.factors_of(v))
        near = 1e-7 * max(1.0, abs(total.max()))
        best = np.flatnonzero(total >= total.max() - near)
        if len(best) == 1:
            labels[v] = int(best[0])
        else:
            tied[v] = best
    for v, best in tied.items():
        total = graph.node[v]
        for a in graph.factors_of(v):
            u, table = _across(graph, a, v)
            total = total + (mu[v, a] if labels[u] < 0 else table[:, labels[u]])
        labels[v] = int(best[np.argmax(total[best])])
    return labels, len(tied)


def powers(messages: np.ndarray, temperature: np.ndarray) -> np.ndarray:
    """Return ``exp(lambda / t)``, scaled so that the largest of each message is 1."""
    return np.exp((messages - messages.max(axis=1, keepdims=True)) / temperature)
