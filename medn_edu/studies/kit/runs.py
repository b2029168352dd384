"""How long the runs of a study took: a line of ``runs.csv`` for each, apart from the tables.

A killed run leaves its fits but no line.  The log then does not account for all fits, and the clock
time is unknown.
"""

import datetime
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from medn_edu import __version__
from medn_edu.files import write_atomically
from medn_edu.studies.kit.specs import Row, Study
from medn_edu.studies.kit.tables import csv_text, read_csv

RUN_COLUMNS = ("date", "version", "fits", "jobs", "backend", "seconds", "cpu_seconds")
"""Columns of ``runs.csv``: fits made in the run, time by the clock, and the processor's of training."""


def note_run(
    folder: Path,
    *,
    n_fits: int,
    n_jobs: int | None,
    backend: str,
    seconds: float,
    cpu_seconds: float,
) -> None:
    """Add a run to the log of a study."""
    date = datetime.date.today().isoformat()
    line = (date, __version__, n_fits, n_jobs, backend, round(seconds, 1), round(cpu_seconds, 1))
    runs = [*read_runs(folder), dict(zip(RUN_COLUMNS, line, strict=True))]
    write_atomically(folder / "runs.csv", csv_text(runs, RUN_COLUMNS))


def read_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the log of a study."""
    file = folder / "runs.csv"
    if not file.exists():
        return []
    try:
        at_least_0 = (0.0, math.inf)
        ranges = dict.fromkeys(("fits", "jobs", "seconds", "cpu_seconds"), at_least_0)
        runs = read_csv(file.read_text(encoding="utf-8"), ranges)
    except ValueError as error:
        raise ValueError(
            f"{file} is damaged: {error}  Remove it, or --force a new start."
        ) from None
    return [{name: run.get(name) for name in RUN_COLUMNS} for run in runs]


def summed_up(folder: Path, rows: Iterable[Row]) -> dict[str, Any]:
    """Return in one row what it took to make all fits of a study."""
    times = {row["key"]: row["cpu_seconds"] for row in rows}  # the last row of a fit tells
    runs = [run for run in read_runs(folder) if str(run["version"]) == __version__]
    made = [run for run in runs if run["fits"]] or runs[-1:]
    whole = bool(made) and sum(run["fits"] or 0 for run in made) >= len(times)

    def common(name: str) -> Any:
        values = {run[name] for run in made}
        return values.pop() if len(values) == 1 else None

    jobs = common("jobs")  # None if they differ, and then the clock says little
    return {
        "date": made[-1]["date"] if made else datetime.date.today().isoformat(),
        "version": __version__,
        "fits": len(times),
        "jobs": jobs,
        "backend": common("backend"),
        "seconds": round(sum(run["seconds"] or 0 for run in made), 1) if whole and jobs else None,
        "cpu_seconds": round(sum(time or 0.0 for time in times.values()), 1),
    }


def origin(study: Study, scale: str, seed: int, run: dict[str, Any]) -> str:
    """Return the sentence that ends a caption: what made the figure, when, and how long it took."""
    asked = command(study.name, scale, seed) if study.scaled else command(study.name)
    made = f"Made by `{asked}`, medn_edu {run['version']}, {run['date']}"
    if not study.scaled:
        return f"{made}."
    clock = f" in {duration_text(run['seconds'])}" if run["seconds"] is not None else ""
    if not study.trains:
        return f"{made}: seed {seed}{',' * bool(clock)}{clock}."
    fits = "1 fit" if run["fits"] == 1 else f"{run['fits']:,} fits"
    jobs = f" with {run['jobs']} job{'s' * (run['jobs'] > 1)}" if run["jobs"] else ""
    cpu = duration_text(run["cpu_seconds"])
    return f"{made}: seed {seed}, {fits}{clock}{jobs}, {cpu} of processor time."


def command(study: str, scale: str | None = None, seed: int = 0) -> str:
    """Return the command that runs a study."""
    options = (f" --scale {scale}" if scale else "") + (f" --seed {seed}" if seed else "")
    return f"medn-edu reproduce {study}{options}"


def expected_time(duration: str, scale: str) -> str:
    """Return how long a study takes at one scale."""
    parts = dict(part.split(" ", 1) for part in duration.split(", ") if " " in part)
    return parts.get(scale, duration)


def duration_text(seconds: float) -> str:
    """Return a time for readers."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 10 else f"{minutes:.0f} min"
