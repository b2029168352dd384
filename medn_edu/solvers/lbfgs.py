r"""L-BFGS with a head start: Kronecker-factored curvature as its first guess of the Hessian.

Newton's method would minimise a smooth convex function ``P`` by steps ``-H^{-1} g``, with ``g``
the gradient and ``H`` the matrix of second derivatives, which has far too many entries.  *L-BFGS*
(Liu and Nocedal 1989) keeps the last few steps ``s`` and the changes ``y`` of the gradient along
them.  As ``H s = y`` nearly holds, they say how curved ``P`` is where the method has been;
everywhere else a first guess ``H_0`` has to do.  The usual guess is a multiple of the identity.
The log-loss of a random field, and soft-max at any temperature ``epsilon``, lets us do better.

Were the nodes independent, the Hessian of the loss for the weights of labels and features would be

    sum_t (diag(p_t) - p_t p_t^T) (x) x_t x_t^T / epsilon,

``(x)`` being the Kronecker product, ``x_t`` the features of node ``t`` and ``p_t`` the marginals
of its label.  The product of the averages stands in for the average of the products,

    H_0 = M (x) G + lam I,  with
    M = sum_t (diag(p_t) - p_t p_t^T) / epsilon  and  G = sum_t u_t x_t x_t^T / sum_t u_t,

``u_t = 1 - ||p_t||^2`` being the doubt left at a node: nodes already decided bend nothing.
Boehning (1992) bounds the Hessian in this form; Martens and Grosse (2015) use it for neural
networks.  With the eigenvectors ``M = V diag(m) V^T`` and ``G = U diag(g) U^T`` its inverse is
four small products and a division by ``m_a g_k + lam``.  Transition weights get a diagonal, and
with very many features ``G`` is reduced to its diagonal as well, so that nothing larger than the
weights is stored.

``M`` and ``G`` depend on the weights.  They are computed at the start and once more after some
iterations; pairs ``(s, y)`` stay valid, only the guess underneath them is exchanged.  On the OCR
letters this takes about a third of the iterations of plain L-BFGS.  At low temperatures the bends
are sharp and many iterations are needed, unless it starts near the optimum
(`medn_edu.solvers.softening`).

Step lengths are found by the bisection of Lewis and Overton (2013) for the two Wolfe conditions:
enough decrease, and a slope that has flattened; nearly always the first length, 1, is taken.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from medn_edu.problems.soft_max import SoftMaxProblem
from medn_edu.results import OVERFLOW, Iterate

__all__ = ["lbfgs"]

REFRESH_AT = (0, 8)  # iterations at which the curvature is computed
MAX_GRAM_FEATURES = 500  # with more, the feature factor is a diagonal
MAX_GRAM_NODES = 8192  # nodes from which the feature factor is estimated
HISTORY_BYTES = 2**27  # for the pairs (s, y); never fewer than 5 pairs are kept
ENOUGH_DECREASE, ENOUGH_FLATTENING = 1e-4, 0.9
MAX_TRIALS = 40  # of the line search
FLOOR = 1e-4  # least curvature relative to the largest; keeps weights that hardly matter in place

Operator = Callable[[np.ndarray], np.ndarray]


def lbfgs(
    problem: SoftMaxProblem,
    *,
    warm_start: np.ndarray | None = None,
    memory: int = 50,
    change_tol: float = 5e-5,
) -> Iterator[Iterate]:
    """Minimise a soft-max problem; yield the start and then once per iteration.

    Parameters
    ----------
    problem : SoftMaxProblem
        Asked for ``objective_and_gradient`` and ``curvature``.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.  Weights of forbidden transitions are set to 0.
    memory : int, default=50
        Largest number of pairs (step, change of gradient) that are kept; fewer when there are so
        many weights that they would take more than 128 MB.
    change_tol : float, default=5e-5
        Relative change of the objective in one iteration at which an *unregularised* problem, which
        has no duality gap, is stopped; it is stopped as well when the log-loss has fallen below
        this share of that of guessing, because samples without error let it fall to 0.

    Yields
    ------
    Iterate
        With penalty, ``gap_estimate`` is ``||g||^2 / (2 lam)``, which is the duality gap up to
        rounding; without, it is infinite.

    Raises
    ------
    ValueError
        If ``warm_start`` has the wrong shape or is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import SoftMaxProblem
    >>> from medn_edu.packing import label_samples, pack
    >>> data = label_samples(pack([np.eye(2)]), np.array([0, 1]), np.ones((1, 2, 2), bool))
    >>> for iterate in lbfgs(SoftMaxProblem(data, lam=1.0)):
    ...     if iterate.gap_estimate < 1e-6:
    ...         break
    >>> round(iterate.objective_estimate, 4)
    0.8812
    """
    point = _evaluate(problem, _start(problem, warm_start))
    n_evaluations = 1
    pairs: deque[_Pair] = deque(maxlen=_history_length(memory, point.weights.size))
    iteration, stopped = 0, "" if point.gradient.any() else "the gradient vanished"
    while True:
        yield Iterate(
            weights=point.weights,
            gap_estimate=_gap(problem, point.gradient),
            objective_estimate=point.objective,
            n_oracle_calls=n_evaluations * problem.n_samples,
            stopped=stopped,
        )
        if stopped:
            return
        if iteration in REFRESH_AT:
            guess = _first_guess(problem, point.weights)
            n_evaluations += 1
        direction = -_two_loops(point.gradient, pairs, guess)
        if not point.gradient @ direction < 0:  # rounding: the pairs have lost their meaning
            pairs.clear()
            direction = -_two_loops(point.gradient, pairs, guess)
        found, n_trials = _line_search(problem, point, direction)
        n_evaluations += n_trials
        iteration += 1
        if found is None:
            stopped = "the objective can no longer be lowered in floating point"
            continue
        pair = _Pair.between(point, found)
        if pair is not None:
            pairs.append(pair)
        stopped = _reason_to_stop(problem, point, found, change_tol)
        point = found


@dataclass(frozen=True, eq=False)
class _Point:
    """Weights with the objective and its gradient there."""

    weights: np.ndarray
    objective: float
    gradient: np.ndarray


@dataclass(frozen=True, eq=False)
class _Pair:
    """A step, the change of the gradient along it, and their product."""

    step: np.ndarray
    change: np.ndarray
    product: float

    @classmethod
    def between(cls, old: _Point, new: _Point) -> _Pair | None:
        """Return the pair, or None where rounding hides the curvature."""
        step, change = new.weights - old.weights, new.gradient - old.gradient
        product = float(step @ change)
        tiny = np.finfo(float).eps * np.linalg.norm(step) * np.linalg.norm(change)
        return cls(step, change, product) if product > tiny else None


def _start(problem: SoftMaxProblem, warm_start: np.ndarray | None) -> np.ndarray:
    shape = problem.weight_shape
    if warm_start is None:
        return np.zeros(shape.size)
    weights = np.array(warm_start, dtype=np.float64)
    if weights.shape != (shape.size,) or not np.isfinite(weights).all():
        raise ValueError(
            f"warm_start has shape {weights.shape}; expected {shape.size} finite weights."
        )
    _, transitions = shape.split(weights)
    transitions[~problem.data.allowed] = 0.0
    return weights


def _evaluate(problem: SoftMaxProblem, weights: np.ndarray) -> _Point:
    return _Point(weights, *problem.objective_and_gradient(weights))


def _reason_to_stop(problem: SoftMaxProblem, old: _Point, new: _Point, change_tol: float) -> str:
    """Say why to stop, if there is a reason; only plain problems, without a gap, need one."""
    if not new.gradient.any():
        return "the gradient vanished"
    if problem.lam > 0:
        return ""
    if old.objective - new.objective <= change_tol * abs(new.objective):
        return f"relative change of the likelihood below {change_tol:g}"
    # The loss cannot fall below 0.  Where it has an infimum of 0, its relative change never dies
    # away, but compared to guessing there is nothing left to gain.
    guessing = float(problem.node_weight.sum()) * math.log(problem.weight_shape.n_labels)
    if new.objective <= change_tol * guessing:
        return f"samples labelled without error, log-loss below {change_tol:g} of guessing"
    return ""


def _gap(problem: SoftMaxProblem, gradient: np.ndarray) -> float:
    return float(gradient @ gradient) / (2 * problem.lam) if problem.lam > 0 else np.inf


def _history_length(memory: int, n_weights: int) -> int:
    return max(min(memory, HISTORY_BYTES // (16 * n_weights)), min(memory, 5))


def _two_loops(gradient: np.ndarray, pairs: deque[_Pair], guess: Operator) -> np.ndarray:
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


def _line_search(
    problem: SoftMaxProblem, point: _Point, direction: np.ndarray
) -> tuple[_Point | None, int]:
    """Find a length that fulfils both Wolfe conditions; return the point and the trials it took.

    When rounding hides the curvature, the best point below the start is returned, or None.
    """
    slope = float(point.gradient @ direction)
    lower, upper, length = 0.0, np.inf, 1.0
    best = None
    for n_trials in range(1, MAX_TRIALS + 1):
        trial = _evaluate(problem, point.weights + length * direction)
        if np.isfinite(trial.objective) and (best is None or trial.objective < best.objective):
            best = trial
        if not trial.objective <= point.objective + ENOUGH_DECREASE * length * slope:
            upper = length
        elif trial.gradient @ direction < ENOUGH_FLATTENING * slope:
            lower = length
        else:
            return trial, n_trials
        length = (lower + upper) / 2 if upper < np.inf else 2 * lower
    return (best if best is not None and best.objective < point.objective else None), MAX_TRIALS


def _first_guess(problem: SoftMaxProblem, weights: np.ndarray) -> Operator:
    """Return multiplication by the inverse of ``M (x) G + lam I`` (module docstring)."""
    curvature = problem.curvature(weights)
    shape = problem.weight_shape
    try:
        label_values, label_vectors = np.linalg.eigh(curvature.labels)
        feature_values, feature_vectors = _feature_factor(problem, curvature.doubt)
    except np.linalg.LinAlgError:  # there are infinite entries
        raise ValueError(OVERFLOW) from None
    by_feature = np.maximum(feature_values, 0.0)
    coef_curvature = np.maximum(label_values, 0.0)[:, None] * by_feature
    largest = max(coef_curvature.max(), curvature.transitions.max())
    floor = max(problem.lam, FLOOR * largest, np.finfo(float).tiny)
    coef_curvature += floor
    transition_curvature = curvature.transitions + floor

    def guess(vector: np.ndarray) -> np.ndarray:
        coef, transitions = shape.split(vector)
        turned = label_vectors.T @ coef
        if feature_vectors is None:
            turned = turned / coef_curvature
        else:
            turned = ((turned @ feature_vectors) / coef_curvature) @ feature_vectors.T
        return shape.join(label_vectors @ turned, transitions / transition_curvature)

    return guess


def _feature_factor(
    problem: SoftMaxProblem, doubt: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Eigenvalues and eigenvectors of ``G``; of its diagonal (None) with very many features."""
    features = problem.data.samples.features
    total = max(float(doubt.sum()), np.finfo(float).tiny)
    if features.shape[1] > MAX_GRAM_FEATURES:
        return features.multiply(features).T @ doubt / total, None
    # Evenly spaced nodes are sample enough, and few enough to be written out.
    some = slice(None, None, -(-features.shape[0] // MAX_GRAM_NODES))
    rows = features[some].toarray() * np.sqrt(np.maximum(doubt[some], 0.0))[:, None]
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return values / max(float(doubt[some].sum()), np.finfo(float).tiny), vectors
