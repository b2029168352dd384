"""Exponentiated gradient for maximum margin Markov networks: multiplicative steps on the dual.

``exponentiated_gradient.md`` explains why it works.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.kernels.marginalize import log_down, log_up
from medn_edu.kernels.textbook import exponentiate as kernels
from medn_edu.problems import DualMarginals
from medn_edu.results import Iterate
from medn_edu.solvers.textbook._log_linear import LogLinearDual, first_step, sample_scales

if TYPE_CHECKING:
    from medn_edu.problems import Problem

_GROWTH = 1.01  # of the common step size while the dual rises; more costs more steps not taken
_ROUNDING = 1e-14  # relative; a dual that falls by less has not fallen

_Pair = tuple[np.ndarray, np.ndarray]  # of nodes and labels, and of transitions


def exponentiated_gradient(
    problem: Problem,
    *,
    rng: np.random.Generator,
    step: float | None = None,
    momentum: bool = True,
) -> Iterator[Iterate]:
    """Maximise the dual of M3N by multiplicative steps on all samples (Bartlett et al. 2004).

    A pass tries one step.  If the dual would fall, the step is not taken, and the movement so far is
    forgotten.  If there was no movement, the step size is halved instead.  After each step that is
    taken, the step size grows by one per cent.

    Parameters
    ----------
    problem : Problem
        A problem with a normal prior, whose variances may differ, and a linear slack.
    rng : numpy.random.Generator
        Not used, since nothing is drawn.
    step : float, optional
        First step size.  By default about the inverse of the curvature of a single sample's block.
    momentum : bool, default=True
        Whether to repeat part of the last movement.  Without it this is the method as published.

    Yields
    ------
    Iterate
        The weights ``v * eta`` of the dual variables, the gap and the dual value there.  A pass
        costs two oracle calls per sample: a sum over labellings, and the decoding for the gap.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``step`` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]])
    >>> iterates = exponentiated_gradient(problem, rng=np.random.default_rng(0))
    >>> run(iterates, problem, tol=1e-3, max_iter=200).converged
    True
    """
    log_linear = LogLinearDual(problem)
    size = check_positive("step", step) if step is not None else first_step(problem)
    exponent = np.zeros(1 + problem.weight_shape.size)  # S and W: equal dual variables
    movement = np.zeros_like(exponent)
    age = 0  # steps since the movement was last forgotten
    now = log_linear.sums(exponent)
    weights = log_linear.variance * now.eta
    gap = problem.primal(weights) - now.dual
    n_calls = 2 * problem.n_samples
    while True:
        share = age / (age + 3) if momentum else 0.0
        trial = size * np.concatenate([[1.0], weights]) + share * movement
        found = log_linear.sums(exponent + trial)
        n_calls += problem.n_samples
        if found.dual >= now.dual - _ROUNDING * abs(now.dual):
            exponent, movement, now = exponent + trial, trial, found
            weights = log_linear.variance * now.eta
            gap = problem.primal(weights) - now.dual
            n_calls += problem.n_samples
            age += 1
            size *= _GROWTH
        elif share > 0.0:
            age = 0
        else:
            size *= 0.5
        yield Iterate(
            weights=weights,
            gap_estimate=gap,
            objective_estimate=now.dual,
            n_oracle_calls=n_calls,
            dual=partial(log_linear.marginals, exponent),
            variance=log_linear.variance,
        )


def block_exponentiated_gradient(
    problem: Problem,
    *,
    rng: np.random.Generator,
    step: float | None = None,
    momentum: bool = True,
) -> Iterator[Iterate]:
    """Maximise the dual of M3N by multiplicative steps, sample by sample (Collins et al. 2008).

    A pass visits all samples in random order.  Each sample has its own step size.  It is shortened
    until the dual does not fall, and adapts from visit to visit.  Before the visits, all potentials
    move on together by part of their movement in the last pass, unless that lowers the dual.

    Parameters
    ----------
    problem : Problem
        A problem with a normal prior, whose variances may differ, and a linear slack.
    rng : numpy.random.Generator
        Draws the order of the visits.
    step : float, optional
        First step size of all samples.  By default about the inverse of the curvature of each block.
    momentum : bool, default=True
        Whether to move on before the visits.  Without it this is the method as published.

    Yields
    ------
    Iterate
        The weights ``v * eta`` of the dual variables, the gap and the dual value there.  Oracle
        calls are sums over labellings, also for steps that are not taken, and the decoding for the gap.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``step`` is not positive.

    Examples
    --------
    A model asks for it by name:

    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> model = M3N(solver="block_exponentiated_gradient", tol=1e-3)
    >>> model.fit([np.eye(2)], [["a", "b"]]).result_.converged
    True
    """
    if step is not None:
        check_positive("step", step)
    blocks = _Blocks(problem, 1.0 / sample_scales(problem), step)
    n_calls = problem.n_samples
    for n_passes in count():
        if momentum and n_passes > 0:
            n_calls += blocks.extrapolate()
        n_calls += blocks.climb(rng.permutation(problem.n_samples))
        weights = blocks.variance * blocks.eta
        gap = problem.primal(weights) - blocks.dual
        n_calls += problem.n_samples
        yield Iterate(
            weights=weights,
            gap_estimate=gap,
            objective_estimate=blocks.dual,
            n_oracle_calls=n_calls,
            dual=blocks.marginals,
            variance=blocks.variance,
        )


class _Blocks:
    """Potentials of every sample, the dual variables that belong to them, and a step size each.

    ``steps`` are the first step sizes, unless there is one ``step`` for all.
    """

    def __init__(self, problem: Problem, steps: np.ndarray, step: float | None) -> None:
        data, shape = problem.data, problem.weight_shape
        self._problem, self._log_linear = problem, LogLinearDual(problem)
        self._packed = data.samples.forests.packed
        self._barred = np.where(data.allowed, 0.0, -np.inf)
        self._totals = np.array(problem.C, dtype=np.float64)
        self._labels = np.array(data.labels, dtype=np.int64)
        self.variance = self._log_linear.variance
        coef, edge = shape.split(np.array(self.variance))
        self._variances = np.array(coef.T, order="C"), np.array(edge)
        self._steps = steps if step is None else np.full(problem.n_samples, float(step))
        node = np.zeros((data.samples.n_nodes, shape.n_labels))
        edges = np.zeros((problem.n_samples, *data.allowed.shape))
        self._theta: _Pair = (node, edges)  # potentials: equal dual variables
        self._before: _Pair = (node.copy(), edges.copy())  # those a pass ago
        self._marginals: _Pair = (np.empty_like(node), np.empty_like(edges))
        self._spare_theta: _Pair = (np.empty_like(node), np.empty_like(edges))
        self._spare_marginals: _Pair = (np.empty_like(node), np.empty_like(edges))
        self._age = 0  # passes since movements were last forgotten
        self._spread(self._theta, self._marginals)
        self.eta, self.dual = self._value(self._marginals)

    def extrapolate(self) -> int:
        """Move on by part of the last pass's movement unless the dual falls; return oracle calls."""
        share = self._age / (self._age + 3)
        if share == 0.0:
            self._keep_potentials()
            self._age += 1
            return 0
        theta, marginals = self._spare_theta, self._spare_marginals
        for new, now, before in zip(theta, self._theta, self._before, strict=True):
            np.subtract(now, before, out=new)
            new *= share
            new += now
        self._spread(theta, marginals)
        eta, dual = self._value(marginals)
        self._keep_potentials()
        if dual >= self.dual:
            self._theta, self._spare_theta = theta, self._theta
            self._marginals, self._spare_marginals = marginals, self._marginals
            self.eta, self.dual = eta, dual
            self._age += 1
        else:
            self._age = 0
        return self._problem.n_samples

    def climb(self, order: np.ndarray) -> int:
        """Visit samples; return oracle calls."""
        coef, transitions = self._problem.weight_shape.split(self.variance * self.eta)
        n_sums = kernels.climb_blocks(
            order,
            *self._packed.features,
            *self._packed.forest,
            self._labels,
            self._totals,
            self._barred,
            *self._variances,
            np.array(coef.T, order="C"),
            transitions,
            *self._theta,
            *self._marginals,
            self._steps,
        )
        self.eta, self.dual = self._value(self._marginals)
        return n_sums

    def marginals(self) -> DualMarginals:
        """Return the marginals of labels and transitions."""
        node, edges = self._theta
        n_labels = node.shape[1]
        pairs = np.zeros((len(node), n_labels, n_labels))
        found = np.empty_like(node), np.empty_like(edges)
        self._spread(self._theta, found, pairs)
        pairs *= self._totals[self._problem.data.samples.sample_of_node][:, None, None]
        return DualMarginals(found[0], pairs)

    def _keep_potentials(self) -> None:
        for now, before in zip(self._theta, self._before, strict=True):
            before[:] = now

    def _spread(self, theta: _Pair, marginals: _Pair, pairs: np.ndarray | None = None) -> None:
        """Write the marginals of potentials, by the sweeps in the log domain."""
        node, edge = theta
        node_alpha, counts = marginals
        counts[:] = 0.0
        n_samples, n_types, n_labels, _ = edge.shape
        samples = self._problem.data.samples
        # A table for each sample and edge type, as if these were so many edge types.
        tables = (edge + self._barred).reshape(-1, n_labels, n_labels)
        types = self._packed.edge_kinds + n_types * samples.sample_of_node
        forest = self._packed.parents, types, self._packed.offsets
        belief, everyone = node.copy(), np.ones(n_samples, dtype=np.bool_)
        unused = np.empty(n_samples)
        log_up(belief, tables, *forest, 0, n_samples, everyone, unused)
        log_down(
            belief,
            tables,
            *forest,
            0,
            n_samples,
            everyone,
            self._totals,
            node_alpha,
            counts.reshape(tables.shape),
            np.empty((0, n_labels, n_labels)) if pairs is None else pairs,
            pairs is not None,
            unused,
        )
        node_alpha *= self._totals[samples.sample_of_node][:, None]

    def _value(self, marginals: _Pair) -> tuple[np.ndarray, float]:
        node_alpha, counts = marginals
        eta = self._log_linear.eta(node_alpha, counts.sum(axis=0))
        return eta, self._log_linear.dual(self._log_linear.loss(node_alpha), eta)
