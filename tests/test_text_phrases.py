"""Parse trees and the features of their phrases."""

import re
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from medn_edu import M3N, SequenceVectorizer
from medn_edu.datasets import make_opinions
from medn_edu.text import PhraseFeatures, read_parse

WORDS = st.sampled_from(["not", "Good", "bad", "n't", "film", "1\u00a01/2", "but", "."])
LEAVES = st.tuples(st.sampled_from("01234"), WORDS)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.tuples(st.sampled_from("01234"), st.lists(parts, min_size=2, max_size=3)),
)


def written(tree):
    label, parts = tree
    inside = parts if isinstance(parts, str) else " ".join(map(written, parts))
    return f"({label} {inside})"


def phrases_of(tree):
    """Return label and words of each phrase, the oracle of what is read."""
    label, parts = tree
    if isinstance(parts, str):
        return [(label, [parts])]
    below = [phrases_of(part) for part in parts]
    words = chain.from_iterable(found[0][1] for found in below)
    return [(label, list(words)), *chain.from_iterable(below)]


@given(TREES)
def test_trees_are_read_as_they_are_written(tree):
    parse, labels = read_parse(written(tree))
    found = [
        (label, list(parse.words[a:b])) for label, (a, b) in zip(labels, parse.spans, strict=True)
    ]
    assert found == phrases_of(tree)
    parts = parse.children()
    for node, below in enumerate(parts):
        assert all(parse.parents[k] == node for k in below)
        if parse.is_word(node):
            assert below == []
        else:
            ends = [parse.spans[node][0], *(parse.spans[k][1] for k in below)]
            assert [parse.spans[k] for k in below] == list(pairwise(ends))
            assert ends[-1] == parse.spans[node][1]


@pytest.mark.parametrize(
    ("text", "at"),
    [("", 0), ("good", 0), ("()", 1), ("(3)", 2), ("(3 good", 7), ("3 good)", 0), (")", 0), ("(", 1),
     ("(3 good) (2 film)", 9), ("(3 good film)", 8), ("((3 good))", 1), ("(3 (2 good))", 11),
     ("(3 good (2 film))", 8), ("(3 (2 a) film)", 9), ("(3 ())", 4)],
)  # fmt: skip
def test_what_is_no_tree_is_named_with_its_place(text, at):
    what = f"goes on with {text[at:]!r}" if text[at:] else "ends"
    start = f"text is not a tree, because it {what} after {at} characters; expected brackets such as (3 "
    with pytest.raises(ValueError, match=f"^{re.escape(start)}"):
        read_parse(text)


@pytest.mark.parametrize("text", [None, b"(1 a)", ["(1 a)"]])
def test_a_tree_is_read_from_text_alone(text):
    with pytest.raises(TypeError, match=f"^text is {re.escape(repr(text))}; expected a string"):
        read_parse(text)


def test_labels_of_several_types_are_sorted_as_models_sort_them():
    X, y = [read_parse("(a (b not) (c good))")[0]], [[1, "2", 3]]
    assert PhraseFeatures().fit(X, y).classes_ == [1, 3, "2"]
    pipeline = make_pipeline(PhraseFeatures(), SequenceVectorizer(), M3N(verbose=0)).fit(X, y)
    assert pipeline[-1].classes_.tolist() == [1, 3, "2"]


def test_training_is_described_by_the_other_trees_only():
    opinions = make_opinions(12)
    X, y = opinions.data, opinions.target
    found = PhraseFeatures().fit_transform(X, y)
    for i, tree in enumerate(found):
        rest = [k for k in range(len(X)) if k != i]
        others = PhraseFeatures().fit([X[k] for k in rest], [y[k] for k in rest])
        assert others.classes_ == list("01234"), "sums count from the same middle"
        assert others.transform([X[i]])[0].features == tree.features
    by_all = PhraseFeatures().fit(X, y).transform(X)
    assert all(f"known={y[0][t]}" in token for t, token in enumerate(by_all[0].features))
    assert by_all[0].features != found[0].features


