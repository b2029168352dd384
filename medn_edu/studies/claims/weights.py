"""Rules about weights and variances of the first data set of ``synthetic-correlated``, ten parts.

The papers look at average weights, which `claims.averages` reads.  Averages of averages are no means
over units, so intervals come from the jackknife over the ten parts: they say what other training parts
of this one data set would give, not what other data would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from medn_edu.studies.claims.averages import (
    GROUP,
    N_RELEVANT,
    known_weights,
    of_averages,
    true_weights,
)
from medn_edu.studies.claims.rules import (
    InPairs,
    Names,
    OneByOne,
    Row,
    known,
    listed,
)
from medn_edu.studies.claims.scores import Estimate, jackknife
from medn_edu.studies.claims.verdicts import Verdict, bounded, combine, decide

LARGE = 0.1
"""From what part on, of the model's own largest average weight, a weight is large."""
_LAST_DIGIT = 1.01e-4  # of a number with five digits, at most


@dataclass(frozen=True)
class SmallIrrelevant(OneByOne):
    """Average weights of irrelevant features are small against those of relevant ones.

    The effect is the mean size of the irrelevant ones in per cent of that of the relevant ones.
    """

    models: Names  # names of models
    at_most: float = 10.0  # how many per cent

    def _names(self) -> Names:
        return self.models

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        def share(sizes: np.ndarray) -> float:
            relevant = sizes[:, :N_RELEVANT].mean()
            return 100 * float(sizes[:, N_RELEVANT:].mean() / relevant) if relevant else np.inf

        ratio = of_averages(rows, (model,), share, np.abs)
        return bounded(ratio, "% of relevant weights", at_most=self.at_most)

    def text(self) -> str:
        """Say whose weights."""
        return (
            "the mean size of average weights of irrelevant features is at most "
            f"{self.at_most:g} % of that of relevant ones: {', '.join(self.models)}"
        )


@dataclass(frozen=True)
class LargerWeights(InPairs):
    """Average weights of some models are larger than those of others.

    The effect is the logarithm, to base 2, of how many times as large they are on average.
    """

    larger: Names
    smaller: Names
    part: str  # ``"relevant"``, ``"irrelevant"`` or ``"all"`` features
    factor: float = 1.0  # how many times as large at least

    def _sides(self) -> tuple[Names, Names]:
        return self.larger, self.smaller

    def _judge(self, rows: Sequence[Row], larger: str, smaller: str) -> Verdict:
        columns = _columns(self.part)

        def doublings(first: np.ndarray, second: np.ndarray) -> float:
            ours, theirs = (max(sizes[:, columns].mean(), 1e-12) for sizes in (first, second))
            return float(np.log2(ours / theirs))

        found = of_averages(rows, (larger, smaller), doublings, np.abs)
        return bounded(found, "doublings", above=float(np.log2(self.factor)))

    def text(self) -> str:
        """Say whose weights."""
        times = f"{self.factor:g} times " if self.factor != 1 else ""
        return (
            f"the mean size of average weights, {self.part} features, is larger than {times}that of "
            f"{', '.join(self.smaller)}: {', '.join(self.larger)}"
        )


@dataclass(frozen=True)
class MoreLargeWeights(InPairs):
    """Some models have more large average weights than others.

    A weight is large if it is at least a tenth of the model's own largest average weight.  The effect is
    how many more there are, of 200.
    """

    more: Names
    fewer: Names

    def _sides(self) -> tuple[Names, Names]:
        return self.more, self.fewer

    def _judge(self, rows: Sequence[Row], more: str, fewer: str) -> Verdict:
        def surplus(first: np.ndarray, second: np.ndarray) -> float:
            ours, theirs = (float((s >= LARGE * s.max()).sum()) for s in (first, second))
            return ours - theirs

        found = of_averages(rows, (more, fewer), surplus, np.abs)
        return bounded(found, "more of 200 weights", above=0.0)

    def text(self) -> str:
        """Say whose weights."""
        return (
            f"more average weights are at least {LARGE:g} of the model's largest with "
            f"{', '.join(self.more)} than with {', '.join(self.fewer)}"
        )


