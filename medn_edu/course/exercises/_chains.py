"""Small chains to judge by: random ones, and the score of a labelling."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

__all__ = ["chain_cases", "chain_score"]


def chain_score(node: np.ndarray, edge: np.ndarray, labels: Sequence[int]) -> float:
    """Return the score of a labelling: its node potentials and its transitions."""
    ink = sum(node[t, label] for t, label in enumerate(labels))
    return float(ink + sum(edge[a, b] for a, b in itertools.pairwise(labels)))


def chain_cases(seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return node potentials and transitions of a few small chains."""
    rng = np.random.default_rng(seed)
    shapes = [(4, 3), (3, 4), (2, 3), (5, 2), (4, 3), (1, 3)]
    return [(rng.normal(size=(n, k)), 1.5 * rng.normal(size=(k, k))) for n, k in shapes]
