"""Choosing constants inside the training part, along warm-started paths.

Constants are tried on *paths*, from strong to weak regularisation, one for each shape of a model: a
path of 24 prices for M3N, say, or four paths of six ``lam`` each, one for each ``C``, for LapMEDN.
Along a path solutions change slowly, and training starts from the previous solution (``warm_start``).
So twenty constants cost little more than a few.

Every point is judged by the wrong labels on samples that did not train; ``judged`` may say which true
labels count.  In cross-validation each part of the samples tests what the others have trained.  With
``blocks`` the first samples train and all others test.  The constants with the fewest wrong labels win,
and the first of them if there is a tie.  They train the last model: with blocks on the first block, and
on all samples without blocks or with ``last_on_all``.

If the best point is the first or last of its path, its true optimum may lie beyond.  The path then
grows by a point at that end, until its best point lies inside or ``extend`` points have been added.
The test part of a study is never seen here: all that a `Selected` model is given are samples to train
on.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from medn_edu.estimators import MarkovNetwork
from medn_edu.samples import SampleSet, pack
from medn_edu.studies.kit.models import Model, make_model

Grid = tuple[tuple[str, tuple[float, ...]], ...]
"""Names of constants, each with the values to try."""

Inputs = Sequence[Any] | SampleSet
Folds = list[tuple[np.ndarray, np.ndarray]]

TRIED: dict[str, tuple[tuple[str, float], ...]] = {
    "quick": (("n_tried", 1), ("every", 3), ("extend", 0)),
    "paper": (),
}
"""Extra parameters of the models that choose constants, by scale."""

CHOICE = {
    "quick": "  To save time, the quick scale tries every third point, on the first split only, and "
    "extends no path.",
    "paper": "",
}
"""What captions add about it, by scale."""


@dataclass(frozen=True)
class Path:
    """Values of one constant, from strong to weak regularisation, with the others fixed."""

    name: str
    values: tuple[float, ...]
    shape: tuple[tuple[str, float], ...] = ()  # the constants that are the same all along

    def point(self, number: int) -> dict[str, float]:
        """Return the constants of a point; -1 and ``len(values)`` are the next ones beyond the ends."""
        return {**dict(self.shape), self.name: self._value(number)}

    def _value(self, number: int) -> float:
        if 0 <= number < len(self.values):
            return self.values[number]
        first, second = self.values[:2] if number < 0 else self.values[:-3:-1]
        return float(f"{first * first / second:.4g}")

    def longer(self, *, at_start: bool) -> "Path":
        """Return the path with one more point, in the ratio of the last two."""
        more = self._value(-1 if at_start else len(self.values))
        values = (more, *self.values) if at_start else (*self.values, more)
        return Path(self.name, values, self.shape)


def paths_of(grid: Grid) -> tuple[Path, ...]:
    """Return the paths of a grid: the last constant varies along each."""
    if not grid:
        return ()
    *others, (name, values) = grid
    shapes = itertools.product(*([(key, value) for value in tried] for key, tried in others))
    return tuple(Path(name, values, shape) for shape in shapes)


class Selected:
    """A model that chooses its constants on the samples it is trained on.

    After training ``chosen_`` holds the constants, ``n_train_`` the number of samples that trained the
    last model, ``n_extended_`` how many points were added to the paths, and ``at_end_`` whether the
    best point was still at an end of its path.
    """

    def __init__(
        self,
        name: str,
        paths: tuple[Path, ...],
        models: Mapping[str, Model] | None = None,
        *,
        n_folds: int = 5,
        n_tried: int | None = None,
        every: int = 1,
        in_order: bool = False,
        blocks: tuple[int, ...] | int | None = None,
        last_on_all: bool = False,
        extend: int = 0,
        tol: float = 2e-2,
        max_iter: int | None = None,
        judged: tuple[str, ...] | None = None,
        random_state: int = 0,
        **fixed: float,
    ) -> None:
        self.name = name
        self.paths = paths
        self.models = models
        self.n_folds = n_folds
        self.n_tried = n_tried
        self.every = every
        self.in_order = in_order
        self.blocks = (blocks,) if isinstance(blocks, int) else blocks
        self.last_on_all = last_on_all
        self.extend = extend
        self.tol, self.max_iter = tol, max_iter  # while constants are tried
        self.judged = judged
        self.random_state = random_state
        self.fixed = fixed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the outcome depends on."""
        chosen = {name for path in self.paths for name in path.point(0)}
        settings = self._make().get_params(deep=False)
        return {
            **{name: value for name, value in settings.items() if name not in chosen},
            "model": self.name,
            "paths": self.paths,
            "n_folds": self.n_folds,
            "n_tried": self.n_tried,
            "every": self.every,
            "in_order": self.in_order,
            "blocks": self.blocks,
            "last_on_all": self.last_on_all,
            "extend": self.extend,
            "path_tol": self.tol,
            **({} if self.max_iter is None else {"path_max_iter": self.max_iter}),
            **({} if self.judged is None else {"judged": self.judged}),
            "random_state": self.random_state,
        }

    def set_params(self, random_state: int) -> Self:
        """Set the seed."""
        self.random_state = random_state
        return self

    def fit(self, X: Inputs, y: Sequence[Any]) -> Self:
        """Choose the constants and train with them."""
        folds = self._folds(len(X))
        self.trials_ = [self._trial(path, X, y, folds) for path in self.paths]
        best = min(self.trials_, key=lambda trial: min(trial.errors))
        self.n_extended_ = 0
        while best.end and self.n_extended_ < self.extend:
            best.grow()
            self.n_extended_ += 1
        self.at_end_ = bool(best.end)
        self.chosen_ = best.chosen
        last = folds[0][0] if self.blocks and not self.last_on_all else range(len(X))
        self.n_train_ = len(last)
        model = self._make(**self.chosen_)
        self.model_ = model.fit(_taken(model, X, last), [y[i] for i in last])
        return self

    @property
    def errors_(self) -> np.ndarray:
        """Shares of wrong labels, point by point and path by path."""
        return np.concatenate([trial.errors for trial in self.trials_])

    def predict(self, X: Inputs) -> Any:
        """Return the labels that the trained model predicts."""
        return self.model_.predict(X)

    def __getattr__(self, name: str) -> Any:
        """Look up what the trained model has learned: ``weights_``, ``result_`` and so on."""
        if name.endswith("_") and not name.startswith("_") and "model_" in vars(self):
            return getattr(self.model_, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _folds(self, n_samples: int) -> Folds:
        if self.blocks:
            pairs = blocks_of(n_samples, self.blocks)
        else:
            seed = None if self.in_order else self.random_state
            pairs = folds_of(n_samples, self.n_folds, seed)
        return pairs[: self.n_tried]

    def _trial(self, path: Path, X: Inputs, y: Sequence[Any], folds: Folds) -> "_Trial":
        # From the middle of each third, so that a coarser path covers the same range.
        values = path.values[self.every // 2 :: self.every]
        path = Path(path.name, values, path.shape)
        return _Trial(path, self._make_trial, X, y, folds, self.judged)

    def _make_trial(self) -> Any:
        model = self._make()
        if getattr(model, "tol", self.tol) < self.tol:
            model.set_params(tol=self.tol)
        if self.max_iter is not None:
            model.set_params(max_iter=self.max_iter)
        if "warm_start" in model.get_params():
            model.set_params(warm_start=True)
        return model

    def _make(self, **constants: float) -> Any:
        return make_model(
            self.name, self.models, seed=self.random_state, **{**self.fixed, **constants}
        )


class _Trial:
    """A path with the errors of its points, each over all folds."""

    def __init__(
        self,
        path: Path,
        make: Any,
        X: Inputs,
        y: Sequence[Any],
        folds: Folds,
        judged: tuple[str, ...] | None,
    ) -> None:
        self.path, self._make, self._X, self._y, self._folds = path, make, X, y, folds
        self._judged = judged
        self._ends = [make() for _ in folds]  # models trained at the last point, to go on from
        self.errors = self._errors_along(self._ends, path)

    @property
    def chosen(self) -> dict[str, float]:
        """The constants with the smallest error."""
        return self.path.point(int(np.argmin(self.errors)))

    @property
    def end(self) -> str:
        """The end of the path at which its best point lies: start, end or none.

        Equal errors along the start, such as those of weights that are all zero, are no reason to look
        beyond it.
        """
        if len(self.errors) < 2:
            return ""
        place = int(np.argmin(self.errors))
        if place == 0 and self.errors[0] < self.errors[1]:
            return "start"
        return "end" if place == len(self.errors) - 1 else ""

    def grow(self) -> None:
        """Add a point at the end where the best one lies."""
        at_start = self.end == "start"
        self.path = self.path.longer(at_start=at_start)
        number = 0 if at_start else len(self.path.values) - 1
        models = [self._make() for _ in self._folds] if at_start else self._ends
        point = Path(self.path.name, (self.path.values[number],), self.path.shape)
        self.errors = np.insert(self.errors, number, self._errors_along(models, point))

    def _errors_along(self, models: Sequence[Any], path: Path) -> np.ndarray:
        wrong, n_nodes = np.zeros(len(path.values)), 0
        for model, (train, test) in zip(models, self._folds, strict=True):
            truth = np.concatenate([np.asarray(list(self._y[i])) for i in test])
            counts = np.full(len(truth), True)
            if self._judged is not None:
                counts = np.isin(truth, self._judged)
            n_nodes += counts.sum()
            X_train, y_train = _taken(model, self._X, train), [self._y[i] for i in train]
            X_test = _taken(model, self._X, test)
            for number in range(len(path.values)):
                model.set_params(**path.point(number))
                model.fit(X_train, y_train)
                found = np.concatenate(list(model.predict(X_test)))
                wrong[number] += np.sum((found != truth) & counts)
        return wrong / n_nodes


def _taken(model: Any, X: Inputs, index: Iterable[int]) -> Any:
    """Return some of the samples, packed once for all fits, unless the model is not one of ours."""
    some = X.take(np.array(index)) if isinstance(X, SampleSet) else [X[i] for i in index]
    return pack(some) if isinstance(model, MarkovNetwork) else some


def folds_of(n_samples: int, n_folds: int, seed: int | None) -> Folds:
    """Divide samples into parts, of equal size except for one; each part tests in turn.

    Without a seed each part is a run of consecutive samples.  With a seed the parts are drawn at
    random.
    """
    if not 2 <= n_folds <= n_samples:
        raise ValueError(
            f"n_folds is {n_folds}; expected from 2 to the number of samples, {n_samples}."
        )
    part = np.empty(n_samples, dtype=np.int64)
    order: Any = slice(None)
    if seed is not None:
        order = np.random.default_rng(seed).permutation(n_samples)
    part[order] = np.arange(n_samples) * n_folds // n_samples
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_folds)]


def blocks_of(n_samples: int, sizes: Sequence[int]) -> Folds:
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
