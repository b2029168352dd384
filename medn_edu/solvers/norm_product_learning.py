"""Fig. 1 of Hazan and Urtasun (2010): steps on messages and on weights, in turn.

Each pass sweeps all messages once, which lowers the bound.  That is the figure's step (a).  Then the
weights take steps against the gradient.  The gradient is taken at the beliefs that these messages give,
whether or not the beliefs agree.  There are two ways to take the steps:

* ``in_turn=True`` is the figure's step (b).  One weight moves after the other, and the beliefs that it
  depends on are recomputed before each move.  Each weight has its own step size, which is halved until
  the objective falls, by however little.
* By default all weights move at once, with one step size.  The step is *proximal*: it linearises the
  losses but not the regulariser, whose slope is not Lipschitz at 0 for ``p < 2``.  It is halved until
  the losses rise above their linearisation by no more than smooth ones may.  Then the objective falls by
  at least half of what the step promises.

At positive temperatures both go to the same optimum, but in turn that can take many more passes: a step
that jumps to and fro across a minimum also lowers the objective.  At ``epsilon = 0`` the objective has
kinks.  Then messages can stop above the optimum and a subgradient need not point downhill, so the
method gets stuck, as the paper says.  By default that happens much earlier than in turn.  The reason is
the condition on the step: near a kink only tiny steps fall by as much as they promise, while in turn
any fall will do.  `medn_edu.solvers.epsilon_continuation` doesn't get stuck.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

import numpy as np
import scipy.sparse as sp

from medn_edu.checks import check_count
from medn_edu.inference.loopy.graphs import edges_of
from medn_edu.inference.loopy.messages import MessageState
from medn_edu.kernels.in_turn import LEAST, LONGER, step_in_turn
from medn_edu.problems import LocalPoint, LocalProblem
from medn_edu.results import STUCK, Iterate
from medn_edu.solvers.quasi_newton import starting_weights


def norm_product_learning(
    problem: LocalProblem,
    *,
    warm_start: np.ndarray | None = None,
    n_sweeps: int = 1,
    in_turn: bool = False,
) -> Iterator[Iterate]:
    """Lower the local problem over messages and weights in turn; yield once per pass.

    Parameters
    ----------
    problem : LocalProblem
        The problem, at any temperature, with positive counting numbers.  The objective never rises.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.
    n_sweeps : int, default=1
        Number of sweeps of the messages between two steps of the weights.
    in_turn : bool, default=False
        Whether weights move one after the other, as in the paper, or all at once.  Moving one after the
        other takes some preparation: all potentials are computed once per weight, before the first pass.

    Yields
    ------
    Iterate
        ``gap_estimate`` is the decrease that the last step promised.

    Raises
    ------
    TypeError
        If counting numbers are not positive, or ``n_sweeps`` is not an integer.
    ValueError
        If ``n_sweeps`` is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.problems import LocalProblem, PowerNorm
    >>> from medn_edu.results import run
    >>> from medn_edu.samples import labelled
    >>> circle = Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]])
    >>> problem = LocalProblem(labelled([circle], [[0, 1, 1]]), 1.0, PowerNorm(C=1.0))
    >>> result = run(norm_product_learning(problem), problem, tol=1e-6, max_iter=1000)
    >>> result.converged, round(result.primal, 4)
    (True, 6.737)
    """
    if not problem.is_plain:
        raise TypeError(
            f"counting_numbers are {problem.counting_numbers!r}; norm_product_learning expects positive "
            "counting numbers; use nested_lbfgs for others."
        )
    n_sweeps = check_count("n_sweeps", n_sweeps)
    move = (_InTurn if in_turn else _AtOnce)(problem)
    weights = starting_weights(problem.data, warm_start)
    messages = None
    for n_passes in count(1):
        states = problem.states(weights, messages)
        for state in states:
            state.back = n_passes % 2 == 0
            state.sweep(n_sweeps)
        messages = [state.messages for state in states]
        weights, objective, promised = move(weights, states)
        stopped = "" if move.has_moved else STUCK
        point = LocalPoint(messages, [state.beliefs for state in states], problem.epsilon)
        yield Iterate(
            weights=weights,
            gap_estimate=promised,
            objective_estimate=objective,
            n_oracle_calls=n_passes * problem.n_samples,
            dual=partial(_same, point),
            stopped=stopped,
        )
        if stopped:
            return


class _AtOnce:
    """One proximal step of all weights, halved until the objective provably falls."""

    def __init__(self, problem: LocalProblem) -> None:
        self.problem = problem
        self.step = 1.0
        self.has_moved = True

    def __call__(
        self, weights: np.ndarray, states: Sequence[MessageState]
    ) -> tuple[np.ndarray, float, float]:
        """Return new weights, the objective there, and the decrease that the step promised."""
        problem, norm = self.problem, self.problem.power_norm
        messages = [state.messages for state in states]
        value, slope, *_ = problem.smooth_part(weights, states)
        objective = value + norm.value(weights)
        self.step *= LONGER
        while self.step >= LEAST:
            moved = norm.prox(weights - self.step * slope, self.step)
            change = moved - weights
            size = float(change @ change) / (2.0 * self.step)
            after, *_ = problem.smooth_part(moved, problem.states(moved, messages))
            fallen = objective - after - norm.value(moved)
            if after <= value + float(slope @ change) + size and fallen >= 0:
                return moved, objective - fallen, 2.0 * size
            self.step /= 2.0
        self.has_moved = False
        return weights, objective, 0.0


class _InTurn:
    """A step of each weight, one after the other, halved until the objective falls."""

    def __init__(self, problem: LocalProblem) -> None:
        data, shape = problem.data, problem.weight_shape
        n_nodes, kinds = data.samples.n_nodes, data.samples.edge_kinds[edges_of(data.samples)[0]]
        self.problem = problem
        self.steps = np.ones(shape.size)
        self.has_moved = True
        rows = []  # potentials are linear in the weights, so those of unit weights are features
        for k in range(shape.size):
            unit = problem.potentials(np.eye(1, shape.size, k)[0])
            row = np.concatenate([unit.node.ravel(), unit.edge[kinds].ravel()])
            rows.append(sp.csr_matrix(np.where(np.isfinite(row), row, 0.0)))
        self.features = sp.vstack(rows, format="csr")
        # The factors: all nodes, then all edges.
        sizes = np.repeat([shape.n_labels, shape.n_labels**2], [n_nodes, len(kinds)])
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.owners = np.repeat(np.arange(len(sizes)), sizes)
        self.temperatures, self.counts = np.empty((2, len(sizes)))
        for graphs, numbers in zip(problem.graphs, problem.numbers, strict=True):
            edges = n_nodes + graphs.places
            for factors, number in ((graphs.nodes, numbers.node), (edges, numbers.edge)):
                self.temperatures[factors] = problem.epsilon * number[:, None]
                self.counts[factors] = problem.weight_of(graphs)

    def __call__(
        self, weights: np.ndarray, states: Sequence[MessageState]
    ) -> tuple[np.ndarray, float, float]:
        """Return new weights, the objective there, and the decrease that the steps promised."""
        problem, moved = self.problem, weights.copy()
        value, *_ = problem.smooth_part(weights, states)
        fallen, promised = step_in_turn(
            moved, self.steps, problem.observed, problem.power_norm.C, problem.power_norm.p,
            self.features.indptr, self.features.indices, self.features.data, self.owners, self.bounds,
            self._scores(states), self.temperatures, self.counts,
        )  # fmt: skip
        self.has_moved = promised > 0
        return moved, value + problem.power_norm.value(weights) - fallen, promised

    def _scores(self, states: Sequence[MessageState]) -> np.ndarray:
        """Return the scores of all factors, which are potentials and messages, flat."""
        n_labels, n_nodes = self.problem.data.n_labels, self.problem.data.samples.n_nodes
        node = np.empty((n_nodes, n_labels))
        edge = np.empty((len(self.counts) - n_nodes, n_labels**2))
        for graphs, state in zip(self.problem.graphs, states, strict=True):
            phi, sent = state.potentials, state.messages
            graphs.put(phi.node - graphs.onto_ends(np.where(sent > -np.inf, sent, 0.0)), node)
            pairs = phi.edge + sent[0::2, :, None] + sent[1::2, None]
            edge[graphs.places] = pairs.transpose(0, 3, 1, 2).reshape(*graphs.places.shape, -1)
        return np.concatenate([node.ravel(), edge.ravel()])


def _same(point: LocalPoint) -> LocalPoint:
    return point
