r"""What the quasi-Newton solvers share: pairs of steps and changes, and the first guess below them.

Newton's method would minimise a smooth convex function by steps ``-H^{-1} g``, with ``g`` the
gradient and ``H`` the matrix of second derivatives, which has far too many entries.  *L-BFGS* (Liu
and Nocedal 1989) keeps the last few steps ``s`` and the changes ``y`` of the gradient along them.  As
``H s = y`` nearly holds, they say how curved the function is where the method has been (`Pair`,
`two_loops`); everywhere else a first guess ``H_0`` has to do.  The usual guess is a multiple of the
identity.  The log-loss of a random field, and soft-max at any temperature ``epsilon``, lets us do
better (`FirstGuess`).

Were the nodes independent, the Hessian of the loss for the weights of labels and features would be

    sum_t (diag(p_t) - p_t p_t^T) (x) x_t x_t^T / epsilon,

``(x)`` being the Kronecker product, ``x_t`` the features of node ``t`` and ``p_t`` the marginals
of its label.  The product of the averages stands in for the average of the products,

    H_0 = M (x) G + floor I,  with
    M = sum_t (diag(p_t) - p_t p_t^T) / epsilon  and  G = sum_t u_t x_t x_t^T / sum_t u_t,

``u_t = 1 - ||p_t||^2`` being the doubt left at a node: nodes already decided bend nothing.
Boehning (1992) bounds the Hessian in this form; Martens and Grosse (2015) use it for neural
networks.  With the eigenvectors ``M = V diag(m) V^T`` and ``G = U diag(g) U^T`` its inverse is
four small products and a division by ``m_a g_k + floor``.  Transition weights get a diagonal, and
with very many features ``G`` is reduced to its diagonal as well, so that nothing larger than the
weights is stored.

``M`` and ``G`` depend on the weights.  They are computed at the start and once more after some
iterations; pairs stay valid, only the guess underneath them is exchanged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from medn_edu.problems.soft_max import Curvature
from medn_edu.results import OVERFLOW
from medn_edu.samples import LabelledSamples

__all__ = [
    "REFRESH_AT",
    "FirstGuess",
    "Operator",
    "Pair",
    "Point",
    "history_length",
    "starting_weights",
    "two_loops",
]

REFRESH_AT = (0, 8)  # iterations at which the curvature is computed
MAX_GRAM_FEATURES = 500  # with more, the feature factor is a diagonal
MAX_GRAM_NODES = 8192  # nodes from which the feature factor is estimated
HISTORY_BYTES = 2**27  # for the pairs (s, y); never fewer than 5 pairs are kept

Operator = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Point:
    """Weights with a smooth function and its gradient there."""

    weights: np.ndarray
    objective: float
    gradient: np.ndarray

    @classmethod
    def of(
        cls, function: Callable[[np.ndarray], tuple[float, np.ndarray]], weights: np.ndarray
    ) -> Point:
        """Evaluate a function that returns its value and its gradient."""
        return cls(weights, *function(weights))


@dataclass(frozen=True, eq=False)
class Pair:
    """A step, the change of the gradient along it, and their product."""

    step: np.ndarray
    change: np.ndarray
    product: float

    @classmethod
    def between(cls, old: Point, new: Point) -> Pair | None:
        """Return the pair, or None where rounding hides the curvature."""
        step, change = new.weights - old.weights, new.gradient - old.gradient
        product = float(step @ change)
        tiny = np.finfo(float).eps * np.linalg.norm(step) * np.linalg.norm(change)
        return cls(step, change, product) if product > tiny else None


def starting_weights(data: LabelledSamples, warm_start: np.ndarray | None) -> np.ndarray:
    """Return weights to start from, a copy: zeros, or those handed in, where they are allowed.

    Raises
    ------
    ValueError
        If ``warm_start`` has the wrong shape or is not finite.
    """
    shape = data.weight_shape
    if warm_start is None:
        return np.zeros(shape.size)
    weights = np.array(warm_start, dtype=np.float64)
    if weights.shape != (shape.size,) or not np.isfinite(weights).all():
        raise ValueError(
            f"warm_start has shape {weights.shape}; expected {shape.size} finite weights."
        )
    _, transitions = shape.split(weights)
    transitions[~data.allowed] = 0.0
    return weights


def history_length(memory: int, n_weights: int) -> int:
    """Return how many pairs to keep: ``memory``, or fewer where weights are very many."""
    return max(min(memory, HISTORY_BYTES // (16 * n_weights)), min(memory, 5))


def two_loops(gradient: np.ndarray, pairs: deque[Pair], guess: Operator) -> np.ndarray:
    """Multiply the gradient by the inverse Hessian that pairs and first guess describe."""
    q = gradient.copy()
    coefficients = []
    for pair in reversed(pairs):
        coefficient = (pair.step @ q) / pair.product
        coefficients.append(coefficient)
        q -= coefficient * pair.change
    q = guess(q)
    if pairs:  # the size of the guess is judged by the latest pair
        latest = pairs[-1]
        q *= latest.product / (latest.change @ guess(latest.change))
    for pair, coefficient in zip(pairs, reversed(coefficients), strict=True):
        q += pair.step * (coefficient - (pair.change @ q) / pair.product)
    return q


class FirstGuess:
    """``M (x) G + floor I`` for labels and features and a diagonal for transitions.

    Parameters
    ----------
    data : LabelledSamples
        The training samples.
    curvature : Curvature
        What the marginals at the current weights say.
    floor_share : float
        The floor as a share of the largest curvature; it keeps weights that hardly matter in place.
    least_floor : float
        What the floor is at least: the curvature of the penalty.

    Attributes
    ----------
    diagonal : ndarray of shape (n_weights,)
        The matrix's diagonal.

    Raises
    ------
    ValueError
        If numbers have overflowed.
    """

    def __init__(
        self,
        data: LabelledSamples,
        curvature: Curvature,
        *,
        floor_share: float,
        least_floor: float = 0.0,
    ) -> None:
        self._shape = data.weight_shape
        try:
            label_values, self._label_vectors = np.linalg.eigh(curvature.labels)
            feature_values, self._feature_vectors = _feature_factor(data, curvature.doubt)
        except np.linalg.LinAlgError:  # there are infinite entries
            raise ValueError(OVERFLOW) from None
        by_feature = np.maximum(feature_values, 0.0)
        self._coef_values = np.maximum(label_values, 0.0)[:, None] * by_feature
        largest = max(self._coef_values.max(), curvature.transitions.max())
        floor = max(least_floor, floor_share * largest, np.finfo(float).tiny)
        self._coef_values += floor
        self._transitions = curvature.transitions + floor
        diagonal = by_feature
        if self._feature_vectors is not None:
            diagonal = (self._feature_vectors**2) @ by_feature
        coef_diagonal = np.maximum(np.diag(curvature.labels), 0.0)[:, None] * diagonal + floor
        self.diagonal = self._shape.join(coef_diagonal, self._transitions)

    def multiply(self, vector: np.ndarray) -> np.ndarray:
        """Multiply by the guess."""
        return self._apply(np.multiply, vector)

    def solve(self, vector: np.ndarray) -> np.ndarray:
        """Multiply by its inverse."""
        return self._apply(np.divide, vector)

    def _apply(self, scale: np.ufunc, vector: np.ndarray) -> np.ndarray:
        """Turn to the eigenvectors, multiply or divide by the eigenvalues, and turn back."""
        coef, transitions = self._shape.split(vector)
        turned = self._label_vectors.T @ coef
        if self._feature_vectors is None:
            turned = scale(turned, self._coef_values)
        else:
            turned = scale(turned @ self._feature_vectors, self._coef_values)
            turned = turned @ self._feature_vectors.T
        return self._shape.join(self._label_vectors @ turned, scale(transitions, self._transitions))


def _feature_factor(
    data: LabelledSamples, doubt: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Eigenvalues and eigenvectors of ``G``; of its diagonal (None) with very many features."""
    features = data.samples.features
    total = max(float(doubt.sum()), np.finfo(float).tiny)
    if features.shape[1] > MAX_GRAM_FEATURES:
        return features.multiply(features).T @ doubt / total, None
    # Evenly spaced nodes are sample enough, and few enough to be written out.
    some = slice(None, None, -(-features.shape[0] // MAX_GRAM_NODES))
    rows = features[some].toarray() * np.sqrt(np.maximum(doubt[some], 0.0))[:, None]
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return values / max(float(doubt[some].sum()), np.finfo(float).tiny), vectors
