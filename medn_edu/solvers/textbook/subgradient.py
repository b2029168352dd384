"""Sub-gradient descent on the primal of M3N, batch and online, with a dual point for free.

Ratliff, Bagnell and Zinkevich (2007) train M3N on its primal, P0 of MEDN without the constraints,

    P(w) = sum_k w_k^2 / (2 v_k) + sum_i C_i max_y H_i(y),   H_i(y) = loss_i(y) - w . df_i(y),

with ``df_i(y) = f(x_i, y_i) - f(x_i, y)``, ``C_i`` the constant times the sample's weight and ``v_k``
the prior's variances (1 in the papers).  The function has kinks, but wherever it stands, decoding
finds labellings ``y'_i`` that attain the maxima, and ``w / v - sum_i C_i df_i(y'_i)`` is a sub-gradient.
Measured in units of the variances, a step of size ``a`` against it is

    w  <-  (1 - a) w + a g,   g = v sum_i C_i df_i(y'_i).

**A dual point for free.**  The step shrinks the weights and adds a multiple of *features of
labellings*.  Do the same to dual masses: ``alpha <- (1 - a) alpha + a s``, where ``s`` puts all mass
``C_i`` of each sample on ``y'_i``.  If ``a <= 1`` that is a mixture of feasible points, hence feasible,
and since ``g = v eta(s)``, the weights are ``w = v eta(alpha)`` at every moment.  Sub-gradient descent
has been walking through the dual all the time: it is Frank-Wolfe on the dual with prescribed steps
(Bach 2015), and each step yields a true duality gap.

**How fast.**  Let ``w_1, w_2, ...`` be the weights, ``w'`` and ``P'`` the running averages of the
weights and of their primal values, ``w' <- (1 - a_t) w' + a_t w_t`` and likewise ``P'``, so that
``P(w') <= P'`` by convexity.  As ``P(w_t) = |w_t|^2 / 2 + loss(s_t) - (w_t, g_t)`` in the inner product
that divides by the variances, and the dual value is ``loss(alpha) - |w|^2 / 2``, inserting one step into
their difference ``G_t = P'_t - D(alpha_{t+1})`` leaves only

    G_t = (1 - a_t) G_{t-1} + a_t^2 |g_t - w_t|^2 / 2.

This one line tells all about step sizes.  With a constant ``a`` the gap ends at about ``a R^2 / 2``,
where ``R`` is the largest ``|g_t - w_t|``.  With ``a_t = 2 / (t + 1)`` multiply by ``t (t + 1)`` and
sum: ``G_T <= 2 R^2 / (T + 1)``.  These steps and this average, which weighs step ``t`` by ``t``, are
those of Lacoste-Julien, Schmidt and Bach (2012).

**The papers' steps** are ``a_t = 1 / (2 beta sqrt(t))``, with the constant ``C = 200 beta`` (MEDN,
Section 7).  By the line above the gap then falls like ``R^2 / (4 beta sqrt(t))``, slower than with
``2 / (t + 1)``.  The constant is the *problem's*: whoever wants the papers' setting asks for ``C = 200 *
beta`` there, ``beta`` here.  At ``beta < 1/2`` the first steps are longer than 1.  They would overshoot
``g``: the old masses would turn negative, and there would be no dual point.  So steps are capped at 1,
which forgets the past and starts anew from the last answer.

**Online**, a step decodes a single sample ``i`` and takes ``v N C_i df_i(y'_i)`` for ``g``, which is
right on average over the samples.  It wanders more, but a pass has ``N`` steps; `online_subgradient`
says what becomes of the dual point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.kernels import online_subgradient as kernels
from medn_edu.problems.max_margin import MaxMarginProblem
from medn_edu.results import DualMarginals, DualVariables, Iterate
from medn_edu.solvers._dual_state import DualState
from medn_edu.solvers.textbook._marginals import add_labellings, marginals_of
from medn_edu.solvers.textbook._normal import normal_variances

__all__ = ["online_subgradient", "subgradient"]

_LONGEST_ONLINE_STEP = 0.999  # 1 would leave nothing of a scale that later steps divide by
_SMALLEST_SCALE = 1e-100
_NO_MASS = 1e-300  # the share of its mass below which a sample has none


def subgradient(
    problem: MaxMarginProblem, *, rng: np.random.Generator, beta: float | None = None
) -> Iterator[Iterate]:
    """Sub-gradient descent, all samples in each step (Ratliff et al. 2007).

    A pass is one step.  The decoding that a step needs also yields the primal value where it starts, so
    that the best weights so far are known and recommended, and the gap estimate is a true gap: their
    primal value less the dual value of the masses that the steps have mixed.

    Parameters
    ----------
    problem : MaxMarginProblem
        A problem with a normal prior and a linear slack.
    rng : numpy.random.Generator
        Not used; nothing is drawn.
    beta : float, optional
        Take the papers' steps ``min(1, 1 / (2 beta sqrt(t)))``; by default ``2 / (t + 1)``.

    Yields
    ------
    Iterate
        The best weights so far, marginals of the dual masses, and the gap between the two.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``beta`` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import label_samples, pack
    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.results import run
    >>> from medn_edu.slacks import LinearSlack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> problem = MaxMarginProblem(data, GaussianPrior(), LinearSlack(C=1.0))
    >>> iterates = subgradient(problem, rng=np.random.default_rng(0))
    >>> run(iterates, problem, tol=0.01, max_iter=1000).converged
    True
    """
    variances = normal_variances(problem)
    step_size = _step_sizes(beta, 1)
    masses = _MixedMasses(problem)
    weights = np.zeros(problem.weight_shape.size)
    best, best_primal = weights, np.inf
    for t in count(1):
        labels, violation = problem.violated(weights)
        cost = np.maximum(violation, problem.slack.least)
        primal = _energy(weights, variances) + float(problem.mass @ cost)
        if primal < best_primal:
            best, best_primal = weights, primal
        step = min(1.0, step_size(t))
        target = variances * masses.mix(step, labels)
        weights = (1.0 - step) * weights + step * target
        yield Iterate(
            weights=best,
            gap_estimate=best_primal - (masses.loss - _energy(weights, variances)),
            objective_estimate=best_primal,
            n_oracle_calls=t * problem.n_samples,
            dual=masses.marginals,
            variance=variances,
        )


def online_subgradient(
    problem: MaxMarginProblem, *, rng: np.random.Generator, beta: float | None = None
) -> Iterator[Iterate]:
    """Sub-gradient descent, one sample in each step (Ratliff et al. 2007).

    A pass is a step for each of the ``N`` samples, in an order drawn anew.  By default steps are
    ``2 / (t + 2 N - 1)``: those of the batch method for a single sample, and for more of them so short
    at first that no step moves more than a sample's own mass, as if all masses had rested on the true
    labellings for the ``2 N - 2`` steps before.  Recommended are the averaged weights.

    Masses that are mixed like the weights are a dual point on average only: a sample visited lately has
    more than its share ``C_i``.  So each sample's masses are scaled to its share before they are shown.
    For that reason, and because no step sees the primal value, the gap costs a decoding of all samples
    at the end of each pass, which counts among the oracle calls.

    Parameters
    ----------
    problem : MaxMarginProblem
        A problem with a normal prior and a linear slack.
    rng : numpy.random.Generator
        Draws the order of the samples.
    beta : float, optional
        Take the papers' steps ``min(1, 1 / (2 beta sqrt(t)))``, where ``t`` counts samples (the longest
        step here is 0.999, so that some of the past is left); by default ``2 / (t + 2 N - 1)``.

    Yields
    ------
    Iterate
        Averaged weights, marginals of the scaled masses, and the gap between the two.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``beta`` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import label_samples, pack
    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.results import run
    >>> from medn_edu.slacks import LinearSlack
    >>> data = label_samples(pack([np.eye(2)] * 3), np.array([0, 1] * 3), np.ones((1, 2, 2), bool))
    >>> problem = MaxMarginProblem(data, GaussianPrior(), LinearSlack(C=1.0))
    >>> iterates = online_subgradient(problem, rng=np.random.default_rng(0))
    >>> run(iterates, problem, tol=0.01, max_iter=1000).converged
    True
    """
    variances = normal_variances(problem)
    n_samples = problem.n_samples
    step_size = _step_sizes(beta, n_samples)
    state = DualState(problem, gram_budget=0, capacity=1)
    average = np.zeros_like(state.model.mean)
    masses = marginals_of(problem, problem.data.labels)
    for n_passes in count(1):
        steps = step_size(np.arange((n_passes - 1) * n_samples, n_passes * n_samples) + 1.0)
        _descend(
            state,
            rng.permutation(n_samples),
            np.minimum(steps, _LONGEST_ONLINE_STEP),
            average,
            masses,
        )
        weights = np.empty_like(average)
        weights[state.order] = average
        primal = problem.primal(weights)
        yield Iterate(
            weights=weights,
            gap_estimate=primal - problem.dual(_full(problem, masses)),
            objective_estimate=primal,
            n_oracle_calls=2 * n_passes * n_samples,
            dual=lambda: _full(problem, masses),
            variance=variances,
        )


def _descend(
    state: DualState,
    order: np.ndarray,
    steps: np.ndarray,
    average: np.ndarray,
    masses: DualMarginals,
) -> None:
    """Make a pass of online steps, and multiply everything out (`kernels.descend` says what)."""
    model, done = state.model, 0
    while done < len(order):
        done, scale, shares = kernels.descend(
            order, steps, done, state.blocks, model, state.work, average, masses.node, masses.edge
        )
        average += shares * model.mean
        for raw in (average, model.mean, model.edge, model.edge_by_child, masses.node, masses.edge):
            raw *= scale


class _MixedMasses:
    """Dual masses of the batch method, a scale times raw marginals, so that shrinking costs nothing."""

    def __init__(self, problem: MaxMarginProblem) -> None:
        self.problem = problem
        self.loss = 0.0
        self._scale = 1.0
        self._raw = marginals_of(problem, problem.data.labels)

    def mix(self, step: float, labels: np.ndarray) -> np.ndarray:
        """Move the share ``step`` of all masses to the labellings; return the eta of these alone."""
        problem, samples = self.problem, self.problem.data.samples
        answer = DualVariables(np.arange(problem.n_samples), samples.offsets, labels, problem.mass)
        self.loss += step * (problem.loss(answer) - self.loss)
        self._scale *= 1.0 - step
        if self._scale < _SMALLEST_SCALE:
            self._raw, self._scale = self._raw.scaled(self._scale), 1.0
        add_labellings(problem, self._raw, labels, step / self._scale)
        return problem.eta(answer)

    def marginals(self) -> DualMarginals:
        """Return the masses, a copy."""
        return self._raw.scaled(self._scale)


def _step_sizes(beta: float | None, n_steps_per_pass: int) -> Callable[[Any], Any]:
    """Return the size of step ``t`` as a function."""
    if beta is None:
        return lambda t: 2.0 / (t + 2 * n_steps_per_pass - 1)
    factor = 0.5 / check_positive("beta", beta)
    return lambda t: factor / np.sqrt(t)


def _energy(weights: np.ndarray, variances: np.ndarray) -> float:
    return 0.5 * float(weights @ (weights / variances))


def _full(problem: MaxMarginProblem, masses: DualMarginals) -> DualMarginals:
    """Return the masses with each sample's scaled to its share.

    A step of nearly 1 leaves next to nothing of the other samples' masses, and many of them nothing at
    all.  A sample without mass has all of it on the true labelling, where it adds nothing to ``eta``.
    """
    mass = problem.masses(masses)
    gone = mass <= _NO_MASS * problem.mass
    factor = np.where(gone, 0.0, problem.mass / np.where(gone, 1.0, mass))
    of_node = problem.data.samples.sample_of_node
    full = _times(masses, factor[of_node])
    if gone.any():
        true = _times(marginals_of(problem, problem.data.labels), gone[of_node])
        full = DualMarginals(full.node + true.node, full.edge + true.edge)
    return full


def _times(masses: DualMarginals, factor: np.ndarray) -> DualMarginals:
    return DualMarginals(factor[:, None] * masses.node, factor[:, None, None] * masses.edge)
