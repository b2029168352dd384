"""What commands share: saying things on any console, failing in one sentence, progress, serving."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from medn_edu.files import reason

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


WORDS = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
"""What each command says of itself: its help, description and epilog."""


class CommandError(Exception):
    """Something the user can put right; its text is the sentence to print."""


def make_streams_safe() -> None:
    """Make sure that a character the console cannot print never ends a command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def say(text: str = "", *, file: TextIO | None = None) -> None:
    """Print a text at once, in plain ASCII if the console can show nothing else."""
    stream = sys.stdout if file is None else file
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = text.translate(_PLAIN)
    with _complaints_about(stream):
        print(text, file=stream, flush=True)


def flush() -> None:
    """Flush what was printed, so a full disk is reported now and not when Python shuts down."""
    with _complaints_about(sys.stdout):
        print(end="", flush=True)


@contextlib.contextmanager
def _complaints_about(stream: TextIO) -> Iterator[None]:
    """Say which stream refused what was printed; the rest of it goes nowhere."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        with contextlib.suppress(OSError):  # a stream without a file
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        name = "standard error" if stream is sys.stderr else "standard output"
        raise CommandError(f"{name}: {reason(error)}.") from None


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int] | None = None,
    formatter_class: Any = argparse.RawDescriptionHelpFormatter,
) -> argparse.ArgumentParser:
    """Add a command, its help texts and the function that runs it; return its own parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, **WORDS[name], formatter_class=formatter_class
    )
    parser.set_defaults(run=run)
    return parser


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add options of commands that open a browser."""
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, open no browser"
    )
    parser.add_argument(
        "--port", type=_port, default=None, metavar="N",
        help="port to listen on, or the next free one if it is taken",
    )  # fmt: skip


def add_common_options(
    parser: argparse.ArgumentParser,
    *names: str,
    jobs: str = "threads to use",
    seed: int | None = 0,
) -> None:
    """Add options that several commands have."""
    if "jobs" in names:
        parser.add_argument(
            "--jobs", type=_count, default=None, metavar="N",
            help=f"{jobs} (default: all processors); the results do not depend on it",
        )  # fmt: skip
    if "seed" in names:
        parser.add_argument(
            "--seed", type=_seed, default=seed, metavar="N",
            help=f"seed for all random draws (default: {'a new one' if seed is None else seed})",
        )  # fmt: skip
    if "out" in names:
        parser.add_argument(
            "--out", type=Path, default=Path("medn-results"), metavar="DIR",
            help="folder for results (default: ./medn-results)",
        )  # fmt: skip


def add_course_folder(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the argument DIR, the folder of the course."""
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("medn-course"), metavar="DIR",
        help=f"{what} (default: ./medn-course)",
    )  # fmt: skip


def available_cpus() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def results_folder(folder: Path, option: str = "--out") -> Path:
    """Make the folder for results and make sure that it can be written, before any work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise CommandError(
            f"the results folder {folder} cannot be written ({reason(error)}); "
            f"choose another with {option}."
        ) from None


def serve(command: Sequence[str], *, patience: float = 10.0, **folders: Path) -> int:
    """Run a server until it ends or this process is asked to stop, and leave nothing running.

    Each of the folders is appended to the environment variable with its name, a list of folders.

    Ctrl-C is the usual way to stop.  A request to terminate, or the end of the terminal, raises
    `SystemExit` once the server has gone, so that what is around this call can tidy up.
    """
    places = {
        name: os.pathsep.join(filter(None, (os.environ.get(name), str(folder))))
        for name, folder in folders.items()
    }
    with _requests_to_end_raise():
        # In a session of its own all that it starts can be ended with it, by whatever signal.
        server = subprocess.Popen(command, start_new_session=True, env=os.environ | places)
        try:
            return server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            _end(server, patience)


@contextlib.contextmanager
def _requests_to_end_raise() -> Iterator[None]:
    """Let signals that would end this process at once raise `SystemExit` instead."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {}
    if threading.current_thread() is threading.main_thread():  # no other may handle signals
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has not both
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(server: subprocess.Popen[bytes], patience: float) -> None:
    """Ask a server to shut down, wait, and kill what is left of its group."""
    _signal_group(server, "SIGTERM")
    # Who asks again while it shuts down has no more patience.
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt, SystemExit):
        server.wait(patience)
    _signal_group(server, "SIGKILL")
    server.kill()
    server.wait()


def _signal_group(server: subprocess.Popen[bytes], name: str) -> None:
    if os.name != "posix":  # no groups; Ctrl-C has reached the server already
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(server.pid, getattr(signal, name))


class Progress:
    """A progress bar on standard error, shown after two seconds and only on a terminal."""

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


def _port(text: str) -> int:
    """Read the number of a port from the command line."""
    number = _whole(text)
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 65535")
    return number


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
