"""Processes that tests start, signal and never leave behind."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process that hears Ctrl-C, in a session of its own, of which nothing is left at the end.

    A shell starts what it puts into the background with Ctrl-C ignored, and children inherit this.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, start_new_session=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:  # it may have sessions to end that only it knows
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(60)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)


def is_running(pid: str) -> bool:
    """Say whether a process is there, and more than a note of how it ended; needs ``/proc``."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait for something that must be so in time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)
