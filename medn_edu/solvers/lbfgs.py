"""L-BFGS for conditional random fields without an L1 norm.

`medn_edu.solvers.quasi_newton` has the loop and explains what pairs are.  The initial Hessian is the
curvature of `medn_edu.solvers.initial_hessian`.  On the OCR letters this takes about a third of the
iterations of plain L-BFGS.  At low temperatures the curvature changes quickly and many iterations are
needed, unless the method starts near the optimum (`medn_edu.solvers.softening`).

Without a penalty there may be no optimum.  If the samples can be labelled without error, the loss can
fall to 0 in many directions, and the path of the weights decides where they end up.  Plain steps stay in
the span of the gradients, as if there were a small L2 penalty.  Steps divided by the curvature give
large weights to the directions that are rarest in the samples, and that hurts on new samples (on 100 OCR
words the error is 0.59 instead of 0.38; see the study ``ocr-overfitting``).  So the initial Hessian can
be turned off.

Step lengths are found by the bisection of Lewis and Overton (2013) for the two Wolfe conditions:
enough decrease, and a slope that has flattened.  The first length, 1, is nearly always accepted.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from medn_edu.problems import Problem, soft_max
from medn_edu.problems.losses import score_rounding
from medn_edu.results import STUCK, Iterate
from medn_edu.solvers.initial_hessian import InitialHessian
from medn_edu.solvers.quasi_newton import (
    ENOUGH_DECREASE,
    MAX_TRIALS,
    REFRESH_AT,
    Pair,
    Point,
    Steps,
    history_length,
    quasi_newton,
    starting_weights,
)

ENOUGH_FLATTENING = 0.9
FLOOR = 1e-4  # least curvature relative to the largest
ROUNDING = 1e-12  # what is left of a gradient below this share of its terms says nothing
PROMISE = 10.0  # how many times the tolerance a Newton step may promise where the loss has settled


def lbfgs(
    problem: Problem,
    *,
    warm_start: np.ndarray | None = None,
    memory: int = 50,
    change_tol: float = 5e-5,
    preconditioned: bool = True,
) -> Iterator[Iterate]:
    """Minimise a soft-max problem without an L1 norm; yield the start, then once per iteration.

    Parameters
    ----------
    problem : Problem
        A soft-max loss with an `L2Norm`.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.  Weights of forbidden transitions are set to 0.
    memory : int, default=50
        Largest number of pairs (step, change of gradient) that are kept, in at most 128 MB.
    change_tol : float, default=5e-5
        When to stop an *unregularised* problem, which has no duality gap.  It stops if the objective
        changes by less than this share in one iteration, unless a Newton step promises more than ten
        times as much.  It also stops when the log-loss falls below this share of that of guessing.
    preconditioned : bool, default=True
        Whether the initial Hessian is the curvature of the loss, or a multiple of the identity.

    Yields
    ------
    Iterate
        With a penalty, ``gap_estimate`` is ``||g||^2 / (2 l2)``, which is the duality gap up to
        rounding.  Without one it is infinite.

    Raises
    ------
    TypeError
        If the problem has an L1 norm, or another loss.
    ValueError
        If ``warm_start`` has the wrong shape or is not finite, or ``memory`` is below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L2Norm, Problem, SoftMaxLoss
    >>> for iterate in lbfgs(Problem.of([np.eye(2)], [[0, 1]], SoftMaxLoss(), L2Norm(1.0))):
    ...     if iterate.gap_estimate < 1e-6:
    ...         break
    >>> round(iterate.objective_estimate, 4)
    0.8812
    """
    if problem.elastic_net.l1 > 0:
        raise TypeError(
            f"the regulariser is {problem.regulariser!r}; lbfgs expects an L2Norm.  For an L1 norm "
            "use proximal_lbfgs or owlqn."
        )
    start = starting_weights(problem.data, warm_start)
    steps = _WolfeSteps(problem, history_length(memory, start.size), preconditioned)
    if problem.elastic_net.l2 > 0:
        return quasi_newton(problem, start, steps)
    return quasi_newton(
        problem, start, steps, lambda point, change: _settled(problem, point, change, change_tol)
    )


class _WolfeSteps(Steps):
    """Steps ``-H^{-1} g``, of a length that fulfils the Wolfe conditions."""

    solve: Callable[[np.ndarray], np.ndarray]

    def __init__(self, problem: Problem, length: int, preconditioned: bool) -> None:
        super().__init__(problem, length)
        self.preconditioned = preconditioned

    def forget(self) -> bool:
        return False  # pairs that lead uphill are forgotten before the line search

    def take(self, point: Point, iteration: int) -> tuple[Point | None, int]:
        n_evaluations = 0
        if self.preconditioned and iteration in REFRESH_AT:
            self.solve = InitialHessian(self.problem, point.weights, FLOOR).solve
            n_evaluations = 1
        elif iteration == 0:  # a first step of length 1; later ones are scaled by the latest pair
            size = float(np.linalg.norm(point.gradient))
            self.solve = lambda vector: vector / size
        direction = -two_loops(point.gradient, self.pairs, self.solve)
        if not point.gradient @ direction < 0:  # rounding: the pairs have lost their meaning
            self.pairs.clear()
            direction = -two_loops(point.gradient, self.pairs, self.solve)
        found, n_trials = self._search(point, direction)
        return found, n_evaluations + n_trials

    def _search(self, point: Point, direction: np.ndarray) -> tuple[Point | None, int]:
        """Fulfil both Wolfe conditions, or take the best point if rounding hides the curvature."""
        slope = float(point.gradient @ direction)
        lower, upper, length = 0.0, np.inf, 1.0
        best = None
        for n_trials in range(1, MAX_TRIALS + 1):
            trial = Point.at(self.problem, point.weights + length * direction)
            if np.isfinite(trial.objective) and (best is None or trial.objective < best.objective):
                best = trial
            if not trial.objective <= point.objective + ENOUGH_DECREASE * length * slope:
                upper = length
            elif trial.gradient @ direction < ENOUGH_FLATTENING * slope:
                lower = length
            else:
                return trial, n_trials
            length = (lower + upper) / 2 if upper < np.inf else 2 * lower
        return (best if best is not None and best.objective < point.objective else None), MAX_TRIALS


def two_loops(
    gradient: np.ndarray, pairs: deque[Pair], solve: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Multiply the gradient by the inverse Hessian that pairs and the initial one describe."""
    q = gradient.copy()
    coefficients = []
    for pair in reversed(pairs):
        coefficient = (pair.step @ q) / pair.product
        coefficients.append(coefficient)
        q -= coefficient * pair.change
    q = solve(q)
    if pairs:  # the scale of the initial Hessian is that of the latest pair
        latest = pairs[-1]
        q *= latest.product / (latest.change @ solve(latest.change))
    for pair, coefficient in zip(pairs, reversed(coefficients), strict=True):
        q += pair.step * (coefficient - (pair.change @ q) / pair.product)
    return q


