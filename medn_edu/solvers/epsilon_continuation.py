"""Max-margin learning on graphs with cycles: from high temperatures down to nearly 0.

At ``epsilon = 0`` the local problem is M3N with its maximum relaxed to the local polytope.  It has
kinks, at which block coordinate descent gets stuck.  At a positive temperature it is smooth, and its
optimum is higher by at most ``epsilon`` times the largest sum of local entropies, ``sum_v c_v ln L +
sum_a c_a ln L^2`` with ``L`` labels.  So this solver lowers the temperature step by step.  It starts
each problem at the solution of the one before, and certifies each solution by the two bounds at
temperature 0 itself.

If the problem's own temperature is low but positive, the last step is that problem.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from medn_edu.problems import LocalProblem
from medn_edu.results import Iterate
from medn_edu.solvers.swept_lbfgs import swept_lbfgs

_COOLING = 0.25  # factor from one temperature to the next
_COLDEST = 1e-9
_ENOUGH = 0.1  # gap at which to cool, relative to how far the temperature moves the optimum
_MOST_PASSES = 200  # at one temperature


def epsilon_continuation(
    problem: LocalProblem,
    *,
    warm_start: np.ndarray | None = None,
    messages: Sequence[np.ndarray] | None = None,
    epsilon: float = 1.0,
) -> Iterator[Iterate]:
    """Minimise the local problem at a low temperature by gradual cooling; yield once per iteration.

    Parameters
    ----------
    problem : LocalProblem
        At ``epsilon = 0``, or at a low temperature with positive counting numbers.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.
    messages : sequence of ndarray, optional
        Messages to start from, in the form of `LocalPoint`; by default silent messages.
    epsilon : float, default=1.0
        Temperature to begin with.

    Yields
    ------
    Iterate
        On the way to 0, ``gap_estimate`` is infinite until a temperature is finished, and then 0, so
        that the caller certifies.  At a positive temperature it is the estimate of `swept_lbfgs`.

    Raises
    ------
    TypeError
        If the temperature is positive but some counting numbers are not.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.problems import LocalProblem, PowerNorm
    >>> from medn_edu.results import run
    >>> from medn_edu.samples import labelled
    >>> circle = Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]])
    >>> problem = LocalProblem(labelled([circle], [[0, 1, 1]]), 0.0, PowerNorm(C=1.0))
    >>> result = run(epsilon_continuation(problem), problem, tol=1e-3, max_iter=1000)
    >>> result.converged, round(result.primal, 2)
    (True, 0.69)
    """
    if problem.epsilon > 0 and not problem.is_plain:
        raise TypeError(
            f"counting_numbers are {problem.counting_numbers!r}; epsilon_continuation expects positive "
            "counting numbers where epsilon > 0; use nested_lbfgs for others."
        )
    weights, is_hard = warm_start, problem.epsilon == 0
    while epsilon > max(problem.epsilon, _COLDEST):
        smooth = problem.at_temperature(epsilon)
        enough = ask_at = _ENOUGH * epsilon * _largest_entropy(smooth)
        for n_passes, iterate in enumerate(
            swept_lbfgs(smooth, warm_start=weights, messages=messages), start=1
        ):
            done = n_passes == _MOST_PASSES or bool(iterate.stopped)
            if iterate.gap_estimate <= ask_at and not done:
                done = iterate.certify(smooth).gap <= enough
                ask_at = iterate.gap_estimate / 2.0
            estimate = 0.0 if done and is_hard else math.inf
            yield replace(iterate, gap_estimate=estimate, stopped="")
            if done:
                break
        assert iterate.dual is not None
        weights, messages = iterate.weights, [m.copy() for m in iterate.dual().messages]
        epsilon *= _COOLING
    if not is_hard:
        yield from swept_lbfgs(problem, warm_start=weights, messages=messages)


def _largest_entropy(problem: LocalProblem) -> float:
    """Return the largest sum of all local entropies, with the weights of the samples."""
    log_labels, total = math.log(problem.data.n_labels), 0.0
    for graphs, numbers in zip(problem.graphs, problem.numbers, strict=True):
        each = numbers.node.sum() + 2.0 * numbers.edge.sum()
        total += float(problem.weight_of(graphs).sum()) * each * log_labels
    return total