@dataclass(frozen=True)
class SimilarWeights(InPairs):
    """Average weights of relevant features are alike in some models and others.

    The effect is the correlation of these 60 weights.
    """

    _joint: ClassVar[str] = "and"

    first: Names
    second: Names
    at_least: float = 0.9  # correlation

    def _sides(self) -> tuple[Names, Names]:
        return self.first, self.second

    def _judge(self, rows: Sequence[Row], first: str, second: str) -> Verdict:
        def likeness(*averages: np.ndarray) -> float:
            return _correlation(*(average[:, :N_RELEVANT].ravel() for average in averages))

        found = of_averages(rows, (first, second), likeness)
        return bounded(found, "(correlation)", above=self.at_least)

    def text(self) -> str:
        """Say whose weights."""
        return (
            f"average weights of relevant features correlate by more than {self.at_least:g}: "
            f"{', '.join(self.first)} with {', '.join(self.second)}"
        )


@dataclass(frozen=True)
class AllNonZero(OneByOne):
    """No average weight is zero, or some are.

    The effect is how many are, of 200; a count over all parts has no interval.
    """

    models: Names  # names of models
    yes: bool = True  # whether none is; otherwise at least a tenth is

    def _names(self) -> Names:
        return self.models

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        weights = known_weights(rows, model)
        zeros, n_all = int((weights == 0).all(axis=0).sum()), weights[0].size
        status = decide(zeros == 0) if self.yes else decide(zeros > 0, zeros >= 0.1 * n_all)
        slack = float(-zeros if self.yes else zeros)
        return Verdict(status, float(zeros), unit=f"of {n_all} are zero", slack=slack)

    def text(self) -> str:
        """Say whose weights."""
        what = (
            "none of the average weights is" if self.yes else "a tenth of the average weights are"
        )
        return f"{what} zero: {', '.join(self.models)}"


@dataclass(frozen=True)
class EqualVariances(OneByOne):
    r"""The two functions of each feature have the same posterior variance.

    The tables keep one variance for each feature, the mean over its two labels, but means for both.
    These tell: a posterior mean is the variance times what the dual variables make of the function,
    :math:`\mu_k = \sigma_k^2 \eta_k` (MEDN, Theorem 3 and section 6), and the :math:`\eta_k` of a
    feature's two functions are opposite numbers, since every labelling has each value of the feature at
    one label or at the other, so that differences of the two functions cancel.  So the variances are the
    same just where the means are opposite numbers.  The effect is at how many features they are not,
    in any part, by more than a unit of the last of five digits, to which they are kept.
    """

    models: Names  # names of models with variances

    def _names(self) -> Names:
        return self.models

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        known_weights(rows, model, "variances")  # a model without them cannot have the same ones
        first, second = np.moveaxis(known_weights(rows, model), 1, 0)
        apart = np.abs(first + second) > _LAST_DIGIT * np.maximum(np.abs(first), np.abs(second))
        n_apart, n_features = int(apart.any(axis=0).sum()), apart.shape[1]
        status = decide(n_apart == 0)
        return Verdict(
            status, float(n_apart), unit=f"of {n_features} differ", slack=-float(n_apart)
        )

    def text(self) -> str:
        """Say whose variances, and how the table tells."""
        return (
            "means of the two functions of each feature are opposite numbers, to the digits kept; as "
            "each is its variance times an opposite number, the variances are the same: "
            f"{listed(self.models)}"
        )


