"""L1-M3N by M3N with variances that adapt: the EM-style algorithm (Algorithm 3 of the L1-M3N paper).

``adaptive_m3n.md`` explains why it works.
"""

from collections.abc import Iterator

import numpy as np

from medn_edu.checks import check_count, check_nonnegative, warn_user
from medn_edu.priors import GaussianPrior
from medn_edu.problems import L1Norm, Problem, SquaredL1Norm
from medn_edu.results import Iterate
from medn_edu.solvers.textbook.m3n_solvers import solve_quadratic_program

# Variance of a dead feature, relative to the mean, because a normal prior must have one.  Its weight,
# this times eta, changes scores and the dual by less than rounding.  So weights and dual variables are
# those of the program without the feature.
_NOTHING = 1e-30


def adaptive_m3n(
    problem: Problem,
    *,
    rng: np.random.Generator,
    n_iterations: int = 15,
    tol: float = 1e-3,
    max_iter: int = 1000,
    threshold: float = 1e-4,
    solver: str = "block_frank_wolfe",
) -> Iterator[Iterate]:
    """Run Algorithm 3 of the L1-M3N paper; yield once per quadratic program.

    Parameters
    ----------
    problem : Problem
        A problem with a `SquaredL1Norm` of scale ``lam / K``, which is the adaptive M3N, or with an
        `L1Norm`, which is L1-M3N at the problem's own ``C``.
    rng : numpy.random.Generator
        For the random draws of the M3N solver.
    n_iterations : int, default=15
        Number of quadratic programs.
    tol : float, default=0.001
        Relative duality gap to which each of them is solved.
    max_iter : int, default=1000
        Largest number of passes for each of them.
    threshold : float, default=1e-4
        Features with a ``beta_k`` of at most this are dead.  The mean of ``beta_k^2`` is 1.
    solver : str, default="block_frank_wolfe"
        The solver of the quadratic programs, one of `medn_edu.solvers.M3N_SOLVERS`.

    Yields
    ------
    Iterate
        Weights, where those of dead features are exactly 0, and the objective as ``objective_estimate``.
        ``gap_estimate`` is the difference between the objective and a dual value.  That is the best
        dual value of any share of the program's dual variables.

    Raises
    ------
    TypeError
        If the problem has a different norm.
    ValueError
        If ``threshold`` is negative or ``n_iterations`` below 1.

    Warns
    -----
    ConvergenceWarning
        If a quadratic program does not reach ``tol``, or every feature dies.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L1Norm())
    >>> for iterate in adaptive_m3n(problem, rng=np.random.default_rng(0), tol=1e-6):
    ...     pass
    >>> round(iterate.objective_estimate, 3), np.count_nonzero(iterate.weights).item()
    (1.0, 6)
    >>> iterate.stopped
    'all iterations done; 2 of 8 features died'
    """
    norm = problem.regulariser
    if not (norm == L1Norm() or isinstance(norm, SquaredL1Norm)):
        raise TypeError(f"the regulariser is {norm!r}; expected L1Norm() or a SquaredL1Norm.")
    assert isinstance(norm, L1Norm | SquaredL1Norm)
    check_nonnegative("threshold", threshold)
    check_count("n_iterations", n_iterations)
    n_weights = problem.weight_shape.size
    without = problem.primal(np.zeros(n_weights))
    # Equal weights that cost P(0); with the squared norm only their proportions count.
    variance = norm.variances(np.full(n_weights, 2 * (without or 1.0) / n_weights))
    alpha, n_oracle_calls = None, problem.n_samples
    for iteration in range(1, n_iterations + 1):
        result, dual = solve_quadratic_program(
            iteration, problem, _prior(variance), solver,
            tol=tol, max_iter=max_iter, rng=rng, warm_start=alpha,
        )  # fmt: skip
        alpha = result.alpha
        weights = np.where(variance > 0, result.weights, 0.0)
        live = np.abs(weights) > threshold**2 * np.abs(weights).mean()
        if live.any():
            weights[~live] = 0.0  # and so will be their variances
        primal, bound = problem.primal(weights), problem.dual(dual)
        n_oracle_calls += result.n_oracle_calls + problem.n_samples
        stopped = ""
        if not weights.any() or (primal >= without and without - bound <= tol * without):
            weights, primal = np.zeros(n_weights), without
            stopped = _nothing_pays(problem, iteration)
        elif not live.any():
            stopped = _all_dead(threshold, iteration)
        elif iteration == n_iterations:
            n_dead = n_weights - np.count_nonzero(weights)
            stopped = f"all iterations done; {n_dead} of {n_weights} features died"
        yield Iterate(
            weights=weights,
            gap_estimate=primal - bound,
            objective_estimate=primal,
            n_oracle_calls=n_oracle_calls,
            dual=lambda dual=dual: dual,  # type: ignore[misc]
            stopped=stopped,
        )
        if stopped:
            return
        variance = norm.variances(weights)


def _prior(variance: np.ndarray) -> GaussianPrior:
    """Return a prior that leaves features without variance out of everything."""
    return GaussianPrior(np.maximum(variance, _NOTHING * float(variance.mean())))


def _nothing_pays(problem: Problem, iteration: int) -> str:
    """Say that the best weights are 0, and what to change."""
    if isinstance(problem.regulariser, L1Norm):
        reason = "with so small a C no weight is worth its price; raise C"
    else:
        reason = (
            "no feature tells the true labellings from others, whatever C and lam; "
            "check features and labels"
        )
    return _tell(f"every feature died in iteration {iteration}: {reason}")


def _all_dead(threshold: float, iteration: int) -> str:
    """Say that the threshold is too high; the weights are those of before they died."""
    return _tell(
        f"every feature died in iteration {iteration}: no beta is above the threshold of "
        f"{threshold:.3g}; lower it (the weights are those of before)"
    )


def _tell(stopped: str) -> str:
    warn_user(f"{stopped}.")
    return stopped
