"""Data sets from the web: where their files are, and whether they are the right ones.

This module decides where a file comes from.  It uses the first of these places that has the file:

1. ``$MEDN_EDU_DATA``, if that variable is set: the user's own copy, such as
   ``$MEDN_EDU_DATA/ocr/letter.data.gz``.  It is only read, and never written, replaced or
   deleted, whatever is wrong with it;
2. the cache folder of this package, with the same folders in it;
3. the home of the data set on the web, from which it is fetched into the cache.

Only a file whose uncompressed content has the right SHA-256 is accepted, so every number computed
from it can be compared with every other.  A download is checked in memory and then written in one
step: a broken one leaves nothing behind.

To add a data set, add its files to `FILES` and write a loader that calls `load` with a parser.
"""

import gzip
import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pooch

from medn_edu.checks import check_choice, shown
from medn_edu.files import reason, write_atomically

_Parsed = TypeVar("_Parsed")


class DataError(OSError):
    """A data file is missing, unreadable, or not the file that it should be.

    It is an `OSError`, as in scikit-learn's fetchers, because the problem is on the disk or in the
    network, not in an argument.  The message is one sentence that says which file is wrong, what was
    expected, and what to do next.
    """


@dataclass(frozen=True)
class DataStatus:
    """Whether a data set is on this machine, and where.

    If the data set has several files, this describes the first file that is wrong, or all files if none
    is.

    Parameters
    ----------
    path : Path or None
        The file that the loader reads, or the folder of several; None if there is none yet.
    place : str
        Where it was found: ``"MEDN_EDU_DATA"``, ``"cache"``, ``"data_home"``, or ``""`` if nowhere.
    n_bytes : int
        Size of the (compressed) file or files; 0 if there is none.
    valid : bool
        Whether the content has the right hash.
    problem : str
        What is wrong and what to do, in one sentence; empty if the data are valid.
    """

    path: Path | None
    place: str
    n_bytes: int
    valid: bool
    problem: str


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set; it lies gzipped in the data set's folder."""

    folder: str  # named like the data set
    name: str  # without the .gz
    url: str  # gzipped or not
    sha256: str  # of the uncompressed content, which may be compressed in many ways, or of its rows
    n_bytes: int  # of the uncompressed content
    what: str  # what it holds, in the plural
    instead: str  # the function whose data need no file
    member: str = ""  # its path in the zip archive that the address sends, if it sends one
    by_rows: bool = False  # whether line ends, and blanks around fields, make no difference

    @property
    def limit(self) -> int:
        """How many bytes to unpack: enough to prove a longer file wrong without unpacking all of it."""
        return 2 * self.n_bytes

    @property
    def command(self) -> str:
        """The command that downloads it."""
        return "medn-edu data fetch" + (f" {self.folder}" if self.folder != "ocr" else "")

    def is_right(self, content: bytes) -> bool:
        """Tell whether this is its content."""
        if self.by_rows:
            rows = [line.split(b",") for line in content.splitlines()]
            content = b"\n".join(b",".join(field.strip() for field in row) for row in rows)
        return hashlib.sha256(content).hexdigest() == self.sha256

    def __str__(self) -> str:
        of = " of the rows" if self.by_rows else ""
        facts = f"{self.name}, {self.n_bytes:,} bytes, sha256{of} {self.sha256[:12]}..., gzipped"
        return f"{self.what} ({facts})"


# The authors take corrections, so the address names the commit that the hashes are of.
_WNUT17_HOME = (
    "https://raw.githubusercontent.com/leondz/emerging_entities_17/"
    "e52a2d2a71ac1a051ca2d532eef28653c5c02603/"
)
_WNUT17_FILES = {
    "train": (
        "wnut17train.conll",
        "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
        493_781,
    ),
    "dev": (
        "emerging.dev.conll",
        "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8",
        114_749,
    ),
    "test": (
        "emerging.test.annotated",
        "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0",
        192_425,
    ),
}

_SST_FILES = {
    "train": ("e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7", 2_160_058),
    "dev": ("0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40", 280_825),
    "test": ("6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761", 559_614),
}

