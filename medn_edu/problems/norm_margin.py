"""Margin problems that charge for weights by a norm: L1-M3N and its equals.

    minimise  R(w) + C sum_i xi_i
    such that w . (f(x_i, y_i) - f(x_i, y)) >= loss_i(y) - xi_i   for all i and y

(`medn_edu.problems.norms` lists the charges ``R``; with half the L1 norm this is P1 of the L1-M3N
paper).  There is no distribution over weights here, and no curvature: with the L1 norm primal and
dual,

    maximise  sum_i,y alpha_i(y) loss_i(y)
    such that max_k |eta_k| <= 1/2,   sum_y alpha_i(y) = C,   alpha_i(y) >= 0,

are a pair of linear programs.  Complementary slackness is what makes the solution sparse on both
sides: a weight can differ from 0 only where ``|eta_k| = 1/2``, and a labelling can carry mass only
where its margin is the sample's worst.  Short of the optimum a gap ``g`` still bounds each weight,

    |w*_k| <= g / (1/2 - |eta_k|)

(`weight_bounds`): what a weight costs beyond what it earns cannot exceed the gap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from medn_edu.problems.margins import MarginProblem
from medn_edu.problems.norms import Norm
from medn_edu.results import Certificate, DualMarginals, DualVariables, Iterate
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack

__all__ = ["NormMarginProblem", "weight_bounds"]

_ROUNDING = 1e-8  # to which the masses of a linear program are accurate


class NormMarginProblem(MarginProblem):
    """Data, a norm and a linear slack joined into a primal, a dual and a certificate.

    Parameters
    ----------
    data : LabelledSamples
        Training samples with their labels.
    norm : Norm
        What weights cost, one of `medn_edu.problems.norms`.
    slack : LinearSlack
        Price of violated margins; multiplied by each sample's weight.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import label_samples, pack
    >>> from medn_edu.problems.norms import L1Norm
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = NormMarginProblem(data, L1Norm(), LinearSlack(C=1.0))
    >>> problem.primal(np.zeros(8)), problem.primal(np.array([1.0, 0, 0, 1, 0, 0, 0, 0]))
    (2.0, 1.0)
    """

    def __init__(
        self, data: LabelledSamples, norm: Norm, slack: LinearSlack, n_jobs: int = 1
    ) -> None:
        super().__init__(data, slack, n_jobs)
        self.norm = norm

    def primal(self, weights: np.ndarray) -> float:
        """Primal value ``R(w) + C sum_i xi_i``."""
        return self._primal_and_rounding(weights)[0]

    def _primal_and_rounding(self, weights: np.ndarray) -> tuple[float, dict[str, Any]]:
        penalty, rounding = self.penalty_and_rounding(weights)
        return self.norm.value(weights) + penalty, rounding

    def dual(self, alpha: DualVariables | DualMarginals) -> float:
        """Dual value at the best share of ``alpha``; minus infinity where that is not feasible."""
        return self._scaled(alpha)[0]

    def certify(self, iterate: Iterate) -> Certificate:
        """Compute primal and dual value at an iterate, apart and from scratch.

        Parameters
        ----------
        iterate : Iterate
            An iterate of a solver that keeps dual variables.

        Returns
        -------
        Certificate
            Both values; dual variables and ``eta`` are scaled by the share that bounds best.
        """
        if iterate.dual is None:
            raise TypeError(
                "a margin problem is certified by dual variables; the solver kept none."
            )
        primal, rounding = self._primal_and_rounding(iterate.weights)
        return Certificate(primal, *self._scaled(iterate.dual()), **rounding)

    def _scaled(
        self, alpha: DualVariables | DualMarginals
    ) -> tuple[float, DualVariables | DualMarginals, np.ndarray]:
        """Return the best dual value on the way from the true labellings to ``alpha``, and its place."""
        eta, loss = self.eta(alpha), self.loss(alpha)
        share = self.norm.share(loss, eta)
        price = math.fsum(self.conjugates(share * self.masses(alpha)))
        if not self.is_feasible(alpha):
            price = math.inf
        value = share * loss - self.norm.conjugate(share * eta) - price
        return value, alpha.scaled(share), share * eta


def weight_bounds(gap: float, eta: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Bound the magnitudes of the weights in every solution of L1-M3N.

    Parameters
    ----------
    gap : float
        Gap between a primal value and the dual value that belongs to ``eta``.
    eta : ndarray of shape (n_weights,)
        ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` of feasible dual variables: no entry beyond a half.
    rounding : float, default=0.0
        Least gap that is believed: a computed one may be 0 by rounding.

    Returns
    -------
    ndarray of shape (n_weights,)
        ``gap / (1/2 - |eta_k|)``, infinite where ``|eta_k|`` is a half, up to 1e-8.

    Examples
    --------
    >>> import numpy as np
    >>> weight_bounds(0.1, np.array([0.5, 0.25, 0.0]))
    array([inf, 0.4, 0.2])
    """
    room = 0.5 - np.abs(eta)
    bounds = np.full(len(eta), math.inf)
    clear = room > _ROUNDING
    bounds[clear] = max(gap, rounding) / room[clear]
    return bounds
