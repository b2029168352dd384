"""Features from dictionaries: the description of each token becomes a row of a sparse matrix.

Each token is looked up once.  The features of its neighbours are then the same rows, moved up or down
within the sentence, so a window costs no second look at the dictionaries.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.utils.validation import check_is_fitted

from medn_edu.checks import check_count, shown, warn_user
from medn_edu.samples import Forest, Graph
from medn_edu.samples.checks import as_list

_NAMES = (list, tuple, set, frozenset)  # of features, each of weight 1
_MOST_COLUMNS = 2**31 - 1  # columns are numbered by int32
_VALUE = "expected a finite number, a boolean, a string, or a list, set or dict of strings"


class _Read(NamedTuple):
    """What is kept of a sentence: how long it was, and the Forest or Graph it came in."""

    n_tokens: int
    structure: Forest | Graph | None


class SequenceVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn sentences of tokens into samples: one sparse row of features per token.

    A *sentence* is a list of tokens, or a `Forest` or `Graph` whose features are such a list: the words
    of a parse tree, the elements of a page.  A *token* is a dictionary from the names of its features to
    their values, or a list, tuple or set of names, which then have the value 1.  Dictionaries are read
    as in sklearn-crfsuite:

    ==============================  ======================================================
    token                           the features are
    ==============================  ======================================================
    ``{"length": 3}``               ``length`` with the value 3; booleans are 1 and 0
    ``{"word": "the"}``             ``word=the`` with the value 1
    ``{"ends": ["e", "he"]}``       ``ends=e`` and ``ends=he`` with the value 1
    ``{"next": {"word": "cat"}}``   ``next:word=cat`` with the value 1
    ``["capital", "first"]``        ``capital`` and ``first`` with the value 1
    ==============================  ======================================================

    If a token names a feature twice, the values are added.  A token without features is fine.

    The vocabulary is what `fit` saw, kept by scikit-learn's `DictVectorizer` in sorted order.  Other
    features are ignored by `transform`, which counts them in one warning.  For vocabularies that
    don't fit into memory, ``n_features`` hashes names to columns instead, by `FeatureHasher`.

    Parameters
    ----------
    window : int, default=0
        With 1, each token also gets the features of its two neighbours, under names such as
        ``-1:word=the`` and ``+1:word=cat``; with 2, those of four neighbours, and so on.  Where the
        sentence has no such neighbour, there is one feature instead, ``-1:<BOS>`` (beginning of
        sentence) or ``+1:<EOS>`` (end of sentence).  Neighbours are those in the list, so ``window``
        must be 0 for a `Graph`, and for a `Forest` that is not a chain.
    n_features : int, optional
        Number of columns to hash names to, for a token and again for each of its neighbours.  By
        default every name has a column of its own.

    Attributes
    ----------
    vectorizer_ : DictVectorizer or FeatureHasher
        What turns the features of one token, without its neighbours, into a row.
    n_features_out_ : int
        Width of the samples.

    Examples
    --------
    >>> from medn_edu import SequenceVectorizer
    >>> X = [[{"word": "the"}, {"word": "cat", "length": 3}]]
    >>> vectorizer = SequenceVectorizer(window=1)
    >>> samples = vectorizer.fit_transform(X)
    >>> samples[0].toarray()[:, :3]
    array([[0., 0., 1.],
           [3., 1., 0.]])
    >>> names = vectorizer.get_feature_names_out()
    >>> names[samples[0][0].indices].tolist()
    ['word=the', '-1:<BOS>', '+1:length', '+1:word=cat']

    In a pipeline, models read tokens:

    >>> from sklearn.pipeline import make_pipeline
    >>> from medn_edu import CRF
    >>> model = make_pipeline(SequenceVectorizer(), CRF()).fit(X, [["article", "noun"]])
    >>> model.predict(X)[0].tolist()
    ['article', 'noun']

    A tree of tokens stays a tree:

    >>> from medn_edu import Forest
    >>> vectorizer.transform([Forest(X[0], parents=[-1, 0])])[0].parents
    [-1, 0]
    """

    def __init__(self, window: int = 0, n_features: int | None = None) -> None:
        self.window = window
        self.n_features = n_features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which features there are.

        Parameters
        ----------
        X : iterable of sentences
            Lists of tokens, or Forests or Graphs of them.  A generator saves memory, because each
            sentence is read once and dropped.
        y : ignored
            Labels, which pipelines pass on.

        Returns
        -------
        self
            The fitted vectorizer.

        Raises
        ------
        ValueError, TypeError
            If the arguments are not as described; the message names the sample and the node.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> list[Any]:
        """Do what `fit` and `transform` do, but look at each token only once.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        list of scipy.sparse.csr_matrix of shape (n_tokens, ``n_features_out_``)
            One sample per sentence.  If a sentence was a Forest or Graph, so is its sample.
        """
        window = check_count("window", self.window, least=0)
        read: list[_Read] = []
        rows = _rows(X, read, window)
        if self.n_features is None:
            vectorizer = _dict_vectorizer()
        else:
            vectorizer = FeatureHasher(check_count("n_features", self.n_features))
        tokens = vectorizer.fit_transform(rows)
        if tokens.shape[1] == 0:
            raise ValueError("no token of X has a feature; expected at least one feature.")
        self._learn(vectorizer, window, tokens.shape[1])
        return self._samples(tokens, read)

    def transform(self, X: Any) -> list[Any]:
        """Turn sentences into samples.

        Parameters
        ----------
        X : sequence of sentences
            Lists of tokens, or Forests or Graphs of them.

        Returns
        -------
        list of scipy.sparse.csr_matrix of shape (n_tokens, ``n_features_out_``)
            One sample per sentence.  If a sentence was a Forest or Graph, so is its sample.

        Raises
        ------
        NotFittedError
            If nothing was fitted.
        ValueError, TypeError
            If the arguments are not as described; the message names the sample and the node.

        Warns
        -----
        UserWarning
            If there are features that `fit` has not seen; the message counts them.  New text nearly
            always has some.  ``warnings.filterwarnings("ignore", message=".*fit did not see")`` hides
            the warning.
        """
        check_is_fitted(self, "vectorizer_")
        read: list[_Read] = []
        rows, unseen = _rows(X, read, self._window), Counter[str]()
        if isinstance(self.vectorizer_, DictVectorizer):
            rows = _noting(rows, self.vectorizer_.vocabulary_, unseen)
        tokens = self.vectorizer_.transform(rows)
        if unseen:
            warn_user(
                f"{unseen.total()} of {tokens.nnz + unseen.total()} feature occurrences in X are "
                f"ignored because fit did not see the features: {len(unseen)} different ones, such "
                f"as {shown(next(iter(unseen)))}.",
                UserWarning,
            )
        return self._samples(tokens, read)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of each column.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn.

        Returns
        -------
        ndarray of object, shape (``n_features_out_``,)
            Names, the token's own first; hashed columns are ``hash=0``, ``hash=1`` and so on.
        """
        check_is_fitted(self, "vectorizer_")
        if isinstance(self.vectorizer_, DictVectorizer):
            own = list(self.vectorizer_.feature_names_)
        else:
            own = [f"hash={column}" for column in range(self.vectorizer_.n_features)]
        names = list(own)
        for shift in self._shifts():
            end = "<BOS>" if shift < 0 else "<EOS>"
            names += [f"{shift:+d}:{name}" for name in [*own, end]]
        return np.array(names, dtype=object)

    def _learn(self, vectorizer: Any, window: int, n_columns: int) -> None:
        """Store what gives tokens their columns; parameters may change before the next fit."""
        width = width_of_window(n_columns, window)
        if width > _MOST_COLUMNS:
            raise ValueError(
                f"window is {window} and a token has {n_columns} columns, which makes {width} in all; "
                f"expected at most {_MOST_COLUMNS}."
            )
        self.vectorizer_, self._window, self.n_features_out_ = vectorizer, window, width

    def _saved(self) -> dict[str, Any]:
        """Return as numbers and text what `_restored` takes."""
        hashed = isinstance(self.vectorizer_, FeatureHasher)
        return {
            "window": self._window,
            "n_features": int(self.vectorizer_.n_features) if hashed else None,
            "names": None if hashed else list(map(str, self.vectorizer_.feature_names_)),
        }

    @classmethod
    def _restored(cls, window: int, n_features: int | None, names: list[str] | None) -> Self:
        """Return a vectorizer as it was when it was saved; names are sorted."""
        restored = cls(window, n_features)
        if names is None:
            restored._learn(FeatureHasher(n_features), window, cast(int, n_features))
        else:
            vectorizer = _dict_vectorizer()
            vectorizer.feature_names_ = names
            vectorizer.vocabulary_ = {name: column for column, name in enumerate(names)}
            restored._learn(vectorizer, window, len(names))
        return restored

    def _shifts(self) -> list[int]:
        """Return where the neighbours are, nearest first."""
        return [sign * distance for distance in range(1, self._window + 1) for sign in (-1, 1)]

    def _samples(self, tokens: Any, read: list[_Read]) -> list[Any]:
        """Add the neighbours' features to the rows of all tokens, and cut them into sentences."""
        tokens = sp.csr_matrix(tokens)
        lengths = [each.n_tokens for each in read]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        if self._window:
            n = offsets[-1]
            rows = sp.block_diag([tokens, [[1.0]]], format="csr")  # the last is that of BOS or EOS
            first, last = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
            blocks = [tokens]
            for shift in self._shifts():
                neighbour = np.arange(n) + shift
                inside = (first <= neighbour) & (neighbour < last)
                blocks.append(rows[np.where(inside, neighbour, n)])
            tokens = sp.hstack(blocks, format="csr")
        return [
            tokens[start:stop]
            if each.structure is None
            else replace(each.structure, features=tokens[start:stop])
            for each, (start, stop) in zip(read, pairwise(offsets), strict=True)
        ]


