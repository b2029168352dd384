"""The L1-norm maximum margin Markov network as an estimator."""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from medn_edu.checks import (
    check_choice,
    check_count,
    check_positive,
    random_generator,
    shown,
    warn_user,
)
from medn_edu.estimators.max_margin import MarginNetwork
from medn_edu.problems import (
    L1Ball,
    L1Norm,
    MarginLoss,
    Problem,
    Regulariser,
    SquaredL1Norm,
    l1_constant,
    l1_constant_of_em,
    weight_bounds,
)
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import (
    adaptive_m3n,
    l1_cutting_plane,
    l1_path,
    projected_subgradient,
    proximal_point,
)

_NEGLIGIBLE = 1e-6  # weights that can cost no more than this share of the objective are zeros
_ROUNDING = 1e-9  # share of the objective to which gaps are believed
_CLOSE = 1e-3  # gap at which the path's |w|_1 will do as a radius,
_MOST_STEPS = 1000  # its steps at most,
_TINY = 1e-100  # and the radius where that is 0
_IN_A_BALL = ("subgradient", "online_subgradient")
_MOST_SAMPLES, _MOST_WEIGHTS = 1_000, 10_000  # with more the path takes minutes
_SOLVERS = ("auto", "path", "proximal", "cutting_plane", *_IN_A_BALL, "em")
# Constants that only some of the solvers take.
_TAKERS = {
    "radius": _IN_A_BALL,
    "beta": _IN_A_BALL,
    "lam": ("em",),
    "threshold": ("em",),
    "clean_up": ("auto", "path"),
}


