r"""Formulas for messages and beliefs as the paper prints them, to see what they do.

Each one is wrong, though it differs only a little from the correct one in
`medn_edu.theory.factor_graphs.messages`.  Only the errata and the checks of statements use them.
"""

import numpy as np

from medn_edu.theory.factor_graphs.entropies import CountingNumbers
from medn_edu.theory.factor_graphs.graph import FactorGraph, Messages, distribution
from medn_edu.theory.factor_graphs.messages import message_to_node


def messages_of_section_2(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float, v: int
) -> Messages:
    r"""Return messages from a node as section 2.2 prints them: the product leaves ``alpha`` out."""
    mu = _all_mu(graph, lam, c, epsilon, v)
    hat = c.hat(graph, v)
    total = graph.node[v] + sum(mu.values())
    return _normalised({(v, a): c.factor[a] / hat * (total - mu[a]) - mu[a] for a in mu})


def messages_of_the_proof(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float, v: int
) -> Messages:
    r"""Return messages from a node with ``mu`` as Lemma 3's proof defines it, without ``epsilon``."""
    mu = {a: each / epsilon for a, each in _all_mu(graph, lam, c, epsilon, v).items()}
    total = graph.node[v] + sum(mu.values())
    return _normalised({(v, a): c.factor[a] / c.hat(graph, v) * total - mu[a] for a in mu})


def messages_with_any_numbers(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float, v: int
) -> Messages:
    r"""Return messages from a node, with ones in place of counting numbers that are 0.

    Lemma 3 says that any positive numbers work.  They do at :math:`\epsilon = 0`, and where all
    counting numbers of the node and its factors are 0.
    """
    other = CountingNumbers(*(np.where(each == 0, 1.0, each) for each in (c.node, c.factor)))
    mu = _all_mu(graph, lam, c, epsilon, v)
    total = graph.node[v] + sum(mu.values())
    hat = other.hat(graph, v)
    return _normalised({(v, a): other.factor[a] / hat * total - mu[a] for a in mu})


def node_beliefs_of_section_2(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float
) -> tuple[np.ndarray, ...]:
    r"""Return the nodes' beliefs as section 2.2 prints them, to the power :math:`1 / \epsilon c_v`."""
    found = []
    for v in range(graph.n_nodes):
        total = graph.node[v] + sum(_all_mu(graph, lam, c, epsilon, v).values())
        found.append(distribution(total, epsilon * c.node[v]))
    return tuple(found)


def _all_mu(
    graph: FactorGraph, lam: Messages, c: CountingNumbers, epsilon: float, v: int
) -> dict[int, np.ndarray]:
    """What all factors send to a node."""
    return {a: message_to_node(graph, lam, c, epsilon, a, v) for a in graph.factors_of(v)}


def _normalised(lam: Messages) -> Messages:
    """Messages less their means, which changes no belief."""
    return {edge: message - message.mean() for edge, message in lam.items()}
