"""The command line, ``medn-edu``.

Each command is a module with ``add_parser`` and ``run``.  What a command needs is imported when it
runs, so that ``medn-edu --help`` answers at once, without compiler or plotting library.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from medn_edu import __version__
from medn_edu.cli import (
    app,
    bench,
    claims,
    course,
    data,
    demo,
    doctor,
    lab,
    progress,
    reproduce,
    site,
    warmup,
)
from medn_edu.cli.console import WORDS, CommandError, flush, make_streams_safe, say

__all__ = ["main"]

_COMMANDS = (demo, lab, app, course, progress, site, reproduce, claims, bench, data, doctor, warmup)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps each command on one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = 15  # indented commands are not counted with their indent


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="medn-edu",
        **WORDS["medn-edu"],
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"medn-edu {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        module.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command."""
    make_streams_safe()
    try:
        try:
            arguments = build_parser().parse_args(argv)
            return int(arguments.run(arguments))
        finally:
            flush()  # what the parser has printed, too
    except KeyboardInterrupt as stop:
        kept = str(stop) or "What was finished is kept; nothing is half-written."
        _complain(f"\nStopped. {kept}")
        return 130
    except BrokenPipeError:  # `medn-edu ... | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if os.environ.get("MEDN_EDU_DEBUG"):
            raise
        _complain(f"medn-edu: {_sentence(error)}")
        return 2


def _complain(text: str) -> None:
    with contextlib.suppress(CommandError, BrokenPipeError):  # nobody can be told
        say(text, file=sys.stderr)


def _sentence(error: Exception) -> str:
    """Return an error as one sentence; what nobody foresaw with the way to its traceback."""
    from medn_edu.datasets import DataError

    text = " ".join(str(error).split())
    plain_oserror = isinstance(error, OSError) and error.strerror is None
    if isinstance(error, (CommandError, DataError, ValueError)) or plain_oserror:
        return text
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {(error.strerror or text).lower()}."
    return f"unexpected {type(error).__name__}: {text} (MEDN_EDU_DEBUG=1 shows where it happened)."
