"""Writing files in one step: whoever reads sees the old content or the new, never half of it."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

__all__ = ["reason", "remove_leftovers", "sole_user", "write_atomically"]

_PREFIX = ".medn_edu-"  # of temporary files


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    r"""Write a file by way of a temporary one beside it, which then takes its name.

    Parameters
    ----------
    path : str or Path
        The file; its folder must exist.
    content : str or bytes
        What to write; text as UTF-8, with its line ends as they are.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If the file cannot be written, saying why.  What was there before is then still there.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "table.csv", "model,error\n").read_text()
    'model,error\n'
    >>> len(list(folder.iterdir()))
    1
    """
    path = Path(path)
    try:
        _write(path, content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise _about(path, error) from None
    return path


@contextlib.contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Use a folder while no other process does so; the system ends this with the process.

    Parameters
    ----------
    folder : Path
        The folder.  Where it cannot be locked, on Windows say, nobody is kept out.

    Raises
    ------
    BlockingIOError
        If another process is using it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that processes left behind which were killed while writing.

    Parameters
    ----------
    folder : Path
        The folder; nobody else may be writing there.
    """
    for leftover in folder.glob(f"{_PREFIX}*"):
        leftover.unlink(missing_ok=True)


def reason(error: OSError) -> str:
    """Return in a few words why the system refused something.

    Parameters
    ----------
    error : OSError
        What it raised.

    Returns
    -------
    str
        Such as "no space left on device".

    Examples
    --------
    >>> reason(FileNotFoundError(2, "No such file or directory"))
    'no such file or directory'
    """
    return os.strerror(error.errno).lower() if error.errno else type(error).__name__


def _write(path: Path, content: bytes) -> None:
    path = Path(os.path.realpath(path))  # a link stays, what it points to is replaced
    if _is_special(path):  # the superuser may replace even /dev/null
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; this one takes the rights of the file it replaces.
        temporary.chmod(path.stat().st_mode if path.exists() else _USUAL_RIGHTS)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _about(path: Path, error: OSError) -> OSError:
    """Return an error of the same kind that speaks of the file, not of the temporary one."""
    if os.path.isdir(path):  # unlike those of Path, these never raise
        why = "it is a folder"
    elif _is_special(path):
        why = "it is a device or a pipe, not a file"
    elif not os.path.exists(path.parent):
        why = f"there is no folder {path.parent}"
    elif not os.path.isdir(path.parent):
        why = f"{path.parent} is not a folder"
    else:
        why = reason(error)
    named = type(error)(f"{path} cannot be written: {why}.")
    named.errno = error.errno
    return named


def _is_special(path: Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _usual_rights() -> int:
    """Rights of a new file; asked for once, because the answer takes a moment without a mask."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


_USUAL_RIGHTS = _usual_rights()
