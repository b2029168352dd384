"""Made-up sentences, which need no file, and the features that taggers usually take from words.

Text is harder on a learner than pixels.  There are tens of thousands of features, but a word has only a
dozen of them, and most occur only once or twice.  `make_text` imitates the four properties behind this:

* a few words are very frequent and most are rare (Zipf's law), so that twice as much text goes on
  bringing new words;
* the end of a word mostly gives away its label, which is how to guess the label of a new word;
* some of the most frequent words have two labels, and only the neighbours tell which one it is;
* labels follow each other in a Markov chain.

Everything is drawn as whole numbers, so that no processor rounds differently: a seed gives the same
sentences everywhere, and numbers measured on them can be compared.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from math import isqrt
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from medn_edu.checks import check_count, random_generator, shown
from medn_edu.samples.checks import as_list

_ONSETS = (*"bdfghklmnprstvwz", "br", "ch", "fl", "gr", "kn", "pl", "sh", "st", "tr")
_VOWELS = (*"aeiou", "ai", "ee", "ou")
_CODAS = (*"bdfglmnprstx", "ck", "ng", "nt", "sh", "st")
_N_FREQUENT = 100  # words of one syllable, without a suffix
_N_SHORT = 2000  # words of at most two syllables and a suffix
_SHIFT = 13  # of ranks in Zipf's law, so that the first words are not too frequent
_N_SUFFIXES = 3  # of each label

_DESCR = """\
Made-up sentences
-----------------
{n_sentences} sentences of 2 to 50 words, 18 on average, with {n_labels} labels ({names}).  The labels
of a sentence are a Markov chain.  Each word is drawn from the words of its label, and the word of rank
r has a probability in proportion to (r + 13)^(-5/4).  There are {vocabulary} words, which are made of
syllables.  All but the 100 most frequent words end in a suffix.  In 7 of 8 words it's one of the three
that belong to the word's label, and in the others it's any suffix.  A quarter of the 100 most frequent
words have a second label.  The words of the first label and the first word of each sentence begin with
a capital.

With the default vocabulary `token_features` finds about as many features as in English text: some
28,000 in 2,000 sentences and some 87,000 in 12,544.  If you ask for fewer sentences, you get the
beginning of a longer list.