def _dict_vectorizer() -> DictVectorizer:
    """Return one whose output stays sparse, even where scikit-learn is set to make data frames.

    It keeps ``dtype(value)`` of every value in a list.  ``float`` returns what it is given, mostly one
    and the same 1.0, where ``numpy.float64`` would make an object of 32 bytes each time.
    """
    return DictVectorizer(dtype=float).set_output(transform="default")


def width_of_window(n_columns: int, window: int) -> int:
    """Return the width of samples: a block per neighbour, which has a column for the sentence's end."""
    return n_columns + 2 * window * (n_columns + 1)


def _rows(X: Any, read: list[_Read], window: int) -> Iterator[dict[str, float]]:
    """Yield each token's features, one token at a time because all of them take much memory.

    What is kept of sentences is added to a list on the way: X may be a generator.
    """
    sentences = X if isinstance(X, Iterator) else as_list(X, "X", "a list of sentences")
    expected = "a list of tokens, each a dict or a list of features"
    for i, sentence in enumerate(sentences):
        structure = None
        if isinstance(sentence, Forest | Graph):
            structure, sentence = replace(sentence, features=None), sentence.features
        tokens = as_list(sentence, f"sample {i} of X", expected)
        if not tokens:
            raise ValueError(
                f"sample {i} of X has no tokens; expected at least one (leave it out, here and in y)."
            )
        if window and not _is_chain(structure, len(tokens)):
            raise ValueError(
                f"sample {i} of X is a {type(structure).__name__} that is not a chain, and window is "
                f"{window}; expected window=0, since successive nodes need not be neighbours."
            )
        read.append(_Read(len(tokens), structure))
        for t, token in enumerate(tokens):
            row: dict[str, float] = {}
            try:
                _add(row, token)
            except (TypeError, ValueError) as error:
                raise type(error)(f"node {t} of sample {i} of X {error}") from None
            except RecursionError:
                raise ValueError(
                    f"node {t} of sample {i} of X holds dicts nested without end; expected a few "
                    "levels."
                ) from None
            yield row
    if not read:
        raise ValueError("X holds no samples; expected at least one sentence.")


