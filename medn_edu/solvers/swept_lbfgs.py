"""Learning on graphs with cycles by quasi-Newton steps on weights and messages at once.

``swept_lbfgs.md`` explains why it works.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from medn_edu.checks import check_count
from medn_edu.inference.loopy.messages import SAFE, MessageState
from medn_edu.inference.loopy.walk import MessageWalk
from medn_edu.problems import LocalPoint, LocalProblem
from medn_edu.results import STUCK, Iterate
from medn_edu.solvers.lbfgs import two_loops
from medn_edu.solvers.quasi_newton import ENOUGH_DECREASE, Pair, starting_weights

_LEAST_STEP = 1e-8
_ROUNDING = 1e-12  # relative; products of step and change below it are rounding errors
_STEEPEST = 1e6  # largest curvature of the regulariser to use, relative to its constant
_LONGER = 2.0  # times the last step length, if that was the first one tried, up to 1
_LEAP = 2.0  # how much larger potentials may become in a step, where they are large already
_CLEAR = 4  # failed trials after which all pairs are dropped


def swept_lbfgs(
    problem: LocalProblem,
    *,
    warm_start: np.ndarray | None = None,
    messages: Sequence[np.ndarray] | None = None,
    n_sweeps: int = 3,
    memory: int = 6,
) -> Iterator[Iterate]:
    """Minimise the local problem over weights and messages; yield the start, then once per iteration.

    Parameters
    ----------
    problem : LocalProblem
        At a positive temperature, with positive counting numbers.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.
    messages : sequence of ndarray, optional
        Messages to start from, in the form of `LocalPoint`; by default silent messages.
    n_sweeps : int, default=3
        Number of sweeps of the messages before each evaluation.  With 0, this is plain L-BFGS on
        weights and messages.
    memory : int, default=6
        Largest number of pairs (step, change of gradient) that are kept.

    Yields
    ------
    Iterate
        ``gap_estimate`` is the decrease predicted by the slope along the next step.  ``dual()``
        returns a `LocalPoint`.

    Raises
    ------
    TypeError
        If the temperature is 0, or counting numbers are not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.problems import LocalProblem, PowerNorm
    >>> from medn_edu.results import run
    >>> from medn_edu.samples import labelled
    >>> circle = Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]])
    >>> problem = LocalProblem(labelled([circle], [[0, 1, 1]]), 1.0, PowerNorm(C=1.0))
    >>> result = run(swept_lbfgs(problem), problem, tol=1e-6, max_iter=100)
    >>> result.converged, round(result.primal, 4)
    (True, 6.737)
    """
    if problem.epsilon == 0 or not problem.is_plain:
        raise TypeError(
            f"epsilon is {problem.epsilon:g} and counting_numbers are {problem.counting_numbers!r}; "
            "swept_lbfgs expects epsilon > 0 and positive counting numbers.  Use nested_lbfgs for other "
            "numbers, and epsilon_continuation for epsilon = 0."
        )
    check_count("n_sweeps", n_sweeps, least=0)
    start = starting_weights(problem.data, warm_start)
    joint = _Joint(problem, n_sweeps)
    return _descend(joint, joint.vector(start, problem.states(start, messages)), memory)


def nested_lbfgs(
    problem: LocalProblem,
    *,
    warm_start: np.ndarray | None = None,
    messages: Sequence[np.ndarray] | None = None,
    agreement: float = 1e-3,
    max_sweeps: int = 200,
    memory: int = 20,
) -> Iterator[Iterate]:
    """Minimise the local problem over weights, with messages that are swept until they nearly agree.

    It takes all counting numbers that are certified to be concave.  On forests with Bethe's numbers two
    sweeps are exact.

    Parameters
    ----------
    problem : LocalProblem
        At a positive temperature.
    warm_start, messages, memory
        See `swept_lbfgs`.
    agreement : float, default=1e-3
        Disagreement of beliefs, relative to the gradient, at which to stop the sweeps.
    max_sweeps : int, default=200
        Largest number of sweeps per evaluation.

    Yields
    ------
    Iterate
        As those of `swept_lbfgs`.

    Raises
    ------
    TypeError
        If the temperature is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.problems import LocalProblem, PowerNorm
    >>> from medn_edu.results import run
    >>> from medn_edu.samples import labelled
    >>> data = labelled([Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]])], [[0, 1, 1]])
    >>> problem = LocalProblem(data, 1.0, PowerNorm(C=1.0), counting_numbers="trw")
    >>> result = run(nested_lbfgs(problem), problem, tol=1e-6, max_iter=100)
    >>> result.converged, round(result.primal, 4)
    (True, 2.634)
    """
    if problem.epsilon == 0:
        raise TypeError(
            "epsilon is 0; nested_lbfgs expects epsilon > 0; use epsilon_continuation for 0."
        )
    start = starting_weights(problem.data, warm_start)
    nested = _Nested(problem, agreement, max_sweeps, problem.states(start, messages))
    return _descend(nested, start, memory)


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the search, moved on by the sweeps, and what was found there."""

    vector: np.ndarray
    objective: float
    gradient: np.ndarray
    diagonal: np.ndarray  # an estimate of the Hessian's
    weights: np.ndarray
    local: Callable[[], LocalPoint]
    reach: float = 0.0  # the largest exponent of its potentials


