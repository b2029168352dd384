"""The models that are compared everywhere, one entry each.

A new model joins the demo and the studies by a line in `MODELS`.  Their constants are the best of
0.03, 0.1, 0.3, 1 (``C``) and 0.3, 1, 3, 10 (``lam``) on OCR words that take no part in the study
``ocr``: those of each fold that are left when 250 have been drawn with seed 0.  100 and 250 of them
trained, those of the other folds tested, with folds 0 to 2.  The digits were not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from medn_edu.estimators import CRF, M3N

__all__ = ["MODELS", "Model", "PerLetter", "make_model"]


@dataclass(frozen=True)
class Model:
    """A model by name.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    build : callable
        Makes the estimator from parameters given by keyword.
    summary : str
        What it is, in a line.
    parameters : tuple of (name, value)
        The constants it is compared with.
    """

    name: str
    build: Callable[..., Any]
    summary: str
    parameters: tuple[tuple[str, float], ...] = ()


class PerLetter(BaseEstimator):
    """Logistic regression of each letter by itself, to show what the neighbours are worth.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the L2 penalty.
    n_jobs : int, default=1
        Ignored; every model of the comparison has it.

    Examples
    --------
    >>> import numpy as np
    >>> model = PerLetter().fit([np.eye(2), np.eye(2)], ["ab", "ab"])
    >>> model.predict([np.eye(2)])[0]
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self, C: float = 1.0, n_jobs: int = 1) -> None:
        self.C = C
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all letters of all words.

        Parameters
        ----------
        X : list of ndarray of shape (n_nodes, n_features)
            The words.
        y : list of label sequences
            Their labels.

        Returns
        -------
        self
            The trained model.
        """
        labels = np.concatenate([np.asarray(list(labels)) for labels in y])
        # A constant column instead of an intercept: the other models have none either.
        self.regression_ = LogisticRegression(C=self.C, fit_intercept=False, max_iter=1000)
        self.regression_.fit(np.vstack(list(X)), labels)
        self.classes_ = self.regression_.classes_
        self.coef_ = self.regression_.coef_
        self.weights_ = self.coef_.ravel()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each letter.

        Parameters
        ----------
        X : list of ndarray of shape (n_nodes, n_features)
            The words.

        Returns
        -------
        ndarray of object, shape (n_samples,)
            One array of labels per word.
        """
        found = np.empty(len(X), dtype=object)
        found[:] = [self.regression_.predict(word) for word in X]
        return found


def _crf(**parameters: Any) -> CRF:
    # The likelihood may have no maximum: training ends when it hardly changes any more.
    return CRF(penalty=None, tol=5e-5, verbose=0, **parameters)


def _l2_crf(**parameters: Any) -> CRF:
    return CRF(penalty="l2", tol=1e-3, verbose=0, **parameters)


def _m3n(**parameters: Any) -> M3N:
    return M3N(tol=1e-2, verbose=0, **parameters)


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
        Model("M3N", _m3n, "maximum margin Markov network", (("C", 0.1),)),
    )
}
"""The models there are, from plain to elaborate."""


def make_model(name: str, *, seed: int = 0, **parameters: Any) -> Any:
    """Return an untrained model.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    seed : int, default=0
        Seed of training, for the models that draw anything.
    **parameters
        What its constructor takes, such as ``C`` or ``n_jobs``.

    Returns
    -------
    object
        With ``fit``, ``predict``, ``weights_`` and, except for the baseline, ``result_``.

    Raises
    ------
    ValueError
        If there is no such model.

    Examples
    --------
    >>> make_model("M3N", C=0.5).C
    0.5
    """
    if name not in MODELS:
        raise ValueError(f"model is {name!r}; expected one of {', '.join(MODELS)}.")
    model = MODELS[name].build(**parameters)
    if hasattr(model, "random_state"):
        model.set_params(random_state=seed)
    return model