Contents: data (list of lists of words), target (list of lists of labels), target_names.
"""


def make_text(
    n_sentences: int = 2000,
    n_labels: int = 17,
    *,
    vocabulary: int = 150_000,
    random_state: Any = 0,
) -> Bunch:
    """Make sentences of made-up words, with a label per word: as large as real text, without a file.

    Parameters
    ----------
    n_sentences : int, default=2000
        Number of sentences.
    n_labels : int, default=17
        Number of labels; by default as many as there are universal part-of-speech tags.
    vocabulary : int, default=150000
        Number of words to draw from, at least 100 and one per label; most of them never occur.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of words, labels and sentences.  One seed gives the same sentences on every machine,
        and a smaller number of them is the beginning of a larger one.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of lists of str
            The words of each sentence; `token_features` turns one into features.
        target : list of lists of str
            Their labels.
        target_names : ndarray of str, shape (n_labels,)
            All labels.
        DESCR : str
            How the sentences are made.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range; the message names it and what was expected.

    Examples
    --------
    >>> text = make_text(n_sentences=3, n_labels=4)
    >>> len(text.data), len(text.data[0]) == len(text.target[0])
    (3, True)
    >>> text.target_names
    array(['tag01', 'tag02', 'tag03', 'tag04'], dtype='<U5')
    """
    n_sentences = check_count("n_sentences", n_sentences)
    n_labels = check_count("n_labels", n_labels, least=2)
    vocabulary = check_count("vocabulary", vocabulary, least=max(_N_FREQUENT, n_labels))
    rng = random_generator(random_state)
    names = [f"tag{label:02}" for label in range(1, n_labels + 1)]
    words, is_of = _draw_vocabulary(vocabulary, n_labels, rng)
    ranks_of = [np.flatnonzero(mask).tolist() for mask in is_of]
    chances = _word_chances(vocabulary)
    sums = [np.cumsum(chances[ranks]).tolist() for ranks in ranks_of]
    totals = np.array([each[-1] for each in sums])
    following = _draw_grammar(n_labels, rng)
    data, target = [], []
    for _ in range(n_sentences):
        labels = _draw_labels(following, rng)
        picks = rng.integers(totals[labels])
        sentence = [
            words[ranks_of[label][bisect_right(sums[label], pick)]]
            for label, pick in zip(labels, picks.tolist(), strict=True)
        ]
        data.append([sentence[0].capitalize(), *sentence[1:]])
        target.append([names[label] for label in labels])
    return Bunch(
        data=data,
        target=target,
        target_names=np.array(names),
        DESCR=_DESCR.format(
            n_sentences=n_sentences,
            n_labels=n_labels,
            names=f"{names[0]} to {names[-1]}",
            vocabulary=vocabulary,
        ),
    )


def _word_chances(n_words: int) -> np.ndarray:
    """Return whole numbers in proportion to (rank + shift)^(-5/4)."""
    ranks = range(_SHIFT, n_words + _SHIFT)
    chances = [10**16 // isqrt(isqrt(10**16 * rank**5)) for rank in ranks]
    return np.array(chances, dtype=np.int64)


def _draw_vocabulary(
    n_words: int, n_labels: int, rng: np.random.Generator
) -> tuple[list[str], np.ndarray]:
    """Return the words by rank, and a mask (n_labels, n_words): which labels a word may have."""
    syllables = np.array([onset + vowel for onset in _ONSETS for vowel in _VOWELS], dtype=object)
    endings = np.array([vowel + coda for vowel in _VOWELS for coda in _CODAS], dtype=object)
    rank = np.arange(n_words)
    # The first words go round the labels, so that each label has one.
    label = np.where(rank < n_labels, rank, rng.integers(n_labels, size=n_words))
    is_of = np.arange(n_labels)[:, None] == label
    ambiguous = rank[3:_N_FREQUENT:4]
    is_of[rng.integers(n_labels, size=len(ambiguous)), ambiguous] = True

    told = np.where(rng.integers(8, size=n_words) > 0, label, rng.integers(n_labels, size=n_words))
    suffix = told * _N_SUFFIXES + rng.integers(_N_SUFFIXES, size=n_words)
    suffixes = rng.permutation(endings)[suffix % len(endings)]
    stems = syllables[rng.integers(len(syllables), size=(3, n_words))]
    stems[0, :_N_FREQUENT] = rng.permutation(syllables)[:_N_FREQUENT]  # all different
    stems[1, :_N_FREQUENT] = suffixes[:_N_FREQUENT] = ""
    stems[2] = np.where((rank < _N_SHORT) | (rng.integers(2, size=n_words) == 0), "", stems[2])
    words = stems[0] + stems[1] + stems[2] + suffixes
    words[label == 0] = [word.capitalize() for word in words[label == 0]]
    return words.tolist(), is_of


def _draw_grammar(n_labels: int, rng: np.random.Generator) -> list[list[int]]:
    """Return the running sums of the chances of what follows each label; the last row starts."""
    chances = 5040 // np.arange(1, n_labels + 1)
    return [np.cumsum(chances[rng.permutation(n_labels)]).tolist() for _ in range(n_labels + 1)]


def _draw_labels(following: list[list[int]], rng: np.random.Generator) -> list[int]:
    length = 2 + rng.integers(17) + rng.integers(17) * rng.integers(17) // 8
    labels, label = [], -1
    for pick in rng.integers(following[0][-1], size=length).tolist():
        label = bisect_right(following[label], pick)
        labels.append(label)
    return labels


def token_features(words: Sequence[str]) -> list[dict[str, str]]:
    """Return the features that taggers usually take from each word of a sentence.

    The word in lower case, its shape (``"Xx.d"`` for ``"Fig.12"``: capitals, small letters and digits,
    runs shortened to one), its beginnings and endings of up to four characters, and the words on both
    sides, which are empty at the ends of the sentence.

    Parameters
    ----------
    words : sequence of str
        The words of one sentence.

    Returns
    -------
    list of dict
        Features of each word, name to value, as `medn_edu.SequenceVectorizer` takes them.

    Raises
    ------
    TypeError
        If a word is not a string.

    Examples
    --------
    >>> first, second = token_features(["Be", "kind"])
    >>> first
    {'word': 'be', 'shape': 'Xx', 'previous': '', 'next': 'kind', 'prefix1': 'b', 'suffix1': 'e', \
'prefix2': 'be', 'suffix2': 'be'}
    >>> second["previous"], second["suffix3"]
    ('be', 'ind')
    """
    words = as_list(words, "words", "a sequence of strings, the words of one sentence")
    for t, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"word {t} of words is {shown(word)}; expected a string.")
    small = ["", *(word.lower() for word in words), ""]
    rows = []
    for t, word in enumerate(words, 1):
        row = {
            "word": small[t],
            "shape": _shape(word),
            "previous": small[t - 1],
            "next": small[t + 1],
        }
        for length in range(1, min(4, len(small[t])) + 1):
            row[f"prefix{length}"] = small[t][:length]
            row[f"suffix{length}"] = small[t][-length:]
        rows.append(row)
    return rows


def _shape(word: str) -> str:
    kinds = (
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word
    )
    return "".join(kind for kind, _ in groupby(kinds))
