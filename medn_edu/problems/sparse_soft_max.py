r"""Log-loss and L1 penalty: the conditional random field whose weights are mostly zero.

The problem is that of `medn_edu.problems.soft_max` with another penalty. Minimise

    P(w) = L(w) + lam ||w||_1,  L(w) = sum_i s_i [log Z(x_i; w) - F(x_i, y_i; w)],

``s_i`` being the weight of sample ``i``.  With ``eta = sum_i s_i (f(x_i, y_i) - E_p_w f(x_i, y))``,
by which observed features exceed expected ones, the gradient of ``L`` is ``-eta``.  The penalty has
a kink where a weight is 0, and there every slope between ``-lam`` and ``lam`` is a subgradient.  So
``w`` is optimal when

    eta_k = lam sign(w_k)  where w_k != 0,     |eta_k| <= lam  where w_k = 0:

a weight leaves 0 only if its feature is worth more than ``lam``.  How far ``w`` is from this is
measured by the entry of the subdifferential that is closest to 0, its *minimum-norm subgradient*.

The dual and the gap
--------------------
A small subgradient means little as long as nobody says what small is.  The gap does.  The conjugate
of ``lam ||.||_1`` is 0 where no entry exceeds ``lam`` and infinite elsewhere, so that

    D(alpha) = sum_i s_i H(alpha_i)  provided that  |sum_i s_i (f(x_i, y_i) - E_alpha_i f)| <= lam

in every entry: the most undecided distributions that nearly reproduce the observed features.  Those
of the weights, ``p_w``, miss the condition by a little before the optimum is reached.  Mixing in
the truth repairs that: with ``alpha_i = (1 - t) [y = y_i] + t p_w(. | x_i)`` the differences shrink
to ``t eta``, hence ``t = min(1, lam / max |eta|)`` will do.  With ``q = p_w(y_i | x_i)`` and
``a = 1 - t + t q`` the entropy of such a mixture is exactly

    H(alpha_i) = -a log a - t (1 - q) log t + t (H(p_w) + q log q).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import entr

from medn_edu import inference
from medn_edu.checks import check_positive
from medn_edu.problems.soft_max import Curvature, SoftMaxProblem
from medn_edu.results import Certificate, Iterate
from medn_edu.samples import LabelledSamples, WeightShape

__all__ = ["L1SoftMaxProblem", "shortest_subgradient"]


class L1SoftMaxProblem:
    """Labelled samples and an L1 penalty, joined into a primal, a dual and a certificate.

    Parameters
    ----------
    data : LabelledSamples
        Training samples with their labels.
    lam : float
        Strength of the penalty ``lam ||w||_1``, positive.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.

    Raises
    ------
    ValueError
        If ``lam`` is not positive and finite.

    Examples
    --------
    With a penalty this strong no feature is worth its price, and the weights 0 are optimal:

    >>> import numpy as np
    >>> from medn_edu.samples import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = L1SoftMaxProblem(data, lam=1.0)
    >>> weights = np.zeros(8)
    >>> abs(problem.subgradient(weights)).max()
    np.float64(0.0)
    >>> round(problem.primal(weights) - problem.dual(weights), 10)
    0.0
    """

    def __init__(self, data: LabelledSamples, lam: float, n_jobs: int = 1) -> None:
        self.lam = check_positive("lam", lam)
        self.smooth = SoftMaxProblem(data, 0.0, n_jobs)
        self.data = data
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

    def penalty(self, weights: np.ndarray) -> float:
        """Return ``lam ||w||_1``."""
        return self.lam * float(np.abs(weights).sum())

    def loss_and_gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate the smooth part, ``L(w)``, and its gradient, which is ``-eta``."""
        return self.smooth.objective_and_gradient(weights)

    def curvature(self, weights: np.ndarray) -> Curvature:
        """Return the parts of an approximate Hessian of ``L``."""
        return self.smooth.curvature(weights)

    def subgradient(self, weights: np.ndarray, gradient: np.ndarray | None = None) -> np.ndarray:
        """Return the shortest vector of the subdifferential of ``P``; 0 at the optimum only.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        gradient : ndarray of shape (n_weights,), optional
            Gradient of ``L`` at the weights, if it is known already.

        Returns
        -------
        ndarray of shape (n_weights,)
            Its smallest entries, each on its own.
        """
        if gradient is None:
            gradient = self.loss_and_gradient(weights)[1]
        return shortest_subgradient(weights, gradient, self.lam)

    def primal(self, weights: np.ndarray) -> float:
        """Primal value ``P(w)``: an upper bound of the optimum at any weights."""
        return self._primal(weights, self._losses(weights))

    def dual(self, weights: np.ndarray) -> float:
        """Dual value of ``p_w``, mixed with the truth until it is feasible.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights that stand for the distributions.

        Returns
        -------
        float
            ``sum_i s_i H(alpha_i)``, a lower bound of the optimum.
        """
        expected, entropies = self.smooth.moments(weights)
        share = self._feasible_share(self.smooth.observed - expected)
        return self._dual(share, self._losses(weights), entropies)

    def certify(self, iterate: Iterate) -> Certificate:
        """Compute primal, dual and subgradient at an iterate's weights, apart and from scratch.

        The certificate's ``eta`` is that of the mixture, ``t eta``: no entry exceeds ``lam``.
        """
        weights = iterate.weights
        losses = self._losses(weights)
        expected, entropies = self.smooth.moments(weights)
        eta = self.smooth.observed - expected
        share = self._feasible_share(eta)
        return Certificate(
            self._primal(weights, losses),
            self._dual(share, losses, entropies),
            eta=np.clip(share * eta, -self.lam, self.lam),  # against rounding
            subgradient_norm=float(np.abs(self.subgradient(weights, -eta)).max()),
        )

    def gap_estimate(self, weights: np.ndarray, loss: float, gradient: np.ndarray) -> float:
        """Estimate the duality gap from an evaluation of the smooth part, without looking at samples.

        ``H(p_w) = log Z - E F`` gives the sum of the entropies as ``L(w) + w . eta``.  For the
        entropy of mixing all samples are taken to be equally likely.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        loss, gradient : float, ndarray of shape (n_weights,)
            ``L(w)`` and its gradient.

        Returns
        -------
        float
            About the gap; 0 only where that is 0.
        """
        total = float(self.data.sample_weight.sum())
        entropy = loss - float(weights @ gradient)
        mean_loss = np.array([max(loss / total, 0.0)])
        share = self._feasible_share(gradient)
        mixture = float(_entropy_of_mixture(share, mean_loss, np.array([entropy / total]))[0])
        return max(loss + self.penalty(weights) - total * mixture, 0.0)

    def _feasible_share(self, eta: np.ndarray) -> float:
        """Return the largest share of ``p_w`` in a feasible mixture with the truth."""
        largest = float(np.abs(eta).max(initial=0.0))
        return min(1.0, self.lam / largest) if largest > 0 else 1.0

    def _primal(self, weights: np.ndarray, losses: np.ndarray) -> float:
        return math.fsum(self.data.sample_weight * losses) + self.penalty(weights)

    def _dual(self, share: float, losses: np.ndarray, entropies: np.ndarray) -> float:
        mixed = _entropy_of_mixture(share, losses, entropies)
        return math.fsum(self.data.sample_weight * mixed)

    def _losses(self, weights: np.ndarray) -> np.ndarray:
        """Return ``-log p(y_i | x_i; w)`` of each sample."""
        potentials = self.smooth._augmented_potentials(weights)
        log_partition = inference.log_partition(potentials, n_jobs=self.n_jobs)
        true_scores = inference.labelling_scores(potentials, self.data.labels)
        return np.maximum(log_partition - true_scores, 0.0)


def shortest_subgradient(weights: np.ndarray, gradient: np.ndarray, lam: float) -> np.ndarray:
    """Return the shortest subgradient of a smooth function plus ``lam ||.||_1``.

    Parameters
    ----------
    weights : ndarray
        Where.
    gradient : ndarray
        Gradient of the smooth function there.
    lam : float
        Strength of the penalty.

    Returns
    -------
    ndarray
        ``gradient + lam sign(w)``; at 0 what the gradient exceeds ``lam`` by.

    Examples
    --------
    >>> import numpy as np
    >>> shortest_subgradient(np.array([1.0, 0.0, 0.0]), np.array([-2.0, -2.0, 0.5]), 1.0)
    array([-1., -1.,  0.])
    """
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - lam, 0.0)
    return np.where(weights == 0, at_zero, gradient + lam * np.sign(weights))


def _entropy_of_mixture(share: float, losses: np.ndarray, entropies: np.ndarray) -> np.ndarray:
    """Entropy of ``(1 - t) [y = y_i] + t p_w``, exactly (module docstring); ``t`` is the share."""
    q = np.exp(-losses)
    others = (1.0 - q) * entr(share) + share * (entropies - entr(q))
    return entr(1.0 - share + share * q) + others
