"""What trains and what tests: the parts of the data that fits of studies ask for.

Each function takes a spec and returns its `Split`; data are read or drawn once and kept.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from medn_edu.datasets import load_chorales, load_ocr, make_chain_crf
from medn_edu.studies.kit.specs import FitSpec, Split

FOLDS = range(10)
"""The folds of the OCR letters, and of the synthetic data."""

LARGEST_DRAW = 250
"""The most words of a fold that the study ``ocr`` draws."""

N_UNSEEN_PARTS = 5
"""Parts of the different words, one of which is held out."""

N_PARTS = 5
"""Parts of the chorales, twelve in each."""


@lru_cache(maxsize=1)
def ocr_letters() -> Any:
    """Return the OCR letters, read once."""
    return load_ocr(download=False)


def ocr_split(spec: FitSpec, *, validate: bool = False) -> Split:
    """Return the OCR words of a fit.

    ``ocr-N``: of each fold N words are drawn; those of one fold train, those of the others test.
    ``ocr-rest``: all words of the other folds train, those of the fold test.  ``ocr-one``: the reverse.
    ``ocr-unseen``, ``ocr-seen``: see `ocr_unseen`.  If all words train, their order is drawn at random,
    so the first few are a random sample of all.

    With ``validate``, those words of the fold that are in no draw follow after the N.  Constants can be
    chosen on them, because they neither train nor test.
    """
    bunch = ocr_letters()
    kind = spec.data.removeprefix("ocr-")
    if kind.isdecimal():
        kept = _drawn_words(bunch.fold, int(kind), spec.seed)
        train = np.flatnonzero(kept & (bunch.fold == spec.fold))
        if validate:
            order = _order(bunch.fold, spec.fold, spec.seed)
            train = np.concatenate([train, order[LARGEST_DRAW:]])
        return _split(bunch, train, np.flatnonzero(kept & (bunch.fold != spec.fold)))
    if kind in ("seen", "unseen"):
        train, test = ocr_unseen(bunch, spec.fold, spec.seed, seen=kind == "seen")
    else:
        trains = (bunch.fold == spec.fold) == (kind == "one")
        train, test = np.flatnonzero(trains), np.flatnonzero(~trains)
    return _split(bunch, np.random.default_rng([spec.seed, spec.fold]).permutation(train), test)


def word_errors(spec: FitSpec, model: Any) -> dict[str, str]:
    """Count the wrong letters in each of the different words, in alphabetical order, if data are words.

    The fit is tested on the same few words again and again, so intervals of errors must take into
    account which words there are.
    """
    if not spec.data.startswith("ocr-"):
        return {}
    split, wrong = ocr_split(spec), dict.fromkeys(different_words(), 0)
    for labels, found in zip(split.y_test, model.predict(split.X_test), strict=True):
        wrong["".join(labels)] += int(np.sum(np.asarray(found) != np.asarray(labels)))
    return {"word_errors": " ".join(map(str, wrong.values()))}


@lru_cache(maxsize=1)
def different_words() -> tuple[str, ...]:
    """Return the different words of the OCR letters, in alphabetical order."""
    return tuple(sorted({"".join(labels) for labels in ocr_letters().target}))


def ocr_unseen(
    bunch: Any, part: int, seed: int, *, seen: bool = False, train_fold: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Keep some of the 55 words out of training, to test what a chain reads, not what it recalls.

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
def correlated_chains(seed: int, number: int = 0, sampler: str = "gibbs") -> Any:
    """Return 1,000 sequences of a random CRF whose relevant features come in groups of three."""
    return make_chain_crf(
        n_samples=1000, correlated=True, sampler=sampler, random_state=1000 * seed + number
    )


@lru_cache(maxsize=4)
def iid_chains(n_relevant: int, number: int, seed: int, sampler: str = "gibbs") -> Any:
    """Return 1,000 sequences of a random CRF with independent features."""
    rng = np.random.default_rng([seed, n_relevant, number])
    return make_chain_crf(n_samples=1000, n_relevant=n_relevant, sampler=sampler, random_state=rng)


def chain_split(spec: FitSpec) -> Split:
    """Return the sequences of a fit to `correlated_chains`: a tenth trains, the rest tests."""
    bunch = correlated_chains(spec.seed)
    return _split(bunch, *one_part(len(bunch.data), len(FOLDS), spec.fold))


N_VALIDATION = 200
"""Sequences of each random CRF on which constants are chosen, and which neither train nor test."""


def iid_split(spec: FitSpec, *, validate: bool = False) -> Split:
    """Return the sequences of a fit to `iid_chains`; its data read ``iid-RELEVANT-TRAINING``.

    Of each CRF's sequences, in an order drawn once, the first ones train, so that small training sets
    are part of larger ones.  The last 200 are left for the choice of constants, and all others test.
    With ``validate`` they stand behind those that train.
    """
    n_relevant, n_train = map(int, spec.data.split("-")[1:])
    bunch = iid_chains(n_relevant, spec.fold, spec.seed)
    rng = np.random.default_rng([spec.seed, n_relevant, spec.fold, 1])
    first, left = np.split(rng.permutation(len(bunch.data)), [-N_VALIDATION])
    train = np.concatenate([first[:n_train], left if validate else left[:0]])
    return _split(bunch, train, first[n_train:])


def correlated_split(spec: FitSpec, *, validate: bool = False) -> Split:
    """Return the sequences of a fit to one of the `correlated_chains`.

    The data of the fit read ``correlated-PARTS-NUMBER``: the sequences of that CRF are cut into so many
    parts, of which the fold trains.  Constants are chosen with the first part, on the 200 sequences
    behind it.  So these and the first part never test.  With ``validate`` they stand behind those that
    train.
    """
    n_parts, number = map(int, spec.data.split("-")[1:])
    bunch = correlated_chains(spec.seed, number)
    train, test = one_part(len(bunch.data), n_parts, spec.fold)
    first, _ = one_part(len(bunch.data), n_parts, 0)
    left = np.arange(len(first), len(first) + N_VALIDATION)
    test = np.setdiff1d(test, [*first, *left])
    return _split(bunch, np.concatenate([train, left if validate else left[:0]]), test)


@lru_cache(maxsize=1)
def bach_chorales() -> Any:
    """Return the Bach chorales, read once."""
    return load_chorales(download=False)


def chorale_split(spec: FitSpec) -> Split:
    """Return the chorales of a fit; its data read ``chorales-N``.

    The chorales are dealt into five parts.  The part of the fold tests, and the N parts after it train,
    one part after the other.
    """
    bunch = bach_chorales()
    parts = chorale_parts(bunch.group, spec.seed)
    n_train = int(spec.data.split("-")[1])
    train = [parts[(spec.fold + k) % N_PARTS] for k in range(1, n_train + 1)]
    return _split(bunch, np.concatenate(train), parts[spec.fold])


def chorale_parts(group: np.ndarray, seed: int) -> list[np.ndarray]:
    """Deal chorales at random into parts of equal size, with all those of one tune in the same part."""
    tunes, counts = np.unique(group, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(tunes))
    parts: list[list[int]] = [[] for _ in range(N_PARTS)]
    for k in sorted(order, key=lambda k: -counts[k]):  # while all of a tune still fit
        min(parts, key=len).extend(np.flatnonzero(group == tunes[k]))
    return [np.array(part) for part in parts]


def one_part(n_samples: int, n_parts: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut samples into parts, of equal size except for one: one part trains, the others test."""
    part = np.arange(n_samples) * n_parts // n_samples
    return np.flatnonzero(part == number), np.flatnonzero(part != number)


def _split(bunch: Any, train: np.ndarray, test: np.ndarray) -> Split:
    return Split(
        [bunch.data[i] for i in train],
        [bunch.target[i] for i in train],
        [bunch.data[i] for i in test],
        [bunch.target[i] for i in test],
    )
