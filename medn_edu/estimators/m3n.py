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
    ``w . (f(x_i, y_i) - f(x_i, y)) >= loss_i(y)``.  The default solver is block-coordinate Frank-Wolfe
    on the dual.  The same weights are the mean of the MEDN posterior under a standard normal prior
    (Theorem 3).

    On graphs with cycles the largest violation is relaxed to the local polytope (``solved_`` says so).
    The gap is that of the relaxation, and `predict` decodes max-product messages.

    With ``l1_ratio`` the squares become an elastic net, ``[(1 - l1_ratio) |w|^2 + l1_ratio |w|_1] / 2``.
    It makes a weight exactly 0 if its feature helps less than the penalty costs.  No prior corresponds
    to an elastic net, so the model then has ``weights_`` but no posterior.

    Parameters
    ----------
    C : float, default=1.0
        Price of margin violations; positive.  Larger values fit the training data more closely.
        Violations grow with the length of a sample, so cut samples of thousands of nodes into pieces, or
        choose a small ``C``.
    solver : str, default="block_frank_wolfe"
        How to train, one of `medn_edu.solvers.M3N_SOLVERS`.  The default is the fastest.  The others are
        there for study: they start from scratch even with ``warm_start=True``, and they do not support
        ``l1_ratio``.  Some of them do not support edge features, allowed labels or costs either.
    l1_ratio : float, default=0.0
        Share of the L1 term in an elastic net, at least 0 and below 1.  Training takes more passes as it
        comes closer to 1.  `L1M3N` has the L1 term alone.
    beta : float, optional
        Makes the subgradient solvers take steps of ``1 / (2 beta sqrt(t))``.  The papers choose
        ``C = 200 * beta``, which you must set yourself.  The default steps reach the optimum sooner.
    counting_numbers : str, pair of floats or None, default=None
        For graphs with cycles, where the maximum is relaxed to the local polytope.  These numbers are
        not part of the objective.  They only change the way in which messages reach its optimum.
    forbidden : collection of pairs, or dict from edge type to pairs, optional
        Transitions ``(parent's label, child's label)`` that never occur.  (To restrict the labels of a
        single node, use ``allowed_labels`` of `Forest` or `Graph`.)
    label_costs : dict from label to cost, optional
        What it costs to get a node wrong, by the node's true label; 1 for labels that are not listed.
        The loss of a labelling is then the sum of these costs over its wrong nodes, instead of their
        number.  Raise the cost of labels that are rare or matter more: their margins become larger.
    edge_table : {"full", "potts", "ising"}, default="full"
        Which weights a transition has.  ``"full"`` has one for each pair of labels.  ``"potts"`` has a
        single weight, added where both labels are equal.  With edge features, each feature has its own
        set.  ``"ising"`` is for two labels, and replaces the first by -1 and the second by +1.  Then a
        node scores its label times ``w . x``, with one row of weights, and an edge scores the product of
        its two labels times a single weight.  The default solver does not support Ising tables: use
        ``"cutting_plane"``, or another model such as `CRF`.
    tol : float, default=0.01
        Relative duality gap at which to stop.  If ``tol`` is below 1e-10, ``"online_subgradient"``
        computes the gap only at the end, which makes training faster.  It never reaches so small a gap.
    max_iter : int, default=1000
        Largest number of passes over the samples.
    warm_start : bool, default=False
        Whether a further fit to the same samples starts from the last solution.  The constants may
        change in between.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the order in which samples are visited.
    n_jobs : int, default=1
        Number of threads for sweeps over all samples; results do not depend on it.  During a fit, each
        of these threads has only one BLAS thread, so that the fit never uses more than ``n_jobs``.
        Afterwards the earlier limit of BLAS is restored.
    verbose : int, default=1
        Whether to show progress when training takes over two seconds; 0 shows none.

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
            raise ValueError("l1_ratio is 1, which leaves no squares; expected below 1, or L1M3N.")
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