class _Nested:
    """The objective as a function of the weights alone."""

    def __init__(
        self,
        problem: LocalProblem,
        agreement: float,
        max_sweeps: int,
        states: list[MessageState],
    ) -> None:
        self.problem, self.agreement, self.max_sweeps = problem, agreement, max_sweeps
        self.messages = [state.messages for state in states]
        self.size = 1.0

    def at(self, vector: np.ndarray, most: float = np.inf) -> _Point:
        """Evaluate at some weights, starting from the messages of the last point taken."""
        problem = self.problem
        states = problem.states(vector, [m.copy() for m in self.messages])
        for state in states:
            state.back = True  # on forests, packed from the root down, the leaves go first
            for n_sweeps in range(2, self.max_sweeps + 1, 2):
                state.sweep(2)
                if n_sweeps == 2 or n_sweeps % 8 == 0:
                    apart = state.disagreement()
                    if apart <= self.agreement * min(self.size, 1.0):
                        break
        value, gradient, _, edges = problem.smooth_part(vector, states)
        norm, diagonal = problem.power_norm, np.ones_like(vector)
        if np.isfinite(value):
            # Lemma 4's beliefs of nodes are not defined where c_v = 0: take those of the messages.
            nodes, sums = [state.beliefs for state in states], problem.pair_sums(edges)
            gradient = problem.expected(nodes, sums) - problem.observed
            diagonal = _bend(problem, vector) + problem.curvature(nodes, sums)
        gradient = gradient + norm.gradient(vector)
        local = partial(_local, states)
        return _Point(vector, value + norm.value(vector), gradient, diagonal, vector, local)

    def take(self, point: _Point) -> None:
        """Go on from a point."""
        self.messages = list(point.local().messages)
        self.size = float(np.abs(point.gradient).max()) / max(self.problem.n_samples, 1)


def _local(states: Sequence[MessageState]) -> LocalPoint:
    messages, beliefs = [s.messages for s in states], [s.beliefs for s in states]
    return LocalPoint(messages, beliefs, states[0].epsilon)


def _bend(problem: LocalProblem, weights: np.ndarray) -> np.ndarray:
    """Return the curvature of the regulariser, which may be infinite at 0, within reason."""
    return np.minimum(problem.power_norm.curvature(weights), _STEEPEST * problem.power_norm.C)


