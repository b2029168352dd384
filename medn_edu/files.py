"""Writing files in one step: whoever reads sees the old content or the new, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_atomically"]


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
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        _grant_usual_rights(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _grant_usual_rights(path: Path) -> None:
    """Temporary files are private; give this one the rights any new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
