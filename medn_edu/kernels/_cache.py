"""Where compiled kernels are kept on disk.

numba keeps machine code next to the source, one file per function, and takes it as fresh while that
*one* source file is unchanged.  A kernel that calls a kernel of another file would go on running the
other's old code after an edit.  So the folder is named by a hash of all kernel sources together:
after any edit everything is compiled anew, and going back to an earlier version finds its old code.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba

__all__ = ["cache_folder", "kept_in", "source_hash"]


def source_hash(folder: Path) -> str:
    """Return a hash of all Python sources in a folder and of numba's version.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(folder.glob("*.py")):
        content = path.read_bytes()
        digest.update(f"\0{path.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def cache_folder(folder: Path) -> Path:
    """Return the folder for the compiled code of the kernels in ``folder``, made if need be.

    It lies under ``NUMBA_CACHE_DIR`` if that is set, otherwise in the user's cache directory, or,
    where that cannot be written, in a folder of the user's own among the temporary files.

    Parameters
    ----------
    folder : Path
        Where the kernels' sources are.

    Returns
    -------
    Path
        A folder named by `source_hash`.
    """
    name = f"kernels-{source_hash(folder)}"
    wanted = Path(numba.config.CACHE_DIR or _user_cache() / "medn_edu") / name
    return wanted if _writable(wanted) else _private_temporary_folder(name)


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Let numba keep what is compiled from functions defined in this context in ``folder``.

    The place is fixed when a function is decorated, so the setting is put back at the end and the
    functions of other packages stay where they were.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def _user_cache() -> Path:
    """Return the cache directory of the user, by the rules of each system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path("~/AppData/Local").expanduser())
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _private_temporary_folder(name: str) -> Path:
    """Return a folder among the temporary files that nobody else could have put code into."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    parent = Path(tempfile.gettempdir()) / f"medn_edu-{user}"
    parent.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and (parent.is_symlink() or parent.stat().st_uid != os.getuid()):
        return Path(tempfile.mkdtemp(prefix="medn_edu-"))
    folder = parent / name
    folder.mkdir(exist_ok=True)
    return folder
