"""``medn-edu demo``: all models on embedded handwriting."""

from __future__ import annotations

import argparse
import textwrap
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
    from medn_edu.studies.demo import COLUMNS, draw_demo, run_demo
    from medn_edu.studies.kit.tables import csv_text

    n_jobs = arguments.jobs or available_cpus()
    with Progress("Training", "models") as progress:
        words, rows = run_demo(seed=arguments.seed, n_jobs=n_jobs, progress=progress)
    say(_headline(words))
    say()
    say(_table(rows))
    say()
    table = write_atomically(folder / "demo.csv", csv_text([vars(row) for row in rows], COLUMNS))
    figure = draw_demo(words, rows, folder / "demo.png")
    say(f"The table is in {table}, the figure in {figure}")
    say("Next: `medn-edu lab` opens the course that explains all this.")
    return 0


def _headline(words: Any) -> str:
    n_letters = sum(len(words.target[i]) for i in words.test)
    n_features = words.data[0].shape[1]
    return (
        f"Handwritten digit words: {len(words.train)} to train on, {len(words.test)} "
        f"({n_letters} digits) to test, {n_features} pixels a digit"
    )


def _table(rows: Any) -> str:
    from medn_edu.studies.kit.models import MODELS
    from medn_edu.studies.kit.tables import text_table

    cells = [
        [
            row.model,
            f"{100 * row.error:.1f} %",
            f"{row.seconds:.2f} s",
            "–" if row.relative_gap is None else f"{100 * row.relative_gap:.2g} %",
            f"{row.n_nonzero}",
            f"{row.n_large}",
            "–" if row.n_support is None else f"{row.n_support:.1f}",
            MODELS[row.model].summary,
        ]
        for row in rows
    ]
    headers = ["model", "error", "time", "gap", "non-zero", "large", "support", "what it is"]
    notes = [
        "error: share of wrong labels in the test words.  gap: certified distance to the optimum, "
        "relative to it; the plain CRF and the baseline have no certificate, and the variational "
        "method does not aim at it.",
        f"non-zero, large: weights of {rows[-1].n_weights} that are not zero, and that are at least "
        "1 % of the largest.  support: wrong labellings per training word with positive dual variables.",
    ]
    wrapped = [
        textwrap.fill(note, 96, initial_indent="  ", subsequent_indent="    ") for note in notes
    ]
    table = text_table(headers, cells, right=[1, 2, 3, 4, 5, 6])
    return "\n".join([table, "", *wrapped])