def test_features_of_a_phrase():
    X, y = zip(
        *map(read_parse, ["(1 (2 Not) (3 good))", "(3 good)", "(3 (4 great) (2 film))", "(0 bad)"]),
        strict=True,
    )
    told = PhraseFeatures().fit(X, y)
    (tree,) = told.transform([read_parse("(? (? (? not) (? GOOD)) (? (? , ) (? great)))")[0]])
    whole, part, word = tree.features[:3]
    assert set(whole) == {
        "words=not", "words=good", "words=,", "words=great", "words=not good", "words=good ,",
        "words=, great", "words=not good ,", "words=good , great", "first=not", "last=great",
        "length=4-5", "whole", "label 2=1", "label 3=1", "label None=1", "label 4=1", "sum=3",
        "parts=1 not, 2", "known=None",
    }  # fmt: skip
    assert {"known=1", "not beside=1", "good beside=0", "parts=0 not, 1"} <= set(part)
    assert {"known=2", "end=not", "length=1"} <= set(word)
    for token in tree.features:
        np.testing.assert_allclose(np.linalg.norm(list(token.values())), 1)
    # place, whether the sibling is a word, what it holds
    assert tree.edge_types == [0, 0, 4, 8 + 4 + 1, 8 + 1, 4, 8 + 4]


def test_a_model_finds_the_rules_of_opinions():
    opinions = make_opinions(500)
    model = make_pipeline(PhraseFeatures(), SequenceVectorizer(), M3N(verbose=0))
    model.fit(opinions.data[:400], opinions.target[:400])
    with pytest.warns(UserWarning, match="fit did not see the features"):
        predicted = model.predict(opinions.data[400:])
    pairs = list(zip(predicted, opinions.target[400:], strict=True))
    assert np.mean(np.concatenate([found == np.array(labels) for found, labels in pairs])) > 0.97
    assert np.mean([found[0] == labels[0] for found, labels in pairs]) > 0.8


def test_opinions_follow_their_rules_and_their_seed():
    opinions = make_opinions(300, random_state=3)
    assert make_opinions(5, random_state=3).data == opinions.data[:5]
    said = {}
    for parse, labels in zip(opinions.data, opinions.target, strict=True):
        for node, label in enumerate(labels):
            assert said.setdefault(parse.phrase(node), label) == label, "a phrase has one label"
    assert {
        "very good": "4",
        "not good": "1",
        "not awful": "3",
        "very dull": "0",
    }.items() <= said.items()
    assert not any(phrase.startswith(("a a", "an b")) for phrase in said)


def test_bad_input_is_named():
    X, y = make_opinions(2).data, make_opinions(2).target
    for call, sentence in (
        (
            lambda: PhraseFeatures().fit(X, y[:1]),
            "X has 2 samples but y has 1 label sequences; expected one label sequence per sample.",
        ),
        (
            lambda: PhraseFeatures().fit_transform(X, [y[0], y[0]]),
            r"sample 1 has \d+ nodes but y\[1\] has \d+ labels; expected one label per node",
        ),
        (lambda: PhraseFeatures().fit(X[:1], [5]), r"y\[0\] is a int; expected a sequence"),
        (
            lambda: PhraseFeatures().fit(X[:1], [[[]] * len(y[0])]),
            r"sample 0 has the label \[\], which is not hashable",
        ),
        (lambda: PhraseFeatures().fit([], []), "X holds no trees; expected at least one."),
        (lambda: PhraseFeatures().fit_transform([], []), "X holds no trees; expected"),
        (
            lambda: PhraseFeatures().fit([*X, "film"], y),
            "sample 2 of X is 'film'; expected a Parse",
        ),
        (lambda: make_opinions(0), "n_samples is 0; expected"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{sentence}"):
            call()