FILES: dict[str, tuple[RemoteFile, ...]] = {
    "ocr": (
        RemoteFile(
            folder="ocr",
            name="letter.data",
            url="http://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
            sha256="535363d0b7bc34246b1f8731719540f526b6807b12dda5d430d011d160bc7882",
            n_bytes=14_557_249,
            what="the OCR letters",
            instead="load_digit_words()",
        ),
    ),
    "wnut17": tuple(
        RemoteFile(
            folder="wnut17",
            name=f"{part}.conll",
            url=_WNUT17_HOME + name,
            sha256=sha256,
            n_bytes=n_bytes,
            what="the WNUT17 sentences",
            instead="make_text()",
        )
        for part, (name, sha256, n_bytes) in _WNUT17_FILES.items()
    ),
    "bach": (
        RemoteFile(
            folder="bach",
            name="jsbach_chorals_harmony.data",
            url="https://archive.ics.uci.edu/static/public/298/bach+choral+harmony.zip",
            sha256="8c0b61941313ab3d1ca566071b5c1f387a481b9c7f60b4333a70ccbef0f7cb21",
            n_bytes=393_200,
            what="the Bach chorales",
            instead="load_sentences()",
            member="jsbach_chorals_harmony.data",
            by_rows=True,
        ),
    ),
    "sst": tuple(
        RemoteFile(
            folder="sst",
            name=f"{part}.txt",
            url="https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
            sha256=sha256,
            n_bytes=n_bytes,
            what="the trees of the Stanford Sentiment Treebank",
            instead="make_opinions()",
            member=f"trees/{part}.txt",
        )
        for part, (sha256, n_bytes) in _SST_FILES.items()
    ),
}
"""The files of each data set."""


def load(
    name: str,
    parse: Callable[[bytes], _Parsed],
    data_home: str | os.PathLike[str] | None,
    download: bool,
) -> list[_Parsed]:
    """Return what a parser makes of each file of a data set, after fetching what is missing.

    A parser raises a ValueError about content of another form.
    """
    return [_load(file, parse, data_home, download) for file in FILES[name]]


def _load(file: RemoteFile, parse: Callable[[bytes], Any], data_home: Any, download: bool) -> Any:
    found = _find(file, data_home)
    if found is None:
        if not download:
            raise DataError(_missing_sentence(file, data_home))
        found = _download(file, data_home, progress=False)
    path, place = found
    content = _read(file, path, place)
    try:
        return parse(content)
    except ValueError as error:
        raise DataError(f"{path}: {error}; {_remedy(file, place)}.") from None


def status(data_home: str | os.PathLike[str] | None = None, *, name: str = "ocr") -> DataStatus:
    """Say where a data set is and whether it is intact, without downloading anything.

    Parameters
    ----------
    data_home : str or path, optional
        As in `load_ocr`.
    name : {"ocr", "wnut17", "bach", "sst"}, default="ocr"
        Which data set.

    Returns
    -------
    DataStatus
        Path, place, size, and what is wrong if something is.

    Raises
    ------
    ValueError
        If there is no data set of that name.

    Examples
    --------
    >>> import tempfile
    >>> status(tempfile.mkdtemp()).valid
    False
    """
    check_choice("name", name, FILES)
    found = [_status(file, data_home) for file in FILES[name]]
    wrong = [each for each in found if not each.valid]
    if wrong or len(found) == 1:
        return (wrong or found)[0]
    first, n_bytes = found[0], sum(each.n_bytes for each in found)
    folder = first.path.parent if first.path else None
    return DataStatus(folder, first.place, n_bytes, True, "")


def _status(file: RemoteFile, data_home: str | os.PathLike[str] | None) -> DataStatus:
    found = _find(file, data_home)
    if found is None:
        return DataStatus(None, "", 0, False, _missing_sentence(file, data_home))
    path, place = found
    try:
        _read(file, path, place)
        n_bytes, problem = path.stat().st_size, ""
    except DataError as error:
        n_bytes, problem = 0, str(error)
        if path.is_file():
            n_bytes = path.stat().st_size
    return DataStatus(path, place, n_bytes, not problem, problem)


