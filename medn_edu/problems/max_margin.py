"""The max-margin problem: P1 of MEDN and its dual D1, for any prior and slack.

The primal problem (MEDN, Definition 1) looks for the distribution over weights that is closest to the
prior among those whose *expected* margins are large enough:

    minimise  KL(p || p0) + sum_i U(xi_i)
    such that E_p[w . (f(x_i, y_i) - f(x_i, y))] >= loss_i(y) - xi_i   for all i and y.

The best ``p`` with mean ``w`` costs ``Lambda*(w)``, the conjugate of the prior's log moment generating
function, so the primal is a function of the mean alone,

    P(w) = sum_k Lambda*(w_k) + sum_i U(max_y [loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))]),

where the slack is never below that at which ``U`` is lowest.  The dual (Theorem 2) is, with ``eta =
sum_i,y alpha_i(y) (f(x_i, y_i) - f(x_i, y))``,

    D(alpha) = sum_i,y alpha_i(y) loss_i(y) - sum_k Lambda(eta_k) - sum_i U*(sum_y alpha_i(y)).

The loss is the Hamming loss, the number of wrong nodes; neither part is divided by the number of
samples or nodes.  With a linear slack the labellings include the true one, and their masses add up to
``C``; other slacks leave the sum free.  At the optimum ``w = Lambda'(eta)``.

With the standard normal prior and a linear slack this is P0, the maximum margin Markov network, and
``w = eta`` (Theorem 3).  With a Laplace prior the divergence is ``sqrt(lam) |w|_KL - K`` (Corollary 6)
and ``w_k = 2 eta_k / (lam - eta_k^2)`` (Corollary 7).
"""

from __future__ import annotations

import math

import numpy as np

from medn_edu import inference
from medn_edu.priors import Prior
from medn_edu.results import Certificate, DualVariables, Iterate
from medn_edu.slacks import Slack
from medn_edu.structures import LabelledSamples, WeightShape

__all__ = ["MaxMarginProblem"]


