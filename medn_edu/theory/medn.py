"""Maximum entropy discrimination by enumeration: each statement of the papers in a few plain lines.

``medn.md`` explains the theory, with its formulas typeset.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from medn_edu.priors import GaussianPrior, Prior
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack

ShippedSlack = LinearSlack | QuadraticSlack | ExponentialSlack


@dataclass(frozen=True, eq=False)
class EnumeratedProblem:
    """P1 and D1 of a small training set, with one row for each allowed labelling of each sample."""

    sample: np.ndarray  # sample of each row, ascending
    labellings: list[np.ndarray]  # labelling ``y`` of each row
    differences: np.ndarray  # ``f(x_i, y_i) - f(x_i, y)``
    losses: np.ndarray  # number of wrong nodes; 0 at the true labelling only
    sample_weight: np.ndarray  # how often each sample counts
    prior: Prior  # prior of every weight
    slack: ShippedSlack  # price of violated margins

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.sample_weight)

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return self.differences.shape[1]

    @classmethod
    def of_rows(
        cls,
        sample: ArrayLike,
        differences: ArrayLike,
        losses: ArrayLike,
        C: float,
        prior: Prior | None = None,
    ) -> EnumeratedProblem:
        """Write out a small problem by hand; the prior is the standard normal by default."""
        sample = np.asarray(sample)
        return cls(
            sample=sample,
            labellings=[np.array([j]) for j in range(len(sample))],
            differences=np.asarray(differences, dtype=float),
            losses=np.asarray(losses, dtype=float),
            sample_weight=np.ones(sample.max() + 1),
            prior=prior or GaussianPrior(),
            slack=LinearSlack(C),
        )  # fmt: skip

    @property
    def member(self) -> np.ndarray:
        """Which sample each row belongs to: ones and zeros, with one column per sample."""
        return (self.sample[:, None] == np.arange(self.n_samples)).astype(float)

    @property
    def free(self) -> np.ndarray:
        """Rows whose dual variables may be positive.

        These are all rows with the linear slack, and otherwise all but those of the true labellings.
        """
        if isinstance(self.slack, LinearSlack):
            return np.ones(len(self.losses), dtype=bool)
        return self.losses > 0

    # -- the primal, P1 ---------------------------------------------------------------------------

    def xi(self, w: np.ndarray) -> np.ndarray:
        """Best slack of each sample for the mean ``w``.

        The linear and the quadratic price grow from 0 on, so the best slack is the worst margin
        violation.  It is at least 0, because the true labelling's violation is 0.  The exponential
        price is lowest at ``1 / c``, so there the best slack is at least ``1 / c``.
        """
        worst = np.zeros(self.n_samples)
        np.maximum.at(worst, self.sample, self.losses - self.differences @ w)
        if isinstance(self.slack, ExponentialSlack):
            return np.maximum(worst, 1 / self.slack.c)
        return worst

    def penalty(self, xi: np.ndarray) -> float:
        """Price of the slacks, ``sum_i c_i U(xi_i)``."""
        return float(self.sample_weight @ slack_penalty(self.slack, xi))

    def primal_value(self, w: np.ndarray) -> float:
        """Value of P1 for the best distribution with mean ``w``."""
        return float(self.prior.kl(w).sum()) + self.penalty(self.xi(w))

    # -- the dual, D1 -----------------------------------------------------------------------------

    def eta(self, alpha: np.ndarray) -> np.ndarray:
        """Natural parameter of the tilted prior."""
        return alpha @ self.differences

    def posterior_mean(self, alpha: np.ndarray) -> np.ndarray:
        """Mean of the tilted prior, ``Lambda'(eta)``."""
        return self.prior.mean(self.eta(alpha))

    def totals(self, alpha: np.ndarray) -> np.ndarray:
        """Sum of each sample's dual variables, ``s_i = sum_y alpha_i(y)``."""
        return np.bincount(self.sample, weights=alpha, minlength=self.n_samples)

    def dual_value(self, alpha: np.ndarray) -> float:
        """Value of D1; minus infinity where ``alpha`` is not feasible.

        Totals may exceed their bounds by a relative 1e-9, because of rounding.
        """
        eta, totals = self.eta(alpha), self.totals(alpha) / self.sample_weight
        low, high = self.prior.domain
        if np.any(alpha < 0) or np.any(eta <= low) or np.any(eta >= high):
            return -math.inf
        cost = float(self.sample_weight @ slack_conjugate(self.slack, totals))
        return float(alpha @ self.losses - self.prior.log_mgf(eta).sum()) - cost

    def dense(self, alpha: Any) -> np.ndarray:
        """Write out sparse dual variables as one number per row."""
        keys = zip(self.sample.tolist(), self.labellings, strict=True)
        row = {(i, *y.tolist()): j for j, (i, y) in enumerate(keys)}
        out = np.zeros(len(row))
        for j, i in enumerate(alpha.sample.tolist()):
            y = alpha.labels[alpha.offsets[j] : alpha.offsets[j + 1]]
            out[row[i, *y.tolist()]] += alpha.values[j]
        return out


