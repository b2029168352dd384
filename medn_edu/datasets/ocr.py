"""The OCR letters: handwritten words, the benchmark of structured learning since Taskar et al.

The file ``letter.data`` holds one letter a line: fields that end with a tab, namely a running
number, the letter, the number of the next letter of the word (-1 at its end), the word's number,
the position in the word, the fold, and 16 x 8 pixels, row by row, each 0 or 1.  Lines end with a
newline.

Where the file comes from is settled once, here.  The first of these places that has a file is used:

1. ``$MEDN_EDU_DATA/ocr/letter.data.gz``, if that variable is set: the user's own copy.  It is read
   and never written, replaced or deleted, whatever is wrong with it;
2. ``ocr/letter.data.gz`` in the cache folder of this package;
3. the home of the data set on the web, from which it is fetched into the cache.

Only the file whose uncompressed content has the right SHA-256 is accepted, so every number computed
from it can be compared with every other.  A download is checked in memory and then written in one
step: a broken one leaves nothing behind.
"""

import gzip
import hashlib
import io
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch
from sklearn.utils import Bunch

from medn_edu.files import reason, write_atomically

URL = "http://ai.stanford.edu/~btaskar/ocr/letter.data.gz"
# Of the uncompressed content: the same letters may be compressed in many ways.
SHA256 = "535363d0b7bc34246b1f8731719540f526b6807b12dda5d430d011d160bc7882"
N_BYTES = 14_557_249

_IMAGE_SHAPE = (16, 8)
_N_PIXELS = 128
_N_FIELDS = 6  # before the pixels
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

_DESCR = """\
Handwritten words: the OCR letters
----------------------------------
52,152 letters in 6,877 words, 26 labels (a to z), 128 binary pixels a letter (16 rows x 8 columns),
and 10 folds of 626 to 739 words.  Collected by Rob Kassel at
the MIT Spoken Language Systems Group, cleaned, cut into letters and folds by Ben Taskar, Carlos
Guestrin and Daphne Koller (Max-Margin Markov Networks, NIPS 2003); home:
http://ai.stanford.edu/~btaskar/ocr/.  First letters, which were capitals, are missing
("ommanding").  The authors state no licence, so the file is downloaded, not shipped.

Know before you believe a number:

* There are only 55 different words, and each of them occurs in every fold.  A chain can memorise
  which letters follow each other in these 55 words, so its errors say little about words that it
  has never seen.
* Words have 3 to 14 letters; no word has length 4.
* Two protocols are in use: training on one fold and testing on the other nine (that of the papers
  behind this package, with small training sets), and the other way round.
* Writers are not named in the file, so a split by writer is not possible.

Contents: data (list of (n, 128) float64, 0 or 1), target (list of letters), fold (n_samples,),
images (the same memory as data, (n, 16, 8)), words, target_names, feature_names.
"""


class DataError(OSError):
    """A data file is missing, unreadable, or not the file that it should be.

    An `OSError`, as from scikit-learn's fetchers: the trouble lies on the disk or the network, not
    in an argument.  The message is one sentence that says which file, what was expected of it, and
    what to do next.
    """


@dataclass(frozen=True)
class DataStatus:
    """Whether the OCR letters are on this machine, and where.

    Parameters
    ----------
    path : Path or None
        The file that `load_ocr` reads; None if there is none yet.
    place : str
        Where it was found: ``"MEDN_EDU_DATA"``, ``"cache"``, ``"data_home"``, or ``""`` if nowhere.
    n_bytes : int
        Size of the (compressed) file; 0 if there is none.
    valid : bool
        Whether its content has the right hash.
    problem : str
        What is wrong and what to do, in one sentence; empty if the file is valid.
    """

    path: Path | None
    place: str
    n_bytes: int
    valid: bool
    problem: str


