"""Checks of the exercises of two-losses."""

import numpy as np
from scipy.special import logsumexp, softmax

from medn_edu.course.exercises._shared import chain_score, labellings, lists_labellings, soft_best
from medn_edu.course.exercises.declarations import Function, Number, differs

check_log_z = Number(
    right=float(logsumexp([5, 3])),
    mistakes={
        "z_itself": float(np.exp(5) + np.exp(3)),
        "log_of_sum": float(np.log(8)),
        "log_loss": float(logsumexp([5, 3]) - 5),
    },
)

check_structured_hinge = Number(right=1.5)


def _gradient(scores: np.ndarray, features: np.ndarray, true: int) -> np.ndarray:
    return softmax(scores) @ features - features[true]


rng = np.random.default_rng(0)
check_log_loss_gradient = Function(
    cases=[
        (rng.normal(size=n), rng.integers(0, 5, size=(n, k)).astype(float), true)
        for n, k, true in ((4, 2, 1), (7, 3, 0), (27, 2, 26))
    ],
    right=_gradient,
    mistakes={
        "sign": lambda s, f, t: -_gradient(s, f, t),
        "gradient_of_log_z": lambda s, f, t: softmax(s) @ f,
        "best_labelling": lambda s, f, t: f[s.argmax()] - f[t],
        "scores_as_probabilities": lambda s, f, t: np.exp(s) @ f - f[t],
        "equal_probabilities": lambda s, f, t: f.mean(axis=0) - f[t],
        "by_the_scores": lambda s, f, t: softmax(s) - np.eye(len(s))[t],
    },
)


def _dual(alpha: np.ndarray, losses: np.ndarray, differences: np.ndarray) -> float:
    w = alpha @ differences
    return float(alpha @ losses - w @ w / 2)


rng = np.random.default_rng(1)
check_m3n_dual = Function(
    cases=[
        (rng.random(n), rng.integers(0, 4, n).astype(float), rng.normal(size=(n, k)))
        for n, k in ((3, 2), (27, 2), (8, 5))
    ],
    right=_dual,
    mistakes={
        "cost_missing": lambda a, loss, d: a @ loss,
        "not_halved": lambda a, loss, d: a @ loss - (a @ d) @ (a @ d),
        "sign": lambda a, loss, d: a @ loss + (a @ d) @ (a @ d) / 2,
        "length_not_squared": lambda a, loss, d: a @ loss - np.linalg.norm(a @ d) / 2,
        "squared_before_adding": lambda a, loss, d: a @ loss - a @ (d**2).sum(axis=1) / 2,
        "alpha_missing": lambda a, loss, d: loss.sum() - (a @ d) @ (a @ d) / 2,
    },
)


def _log_partition(node: np.ndarray, edge: np.ndarray) -> float:
    return soft_best(node, edge, 1.0)


def _listed(node: np.ndarray, edge: np.ndarray) -> float:
    return float(logsumexp([chain_score(node, edge, labels) for labels in labellings(node)]))


def _overflowing(node: np.ndarray, edge: np.ndarray) -> float:
    below = np.exp(node[0])
    for here in node[1:]:
        below = np.exp(here) * (below @ np.exp(edge))
    return float(np.log(below.sum()))


_LARGE = np.array([[900.0, 901.0], [899.0, 900.0], [900.0, 950.0]])
_EDGE = np.array([[0.0, 1.0], [2.0, 0.0]])
rng = np.random.default_rng(2)
check_log_partition = Function(
    cases=[
        (rng.normal(size=(n, k)), rng.normal(size=(k, k)))
        for n, k in ((1, 3), (2, 3), (3, 2), (12, 2))
    ],
    right=_log_partition,
    mistakes={
        "letters_alone": lambda node, edge: logsumexp(node, axis=1).sum(),
        "best_score": lambda node, edge: soft_best(node, edge, 0.0),
        "edge_transposed": lambda node, edge: _log_partition(node, edge.T),
        "z_itself": lambda node, edge: np.exp(_log_partition(node, edge)),
        "largest_not_added": lambda node, edge: _log_partition(node, edge) - node[0].max(),
    },
    hidden={
        "listed": (_listed, lists_labellings),
        "overflowing": (_overflowing, differs(_log_partition, (_LARGE, _EDGE), (-_LARGE, _EDGE))),
    },
)