class MaxMarginProblem:
    """Data, prior and slack joined into a primal, a dual and a certificate.

    Parameters
    ----------
    data : LabelledSamples
        Training samples with their labels.
    prior : Prior
        Prior of every weight.
    slack : Slack
        Price of violated margins; multiplied by each sample's weight.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.slacks import LinearSlack
    >>> from medn_edu.packing import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = MaxMarginProblem(data, GaussianPrior(), LinearSlack(C=1.0))
    >>> problem.primal(np.zeros(8))
    2.0
    """

    def __init__(self, data: LabelledSamples, prior: Prior, slack: Slack, n_jobs: int = 1) -> None:
        self.data = data
        self.prior = prior
        self.slack = slack
        self.n_jobs = n_jobs

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.data.samples.n_samples

    @property
    def has_dual(self) -> bool:
        """Whether there is a dual, and so a gap: always."""
        return True

    @property
    def weight_shape(self) -> WeightShape:
        """Shape of the weights."""
        return self.data.weight_shape

    @property
    def mass(self) -> np.ndarray:
        """Constant of the slack times each sample's weight, shape (n_samples,).

        With a linear slack it is the total dual mass of the sample.
        """
        _, constant = self.slack.compiled
        return constant * self.data.sample_weight

    def xi(self, weights: np.ndarray) -> np.ndarray:
        """Slack that each sample needs, by loss-augmented decoding.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Mean weights.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``max_y [loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))]``, and no less than the least slack.
        """
        samples, labels = self.data.samples, self.data.labels
        coef, transitions = self.weight_shape.split(weights)
        node = inference.node_potentials(samples, coef, n_jobs=self.n_jobs)
        edge = inference.edge_potentials(transitions, self.data.allowed)
        true_scores = inference.labelling_scores(samples, node, edge, labels)
        augmented = inference.add_loss(node, labels)
        _, best_scores = inference.best_labelling(samples, augmented, edge, n_jobs=self.n_jobs)
        return np.maximum(best_scores - true_scores, self.slack.least)

    def primal(self, weights: np.ndarray) -> float:
        """Primal value ``P(w)`` of P1 at mean weights ``w``."""
        penalties = self.data.sample_weight * self.slack.penalty(self.xi(weights))
        return math.fsum(self.prior.kl(weights)) + math.fsum(penalties)

    def eta(self, alpha: DualVariables) -> np.ndarray:
        """What the prior is tilted by, ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``."""
        samples, n_labels = self.data.samples, self.data.n_labels
        position, node = _positions(alpha, samples.offsets)
        value = np.repeat(alpha.values, np.diff(alpha.offsets))
        per_node = np.bincount(node, weights=value, minlength=samples.n_nodes)
        difference = np.bincount(
            node * n_labels + alpha.labels,
            weights=-value,
            minlength=samples.n_nodes * n_labels,
        ).reshape(samples.n_nodes, n_labels)
        difference[np.arange(samples.n_nodes), self.data.labels] += per_node
        coef = inference.feature_sums(samples, difference)
        child = np.flatnonzero(samples.parents[node] >= 0)
        to_parent = node[child] - samples.parents[node[child]]
        transitions = self._transition_sums(
            samples.edge_types[node[child]],
            self.data.labels[samples.parents[node[child]]],
            self.data.labels[node[child]],
            value[child],
        ) - self._transition_sums(
            samples.edge_types[node[child]],
            alpha.labels[position[child] - to_parent],
            alpha.labels[position[child]],
            value[child],
        )
        return self.weight_shape.join(coef, transitions)

    def _transition_sums(
        self, edge_type: np.ndarray, parent: np.ndarray, child: np.ndarray, value: np.ndarray
    ) -> np.ndarray:
        shape = self.data.allowed.shape
        flat = np.ravel_multi_index((edge_type, parent, child), shape)
        return np.bincount(flat, weights=value, minlength=self.data.allowed.size).reshape(shape)

    def dual(self, alpha: DualVariables) -> float:
        """Dual value ``D(alpha)`` of D1; minus infinity where ``alpha`` is not feasible."""
        return self._dual(alpha, self.eta(alpha))

    def _dual(self, alpha: DualVariables, eta: np.ndarray) -> float:
        if np.any(alpha.values < 0):
            return -math.inf
        mass = np.bincount(alpha.sample, weights=alpha.values, minlength=self.n_samples)
        return (
            math.fsum(alpha.values * self.losses(alpha))
            - math.fsum(self.prior.log_mgf(eta))
            - math.fsum(self.conjugates(mass))
        )

    def losses(self, alpha: DualVariables) -> np.ndarray:
        """Hamming loss of each labelling of ``alpha``."""
        _, node = _positions(alpha, self.data.samples.offsets)
        wrong = alpha.labels != self.data.labels[node]
        return np.add.reduceat(wrong, alpha.offsets[:-1], dtype=np.int64)

    def conjugates(self, mass: np.ndarray) -> np.ndarray:
        """Conjugates ``U*`` at the samples' masses; infinite where a mass is not feasible."""
        weight = self.data.sample_weight
        return weight * self.slack.conjugate(mass / weight)

    def certify(self, iterate: Iterate) -> Certificate:
        """Compute primal and dual value at an iterate, apart and from scratch.

        Parameters
        ----------
        iterate : Iterate
            An iterate of a solver that keeps dual variables.

        Returns
        -------
        Certificate
            Both values, the dual variables and ``eta``.
        """
        if iterate.dual is None:
            raise TypeError(
                "a max-margin problem is certified by dual variables; the solver kept none."
            )
        alpha = iterate.dual()
        eta = self.eta(alpha)
        return Certificate(self.primal(iterate.weights), self._dual(alpha, eta), alpha, eta)


def _positions(alpha: DualVariables, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every label kept in ``alpha``, its position there and the node it belongs to."""
    position = np.arange(len(alpha.labels))
    shift = offsets[alpha.sample] - alpha.offsets[:-1]
    return position, position + np.repeat(shift, np.diff(alpha.offsets))
