"""What a trained posterior can predict with: its mean, few of its weights, single draws, many draws.

`LaplaceMEDN` and `M3N` learn a distribution over weights and predict with its mean.  Here are the other
ways to use it, as models of their own, so that a study can compare them.  All are given the constants
of the model whose posterior they use.
"""

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.studies.kit.fair import FAIR_MODELS
from medn_edu.studies.kit.models import MODELS, make_model
from medn_edu.studies.kit.selection import Selected

N_DRAWS = 50
"""Draws of weights that marginals are averaged over."""


L1_CONSTANT = dict(MODELS["L1-M3N"].parameters)["C"]
"""C of the L1-M3N that says how many weights are kept where nothing is chosen."""


def with_weights(model: Any, weights: np.ndarray) -> Any:
    """Return a copy of a trained model that predicts with other weights."""
    other, n_coef = copy.copy(model), model.coef_.size
    other.coef_ = weights[:n_coef].reshape(model.coef_.shape)
    other.transitions_ = weights[n_coef:].reshape(model.transitions_.shape)
    return other


def draw_weights(
    model: Any, rng: np.random.Generator, n_draws: int, variance: float = 1.0
) -> np.ndarray:
    """Draw weights from the posterior of an exact `LaplaceMEDN` or an `M3N`, a row for each draw.

    The mean of M3N is that of any normal prior whose variance times its C is the same.  So the mean
    does not tell how wide the posterior is: that is for ``variance`` to say, the prior's.

    >>> from medn_edu import M3N
    >>> model = M3N(C=2.0, tol=1e-6, verbose=0).fit([np.array([[1.0], [-1.0]])], [[1, 0]])
    >>> draws = draw_weights(model, np.random.default_rng(0), 10_000, variance=0.25)
    >>> bool(np.allclose(draws.mean(axis=0), model.posterior_mean_, atol=0.03))
    True
    >>> bool(np.allclose(draws.var(axis=0), 0.25, atol=0.02))
    True
    """
    lam = getattr(model, "lam", None)
    if lam is None:
        return GaussianPrior(variance).draw(model.weights_ / variance, rng, n_draws)
    return LaplacePrior(lam).draw(model.eta_, rng, n_draws)


class PosteriorMean:
    """The mean, which is what the model itself predicts with; the other predictors start from here."""

    model_: Any

    def __init__(
        self,
        base: str = "LapMEDN",
        variance: float = 1.0,
        random_state: int = 0,
        **constants: float,
    ) -> None:
        self.base = base
        self.variance = variance  # of M3N's prior
        self.random_state = random_state
        self.constants = constants  # of the model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the outcome depends on."""
        own = {"base": self.base, "variance": self.variance, "n_draws": N_DRAWS}
        return {**self._make().get_params(deep=False), **own}

    def set_params(self, random_state: int) -> Self:
        """Set the seed, of training and of draws."""
        self.random_state = random_state
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Train the model whose posterior this is."""
        self.model_ = self._make().fit(X, y)
        return self

    def _make(self) -> Any:
        return make_model(self.base, FAIR_MODELS, seed=self.random_state, **self.constants)

    def __getattr__(self, name: str) -> Any:
        """Look up what the trained model has learned."""
        if name.endswith("_") and not name.startswith("_") and "model_" in vars(self):
            return getattr(self.model_, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def predict(self, X: Any) -> Any:
        """Return the best labellings under the mean."""
        return self.model_.predict(X)

    def predict_marginals(self, X: Any) -> list[np.ndarray]:
        """Return the marginals under the mean."""
        return self.model_.predict_marginals(X)

    def _draws(self, n_draws: int) -> Iterator[Any]:
        rng = np.random.default_rng([self.random_state, 1])
        for weights in draw_weights(self.model_, rng, n_draws, self.variance):
            yield with_weights(self.model_, weights)


class GibbsDraws(PosteriorMean):
    """The Gibbs predictor: it draws new weights for every sample."""

    def predict(self, X: Any) -> list[np.ndarray]:
        """Return the best labelling of each sample under weights drawn for it."""
        return [drawn.predict([x])[0] for x, drawn in zip(X, self._draws(len(X)), strict=True)]


class AveragedMarginals(PosteriorMean):
    """The most probable label of each node, where marginals are averaged over draws."""

    def predict_marginals(self, X: Any) -> list[np.ndarray]:
        """Return the marginals at each node, averaged over draws."""
        drawn = [np.concatenate(one.predict_marginals(X)) for one in self._draws(N_DRAWS)]
        ends = np.cumsum([len(x) for x in X])[:-1]
        return np.split(np.mean(drawn, axis=0), ends)

    def predict(self, X: Any) -> list[np.ndarray]:
        """Return the most probable label of each node."""
        return [self.classes_[p.argmax(axis=1)] for p in self.predict_marginals(X)]


def thresholded(model: Any, X: Any, y: Any, C: float) -> Any:
    """Return a model with as many of its weights as L1-M3N with this constant has, the largest ones.

    All others are zero.  The L1-M3N is trained on the samples given.
    """
    sparse = make_model("L1-M3N", FAIR_MODELS, C=C).fit(X, y)
    weights = model.weights_
    order = np.argsort(-np.abs(weights), kind="stable")
    weights[order[np.count_nonzero(sparse.weights_) :]] = 0.0
    return with_weights(model, weights)


class Thresholded(Selected):
    """A mean with its largest weights only; the model that it is of chooses its constants first.

    ``C`` is the constant of the L1-M3N that has as many weights.
    """

    def __init__(self, *choice: Any, C: float = 1.0, **options: Any) -> None:
        super().__init__(*choice, **options)
        self.C = C

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the outcome depends on."""
        return {**super().get_params(deep), "C_of_L1_M3N": self.C}

    def fit(self, X: Any, y: Any) -> Self:
        """Choose, train, and keep the largest weights."""
        super().fit(X, y)
        self.model_ = thresholded(self.model_, X[: self.n_train_], y[: self.n_train_], self.C)
        return self


class ThresholdedMean(PosteriorMean):
    """The same for LapMEDN with C = 1 and a given ``lam``, as in MEDN's Fig. 9.

    The L1-M3N has the constant of `medn_edu.studies.kit.models`, so that all have about as many weights.
    """

    def __init__(self, lam: float) -> None:
        super().__init__(lam=lam, C=1.0)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the outcome depends on."""
        return {**super().get_params(deep), "C_of_L1_M3N": L1_CONSTANT}

    def fit(self, X: Any, y: Any) -> Self:
        """Train, and keep the largest weights."""
        super().fit(X, y)
        self.model_ = thresholded(self.model_, X, y, L1_CONSTANT)
        return self
