"""``medn-edu demo``: all models on embedded handwriting."""

from __future__ import annotations

import argparse
from typing import Any

from medn_edu.cli.console import (
    Progress,
    add_common_options,
    available_cpus,
    results_folder,
    say,
)
from medn_edu.cli.warmup import warm_with_progress

_DESCRIPTION = """\
All models learn to read handwritten digits, in words made under a known grammar.

Each digit is blurred by noise, so that its neighbours help to read it: compare "per letter", which
is blind to them, with the others.  Needs no network and no data; takes a few seconds, up to a
minute the first time, when kernels are compiled.

writes into the results folder:
  demo.csv   the table
  demo.png   words as models read them, errors, and the weights that two of them learned

examples:
  medn-edu demo
  medn-edu demo --seed 1 --out /tmp/demo
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="all models read handwritten digits (under a minute)",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_common_options(parser, "jobs", "seed", "out")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    folder = results_folder(arguments.out)
    warm_with_progress()
    from medn_edu.files import write_atomically
    from medn_edu.studies.demo import COLUMNS, demo_table, draw_demo, headline, run_demo
    from medn_edu.studies.kit.tables import csv_text

    n_jobs = arguments.jobs or available_cpus()
    with Progress("Training", "models") as progress:
        words, rows = run_demo(seed=arguments.seed, n_jobs=n_jobs, progress=progress)
    say(headline(words))
    say()
    say(demo_table(rows))
    say()
    table = write_atomically(folder / "demo.csv", csv_text(rows, COLUMNS))
    figure = draw_demo(words, rows, folder / "demo.png")
    say(f"The table is in {table}, the figure in {figure}")
    say("Next: `medn-edu lab` opens the course that explains all this.")
    return 0
