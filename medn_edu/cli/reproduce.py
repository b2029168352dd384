"""``medn-edu reproduce``: the studies of the papers."""

from __future__ import annotations

import argparse
import statistics
import sys
import textwrap
from collections.abc import Sized
from typing import Any

from medn_edu.cli.console import (
    CommandError,
    Progress,
    add_common_options,
    available_cpus,
    results_folder,
    say,
)
from medn_edu.cli.warmup import warm_with_progress

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Run studies of the papers again: their fits, tables and figures.

Every finished fit is kept at once.  A study that was interrupted, even by a power cut, goes on
where it was when the same command is given again; what is done is not done twice, unless --force
says so.  The tables are the same whatever --jobs is.

On two processors `ocr` takes a minute at quick, 8 minutes at paper scale, `ocr-full` 40 seconds
at either, `l1m3n-algorithms` 20 seconds and 10 minutes, `solvers` 5 and 40 seconds; a minute more
the first time, when kernels are compiled.  `shrinkage` and `kl-norm` fit nothing: they compute
curves, in a second, the same at every scale.

writes into medn-results/STUDY-SCALE, with another seed than 0 into medn-results/STUDY-SCALE-seedN
(--out DIR moves medn-results):
  results.csv   one row per fit, sorted by key
  timings.csv   how long each fit took
  figure.png    the figure
`l1m3n-algorithms` adds table.csv, means over folds, and caption.md with Table 1 beside the paper's
numbers; `solvers` writes traces.csv, timings.csv, table.csv (both together), figure.png and
caption.md
studies without fits write curves.csv, figure.png and caption.md into medn-results/STUDY

examples:
  medn-edu reproduce --list
  medn-edu reproduce shrinkage kl-norm
  medn-edu reproduce ocr
  medn-edu reproduce ocr --scale paper --jobs 4
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser.

    Parameters
    ----------
    commands : argparse subparsers
        Where commands are added.
    """
    parser = commands.add_parser(
        "reproduce",
        help="run studies of the papers again",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", nargs="*", help="names of studies; --list shows all")
    parser.add_argument("--list", action="store_true", help="say what studies there are")
    parser.add_argument(
        "--scale", choices=("quick", "paper"), default="quick",
        help="how much of it: enough to see the result, or all (default: quick)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="forget earlier results, start over")
    add_common_options(parser, "jobs", "seed", "out")
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
    if arguments.list or not arguments.study:
        return _list_studies(asked_for=arguments.list)
    studies = _studies()
    for name in arguments.study:
        if name not in studies:
            known = ", ".join(studies)
            raise CommandError(f"there is no study named {name!r}; there are {known}.")
    return max(_reproduce(studies[name], arguments) for name in arguments.study)


def _studies() -> dict[str, Any]:
    """Return all studies by name."""
    from medn_edu.experiments.studies import STUDIES
    from medn_edu.experiments.studies.curves import CURVES
    from medn_edu.experiments.studies.traces import TRACES

    return {**CURVES, **STUDIES, **TRACES}


def _reproduce(study: Any, arguments: argparse.Namespace) -> int:
    from medn_edu.experiments.specs import CurveStudy, TraceStudy

    if isinstance(study, CurveStudy):
        return _compute_curves(study, arguments)
    if isinstance(study, TraceStudy):
        return _watch_solvers(study, arguments)
    return _make_fits(study, arguments)


def _compute_curves(study: Any, arguments: argparse.Namespace) -> int:
    from medn_edu.experiments.studies.curves import run_curves

    folder = results_folder(results_folder(arguments.out) / study.name)
    rows = run_curves(study, folder)
    say(f"{study.name}: {len(rows)} points.  Table, figure and caption are in {folder}")
    return 0


def _watch_solvers(study: Any, arguments: argparse.Namespace) -> int:
    from medn_edu.experiments.studies.traces import run_traces

    folder = results_folder(results_folder(arguments.out) / _folder_name(study, arguments))
    warm_with_progress()
    with Progress(study.name, "solvers") as progress:
        report = run_traces(study, folder, arguments.scale, arguments.seed, progress)
    say(report.text)
    say()
    say(f"Tables, figure and caption are in {folder}")
    return 0


def _make_fits(study: Any, arguments: argparse.Namespace) -> int:
    from medn_edu.experiments.runner import ResultStore, run_study

    specs = study.specs(arguments.scale, arguments.seed)
    study.split(specs[0])  # without the data, say so before anything is made
    folder = results_folder(results_folder(arguments.out) / _folder_name(study, arguments))
    store = ResultStore.open(folder, study, force=arguments.force)
    n_done = sum(store.is_done(spec) for spec in specs)
    if n_done:
        say(f"{_fits(n_done, specs)} done already; --force would start over.")
    if n_done < len(specs):
        warm_with_progress()
    with Progress(study.name, "fits") as progress:
        n_jobs = arguments.jobs or available_cpus()
        try:
            rows = run_study(study, specs, store, n_jobs=n_jobs, progress=progress)
        except KeyboardInterrupt:
            kept = ResultStore.open(folder, study)  # what is on disk, whatever was under way
            n_done = sum(kept.is_done(spec) for spec in specs)
            raise KeyboardInterrupt(
                f"{_fits(n_done, specs)} kept; the same command goes on from there."
            ) from None
    return _report(study, rows, store, arguments.scale)


def _folder_name(study: Any, arguments: argparse.Namespace) -> str:
    """Return the name of the study's folder; each seed has its own, with a figure of its own."""
    seed = f"-seed{arguments.seed}" if arguments.seed else ""
    return f"{study.name}-{arguments.scale}{seed}"


