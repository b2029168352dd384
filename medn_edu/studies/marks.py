"""Training that leaves marks: a conditional random field that notes its weights on the way.

MEDN Fig. 8 shows test errors at 22 relative changes of the log-likelihood per pass, and at 22 values of
the negative log-likelihood.  Here training keeps the weights with which each of them is first reached,
so that errors can be measured afterwards and no test sample has a say in training.

Where there is no optimum, the way there depends on the solver, so there are two: `PlainCRF` goes along
gradients, as the papers' optimisers do, `TracedCRF` divides by a guess of the curvature.  The study
``ocr-overfitting`` says what comes of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from medn_edu.estimators import CRF
from medn_edu.problems import Problem, soft_max
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.solvers import lbfgs, owlqn, proximal_lbfgs

CHANGES = (
    1, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005, 0.004, 0.003, 0.002, 0.001,
    0.0005, 0.0004, 0.0003, 0.0002, 0.0001, 0.00005,
)  # fmt: skip
"""Relative changes of the log-likelihood at which the paper measures."""

LOSSES = (
    1000, 800, 700, 600, 500, 300, 100, 50, 30, 10, 5, 3, 1, 0.5, 0.3, 0.1, 0.05, 0.03, 0.01, 0.005,
    0.003, 0.002,
)  # fmt: skip
"""Negative log-likelihoods at which the paper measures."""

_NEVER = 1e-300  # a gap at which no run ends
_LEAST = 1.0  # what a change is relative to, at least


@dataclass(frozen=True, eq=False)
class Mark:
    """Weights on the way."""

    n_passes: int  # after how many passes
    weights: np.ndarray


class TracedCRF(CRF):
    """A `CRF` that notes its weights where marks are first reached, and ends when all are.

    Without a penalty it uses the curvature all the same.
    """

    def _solve(self, problem: Any, start: SolveResult | None) -> SolveResult:
        iterates = self._marked(self._iterates(problem, start))
        return run(iterates, problem, tol=_NEVER, max_iter=self.max_iter)

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        if problem.elastic_net.l1 > 0:
            return proximal_lbfgs(problem)
        return lbfgs(problem, change_tol=_NEVER)

    def _marked(self, iterates: Iterator[Iterate]) -> Iterator[Iterate]:
        """Pass iterates on, noting marks, until all are reached that can be."""
        changes, losses = _Marks(CHANGES), _Marks(LOSSES)
        before = np.inf
        for n_passes, iterate in enumerate(iterates):
            objective = iterate.objective_estimate
            if n_passes > 0:
                change = (before - objective) / max(abs(before), abs(objective), _LEAST)
                changes.note(change, n_passes, iterate)
            losses.note(objective - self._penalty_of(iterate.weights), n_passes, iterate)
            before = objective
            self.at_change_, self.at_loss_ = changes.found, losses.found
            if changes.complete and (losses.complete or self.penalty is not None):
                yield replace(iterate, stopped=iterate.stopped or "all marks reached")
                return
            yield iterate

    def _penalty_of(self, weights: np.ndarray) -> float:
        if self.penalty is None:
            return 0.0
        if self.penalty == "l1":
            return self.lam * float(np.abs(weights).sum())
        return 0.5 * self.lam * float(weights @ weights)

    def _warn(self, result: SolveResult, problem: Any) -> None:
        """Say nothing: the run ends by its marks, not by a gap."""


class _Marks:
    """Descending values, and the iterates that first were at most as large."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = values
        self.found: list[Mark | None] = [None] * len(values)

    def note(self, value: float, n_passes: int, iterate: Iterate) -> None:
        """Keep an iterate for all values that it is the first to reach."""
        reached = [k for k, at in enumerate(self.values) if value <= at and self.found[k] is None]
        mark = Mark(n_passes, iterate.weights.copy()) if reached else None
        for k in reached:
            self.found[k] = mark

    @property
    def complete(self) -> bool:
        """Whether all have been reached."""
        return self.found[-1] is not None


class PlainCRF(TracedCRF):
    """The same, by solvers that guess no curvature: OWL-QN for the L1 penalty, otherwise L-BFGS."""

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        if problem.elastic_net.l1 > 0:
            return owlqn(problem)
        return _lbfgs(problem, self.max_iter)


def _lbfgs(problem: Problem, max_iter: int) -> Iterator[Iterate]:
    """Minimise by SciPy's L-BFGS-B, from zeros; yield the start and then once per iteration.

    SciPy does not pause between iterations, so all are made, and kept, before the first is yielded.
    """
    start = np.zeros(problem.weight_shape.size)
    path = [(start, soft_max.smooth_part(problem, start)[0])]
    minimize(
        partial(soft_max.smooth_part, problem),
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: path.append(
            (intermediate_result.x.copy(), float(intermediate_result.fun))
        ),
        options={"maxiter": max_iter, "maxcor": 10, "ftol": 0.0, "gtol": 1e-7},
    )
    for number, (weights, objective) in enumerate(path, start=1):
        yield Iterate(
            weights=weights,
            gap_estimate=np.inf,
            objective_estimate=objective,
            n_oracle_calls=number * problem.n_samples,
            stopped="L-BFGS-B ended" if number == len(path) else "",
        )
