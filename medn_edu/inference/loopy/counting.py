"""Counting numbers: how often each local entropy counts, and whether their sum is concave.

The entropy of a distribution over labellings is replaced by ``sum_v c_v H(b_v) + sum_a c_a H(b_a)``,
over nodes ``v`` and edges ``a`` (Hazan and Urtasun 2010, Eq. 8).  The numbers may be negative, because
the sum only has to be concave *where beliefs agree*.  There an edge's entropy minus that of one of its
ends is a conditional entropy, which is concave.  So the sum is concave if the numbers can be written as

    c_v = c'_v - sum_a c_va,        c_a = c'_a + sum_v c_va,

where ``c'_v``, ``c'_a`` and ``c_va`` are not negative (Heskes 2006).  A small linear program
checks this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from medn_edu.checks import check_choice, shown
from medn_edu.inference.loopy.graphs import EqualGraphs

_MARGIN = 0.05  # distance of convexified numbers from numbers that are not concave
_ROUNDING = 1e-9  # below which a number counts as 0


@dataclass(frozen=True, eq=False)
class CountingNumbers:
    """How often the entropy of each node and each edge of a graph counts.

    Parameters
    ----------
    node : ndarray of shape (n_nodes,)
        ``c_v``.
    edge : ndarray of shape (n_edges,)
        ``c_a``, not negative.
    """

    node: np.ndarray
    edge: np.ndarray

    @classmethod
    def of(cls, choice: Any, graphs: EqualGraphs) -> CountingNumbers:
        """Return the numbers meant by a name, a pair ``(c_v, c_a)`` or the default."""
        if isinstance(choice, CountingNumbers):
            return choice.fitting(graphs)
        if choice is None:
            return _bethe(graphs) if graphs.is_forest else _ones(graphs)
        if isinstance(choice, str):
            check_choice("counting_numbers", choice, NAMED)
            return _named(choice, graphs.n_nodes, graphs.ends.tobytes())
        node, edge = check_pair(choice)
        return cls(np.full(graphs.n_nodes, node), np.full(graphs.n_edges, edge))

    def fitting(self, graphs: EqualGraphs) -> CountingNumbers:
        """Return these numbers if they are valid and fit these graphs."""
        shapes, expected = (
            (self.node.shape, self.edge.shape),
            ((graphs.n_nodes,), (graphs.n_edges,)),
        )
        if shapes != expected:
            raise ValueError(
                f"counting_numbers have shapes {shapes} for nodes and edges; expected {expected}, those "
                f"of sample {graphs.samples[0]}."
            )
        if not (
            np.isfinite(self.node).all() and (self.edge >= 0).all() and (self.edge < np.inf).all()
        ):
            raise ValueError(
                "counting_numbers hold NaN, infinity or a negative number for an edge; expected finite "
                "numbers, not negative for edges."
            )
        return self

    def totals(self, graphs: EqualGraphs) -> np.ndarray:
        """Return ``c_v + sum_a c_a`` of each node and its edges."""
        return self.node + graphs.onto_ends(np.repeat(self.edge, 2))

    def concave_form(self, graphs: EqualGraphs) -> ConcaveForm | None:
        """Write these numbers without a negative term, or return None if that can't be done.

        If there are several ways, take the one with the largest minimum of ``c'``, because smooth
        bounds are easier to lower.
        """
        if (self.node > 0).all() and (self.edge > 0).all():
            return ConcaveForm(self.node, self.edge, np.zeros(2 * graphs.n_edges))
        own = self.node.tobytes(), self.edge.tobytes()
        return _concave_form(graphs.n_nodes, graphs.ends.tobytes(), *own)


@dataclass(frozen=True, eq=False)
class ConcaveForm:
    """Counting numbers as a sum of entropies and conditional entropies, none of them negative."""

    node: np.ndarray  # c'_v
    edge: np.ndarray  # c'_a
    parts: np.ndarray  # (2 n_edges,), c_va by slot

    @property
    def is_plain(self) -> bool:
        """Whether there are no conditional entropies."""
        return not self.parts.any()


@lru_cache(maxsize=32)
def _concave_form(n_nodes: int, ends: bytes, own: bytes, shared: bytes) -> ConcaveForm | None:
    """Solve the linear program, once for each graph and its numbers."""
    graphs = EqualGraphs.of_edges(n_nodes, ends)
    node, edge, n_ends = np.frombuffer(own), np.frombuffer(shared), 2 * graphs.n_edges
    if node.sum() + edge.sum() < 0:  # the sum of all c'
        return None
    slots, ones = np.arange(n_ends), np.ones(n_ends)
    taken = sp.csr_matrix((ones, (graphs.ends.ravel(), slots)), (graphs.n_nodes, n_ends))
    given = sp.csr_matrix((ones, (slots // 2, slots)), (graphs.n_edges, n_ends))
    # smallest <= c_v + taken, smallest <= c_a - given
    rest = sp.csr_matrix(np.ones((graphs.n_nodes + graphs.n_edges, 1)))
    A = sp.hstack([sp.vstack([-taken, given]), rest], format="csr")
    found = linprog(
        np.append(np.zeros(n_ends), -1.0), A, np.concatenate([node, edge]),
        bounds=[(0, None)] * n_ends + [(None, 1.0)], method="highs-ipm",
    )  # fmt: skip
    if found.status != 0 or found.x[-1] < -_ROUNDING:
        return None
    parts = np.maximum(found.x[:-1], 0.0)
    return ConcaveForm(
        np.maximum(node + taken @ parts, 0.0),
        np.maximum(edge - given @ parts, 0.0),
        parts,
    )


@lru_cache(maxsize=32)
def _named(name: str, n_nodes: int, ends: bytes) -> CountingNumbers:
    """Compute numbers once for each graph."""
    return NAMED[name](EqualGraphs.of_edges(n_nodes, ends))


def check_pair(choice: Any) -> tuple[float, float]:
    """Return a pair of counting numbers as floats."""
    try:
        node, edge = map(float, choice)
    except (TypeError, ValueError):
        node = edge = np.nan
    if not (np.isfinite(node) and np.isfinite(edge) and edge >= 0):
        raise ValueError(
            f"counting_numbers is {shown(choice)}; expected {', '.join(map(repr, NAMED))}, or a pair "
            "(c_v, c_a) of numbers for nodes and edges, the second not negative."
        )
    return node, edge


def _ones(graphs: EqualGraphs) -> CountingNumbers:
    return CountingNumbers(np.ones(graphs.n_nodes), np.ones(graphs.n_edges))


def _conditional(graphs: EqualGraphs) -> CountingNumbers:
    return CountingNumbers(np.zeros(graphs.n_nodes), np.ones(graphs.n_edges))


def _bethe(graphs: EqualGraphs) -> CountingNumbers:
    return CountingNumbers(1.0 - graphs.degrees, np.ones(graphs.n_edges))


def _trw(graphs: EqualGraphs) -> CountingNumbers:
    """Count each edge by its probability in a random spanning tree, the same for all of a component.

    Such trees exist if no part of the component is denser than the whole, as in grids: a part of k
    nodes may have at most (k - 1) / (n - 1) of all edges.  Otherwise these numbers don't bound the
    soft-max from above.
    """
    first, (n_parts, part) = graphs.ends[:, 0], graphs.components
    n_edges = np.bincount(part[first], minlength=n_parts)
    rho = (np.bincount(part, minlength=n_parts) - 1) / np.maximum(n_edges, 1)
    edge = rho[part[first]]
    return CountingNumbers(1.0 - graphs.onto_ends(np.repeat(edge, 2)), edge)


def _convexified_bethe(graphs: EqualGraphs) -> CountingNumbers:
    """Return the numbers closest to Bethe's that are concave with a margin (Meltzer et al. 2009).

    If ``c_v = 1 - sum_a c_a`` at every node, numbers are concave if each node shares out at most 1
    among its edges, and ``c_a`` is the sum of what an edge gets from both ends.  Projected gradient
    steps with momentum find those closest to ``c_a = 1``.
    """
    if graphs.is_forest:
        return _bethe(graphs)
    ends, (starts, slots) = graphs.ends.ravel(), graphs.slots
    margins = _MARGIN / (1.0 + graphs.degrees)
    kept = margins[graphs.ends].min(axis=1)  # c'_a, for which both ends pay
    budget = 1.0 - margins - graphs.onto_ends(np.repeat(kept, 2))
    # one row of shares per node, as wide as the largest degree; entries without an edge stay at 0
    owner = ends[slots]
    column = np.arange(len(slots)) - starts[owner]
    shares = np.zeros((graphs.n_nodes, int(graphs.degrees.max())))
    exists = np.zeros(shares.shape, dtype=bool)
    exists[owner, column] = True
    at = np.empty((2, len(slots)), dtype=np.int64)
    at[:, slots] = owner, column
    point, momentum = shares, 1.0
    for _ in range(2000):
        of_edge = point[at[0], at[1]].reshape(-1, 2).sum(axis=1) + kept - 1.0
        moved = point.copy()
        moved[at[0], at[1]] -= 0.5 * np.repeat(of_edge, 2)
        new = _onto_budgets(moved, exists, budget)
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        change = np.abs(new - shares).max()
        point, shares, momentum = new + (momentum - 1.0) / faster * (new - shares), new, faster
        if change < 1e-10:
            break
    edge = shares[at[0], at[1]].reshape(-1, 2).sum(axis=1) + kept
    return CountingNumbers(1.0 - graphs.onto_ends(np.repeat(edge, 2)), edge)


def _onto_budgets(values: np.ndarray, exists: np.ndarray, budget: np.ndarray) -> np.ndarray:
    """Project each row onto what is not negative and adds up to at most its budget."""
    clipped = np.where(exists, np.maximum(values, 0.0), 0.0)
    ranked = -np.sort(-np.where(exists, values, -np.inf), axis=1)
    excess = (np.cumsum(np.where(ranked > -np.inf, ranked, 0.0), axis=1) - budget[:, None]) / (
        np.arange(values.shape[1]) + 1
    )
    n_kept = (ranked > excess).sum(axis=1)
    level = excess[np.arange(len(values)), np.maximum(n_kept, 1) - 1]
    onto = np.where(exists, np.maximum(values - level[:, None], 0.0), 0.0)
    return np.where((clipped.sum(axis=1) > budget)[:, None], onto, clipped)


NAMED: dict[str, Callable[[EqualGraphs], CountingNumbers]] = {
    "ones": _ones,
    "conditional": _conditional,
    "trw": _trw,
    "bethe": _bethe,
    "convexified-bethe": _convexified_bethe,
}
"""Counting numbers by name."""
