"""What explorers of trained models show when they are handed none: small models, trained at once.

They read the OCR letters where these are on this machine, and handwritten digits otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from medn_edu.datasets import Handwriting, load_digit_words, load_handwriting
from medn_edu.estimators import CRF, M3N

WORD = 81  # of the test words: wrong without transitions, right with them, wrong with too much


@cache
def digit_word() -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return an M3N of digit words, as in start-here, with one test word, its labels and images."""
    digits = load_digit_words()
    model = M3N(C=0.1, tol=1e-6, verbose=0)
    model.fit([digits.data[i] for i in digits.train], [digits.target[i] for i in digits.train])
    i = digits.test[WORD]
    return model, digits.data[i], digits.target[i], digits.images[i]


@cache
def two_models() -> tuple[dict[str, Any], Handwriting, np.ndarray]:
    """Return an M3N and a CRF of a hundred words, the words, and numbers of eight to be read."""
    words = load_handwriting()
    X, y = words.take(words.train[:100])
    models = {"M3N": M3N(C=0.1, verbose=0).fit(X, y), "L2-CRF": CRF(lam=1.0, verbose=0).fit(X, y)}
    return models, words, words.test[:: len(words.test) // 8][:8]


@cache
def growing_models() -> tuple[dict[int, Any], tuple[int, int]]:
    """Return M3Ns of more and more words, and the shape of a letter's image."""
    words = load_handwriting()
    sizes = (5, 10, 25, 50, 100, 200, 400)
    fits = {n: M3N(C=0.1, verbose=0).fit(*words.take(words.train[:n])) for n in sizes}
    return fits, words.shape
