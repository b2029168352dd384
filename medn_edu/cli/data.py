"""``medn-edu data``: what data there are, and getting the OCR letters."""

import argparse
import os
import sys
from typing import Any

from medn_edu.cli.console import add_command, say


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "data")
    actions = parser.add_subparsers(title="actions", metavar="status|fetch", required=True)
    status = actions.add_parser("status", help="say which data are here, and where (at once)")
    status.set_defaults(run=run_status)
    fetch = actions.add_parser("fetch", help="download the OCR letters (1.1 MB, once)")
    fetch.set_defaults(run=run_fetch)


def run_status(arguments: argparse.Namespace) -> int:
    """Say which data are here."""
    del arguments
    from medn_edu.datasets import status

    say("digits  here, part of scikit-learn")
    found = status()
    if found.valid:
        say(f"ocr     here, {found.n_bytes / 1e6:.1f} MB, checked: {found.path}")
        return 0
    say(f"ocr     {'not here' if found.path is None else 'unusable'}: {found.problem}")
    return 1


def run_fetch(arguments: argparse.Namespace) -> int:
    """Download what is missing."""
    del arguments
    from medn_edu.datasets import fetch

    watched = sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    found = fetch(progress=watched)
    say(f"The OCR letters are here and checked: {found.path}")
    say("Next: medn-edu reproduce ocr")
    return 0
