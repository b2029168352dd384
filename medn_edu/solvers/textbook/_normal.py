"""What the textbook solvers of M3N ask of their problem: a normal prior and a linear slack."""

import numpy as np

from medn_edu.checks import warn_user
from medn_edu.priors import GaussianPrior
from medn_edu.problems import Problem
from medn_edu.results import SolveResult
from medn_edu.solvers._training import check_linear_slack


def normal_variances(problem: Problem) -> np.ndarray:
    """Return the prior variance ``v_k`` of each weight, so that ``w = v * eta`` at the optimum.

    Raises
    ------
    TypeError
        If the problem is not a quadratic program.
    """
    prior = problem.regulariser
    if not isinstance(prior, GaussianPrior):
        raise TypeError(f"the prior is {prior!r}; this solver expects a GaussianPrior.")
    check_linear_slack(problem)
    return np.broadcast_to(prior.prior_variance, problem.weight_shape.size)


def warn_of_gap(iteration: int, result: SolveResult, tol: float) -> None:
    """Warn that M3N, solved in every iteration of another method, was not solved to ``tol``."""
    warn_user(
        f"the quadratic program of iteration {iteration} reached a relative gap of "
        f"{result.relative_gap:.2g} instead of {tol:.2g} ({result.status}); raise max_iter or tol."
    )
