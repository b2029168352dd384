"""Digit words: real images, a known grammar, nothing shared between training and test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from medn_edu.datasets import load_digit_words


@pytest.fixture(scope="module")
def digits():
    return load_digit_words()


def part(bunch, name, numbers):
    return np.concatenate([bunch[name][i] for i in numbers])


def test_without_noise_the_images_are_scikit_learns_own():
    bunch = load_digit_words(n_train=10, n_test=10, noise=0)
    source = load_digits()
    for i in range(20):
        np.testing.assert_array_equal(bunch.data[i], source.data[bunch.image_index[i]] / 16)
        np.testing.assert_array_equal(bunch.target[i], source.target[bunch.image_index[i]])
        assert bunch.words[i] == "".join(map(str, bunch.target[i]))
    assert np.shares_memory(bunch.images[3], bunch.data[3])
    assert bunch.images[3].shape == (len(bunch.words[3]), 8, 8)


def test_each_image_is_used_about_once(digits):
    used = np.concatenate(digits.image_index)
    counts = np.bincount(used, minlength=1797)
    assert counts.max() <= 2
    assert (counts == 1).mean() > 0.85


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 2**32))
def test_grammar_and_split_hold_for_any_size_and_seed(n_train, n_test, seed):
    bunch = load_digit_words(n_train, n_test, random_state=seed)
    assert (len(bunch.train), len(bunch.test)) == (n_train, n_test)
    assert sorted([*bunch.train, *bunch.test]) == list(range(len(bunch.data)))
    shared = set(part(bunch, "image_index", bunch.train)) & set(
        part(bunch, "image_index", bunch.test)
    )
    assert not shared
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
    frequencies = np.bincount(np.concatenate(bunch.target)) / len(np.concatenate(bunch.target))
    np.testing.assert_allclose(frequencies, 0.1, atol=0.01)


def test_the_seed_settles_everything(digits):
    again, other = load_digit_words(), load_digit_words(random_state=1)
    np.testing.assert_array_equal(np.concatenate(again.data), np.concatenate(digits.data))
    assert again.words.tolist() == digits.words.tolist()
    assert other.words.tolist() != digits.words.tolist()


def test_the_noise_changes_pixels_only(digits):
    clean = load_digit_words(noise=0)
    noisier = load_digit_words(noise=0.8)
    assert noisier.words.tolist() == clean.words.tolist()
    assert noisier.image_index[0].tolist() == clean.image_index[0].tolist()
    base, less, more = (np.concatenate(b.data) for b in (clean, digits, noisier))
    assert ((more >= 0) & (more <= 1)).all()
    inside = (less > 0) & (less < 1) & (more > 0) & (more < 1)
    np.testing.assert_allclose((more - base)[inside], 2 * (less - base)[inside], atol=1e-12)
    assert np.std((less - base)[(base > 0.4) & (base < 0.6)]) == pytest.approx(0.35, abs=0.05)


def test_neighbours_tell_what_a_single_digit_does_not(digits):
    """The error of single digits is large, and the true grammar alone takes much of it away."""
    X, y = part(digits, "data", digits.train), part(digits, "target", digits.train)
    model = LogisticRegression(C=0.1, max_iter=1000).fit(X, y)
    single, joint, n_digits = 0, 0, 0
    with np.errstate(divide="ignore"):
        log_grammar = np.log(digits.grammar)
    for i in digits.test:
        scores = model.predict_log_proba(digits.data[i])
        single += (scores.argmax(axis=1) != digits.target[i]).sum()
        joint += (best_path(scores, log_grammar) != digits.target[i]).sum()
        n_digits += len(scores)
    assert 0.15 < single / n_digits < 0.3
    assert joint < 0.6 * single


def best_path(node, edge):
    """Return the best labelling of one chain by dynamic programming, written out."""
    best, back = node[0], []
    for scores in node[1:]:
        through = best[:, None] + edge
        back.append(through.argmax(axis=0))
        best = through.max(axis=0) + scores
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return np.array(path[::-1])


def test_a_learned_grammar_beats_single_digits(digits):
    from medn_edu import CRF

    X = [digits.data[i] for i in digits.train]
    y = [digits.target[i] for i in digits.train]
    structured = CRF(lam=1.0).fit(X, y)
    flat = CRF(lam=1.0).fit([x[None] for word in X for x in word], [[d] for w in y for d in w])
    X_test = [digits.data[i] for i in digits.test]
    y_test = [digits.target[i] for i in digits.test]
    error = 1 - structured.score(X_test, y_test)
    flat_error = 1 - flat.score(
        [x[None] for w in X_test for x in w], [[d] for w in y_test for d in w]
    )
    assert error < 0.7 * flat_error


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n_train": 0}, "n_train"),
        ({"n_train": 2.5}, "n_train"),
        ({"n_test": -1}, "n_test"),
        ({"n_test": True}, "n_test"),
        ({"noise": -0.1}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"noise": "much"}, "noise"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "seed"}, "random_state"),
        ({"random_state": 1.5}, "random_state"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; expected [^\n]*\.$"):
        load_digit_words(**arguments)
