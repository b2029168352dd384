"""Chains to judge by: small random ones, the score of a labelling, and whether all were listed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def chain_score(node: np.ndarray, edge: np.ndarray, labels: Sequence[int] | np.ndarray) -> float:
    """Return the score of a labelling: its node potentials and its transitions."""
    ink = sum(node[t, label] for t, label in enumerate(labels))
    return float(ink + sum(edge[a, b] for a, b in itertools.pairwise(labels)))


def chain_cases(seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return node potentials and transitions of a few small chains."""
    rng = np.random.default_rng(seed)
    shapes = [(4, 3), (3, 4), (2, 3), (5, 2), (4, 3), (1, 3)]
    return [(rng.normal(size=(n, k)), 1.5 * rng.normal(size=(k, k))) for n, k in shapes]


def lists_labellings(answer: Callable[[np.ndarray, np.ndarray], Any]) -> bool:
    """Tell whether a function goes through all 4^9 labellings of a word, by the time it takes.

    A table takes less than a millisecond, plain loops included, a list of the labellings a second.
    The limit is far from both, and who is over it may try again: the computer may have been busy.
    """
    rng = np.random.default_rng(3)
    node, edge = rng.normal(size=(9, 4)), rng.normal(size=(4, 4))
    return all(_seconds(answer, node.copy(), edge.copy()) > 0.03 for _ in range(2))


def _seconds(answer: Callable[[np.ndarray, np.ndarray], Any], *case: np.ndarray) -> float:
    started = time.perf_counter()
    answer(*case)
    return time.perf_counter() - started
