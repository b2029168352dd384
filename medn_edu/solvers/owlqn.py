r"""OWL-QN: L-BFGS for a loss with an L1 penalty, one orthant at a time.

``L(w) + lam ||w||_1`` has kinks wherever a weight is 0, and L-BFGS trips over them.  But inside an
*orthant*, where no weight changes its sign, the penalty is linear and the objective as smooth as
``L``.  Andrew and Gao (2007) build the *orthant-wise limited-memory quasi-Newton* method on that:

1.  The shortest subgradient ``v`` says downhill, and with it which orthant to walk in: that of the
    weights' signs, and of ``-v`` where weights are 0.
2.  L-BFGS turns ``-v`` into a direction.  Its pairs are steps and changes of the gradient of ``L``
    alone, because within an orthant the penalty bends nothing.  Entries of the direction that
    point to the other side of ``-v`` are set to 0.
3.  The line search walks along the direction, and weights that would leave the orthant stop at 0.
    That makes them exactly 0.

A curved guess of the Hessian helps little here, since setting entries of a direction to 0 spoils
what the curvature had arranged.  `medn_edu.solvers.proximal_lbfgs` makes use of it in another way
and needs about a fifth of the iterations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from medn_edu.problems.sparse_soft_max import L1SoftMaxProblem
from medn_edu.results import STUCK, Iterate
from medn_edu.solvers._quasi_newton import (
    Pair,
    Point,
    history_length,
    starting_weights,
    two_loops,
)

__all__ = ["owlqn"]

ENOUGH_DECREASE = 1e-4
MAX_TRIALS = 40  # of the line search


def owlqn(
    problem: L1SoftMaxProblem, *, warm_start: np.ndarray | None = None, memory: int = 10
) -> Iterator[Iterate]:
    """Minimise a log-loss with L1 penalty; yield the start and then once per iteration.

    Parameters
    ----------
    problem : L1SoftMaxProblem
        Asked for ``loss_and_gradient``, ``subgradient``, ``penalty`` and ``gap_estimate``.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.  Weights of forbidden transitions are set to 0.
    memory : int, default=10
        Largest number of pairs (step, change of gradient) that are kept.

    Yields
    ------
    Iterate
        ``gap_estimate`` is that of `L1SoftMaxProblem.gap_estimate`.

    Raises
    ------
    ValueError
        If ``warm_start`` has the wrong shape or is not finite.

    See Also
    --------
    medn_edu.solvers.proximal_lbfgs : Faster.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1SoftMaxProblem
    >>> from medn_edu.samples import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> for iterate in owlqn(L1SoftMaxProblem(data, lam=0.4)):
    ...     if iterate.gap_estimate < 1e-6:
    ...         break
    >>> iterate.weights.round(2)
    array([0. , 0. , 0. , 0. , 0. , 1.5, 0. , 0. ])
    """
    point = Point.of(problem.loss_and_gradient, starting_weights(problem.data, warm_start))
    n_evaluations = 1
    pairs: deque[Pair] = deque(maxlen=history_length(memory, point.weights.size))
    stopped = ""
    while True:
        slope = problem.subgradient(point.weights, point.gradient)
        if not slope.any():
            stopped = "the subgradient vanished"
        yield Iterate(
            weights=point.weights,
            gap_estimate=problem.gap_estimate(point.weights, point.objective, point.gradient),
            objective_estimate=point.objective + problem.penalty(point.weights),
            n_oracle_calls=n_evaluations * problem.n_samples,
            stopped=stopped,
        )
        if stopped:
            return
        found, n_trials = _step(problem, point, slope, pairs)
        n_evaluations += n_trials
        if found is None and pairs:  # rounding: the pairs have lost their meaning
            pairs.clear()
            found, n_trials = _step(problem, point, slope, pairs)
            n_evaluations += n_trials
        if found is None:
            stopped = STUCK
            continue
        pair = Pair.between(point, found)
        if pair is not None:
            pairs.append(pair)
        point = found


def _step(
    problem: L1SoftMaxProblem, point: Point, slope: np.ndarray, pairs: deque[Pair]
) -> tuple[Point | None, int]:
    """Search along the direction within the orthant; return the point and the trials it took."""
    direction = -two_loops(slope, pairs, lambda vector: vector)
    direction[direction * slope >= 0] = 0.0
    if not direction.any():
        return None, 0
    orthant = np.where(point.weights != 0, np.sign(point.weights), -np.sign(slope))
    before = point.objective + problem.penalty(point.weights)
    length = 1.0 if pairs else 1.0 / float(np.linalg.norm(direction))
    for n_trials in range(1, MAX_TRIALS + 1):
        weights = point.weights + length * direction
        weights[weights * orthant <= 0] = 0.0
        trial = Point.of(problem.loss_and_gradient, weights)
        expected = float(slope @ (weights - point.weights))
        after = trial.objective + problem.penalty(weights)
        if after <= before + ENOUGH_DECREASE * expected and after < before:
            return trial, n_trials
        length /= 2
    return None, MAX_TRIALS
