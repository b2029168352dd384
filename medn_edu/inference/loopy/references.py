"""Exact answers for graphs with cycles, as far as they can be computed.

* `enumerate_labellings` lists every labelling, so it can handle only the smallest graphs.
* `transfer_matrix` handles narrow graphs of any length, such as grids of ten columns.
* `min_cut` finds the best labelling if there are two labels and neighbours attract each other.
* `local_polytope` solves the linear program that message passing at temperature 0 aims at.

They are written in plain numpy and scipy.  The first three are exact for the problem over labellings.
The linear program relaxes that problem, so its value is an upper bound on the best score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import breadth_first_order, maximum_flow, reverse_cuthill_mckee

from medn_edu.checks import check_nonnegative
from medn_edu.inference.loopy.beliefs import Beliefs
from medn_edu.inference.potentials import Potentials, check_possible
from medn_edu.samples import GraphSamples

_MOST_LABELLINGS = 2**16  # of one sample, that are enumerated
_MOST_STATES = 2**14  # of a frontier
_KEPT_NUMBERS = 2**22  # in the tables of samples that are eliminated together: 32 MB
_TIE = 1e-12  # of the size of all potentials: scores that differ by less are equally good
_UNLIMITED = 2**30 - 1  # more than any flow; two, in opposite directions, still fit into an int32
_ROUNDS = 3  # of flows; the flow of each is a few thousand times smaller than that of the last
_INTEGRAL = 1e-6  # HiGHS keeps constraints to 1e-7


@dataclass(frozen=True, eq=False)
class ExactMarginals:
    """What `enumerate_labellings` and `transfer_matrix` return.

    Parameters
    ----------
    value : ndarray of shape (n_samples,)
        Log-partition ``epsilon * log sum_y exp(F(y) / epsilon)``, the best score at temperature 0.
    beliefs : Beliefs
        Marginal probabilities.  At temperature 0 all labellings that score best are equally probable.
    """

    value: np.ndarray
    beliefs: Beliefs


@dataclass(frozen=True, eq=False)
class Cut:
    """What `min_cut` returns.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_nodes,)
        The labelling found for each sample, one label per node.
    score : ndarray of shape (n_samples,)
        Its score.
    most_lost : ndarray of shape (n_samples,)
        No labelling scores more than ``score + most_lost``.
    """

    labels: np.ndarray
    score: np.ndarray
    most_lost: np.ndarray


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What `local_polytope` returns.

    Parameters
    ----------
    value : ndarray of shape (n_samples,)
        Optimum of the linear program, never below the best score.
    beliefs : Beliefs
        A vertex where it is attained.
    is_integral : ndarray of bool, shape (n_samples,)
        Whether all beliefs are 0 or 1.  If so, they describe a best labelling.
    """

    value: np.ndarray
    beliefs: Beliefs
    is_integral: np.ndarray


@dataclass(frozen=True, eq=False)
class _Graph:
    """One sample: its potentials, and where its nodes and edges are among those of all samples."""

    node: np.ndarray  # (n, n_labels)
    ends: np.ndarray  # (m, 2), both ends of each edge, numbered within the sample
    tables: np.ndarray  # (m, n_labels, n_labels)
    nodes: slice
    edges: slice


def _graphs(potentials: Potentials) -> list[_Graph]:
    """Take samples apart; forests are graphs whose edges run from each parent to its child."""
    samples, graphs = potentials.samples, []
    if isinstance(samples, GraphSamples):
        ends, kinds = samples.edges, samples.edge_kinds
    else:
        parents = samples.forests.parents
        child = np.flatnonzero(parents >= 0)
        ends, kinds = np.column_stack([parents[child], child]), samples.edge_kinds[child]
    starts = np.searchsorted(samples.sample_of_node[ends[:, 0]], np.arange(samples.n_samples + 1))
    for own in zip(pairwise(samples.offsets), pairwise(starts), strict=True):
        nodes, edges = (slice(*map(int, limits)) for limits in own)
        tables = potentials.edge[kinds[edges]]
        graphs.append(
            _Graph(potentials.node[nodes], ends[edges] - nodes.start, tables, nodes, edges)
        )
    return graphs


