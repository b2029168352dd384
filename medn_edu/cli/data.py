"""``medn-edu data``: which data sets there are, and downloading those that are missing."""

import argparse
import os
import sys
from typing import Any

from medn_edu.cli.console import add_command, say

# What each data set holds, and what to do when it is here.
_TITLES = {
    "ocr": ("The OCR letters", "medn-edu reproduce ocr"),
    "wnut17": ("The WNUT17 sentences", "medn-edu bench"),
    "bach": ("The Bach chorales", "medn-edu reproduce chorales"),
    "sst": ("The trees of the Stanford Sentiment Treebank", "medn-edu reproduce sentiment"),
}


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "data")
    actions = parser.add_subparsers(title="actions", metavar="status|fetch", required=True)
    status = actions.add_parser("status", help="show which data sets are here, and where")
    status.set_defaults(run=run_status)
    fetch = actions.add_parser("fetch", help="download a data set (about 1 MB, once)")
    fetch.add_argument(
        "name", nargs="?", choices=list(_TITLES), default="ocr", help="which one (default: ocr)"
    )
    fetch.set_defaults(run=run_fetch)


def run_status(arguments: argparse.Namespace) -> int:
    """Say which data are here."""
    del arguments
    from medn_edu.datasets import status

    say("digits  here, part of scikit-learn")
    found = {name: status(name=name) for name in _TITLES}
    for name, each in found.items():
        if each.valid:
            say(f"{name:7} here, {each.n_bytes / 1e6:.1f} MB, checked: {each.path}")
        else:
            say(f"{name:7} {'not here' if each.path is None else 'unusable'}: {each.problem}")
    # The letters are what the course and the studies are about; the rest is for those who ask for it.
    return 0 if found["ocr"].valid else 1


def run_fetch(arguments: argparse.Namespace) -> int:
    """Download what is missing."""
    from medn_edu.datasets import fetch

    watched = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    found = fetch(name=arguments.name, progress=watched)
    title, following = _TITLES[arguments.name]
    say(f"{title} are here and checked: {found.path}")
    say(f"Next: {following}")
    return 0
