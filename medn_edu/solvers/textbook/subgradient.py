"""Subgradient descent on the primal of M3N, batch and online, with a dual point for free.

``subgradient.md`` explains why it works.
"""

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.kernels.textbook import online_subgradient as kernels
from medn_edu.problems import DualMarginals, DualVariables, Problem
from medn_edu.results import Iterate
from medn_edu.solvers.training import (
    check_plain,
    kernel_order,
    normal_variances,
    public_order,
    tilted_prior,
    training_blocks,
    workspace,
)

_LONGEST_ONLINE_STEP = 0.999  # 1 would leave nothing of a scale that later steps divide by
_SMALLEST_SCALE = 1e-100
_NOTHING = 1e-300  # the part of C_i below which a sample has no dual variables


def subgradient(
    problem: Problem, *, rng: np.random.Generator, beta: float | None = None
) -> Iterator[Iterate]:
    """Subgradient descent with all samples in each step (Ratliff et al. 2007).

    A pass is one step.  The decoding that a step needs also gives the primal value where the step
    starts.  So the best weights so far are known and recommended.  The gap estimate is a true gap: the
    primal value of these weights minus the dual value of the mixture that the steps have made.

    Parameters
    ----------
    problem : Problem
        A problem with a normal prior and a linear slack.
    rng : numpy.random.Generator
        Not used, since nothing is drawn.
    beta : float, optional
        Constant of the papers' steps ``min(1, 1 / (2 beta sqrt(t)))``.  By default the steps are
        ``2 / (t + 1)``.

    Yields
    ------
    Iterate
        The best weights so far, marginals of the dual variables, and the gap between the two.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``beta`` is not positive.

    Examples
    --------
    A model asks for it by name:

    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> model = M3N(solver="subgradient", tol=1e-2)
    >>> model.fit([np.eye(2)], [["a", "b"]]).result_.converged
    True
    """
    variances = normal_variances(problem)
    step_size = _step_sizes(beta, 1)
    mixed = _MixedDual(problem)
    weights = np.zeros(problem.weight_shape.size)
    best, best_primal = weights, np.inf
    for t in count(1):
        labels, violation = problem.violated(weights)
        cost = np.maximum(violation, problem.margin_loss.slack.least)
        primal = _energy(weights, variances) + float(problem.C @ cost)
        if primal < best_primal:
            best, best_primal = weights, primal
        step = min(1.0, step_size(t))
        target = variances * mixed.mix(step, labels)
        weights = (1.0 - step) * weights + step * target
        yield Iterate(
            weights=best,
            gap_estimate=best_primal - (mixed.loss - _energy(weights, variances)),
            objective_estimate=best_primal,
            n_oracle_calls=t * problem.n_samples,
            dual=mixed.marginals,
            variance=variances,
        )


