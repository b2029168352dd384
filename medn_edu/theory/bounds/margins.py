"""What Theorem 8 needs from the data: margins, the number of labellings, and a bound on every score.

``margins.md`` explains the theory, with its formulas typeset.
"""

from dataclasses import dataclass

import numpy as np

from medn_edu.checks import check_nonnegative, check_positive
from medn_edu.inference import (
    Potentials,
    best_labelling,
    k_best,
    labelling_scores,
    log_partition,
)
from medn_edu.samples import LabelledSamples

LEAST = 1e-6
"""Smallest margin worth trying, as a share of c."""


@dataclass(frozen=True, eq=False)
class MarginSample:
    """All that Theorem 8 needs to know about a data set.

    >>> sample = MarginSample(np.array([-0.5, 0.2, 1.0]), c=2.0, log_n_labellings=np.log(8))
    >>> sample.n_samples, sample.loss(np.array([0.1, 0.2]))
    (3, array([0.33333333, 0.66666667]))
    """

    margins: np.ndarray  # margins of the samples under the averaging model
    c: float  # bound on every score of every model that the prior allows
    log_n_labellings: float  # logarithm of the largest number of labellings of a sample
    counts: np.ndarray | None = None  # how many samples have each margin; one by default

    def __post_init__(self) -> None:
        check_positive("c", self.c)
        check_nonnegative("log_n_labellings", self.log_n_labellings)
        margins = np.asarray(self.margins, dtype=float)
        counts = np.ones(margins.shape, int) if self.counts is None else np.asarray(self.counts)
        _check_counts(margins, counts)
        sizes = np.abs(margins[margins != np.inf])
        if np.isnan(sizes).any():
            raise ValueError("margins has NaN; expected numbers.")
        if np.any(sizes > 2 * self.c * (1 + 1e-9)):
            raise ValueError(
                f"c is {self.c:g}, but there is a margin of size {sizes.max():g}; expected a bound on "
                "every score, so that no margin is larger than 2 c."
            )
        values, where = np.unique(margins, return_inverse=True)
        object.__setattr__(self, "margins", values)
        object.__setattr__(self, "counts", np.bincount(where, counts).astype(np.int64))

    @property
    def n_samples(self) -> int:
        """Number of samples, ``N``."""
        return int(self._counts.sum())

    @property
    def _counts(self) -> np.ndarray:
        assert self.counts is not None
        return self.counts

    def loss(self, gamma: np.ndarray) -> np.ndarray:
        """Share of the samples with a margin of at most ``gamma``, ``Pr_D[M <= gamma]``."""
        below = np.concatenate([[0], np.cumsum(self._counts)])
        return below[np.searchsorted(self.margins, gamma, side="right")] / self.n_samples

    def thresholds(self) -> np.ndarray:
        """Thresholds worth trying: the last number before each positive margin, and ``2 c``.

        Between two margins the share is constant, and all other terms fall as ``gamma`` grows.
        So nothing in between can give a smaller bound.
        """
        positive = self.margins[(self.margins > LEAST * self.c) & np.isfinite(self.margins)]
        return np.unique(np.append(np.nextafter(positive, 0), 2 * self.c))


def _check_counts(margins: np.ndarray, counts: np.ndarray) -> None:
    if margins.ndim != 1 or counts.shape != margins.shape or not len(counts):
        raise ValueError(
            f"margins have shape {margins.shape} and counts {counts.shape}; expected one count for "
            "each of at least one margin."
        )
    if not np.all((counts >= 0) & (counts == np.floor(counts))) or counts.sum() < 1:
        raise ValueError("counts holds something else; expected whole numbers, not all of them 0.")


def margin_sample(data: LabelledSamples, weights: np.ndarray, c: float) -> MarginSample:
    """Return what Theorem 8 needs to know about a data set."""
    return MarginSample(observed_margins(data, weights), c, log_n_labellings(data))


def observed_margins(data: LabelledSamples, weights: np.ndarray) -> np.ndarray:
    """Return the margin of every sample (MEDN, Eq. 12), by two-best decoding."""
    found = potentials(data, weights)
    truth = labelling_scores(found, data.labels)
    rivals = [
        _rival(y, labels, scores)
        for y, (labels, scores) in zip(data.samples.cut(data.labels), k_best(found, 2), strict=True)
    ]
    return truth - np.array(rivals)


def _rival(y: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the score of the best labelling other than ``y``, given the two best."""
    others = scores[(labels != y).any(axis=1)]
    return float(others[0]) if len(others) else -np.inf


def log_n_labellings(data: LabelledSamples) -> float:
    """Return the logarithm of the largest number of labellings that a sample has, ``ln |Y|``."""
    even = potentials(data, np.zeros(data.weight_shape.size))
    return float(log_partition(even).max())


def score_bound(data: LabelledSamples, largest_weight: float) -> float:
    """Return a bound on the score of every labelling, for all weights in ``[-a, a]``."""
    check_positive("largest_weight", largest_weight)
    samples = data.samples
    edge, _, second = samples.ends
    sizes = np.asarray(abs(samples.features).sum(axis=1)).ravel()
    features = samples.edge_features
    np.add.at(sizes, second, 1 if features is None else np.abs(features[edge]).sum(axis=1))
    return float(largest_weight * np.add.reduceat(sizes, samples.offsets[:-1]).max())


def largest_score(data: LabelledSamples, weights: np.ndarray) -> float:
    """Return the largest absolute score that one model gives to any labelling of the samples."""
    _, highest = best_labelling(potentials(data, weights))
    _, lowest = best_labelling(potentials(data, -np.asarray(weights)))
    return float(max(highest.max(), lowest.max()))


def potentials(data: LabelledSamples, weights: np.ndarray) -> Potentials:
    """Return the potentials of samples under one model, after checking its weights."""
    weights, n_weights = np.asarray(weights, dtype=float), data.weight_shape.size
    if weights.shape != (n_weights,) or not np.isfinite(weights).all():
        raise ValueError(
            f"weights have shape {weights.shape}; expected {n_weights} finite numbers, one for each "
            "weight of a model of these samples."
        )
    coef, transitions = data.weight_shape.split(weights)
    return Potentials.of_weights(
        data.samples, coef, transitions, data.allowed, mask=data.allowed_labels
    )
