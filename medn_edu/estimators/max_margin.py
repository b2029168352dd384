"""What all max-margin estimators share: a sparse dual, and mostly a prior and a slack."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from medn_edu.checks import random_generator
from medn_edu.estimators.base import MarkovNetwork
from medn_edu.priors import Prior
from medn_edu.problems import ElasticNet, MarginLoss, Problem
from medn_edu.results import Iterate, SolveResult
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import Slack
from medn_edu.solvers import block_frank_wolfe


@dataclass(eq=False, repr=False)
class MarginNetwork(MarkovNetwork):
    """Base class of estimators that are trained on margins, and so have a sparse dual."""

    _: KW_ONLY
    random_state: Any = 0

    @property
    def support_labellings_(self) -> list[list[tuple[np.ndarray, float]]]:
        """The support labellings of each training sample, as pairs (labels, dual variable).

        These are the wrong labellings with a positive dual variable, and the largest variable comes
        first.  A solver that keeps no labellings has none to show.
        """
        check_is_fitted(self, "coef_")
        found: list[list[tuple[np.ndarray, float]]] = [[] for _ in self._offsets[1:]]
        alpha = self.result_.alpha
        if alpha is None:
            raise AttributeError(
                f"this {type(self).__name__} has no support_labellings_, because its solver has dual "
                "variables for all labellings; expected a solver that keeps few, such as the default."
            )
        for j in np.argsort(-alpha.values, kind="stable"):
            i = alpha.sample[j]
            codes = alpha.labels[alpha.offsets[j] : alpha.offsets[j + 1]]
            true = self._labels[self._offsets[i] : self._offsets[i + 1]]
            if alpha.values[j] > 0 and (codes != true).any():
                found[i].append((self.classes_[codes], float(alpha.values[j])))
        return found


class PriorNetwork(MarginNetwork):
    """Base class of estimators that weigh margins against a prior.

    A subclass says which prior and which slack it has (``_prior`` and ``_slack``).
    """

    def _prior(self) -> Prior | ElasticNet:
        raise TypeError(f"{type(self).__name__} cannot be trained; use M3N or MEDN.")

    def _slack(self) -> Slack:
        raise TypeError(f"{type(self).__name__} cannot be trained; use M3N or MEDN.")

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        return Problem(data, MarginLoss(self._slack()), self._prior(), n_jobs)

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        rng = random_generator(self.random_state)
        return block_frank_wolfe(problem, rng=rng, warm_start=start.alpha if start else None)

    @property
    def posterior_mean_(self) -> np.ndarray:
        """Mean of the posterior over weights, ``Lambda'(eta)``: the same as ``weights_``, a copy."""
        self._require_posterior("posterior_mean_")
        return self.weights_

    @property
    def posterior_variance_(self) -> np.ndarray:
        """Variances of the posterior, ``Lambda''(eta)``, in the order of ``weights_``, a copy."""
        return self._require_posterior("posterior_variance_").copy()

    def _require_posterior(self, name: str) -> np.ndarray:
        """Return the posterior variances; without a prior there are none, and no posterior."""
        check_is_fitted(self, "coef_")
        if self.result_.variance is None:
            raise AttributeError(
                f"this {type(self).__name__} has no {name}, because an elastic net is not a prior; "
                "expected l1_ratio=0."
            )
        return self.result_.variance
