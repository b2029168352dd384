"""What all max-margin problems share: violated margins, what they cost, and sums over dual variables.

A sample's *violation* by a labelling, ``H_i(y) = loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))``, is how
much its margin falls short of the loss.  The largest one is found by decoding with the loss added to
the scores (*loss-augmented decoding*), and is the slack ``xi_i`` that the sample needs.  Every primal
here charges for slacks; what it charges for weights is what tells the problems apart.

On the dual side stand masses ``alpha_i(y)``, given as a list of labellings (`DualVariables`) or summed
up by node and edge (`DualMarginals`).  Three sums over them are all that a dual value needs: the loss
``sum alpha_i(y) loss_i(y)``, the mass of each sample, and

    eta = sum_i,y alpha_i(y) (f(x_i, y_i) - f(x_i, y)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu import inference
from medn_edu.results import DualMarginals, DualVariables
from medn_edu.samples import LabelledSamples, WeightShape
from medn_edu.slacks import Slack

__all__ = ["MarginProblem", "score_rounding"]

_NEGLIGIBLE = 1e-6  # rounding of a score, next to losses of 1
_ROUNDING = 1e-9  # how far marginals may be from consistent, relative to the mass of their sample


class MarginProblem:
    """Samples and the price of their violated margins.

    Parameters
    ----------
    data : LabelledSamples
        Training samples with their labels.
    slack : Slack
        Price of violated margins; multiplied by each sample's weight.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.slacks import LinearSlack
    >>> from medn_edu.samples import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = MarginProblem(data, LinearSlack(C=1.0))
    >>> problem.violated(np.zeros(8))
    (array([1, 0]), array([2.]))
    """

    def __init__(self, data: LabelledSamples, slack: Slack, n_jobs: int = 1) -> None:
        self.data = data
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

    # -- the primal side ------------------------------------------------------------------------

    def violated(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find each sample's most violated margin, by loss-augmented decoding.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        labels : ndarray of int64, shape (n_nodes,)
            The labellings, all samples one after the other.
        violation : ndarray of shape (n_samples,)
            ``max_y [loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))]``, never below 0 but for rounding.
        """
        samples, labels = self.data.samples, self.data.labels
        coef, transitions = self.weight_shape.split(weights)
        potentials = inference.Potentials.of_weights(
            samples, coef, transitions, self.data.allowed, n_jobs=self.n_jobs
        )
        true_scores = inference.labelling_scores(potentials, labels)
        best, best_scores = inference.best_labelling(
            potentials.with_loss(labels), n_jobs=self.n_jobs
        )
        return best, best_scores - true_scores

    def xi(self, weights: np.ndarray) -> np.ndarray:
        """Slack that each sample needs.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        ndarray of shape (n_samples,)
            The largest violation, and no less than the least slack.
        """
        _, violation = self.violated(weights)
        return np.maximum(violation, self.slack.least)

    def penalty(self, weights: np.ndarray) -> float:
        """Price ``sum_i U(xi_i)`` of the margins that the weights violate."""
        return self.penalty_and_rounding(weights)[0]

    def penalty_and_rounding(self, weights: np.ndarray) -> tuple[float, dict[str, Any]]:
        """Return the price, and what a certificate says of rounding.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        penalty : float
            ``sum_i U(xi_i)``.
        rounding : dict
            ``rounding``, twice what the price would rise by if all scores were as wrong as can be (for
            the dual value as well), and ``rounding_counts``: it does where a score may be off by more
            than a millionth of a wrong label.
        """
        _, violation = self.violated(weights)
        error = score_rounding(self.data, weights)
        price, worst = (
            self.data.sample_weight * self.slack.penalty(np.maximum(xi, self.slack.least))
            for xi in (violation, violation + error)
        )
        counts = not bool((error <= _NEGLIGIBLE).all())  # NaN counts, too
        rounding = 2 * math.fsum(worst - price)
        return math.fsum(price), {"rounding": rounding, "rounding_counts": counts}

    # -- the dual side --------------------------------------------------------------------------

    def eta(self, alpha: DualVariables | DualMarginals) -> np.ndarray:
        """Return ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``, shape (n_weights,)."""
        if isinstance(alpha, DualMarginals):
            return self._eta_of_marginals(alpha)
        return self._eta_of_labellings(alpha)

    def loss(self, alpha: DualVariables | DualMarginals) -> float:
        """Return ``sum alpha_i(y) loss_i(y)``."""
        if isinstance(alpha, DualMarginals):
            true = alpha.node[np.arange(len(alpha.node)), self.data.labels]
            return math.fsum(alpha.node.sum(axis=1) - true)
        return math.fsum(alpha.values * self.losses(alpha))

    def masses(self, alpha: DualVariables | DualMarginals) -> np.ndarray:
        """Return each sample's mass ``sum_y alpha_i(y)``, shape (n_samples,)."""
        if isinstance(alpha, DualMarginals):
            return alpha.node[self.data.samples.offsets[:-1]].sum(axis=1)
        return np.bincount(alpha.sample, weights=alpha.values, minlength=self.n_samples)

    def losses(self, alpha: DualVariables) -> np.ndarray:
        """Hamming loss of each labelling of ``alpha``."""
        _, node = _positions(alpha, self.data.samples.offsets)
        wrong = alpha.labels != self.data.labels[node]
        return np.add.reduceat(wrong, alpha.offsets[:-1], dtype=np.int64)

    def differences(self, alpha: DualVariables) -> sp.csr_matrix:
        """Return ``f(x_i, y_i) - f(x_i, y)``, one sparse row for each labelling of ``alpha``."""
        samples = self.data.samples.take(alpha.sample)
        _, node = _positions(alpha, self.data.samples.offsets)
        true = inference.joint_features(samples, self.data.labels[node], self.weight_shape)
        return true - inference.joint_features(samples, alpha.labels, self.weight_shape)

    def is_feasible(self, alpha: DualVariables | DualMarginals) -> bool:
        """Say whether masses are not negative and, where summed up, belong to some labellings.

        Parameters
        ----------
        alpha : DualVariables or DualMarginals
            Dual variables.

        Returns
        -------
        bool
            On forests marginals that agree along every edge belong to a mass on labellings.
        """
        if isinstance(alpha, DualVariables):
            return not np.any(alpha.values < 0) and not self._has_forbidden(alpha)
        samples = self.data.samples
        child = np.flatnonzero(samples.parents >= 0)
        parent, edge = samples.parents[child], alpha.edge[child]
        forbidden = np.where(self.data.allowed[samples.edge_types[child]], 0.0, np.abs(edge))
        off = np.zeros(samples.n_nodes)
        for index, error in (
            (slice(None), -alpha.node.min(axis=1)),
            (
                slice(None),
                _farthest(alpha.node.sum(axis=1), self.masses(alpha)[samples.sample_of_node]),
            ),
            (child, -edge.min(axis=(1, 2))),
            (child, forbidden.max(axis=(1, 2))),
            (child, _farthest(edge.sum(axis=1), alpha.node[child])),
            (child, _farthest(edge.sum(axis=2), alpha.node[parent])),
        ):
            off[index] = np.maximum(off[index], error)
        return bool(np.all(off <= _ROUNDING * self.mass[samples.sample_of_node]))

    def _has_forbidden(self, alpha: DualVariables) -> bool:
        samples = self.data.samples
        position, node = _positions(alpha, samples.offsets)
        child = np.flatnonzero(samples.parents[node] >= 0)
        above = position[child] - (node[child] - samples.parents[node[child]])
        edge_type = samples.edge_types[node[child]]
        return not self.data.allowed[edge_type, alpha.labels[above], alpha.labels[child]].all()

    def conjugates(self, mass: np.ndarray) -> np.ndarray:
        """Conjugates ``U*`` at the samples' masses; infinite where a mass is not feasible."""
        weight = self.data.sample_weight
        return weight * self.slack.conjugate(mass / weight)

    # -- sums -----------------------------------------------------------------------------------

    def _eta_of_labellings(self, alpha: DualVariables) -> np.ndarray:
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

    def _eta_of_marginals(self, alpha: DualMarginals) -> np.ndarray:
        samples, labels = self.data.samples, self.data.labels
        mass = self.masses(alpha)
        difference = -alpha.node
        difference[np.arange(samples.n_nodes), labels] += mass[samples.sample_of_node]
        coef = inference.feature_sums(samples, difference)
        transitions = inference.edge_counts(
            samples, labels, self.data.n_labels, mass, n_edge_types=len(self.data.allowed)
        )
        child = np.flatnonzero(samples.parents >= 0)
        np.subtract.at(transitions, samples.edge_types[child], alpha.edge[child])
        return self.weight_shape.join(coef, transitions)

    def _transition_sums(
        self, edge_type: np.ndarray, parent: np.ndarray, child: np.ndarray, value: np.ndarray
    ) -> np.ndarray:
        shape = self.data.allowed.shape
        flat = np.ravel_multi_index((edge_type, parent, child), shape)
        return np.bincount(flat, weights=value, minlength=self.data.allowed.size).reshape(shape)


