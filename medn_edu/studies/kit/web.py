"""Product records: which of them train, judge and test, as trees, as chains, and as single leaves.

All pages are made and read once per process, and their features become numbers once.  A fit takes the
records it needs and drops features that none of its training records has.
"""

import warnings
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from medn_edu.datasets.pages import make_pages
from medn_edu.samples import Forest, SampleSet, pack
from medn_edu.studies.kit.specs import FitSpec, Split
from medn_edu.text import SequenceVectorizer
from medn_edu.text.pages import Page, parse_page

N_TRAIN, N_TEST = 1585, 3391
"""Records on the training and on the test pages, as in the papers."""

PAGES = {N_TRAIN: 5, N_TEST: 10}
"""Pages of each template that hold them."""

SHARES = (5, 10, 15, 20, 30, 40, 50)
"""Per cent of the training records that are drawn."""

N_JUDGING = 300
"""The most records on which constants are chosen, and which neither train nor test."""

N_DEALT = 5
"""Parts into which the templates are dealt."""

FLAT = ", flat"
"""What ends the names of models that see chains of leaves."""

PER_LEAF = "per leaf"
"""The model that sees each leaf by itself."""

TOLD = ", ancestors"
"""What ends the names of models of leaves that know the tags and classes of all elements around them."""


class Records(NamedTuple):
    """Records of pages, and the template of each."""

    pages: list[Page]
    template: np.ndarray


class Data(NamedTuple):
    """The same as samples with sparse features, packed, and the labels of their nodes."""

    X_train: SampleSet
    y_train: list[np.ndarray]
    X_test: SampleSet
    y_test: list[np.ndarray]


@lru_cache(maxsize=1)
def product_records(seed: int) -> tuple[Records, Records]:
    """Return the records of the training pages, and those of the test pages."""
    return _records(N_TRAIN, seed, 0), _records(N_TEST, seed, 1)


def _records(n_records: int, seed: int, part: int) -> Records:
    rng = np.random.default_rng([seed, part])
    bunch = make_pages(PAGES[n_records], n_records=n_records, random_state=rng)
    found = [parse_page(html).records() for html in bunch.html]
    return Records(
        [record for records in found for record in records],
        np.repeat(bunch.template, list(map(len, found))),
    )


@lru_cache(maxsize=1)
def _trees(seed: int) -> tuple[list[Forest], list[Forest], np.ndarray]:
    """Return the training and the test records as trees, and the columns of tags and classes."""
    train, test = product_records(seed)
    vectorizer = SequenceVectorizer()
    first = vectorizer.fit_transform([page.sample() for page in train.pages])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fit did not see")
        second = vectorizer.transform([page.sample() for page in test.pages])
    names = vectorizer.get_feature_names_out().tolist()
    kinds = [k for k, name in enumerate(names) if name.startswith(("tag=", "class="))]
    return first, second, np.array(kinds)


@lru_cache(maxsize=5)
def product_data(structure: str, seed: int) -> Data:
    """Return all records as trees, or as leaves (`FLAT`, `PER_LEAF`) that know ancestors or not."""
    samples, labels = [], []
    *both, kinds = _trees(seed)
    for part, trees in zip(product_records(seed), both, strict=True):
        names = [np.array(page.labels()) for page in part.pages]
        if structure:
            leaves = [np.flatnonzero(page.is_leaf) for page in part.pages]
            if structure.endswith(TOLD):
                trees = [_with_ancestors(tree, kinds) for tree in trees]
            pairs = list(zip(trees, leaves, strict=True))
            trees = [_leaves(tree, kept, structure) for tree, kept in pairs]
            names = [found[kept] for found, kept in zip(names, leaves, strict=True)]
        samples.append(pack(trees))
        labels.append(names)
    return Data(samples[0], labels[0], samples[1], labels[1])


def _leaves(tree: Forest, leaves: np.ndarray, structure: str) -> Forest:
    """Return the leaves of a tree as a chain, as `Page.chain` does, or without edges."""
    return Forest(tree.features[leaves], None if structure.startswith(FLAT) else [-1] * len(leaves))


def _with_ancestors(tree: Forest, kinds: np.ndarray) -> Forest:
    """Let each node also have the tags and classes of the elements around it."""
    around = tree.features[:, kinds].toarray() > 0
    for t, parent in enumerate(tree.parents):
        if parent >= 0:
            around[t] |= around[parent]
    return replace(tree, features=sp.hstack([tree.features, around.astype(float)], format="csr"))


def structure_of(model: str) -> str:
    """Return what a model sees: `PER_LEAF`, `FLAT`, both with `TOLD` or not, or nothing for trees."""
    kind = next((kind for kind in (PER_LEAF, FLAT) if kind in model), "")
    return kind + (TOLD if model.endswith(TOLD) else "")


def n_drawn(share: int) -> int:
    """Return how many records a share in per cent is."""
    return round(N_TRAIN * share / 100)


def page_split(spec: FitSpec, *, validate: bool = False) -> Split:
    """Return the records of a fit, whose data read ``web-SHARE`` or ``templates-SHARE``.

    ``web``: each fold is a draw from all training records, of which the first SHARE per cent train.  So
    small draws are part of larger ones.  All test records test.  ``templates``: the templates are dealt
    into five parts.  Those of the part of the fold test, those of the next part are left for the choice
    of constants, and of the other three as many records train as in the first reading.

    With ``validate`` the records that judge constants follow those that train.
    """
    return _page_split(spec.data, spec.fold, structure_of(spec.model), spec.seed, validate)


@lru_cache(maxsize=4)  # fits that follow each other share it
def _page_split(data: str, fold: int, structure: str, seed: int, validate: bool) -> Split:
    train, judge, test = chosen_records(data, fold, seed)
    found = product_data(structure, seed)
    kept = np.unique(found.X_train.take(train).features.indices)

    def with_kept(samples: SampleSet, index: np.ndarray) -> SampleSet:
        taken: Any = samples.take(index)
        return replace(taken, features=taken.features[:, kept])

    train = np.concatenate([train, judge if validate else judge[:0]])
    return Split(
        with_kept(found.X_train, train),
        [found.y_train[i] for i in train],
        with_kept(found.X_test, test),
        [found.y_test[i] for i in test],
    )


def chosen_records(data: str, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which records train and which judge constants, and which test records test."""
    kind, _, share = data.partition("-")
    train, test = product_records(seed)
    order = np.random.default_rng([seed, fold]).permutation(N_TRAIN)
    if kind != "templates":
        return order[: n_drawn(int(share))], order[-N_JUDGING:], np.arange(N_TEST)
    left_out, judges = dealt_templates(train.template, fold, seed)
    place = train.template[order]
    others = order[~np.isin(place, [*left_out, *judges])]
    judging = order[np.isin(place, judges)]
    tested = np.flatnonzero(np.isin(test.template, left_out))
    return others[: n_drawn(int(share))], judging[:N_JUDGING], tested


def dealt_templates(template: np.ndarray, part: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the templates that test, and those that judge; all others train."""
    names = np.unique(template)
    order = np.random.default_rng([seed, len(names)]).permutation(names)
    return order[part::N_DEALT], order[(part + 1) % N_DEALT :: N_DEALT]
