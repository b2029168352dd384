"""What several exercises share: small chains, their best labellings, and bisection."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp


def chain_score(node: np.ndarray, edge: np.ndarray, labels: Sequence[int] | np.ndarray) -> float:
    """Return the score of a labelling: its node potentials and its transitions."""
    ink = sum(node[t, label] for t, label in enumerate(labels))
    return float(ink + sum(edge[a, b] for a, b in itertools.pairwise(labels)))


def chain_cases(seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return node potentials and transitions of a few small chains."""
    rng = np.random.default_rng(seed)
    shapes = [(4, 3), (3, 4), (2, 3), (5, 2), (4, 3), (1, 3)]
    return [(rng.normal(size=(n, k)), 1.5 * rng.normal(size=(k, k))) for n, k in shapes]


def labellings(node: np.ndarray) -> list[tuple[int, ...]]:
    """Return every labelling of a small chain."""
    return list(itertools.product(range(node.shape[1]), repeat=len(node)))


def best_of_all(node: np.ndarray, edge: np.ndarray) -> tuple[int, ...]:
    """Return the best labelling, by looking at every one."""
    return max(labellings(node), key=lambda labels: chain_score(node, edge, labels))


def viterbi(node: np.ndarray, edge: np.ndarray) -> list[int]:
    """Return the best labelling, letter by letter."""
    best, pointers = node[0], []
    for here in node[1:]:
        reached = best[:, None] + edge
        pointers.append(reached.argmax(axis=0))
        best = here + reached.max(axis=0)
    path = [int(best.argmax())]
    for pointer in reversed(pointers):
        path.append(int(pointer[path[-1]]))
    return path[::-1]


def greedy(node: np.ndarray, edge: np.ndarray) -> list[int]:
    """Pick label after label, each the best one after the label just picked."""
    path = [int(node[0].argmax())]
    for here in node[1:]:
        path.append(int((here + edge[path[-1]]).argmax()))
    return path


def best_prefix_ends(node: np.ndarray, edge: np.ndarray) -> list[int]:
    """Viterbi without going back: at each letter the label where the best prefix ends."""
    best, path = node[0], [int(node[0].argmax())]
    for here in node[1:]:
        best = here + (best[:, None] + edge).max(axis=0)
        path.append(int(best.argmax()))
    return path


def soft_max(values: np.ndarray, epsilon: float, axis: int | None = None) -> Any:
    """Return the soft maximum at a temperature; at 0, the maximum."""
    if epsilon == 0:
        return values.max(axis=axis)
    return epsilon * logsumexp(values / epsilon, axis=axis)


def soft_best(node: np.ndarray, edge: np.ndarray, epsilon: float) -> float:
    """Return the soft maximum of all labellings' scores: the log-partition at 1, the largest at 0."""
    below = node[0]
    for here in node[1:]:
        below = here + soft_max(below[:, None] + edge, epsilon, axis=0)
    return float(soft_max(below, epsilon))


def bisect(goes_on: Callable[[float], bool], low: float, high: float) -> float:
    """Return the point between two numbers at which a condition stops being true."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if goes_on(middle) else (low, middle)
    return low


def lists_labellings(answer: Callable[[np.ndarray, np.ndarray], Any]) -> bool:
    """Judge from its running time whether a function goes through all 4^9 labellings of a word.

    A table takes less than a millisecond, even with plain loops.  A list of the labellings takes a
    second.  The limit is far from both.  A function that exceeds it gets another try, because the
    computer may have been busy.
    """
    rng = np.random.default_rng(3)
    node, edge = rng.normal(size=(9, 4)), rng.normal(size=(4, 4))
    return all(_seconds(answer, node.copy(), edge.copy()) > 0.03 for _ in range(2))


def _seconds(answer: Callable[[np.ndarray, np.ndarray], Any], *case: np.ndarray) -> float:
    started = time.perf_counter()
    answer(*case)
    return time.perf_counter() - started
