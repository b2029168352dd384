"""Measures of weights and variances, of the first data set of ``synthetic-correlated``, ten parts.

The papers look at *average weights*: of each of the 200 state features, 100 for each label, the mean
over the ten parts that train in turn.  The first 30 features are relevant, in ten groups of three.
Averages of averages are no means over units, so intervals come from the jackknife over the ten parts:
they say what other training parts of this one data set would give, not what other data would.
"""

import functools
from collections.abc import Callable

import numpy as np

from medn_edu.studies.claims.rules import Found, Names, Rows, Rule, known, measure, too_few
from medn_edu.studies.claims.scores import Estimate, jackknife, mean_interval
from medn_edu.studies.claims.verdicts import decide

SHOWN = "correlated-10-0"
"""The data set whose weights are kept."""
N_RELEVANT = 30
"""How many features are relevant, the first ones."""
GROUP = 3
"""How many relevant features have the same value, up to noise."""
PARTS = {"relevant": slice(N_RELEVANT), "irrelevant": slice(N_RELEVANT, None), "all": slice(None)}
"""Parts of the features."""

_LAST_DIGIT = 1.01e-4  # of a number with five digits, at most


def average_weights(rows: Rows, model: str, column: str = "weights") -> np.ndarray | None:
    """Return the weights of a model for each part that trained: parts, labels, features."""
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


@functools.cache  # a dozen claims and findings ask
def true_weights(seed: int = 0) -> np.ndarray:
    """Return the state weights of the CRF behind the first data set."""
    from medn_edu.datasets import make_chain_crf

    few = make_chain_crf(n_samples=1, correlated=True, sampler="exact", random_state=1000 * seed)
    few.coef.setflags(write=False)
    return few.coef


def _known(rows: Rows, model: str, column: str = "weights") -> np.ndarray:
    return known(average_weights(rows, model, column), f"no {column} of {model} are kept.")


