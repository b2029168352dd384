"""The conditional random field as an estimator."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial

from medn_edu.checks import check_choice, check_positive, check_share, shown
from medn_edu.estimators.base import MarkovNetwork
from medn_edu.problems import ElasticNet, Problem, SoftMaxLoss
from medn_edu.results import Iterate, SolveResult
from medn_edu.samples import LabelledSamples
from medn_edu.solvers import lbfgs, owlqn, proximal_lbfgs

_Solver = Callable[..., Iterator[Iterate]]

_FOR_SQUARES: dict[str, _Solver] = {
    "lbfgs": lbfgs,
    "plain_lbfgs": partial(lbfgs, preconditioned=False),
}
_FOR_MAGNITUDES: dict[str, _Solver] = {"owlqn": owlqn, "proximal_lbfgs": proximal_lbfgs}


@dataclass(eq=False, repr=False)
class CRF(MarkovNetwork):
    """Conditional random field (Lafferty et al. 2001), plain or with an L2 or L1 penalty, or both.

    Minimises ``-sum_i log p(y_i | x_i; w)`` plus ``lam |w|^2 / 2``, ``lam |w|_1`` or, as an elastic
    net, ``lam [(1 - l1_ratio) |w|^2 / 2 + l1_ratio |w|_1]``, with ``p(y | x; w) ~ exp(w . f(x, y))``.
    Magnitudes make weights exactly 0 where a feature is not worth its price.  With them
    ``result_.subgradient_norm`` tells how far the solution is from optimal, in its worst entry.

    Without a penalty there may be no optimum: where some weights separate the samples, the loss falls
    to 0 as they grow without bound.  So training stops when the log-likelihood hardly changes, or when
    the loss has fallen below ``tol`` times that of guessing.  It is reported as stopped, not as
    converged.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        Penalty on the weights: squares, magnitudes, both or none.
    lam : float, default=1.0
        Strength of the penalty, positive; ignored without a penalty.
    l1_ratio : float, optional
        Share of the magnitudes in an elastic net, from 0 to 1.  Needed there, and None otherwise.
    solver : {"auto", "lbfgs", "plain_lbfgs", "owlqn", "proximal_lbfgs"}, default="auto"
        How to train.  ``"lbfgs"`` starts from the curvature of the loss, ``"plain_lbfgs"`` does not;
        the other two take magnitudes.  By default the fastest, which is ``"proximal_lbfgs"`` with
        magnitudes and ``"lbfgs"`` with squares; but ``"plain_lbfgs"`` without a penalty, because its
        weights remain small on the way.
    tol : float, default=1e-4
        Relative duality gap at which to stop; without a penalty the relative change of the
        log-likelihood per iteration.
    max_iter : int, default=1000
        Largest number of iterations, the start included; most take one pass over the samples.
    label_costs : dict from label to cost, optional
        Cost of getting a node wrong whose true label is this one; 1 for labels that are not listed.
        With it training is *softmax-margin* (Gimpel and Smith 2010): in place of
        ``-log p(y_i | x_i)`` it minimises
        ``log sum_y exp(w . f(x_i, y) + loss_i(y)) - w . f(x_i, y_i)``, where ``loss_i(y)`` sums the
        costs of the wrong nodes.  Where the true label costs more, it must win by more.  Marginals of a
        model trained this way are not calibrated probabilities.  ``label_costs={}`` is plain
        softmax-margin with a cost of 1, None the log-likelihood.
    forbidden, edge_table, warm_start, n_jobs, verbose
        As for `M3N`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import CRF
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [[True, False], [False]]
    >>> model = CRF(lam=0.1, tol=1e-6).fit(X, y)
    >>> model.predict_marginals(X)[1].round(2)
    array([[0.92, 0.08]])

    With an L1 penalty few weights remain, with an elastic net a few more:

    >>> sparse = CRF(penalty="l1", lam=0.5, tol=1e-6).fit(X, y)
    >>> both = CRF(penalty="elasticnet", lam=0.5, l1_ratio=0.5, tol=1e-6).fit(X, y)
    >>> [int((model.weights_ != 0).sum()) for model in (sparse, both)], sparse.weights_.size
    ([3, 5], 8)
    """

    penalty: str | None = "l2"
    lam: float = 1.0
    _: KW_ONLY
    l1_ratio: float | None = None
    solver: str = "auto"
    tol: float = 1e-4

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        net = self._elastic_net()
        check_choice("solver", self.solver, ("auto", *_FOR_SQUARES, *_FOR_MAGNITUDES))
        fitting = _FOR_MAGNITUDES if net.l1 > 0 else _FOR_SQUARES
        if self.solver not in ("auto", *fitting):
            ratio = "" if self.l1_ratio is None else f" with l1_ratio={shown(self.l1_ratio)}"
            raise ValueError(
                f"solver is {self.solver!r} and the penalty {self.penalty!r}{ratio}; expected "
                f"{' or '.join(map(repr, fitting))}, or 'auto'."
            )
        loss = SoftMaxLoss(loss_augmented=self.label_costs is not None)
        return Problem(data, loss, net, n_jobs)

    def _elastic_net(self) -> ElasticNet:
        shares = {None: 0.0, "l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}
        check_choice("penalty", self.penalty, shares)
        if (self.l1_ratio is not None) != (self.penalty == "elasticnet"):
            raise ValueError(
                f"l1_ratio is {shown(self.l1_ratio)} and penalty {self.penalty!r}; expected a share "
                "from 0 to 1 with penalty='elasticnet', and None with any other."
            )
        lam = 0.0 if self.penalty is None else check_positive("lam", self.lam)
        share = check_share("l1_ratio", shares[self.penalty])
        return ElasticNet(l1=lam * share, l2=lam * (1.0 - share))

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        weights = start.weights if start else None
        solver = self.solver
        if solver == "auto" and problem.elastic_net.l1 > 0:
            solver = "proximal_lbfgs"
        elif solver == "auto":
            # Without a penalty the path decides which weights one ends at: see lbfgs.
            solver = "plain_lbfgs" if self.penalty is None else "lbfgs"
        if solver in _FOR_MAGNITUDES:
            return _FOR_MAGNITUDES[solver](problem, warm_start=weights)
        return _FOR_SQUARES[solver](problem, warm_start=weights, change_tol=self.tol)
