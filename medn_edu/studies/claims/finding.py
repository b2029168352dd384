"""A finding: why a claim does not hold, in two sentences with numbers from the tables; and helpers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.studies.claims.scores import Scores, scores_of

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Finding:
    """What is known of the reason."""

    text: str  # two sentences, with names in braces where numbers belong
    numbers: Callable[[Tables], dict[str, str]]
    condition: Callable[[Tables], bool]


def errors(tables: Tables, study: str) -> Scores:
    """Return the errors of a study's models by setting and unit, in per cent."""
    return scores_of(tables[study])


def mean_error(
    scores: Scores, model: str, *, relevant: int | None = None, size: float | None = None
) -> float:
    """Return the mean over settings of a model's mean error."""
    means = [
        float(np.mean(list(units.values())))
        for (n_relevant, n_train), units in scores[model].items()
        if relevant in (None, n_relevant) and size in (None, n_train)
    ]
    if not means:
        raise LookupError(f"no errors of {model} there")
    return float(np.mean(means))


def constants_of(tables: Tables, study: str, model: str, name: str) -> dict[str, list[float]]:
    """Return the constants that a model was trained with."""
    from medn_edu.studies.kit.selection import read_constants  # which imports all models

    found: dict[str, list[float]] = {}
    for row in tables[study]:
        if row["model"] == model and not row.get("failure"):
            constants = dict(read_constants(row.get("chosen") or row.get("parameters")))
            if name in constants:
                found.setdefault(row["data"], []).append(constants[name])
    if not found:
        raise LookupError(f"no {name} of {model}")
    return found


def gap(scores: Scores, worse: str, better: str, *, relevant: int | None = None) -> float:
    """Return how many points a model errs more than another one, on average."""
    return mean_error(scores, worse, relevant=relevant) - mean_error(
        scores, better, relevant=relevant
    )


def at_size(scores: Scores, worse: str, better: str) -> dict[float, float]:
    """Return how many points a model errs more than another one, for each size of training sets."""
    sizes = sorted({size for _, size in scores[worse]} & {size for _, size in scores[better]})
    return {
        size: mean_error(scores, worse, size=size) - mean_error(scores, better, size=size)
        for size in sizes
    }