def _no_beliefs(graphs: list[_Graph]) -> Beliefs:
    """Return beliefs to be filled in."""
    n_labels = graphs[0].node.shape[1]
    n_nodes, n_edges = graphs[-1].nodes.stop, graphs[-1].edges.stop
    return Beliefs(np.empty((n_nodes, n_labels)), np.empty((n_edges, n_labels, n_labels)))


# -- enumeration --------------------------------------------------------------------------------


def enumerate_labellings(potentials: Potentials, epsilon: float = 1.0) -> ExactMarginals:
    """Return log-partitions and marginals by enumerating all labellings.

    Parameters
    ----------
    potentials : Potentials
        Of graphs with at most 65,536 labellings each, such as binary grids of 4 x 4 nodes.
    epsilon : float, default=1.0
        Temperature; at 0 the value is the best score.

    Returns
    -------
    ExactMarginals

    Examples
    --------
    Three nodes in a circle, where each node prefers to differ from the other two.  In six of the eight
    labellings two pairs differ, so each pair differs with probability 2/3:

    >>> import numpy as np
    >>> from medn_edu.inference import Potentials
    >>> from medn_edu.samples import Graph, pack
    >>> samples = pack([Graph(np.ones((3, 1)), edges=[[0, 1], [1, 2], [0, 2]])])
    >>> potentials = Potentials(samples, np.zeros((3, 2)), [[[0.0, 1.0], [1.0, 0.0]]])
    >>> found = enumerate_labellings(potentials, epsilon=0.0)
    >>> found.value
    array([2.])
    >>> found.beliefs.edge[0].round(3)
    array([[0.167, 0.333],
           [0.333, 0.167]])
    """
    epsilon, n_labels = check_nonnegative("epsilon", epsilon), potentials.n_labels
    graphs = _graphs(potentials)
    beliefs, value = _no_beliefs(graphs), np.empty(len(graphs))
    for i, graph in enumerate(graphs):
        n = len(graph.node)
        if n_labels**n > _MOST_LABELLINGS:
            raise ValueError(
                f"sample {i} has {n_labels} ** {n} labellings; expected at most {_MOST_LABELLINGS} "
                "for enumeration.  For larger graphs that are narrow, use transfer_matrix."
            )
        score = np.zeros((1, n_labels**n))
        for v in range(n):
            _add(score, graph.node[None, v], n, (v,))
        for ends, table in zip(graph.ends, graph.tables, strict=True):
            _add(score, table[None], n, ends)
        value[i : i + 1] = _soft_max(score, epsilon, axis=1)
        p = _probabilities(score, epsilon, _ties(graph.node[None], graph.tables[None]))
        beliefs.node[graph.nodes] = [_sums(p, n_labels, n, (v,))[0] for v in range(n)]
        for e, ends in enumerate(graph.ends):
            beliefs.edge[graph.edges][e] = _sums(p, n_labels, n, ends)[0]
    check_possible(value)
    return ExactMarginals(value, beliefs)


# A table over the labels of n nodes has the shape (n_samples, n_labels ** n); the nodes are its axes.


def _apart(table: np.ndarray, n_labels: int, n_axes: int, *axes: int) -> np.ndarray:
    """View a table with some axes, given in ascending order, apart from those around them.

    Two axes give the shape (n_samples, before, n_labels, between, n_labels, after).
    """
    shape = [len(table)]
    for last, axis in pairwise([-1, *axes, n_axes]):
        shape += [n_labels ** int(axis - last - 1), n_labels]
    return table.reshape(shape[:-1])


def _add(table: np.ndarray, potential: np.ndarray, n_axes: int, axes: tuple[int, ...]) -> None:
    """Add potentials over one or two axes to a table; each sample has its own."""
    if axes[0] > axes[-1]:
        potential, axes = potential.swapaxes(1, 2), axes[::-1]
    others = tuple(range(1, 2 * len(axes) + 2, 2))
    apart = _apart(table, potential.shape[-1], n_axes, *axes)
    apart += np.expand_dims(potential, others)


