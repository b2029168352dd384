"""Features of phrases: their words, and how the same words and phrases were labelled in training.

In training, every phrase could look up its own label, which teaches nothing about new phrases.  So
training trees are described with the labels in *other* trees.  That is why
`PhraseFeatures.fit_transform` differs from `transform`.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from medn_edu.checks import shown
from medn_edu.samples import Forest
from medn_edu.samples.checks import as_list
from medn_edu.samples.labels import label_lists, sorted_labels
from medn_edu.text.parses import Parse

CUES = (
    frozenset({"not", "n't", "never", "no"}),
    frozenset({"but"}),
    frozenset({"very", "too", "so", "really"}),
)
"""Words that change what their sibling says.  Each group has a type of edge of its own."""

_CUE_TEXTS = ("", " not", " but", "")
_LENGTHS = ((1, "1"), (2, "2"), (3, "3"), (5, "4-5"), (9, "6-9"), (19, "10-19"))
_MOST = 4  # up to which number words are counted, and their labels added up


class PhraseFeatures(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Describe the phrases of parse trees, as tokens that `SequenceVectorizer` reads.

    Each phrase has these features:

    ======================  ==========================================================================
    feature                 what it is
    ======================  ==========================================================================
    ``words=``              each word, pair and triple of successive words, in lower case
    ``first=``, ``last=``   first and last word
    ``length=``             number of words, roughly; ``whole`` for a sentence
    ``end=``                the last three and four letters of a single word
    ``known=``              the label that the same phrase has most often in other trees of training
    ``label 4=``            how many of its words had, by themselves, label 4 in other trees
    ``sum=``                these labels added up, counted from the middle one
    ``parts=``              the sums of its first two parts, and whether a part holds *not* or *but*
    ``not beside=``         if one part is a single word, that word with the sum of the other part
    ======================  ==========================================================================

    All features of a phrase have the same value, chosen so that the norm of the row is 1.  Then
    ``C = 1`` is a good first guess.

    The type of an edge says whether the phrase is the first part of its parent or a later one, whether
    its sibling is a single word, and whether the sibling holds *not* (or *never*, *no*), *but*, *very*
    (or *too*, *so*, *really*) or none of these: 16 types.

    Attributes
    ----------
    classes_ : list
        The labels of training, sorted as models sort them; sums count how far a label is from the
        middle one.
    counts_ : dict
        For each phrase of training, how often it had each label.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from medn_edu import M3N, SequenceVectorizer
    >>> from medn_edu.text import PhraseFeatures, read_parse
    >>> texts = ["(1 (2 not) (3 good))", "(3 (2 a) (3 (3 good) (2 film)))", "(1 (2 a) (1 bore))"]
    >>> X, y = zip(*map(read_parse, texts))
    >>> tokens = PhraseFeatures().fit(X, y).transform(X[:1])[0].features
    >>> list(tokens[0])[-5:]
    ['sum=1', 'parts=0 not, 1', 'not beside=1', 'good beside=0', 'known=1']

    A model that reads trees (if new trees have features that training did not see, it warns you):

    >>> model = make_pipeline(PhraseFeatures(), SequenceVectorizer(), M3N()).fit(X, y)
    >>> model[-1].classes_.tolist()
    ['1', '2', '3']
    """

    def fit(self, X: Iterable[Parse], y: Iterable[Sequence[Hashable]]) -> Self:
        """Count how often each phrase has each label.

        Parameters
        ----------
        X : sequence of Parse
            Trees.
        y : sequence of label sequences
            The label of each phrase.

        Returns
        -------
        self
            The fitted transformer.

        Raises
        ------
        ValueError, TypeError
            If the arguments are not as described; the message names the sample.
        """
        X = _trees(X)
        if not X:
            raise ValueError("X holds no trees; expected at least one.")
        y = label_lists(y, [parse.n_nodes for parse in X])
        self.counts_: dict[str, Counter[Hashable]] = defaultdict(Counter)
        for parse, labels in zip(X, y, strict=True):
            for phrase, label in zip(_phrases(parse), labels, strict=True):
                self.counts_[phrase][label] += 1
        self.classes_ = sorted_labels(chain.from_iterable(self.counts_.values()))
        return self

    def fit_transform(self, X: Iterable[Parse], y: Iterable[Sequence[Hashable]]) -> list[Forest]:
        """Do what `fit` does, and describe each tree with the labels in the other trees.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        list of Forest
            One sample per tree, with tokens as features.

        Raises
        ------
        ValueError, TypeError
            As for `fit`.
        """
        X = _trees(X)
        y = label_lists(y, [parse.n_nodes for parse in X])
        self.fit(X, y)
        return [self._forest(parse, labels) for parse, labels in zip(X, y, strict=True)]

    def transform(self, X: Iterable[Parse]) -> list[Forest]:
        """Describe trees that were not in training.

        Parameters
        ----------
        X : sequence of Parse
            Trees.

        Returns
        -------
        list of Forest
            One sample per tree, with tokens as features.

        Raises
        ------
        NotFittedError
            If nothing was fitted.
        TypeError
            If X holds anything else; the message names the sample.
        """
        check_is_fitted(self, "counts_")
        return [self._forest(parse, ()) for parse in _trees(X)]

    def _forest(self, parse: Parse, own: Sequence[Hashable]) -> Forest:
        """Return one tree; with labels of its own these are not counted."""
        phrases, parts = _phrases(parse), parse.children()
        left_out: dict[str, Counter[Hashable]] = defaultdict(Counter)
        for phrase, label in zip(phrases, own, strict=False):
            left_out[phrase][label] += 1
        known = [self._label(phrase, left_out.get(phrase)) for phrase in phrases]
        words = [word.lower() for word in parse.words]
        said: list[Any] = [None] * len(words)
        for node, (start, _) in enumerate(parse.spans):
            if parse.is_word(node):
                said[start] = known[node]
        sums = [self._sum(said[start:end]) for start, end in parse.spans]
        tokens = []
        for node, (start, end) in enumerate(parse.spans):
            names = _names(words[start:end], said[start:end], sums[node], is_whole=node == 0)
            if parse.is_word(node):
                names += [f"end={words[start][-3:]}", f"end={words[start][-4:]}"]
            else:
                names += _of_parts(words, [(*parse.spans[k], sums[k]) for k in parts[node]])
            names.append(f"known={known[node]}")
            tokens.append(dict.fromkeys(names, len(set(names)) ** -0.5))
        return Forest(tokens, parse.parents, edge_types=_edge_types(parse, words, parts))

    def _label(self, phrase: str, left_out: Counter[Hashable] | None) -> Hashable:
        """Return the commonest label of a phrase, None where nothing is known."""
        counts = self.counts_.get(phrase)
        if counts and left_out:
            counts = counts - left_out
        if not counts:
            return None
        return max(counts, key=lambda label: (counts[label], self.classes_.index(label)))

    def _sum(self, labels: Iterable[Hashable]) -> int:
        middle = len(self.classes_) // 2
        total = sum(self.classes_.index(label) - middle for label in labels if label is not None)
        return max(-_MOST, min(_MOST, total))


