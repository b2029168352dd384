"""Answers to the exercises of epsilon: the right one first, then typical mistakes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from medn_edu.course import exercises


def losses_and_scores(node: Any, edge: Any, y: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Enumerate: another way than the check's."""
    every = np.array(list(itertools.product(range(node.shape[1]), repeat=len(node))))
    scores = node[range(len(node)), every].sum(axis=1) + edge[every[:, :-1], every[:, 1:]].sum(1)
    return (every != y).sum(axis=1), scores, scores[(every == y).all(axis=1)][0]


def soft(values: np.ndarray, epsilon: float) -> float:
    if epsilon == 0:
        return values.max()
    return values.max() + epsilon * np.log(np.exp((values - values.max()) / epsilon).sum())


def soft_hinge(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    losses, scores, truth = losses_and_scores(node, edge, y)
    return soft(losses + scores, epsilon) - truth


def overflowing(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    losses, scores, truth = losses_and_scores(node, edge, y)
    return epsilon * np.log(np.exp((losses + scores) / epsilon).sum()) - truth


def never_zero(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    if epsilon == 0:
        raise ZeroDivisionError
    return soft_hinge(node, edge, y, epsilon)


def without_loss(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    _, scores, truth = losses_and_scores(node, edge, y)
    return soft(scores, epsilon) - truth


def without_truth(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    losses, scores, _ = losses_and_scores(node, edge, y)
    return soft(losses + scores, epsilon)


def not_multiplied(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    losses, scores, truth = losses_and_scores(node, edge, y)
    return soft((losses + scores) / epsilon, 1.0) - truth


def turned(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    losses, _, truth = losses_and_scores(node, edge, y)
    _, scores, _ = losses_and_scores(node, edge.T, y)
    return soft(losses + scores, epsilon) - truth


def by_letters(node: Any, edge: Any, y: Any, epsilon: float) -> float:
    _, _, truth = losses_and_scores(node, edge, y)
    wrong = np.arange(node.shape[1]) != np.asarray(y)[:, None]
    return sum(soft(row, epsilon) for row in node + wrong) - truth


def powers(p: np.ndarray, epsilon: float) -> np.ndarray:
    return p ** (1 / epsilon) / (p ** (1 / epsilon)).sum()


def exponentials(values: np.ndarray) -> np.ndarray:
    return np.exp(values - values.max()) / np.exp(values - values.max()).sum()


ANSWERS: dict[Any, list[Any]] = {
    exercises.check_two_scores: [
        0.5 * np.log(2 * np.exp(6)),
        max(3, 3),
        np.log(2 * np.exp(3)),
        np.log(2 * np.exp(6)),
        3 + np.log(2) / 0.5,
        0.5 * np.log(2 * np.exp(3)),
        3 + 0.5 * np.log10(2),
        7,
    ],
    exercises.check_soft_gap: [
        0.1 * np.log(10.0**4),
        np.log(10.0**4),
        0.1 * np.log(10),
        0.1 * np.log(40),
        0.1 * np.log(4.0**10),
        0.1 * np.log10(10.0**4),
        0.1 * 10**4,
        2,
    ],
    exercises.check_temperature_for: [
        lambda accuracy, C, n: accuracy / C / sum(np.log(each) for each in n),
        lambda accuracy, C, n: accuracy / sum(np.log(each) for each in n),
        lambda accuracy, C, n: accuracy * C / sum(np.log(each) for each in n),
        lambda accuracy, C, n: accuracy / C / np.log(sum(n)),
        lambda accuracy, C, n: accuracy / C / np.log(max(n)),
        lambda accuracy, C, n: accuracy / C / sum(n),
        lambda accuracy, C, n: accuracy * C * np.log(n).sum(),
        lambda accuracy, C, n: accuracy,
    ],
    exercises.check_cooler: [
        lambda p, epsilon: powers(p / p.max(), epsilon),
        powers,
        lambda p, epsilon: p ** (1 / epsilon),
        lambda p, epsilon: powers(p, 1 / epsilon),
        lambda p, epsilon: exponentials(p / epsilon),
        lambda p, epsilon: p,
        lambda p, epsilon: (p == p.max()) / 1.0,
        lambda p, epsilon: p / 2,
    ],
    exercises.check_soft_hinge: [
        soft_hinge,
        overflowing,
        never_zero,
        without_loss,
        without_truth,
        lambda node, edge, y, epsilon: soft_hinge(node, edge, y, 0),
        lambda node, edge, y, epsilon: soft_hinge(node, edge, y, 1),
        not_multiplied,
        turned,
        by_letters,
        lambda node, edge, y, epsilon: 0.0,
    ],
}
