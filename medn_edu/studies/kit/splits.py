"""What trains and what tests: the parts of the data that fits of studies ask for.

Each function takes a spec and returns its `Split`; data are read or drawn once and kept.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from medn_edu.datasets import load_ocr, make_chain_crf
from medn_edu.studies.kit.specs import FitSpec, Split

FOLDS = range(10)
"""The folds of the OCR letters, and of the synthetic data."""

LARGEST_DRAW = 250
"""The most words of a fold that the study ``ocr`` draws."""

N_OUTSIDE_BLOCKS = 3
"""Folds whose words train, in turn, where constants are chosen."""

N_UNSEEN_PARTS = 5
"""Parts of the different words, one of which is held out."""

_CHOOSING = "-choosing"  # ends the data of fits that only choose constants


@lru_cache(maxsize=1)
def ocr_letters() -> Any:
    """Return the OCR letters, read once."""
    return load_ocr(download=False)


def ocr_split(spec: FitSpec) -> Split:
    """Return the OCR words of a fit.

    ``ocr-N``: of each fold N words are drawn; those of one fold train, those of the others test.
    ``ocr-rest``: all words of the other folds train, those of the fold test.  ``ocr-one``: the
    reverse.  ``ocr-outside-N``: see `ocr_outside`.  ``ocr-unseen``, ``ocr-seen``: see `ocr_unseen`.
    With ``-choosing`` behind it: what trains there, in an order drawn at random, and nothing to test.
    """
    if spec.data.endswith(_CHOOSING):
        whole = ocr_split(replace(spec, data=spec.data.removesuffix(_CHOOSING)))
        order = np.random.default_rng([spec.seed, spec.fold]).permutation(len(whole.X_train))
        return Split([whole.X_train[i] for i in order], [whole.y_train[i] for i in order], [], [])
    bunch = ocr_letters()
    kind = spec.data.removeprefix("ocr-")
    if kind.startswith("outside-"):
        n_words = int(kind.removeprefix("outside-"))
        return _split(bunch, ocr_outside(bunch.fold, n_words, spec.seed), np.arange(0))
    if kind in ("seen", "unseen"):
        return _split(bunch, *ocr_unseen(bunch, spec.fold, spec.seed, seen=kind == "seen"))
    if kind == "rest":
        train, test = bunch.fold != spec.fold, bunch.fold == spec.fold
    else:
        kept = np.ones(len(bunch.fold), dtype=bool)
        if kind != "one":
            kept = _drawn_words(bunch.fold, int(kind), spec.seed)
        train, test = kept & (bunch.fold == spec.fold), kept & (bunch.fold != spec.fold)
    return _split(bunch, np.flatnonzero(train), np.flatnonzero(test))


def ocr_outside(fold: np.ndarray, n_words: int, seed: int) -> np.ndarray:
    """Return words to choose constants on, of which none is in any drawn set of the study ``ocr``.

    What is left of each fold when its largest set has been drawn, in the order of the draw.  The
    first words of folds 0, 1 and 2 are blocks of N, one after the other; then all that is left of the
    other folds.
    """
    left = [_order(fold, number, seed)[LARGEST_DRAW:] for number in FOLDS]
    short = [words[:n_words] for words in left[:N_OUTSIDE_BLOCKS]]
    return np.concatenate([*short, *left[N_OUTSIDE_BLOCKS:]])


def ocr_unseen(
    bunch: Any, part: int, seed: int, *, seen: bool = False, train_fold: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Keep some of the 55 words from training altogether: what a chain reads, not what it recalls.

    The different words are dealt into five parts.  Images of the part's words in the other folds
    test.  Images of the training fold train: those of all other words, or, for comparison, as many of
    whatever word (``seen``).  Each letter occurs in some word that is left.
    """
    words = np.array(["".join(labels) for labels in bunch.target])
    held_out = np.isin(words, _dealt_words(tuple(np.unique(words)), seed)[part])
    in_fold = bunch.fold == train_fold
    train = np.flatnonzero(in_fold & ~held_out)
    if seen:
        train = np.sort(_order(bunch.fold, train_fold, seed)[: len(train)])
    return train, np.flatnonzero(held_out & ~in_fold)


