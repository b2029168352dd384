r"""The soft-max problem: one family with the conditional random field and M3N at its ends.

Where the max-margin problem asks for the worst labelling, this one sums over all of them, at a
*temperature* ``epsilon > 0`` (Hazan and Urtasun 2010, Eq. 2 and 3).  With ``F(x, y; w) = w . f(x, y)``
and, if the problem is *loss-augmented*, the Hamming loss ``loss_i(y)`` (0 otherwise), training
minimises

    P(w) = sum_i s_i [epsilon log sum_y exp((loss_i(y) + F(x_i, y; w)) / epsilon) - F(x_i, y_i; w)]
           + lam/2 ||w||^2,

``s_i`` being the weight of sample ``i``.  The first term in brackets is the *soft-max* of the scores:

    max_y F(y)  <=  epsilon log sum_y exp(F(y) / epsilon)  <=  max_y F(y) + epsilon log |Y|,

``|Y|`` being the number of labellings.  So with the loss and ``epsilon -> 0`` the bracket becomes the
structured hinge loss and the problem M3N, and its optimum differs from that of M3N by at most
``epsilon sum_i s_i log |Y_i|``.  At ``epsilon = 1`` without the loss it is the log-loss of the
*conditional random field* ``p_w(y | x) = exp(F(x, y; w) - log Z(x; w))`` (Lafferty et al. 2001).
(The paper writes ``e_y`` for the loss, ``theta`` for ``w``, ``d`` for the sum of the observed
features and ``C`` for our ``lam``.)

The derivative of the soft-max is an expectation under

    p_w(y | x_i) ~ exp((loss_i(y) + F(x_i, y; w)) / epsilon),

whence ``grad P(w) = lam w - sum_i s_i (f(x_i, y_i) - E_{y ~ p_w(. | x_i)} f(x_i, y))``: training
matches the expected features to the observed ones, as closely as the penalty lets it.

The dual and the gap
--------------------
The soft-max is the conjugate of the negative entropy, scaled by ``epsilon``:

    epsilon log sum_y exp(g(y) / epsilon) = max_p [E_p g(y) + epsilon H(p)].

Put this into ``P`` with ``g = loss_i + F`` and exchange minimum and maximum.  For fixed distributions
``alpha_i`` over the labellings of each sample what depends on ``w`` is ``lam/2 ||w||^2 - w . eta``,
with ``eta = sum_i s_i (f(x_i, y_i) - E_{alpha_i} f(x_i, y))``, least at ``w' = eta / lam``.  Hence
every choice of ``alpha`` gives a lower bound of the optimum (the paper's Claim 1 with ``p = q = 2``),

    D(alpha) = sum_i s_i [epsilon H(alpha_i) + E_{alpha_i} loss_i(y)] - ||eta||^2 / (2 lam),

and the natural choice at weights ``w`` is ``alpha_i = p_w(. | x_i)``, known through its node and
edge marginals: on a forest the entropy is the sum of ``H(root)`` and, over the edges, of ``H(child |
parent)``.  For that choice ``P(w) - D = ||grad P(w)||^2 / (2 lam)``: a small gradient *proves*
closeness to the optimum when the penalty is strong.  The identity is convenient for deciding when
to stop; the certificate does not use it but computes ``P`` and ``D`` apart: ``P`` from the
log-partitions, ``D`` from the marginals.  A solver that keeps ``alpha`` itself, as masses on a few
labellings of each sample, is certified by these.

With ``lam = 0`` there is no dual, and there may be no optimum: if the samples can be labelled
without error, weights grow without bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import entr

from medn_edu import inference
from medn_edu.checks import check_nonnegative, check_positive
from medn_edu.priors import GaussianPrior
from medn_edu.problems.max_margin import MaxMarginProblem
from medn_edu.results import Certificate, DualVariables, Iterate
from medn_edu.samples import LabelledSamples, WeightShape
from medn_edu.slacks import LinearSlack

__all__ = ["Curvature", "SoftMaxProblem"]


@dataclass(frozen=True, eq=False)
class Curvature:
    """Parts from which an approximation of the Hessian of the loss is built.

    The cooler, the sharper the bends: covariances are divided by ``epsilon``.

    Parameters
    ----------
    labels : ndarray of shape (n_labels, n_labels)
        ``sum_t s_t (diag(p_t) - p_t p_t^T) / epsilon``, covariances of the label indicators, summed.
    doubt : ndarray of shape (n_nodes,)
        Trace of each node's covariance, ``s_t (1 - ||p_t||^2)``.
    transitions : ndarray of shape (n_edge_types, n_labels, n_labels)
        ``n_ab (1 - n_ab / n_a) / epsilon``, with ``n`` the expected counts: a diagonal for
        transitions.
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
    epsilon : float, default=1.0
        Temperature, positive; at 0 this would be a `MaxMarginProblem`.
    loss_augmented : bool, default=False
        Whether the Hamming loss is added to the scores of labellings.

    Raises
    ------
    ValueError
        If ``lam`` is negative or not finite, or ``epsilon`` not positive and finite.

    Examples
    --------
    Without weights every labelling is equally likely, four of them here:

    >>> import numpy as np
    >>> from medn_edu.samples import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = SoftMaxProblem(data, lam=1.0)
    >>> round(float(np.exp(problem.primal(np.zeros(8)))), 6)
    4.0

    With the loss, and cooler and cooler, only the worst of them counts, which is wrong twice:

    >>> for epsilon in (1.0, 0.1, 0.01):
    ...     problem = SoftMaxProblem(data, lam=1.0, epsilon=epsilon, loss_augmented=True)
    ...     print(round(problem.primal(np.zeros(8)), 4))
    2.6265
    2.0
    2.0
    """

    def __init__(
        self,
        data: LabelledSamples,
        lam: float,
        n_jobs: int = 1,
        epsilon: float = 1.0,
        loss_augmented: bool = False,
    ) -> None:
        self.lam = check_nonnegative("lam", lam)
        self.epsilon = check_positive("epsilon", epsilon)
        self.loss_augmented = loss_augmented
        self.data = data
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

    @cached_property
    def observed_sizes(self) -> np.ndarray:
        """Sizes of the terms that gradients add up: features and edges of all samples."""
        samples, shape = self.data.samples, self.weight_shape
        weight = np.repeat(self.node_weight, np.diff(samples.indptr))
        features = np.bincount(samples.indices, weight * np.abs(samples.data), shape.n_features)
        transitions = np.full(self.data.allowed.shape, self.node_weight.sum())
        return shape.join(np.tile(features, (shape.n_labels, 1)), transitions)

    @property
    def softness(self) -> float:
        """By how much soft-max and max can differ, ``epsilon sum_i s_i log |Y_i|``."""
        samples, data = self.data.samples, self.data
        node = np.zeros((samples.n_nodes, data.n_labels))
        edge = inference.edge_potentials(np.zeros(data.allowed.shape), data.allowed)
        even = inference.Potentials(samples, node, edge)
        log_numbers = inference.log_partition(even, n_jobs=self.n_jobs)
        return self.epsilon * math.fsum(data.sample_weight * log_numbers)

    def hard(self) -> MaxMarginProblem:
        """Return the problem with the loss at temperature 0, divided by ``lam``: M3N.

        Raises
        ------
        ValueError
            If there is no penalty or no loss; the hard problem then has no solution, or only 0.
        """
        if not (self.has_dual and self.loss_augmented):
            raise ValueError(
                f"the hard problem needs a penalty and a loss; this one has lam={self.lam:g} and "
                f"loss_augmented={self.loss_augmented}."
            )
        slack = LinearSlack(1.0 / self.lam)
        return MaxMarginProblem(self.data, GaussianPrior(), slack, self.n_jobs)

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
        found = self._expected(weights)
        expected = self.weight_shape.join(found.feature_sums, found.edge_counts)
        gradient = self.lam * weights - self.observed + expected
        return self._objective(weights, found.log_partition), gradient

    def primal(self, weights: np.ndarray) -> float:
        """Primal value ``P(w)``: an upper bound of the optimum at any weights."""
        potentials = self._augmented_potentials(weights)
        log_partition = inference.log_partition(potentials, self.epsilon, n_jobs=self.n_jobs)
        true_scores = inference.labelling_scores(potentials, self.data.labels)
        # One by one, so that less is lost to rounding.
        losses = np.maximum(log_partition - true_scores, 0.0)
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
            ``sum_i s_i [epsilon H(alpha_i) + E loss_i] - ||eta||^2 / (2 lam)``, a lower bound of
            the optimum.
        """
        return self._dual_and_eta(weights)[0]

    def _dual_and_eta(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        found = self._expected(weights, want_entropies=True)
        eta = self.observed - self.weight_shape.join(found.feature_sums, found.edge_counts)
        if not self.has_dual:
            return -math.inf, eta
        assert found.entropies is not None
        terms = self.epsilon * found.entropies
        if found.losses is not None:
            terms += found.losses
        return math.fsum(self.data.sample_weight * terms) - float(eta @ eta) / (2 * self.lam), eta

    def dual_of_masses(self, alpha: DualVariables) -> float:
        """Dual value of distributions that are kept as masses on labellings.

        Parameters
        ----------
        alpha : DualVariables
            Masses, which sum to ``s_i`` for each sample.

        Returns
        -------
        float
            ``D(alpha)``; minus infinity where masses are negative or of another sum.
        """
        return self._dual_of_masses(alpha)[0]

    def _dual_of_masses(self, alpha: DualVariables) -> tuple[float, np.ndarray]:
        hard = self.hard()
        eta = hard.eta(alpha)
        mass = np.bincount(alpha.sample, weights=alpha.values, minlength=self.n_samples)
        fits = np.allclose(mass, self.data.sample_weight, rtol=1e-9, atol=0.0)
        if (alpha.values < 0).any() or not fits:
            return -math.inf, eta
        return (
            math.fsum(alpha.values * hard.losses(alpha))
            + self.epsilon * _entropy_of_masses(alpha, mass)
            - float(eta @ eta) / (2 * self.lam)
        ), eta

    def certify(self, iterate: Iterate) -> Certificate:
        """Compute primal and dual value at an iterate, apart and from scratch.

        The dual value is that of the iterate's dual variables, if the solver keeps any, and
        otherwise that of the distributions at its weights.
        """
        primal = self.primal(iterate.weights)
        if iterate.dual is not None:
            alpha = iterate.dual()
            assert isinstance(alpha, DualVariables)  # marginals do not tell the entropy
            dual, eta = self._dual_of_masses(alpha)
            return Certificate(primal, dual, alpha, eta)
        dual, eta = self._dual_and_eta(iterate.weights)
        return Certificate(primal, dual, eta=eta)

    def curvature(self, weights: np.ndarray) -> Curvature:
        """Return the parts of an approximate Hessian, for `medn_edu.solvers.lbfgs`."""
        marginals = inference.marginals(
            self._augmented_potentials(weights),
            self.epsilon,
            sample_weight=self.data.sample_weight,
            n_jobs=self.n_jobs,
        )
        p, s, counts = marginals.node, self.node_weight, marginals.edge_counts
        weighted = p * s[:, None]
        from_parent = np.maximum(counts.sum(axis=2, keepdims=True), np.finfo(float).tiny)
        return Curvature(
            labels=(np.diag(weighted.sum(axis=0)) - weighted.T @ p) / self.epsilon,
            doubt=s - np.einsum("ta,ta->t", weighted, p),
            transitions=np.maximum(counts * (1.0 - counts / from_parent), 0.0) / self.epsilon,
        )

    def _expected(
        self, weights: np.ndarray, *, want_entropies: bool = False
    ) -> inference.ExpectedStatistics:
        """Ask for what is expected under ``p_w(. | x_i)``."""
        coef, transitions = self.weight_shape.split(weights)
        return inference.expected_statistics(
            self.data.samples,
            coef,
            inference.edge_potentials(transitions, self.data.allowed),
            sample_weight=self.data.sample_weight,
            epsilon=self.epsilon,
            loss_labels=self.data.labels if self.loss_augmented else None,
            want_entropies=want_entropies,
            n_jobs=self.n_jobs,
        )

    def _augmented_potentials(self, weights: np.ndarray) -> inference.Potentials:
        """Return potentials, with the loss if there is one."""
        coef, transitions = self.weight_shape.split(weights)
        potentials = inference.Potentials.of_weights(
            self.data.samples, coef, transitions, self.data.allowed, n_jobs=self.n_jobs
        )
        return potentials.with_loss(self.data.labels) if self.loss_augmented else potentials

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
        found = self._expected(weights, want_entropies=True)
        assert found.entropies is not None
        return self.weight_shape.join(found.feature_sums, found.edge_counts), found.entropies


def _entropy_of_masses(alpha: DualVariables, mass: np.ndarray) -> float:
    """Return ``sum_i mass_i H(alpha_i / mass_i)``; a labelling that comes twice counts once."""
    total: dict[tuple[int, bytes], float] = {}
    labels = np.ascontiguousarray(alpha.labels)
    for i, a, b, value in zip(
        alpha.sample.tolist(),
        alpha.offsets[:-1].tolist(),
        alpha.offsets[1:].tolist(),
        alpha.values.tolist(),
        strict=True,
    ):
        key = i, labels[a:b].tobytes()
        total[key] = total.get(key, 0.0) + value
    sample = np.array([i for i, _ in total])
    values = np.array(list(total.values()))
    return math.fsum(mass[sample] * entr(values / mass[sample]))
