"""``medn-edu claims``: which statements of the papers hold here."""

import argparse
from pathlib import Path
from typing import Any

from medn_edu.cli.console import CommandError, add_command, say


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "claims", run)
    parser.add_argument(
        "name", nargs="*", help="a claim, a sentence of a paper, or the beginning of its name"
    )
    parser.add_argument(
        "--results", type=Path, default=None, metavar="DIR",
        help="results folder of `medn-edu reproduce` (default: the published tables)",
    )  # fmt: skip
    parser.add_argument(
        "--write", type=Path, default=None, metavar="FILE", help="write the ledger as Markdown"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from medn_edu.files import write_atomically
    from medn_edu.studies.claims import ledger_text, load_tables, make_ledger
    from medn_edu.studies.claims.ledger import details, overview

    wanted = _wanted(arguments.name)
    fits = _fits(arguments.results)
    ledger = make_ledger(load_tables(arguments.results), fits)
    if wanted:
        say("\n\n".join(details(ledger.entries[name]) for name in wanted))
    else:
        say(overview(ledger))
    if arguments.write is not None:
        from medn_edu.studies.claims.forest import draw_forest  # which needs Matplotlib

        file = write_atomically(arguments.write, ledger_text(ledger))
        draw_forest(ledger, file.with_name("claims.png"))
        _renew_page(file)
        say(f"\nThe ledger is {file}, with its plot next to it.")
    elif not wanted:
        say(f"\nFor the details of a claim: medn-edu claims {next(iter(ledger.entries))}")
    return 0


def _fits(results: Path | None) -> dict[str, str]:
    """Return how many fits there are of studies that lack some; complain if there is no study at all."""
    from medn_edu.studies.claims.ledger import unfinished

    if results is None:  # what is published is whole
        return {}
    if not results.is_dir():
        raise CommandError(f"there is no folder {results}.")
    if not any(results.glob("*-paper/results.csv")) and not any(
        results.glob("*-paper/journal.csv")
    ):
        raise CommandError(
            f"there are no results at paper scale in {results}; expected folders such as "
            f"{results / 'ocr-paper'}, as `medn-edu reproduce ocr --scale paper` makes them."
        )
    return unfinished(results)


def _renew_page(ledger: Path) -> None:
    """Write the page of the figures next to a ledger anew, as it links to it."""
    from medn_edu.studies.kit.gallery import write_page
    from medn_edu.studies.registry import STUDIES

    page = ledger.with_name("README.md")
    is_gallery = page.is_file() and page.read_text(encoding="utf-8").startswith("# Figures\n")
    if ledger.name == "claims.md" and is_gallery:
        write_page(ledger.parent, STUDIES.values())


def _wanted(names: list[str]) -> list[str]:
    """Return the claims that are meant, by names or sentences of papers, in the order asked for."""
    from medn_edu.studies.claims import CLAIMS

    found: dict[str, None] = {}
    for name in names:
        called = {claim.name: [claim.name, *claim.said] for claim in CLAIMS.values()}
        meant = [claim for claim, all_ids in called.items() if name in all_ids] or [
            claim for claim, all_ids in called.items() if any(i.startswith(name) for i in all_ids)
        ]
        if not meant:
            raise CommandError(
                f"there is no claim {name!r}; `medn-edu claims` lists them all, "
                f"beginning with {next(iter(CLAIMS))}."
            )
        found.update(dict.fromkeys(meant))
    return list(found)
