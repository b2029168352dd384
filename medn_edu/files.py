"""Writing files in one step: whoever reads sees the old content or the new, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing", "write_atomically"]


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its place when all went well.

    Parameters
    ----------
    path : str or Path
        The file to write or to replace.

    Yields
    ------
    Path
        Where to write.  It ends like ``path``, so that writers which look at the ending behave.

    Raises
    ------
    OSError
        If the folder is missing or cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("a,b")
    >>> target.read_text()
    'a,b'
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(
        prefix=f".{path.stem}-", suffix=path.suffix or ".part", dir=path.parent
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _grant_usual_rights(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
        If the file cannot be written.  What was there before is then still there.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "table.csv", "model,error\n").read_text()
    'model,error\n'
    >>> len(list(folder.iterdir()))
    1
    """
    path = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return path


def _grant_usual_rights(path: Path) -> None:
    """Temporary files are private; give this one the rights any new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
