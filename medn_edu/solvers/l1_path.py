"""L1-M3N as the end of a path of Laplace MEDNs, and the step that gets there exactly.

``l1_path.md`` explains why it works.
"""

import math
from collections.abc import Iterator

import numpy as np

from medn_edu.priors import LaplacePrior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.results import OVERFLOW, Iterate, SolveResult, run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers._l1_bounds import Bounds, check_l1_problem
from medn_edu.solvers._linear_program import WARM_SMOOTHING, LinearProgram, cut
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe

# Measured on 100 words of the OCR letters; the solution does not depend on them, times do.
_START = 10.0  # the first lam, as a multiple of (K / objective at w = 0)^2
_GROWTH = 4.0  # by which lam grows
_SHARE = 0.5  # of the tolerance; the gap to which each MEDN is solved
_MOST_PASSES = 200  # for each of them, unless fewer are asked for
_PROGRESS = 0.01  # by how much at least the gap should shrink, or the bound grow, in a step,
_MOST_VAIN = 3  # and how often it may fail to
_NEAR = 0.4  # weights with a smaller |eta_k| are left out of the linear program at first
_FINE = 1e-2  # gap at which that program takes over,
_WORTH = 3e3  # or this divided by its rows times its features, if that is more,
MOST_CELLS = 1_000_000  # if they are not more than this, so that it takes seconds, not minutes
_FEW_CELLS = 100_000  # so many take no longer than a Laplace MEDN: a warm start begins with them,
_NEARER = 0.2  # and with weights whose |eta_k| was above this,
_FAR = 0.6  # unless the last solution proves nothing: the relative gap of its dual variables


def l1_path(
    problem: Problem,
    *,
    rng: np.random.Generator,
    tol: float = 1e-2,
    clean_up: bool | None = None,
    max_passes: int = _MOST_PASSES,
    warm_start: SolveResult | None = None,
) -> Iterator[Iterate]:
    """Solve L1-M3N along a path of Laplace MEDNs; yield once per value of ``lam``.

    Parameters
    ----------
    problem : Problem
        L1-M3N: a margin loss with a linear slack, and `L1Norm()`.
    rng : numpy.random.Generator
        Draws the order of the visits.
    tol : float, default=0.01
        Relative gap at which to stop.
    clean_up : bool, optional
        Whether to end at a vertex of the linear program.  By default it does if the program has at most
        a million cells.  Without this clean-up, weights are rounded to 0 where the gap allows it.
    max_passes : int, default=200
        Largest number of passes over the samples for each Laplace MEDN; never more than 200.
    warm_start : SolveResult, optional
        Solution of a problem with the same samples and another constant.  If the linear program is
        small, the solution's labellings and features make up the first one.  Otherwise the first
        Laplace MEDN starts at the solution's dual variables.

    Yields
    ------
    Iterate
        The weights with the smallest objective so far, among all posterior means and then all vertices,
        and the dual variables with the largest lower bound.  ``gap_estimate`` is the distance between
        the two bounds.

    Raises
    ------
    TypeError
        If the problem is not L1-M3N, or ``warm_start`` is not a `SolveResult`.
    ValueError
        If the problem's constant is so small or so large that ``lam`` overflows, or ``warm_start`` does
        not belong to the problem's samples.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L1Norm())
    >>> path = l1_path(problem, rng=np.random.default_rng(0), tol=1e-9)
    >>> result = run(path, problem, tol=1e-9, max_iter=100)
    >>> round(result.primal, 6), result.converged
    (1.0, True)
    """
    check_l1_problem(problem, warm_start)
    bounds = Bounds(problem)
    alpha, upper = None, bounds.upper
    if warm_start is not None and warm_start.alpha is not None:
        alpha = bounds.start(warm_start.alpha)
        last = bounds.without_weights()
        last.visit(warm_start.weights)
        bounds.n_oracle_calls, upper = last.n_oracle_calls, min(upper, last.upper)
        features = np.flatnonzero(np.abs(warm_start.alpha.eta(problem.data)) > _NEARER)
        small = len(features) * len(alpha) <= _FEW_CELLS
        if clean_up is not False and small and last.closed(_FAR):
            yield bounds.iterate()
            program = LinearProgram(problem, features, alpha)
            yield from cut(program, bounds, warm_start.weights, smoothing=WARM_SMOOTHING)
            return
    yield bounds.iterate()
    coarse, allowed = tol if clean_up is False else max(tol, _FINE), False
    max_passes = min(max_passes, _MOST_PASSES)
    for scaled_eta in _follow(problem, bounds, rng, coarse, tol, max_passes, alpha, upper):
        features = np.flatnonzero(np.abs(scaled_eta) > _NEAR)
        n_cells = len(features) * len(bounds.alpha)
        allowed = n_cells <= MOST_CELLS if clean_up is None else clean_up
        handover = max(_WORTH / max(n_cells, 1), tol, _FINE) if n_cells <= MOST_CELLS else tol
        if allowed and bounds.closed(handover):
            break
        if bounds.closed(tol):
            _round(bounds, tol)
        yield bounds.iterate()
    if allowed:
        yield from _finish(bounds, LinearProgram(problem, features, bounds.alpha))
    else:
        yield bounds.iterate("the gap does not shrink any more without a clean-up")


