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
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that only their owner may read
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
