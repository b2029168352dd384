"""Made-up sentences: as large as text, the same everywhere, and worth learning from."""

import hashlib
from collections import Counter
from itertools import chain, pairwise

import numpy as np
import pytest

from medn_edu.datasets import make_text, token_features


@pytest.fixture(scope="module")
def text():
    return make_text()


def test_sizes_are_those_of_english_text(text):
    rows = chain.from_iterable(map(token_features, text.data))
    features = {pair for row in rows for pair in row.items()}
    assert len(features) == pytest.approx(28_128, rel=0.05)
    lengths = [len(sentence) for sentence in text.data]
    assert (min(lengths), max(lengths)) == (2, 50)
    assert np.mean(lengths) == pytest.approx(18, rel=0.05)
    assert [len(labels) for labels in text.target] == lengths
    assert set(chain(*text.target)) == set(text.target_names)
    assert len(text.target_names) == 17


@pytest.mark.slow
def test_more_sentences_bring_more_features_as_in_english_text():
    rows = chain.from_iterable(map(token_features, make_text(12_544).data))
    assert len({pair for row in rows for pair in row.items()}) == pytest.approx(91_128, rel=0.1)


def test_a_seed_gives_the_same_sentences_everywhere(text):
    """Optima of the benchmark are those of these sentences, so they may not change unnoticed."""
    digest = hashlib.sha256(repr((text.data, text.target)).encode()).hexdigest()
    assert digest.startswith("7173895ab7d8")
    few = make_text(30)
    assert (few.data, few.target) == (text.data[:30], text.target[:30])
    assert make_text(30, random_state=1).data != few.data


def test_suffixes_and_neighbours_tell_labels(text):
    """One suffix mostly has one label, frequent words may have two, and labels form a chain."""
    words = [word.lower() for word in chain(*text.data)]
    labels = list(chain(*text.target))
    by_ending, by_word = {}, {}
    for word, label in zip(words, labels, strict=True):
        if len(word) > 5:
            by_ending.setdefault(word[-3:], Counter())[label] += 1
        by_word.setdefault(word, Counter())[label] += 1
    told = sum(max(counts.values()) for counts in by_ending.values())
    n_long = sum(counts.total() for counts in by_ending.values())
    assert 0.6 < told / n_long < 0.95
    n_of = Counter(words)
    frequent = [word for word, _ in n_of.most_common(100)]
    assert 10 < sum(len(by_word[word]) > 1 for word in frequent) < 40
    share = sum(n_of[word] for word in frequent) / len(words)
    assert 0.4 < share < 0.6
    pairs = Counter(pair for sentence in text.target for pair in pairwise(sentence))
    firsts = Counter(first for sentence in text.target for first in sentence[:-1])
    best = {first: max(n for (a, _), n in pairs.items() if a == first) for first in firsts}
    assert sum(best.values()) / firsts.total() > 0.2, "a guess would be right for 1 in 17"
    capitals = {
        label
        for words, labels in zip(text.data, text.target, strict=True)
        for word, label in zip(words[1:], labels[1:], strict=True)
        if word.istitle() and len(word) > 5
    }
    assert capitals == {"tag01"}


def test_other_numbers_of_labels_and_words():
    few = make_text(200, 2, vocabulary=100)
    assert set(chain(*few.target)) == {"tag01", "tag02"}
    assert len({word.lower() for word in chain(*few.data)}) <= 100
    many = make_text(500, 150, vocabulary=150)
    assert len(set(chain(*many.target))) == 150, "each label has a word"
    for arguments, name in (
        ({"n_sentences": 0}, "n_sentences"),
        ({"n_labels": 1}, "n_labels"),
        ({"vocabulary": 99}, "vocabulary"),
        ({"n_labels": 101, "vocabulary": 100}, "vocabulary"),
        ({"random_state": "x"}, "random_state"),
    ):
        with pytest.raises(ValueError, match=rf"^{name} is .*; expected"):
            make_text(**arguments)


def test_features_of_words():
    first, second = token_features(["U2", "R\u00e9sum\u00e9s!"])
    affixes = {"prefix1": "u", "prefix2": "u2", "suffix1": "2", "suffix2": "u2"}
    sides = {"previous": "", "next": "r\u00e9sum\u00e9s!"}
    assert first == {"word": "u2", "shape": "Xd", **sides, **affixes}
    assert (second["shape"], second["prefix4"], second["suffix3"]) == (
        "Xx!",
        "r\u00e9su",
        "\u00e9s!",
    )
    assert (second["previous"], second["next"]) == ("u2", "")
    assert token_features([]) == []
    for words, sentence in (
        (["a", 1], "word 1 of words is 1; expected a string."),
        ("a word", "words is a str; expected a sequence of strings, the words of one sentence."),
    ):
        with pytest.raises(TypeError) as caught:
            token_features(words)
        assert str(caught.value) == sentence