def _follow(
    problem: Problem,
    bounds: Bounds,
    rng: np.random.Generator,
    coarse: float,
    fine: float,
    max_passes: int,
    alpha: DualVariables | None,
    upper: float,
) -> Iterator[np.ndarray]:
    """Solve MEDN after MEDN; yield each ``eta``, scaled so that a half is its bound.

    The first ``lam`` suits the objective ``upper``.  The gap is brought to the coarse tolerance first
    and, if it is still wanted then, to the fine one.
    """
    _, C = problem.margin_loss.slack.compiled
    with np.errstate(over="ignore"):
        lam = float(_START * np.square(problem.weight_shape.size / upper))
    if not (lam > 0 and math.isfinite(lam)):
        raise ValueError(OVERFLOW)
    if alpha is not None:
        alpha = alpha.scaled(2 * math.sqrt(lam))
    gap, last, n_vain = bounds.gap, 0.0, 0
    while n_vain < _MOST_VAIN:
        slack = LinearSlack(2 * C * math.sqrt(lam))
        medn = Problem(problem.data, MarginLoss(slack), LaplacePrior(lam), problem.n_jobs)
        passes = block_frank_wolfe(medn, rng=rng, warm_start=alpha)
        target = fine if bounds.closed(coarse) else coarse
        result = run(passes, medn, tol=_SHARE * target, max_iter=max_passes)
        alpha = result.alpha
        assert alpha is not None
        assert result.eta is not None
        scale = 1 / (2 * math.sqrt(lam))
        bounds.n_oracle_calls += result.n_oracle_calls
        bounds.visit(result.weights)
        lower = bounds.prove(alpha.scaled(scale))
        yield scale * result.eta
        # With a large C the lower bound doubles time and again before the gap is seen to shrink.
        progress = bounds.gap < (1 - _PROGRESS) * gap or lower > (1 + _PROGRESS) * last
        gap, last, n_vain = bounds.gap, lower, 0 if progress else n_vain + 1
        lam *= _GROWTH


def _finish(bounds: Bounds, program: LinearProgram) -> Iterator[Iterate]:
    """Go from vertex to vertex, beginning with what the path has found."""
    vertices = bounds.without_weights()  # a mean has no zeros, however good it is
    for iterate in cut(program, vertices, bounds.weights):
        if iterate.stopped and bounds.upper < (1 - _FINE) * vertices.upper:
            # HiGHS has failed, and no vertex is as good as the mean.
            vertices.weights, vertices.upper = bounds.weights, bounds.upper
            iterate = vertices.iterate(iterate.stopped)
        yield iterate


def _round(bounds: Bounds, tol: float) -> None:
    """Set small weights to 0, as many as the gap allows."""
    weights, lower = bounds.weights, bounds.lower
    order = np.argsort(np.abs(weights))
    least, most = 0, len(order)  # how many can go for certain, and how many cannot
    rounded = bounds
    while most - least > max(1, len(order) // 1000):
        middle = (least + most) // 2
        fewer = weights.copy()
        fewer[order[:middle]] = 0.0
        trial = bounds.without_weights()
        trial.visit(fewer)
        bounds.n_oracle_calls = trial.n_oracle_calls
        if trial.upper - lower <= tol * trial.upper:
            least, rounded = middle, trial
        else:
            most = middle
    bounds.weights, bounds.upper = rounded.weights, rounded.upper