def load_ocr(data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Bunch:
    """Load the OCR letters, handwritten words with one 16 x 8 binary image per letter.

    Parameters
    ----------
    data_home : str or path, optional
        Folder in which to look for ``ocr/letter.data.gz`` and into which to download it.  By
        default ``$MEDN_EDU_DATA`` is looked at, then the cache folder of this package, and
        downloads go to the cache.
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
    found = _find(data_home)
    if found is None:
        if not download:
            raise DataError(_missing_sentence(data_home))
        found = _download(data_home, progress=False)
    path, place = found
    content = _read(path, place)
    try:
        return _parse(content)
    except ValueError as error:
        raise DataError(f"{path}: {error}; {_remedy(place)}.") from None


def status(data_home: str | os.PathLike[str] | None = None) -> DataStatus:
    """Say where the OCR letters are and whether they are intact; downloads nothing.

    Parameters
    ----------
    data_home : str or path, optional
        As in `load_ocr`.

    Returns
    -------
    DataStatus
        Path, place, size, and what is wrong if something is.

    Examples
    --------
    >>> import tempfile
    >>> status(tempfile.mkdtemp()).valid
    False
    """
    found = _find(data_home)
    if found is None:
        return DataStatus(None, "", 0, False, _missing_sentence(data_home))
    path, place = found
    try:
        _read(path, place)
        n_bytes, problem = path.stat().st_size, ""
    except DataError as error:
        n_bytes, problem = 0, str(error)
        if path.is_file():
            n_bytes = path.stat().st_size
    return DataStatus(path, place, n_bytes, not problem, problem)


def fetch(data_home: str | os.PathLike[str] | None = None, *, progress: bool = False) -> DataStatus:
    """Make sure that the OCR letters are on this machine; download them if they are not.

    A damaged file in the cache (or in ``data_home``) is replaced.  A damaged file in
    ``$MEDN_EDU_DATA`` is the user's own and is only reported.

    Parameters
    ----------
    data_home : str or path, optional
        As in `load_ocr`.
    progress : bool, default=False
        Whether to show a progress bar on standard error.

    Returns
    -------
    DataStatus
        Where the file now is.

    Raises
    ------
    DataError
        If the download fails or is not the right file; then nothing is left behind.
    """
    found = status(data_home)
    if found.valid:
        return found
    if found.place == "MEDN_EDU_DATA":
        raise DataError(found.problem)
    _download(data_home, progress=progress)
    return status(data_home)


# -- Finding, downloading and checking the file ---------------------------------------------------


def _places(data_home: str | os.PathLike[str] | None) -> list[tuple[Path, str]]:
    """Return where to look, in order; the last place is the one that downloads go to."""
    if data_home is not None:
        folders = [(Path(data_home), "data_home")]
    else:
        folders = [(Path(pooch.os_cache("medn_edu")), "cache")]
        own = os.environ.get("MEDN_EDU_DATA")
        if own:
            folders.insert(0, (Path(own), "MEDN_EDU_DATA"))
    return [(folder / "ocr" / "letter.data.gz", place) for folder, place in folders]


def _find(data_home: str | os.PathLike[str] | None) -> tuple[Path, str] | None:
    for path, place in _places(data_home):
        # lexists: a broken link or an unreadable folder should be named, not skipped in silence
        if os.path.lexists(path):
            return path, place
    return None


def _read(path: Path, place: str) -> bytes:
    """Return the uncompressed content, if it is the right one."""
    try:
        with gzip.open(path) as file:
            # One byte more than expected proves a longer file wrong without unpacking all of it.
            content = file.read(N_BYTES + 1)
    except EOFError:
        problem = "is cut short"
    except (gzip.BadGzipFile, zlib.error):
        problem = "is not an intact gzip file"
    except OSError as error:
        problem = f"cannot be read ({reason(error)})"
    else:
        if _is_right(content):
            return content
        problem = "holds something else or was changed"
    raise DataError(f"{path} {problem}; expected {_expected()}; {_remedy(place)}.")


def _is_right(content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == SHA256


def _download(data_home: str | os.PathLike[str] | None, *, progress: bool) -> tuple[Path, str]:
    path, place = _places(data_home)[-1]
    buffer = io.BytesIO()
    try:
        # Streamed only where a bar is to move: a stream that fails leaves its connection open.
        pooch.HTTPDownloader(progressbar=progress, stream=progress)(URL, buffer, None)
    except OSError as error:  # as all errors of requests are
        raise DataError(
            f"the OCR letters could not be downloaded from {URL} ({type(error).__name__}); check "
            f"the network, or put the file at {path} yourself, or use load_digit_words(), which "
            "needs no network."
        ) from None
    data = _gzipped(buffer.getvalue())
    if data is None:
        raise DataError(
            f"what {URL} sent is not {_expected()}, so nothing was kept; try again later, or put "
            f"the file at {path} yourself."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({reason(error)}); expected a "
            "folder that may be written to; pass another one as data_home."
        ) from None
    return path, place


def _gzipped(data: bytes) -> bytes | None:
    """Return the right file, gzipped, or None; some servers let the client unpack on the way."""
    if _is_right(data):
        return gzip.compress(data, mtime=0)
    try:
        with gzip.open(io.BytesIO(data)) as file:
            return data if _is_right(file.read(N_BYTES + 1)) else None
    except (OSError, EOFError, zlib.error):
        return None


def _expected() -> str:
    return f"the OCR letters (letter.data, {N_BYTES:,} bytes, sha256 {SHA256[:12]}..., gzipped)"


def _remedy(place: str) -> str:
    return {
        "MEDN_EDU_DATA": "replace it, or unset MEDN_EDU_DATA to have it downloaded",
        "cache": "'medn-edu data fetch' downloads it anew",
        "data_home": "delete it to have it downloaded anew",
    }[place]


def _missing_sentence(data_home: str | os.PathLike[str] | None) -> str:
    looked = " or ".join(str(path) for path, _ in _places(data_home))
    return (
        f"the OCR letters are not at {looked}; 'medn-edu data fetch' downloads them, and "
        "load_digit_words() needs no file."
    )


# -- Parsing --------------------------------------------------------------------------------------


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
