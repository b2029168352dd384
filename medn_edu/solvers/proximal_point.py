"""L1-M3N by proximal points: a sequence of elastic nets, each centred at the weights of the last one.

The dual of L1-M3N has walls, ``|eta_k| <= 1/2``.  On the way to a corner between them, block steps
run into one wall after the other.  Squares around a centre ``c`` soften the walls.  In the problem

    minimise  |w|_1 / 2 + l2 |w - c|^2 / 2 + C sum_i xi_i

the conjugate of the regulariser is that of an elastic net, at ``l2 c + eta`` instead of ``eta``.  Block
Frank-Wolfe solves this problem quickly, and most of the weights are exactly 0.  The solution is the next
centre (Martinet 1970; Rockafellar 1976).  On the dual side this is the method of multipliers.  A few
passes for each centre are enough, because each problem starts with the dual variables of the last one.

Any weights give an upper bound.  Any dual variables give a lower bound, once they are scaled until
``|eta_k| <= 1/2``.  The distance between the bounds has two causes.  First, the elastic net may not be
fully solved.  Second, its centre may not yet be its solution, and then ``eta`` is beyond the walls by
``l2 (w_k - c_k)``.  ``l2`` is halved or doubled to keep the two causes in balance, so its first value
hardly matters.

The work of a pass is proportional to the number of features that occur.  On 2,000 and 12,000 made-up
sentences with ``C = 0.1``, one thread reaches a gap of 2 % in 4 and 16 seconds.  `l1_path` takes a
minute for 500 sentences.  But if the linear program is small enough for its clean-up, `l1_path` has the
better end, because it finds a vertex.
"""

from collections.abc import Iterator

import numpy as np

from medn_edu.problems import ElasticNet, L1Norm, Problem
from medn_edu.results import Iterate, SolveResult
from medn_edu.solvers._l1_bounds import Bounds, check_l1_problem
from medn_edu.solvers.block_frank_wolfe import passes
from medn_edu.solvers.dual_state import DualState

# All measured on the OCR letters and on made-up sentences; they change times, and only mildly.
_SQUARES = 0.1  # the first l2, for features and losses of 1
_N_PASSES = 3  # for each centre
_FEW, _MOST = 0.1, 0.7  # share of the gap that may be the elastic net's own before l2 changes
_GROWTH = 2.0  # by which it changes
_LEAST_SQUARES = 1e-100  # what floats can divide by


def proximal_point(
    problem: Problem, *, rng: np.random.Generator, warm_start: SolveResult | None = None
) -> Iterator[Iterate]:
    """Solve L1-M3N by a sequence of elastic nets; yield once per elastic net.

    Parameters
    ----------
    problem : Problem
        L1-M3N: a margin loss with a linear slack, and `L1Norm()`.
    rng : numpy.random.Generator
        Draws the order of the visits.
    warm_start : SolveResult, optional
        Solution of a problem with the same samples and another constant, to start from.

    Yields
    ------
    Iterate
        The weights with the smallest objective so far, and the dual variables with the largest lower
        bound.  ``gap_estimate`` is the distance between the two bounds.

    Raises
    ------
    TypeError
        If the problem is not L1-M3N, or ``warm_start`` is not a `SolveResult`.
    ValueError
        If ``warm_start`` does not belong to its samples.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L1Norm())
    >>> result = run(
    ...     proximal_point(problem, rng=np.random.default_rng(0)), problem, tol=1e-6, max_iter=100
    ... )
    >>> round(result.primal, 6), result.converged
    (1.0, True)
    """
    check_l1_problem(problem, warm_start)
    bounds = Bounds(problem)
    weights, alpha = bounds.weights, None
    if warm_start is not None and warm_start.alpha is not None:
        alpha, weights = bounds.start(warm_start.alpha), warm_start.weights
        bounds.visit(weights)
    yield bounds.iterate()
    l2 = _SQUARES * _typical_feature(problem) / float(np.mean(problem.data.loss_scale))
    state = DualState(_elastic_net(problem, l2), gram_budget=0, capacity=4)
    state.load(alpha)
    state.go_on(state.problem, l2 * weights)
    rounds, n_seen = passes(state, rng, n_cached_rounds=2), 0
    while True:
        for _ in range(_N_PASSES):
            n_oracle_calls = next(rounds)
        bounds.n_oracle_calls += n_oracle_calls - n_seen
        n_seen = n_oracle_calls
        weights = state.weights()
        _, violation = bounds.visit(weights)
        upper = problem.regulariser.value(weights) + float(problem.C @ np.maximum(violation, 0.0))
        gap = upper - bounds.prove(state.dual_variables())
        yield bounds.iterate()
        left = float(state.gaps.sum())
        if left < _FEW * gap:
            l2 = max(l2 / _GROWTH, _LEAST_SQUARES)
        elif left > _MOST * gap:
            l2 *= _GROWTH
        state.go_on(_elastic_net(problem, l2), l2 * weights)


def _elastic_net(problem: Problem, l2: float) -> Problem:
    """Return the problem with squares added to its norm."""
    return Problem(problem.data, problem.loss, ElasticNet(L1Norm().l1, l2), problem.n_jobs)


def _typical_feature(problem: Problem) -> float:
    """Return the mean size of the features that are not 0."""
    sizes = np.abs(problem.data.samples.data)
    return float(sizes[sizes > 0].mean()) if sizes.any() else 1.0
