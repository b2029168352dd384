"""The solvers of M3N by name.

All of them solve a `medn_edu.problems.Problem` with a normal prior, whose variances may differ from
weight to weight, and a linear slack.  `block_frank_wolfe` is the one to use.  The others come from the
literature, and are here to study and to compare.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from medn_edu.checks import check_choice, check_positive, warn_user
from medn_edu.priors import GaussianPrior
from medn_edu.problems import Dual, DualVariables, LocalPoint, Problem
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.solvers.textbook.cutting_plane import cutting_plane, one_slack_cutting_plane
from medn_edu.solvers.textbook.exponentiated_gradient import (
    block_exponentiated_gradient,
    exponentiated_gradient,
)
from medn_edu.solvers.textbook.extragradient import extragradient
from medn_edu.solvers.textbook.smo import smo
from medn_edu.solvers.textbook.subgradient import online_subgradient, subgradient

M3N_SOLVERS: dict[str, Callable[..., Iterator[Iterate]]] = {
    "block_frank_wolfe": block_frank_wolfe,
    "cutting_plane": cutting_plane,
    "one_slack_cutting_plane": one_slack_cutting_plane,
    "subgradient": subgradient,
    "online_subgradient": online_subgradient,
    "smo": smo,
    "exponentiated_gradient": exponentiated_gradient,
    "block_exponentiated_gradient": block_exponentiated_gradient,
    "extragradient": extragradient,
}
"""The solvers of M3N by name; each takes a problem and ``rng``."""

_WITH_STEPS = ("subgradient", "online_subgradient")
_OUT_OF_REACH = 1e-10  # relative gaps that online subgradients never have


def check_m3n_solver(name: str, beta: float | None = None) -> str:
    """Return ``name`` if it is one of `M3N_SOLVERS` and takes ``beta``; else raise ValueError."""
    check_choice("solver", name, M3N_SOLVERS)
    if beta is not None:
        check_positive("beta", beta)
        if name not in _WITH_STEPS:
            raise ValueError(
                f"beta is {beta!r} and solver {name!r}; expected beta=None, or one of the solvers "
                f"{' and '.join(map(repr, _WITH_STEPS))}."
            )
    return name


def m3n_iterates(
    problem: Problem,
    solver: str = "block_frank_wolfe",
    *,
    rng: np.random.Generator,
    warm_start: DualVariables | None = None,
    beta: float | None = None,
    tol: float = 1e-2,
) -> Iterator[Iterate]:
    """Return the iterates of a solver of M3N, one per pass.

    Parameters
    ----------
    problem : Problem
        A problem with a normal prior and a linear slack.
    solver : str, default="block_frank_wolfe"
        One of `M3N_SOLVERS`.
    rng : numpy.random.Generator
        For the solver's random draws.
    warm_start : DualVariables, optional
        Where ``"block_frank_wolfe"`` starts; the others start afresh.
    beta : float, optional
        Steps ``1 / (2 beta sqrt(t))`` for the subgradient methods.
    tol : float, default=0.01
        Relative gap to aim for.  Below 1e-10, ``"online_subgradient"`` does not compute gaps, because
        it would never reach such a gap, and gaps cost more than its steps.

    Returns
    -------
    iterator of Iterate
        The solver, before its first pass.

    Raises
    ------
    ValueError
        If there is no such solver, or ``beta`` is given to a solver that takes none.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]])
    >>> first = next(m3n_iterates(problem, "smo", rng=np.random.default_rng(0)))
    >>> bool(first.objective_estimate <= problem.primal(first.weights))
    True
    """
    make = M3N_SOLVERS[check_m3n_solver(solver, beta)]
    if make is block_frank_wolfe:
        return make(problem, rng=rng, warm_start=warm_start)
    if make is online_subgradient:
        return make(problem, rng=rng, beta=beta, is_watched=tol >= _OUT_OF_REACH)
    if make is subgradient:
        return make(problem, rng=rng, beta=beta)
    return make(problem, rng=rng)


def solve_quadratic_program(
    iteration: int,
    problem: Problem,
    prior: GaussianPrior,
    solver: str,
    *,
    tol: float,
    max_iter: int,
    **options: Any,
) -> tuple[SolveResult, Dual]:
    """Solve M3N on a problem's samples, as a step of another method; warn if that fails."""
    quadratic = Problem(problem.data, problem.loss, prior, problem.n_jobs)
    passes = m3n_iterates(quadratic, solver, tol=tol, **options)
    result = run(passes, quadratic, tol=tol, max_iter=max_iter)
    if not result.converged:
        warn_user(
            f"the quadratic program of iteration {iteration} reached a relative gap of "
            f"{result.relative_gap:.2g} instead of {tol:.2g} ({result.status}); "
            "raise max_iter or tol."
        )
    dual = result.marginals if result.alpha is None else result.alpha
    assert dual is not None
    assert not isinstance(dual, LocalPoint)
    return result, dual
