"""Books for the tests: built by the command, with a cache of frames of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pooch
from children import wait_until

from medn_edu.kernels.cache import FOLDER as KERNELS

ROOT = Path(__file__).resolve().parent.parent
THREE = ("start-here", "shrinkage", "synthetic-study")
"""Chapters that are quickly drawn and have all kinds of controls; the last has two explorers."""


def run_site(folder: Path, *options: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run ``medn-edu site`` with what the user has of data and compiled code, but not of frames.

    The frames of all books in the same place are kept there.
    """
    own = {
        "MEDN_EDU_DATA": os.environ.get("MEDN_EDU_DATA") or str(pooch.os_cache("medn_edu")),
        "NUMBA_CACHE_DIR": str(KERNELS.parent),
        "XDG_CACHE_HOME": str(folder.parent / "cache"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONUTF8": "1",
    }
    command = [sys.executable, "-m", "medn_edu.cli", "site", str(folder), *options]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | own, capture_output=True, text=True, encoding="utf-8"
    )


def built_once(folder: Path) -> Path:
    """Build a book of `THREE`, or wait until another process has done so."""
    log = folder.with_suffix(".log")
    try:
        folder.with_suffix(".lock").mkdir()
    except FileExistsError:
        wait_until(log.exists, 600)
    else:
        done = run_site(folder, "--only", *THREE)
        folder.with_suffix(".new").write_text(done.stdout + done.stderr, encoding="utf-8")
        folder.with_suffix(".new").rename(log)
    assert (folder / "index.html").exists(), log.read_text(encoding="utf-8")
    return folder
