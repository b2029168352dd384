"""``medn-edu progress``: which exercises are solved."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from medn_edu.cli.console import CommandError, add_course_folder, say

_DESCRIPTION = """\
Show which exercises of the course you have solved.

Checks that say "Right" note it in medn-progress.json next to the notebooks; nothing leaves this
computer.

examples:
  medn-edu progress                              of the course in ./medn-course
  medn-edu progress . --export progress.csv      a table, for a lecturer or a spreadsheet
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "progress",
        help="show which exercises are solved",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_course_folder(parser, "the course")
    parser.add_argument("--export", type=Path, metavar="FILE", help="write the table as CSV, too")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from medn_edu.course import progress

    folder = Path(os.path.expanduser(arguments.folder))
    found = progress(folder)
    if not any(folder.glob("*.ipynb")):
        raise CommandError(
            f"{folder} holds no notebooks of the course; name the folder that `medn-edu lab` has made."
        )
    say(repr(found))
    if arguments.export is not None:
        say(f"The table is in {found.export(arguments.export)}")
    return 0
