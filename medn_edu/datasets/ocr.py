"""The OCR letters: handwritten words, the benchmark of structured learning since Taskar et al.

The file ``letter.data`` holds one letter per line: fields that end with a tab, namely a running
number, the letter, the number of the next letter of the word (-1 at its end), the word's number,
the position in the word, the fold, and 16 x 8 pixels, row by row, each 0 or 1.  Lines end with a
newline.  `medn_edu.datasets.remote` says where the file comes from.
"""

import os

import numpy as np
from sklearn.utils import Bunch

from medn_edu.datasets import remote

_IMAGE_SHAPE = (16, 8)
_N_PIXELS = 128
_N_FIELDS = 6  # before the pixels
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

_DESCR = """\
Handwritten words: the OCR letters
----------------------------------
52,152 letters in 6,877 words, 26 labels (a to z), 128 binary pixels per letter (16 rows x 8 columns),
and 10 folds of 626 to 739 words.  Rob Kassel collected them at the MIT Spoken Language Systems Group.
Ben Taskar, Carlos Guestrin and Daphne Koller cleaned them and cut them into letters and folds
(Max-Margin Markov Networks, NIPS 2003); home: http://ai.stanford.edu/~btaskar/ocr/.  The first letters
of the words were capitals and are missing ("ommanding").  The authors state no licence, so the file is
downloaded, not shipped.

What to know before you believe a number:

* There are only 55 different words, and each of them occurs in every fold.  A chain can memorise which
  letters follow each other in these 55 words, so its errors say little about words that it has never
  seen.
* Words have 3 to 14 letters; no word has length 4.
* Two protocols are in use.  The papers behind this package train on one fold and test on the other
  nine, so their training sets are small.  Others do it the other way round.
* The file doesn't name the writers, so you can't split by writer.

Contents: data (list of (n, 128) float64, 0 or 1), target (list of letters), fold (n_samples,),
images (the same memory as data, (n, 16, 8)), words, target_names, feature_names.
"""


def load_ocr(data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Bunch:
    """Load the OCR letters, handwritten words with one 16 x 8 binary image per letter.

    Parameters
    ----------
    data_home : str or path, optional
        Folder in which to look for ``ocr/letter.data.gz`` and into which to download it.  The
        default is to look in ``$MEDN_EDU_DATA`` and then in the cache folder of this package, and
        to download to the cache.
    download : bool, default=True
        Whether to download the file (1.1 MB) if it is in neither place.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of 6,877 float64 arrays of shape (n_letters, 128)
            Pixels of each word's letters, 0 or 1; views of one array.
        target : list of '<U1' arrays of shape (n_letters,)
            The letters.
        fold : ndarray of int64, shape (6877,)
            Fold of each word, 0 to 9.
        images : list of arrays of shape (n_letters, 16, 8)
            The pixels as images, in the same memory as ``data``.
        words : ndarray of str, shape (6877,)
            The words, without their first letters.
        target_names : ndarray of '<U1', shape (26,)
            The alphabet.
        feature_names : list of 128 str
            ``pixel_row_column``.
        DESCR : str
            Origin, protocols and pitfalls.

    Raises
    ------
    DataError
        If the file is missing and cannot be downloaded, cannot be read, or is not the right one.

    Examples
    --------
    >>> ocr = load_ocr()                            # doctest: +SKIP
    >>> print(ocr.words[0], ocr.data[0].shape)      # doctest: +SKIP
    ommanding (9, 128)
    >>> train, test = np.flatnonzero(ocr.fold == 0), np.flatnonzero(ocr.fold != 0)  # doctest: +SKIP
    """
    return remote.load("ocr", _parse, data_home, download)[0]


def _parse(content: bytes) -> Bunch:
    """Turn the content of ``letter.data`` into a Bunch; ValueError if it is not of that form."""
    lines = content.split(b"\n")
    if lines.pop() or not lines:
        raise ValueError("the last line does not end; expected a newline after every letter")
    heads, pixels = _heads(lines), _pixels(lines)
    letters = np.array([head[1].decode() for head in heads], dtype="<U1")
    letter_fold = np.array([int(head[5]) for head in heads], dtype=np.int64)
    # A word ends where a letter has no next one.
    ends = np.array([t for t, head in enumerate(heads, 1) if head[2] == b"-1"], dtype=np.int64)
    if not len(ends) or ends[-1] != len(lines):
        raise ValueError("the last word does not end; expected -1 as the last letter's next letter")
    starts = np.concatenate([[0], ends[:-1]])
    fold = letter_fold[starts]
    if (np.repeat(fold, ends - starts) != letter_fold).any():
        raise ValueError("a word lies in two folds; expected one fold per word")
    images = pixels.reshape(-1, *_IMAGE_SHAPE)
    words = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    return Bunch(
        data=[pixels[word] for word in words],
        target=[letters[word] for word in words],
        fold=fold,
        images=[images[word] for word in words],
        words=np.array(["".join(letters[word]) for word in words]),
        target_names=np.array(list(_LETTERS)),
        feature_names=[f"pixel_{row}_{column}" for row in range(16) for column in range(8)],
        DESCR=_DESCR,
    )


def _heads(lines: list[bytes]) -> list[list[bytes]]:
    """Return the fields before the pixels, one list per line."""
    alphabet = {letter.encode() for letter in _LETTERS}
    folds = {str(fold).encode() for fold in range(10)}
    heads = [line[: -2 * _N_PIXELS].split(b"\t") for line in lines]
    for number, head in enumerate(heads, 1):
        # The tab after the fold leaves an empty string at the end.
        if len(head) != _N_FIELDS + 1 or head[1] not in alphabet or head[5] not in folds or head[6]:
            raise ValueError(
                f"line {number} is not a letter; expected {_N_FIELDS} fields, the second a letter "
                f"a-z and the sixth a fold 0-9, and {_N_PIXELS} pixels, each followed by a tab"
            )
    return heads


def _pixels(lines: list[bytes]) -> np.ndarray:
    """Return the pixels as floats; each is a digit and a tab, so they lie at fixed places."""
    # _heads has found something before the pixels in every line: all of these have full length.
    cells = np.frombuffer(b"".join(line[-2 * _N_PIXELS :] for line in lines), dtype=np.uint8)
    cells = cells.reshape(len(lines), _N_PIXELS, 2)
    fine = (cells[:, :, 1] == ord("\t")) & ((cells[:, :, 0] | 1) == ord("1"))
    bad = np.flatnonzero(~fine.all(axis=1))
    if len(bad):
        raise ValueError(
            f"line {bad[0] + 1} has a broken pixel; expected {_N_PIXELS} times 0 or 1 and a tab"
        )
    return (cells[:, :, 0] - ord("0")).astype(np.float64)
