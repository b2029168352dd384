"""Digit words, with nothing shared between training and test, also in place of the OCR letters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from medn_edu import CRF
from medn_edu.datasets import DataError, handwriting, load_digit_words


@pytest.fixture(scope="module")
def digits():
    return load_digit_words()


def test_without_noise_the_images_are_scikit_learns_own():
    bunch = load_digit_words(n_train=10, n_test=10, noise=0)
    source = load_digits()
    for i in range(20):
        np.testing.assert_array_equal(bunch.data[i], source.data[bunch.image_index[i]] / 16)
        np.testing.assert_array_equal(bunch.target[i], source.target[bunch.image_index[i]])
        assert bunch.words[i] == "".join(map(str, bunch.target[i]))
    assert np.shares_memory(bunch.images[3], bunch.data[3])
    np.testing.assert_array_equal(bunch.images[3], source.images[bunch.image_index[3]] / 16)


def test_a_border_is_blank_paper_under_the_same_noise_and_leaves_the_digit_as_it_is(digits):
    wide = load_digit_words(border=3)
    assert wide.data[0].shape == (len(wide.target[0]), 14 * 14)
    assert len(wide.feature_names) == 14 * 14
    np.testing.assert_array_equal(wide.images[0][:, 3:11, 3:11], digits.images[0])
    pixels = np.concatenate(wide.images)
    border = np.ones((14, 14), dtype=bool)
    border[3:11, 3:11] = False
    np.testing.assert_allclose(np.mean(pixels[:, border] == 0), 0.5, atol=0.01)  # half is cut off
    clean = load_digit_words(border=3, noise=0)
    assert np.all(np.concatenate(clean.images)[:, border] == 0)
    with pytest.raises(ValueError, match="border is -1; expected a whole number of at least 0"):
        load_digit_words(border=-1)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 2**32))
def test_grammar_and_split_hold_for_any_size_and_seed(n_train, n_test, seed):
    bunch = load_digit_words(n_train, n_test, random_state=seed)
    assert (len(bunch.train), len(bunch.test)) == (n_train, n_test)
    assert sorted([*bunch.train, *bunch.test]) == list(range(len(bunch.data)))
    train = {image for i in bunch.train for image in bunch.image_index[i]}
    test = {image for i in bunch.test for image in bunch.image_index[i]}
    assert not train & test
    assert all(4 <= len(word) <= 10 for word in bunch.target)
    steps = np.concatenate([np.diff(word) % 10 for word in bunch.target])
    assert set(steps) <= {1, 2, 3}


def test_grammar_describes_the_words():
    bunch = load_digit_words(3000, 1, noise=0)
    np.testing.assert_allclose(bunch.grammar.sum(axis=1), 1)
    counts = np.zeros((10, 10))
    for word in bunch.target:
        np.add.at(counts, (word[:-1], word[1:]), 1)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), bunch.grammar, atol=0.04)
    assert sorted(bunch.forbidden) == [tuple(pair) for pair in np.argwhere(bunch.grammar == 0)]
    digits = np.concatenate(bunch.target)
    np.testing.assert_allclose(np.bincount(digits) / len(digits), 0.1, atol=0.01)


def test_seeds_and_noise(digits):
    """The seed settles everything; noise changes pixels only; each image is used about once."""
    again, other = load_digit_words(), load_digit_words(random_state=1)
    np.testing.assert_array_equal(np.concatenate(again.data), np.concatenate(digits.data))
    assert other.words.tolist() != digits.words.tolist()
    ours, theirs = (set(np.concatenate(bunch.image_index[:120])) for bunch in (digits, other))
    assert len(ours & theirs) < 0.7 * len(ours)  # other images to train on, too
    clean, noisier = load_digit_words(noise=0), load_digit_words(noise=0.8)
    assert again.words.tolist() == noisier.words.tolist() == clean.words.tolist()
    assert noisier.image_index[0].tolist() == clean.image_index[0].tolist()
    base, less, more = (np.concatenate(b.data) for b in (clean, digits, noisier))
    assert ((more >= 0) & (more <= 1)).all()
    inside = (less > 0) & (less < 1) & (more > 0) & (more < 1)
    np.testing.assert_allclose((more - base)[inside], 2 * (less - base)[inside], atol=1e-12)
    assert np.std((less - base)[(base > 0.4) & (base < 0.6)]) == pytest.approx(0.35, abs=0.05)
    counts = np.bincount(np.concatenate(digits.image_index), minlength=1797)
    assert counts.max() <= 2
    assert (counts == 1).mean() > 0.85


def singles(words):
    return [row[None] for word in words for row in word]


def test_neighbours_tell_what_a_single_digit_does_not(digits):
    """The error of single digits is large, and a learned grammar takes much of it away."""
    X, y = digits.data, digits.target
    errors = []
    for cut in (list, singles):
        model = CRF(lam=1.0).fit(cut(X[:120]), cut(y[:120]))
        errors.append(1 - model.score(cut(X[120:]), cut(y[120:])))
    assert 0.15 < errors[1] < 0.3
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "n_train": [0, 2.5],
        "n_test": [-1, True],
        "noise": [-0.1, float("nan"), "much"],
        "random_state": [-1, "seed", 1.5],
    }.items(),
)
def test_bad_arguments_are_named(name, values):
    for value in values:
        with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; expected [^\n]*\.$"):
            load_digit_words(**{name: value})


def test_digits_that_stand_in_for_letters_say_so(monkeypatch):
    def absent(*args, download):
        assert not download
        raise DataError("nowhere")

    monkeypatch.setattr(handwriting, "load_ocr", absent)
    words, again = handwriting.load_handwriting(), handwriting.load_handwriting()
    assert words.stands_in
    shown = words._repr_mimebundle_()
    for text in shown.values():
        assert "medn-edu data fetch" in text
        assert "stand in" in text
        assert "Digit words: 800 words" in text
    assert 'role="alert"' in shown["text/html"]
    assert not set(words.train) & set(words.test)
    assert (np.diff(words.train) < 0).any()  # in random order
    assert (again.train == words.train).all()
    assert (handwriting.load_handwriting(1).train != words.train).any()
    X, y = words.take(words.train[:3])
    assert [len(x) for x in X] == [len(labels) for labels in y]
    assert X[0].shape[1] == words.shape[0] * words.shape[1]


def test_the_real_letters_are_used_where_they_are(ocr):
    words = handwriting.load_handwriting()
    assert not words.stands_in
    assert set(words._repr_mimebundle_()) == {"text/plain"}
    assert (ocr.fold[words.train] == 0).all()
    assert (np.diff(words.train) < 0).any()  # in random order
    assert (ocr.fold[words.test] != 0).all()
    assert len(words.train) + len(words.test) == 6877
