r"""Sums of local entropies in place of the entropy: what makes inference affordable.

**Beliefs instead of probabilities.**  Only the entropy needs all of ``p``.  The mean score needs only
the marginals of ``p``.  So keep *beliefs* :math:`b_v, b_\alpha` that agree on the nodes.  Replace the
entropy by a weighted sum of the entropies of the beliefs, with *counting numbers* ``c`` as weights
(Eq. 8):

.. math:: \max_b \sum_v b_v^\top \phi_v + \sum_\alpha b_\alpha^\top \phi_\alpha
          + \epsilon \Big( \sum_\alpha c_\alpha H(b_\alpha) + \sum_v c_v H(b_v) \Big) .

Without cycles, Bethe's numbers :math:`c_\alpha = 1, c_v = 1 - |N(v)|` make the sum exact, because
they subtract what the factors count more than once.  With cycles the sum is an approximation.  The
problem is concave if no counting number is negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medn_edu.theory.factor_graphs.graph import Beliefs, FactorGraph, entropy


@dataclass(frozen=True, eq=False)
class CountingNumbers:
    """How often each local entropy counts."""

    node: np.ndarray  # ``c_v``
    factor: np.ndarray  # ``c_alpha``

    @classmethod
    def ones(cls, graph: FactorGraph) -> CountingNumbers:
        """Every entropy once: concave on every graph."""
        return cls(np.ones(graph.n_nodes), np.ones(graph.n_factors))

    @classmethod
    def bethe(cls, graph: FactorGraph) -> CountingNumbers:
        """``c_alpha = 1, c_v = 1 - |N(v)|``: exact where there are no cycles."""
        degrees = np.array([len(graph.factors_of(v)) for v in range(graph.n_nodes)])
        return cls(1.0 - degrees, np.ones(graph.n_factors))

    def hat(self, graph: FactorGraph, v: int) -> float:
        """Return the sum of ``c_v`` and the counting numbers of the node's factors."""
        return float(self.node[v] + self.factor[graph.factors_of(v)].sum())


def local_entropy(b: Beliefs, c: CountingNumbers) -> float:
    """Return ``sum c_alpha H(b_alpha) + sum c_v H(b_v)``."""
    nodes = sum(c_v * entropy(b_v) for c_v, b_v in zip(c.node, b.node, strict=True))
    return float(
        nodes + sum(c_a * entropy(b_a) for c_a, b_a in zip(c.factor, b.factor, strict=True))
    )


def local_value(graph: FactorGraph, b: Beliefs, c: CountingNumbers, epsilon: float) -> float:
    """Return what Eq. (8) maximises: the mean score plus ``epsilon`` times the local entropies."""
    pairs = zip((*graph.node, *graph.factor), (*b.node, *b.factor), strict=True)
    return float(sum(np.sum(phi * q) for phi, q in pairs) + epsilon * local_entropy(b, c))
