"""Handwriting for the notebooks: the OCR letters, or digit words where they are missing.

A notebook must work without a network, and must never pretend.  So data that stand in for the letters
say so, in a banner above everything computed from them.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from medn_edu.datasets.digits import load_digit_words
from medn_edu.datasets.ocr import load_ocr
from medn_edu.datasets.remote import DataError

_BANNER = (
    "The OCR letters are not on this machine, so handwritten digits stand in for them: every "
    "number and picture computed below is about digits, not about the data set of the papers "
    "(tables of whole studies, where they are shown, are stored ones, of the letters). "
    "`medn-edu data fetch` gets the letters (1 MB); then run the notebook again."
)


@dataclass(frozen=True)
class Handwriting:
    """Handwritten words, split into a training set and a test set.

    A notebook shows this object as one sentence, or as a banner if it stands in for the OCR letters.

    Parameters
    ----------
    name : str
        Name of the data set.
    X, y, images : list of ndarray
        Features, labels and images of each word.
    words : ndarray of str
        The words as text.
    train, test : ndarray of int
        Numbers of the words to train on, in random order, and of those to test on.
    shape : (height, width)
        Shape of an image.
    stands_in : bool
        Whether these words stand in for the OCR letters.
    """

    name: str
    X: list[np.ndarray] = field(repr=False)
    y: list[np.ndarray] = field(repr=False)
    images: list[np.ndarray] = field(repr=False)
    words: np.ndarray = field(repr=False)
    train: np.ndarray = field(repr=False)
    test: np.ndarray = field(repr=False)
    shape: tuple[int, int]
    stands_in: bool

    def take(self, index: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return features and labels of some words.

        Parameters
        ----------
        index : ndarray of int
            Numbers of the words.

        Returns
        -------
        X, y : list of ndarray
            Their features and labels.
        """
        return [self.X[i] for i in index], [self.y[i] for i in index]

    def __repr__(self) -> str:
        n_letters = sum(map(len, self.y))
        return (
            f"{self.name}: {len(self.y)} words of {n_letters} letters, "
            f"{len(self.train)} words to train on and {len(self.test)} to test on."
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        if not self.stands_in:
            return {"text/plain": repr(self)}
        box = "padding: 0.6em 1em; border: 3px solid #D55E00; color: #22303C; background: #FFF3EA"
        text = _BANNER.replace("`medn-edu data fetch`", "<code>medn-edu data fetch</code>")
        html = f'<div role="alert" style="{box}"><b>Stand-in data.</b> {text}<br>{self!r}</div>'
        return {"text/html": html, "text/plain": f"STAND-IN DATA. {_BANNER}\n{self!r}"}


def load_handwriting(random_state: int = 0) -> Handwriting:
    """Return the OCR letters if they are on this machine, and digit words otherwise.

    The letters of fold 0 are the training set and the other nine folds the test set, as in the
    papers.  Nothing is downloaded.

    Parameters
    ----------
    random_state : int
        Seed of the order of the training words.

    Returns
    -------
    Handwriting
        The words.

    Examples
    --------
    >>> load_handwriting().train.size >= 400
    True
    """
    rng = np.random.default_rng(random_state)
    try:
        ocr = load_ocr(download=False)
    except DataError:
        digits = load_digit_words(n_train=400, n_test=400)
        return Handwriting(
            "Digit words", digits.data, digits.target, digits.images, digits.words,
            rng.permutation(digits.train), digits.test, (8, 8), True,
        )  # fmt: skip
    train, test = np.flatnonzero(ocr.fold == 0), np.flatnonzero(ocr.fold != 0)
    return Handwriting(
        "OCR letters", ocr.data, ocr.target, ocr.images, ocr.words,
        rng.permutation(train), test, (16, 8), False,
    )  # fmt: skip
