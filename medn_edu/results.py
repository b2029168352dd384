"""Running solvers: stopping, certificates, clocks and records, written once.

A *solver* is a generator that improves a problem and yields an `Iterate` after each pass.  It neither
times itself, nor decides when to stop, nor prints.  All that is done here by `run`, which pulls
iterates until the problem's *certificate* says that the solution is good enough.

The certificate is the duality gap.  The primal value ``P`` at weights ``w`` is an upper bound of the
optimum and the dual value ``D`` at dual variables ``alpha`` a lower bound, so ``P - D`` bounds how
far ``w`` is from optimal, whatever happened on the way.  Both are computed apart, from ``weights`` and
``alpha`` alone.  That costs a sweep over all samples, so `run` asks for it only when the solver's own
cheap estimate says that it is time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from medn_edu.checks import check_count, check_positive

__all__ = [
    "Certificate",
    "DualMarginals",
    "DualVariables",
    "Iterate",
    "Problem",
    "Recorder",
    "SolveResult",
    "TracePoint",
    "run",
]

MAX_WAIT = 10  # passes without a certificate although the solver's estimate is below the tolerance
OVERFLOW = (
    "the weights cannot be computed in double precision: features, sample weights or constants are "
    "too large; rescale the features, to about 1."
)
"""What is said when numbers overflow."""
STUCK = "the objective can no longer be lowered in floating point"
"""Why a solver of smooth problems ends short of its goal."""


@dataclass(frozen=True, eq=False)
class DualVariables:
    """Sparse dual variables ``alpha_i(y)``: the labellings that carry mass.

    Labelling ``j`` belongs to sample ``sample[j]``, reads ``labels[offsets[j]:offsets[j + 1]]`` and
    carries ``values[j]``.  Samples are in ascending order.

    Parameters
    ----------
    sample : ndarray of int64, shape (n_labellings,)
        Sample of each labelling.
    offsets : ndarray of int64, shape (n_labellings + 1,)
        Where each labelling starts in ``labels``.
    labels : ndarray of int64, shape (offsets[-1],)
        Label codes of all labellings, one after the other.
    values : ndarray of float64, shape (n_labellings,)
        Their masses, non-negative.
    """

    sample: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def scaled(self, share: float) -> DualVariables:
        """Return a share of all masses."""
        return replace(self, values=share * self.values)


@dataclass(frozen=True, eq=False)
class DualMarginals:
    """Factored dual variables: how much mass lies on each label and on each transition.

    The dual of a margin problem depends on ``alpha_i(y)`` through these sums alone (Taskar et al.
    2003), so a solver that moves mass on very many labellings at once keeps them instead.

    Parameters
    ----------
    node : ndarray of float64, shape (n_nodes, n_labels)
        Mass of the labellings that give each node each label.
    edge : ndarray of float64, shape (n_nodes, n_labels, n_labels)
        At node ``t`` the mass of the labellings with ``[parent's label, child's label]`` on the edge
        to it; zeros at roots.
    """

    node: np.ndarray
    edge: np.ndarray

    def scaled(self, share: float) -> DualMarginals:
        """Return a share of all masses."""
        return DualMarginals(share * self.node, share * self.edge)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Primal and dual value at one iterate, computed apart.

    Parameters
    ----------
    primal : float
        Upper bound of the optimum.
    dual : float
        Lower bound of the optimum; minus infinity where the problem has no dual.
    alpha : DualVariables, DualMarginals or None
        The dual variables behind ``dual``, where there are any.
    eta : ndarray or None
        What the prior is tilted by, ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``.
    subgradient_norm : float or None
        Distance of the subdifferential to zero in the largest entry, where the problem has a penalty
        with kinks.
    rounding : float or None
        How far rounding may have moved the two values at worst, where that is known.
    rounding_counts : bool
        Whether that is so far that the gap is to be taken larger by as much.
    """

    primal: float
    dual: float
    alpha: DualVariables | DualMarginals | None = None
    eta: np.ndarray | None = None
    subgradient_norm: float | None = None
    rounding: float | None = None
    rounding_counts: bool = False

    @property
    def gap(self) -> float:
        """Duality gap, primal minus dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Duality gap relative to the primal value; 0 where it vanishes up to rounding.

        No dual value exceeds a primal one.  If one does by more than rounding explains, the values
        are worth nothing, and the gap is infinite.  Where scores are so large that their rounding
        counts, the gap is taken to be larger by as much.
        """
        believed = 1e-9 * max(abs(self.primal), abs(self.dual))
        rounding = 1e-12 if self.rounding is None else self.rounding
        if self.gap < -believed - rounding:
            return float("inf")
        gap = max(self.gap, 0.0)
        if self.rounding_counts:
            gap += rounding
        if gap == 0:
            return 0.0
        return gap / abs(self.primal) if self.primal != 0 else float("inf")


@dataclass(frozen=True, eq=False)
class Iterate:
    """What a solver yields after a pass.  Arrays are live: copy what must outlast the next pass.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_weights,)
        Current weights.
    gap_estimate : float
        The solver's own estimate of the absolute duality gap; only decides when to certify.
    objective_estimate : float
        The solver's own estimate of the primal or dual value, for judging the gap's size.
    n_oracle_calls : int
        Calls of the decoding or summing oracle so far, one per sample visited.
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
    dual: Callable[[], DualVariables | DualMarginals] | None = None
    stopped: str = ""
    variance: np.ndarray | None = None


class Problem(Protocol):
    """What `run` asks of a problem."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        ...

    @property
    def has_dual(self) -> bool:
        """Whether there is a dual value, and so a gap to close."""
        ...

    def certify(self, iterate: Iterate) -> Certificate:
        """Compute primal and dual value at an iterate, apart and from scratch."""
        ...


