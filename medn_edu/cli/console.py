"""What every command shares: saying things on any console, failing in one sentence, progress."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, TextIO

from medn_edu.files import reason

__all__ = [
    "CommandError",
    "Progress",
    "add_common_options",
    "available_cpus",
    "make_streams_safe",
    "results_folder",
    "say",
]

# How a progress bar ends: 3/120 fits, 00:10 so far, 06:30 left.
_BAR = (
    "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{unit}, "
    "{elapsed} so far, {remaining} left{postfix}"
)

# What a console that lacks a character gets instead.
_PLAIN = str.maketrans(
    {
        "─": "-", "–": "-", "—": "-", "→": "->", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=",
        "…": "...", "✓": "ok", "✗": "NO", "·": "*", "½": "1/2", "²": "^2", "‖": "|", "λ": "lam",
        "Σ": "sum", "ξ": "xi", "³": "^3", "≈": "~", "’": "'",
    }
)  # fmt: skip


class CommandError(Exception):
    """Something the user can put right; its text is the sentence to print."""


def make_streams_safe() -> None:
    """Let no character that a console lacks end a command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def say(text: str = "", *, file: TextIO | None = None) -> None:
    """Print a text at once, in plain ASCII where the console knows no more.

    Parameters
    ----------
    text : str
        The text.
    file : text stream, optional
        Where to print; standard output by default.
    """
    stream = sys.stdout if file is None else file
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = text.translate(_PLAIN)
    print(text, file=stream, flush=True)


def add_common_options(
    parser: argparse.ArgumentParser, *names: str, jobs: str = "threads to use"
) -> None:
    """Add options that several commands have.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The command's parser.
    *names : {"jobs", "seed", "out"}
        Which of them.
    jobs : str
        What ``--jobs`` counts.
    """
    if "jobs" in names:
        parser.add_argument(
            "--jobs", type=_count, default=None, metavar="N",
            help=f"{jobs} (default: all processors); results do not depend on it",
        )  # fmt: skip
    if "seed" in names:
        parser.add_argument(
            "--seed", type=_seed, default=0, metavar="N",
            help="seed of all random draws (default: 0)",
        )  # fmt: skip
    if "out" in names:
        parser.add_argument(
            "--out", type=Path, default=Path("medn-results"), metavar="DIR",
            help="folder for results (default: ./medn-results)",
        )  # fmt: skip


def available_cpus() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def results_folder(folder: Path, option: str = "--out") -> Path:
    """Make the folder for results and make sure that it can be written, before any work is done.

    Parameters
    ----------
    folder : Path
        The folder.
    option : str
        What names another one.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    CommandError
        If it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise CommandError(
            f"the results folder {folder} cannot be written ({reason(error)}); "
            f"choose another with {option}."
        ) from None


class Progress:
    """A progress bar on standard error, only where somebody watches and after two seconds.

    Parameters
    ----------
    what : str
        What is going on.
    unit : str
        What is counted.
    delay : float, default=2.0
        Seconds to wait before showing anything.
    """

    def __init__(self, what: str, unit: str, delay: float = 2.0) -> None:
        self.what = what
        self.unit = unit
        self.delay = delay
        self.bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def __call__(self, n_done: int, n_all: int, what: str = "") -> None:
        """Say how far things are; the first call fixes what counts as the start."""
        if self.bar is None:
            from tqdm import tqdm

            # disable=None: silent unless standard error is a terminal; TQDM_DISABLE silences too.
            self.bar = tqdm(
                total=n_all, initial=n_done, desc=self.what, unit=f" {self.unit}",
                leave=False, delay=self.delay, disable=True if _is_disabled() else None,
                bar_format=_BAR,
            )  # fmt: skip
        if what:
            self.bar.set_postfix_str(what, refresh=False)
        self.bar.update(n_done - self.bar.n)


def _is_disabled() -> bool:
    return os.environ.get("TQDM_DISABLE", "") not in ("", "0")


def _count(text: str) -> int:
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def _seed(text: str) -> int:
    number = _whole(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
