"""Digit words: real handwritten digits in an order that a grammar allows.

The images are those of `sklearn.datasets.load_digits`, which come with scikit-learn, so this data
set needs no file and no network.  Their order is ours: think of a combination lock whose dial only
turns forward, by one, two or three clicks (past 9 comes 0 again).  A word is a few digits read off
such a dial, and its grammar is a Markov chain::

    p(next = digit + 1) = 0.5,  p(next = digit + 2) = 0.3,  p(next = digit + 3) = 0.2  (modulo 10)

Seven of ten transitions are impossible, yet no digit is rarer than another, so the grammar
helps only a model that looks at neighbours.  The grammar is not symmetric: a model that confuses
parent and child learns a dial that turns backward, which shows.

On clean images, a model reads single digits almost without error, so there is nothing to gain.
Pixel noise makes single digits doubtful, but leaves the grammar as it is.
"""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from medn_edu.checks import check_count, check_nonnegative, random_generator

_STEPS = (1, 2, 3)
_STEP_PROBABILITIES = (0.5, 0.3, 0.2)
_SHORTEST, _LONGEST = 4, 10

_DESCR = """\
Digit words: handwritten digits in the order of a known grammar
---------------------------------------------------------------
Sequences of 4 to 10 digits (all lengths equally likely).  Each digit is a real handwritten one of 8 x
8 pixels from sklearn.datasets.load_digits (1,797 images by 13 writers: the test part of E. Alpaydin
and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, CC BY 4.0).

The order of the digits is made up.  It works like a dial that turns forward by one, two or three
clicks, with probabilities 0.5, 0.3 and 0.2.  The other seven transitions never occur (forbidden).  All
digits are equally frequent.  Pixels are scaled to [0, 1]; Gaussian noise is added and the result cut
off at 0 and 1.  A border, if you ask for one, is blank paper around each image, under the same noise.
Its pixels say nothing about the digit.

The images are split between training and test part before words are made, so no image is in both.
Within a part an image is shown again only when all images of its digit have been used.  The writers
aren't known, so the same hand may have written training and test digits.

With the default settings (120 + 120 words, noise 0.4), logistic regression on single digits gets about
one test digit in five wrong.  A chain that also learns the grammar gets about one in ten wrong.
Without noise the two get 4 % and 1 % wrong.

Contents: data (list of (n, 64) float64, more with a border), target (list of int arrays), images (the
same memory as data, (n, 8, 8)), words (str), image_index (list of int arrays: which image of
load_digits), train, test (numbers of the words), grammar ((10, 10) transition probabilities, [digit,
next digit]), forbidden (pairs that never occur), target_names, feature_names.
"""


