r"""Mean field: the best distribution under which all nodes are independent.

Every distribution satisfies :math:`E[F] + \epsilon H \le \epsilon \ln \sum e^{F / \epsilon}`.  If the
beliefs :math:`b_v` are independent, the left side is a sum over nodes and edges,

.. math:: \sum_v b_v^\top \phi_v + \sum_{\alpha = (u, v)} b_u^\top \phi_\alpha b_v
          + \epsilon \sum_v H(b_v),

If the beliefs of a node's neighbours are held fixed, its own best belief is
:math:`b_v \propto \exp \{(\phi_v + \sum_u \phi_\alpha^\top b_u) / \epsilon\}`.  Updating node after node
never lowers the sum.  But the sum can have many local maxima, so the start matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from medn_edu.checks import (
    check_count,
    check_nonnegative,
    check_positive,
    random_generator,
    shown,
    warn_user,
)
from medn_edu.inference.loopy.bounds import entropies, mean_potential
from medn_edu.inference.loopy.graphs import GraphPotentials
from medn_edu.inference.loopy.solutions import LocalSolution, Part, gathered, possible_groups
from medn_edu.inference.potentials import Potentials
from medn_edu.kernels import norm_product as kernels

_NEAR = 1e-7  # beliefs that differ by less are equal


def mean_field(
    potentials: Potentials,
    epsilon: float = 1.0,
    *,
    tol: float = 1e-6,
    max_sweeps: int = 1000,
    start: LocalSolution | None = None,
    random_state: Any = None,
) -> LocalSolution:
    """Fit independent beliefs, one node after the other, forwards and backwards in turn.

    Parameters
    ----------
    potentials : Potentials
        Of graphs, with cycles or without.
    epsilon : float, default=1.0
        Temperature.  At 0 each node takes its best label given the labels of its neighbours.
    tol : float, default=1e-6
        Stop when no belief changes by more than this in one sweep.
    max_sweeps : int, default=1000
        Largest number of sweeps.
    start : LocalSolution, optional
        Beliefs to begin with: the result of this function or of `norm_product` for the same samples.
        By default, each node in the first sweep only uses neighbours that were visited before it.
    random_state : int, Generator or None, default=None
        If given, and ``start`` is not, beliefs begin at random.

    Returns
    -------
    LocalSolution
        ``lower`` and ``value`` are the same lower bound on the soft-max, which is ``epsilon`` times
        the log-partition.  ``upper`` is infinite.  An edge's beliefs are products of its two nodes'
        beliefs.  There are no messages.

    Warns
    -----
    ConvergenceWarning
        If beliefs still change by more than ``tol`` after ``max_sweeps``.

    Examples
    --------
    Two nodes prefer equal labels, and the first one prefers label 1:

    >>> from medn_edu.inference import Potentials, log_partition
    >>> from medn_edu.samples import pack
    >>> potentials = Potentials(pack([np.ones((2, 1))]), [[0, 1], [0, 0]], [[[1, 0], [0, 1]]])
    >>> found = mean_field(potentials)
    >>> found.beliefs.node.round(2)
    array([[0.22, 0.78],
           [0.36, 0.64]])
    >>> found.lower.round(3), log_partition(potentials).round(3)
    (array([2.539]), array([2.627]))
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    check_positive("tol", tol)
    check_count("max_sweeps", max_sweeps)
    groups, parts = possible_groups(potentials), []
    begin = _begin(potentials, start, random_state)
    for graphs in groups:
        phi = GraphPotentials.of(graphs, potentials)
        beliefs, change, n_sweeps = graphs.node_table(begin), np.inf, 0
        while n_sweeps < max_sweeps and change > tol:
            change = kernels.sweep_of_mean_field(
                *graphs.slots, graphs.ends.ravel(), phi.kinds, phi.tables, phi.node, epsilon, beliefs,
                n_sweeps % 2 == 1,
            )  # fmt: skip
            n_sweeps += 1
        parts.append(_part(phi, beliefs, epsilon, n_sweeps, change <= tol))
    found = gathered(potentials, groups, parts)
    if not found.converged:
        warn_user(f"beliefs still change after {found.n_sweeps} sweeps; raise max_sweeps or tol.")
    return found


def _begin(potentials: Potentials, start: LocalSolution | None, random_state: Any) -> np.ndarray:
    """Return the nodes' first beliefs; neighbours ignore those that are all 0."""
    allowed = potentials.node > -np.inf
    if start is None and random_state is None:
        return np.zeros(allowed.shape)
    if start is None:
        begin = random_generator(random_state).exponential(size=allowed.shape)
    elif not isinstance(start, LocalSolution):
        raise TypeError(
            f"start is {shown(start)}; expected the answer of mean_field or norm_product."
        )
    elif start.beliefs.node.shape != allowed.shape:
        raise ValueError(
            f"start has beliefs of shape {start.beliefs.node.shape}; expected {allowed.shape}, one row "
            "for each node of these samples."
        )
    else:
        begin = start.beliefs.node
    begin = np.where(allowed, begin, 0.0)
    return begin / np.maximum(begin.sum(axis=1, keepdims=True), 1e-300)


def _part(
    phi: GraphPotentials, beliefs: np.ndarray, epsilon: float, n_sweeps: int, converged: bool
) -> Part:
    first, second = (beliefs[phi.graphs.ends[:, k]] for k in (0, 1))
    edge = first[:, :, None] * second[:, None]
    value = mean_potential(phi.node, beliefs).sum(axis=(0, 1))
    value += mean_potential(phi.edge, edge).sum(axis=(0, 1, 2))
    value += epsilon * entropies(beliefs, 1).sum(axis=0)
    n_best = (beliefs >= beliefs.max(axis=1, keepdims=True) - _NEAR).sum(axis=1)
    return Part(
        node=beliefs,
        edge=edge,
        labels=beliefs.argmax(axis=1),
        value=value,
        upper=np.full(len(value), np.inf),
        lower=value,
        n_ties=int((n_best > 1).sum()),
        n_sweeps=n_sweeps,
        converged=bool(converged),
        messages=np.empty((0, *beliefs.shape[1:])),
    )
