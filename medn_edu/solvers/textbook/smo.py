"""Sequential minimal optimisation on marginals: the solver of the first paper on M3N.

Taskar, Guestrin and Koller (2003) train M3N on its dual, which depends on the exponentially many
dual variables ``alpha_i(y)`` through their *marginals* alone: the sums over the labellings of
sample ``i`` that give node ``t`` the label ``a``, ``mu_i(t, a)``, and edge ``(s, t)`` the labels
``a, b``.  They solve it as Platt's SMO solves support vector machines: the least change that keeps
a sample's total fixed takes from one labelling and gives to another, and for such a pair the best
amount has a closed form.

**The amount.**  Moving the amount ``m`` from ``y''`` to ``y'`` changes the weights by
``m v (f(y'') - f(y'))``, ``v`` the prior's variances.  The dual's slope there is the difference of
the violations, ``H(y') - H(y'')``, and its curvature
``|f(y'') - f(y')|_v^2 = sum_k v_k (f_k(y'') - f_k(y'))^2``, so

    m = (H(y') - H(y'')) / |f(y'') - f(y')|_v^2,   but no more than can be moved.

**The pair.**  Dual variables are optimal when only labellings of the largest violation have
positive ones.  The pair that hurts this most is ``y' = argmax_y H(y)``, found by loss-augmented
decoding, and ``y'' = argmin H(y)`` among the labellings with positive dual variables.

**Which dual variables are positive, and how much of them can be moved?**  Marginals do not say.
Many ``alpha`` have the same ones, and the dual cannot tell them apart.  Taskar et al. think of the
``alpha`` of largest entropy, on a forest a product, ``C_i`` times
``p(root) prod p(child | parent)``.  It is positive where all marginals along ``y''`` are, and so is
``y''`` found by decoding ``-H`` over positive marginals.  It says that ``alpha(y'')`` can be moved,
since then all dual variables stay non-negative.  That is safe, and less than what is possible.  All
that the dual needs is marginals that belong to *some* dual variables, and on a forest those are the
ones that are non-negative and agree along every edge.  Moving ``m`` keeps the agreement, and lowers
just the marginals along ``y''`` where ``y'`` has other labels.  So

    m  <=  the least marginal along y'' where it differs from y'

is necessary and sufficient, and no product of conditional probabilities exceeds its least marginal.
This bound is the one used here.  What is lost is the memory of single labellings: after a step
longer than ``alpha(y'')`` no ``alpha`` is the old one with two entries changed, and mixtures of
``y'`` and other labellings have dual variables that nobody gave them.  The dual value is not
concerned, it rises by what the formula says.  What is gained is that a step which reaches the bound
clears a marginal outright, where a product of many small probabilities would creep.

When the two violations agree, every ``alpha`` with these marginals is on labellings of the largest
violation only, and the sample's duality gap ``C_i max H - sum_y alpha(y) H(y)`` is zero.

Steps never lower the dual.  Unlike `block_frank_wolfe`, nothing grows with the number of labellings in
use, but every step decodes twice, and tables of ``n_labels^2`` numbers per node are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from medn_edu.checks import check_count
from medn_edu.kernels.textbook import smo as kernels
from medn_edu.problems import DualMarginals, Problem
from medn_edu.results import Iterate
from medn_edu.solvers._training import (
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
    """Maximise the dual of M3N, pair by pair of labellings, in marginals (Taskar et al. 2003).

    A pass visits the samples in an order drawn anew and makes up to ``n_steps`` steps at each, fewer
    when its violations have become nearly equal.  Each step counts as two calls of the oracle.

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
        Weights, marginals of the dual variables, and as gap estimate the sum of the samples' gaps,
        each before its visit.

    Raises
    ------
    TypeError
        If the prior is not normal or the slack not linear.
    ValueError
        If ``n_steps`` is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import label_samples, pack
    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.problems import MarginLoss, Problem
    >>> from medn_edu.results import run
    >>> from medn_edu.slacks import LinearSlack
    >>> data = label_samples(pack([np.eye(2)] * 3), np.array([0, 1] * 3), np.ones((1, 2, 2), bool))
    >>> problem = Problem(data, MarginLoss(LinearSlack(C=1.0)), GaussianPrior())
    >>> result = run(smo(problem, rng=np.random.default_rng(0)), problem, tol=1e-6, max_iter=100)
    >>> result.converged, result.marginals.node.shape
    (True, (6, 2))
    """
    variances = normal_variances(problem)
    check_count("n_steps", n_steps)
    shape = problem.weight_shape
    blocks, tilted = training_blocks(problem), tilted_prior(problem, np.zeros(shape.size))
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
