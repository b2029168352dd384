"""The models that are compared everywhere, one entry each.

A new model joins the demo and the studies by a line in `MODELS`.  Its constants are chosen on OCR
words that take no part in the study ``ocr``: those of each fold that are left when 250 have been
drawn with seed 0, in the order of the draw.  The first 100 and the first 250 of fold 0 train, all of
the other folds test, then those of folds 1 and 2, and the smallest mean of these six errors wins.
The grids, and the error of what won:

===================  ========================================================  ===================  =====
per letter           C of 0.03, 0.1, 0.3, 1                                    0.3                  0.382
L2-CRF               lam of 0.3, 1, 3, 10                                      3                    0.321
L1-CRF               lam of 0.1, 0.3, 1, 3                                     1                    0.353
M3N                  C of 0.03, 0.1, 0.3, 1                                    0.1                  0.325
epsilon-M3N          C of 0.03, 0.1, 0.3, 1, with epsilon = 0.5                0.3                  0.315
L1-M3N               C of 0.1, 0.15, 0.2, 0.3                                  0.3                  0.345
LapMEDN              C of 0.3, 1, 3, 10 and lam of 1, 4, 36, 100, 268          C = 3, lam = 100     0.324
===================  ========================================================  ===================  =====

The temperature 0.5 is half way between M3N (0) and a CRF with a margin (1); 0.2 and 1, with the best
``C`` for each, give 0.315 and 0.317. L1-M3N has the last ``C`` of its grid, and an error of 0.363 with
the one before: larger ones might be better still, but its fits take the longest of all. The variational
LapMEDN has the constants of the exact one, so that the two can be compared; its error is then 0.323, as
low as any on the same grid.  Spike and slab (a hundredth or a tenth of N(0, 0.1) or N(0, 0.3); C of 1,
3) reads no better, 0.327 at best, and so is not among the models. The digits played no part in these
choices.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from medn_edu.estimators import CRF, L1M3N, M3N, EpsilonMarkovNetwork, LaplaceMEDN


@dataclass(frozen=True)
class Model:
    """A model by name."""

    name: str  # name in tables and figures
    build: Callable[..., Any]  # makes the estimator from parameters given by keyword
    summary: str  # what it is, in a line
    parameters: tuple[tuple[str, float], ...] = ()  # the constants it is compared with


class PerLetter(BaseEstimator):
    """Logistic regression on each letter alone, to show how much the neighbours help."""

    def __init__(self, C: float = 1.0, n_jobs: int = 1) -> None:
        self.C = C
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all letters of all words."""
        labels = np.concatenate([np.asarray(list(labels)) for labels in y])
        # A constant column instead of an intercept: the other models have none either.
        self.regression_ = LogisticRegression(C=self.C, fit_intercept=False, max_iter=1000)
        self.regression_.fit(np.vstack(list(X)), labels)
        self.classes_ = self.regression_.classes_
        self.coef_ = self.regression_.coef_
        self.weights_ = self.coef_.ravel()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each letter."""
        found = np.empty(len(X), dtype=object)
        found[:] = [self.regression_.predict(word) for word in X]
        return found


def _crf(**parameters: Any) -> CRF:
    # The likelihood may have no maximum: training ends when it hardly changes any more.
    return CRF(penalty=None, tol=5e-5, verbose=0, **parameters)


def _l2_crf(**parameters: Any) -> CRF:
    return CRF(penalty="l2", tol=1e-3, verbose=0, **parameters)


def _l1_crf(**parameters: Any) -> CRF:
    return CRF(penalty="l1", tol=1e-3, verbose=0, **parameters)


def _m3n(**parameters: Any) -> M3N:
    return M3N(tol=1e-2, verbose=0, **parameters)


def _epsilon_m3n(**parameters: Any) -> EpsilonMarkovNetwork:
    return EpsilonMarkovNetwork(tol=1e-2, verbose=0, **parameters)


def _l1_m3n(**parameters: Any) -> L1M3N:
    # A gap of 2 %, as its fits are the longest of all.
    return L1M3N(solver="path", tol=2e-2, verbose=0, **parameters)


def _variational(**parameters: Any) -> LaplaceMEDN:
    # Three quadratic programs, as in the papers.
    return LaplaceMEDN(method="variational", n_iterations=3, tol=1e-2, verbose=0, **parameters)


def _exact(**parameters: Any) -> LaplaceMEDN:
    return LaplaceMEDN(method="exact", tol=1e-2, verbose=0, **parameters)


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            "per letter", PerLetter, "logistic regression, blind to the neighbours", (("C", 0.3),)
        ),
        Model("CRF", _crf, "conditional random field without a penalty"),
        Model(
            "L2-CRF", _l2_crf, "conditional random field with a squared penalty", (("lam", 3.0),)
        ),
        Model("L1-CRF", _l1_crf, "conditional random field with an L1 penalty", (("lam", 1.0),)),
        Model("M3N", _m3n, "maximum margin Markov network", (("C", 0.1),)),
        Model(
            "epsilon-M3N",
            _epsilon_m3n,
            "half way from M3N to a CRF with a margin",
            (("C", 0.3), ("epsilon", 0.5)),
        ),
        Model("L1-M3N", _l1_m3n, "M3N with an L1 norm, few weights", (("C", 0.3),)),
        Model(
            "LapMEDN variational",
            _variational,
            "Laplace prior, the papers' algorithm",
            (("C", 3.0), ("lam", 100.0)),
        ),
        Model("LapMEDN", _exact, "Laplace prior, exactly", (("C", 3.0), ("lam", 100.0))),
    )
}
"""The models there are, from plain to elaborate."""


def make_model(
    name: str, models: Mapping[str, Model] | None = None, /, *, seed: int = 0, **parameters: Any
) -> Any:
    """Return an untrained model."""
    known = MODELS if models is None else models
    if name not in known:
        raise ValueError(f"model is {name!r}; expected one of {', '.join(known)}.")
    model = known[name].build(**parameters)
    if hasattr(model, "random_state"):
        model.set_params(random_state=seed)
    return model


def sparsity(model: Any) -> dict[str, Any]:
    """Count the weights that a trained model needs, and the labellings behind them."""
    sizes = np.abs(model.weights_)
    support = getattr(model, "support_labellings_", None)
    return {
        "n_weights": len(sizes),
        "n_nonzero": int(np.count_nonzero(sizes)),
        "n_large": int(np.sum((sizes > 0) & (sizes >= 0.01 * sizes.max()))),
        "n_support": None if support is None else sum(map(len, support)) / len(support),
    }