def enumerate_problem(
    data: LabelledSamples, prior: Prior, slack: ShippedSlack
) -> EnumeratedProblem:
    """Write out all allowed labellings of all samples.

    >>> import numpy as np
    >>> from medn_edu.samples import labelled
    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.slacks import LinearSlack
    >>> data = labelled([np.eye(2)], [[0, 1]])
    >>> problem = enumerate_problem(data, GaussianPrior(), LinearSlack(C=1.0))
    >>> problem.losses
    array([1., 0., 2., 1.])
    >>> problem.primal_value(np.zeros(8))
    2.0
    """
    sample, labellings, differences, losses = [], [], [], []
    costs = np.ones(data.samples.n_nodes) if data.costs is None else data.costs
    for i, true in enumerate(data.samples.cut(data.labels)):
        f_true = _joint_feature(data, i, true)
        for y in map(np.array, itertools.product(range(data.n_labels), repeat=len(true))):
            if _is_allowed(data, i, y):
                sample.append(i)
                labellings.append(y)
                differences.append(f_true - _joint_feature(data, i, y))
                losses.append(float(np.sum((y != true) * data.samples.cut(costs)[i])))
    return EnumeratedProblem(
        sample=np.array(sample),
        labellings=labellings,
        differences=np.array(differences),
        losses=np.array(losses),
        sample_weight=data.sample_weight,
        prior=prior,
        slack=slack,
    )


def _edges(data: LabelledSamples, i: int) -> list[tuple[int, int, int, np.ndarray]]:
    """Type, first and second node and features (or 1) of every edge of sample ``i``, nodes from 0 on."""
    samples = data.samples
    features = samples.edge_features
    return [
        (
            int(samples.edge_types[edge]),
            int(first - samples.offsets[i]),
            int(second - samples.offsets[i]),
            np.ones(1) if features is None else features[edge],
        )
        for edge, first, second in zip(*samples.ends, strict=True)
        if samples.sample_of_node[first] == i
    ]


def _joint_feature(data: LabelledSamples, i: int, y: np.ndarray) -> np.ndarray:
    """``f(x_i, y)``: features summed by label, and edge features (or 1) by transition."""
    features = data.samples.features[data.samples.offsets[i] : data.samples.offsets[i + 1]]
    coef = np.zeros((data.n_labels, data.samples.n_features))
    n_edge_features = max(data.samples.n_edge_features, 1)
    transitions = np.zeros((len(data.allowed) * n_edge_features, data.n_labels, data.n_labels))
    for t, row in enumerate(features.toarray()):
        coef[y[t]] += row
    for kind, one, other, values in _edges(data, i):
        for k, value in enumerate(values):
            transitions[kind * n_edge_features + k, y[one], y[other]] += value
    if data.table == "potts":
        transitions = np.array([np.trace(table) for table in transitions])
    if data.table == "ising":
        coef = coef[1] - coef[0]
        transitions = np.array([2 * np.trace(table) - table.sum() for table in transitions])
    return np.concatenate([coef.ravel(), transitions.ravel()])


def _is_allowed(data: LabelledSamples, i: int, y: np.ndarray) -> bool:
    if data.allowed_labels is not None:
        first = data.samples.offsets[i]
        if not all(data.allowed_labels[first + t, label] for t, label in enumerate(y)):
            return False
    return all(data.allowed[kind, y[one], y[other]] for kind, one, other, _ in _edges(data, i))


# -- slacks, from their formulas ----------------------------------------------------------------


def slack_penalty(slack: ShippedSlack, xi: np.ndarray) -> np.ndarray:
    """Price of a slack, ``U(xi)``."""
    match slack:
        case LinearSlack():
            return slack.C * xi
        case QuadraticSlack():
            return slack.C / 2 * xi**2
        case ExponentialSlack():
            return slack.c * xi - 1 - np.log(slack.c * xi)


def slack_conjugate(slack: ShippedSlack, totals: np.ndarray) -> np.ndarray:
    """Convex conjugate of the price of a slack, ``U*(s)``."""
    match slack:
        case LinearSlack():
            return np.where(totals <= slack.C * (1 + 1e-9), 0.0, math.inf)
        case QuadraticSlack():
            return totals**2 / (2 * slack.C)
        case ExponentialSlack():
            share = np.minimum(totals / slack.c, 1.0)
            with np.errstate(divide="ignore"):
                return -np.log1p(-share)


# -- distributions, one or two weights ----------------------------------------------------------


def tilt(points: np.ndarray, prior_mass: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Return the distribution of Theorem 2, ``p0(w) exp(w . eta) / Z``, on a grid."""
    with np.errstate(divide="ignore"):
        logits = np.log(prior_mass) + points @ eta
    return np.exp(logits - logsumexp(logits))


def p1_value(
    problem: EnumeratedProblem, points: np.ndarray, prior_mass: np.ndarray, mass: np.ndarray
) -> float:
    """Return the value of P1 for *any* distribution over a grid of weight vectors, at its best slacks.

    ``points`` has one weight vector per row.  ``prior_mass`` and ``mass`` are the probabilities of
    these points under the prior and under the distribution.
    """
    some = mass > 0
    kl = float(mass[some] @ np.log(mass[some] / prior_mass[some]))
    return kl + problem.penalty(problem.xi(mass @ points))
