"""Answers to the exercises of two-losses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.special import softmax

from medn_edu.course import exercises


def all_scores(node: np.ndarray, edge: np.ndarray) -> np.ndarray:
    every = np.array(list(itertools.product(range(node.shape[1]), repeat=len(node))))
    rows = np.arange(every.shape[1])
    return node[rows, every].sum(axis=1) + edge[every[:, :-1], every[:, 1:]].sum(axis=1)


def log_partition(node: np.ndarray, edge: np.ndarray, add: Any = np.logaddexp.reduce) -> float:
    below = node[0]
    for here in node[1:]:
        below = here + np.array([add(below + column) for column in edge.T])
    return add(below)


def unstable(values: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return np.log(np.exp(values).sum())


ANSWERS = {
    exercises.check_log_z: [
        np.log(np.exp(5) + np.exp(3)),
        5 + 3,
        max(5, 3),
        np.exp(5) + np.exp(3),
        np.log(5 + 3),
        np.log1p(np.exp(-2)),
    ],
    exercises.check_structured_hinge: [1.5, 8 - 7.5, 2 - 1.25, 1, 1 + 8, 0, 2],
    exercises.check_log_loss_gradient: [
        lambda s, f, t: softmax(s) @ (f - f[t]),
        lambda s, f, t: f[t] - softmax(s) @ f,
        lambda s, f, t: softmax(s) @ f,
        lambda s, f, t: f[np.argmax(s)] - f[t],
        lambda s, f, t: np.exp(s) @ f - f[t],
        lambda s, f, t: f.mean(axis=0) - f[t],
        lambda s, f, t: softmax(s) - (np.arange(len(s)) == t),
    ],
    exercises.check_m3n_dual: [
        lambda a, loss, d: np.sum(a * loss) - 0.5 * np.sum((d.T @ a) ** 2),
        lambda a, loss, d: np.sum(a * loss),
        lambda a, loss, d: np.sum(a * loss) - np.sum((d.T @ a) ** 2),
        lambda a, loss, d: np.sum(a * loss) + 0.5 * np.sum((d.T @ a) ** 2),
        lambda a, loss, d: np.sum(a * loss) - 0.5 * np.sqrt(np.sum((d.T @ a) ** 2)),
        lambda a, loss, d: np.sum(a * (loss - 0.5 * np.sum(d**2, axis=1))),
        lambda a, loss, d: np.sum(loss) - 0.5 * np.sum((d.T @ a) ** 2),
    ],
    exercises.check_log_partition: [
        log_partition,
        lambda node, edge: np.log(np.exp(node).sum(axis=1)).sum(),
        lambda node, edge: log_partition(node, edge, np.max),
        lambda node, edge: log_partition(node, edge.T),
        lambda node, edge: np.exp(log_partition(node, edge)),
        lambda node, edge: log_partition(node, edge) - node[0].max(),
        lambda node, edge: log_partition(node, edge, unstable),
        lambda node, edge: np.logaddexp.reduce(all_scores(node, edge)),
        lambda node, edge: log_partition(node, 2 * edge),
    ],
}
