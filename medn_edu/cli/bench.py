"""``medn-edu bench``: how fast, beside others."""

from __future__ import annotations

import argparse
from typing import Any

from medn_edu.cli.console import Progress, add_common_options, results_folder, say

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Measure speed and memory beside python-crfsuite and hmmlearn, on one thread, in one run.

Trains on folds 1-9 of the OCR letters; without them on digit words, where only the targets for
synthetic sequences apply.  Takes four to six minutes on a quiet machine, two with --quick, which
leaves out CRFsuite's trainings and compiling everything from cold.  Peers that are not installed
are left out (pip install 'medn_edu[bench]').  The table says how busy your machine was.

writes into the results folder:
  bench.csv, bench.md   the table, with the facts about the machine in the second

examples:
  medn-edu bench
  medn-edu bench --quick --out /tmp/bench
"""

_FOOTNOTES = """\
CRFs: seconds until the objective is there, for both; reading the data is not counted.  Gaps are
certified duality gaps.  Variational: three quadratic programs, each to a gap of 1 %.  Viterbi and
marginals: features times weights included; samples packed beforehand for us, ItemSequences made
beforehand for CRFsuite.  hmmlearn: its recursions over emissions that are features times weights (a
subclass of its BaseHMM), word by word or all in one, whichever is faster."""


def add_parser(commands: Any) -> None:
    """Add the command to the parser.

    Parameters
    ----------
    commands : argparse subparsers
        Where commands are added.
    """
    parser = commands.add_parser(
        "bench",
        help="speed and memory, beside other packages",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="leave out what takes long")
    add_common_options(parser, "out")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : argparse.Namespace
        What the user typed.

    Returns
    -------
    int
        The exit code.
    """
    folder = results_folder(arguments.out)
    from medn_edu.datasets import status
    from medn_edu.experiments.bench import COLUMNS, is_busy, machine_facts, measure, report
    from medn_edu.experiments.tables import csv_text
    from medn_edu.files import write_atomically

    facts = machine_facts()
    letters = status()
    if not letters.valid:
        say(f"On digit words, nearly without targets: {letters.problem}")
    data = "ocr" if letters.valid else "digits"
    for name, fact in facts.items():
        say(f"{name:10} {fact}")
    if is_busy():
        say(
            "This machine is busy with something else: the times below are longer than they need be."
        )
    with Progress("Measuring", "tasks") as progress:
        rows = report(measure(data, quick=arguments.quick, progress=progress), data)
    say()
    say(_table(rows))
    say()
    say(_FOOTNOTES)
    write_atomically(folder / "bench.csv", csv_text([vars(row) for row in rows], COLUMNS))
    write_atomically(folder / "bench.md", _page(rows, facts, data))
    say(f"\nThe table is in {folder / 'bench.csv'} and {folder / 'bench.md'}")
    return 1 if any(row.reached is False for row in rows) else 0


_HEADERS = ["work", "medn_edu", "peer", "ratio", "to reach", "reached", "remark"]


def _cells(row: Any) -> list[str]:
    peer = f"{row.peer} {_number(row.peer_value, row.unit)}" if row.peer_value is not None else "–"
    return [
        row.work,
        _number(row.value, row.unit),
        peer,
        "–" if row.ratio is None else f"{row.ratio:.1f}x",
        row.target or "–",
        {True: "yes", False: "NO", None: "–"}[row.reached],
        row.remark,
    ]


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _table(rows: Any) -> str:
    from medn_edu.experiments.tables import text_table

    different = dict.fromkeys(row.remark for row in rows if row.remark)
    remarks = {remark: f"[{number}]" for number, remark in enumerate(different, 1)}
    cells = [[*_cells(row)[:-1], remarks.get(row.remark, "")] for row in rows]
    table = text_table([*_HEADERS[:-1], ""], cells, right=[1, 2, 3])
    notes = "\n".join(f"  {number} {remark}" for remark, number in remarks.items())
    return f"{table}\n\n{notes}"


def _page(rows: Any, facts: dict[str, str], data: str) -> str:
    from medn_edu.experiments.tables import markdown_table

    what = (
        "OCR letters, folds 1-9"
        if data == "ocr"
        else "digit words (targets apply to synthetic sequences only)"
    )
    lines = "".join(f"- {name}: {fact}\n" for name, fact in facts.items())
    table = markdown_table(_HEADERS, [_cells(row) for row in rows])
    return f"# medn-edu bench\n\n- data: {what}, one thread\n{lines}\n{table}\n{_FOOTNOTES}\n"
