"""Rules about weights and variances of the first data set of ``synthetic-correlated``, ten parts.

The papers look at *average weights*: of each of the 200 state features, 100 for each label, the mean
over the ten parts that train in turn.  The first 30 features are relevant, in ten groups of three.
Averages of averages are no means over units, so intervals come from the jackknife over the ten parts:
they say what other training parts of this one data set would give, not what other data would.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.experiments.claims.scores import jackknife
from medn_edu.experiments.claims.verdicts import Verdict, combine, decide, place, untested

__all__ = [
    "AllNonZero", "GroupedVariances", "LargerWeights", "MoreLargeWeights", "SimilarWeights",
    "SmallIrrelevant", "UnlikeTruth", "average_weights", "true_weights",
]  # fmt: skip

SHOWN = "correlated-10-0"
"""The data set whose weights are kept."""

N_RELEVANT = 30
"""How many features are relevant, the first ones."""

_GROUP = 3
_LARGE = 0.1  # of the model's own largest average weight
Row = Mapping[str, Any]
Names = tuple[str, ...]


def average_weights(rows: Sequence[Row], model: str, column: str = "weights") -> np.ndarray | None:
    """Return the weights of a model for each part that trained.

    Parameters
    ----------
    rows : sequence of rows
        Results of ``synthetic-correlated``.
    model : str
        Name of the model.
    column : str
        ``"weights"`` or ``"variances"``.

    Returns
    -------
    ndarray of shape (n_parts, n_labels, n_features), or (n_parts, 1, n_features), or None
        None where the table has none.
    """
    texts = [
        (row["fold"], str(row[column]))
        for row in rows
        if row["data"] == SHOWN and row["model"] == model and row.get(column)
    ]
    if not texts:
        return None
    table = np.array([[float(value) for value in text.split()] for _, text in sorted(texts)])
    n_labels = 2 if column == "weights" else 1
    return table.reshape(len(table), n_labels, -1)


def true_weights(seed: int = 0) -> np.ndarray:
    """Return the state weights of the CRF behind the first data set.

    Parameters
    ----------
    seed : int
        Seed of the study.

    Returns
    -------
    ndarray of shape (2, 100)
        As `medn_edu.experiments.splits.correlated_chains` has them: one seed gives the same weights
        whatever the number of samples and the sampler.
    """
    from medn_edu.datasets import make_chain_crf

    few = make_chain_crf(n_samples=1, correlated=True, sampler="exact", random_state=1000 * seed)
    return few.coef


@dataclass(frozen=True)
class SmallIrrelevant:
    """Average weights of irrelevant features are small against those of relevant ones.

    Parameters
    ----------
    models : tuple of str
        Names of models.
    at_most : float
        Mean size of the irrelevant ones, in per cent of that of the relevant ones.
    """

    models: Names
    at_most: float = 10.0

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare mean sizes.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the ratio in per cent.
        """
        return combine([self._judge(rows, model) for model in self.models], self.models)

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        def share(sizes: np.ndarray) -> float:
            relevant = sizes[:, :N_RELEVANT].mean()
            return 100 * float(sizes[:, N_RELEVANT:].mean() / relevant) if relevant else np.inf

        found = _estimate(rows, (model,), lambda sizes: share(sizes[0]))
        if isinstance(found, Verdict):
            return found
        value, low, high = found
        status = place((low, high), at_most=self.at_most)
        return Verdict(
            status, value, (low, high), "% of relevant weights", "", self.at_most - value
        )

    def text(self) -> str:
        """Say whose weights."""
        return (
            "the mean size of average weights of irrelevant features is at most "
            f"{self.at_most:g} % of that of relevant ones: {', '.join(self.models)}"
        )


