"""What the textbook solvers of M3N ask of their problem: a normal prior and a linear slack."""

from __future__ import annotations

import numpy as np

from medn_edu.priors import GaussianPrior
from medn_edu.problems.max_margin import MaxMarginProblem
from medn_edu.slacks import LinearSlack

__all__ = ["normal_variances"]


def normal_variances(problem: MaxMarginProblem) -> np.ndarray:
    """Return the prior variance ``v_k`` of each weight, so that ``w = v * eta`` at the optimum.

    Raises
    ------
    TypeError
        If the problem is not a quadratic program.
    """
    if not isinstance(problem.prior, GaussianPrior):
        raise TypeError(f"the prior is {problem.prior!r}; this solver expects a GaussianPrior.")
    if not isinstance(problem.slack, LinearSlack):
        raise TypeError(f"the slack is {problem.slack!r}; this solver expects a LinearSlack.")
    return np.broadcast_to(problem.prior.prior_variance, problem.weight_shape.size)
