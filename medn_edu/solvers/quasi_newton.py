r"""Quasi-Newton methods for conditional random fields: one loop, and three ways to take a step.

Newton's method minimises a smooth convex function by steps ``-H^{-1} g``, where ``g`` is the gradient.
But ``H``, the matrix of second derivatives, has far too many entries.  *L-BFGS* (Liu and Nocedal 1989)
keeps the last few steps ``s`` and the changes ``y`` of the gradient along them.  Since ``H s = y``
nearly holds, these *pairs* show how curved the function is in the directions of recent steps.  In all
other directions an initial Hessian takes over (`medn_edu.solvers.initial_hessian`).  It depends on the
weights, so it is computed at the start and once more after some iterations.  The pairs stay valid.

`quasi_newton` is the loop: it evaluates, yields, asks for a step, and remembers the pair.  The kind of
step depends on the regulariser.

* `medn_edu.solvers.lbfgs`: squares, or nothing.  The direction is ``-H^{-1} g``.
* `medn_edu.solvers.owlqn`: magnitudes, one orthant at a time.
* `medn_edu.solvers.proximal_lbfgs`: magnitudes, by a quadratic model of the smooth part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from medn_edu.checks import check_count
from medn_edu.problems import Problem, soft_max
from medn_edu.problems.regularisers import minimum_norm_subgradient
from medn_edu.results import STUCK, Iterate
from medn_edu.samples import LabelledSamples

REFRESH_AT = (0, 8)  # iterations at which the initial Hessian is computed
HISTORY_BYTES = 2**27  # for the pairs (s, y); never fewer than 5 pairs are kept
ENOUGH_DECREASE = 1e-4
MAX_TRIALS = 40  # of a line search


@dataclass(frozen=True, eq=False)
class Point:
    """Weights with the smooth part of the objective and its gradient there."""

    weights: np.ndarray
    objective: float
    gradient: np.ndarray

    @classmethod
    def at(cls, problem: Problem, weights: np.ndarray) -> Point:
        """Evaluate the smooth part of a problem: a sweep over all samples."""
        return cls(weights, *soft_max.smooth_part(problem, weights))


@dataclass(frozen=True, eq=False)
class Pair:
    """A step, the change of the gradient along it, and their product."""

    step: np.ndarray
    change: np.ndarray
    product: float

    @classmethod
    def between(cls, old: Point, new: Point) -> Pair | None:
        """Return the pair, or None where rounding hides the curvature."""
        step, change = new.weights - old.weights, new.gradient - old.gradient
        product = float(step @ change)
        tiny = np.finfo(float).eps * np.linalg.norm(step) * np.linalg.norm(change)
        return cls(step, change, product) if product > tiny else None


class Steps(ABC):
    """A way to take steps, with the pairs it has seen."""

    def __init__(self, problem: Problem, length: int) -> None:
        self.problem = problem
        self.pairs: deque[Pair] = deque(maxlen=length)

    @abstractmethod
    def take(self, point: Point, iteration: int) -> tuple[Point | None, int]:
        """Return where a step leads, None if nowhere, and the evaluations that it took."""

    def remember(self, pair: Pair) -> None:
        """Keep a pair, and drop the oldest if there are too many."""
        self.pairs.append(pair)

    def forget(self) -> bool:
        """Forget all pairs, if a step failed because of them; say whether there were any."""
        had_pairs = bool(self.pairs)
        self.pairs.clear()
        return had_pairs


def quasi_newton(
    problem: Problem,
    weights: np.ndarray,
    steps: Steps,
    reason_to_stop: Callable[[Point, float], str] = lambda point, change: "",
) -> Iterator[Iterate]:
    """Take steps from some weights; ``reason_to_stop`` gets the point and the fall of the objective."""
    net, point, n_evaluations = problem.elastic_net, Point.at(problem, weights), 1

    def vanished(at: Point) -> str:
        zero = not minimum_norm_subgradient(at.weights, at.gradient, net.l1).any()
        return f"the {'sub' if net.l1 > 0 else ''}gradient vanished" if zero else ""

    stopped = vanished(point)
    for iteration in count():
        yield Iterate(
            weights=point.weights,
            gap_estimate=soft_max.gap_estimate(
                problem, point.weights, point.objective, point.gradient
            ),
            objective_estimate=point.objective + net.magnitudes(point.weights),
            n_oracle_calls=n_evaluations * problem.n_samples,
            stopped=stopped,
        )
        if stopped:
            return
        found, n_trials = steps.take(point, iteration)
        n_evaluations += n_trials
        if found is None and steps.forget():
            found, n_trials = steps.take(point, iteration)
            n_evaluations += n_trials
        if found is None:
            stopped = reason_to_stop(point, 0.0) or STUCK
            continue
        pair = Pair.between(point, found)
        if pair is not None:
            steps.remember(pair)
        change, point = point.objective - found.objective, found
        stopped = vanished(point) or reason_to_stop(point, change)


def backtrack(
    problem: Problem,
    point: Point,
    length: float,
    place: Callable[[float], np.ndarray],
    promised: Callable[[float, np.ndarray], float],
) -> tuple[Point | None, int]:
    """Halve a length until the objective falls by enough of what is promised there (negative).

    Return the point that ``place`` puts at that length, and the evaluations it took.
    """
    net = problem.elastic_net
    before = point.objective + net.magnitudes(point.weights)
    for n_trials in range(1, MAX_TRIALS + 1):
        trial = Point.at(problem, place(length))
        after = trial.objective + net.magnitudes(trial.weights)
        enough = before + ENOUGH_DECREASE * promised(length, trial.weights)
        if after <= enough and after < before:
            return trial, n_trials
        length /= 2
    return None, MAX_TRIALS


def check_magnitudes(problem: Problem, solver: str) -> None:
    """Refuse another loss than the soft-max loss, and a regulariser without magnitudes."""
    if not problem.elastic_net.l1 > 0:
        raise TypeError(
            f"the regulariser is {problem.regulariser!r}; {solver} expects an L1Norm or an "
            "ElasticNet with l1 > 0."
        )


def starting_weights(data: LabelledSamples, warm_start: np.ndarray | None) -> np.ndarray:
    """Return weights to start from, a copy: zeros, or those handed in, where they are allowed."""
    shape = data.weight_shape
    if warm_start is None:
        return np.zeros(shape.size)
    weights = np.array(warm_start, dtype=np.float64)
    if weights.shape != (shape.size,) or not np.isfinite(weights).all():
        raise ValueError(
            f"warm_start has shape {weights.shape}; expected {shape.size} finite weights."
        )
    if shape.table == "full":
        _, transitions = shape.split(weights)
        transitions[~data.allowed.repeat(shape.n_tables // len(data.allowed), axis=0)] = 0.0
    return weights


def history_length(memory: int, n_weights: int) -> int:
    """Return how many pairs to keep: ``memory``, or fewer where weights are very many."""
    memory = check_count("memory", memory, least=0)
    return max(min(memory, HISTORY_BYTES // (16 * n_weights)), min(memory, 5))