def _fits(number: int, among: Sized) -> str:
    """Return, for example, ``2 of 6 fits are``."""
    return f"{number} of {_count(len(among))} {'is' if number == 1 else 'are'}"


def _count(number: int) -> str:
    return "1 fit" if number == 1 else f"{number} fits"


def _list_studies(*, asked_for: bool) -> int:
    studies = _studies()
    width = max(map(len, studies))
    for study in studies.values():
        say(f"  {study.name.ljust(width)}  {study.summary} ({study.duration})")
    if not asked_for:
        say("Name one of them: medn-edu reproduce STUDY", file=sys.stderr)
    return 0 if asked_for else 2


def _report(study: Any, rows: list[dict[str, Any]], store: Any, scale: str) -> int:
    """Draw the figure, print the summary, and say what failed."""
    from medn_edu.experiments.runner import write_report

    failed = [row for row in rows if row.get("failure")]
    fine = [row for row in rows if not row.get("failure")]
    if fine:
        timed = store.timed(fine)
        study.draw(timed, store.folder / "figure.png")
        if study.report is None:
            say(_summary(fine, store.seconds))
        else:
            say(write_report(study, timed, store.folder, scale).text)
        say()
        if study.remarks:
            say(textwrap.fill(f"Mind: {study.remarks}", 96))
        say(f"Table, times and figure are in {store.folder}")
    for row in failed:
        say(f"{row['key']} failed: {row['failure']}", file=sys.stderr)
    if failed:
        say(f"{len(failed)} of {_count(len(rows))} failed; the same command tries again.")
    return 1 if failed else 0


def _summary(rows: list[dict[str, Any]], seconds: dict[str, float]) -> str:
    """Return means over folds, one line per data set and model."""
    from medn_edu.experiments.models import MODELS
    from medn_edu.experiments.tables import text_table

    place = {name: number for number, name in enumerate(MODELS)}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["data"], place[row["model"]])):
        groups.setdefault((row["data"], row["model"]), []).append(row)
    headers = [
        "data", "words", "model", "test error", "fits", "non-zero", "large", "support", "gap", "time",
    ]  # fmt: skip
    cells = [_summary_line(*key, group, seconds) for key, group in groups.items()]
    note = (
        "non-zero, large: weights that are not zero, and that are at least 1 % of the largest.  "
        "support: wrong labellings per training word that carry dual mass.  gap: the largest; "
        "time: the median."
    )
    table = text_table(headers, cells, right=[1, 3, 4, 5, 6, 7, 8, 9])
    return f"{table}\n\n{textwrap.fill(note, 96)}"


def _summary_line(
    data: str, model: str, group: list[dict[str, Any]], seconds: dict[str, float]
) -> list[str]:
    def values(column: str) -> list[float]:
        return [row[column] for row in group if row.get(column) is not None]

    def share(column: str) -> str:
        return f"{100 * sum(values(column)) / sum(values('n_weights')):.0f} %"

    errors, gaps, support = values("error"), values("relative_gap"), values("n_support")
    spread = f" ± {statistics.stdev(errors):.3f}" if len(errors) > 1 else ""
    times = [seconds[row["key"]] for row in group if row["key"] in seconds]
    return [
        data,
        str(round(statistics.mean(values("n_train")))),
        model,
        f"{statistics.mean(errors):.3f}{spread}",
        str(len(group)),
        share("n_nonzero"),
        share("n_large"),
        f"{statistics.mean(support):.1f}" if support else "–",
        f"{100 * max(gaps):.2g} %" if gaps else "–",
        f"{statistics.median(times):.2f} s" if times else "–",
    ]
