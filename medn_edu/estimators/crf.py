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
    Magnitudes make weights exactly 0 where a feature is not worth its price.  With them
    ``result_.subgradient_norm`` tells how far the solution is from optimal, in its worst entry.

    On graphs with cycles, where the penalty must be squares, local entropies take the place of the
    entropy in the log-partition (``solved_`` says so), and `predict` takes each node's most probable
    label.

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
    solver : str, default="auto"
        How to train; by default the fastest.  ``"online_exponentiated_gradient"`` takes any penalty and
        visits the samples one by one.  ``"lbfgs"``, which starts from the curvature of the loss, and
        ``"plain_lbfgs"`` take squares or no penalty, ``"proximal_lbfgs"`` and ``"owlqn"`` magnitudes.
        See *Notes*.
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
    counting_numbers : str, pair of floats or None, default=None
        For graphs with cycles: how often local entropies count, as for `EpsilonMarkovNetwork`.
    random_state : int, Generator or None, default=0
        Seed of the order of the visits; the other solvers draw nothing.
    forbidden, edge_table, warm_start, n_jobs, verbose
        As for `M3N`.  Visits are made by one thread.

    Notes
    -----
    By default a penalised model is trained by visits to single samples where features are many and
    sparse, as those of text: more than 500, of which a node has at most a tenth on average, and no
    sample with more than a tenth of all nodes.  Elsewhere L-BFGS trains it, and wherever there are edge
    features or Potts tables, or potentials of all samples would take more than 4 GB.

    With squares, visits take some ten passes where L-BFGS takes a hundred and more.  With ``lam=1``, one
    thread and 2,000 made-up sentences (`medn_edu.datasets.make_text`; 29,000 features, 17 labels) they
    come to within 1e-4 of the optimum in 0.8 s with squares and 2.5 s with magnitudes; CRFsuite takes
    8 s and 54 s.  On 12,000 sentences, with squares, it is 5 s and 111 s.  With magnitudes the
    certificate comes later than the optimum: some 30 passes lead to within 1e-4,
    and 230 to a certified gap of 1e-4.

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
    random_state: Any = 0

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        net = self._elastic_net()
        check_choice("solver", self.solver, ("auto", _VISITS, *_FOR_SQUARES, *_FOR_MAGNITUDES))
        fitting = {**(_FOR_MAGNITUDES if net.l1 > 0 else _FOR_SQUARES)}
        if self.penalty is not None:
            fitting = {_VISITS: online_exponentiated_gradient, **fitting}
        if self.solver not in ("auto", *fitting):
            ratio = "" if self.l1_ratio is None else f" with l1_ratio={shown(self.l1_ratio)}"
            raise ValueError(
                f"solver is {self.solver!r} and the penalty {self.penalty!r}{ratio}; expected "
                f"{', '.join(map(repr, fitting))} or 'auto'."
            )
        augmented = self.label_costs is not None
        if self._is_local(data.samples):
            if self.penalty != "l2" or self.solver != "auto":
                raise ValueError(
                    f"penalty is {self.penalty!r} and solver {self.solver!r}; on graphs with cycles a "
                    "CRF expects penalty='l2' and solver='auto'."
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
                f"l1_ratio is {shown(self.l1_ratio)} and penalty {self.penalty!r}; expected a share "
                "from 0 to 1 with penalty='elasticnet', and None with any other."
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
