r"""OWL-QN: L-BFGS for an objective with an L1 norm, one orthant at a time.

``|w|_1`` has a kink wherever a weight is 0, and L-BFGS can't handle kinks.  But inside an *orthant*,
where no weight changes its sign, ``|w|_1`` is linear.  There the objective is as smooth as its other
terms.  Andrew and Gao (2007) build the *orthant-wise limited-memory quasi-Newton* method on that:

1.  The minimum-norm subgradient ``v`` gives the downhill direction ``-v``, and with it the orthant to
    walk in.  Its signs are those of the weights, and those of ``-v`` where weights are 0.
2.  L-BFGS turns ``-v`` into a direction.  Its pairs are steps and changes of the gradient of the smooth
    part alone, because within an orthant the L1 norm adds no curvature.  Entries of the direction that
    differ in sign from ``-v`` are set to 0.
3.  The line search walks along the direction, and weights that would leave the orthant stop at 0.
    That makes them exactly 0.

The Kronecker-factored initial Hessian helps little here, since setting entries of a direction to 0
spoils it.  `medn_edu.solvers.proximal_lbfgs` uses that Hessian in another way and needs about a
fifth of the iterations.
"""

from collections.abc import Iterator

import numpy as np

from medn_edu.problems import Problem
from medn_edu.problems.regularisers import minimum_norm_subgradient
from medn_edu.results import Iterate
from medn_edu.solvers.lbfgs import two_loops
from medn_edu.solvers.quasi_newton import (
    Point,
    Steps,
    backtrack,
    check_magnitudes,
    history_length,
    quasi_newton,
    starting_weights,
)


def owlqn(
    problem: Problem, *, warm_start: np.ndarray | None = None, memory: int = 10
) -> Iterator[Iterate]:
    """Minimise a soft-max problem with an L1 norm; yield the start, then once per iteration.

    Parameters
    ----------
    problem : Problem
        A soft-max loss with an `L1Norm`, or an `ElasticNet` with ``l1 > 0``.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from, by default zeros.  Weights of forbidden transitions are set to 0.
    memory : int, default=10
        Largest number of pairs (step, change of gradient) that are kept.

    Yields
    ------
    Iterate
        The weights, many of them exactly 0; ``gap_estimate`` is that of `medn_edu.problems.soft_max`.

    Raises
    ------
    TypeError
        If the problem has another loss or regulariser.
    ValueError
        If ``memory`` is below 0, or ``warm_start`` is not finite or has the wrong shape.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem, SoftMaxLoss
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], SoftMaxLoss(), L1Norm(0.4))
    >>> run(owlqn(problem), problem, tol=1e-6, max_iter=100).weights.round(2)
    array([0. , 0. , 0. , 0. , 0. , 1.5, 0. , 0. ])
    """
    check_magnitudes(problem, "owlqn")
    start = starting_weights(problem.data, warm_start)
    steps = _OrthantSteps(problem, history_length(memory, start.size))
    return quasi_newton(problem, start, steps)


class _OrthantSteps(Steps):
    """Steps within the orthant that the minimum-norm subgradient chooses."""

    def take(self, point: Point, iteration: int) -> tuple[Point | None, int]:
        l1 = self.problem.elastic_net.l1
        slope = minimum_norm_subgradient(point.weights, point.gradient, l1)
        direction = -two_loops(slope, self.pairs, lambda vector: vector)
        direction[direction * slope >= 0] = 0.0
        if not direction.any():
            return None, 0
        orthant = np.where(point.weights != 0, np.sign(point.weights), -np.sign(slope))

        def place(length: float) -> np.ndarray:
            weights = point.weights + length * direction
            weights[weights * orthant <= 0] = 0.0
            return weights

        first = 1.0 if self.pairs else 1.0 / float(np.linalg.norm(direction))
        promised = lambda length, weights: float(slope @ (weights - point.weights))  # noqa: E731
        return backtrack(self.problem, point, first, place, promised)
