"""Short opinions about films, made by rules: parse trees with a sentiment on each phrase.

They need no file, so they can stand in for `load_sst`.  The rules are known, so you can ask whether a
model has found them, for example how a word such as "not" changes what its sibling says.
"""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from medn_edu.checks import check_count, random_generator
from medn_edu.text import read_parse

_ADJECTIVES = {
    2: ("brilliant", "wonderful", "superb"),
    1: ("good", "funny", "charming", "clever"),
    0: ("long", "French", "quiet"),
    -1: ("bad", "dull", "slow", "silly"),
    -2: ("awful", "terrible", "unbearable"),
}
_NOUNS = {0: ("film", "plot", "story", "cast", "music"), 1: ("joy",), -1: ("bore",), -2: ("mess",)}
_SUBJECTS = ("the film", "the plot", "the cast", "the ending", "this", "it")

_DESCR = """\
Opinions
--------
{n_samples} short opinions about films, made by rules: binary trees with a label on each phrase, from 0
(very negative) over 2 (neutral) to 4 (very positive).  Some adjectives and nouns have a sentiment of
their own.  All other words are neutral.  A phrase takes over the sentiment of its parts, with three
exceptions:

* "very" moves its sibling one step further from neutral;
* "not" reverses and weakens it: "not brilliant" and "not good" are 1, "not awful" is 3;
* "but" lets what follows it win: "the plot is dull but it is funny" is 3.

All sentences are made up, and they share their words.  They show how a tree is labelled, not how well
models do on reviews.

Contents: data (list of Parse), target (lists of labels, "0" to "4", one per phrase), target_names.
"""


def make_opinions(n_samples: int = 200, *, random_state: Any = 0) -> Bunch:
    """Make short opinions about films: parse trees whose phrases have a sentiment, by known rules.

    Parameters
    ----------
    n_samples : int, default=200
        Number of trees.
    random_state : int, numpy.random.Generator or None, default=0
        Seed.  One seed gives the same trees on every machine, and a smaller number of them is the
        beginning of a larger one.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of Parse
            The trees; `medn_edu.text.PhraseFeatures` describes their phrases.
        target : list of lists of str
            The label of each phrase, ``"0"`` (very negative) to ``"4"`` (very positive).
        target_names : ndarray of str, shape (5,)
            The labels.
        DESCR : str
            The rules.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range; the message names it and what was expected.

    Examples
    --------
    >>> opinions = make_opinions(3)
    >>> for parse, labels in zip(opinions.data, opinions.target):
    ...     print(labels[0], *parse.words)
    2 it is not very French .
    0 the film was a bore but the ending was unbearable .
    3 the ending is funny .
    """
    n_samples = check_count("n_samples", n_samples)
    rng = random_generator(random_state)
    trees = [read_parse(_text(_sentence(rng))) for _ in range(n_samples)]
    parses, labels = zip(*trees, strict=True)
    return Bunch(
        data=list(parses),
        target=list(labels),
        target_names=np.array(list("01234")),
        DESCR=_DESCR.format(n_samples=n_samples),
    )


_Tree = tuple[int, Any]  # the sentiment of a phrase, from -2 to 2, and its word or its two parts


def _text(tree: _Tree) -> str:
    value, parts = tree
    inside = parts if isinstance(parts, str) else " ".join(map(_text, parts))
    return f"({value + 2} {inside})"


def _both(one: _Tree, other: _Tree) -> _Tree:
    """Join two phrases, of which mostly only one has a sentiment."""
    return max(-2, min(2, one[0] + other[0])), (one, other)


def _sentence(rng: np.random.Generator) -> _Tree:
    clause = _clause(rng)
    joint = ("", "", "and", "but", "but")[rng.integers(5)]
    if joint:
        rest = _both((0, joint), _clause(rng))
        clause = _both(clause, rest) if joint == "and" else (rest[0] or clause[0], (clause, rest))
    return _both(clause, (0, "."))


def _clause(rng: np.random.Generator) -> _Tree:
    words = _SUBJECTS[rng.integers(len(_SUBJECTS))].split()
    subject: _Tree = (0, words[0]) if len(words) == 1 else (0, tuple((0, word) for word in words))
    said = _adjective(rng) if rng.integers(3) else _thing(rng)
    return _both(subject, _both((0, ("is", "was")[rng.integers(2)]), said))


def _thing(rng: np.random.Generator) -> _Tree:
    noun = _drawn(_NOUNS, rng)
    thing = _both(_adjective(rng), noun) if noun[0] == 0 else noun
    return _both((0, "an" if _first_word(thing)[0] in "aeiou" else "a"), thing)


def _first_word(tree: _Tree) -> str:
    return tree[1] if isinstance(tree[1], str) else _first_word(tree[1][0])


def _adjective(rng: np.random.Generator) -> _Tree:
    said = _drawn(_ADJECTIVES, rng)
    if rng.integers(3) == 0:
        said = (max(-2, min(2, said[0] + _sign(said[0]))), ((0, "very"), said))
    if rng.integers(3) == 0:
        said = (-_sign(said[0]), ((0, "not"), said))
    return said


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _drawn(words: dict[int, tuple[str, ...]], rng: np.random.Generator) -> _Tree:
    pairs = [(value, word) for value, group in words.items() for word in group]
    return pairs[rng.integers(len(pairs))]
