"""``medn-edu progress``: which exercises are solved."""

import argparse
import os
from pathlib import Path
from typing import Any

from medn_edu.cli.console import CommandError, add_command, add_course_folder, say


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "progress", run)
    add_course_folder(parser, "the course")
    parser.add_argument("--export", type=Path, metavar="FILE", help="also write the table as CSV")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from medn_edu.course import progress
    from medn_edu.course.navigation import START

    folder = Path(os.path.expanduser(arguments.folder))
    found = progress(folder)
    if not (folder / START).exists():
        raise CommandError(
            f"{folder} isn't a folder of the course: {START} is missing. "
            "Name the folder that `medn-edu lab` has made."
        )
    say(repr(found))
    if arguments.export is not None:
        say(f"The table is in {found.export(arguments.export)}")
    return 0
