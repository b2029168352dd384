"""The conditional random field as an estimator."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

from medn_edu.checks import check_choice, check_positive, check_share, random_generator, shown
from medn_edu.estimators.graphs import GraphNetwork
from medn_edu.problems import ElasticNet, LocalProblem, Problem, SoftMaxLoss
from medn_edu.results import Iterate, SolveResult
from medn_edu.samples import LabelledSamples
from medn_edu.solvers import (
    lbfgs,
    online_exponentiated_gradient,
    owlqn,
    proximal_lbfgs,
    suits_visits,
)

_Solver = Callable[..., Iterator[Iterate]]

_VISITS = "online_exponentiated_gradient"  # takes squares, magnitudes and both
_FOR_SQUARES: dict[str, _Solver] = {
    "lbfgs": lbfgs,
    "plain_lbfgs": partial(lbfgs, preconditioned=False),
}
_FOR_MAGNITUDES: dict[str, _Solver] = {"proximal_lbfgs": proximal_lbfgs, "owlqn": owlqn}


@dataclass(eq=False, repr=False)
class CRF(GraphNetwork):
    """Conditional random field (Lafferty et al. 2001), plain or with an L2 or L1 penalty, or both.

    Minimises ``-sum_i log p(y_i | x_i; w)`` plus ``lam |w|^2 / 2``, ``lam |w|_1`` or, as an elastic
    net, ``lam [(1 - l1_ratio) |w|^2 / 2 + l1_ratio |w|_1]``, with ``p(y | x; w) ~ exp(w . f(x, y))``.
    An L1 penalty makes a weight exactly 0 if its feature helps less than the penalty costs.  Then
    ``result_.subgradient_norm`` says how far the worst weight is from optimal.

    On graphs with cycles the penalty must be ``"l2"``.  There, local entropies replace the entropy in
    the log-partition function (``solved_`` says so), and `predict` returns each node's most probable
    label.

    Without a penalty there may be no optimum.  If some weights separate the samples, the loss falls to
    0 as these weights grow without bound.  So training stops when the log-likelihood hardly changes, or
    when the loss has fallen below ``tol`` times the loss of guessing.  The result then says that
    training was stopped, not that it converged.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        Penalty on the weights: their squares, their magnitudes, both or none.
    lam : float, default=1.0
        Strength of the penalty, positive; ignored without a penalty.
    l1_ratio : float, optional
        Share of the L1 penalty in an elastic net, from 0 to 1.  You must give it with
        ``penalty="elasticnet"``, and only then.
    solver : str, default="auto"
        How to train.  The default chooses the fastest solver (see *Notes*).
        ``"online_exponentiated_gradient"`` visits the samples one by one, and needs a penalty.
        ``"lbfgs"``, which starts from the curvature of the loss, and ``"plain_lbfgs"`` take an L2
        penalty or none.  ``"proximal_lbfgs"`` and ``"owlqn"`` take penalties with an L1 term.
    tol : float, default=1e-4
        Relative duality gap at which to stop.  Without a penalty, the relative change of the
        log-likelihood per iteration at which to stop.
    max_iter : int, default=1000
        Largest number of iterations, including the start.  Most iterations take one pass over the
        samples.
    label_costs : dict from label to cost, optional
        What it costs to get a node wrong, by the node's true label; 1 for labels that are not listed.
        With costs, training is *softmax-margin* (Gimpel and Smith 2010): instead of
        ``-log p(y_i | x_i)`` it minimises
        ``log sum_y exp(w . f(x_i, y) + loss_i(y)) - w . f(x_i, y_i)``, where ``loss_i(y)`` sums the
        costs of the wrong nodes.  The more a label costs, the larger the margin by which it must win.
        Marginals of a model trained this way are not calibrated probabilities.  ``label_costs={}`` is
        plain softmax-margin, where every cost is 1.  None is the log-likelihood.
    counting_numbers : str, pair of floats or None, default=None
        For graphs with cycles: how much local entropies count, as for `EpsilonMarkovNetwork`.
    random_state : int, Generator or None, default=0
        Seed of the order in which samples are visited.  The other solvers use no random numbers.
    forbidden, edge_table, warm_start, n_jobs, verbose
        As for `M3N`.  Visits to single samples use one thread.

    Notes
    -----
    By default, a model with a penalty is trained by visits to single samples if its features are many
    and sparse, like those of text.  This means that there are more than 500 features, that a node has at
    most a tenth of them on average, and that no sample has more than a tenth of all nodes.  In all other
    cases L-BFGS trains the model.  So it does if there are edge features or Potts tables, or if the
    potentials of all samples would take more than 4 GB.

    With an L2 penalty, visits take about ten passes where L-BFGS takes a hundred or more.  For example,
    take ``lam=1``, one thread and 2,000 made-up sentences (`medn_edu.datasets.make_text`; 29,000
    features, 17 labels).  Visits come within 1e-4 of the optimum in 0.8 s with an L2 penalty and in
    2.5 s with an L1 penalty, where CRFsuite takes 8 s and 54 s.  On 12,000 sentences with an L2 penalty,
    the times are 5 s and 111 s.  With an L1 penalty the certificate lags behind the solution: the
    weights are within 1e-4 of the optimum after about 30 passes, but certifying a gap of 1e-4 takes 230.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import CRF
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [[True, False], [False]]
    >>> model = CRF(lam=0.1, tol=1e-6).fit(X, y)
    >>> model.predict_marginals(X)[1].round(2)
    array([[0.92, 0.08]])

    With an L1 penalty few weights remain.  With an elastic net there are a few more:

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
    random_state: Any = 0

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        net = self._elastic_net()
        check_choice("solver", self.solver, ("auto", _VISITS, *_FOR_SQUARES, *_FOR_MAGNITUDES))
        fitting = {**(_FOR_MAGNITUDES if net.l1 > 0 else _FOR_SQUARES)}
        if self.penalty is not None:
            fitting = {_VISITS: online_exponentiated_gradient, **fitting}
        if self.solver not in ("auto", *fitting):
            ratio = "" if self.l1_ratio is None else f" and l1_ratio={shown(self.l1_ratio)}"
            raise ValueError(
                f"solver is {self.solver!r}, which cannot train with penalty={self.penalty!r}{ratio}; "
                f"expected {', '.join(map(repr, fitting))} or 'auto'."
            )
        augmented = self.label_costs is not None
        if self._is_local(data.samples):
            if self.penalty != "l2" or self.solver != "auto":
                raise ValueError(
                    f"penalty is {self.penalty!r} and solver is {self.solver!r}; on graphs with cycles, "
                    "or with counting_numbers, a CRF expects penalty='l2' and solver='auto'."
                )
            return self._local_problem(
                data, n_jobs, epsilon=1.0, lam=net.l2, loss_augmented=augmented
            )
        loss = SoftMaxLoss(loss_augmented=augmented)
        return Problem(data, loss, net, n_jobs)

    def _elastic_net(self) -> ElasticNet:
        shares = {None: 0.0, "l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}
        check_choice("penalty", self.penalty, shares)
        if (self.l1_ratio is not None) != (self.penalty == "elasticnet"):
            raise ValueError(
                f"l1_ratio is {shown(self.l1_ratio)} and penalty is {self.penalty!r}; expected a share "
                "from 0 to 1 with penalty='elasticnet', and None with any other penalty."
            )
        lam = 0.0 if self.penalty is None else check_positive("lam", self.lam)
        share = check_share("l1_ratio", shares[self.penalty])
        return ElasticNet(l1=lam * share, l2=lam * (1.0 - share))

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        if isinstance(problem, LocalProblem):
            return self._local_iterates(problem, start)
        rng = random_generator(self.random_state)
        weights = start.weights if start else None
        solver, has_magnitudes = self.solver, problem.elastic_net.l1 > 0
        if solver == "auto" and self.penalty is None:
            solver = "plain_lbfgs"  # the path decides which weights one ends at: see lbfgs
        elif solver == "auto" and suits_visits(problem.data):
            solver = _VISITS
        elif solver == "auto":
            solver = "proximal_lbfgs" if has_magnitudes else "lbfgs"
        if solver == _VISITS:
            return online_exponentiated_gradient(problem, rng=rng, warm_start=weights)
        if has_magnitudes:
            return _FOR_MAGNITUDES[solver](problem, warm_start=weights)
        return _FOR_SQUARES[solver](problem, warm_start=weights, change_tol=self.tol)

    def _temperature(self) -> float:
        return 1.0
