r"""Factor graphs, with every question about them answered by enumeration.

A *factor graph* (Hazan and Urtasun 2010, section 2.2) has nodes ``v``, each with a few labels.  It
also has factors ``alpha``, each over two or more of the nodes.  A labelling has the score

.. math:: F(\hat y) = \sum_v \phi_v(\hat y_v) + \sum_\alpha \phi_\alpha(\hat y_\alpha) .

**One function between sum and max.**  The soft-max at temperature :math:`\epsilon` (Eq. 2),

.. math:: \ln Z_\epsilon = \epsilon \ln \sum_{\hat y} e^{F(\hat y) / \epsilon}
          = \max_p \sum_{\hat y} p(\hat y) F(\hat y) + \epsilon H(p) \qquad \text{(Eq. 6)},

is the log-partition at :math:`\epsilon = 1` and the best score at :math:`\epsilon = 0`.  The sum has
exponentially many terms, and ``p`` has just as many entries.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

Messages = dict[tuple[int, int], np.ndarray]
"""Messages ``lambda`` from node ``v`` to factor ``a``, by ``(v, a)``, one number a label."""


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Nodes, factors and their potentials."""

    node: tuple[np.ndarray, ...]  # potentials ``phi_v`` of each node's labels
    scopes: tuple[tuple[int, ...], ...]  # nodes of each factor, all different
    factor: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        for a, (scope, table) in enumerate(zip(self.scopes, self.factor, strict=True)):
            shape = tuple(len(self.node[v]) for v in scope)
            if len(set(scope)) < len(scope) or table.shape != shape:
                raise ValueError(
                    f"factor[{a}] has shape {table.shape}; expected {shape}, one axis for each of "
                    f"the different nodes {scope}."
                )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node)

    @property
    def n_factors(self) -> int:
        """Number of factors."""
        return len(self.scopes)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Edges of the factor graph, (node, factor), node by node."""
        return [(v, a) for v in range(self.n_nodes) for a in self.factors_of(v)]

    def factors_of(self, v: int) -> list[int]:
        """Factors of node ``v``: its neighbours ``N(v)``."""
        return [a for a, scope in enumerate(self.scopes) if v in scope]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """A distribution over the labels of every node, and one over the labels of every factor."""

    node: tuple[np.ndarray, ...]  # ``b_v``, shaped as the nodes' potentials
    factor: tuple[np.ndarray, ...]  # ``b_alpha``, shaped as the factors' potentials

    def disagreement(self, graph: FactorGraph) -> Messages:
        """Factors' beliefs about a node less the node's own: ``sum b_alpha - b_v`` for each edge."""
        return {
            (v, a): _onto(self.factor[a], graph.scopes[a].index(v)) - self.node[v]
            for v, a in graph.edges
        }


# -- soft-max -------------------------------------------------------------------------------------


def soft_max(z: np.ndarray, temperature: float, axes: tuple[int, ...] | None = None) -> np.ndarray:
    """Return ``t ln sum exp(z / t)``, the maximum at ``t = 0``.

    A negative temperature gives a soft minimum.  So does the float ``-0.0``, the limit of negative
    temperatures.  It arises as ``epsilon * c`` with ``epsilon = 0`` and ``c < 0``.

    >>> z = np.log([1.0, 3.0])
    >>> np.exp([soft_max(z, 1.0), soft_max(z, 0.0), soft_max(z, -0.0)])
    array([4., 3., 1.])
    """
    sign = math.copysign(1.0, temperature)
    peak = sign * np.max(sign * z, axis=axes, keepdims=True)
    if temperature != 0:
        total = np.exp((z - peak) / temperature).sum(axis=axes, keepdims=True)
        peak = peak + temperature * np.log(total)
    return np.squeeze(peak, axis=axes)


def distribution(z: np.ndarray, temperature: float) -> np.ndarray:
    """Return the slope of the soft-max: ``exp(z / t)``, normalised."""
    sign = math.copysign(1.0, temperature)
    peak = sign * np.max(sign * z)
    p = np.exp((z - peak) / temperature) if temperature != 0 else np.isclose(z, peak, 0, 1e-12)
    return p / p.sum()


def entropy(p: np.ndarray) -> float:
    """Return the entropy ``-sum p ln p``."""
    positive = p[p > 0]
    return float(-positive @ np.log(positive))


# -- by enumeration -------------------------------------------------------------------------------


def labellings(graph: FactorGraph) -> np.ndarray:
    """Return all labellings, one per row, in lexicographic order."""
    return np.array(list(itertools.product(*(range(len(phi)) for phi in graph.node))))


def scores(graph: FactorGraph) -> np.ndarray:
    """Return the scores of all labellings."""
    every = labellings(graph)
    total = sum(phi[every[:, v]] for v, phi in enumerate(graph.node))
    for scope, table in zip(graph.scopes, graph.factor, strict=True):
        total = total + table[tuple(every[:, v] for v in scope)]
    return np.asarray(total)


def log_partition(graph: FactorGraph, epsilon: float = 1.0) -> float:
    """Return ``ln Z_epsilon`` of Eq. (2) by enumeration."""
    return float(soft_max(scores(graph), epsilon))


def probabilities(graph: FactorGraph, epsilon: float = 1.0) -> np.ndarray:
    """Return the probability of every labelling, Eq. (5)."""
    return distribution(scores(graph), epsilon)


def marginals(graph: FactorGraph, p: np.ndarray) -> Beliefs:
    """Return the marginals of a distribution over labellings."""
    joint = p.reshape([len(phi) for phi in graph.node])

    def of(scope: tuple[int, ...]) -> np.ndarray:
        others = tuple(set(range(graph.n_nodes)) - set(scope))
        ascending = sorted(scope)
        return joint.sum(axis=others).transpose([ascending.index(v) for v in scope])

    nodes = tuple(of((v,)) for v in range(graph.n_nodes))
    return Beliefs(nodes, tuple(of(scope) for scope in graph.scopes))


def _onto(table: np.ndarray, axis: int) -> np.ndarray:
    """Sums over all axes but one."""
    return table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
