"""Fig. 1 of Hazan and Urtasun (2010): steps on messages and on weights, in turn.

Each pass sweeps all messages once, which lowers the bound, and then takes one step along the gradient
with respect to the weights, at the beliefs of these messages, whether or not they agree.  The step is
*proximal*: it linearises the losses but not the regulariser, whose slope is not Lipschitz at 0 for ``p <
2``.  It is halved until the objective provably falls.

At ``epsilon = 0`` the objective has kinks.  Then messages can stop above the optimum and a sub-gradient
need not point downhill, so the method gets stuck, as the paper says.
`medn_edu.solvers.epsilon_continuation` does not.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count

import numpy as np

from medn_edu.problems import LocalPoint, LocalProblem
from medn_edu.results import STUCK, Iterate
from medn_edu.solvers.quasi_newton import starting_weights

_LEAST_STEP = 1e-12
_LONGER = 2.0  # factor by which each pass tries a longer step than the last one


def norm_product_learning(
    problem: LocalProblem, *, warm_start: np.ndarray | None = None, n_sweeps: int = 1
) -> Iterator[Iterate]:
    """Lower the local problem over messages and weights in turn; yield once per pass.

    Parameters
    ----------
    problem : LocalProblem
        At any temperature; with positive counting numbers the objective never rises.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.
    n_sweeps : int, default=1
        Sweeps of messages between two steps of the weights.

    Yields
    ------
    Iterate
        ``gap_estimate`` is the decrease that the last step promised.

    Raises
    ------
    TypeError
        If counting numbers are not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.problems import LocalProblem, PowerNorm
    >>> from medn_edu.results import run
    >>> from medn_edu.samples import labelled
    >>> circle = Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]])
    >>> problem = LocalProblem(labelled([circle], [[0, 1, 1]]), 1.0, PowerNorm(C=1.0))
    >>> result = run(norm_product_learning(problem), problem, tol=1e-6, max_iter=1000)
    >>> result.converged, round(result.primal, 4)
    (True, 6.737)
    """
    if not problem.is_plain:
        raise TypeError(
            f"counting_numbers are {problem.counting_numbers!r}; norm_product_learning expects positive "
            "counting numbers; nested_lbfgs takes others."
        )
    norm, step = problem.power_norm, 1.0
    weights = starting_weights(problem.data, warm_start)
    messages, stopped = None, ""
    for n_passes in count(1):
        states = problem.states(weights, messages)
        for state in states:
            state.back = n_passes % 2 == 0
            state.sweep(n_sweeps)
        messages = [state.messages for state in states]
        value, slope, *_ = problem.smooth_part(weights, states)
        objective, promised, step = value + norm.value(weights), 0.0, step * _LONGER
        while True:
            moved = norm.prox(weights - step * slope, step)
            change = moved - weights
            size = float(change @ change) / (2.0 * step)
            after, *_ = problem.smooth_part(moved, problem.states(moved, messages))
            fallen = objective - after - norm.value(moved)
            if after <= value + float(slope @ change) + size and fallen >= 0:
                weights, objective, promised = moved, objective - fallen, 2.0 * size
                break
            step /= 2.0
            if step < _LEAST_STEP:
                stopped = STUCK
                break
        point = LocalPoint(messages, [state.beliefs for state in states], problem.epsilon)
        yield Iterate(
            weights=weights,
            gap_estimate=promised,
            objective_estimate=objective,
            n_oracle_calls=n_passes * problem.n_samples,
            dual=partial(_same, point),
            stopped=stopped,
        )
        if stopped:
            return


def _same(point: LocalPoint) -> LocalPoint:
    return point