@lru_cache(maxsize=2)
def _dealt_words(words: tuple[str, ...], seed: int) -> list[list[str]]:
    """Deal words into parts, none of which holds all the words of some letter."""
    rng = np.random.default_rng([seed, len(words)])
    while True:
        order = [words[k] for k in rng.permutation(len(words))]
        parts = [order[k::N_UNSEEN_PARTS] for k in range(N_UNSEEN_PARTS)]
        rest = [set("".join(w for w in words if w not in part)) for part in parts]
        if all(letters == set("".join(words)) for letters in rest):
            return parts


def _order(fold: np.ndarray, number: int, seed: int) -> np.ndarray:
    """Return the words of a fold in the order in which they are drawn."""
    return np.random.default_rng([seed, number]).permutation(np.flatnonzero(fold == number))


def _drawn_words(fold: np.ndarray, n_words: int, seed: int) -> np.ndarray:
    """Draw words of each fold; smaller draws are part of larger ones."""
    kept = np.zeros(len(fold), dtype=bool)
    for number in FOLDS:
        kept[_order(fold, number, seed)[:n_words]] = True
    return kept


@lru_cache(maxsize=4)
def correlated_chains(seed: int, number: int = 0) -> Any:
    """Return 1,000 sequences of a random CRF whose relevant features come in groups of three."""
    return make_chain_crf(n_samples=1000, correlated=True, random_state=1000 * seed + number)


@lru_cache(maxsize=4)
def iid_chains(n_relevant: int, number: int, seed: int) -> Any:
    """Return 1,000 sequences of a random CRF with independent features."""
    rng = np.random.default_rng([seed, n_relevant, number])
    return make_chain_crf(n_samples=1000, n_relevant=n_relevant, random_state=rng)


def chain_split(spec: FitSpec) -> Split:
    """Return the sequences of a fit to `correlated_chains`: a tenth trains, the rest tests."""
    bunch = correlated_chains(spec.seed)
    return _split(bunch, *one_part(len(bunch.data), len(FOLDS), spec.fold))


def iid_split(spec: FitSpec) -> Split:
    """Return the sequences of a fit to `iid_chains`; its data read ``iid-RELEVANT-TRAINING``.

    Of each CRF's sequences, in an order drawn once, the first ones train and all others test, so that
    small training sets are part of larger ones.
    """
    n_relevant, n_train = map(int, spec.data.split("-")[1:])
    bunch = iid_chains(n_relevant, spec.fold, spec.seed)
    rng = np.random.default_rng([spec.seed, n_relevant, spec.fold, 1])
    order = rng.permutation(len(bunch.data))
    return _split(bunch, order[:n_train], order[n_train:])


def correlated_split(spec: FitSpec) -> Split:
    """Return the sequences of a fit to one of the `correlated_chains`.

    The data of the fit read ``correlated-PARTS-NUMBER``: the sequences of that CRF are cut into so many
    parts, of which the fold trains and the others test.  Without a fold (-1) all of them train:
    constants are chosen on a CRF of its own.
    """
    n_parts, number = map(int, spec.data.split("-")[1:])
    bunch = correlated_chains(spec.seed, number)
    n_samples = len(bunch.data)
    if spec.fold < 0:
        return _split(bunch, np.arange(n_samples), np.arange(0))
    return _split(bunch, *one_part(n_samples, n_parts, spec.fold))


def one_part(n_samples: int, n_parts: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut samples into parts of equal size, but for one: one part trains, the others test."""
    part = np.arange(n_samples) * n_parts // n_samples
    return np.flatnonzero(part == number), np.flatnonzero(part != number)


def _split(bunch: Any, train: np.ndarray, test: np.ndarray) -> Split:
    return Split(
        [bunch.data[i] for i in train],
        [bunch.target[i] for i in train],
        [bunch.data[i] for i in test],
        [bunch.target[i] for i in test],
    )
