"""Models that also learn from graphs with cycles, by approximated structured prediction.

Without cycles nothing is approximated.  With cycles, `medn_edu.problems.LocalProblem` replaces the
model's own problem, and norm-product messages replace exact inference.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from medn_edu import inference
from medn_edu.checks import warn_user
from medn_edu.estimators.base import MarkovNetwork
from medn_edu.inference import loopy
from medn_edu.problems import LocalPoint, LocalProblem, PowerNorm, Problem
from medn_edu.results import Iterate, SolveResult
from medn_edu.samples import GraphSamples, LabelledSamples, SampleSet
from medn_edu.solvers import epsilon_continuation, nested_lbfgs, swept_lbfgs

_COLD = 1e-4  # lowest temperature at which to start from an earlier solution
_COOL = 0.1  # temperature below which training starts from higher ones
_AGREEMENT = 1e-4  # of beliefs, which is enough for marginals
_ROUGH_AGREEMENT = 1e-2  # of beliefs, which is enough for labels
_EXACT = "exactly, because no graph has a cycle"


@dataclass(eq=False, repr=False)
class GraphNetwork(MarkovNetwork):
    """Base class of models that can learn from graphs with cycles.

    Attributes
    ----------
    solved_ : str
        What was solved: the problem itself, or which approximation of it.
    """

    _: KW_ONLY
    counting_numbers: Any = None

    def _is_local(self, samples: SampleSet) -> bool:
        """Whether to solve the local problem: there are cycles, or counting numbers are given."""
        return isinstance(samples, GraphSamples) or self.counting_numbers is not None

    def _local_problem(
        self,
        data: LabelledSamples,
        n_jobs: int,
        *,
        epsilon: float,
        C: float = 1.0,
        lam: float = 1.0,
        loss_augmented: bool,
    ) -> LocalProblem:
        # With C in the weights of the samples, primal and dual value are those of the objective that
        # the model's docstring states.
        priced = replace(data, sample_weight=C * data.sample_weight)
        numbers = self.counting_numbers
        return LocalProblem(priced, epsilon, PowerNorm(lam), numbers, loss_augmented, n_jobs)

    def _local_iterates(
        self, problem: LocalProblem, start: SolveResult | None
    ) -> Iterator[Iterate]:
        weights = None if start is None else start.weights
        point = None if start is None else _fitting(problem, start.marginals)
        messages = None if point is None else point.messages
        is_cold = problem.is_plain and problem.epsilon < _COOL and start is None
        if problem.epsilon == 0 or is_cold:
            begin = 1.0 if point is None else min(max(point.epsilon, _COLD), 1.0)
            return epsilon_continuation(
                problem, warm_start=weights, messages=messages, epsilon=begin
            )
        solver = swept_lbfgs if problem.is_plain else nested_lbfgs
        return solver(problem, warm_start=weights, messages=messages)

    def _solve(self, problem: Problem, start: SolveResult | None) -> SolveResult:
        result = super()._solve(problem, start)
        self.solved_ = problem.stated if isinstance(problem, LocalProblem) else _EXACT
        return result

    def _warn(self, result: SolveResult, problem: Problem) -> None:
        point = result.marginals
        if not (isinstance(problem, LocalProblem) and isinstance(point, LocalPoint)):
            return super()._warn(result, problem)
        if not result.converged:
            apart = problem.disagreement(result.weights, point)
            warn_user(
                f"{type(self).__name__} reached a relative gap of {result.relative_gap:.2g} instead of "
                f"{float(self.tol):.2g}, with beliefs that disagree by {apart:.2g} ({result.status}); "
                "raise max_iter or tol, regularise more, or scale the features to about 1."
            )
        return None

    # -- prediction -------------------------------------------------------------------------------

    def _temperature(self) -> float:
        """Return the temperature at which labels of graphs with cycles are predicted."""
        raise TypeError(f"{type(self).__name__} predicts nothing; use CRF or M3N.")

    def _messages(
        self, potentials: inference.Potentials, epsilon: float, agreement: float = _AGREEMENT
    ) -> loopy.LocalSolution:
        numbers = self._trained["counting_numbers"] if epsilon > 0 else None  # none matter at 0
        with warnings.catch_warnings():  # whose advice is not for users of a model
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = loopy.norm_product(potentials, numbers, epsilon, descend=False, tol=agreement)
        if not found.converged:
            warn_user(
                f"beliefs of {type(self).__name__} still disagree by {found.disagreement:.2g} after "
                f"{found.n_sweeps} sweeps of messages, so marginals and labels are only roughly "
                "those of the approximation; train with a stronger regulariser or a larger epsilon."
            )
        return found

    def _best(self, potentials: inference.Potentials) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(potentials.samples, GraphSamples):
            return super()._best(potentials)
        labels = self._messages(potentials, self._temperature(), _ROUGH_AGREEMENT).labels
        return labels, inference.labelling_scores(potentials, labels)

    def _marginals(self, potentials: inference.Potentials, temperature: float) -> np.ndarray:
        if not isinstance(potentials.samples, GraphSamples):
            return super()._marginals(potentials, temperature)
        return self._messages(potentials, temperature).beliefs.node

    def _edge_marginals(self, potentials: inference.Potentials, temperature: float) -> np.ndarray:
        if not isinstance(potentials.samples, GraphSamples):
            return super()._edge_marginals(potentials, temperature)
        return self._messages(potentials, temperature).beliefs.edge


def _fitting(problem: LocalProblem, point: Any) -> LocalPoint | None:
    """Return an earlier solution if its messages fit these graphs."""
    if not isinstance(point, LocalPoint):
        return None
    silent = [state.messages for state in problem.states(np.zeros(problem.weight_shape.size))]
    fits = len(silent) == len(point.messages) and all(
        np.array_equal(new == -np.inf, old == -np.inf)
        for new, old in zip(silent, point.messages, strict=True)
    )
    return point if fits else None
