"""Maximum entropy discrimination Markov networks as estimators: any prior, and the Laplace prior."""

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from medn_edu.checks import check_choice, check_count, random_generator, shown
from medn_edu.estimators.max_margin import PriorNetwork
from medn_edu.priors import LaplacePrior, Prior, check_prior
from medn_edu.problems import DualVariables, Problem
from medn_edu.problems.losses import score_rounding
from medn_edu.results import SolveResult
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack, Slack, check_slack
from medn_edu.solvers import variational_laplace
from medn_edu.solvers.textbook.m3n_solvers import check_m3n_solver

# How the status of such a solution begins.  A saved model tells by it what it is, whatever parameters
# have been set since.
_VARIATIONAL = "variational method: "


@dataclass(eq=False, repr=False)
class MEDN(PriorNetwork):
    """Maximum entropy discrimination Markov network, for any prior and slack (MEDN P1, Theorem 2).

    Finds a distribution ``p(w)`` over weights.  Its expected margins must be large enough, up to slacks
    ``xi_i`` that cost ``U(xi_i)``, and otherwise it is as close as possible to the prior, measured by
    ``KL(p || p0)``.  Predicts with the mean of ``p``.  Block-coordinate Frank-Wolfe solves the dual and
    certifies a duality gap.

    Parameters
    ----------
    prior : Prior, optional
        Prior of every weight: one of `medn_edu.priors`, or your own subclass of
        `medn_edu.priors.Prior`.  Your own prior is not compiled, so training takes several times as
        long.  By default, the standard Laplace prior, ``LaplacePrior(lam=1.0)``.
    slack : Slack, optional
        Price of violated margins, one of `medn_edu.slacks`; by default ``LinearSlack(C=1.0)``.
    forbidden, label_costs, edge_table, tol, max_iter, warm_start, random_state, n_jobs, verbose
        As for `M3N`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import MEDN
    >>> from medn_edu.priors import BoxPrior
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [["noun", "verb"], ["verb"]]
    >>> model = MEDN(prior=BoxPrior(a=2.0)).fit(X, y)
    >>> model.predict(X)[0]
    array(['noun', 'verb'], dtype='<U4')
    >>> bool(np.abs(model.posterior_mean_).max() < 2.0)
    True
    """

    prior: Prior | None = None
    slack: Slack | None = None

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        prior = check_prior(self._prior(), data.weight_shape.size)
        problem = super()._problem(data, n_jobs)
        _check_scores(data, prior)
        return problem

    def _prior(self) -> Prior:
        if isinstance(self.prior, str):
            raise TypeError(
                f"prior is {shown(self.prior)}; expected a Prior, such as LaplacePrior(lam=1.0); for a "
                "loaded model set_params(prior=...) sets it again."
            )
        return LaplacePrior() if self.prior is None else self.prior

    def _slack(self) -> Slack:
        return LinearSlack() if self.slack is None else check_slack(self.slack)