class _Joint:
    """The objective as a function of weights and messages.

    Adding a number to a message changes nothing, so that of the first label is kept at 0.
    """

    def __init__(self, problem: LocalProblem, n_sweeps: int) -> None:
        self.problem, self.n_sweeps = problem, n_sweeps
        self.n_weights = problem.weight_shape.size
        silent = problem.states(np.zeros(self.n_weights))
        self.silent = [state.messages for state in silent]
        self.told = [messages == 0.0 for messages in self.silent]
        self.reach = np.inf

    def vector(self, weights: np.ndarray, states: Sequence[MessageState]) -> np.ndarray:
        """Return weights and messages in one vector."""
        parts = [weights]
        for state, allowed in zip(states, self.told, strict=True):
            sent = np.where(allowed, state.messages, 0.0)
            first = np.where(allowed[:, :1], sent[:, :1], 0.0)
            parts.append(np.where(allowed[:, 1:], sent[:, 1:] - first, 0.0).ravel())
        return np.concatenate(parts)

    def at(self, vector: np.ndarray, most: float = np.inf) -> _Point:
        """Sweep messages, and evaluate where they end; above ``most`` only the objective."""
        problem, norm, weights = self.problem, self.problem.power_norm, vector[: self.n_weights]
        new, gradient, diagonal = vector.copy(), np.empty_like(vector), np.empty_like(vector)
        value, nodes, end = 0.0, [], self.n_weights
        pair_sums = np.zeros((len(problem.data.allowed_pairs), *[problem.data.n_labels] * 2))
        walks = [
            MessageWalk(state, problem.weight_of(graphs), told)
            for graphs, state, told in zip(
                problem.graphs, problem.states(weights, self.silent), self.told, strict=True
            )
        ]
        reach = max(walk.reach for walk in walks)
        if reach > max(_LEAP * self.reach, SAFE):  # too long a step to be worth logarithms
            return _Point(vector, np.inf, gradient, diagonal, weights, lambda: _local([]))
        for walk in walks:
            place = slice(end, end + walk.size)
            values, node = walk.sweep_and_evaluate(
                new[place], self.n_sweeps, gradient[place], diagonal[place], pair_sums
            )
            value += float(walk.weight @ values)
            nodes.append(node)
            if self.n_sweeps == 0:  # then there are no others
                walk.state.beliefs = node
            end = place.stop
        value += norm.value(weights) - float(problem.observed @ weights)
        if not value <= most:  # a step that was too long, perhaps by far
            value = value if np.isfinite(value) else np.inf
            return _Point(vector, value, gradient, diagonal, weights, lambda: _local([]))
        gradient[: self.n_weights] = problem.expected(nodes, pair_sums) - problem.observed
        gradient[: self.n_weights] += norm.gradient(weights)
        diagonal[: self.n_weights] = _bend(problem, weights) + problem.curvature(nodes, pair_sums)
        local = partial(self._local, walks, new)
        return _Point(new, value, gradient, diagonal, new[: self.n_weights], local, reach)

    def _local(self, walks: Sequence[MessageWalk], vector: np.ndarray) -> LocalPoint:
        """Return the messages of a vector, with the beliefs of its sweeps."""
        messages, end = [], self.n_weights
        for walk in walks:
            messages.append(walk.messages(vector[end : end + walk.size]))
            end += walk.size
        return LocalPoint(messages, [walk.state.beliefs for walk in walks], self.problem.epsilon)

    def take(self, point: _Point) -> None:
        """Go on from a point."""
        self.reach = point.reach


def _descend(objective: _Joint | _Nested, vector: np.ndarray, memory: int) -> Iterator[Iterate]:
    """Take preconditioned L-BFGS steps whose length is found by backtracking."""
    problem, pairs = objective.problem, deque[Pair](maxlen=check_count("memory", memory))
    point, n_evaluations, stopped, last, longer = objective.at(vector), 1, "", 1.0, 1.0
    while True:
        objective.take(point)
        direction = _direction(point, pairs)
        promised = -float(point.gradient @ direction)
        yield Iterate(
            weights=point.weights,
            gap_estimate=promised,
            objective_estimate=point.objective,
            n_oracle_calls=n_evaluations * problem.n_samples,
            dual=point.local,
            stopped=stopped,
        )
        if stopped:
            return
        length, failed, found = min(1.0, longer * last), 0, None
        while length > _LEAST_STEP:
            most = point.objective - ENOUGH_DECREASE * length * promised
            trial = objective.at(point.vector + length * direction, most)
            n_evaluations += 1
            if trial.objective <= most:
                found = trial
                break
            fall = point.objective - trial.objective
            failed += 1
            if failed == _CLEAR and pairs:  # the pairs have lost their meaning
                pairs.clear()
                direction = -point.gradient / point.diagonal
                promised, length = -float(point.gradient @ direction), 1.0
                continue
            bend = length * promised - fall  # of the parabola through slope and trial
            best = 0.5 * promised * length**2 / bend if np.isfinite(bend) else 0.0
            length = min(0.5 * length, max(best, 0.1 * length))
        if found is None:
            stopped = STUCK
            continue
        pair = _pair(point, found)
        if pair is not None:
            pairs.append(pair)
        point, last, longer = found, length, 1.0 if failed else _LONGER


def _direction(point: _Point, pairs: deque[Pair]) -> np.ndarray:
    direction = -two_loops(point.gradient, pairs, lambda vector: vector / point.diagonal)
    if not point.gradient @ direction < 0:
        pairs.clear()
        direction = -point.gradient / point.diagonal
    return direction


def _pair(old: _Point, new: _Point) -> Pair | None:
    """Return the pair between two points, or None where rounding hides the curvature."""
    step, change = new.vector - old.vector, new.gradient - old.gradient
    product = float(step @ change)
    tiny = _ROUNDING * np.linalg.norm(step) * np.linalg.norm(change)
    return Pair(step, change, product) if product > tiny else None
