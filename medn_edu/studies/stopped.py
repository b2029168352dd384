"""The papers' sub-gradient descent, stopped early, and the optima that it was on its way to.

MEDN 7.1.2 and 7.2 train M3N, and the quadratic programs of LapMEDN, by online sub-gradient descent with
``C = 200 beta`` and steps ``1 / (2 beta sqrt(t))``.  Two things are left open, so each has readings:

* when training ends: after 5, 20, 60 or 200 passes.  With so large a ``C`` the optimum is nearly a hard
  margin, and all of these end far from it;
* what ``C`` is the price of: of the sum of slacks, as in most of the papers, or of their mean (*mean
  slack*), as in Table 1 of the L1-M3N paper.

A common factor of all weights changes no prediction.  Under a normal prior of any variance the descent
goes through the same predictions, which is why ``lam`` hardly matters to it.
"""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from medn_edu.estimators import M3N, LaplaceMEDN
from medn_edu.studies.kit.models import Model

PASSES = (5, 20, 60, 200)
"""Passes after which sub-gradient descent ends."""

ENDLESS = 1e-12
"""A ``tol`` that sub-gradient descent never reaches, so that only its passes end it."""

MEAN = ", mean slack"
"""Ends the names of models whose ``C`` is the price of the mean slack."""


def steps(passes: int) -> dict[str, Any]:
    """Return the settings of an estimator whose training nothing ends but the number of passes."""
    return {"solver": "online_subgradient", "tol": ENDLESS, "max_iter": passes, "verbose": 0}


class _PricedPerSample(BaseEstimator):
    """A model whose ``C`` is the price of the mean slack: each sample counts 1 / N."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> Self:
        """Train the model."""
        self.model.fit(X, y, sample_weight=np.full(len(X), 1 / len(X)))
        return self

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the model."""
        self.model.set_params(**parameters)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model, and that samples are weighted."""
        return {**self.model.get_params(deep=deep), "sample_weight": "1 / N"}

    def __getattr__(self, name: str) -> Any:
        """Look up what the model has learned, and how it predicts."""
        if name.startswith("__") or "model" not in vars(self):
            raise AttributeError(name)
        return getattr(self.model, name)


def _m3n(passes: int | None, beta: float = 1.0, **parameters: Any) -> M3N:
    C = 200 * beta
    if passes is None:
        return M3N(C=C, tol=1e-2, verbose=0, **parameters)
    return M3N(C=C, beta=beta, **steps(passes), **parameters)


def _medn(passes: int | None, beta: float = 1.0, lam: float = 36.0, **parameters: Any) -> Any:
    C = 200 * beta
    if passes is None:
        return LaplaceMEDN(C=C, lam=lam, tol=1e-2, max_iter=2000, verbose=0, **parameters)
    options = {"method": "variational", "n_iterations": 3, **steps(passes), **parameters}
    return LaplaceMEDN(C=C, lam=lam, beta=beta, **options)


_BUILDERS = {"M3N": _m3n, "LapMEDN": _medn}
_SUMMARIES = {
    "M3N": "M3N with C = 200 beta",
    "LapMEDN": "LapMEDN with C = 200 beta; stopped early, three quadratic programs",
}


def mean_slack(build: Any, **parameters: Any) -> _PricedPerSample:
    """Return a model whose ``C`` is the price of the mean slack."""
    return _PricedPerSample(build(**parameters))


def printed_models(base: str) -> dict[str, Model]:
    """Return the readings of M3N or LapMEDN: after each number of passes, and at its optimum."""
    found = {}
    for passes in (*PASSES, None):
        build: Any = partial(_BUILDERS[base], passes)
        name = stopped_name(base, passes)
        for ending, made in (("", build), (MEAN, partial(mean_slack, build))):
            found[name + ending] = Model(name + ending, made, _SUMMARIES[base])
    return found


def stopped_name(base: str, passes: int | None) -> str:
    """Return what a reading is called, such as ``M3N 20 passes``."""
    return f"{base} at its optimum" if passes is None else f"{base} {passes} passes"