@dataclass(frozen=True)
class LargerWeights:
    """Average weights of some models are larger than those of others.

    Parameters
    ----------
    larger, smaller : tuple of str
        Names of models.
    part : str
        ``"relevant"``, ``"irrelevant"`` or ``"all"`` features.
    factor : float
        How many times as large at least.
    """

    larger: Names
    smaller: Names
    part: str
    factor: float = 1.0

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare mean sizes, pair by pair.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the logarithm, to base 2, of how many times as large.
        """
        pairs = list(itertools.product(self.larger, self.smaller))
        names = [f"{larger} against {smaller}" for larger, smaller in pairs]
        return combine([self._judge(rows, *pair) for pair in pairs], names)

    def _judge(self, rows: Sequence[Row], larger: str, smaller: str) -> Verdict:
        def times(sizes: list[np.ndarray]) -> float:
            first, second = (size[:, _columns(self.part)].mean() for size in sizes)
            return float(np.log2(max(first, 1e-12) / max(second, 1e-12)))

        found = _estimate(rows, (larger, smaller), times)
        if isinstance(found, Verdict):
            return found
        value, low, high = found
        least = float(np.log2(self.factor))
        status = place((low, high), above=least)
        return Verdict(status, value, (low, high), "doublings", "", value - least)

    def text(self) -> str:
        """Say whose weights."""
        times = f"{self.factor:g} times " if self.factor != 1 else ""
        return (
            f"the mean size of average weights, {self.part} features, is larger than {times}that of "
            f"{', '.join(self.smaller)}: {', '.join(self.larger)}"
        )


@dataclass(frozen=True)
class MoreLargeWeights:
    """Some models have more large average weights than others.

    A weight is large if it is at least a tenth of the model's own largest average weight.

    Parameters
    ----------
    more, fewer : tuple of str
        Names of models.
    """

    more: Names
    fewer: Names

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Count, pair by pair.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is how many more, of 200.
        """
        pairs = list(itertools.product(self.more, self.fewer))
        names = [f"{more} against {fewer}" for more, fewer in pairs]
        return combine([self._judge(rows, *pair) for pair in pairs], names)

    def _judge(self, rows: Sequence[Row], more: str, fewer: str) -> Verdict:
        def surplus(sizes: list[np.ndarray]) -> float:
            first, second = (float((size >= _LARGE * size.max()).sum()) for size in sizes)
            return first - second

        found = _estimate(rows, (more, fewer), surplus)
        if isinstance(found, Verdict):
            return found
        value, low, high = found
        status = place((low, high), above=0.0)
        return Verdict(status, value, (low, high), "more of 200 weights", "", value)

    def text(self) -> str:
        """Say whose weights."""
        return (
            f"more average weights are at least {_LARGE:g} of the model's largest with "
            f"{', '.join(self.more)} than with {', '.join(self.fewer)}"
        )


