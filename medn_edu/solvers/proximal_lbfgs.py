"""Proximal L-BFGS: a quasi-Newton method that uses curvature even though the L1 norm has kinks.

``proximal_lbfgs.md`` explains why it works.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from medn_edu.problems import Problem
from medn_edu.problems.regularisers import minimum_norm_subgradient
from medn_edu.results import Iterate
from medn_edu.solvers.initial_hessian import InitialHessian
from medn_edu.solvers.quasi_newton import (
    MAX_TRIALS,
    REFRESH_AT,
    Pair,
    Point,
    Steps,
    backtrack,
    check_magnitudes,
    history_length,
    quasi_newton,
    starting_weights,
)

# Chosen among about twenty settings on the OCR letters with lam = 1, the training that the benchmark
# times.  The neighbouring settings took up to a quarter more evaluations, or had not converged by then.
FLOOR = 1e-3  # least curvature relative to the largest
LARGER_SCALE = 0.8  # 1: scale of B_0 such that B^-1 fits the latest pair; 0: such that B does
ROUNDS, ROUND_TOL = 4, 0.1  # orthants per model; the subgradient that is small enough, relatively
CG_STEPS, CG_TOL = 20, 0.2  # conjugate gradients per orthant; the residual that is small enough
LARGER_HISTORY = 8  # pairs cost more here than in L-BFGS: many weights keep this many times fewer


def proximal_lbfgs(
    problem: Problem, *, warm_start: np.ndarray | None = None, memory: int = 50
) -> Iterator[Iterate]:
    """Minimise a soft-max problem with an L1 norm; yield the start, then once per iteration.

    Parameters
    ----------
    problem : Problem
        A soft-max loss with an `L1Norm`, or an `ElasticNet` with ``l1 > 0``.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.  Weights of forbidden transitions are set to 0.
    memory : int, default=50
        Largest number of pairs (step, change of gradient) that are kept, in at most 32 MB.

    Yields
    ------
    Iterate
        ``gap_estimate`` is the estimate of `medn_edu.problems.soft_max`.

    Raises
    ------
    TypeError
        If the problem has another loss or regulariser.
    ValueError
        If ``warm_start`` has the wrong shape or is not finite, or ``memory`` is below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem, SoftMaxLoss
    >>> for iterate in proximal_lbfgs(Problem.of([np.eye(2)], [[0, 1]], SoftMaxLoss(), L1Norm(0.4))):
    ...     if iterate.gap_estimate < 1e-6:
    ...         break
    >>> iterate.weights.round(2)
    array([0. , 0. , 0. , 0. , 0. , 1.5, 0. , 0. ])
    """
    check_magnitudes(problem, "proximal_lbfgs")
    start = starting_weights(problem.data, warm_start)
    steps = ProximalSteps(problem, history_length(memory, LARGER_HISTORY * start.size))
    return quasi_newton(problem, start, steps)


class ProximalSteps(Steps):
    """Steps towards the minimiser of a model, with the pairs' products with ``B_0``."""

    def __init__(self, problem: Problem, length: int) -> None:
        super().__init__(problem, length)
        self.refreshed_at = -1
        self.B0_s: deque[np.ndarray] = deque(maxlen=length)  # initial Hessian times step
        self.H0_y: deque[np.ndarray] = deque(maxlen=length)  # its inverse times change

    def forget(self) -> bool:
        """Drop all pairs and their products."""
        self.B0_s.clear()
        self.H0_y.clear()
        return super().forget()

    def remember(self, pair: Pair) -> None:
        """Keep a pair, and its products with ``B_0`` and its inverse."""
        super().remember(pair)
        self.B0_s.append(self.initial.multiply(pair.step))
        self.H0_y.append(self.initial.solve(pair.change))

    def take(self, point: Point, iteration: int) -> tuple[Point | None, int]:
        """Step towards the model's minimiser; now and then with a new ``B_0``."""
        n_evaluations = 0
        if iteration in REFRESH_AT and iteration != self.refreshed_at:
            self.initial = InitialHessian(self.problem, point.weights, FLOOR)
            pairs = list(self.pairs)
            self.forget()
            for pair in pairs:
                self.remember(pair)
            self.refreshed_at = iteration
            n_evaluations = 1
        found, n_trials = self._step(point)
        return found, n_evaluations + n_trials

    def _step(self, point: Point) -> tuple[Point | None, int]:
        """Search towards the model's minimiser; return the point and the trials it took."""
        net, weights = self.problem.elastic_net, point.weights
        try:
            model = self.model()
        except np.linalg.LinAlgError:
            return None, 0
        direction = _minimiser(model, weights, point.gradient, net.l1) - weights
        decrease = float(point.gradient @ direction) - net.magnitudes(weights)
        decrease += net.magnitudes(weights + direction)
        if not decrease < 0:
            return None, 0
        place = lambda length: weights + length * direction  # noqa: E731
        promised = lambda length, _: length * decrease  # noqa: E731
        return backtrack(self.problem, point, 1.0, place, promised)

    def model(self) -> _Model:
        """Return ``B`` as the pairs have it."""
        initial, k = self.initial, len(self.pairs)
        if k == 0:
            none, empty = np.zeros((0, initial.diagonal.size)), np.zeros((0, 0))
            return _Model(initial, 1.0, none, empty, none, empty, np.sqrt(initial.diagonal))
        # Scale the initial Hessian by the latest pair, on which either B or B^-1 would fit.
        pair = self.pairs[-1]
        larger = float(pair.change @ self.H0_y[-1]) / pair.product
        smaller = pair.product / float(pair.step @ self.B0_s[-1])
        scale = larger**LARGER_SCALE * smaller ** (1 - LARGER_SCALE)
        steps = np.array([pair.step for pair in self.pairs])
        changes = np.array([pair.change for pair in self.pairs])
        B0_s, H0_y = scale * np.array(self.B0_s), np.array(self.H0_y) / scale
        products = steps @ changes.T
        lower, diagonal = np.tril(products, -1), np.diag(np.diag(products))
        outer = np.vstack([B0_s, changes])
        inner = -np.linalg.inv(np.block([[steps @ B0_s.T, lower], [lower.T, -diagonal]]))
        triangle = np.linalg.inv(np.triu(products))
        corner = triangle.T @ (diagonal + changes @ H0_y.T) @ triangle
        own = scale * initial.diagonal + np.einsum("ik,ik->k", outer, inner @ outer)
        return _Model(
            initial,
            scale,
            outer,
            inner,
            np.vstack([steps, H0_y]),
            np.block([[corner, -triangle.T], [-triangle, np.zeros((k, k))]]),
            np.sqrt(np.maximum(own, 1e-12 * own.max())),
        )