def load_digit_words(
    n_train: int = 120,
    n_test: int = 120,
    *,
    noise: float = 0.4,
    border: int = 0,
    random_state: Any = 0,
) -> Bunch:
    """Make words of scikit-learn's handwritten digits, under a known grammar; no network needed.

    Parameters
    ----------
    n_train, n_test : int, default=120
        Number of words in the training and the test part.  The images are split in the same
        proportion; with 240 words in all, each image is used about once.
    noise : float, default=0.4
        Standard deviation of the noise added to pixels in [0, 1].  The same ``random_state`` gives
        the same words and the same noise pattern at every strength.
    border : int, default=0
        Width of the blank border around each image, in pixels.  The border gets the same noise but says
        nothing about the digit, so its features are useless.  The digit looks the same at every width.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the split, the words and the noise.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of float64 arrays of shape (n_digits, (8 + 2 border)²)
            Pixels of each word's digits, in [0, 1].
        target : list of int64 arrays of shape (n_digits,)
            The digits.
        images : list of arrays of shape (n_digits, 8 + 2 border, 8 + 2 border)
            The pixels as images, in the same memory as ``data``.
        words : ndarray of str, shape (n_words,)
            The digits as text.
        image_index : list of int64 arrays of shape (n_digits,)
            Which image of `sklearn.datasets.load_digits` each is.
        train, test : ndarray of int64
            Numbers of the training and the test words.
        grammar : ndarray of shape (10, 10)
            Transition probabilities, ``[digit, next digit]``.
        forbidden : list of (int, int)
            Transitions that never occur, in the form that the models' parameter ``forbidden`` takes.
        target_names, feature_names, DESCR
            Names, and the story of the data.

    Raises
    ------
    TypeError, ValueError
        If a number of words is not a whole number of at least 1, the noise is negative, or the
        border is not a whole number of at least 0.

    Examples
    --------
    >>> digits = load_digit_words(n_train=3, n_test=2)
    >>> len(digits.data), digits.train, digits.test
    (5, array([0, 1, 2]), array([3, 4]))
    >>> digits.grammar[7]
    array([0.2, 0. , 0. , 0. , 0. , 0. , 0. , 0. , 0.5, 0.3])
    """
    n_train = check_count("n_train", n_train)
    n_test = check_count("n_test", n_test)
    noise = check_nonnegative("noise", noise)
    border = check_count("border", border, least=0)
    rng = random_generator(random_state)
    source = load_digits()
    pools = _split_images(source.target, n_train / (n_train + n_test), rng)
    grammar = _grammar()
    words, index = [], []
    for n_words, piles in zip((n_train, n_test), pools, strict=True):
        part = [_draw_word(grammar, rng) for _ in range(n_words)]
        words += part
        index += _deal_images(part, piles)
    offsets = np.cumsum([len(word) for word in words])
    clean = source.images[np.concatenate(index)] / 16.0
    inside = noise * rng.standard_normal(clean.shape)  # drawn first, whatever the border
    wide = np.pad(clean, ((0, 0), (border, border), (border, border)))
    blurred = wide + noise * rng.standard_normal(wide.shape)
    blurred[:, border : border + 8, border : border + 8] = clean + inside
    pixels = np.clip(blurred, 0.0, 1.0)
    data = np.split(pixels.reshape(len(pixels), -1), offsets[:-1])
    return Bunch(
        data=data,
        target=words,
        images=[word.reshape(-1, *wide.shape[1:]) for word in data],
        words=np.array(["".join(map(str, word)) for word in words]),
        image_index=index,
        train=np.arange(n_train),
        test=np.arange(n_train, n_train + n_test),
        grammar=grammar,
        forbidden=[(int(a), int(b)) for a, b in np.argwhere(grammar == 0)],
        target_names=np.arange(10),
        feature_names=[f"pixel_{row}_{column}" for row, column in np.ndindex(wide.shape[1:])],
        DESCR=_DESCR,
    )


def _grammar() -> np.ndarray:
    grammar = np.zeros((10, 10))
    digits = np.arange(10)
    for step, probability in zip(_STEPS, _STEP_PROBABILITIES, strict=True):
        grammar[digits, (digits + step) % 10] = probability
    return grammar


def _draw_word(grammar: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    word = np.empty(rng.integers(_SHORTEST, _LONGEST + 1), dtype=np.int64)
    word[0] = rng.integers(10)
    for t in range(1, len(word)):
        word[t] = rng.choice(10, p=grammar[word[t - 1]])
    return word


def _split_images(
    labels: np.ndarray, train_share: float, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Split the images of every digit, shuffled, in two piles with at least one image each."""
    train, test = [], []
    for digit in range(10):
        images = rng.permutation(np.flatnonzero(labels == digit))
        cut = min(max(round(train_share * len(images)), 1), len(images) - 1)
        train.append(images[:cut])
        test.append(images[cut:])
    return train, test


def _deal_images(words: list[np.ndarray], piles: list[np.ndarray]) -> list[np.ndarray]:
    """Give every digit of the words the next image from its pile; a finished pile starts again."""
    n_dealt = np.zeros(10, dtype=np.int64)
    dealt = []
    for word in words:
        images = np.empty(len(word), dtype=np.int64)
        for t, digit in enumerate(word):
            images[t] = piles[digit][n_dealt[digit] % len(piles[digit])]
            n_dealt[digit] += 1
        dealt.append(images)
    return dealt