@dataclass(frozen=True)
class UnlikeTruth(OneByOne):
    """Average weights are far from those of the model that made the labels.

    What data can teach is compared, no more.  A constant added to both labels' weights of a feature
    changes no probability, so for each feature only the *contrast* counts, label 1's weight minus that
    of label 0.  Of three copies of one value only the sum counts.  And the size of max-margin weights is
    a matter of ``C``, so the learned contrasts are multiplied by the number, not negative, that brings
    them nearest to the true ones.  The norm is that of ten sums and of 70 contrasts that are truly zero:
    so the distance, which is the effect, is that of the scores which the two models give to labels, by
    root mean squares.
    """

    models: Names  # names of models
    above: float = 50.0  # distance from the true contrasts, in per cent of their norm

    def _names(self) -> Names:
        return self.models

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        weights = known_weights(rows, model)
        truth = _contrasts(true_weights(int(rows[0].get("seed") or 0)))

        def distance(average: np.ndarray) -> float:
            learned = _contrasts(average)
            squared = float(learned @ learned)
            scale = max(float(learned @ truth), 0.0) / squared if squared else 0.0
            return 100 * float(np.linalg.norm(scale * learned - truth) / np.linalg.norm(truth))

        n_groups = N_RELEVANT // GROUP
        likeness = _correlation(_contrasts(weights.mean(axis=0))[:n_groups], truth[:n_groups])
        return bounded(
            of_averages(rows, (model,), distance),
            "% of the true contrasts' norm",
            f"those of relevant groups correlate with the true ones by {likeness:.2f}",
            above=self.above,
        )

    def text(self) -> str:
        """Say whose weights."""
        return (
            "average weights of label 1 minus those of label 0, summed over groups of copies and scaled "
            f"to come nearest to the true ones, are more than {self.above:g} % of their norm away from "
            f"them: {', '.join(self.models)}"
        )


@dataclass(frozen=True)
class GroupedVariances(OneByOne):
    """Variances agree within the groups of relevant features, and not within others.

    The intraclass correlation of the variances' logarithms compares the spread between groups of three
    with that within: 1 if the members of each group agree, 0 if they agree no more than any features.
    The effect is that of the relevant groups, or of the irrelevant ones.
    """

    model: str  # a model with variances
    irrelevant: bool = False

    def _names(self) -> Names:
        return (self.model,)

    def _judge(self, rows: Sequence[Row], model: str) -> Verdict:
        values = known_weights(rows, model, "variances")[:, 0]

        def relevant(kept: np.ndarray) -> float:
            return _intraclass(np.log(values[kept].mean(axis=0)[:N_RELEVANT]))

        def others(kept: np.ndarray) -> float:
            rest = values[kept].mean(axis=0)[N_RELEVANT:]
            return _intraclass(np.log(rest[: len(rest) // GROUP * GROUP]))

        def estimate(statistic: Callable[[np.ndarray], float]) -> Estimate:
            lack = f"fewer than three parts with variances of {model}."
            return known(jackknife(statistic, len(values)), lack)

        unit = "(intraclass correlation)"
        if self.irrelevant:
            return bounded(estimate(others), unit, at_most=0.5)
        found, lead = estimate(relevant), estimate(lambda kept: relevant(kept) - others(kept))
        # both must be above zero; one that surely is not refutes it
        both = combine([bounded(each, unit, above=0.0) for each in (found, lead)])
        note = f"{lead.value:+.2f} [{lead.low:+.2f}, {lead.high:+.2f}] against the other kind"
        return Verdict(both.status, found.value, found.interval, unit, note)

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
    sums = contrast[:N_RELEVANT].reshape(-1, GROUP).sum(axis=1)
    return np.concatenate([sums, contrast[N_RELEVANT:]])


def _intraclass(values: np.ndarray) -> float:
    """Return the intraclass correlation of consecutive threes, by one-way analysis of variance."""
    groups = values.reshape(-1, GROUP)
    between = GROUP * groups.mean(axis=1).var(ddof=1)
    within = groups.var(axis=1, ddof=1).mean()
    total = between + (GROUP - 1) * within
    return float((between - within) / total) if total > 0 else 0.0
