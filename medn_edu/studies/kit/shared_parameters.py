"""The rivals of the study ``denoising``: a few weights, shared by all pixels, trained approximately.

Every pixel has the same weights, and so has every edge.  Training minimises, per pixel,

    (sum_i loss_i(w) + lam / 2 |w|^2) / n_nodes,

where the loss is the negative log-likelihood with an approximate log-partition (`likelihood`), or the
negative pseudo-likelihood.  The approximation, for example loopy belief propagation, is a parameter:
*moments*, a function of potentials.  Whichever approximation is used, a loss returns its value and its
derivatives with respect to the potentials, and the chain rule does the rest (`Objective`).

Three learners minimise an objective: `bfgs`, `sgd` and `smd`.  If an approximation fails, they say so
in ``status`` instead of raising an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from medn_edu.inference import Potentials, feature_sums, labelling_scores
from medn_edu.inference.loopy import Beliefs
from medn_edu.samples import SampleSet, WeightShape, grid, pack

SHIFT = 1e-3  # of weights, for differences of gradients
LARGEST = 1e6  # weights beyond this have diverged
_STATUS = ("converged", "stopped", "line search failed", "diverged")  # by scipy's number


def shared_grids(images: np.ndarray, *, differences: bool = False) -> SampleSet:
    """Return images as grids whose pixels have the features 1 and their value.

    With ``differences`` edges have the features 1 and the difference of both values, without its sign.

    >>> samples = shared_grids(np.array([[[0.0, 2.0], [3.0, 1.0]]]), differences=True)
    >>> samples.features.toarray().tolist()
    [[1.0, 0.0], [1.0, 2.0], [1.0, 3.0], [1.0, 1.0]]
    >>> samples.edge_features[:, 1].tolist()
    [2.0, 2.0, 3.0, 1.0]
    """
    graphs = []
    for image in images:
        graph = grid(np.stack([np.ones_like(image), image], axis=-1))
        if differences:
            first, second = image.ravel()[graph.edges.T]
            features = np.column_stack([np.ones(len(first)), np.abs(first - second)])
            graph = replace(graph, edge_features=features)
        graphs.append(graph)
    return pack(graphs)


# -- losses -------------------------------------------------------------------------------------


class Answer(Protocol):
    """What approximate inference returns, and may ask for in order to start where it ended."""

    @property
    def value(self) -> np.ndarray:
        """Log-partition of each sample."""

    @property
    def beliefs(self) -> Beliefs:
        """Marginals, the derivatives of the log-partition."""


Moments = Callable[[Potentials, Any], Answer]
"""``moments(potentials, start)``; ``start`` is an earlier answer for the same samples, or None."""


@dataclass(frozen=True, eq=False)
class Loss:
    """Value of each sample's loss, and derivatives with respect to the potentials."""

    value: np.ndarray  # (n_samples,)
    node: np.ndarray  # (n_nodes, n_labels)
    edge: np.ndarray  # (n_edges, n_labels, n_labels)
    answer: Any = None  # from which inference may start the next time


LossFunction = Callable[[Potentials, np.ndarray, Any], Loss]


def likelihood(moments: Moments) -> LossFunction:
    """Return the loss ``log Z(x) - F(x, y)``, with whatever ``moments`` takes for log Z."""

    def loss(potentials: Potentials, labels: np.ndarray, start: Any = None) -> Loss:
        answer = moments(potentials, start)
        node, edge = answer.beliefs.node.copy(), answer.beliefs.edge.copy()
        _subtract_truth(potentials, labels, node, edge)
        return Loss(answer.value - labelling_scores(potentials, labels), node, edge, answer)

    return loss


def pseudo_likelihood(potentials: Potentials, labels: np.ndarray, start: Any = None) -> Loss:
    """Return the loss ``-sum_v log p(y_v | x, labels of all others)`` (Besag 1975), which is exact.

    Only the neighbours matter, and their labels are known in training.  So an edge counts twice,
    once for the label at each of its ends.
    """
    samples = potentials.samples
    edges, first, second = samples.ends
    tables, rows = potentials.edge[samples.edge_kinds[edges]], np.arange(len(edges))
    to_first, to_second = tables[rows, :, labels[second]], tables[rows, labels[first]]
    scores = potentials.node + _sums(first, to_first, samples.n_nodes)
    scores += _sums(second, to_second, samples.n_nodes)
    log_z = logsumexp(scores, axis=1)
    losses = log_z - scores[np.arange(samples.n_nodes), labels]
    node, edge = np.exp(scores - log_z[:, None]), np.zeros_like(tables)
    edge[rows, :, labels[second]] += node[first]
    edge[rows, labels[first]] += node[second]
    _subtract_truth(potentials, labels, node, edge, n_times=2)
    return Loss(np.add.reduceat(losses, samples.offsets[:-1]), node, edge)