def _settled(problem: Problem, point: Point, change: float, change_tol: float) -> str:
    """Say why to stop, if there is a reason; only problems without a penalty need one."""
    # The loss cannot fall below 0.  Where it has an infimum of 0, its relative change never dies
    # away, but compared to guessing there is nothing left to gain.
    n_nodes = float(problem.data.sample_weight[problem.data.samples.sample_of_node].sum())
    guessing = n_nodes * math.log(problem.weight_shape.n_labels)
    fitted = point.objective <= change_tol * guessing
    least = change_tol * abs(point.objective)
    if not fitted and (change > least or _promise(problem, point) > PROMISE * least):
        return ""
    if score_rounding(problem.data, point.weights).max() > 1.0:
        return STUCK  # rounding may be all that is left of the loss
    if fitted:
        return f"log-loss below {change_tol:g} of guessing"
    return f"relative change of the log-likelihood below {change_tol:g}"


def _promise(problem: Problem, point: Point) -> float:
    """Return by how much Newton steps, weight by weight, would lower the objective.

    Where features differ much in size, plain L-BFGS can crawl along the large ones: the objective
    hardly changes any more while the small ones, transitions for instance, have yet to be fitted.
    """
    samples, shape = problem.data.samples, problem.weight_shape
    curvature, nonzeros = soft_max.curvature(problem, point.weights), np.diff(samples.indptr)
    trace = np.repeat(curvature.trace, nonzeros) / max(curvature.trace.sum(), 1e-300)
    squares = np.bincount(samples.indices, trace * samples.data**2, shape.n_features)
    of_coef = np.outer(np.diag(curvature.labels), squares)
    diagonal = np.concatenate([of_coef.ravel(), curvature.transitions])
    # Sizes of the terms that gradients add up: features and edges of all samples.
    weight = problem.data.sample_weight[samples.sample_of_node]
    sizes = np.repeat(weight, nonzeros) * np.abs(samples.data)
    features = np.bincount(samples.indices, sizes, shape.n_features)
    edges = 1.0 if samples.edge_features is None else np.abs(samples.edge_features).max()
    transitions = np.full(shape.size - shape.n_coef, edges * weight.sum())
    terms = np.concatenate([np.tile(features, shape.n_rows), transitions])
    says = np.abs(point.gradient) > ROUNDING * terms
    with np.errstate(divide="ignore", over="ignore"):  # no curvature, no bound on the gain
        return 0.5 * float(np.sum(point.gradient[says] ** 2 / np.maximum(diagonal[says], 0.0)))
