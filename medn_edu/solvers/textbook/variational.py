"""Variational learning of the Laplace MEDN: Algorithm 1 of MEDN.

``variational.md`` explains why it works.
"""

import math
from collections.abc import Iterator

import numpy as np

from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.problems import Dual, DualVariables, Problem
from medn_edu.results import OVERFLOW, Iterate, SolveResult
from medn_edu.solvers.line_search import highest_point
from medn_edu.solvers.textbook.m3n_solvers import solve_quadratic_program


def variational_laplace(
    problem: Problem,
    *,
    rng: np.random.Generator,
    n_iterations: int = 3,
    tol: float = 1e-2,
    max_iter: int = 1000,
    programs: list[DualVariables] | None = None,
    solver: str = "block_frank_wolfe",
    beta: float | None = None,
) -> Iterator[Iterate]:
    """Run Algorithm 1 of MEDN; yield once per quadratic program.

    Parameters
    ----------
    problem : Problem
        A problem with a `LaplacePrior`.  The papers' slack is linear, but only step 1 depends on it.
    rng : numpy.random.Generator
        Draws the order of the visits.
    n_iterations : int, default=3
        Number of quadratic programs.
    tol : float, default=0.01
        Relative duality gap to which each of them is solved.
    max_iter : int, default=1000
        Largest number of passes for each of them.
    programs : list of DualVariables, optional
        Where the quadratic programs of an earlier run ended, perhaps with other constants.  The programs
        of this run start there, and write into the list where they end.  This changes the result only
        within ``tol``.
    solver : str, default="block_frank_wolfe"
        The solver of the quadratic programs, one of `medn_edu.solvers.M3N_SOLVERS`.
    beta : float, optional
        Constant of the subgradient solvers' steps, see `m3n_iterates`.

    Yields
    ------
    Iterate
        Posterior means and variances.  ``objective_estimate`` is the bound, and ``gap_estimate`` the gap
        of the quadratic program.  The dual variables are those of the quadratic program, scaled to be
        feasible for the exact problem.

    Raises
    ------
    TypeError
        If the problem's prior is not a Laplace prior.
    ValueError
        If numbers overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.priors import LaplacePrior
    >>> from medn_edu.problems import Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=LaplacePrior(lam=4.0))
    >>> passes = variational_laplace(problem, rng=np.random.default_rng(0), tol=1e-6)
    >>> [round(iterate.objective_estimate, 3) for iterate in passes]
    [5.298, 3.678, 3.394]
    """
    lam = _laplace_prior(problem).lam
    alpha, variance = None, np.ones(problem.weight_shape.size)
    known = [] if programs is None else programs
    n_oracle_calls = 0
    for iteration in range(1, n_iterations + 1):
        # With variances of 1 it is M3N's own problem, whose visits are cheaper.
        normal = GaussianPrior() if (variance == 1.0).all() else GaussianPrior(variance)
        start = known[iteration - 1] if iteration <= len(known) else alpha
        result, dual = solve_quadratic_program(
            iteration, problem, normal, solver,
            tol=tol, max_iter=max_iter, rng=rng, warm_start=start, beta=beta,
        )  # fmt: skip
        n_oracle_calls += result.n_oracle_calls
        alpha = result.alpha
        if alpha is not None:
            known[iteration - 1 : iteration] = [alpha]
        yield Iterate(
            weights=result.weights,
            gap_estimate=result.gap,
            objective_estimate=variational_bound(problem, result.weights, variance),
            n_oracle_calls=n_oracle_calls,
            dual=lambda dual=dual: _feasible(problem, dual),  # type: ignore[misc]
            stopped="all iterations done" if iteration == n_iterations else "",
            variance=variance,
        )
        variance = _next_variance(result, variance, lam)


def variational_bound(problem: Problem, mean: np.ndarray, variance: np.ndarray) -> float:
    """Return the bound on the primal value at a normal posterior, with the best ``q(tau)`` for it.

    Parameters
    ----------
    problem : Problem
        A problem with a `LaplacePrior`.
    mean, variance : ndarray of shape (n_weights,)
        Posterior means ``mu`` and variances ``sigma``.

    Returns
    -------
    float
        At least the primal value at ``mean``, which is that of the best posterior with this mean.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.priors import LaplacePrior
    >>> from medn_edu.problems import Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=LaplacePrior(lam=4.0))
    >>> bound = variational_bound(problem, np.zeros(8), np.ones(8))
    >>> bound > problem.primal(np.zeros(8))
    True
    """
    lam = _laplace_prior(problem).lam
    divergence = (
        math.sqrt(lam) * np.hypot(mean, np.sqrt(variance))
        - 0.5 * math.log(2 * math.pi * math.e)
        - 0.5 * np.log(variance)
        - 0.5 * math.log(lam)
        + math.log(2)
    )
    return math.fsum(divergence) + problem.total_loss(mean)


def _laplace_prior(problem: Problem) -> LaplacePrior:
    prior = problem.regulariser
    if not isinstance(prior, LaplacePrior):
        raise TypeError(
            f"the prior is {prior!r}; expected a LaplacePrior, for which Algorithm 1 is made."
        )
    return prior


def _next_variance(result: SolveResult, variance: np.ndarray, lam: float) -> np.ndarray:
    """Step 2 of Algorithm 1: ``sqrt(<w^2> / lam)``."""
    with np.errstate(over="ignore"):
        new = np.hypot(result.weights, np.sqrt(variance)) / math.sqrt(lam)
    if not np.all(np.isfinite(new) & (new > 0)):
        raise ValueError(OVERFLOW)
    return new


def _feasible(problem: Problem, alpha: Dual) -> Dual:
    """Return a share of ``alpha`` that is feasible for the exact problem.

    With a linear slack it is the share at which the dual is largest; the true labellings could take the
    rest, which changes nothing.  With other slacks it is feasible, perhaps not the best, because
    their conjugates are left out of the search.
    """
    eta = alpha.eta(problem.data)
    moved = np.flatnonzero(eta)
    eta, prior = eta[moved], problem.regulariser
    assert isinstance(prior, LaplacePrior)
    loss = alpha.loss(problem.data)

    def slope(step: float) -> tuple[float, float]:
        mean, variance = prior.mean(step * eta, moved), prior.variance(step * eta, moved)
        return loss - float(eta @ mean), float(np.square(eta) @ variance)

    limit = float(np.min(prior.domain[1] / np.abs(eta), initial=np.inf))
    share = highest_point(slope, slope(0.0)[0], limit, accuracy=1e-6, inside=1 - 1e-9)
    return alpha.scaled(share)
