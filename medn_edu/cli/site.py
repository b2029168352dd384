"""``medn-edu site``: the course as a book of static pages whose figures move."""

import argparse
import importlib.util
from pathlib import Path
from typing import Any

from medn_edu.cli.console import CommandError, Progress, add_command, say

NEEDS = (
    "sphinx",
    "myst_nb",
    "sphinx_book_theme",
    "numpydoc",
    "sphinx-mathjax-offline",
    "selectolax",  # the chapter on trees reads web pages
)


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "site", run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to put the book")
    parser.add_argument(
        "--only", nargs="+", metavar="CHAPTER", default=(), help="these chapters, by their names"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if missing := [name for name in NEEDS if importlib.util.find_spec(name) is None]:
        raise CommandError(
            f"{' and '.join(missing)} cannot be found; install what the book needs with: "
            "pip install 'medn_edu[site]'"
        )
    from medn_edu.course.site.book import build_book
    from medn_edu.course.syllabus import chapter

    for slug in arguments.only:
        chapter(slug)
    with Progress("Frames", "chapters") as progress:
        missed = build_book(_checkout(), arguments.folder, arguments.only, progress=progress)
    for sentence in missed:
        say(sentence)
    say(f"The book is in {arguments.folder.resolve()}; open index.html in a browser.")
    return 1 if missed else 0


def _checkout() -> Path:
    """Return the repository: the current folder, or where the package is used from."""
    for folder in (Path.cwd(), Path(__file__).resolve().parents[2]):
        if (folder / "notebooks").is_dir() and (folder / "figures" / "README.md").is_file():
            return folder
    raise CommandError("this folder is no copy of the repository; go to one, and run this again.")