def _is_chain(structure: Forest | Graph | None, n_tokens: int) -> bool:
    """Whether each token's neighbours are the ones before and after it in the list."""
    if isinstance(structure, Graph):
        return False
    parents = None if structure is None else structure.parents
    return parents is None or np.array_equal(parents, np.arange(-1, n_tokens - 1))


def _noting(
    rows: Iterator[dict[str, float]], known: Mapping[str, int], unseen: Counter[str]
) -> Iterator[dict[str, float]]:
    """Pass rows on, and count the features that are not known."""
    for row in rows:
        new = [name for name in row if name not in known]
        if new:
            unseen.update(new)
        yield row


def _add(row: dict[str, float], token: Any, prefix: str = "") -> None:
    """Add what a token says to its row; the caller knows which token it is."""
    if isinstance(token, _NAMES):
        _add_names(row, token, prefix)
        return
    if not isinstance(token, Mapping):
        raise TypeError(
            f"is a {type(token).__name__}; expected a dict of features, or a list, tuple or set of "
            "their names."
        )
    for name, value in token.items():
        if not isinstance(name, str):
            raise TypeError(f"has the feature name {shown(name)}; expected a string.")
        key, number = prefix + name, 1.0
        if isinstance(value, str):
            key = f"{key}={value}"
        elif isinstance(value, _NAMES):
            _add_names(row, value, f"{key}=")
            continue
        elif isinstance(value, int | float) or not isinstance(value, Mapping):
            number = _number(name, value)
        else:
            _add(row, value, f"{key}:")
            continue
        row[key] = row[key] + number if key in row else number


def _add_names(row: dict[str, float], names: Any, prefix: str) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"has {shown(name)} in its list of features; expected strings.")
        key = prefix + name
        row[key] = row[key] + 1.0 if key in row else 1.0


def _number(name: str, value: Any) -> float:
    """Return the value of a feature as a float, if it is a finite number."""
    plain = isinstance(value, int | float)  # asked first, because it is quick
    if plain or (isinstance(value, Real | np.bool_) and not isinstance(value, np.timedelta64)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ValueError(f"has the value {shown(value)} for its feature {shown(name)}; {_VALUE}.")
