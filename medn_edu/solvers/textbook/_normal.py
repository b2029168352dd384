"""What the textbook solvers of M3N ask of their problem: a normal prior and a linear slack."""

from __future__ import annotations

import numpy as np

from medn_edu.priors import GaussianPrior
from medn_edu.problems import Problem
from medn_edu.solvers._training import check_linear_slack


def normal_variances(problem: Problem) -> np.ndarray:
    """Return the prior variance ``v_k`` of each weight, so that ``w = v * eta`` at the optimum."""
    prior = problem.regulariser
    if not isinstance(prior, GaussianPrior):
        raise TypeError(f"the prior is {prior!r}; this solver expects a GaussianPrior.")
    check_linear_slack(problem)
    return np.broadcast_to(prior.prior_variance, problem.weight_shape.size)
