"""Where compiled kernels are kept on disk.

numba keeps machine code next to the source, one file per function, and takes it as fresh while that
*one* source file is unchanged.  A kernel that calls a kernel of another file would go on running the
other's old code after an edit.  So the folder is named by a hash of all kernel sources together.

A place that cannot be written, a full disk or a damaged file costs time and nothing else: `KernelCache`
then reads what is there, compiles the rest in memory and says so once.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache


def source_hash(folder: Path) -> str:
    """Return a hash of all Python sources below a folder and of numba's version, 16 digits."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(folder.rglob("*.py")):
        content, name = path.read_bytes(), path.relative_to(folder).as_posix()
        digest.update(f"\0{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def cache_folder(folder: Path) -> Path:
    """Return the folder for the compiled code of the kernels in ``folder``, made if need be.

    It lies under ``NUMBA_CACHE_DIR`` or in the user's cache directory.  Where that can neither be
    written nor holds compiled code, it is a folder of the user's own among the temporary files.
    """
    name = f"kernels-{source_hash(folder)}"
    wanted = Path(numba.config.CACHE_DIR or _user_cache() / "medn_edu") / name
    if not _writable(wanted) and next(wanted.rglob("*.nbi"), None) is None:
        with suppress(OSError):  # nowhere to keep it: `KernelCache` will say so
            return _private_temporary_folder(name)
    return wanted


class _Place(CompileResultCacheImpl._locator_classes[0]):
    """The folder of the kernels, and no other: numba would skip one that it cannot write to."""

    @classmethod
    def from_function(cls, function: Any, source: str) -> _Place:
        return cls(function, source)

    def get_cache_path(self) -> str:
        return str(FOLDER)


class _Kept(CompileResultCacheImpl):
    _locator_classes = [_Place]  # noqa: RUF012


class KernelCache(FunctionCache):
    """The compiled code of one kernel on disk; unlike numba's cache, it never lets a fit fail."""

    _impl_class = _Kept

    def load_overload(self, *arguments: Any) -> Any:
        """Return what is kept, or None; code that cannot be read is compiled anew."""
        try:
            return super().load_overload(*arguments)
        except Exception:  # whatever a damaged file makes pickle and LLVM do
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, *arguments: Any) -> None:
        """Keep what was compiled, or say once why that cannot be done."""
        try:
            super().save_overload(*arguments)
        except OSError as error:
            warn_not_kept(Path(self.cache_path).parent, str(error.strerror).lower())


@functools.cache
def warn_not_kept(folder: Path, why: str) -> None:
    """Say once that compiled code cannot be kept, and what follows from it."""
    warnings.warn(
        f"compiled code cannot be kept in {folder} ({why}), so every new process compiles it anew; "
        "set NUMBA_CACHE_DIR to a folder that may be written to.",
        stacklevel=2,
    )


def _user_cache() -> Path:
    """Return the cache directory of the user, by the rules of each system."""
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path("~/AppData/Local").expanduser())
        if sys.platform == "darwin":
            return Path("~/Library/Caches").expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    except RuntimeError:  # a user without a home, as in some containers: nowhere to write
        return Path(os.devnull)


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


FOLDER = cache_folder(Path(__file__).parent)
