"""``medn-edu demo``: all models on embedded handwriting."""

import argparse
from typing import Any

from medn_edu.cli.console import (
    Progress,
    add_command,
    add_common_options,
    available_cpus,
    results_folder,
    say,
)
from medn_edu.cli.warmup import warm_with_progress


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "demo", run)
    add_common_options(parser, "jobs", "seed", "out")


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
