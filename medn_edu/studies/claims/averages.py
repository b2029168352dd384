"""Average weights of the first data set of ``synthetic-correlated``, and what is computed of them.

The papers look at *average weights*: of each of the 200 state features, 100 for each label, the mean
over the ten parts that train in turn.  The first 30 features are relevant, in ten groups of three.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from medn_edu.studies.claims.rules import Names, Row, known
from medn_edu.studies.claims.scores import Estimate, jackknife

SHOWN = "correlated-10-0"
"""The data set whose weights are kept."""

N_RELEVANT = 30
"""How many features are relevant, the first ones."""

GROUP = 3
"""How many relevant features have the same value, up to noise."""


def average_weights(rows: Sequence[Row], model: str, column: str = "weights") -> np.ndarray | None:
    """Return the weights of a model for each part that trained."""
    texts = [
        (row["fold"], str(row[column]))
        for row in rows
        if row["data"] == SHOWN and row["model"] == model and row.get(column)
    ]
    if not texts:
        return None
    table = np.array([[float(value) for value in text.split()] for _, text in sorted(texts)])
    n_labels = 2 if column == "weights" else 1
    return table.reshape(len(table), n_labels, -1)


@functools.cache  # a dozen claims and findings ask
def true_weights(seed: int = 0) -> np.ndarray:
    """Return the state weights of the CRF behind the first data set."""
    from medn_edu.datasets import make_chain_crf

    few = make_chain_crf(n_samples=1, correlated=True, sampler="exact", random_state=1000 * seed)
    few.coef.setflags(write=False)
    return few.coef


def known_weights(rows: Sequence[Row], model: str, column: str = "weights") -> np.ndarray:
    """Return the same as `average_weights`, if the table has it."""
    return known(average_weights(rows, model, column), f"no {column} of {model} are kept.")


def of_averages(
    rows: Sequence[Row],
    models: Names,
    statistic: Callable[..., float],
    prepared: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Estimate:
    """Compute a statistic of models' average weights, with its interval by the jackknife over parts."""
    tables = [known_weights(rows, model) for model in models]

    def of(kept: np.ndarray) -> float:
        return statistic(*(prepared(table[kept].mean(axis=0)) for table in tables))

    return known(jackknife(of, min(map(len, tables))), "fewer than three parts with weights.")
