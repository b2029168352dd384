"""The L1-norm maximum margin Markov network as an estimator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

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
from medn_edu.estimators.progress import StepProgress
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
from medn_edu.solvers import adaptive_m3n, l1_cutting_plane, l1_path, projected_subgradient

__all__ = ["L1M3N"]

_NEVER = 1e-300  # a gap at which no run ends, unless nothing is left of it
_THRESHOLD = 1e-4  # of beta, as in the paper
_NEGLIGIBLE = 1e-6  # weights that can cost no more than this share of the objective are zeros
_ROUNDING = 1e-9  # share of the objective to which gaps are believed
_CLOSE = 1e-3  # gap at which the path's |w|_1 will do as a radius,
_MOST_STEPS = 1000  # its steps at most,
_TINY = 1e-100  # and the radius where that is 0
_IN_A_BALL = ("subgradient", "online_subgradient")
# Constants that only some of the solvers know.
_KNOWN_BY = {
    "path": ("clean_up",),
    "cutting_plane": (),
    "subgradient": ("radius", "beta"),
    "online_subgradient": ("radius", "beta"),
    "em": ("lam", "threshold"),
}


class L1M3N(MarginNetwork):
    """Maximum margin Markov network that selects features (Zhu, Xing and Zhang, KDD 2009).

    Minimises ``|w|_1 / 2 + C sum_i xi_i``, where ``xi_i`` is the largest violation of the margins
    ``w . (f(x_i, y_i) - f(x_i, y)) >= loss_i(y) - xi_i`` (P1 of the paper), a linear program.  Few
    weights differ from 0, and few labellings carry dual mass.  Four ways to solve it:

    ``"path"``
        Laplace MEDNs with ``lam`` growing, then a vertex of the linear program; with a duality gap.
    ``"cutting_plane"``
        Algorithm 1 of the paper, stabilised; with a duality gap.
    ``"subgradient"``, ``"online_subgradient"``
        Algorithm 2, in batch or sample by sample: sub-gradient steps on ``sum_i xi_i`` within the ball
        ``|w|_1 <= radius``; the gap is that of this other problem.
    ``"em"``
        Algorithm 3: M3Ns whose variances adapt.  It ends when its iterations are done, which counts
        as done and not as converged; after 15 the objective is mostly within 1 %, while weights of
        irrelevant features are still on their way to 0.  What has died never comes back.

    Parameters
    ----------
    C : float, default=1.0
        Price of margin violations; positive.  Smaller values leave fewer weights.  Does not matter
        where ``radius`` is given; with ``lam`` it is the ``C`` of the adaptive M3N.
    solver : {"path", "cutting_plane", "subgradient", "online_subgradient", "em"}, default="path"
        How to train.
    radius : float, optional
        Largest ``|w|_1`` for the sub-gradient methods; by default that of the solution with this ``C``,
        which the path finds first.
    beta : float, optional
        Steps ``1 / (2 beta sqrt(t))`` for the sub-gradient methods, as in the papers; by default steps
        of our own.
    lam : float, optional
        Constant of the adaptive M3N (P2 of the paper) for EM, ``w . diag(1/tau) w + C sum_i xi_i`` with
        ``mean(tau) = 1 / lam``; by default it adapts so that L1-M3N is solved with this ``C``.
    n_iterations : int, default=15
        Number of quadratic programs of EM.
    threshold : float, optional
        Features with a ``beta_k`` of at most this die in EM; the mean of ``beta_k^2`` is 1.  By default
        1e-4.
    clean_up : bool, optional
        Whether the path ends at a vertex, whose zeros are exact; by default where that takes seconds.
        Otherwise small weights are rounded to 0 as far as ``tol`` allows.
    forbidden : collection of pairs, or dict from edge type to pairs, optional
        Transitions ``(parent's label, child's label)`` that never occur.
    tol : float, default=0.01
        Relative duality gap at which to stop; with EM that of each quadratic program.
    max_iter : int, default=1000
        Largest number of passes; with EM for each quadratic program.  With the path it is the largest
        number of Laplace MEDNs, and of passes for each of them.
    warm_start : bool, default=False
        Go on from the last solution when fitted again to the same samples, perhaps with another ``C``:
        the path and the cutting planes do; the other solvers start afresh.
    random_state : int, numpy.random.Generator or None, default=0
        Order in which samples are visited.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.
    verbose : int, default=1
        Whether to show progress when training takes over two seconds.

    Attributes
    ----------
    l1_constant_ : float
        Constant of the L1-M3N that the solution belongs to: ``C``, or what the ball's dual variables or
        ``lam`` say (`medn_edu.problems.constants`).
    weight_bounds_ : ndarray of shape (n_weights,)
        How large each weight can be in any solution, in the order of ``weights_``.
    certified_zeros_ : ndarray of bool, shape (n_weights,)
        Which weights are 0 in every solution; none unless the gap is closed, so ask for a ``tol`` of
        1e-6 or less.
    dead_features_ : ndarray of bool, shape (n_weights,)
        Which weights are exactly 0; with EM those that died.

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

    The same solution, by another way and another constant:

    >>> radius = float(np.abs(model.weights_).sum())
    >>> ball = L1M3N(solver="subgradient", radius=radius, tol=1e-3).fit(X, y)
    >>> bool(np.abs(ball.weights_).sum() <= radius * (1 + 1e-9))
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        solver: str = "path",
        *,
        radius: float | None = None,
        beta: float | None = None,
        lam: float | None = None,
        n_iterations: int = 15,
        threshold: float | None = None,
        clean_up: bool | None = None,
        forbidden: Any = None,
        tol: float = 1e-2,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int = 1,
        verbose: int = 1,
    ) -> None:
        self.C = C
        self.solver = solver
        self.radius = radius
        self.beta = beta
        self.lam = lam
        self.n_iterations = n_iterations
        self.threshold = threshold
        self.clean_up = clean_up
        self.forbidden = forbidden
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- what was learned -----------------------------------------------------------------------

    @property
    def l1_constant_(self) -> float:
        """Constant of the L1-M3N that the solution belongs to; NaN if there is none (yet)."""
        check_is_fitted(self, "coef_")
        C, lam = self._trained["C"], self._trained["lam"]
        if self._trained["solver"] in _IN_A_BALL:
            assert self.eta_ is not None
            return l1_constant(1.0, self.eta_) if self.eta_.any() else math.nan
        if lam is None:
            return float(C)
        # By the norm and not by eta: nothing keeps the |eta_k| of features that died small.
        n_weights, norm = len(self.weights_), float(np.abs(self.weights_).sum())
        return l1_constant_of_em(C, lam, n_weights, norm) if norm > 0 else math.nan

    @property
    def weight_bounds_(self) -> np.ndarray:
        """How large each weight can be in any solution (`medn_edu.problems.weight_bounds`)."""
        check_is_fitted(self, "coef_")
        solver = self._trained["solver"]
        if solver in _IN_A_BALL or self._trained["lam"] is not None:
            raise AttributeError(
                "weight_bounds_ are known for solutions of L1-M3N with its own C; expected no radius "
                f"and no lam, and another solver than {solver!r}, such as 'path'."
            )
        assert self.eta_ is not None
        return weight_bounds(self.result_.gap, self.eta_, _ROUNDING * self.result_.primal)

    @property
    def certified_zeros_(self) -> np.ndarray:
        """Which weights are 0 in every solution, or cost less than a millionth of the objective."""
        return 0.5 * self.weight_bounds_ <= _NEGLIGIBLE * self.result_.primal

    @property
    def dead_features_(self) -> np.ndarray:
        """Which weights are exactly 0."""
        return self.weights_ == 0

    # -- training -------------------------------------------------------------------------------

    def _set_weights(self, n_features: int) -> None:
        super()._set_weights(n_features)
        # What was learned must not change when parameters are set for another fit.
        self._trained = {name: getattr(self, name) for name in ("C", "lam", "solver")}

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        self._check_constants()
        slack = LinearSlack(1.0 if self.solver in _IN_A_BALL else self.C)
        return Problem(data, MarginLoss(slack), self._norm(data, n_jobs), n_jobs)

    def _check_constants(self) -> None:
        check_choice("solver", self.solver, _KNOWN_BY)
        for name in ("radius", "beta", "lam", "threshold", "clean_up"):
            if getattr(self, name) is not None and name not in _KNOWN_BY[self.solver]:
                takers = " or ".join(repr(s) for s, names in _KNOWN_BY.items() if name in names)
                raise ValueError(
                    f"{name} is {shown(getattr(self, name))}, which the solver {self.solver!r} does not "
                    f"know; expected None, or the solver {takers}."
                )
        for name in ("radius", "beta", "lam", "threshold"):
            if getattr(self, name) is not None:
                most = 1e150 if name == "threshold" else math.inf  # of a square
                check_positive(name, getattr(self, name), most=most)
        if not isinstance(self.clean_up, bool | np.bool_ | None):
            raise TypeError(f"clean_up is {shown(self.clean_up)}; expected True, False or None.")
        check_positive("C", self.C)
        check_count("n_iterations", self.n_iterations)

    def _norm(self, data: LabelledSamples, n_jobs: int) -> Regulariser:
        """Return what weights cost: the constant in the terms of the solver."""
        if self.solver in _IN_A_BALL:
            return L1Ball(self._radius(data, n_jobs) if self.radius is None else self.radius)
        if self.lam is not None:
            return SquaredL1Norm(self.lam / data.weight_shape.size)
        return L1Norm()

    def _radius(self, data: LabelledSamples, n_jobs: int) -> float:
        """Find the ball on whose boundary the solution with this ``C`` lies."""
        problem = Problem(data, MarginLoss(LinearSlack(self.C)), L1Norm(), n_jobs)
        tol = min(self.tol, _CLOSE)
        path = l1_path(problem, rng=random_generator(self.random_state), tol=tol)
        result = run(path, problem, tol=tol, max_iter=_MOST_STEPS)
        if not result.converged:
            warn_user(
                f"the path that should find the radius for C = {self.C:g} ended early "
                f"({result.status}, relative gap {result.relative_gap:.2g}); give a radius."
            )
        # At a small C no weight is worth its price; a ball must not be empty.
        return max(float(np.abs(result.weights).sum()), _TINY)

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        rng = random_generator(self.random_state)
        if self.solver == "path":
            clean_up = None if self.clean_up is None else bool(self.clean_up)
            return l1_path(
                problem,
                rng=rng,
                tol=self.tol,
                clean_up=clean_up,
                max_passes=self.max_iter,
                warm_start=start,
            )
        if self.solver == "cutting_plane":
            return l1_cutting_plane(problem, warm_start=start)
        if self.solver == "em":
            return adaptive_m3n(
                problem,
                rng=rng,
                n_iterations=self.n_iterations,
                tol=float(self.tol),
                max_iter=self.max_iter,
                threshold=_THRESHOLD if self.threshold is None else self.threshold,
            )
        online = self.solver == "online_subgradient"
        return projected_subgradient(problem, rng=rng, online=online, beta=self.beta)

    def _solve(self, problem: Problem, start: SolveResult | None) -> SolveResult:
        if self.solver != "em":
            return super()._solve(problem, start)
        passes = self._iterates(problem, start)
        with StepProgress("L1M3N", self.n_iterations, shown=bool(self.verbose)) as progress:
            # EM ends when its iterations are done, however close it is.
            n_iterations = self.n_iterations
            return run(passes, problem, tol=_NEVER, max_iter=n_iterations, callback=progress)

    def _warn(self, result: SolveResult, problem: Problem) -> None:
        if self.solver != "em":
            super()._warn(result, problem)
