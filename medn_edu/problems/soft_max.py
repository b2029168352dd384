r"""The soft-max problem: log-loss and L2 penalty, which is the conditional random field.

Where the max-margin problem asks for the worst labelling, this one sums over all of them.  A
*conditional random field* (Lafferty et al. 2001) is the distribution ``p_w(y | x) = exp(F(x, y;
w) - log Z(x; w))`` with ``F(x, y; w) = w . f(x, y)``, trained by minimising

    P(w) = sum_i s_i [log Z(x_i; w) - F(x_i, y_i; w)] + lam/2 ||w||^2,

``s_i`` being the weight of sample ``i``.  The derivative of ``log Z`` is an expectation, so

    grad P(w) = lam w - sum_i s_i (f(x_i, y_i) - E_{y ~ p_w(. | x_i)} f(x_i, y)):

training matches the expected features to the observed ones, as closely as the penalty lets it.

The dual and the gap
--------------------
``log Z`` is the conjugate of the negative entropy: ``log Z(x; w) = max_p [H(p) + E_p F(x, y; w)]``.
Hence every choice of distributions ``alpha_i`` over labellings gives a lower bound of the optimum,

    D(alpha) = sum_i s_i H(alpha_i) - lam/2 ||w'||^2,
    lam w'   = sum_i s_i (f(x_i, y_i) - E_{alpha_i} f(x_i, y)),

and the natural choice at weights ``w`` is ``alpha_i = p_w(. | x_i)``, known through its node and
edge marginals: on a forest the entropy is ``sum_edges H(edge) + sum_roots H(root) - sum_edges
H(parent)``.  For that choice ``P(w) - D = ||grad P(w)||^2 / (2 lam)``: a small gradient *proves*
closeness to the optimum when the penalty is strong.  The identity is convenient for deciding when
to stop; the certificate does not use it but computes ``P`` and ``D`` apart.

With ``lam = 0`` there is no dual, and there may be no optimum: if the samples can be labelled
without error, weights grow without bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from medn_edu import inference
from medn_edu.results import Certificate, Iterate
from medn_edu.structures import LabelledSamples, WeightShape

__all__ = ["Curvature", "SoftMaxProblem"]

# Certificates look at edge marginals, n_labels**2 numbers per node, in chunks of about this many.
CHUNK_NUMBERS = 2_000_000


@dataclass(frozen=True, eq=False)
class Curvature:
    """Parts from which an approximation of the Hessian of the log-loss is built.

    Parameters
    ----------
    labels : ndarray of shape (n_labels, n_labels)
        ``sum_t s_t (diag(p_t) - p_t p_t^T)``, covariances of the label indicators, summed.
    doubt : ndarray of shape (n_nodes,)
        Trace of each node's covariance, ``s_t (1 - ||p_t||^2)``.
    transitions : ndarray of shape (n_edge_types, n_labels, n_labels)
        ``n_ab (1 - n_ab / n_a)``, with ``n`` the expected counts: a diagonal for transitions.
    """

    labels: np.ndarray
    doubt: np.ndarray
    transitions: np.ndarray


class SoftMaxProblem:
    """Labelled samples and an L2 penalty, joined into a primal, a dual and a certificate.

    Parameters
    ----------
    data : LabelledSamples
        Training samples with their labels.
    lam : float
        Strength of the penalty ``lam/2 ||w||^2``; 0 for none.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.

    Raises
    ------
    ValueError
        If ``lam`` is negative or not finite.

    Examples
    --------
    Without weights every labelling is equally likely, four of them here:

    >>> import numpy as np
    >>> from medn_edu.packing import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = SoftMaxProblem(data, lam=1.0)
    >>> round(float(np.exp(problem.primal(np.zeros(8)))), 6)
    4.0
    """

    def __init__(self, data: LabelledSamples, lam: float, n_jobs: int = 1) -> None:
        if not (math.isfinite(lam) and lam >= 0):
            raise ValueError(f"lam is {lam!r}; expected a finite number >= 0.")
        self.data = data
        self.lam = float(lam)
        self.n_jobs = n_jobs
        samples, labels, weight = data.samples, data.labels, data.sample_weight
        self.node_weight = weight[samples.sample_of_node]
        truth = np.zeros((samples.n_nodes, data.n_labels))
        truth[np.arange(samples.n_nodes), labels] = self.node_weight
        self.observed = self.weight_shape.join(
            inference.feature_sums(samples, truth),
            inference.edge_counts(
                samples, labels, data.n_labels, weight, n_edge_types=len(data.allowed)
            ),
        )

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.data.samples.n_samples

    @property
    def has_dual(self) -> bool:
        """Whether there is a dual, and so a gap: only with a penalty."""
        return self.lam > 0

    @property
    def weight_shape(self) -> WeightShape:
        """Shape of the weights."""
        return self.data.weight_shape

    def objective_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate ``P(w)`` and its gradient.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.

        Returns
        -------
        objective : float
            ``P(w)``.
        gradient : ndarray of shape (n_weights,)
            ``lam w - observed + expected features``; 0 at forbidden transitions whose weight is 0.
        """
        coef, edge = self._potentials(weights)
        found = inference.expected_statistics(
            self.data.samples,
            coef,
            edge,
            sample_weight=self.data.sample_weight,
            n_jobs=self.n_jobs,
        )
        expected = self.weight_shape.join(found.feature_sums, found.edge_counts)
        gradient = self.lam * weights - self.observed + expected
        return self._objective(weights, found.log_partition), gradient

    def primal(self, weights: np.ndarray) -> float:
        """Primal value ``P(w)``: an upper bound of the optimum at any weights."""
        samples = self.data.samples
        coef, edge = self._potentials(weights)
        node = inference.node_potentials(samples, coef, n_jobs=self.n_jobs)
        log_partition = inference.log_partition(samples, node, edge, n_jobs=self.n_jobs)
        true_scores = inference.labelling_scores(samples, node, edge, self.data.labels)
        losses = np.maximum(
            log_partition - true_scores, 0.0
        )  # one by one: less is lost to rounding
        penalty = 0.5 * self.lam * float(weights @ weights)
        return math.fsum(self.data.sample_weight * losses) + penalty

    def dual(self, weights: np.ndarray) -> float:
        """Dual value at ``alpha_i = p_w(. | x_i)``; minus infinity without a penalty.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights that stand for the distributions.

        Returns
        -------
        float
            ``sum_i s_i H(alpha_i) - lam/2 ||w'||^2``, a lower bound of the optimum.
        """
        return self._dual_and_eta(weights)[0]

    def _dual_and_eta(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        expected, entropies = self.moments(weights)
        eta = self.observed - expected
        if not self.has_dual:
            return -math.inf, eta
        entropy = math.fsum(self.data.sample_weight * entropies)
        return entropy - float(eta @ eta) / (2 * self.lam), eta

    def certify(self, iterate: Iterate) -> Certificate:
        """Compute primal and dual value at an iterate's weights, apart and from scratch."""
        dual, eta = self._dual_and_eta(iterate.weights)
        return Certificate(self.primal(iterate.weights), dual, eta=eta)

    def curvature(self, weights: np.ndarray) -> Curvature:
        """Return the parts of an approximate Hessian, for `medn_edu.solvers.lbfgs`."""
        coef, edge = self._potentials(weights)
        marginals = inference.marginals(
            self.data.samples,
            inference.node_potentials(self.data.samples, coef, n_jobs=self.n_jobs),
            edge,
            sample_weight=self.data.sample_weight,
            n_jobs=self.n_jobs,
        )
        p, s, counts = marginals.node, self.node_weight, marginals.edge_counts
        weighted = p * s[:, None]
        from_parent = np.maximum(counts.sum(axis=2, keepdims=True), np.finfo(float).tiny)
        return Curvature(
            labels=np.diag(weighted.sum(axis=0)) - weighted.T @ p,
            doubt=s - np.einsum("ta,ta->t", weighted, p),
            transitions=np.maximum(counts * (1.0 - counts / from_parent), 0.0),
        )

    def _potentials(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return label-feature weights and edge potentials."""
        coef, transitions = self.weight_shape.split(weights)
        return coef, inference.edge_potentials(transitions, self.data.allowed)

    def _objective(self, weights: np.ndarray, log_partition: np.ndarray) -> float:
        # w . observed is the weighted sum of the scores of the true labellings.
        log_partitions = math.fsum(self.data.sample_weight * log_partition)
        penalty = 0.5 * self.lam * float(weights @ weights)
        return log_partitions - float(weights @ self.observed) + penalty

    def moments(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the dual value is made of.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights that stand for the distributions.

        Returns
        -------
        expected_features : ndarray of shape (n_weights,)
            ``sum_i s_i E_{y ~ p_w(. | x_i)} f(x_i, y)``.
        entropies : ndarray of shape (n_samples,)
            Entropy of each sample's distribution.
        """
        samples, data = self.data.samples, self.data
        coef, edge = self._potentials(weights)
        sums = np.zeros(self.weight_shape.size)
        sum_coef, sum_transitions = self.weight_shape.split(sums)
        entropies = np.empty(self.n_samples)
        for index in self._chunks():
            part = samples.take(index)
            node = inference.node_potentials(part, coef, n_jobs=self.n_jobs)
            p_node = inference.marginals(part, node, edge, n_jobs=self.n_jobs).node
            p_edge = inference.edge_marginals(part, node, edge, n_jobs=self.n_jobs)
            s = data.sample_weight[index][part.sample_of_node]
            sum_coef += inference.feature_sums(part, p_node * s[:, None])
            for kind in range(len(sum_transitions)):
                of_kind = (part.parents >= 0) & (part.edge_types == kind)
                sum_transitions[kind] += np.tensordot(s[of_kind], p_edge[of_kind], axes=1)
            per_node = _entropy_terms(p_node, p_edge, part.parents)
            entropies[index] = np.add.reduceat(per_node, part.offsets[:-1])
        return sums, entropies

    def _chunks(self) -> list[np.ndarray]:
        """Cut the samples into runs whose edge marginals are not too many."""
        numbers = np.cumsum(self.data.samples.lengths) * self.data.n_labels**2
        chunk = numbers // CHUNK_NUMBERS
        return np.split(np.arange(self.n_samples), np.flatnonzero(np.diff(chunk)) + 1)


def _entropy_terms(p_node: np.ndarray, p_edge: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Each node's part of its sample's entropy: ``H(root)`` or ``H(edge) - H(parent)``."""
    of_node = entr(p_node).sum(axis=1)
    of_edge = entr(p_edge).sum(axis=(1, 2))
    return np.where(parents < 0, of_node, of_edge - of_node[parents])
