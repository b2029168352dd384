"""Writing files in one step: a reader sees the old content or the new, never half of it.

A new file is written next to the old one and then takes its name, so only regular files can be
written, and only they are read.  A device or a pipe is refused, because replacing it would destroy
it, and waiting for the other end of a pipe may take forever.
"""

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

__all__ = ["read_json", "reason", "remove_leftovers", "sole_user", "write_atomically"]

_PREFIX = ".medn_edu-"  # of temporary files
_SMALL = 1_000_000  # bytes


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    r"""Write a file through a temporary one next to it, which then takes its name.

    Text is written as UTF-8, with its line ends as they are.  If the file cannot be written, an
    OSError says why, and what was there before is still there.

    >>> import tempfile
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
    except ValueError as error:  # a name that no file can have, or text that is not Unicode
        raise OSError(f"{str(path)!r} cannot be written: {error}.") from None
    return path


def read_json(path: Path) -> Any:
    """Return the content of a small JSON file that somebody may have changed or replaced.

    If the file holds no JSON, or far too much, there is a ValueError.  Its message can follow the name
    of the file in a sentence.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("is not a regular file")
    with path.open("rb") as file:
        content = file.read(_SMALL + 1)
    if len(content) > _SMALL:
        raise ValueError(f"is larger than {_SMALL} bytes")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ValueError("is damaged") from None


@contextlib.contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Lock a folder, so that no other process uses it; the lock ends when the process does.

    If another process is using the folder, there is a BlockingIOError.  On systems that cannot lock
    folders, such as Windows, nobody is kept out.
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
    """Remove temporary files of processes that were killed while writing.

    Nobody else may be writing in the folder.
    """
    for leftover in folder.glob(f"{_PREFIX}*"):
        leftover.unlink(missing_ok=True)


def reason(error: OSError) -> str:
    """Return in a few words why the system refused something.

    >>> reason(FileNotFoundError(2, "No such file or directory"))
    'no such file or directory'
    """
    return os.strerror(error.errno).lower() if error.errno else type(error).__name__


def _write(path: Path, content: bytes) -> None:
    try:
        before: int | None = path.stat().st_mode
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before):
        raise OSError(errno.ENOTSUP, "not a regular file")
    target = Path(os.path.realpath(path))  # a link stays, what it points to is replaced
    temporary = target.parent / f"{_PREFIX}{secrets.token_hex(8)}"
    # What replaces a private file is private from the start.  To a new file the system itself applies
    # the umask.  Asking for the umask would mean changing it, and other threads would notice.
    rights = 0o666 if before is None else 0o600
    try:
        with open(temporary, "xb", opener=lambda name, how: os.open(name, how, rights)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            temporary.chmod(stat.S_IMODE(before))
        temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):  # it was never made, or has its name already
            temporary.unlink()


def _about(path: Path, error: OSError) -> OSError:
    """Return an error of the same kind that speaks of the file, not of the temporary one."""
    folder = Path(os.path.realpath(path) if os.path.islink(path) else path).parent
    if os.path.isdir(path):  # unlike those of Path, these never raise
        why = "it is a folder"
    elif error.errno == errno.ELOOP:
        why = "its links lead in a circle"
    elif os.path.exists(path) and not os.path.isfile(path):
        why = "it is a device, a pipe or a socket; expected the name of a regular file"
    elif not os.path.exists(folder):
        why = f"there is no folder {folder}"
    elif not os.path.isdir(folder):
        why = f"{folder} is not a folder"
    else:
        why = reason(error)
    named = type(error)(f"{path} cannot be written: {why}.")
    named.errno = error.errno
    return named
