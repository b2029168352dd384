"""Running solvers: when to stop, certificates, clocks and records, in one place for all solvers.

A *solver* is a generator that improves a solution and yields an `Iterate` after each pass.  It does
not time itself, decide when to stop, or print.  `run` does all of that: it steps a solver until the
problem's *certificate* says that the solution is good enough.

The certificate is the duality gap.  The primal value ``P`` at weights ``w`` is an upper bound on the
optimum, and the dual value ``D`` at dual variables ``alpha`` is a lower bound.  So ``P - D`` bounds how
far ``w`` is from optimal, whatever the solver did.  Both values are computed from scratch, from
``weights`` and ``alpha`` alone.  That costs a sweep over all samples, so `run` computes them only when
the solver's own cheap estimate says that it is worth it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.checks import check_count, check_positive
from medn_edu.problems import Certificate, Dual, DualVariables, LocalPoint, Problem

__all__ = ["OVERFLOW", "STUCK", "Iterate", "SolveResult", "TracePoint", "run"]

MAX_WAIT = 10  # passes without a certificate although the solver's estimate is below the tolerance
OVERFLOW = (
    "the weights cannot be computed in double precision: features, sample weights or constants are "
    "too large; rescale the features, to about 1."
)
"""What is said when numbers overflow."""
STUCK = "the objective can no longer be lowered in floating point"
"""Why a solver of smooth problems ends short of its goal."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """What a solver yields after a pass.  The next pass overwrites its arrays, so copy what you keep.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_weights,)
        Current weights.
    gap_estimate : float
        The solver's own estimate of the absolute duality gap, which only decides when to compute a
        certificate.  Infinite if the solver has no estimate.
    objective_estimate : float
        The solver's own estimate of the primal or dual value, with which the gap is compared.  It may
        be NaN if the gap estimate is infinite.
    n_oracle_calls : int
        Calls of the decoding or summing oracle so far, one for each visit to a sample.
    dual : callable or None
        Returns the dual variables of this iterate when called.
    stopped : str
        Why the solver cannot go on, or the empty string.
    variance : ndarray of float64, shape (n_weights,), or None
        Posterior variances of the weights, where there is a posterior.
    """

    weights: np.ndarray
    gap_estimate: float
    objective_estimate: float
    n_oracle_calls: int
    dual: Callable[[], Any] | None = None
    stopped: str = ""
    variance: np.ndarray | None = None

    def certify(self, problem: Problem) -> Certificate:
        """Compute the primal and the dual value at this iterate, each from scratch."""
        return problem.certify(self.weights, None if self.dual is None else self.dual())


@dataclass(frozen=True)
class TracePoint:
    """One line of the history of a run.

    Parameters
    ----------
    n_passes : int
        Passes so far.
    n_oracle_calls : int
        Oracle calls so far, including those of certificates.
    seconds : float
        Time spent in the solver and its certificates so far, without callbacks.
    gap_estimate, objective_estimate : float
        The solver's own estimates of the gap and of the objective.
    primal, dual : float
        Certified values; NaN if no certificate was computed after this pass.
    """

    n_passes: int
    n_oracle_calls: int
    seconds: float
    gap_estimate: float
    objective_estimate: float
    primal: float = float("nan")
    dual: float = float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class SolveResult:
    """A solution with its certificate.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_weights,)
        The solution.
    eta : ndarray or None
        Natural parameter of the posterior; for M3N equal to ``weights``.
    alpha : DualVariables or None
        Dual variables, if the solver keeps labellings.
    primal, dual, gap, relative_gap : float
        The certificate: upper bound, lower bound, their difference, and this difference relative to
        ``primal``.
    n_passes, n_oracle_calls : int
        Work done; the oracle calls include those of certificates.
    seconds : float
        Time the solver and the certificates took.
    converged : bool
        Whether the certified relative gap is at most the tolerance asked for.
    status : str
        One sentence on why the run ended.
    trace : list of TracePoint
        History, one entry per pass.
    subgradient_norm : float or None
        Largest entry of the minimum-norm subgradient, for a regulariser with kinks.
    variance : ndarray or None
        Posterior variances of the weights, if there is a posterior.
    marginals : Dual, LocalPoint or None
        For a solver that keeps no labellings: its dual variables, mostly
        `medn_edu.problems.DualMarginals`, or its messages and beliefs.
    """

    weights: np.ndarray
    eta: np.ndarray | None
    alpha: DualVariables | None
    primal: float
    dual: float
    gap: float
    relative_gap: float
    n_passes: int
    n_oracle_calls: int
    seconds: float
    converged: bool
    status: str
    trace: list[TracePoint]
    subgradient_norm: float | None = None
    variance: np.ndarray | None = None
    marginals: Dual | LocalPoint | None = None

    def __repr__(self) -> str:
        return (
            f"<SolveResult: {self.status}; primal {self.primal:.6g}, dual {self.dual:.6g}, "
            f"{self.n_passes} passes, {self.seconds:.2g} s>"
        )


def run(
    iterates: Iterable[Iterate],
    problem: Problem,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[TracePoint], Any] | None = None,
    record: Callable[[int, Iterate], Any] | None = None,
) -> SolveResult:
    """Run a solver until a certificate says that the solution is good enough.

    Parameters
    ----------
    iterates : iterable of Iterate
        The solver: it yields one iterate per pass.
    problem : Problem
        The problem that is being solved, which computes the certificates.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of passes.
    callback : callable, optional
        Called with a `TracePoint` after each pass.  If it returns something true, the run ends.
    record : callable, optional
        Called with the number of each pass and its iterate, whose arrays it must copy to keep them.

    Returns
    -------
    SolveResult
        The last iterate and its certificate.

    Raises
    ------
    ValueError
        If ``tol`` is not positive, ``max_iter`` is below 1, or numbers overflow.
    """
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    clock, judge = _Clock(), _Judge(problem, tol)
    trace: list[TracePoint] = []
    status = "the solver ended"
    for n_passes, iterate in enumerate(clock.pull(iterates), start=1):
        _check_finite(iterate)
        out_of_passes = n_passes >= max_iter
        with clock:
            certificate = judge(iterate, force=out_of_passes or bool(iterate.stopped))
        values = () if certificate is None else (certificate.primal, certificate.dual)
        trace.append(
            TracePoint(
                n_passes,
                iterate.n_oracle_calls + judge.n_oracle_calls,
                clock.seconds,
                iterate.gap_estimate,
                iterate.objective_estimate,
                *values,
            )
        )
        if record is not None:
            record(n_passes, iterate)
        if callback is not None and callback(trace[-1]):
            status = "stopped by the callback"
            break
        if certificate is not None and certificate.relative_gap <= tol:
            status = f"relative gap {certificate.relative_gap:.2g} reached"
            break
        if iterate.stopped or out_of_passes:
            status = iterate.stopped or f"stopped after {max_iter} passes"
            break
    if not trace:
        raise ValueError("the solver yielded nothing; expected at least one iterate.")
    if certificate is None:
        with clock:
            certificate = judge(iterate, force=True)
    assert certificate is not None
    alpha = certificate.alpha
    return SolveResult(
        weights=iterate.weights.copy(),
        eta=certificate.eta,
        alpha=alpha if isinstance(alpha, DualVariables) else None,
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        relative_gap=certificate.relative_gap,
        n_passes=len(trace),
        n_oracle_calls=iterate.n_oracle_calls + judge.n_oracle_calls,
        seconds=clock.seconds,
        converged=certificate.relative_gap <= tol,
        status=status,
        trace=trace,
        subgradient_norm=certificate.subgradient_norm,
        variance=None if iterate.variance is None else iterate.variance.copy(),
        marginals=None if isinstance(alpha, DualVariables) else alpha,
    )


def _check_finite(iterate: Iterate) -> None:
    is_known = np.isfinite(iterate.objective_estimate) or iterate.gap_estimate == np.inf
    if not (is_known and np.isfinite(iterate.weights).all()):
        raise ValueError(OVERFLOW)


class _Judge:
    """Decides when an iterate is worth a certificate, which costs a sweep over all samples."""

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem = problem
        self.tol = tol
        self.threshold = tol
        self.n_waited = 0
        self.n_oracle_calls = 0

    def __call__(self, iterate: Iterate, *, force: bool) -> Certificate | None:
        size = abs(iterate.objective_estimate)
        promising = iterate.gap_estimate <= self.threshold * size
        # An estimate may flatter for good, by chance: do not wait for ever.
        self.n_waited += iterate.gap_estimate <= self.tol * size
        if not (promising or force or self.n_waited > MAX_WAIT):
            return None
        self.n_waited = 0
        certificate = iterate.certify(self.problem)
        self.n_oracle_calls += self.problem.n_samples
        if certificate.relative_gap > self.tol:
            # The estimate flattered.  Wait until it has fallen by what is still missing.
            missing = self.tol / certificate.relative_gap
            estimate = iterate.gap_estimate / max(abs(iterate.objective_estimate), 1e-300)
            self.threshold = min(self.threshold, estimate * min(0.9, missing))
        return certificate


class _Clock:
    """Sums up the time spent inside ``with clock`` and in pulling from an iterable.

    Overflow is silent in there, because `_check_finite` says it once and in a sentence.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._errors = np.errstate(over="ignore", invalid="ignore")
        self._errors.__enter__()
        self._start = time.perf_counter()

    def __exit__(self, *exc_info: object) -> None:
        self.seconds += time.perf_counter() - self._start
        self._errors.__exit__(None, None, None)

    def pull(self, iterable: Iterable[Iterate]) -> Iterator[Iterate]:
        """Yield from an iterable, timing only the iterable."""
        iterator = iter(iterable)
        while True:
            with self:
                item = next(iterator, None)
            if item is None:
                return
            yield item
