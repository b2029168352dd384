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
from typing import Any

import numpy as np

from medn_edu.priors import Prior
from medn_edu.problems.margins import MarginProblem
from medn_edu.results import Certificate, DualMarginals, DualVariables, Iterate
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import Slack

__all__ = ["MaxMarginProblem"]


class MaxMarginProblem(MarginProblem):
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
    >>> from medn_edu.samples import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = MaxMarginProblem(data, GaussianPrior(), LinearSlack(C=1.0))
    >>> problem.primal(np.zeros(8))
    2.0
    """

    def __init__(self, data: LabelledSamples, prior: Prior, slack: Slack, n_jobs: int = 1) -> None:
        super().__init__(data, slack, n_jobs)
        self.prior = prior

    def primal(self, weights: np.ndarray) -> float:
        """Primal value ``P(w)`` of P1 at mean weights ``w``."""
        return self._primal_and_rounding(weights)[0]

    def _primal_and_rounding(self, weights: np.ndarray) -> tuple[float, dict[str, Any]]:
        penalty, rounding = self.penalty_and_rounding(weights)
        return math.fsum(self.prior.kl(weights)) + penalty, rounding

    def dual(self, alpha: DualVariables | DualMarginals) -> float:
        """Dual value ``D(alpha)`` of D1; minus infinity where ``alpha`` is not feasible."""
        return self._dual(alpha, self.eta(alpha))

    def _dual(self, alpha: DualVariables | DualMarginals, eta: np.ndarray) -> float:
        if not self.is_feasible(alpha):
            return -math.inf
        return (
            self.loss(alpha)
            - math.fsum(self.prior.log_mgf(eta))
            - math.fsum(self.conjugates(self.masses(alpha)))
        )

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
        primal, rounding = self._primal_and_rounding(iterate.weights)
        return Certificate(primal, self._dual(alpha, eta), alpha, eta, **rounding)
