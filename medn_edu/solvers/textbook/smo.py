"""Sequential minimal optimisation on marginals: the solver of the first paper on M3N.

``smo.md`` explains why it works.
"""

from collections.abc import Iterator

import numpy as np

from medn_edu.checks import check_count
from medn_edu.kernels.textbook import smo as kernels
from medn_edu.problems import DualMarginals, Problem
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

_ACCURACY = (
    0.1  # a visit ends when violations differ by this share of what they differed by at first
)


def smo(problem: Problem, *, rng: np.random.Generator, n_steps: int = 5) -> Iterator[Iterate]:
    """Maximise the dual of M3N over marginals, two labellings at a time (Taskar et al. 2003).

    A pass visits the samples in a new random order and makes up to ``n_steps`` steps at each.  It makes
    fewer when the sample's violations have become nearly equal.  Each step counts as two oracle calls.

    Parameters
    ----------
    problem : Problem
        A problem with a normal prior and a linear slack.
    rng : numpy.random.Generator
        Draws the order of the visits.
    n_steps : int, default=5
        Largest number of steps in a visit.  More steps make fewer but more expensive passes.

    Yields
    ------
    Iterate
        Weights and marginals of the dual variables.  The gap estimate is the sum of the samples' gaps,
        each computed before the sample is visited.

    Raises
    ------
    TypeError
        If the prior is not normal, the slack is not linear, or the data need another solver.
    ValueError
        If ``n_steps`` is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)] * 3, [[0, 1]] * 3)
    >>> result = run(smo(problem, rng=np.random.default_rng(0)), problem, tol=1e-6, max_iter=100)
    >>> result.converged, result.marginals.node.shape
    (True, (6, 2))
    """
    variances = normal_variances(problem)
    check_plain(problem)
    check_count("n_steps", n_steps)
    shape = problem.weight_shape
    blocks, order = training_blocks(problem), kernel_order(shape)
    tilted = tilted_prior(problem, np.zeros(shape.size), order)
    work, gaps = workspace(blocks, shape), np.full(problem.n_samples, np.inf)
    alpha = DualMarginals.on(problem.data, problem.data.labels, problem.C)
    worst = np.empty_like(work.labelling)
    n_oracle_calls = 0
    while True:
        n_oracle_calls += kernels.visit_samples(
            rng.permutation(problem.n_samples),
            blocks,
            tilted,
            work,
            worst,
            alpha.node,
            alpha.edge,
            gaps,
            n_steps,
            _ACCURACY,
        )
        weights = public_order(tilted.mean, shape)
        energy = 0.5 * float(weights @ (weights / variances))
        yield Iterate(
            weights=weights,
            gap_estimate=float(gaps.sum()),
            objective_estimate=alpha.loss(problem.data) - energy,
            n_oracle_calls=n_oracle_calls,
            dual=lambda: alpha.scaled(1.0),
            variance=variances,
        )