@dataclass(eq=False, repr=False)
class LaplaceMEDN(PriorNetwork):
    """MEDN with a Laplace prior, exactly or by the papers' variational method (MEDN 3.3 and 5).

    The prior has the density ``sqrt(lam) / 2 exp(-sqrt(lam) |w|)``.  It shrinks the weights of features
    that hardly matter, and few labellings have a dual variable above 0.

    ``method="exact"`` solves the dual of Theorem 5 and certifies a duality gap.  A very large ``C`` or
    ``lam`` takes many passes.  It takes fewer if you approach it in steps with ``warm_start=True``.

    ``method="variational"`` runs Algorithm 1, which lowers a bound.  Its posterior is normal.  The gap
    in ``result_`` is that of the exact problem at the posterior's mean.  More iterations need not close
    this gap, so training ends after a fixed number of them and never counts as converged.

    Parameters
    ----------
    C : float, default=1.0
        Price of margin violations; positive.  Larger values fit the training data more closely.
    lam : float, default=36.0
        The prior's ``lam``, 2 divided by its variance; positive.  Larger values shrink more.
    method : {"exact", "variational"}, default="exact"
        How to train.
    n_iterations : int, default=3
        Number of quadratic programs that the variational method solves.
    solver : str, default="block_frank_wolfe"
        Solver of these quadratic programs, one of `medn_edu.solvers.M3N_SOLVERS`.  The default is the
        fastest.  The exact method has only one solver, the default.
    beta : float, optional
        Makes the subgradient solvers of these programs take steps of ``1 / (2 beta sqrt(t))``, as in the
        papers.
    tol : float, default=0.01
        Relative duality gap at which to stop; in the variational method, for each quadratic program.
    max_iter : int, default=1000
        Largest number of passes over the samples; in the variational method, for each program.
    warm_start : bool, default=False
        Whether a further fit to the same samples starts from the last solution.  The constants may
        change in between.  In the variational method, each program starts from the solution that the
        last fit found in the same iteration.
    forbidden, label_costs, edge_table, random_state, n_jobs, verbose
        As for `M3N`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import LaplaceMEDN
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = ["ab", "b"]
    >>> exact = LaplaceMEDN(lam=4.0, tol=1e-6).fit(X, y)
    >>> bool(np.allclose(exact.posterior_mean_, 2 * exact.eta_ / (4.0 - exact.eta_**2)))
    True
    >>> variational = LaplaceMEDN(lam=4.0, method="variational").fit(X, y)
    >>> len(variational.bounds_), variational.result_.primal > exact.result_.dual
    (3, True)
    """

    C: float = 1.0
    lam: float = 36.0
    method: str = "exact"
    n_iterations: int = 3
    solver: str = "block_frank_wolfe"
    _: KW_ONLY
    beta: float | None = None

    @property
    def bounds_(self) -> list[float]:
        """Bound on the primal value after each iteration of the variational method; else empty."""
        check_is_fitted(self, "coef_")
        if not self.result_.status.startswith(_VARIATIONAL):
            return []
        return [point.objective_estimate for point in self.result_.trace]

    def _prior(self) -> LaplacePrior:
        check_choice("method", self.method, ("exact", "variational"))
        check_count("n_iterations", self.n_iterations)
        check_m3n_solver(self.solver, self.beta)
        if self.method == "exact" and self.solver != "block_frank_wolfe":
            raise ValueError(
                f"solver is {self.solver!r} and method 'exact', where the dual is not a quadratic "
                "program; expected solver='block_frank_wolfe', or method='variational'."
            )
        return LaplacePrior(self.lam)

    def _slack(self) -> LinearSlack:
        return LinearSlack(self.C)

    def _n_steps(self) -> int | None:
        return None if self.method == "exact" else self.n_iterations

    def _solve(self, problem: Problem, start: SolveResult | None) -> SolveResult:
        if self.method == "exact":
            result = super()._solve(problem, start)
            self._programs: list[DualVariables] = []  # the last ones may be of other samples
            return result
        programs: list[DualVariables] = [*getattr(self, "_programs", [])] if start else []
        iterates = variational_laplace(
            problem,
            rng=random_generator(self.random_state),
            n_iterations=self.n_iterations,
            tol=float(self.tol),
            max_iter=self.max_iter,
            programs=programs,
            solver=self.solver,
            beta=self.beta,
        )
        result = self._run(iterates, problem)
        self._programs = programs
        return replace(result, status=_VARIATIONAL + result.status)


def _check_scores(data: LabelledSamples, prior: Prior) -> None:
    """Refuse features with which rounding would hide the loss from the very first scores.

    Only a prior whose mean is not 0 has scores at the start.
    """
    start = np.zeros(data.weight_shape.size)
    mean = np.broadcast_to(prior.mean(start), start.shape)
    rounding = score_rounding(data, mean)
    i = int(np.argmax(rounding))
    if mean.any() and rounding[i] > np.min(data.loss_scale):  # the least loss there is
        samples = data.samples
        rows = slice(*samples.indptr[samples.offsets[i : i + 2]])
        raise ValueError(
            f"sample {i} of X has features of size {np.abs(samples.data[rows]).max():.3g}, and the "
            f"first scores under {prior!r} are so large that rounding may hide the loss; rescale or "
            "centre the features, to about 1, or choose a prior with a smaller mean."
        )