def _trees(X: Any) -> list[Parse]:
    X = as_list(X, "X", "a list of Parse")
    for i, parse in enumerate(X):
        if not isinstance(parse, Parse):
            raise TypeError(
                f"sample {i} of X is {shown(parse)}; expected a Parse, which read_parse returns."
            )
    return X


def _phrases(parse: Parse) -> list[str]:
    words = [word.lower() for word in parse.words]
    return [" ".join(words[start:end]) for start, end in parse.spans]


def _names(words: list[str], said: list[Any], total: int, *, is_whole: bool) -> list[str]:
    """Return the features that a phrase has from its words."""
    names = [
        f"words={' '.join(gram)}"
        for n in (1, 2, 3)
        for gram in zip(*(words[k:] for k in range(n)), strict=False)
    ]
    length = next((text for most, text in _LENGTHS if len(words) <= most), "20+")
    names += [f"first={words[0]}", f"last={words[-1]}", f"length={length}"]
    names += ["whole"] if is_whole else []
    for label, count in Counter(said).items():
        names.append(f"label {label}={min(count, _MOST)}")
    return [*names, f"sum={total}"]


def _of_parts(words: list[str], parts: list[tuple[int, int, int]]) -> list[str]:
    """Return the features that a phrase has from its first two parts (start, end and sum of each)."""
    texts, names = [], []
    for (start, end, total), (*_, other) in zip(parts[:2], parts[1::-1], strict=True):
        texts.append(f"{total}{_CUE_TEXTS[_cue(words[start:end])]}")
        if end - start == 1:
            names.append(f"{words[start]} beside={other}")
    return [f"parts={', '.join(texts)}", *names]


def _cue(words: list[str]) -> int:
    """Return the number of the first group of cues that has one of the words, counted from 1."""
    return next((k for k, cues in enumerate(CUES, 1) if not cues.isdisjoint(words)), 0)


def _edge_types(parse: Parse, words: list[str], parts: list[list[int]]) -> list[int]:
    types = [0] * parse.n_nodes
    for nodes in parts:
        for place, node in enumerate(nodes):
            sibling = nodes[1] if place == 0 else nodes[place - 1]
            start, end = parse.spans[sibling]
            types[node] = 8 * (place > 0) + 4 * (end - start == 1) + _cue(words[start:end])
    return types
