"""``medn-edu app``: the course's moving figures alone, served by Voila."""

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

from medn_edu.cli.console import CommandError, add_command, add_server_options, say, serve


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "app", run)
    add_server_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if importlib.util.find_spec("voila") is None:
        raise CommandError(
            "Voila is not installed; get it with: "
            f"{Path(sys.executable).name} -m pip install 'medn_edu[lab]'"
        )
    from medn_edu.course.gallery import app_pages

    pages = app_pages()
    with tempfile.TemporaryDirectory(prefix="medn-edu-app-") as folder:
        for name, text in pages.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        say("Starting Voila; Ctrl-C ends it.")
        command = app_command(Path(folder), browser=not arguments.no_browser, port=arguments.port)
        return serve(command)


def app_command(folder: Path, *, browser: bool, port: int | None) -> list[str]:
    """Return the command that serves the pages of a folder."""
    command = [sys.executable, "-m", "voila", str(folder), "--Voila.ip=127.0.0.1", "--token"]
    command.append("--classic-tree")  # a plain list of the pages
    if port is not None:
        command.append(f"--Voila.port={port}")
    return command if browser else [*command, "--no-browser"]
