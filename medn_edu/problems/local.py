r"""The local problem: learning on graphs with cycles, with local entropies in place of the entropy.

On a graph with cycles the soft-max over all labellings is too expensive.  Approximated structured
prediction (Hazan and Urtasun 2010) replaces it by the local program.  Messages :math:`\lambda` give an
upper bound :math:`B` on the optimum of that program, and this bound is minimised over weights and
messages:

.. math:: \min_{\theta, \lambda} \; R(\theta) + \sum_i C_i \{ B_i(\theta, \lambda_i)
          - \theta^\top f(x_i, y_i) \} \qquad \text{(Theorem 2, with its regulariser added)}.

:math:`B` is in `medn_edu.inference.loopy.bounds`.  The dual maximises over beliefs that agree (Eq. 9):

.. math:: \max_b \; \sum_i C_i \Big\{ b_i^\top e_i + \epsilon \sum_\alpha c_\alpha H(b_\alpha)
          + \epsilon \sum_v c_v H(b_v) \Big\} - R^*(\eta), \qquad
          \eta = \sum_i C_i \{ f(x_i, y_i) - \mathrm{E}_b f(x_i, \cdot) \} .

Both bounds hold after any number of sweeps, so messages need not have converged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu import inference
from medn_edu.checks import check_nonnegative
from medn_edu.inference.loopy import bounds
from medn_edu.inference.loopy.counting import ConcaveForm, CountingNumbers
from medn_edu.inference.loopy.graphs import EqualGraphs, GraphPotentials, equal_graphs
from medn_edu.inference.loopy.messages import MessageState
from medn_edu.inference.loopy.norm_product import hard_form
from medn_edu.inference.loopy.solutions import disagreement
from medn_edu.problems.dual_variables import LocalPoint
from medn_edu.problems.losses import MarginLoss, SoftMaxLoss
from medn_edu.problems.problem import Certificate, Problem
from medn_edu.problems.regularisers import PowerNorm
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack

_SHARES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5)  # of inner beliefs to mix in
_N_INNER = 200  # sweeps for them


class LocalProblem(Problem):
    """Structured prediction with local entropies: a primal, a dual and a certificate.

    Parameters
    ----------
    data : LabelledSamples
        Training samples, graphs or forests, with their labels.
    epsilon : float
        Temperature, not negative.  At 0 counting numbers do not matter.
    regulariser : PowerNorm
        What weights cost.
    counting_numbers : str, pair of floats or CountingNumbers, optional
        How often each local entropy counts; see `medn_edu.inference.loopy.norm_product`.  The default
        is Bethe's numbers on graphs without cycles, where they are exact, and ones on all others.
    loss_augmented : bool, default=True
        Whether the Hamming loss is added to the scores of wrong labels.
    n_jobs : int, default=1
        Number of threads for products of features with weights.

    Raises
    ------
    ValueError
        If the local entropies are not concave where beliefs agree, because then no solution could be
        certified.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.samples import labelled
    >>> circle = Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]])
    >>> problem = LocalProblem(labelled([circle], [[0, 1, 1]]), 1.0, PowerNorm(C=1.0))
    >>> weights = np.zeros(problem.weight_shape.size)
    >>> certificate = problem.certify(weights, problem.point(weights))
    >>> round(certificate.primal, 3), round(certificate.dual, 3)
    (7.863, 6.387)
    """

    def __init__(
        self,
        data: LabelledSamples,
        epsilon: float,
        regulariser: PowerNorm,
        counting_numbers: Any = None,
        loss_augmented: bool = True,
        n_jobs: int = 1,
    ) -> None:
        self.epsilon = check_nonnegative("epsilon", epsilon)
        loss: MarginLoss | SoftMaxLoss = MarginLoss(LinearSlack(1.0))
        if epsilon > 0:
            loss = SoftMaxLoss(epsilon, loss_augmented=loss_augmented)
        super().__init__(data, loss, regulariser, n_jobs)
        self.power_norm = regulariser
        self.loss_augmented = loss_augmented
        self.counting_numbers = counting_numbers
        self.graphs = equal_graphs(data.samples)
        self.numbers = [CountingNumbers.of(counting_numbers, graphs) for graphs in self.graphs]
        positive = all((c.node > 0).all() and (c.edge > 0).all() for c in self.numbers)
        if epsilon == 0 and not positive:  # then numbers don't matter, and positive ones are faster
            self.counting_numbers = "ones"
            self.numbers = [CountingNumbers.of("ones", graphs) for graphs in self.graphs]
        self.forms = [self._form(k) for k in range(len(self.graphs))]

    def _form(self, k: int) -> ConcaveForm:
        graphs = self.graphs[k]
        if self.epsilon == 0:
            return hard_form(graphs)
        if not (self.numbers[k].edge > 0).all():
            raise ValueError(
                f"counting_numbers {self.counting_numbers!r} leave out the entropy of some edges, so "
                "the objective would have kinks; expected a positive number for edges where epsilon is "
                "positive."
            )
        alone = (self.numbers[k].node == 0) & (graphs.degrees == 0)
        if alone.any():
            raise ValueError(
                f"counting_numbers {self.counting_numbers!r} leave out the entropy of node "
                f"{np.argmax(alone)} of sample {graphs.samples[0]}, which has no edges, so the "
                "objective would have kinks; expected numbers that count it, such as 'ones' or 'trw'."
            )
        form = self.numbers[k].concave_form(graphs)
        if form is None:
            raise ValueError(
                f"counting_numbers {self.counting_numbers!r} are not concave on the graph of sample "
                f"{graphs.samples[0]}, so training could not be certified; expected 'ones', "
                "'conditional', 'trw' or 'convexified-bethe'."
            )
        return form

    def at_temperature(self, epsilon: float) -> LocalProblem:
        """Return this problem at another temperature.

        Parameters
        ----------
        epsilon : float
            The temperature, not negative.
        """
        return LocalProblem(
            self.data,
            epsilon,
            self.power_norm,
            self.counting_numbers,
            self.loss_augmented,
            self.n_jobs,
        )

    @property
    def stated(self) -> str:
        """The problem in words: its temperature and its counting numbers."""
        if self.epsilon == 0:
            return "with the maximum relaxed to the local polytope (epsilon = 0)"
        numbers = "ones" if self.counting_numbers is None else self.counting_numbers
        has_forests = any(graphs.is_forest for graphs in self.graphs)
        exact = has_forests and self.counting_numbers is None
        return (
            f"with local entropies, counting_numbers={numbers!r}, epsilon={self.epsilon:g}"
            f"{', and graphs without cycles exactly' if exact else ''}"
        )

    @property
    def is_plain(self) -> bool:
        """Whether the bound needs no conditional entropies."""
        return all(form.is_plain for form in self.forms)

    def states(
        self, weights: np.ndarray, messages: Sequence[np.ndarray] | None = None
    ) -> list[MessageState]:
        """Return messages together with the potentials under these weights.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        messages : sequence of ndarray, optional
            Messages in the form of `LocalPoint`; by default silent messages, which are all 0.
        """
        potentials = self.augmented(weights) if self.loss_augmented else self.potentials(weights)
        states = []
        for k, (graphs, numbers) in enumerate(zip(self.graphs, self.numbers, strict=True)):
            phi = GraphPotentials.of(graphs, potentials)
            sent = phi.zero_messages() if messages is None else messages[k]
            states.append(MessageState(phi, numbers, self.epsilon, sent))
        return states

    def point(self, weights: np.ndarray, n_sweeps: int = 1) -> LocalPoint:
        """Return the messages and beliefs after a few sweeps, started from silent messages.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        n_sweeps : int, default=1
            Number of sweeps.
        """
        states = self.states(weights)
        for state in states:
            state.sweep(n_sweeps)
        return LocalPoint([s.messages for s in states], [s.beliefs for s in states], self.epsilon)

    # -- values and gradients ---------------------------------------------------------------------

    def weight_of(self, graphs: EqualGraphs) -> np.ndarray:
        """Return the sample weights of a set of samples with the same edges."""
        return self.data.sample_weight[graphs.samples]

    def smooth_part(
        self, weights: np.ndarray, states: Sequence[MessageState]
    ) -> tuple[float, np.ndarray, list[np.ndarray], list[np.ndarray]]:
        """Return the value of Theorem 2 without its regulariser, its gradient, and the beliefs.

        The beliefs are those of Lemma 4, computed from the messages.  They need not agree.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        states : sequence of MessageState
            Messages with potentials under these weights, as `states` returns them.
        """
        total, nodes, edges = 0.0, [], []
        for graphs, state in zip(self.graphs, states, strict=True):
            values = np.zeros(len(graphs.samples))
            node, edge = state.terms(values)
            total += float(self.weight_of(graphs) @ values)
            nodes.append(node)
            edges.append(edge)
        if not math.isfinite(total):  # a step that was far too long
            return math.inf, np.zeros_like(weights), nodes, edges
        gradient = self.expected(nodes, self.pair_sums(edges)) - self.observed
        return total - float(self.observed @ weights), gradient, nodes, edges

    def expected(self, nodes: Sequence[np.ndarray], pair_sums: np.ndarray) -> np.ndarray:
        """Return the expected features under beliefs, summed over samples times their weights.

        Parameters
        ----------
        nodes : sequence of ndarray of shape (n_nodes, n_labels, n_samples)
            Beliefs of the nodes, one array for each set of samples with the same edges.
        pair_sums : ndarray of shape (n_edge_kinds, n_labels, n_labels)
            Beliefs of the edges, as `pair_sums` returns them.
        """
        data = self.data
        per_node = np.empty((data.samples.n_nodes, data.n_labels))
        for graphs, node in zip(self.graphs, nodes, strict=True):
            graphs.put(node * self.weight_of(graphs), per_node)
        return data.join(inference.feature_sums(data.samples, per_node), pair_sums)

    def pair_sums(self, edges: Sequence[np.ndarray]) -> np.ndarray:
        """Return the beliefs of the edges times their samples' weights, summed by kind of edge."""
        n_labels = self.data.n_labels
        total = np.zeros((len(self.data.allowed_pairs), n_labels**2))
        for graphs, to_kinds, edge in zip(self.graphs, self._to_kinds, edges, strict=True):
            flat = edge.reshape(graphs.n_edges, n_labels**2, -1)
            if to_kinds.shape[1] == graphs.n_edges:
                total += to_kinds @ (flat @ self.weight_of(graphs))
            else:
                weighted = (flat * self.weight_of(graphs)).transpose(0, 2, 1)
                total += to_kinds @ weighted.reshape(-1, n_labels**2)
        return total.reshape(-1, n_labels, n_labels)

    @cached_property
    def _to_kinds(self) -> list[sp.csr_matrix]:
        """Which edges are of which kind, a row for each kind."""
        found = []
        for graphs in self.graphs:
            kinds = graphs.kinds(self.data.samples.edge_kinds).ravel()
            place = (kinds, np.arange(len(kinds)))
            shape = (len(self.data.allowed_pairs), len(kinds))
            found.append(sp.csr_matrix((np.ones(len(kinds)), place), shape))
        return found

    def curvature(self, nodes: Sequence[np.ndarray], pair_sums: np.ndarray) -> np.ndarray:
        """Return the variances of all features under beliefs, divided by the temperature.

        This estimates how curved the bound is along each weight, if messages converge at all weights.

        Parameters
        ----------
        nodes, pair_sums
            As for `expected`.
        """
        data, shape = self.data, self.weight_shape
        p = np.empty((data.samples.n_nodes, data.n_labels))
        for graphs, node in zip(self.graphs, nodes, strict=True):
            graphs.put(node * (1.0 - node) * self.weight_of(graphs), p)
        of_nodes = np.asarray((self._squares @ p).T)
        sums = pair_sums
        count = np.maximum(sums.sum(axis=(1, 2), keepdims=True), 1e-300)
        if shape.table == "full":
            pairs = sums * (1.0 - sums / count)
        else:
            equal = np.trace(sums, axis1=1, axis2=2)[:, None, None]
            pairs = equal * (1.0 - equal / count)
        of_tables = data.samples.table_sums(pairs, shape.n_tables, squared=True)
        if shape.table == "ising":  # labels are -1 and +1, twice as far apart as 0 and 1
            of_nodes, of_tables = 4.0 * of_nodes[:1], 4.0 * of_tables
        return np.concatenate([of_nodes.ravel(), of_tables.ravel()]) / max(self.epsilon, 1e-300)

    def disagreement(self, weights: np.ndarray, point: LocalPoint) -> float:
        """Return the largest difference between beliefs of a node and of one of its edges.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        point : LocalPoint
            Messages and beliefs, however far from settled.
        """
        states = self.states(weights, point.messages)
        apart = 0.0
        for graphs, state, node in zip(self.graphs, states, point.beliefs, strict=True):
            state.epsilon = point.epsilon
            apart = max(apart, disagreement(graphs, node, state.edge_beliefs()))
        return apart

    @cached_property
    def _squares(self) -> sp.csr_matrix:
        """Squared node features, a row for each."""
        return self.data.samples.features.power(2).T.tocsr()

    # -- certificates -----------------------------------------------------------------------------

    def upper(self, weights: np.ndarray, point: LocalPoint) -> float:
        """Return the primal value at weights and messages.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        point : LocalPoint
            Messages and beliefs, however far from settled.
        """
        total = 0.0
        states = self.states(weights, point.messages)
        for graphs, state, form in zip(self.graphs, states, self.forms, strict=True):
            values = bounds.upper_bound(state.potentials, state.messages, form, self.epsilon)
            total += float(self.weight_of(graphs) @ values)
        return self.regulariser.value(weights) + total - float(self.observed @ weights)

    def lower(self, weights: np.ndarray, point: LocalPoint) -> tuple[float, np.ndarray]:
        """Return the dual value after the beliefs have been made to agree, and ``eta``.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        point : LocalPoint
            Messages and beliefs, however far from settled.
        """
        total, nodes, edges = 0.0, [], []
        warm = self.states(weights, point.messages)
        for graphs, state, node, numbers in zip(
            self.graphs, warm, point.beliefs, self.numbers, strict=True
        ):
            state.epsilon = point.epsilon
            phi = state.potentials
            node = bounds.averaged_nodes(phi, node, state.edge_beliefs(), numbers)
            node, edge = self._agreeing(state, node)
            values = np.zeros(len(graphs.samples))
            if self.epsilon > 0:
                values += self.epsilon * (numbers.node @ bounds.entropies(node, 1))
                values += self.epsilon * (numbers.edge @ bounds.entropies(edge, (1, 2)))
            if self.loss_augmented:
                values += np.sum(node * self._losses(graphs), axis=(0, 1))
            total += float(self.weight_of(graphs) @ values)
            nodes.append(node)
            edges.append(edge)
        eta = self.observed - self.expected(nodes, self.pair_sums(edges))
        return total - self.regulariser.conjugate(eta), eta

    def _agreeing(self, state: MessageState, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return beliefs of nodes, moved as little as need be, and the best tables of edges for them.

        Beliefs that have not settled may need forbidden pairs of labels.  Then a larger and larger share
        of `_inner` is mixed in.  If that doesn't help, the true labels take their place.
        """
        phi, graphs = state.potentials, state.potentials.graphs
        forbidden, moved = phi.edge == -np.inf, node
        for share in (0.0, *_SHARES):
            edge = bounds.best_edges(phi, state.messages, moved, state.numbers.edge, state.epsilon)
            bad = np.where(forbidden, edge, 0.0).any(axis=(0, 1, 2))
            if not bad.any():
                return moved, edge
            inner = self._inner[graphs.samples[0]]
            moved = np.where(bad, (1.0 - share) * node + share * inner, moved)
        true = graphs.node_table(np.eye(self.data.n_labels)[self.data.labels])
        first, second = true[graphs.ends.T]
        return np.where(bad, true, moved), np.where(bad, first[:, :, None] * second[:, None], edge)

    @cached_property
    def _inner(self) -> dict[int, np.ndarray]:
        """Beliefs above 0 for each allowed label and pair, by the first sample of equal graphs."""
        found = {}
        potentials = self.potentials(np.zeros(self.weight_shape.size))
        for graphs in self.graphs:
            phi = GraphPotentials.of(graphs, potentials)
            ones = CountingNumbers.of("ones", graphs)
            state = MessageState(phi, ones, 1.0, phi.zero_messages())
            state.sweep(_N_INNER)
            edge = state.edge_beliefs()
            found[graphs.samples[0]] = bounds.averaged_nodes(phi, state.beliefs, edge, ones)
        return found

    def _losses(self, graphs: EqualGraphs) -> np.ndarray:
        """Return the loss of each label, (n_nodes, n_labels, n_samples)."""
        data = self.data
        zeros = np.zeros((data.samples.n_nodes, data.n_labels))
        losses = inference.add_loss(zeros, data.labels, data.loss_scale)
        return graphs.node_table(losses)

    def primal(self, weights: np.ndarray) -> float:
        """Primal value at some weights, with the messages after ten sweeps."""
        return self.upper(weights, self.point(weights, n_sweeps=10))

    def certify(self, weights: np.ndarray, alpha: Any = None) -> Certificate:
        """Compute the primal and the dual value, each on its own, from weights, messages and beliefs.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        alpha : LocalPoint, optional
            Messages and beliefs, however far from settled; by default those after ten sweeps.

        Returns
        -------
        Certificate
            Both values.  A dual value that overflows is minus infinity.
        """
        point = self.point(weights, n_sweeps=10) if alpha is None else alpha
        dual, eta = self.lower(weights, point)
        return Certificate(
            primal=self.upper(weights, point),
            dual=dual if math.isfinite(dual) else -math.inf,
            alpha=point,
            eta=eta,
        )
