"""``medn-edu doctor``: what is installed, and what is missing."""

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from medn_edu.cli.console import add_command, available_cpus, say

_REQUIRED = (
    "numpy", "scipy", "numba", "scikit-learn", "matplotlib", "ipywidgets", "anywidget", "joblib",
    "tqdm", "pooch",
)  # fmt: skip
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    what: str  # what was looked at
    fine: bool | None  # whether it is there
    text: str  # what was found, or how to get it


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(commands, "doctor", run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    del arguments
    findings = list(examine())
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark = {True: "✓", False: "✗", None: "·"}[finding.fine]
        say(f" {mark} {finding.what.ljust(width)}  {finding.text}")
    missing = sum(finding.fine is False for finding in findings)
    say()
    say(
        "Everything is installed."
        if not missing
        else f"Missing: {missing}; see the lines marked ✗."
    )
    return 1 if missing else 0


def examine() -> Iterator[Finding]:
    """Look at everything the package needs."""
    from medn_edu import __version__

    yield Finding("medn_edu", True, __version__)
    yield Finding("Python", True, f"{platform.python_version()} ({sys.executable})")
    yield Finding("computer", True, f"{platform.platform()}, {available_cpus()} processors")
    for name in _REQUIRED:
        yield _package(name, needed=True, remedy=f"pip install {name}")
    yield _package("jupyterlab", needed=True, remedy="pip install 'medn_edu[lab]'")
    yield _package(
        "selectolax", needed=False, remedy="reads web pages: pip install 'medn_edu[web]'"
    )
    for name in ("python-crfsuite", "hmmlearn"):
        yield _package(
            name, needed=False, remedy="only `bench` uses it: pip install 'medn_edu[bench]'"
        )
    yield _kernels()
    yield _ocr()
    yield _browser()
    yield _threads()


def _package(name: str, *, needed: bool, remedy: str) -> Finding:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False if needed else None, f"not installed; {remedy}")
    return Finding(name, True, version)


def _kernels() -> Finding:
    if importlib.util.find_spec("numba") is None:
        return Finding("kernels", False, "numba is missing")
    from medn_edu.bench.warmup import compiled_files, kernel_cache

    folder = kernel_cache()
    count = compiled_files(folder)
    state = f"{count} compiled" if count else "not compiled yet: medn-edu warmup (or first use)"
    return Finding("kernels", True if count else None, f"{state}, in {folder}")


def _ocr() -> Finding:
    from medn_edu.datasets import status

    found = status()
    return Finding("OCR letters", found.valid, str(found.path) if found.valid else found.problem)


def _browser() -> Finding:
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    text = found or "none found; only the browser tests need it: apt install chromium"
    return Finding("Chromium", True if found else None, text)


def _threads() -> Finding:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    limits = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    return Finding(
        "threads", True, f"{available_cpus()} by default" + "".join(f", {x}" for x in limits)
    )
