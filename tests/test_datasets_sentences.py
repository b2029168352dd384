"""Tagged sentences: their size, their tags, and that neighbours are needed to tell them."""

import re
from collections import Counter, defaultdict

import numpy as np

from medn_edu import load_sentences

SENTENCES = load_sentences()
TOKENS = [
    pair
    for words, tags in zip(SENTENCES.data, SENTENCES.target, strict=True)
    for pair in zip(words, tags, strict=True)
]


def test_sizes_and_groups():
    assert len(SENTENCES.data) == len({" ".join(words) for words in SENTENCES.data}) == 300
    assert {len(words) for words in SENTENCES.data} == set(range(6, 13))
    assert set(Counter(SENTENCES.group).values()) == {20}
    assert (SENTENCES.group[1:] != SENTENCES.group[:-1]).sum() == 14  # one topic after the other
    assert f"{len(TOKENS):,} tokens" in SENTENCES.DESCR


def test_every_sentence_looks_like_one():
    for words in SENTENCES.data:
        assert words[0][0].isupper()
        assert words[-1] in (".", "?", "!")
        assert all(re.fullmatch(r"'?[A-Za-z]+|[.,?!]", word) for word in words), words


def test_tags_are_known_and_each_is_explained():
    assert set(SENTENCES.target_names) == {tag for _, tag in TOKENS}
    for tag in SENTENCES.target_names:
        assert re.search(rf"\b{tag}  +\w", SENTENCES.DESCR), tag
    for word, tag in TOKENS:
        assert (tag == "PUNCT") == (not word[-1].isalpha())
        assert word[0].isupper() or tag != "PROPN"


def test_many_words_have_more_than_one_tag_and_many_occur_once():
    tags = defaultdict(Counter)
    for word, tag in TOKENS:
        tags[word.lower()][tag] += 1
    ambiguous = {word for word, counts in tags.items() if len(counts) > 1}
    assert {
        "book",
        "can",
        "fish",
        "light",
        "run",
        "to",
        "that",
        "like",
        "back",
        "still",
    } <= ambiguous
    assert f"{len(ambiguous)} of {len(tags)} words" in SENTENCES.DESCR
    assert np.mean([counts.total() == 1 for counts in tags.values()]) > 0.5
