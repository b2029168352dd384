"""The conditional random field as an estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medn_edu.checks import check_choice, check_positive
from medn_edu.estimators.base import MarkovNetwork
from medn_edu.problems import L1SoftMaxProblem, SoftMaxProblem
from medn_edu.results import Iterate, SolveResult
from medn_edu.samples import LabelledSamples
from medn_edu.solvers import lbfgs, proximal_lbfgs

__all__ = ["CRF"]


class CRF(MarkovNetwork):
    """Conditional random field (Lafferty et al. 2001), plain or with an L2 or L1 penalty.

    Minimises ``-sum_i log p(y_i | x_i; w)`` plus ``lam |w|^2 / 2`` or ``lam sum_k |w_k|``, with
    ``p(y | x; w) ~ exp(w . f(x, y))``.  The L1 penalty makes weights exactly 0 where a feature is not
    worth ``lam``; with it ``result_.subgradient_norm`` tells how far the solution is from optimal,
    in the entry where that is most.

    The plain CRF may have no optimum: where some weights separate the samples, the loss falls to 0 as
    they grow without bound.  So it stops when the likelihood hardly changes, or when the samples are
    labelled without error and the loss is below ``tol`` of that of guessing, and is reported as
    stopped, not as converged.  It is trained by plain L-BFGS, whose weights remain small on the way.

    Parameters
    ----------
    penalty : {"l2", "l1", None}, default="l2"
        Penalty on the weights: squares, magnitudes or none.
    lam : float, default=1.0
        Strength of the penalty, positive; ignored without a penalty.
    forbidden : collection of pairs, or dict from edge type to pairs, optional
        Transitions ``(parent's label, child's label)`` that never occur.
    tol : float, default=1e-4
        Relative duality gap at which to stop; without a penalty the relative change of the
        likelihood per pass.
    max_iter : int, default=1000
        Largest number of iterations of L-BFGS (with ``"l1"`` of proximal L-BFGS), the start counted as
        one; nearly all of them take a single sweep over the samples.
    warm_start : bool, default=False
        Go on from the last solution when fitted again to the same samples.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.
    verbose : int, default=1
        Whether to show progress when training takes over two seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import CRF
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [[True, False], [False]]
    >>> model = CRF(lam=0.1, tol=1e-6).fit(X, y)
    >>> model.predict_marginals(X)[1].round(2)
    array([[0.92, 0.08]])

    With an L1 penalty few weights remain:

    >>> sparse = CRF(penalty="l1", lam=0.5, tol=1e-6).fit(X, y)
    >>> int((sparse.weights_ != 0).sum()), sparse.weights_.size
    (3, 8)
    """

    def __init__(
        self,
        penalty: str | None = "l2",
        lam: float = 1.0,
        *,
        forbidden: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
        n_jobs: int = 1,
        verbose: int = 1,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.forbidden = forbidden
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _problem(self, data: LabelledSamples, n_jobs: int) -> SoftMaxProblem | L1SoftMaxProblem:
        check_choice("penalty", self.penalty, (None, "l1", "l2"))
        lam = check_positive("lam", self.lam) if self.penalty is not None else 0.0
        problem = L1SoftMaxProblem if self.penalty == "l1" else SoftMaxProblem
        return problem(data, lam, n_jobs)

    def _iterates(
        self, problem: SoftMaxProblem | L1SoftMaxProblem, start: SolveResult | None
    ) -> Iterator[Iterate]:
        weights = start.weights if start else None
        if isinstance(problem, L1SoftMaxProblem):
            return proximal_lbfgs(problem, warm_start=weights)
        # Without a penalty the way decides where one ends: see `lbfgs`.
        plain = self.penalty is None
        return lbfgs(problem, warm_start=weights, change_tol=self.tol, preconditioned=not plain)
