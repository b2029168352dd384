"""Reading files with one token per line, the format of the CoNLL shared tasks."""

import codecs
import gzip
import os
import re
import zlib
from collections.abc import Sequence
from itertools import combinations
from numbers import Integral
from pathlib import Path

from medn_edu.checks import shown
from medn_edu.samples.checks import as_list

_Sentences = list[list[str]]
_TABS, _BLANKS = r" *\t[ \t]*", r"[ \t]+"  # other space, such as U+00A0, belongs to a token


def read_conll(
    path: str | Path,
    columns: Sequence[int] = (0, -1),
    *,
    comment: str | None = None,
    encoding: str = "utf-8",
) -> tuple[_Sentences, ...]:
    r"""Read columns of a file that has one token per line and blank lines between sentences.

    If there is a tab in the first line with a token, tabs separate the columns.  Several tabs in a row
    count as one, and columns may hold blanks and other space such as U+00A0.  Otherwise blanks separate
    the columns.  A line of only blanks and tabs counts as blank, and several in a row count as one.

    Parameters
    ----------
    path : str or Path
        The file, which may be compressed by gzip.
    columns : sequence of int, default=(0, -1)
        Which columns to return; negative ones count from the last.
    comment : str, optional
        Lines that begin with this text are left out.  Use ``"# "`` for CoNLL-U and ``"-DOCSTART-"`` for
        CoNLL-2003.  By default no line is left out, because a ``#`` may be a word.
    encoding : str, default="utf-8"
        How the file stores characters.

    Returns
    -------
    tuple of list of list of str
        One list of sentences for each of ``columns``.  A sentence is a list of strings.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not as described; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from medn_edu import read_conll
    >>> path = Path(tempfile.mkdtemp()) / "train.conll"
    >>> _ = path.write_text("Ada NNP B-person\nsleeps VBZ O\n\nShe PRP O\nreads VBZ O\n")
    >>> words, tags = read_conll(path)
    >>> words
    [['Ada', 'sleeps'], ['She', 'reads']]
    >>> tags
    [['B-person', 'O'], ['O', 'O']]
    """
    wanted = as_list(columns, "columns", "a sequence of whole numbers, such as (0, -1)")
    for column in wanted:
        if not isinstance(column, Integral) or isinstance(column, bool):
            raise TypeError(f"columns holds {shown(column)}; expected whole numbers.")
    if not (comment is None or (isinstance(comment, str) and comment)):
        raise ValueError(f"comment is {shown(comment)}; expected how comment lines begin, or None.")
    rows: list[list[list[str]]] = [[]]  # of each sentence, the last of which may be empty
    separator, n_columns, first = "", 0, 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", _text(path, encoding)), 1):
        if comment is not None and line.startswith(comment):
            continue
        stripped = line.strip(" \t")
        if not stripped:
            if rows[-1]:
                rows.append([])
            continue
        separator = separator or (_TABS if "\t" in stripped else _BLANKS)
        cells = re.split(separator, stripped)
        if not first:
            n_columns, first = len(cells), number
            _check_columns(wanted, n_columns, f"{path}, line {number}")
        if len(cells) != n_columns:
            raise ValueError(
                f"{path}, line {number}: there {_counted(len(cells))}; expected {n_columns}, as in "
                f"line {first}."
            )
        rows[-1].append(cells)
    if not rows[-1]:
        rows.pop()
    if not rows:
        raise ValueError(f"{path} holds no sentences; expected at least one line with a token.")
    return tuple([[cells[column] for cells in sentence] for sentence in rows] for column in wanted)


def _check_columns(wanted: list[int], n_columns: int, place: str) -> None:
    for column in wanted:
        if not -n_columns <= column < n_columns:
            raise ValueError(
                f"{place}: there {_counted(n_columns)}, so columns cannot hold {column}; expected "
                f"numbers from {-n_columns} to {n_columns - 1}."
            )
    for a, b in combinations(wanted, 2):
        if a != b and (a - b) % n_columns == 0:
            raise ValueError(
                f"{place}: there {_counted(n_columns)}, so {a} and {b} are the same; expected tabs or "
                "blanks between columns, or other numbers in columns."
            )


def _counted(n_columns: int) -> str:
    return "is 1 column" if n_columns == 1 else f"are {n_columns} columns"


def _text(path: str | Path, encoding: str) -> str:
    """Return what a file holds, unpacked and decoded, without a mark of its byte order."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path is {shown(path)}; expected the name of a file.")
    path = Path(path)
    if not os.path.isfile(path):  # which, unlike that of Path, never raises
        raise FileNotFoundError(f"{path} is not a file; expected one with a token per line.")
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):  # how gzip begins
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            raise ValueError(f"{path} is damaged; expected a complete gzip file.") from None
    try:
        codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"encoding is {shown(encoding)}; expected a name that Python knows, such as 'utf-8'."
        ) from None
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        line = content.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise ValueError(
            f"{path}, line {line}: there are bytes that are not {encoding}; expected a file in this "
            "encoding, or another name for encoding."
        ) from None
