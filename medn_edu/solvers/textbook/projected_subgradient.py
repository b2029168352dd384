r"""Projected sub-gradient for margins within a ball (L1-M3N, Algorithm 2), with a gap.

The problem P1' of the L1-M3N paper keeps the weights in a ball and minimises what is left of P1,

    h(w) = sum_i C_i max_y [loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))],   |w| <= r,

``C_i`` being ``C`` times the weight of the sample.  One sweep of loss-augmented decoding finds the
worst labellings ``y``, and with all of a sample's total ``C_i`` on its own, ``alpha``, the value
and a sub-gradient:

    h(w) = loss(alpha) - eta(alpha) . w,   g = -eta(alpha).

A step against ``g`` may leave the ball, and the nearest point of the ball is taken instead:

    w' = project(w + gamma eta).

(The nearest in the Euclidean sense, as in Fig. 1 of the paper; its formula (3) reads ``|mu - w|_1``,
for which (1) below would not hold.)  The projection is never farther from any ``u`` in the ball than
``w + gamma eta`` was, and so

    |w' - u|^2 <= |w - u|^2 + 2 gamma eta . (w - u) + gamma^2 |eta|^2.                            (1)

**The average of what was found is a dual solution.**  Add (1) up over steps ``t``, put in
``eta_t . w_t = loss_t - h(w_t)``, and divide by twice the sum ``G`` of all ``gamma_t``:

    sum_t gamma_t h(w_t) / G  -  (mean loss - u . mean eta)
        <=  (|w_1 - u|^2 + sum_t gamma_t^2 |eta_t|^2) / (2 G),                                    (2)

means being weighted by ``gamma_t``.  They are those of the *averaged* dual variables, which are
feasible, and at the ``u`` in the ball that makes it smallest the bracket is
``mean loss - r |mean eta|*``, their dual value (``|.|*`` is the largest magnitude for the L1 ball,
the Euclidean norm for the L2 ball).  So the left side is at least the gap between the best iterate
and the averaged dual variables, and it vanishes with the right side: if the steps shrink, yet add
up to infinity.  The early steps were taken far from the optimum, and (2) holds from any step on; so
the average starts afresh each time after twice as many passes, and the last complete one is kept to
compare.

**Steps.**  The papers' are ``1 / (2 beta sqrt(t))`` times the sub-gradient of the *mean* hinge loss,
which is ``h`` divided by the sum of the ``C_i``, for a ``beta`` that somebody has to find.  Our own are
Polyak's, ``(h(w_t) - h*) / |eta_t|^2``, which make the right side of (1) as small as possible for the
optimum ``u``.  They want the optimal value ``h*``; we put the best dual value ``D`` so far in its place,
which comes ever closer.  Then ``gamma_t^2 |eta_t|^2 = gamma_t (h(w_t) - D)``: as long as ``D`` does not
move, the second term on the right of (2) is no more than half the left side.  But move it must.
While the gap is above some ``delta``, no step is shorter than ``delta / max |eta|^2``, so that ``G``
grows without end, the first term vanishes, and (2) has the left side at nothing, the gap below
``delta`` after all.  There is no constant to choose.

**Batch or online.**  Online takes a step after each sample, with its share ``eta_i`` alone: many
more steps in a pass, each of them noisy.  A pass visits every sample once, in random order, so the
labellings it finds are again dual variables for all samples, and (1) and (2) hold with
``sum_i |eta_i|^2`` in place of ``|eta|^2`` and the violations met on the way in place of ``h``.
Our own step, one for the whole pass, is Polyak's at a sweep before it, with the larger of
``sum_i |eta_i|^2`` and ``|eta|^2`` below the line.  That this converges is an observation.  A
proof, for any order, wants ``(sum_i |eta_i|)^2`` there (Nedic and Bertsekas 2001), which is far too
careful for a random one.  The gap is what it is in either case.

**Which weights.**  A sub-gradient step does not go downhill always, so the last iterate need not be a
good one.  With our own steps the weights are the best iterate, whose value a sweep has computed.  With
``beta`` they are the last iterate, which is what Algorithm 2 returns.  They are never an average,
because of the zeros: an iterate on the sphere is exactly zero wherever it was below the threshold of
its projection, and an average only where all its iterates are.  Still, every step moves all weights
that a wrong labelling touches, and those of irrelevant features come back to zero only if the next
threshold is above what they were moved by.  Short steps of single samples, online, keep thresholds
low, so that small weights survive in numbers; in batch there are fewer.  Solvers that find vertices
of the linear program do not have this tail.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.kernels.textbook.projection import project_l1_ball
from medn_edu.problems import DualMarginals, DualVariables, L1Ball, L2Ball, Problem
from medn_edu.problems.regularisers import dual_scaling
from medn_edu.results import OVERFLOW, Iterate
from medn_edu.samples import LabelledSamples
from medn_edu.solvers._training import check_linear_slack

_Projection = Callable[[np.ndarray], np.ndarray]


def projected_subgradient(
    problem: Problem,
    *,
    rng: np.random.Generator,
    online: bool = False,
    beta: float | None = None,
) -> Iterator[Iterate]:
    """Minimise violated margins within a ball by projected sub-gradient steps.

    L1-M3N paper, Algorithm 2; the projection is that of Duchi et al. 2008.

    Parameters
    ----------
    problem : Problem
        A problem whose norm is an `L1Ball` or an `L2Ball`.
    rng : numpy.random.Generator
        Draws the order in which samples are visited online.
    online : bool, default=False
        Take a step after each sample instead of one after all of them.  Samples are decoded one by one
        then, in Python: a pass over a hundred takes as long as some thirty in batch.
    beta : float, optional
        Constant of the papers' steps ``1 / (2 beta sqrt(t))`` along the sub-gradient of the mean hinge
        loss; ``t`` counts steps.  By default the steps are our own, without a constant.

    Yields
    ------
    Iterate
        With ``beta`` the last weights, otherwise the best so far, of a first at zero weights.  Value and
        gap are exact, except with ``beta`` online, where they are sums collected during the pass.  The
        dual variables are averages of the labellings found.

    Raises
    ------
    TypeError
        If the norm is not a ball, or the slack not linear.
    ValueError
        If ``beta`` is not a finite positive number.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import label_samples, pack
    >>> from medn_edu.problems import L1Ball, MarginLoss
    >>> from medn_edu.results import run
    >>> from medn_edu.slacks import LinearSlack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = Problem(data, MarginLoss(LinearSlack(C=1.0)), L1Ball(radius=1.0))
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
    raise TypeError(f"the norm is {norm!r}; projected sub-gradient expects an L1Ball or an L2Ball.")


def project_l1(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights whose magnitudes add up to at most a radius.

    Expected linear time (`medn_edu.kernels.textbook.projection`).  NaN everywhere if a weight is not
    finite.
    """
    radius = check_positive("radius", radius)
    # A copy: kernels take arrays that are contiguous and writeable.
    projected = np.array(weights, dtype=np.float64)
    project_l1_ball(projected, radius, np.empty_like(projected), projected)
    return projected


def project_l2(weights: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest weights of a Euclidean norm of at most a radius."""
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
            stopped="the sub-gradient is zero" if solved else "",
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
        for i, labels in enumerate(data.samples.split(data.labels)):
            sample = data.samples.take(np.array([i]))
            one = LabelledSamples(sample, labels, data.allowed, data.sample_weight[i : i + 1])
            self.singles.append(Problem(one, problem.loss, problem.regulariser))

    def walk(self, weights: np.ndarray, steps: Iterator[float]) -> tuple[np.ndarray, _Found]:
        """Visit every sample once, with a step after each."""
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
        """The one with the higher dual value."""
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