@dataclass(frozen=True)
class SimilarWeights:
    """Average weights of relevant features are alike in some models and others.

    Parameters
    ----------
    first, second : tuple of str
        Names of models.
    at_least : float
        Correlation of the 60 weights.
    """

    first: Names
    second: Names
    at_least: float = 0.9

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Correlate, pair by pair.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the correlation.
        """
        pairs = list(itertools.product(self.first, self.second))
        names = [f"{first} and {second}" for first, second in pairs]
        return combine([self._judge(rows, *pair) for pair in pairs], names)

    def _judge(self, rows: Sequence[Row], first: str, second: str) -> Verdict:
        def correlation(averages: list[np.ndarray]) -> float:
            return _correlation(*(average[:, :N_RELEVANT].ravel() for average in averages))

        found = _estimate(rows, (first, second), correlation, signed=True)
        if isinstance(found, Verdict):
            return found
        value, low, high = found
        status = place((low, high), above=self.at_least)
        return Verdict(status, value, (low, high), "(correlation)", "", value - self.at_least)

    def text(self) -> str:
        """Say whose weights."""
        return (
            f"average weights of relevant features correlate by more than {self.at_least:g}: "
            f"{', '.join(self.first)} with {', '.join(self.second)}"
        )


@dataclass(frozen=True)
class AllNonZero:
    """No average weight is zero, or some are.

    Parameters
    ----------
    models : tuple of str
        Names of models.
    yes : bool
        Whether none is; otherwise at least a tenth is.
    """

    models: Names
    yes: bool = True

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Count average weights that are zero.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is how many are, of 200; counts over all parts have no interval.
        """
        return combine([self._judge(rows, model) for model in self.models], self.models)

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        weights = average_weights(rows, model)
        if weights is None:
            return untested(f"no weights of {model} are kept.")
        zeros, n_all = int((weights == 0).all(axis=0).sum()), weights[0].size
        agrees = zeros == 0 if self.yes else zeros > 0
        surely = zeros == 0 if self.yes else zeros >= 0.1 * n_all
        slack = float(-zeros if self.yes else zeros)
        unit = f"of {n_all} are zero"
        return Verdict(decide(agrees, surely), float(zeros), unit=unit, slack=slack)

    def text(self) -> str:
        """Say whose weights."""
        what = (
            "none of the average weights is" if self.yes else "a tenth of the average weights are"
        )
        return f"{what} zero: {', '.join(self.models)}"


