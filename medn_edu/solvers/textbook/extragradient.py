"""Extragradient for maximum margin Markov networks: weights and dual variables look ahead.

``extragradient.md`` explains why it works.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.results import Iterate
from medn_edu.solvers.textbook._log_linear import DualSums, LogLinearDual, first_step

if TYPE_CHECKING:
    from medn_edu.problems import Problem

_GROWTH = 1.1  # of the step size after each step; about one in eight is then taken again
_ROUNDING = 1e-12  # relative to the loss: differences that mean nothing


@dataclass(frozen=True, eq=False)
class _Players:
    """Weights, the exponent ``(S, W)`` of the dual variables, and the sums of these."""

    weights: np.ndarray
    exponent: np.ndarray
    sums: DualSums


def extragradient(
    problem: Problem,
    *,
    rng: np.random.Generator,
    step: float | None = None,
    ratio: float = 0.3,
) -> Iterator[Iterate]:
    """Find the saddle point of M3N by extragradient steps (Taskar et al. 2006).

    A pass tries one prediction and one correction, which take two sums over labellings per sample.  If
    they are rejected, the step size is halved and nothing moves.

    Parameters
    ----------
    problem : Problem
        A problem with a normal prior, whose variances may differ, and a linear slack.
    rng : numpy.random.Generator
        Not used, since nothing is drawn.
    step : float, optional
        First step size of the dual variables.  By default about the inverse of the curvature of a
        single sample's block.
    ratio : float, default=0.3
        Step size of the weights relative to that of the dual variables.  If it is large, the
        weights stay close to ``v * eta``.

    Yields
    ------
    Iterate
        The weights after the step, and the gap and dual value of weights and dual variables there.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``step`` or ``ratio`` is not positive.

    Examples
    --------
    A model asks for it by name:

    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> model = M3N(solver="extragradient", tol=1e-2)
    >>> model.fit([np.eye(2)], [["a", "b"]]).result_.converged
    True
    """
    check_positive("ratio", ratio)
    dual = LogLinearDual(problem)
    variance = dual.variance
    size = check_positive("step", step) if step is not None else first_step(problem)
    exponent = np.zeros(1 + problem.weight_shape.size)  # equal dual variables
    now = _Players(np.zeros(problem.weight_shape.size), exponent, dual.sums(exponent))
    gap = problem.primal(now.weights) - now.sums.dual
    n_calls = 2 * problem.n_samples
    while True:
        trial = _stepped(now, now, size, ratio, dual)
        found = _stepped(now, trial, size, ratio, dual)
        n_calls += 2 * problem.n_samples
        if _is_short_enough(now, trial, found, size, ratio, dual):
            now = found
            gap = problem.primal(now.weights) - now.sums.dual
            n_calls += problem.n_samples
            size *= _GROWTH
        else:
            size *= 0.5
        yield Iterate(
            weights=now.weights,
            gap_estimate=gap,
            objective_estimate=now.sums.dual,
            n_oracle_calls=n_calls,
            dual=partial(dual.marginals, now.exponent),
            variance=variance,
        )


def _stepped(
    start: _Players, at: _Players, size: float, ratio: float, dual: LogLinearDual
) -> _Players:
    """Step from ``start`` along the gradients at ``at``."""
    t = ratio * size
    weights = (start.weights + t * dual.variance * at.sums.eta) / (1.0 + t)
    exponent = start.exponent + size * np.concatenate([[1.0], at.weights])
    return _Players(weights, exponent, dual.sums(exponent))


def _is_short_enough(
    now: _Players,
    trial: _Players,
    found: _Players,
    size: float,
    ratio: float,
    dual: LogLinearDual,
) -> bool:
    """Say whether what the gradients change on the way is no more than the way is long."""
    ahead, back = trial.weights - now.weights, trial.weights - found.weights
    changed = ahead @ (trial.sums.eta - found.sums.eta)
    changed += back @ (now.sums.eta - trial.sums.eta)
    squares = (ahead**2 + back**2) / dual.variance
    way = 0.5 * np.sum(squares) / (ratio * size)
    entropies = _relative_entropy(trial, now, dual) + _relative_entropy(found, trial, dual)
    nothing = _ROUNDING * (now.sums.loss + abs(now.sums.log_norm) / size)
    return bool(changed <= way + entropies / size + nothing)


def _relative_entropy(of: _Players, to: _Players, dual: LogLinearDual) -> float:
    """Return ``sum alpha_i(y) log(alpha_i(y) / beta_i(y))``, of exponents that are linear."""
    difference = of.exponent - to.exponent
    mean = np.concatenate([[of.sums.loss], dual.truth - of.sums.eta])
    return float(difference @ mean) - of.sums.log_norm + to.sums.log_norm
