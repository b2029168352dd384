"""The maximum margin Markov network as an estimator."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

from medn_edu.checks import check_share, random_generator
from medn_edu.estimators.graphs import GraphNetwork
from medn_edu.estimators.max_margin import PriorNetwork
from medn_edu.priors import GaussianPrior
from medn_edu.problems import ElasticNet, LocalProblem, Problem
from medn_edu.results import Iterate, SolveResult
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import m3n_iterates
from medn_edu.solvers.textbook.m3n_solvers import check_m3n_solver


@dataclass(eq=False, repr=False)
class M3N(GraphNetwork, PriorNetwork):
    """Maximum margin Markov network (Taskar et al. 2003; MEDN P0).

    Minimises ``|w|^2 / 2 + C sum_i xi_i``, where ``xi_i`` is the largest violation of the margins
    ``w . (f(x_i, y_i) - f(x_i, y)) >= loss_i(y)``, by default with block-coordinate Frank-Wolfe on the
    dual.  The same weights are the mean of the MEDN posterior under a standard normal prior (Theorem 3).

    On graphs with cycles the largest violation is relaxed to the local polytope (``solved_`` says so).
    The gap is that of the relaxation, and `predict` decodes max-product messages.

    With ``l1_ratio`` the squares become an elastic net, ``[(1 - l1_ratio) |w|^2 + l1_ratio |w|_1] / 2``,
    which makes weights exactly 0 where a feature is not worth its price.  No prior leads to it, so the
    model then has ``weights_`` but no posterior.

    Parameters
    ----------
    C : float, default=1.0
        Price of margin violations; positive.  Larger values fit the training data harder.  Violations
        grow with the length of a sample, so cut samples of thousands of nodes into pieces, or choose a
        small ``C``.
    solver : str, default="block_frank_wolfe"
        How to train, one of `medn_edu.solvers.M3N_SOLVERS`.  The default is the fastest; the others are
        there for study, start afresh also with ``warm_start=True``, and take no ``l1_ratio``; some take
        no edge features, allowed labels and costs either.
    l1_ratio : float, default=0.0
        Share of the magnitudes in an elastic net, from 0 to below 1.  The closer to 1, the more passes
        it takes; `L1M3N` has magnitudes alone.
    beta : float, optional
        Steps ``1 / (2 beta sqrt(t))`` for the sub-gradient solvers.  The papers choose
        ``C = 200 * beta``, which you must set yourself.  By default steps that reach the optimum sooner.
    counting_numbers : str, pair of floats or None, default=None
        For graphs with cycles, where the maximum is relaxed to the local polytope.  They have no part in
        the objective, and only change how messages get to its optimum.
    forbidden : collection of pairs, or dict from edge type to pairs, optional
        Transitions ``(parent's label, child's label)`` that never occur.  (Labels that a single node
        cannot have are a part of the sample, `Forest`.)
    label_costs : dict from label to cost, optional
        Cost of getting a node wrong whose true label is this one; 1 for labels that are not listed.  So
        a labelling's loss is not the number of its wrong nodes but the sum of their costs.
        Raise it for labels that are rare or matter more: their margins become larger.
    edge_table : {"full", "potts", "ising"}, default="full"
        Weights of a transition: ``"full"`` has one for each pair of labels, ``"potts"`` a single one,
        added where both labels are equal.  With edge features, each feature has its own set.
        ``"ising"`` takes the first of two labels for -1 and the second for +1.  A node scores its label
        times ``w . x``, with one row of weights, and an edge both labels times a single weight.  The
        default solver takes no Ising tables: use ``"cutting_plane"``, or another model, such as `CRF`.
    tol : float, default=0.01
        Relative duality gap at which to stop.  With one below 1e-10 ``"online_subgradient"``, which
        never comes so far, computes it at the end alone; training is faster for that.
    max_iter : int, default=1000
        Largest number of passes over the samples.
    warm_start : bool, default=False
        Go on from the last solution when fitted again to the same samples, with any constants.
    random_state : int, numpy.random.Generator or None, default=0
        Order in which samples are visited.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.  Meanwhile each of them has
        one BLAS thread, so that a fit never takes more than ``n_jobs``, and the limit of BLAS is then
        set back to what it was.
    verbose : int, default=1
        Whether to show progress when training takes over two seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [["noun", "verb"], ["verb"]]
    >>> model = M3N(C=1.0).fit(X, y)
    >>> model.predict(X)[0]
    array(['noun', 'verb'], dtype='<U4')
    >>> model.result_.relative_gap <= 0.01
    True
    """

    C: float = 1.0
    solver: str = "block_frank_wolfe"
    _: KW_ONLY
    l1_ratio: float = 0.0
    beta: float | None = None

    def _prior(self) -> GaussianPrior | ElasticNet:
        share = check_share("l1_ratio", self.l1_ratio)
        if share == 1:
            raise ValueError("l1_ratio is 1, without squares; expected a share below 1, or L1M3N.")
        if share == 0:
            return GaussianPrior()
        if check_m3n_solver(self.solver) != "block_frank_wolfe":
            raise ValueError(
                f"l1_ratio is {share:g} and solver {self.solver!r}; expected l1_ratio=0, or "
                "solver='block_frank_wolfe', the only one that takes an elastic net."
            )
        return ElasticNet(l1=share / 2, l2=1 - share)

    def _slack(self) -> LinearSlack:
        return LinearSlack(self.C)

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        if not self._is_local(data.samples):
            return super()._problem(data, n_jobs)
        prior, slack = self._prior(), self._slack()
        if not isinstance(prior, GaussianPrior) or self.solver != "block_frank_wolfe":
            raise ValueError(
                f"l1_ratio is {self.l1_ratio!r} and solver {self.solver!r}; on graphs with cycles M3N "
                "expects l1_ratio=0 and the default solver."
            )
        return self._local_problem(data, n_jobs, epsilon=0.0, C=slack.C, loss_augmented=True)

    def _temperature(self) -> float:
        return 0.0

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        if isinstance(problem, LocalProblem):
            return self._local_iterates(problem, start)
        if check_m3n_solver(self.solver, self.beta) == "block_frank_wolfe":
            return super()._iterates(problem, start)
        rng = random_generator(self.random_state)
        return m3n_iterates(problem, self.solver, rng=rng, beta=self.beta, tol=self.tol)