@dataclass(frozen=True)
class UnlikeTruth:
    """Average weights are far from those of the model that made the labels.

    What data can teach is compared, no more.  A constant added to both labels' weights of a feature
    changes no probability, so for each feature only the *contrast* counts, label 1's weight minus that
    of label 0.  Of three copies of one value only the sum counts.  And the size of max-margin weights is
    a matter of ``C``, so the learned contrasts are multiplied by the number, not negative, that brings
    them nearest to the true ones.  The norm is that of ten sums and of 70 contrasts that are truly zero:
    so the distance is that of the scores which the two models give to labels, by root mean squares.

    Parameters
    ----------
    models : tuple of str
        Names of models.
    above : float
        Distance from the true contrasts, in per cent of their norm.
    """

    models: Names
    above: float = 50.0

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compare with the true weights.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the distance in per cent.
        """
        return combine([self._judge(rows, model) for model in self.models], self.models)

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        weights = average_weights(rows, model)
        if weights is None:
            return untested(f"no weights of {model} are kept.")
        truth = _contrasts(true_weights(int(rows[0].get("seed") or 0)))

        def distance(averages: list[np.ndarray]) -> float:
            learned = _contrasts(averages[0])
            squared = float(learned @ learned)
            scale = max(float(learned @ truth), 0.0) / squared if squared else 0.0
            return 100 * float(np.linalg.norm(scale * learned - truth) / np.linalg.norm(truth))

        found = _estimate(rows, (model,), distance, signed=True)
        if isinstance(found, Verdict):
            return found
        value, low, high = found
        n_groups = N_RELEVANT // _GROUP
        likeness = _correlation(_contrasts(weights.mean(axis=0))[:n_groups], truth[:n_groups])
        status = place((low, high), above=self.above)
        unit = "% of the true contrasts' norm"
        note = f"those of relevant groups correlate with the true ones by {likeness:.2f}"
        return Verdict(status, value, (low, high), unit, note, value - self.above)

    def text(self) -> str:
        """Say whose weights."""
        return (
            "average weights of label 1 minus those of label 0, summed over groups of copies and scaled "
            f"to come nearest to the true ones, are more than {self.above:g} % of their norm away from "
            f"them: {', '.join(self.models)}"
        )


@dataclass(frozen=True)
class GroupedVariances:
    """Variances agree within the groups of relevant features, and not within others.

    The intraclass correlation of the variances' logarithms compares the spread between groups of three
    with that within: 1 if the members of each group agree, 0 if they agree no more than any features.

    Parameters
    ----------
    model : str
        A model with variances.
    irrelevant : bool
        False: relevant groups agree, more than threes of irrelevant features do.  True: these threes
        agree by a half at most.
    """

    model: str
    irrelevant: bool = False

    def decide(self, rows: Sequence[Row]) -> Verdict:
        """Compute the intraclass correlations of the average variances.

        Parameters
        ----------
        rows : sequence of rows
            Results of the study.

        Returns
        -------
        Verdict
            Its effect is the correlation of the relevant groups, or that of the others.
        """
        variances = average_weights(rows, self.model, "variances")
        if variances is None:
            return untested(f"no variances of {self.model} are kept.")
        values = variances[:, 0]

        def relevant(kept: np.ndarray) -> float:
            return _intraclass(np.log(values[kept].mean(axis=0)[:N_RELEVANT]))

        def others(kept: np.ndarray) -> float:
            rest = values[kept].mean(axis=0)[N_RELEVANT:]
            return _intraclass(np.log(rest[: len(rest) // _GROUP * _GROUP]))

        found = jackknife(others if self.irrelevant else relevant, len(values))
        apart = jackknife(lambda kept: relevant(kept) - others(kept), len(values))
        if found is None or apart is None:
            return untested(f"fewer than three parts with variances of {self.model}.")
        value, low, high = found
        if self.irrelevant:
            status = place((low, high), at_most=0.5)
        else:  # both must be above zero; one that surely is not refutes it
            both = [Verdict(place(span, above=0.0)) for span in ((low, high), apart[1:])]
            status = combine(both, ("", "")).status
        note = f"{apart[0]:+.2f} [{apart[1]:+.2f}, {apart[2]:+.2f}] against the other kind"
        note = "" if self.irrelevant else note
        return Verdict(status, value, (low, high), "(intraclass correlation)", note)

    def text(self) -> str:
        """Say which features."""
        if self.irrelevant:
            return (
                "variances of three neighbouring irrelevant features have an intraclass correlation "
                f"of at most 0.5: {self.model}"
            )
        return (
            "variances within relevant groups have an intraclass correlation above 0, and above that "
            f"of three neighbouring irrelevant features: {self.model}"
        )


# ---------------------------------------------------------------------------------------------
# what they share


def _estimate(
    rows: Sequence[Row],
    models: Names,
    statistic: Callable[[list[np.ndarray]], float],
    *,
    signed: bool = False,
) -> tuple[float, float, float] | Verdict:
    """Compute something of average weights, or their sizes, leaving out a part at a time."""
    tables = []
    for model in models:
        weights = average_weights(rows, model)
        if weights is None:
            return untested(f"no weights of {model} are kept.")
        tables.append(weights)
    n_parts = min(map(len, tables))

    def of(kept: np.ndarray) -> float:
        averages = [table[kept].mean(axis=0) for table in tables]
        return statistic(averages if signed else [np.abs(average) for average in averages])

    found = jackknife(of, n_parts)
    return untested("fewer than three parts with weights.") if found is None else found


def _columns(part: str) -> slice:
    if part == "relevant":
        return slice(N_RELEVANT)
    return slice(N_RELEVANT, None) if part == "irrelevant" else slice(None)


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _contrasts(weights: np.ndarray) -> np.ndarray:
    """Return label 1's weights minus label 0's: sums over relevant groups, then other features."""
    contrast = weights[1] - weights[0]
    sums = contrast[:N_RELEVANT].reshape(-1, _GROUP).sum(axis=1)
    return np.concatenate([sums, contrast[N_RELEVANT:]])


def _intraclass(values: np.ndarray) -> float:
    """Return the intraclass correlation of consecutive threes, by one-way analysis of variance."""
    groups = values.reshape(-1, _GROUP)
    between = _GROUP * groups.mean(axis=1).var(ddof=1)
    within = groups.var(axis=1, ddof=1).mean()
    total = between + (_GROUP - 1) * within
    return float((between - within) / total) if total > 0 else 0.0
