"""Block-coordinate Frank-Wolfe on the dual of maximum entropy discrimination.

`medn_edu.theory.frank_wolfe` has one block step in plain numpy, and `medn_edu.kernels.block_step` the
same compiled; here is what is around it: which blocks are visited, and when.  Why it works is told in
``block_frank_wolfe.md``.
"""

from collections.abc import Iterator

import numpy as np

from medn_edu.checks import check_count, check_rng
from medn_edu.priors import Prior
from medn_edu.problems import DualVariables, Problem
from medn_edu.results import Iterate
from medn_edu.solvers.dual_state import DualState

# All measured on the OCR letters; the optimum does not depend on them, times do, and only mildly.
_SMALL = 0.3  # gaps below this share of the average are small,
_REFRESH = 3  # and blocks with small gaps are visited every so many passes
_LEFT = 0.75  # share of the gaps, seen before each visit, that is left at the end of a pass


def block_frank_wolfe(
    problem: Problem,
    *,
    rng: np.random.Generator,
    warm_start: DualVariables | None = None,
    n_cached_rounds: int = 2,
    gram_budget: int = 64_000_000,
    capacity: int = 4,
) -> Iterator[Iterate]:
    """Maximise the dual of MEDN, block by block (Lacoste-Julien et al. 2013, with pairwise steps).

    A pass begins with a round of visits with decoding, to all blocks whose last gap was not small.
    Rounds among the kept labellings follow.

    Parameters
    ----------
    problem : Problem
        The problem, with any prior that `medn_edu.priors.check_prior` accepts, or with an `L2Norm` or
        `ElasticNet` that has ``l2 > 0``; any slack of `medn_edu.slacks`.
    rng : numpy.random.Generator
        Draws the order of the visits.
    warm_start : DualVariables, optional
        Dual variables to start from, for the same samples but perhaps from another prior or slack.
        They are made feasible and scaled by the factor at which the dual is largest.  By default the
        solver starts at ``eta = 0``.
    n_cached_rounds : int, default=2
        Rounds among the kept labellings after each round with decoding.
    gram_budget : int, default=64_000_000
        Largest number of bytes for Gram matrices of node features.  They are used with the standard
        normal prior and a linear or quadratic slack.
    capacity : int, default=4
        Number of labellings per sample to reserve memory for at first; more is added as needed.

    Yields
    ------
    Iterate
        The weights.  ``gap_estimate`` is three quarters of the sum of all blocks' last known gaps, and
        ``objective_estimate`` is the dual value.

    Raises
    ------
    TypeError
        If the problem has another loss or regulariser, or ``warm_start`` is of another type.
    ValueError
        If ``warm_start`` does not belong to the problem's samples, or another argument is too small.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.priors import LaplacePrior
    >>> from medn_edu.problems import Problem
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=LaplacePrior(lam=4.0))
    >>> iterates = block_frank_wolfe(problem, rng=np.random.default_rng(0))
    >>> result = run(iterates, problem, tol=1e-6, max_iter=100)
    >>> result.converged, bool(np.abs(result.eta).max() < 2.0)
    (True, True)
    """
    check_rng(rng)
    check_count("n_cached_rounds", n_cached_rounds, least=0)
    state = DualState(problem, gram_budget, check_count("capacity", capacity))
    state.load(warm_start)
    for n_passes, n_oracle_calls in enumerate(passes(state, rng, n_cached_rounds), start=1):
        if n_passes % state.passes_between_rebuilds == 0:
            state.rebuild()
        yield Iterate(
            weights=state.weights(),
            gap_estimate=_LEFT * float(state.gaps.sum()),
            objective_estimate=state.dual_value(),
            n_oracle_calls=n_oracle_calls,
            dual=state.dual_variables,
            variance=state.variances() if isinstance(problem.regulariser, Prior) else None,
        )


def passes(state: DualState, rng: np.random.Generator, n_cached_rounds: int) -> Iterator[int]:
    """Make pass after pass; yield how many labellings have been looked for so far."""
    n_samples, n_oracle_calls = len(state.gaps), 0
    age = np.zeros(n_samples, dtype=np.int64)
    while True:
        age += 1
        due = (state.gaps >= _SMALL * state.gaps.mean()) | (age >= _REFRESH)
        age[due] = 0
        n_oracle_calls += int(due.sum())
        order = rng.permutation(n_samples)
        state.extrapolate()
        state.visit(order[due[order]], with_oracle=True)
        for _ in range(n_cached_rounds):
            state.extrapolate()
            state.visit(rng.permutation(n_samples), with_oracle=False)
        yield n_oracle_calls
