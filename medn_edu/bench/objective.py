"""The objective of a CRF, computed independently of the libraries that are compared."""

from typing import Any

import numpy as np
from scipy.special import logsumexp


def crf_objective(
    X: Any, lengths: np.ndarray, codes: np.ndarray, coef: np.ndarray, transitions: np.ndarray,
    *, l1: float = 0.0, l2: float = 0.0,
) -> float:  # fmt: skip
    """Return ``-sum_i log p(y_i | x_i) + l1 |w|_1 + l2 |w|^2 / 2`` for chains of any lengths.

    The tokens of all chains are the rows of ``X``, and their labels are ``codes``.  The sums over
    labellings are computed by a forward sweep in the log domain, one position of all chains at a time.
    """
    longest_first = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[longest_first]
    scores = X @ coef.T
    sums = scores[starts]
    for t in range(1, lengths.max()):
        n = np.count_nonzero(lengths > t)  # chains that go on are the first
        sums[:n] = logsumexp(sums[:n, :, None] + transitions, axis=1) + scores[starts[:n] + t]
    inside = np.ones(len(codes), dtype=bool)
    inside[starts] = False  # no transition leads to the first token of a chain
    true_edges = transitions[codes[:-1], codes[1:]][inside[1:]]
    true = scores[np.arange(len(codes)), codes].sum() + true_edges.sum()
    weights = np.concatenate([coef.ravel(), transitions.ravel()])
    penalty = l1 * np.abs(weights).sum() + l2 / 2 * (weights @ weights)
    return float(logsumexp(sums, axis=1).sum() - true + penalty)