def _sums(table: np.ndarray, n_labels: int, n_axes: int, axes: tuple[int, ...]) -> np.ndarray:
    """Sum a table over all but one or two axes."""
    ascending = sorted(axes)
    others = tuple(range(1, 2 * len(axes) + 2, 2))
    sums = _apart(table, n_labels, n_axes, *ascending).sum(axis=others)
    return sums if axes[0] == ascending[0] else sums.swapaxes(1, 2)


def _soft_max(z: np.ndarray, epsilon: float, axis: int) -> np.ndarray:
    """Return ``epsilon * log sum exp(z / epsilon)`` along an axis, the maximum at 0."""
    peak = z.max(axis=axis, keepdims=True)
    if epsilon > 0:
        finite = np.maximum(peak, np.finfo(np.float64).min)
        with np.errstate(divide="ignore", over="ignore"):
            peak = peak + epsilon * np.log(
                np.exp((z - finite) / epsilon).sum(axis=axis, keepdims=True)
            )
    return peak.squeeze(axis)


def _probabilities(score: np.ndarray, epsilon: float, ties: np.ndarray) -> np.ndarray:
    """Return the distribution over the states of each row; at 0 it is uniform over the best."""
    below = score - np.maximum(score.max(axis=1, keepdims=True), np.finfo(np.float64).min)
    with np.errstate(over="ignore"):
        p = np.exp(below / epsilon) if epsilon > 0 else (below >= -ties[:, None]).astype(float)
    total = p.sum(axis=1, keepdims=True)
    return np.divide(p, total, out=p, where=total > 0)