def _of_averages(
    rows: Rows,
    models: Names,
    statistic: Callable[..., float],
    prepared: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Estimate:
    """Compute a statistic of models' average weights, with its interval by the jackknife over parts."""
    tables = [_known(rows, model) for model in models]

    def of(kept: np.ndarray) -> float:
        return statistic(*(prepared(table[kept].mean(axis=0)) for table in tables))

    return known(jackknife(of, min(map(len, tables))), "fewer than three parts with weights.")


@measure("irrelevant weights")
def _irrelevant(rule: Rule, rows: Rows, model: str) -> Found:
    """How large weights of irrelevant features are, in per cent of those of relevant ones, per fit."""
    return _over_fits(_irrelevant_shares(rows, model), model)


@measure("irrelevant average weights")
def _irrelevant_on_average(rule: Rule, rows: Rows, model: str) -> Found:
    """The same of average weights, which the papers plot, and in which noise of single fits cancels."""
    return Found(_of_averages(rows, (model,), _irrelevant_share, np.abs))


@measure("smaller irrelevant average weights")
def _less_irrelevant_on_average(rule: Rule, rows: Rows, smaller: str, larger: str) -> Found:
    """How many times as large that share is with another model: the logarithm to base 2."""

    def doublings(*averages: np.ndarray) -> float:
        ours, theirs = (max(_irrelevant_share(average), 1e-12) for average in averages)
        return float(np.log2(theirs / ours))

    return Found(_of_averages(rows, (smaller, larger), doublings, np.abs))


def _irrelevant_shares(rows: Rows, model: str) -> np.ndarray:
    """Return the share of each fit."""
    return np.array([_irrelevant_share(sizes) for sizes in np.abs(_known(rows, model))])


def _irrelevant_share(sizes: np.ndarray) -> float:
    """Return the mean size of irrelevant features' weights, in per cent of that of relevant ones."""
    relevant = max(float(sizes[:, :N_RELEVANT].mean()), 1e-12)
    return 100 * float(sizes[:, N_RELEVANT:].mean()) / relevant


def _over_fits(values: np.ndarray, *models: str) -> Found:
    """Return the mean over the parts that trained; these are disjoint."""
    return Found(known(mean_interval(values), too_few(*models)), f"{len(values)} fits")


@measure("size of weights")
def _size(rule: Rule, rows: Rows, larger: str, smaller: str) -> Found:
    """How many times as large weights are: the logarithm to base 2."""

    def doublings(first: np.ndarray, second: np.ndarray) -> float:
        means = (sizes[:, PARTS[rule.part]].mean() for sizes in (first, second))
        ours, theirs = (max(mean, 1e-12) for mean in means)
        return float(np.log2(ours / theirs))

    found = _of_averages(rows, (larger, smaller), doublings, np.abs)
    return Found(found, above=float(np.log2(rule.factor)))


@measure("large weights")
def _large(rule: Rule, rows: Rows, more: str, fewer: str) -> Found:
    """How many more weights are a part of the model's own largest one, or more."""

    def surplus(first: np.ndarray, second: np.ndarray) -> float:
        ours, theirs = (float((s >= rule.share * s.max()).sum()) for s in (first, second))
        return ours - theirs

    return Found(_of_averages(rows, (more, fewer), surplus, np.abs))


@measure("likeness of weights")
def _likeness(rule: Rule, rows: Rows, first: str, second: str) -> Found:
    """The correlation of the 60 weights of relevant features."""

    def likeness(*averages: np.ndarray) -> float:
        return _correlation(*(average[:, :N_RELEVANT].ravel() for average in averages))

    return Found(_of_averages(rows, (first, second), likeness))


@measure("no zero weight")
def _no_zero(rule: Rule, rows: Rows, model: str) -> Found:
    """How many weights are zero in every part; a count over all parts has no interval."""
    return Found(float((_known(rows, model) == 0).all(axis=0).sum()))


@measure("zero weights")
def _zeros(rule: Rule, rows: Rows, model: str) -> Found:
    """The same, where a claim is mixed that has fewer than a tenth."""
    zero = (_known(rows, model) == 0).all(axis=0)
    return Found(float(zero.sum()), status=decide(bool(zero.any()), bool(zero.mean() >= 0.1)))


@measure("unequal variances")
def _unequal(rule: Rule, rows: Rows, model: str) -> Found:
    r"""At how many features the two functions have different posterior variances.

    The tables keep one variance for each feature, the mean over its two labels, but means for both.
    These tell: a posterior mean is the variance times what the dual variables make of the function,
    :math:`\mu_k = \sigma_k^2 \eta_k` (MEDN, Theorem 3 and section 6), and the :math:`\eta_k` of a
    feature's two functions are opposite numbers, since every labelling has each value of the feature at
    one label or at the other, so that differences of the two functions cancel.  So the variances are the
    same just where the means are opposite numbers.  They are not where they differ in any part by more
    than a unit of the last of five digits, to which they are kept.
    """
    _known(rows, model, "variances")  # a model without them cannot have the same ones
    first, second = np.moveaxis(_known(rows, model), 1, 0)
    apart = np.abs(first + second) > _LAST_DIGIT * np.maximum(np.abs(first), np.abs(second))
    return Found(float(apart.any(axis=0).sum()))


@measure("distance from the truth")
def _distance(rule: Rule, rows: Rows, model: str) -> Found:
    """How far average weights are from the true ones, as they are plotted but for their size.

    What data can teach of them is told by `contrast_distance`.
    """
    truth = true_weights(int(rows[0].get("seed") or 0) if rows else 0)

    def distance(average: np.ndarray) -> float:
        return _at_its_nearest(average.ravel(), truth.ravel())

    return Found(_of_averages(rows, (model,), distance))


def _at_its_nearest(learned: np.ndarray, true: np.ndarray) -> float:
    """Return how far weights are from true ones, in per cent of their norm, for the best common factor.

    The size of max-margin weights is a matter of ``C``, so they are multiplied by the number, not
    negative, that brings them nearest to the true ones.
    """
    squared = float(learned @ learned)
    scale = max(float(learned @ true), 0.0) / squared if squared else 0.0
    return 100 * float(np.linalg.norm(scale * learned - true) / np.linalg.norm(true))


def contrast_distance(average: np.ndarray, truth: np.ndarray) -> float:
    """Return how far weights are from the true ones in what data can teach, in per cent of the norm.

    A constant added to both labels' weights of a feature changes no probability, so only the *contrast*
    counts: label 1's weight minus that of label 0.  Of three copies of one value only the sum counts.
    """
    return _at_its_nearest(contrasts(average), contrasts(truth))


# variances: the intraclass correlation of their logarithms compares the spread between groups of three
# with that within: 1 if the members of each group agree, 0 if they agree no more than any features


@measure("variances in groups")
def _in_groups(rule: Rule, rows: Rows, model: str) -> Found:
    """How much variances agree in relevant groups, or how much more than in others, if less."""
    relevant, others = (_agreement(rows, model, part) for part in ("relevant", "irrelevant"))
    n_parts = len(_known(rows, model, "variances"))
    lack = f"fewer than three parts with variances of {model}."
    found, lead = (
        known(jackknife(statistic, n_parts), lack)
        for statistic in (relevant, lambda kept: relevant(kept) - others(kept))
    )
    return Found(
        min(found, lead, key=lambda each: each.low),
        f"agreement {found.value:+.2f}, that of others less by {lead.value:+.2f}",
    )


@measure("variances of irrelevant threes")
def _of_others(rule: Rule, rows: Rows, model: str) -> Found:
    """How much variances agree in threes of irrelevant features."""
    n_parts = len(_known(rows, model, "variances"))
    found = jackknife(_agreement(rows, model, "irrelevant"), n_parts)
    return Found(known(found, f"fewer than three parts with variances of {model}."))


def _agreement(rows: Rows, model: str, part: str) -> Callable[[np.ndarray], float]:
    """Return a function for the intraclass correlation in those parts of the data that are kept."""
    values = _known(rows, model, "variances")[:, 0]

    def correlation(kept: np.ndarray) -> float:
        means = values[kept].mean(axis=0)[PARTS[part]]
        return _intraclass(np.log(means[: len(means) // GROUP * GROUP]))

    return correlation


# -- what they share ------------------------------------------------------------------------------


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def contrasts(weights: np.ndarray) -> np.ndarray:
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