def score_rounding(data: LabelledSamples, weights: np.ndarray) -> np.ndarray:
    """Bound by how much rounding may have moved each sample's largest violation.

    A violation of a few units is what is left of two scores; each sums up products whose sizes add
    up to ``S``, in ``n`` steps, and may be off by ``n S`` times the spacing of floats at 1.

    Parameters
    ----------
    data : LabelledSamples
        Training samples with their labels.
    weights : ndarray of shape (n_weights,)
        Weights.

    Returns
    -------
    ndarray of shape (n_samples,)
        The bounds.
    """
    samples = data.samples
    coef, transitions = data.weight_shape.split(np.abs(weights))
    sizes = np.abs(samples.data) * coef.max(axis=0)[samples.indices]
    nonzeros = np.diff(samples.indptr)
    node = np.bincount(np.repeat(np.arange(samples.n_nodes), nonzeros), sizes, samples.n_nodes)
    node = node + (1.0 + transitions.max())  # 1 is the loss
    n_steps = samples.lengths + np.maximum.reduceat(nonzeros, samples.offsets[:-1])
    return 2 * np.finfo(float).eps * n_steps * np.add.reduceat(node, samples.offsets[:-1])


def _positions(alpha: DualVariables, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every label kept in ``alpha``, its position there and the node it belongs to."""
    position = np.arange(len(alpha.labels))
    shift = offsets[alpha.sample] - alpha.offsets[:-1]
    return position, position + np.repeat(shift, np.diff(alpha.offsets))


def _farthest(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return, for each node, the largest difference."""
    difference = np.abs(found - expected)
    return difference if difference.ndim == 1 else difference.max(axis=1, initial=0.0)