@dataclass(frozen=True)
class TracePoint:
    """One line of the history of a run.

    Parameters
    ----------
    n_passes : int
        Passes so far.
    n_oracle_calls : int
        Oracle calls so far, those of certificates included.
    seconds : float
        Time spent in the solver and its certificates so far, callbacks not counted.
    gap_estimate, objective_estimate : float
        The solver's own estimates of the gap and of the objective.
    primal, dual : float
        Certified values, NaN where this pass was not certified.
    """

    n_passes: int
    n_oracle_calls: int
    seconds: float
    gap_estimate: float
    objective_estimate: float
    primal: float = float("nan")
    dual: float = float("nan")


@dataclass(eq=False)
class Recorder:
    """Keeps copies of iterates, for animations; the only place that copies them.

    Parameters
    ----------
    every : int, default=1
        Keep every so many passes.

    Attributes
    ----------
    n_passes : list of int
        After how many passes each copy was made.
    weights : list of ndarray
        The weights.
    alpha : list of DualVariables, DualMarginals or None
        The dual variables, where the solver has them.

    Examples
    --------
    >>> recorder = Recorder()
    >>> recorder.weights
    []
    """

    every: int = 1
    n_passes: list[int] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    alpha: list[DualVariables | DualMarginals | None] = field(default_factory=list)

    def __call__(self, n_passes: int, iterate: Iterate) -> None:
        """Copy an iterate if it is its turn."""
        if n_passes % self.every == 0:
            self.n_passes.append(n_passes)
            self.weights.append(iterate.weights.copy())
            self.alpha.append(iterate.dual() if iterate.dual is not None else None)


@dataclass(frozen=True, eq=False, repr=False)
class SolveResult:
    """A solution with its certificate.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_weights,)
        The solution.
    eta : ndarray or None
        What the prior is tilted by; for M3N equal to ``weights``.
    alpha : DualVariables or None
        Labellings that carry dual mass, where the solver keeps them.
    primal, dual, gap, relative_gap : float
        The certificate: upper bound, lower bound, their difference, and that relative to ``primal``.
    n_passes, n_oracle_calls : int
        Work done, certificates included in the oracle calls.
    seconds : float
        Time the solver and the certificates took.
    converged : bool
        Whether the certified relative gap is at most the tolerance asked for.
    status : str
        One sentence on why the run ended.
    trace : list of TracePoint
        History, one entry per pass.
    subgradient_norm : float or None
        Distance of the subdifferential to zero in the largest entry, where the problem has a penalty
        with kinks.
    variance : ndarray or None
        Posterior variances of the weights, where there is a posterior.
    marginals : DualMarginals or None
        Dual mass on labels and transitions, where the solver keeps that instead of labellings.
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
    marginals: DualMarginals | None = None

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
    record: Recorder | None = None,
) -> SolveResult:
    """Pull iterates until a certificate says that the solution is good enough.

    Parameters
    ----------
    iterates : iterable of Iterate
        A solver at work; one iterate per pass.
    problem : Problem
        What is being solved; asked for certificates.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of passes.
    callback : callable, optional
        Called with a `TracePoint` after each pass; a true answer ends the run.
    record : Recorder, optional
        Keeps copies of iterates.

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
            certificate = judge(iterate, at_all_costs=out_of_passes or bool(iterate.stopped))
        trace.append(_trace_point(n_passes, iterate, certificate, judge, clock))
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
            certificate = judge(iterate, at_all_costs=True)
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
        marginals=alpha if isinstance(alpha, DualMarginals) else None,
    )


def _check_finite(iterate: Iterate) -> None:
    if not (np.isfinite(iterate.weights).all() and np.isfinite(iterate.objective_estimate)):
        raise ValueError(OVERFLOW)


class _Judge:
    """Decides when an iterate is worth a certificate, which costs a sweep over all samples."""

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem = problem
        self.tol = tol
        self.threshold = tol
        self.n_waited = 0
        self.n_oracle_calls = 0

    def __call__(self, iterate: Iterate, *, at_all_costs: bool) -> Certificate | None:
        size = abs(iterate.objective_estimate)
        promising = iterate.gap_estimate <= self.threshold * size
        # An estimate may flatter for good, by chance: do not wait for ever.
        self.n_waited += iterate.gap_estimate <= self.tol * size
        if not (promising or at_all_costs or self.n_waited > MAX_WAIT):
            return None
        self.n_waited = 0
        certificate = self.problem.certify(iterate)
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


def _trace_point(
    n_passes: int,
    iterate: Iterate,
    certificate: Certificate | None,
    judge: _Judge,
    clock: _Clock,
) -> TracePoint:
    return TracePoint(
        n_passes=n_passes,
        n_oracle_calls=iterate.n_oracle_calls + judge.n_oracle_calls,
        seconds=clock.seconds,
        gap_estimate=iterate.gap_estimate,
        objective_estimate=iterate.objective_estimate,
        primal=certificate.primal if certificate is not None else float("nan"),
        dual=certificate.dual if certificate is not None else float("nan"),
    )
