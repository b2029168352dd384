"""Learning with dual losses, one sample at a time (Meshi, Sontag, Jaakkola and Globerson 2010).

The bound of each sample is a loss of the weights *and* of the sample's messages.  A visit sweeps the
sample's messages once, which lowers its loss, and then takes a subgradient step of the weights, of
length ``1 / (C (t + t0))`` after ``t`` visits.  Messages are kept from visit to visit.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from medn_edu.checks import check_count
from medn_edu.problems import LocalPoint, LocalProblem
from medn_edu.results import Iterate


def dual_losses(
    problem: LocalProblem, *, rng: np.random.Generator, n_sweeps: int = 1
) -> Iterator[Iterate]:
    """Minimise the local problem by stochastic subgradients; yield once per pass.

    Parameters
    ----------
    problem : LocalProblem
        With ``p = 2``.
    rng : numpy.random.Generator
        Draws the order of the visits.
    n_sweeps : int, default=1
        Sweeps of a sample's messages per visit.

    Yields
    ------
    Iterate
        The mean of the weights during the last pass, and the messages.  ``gap_estimate`` is 0, because
        the objective is never evaluated.  Only a certificate says how large the gap is.

    Raises
    ------
    TypeError
        If the regulariser is not a square.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import Graph
    >>> from medn_edu.problems import LocalProblem, PowerNorm
    >>> from medn_edu.results import run
    >>> from medn_edu.samples import labelled
    >>> circle = Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]])
    >>> problem = LocalProblem(labelled([circle] * 3, [[0, 1, 1]] * 3), 1.0, PowerNorm(C=1.0))
    >>> result = run(dual_losses(problem, rng=np.random.default_rng(0)), problem, tol=1e-2, max_iter=500)
    >>> result.converged
    True
    """
    check_count("n_sweeps", n_sweeps)
    if problem.power_norm.p != 2:
        raise TypeError(f"p is {problem.power_norm.p}; dual_losses expects p = 2.")
    singles, C = [_single(problem, i) for i in range(problem.n_samples)], problem.power_norm.C
    weights, n_visits = np.zeros(problem.weight_shape.size), 0
    messages = [[s.messages for s in one.states(weights)] for one in singles]
    n_passes = 0
    while True:
        mean, n_passes = np.zeros_like(weights), n_passes + 1
        for i in rng.permutation(problem.n_samples):
            states = singles[i].states(weights, messages[i])
            for state in states:
                state.back = n_passes % 2 == 0
                state.sweep(n_sweeps)
            messages[i] = [state.messages for state in states]
            _, slope, *_ = singles[i].smooth_part(weights, states)
            n_visits += 1
            step = 1.0 / (C * (n_visits + problem.n_samples))
            weights = weights - step * (problem.n_samples * slope + C * weights)
            mean += weights / problem.n_samples
        yield Iterate(
            weights=mean,
            gap_estimate=0.0,
            objective_estimate=1.0,
            n_oracle_calls=n_passes * problem.n_samples,
            dual=partial(_together, problem, mean, list(messages)),
        )


def _single(problem: LocalProblem, i: int) -> LocalProblem:
    """Return the problem of one sample."""
    data = problem.data
    nodes = slice(*data.samples.offsets[i : i + 2])
    part = replace(
        data,
        samples=data.samples.take(np.array([i])),
        labels=data.labels[nodes],
        sample_weight=data.sample_weight[i : i + 1],
        allowed_labels=None if data.allowed_labels is None else data.allowed_labels[nodes],
        costs=None if data.costs is None else data.costs[nodes],
    )
    return LocalProblem(
        part, problem.epsilon, problem.power_norm, problem.counting_numbers, problem.loss_augmented
    )


def _together(
    problem: LocalProblem, weights: np.ndarray, messages: list[list[np.ndarray]]
) -> LocalPoint:
    """Put the samples' messages side by side, and sweep once for beliefs."""
    joined = [
        np.concatenate([messages[i][0] for i in graphs.samples], axis=2)
        for graphs in problem.graphs
    ]
    states = problem.states(weights, joined)
    for state in states:
        state.sweep()
    return LocalPoint([s.messages for s in states], [s.beliefs for s in states], problem.epsilon)
