"""Checks of the exercises of epsilon."""

from typing import Any

import numpy as np
from scipy.special import softmax

from medn_edu.course.exercises._shared import chain_score, soft_best, soft_max
from medn_edu.course.exercises.declarations import Function, Number, differs

check_two_scores = Number(
    right=3 + 0.5 * np.log(2),
    mistakes={
        "at_epsilon_one": 3 + np.log(2),
        "scores_not_multiplied": 6 + np.log(2),
        "log_divided": 3 + 2 * np.log(2),
        "scores_not_divided": 1.5 + 0.5 * np.log(2),
        "log_base_ten": 3 + 0.5 * np.log10(2),
    },
)

check_soft_gap = Number(
    right=0.4 * np.log(10),
    mistakes={
        "epsilon_missing": 4 * np.log(10),
        "one_letter": 0.1 * np.log(10),
        "labels_times_letters": 0.1 * np.log(40),
        "base_and_exponent_swapped": 0.1 * np.log(4**10),
        "caret": 0.1 * np.log(10 ^ 4),
    },
)

check_temperature_for = Function(
    cases=[
        (0.01, 1.0, np.array([27.0])),
        (0.5, 0.1, np.array([1e4, 1e7, 1e5])),
        (2.0, 3.0, np.array([27.0, 81.0])),
    ],
    right=lambda accuracy, C, n: accuracy / (C * np.sum(np.log(n))),
    mistakes={
        "without_C": lambda accuracy, C, n: accuracy / np.sum(np.log(n)),
        "times_C": lambda accuracy, C, n: C * accuracy / np.sum(np.log(n)),
        "log_of_sum": lambda accuracy, C, n: accuracy / (C * np.log(np.sum(n))),
        "largest_alone": lambda accuracy, C, n: accuracy / (C * np.max(np.log(n))),
        "without_logarithms": lambda accuracy, C, n: accuracy / (C * np.sum(n)),
        "multiplied": lambda accuracy, C, n: accuracy * C * np.sum(np.log(n)),
    },
)


def _cooler(p: np.ndarray, epsilon: float) -> np.ndarray:
    return softmax(np.log(p) / epsilon)


check_cooler = Function(
    cases=[
        (np.array([0.5, 0.3, 0.2]), 0.5),
        (np.array([0.1, 0.0, 0.6, 0.3]), 0.2),
        (np.array([0.7, 0.2, 0.1]), 4.0),
    ],
    right=_cooler,
    mistakes={
        "not_normalised": lambda p, epsilon: p ** (1 / epsilon),
        "exponent_epsilon": lambda p, epsilon: p**epsilon / np.sum(p**epsilon),
        "probabilities_as_scores": lambda p, epsilon: softmax(p / epsilon),
        "not_cooled": lambda p, epsilon: p,
        "limit": lambda p, epsilon: (p == p.max()) / np.sum(p == p.max()),
    },
    hidden={
        "underflowing": (
            lambda p, epsilon: p ** (1 / epsilon) / np.sum(p ** (1 / epsilon)),
            differs(_cooler, (np.array([0.3, 0.3, 0.4, 0.0]), 1e-3)),
        )
    },
)


def _with_loss(node: np.ndarray, y: np.ndarray) -> np.ndarray:
    return node + (np.arange(node.shape[1]) != np.asarray(y)[:, None])


def _soft_hinge(node: np.ndarray, edge: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    return soft_best(_with_loss(node, y), edge, epsilon) - chain_score(node, edge, y)


def _words(*epsilons: float) -> list[tuple[Any, ...]]:
    """Return a word for each temperature."""
    rng, words = np.random.default_rng(10), []
    for (t, k), epsilon in zip([(4, 3), (2, 5), (6, 2)], epsilons, strict=True):
        node, edge = rng.normal(scale=2.0, size=(t, k)), rng.normal(scale=2.0, size=(k, k))
        words.append((node, edge, rng.integers(k, size=t), epsilon))
    return words


def _overflowing(node: np.ndarray, edge: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    below = np.exp(_with_loss(node, y) / epsilon)
    for here in below[1:]:
        below[0] = here * (below[0] @ np.exp(edge / epsilon))
    return epsilon * np.log(below[0].sum()) - chain_score(node, edge, y)


check_soft_hinge = Function(
    cases=_words(1.0, 0.4, 2.5),
    right=_soft_hinge,
    mistakes={
        "without_loss": lambda node, edge, y, epsilon: (
            soft_best(node, edge, epsilon) - chain_score(node, edge, y)
        ),
        "without_truth": lambda node, edge, y, epsilon: soft_best(
            _with_loss(node, y), edge, epsilon
        ),
        "hinge": lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, 0.0),
        "epsilon_one": lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, 1.0),
        "divided_only": lambda node, edge, y, epsilon: (
            soft_best(_with_loss(node, y) / epsilon, edge / epsilon, 1.0)
            - chain_score(node, edge, y)
        ),
        "edge_transposed": lambda node, edge, y, epsilon: (
            soft_best(_with_loss(node, y), edge.T, epsilon) - chain_score(node, edge, y)
        ),
        "letters_alone": lambda node, edge, y, epsilon: (
            soft_max(_with_loss(node, y), epsilon, axis=1).sum() - chain_score(node, edge, y)
        ),
    },
    hidden={
        "overflowing": (_overflowing, differs(_soft_hinge, *_words(1e-3, 1e-4, 1e-3))),
        "fails_at_zero": (
            lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, epsilon) if epsilon else None,
            differs(_soft_hinge, *_words(0.0, 0.0, 0.0)),
        ),
    },
)
