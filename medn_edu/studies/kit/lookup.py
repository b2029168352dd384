"""A table of the most frequent labels in training: the simplest baseline that a model must beat."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator


class Lookup(BaseEstimator, ABC):
    """Predict the label that was most frequent with the same key in training.

    For a key that never occurred, predict the most frequent label of all.
    """

    @abstractmethod
    def keys(self, x: Any) -> list[Hashable]:
        """Return what is looked up for each node of a sample."""

    def fit(self, X: Sequence[Any], y: Sequence[Iterable[Any]]) -> Self:
        """Count labels."""
        counts: dict[Hashable, Counter[str]] = defaultdict(Counter)
        for x, labels in zip(X, y, strict=True):
            for key, label in zip(self.keys(x), labels, strict=True):
                counts[key][str(label)] += 1
        [(self.commonest_, _)] = sum(counts.values(), Counter()).most_common(1)
        best = {key: count.most_common(1)[0] for key, count in counts.items()}
        self.table_ = {key: label for key, (label, _) in best.items()}
        self.weights_ = np.array(
            [times for _, times in best.values()]
        )  # entries, for want of weights
        return self

    def predict(self, X: Sequence[Any]) -> list[np.ndarray]:
        """Return the labels of the table."""
        return [
            np.array([self.table_.get(key, self.commonest_) for key in self.keys(x)]) for x in X
        ]
