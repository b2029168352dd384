"""Projected subgradient for margins within a ball (L1-M3N, Algorithm 2), with a gap.

``projected_subgradient.md`` explains why it works.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.kernels.textbook.projection import project_l1_ball
from medn_edu.problems import DualMarginals, DualVariables, L1Ball, L2Ball, Problem
from medn_edu.problems.regularisers import dual_scaling
from medn_edu.results import OVERFLOW, Iterate
from medn_edu.solvers.training import check_linear_slack

_Projection = Callable[[np.ndarray], np.ndarray]


def projected_subgradient(
    problem: Problem,
    *,
    rng: np.random.Generator,
    online: bool = False,
    beta: float | None = None,
) -> Iterator[Iterate]:
    """Minimise violated margins within a ball by projected subgradient steps.

    This is Algorithm 2 of the L1-M3N paper, with the projection of Duchi et al. (2008).

    Parameters
    ----------
    problem : Problem
        A problem whose norm is an `L1Ball` or an `L2Ball`.
    rng : numpy.random.Generator
        Draws the order in which samples are visited online.
    online : bool, default=False
        Take a step after each sample instead of one after all of them.  Then samples are decoded one by
        one in Python.  An online pass over a hundred samples takes as long as about thirty batch passes.
    beta : float, optional
        Constant of the papers' steps ``1 / (2 beta sqrt(t))`` along the subgradient of the mean hinge
        loss, where ``t`` counts steps.  By default the steps are our own, without a constant.

    Yields
    ------
    Iterate
        With ``beta`` the last weights, otherwise the best weights so far, which are zero at first.
        Value and gap are exact, except online with ``beta``, where they are sums collected during the
        pass.  The dual variables are averages of the labellings found.

    Raises
    ------
    TypeError
        If the norm is not a ball, or the slack is not linear.
    ValueError
        If ``beta`` is not a finite positive number.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Ball, Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L1Ball(radius=1.0))
    >>> iterates = projected_subgradient(problem, rng=np.random.default_rng(0))
    >>> result = run(iterates, problem, tol=1e-3, max_iter=100)
    >>> result.converged, round(result.primal, 2)
    (True, 1.0)
    """
    check_linear_slack(problem)
    project = _projection(problem)
    if beta is not None:
        beta = check_positive("beta", beta)
    visits = _Visits(problem, project, rng) if online else None
    if beta is None:
        yield from _own_steps(problem, project, visits)
    else:
        yield from _papers_steps(problem, project, visits, beta)


def _projection(problem: Problem) -> _Projection:
    norm = problem.regulariser
    if isinstance(norm, L1Ball):
        return lambda weights: project_l1(weights, norm.radius)
    if isinstance(norm, L2Ball):
        return lambda weights: project_l2(weights, norm.radius)
    raise TypeError(f"the norm is {norm!r}; projected subgradient expects an L1Ball or an L2Ball.")


def project_l1(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights with magnitudes that add up to at most a radius.

    The expected time is linear (`medn_edu.kernels.textbook.projection`).  If a weight is not finite,
    the result is NaN everywhere.
    """
    radius = check_positive("radius", radius)
    # A copy: kernels take arrays that are contiguous and writeable.
    projected = np.array(weights, dtype=np.float64)
    project_l1_ball(projected, radius, np.empty_like(projected), projected)
    return projected


