"""What trains and what tests: the parts of the data that fits of studies ask for.

Each function takes a spec and returns its `Split`; data are read or drawn once and kept.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from medn_edu.datasets import load_ocr, make_chain_crf
from medn_edu.experiments.specs import FitSpec, Split

__all__ = ["FOLDS", "chain_split", "correlated_chains", "ocr_letters", "ocr_split"]

FOLDS = range(10)
"""The folds of the OCR letters, and of the synthetic data."""


@lru_cache(maxsize=1)
def ocr_letters() -> Any:
    """Return the OCR letters, read once."""
    return load_ocr(download=False)


def ocr_split(spec: FitSpec) -> Split:
    """Return the OCR words of a fit.

    ``ocr-N``: of each fold N words are drawn; those of one fold train, those of the others test.
    ``ocr-rest``: all words of the other folds train, those of the fold test.  ``ocr-one``: the
    reverse.

    Parameters
    ----------
    spec : FitSpec
        The fit.

    Returns
    -------
    Split
        Its words.
    """
    bunch = ocr_letters()
    kind = spec.data.removeprefix("ocr-")
    if kind == "rest":
        train, test = bunch.fold != spec.fold, bunch.fold == spec.fold
    else:
        kept = np.ones(len(bunch.fold), dtype=bool)
        if kind != "one":
            kept = _drawn_words(bunch.fold, int(kind), spec.seed)
        train, test = kept & (bunch.fold == spec.fold), kept & (bunch.fold != spec.fold)
    return _split(bunch, np.flatnonzero(train), np.flatnonzero(test))


def _drawn_words(fold: np.ndarray, n_words: int, seed: int) -> np.ndarray:
    """Draw words of each fold; smaller draws are part of larger ones."""
    kept = np.zeros(len(fold), dtype=bool)
    for number in FOLDS:
        order = np.random.default_rng([seed, number]).permutation(np.flatnonzero(fold == number))
        kept[order[:n_words]] = True
    return kept


@lru_cache(maxsize=2)
def correlated_chains(seed: int) -> Any:
    """Return 1,000 sequences of a random CRF whose relevant features come in groups of three.

    Parameters
    ----------
    seed : int
        Seed of the model and the data.

    Returns
    -------
    sklearn.utils.Bunch
        See `medn_edu.datasets.make_chain_crf`.
    """
    return make_chain_crf(n_samples=1000, correlated=True, random_state=seed)


def chain_split(spec: FitSpec) -> Split:
    """Return the sequences of a fit to `correlated_chains`: a tenth trains, the rest tests.

    Parameters
    ----------
    spec : FitSpec
        The fit.

    Returns
    -------
    Split
        Its sequences.
    """
    bunch = correlated_chains(spec.seed)
    part = np.arange(len(bunch.data)) * len(FOLDS) // len(bunch.data)  # of each sequence
    return _split(bunch, np.flatnonzero(part == spec.fold), np.flatnonzero(part != spec.fold))


def _split(bunch: Any, train: np.ndarray, test: np.ndarray) -> Split:
    return Split(
        [bunch.data[i] for i in train],
        [bunch.target[i] for i in train],
        [bunch.data[i] for i in test],
        [bunch.target[i] for i in test],
    )