def online_subgradient(
    problem: Problem,
    *,
    rng: np.random.Generator,
    beta: float | None = None,
    is_watched: bool = True,
) -> Iterator[Iterate]:
    """Subgradient descent with one sample in each step (Ratliff et al. 2007).

    A pass is a step for each of the ``N`` samples, in a new random order.  By default steps are
    ``2 / (t + 2 N - 1)``.  For a single sample these are the steps of the batch method.  For more
    samples they are so short at first that no step moves more than a sample's own total.  It is as if
    ``2 N - 2`` earlier steps had left every total on the true labellings.  The averaged weights are the
    ones to use.

    Dual variables that are mixed like the weights are feasible only on average, because those of a
    recently visited sample add up to more than ``C_i``.  So each sample's dual variables are scaled to
    add up to ``C_i`` before they are shown.  For that reason, and because no step sees the primal
    value, the gap costs a decoding of all samples at the end of each pass.  It counts among the oracle
    calls.  With few or short samples this decoding takes ten times as long as the pass.

    Parameters
    ----------
    problem : Problem
        A problem with a normal prior and a linear slack.
    rng : numpy.random.Generator
        Draws the order of the samples.
    beta : float, optional
        Constant of the papers' steps ``min(1, 1 / (2 beta sqrt(t)))``, where ``t`` counts samples.  The
        longest step here is 0.999, so that some of the past is left.  By default the steps are
        ``2 / (t + 2 N - 1)``.
    is_watched : bool, default=True
        Whether to compute the gap after each pass.  If not, only the number of passes can end training.
        Then the gap estimate is infinite, and there is no estimate of the objective.

    Yields
    ------
    Iterate
        Averaged weights, marginals of the scaled dual variables, and the gap between the two.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``beta`` is not positive.

    Examples
    --------
    A model asks for it by name:

    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> model = M3N(solver="online_subgradient", tol=1e-2)
    >>> model.fit([np.eye(2)], [["a", "b"]]).result_.converged
    True
    """
    variances = normal_variances(problem)
    check_plain(problem)
    n_samples = problem.n_samples
    step_size = _step_sizes(beta, n_samples)
    shape = problem.weight_shape
    blocks, order = training_blocks(problem), kernel_order(shape)
    tilted = tilted_prior(problem, np.zeros(shape.size), order)
    work, average = workspace(blocks, shape), np.zeros(shape.size)
    alpha = DualMarginals.on(problem.data, problem.data.labels, problem.C)
    for n_passes in count(1):
        steps = step_size(np.arange((n_passes - 1) * n_samples, n_passes * n_samples) + 1.0)
        order, steps = rng.permutation(n_samples), np.minimum(steps, _LONGEST_ONLINE_STEP)
        done = 0
        while done < n_samples:
            done, scale, shares = kernels.descend(
                order, steps, done, blocks, tilted, work, average, alpha.node, alpha.edge
            )
            # Multiply everything out; the kernel's module says why this is wanted.
            average += shares * tilted.mean
            tables = (tilted.mean, tilted.edge, tilted.edge_by_child, alpha.node, alpha.edge)
            for raw in (average, *tables):
                raw *= scale
        weights = public_order(average, shape)
        primal = problem.primal(weights) if is_watched else math.nan
        yield Iterate(
            weights=weights,
            gap_estimate=primal - problem.dual(_full(problem, alpha)) if is_watched else math.inf,
            objective_estimate=primal,
            n_oracle_calls=(1 + is_watched) * n_passes * n_samples,
            dual=lambda: _full(problem, alpha),
            variance=variances,
        )


class _MixedDual:
    """Dual variables of the batch method: a scale times raw marginals, so that shrinking is free."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.loss = 0.0
        self._scale = 1.0
        self._raw = DualMarginals.on(problem.data, problem.data.labels, problem.C)

    def mix(self, step: float, labels: np.ndarray) -> np.ndarray:
        """Move a fraction ``step`` of all sums to the labellings; return the labellings' own eta."""
        problem, samples = self.problem, self.problem.data.samples
        answer = DualVariables.on(samples, labels, problem.C)
        self.loss += step * (answer.loss(problem.data) - self.loss)
        self._scale *= 1.0 - step
        if self._scale < _SMALLEST_SCALE:
            self._raw, self._scale = self._raw.scaled(self._scale), 1.0
        self._raw.add(samples, labels, (step / self._scale) * problem.C)
        return answer.eta(problem.data)

    def marginals(self) -> DualMarginals:
        """Return a copy of the dual variables."""
        return self._raw.scaled(self._scale)


def _step_sizes(beta: float | None, n_steps_per_pass: int) -> Callable[[Any], Any]:
    """Return the size of step ``t`` as a function."""
    if beta is None:
        return lambda t: 2.0 / (t + 2 * n_steps_per_pass - 1)
    factor = 0.5 / check_positive("beta", beta)
    return lambda t: factor / np.sqrt(t)


def _energy(weights: np.ndarray, variances: np.ndarray) -> float:
    return 0.5 * float(weights @ (weights / variances))


def _full(problem: Problem, alpha: DualMarginals) -> DualMarginals:
    """Return the dual variables with each sample's scaled to its ``C_i``.

    A step of nearly 1 leaves next to nothing of the other samples', and many of them nothing at all.  A
    sample without any has all of it on the true labelling, where it adds nothing to ``eta``.
    """
    data, C, total = problem.data, problem.C, alpha.totals(problem.data)
    gone = total <= _NOTHING * C
    factor = np.where(gone, 0.0, C / np.where(gone, 1.0, total))
    full = alpha.scaled(factor[data.samples.sample_of_node])
    full.add(data.samples, data.labels, np.where(gone, C, 0.0))
    return full