def fetch(
    data_home: str | os.PathLike[str] | None = None, *, name: str = "ocr", progress: bool = False
) -> DataStatus:
    """Make sure that a data set is on this machine, and download the files that are missing.

    A damaged file in the cache (or in ``data_home``) is replaced.  A damaged file in
    ``$MEDN_EDU_DATA`` is the user's own and is only reported.

    Parameters
    ----------
    data_home : str or path, optional
        As in `load_ocr`.
    name : {"ocr", "wnut17", "bach", "sst"}, default="ocr"
        Which data set.
    progress : bool, default=False
        Whether to show a progress bar on standard error.

    Returns
    -------
    DataStatus
        Where the data set now is.

    Raises
    ------
    DataError
        If a download fails or is not the right file; then nothing of this file is left behind.
    ValueError
        If there is no data set of that name.
    """
    check_choice("name", name, FILES)
    for file in FILES[name]:
        found = _status(file, data_home)
        if found.place == "MEDN_EDU_DATA" and not found.valid:
            raise DataError(found.problem)
        if not found.valid:
            _download(file, data_home, progress=progress)
    return status(data_home, name=name)


def _places(file: RemoteFile, data_home: str | os.PathLike[str] | None) -> list[tuple[Path, str]]:
    """Return where to look, in order; the last place is the one that downloads go to."""
    if not (data_home is None or isinstance(data_home, str | os.PathLike)):
        raise TypeError(
            f"data_home is {shown(data_home)}; expected a path, or None for the default."
        )
    if data_home is not None:
        folders = [(Path(data_home), "data_home")]
    else:
        folders = [(Path(pooch.os_cache("medn_edu")), "cache")]
        own = os.environ.get("MEDN_EDU_DATA")
        if own:
            folders.insert(0, (Path(own), "MEDN_EDU_DATA"))
    return [(folder / file.folder / f"{file.name}.gz", place) for folder, place in folders]


def _find(file: RemoteFile, data_home: str | os.PathLike[str] | None) -> tuple[Path, str] | None:
    for path, place in _places(file, data_home):
        # lexists: a broken link or an unreadable folder should be named, not skipped in silence
        if os.path.lexists(path):
            return path, place
    return None


def _read(file: RemoteFile, path: Path, place: str) -> bytes:
    """Return the uncompressed content, if it is the right one."""
    try:
        with gzip.open(path) as stream:
            content = stream.read(file.limit)
    except EOFError:
        problem = "is cut short"
    except (gzip.BadGzipFile, zlib.error):
        problem = "is not an intact gzip file"
    except OSError as error:
        problem = f"cannot be read ({reason(error)})"
    else:
        if file.is_right(content):
            return content
        problem = "holds something else or was changed"
    raise DataError(f"{path} {problem}; expected {file}; {_remedy(file, place)}.")


def _download(
    file: RemoteFile, data_home: str | os.PathLike[str] | None, *, progress: bool
) -> tuple[Path, str]:
    path, place = _places(file, data_home)[-1]
    buffer = io.BytesIO()
    try:
        # Streamed only where a bar is to move: a stream that fails leaves its connection open.
        pooch.HTTPDownloader(progressbar=progress, stream=progress)(file.url, buffer, None)
    except OSError as error:  # as all errors of requests are
        raise DataError(
            f"{file.what} could not be downloaded from {file.url} ({type(error).__name__}); check "
            f"the network, or put the file at {path} yourself, or use {file.instead}, which "
            "needs no network."
        ) from None
    data = _gzipped(file, buffer.getvalue())
    if data is None:
        raise DataError(
            f"what {file.url} sent is not {file}, so nothing was kept; try again later, or put "
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


def _gzipped(file: RemoteFile, data: bytes) -> bytes | None:
    """Return the right file, gzipped, or None; it may come plain, or be unpacked on the way."""
    try:
        if file.member:
            with zipfile.ZipFile(io.BytesIO(data)).open(file.member) as stream:
                data = stream.read(file.limit)
        if file.is_right(data):
            return gzip.compress(data, mtime=0)
        with gzip.open(io.BytesIO(data)) as stream:
            return data if file.is_right(stream.read(file.limit)) else None
    except (OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile):
        return None


def _remedy(file: RemoteFile, place: str) -> str:
    return {
        "MEDN_EDU_DATA": "replace it, or unset MEDN_EDU_DATA to have it downloaded",
        "cache": f"'{file.command}' downloads it again",
        "data_home": "delete it to have it downloaded again",
    }[place]


def _missing_sentence(file: RemoteFile, data_home: str | os.PathLike[str] | None) -> str:
    looked = " or ".join(str(path) for path, _ in _places(file, data_home))
    return (
        f"{file.what} are not at {looked}; '{file.command}' downloads them, and "
        f"{file.instead} needs no file."
    )
