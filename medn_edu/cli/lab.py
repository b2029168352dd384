"""``medn-edu lab``: the course in JupyterLab."""

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from medn_edu.cli.console import (
    CommandError,
    add_command,
    add_course_folder,
    add_server_options,
    say,
    serve,
)
from medn_edu.cli.course import say_copied


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "lab", run)
    add_course_folder(parser, "where to put the course")
    add_server_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from medn_edu.course import copy_course

    say_copied(copy_course(arguments.folder))
    if importlib.util.find_spec("jupyterlab") is None:
        raise CommandError(
            "JupyterLab is not installed; install it with: "
            f"{Path(sys.executable).name} -m pip install 'medn_edu[lab]'"
        )
    say("Starting JupyterLab; Ctrl-C ends it.")
    command = lab_command(arguments.folder, browser=not arguments.no_browser, port=arguments.port)
    # JupyterLab asks, in a box over the first cell, whether it may fetch its news.  Defaults of ours
    # answer no; a reader's own settings still win.
    return serve(command, JUPYTER_CONFIG_PATH=Path(__file__).with_name("jupyter"))


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
