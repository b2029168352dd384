"""L-BFGS with a head start: Kronecker-factored curvature as its first guess of the Hessian.

L-BFGS learns how curved a function is from the steps it takes, and starts from a guess
(`medn_edu.solvers._quasi_newton` has both).  A random field, and soft-max at any temperature, lets us
make a good one.  On the OCR letters this takes about a third of the iterations of plain L-BFGS.  At
low temperatures the bends are sharp and many iterations are needed, unless it starts near the
optimum (`medn_edu.solvers.softening`).

Where there is no penalty there may be no optimum either: samples that can be labelled without error let
the loss fall to 0 in many directions, and how the weights get there decides what they are.  Plain steps
stay in the span of the gradients, as if there were a small L2 penalty; steps divided by the curvature
give large weights to directions of which the samples have least, and new samples pay for it (on 100 OCR
words an error of 0.59 instead of 0.38; see the study ``ocr-overfitting``).  So the head start can be
declined.

Step lengths are found by the bisection of Lewis and Overton (2013) for the two Wolfe conditions:
enough decrease, and a slope that has flattened; nearly always the first length, 1, is taken.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

import numpy as np

from medn_edu.problems.margins import score_rounding
from medn_edu.problems.soft_max import SoftMaxProblem
from medn_edu.results import STUCK, Iterate
from medn_edu.solvers._quasi_newton import (
    REFRESH_AT,
    FirstGuess,
    Pair,
    Point,
    history_length,
    starting_weights,
    two_loops,
)

__all__ = ["lbfgs"]

ENOUGH_DECREASE, ENOUGH_FLATTENING = 1e-4, 0.9
MAX_TRIALS = 40  # of the line search
FLOOR = 1e-4  # least curvature relative to the largest
ROUNDING = 1e-12  # what is left of a gradient below this share of its terms says nothing
PROMISE = 10.0  # how many times the tolerance a Newton step may promise where the loss has settled


def lbfgs(
    problem: SoftMaxProblem,
    *,
    warm_start: np.ndarray | None = None,
    memory: int = 50,
    change_tol: float = 5e-5,
    preconditioned: bool = True,
) -> Iterator[Iterate]:
    """Minimise a soft-max problem; yield the start and then once per iteration.

    Parameters
    ----------
    problem : SoftMaxProblem
        Asked for ``objective_and_gradient`` and ``curvature``.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.  Weights of forbidden transitions are set to 0.
    memory : int, default=50
        Largest number of pairs (step, change of gradient) that are kept; fewer when there are so
        many weights that they would take more than 128 MB.
    change_tol : float, default=5e-5
        Relative change of the objective in one iteration at which an *unregularised* problem, which
        has no duality gap, is stopped, unless its gradient promises that a Newton step would lower
        the objective by more than ten times as much.  It is stopped as well when the log-loss has
        fallen below this share of that of guessing, because samples without error let it fall to 0.
    preconditioned : bool, default=True
        Whether to start from the guess of the curvature, or from a multiple of the identity.

    Yields
    ------
    Iterate
        With penalty, ``gap_estimate`` is ``||g||^2 / (2 lam)``, which is the duality gap up to
        rounding; without, it is infinite.

    Raises
    ------
    ValueError
        If ``warm_start`` has the wrong shape or is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import SoftMaxProblem
    >>> from medn_edu.samples import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> for iterate in lbfgs(SoftMaxProblem(data, lam=1.0)):
    ...     if iterate.gap_estimate < 1e-6:
    ...         break
    >>> round(iterate.objective_estimate, 4)
    0.8812
    """
    point = Point.of(problem.objective_and_gradient, starting_weights(problem.data, warm_start))
    n_evaluations = 1
    pairs: deque[Pair] = deque(maxlen=history_length(memory, point.weights.size))
    iteration, stopped = 0, "" if point.gradient.any() else "the gradient vanished"
    first_size = float(np.linalg.norm(point.gradient))

    def plain(vector: np.ndarray) -> np.ndarray:
        """Make the first step one of length 1; later ones are sized by the latest pair."""
        return vector / first_size

    while True:
        yield Iterate(
            weights=point.weights,
            gap_estimate=_gap(problem, point.gradient),
            objective_estimate=point.objective,
            n_oracle_calls=n_evaluations * problem.n_samples,
            stopped=stopped,
        )
        if stopped:
            return
        if not preconditioned:
            solve = plain
        elif iteration in REFRESH_AT:
            curvature = problem.curvature(point.weights)
            guess = FirstGuess(problem.data, curvature, floor_share=FLOOR, least_floor=problem.lam)
            solve = guess.solve
            n_evaluations += 1
        direction = -two_loops(point.gradient, pairs, solve)
        if not point.gradient @ direction < 0:  # rounding: the pairs have lost their meaning
            pairs.clear()
            direction = -two_loops(point.gradient, pairs, solve)
        found, n_trials = _line_search(problem, point, direction)
        n_evaluations += n_trials
        iteration += 1
        change = 0.0 if found is None else point.objective - found.objective
        if found is not None:
            pair = Pair.between(point, found)
            if pair is not None:
                pairs.append(pair)
            point = found
        stopped = "" if point.gradient.any() else "the gradient vanished"
        if not (stopped or problem.lam > 0):
            stopped = _reason_to_stop(problem, point, change, change_tol)
        if found is None and not stopped:
            stopped = STUCK


def _reason_to_stop(problem: SoftMaxProblem, point: Point, change: float, change_tol: float) -> str:
    """Say why to stop, if there is a reason; only plain problems, without a gap, need one."""
    # The loss cannot fall below 0.  Where it has an infimum of 0, its relative change never dies
    # away, but compared to guessing there is nothing left to gain.
    guessing = float(problem.node_weight.sum()) * math.log(problem.weight_shape.n_labels)
    fitted = point.objective <= change_tol * guessing
    least = change_tol * abs(point.objective)
    if not fitted and (change > least or _promise(problem, point) > PROMISE * least):
        return ""
    if score_rounding(problem.data, point.weights).max() > 1.0:
        return STUCK  # rounding may be all that is left of the loss
    if fitted:
        return f"samples labelled without error, log-loss below {change_tol:g} of guessing"
    return f"relative change of the likelihood below {change_tol:g}"


def _promise(problem: SoftMaxProblem, point: Point) -> float:
    """Return by how much Newton steps, weight by weight, would lower the objective.

    Where features differ much in size, plain L-BFGS can crawl along the large ones: the objective
    hardly changes any more while the small ones, transitions for instance, have yet to be fitted.
    """
    samples, curvature = problem.data.samples, problem.curvature(point.weights)
    doubt = np.repeat(curvature.doubt, np.diff(samples.indptr)) / max(curvature.doubt.sum(), 1e-300)
    squares = np.bincount(samples.indices, doubt * samples.data**2, samples.n_features)
    by_cell = np.outer(np.diag(curvature.labels), squares)
    diagonal = problem.weight_shape.join(by_cell, curvature.transitions)
    says = np.abs(point.gradient) > ROUNDING * problem.observed_sizes
    with np.errstate(divide="ignore", over="ignore"):  # no curvature, no bound on the gain
        return 0.5 * float(np.sum(point.gradient[says] ** 2 / np.maximum(diagonal[says], 0.0)))


def _gap(problem: SoftMaxProblem, gradient: np.ndarray) -> float:
    return float(gradient @ gradient) / (2 * problem.lam) if problem.lam > 0 else np.inf


def _line_search(
    problem: SoftMaxProblem, point: Point, direction: np.ndarray
) -> tuple[Point | None, int]:
    """Find a length that fulfils both Wolfe conditions; return the point and the trials it took.

    When rounding hides the curvature, the best point below the start is returned, or None.
    """
    slope = float(point.gradient @ direction)
    lower, upper, length = 0.0, np.inf, 1.0
    best = None
    for n_trials in range(1, MAX_TRIALS + 1):
        trial = Point.of(problem.objective_and_gradient, point.weights + length * direction)
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