def project_l2(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights with a Euclidean norm of at most a radius."""
    radius = check_positive("radius", radius)
    projected = np.array(weights, dtype=np.float64)
    length = float(np.linalg.norm(projected))
    if length > radius:
        projected *= radius / length
    return projected


# -- which steps, and which weights are shown -----------------------------------------------------


def _own_steps(problem: Problem, project: _Projection, visits: _Visits | None) -> Iterator[Iterate]:
    """Take Polyak's steps, with the best dual value as their goal; show the best weights."""
    averages = _Averages(problem)
    weights = best_weights = np.zeros(problem.weight_shape.size)
    best, goal, n_oracle_calls = np.inf, 0.0, 0
    while True:
        here = _sweep(problem, weights)
        n_oracle_calls += problem.n_samples
        if here.value < best:
            best, best_weights = here.value, weights
        solved = here.value <= 0 or not here.eta.any()
        if solved:  # and what has been found here is a best dual solution
            averages = _Averages(problem)
            averages.add(1.0, here)
        elif visits is None:
            step = max(here.value - goal, 0.0) / _finite(here.eta @ here.eta)
            averages.add(step, here)
            weights = project(weights + step * here.eta)
        else:
            square = max(here.eta @ here.eta, _sum_of_squares(problem, here))
            step = max(here.value - goal, 0.0) / _finite(square)
            weights, found = visits.walk(weights, itertools.repeat(step))
            averages.add(step, found)
            n_oracle_calls += problem.n_samples
        goal = max(goal, averages.best.bound)
        yield Iterate(
            weights=best_weights,
            gap_estimate=best - averages.best.bound,
            objective_estimate=best,
            n_oracle_calls=n_oracle_calls,
            dual=averages.dual,
            stopped="the subgradient is zero" if solved else "",
        )
        if solved:
            return


def _papers_steps(
    problem: Problem, project: _Projection, visits: _Visits | None, beta: float
) -> Iterator[Iterate]:
    """Take steps ``1 / (2 beta sqrt(t))`` on the mean hinge loss; show the last weights."""
    averages = _Averages(problem)
    weights = np.zeros(problem.weight_shape.size)
    # One sample's share of h stands for the whole of it, so online it counts so many times.
    times = 1 if visits is None else problem.n_samples
    unit = times / (2 * beta * float(problem.C.sum()))
    steps = (unit / math.sqrt(t) for t in itertools.count(1))
    for n_passes in itertools.count(1):
        if visits is None:
            shown, found, step = weights, _sweep(problem, weights), next(steps)
            weights = project(weights + _finite(step * found.eta))
        else:
            weights, found = visits.walk(weights, steps)
            shown, step = weights, unit / math.sqrt(n_passes)
        averages.add(step, found)
        yield Iterate(
            weights=shown,
            gap_estimate=found.value - averages.best.bound,
            objective_estimate=found.value,
            n_oracle_calls=n_passes * problem.n_samples,
            dual=averages.dual,
        )


# -- what is found on the way ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    """One labelling of each sample, with what they stand for when each takes its whole total."""

    labels: np.ndarray
    value: float  # sum of the violations, each times C and the weight of its sample
    loss: float
    eta: np.ndarray


def _sweep(problem: Problem, weights: np.ndarray) -> _Found:
    """Find the worst labellings of all samples at the same weights."""
    labels, violation = problem.violated(weights)
    alpha = _all_on(problem, labels)
    value = float(problem.C @ np.maximum(violation, 0.0))
    return _Found(labels, value, alpha.loss(problem.data), alpha.eta(problem.data))


def _all_on(problem: Problem, labels: np.ndarray) -> DualVariables:
    return DualVariables.on(problem.data.samples, labels, problem.C)


def _sum_of_squares(problem: Problem, found: _Found) -> float:
    """Return ``sum_i |eta_i|^2``."""
    rows = _all_on(problem, found.labels).differences(problem.data)
    return float(problem.C**2 @ np.asarray(rows.power(2).sum(axis=1)).ravel())


def _finite(number: Any) -> Any:
    """Hand a number or an array on, unless it has overflowed."""
    if not np.isfinite(number).all():
        raise ValueError(OVERFLOW)
    return number


class _Visits:
    """Samples one by one, in random order."""

    def __init__(self, problem: Problem, project: _Projection, rng: np.random.Generator) -> None:
        self.project, self.rng = project, rng
        data = problem.data
        self.starts = data.samples.offsets
        self.singles = []
        for i, labels in enumerate(data.samples.cut(data.labels)):
            sample = data.samples.take(np.array([i]))
            nodes = slice(*self.starts[i : i + 2])
            one = replace(
                data,
                samples=sample,
                labels=labels,
                sample_weight=data.sample_weight[i : i + 1],
                allowed_labels=None if data.allowed_labels is None else data.allowed_labels[nodes],
                costs=None if data.costs is None else data.costs[nodes],
            )
            self.singles.append(Problem(one, problem.loss, problem.regulariser))

    def walk(self, weights: np.ndarray, steps: Iterator[float]) -> tuple[np.ndarray, _Found]:
        """Visit every sample once, and take a step after each."""
        labels = np.empty(self.starts[-1], dtype=np.int64)
        value, loss, eta = 0.0, 0.0, np.zeros_like(weights)
        for i in self.rng.permutation(len(self.singles)):
            found = _sweep(self.singles[i], weights)
            labels[self.starts[i] : self.starts[i + 1]] = found.labels
            value += found.value
            loss += found.loss
            eta += found.eta
            weights = self.project(weights + _finite(next(steps) * found.eta))
        return weights, _Found(labels, value, loss, eta)


# -- averages -------------------------------------------------------------------------------------


class _Average:
    """An average over consecutive passes, weighted by their steps."""

    def __init__(self, problem: Problem) -> None:
        data = problem.data
        self.raw = DualMarginals.on(data, data.labels, np.zeros(problem.n_samples))
        self.eta = np.zeros(problem.weight_shape.size)
        self.loss, self.total, self.n_passes = 0.0, 0.0, 0
        self.bound = -np.inf  # its dual value


class _Averages:
    """Two averages that bound the optimum from below: a running one and the last complete one."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.running, self.complete = _Average(problem), _Average(problem)

    @property
    def best(self) -> _Average:
        """Return the one with the higher dual value."""
        return max(self.running, self.complete, key=lambda average: average.bound)

    def add(self, step: float, found: _Found) -> None:
        """Add what a pass found."""
        if self.running.n_passes >= max(1, 2 * self.complete.n_passes):
            self.complete, self.running = self.running, _Average(self.problem)
        running, norm, problem = self.running, self.problem.regulariser, self.problem
        running.n_passes += 1
        running.total += step
        steps = np.full(problem.n_samples, step)
        running.raw.add(problem.data.samples, found.labels, steps)
        running.loss += step * found.loss
        running.eta += step * found.eta
        if running.total > 0:
            loss, eta = running.loss / running.total, running.eta / running.total
            scaling = dual_scaling(norm, loss, eta)
            running.bound = scaling * loss - norm.conjugate(scaling * eta)

    def dual(self) -> DualMarginals:
        """Dual marginals of labels and transitions."""
        factor = self.problem.C / self.best.total
        return self.best.raw.scaled(factor[self.problem.data.samples.sample_of_node])
