"""``medn-edu course``: editions of the course for teaching."""

import argparse
from typing import Any

from medn_edu.cli.console import CommandError, add_command, add_course_folder, say


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "course", run)
    add_course_folder(parser, "where to put it")
    parser.add_argument(
        "--edition",
        choices=("self-study", "student", "instructor"),
        help="which edition (default: the one already in the folder, or self-study)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from medn_edu.course import copy_course

    try:
        copied = copy_course(arguments.folder, edition=arguments.edition)
    except ModuleNotFoundError as error:
        raise CommandError(
            f"{error.name} is not installed; install it with: pip install 'medn_edu[lab]'"
        ) from None
    say_copied(copied)
    say(f"Open it with: medn-edu lab {arguments.folder}")
    return 0


def say_copied(copied: Any) -> None:
    """Say what `medn_edu.course.copy_course` did."""
    say(f"The course is in {copied.folder.resolve()}")
    for name in copied.updated:
        say(f"  {name} replaced by a newer version")
    for name, newer in copied.beside.items():
        say(f"  {name} has your edits and is kept; the newer version is {newer}")
