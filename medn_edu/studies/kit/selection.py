"""Choosing constants by cross-validation on the training part, along warm-started paths.

The constants of a model are tried on a grid: each part of the training samples in turn tests what the
others have trained, or, with few to train on, the others test what one part has trained.  The
constants with the fewest wrong labels win, among equals those that come first; grids therefore list
strong regularisation before weak.  In this order solutions move slowly, and each is the start of the
next one's training (``warm_start``), so that twenty constants cost little more than a few.
The test part of a study is never seen here: all that a `Selected` model is given are samples to train
on.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from medn_edu.studies.kit.models import Model, make_model

Grid = tuple[tuple[str, tuple[float, ...]], ...]

TRIED: dict[str, tuple[tuple[str, float], ...]] = {"quick": (("n_tried", 1),), "paper": ()}
"""Extra parameters of the models that choose constants, by scale."""

CHOICE = {"quick": "  To save time, the quick scale chooses on the first split only.", "paper": ""}
"""What captions add about it, by scale."""


class Selected:
    """A model that chooses its constants on the samples it is trained on."""

    def __init__(
        self,
        name: str,
        grid: Grid,
        models: Mapping[str, Model] | None = None,
        *,
        n_folds: int = 5,
        inverse: bool = False,
        n_tried: int | None = None,
        blocks: tuple[int, ...] | None = None,
        tol: float = 2e-2,
        random_state: int = 0,
        **fixed: float,
    ) -> None:
        self.name = name
        self.grid = grid
        self.models = models
        self.n_folds = n_folds
        self.inverse = inverse
        self.n_tried = n_tried
        self.blocks = blocks
        self.tol = tol
        self.random_state = random_state
        self.fixed = fixed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the outcome depends on."""
        chosen = {name for name, _ in self.grid}
        settings = self._make().get_params(deep=False)
        return {
            **{name: value for name, value in settings.items() if name not in chosen},
            "model": self.name,
            "grid": self.grid,
            "n_folds": self.n_folds,
            "inverse": self.inverse,
            "n_tried": self.n_tried,
            "blocks": self.blocks,
            "path_tol": self.tol,
            "random_state": self.random_state,
        }

    def set_params(self, random_state: int) -> Self:
        """Set the seed."""
        self.random_state = random_state
        return self

    def fit(self, X: Sequence[Any], y: Sequence[Any]) -> Self:
        """Choose the constants and train with them."""
        points = list(_points(self.grid))
        folds = self._folds(len(X))
        trial = self._make()
        if getattr(trial, "tol", self.tol) < self.tol:
            trial.set_params(tol=self.tol)
        self.errors_ = path_errors(trial, points, X, y, folds)
        self.chosen_ = points[int(np.argmin(self.errors_))]
        last = folds[0][0] if self.inverse or self.blocks else range(len(X))
        self.model_ = self._make(**self.chosen_).fit([X[i] for i in last], [y[i] for i in last])
        return self

    def predict(self, X: Sequence[Any]) -> Any:
        """Return the labels that the trained model predicts."""
        return self.model_.predict(X)

    def __getattr__(self, name: str) -> Any:
        """Look up what the trained model has learned: ``weights_``, ``result_`` and so on."""
        if name.endswith("_") and not name.startswith("_") and "model_" in vars(self):
            return getattr(self.model_, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _folds(self, n_samples: int) -> list[tuple[np.ndarray, np.ndarray]]:
        if self.blocks:
            pairs = blocks_of(n_samples, self.blocks)
        else:
            pairs = folds_of(n_samples, self.n_folds, self.random_state, inverse=self.inverse)
        return pairs[: self.n_tried]

    def _make(self, **constants: float) -> Any:
        return make_model(
            self.name, self.models, seed=self.random_state, **{**self.fixed, **constants}
        )


def path_errors(
    model: Any,
    points: Sequence[Mapping[str, float]],
    X: Sequence[Any],
    y: Sequence[Any],
    folds: Iterable[tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Return the share of wrong labels over all folds, for each point of a path."""
    if "warm_start" in model.get_params():
        model.set_params(warm_start=True)
    wrong, n_nodes = np.zeros(len(points)), 0
    for train, test in folds:
        for attribute in [name for name in vars(model) if name.endswith("_")]:
            delattr(model, attribute)  # a new fold starts afresh
        truth = np.concatenate([np.asarray(list(y[i])) for i in test])
        n_nodes += len(truth)
        for number, point in enumerate(points):
            model.set_params(**point)
            model.fit([X[i] for i in train], [y[i] for i in train])
            found = np.concatenate(list(model.predict([X[i] for i in test])))
            wrong[number] += np.sum(found != truth)
    return wrong / n_nodes


def folds_of(
    n_samples: int, n_folds: int, seed: int, *, inverse: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide samples into parts of equal size, but for one, each of which tests in turn."""
    if not 2 <= n_folds <= n_samples:
        raise ValueError(
            f"n_folds is {n_folds}; expected from 2 to the number of samples, {n_samples}."
        )
    part = np.empty(n_samples, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(n_samples)
    part[order] = np.arange(n_samples) * n_folds // n_samples
    pairs = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_folds)]
    return [(test, train) for train, test in pairs] if inverse else pairs


def blocks_of(n_samples: int, sizes: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Let each of the blocks that samples begin with train in turn, while all others test."""
    if min(sizes) < 1 or sum(sizes) > n_samples or max(sizes) == n_samples:
        raise ValueError(
            f"blocks are {tuple(sizes)}; expected positive sizes that leave some of {n_samples} "
            "samples to test."
        )
    everything = np.arange(n_samples)
    ends = np.cumsum(sizes)
    return [
        (everything[end - size : end], np.delete(everything, slice(end - size, end)))
        for size, end in zip(sizes, ends, strict=True)
    ]


def _points(grid: Grid) -> Iterator[dict[str, float]]:
    names = [name for name, _ in grid]
    for values in itertools.product(*(values for _, values in grid)):
        yield dict(zip(names, values, strict=True))
