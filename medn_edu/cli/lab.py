"""``medn-edu lab``: the course in JupyterLab."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from medn_edu.cli.console import CommandError, add_course_folder, port, say, serve
from medn_edu.cli.course import say_copied

_DESCRIPTION = """\
Copy the course into a folder and open it in JupyterLab.

Notebooks that you have edited are never overwritten: where a newer version exists, it is laid next
to yours.  The server listens on this computer only and asks for its token, which the browser is
handed.  Needs the extra `lab` (pip install 'medn_edu[lab]'); works without a network.

examples:
  medn-edu lab                          the course in ./medn-course
  medn-edu lab ~/teaching --port 8899   elsewhere, on a port of your own
  medn-edu lab --no-browser             only print the address
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "lab",
        help="open the course in JupyterLab",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_course_folder(parser, "where to put the course")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--port", type=port, default=None, metavar="N",
        help="port to listen on; one near it where it is taken",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from medn_edu.course import copy_course

    say_copied(copy_course(arguments.folder))
    if importlib.util.find_spec("jupyterlab") is None:
        raise CommandError(
            "JupyterLab is not installed; get it with: "
            f"{Path(sys.executable).name} -m pip install 'medn_edu[lab]'"
        )
    say("Starting JupyterLab; Ctrl-C ends it.")
    command = lab_command(arguments.folder, browser=not arguments.no_browser, port=arguments.port)
    return serve(command)


def lab_command(folder: Path, *, browser: bool, port: int | None) -> list[str]:
    """Return the command that starts JupyterLab in a folder."""
    command = [sys.executable, "-m", "jupyter", "lab", "--ServerApp.ip=127.0.0.1"]
    command.append(f"--ServerApp.root_dir={folder.resolve()}")
    command.append("--ServerApp.answer_yes=True")  # Ctrl-C ends it without asking
    if getattr(os, "geteuid", lambda: 1)() == 0:
        command.append("--allow-root")  # as in containers; it listens on this computer only
    first = folder / "00-start-here.ipynb"
    if first.exists():
        command.append(f"--LabApp.default_url=/lab/tree/{first.name}")
    if port is not None:
        command.append(f"--ServerApp.port={port}")
    return command if browser else [*command, "--no-browser"]
