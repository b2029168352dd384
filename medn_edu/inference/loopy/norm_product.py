r"""Norm-product belief propagation: inference by messages, at any temperature.

With positive counting numbers, messages descend on a convex bound and converge.  Other numbers can give
an entropy that is concave where beliefs agree (`medn_edu.inference.loopy.counting`).  These numbers have
a form with conditional entropies (Hazan and Shashua 2010), and its updates descend, too.  On a graph
with several cycles, Bethe's numbers don't give a concave entropy.  They give loopy belief propagation,
which is often good but comes without guarantees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.checks import (
    check_choice,
    check_count,
    check_flag,
    check_nonnegative,
    check_positive,
    shown,
    warn_user,
)
from medn_edu.inference.loopy import bounds
from medn_edu.inference.loopy.counting import ConcaveForm, CountingNumbers
from medn_edu.inference.loopy.graphs import EqualGraphs, GraphPotentials
from medn_edu.inference.loopy.messages import ConditionalState, DampedState, MessageState
from medn_edu.inference.loopy.solutions import LocalSolution, Part, gathered, possible_groups
from medn_edu.inference.potentials import Potentials

_LITTLE = 1e-6  # counting numbers below this count as 0
_BLOCK = 10  # sweeps between two looks at the disagreement


def norm_product(
    potentials: Potentials,
    counting_numbers: Any = "ones",
    epsilon: float = 1.0,
    *,
    schedule: str = "asynchronous",
    damping: float = 0.5,
    descend: bool = True,
    tol: float = 1e-6,
    max_sweeps: int = 1000,
    start: LocalSolution | None = None,
    callback: Callable[[int, list[np.ndarray]], Any] | None = None,
) -> LocalSolution:
    """Send messages until the beliefs of nodes and edges agree.

    Parameters
    ----------
    potentials : Potentials
        Of graphs, with cycles or without.
    counting_numbers : str, pair of floats or CountingNumbers, default="ones"
        How often the entropies of nodes and edges count: ``"ones"``, ``"conditional"`` (0 and 1),
        ``"trw"`` (tree-reweighted, each edge equally probable in a spanning tree), ``"bethe"``,
        ``"convexified-bethe"``, or ``(c_v, c_a)``.  With ``"trw"`` the upper bound also bounds the
        exact soft-max, if no part of a graph is denser than the whole, as in grids.
    epsilon : float, default=1.0
        Temperature.  At 0 these are max-product messages, and their bound is that of the linear program
        over the local polytope.  Counting numbers then only say how a node divides what it knows among
        its edges.
    schedule : {"asynchronous", "synchronous"}, default="asynchronous"
        Whether nodes send one after the other, alternately forwards and backwards, or all at once.
    damping : float, default=0.5
        Share of the old message that synchronous messages keep.
    descend : bool, default=True
        Matters for numbers that are concave but not positive, such as ``"trw"``.  If true, no update
        raises the bound.  If false, nodes send plain messages, which usually settle in far fewer sweeps.
    tol : float, default=1e-6
        Stop when beliefs disagree by no more than this.  At ``epsilon = 0`` beliefs jump, so there
        ``tol`` applies to the decrease of the bound in ten sweeps, relative to the potentials.
    max_sweeps : int, default=1000
        Largest number of sweeps.
    start : LocalSolution, optional
        The result of another call with the same graphs.  Its messages are the first ones here.
    callback : callable, optional
        Called after each sweep with its number and the nodes' beliefs, ``(n_nodes, n_labels,
        n_samples)`` for each set of samples with the same edges.  If it returns a true value, the run
        ends.

    Returns
    -------
    LocalSolution

    Warns
    -----
    ConvergenceWarning
        If beliefs still disagree after ``max_sweeps``, or the numbers are not certified to be concave.

    Examples
    --------
    Three nodes on a circle prefer equal labels, and the first one prefers label 1:

    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.inference import Potentials
    >>> from medn_edu.samples import pack
    >>> samples = pack([Graph(np.zeros((3, 1)), [[0, 1], [1, 2], [2, 0]])])
    >>> potentials = Potentials(samples, [[0, 1], [0, 0], [0, 0]], [[[1, 0], [0, 1]]])
    >>> found = norm_product(potentials, "trw")
    >>> found.beliefs.node.round(2)
    array([[0.28, 0.72],
           [0.37, 0.63],
           [0.37, 0.63]])
    >>> bool(found.upper[0] - found.lower[0] < 1e-4), found.labels
    (True, array([1, 1, 1]))
    """
    check_choice("schedule", schedule, ("asynchronous", "synchronous"))
    check_damping(damping)
    check_flag("descend", descend)
    at_once = damping if schedule == "synchronous" else None
    found = _solve(
        potentials, counting_numbers, epsilon, start,
        Schedule(tol, max_sweeps, at_once, callback, descend),
    )  # fmt: skip
    if not (found.upper < np.inf).all():
        warn_user(
            f"counting_numbers {shown(counting_numbers)} are not certified to be concave on these "
            "graphs, so messages need not converge and nothing bounds the result; expected 'ones', "
            "'conditional', 'trw' or 'convexified-bethe', which are."
        )
    if not found.converged:
        warn_user(
            f"beliefs still disagree by {found.disagreement:.2g} after {found.n_sweeps} sweeps; raise "
            "max_sweeps or epsilon, or damp synchronous messages."
        )
    return found


def loopy_bp(
    potentials: Potentials,
    epsilon: float = 1.0,
    *,
    damping: float = 0.0,
    tol: float = 1e-6,
    max_sweeps: int = 1000,
    start: LocalSolution | None = None,
) -> LocalSolution:
    """Run loopy belief propagation: norm-product messages with Bethe's counting numbers.

    Parameters
    ----------
    potentials, epsilon, tol, max_sweeps, start
        See `norm_product`.
    damping : float, default=0.0
        Share of the old messages to keep.  With 0, nodes send one after the other.  Otherwise they send
        all at once.

    Returns
    -------
    LocalSolution
        There are no bounds, except where the entropy is concave, as on graphs with at most one cycle.
        ``converged`` says whether beliefs settled.

    Examples
    --------
    Four nodes, each joined to all others, prefer equal labels.  The first one prefers label 1:

    >>> from medn_edu import Graph
    >>> from medn_edu.inference import Potentials
    >>> from medn_edu.samples import pack
    >>> edges = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    >>> samples = pack([Graph(np.zeros((4, 1)), edges)])
    >>> node, edge = [[0, 1], [0, 0], [0, 0], [0, 0]], [[[0.5, 0], [0, 0.5]]]
    >>> found = loopy_bp(Potentials(samples, node, edge))
    >>> found.beliefs.node.round(2)
    array([[0.25, 0.75],
           [0.4 , 0.6 ],
           [0.4 , 0.6 ],
           [0.4 , 0.6 ]])
    >>> found.converged, found.upper
    (True, array([inf]))
    """
    at_once = damping if check_damping(damping) > 0 else None
    return _solve(potentials, "bethe", epsilon, start, Schedule(tol, max_sweeps, at_once))


@dataclass(frozen=True, eq=False)
class Schedule:
    """Which nodes send when, and when to stop."""

    tol: float
    max_sweeps: int
    damping: float | None = None  # None where nodes send one after the other
    callback: Callable[[int, list[np.ndarray]], Any] | None = None
    descend: bool = True

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_count("max_sweeps", self.max_sweeps)

    def state(
        self, phi: GraphPotentials, numbers: CountingNumbers, epsilon: float, messages: np.ndarray,
        form: ConcaveForm | None,
    ) -> MessageState:  # fmt: skip
        """Return messages with the updates for their counting numbers."""
        if self.damping is not None:
            return DampedState(phi, numbers, epsilon, messages, damping=self.damping)
        # On forests, packed from the root down, the leaves go first: then two sweeps are exact.
        if (
            form is None or form.is_plain or phi.graphs.is_forest or not self.descend
            or not (form.edge > _LITTLE).all()  # as for Bethe's numbers on a single cycle
        ):  # fmt: skip
            return MessageState(phi, numbers, epsilon, messages, back=phi.graphs.is_forest)
        return ConditionalState(phi, numbers, epsilon, messages, form=form)

    def run(self, state: MessageState) -> tuple[int, bool]:
        """Sweep until beliefs agree, or at temperature 0 until the bound has settled."""
        phi, before = state.potentials, np.inf
        size = np.abs(phi.node[np.isfinite(phi.node)]).sum() + 1.0
        n_sweeps, settled = 0, False
        while n_sweeps < self.max_sweeps:
            block = 1 if self.callback else min(_BLOCK, self.max_sweeps - n_sweeps)
            state.sweep(block)
            n_sweeps += block
            if self.callback and self.callback(n_sweeps, [state.beliefs]):
                break
            if state.epsilon > 0:
                settled = state.disagreement() <= self.tol
            elif n_sweeps % _BLOCK == 0:
                bound = bounds.upper_bound(phi, state.messages, hard_form(phi.graphs), 0.0).sum()
                settled, before = bound >= before - self.tol * size, bound
            if settled:
                return n_sweeps, True
        return n_sweeps, False


def check_damping(damping: Any) -> float:
    """Return the share of old messages to keep."""
    if not check_nonnegative("damping", damping) < 1.0:
        raise ValueError(f"damping is {shown(damping)}; expected a share below 1.")
    return float(damping)


def _solve(
    potentials: Potentials, choice: Any, epsilon: float, start: LocalSolution | None, schedule: Schedule
) -> LocalSolution:  # fmt: skip
    """Send messages, for each set of samples with the same edges on its own."""
    epsilon = check_nonnegative("epsilon", epsilon)
    groups, parts = possible_groups(potentials), []
    for k, graphs in enumerate(groups):
        phi = GraphPotentials.of(graphs, potentials)
        messages = phi.zero_messages()
        if start is not None:
            messages = _warm_messages(messages, start, k, len(groups))
        numbers = CountingNumbers.of(choice, graphs)
        if epsilon == 0:  # they only share out messages, for which none may be negative
            numbers = CountingNumbers(np.maximum(numbers.node, 0.0), numbers.edge)
        form = numbers.concave_form(graphs) if epsilon > 0 else hard_form(graphs)
        state = schedule.state(phi, numbers, epsilon, messages, form)
        parts.append(_part(state, form, *schedule.run(state)))
    return gathered(potentials, groups, parts)


def _warm_messages(silent: np.ndarray, start: LocalSolution, k: int, n_groups: int) -> np.ndarray:
    """Return a copy of the messages to begin with, for one set of samples with the same edges."""
    if not isinstance(start, LocalSolution):
        raise TypeError(
            f"start is {shown(start)}; expected the answer of norm_product or loopy_bp."
        )
    if len(start.messages) != n_groups or start.messages[k].shape != silent.shape:
        shapes = [m.shape for m in start.messages]
        raise ValueError(
            f"start has messages of shapes {shapes} for other samples; expected messages of shape "
            f"{silent.shape} in place {k} of {n_groups}, from a call with the same graphs."
        )
    return start.messages[k].copy()


def _part(state: MessageState, form: ConcaveForm | None, n_sweeps: int, converged: bool) -> Part:
    """Return what messages tell, with bounds if the local program is concave."""
    phi, numbers, epsilon = state.potentials, state.numbers, state.epsilon
    node, edge = state.beliefs, state.edge_beliefs()
    labels, n_ties = state.decode()
    upper, lower = np.full((2, node.shape[2]), [[np.inf], [-np.inf]])
    if form is not None:
        upper = bounds.upper_bound(phi, state.messages, form, epsilon)
        agreed = bounds.averaged_nodes(phi, node, edge, numbers)
        pairs = bounds.best_edges(phi, state.messages, agreed, numbers.edge, epsilon)
        # A labelling is a point of the local program, too, and one that keeps to what is allowed.
        lower = np.maximum(
            bounds.local_value(phi, agreed, pairs, numbers, epsilon), phi.scores(labels)
        )
    value = bounds.local_value(phi, node, edge, numbers, epsilon)
    return Part(
        node, edge, labels, value, upper, lower, n_ties, n_sweeps, converged, state.messages
    )


def hard_form(graphs: EqualGraphs) -> ConcaveForm:
    """Return the form that any counting numbers take at temperature 0."""
    ones = np.ones(graphs.n_edges)
    return ConcaveForm(np.zeros(graphs.n_nodes), ones, np.zeros(2 * graphs.n_edges))
