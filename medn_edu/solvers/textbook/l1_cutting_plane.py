"""Cutting planes for L1-M3N: Algorithm 1 of the L1-M3N paper, with bounds.

``l1_cutting_plane.md`` explains why it works.
"""

from collections.abc import Iterator

import numpy as np

from medn_edu.checks import check_count
from medn_edu.problems import Problem
from medn_edu.results import Iterate, SolveResult
from medn_edu.solvers._l1_bounds import Bounds, check_l1_problem
from medn_edu.solvers._linear_program import SMOOTHING, WARM_SMOOTHING, LinearProgram, cut


def l1_cutting_plane(
    problem: Problem,
    *,
    smoothing: float | None = None,
    patience: int = 2,
    warm_start: SolveResult | None = None,
) -> Iterator[Iterate]:
    """Solve L1-M3N by cutting planes; yield once per round.

    Parameters
    ----------
    problem : Problem
        L1-M3N: a margin loss with a linear slack, and `L1Norm()`.
    smoothing : float, optional
        Share of the last point in the running average, below 1.  Violated rows are searched for at this
        average.  With 0 they are searched for at the solutions themselves, as in the paper.  By default
        0.8, or 0.5 with a warm start.
    patience : int, default=2
        Number of inactive rounds after which a labelling leaves the working set.
    warm_start : SolveResult, optional
        Solution of a problem with the same samples and another constant.  The labellings of its dual
        variables are the first working set.  Its weights are where the average begins.

    Yields
    ------
    Iterate
        The solution with the smallest objective so far, and the dual variables of the largest lower
        bound so far.  ``gap_estimate`` is the difference between the two values.

    Raises
    ------
    TypeError
        If the problem is not L1-M3N, or ``warm_start`` is not a `SolveResult`.
    ValueError
        If ``smoothing`` or ``patience`` is out of its range, or ``warm_start`` does not belong to
        the problem's samples.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L1Norm())
    >>> result = run(l1_cutting_plane(problem), problem, tol=1e-6, max_iter=100)
    >>> round(result.primal, 6), result.converged
    (1.0, True)
    """
    check_l1_problem(problem, warm_start)
    if smoothing is not None and not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is {smoothing!r}; expected a share from 0 to below 1.")
    check_count("patience", patience, least=0)
    point, bounds, usual = np.zeros(problem.weight_shape.size), Bounds(problem), SMOOTHING
    alpha = None
    if warm_start is not None and warm_start.alpha is not None:
        alpha, point, usual = bounds.start(warm_start.alpha), warm_start.weights, WARM_SMOOTHING
    program = LinearProgram(problem, labellings=alpha)
    smoothing = usual if smoothing is None else smoothing
    yield from cut(program, bounds, point, smoothing=smoothing, patience=patience)
