"""``medn-edu bench``: how fast this package is, next to others."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medn_edu.cli.console import (
    Progress,
    add_command,
    add_common_options,
    results_folder,
    say,
)

if TYPE_CHECKING:
    from medn_edu.bench.rows import BenchRow


_FOOTNOTES = """\
CRFs: seconds until the objective is there, for both; reading the data is not counted.  On text they
are seconds of the processor, and the best known objective is the best that either found in this run;
objectives are evaluated anew, by code of neither library, from the final weights.  Gaps are
certified duality gaps.  Variational: three quadratic programs, each to a gap of 1 %.  Viterbi and
marginals: features times weights included; samples packed beforehand for us, ItemSequences made
beforehand for CRFsuite.  hmmlearn: its recursions over emissions that are features times weights (a
subclass of its BaseHMM), word by word or all in one, whichever is faster."""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "bench", run)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--quick", action="store_true", help="leave out the slow measurements")
    what.add_argument(
        "--accuracy",
        action="store_true",
        help="measure distances from known optima instead of times",
    )
    add_common_options(parser, "seed", "out", seed=None)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    folder = results_folder(arguments.out)
    from medn_edu.bench.rows import machine_facts

    # What has never been seen, nothing was tuned to; the seed in the table draws it again.
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    facts = machine_facts()
    if not arguments.accuracy:
        facts["seed"] = f"{seed}, for the generated sentences"
    for name, fact in facts.items():
        say(f"{name:10} {fact}")
    name, what, rows = _accuracy() if arguments.accuracy else _speed(seed, quick=arguments.quick)
    footnotes = "" if arguments.accuracy else _FOOTNOTES
    say()
    say("\n\n".join(filter(None, [_table(rows), footnotes])))
    _write(folder / name, rows, _page(name, what, rows, facts, footnotes))
    say(f"\nThe table is in {folder / name}.csv and {folder / name}.md")
    return 1 if any(row.reached is False for row in rows) else 0


def _accuracy() -> tuple[str, str, list[BenchRow]]:
    """Measure distances from optima."""
    from medn_edu.bench.accuracy import measure_accuracy

    with Progress("Solving", "solvers") as progress:
        rows = measure_accuracy(progress)
    return "accuracy", "small enumerated problems, and digit words", rows


def _speed(seed: int, *, quick: bool) -> tuple[str, str, list[BenchRow]]:
    """Measure times and memory."""
    from medn_edu.bench.rows import is_busy, measure, report
    from medn_edu.datasets import status

    letters = status()
    if not letters.valid:
        say(f"Measured on digit words, for which there are hardly any targets: {letters.problem}")
    data = "ocr" if letters.valid else "digits"
    if is_busy():
        say(
            "This machine is busy with something else: the times below are longer than they need be."
        )
    with Progress("Measuring", "tasks") as progress:
        rows = report(measure(data, seed=seed, quick=quick, progress=progress), data)
    words = "digit words (targets apply to synthetic sequences and to text only)"
    return "bench", "OCR letters, folds 1-9" if letters.valid else words, rows


def _write(path: Path, rows: list[BenchRow], page: str) -> None:
    from medn_edu.bench.rows import COLUMNS
    from medn_edu.files import write_atomically
    from medn_edu.studies.kit.tables import csv_text

    write_atomically(path.with_suffix(".csv"), csv_text([vars(row) for row in rows], COLUMNS))
    write_atomically(path.with_suffix(".md"), page)


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
    from medn_edu.studies.kit.summary import Table

    different = dict.fromkeys(row.remark for row in rows if row.remark)
    remarks = {remark: f"[{number}]" for number, remark in enumerate(different, 1)}
    cells = [[*_cells(row)[:-1], remarks.get(row.remark, "")] for row in rows]
    table = Table([*_HEADERS[:-1], ""], cells, [1, 2, 3]).text()
    notes = "\n".join(f"  {number} {remark}" for remark, number in remarks.items())
    return f"{table}\n\n{notes}"


def _page(name: str, what: str, rows: list[BenchRow], facts: dict[str, str], footnotes: str) -> str:
    from medn_edu.studies.kit.summary import Table

    option = " --accuracy" if name == "accuracy" else ""
    lines = "".join(f"- {fact}: {value}\n" for fact, value in facts.items())
    table = Table(_HEADERS, [_cells(row) for row in rows]).markdown()
    return (
        f"# medn-edu bench{option}\n\n- data: {what}, one thread\n{lines}\n{table}\n{footnotes}\n"
    )