def _subtract_truth(
    potentials: Potentials, labels: np.ndarray, node: np.ndarray, edge: np.ndarray, n_times: int = 1
) -> None:
    """Subtract 1 at each true label, and ``n_times`` at each true pair of labels."""
    _, first, second = potentials.samples.ends
    node[np.arange(len(node)), labels] -= 1
    edge[np.arange(len(edge)), labels[first], labels[second]] -= n_times


def _sums(index: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return sums of the rows that have the same index, shape (n, n_columns)."""
    return np.column_stack([np.bincount(index, column, n) for column in rows.T])


# -- the objective ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at some weights."""

    value: float
    gradient: np.ndarray
    answer: Any

    @property
    def is_settled(self) -> bool:
        """Whether inference converged, so that the gradient is that of the value."""
        return getattr(self.answer, "converged", True)


@dataclass(frozen=True, eq=False)
class Objective:
    """Loss and squares per pixel: ``objective(weights)`` returns the value and the gradient."""

    samples: SampleSet
    labels: np.ndarray  # (n_nodes,), codes
    shape: WeightShape
    loss: LossFunction
    lam: float

    def potentials(self, weights: np.ndarray, samples: SampleSet | None = None) -> Potentials:
        """Return the potentials of the training samples, or of others, under these weights."""
        samples = self.samples if samples is None else samples
        return Potentials.of_weights(samples, *self.shape.split(weights))

    def __call__(self, weights: np.ndarray, start: Any = None) -> Point:
        """Evaluate it; inference starts from an earlier answer, if there is one."""
        samples, potentials = self.samples, self.potentials(weights)
        loss = self.loss(potentials, self.labels, start)
        kinds, pairs = samples.edge_kinds[samples.ends[0]], loss.edge.reshape(len(loss.edge), -1)
        by_kind = _sums(kinds, pairs, len(potentials.edge)).reshape(potentials.edge.shape)
        tables = samples.table_sums(by_kind, self.shape.n_tables)
        gradient = self.shape.join(feature_sums(samples, loss.node), tables) + self.lam * weights
        value = math.fsum(loss.value) + 0.5 * self.lam * float(weights @ weights)
        return Point(value / samples.n_nodes, gradient / samples.n_nodes, loss.answer)

    def batches(self, size: int) -> list[Objective]:
        """Return an objective for each ``size`` samples; this one is their mean, if sizes are equal."""
        parts = []
        for first in range(0, self.samples.n_samples, size):
            part = self.samples.take(np.arange(first, min(first + size, self.samples.n_samples)))
            labels = self.labels[self.samples.offsets[first] :][: part.n_nodes]
            lam = self.lam * part.n_nodes / self.samples.n_nodes
            parts.append(replace(self, samples=part, labels=labels, lam=lam))
        return parts


# -- learners -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner returns."""

    weights: np.ndarray
    status: str  # "converged", "stopped", "line search failed" or "diverged"
    trace: tuple[float, ...]  # the objective after each iteration, its mean during each pass
    n_evaluations: float  # how often all samples were evaluated
    unsettled: float  # share of the points at which inference had not converged


def independent_pixels(objective: Objective) -> np.ndarray:
    """Return the weights of a logistic regression per pixel, without edges, of an Ising model.

    Learners start here.  From zero weights the first steps would make edges strong before pixels say
    anything.  Inference then settles slowly, or on one label everywhere.
    """
    # log p(1) / p(0) is 2 w.x, so the squares of its coefficients are four times those of w
    penalty = LogisticRegression(C=4 / objective.lam, fit_intercept=False, tol=1e-8)
    coef = penalty.fit(objective.samples.features, objective.labels).coef_[0] / 2
    return np.concatenate([coef, np.zeros(objective.shape.size - len(coef))])


def bfgs(
    objective: Objective, start: np.ndarray, *, max_iter: int = 200, gtol: float = 1e-6
) -> Learned:
    """Minimise by scipy's BFGS until no entry of the gradient exceeds ``gtol``.

    All evaluations of a line search start from the answer at its starting point.  So they see the same
    function, unless inference is stopped before it has settled.
    """
    asked, at = start, objective(start)
    last, trace, settled = at, [at.value], [at.is_settled]

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last, asked
        if not np.array_equal(weights, asked):
            asked, last = weights.copy(), objective(weights, at.answer)
            settled.append(last.is_settled)
        return last.value, last.gradient

    def accept(weights: np.ndarray) -> None:
        nonlocal at
        evaluate(weights)
        at = last
        trace.append(at.value)

    found = minimize(
        evaluate, start, jac=True, method="BFGS", callback=accept,
        options={"maxiter": max_iter, "gtol": gtol},
    )  # fmt: skip
    n, status = len(settled), _STATUS[found.status]
    return Learned(found.x, status, tuple(trace), n, float(1 - np.mean(settled)))


# A step takes what evaluates a batch, and weights; it returns their point, and new weights.
Step = Callable[[Callable[[np.ndarray], Point], np.ndarray], tuple[Point, np.ndarray]]


def sgd(
    objective: Objective,
    start: np.ndarray,
    *,
    step: float,
    n_passes: int = 20,
    batch_size: int = 1,
    seed: int = 0,
) -> Learned:
    """Stochastic gradient descent, whose last step is a tenth of the first."""
    batches = objective.batches(batch_size)
    steps = iter(step / (1 + 9 * np.linspace(0, 1, n_passes * len(batches))))

    def descend(
        evaluate: Callable[[np.ndarray], Point], weights: np.ndarray
    ) -> tuple[Point, np.ndarray]:
        point = evaluate(weights)
        return point, weights - next(steps) * point.gradient

    return _visit(batches, descend, start, n_passes, seed)


def smd(
    objective: Objective, start: np.ndarray, *, step: float, meta_step: float, memory: float = 0.9,
    n_passes: int = 20, batch_size: int = 1, seed: int = 0,
) -> Learned:  # fmt: skip
    """Stochastic meta-descent (Vishwanathan et al. 2006): each weight has a step that is learned.

    With the gradient ``g``, the Hessian ``H`` and all products entry by entry but ``H v``,

        eta <- eta max(1/2, 1 - meta_step g v),   w <- w - eta g,
        v <- memory v - eta (g + memory H v).

    The vector ``v`` says how the weights depend on the logarithms of the steps.  Where it points
    against the gradient, longer steps would have helped.  ``H v`` is a difference of two gradients on
    the same batch.  Inference starts from the same answer for both.
    """
    eta, v = np.full(objective.shape.size, step), np.zeros(objective.shape.size)

    def descend(
        evaluate: Callable[[np.ndarray], Point], weights: np.ndarray
    ) -> tuple[Point, np.ndarray]:
        nonlocal eta, v
        point = evaluate(weights)
        g, h = point.gradient, SHIFT / max(float(np.linalg.norm(v)), SHIFT)
        curved = (evaluate(weights + h * v).gradient - g) / h
        eta = eta * np.maximum(0.5, 1 - meta_step * g * v)
        v = memory * v - eta * (g + memory * curved)
        return point, weights - eta * g

    learned = _visit(objective.batches(batch_size), descend, start, n_passes, seed)
    return replace(learned, n_evaluations=2 * learned.n_evaluations)


def _visit(
    batches: list[Objective], descend: Step, start: np.ndarray, n_passes: int, seed: int
) -> Learned:
    """Take a step at each batch, in a random order that differs from pass to pass."""
    rng, n = np.random.default_rng(seed), len(batches)
    weights, answers = start, [None] * n
    values, settled, status = list[float](), list[bool](), "stopped"
    for k in np.concatenate([rng.permutation(n) for _ in range(n_passes)]):
        point, moved = descend(partial(batches[k], start=answers[k]), weights)
        settled.append(point.is_settled)
        if not np.abs(moved).max() < LARGEST:  # NaN neither
            status = "diverged"
            break
        weights, answers[k] = moved, point.answer
        values.append(point.value)
    passes = np.reshape(values[: len(values) // n * n], (-1, n))
    trace = tuple(passes.mean(axis=1).tolist())
    return Learned(weights, status, trace, len(settled) / n, float(1 - np.mean(settled)))
