"""The Laplace MEDN in both ways: exactly, and by Algorithm 1 of MEDN on the same samples.

One estimator trains both and keeps what Algorithm 1 has found on the way, each step certified as a
solution of the *exact* problem, so that the two can be compared weight by weight and value by
value.  In addition it solves the problem that Algorithm 1 approaches, which is not the exact one:
the MEDN with the normal-gamma prior of shape 1/2.  Why that is so, the study
``exact-vs-variational`` derives.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from medn_edu.inference import Potentials, best_labelling
from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import SolveResult, run
from medn_edu.samples import encode_labels, forbidden_to_allowed, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_frank_wolfe, variational_laplace

ITERATIONS = (1, 2, 3, 5, 10, 20)
"""Numbers of iterations at which the variational method is looked at."""


class BothLaplaceMEDNs(BaseEstimator):
    """The Laplace MEDN, exactly and by Algorithm 1, trained on the same samples.

    It predicts by the exact solution.
    """

    def __init__(
        self,
        C: float = 1.0,
        lam: float = 36.0,
        tol: float = 1e-3,
        max_iter: int = 5000,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train in both ways."""
        samples = pack(X)
        codes, self.classes_ = encode_labels(y, samples)
        data = label_samples(samples, codes, forbidden_to_allowed(None, self.classes_))
        exact, limit = (
            Problem(data, MarginLoss(LinearSlack(self.C)), prior)
            for prior in (LaplacePrior(self.lam), NormalGammaPrior(0.5, self.lam))
        )
        self.weight_shape_ = exact.weight_shape
        self.result_ = self._solve(exact)
        self.limit_ = self._solve(limit)
        self.limit_primal_ = exact.primal(self.limit_.weights)
        self.trail_ = list(self._iterations(exact))
        return self

    def _solve(self, problem: Problem) -> SolveResult:
        passes = block_frank_wolfe(problem, rng=np.random.default_rng(self.random_state))
        return run(passes, problem, tol=self.tol, max_iter=self.max_iter)

    def _iterations(self, problem: Problem) -> Iterator[SolveResult]:
        """Run Algorithm 1 once, and certify what it has reached where that is asked for."""
        programs = variational_laplace(
            problem,
            rng=np.random.default_rng(self.random_state),
            n_iterations=ITERATIONS[-1],
            tol=self.tol,
            max_iter=self.max_iter,
        )
        for number, iterate in enumerate(programs, start=1):
            if number in ITERATIONS:
                yield run([iterate], problem, tol=self.tol, max_iter=1)

    @property
    def weights_(self) -> np.ndarray:
        """Weights of the exact solution."""
        return self.result_.weights

    def predict(self, X: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the best labelling of each sample."""
        samples = pack(X, n_features=self.weight_shape_.n_features)
        both = self.weight_shape_.split(self.weights_ if weights is None else weights)
        codes, _ = best_labelling(Potentials.of_weights(samples, *both))
        found = np.empty(samples.n_samples, dtype=object)
        found[:] = samples.split(self.classes_[codes])
        return found