def _ties(node: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return by how much rounding may part scores of each sample that are equally good."""
    sizes = [np.where(np.isfinite(z), np.abs(z), 0.0) for z in (node, tables)]
    return _TIE * (sizes[0].max(axis=2).sum(axis=1) + sizes[1].max(axis=(2, 3)).sum(axis=1))


# -- elimination --------------------------------------------------------------------------------


def transfer_matrix(potentials: Potentials, epsilon: float = 1.0) -> ExactMarginals:
    """Return log-partitions and marginals by eliminating one node after the other.

    The nodes are visited in an order that leaves few visited nodes with unvisited neighbours.  These
    few are the *frontier*.  All that later steps need from earlier ones is a table over the frontier's
    labels, just as a chain needs a table over the last node's labels.  On a grid the frontier is one
    column.

    Parameters
    ----------
    potentials : Potentials
        Of graphs whose frontier has at most 16,384 states, such as grids of 14 rows or columns with
        two labels.  Nodes are visited in their own order, in the order of a grid's columns, or in
        that of Cuthill and McKee (1969), whichever has the narrowest frontier.  A sample's tables hold
        one number for each node and each state of the frontier.
    epsilon : float, default=1.0
        Temperature; at 0 the value is the best score.

    Returns
    -------
    ExactMarginals

    Examples
    --------
    How many 8 x 8 patterns of black and white have no two black neighbours?

    >>> import numpy as np
    >>> from medn_edu.inference import Potentials
    >>> from medn_edu.samples import grid, pack
    >>> samples = pack([grid(np.ones((8, 8)))])
    >>> found = transfer_matrix(Potentials(samples, np.zeros((64, 2)), [[[0, 0], [0, -np.inf]]]))
    >>> round(np.exp(found.value[0]))
    660647962955
    >>> found.beliefs.node[:2].round(3)  # a corner and its neighbour
    array([[0.686, 0.314],
           [0.766, 0.234]])
    """
    epsilon, n_labels = check_nonnegative("epsilon", epsilon), potentials.n_labels
    graphs = _graphs(potentials)
    beliefs, value = _no_beliefs(graphs), np.empty(len(graphs))
    alike: dict[tuple[int, bytes], list[int]] = {}
    for i, graph in enumerate(graphs):
        alike.setdefault((len(graph.node), graph.ends.tobytes()), []).append(i)
    for (n_nodes, _), every in alike.items():
        steps = _narrowest(n_nodes, graphs[every[0]].ends)
        width = max(step.n_axes for step in steps) - 1
        if n_labels**width > _MOST_STATES:
            raise ValueError(
                f"sample {every[0]} has a frontier of {width} nodes, {n_labels} ** {width} states; "
                f"expected at most {_MOST_STATES} states.  For wider graphs, use "
                "local_polytope, which gives an upper bound."
            )
        size = max(1, _KEPT_NUMBERS // (n_nodes * n_labels**width))
        for first in range(0, len(every), size):
            some = every[first : first + size]
            node = np.array([graphs[i].node for i in some])
            tables = np.array([graphs[i].tables for i in some])
            value[some], *marginals = _eliminate(steps, node, tables, epsilon)
            for i, own_node, own_edge in zip(some, *marginals, strict=True):
                beliefs.node[graphs[i].nodes], beliefs.edge[graphs[i].edges] = own_node, own_edge
    check_possible(value)
    return ExactMarginals(value, beliefs)


@dataclass(frozen=True)
class _Step:
    """One node enters the frontier; nodes that have no further neighbours leave it.

    The first axis of a step's table is the new node.  The others are the frontier, newest first.
    """

    node: int
    n_axes: int
    edges: tuple[tuple[int, tuple[int, int]], ...]  # of the node: number, and axes of both ends
    leaving: tuple[int, ...]  # axes, ascending


def _narrowest(n_nodes: int, ends: np.ndarray) -> list[_Step]:
    """Return the steps through all nodes in the best of a few orders."""
    # As given, and as the columns of a grid, if the nodes come row by row.
    widths = np.unique([1, *np.abs(ends[:, 0] - ends[:, 1])])
    given = np.arange(n_nodes)
    orders = [given.reshape(-1, w).T.ravel() for w in widths if n_nodes % w == 0]
    both = np.concatenate([ends, ends[:, ::-1]])
    graph = sp.csr_matrix((np.ones(len(both)), both.T), shape=(n_nodes, n_nodes))
    orders.append(reverse_cuthill_mckee(graph, symmetric_mode=True))
    every = (_steps(order, ends) for order in orders)
    return min(every, key=lambda steps: max(step.n_axes for step in steps))


def _steps(order: np.ndarray, ends: np.ndarray) -> list[_Step]:
    place = np.argsort(order)
    last = place.copy()  # where the last one of a node and its neighbours enters
    np.maximum.at(last, ends, place[ends[:, ::-1]])
    entering: list[list[int]] = [[] for _ in order]  # edges, by the place of their later end
    for e, k in enumerate(place[ends].max(axis=1)):
        entering[k].append(e)
    steps: list[_Step] = []
    frontier: list[int] = []
    for k, v in enumerate(order):
        axes = [int(v), *frontier]
        edges = [(e, (axes.index(ends[e, 0]), axes.index(ends[e, 1]))) for e in entering[k]]
        leaving = tuple(axis for axis, u in enumerate(axes) if last[u] <= k)
        steps.append(_Step(int(v), len(axes), tuple(edges), leaving))
        frontier = [u for u in axes if last[u] > k]
    return steps


def _eliminate(
    steps: list[_Step], node: np.ndarray, tables: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, node and edge marginals of samples with the same edges."""
    n_samples, _, n_labels = node.shape

    def add(table: np.ndarray, k: int) -> None:
        """Add the potentials of the entering node and of its edges."""
        _add(table, node[:, steps[k].node], steps[k].n_axes, (0,))
        for e, axes in steps[k].edges:
            _add(table, tables[:, e], steps[k].n_axes, axes)

    ties, states = _ties(node, tables), _states(steps, n_samples, n_labels, add, epsilon)
    if epsilon == 0:
        # A labelling is best if and only if all its states are those of best labellings.  So the
        # uniform distribution over the best ones is the one over all that avoid other states.
        other = {}
        for k, score in states:
            value = score.max(axis=1)
            other[k] = score < (value - ties)[:, None]

        def avoid(table: np.ndarray, k: int) -> None:
            table[other[k]] = -np.inf

        states = _states(steps, n_samples, n_labels, avoid, 1.0)
    node_beliefs, edge_beliefs = np.empty_like(node), np.empty_like(tables)
    for k, score in states:
        if epsilon > 0:
            value = _soft_max(score, epsilon, axis=1)
        p, step = _probabilities(score, epsilon or 1.0, ties), steps[k]
        node_beliefs[:, step.node] = _sums(p, n_labels, step.n_axes, (0,))
        for e, axes in step.edges:
            edge_beliefs[:, e] = _sums(p, n_labels, step.n_axes, axes)
    return value, node_beliefs, edge_beliefs


def _states(
    steps: list[_Step],
    n_samples: int,
    n_labels: int,
    add: Callable[[np.ndarray, int], None],
    epsilon: float,
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each step, the last one first, with the soft-max over all labellings of each state.

    ``add(table, k)`` adds to the table of step ``k`` what it contributes to the score.
    """
    before = [np.zeros((n_samples, 1))]  # soft-max over nodes that left, per state of the frontier
    for k, step in enumerate(steps):
        table = np.tile(before[k], n_labels)
        add(table, k)
        for gone, axis in enumerate(reversed(step.leaving)):
            apart = _apart(table, n_labels, step.n_axes - gone, axis)
            table = _soft_max(apart, epsilon, axis=2).reshape(n_samples, -1)
        before.append(table)
    after = np.zeros((n_samples, 1))  # soft-max over nodes to come
    for k in reversed(range(len(steps))):
        for axis in steps[k].leaving:
            apart = after.reshape(n_samples, n_labels**axis, 1, -1)
            after = np.repeat(apart, n_labels, axis=2).reshape(n_samples, -1)
        add(after, k)
        yield k, after + np.tile(before[k], n_labels)
        after = _soft_max(after.reshape(n_samples, n_labels, -1), epsilon, axis=1)


# -- minimum cut --------------------------------------------------------------------------------


def min_cut(potentials: Potentials) -> Cut:
    """Return the best labellings of binary graphs whose neighbours attract each other.

    A labelling cuts a network in two: nodes with label 0 are on the side of a source, and nodes with
    label 1 on the side of a sink.  The labelling's score is a constant minus the capacities that it
    cuts, so the best labelling is the smallest cut (Greig, Porteous and Seheult 1989).

    Scipy finds the largest flow, and with it the smallest cut, for capacities that are integers.  So the
    capacities are multiplied by a power of two and rounded down.  The power is as large as it can be
    while every flow stays below ``2 ** 29``, so that nothing overflows an int32.  Because capacities
    are rounded down, the exact ones have room for the same flow.  The capacities that are left are
    treated in the same way, twice more.  No labelling scores more than the constant minus the three
    flows together.  This bound, minus the score found, is ``most_lost``.  It is 0 for integers
    that are not too large, and computed as accurately as floats allow.  With ``n`` nodes and ``m``
    edges it is at most ``((2 n + 2 m) / 2 ** 28) ** 3`` of the sum of all capacities.  On a grid of
    64 x 64 nodes this is a share below 1e-12.

    Parameters
    ----------
    potentials : Potentials
        Of two labels.  For each edge, the potentials of equal labels must add up to at least those of
        different ones: ``phi[0, 0] + phi[1, 1] >= phi[0, 1] + phi[1, 0]``.

    Returns
    -------
    Cut

    Examples
    --------
    Two of three pixels prefer label 1, and neighbours prefer to agree:

    >>> import numpy as np
    >>> from medn_edu.inference import Potentials
    >>> from medn_edu.samples import Graph, pack
    >>> samples = pack([Graph(np.ones((3, 1)), edges=[[0, 1], [1, 2], [0, 2]])])
    >>> node, edge = [[0.0, 2.0], [1.0, 0.0], [0.0, 1.0]], [[[1.0, 0.0], [0.0, 1.0]]]
    >>> found = min_cut(Potentials(samples, node, edge))
    >>> found.labels, found.score, found.most_lost
    (array([1, 1, 1]), array([6.]), array([0.]))
    """
    if potentials.n_labels != 2:
        raise ValueError(f"potentials have {potentials.n_labels} labels; expected 2 for a cut.")
    graphs = _graphs(potentials)
    labels = np.zeros(potentials.samples.n_nodes, dtype=np.int64)
    score, most = np.empty(len(graphs)), np.empty(len(graphs))
    for i, graph in enumerate(graphs):
        with np.errstate(invalid="ignore"):
            gain = graph.tables.trace(axis1=1, axis2=2) - graph.tables[:, [0, 1], [1, 0]].sum(1)
        if not (gain >= 0).all():  # NaN neither
            e = np.argmin(gain >= 0)
            raise ValueError(
                f"edge {e} of sample {i}, from node {graph.ends[e, 0]} to {graph.ends[e, 1]}, has the "
                f"potentials {graph.tables[e].tolist()}; expected those of equal labels to be "
                "finite, and to add up to at least those of different labels."
            )
        own = labels[graph.nodes]
        own[:], most[i] = _cut(graph)
        pairs = graph.tables[np.arange(len(graph.ends)), *own[graph.ends].T]
        score[i] = graph.node[np.arange(len(own)), own].sum() + pairs.sum()
    check_possible(score)
    return Cut(labels, score, np.maximum(most - score, 0.0))


def _cut(graph: _Graph) -> tuple[np.ndarray, float]:
    """Return the labelling that cuts least, and an upper bound on all scores."""
    n, (first, second) = len(graph.node), graph.ends.T
    # The four potentials of an edge become a constant, a cost of label 1 at both ends, and a cost of
    # each of the two ways to differ, which are shifted until none is negative.
    equal, unequal = graph.tables[:, [0, 1], [0, 1]], graph.tables[:, [0, 1], [1, 0]]
    differ = equal.mean(axis=1, keepdims=True) - unequal
    missing = np.maximum(-differ, 0.0)
    shift = missing[:, 0] - missing[:, 1]
    differ += np.column_stack([shift, -shift])
    tilt = (equal[:, 0] - equal[:, 1]) / 2
    cost = -graph.node
    np.add.at(cost[:, 1], first, tilt + shift)
    np.add.at(cost[:, 1], second, tilt - shift)
    least = cost.min(axis=1)
    if not (least < np.inf).all():
        return np.zeros(n, dtype=np.int64), np.inf  # a node without any allowed label
    cost -= least[:, None]
    # Node v is v in the network, the source is n, and the sink is n + 1.
    source, sink, every = np.full(n, n), np.full(n, n + 1), np.arange(n)
    tails = np.concatenate([source, every, first, second])
    heads = np.concatenate([every, sink, second, first])
    capacity = np.concatenate([cost[:, 1], cost[:, 0], differ[:, 0], differ[:, 1]])
    network = sp.csr_matrix((capacity, (tails, heads)), shape=(n + 2, n + 2))
    bound = min(cost[:, 1].sum(), cost[:, 0].sum(), capacity[np.isfinite(capacity)].sum())
    total = 0.0
    for _ in range(_ROUNDS):
        scale = math.ldexp(1.0, min(29 - math.frexp(bound)[1], 1000))
        whole = network.copy()
        with np.errstate(over="ignore"):
            whole.data = np.minimum(np.floor(scale * whole.data), _UNLIMITED).astype(np.int32)
        found = maximum_flow(whole, n, n + 1)
        total += found.flow_value / scale
        network = network - found.flow / scale
        bound = min(bound, network.nnz / scale)
    left = whole - found.flow
    left.eliminate_zeros()
    labels = np.ones(n + 2, dtype=np.int64)
    labels[breadth_first_order(left, n, return_predecessors=False)] = 0
    constant = equal[:, 0].sum() - least.sum()
    return labels[:n], constant - total


# -- linear program -----------------------------------------------------------------------------


def local_polytope(potentials: Potentials) -> Relaxation:
    """Return the best beliefs in which every edge agrees with both its ends, by linear programming.

    The *local polytope* is the set of beliefs in which each edge's table sums to the beliefs of its two
    ends.  It contains the marginals of all distributions over labellings.  On graphs with cycles it also
    contains other points.  So its best point scores at least as much as the best labelling.  The two
    scores are equal on forests, and for two labels if all edges attract (Wainwright and Jordan 2008).
    HiGHS solves the program, to an accuracy of about 1e-7 in beliefs.

    Parameters
    ----------
    potentials : Potentials
        Of any graphs.  Labels and pairs with a potential of ``-inf`` have belief 0.

    Returns
    -------
    Relaxation

    Examples
    --------
    In a circle of three nodes only two of the three pairs can differ.  In the relaxation all three
    differ, because every node gives each label the belief one half:

    >>> import numpy as np
    >>> from medn_edu.inference import Potentials
    >>> from medn_edu.samples import Graph, pack
    >>> samples = pack([Graph(np.ones((3, 1)), edges=[[0, 1], [1, 2], [0, 2]])])
    >>> potentials = Potentials(samples, np.zeros((3, 2)), [[[0.0, 1.0], [1.0, 0.0]]])
    >>> found = local_polytope(potentials)
    >>> found.value, found.is_integral
    (array([3.]), array([False]))
    >>> found.beliefs.node[0]
    array([0.5, 0.5])
    """
    graphs = _graphs(potentials)
    beliefs, value = _no_beliefs(graphs), np.empty(len(graphs))
    is_integral = np.empty(len(graphs), dtype=bool)
    for i, graph in enumerate(graphs):
        value[i], found = _best_beliefs(graph, i)
        node, edge = np.split(found, [graph.node.size])
        beliefs.node[graph.nodes] = node.reshape(graph.node.shape)
        beliefs.edge[graph.edges] = edge.reshape(graph.tables.shape)
        is_integral[i] = (np.minimum(found, 1 - found) < _INTEGRAL).all()
    check_possible(value)
    return Relaxation(value, beliefs, is_integral)


def _best_beliefs(graph: _Graph, i: int) -> tuple[float, np.ndarray]:
    """Return the optimum, -inf if nothing is allowed, and beliefs of all nodes, then of all edges."""
    n, n_labels = graph.node.shape
    m, one, each = len(graph.ends), np.ones((1, n_labels)), sp.eye(n_labels)
    gain = np.concatenate([graph.node.ravel(), graph.tables.ravel()])
    is_allowed = gain > -np.inf
    gain[~is_allowed] = 0.0
    size = np.abs(gain).max() or 1.0
    rows = [sp.hstack([sp.kron(sp.eye(n), one), sp.csr_matrix((n, m * n_labels**2))])]
    for end, sums in zip(graph.ends.T, (sp.kron(each, one), sp.kron(one, each)), strict=True):
        at = sp.csr_matrix((np.ones(m), (np.arange(m), end)), shape=(m, n))
        rows.append(sp.hstack([-sp.kron(at, each), sp.kron(sp.eye(m), sums)]))
    right = np.concatenate([np.ones(n), np.zeros(2 * m * n_labels)])
    bounds = np.column_stack([np.zeros(len(gain)), np.where(is_allowed, np.inf, 0.0)])
    left = sp.vstack(rows)
    found = linprog(-gain / size, A_eq=left, b_eq=right, bounds=bounds, method="highs-ds")
    if found.status == 2:
        return -np.inf, np.zeros(len(gain))
    if found.x is None:
        raise RuntimeError(f"HiGHS found no optimum for sample {i}: {found.message}")
    return float(gain @ found.x), np.clip(found.x, 0.0, 1.0)
