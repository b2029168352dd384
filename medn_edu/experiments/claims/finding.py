"""A finding: why a claim does not hold, in two sentences with numbers from the tables; and helpers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.experiments.claims.scores import Scores, scores_of

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Finding:
    """What is known of the reason.

    Parameters
    ----------
    text : str
        Two sentences, with names in braces where numbers belong.
    numbers : callable
        ``numbers(tables)`` returns what to put there, as a dict of texts.
    condition : callable
        ``condition(tables)`` says whether what the sentences conclude follows from the tables.
    """

    text: str
    numbers: Callable[[Tables], dict[str, str]]
    condition: Callable[[Tables], bool]


def errors(tables: Tables, study: str) -> Scores:
    """Return the errors of a study's models by setting and unit, in per cent.

    Parameters
    ----------
    tables : mapping of str to rows
        Rows of the studies by name.
    study : str
        Name of the study.

    Returns
    -------
    dict
        As `claims.scores.scores_of` returns them.
    """
    return scores_of(tables[study])


def mean_error(
    scores: Scores, model: str, *, relevant: int | None = None, size: float | None = None
) -> float:
    """Return the mean over settings of a model's mean error.

    Parameters
    ----------
    scores : dict
        Errors by model.
    model : str
        Name of the model.
    relevant : int, optional
        Only settings with so many relevant features.
    size : float, optional
        Only settings with so many training samples.

    Returns
    -------
    float
        In per cent.

    Raises
    ------
    LookupError
        If the table has no such fits.
    """
    means = [
        float(np.mean(list(units.values())))
        for (n_relevant, n_train), units in scores[model].items()
        if relevant in (None, n_relevant) and size in (None, n_train)
    ]
    if not means:
        raise LookupError(f"no errors of {model} there")
    return float(np.mean(means))


def constants_of(tables: Tables, study: str, model: str, name: str) -> dict[str, list[float]]:
    """Return the constants that a model was trained with.

    Parameters
    ----------
    tables : mapping of str to rows
        Rows of the studies by name.
    study, model : str
        Names of the study and of the model.
    name : str
        Name of the constant, such as ``"C"``.

    Returns
    -------
    dict
        For each data set the constants of its fits, in the order of the rows.

    Raises
    ------
    LookupError
        If the table has no such fits.
    """
    from medn_edu.experiments.selection import read_constants  # which imports all models

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
    """Return how many points a model errs more than another one, on average.

    Parameters
    ----------
    scores : dict
        Errors by model.
    worse, better : str
        Names of the models.
    relevant : int, optional
        Only settings with so many relevant features.

    Returns
    -------
    float
        In percentage points.
    """
    return mean_error(scores, worse, relevant=relevant) - mean_error(
        scores, better, relevant=relevant
    )


def at_size(scores: Scores, worse: str, better: str) -> dict[float, float]:
    """Return how many points a model errs more than another one, for each size of training sets.

    Parameters
    ----------
    scores : dict
        Errors by model.
    worse, better : str
        Names of the models.

    Returns
    -------
    dict
        By number of training samples, in order.
    """
    sizes = sorted({size for _, size in scores[worse]} & {size for _, size in scores[better]})
    return {
        size: mean_error(scores, worse, size=size) - mean_error(scores, better, size=size)
        for size in sizes
    }
