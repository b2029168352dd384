"""Dual variables with log-linear form: multiplicative updates add up scores and losses.

The derivative of the dual of M3N with respect to ``alpha_i(y)`` is the loss of ``y`` plus its
score, minus the score of the truth, which is the same for all ``y``.  Steps
``alpha_i(y) <- alpha_i(y) exp(step * gradient) / Z`` from equal dual variables add up in the
exponent,

    log alpha_i(y) = S loss_i(y) + W . f(x_i, y) - log Z_i,

where ``S`` is the sum of the steps, and ``W`` the sum of step times weights over the steps.  So one
number and one vector give the dual variables of exponentially many labellings.  They form a
conditional random field with the *average* weights ``W / S``, with the loss added, at temperature
``1 / S``.  All that a solver needs from them are sums over labellings, which take the two sweeps of
`medn_edu.inference.marginals`.
"""

from dataclasses import dataclass

import numpy as np

from medn_edu import inference
from medn_edu.problems import DualMarginals, Problem
from medn_edu.solvers.training import check_plain, normal_variances


@dataclass(frozen=True, eq=False)
class DualSums:
    """The sums over dual variables that the dual value needs, and the dual value."""

    loss: float  # sum alpha_i(y) loss_i(y)
    eta: np.ndarray  # sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))
    dual: float
    log_norm: float  # sum_i C_i log Z_i


class LogLinearDual:
    """The dual variables that belong to ``(S, W)``, given as one vector with ``S`` first."""

    def __init__(self, problem: Problem) -> None:
        check_plain(problem)
        self.problem = problem
        self.variance = normal_variances(problem)
        data = problem.data
        self._totals = problem.C[data.samples.sample_of_node]
        self._of_truth = inference.edge_counts(
            data.samples,
            data.labels,
            data.n_labels,
            problem.C,
            n_edge_types=len(data.allowed),
        )
        # sum_i C_i f(x_i, y_i)
        nothing = np.zeros((data.samples.n_nodes, data.n_labels))
        self.truth = self.eta(nothing, np.zeros_like(self._of_truth))

    def sums(self, exponent: np.ndarray) -> DualSums:
        """Sum over all labellings; one call of the oracle per sample."""
        problem = self.problem
        found = inference.marginals(
            self._potentials(exponent), sample_weight=problem.C, n_jobs=problem.n_jobs
        )
        node_alpha = found.node * self._totals[:, None]
        eta, loss = self.eta(node_alpha, found.edge_counts), self.loss(node_alpha)
        log_norm = float(problem.C @ found.log_partition)
        return DualSums(loss, eta, self.dual(loss, eta), log_norm)

    def marginals(self, exponent: np.ndarray) -> DualMarginals:
        """Return the marginals of labels and transitions."""
        potentials, n_jobs = self._potentials(exponent), self.problem.n_jobs
        of_edges = inference.edge_marginals(potentials, n_jobs=n_jobs)
        of_nodes = inference.marginals(potentials, n_jobs=n_jobs).node
        return DualMarginals(
            of_nodes * self._totals[:, None], of_edges * self._totals[:, None, None]
        )

    def eta(self, node_alpha: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return ``eta`` of marginals of labels at nodes and of transitions by edge type."""
        data = self.problem.data
        difference = -node_alpha
        difference[np.arange(len(node_alpha)), data.labels] += self._totals
        coef = inference.feature_sums(data.samples, difference, n_jobs=self.problem.n_jobs)
        return self.problem.weight_shape.join(coef, self._of_truth - counts)

    def loss(self, node_alpha: np.ndarray) -> float:
        """Return the loss of marginals of labels at nodes."""
        true = node_alpha[np.arange(len(node_alpha)), self.problem.data.labels]
        return float(np.sum(self._totals - true))

    def dual(self, loss: float, eta: np.ndarray) -> float:
        """Return the dual value ``loss - sum_k v_k eta_k^2 / 2``."""
        return loss - 0.5 * float(eta @ (self.variance * eta))

    def _potentials(self, exponent: np.ndarray) -> inference.Potentials:
        problem, data = self.problem, self.problem.data
        coef, transitions = problem.weight_shape.split(exponent[1:])
        potentials = inference.Potentials.of_weights(
            data.samples, coef, transitions, data.allowed, n_jobs=problem.n_jobs
        )
        return potentials.with_loss(data.labels, exponent[0])


def sample_scales(problem: Problem) -> np.ndarray:
    """Return, for each sample, how fast its block of the gradient changes with ``alpha_i``.

    Roughly, that is ``C_i`` times the square of a typical ``f(x_i, y_i) - f(x_i, y)``.  First step
    sizes are chosen from it.
    """
    samples = problem.data.samples
    of_node = np.asarray(samples.features.multiply(samples.features).sum(axis=1)).ravel() + 1.0
    largest = float(normal_variances(problem).max())
    return problem.C * largest * np.add.reduceat(of_node, samples.offsets[:-1])


def first_step(problem: Problem) -> float:
    """Return a first step size for all samples together."""
    return float(1.0 / sample_scales(problem).mean())