def _minimiser(model: _Model, start: np.ndarray, gradient: np.ndarray, l1: float) -> np.ndarray:
    """Return about the minimiser of ``gradient . (z - w) + (z - w) . B (z - w) / 2 + l1 ||z||_1``."""
    z, slope = start, gradient
    first = np.inf
    for number in range(ROUNDS):
        steepest = minimum_norm_subgradient(z, slope, l1)
        size = float(np.linalg.norm(steepest / model.root_diagonal))
        if number == 0:
            first = size
        elif size <= ROUND_TOL * first:
            break
        free = (z != 0) | (steepest != 0)
        orthant = np.where(z != 0, np.sign(z), -np.sign(steepest))
        direction = _conjugate_gradients(model, np.where(free, -steepest, 0.0), free)
        moved = _move_within(model, z, slope, direction, orthant, l1)
        if moved is None:
            break
        z, slope = moved
    return z


def _conjugate_gradients(model: _Model, target: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Solve ``B x = target`` on the free weights, the others being 0."""
    part = model.restricted(free)
    rest = target[free]
    x = np.zeros_like(rest)
    conjugate = solved = part.solve(rest)
    size = float(rest @ solved)
    enough = CG_TOL**2 * size
    for _ in range(CG_STEPS):
        image = part.multiply(conjugate)
        bend = float(conjugate @ image)
        if not (bend > 0 and size > 0):  # rounding
            break
        length = size / bend
        x += length * conjugate
        rest -= length * image
        solved = part.solve(rest)
        size, before = float(rest @ solved), size
        if size <= enough:
            break
        conjugate = solved + (size / before) * conjugate
    result = np.zeros_like(target)
    result[free] = x
    return result


def _move_within(
    model: _Model,
    z: np.ndarray,
    slope: np.ndarray,
    direction: np.ndarray,
    orthant: np.ndarray,
    l1: float,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Move within the orthant until the model falls; return where to and its slope there."""
    penalty = float(np.abs(z).sum())
    length = 1.0
    for _ in range(MAX_TRIALS):
        new = z + length * direction
        new[new * orthant <= 0] = 0.0
        step = new - z
        image = model.multiply(step)
        change = float(slope @ step) + float(step @ image) / 2
        if change + l1 * (float(np.abs(new).sum()) - penalty) < 0:
            return new, slope + image
        length /= 2
    return None


@dataclass(frozen=True, eq=False)
class _Model:
    """``B`` and its inverse, each the initial matrix and one of low rank."""

    initial: InitialHessian
    scale: float
    outer: np.ndarray  # rows of W^T
    inner: np.ndarray  # -N^{-1}
    outer_inverse: np.ndarray
    inner_inverse: np.ndarray
    root_diagonal: np.ndarray
    where: np.ndarray | None = None  # which weights, if not all

    def multiply(self, vector: np.ndarray) -> np.ndarray:
        """Multiply by ``B``, or by its part."""
        product = self.scale * self._initially(self.initial.multiply, vector)
        return product + (self.inner @ (self.outer @ vector)) @ self.outer

    def solve(self, vector: np.ndarray) -> np.ndarray:
        """Multiply by the inverse of ``B``, or by its part."""
        product = self._initially(self.initial.solve, vector) / self.scale
        return product + (self.inner_inverse @ (self.outer_inverse @ vector)) @ self.outer_inverse

    def restricted(self, free: np.ndarray) -> _Model:
        """Return the parts of ``B`` and of its inverse, which is no inverse then, on some weights."""
        where = np.flatnonzero(free)
        return replace(
            self,
            outer=self.outer.take(where, axis=1),
            outer_inverse=self.outer_inverse.take(where, axis=1),
            where=where,
        )

    def _initially(
        self, product: Callable[[np.ndarray], np.ndarray], vector: np.ndarray
    ) -> np.ndarray:
        if self.where is None:
            return product(vector)
        whole = np.zeros(self.initial.diagonal.size)
        whole[self.where] = vector
        return product(whole)[self.where]
