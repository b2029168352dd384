r"""What wrong labellings cost: the margin loss (a maximum) and the soft-max loss (a sum).

Both compare the score ``F(x, y; w) = w . f(x, y)`` of the true labelling with those of all others.

The margin loss
---------------
The *margin violation* of a labelling, ``H_i(y) = loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))``, is the
amount by which its margin falls short of the loss.  The largest one is found by decoding with the loss
added to the scores (*loss-augmented decoding*).  It is the slack ``xi_i`` that the sample needs, at the
price ``U(xi_i)`` (`medn_edu.slacks`).  The conjugate of ``U`` depends on ``sum_y alpha_i(y)`` alone.

The soft-max loss
-----------------
At a *temperature* ``epsilon > 0`` (Hazan and Urtasun 2010, Eq. 2 and 3) a sample costs

    epsilon log sum_y exp((loss_i(y) + F(x_i, y; w)) / epsilon) - F(x_i, y_i; w),

where ``loss_i(y)`` is the Hamming loss if the problem is *loss-augmented*, and 0 otherwise.  The
soft-max lies between ``max_y`` and ``max_y + epsilon log |Y|``, where ``|Y|`` is the number of
labellings.  So with the loss, and as ``epsilon -> 0``, this becomes the margin loss.  Without the loss,
and at ``epsilon = 1``, it is the log-loss of the *conditional random field*
``p_w(y | x) = exp(F(x, y; w) - log Z(x; w))`` (Lafferty et al. 2001).

Its gradient is the expected features minus the observed ones.  The expectation is taken under
``p_w(y | x_i)``, which is proportional to ``exp((loss_i(y) + F(x_i, y; w)) / epsilon)``.  Its conjugate
is the negative entropy, because

    epsilon log sum_y exp(g(y) / epsilon) = max_p [E_p g(y) + epsilon H(p)].

The natural dual variables at weights ``w`` are ``alpha_i = c_i p_w(. | x_i)``, where ``c_i`` is the
sample's weight.  On a forest the entropy of ``p_w`` is ``H(root)`` plus the sum of ``H(child | parent)``
over the edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from medn_edu import inference
from medn_edu.checks import check_positive
from medn_edu.problems.dual_variables import Dual, DualVariables, ModelDistributions
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import Slack, check_slack

if TYPE_CHECKING:
    from medn_edu.problems.problem import Problem

_NEGLIGIBLE = 1e-6  # rounding of a score, next to losses of 1


class Evaluation(NamedTuple):
    """A loss at some weights, and how much rounding may have affected it."""

    losses: np.ndarray  # (n_samples,), not yet multiplied by the samples' weights
    rounding: float | None = None  # bound on the rounding error of primal and dual value together
    # whether some score may be off by more than 1e-6, where a wrong label costs 1
    rounding_counts: bool = False


@dataclass(frozen=True)
class MarginLoss:
    """The price of the largest margin violation of each sample, ``U(max_y H_i(y))``.

    Parameters
    ----------
    slack : Slack
        Price of a margin violation, one of `medn_edu.slacks`.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L2Norm, Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=L2Norm())
    >>> problem.violated(np.zeros(8))
    (array([1, 0]), array([2.]))
    """

    slack: Slack
    loss_augmented: ClassVar[bool] = True  # margins are compared with the Hamming loss

    def __post_init__(self) -> None:
        check_slack(self.slack)

    def _constants(self, data: LabelledSamples) -> np.ndarray:
        """Return the slack's constant times each weight; with a linear slack ``sum_y alpha_i(y)``."""
        _, constant = self.slack.compiled
        return constant * data.sample_weight

    def _violated(self, problem: Problem, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find each sample's most violated margin, by loss-augmented decoding."""
        augmented, labels = problem.augmented(weights), problem.data.labels
        best, best_scores = inference.best_labelling(augmented, n_jobs=problem.n_jobs)
        return best, best_scores - inference.labelling_scores(augmented, labels)

    def _evaluate(self, problem: Problem, weights: np.ndarray) -> Evaluation:
        """Return the loss of each sample."""
        _, violation = self._violated(problem, weights)
        error = score_rounding(problem.data, weights)
        losses, worst = (
            self.slack.penalty(np.maximum(xi, self.slack.least))
            for xi in (violation, violation + error)
        )
        weight = problem.data.sample_weight
        rounding = 2 * math.fsum(weight * worst - weight * losses)
        return Evaluation(losses, rounding, not bool((error <= _NEGLIGIBLE).all()))  # NaN counts

    def _conjugate(self, data: LabelledSamples, alpha: Dual) -> float:
        """Return ``sum_i c_i U*(s_i / c_i)``; infinity where dual variables are not feasible."""
        if not alpha.is_feasible(data):
            return math.inf
        return math.fsum(self._conjugates(data, alpha.totals(data)))

    def _scaled(self, data: LabelledSamples, alpha: Dual, share: float) -> Dual:
        """Return dual variables times a number; the true labelling needs none."""
        del data
        return alpha.scaled(share)

    def _conjugates(self, data: LabelledSamples, totals: np.ndarray) -> np.ndarray:
        """Return ``U*`` of each sample where its dual variables add up to ``totals``."""
        return data.sample_weight * self.slack.conjugate(totals / data.sample_weight)


@dataclass(frozen=True)
class SoftMaxLoss:
    """The soft-max of all scores, minus the score of the true labelling.

    Parameters
    ----------
    epsilon : float, default=1.0
        Temperature, positive and finite; at 0 this would be a `MarginLoss`.
    loss_augmented : bool, default=False
        Whether the Hamming loss is added to the scores of labellings.

    Examples
    --------
    If all weights are 0, every labelling is equally likely, and here there are four:

    >>> import numpy as np
    >>> from medn_edu.problems import L2Norm, Problem
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], SoftMaxLoss(), L2Norm())
    >>> round(float(np.exp(problem.primal(np.zeros(8)))), 6)
    4.0
    """

    epsilon: float = 1.0
    loss_augmented: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))

    def _constants(self, data: LabelledSamples) -> np.ndarray:
        """Return each sample's weight, which is ``sum_y alpha_i(y)``."""
        return data.sample_weight

    def _evaluate(self, problem: Problem, weights: np.ndarray) -> Evaluation:
        """Return the loss of each sample."""
        potentials = self._potentials(problem, weights)
        log_sums = inference.log_partition(potentials, self.epsilon, n_jobs=problem.n_jobs)
        true_scores = inference.labelling_scores(potentials, problem.data.labels)
        # Sample by sample, so that less is lost to rounding.
        return Evaluation(np.maximum(log_sums - true_scores, 0.0))

    def _conjugate(self, data: LabelledSamples, alpha: Dual) -> float:
        """Return ``-epsilon sum_i c_i H(alpha_i / c_i)``; infinity where ``alpha`` is not feasible."""
        entropies = getattr(alpha, "entropies", None)
        if entropies is None:
            raise TypeError(
                f"alpha is of type {type(alpha).__name__}, which has no entropies; a soft-max loss "
                "needs them, so expected DualVariables."
            )
        sums = np.allclose(alpha.totals(data), data.sample_weight, rtol=1e-9, atol=0.0)
        if not (sums and alpha.is_feasible(data)):
            return math.inf
        return -math.fsum(self.epsilon * entropies(data))

    def _scaled(self, data: LabelledSamples, alpha: Dual, share: float) -> Dual:
        """Return dual variables times a number; what their sums lack goes to the true labelling."""
        if not isinstance(alpha, DualVariables):
            return alpha.scaled(share)
        rest = (1.0 - share) * alpha.totals(data)
        mixed = alpha.scaled(share).concat(DualVariables.on(data.samples, data.labels, rest))
        return mixed.take(np.argsort(mixed.sample, kind="stable"))

    def _distributions(
        self, problem: Problem, weights: np.ndarray, losses: np.ndarray
    ) -> ModelDistributions:
        """Return ``c_i p_w(. | x_i)`` as dual variables; ``losses`` are those `_evaluate` returns."""
        found = self._expected(problem, weights, want_entropies=True)
        expected = problem.data.join(found.feature_sums, found.edge_counts)
        assert found.entropies is not None
        expected_losses = np.zeros(len(losses)) if found.losses is None else found.losses
        return ModelDistributions(
            problem.observed - expected, expected_losses, found.entropies, losses / self.epsilon
        )

    def _potentials(self, problem: Problem, weights: np.ndarray) -> inference.Potentials:
        return problem.augmented(weights) if self.loss_augmented else problem.potentials(weights)

    def _expected(
        self, problem: Problem, weights: np.ndarray, *, want_entropies: bool = False
    ) -> inference.ExpectedStatistics:
        """Return what is expected under ``p_w(. | x_i)``: features, and also entropies if wanted."""
        data = problem.data
        coef, transitions = problem.weight_shape.split(weights)
        return inference.expected_statistics(
            data.samples,
            coef,
            inference.edge_potentials(data.samples.edge_tables(transitions), data.allowed_pairs),
            sample_weight=data.sample_weight,
            epsilon=self.epsilon,
            loss_labels=data.labels if self.loss_augmented else None,
            loss_scale=data.loss_scale,
            mask=data.allowed_labels,
            want_entropies=want_entropies,
            n_jobs=problem.n_jobs,
        )


def score_rounding(data: LabelledSamples, weights: np.ndarray) -> np.ndarray:
    """Bound by how much rounding may have moved each sample's largest violation.

    A violation of a few units is what is left of two scores.  Each sums up products whose sizes add
    up to ``S``, in ``n`` steps, and may be off by ``n S`` times the spacing of floats at 1.
    """
    samples = data.samples
    coef, transitions = data.weight_shape.split(np.abs(weights))
    if samples.edge_features is not None:
        rows = abs(samples.kind_rows(len(transitions)))
        transitions = rows @ transitions.reshape(len(transitions), -1)
    node = abs(samples.features) @ coef.max(axis=0) + (data.loss_scale + transitions.max())
    nonzeros = np.diff(samples.indptr)
    n_steps = samples.lengths + np.maximum.reduceat(nonzeros, samples.offsets[:-1])
    return 2 * np.finfo(float).eps * n_steps * np.add.reduceat(node, samples.offsets[:-1])