@dataclass(eq=False, repr=False)
class L1M3N(MarginNetwork):
    """Maximum margin Markov network that selects features (Zhu, Xing and Zhang, KDD 2009).

    Minimises ``|w|_1 / 2 + C sum_i xi_i``, where ``xi_i`` is the largest violation of the margins
    ``w . (f(x_i, y_i) - f(x_i, y)) >= loss_i(y)``.  This is P1 of the paper, a linear program.  In its
    solution few weights differ from 0, and few labellings have a dual variable above 0.  There are five
    ways to solve it:

    ``"path"``
        A sequence of Laplace MEDNs with growing ``lam``, and then a vertex of the linear program; with a
        duality gap.
    ``"proximal"``
        A sequence of elastic nets, in which the squares measure the distance from the solution so far;
        with a duality gap.  Its cost grows with the features that occur in the samples, so it also suits
        text.
    ``"cutting_plane"``
        Algorithm 1 of the paper, stabilised; with a duality gap.
    ``"subgradient"``, ``"online_subgradient"``
        Algorithm 2, in batch or sample by sample: subgradient steps on ``sum_i xi_i`` within the ball
        ``|w|_1 <= radius``.  The gap is that of this problem with a ball.
    ``"em"``
        Algorithm 3: a sequence of M3Ns with variances that adapt.  It ends after a fixed number of
        iterations and never counts as converged.  After 15 iterations the objective is mostly within 1 %
        of the optimum, but weights of irrelevant features are still on their way to 0.  A weight that
        has become 0 remains 0.

    Parameters
    ----------
    C : float, default=1.0
        Price of margin violations; positive.  Smaller values leave fewer weights.  If ``radius`` is
        given, ``C`` does not matter.  If ``lam`` is given, it is the ``C`` of the adaptive M3N.
    solver : str, default="auto"
        How to train: one of the solvers above, or ``"auto"``.  This chooses ``"path"`` for at most 1,000
        samples and 10,000 weights, or if ``clean_up`` is given, and ``"proximal"`` otherwise.
    radius : float, optional
        Largest ``|w|_1`` for the subgradient methods.  By default, the path first solves L1-M3N with
        this ``C``, and the radius is the ``|w|_1`` of its solution.
    beta : float, optional
        Makes the subgradient methods take steps of ``1 / (2 beta sqrt(t))``, as in the papers.  By
        default, the steps adapt (see `medn_edu.solvers.projected_subgradient`).
    lam : float, optional
        For EM: the constant of the adaptive M3N (P2 of the paper), which minimises
        ``w . diag(1/tau) w + C sum_i xi_i`` with ``mean(tau) = 1 / lam``.  By default it adapts, so that
        EM solves L1-M3N with this ``C``.
    n_iterations : int, default=15
        Number of quadratic programs that EM solves.
    threshold : float, optional
        EM sets a weight to 0 if its magnitude, relative to the mean magnitude, is at most the square of
        this threshold.  By default 1e-4.
    clean_up : bool, optional
        Whether the path ends at a vertex, where zeros are exact.  By default it does if that takes only
        seconds.  Otherwise small weights are rounded to 0 as far as ``tol`` allows.
    tol : float, default=0.01
        Relative duality gap at which to stop.  With EM, this is the gap of each quadratic program.
    max_iter : int, default=1000
        Largest number of passes over the samples; with EM, for each quadratic program.  The path solves
        at most this many Laplace MEDNs, with at most this many passes for each.  ``"proximal"`` solves
        at most this many elastic nets.
    warm_start : bool, default=False
        Whether a further fit to the same samples starts from the last solution.  The constants may
        change in between.  The path, the proximal solver and the cutting planes can do this.  The other
        solvers always start from scratch.
    forbidden, label_costs, edge_table, random_state, n_jobs, verbose
        As for `M3N`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import L1M3N
    >>> X = [np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.1]]), np.array([[0.0, 1.0, 0.3]])]
    >>> y = [["noun", "verb"], ["verb"]]
    >>> model = L1M3N(C=1.0, tol=1e-9).fit(X, y)
    >>> model.predict(X)[0]
    array(['noun', 'verb'], dtype='<U4')
    >>> round(model.result_.primal, 6), model.dead_features_[[2, 5]]  # nobody needs the third feature
    (1.0, array([ True,  True]))
    """

    C: float = 1.0
    solver: str = "auto"
    _: KW_ONLY
    radius: float | None = None
    beta: float | None = None
    lam: float | None = None
    n_iterations: int = 15
    threshold: float | None = None
    clean_up: bool | None = None

    # -- what was learned -----------------------------------------------------------------------

    @property
    def l1_constant_(self) -> float:
        """The ``C`` of the L1-M3N that this solution belongs to; NaN if there is none (yet).

        It is the model's own ``C``, or the one that follows from ``lam`` or from the dual variables of
        the ball (`medn_edu.problems.l1_constant`).
        """
        check_is_fitted(self, "coef_")
        C, lam = self._trained["C"], self._trained["lam"]
        if self._trained["solver"] in _IN_A_BALL:
            assert self.eta_ is not None
            return l1_constant(1.0, self.eta_) if self.eta_.any() else math.nan
        if lam is None:
            return float(C)
        # By the norm and not by eta: the |eta_k| of weights that became 0 may be large.
        n_weights, norm = len(self.weights_), float(np.abs(self.weights_).sum())
        return l1_constant_of_em(C, lam, n_weights, norm) if norm > 0 else math.nan

    @property
    def weight_bounds_(self) -> np.ndarray:
        """How large each weight can be in any solution (`medn_edu.problems.weight_bounds`).

        The bounds are in the order of ``weights_``.  If the model solved another problem (with a ball,
        or with ``lam``), this attribute and `certified_zeros_` raise an AttributeError.
        """
        check_is_fitted(self, "coef_")
        solver = self._trained["solver"]
        if solver in _IN_A_BALL or self._trained["lam"] is not None:
            raise AttributeError(
                f"this L1M3N has no weight_bounds_, because solver {solver!r} with these constants "
                "solved another problem than L1-M3N with its C; expected no radius and no lam, and a "
                "solver such as 'path'."
            )
        assert self.eta_ is not None
        return weight_bounds(self.result_.gap, self.eta_, _ROUNDING * self.result_.primal)

    @property
    def certified_zeros_(self) -> np.ndarray:
        """Which weights are 0 in every solution, or cost at most a millionth of the objective.

        There are none unless the gap is closed, so train with a ``tol`` of 1e-6 or less.
        """
        return 0.5 * self.weight_bounds_ <= _NEGLIGIBLE * self.result_.primal

    @property
    def dead_features_(self) -> np.ndarray:
        """Which weights are exactly 0."""
        return self.weights_ == 0

    # -- training -------------------------------------------------------------------------------

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        self._check_constants()
        in_a_ball = self.solver in _IN_A_BALL
        loss = MarginLoss(LinearSlack(1.0 if in_a_ball else self.C))
        norm: Regulariser = L1Norm()
        if in_a_ball:
            norm = L1Ball(self._radius(data, n_jobs) if self.radius is None else self.radius)
        elif self.lam is not None:
            norm = SquaredL1Norm(self.lam / data.weight_shape.size)
        return Problem(data, loss, norm, n_jobs)

    def _penalised(self, data: LabelledSamples, n_jobs: int) -> Problem:
        """Return L1-M3N itself, whatever the solver makes of it."""
        self._check_constants()
        for name in ("radius", "lam"):
            if getattr(self, name) is not None:
                raise AttributeError(
                    f"this L1M3N has no critical_constant, because with {name} given, C is not the "
                    f"constant of its L1 norm; expected {name}=None."
                )
        return Problem(data, MarginLoss(LinearSlack(self.C)), L1Norm(), n_jobs)

    def _check_constants(self) -> None:
        check_choice("solver", self.solver, _SOLVERS)
        for name, solvers in _TAKERS.items():
            value = getattr(self, name)
            if value is not None and self.solver not in solvers:
                raise ValueError(
                    f"{name} is {shown(value)}, but the solver {self.solver!r} does not use it; "
                    f"expected None, or the solver {' or '.join(map(repr, solvers))}."
                )
            if value is not None and name != "clean_up":
                check_positive(name, value, most=1e150 if name == "threshold" else math.inf)
        if not isinstance(self.clean_up, bool | np.bool_ | None):
            raise TypeError(f"clean_up is {shown(self.clean_up)}; expected True, False or None.")
        check_positive("C", self.C)
        check_count("n_iterations", self.n_iterations)

    def _radius(self, data: LabelledSamples, n_jobs: int) -> float:
        """Find the ball on whose boundary the solution with this ``C`` lies."""
        problem = Problem(data, MarginLoss(LinearSlack(self.C)), L1Norm(), n_jobs)
        tol = min(self.tol, _CLOSE)
        path = l1_path(problem, rng=random_generator(self.random_state), tol=tol)
        result = run(path, problem, tol=tol, max_iter=_MOST_STEPS)
        if not result.converged:
            warn_user(
                f"the path that looks for the radius that belongs to C = {self.C:g} ended early "
                f"({result.status}, relative gap {result.relative_gap:.2g}); give a radius yourself."
            )
        # At a small C no weight is worth its price; a ball must not be empty.
        return max(float(np.abs(result.weights).sum()), _TINY)

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        rng = random_generator(self.random_state)
        solver = self.solver
        if solver == "auto":
            few = problem.n_samples <= _MOST_SAMPLES and problem.weight_shape.size <= _MOST_WEIGHTS
            solver = "path" if few or self.clean_up is not None else "proximal"
        if solver == "proximal":
            return proximal_point(problem, rng=rng, warm_start=start)
        if solver == "path":
            return l1_path(
                problem,
                rng=rng,
                tol=self.tol,
                clean_up=None if self.clean_up is None else bool(self.clean_up),
                max_passes=self.max_iter,
                warm_start=start,
            )
        if solver == "cutting_plane":
            return l1_cutting_plane(problem, warm_start=start)
        if solver == "em":
            return adaptive_m3n(
                problem,
                rng=rng,
                n_iterations=self.n_iterations,
                tol=float(self.tol),
                max_iter=self.max_iter,
                threshold=1e-4 if self.threshold is None else self.threshold,
            )
        online = solver == "online_subgradient"
        return projected_subgradient(problem, rng=rng, online=online, beta=self.beta)

    def _n_steps(self) -> int | None:
        return self.n_iterations if self.solver == "em" else None
