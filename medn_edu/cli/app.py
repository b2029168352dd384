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
            "Voila is not installed; install it with: "
            f"{Path(sys.executable).name} -m pip install 'medn_edu[lab]'"
        )
    from medn_edu.course.figure_pages import TEMPLATE, app_pages, app_template

    with tempfile.TemporaryDirectory(prefix="medn-edu-app-") as root:
        figures = Path(root, "figures")
        for folder, files in (
            (figures, app_pages()),
            (Path(root, "voila", "templates", TEMPLATE), app_template()),
        ):
            folder.mkdir(parents=True)
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
        say("Starting Voila; Ctrl-C ends it.")
        command = app_command(figures, browser=not arguments.no_browser, port=arguments.port)
        return serve([*command, f"--template={TEMPLATE}"], JUPYTER_PATH=Path(root))


def app_command(folder: Path, *, browser: bool, port: int | None) -> list[str]:
    """Return the command that serves the pages of a folder."""
    command = [sys.executable, "-m", "voila", str(folder), "--Voila.ip=127.0.0.1", "--token"]
    command.append("--classic-tree")  # which the template replaces by the index
    # What the course adds to JupyterLab is about notebooks, which Voila has not.
    command.append("--VoilaConfiguration.extension_denylist=medn_edu")
    if port is not None:
        command.append(f"--Voila.port={port}")
    return command if browser else [*command, "--no-browser"]
