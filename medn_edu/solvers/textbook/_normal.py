"""What the textbook solvers of M3N ask of their problem: a normal prior and a linear slack."""

from __future__ import annotations

import numpy as np

from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.slacks import LinearSlack

__all__ = ["normal_variances"]


def normal_variances(problem: Problem) -> np.ndarray:
    """Return the prior variance ``v_k`` of each weight, so that ``w = v * eta`` at the optimum.

    Raises
    ------
    TypeError
        If the problem is not a quadratic program.
    """
    prior, loss = problem.regulariser, problem.loss
    if not isinstance(prior, GaussianPrior):
        raise TypeError(f"the prior is {prior!r}; this solver expects a GaussianPrior.")
    if not (isinstance(loss, MarginLoss) and isinstance(loss.slack, LinearSlack)):
        slack = getattr(loss, "slack", loss)
        raise TypeError(f"the slack is {slack!r}; this solver expects a LinearSlack.")
    return np.broadcast_to(prior.prior_variance, problem.weight_shape.size)
