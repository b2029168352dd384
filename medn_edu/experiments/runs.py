"""How long the runs of a study took: a line of ``runs.csv`` for each, apart from the tables.

A run that was killed leaves no line, only its fits; then the log does not account for all of them,
and the time by the clock is not known.
"""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

from medn_edu import __version__
from medn_edu.experiments.tables import csv_text, read_csv
from medn_edu.files import write_atomically

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
    """Add a run to the log of a study.

    Parameters
    ----------
    folder : Path
        Folder of the study's results.
    n_fits : int
        How many fits it made.
    n_jobs : int or None
        How many at a time; None if others decide.
    backend : str
        What made them.
    seconds, cpu_seconds : float
        How long it took by the clock, and how long its fits trained by the processor.

    Raises
    ------
    OSError
        If the log cannot be written.
    """
    date = datetime.date.today().isoformat()
    line = (date, __version__, n_fits, n_jobs, backend, round(seconds, 1), round(cpu_seconds, 1))
    runs = [*read_runs(folder), dict(zip(RUN_COLUMNS, line, strict=True))]
    write_atomically(folder / "runs.csv", csv_text(runs, RUN_COLUMNS))


def read_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the log of a study.

    Parameters
    ----------
    folder : Path
        Folder of the study's results.

    Returns
    -------
    list of dict
        A row per run, with `RUN_COLUMNS`; none where there is no log.

    Raises
    ------
    ValueError
        If it is damaged.
    """
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


def summed_up(folder: Path, n_fits: int, cpu_seconds: float) -> dict[str, Any]:
    """Return in one row what it took to make all fits of a study.

    Parameters
    ----------
    folder : Path
        Folder of the study's results.
    n_fits : int
        How many there are; 0 for a study without fits.
    cpu_seconds : float
        How long they trained by the processor.

    Returns
    -------
    dict
        With `RUN_COLUMNS`; ``seconds`` is None where the log does not account for all fits.
    """
    runs = [run for run in read_runs(folder) if str(run["version"]) == __version__]
    made = [run for run in runs if run["fits"]] or runs[-1:]
    whole = bool(made) and sum(run["fits"] or 0 for run in made) >= n_fits

    def common(name: str) -> Any:
        values = {run[name] for run in made}
        return values.pop() if len(values) == 1 else None

    return {
        "date": made[-1]["date"] if made else datetime.date.today().isoformat(),
        "version": __version__,
        "fits": n_fits,
        "jobs": common("jobs"),
        "backend": common("backend"),
        "seconds": round(sum(run["seconds"] or 0 for run in made), 1) if whole else None,
        "cpu_seconds": round(cpu_seconds, 1),
    }


def origin(study: str, scale: str | None, seed: int, run: dict[str, Any]) -> str:
    """Return the sentence that ends a caption: what made the figure, when, and how long it took.

    Parameters
    ----------
    study : str
        Name of the study.
    scale : str or None
        Its scale; None if it is the same at every one.
    seed : int
        Seed of all draws.
    run : dict
        What `summed_up` returns.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> run = dict(date="2026-11-21", version="0.1.0", fits=9, jobs=2, seconds=80, cpu_seconds=150)
    >>> print(origin("ocr", "quick", 0, run))  # doctest: +NORMALIZE_WHITESPACE
    Made by `medn-edu reproduce ocr --scale quick`, medn_edu 0.1.0, 2026-11-21: seed 0, 9 fits
    in 80 s with 2 jobs, 2.5 min of processor time.
    """
    made = f"Made by `{command(study, scale, seed)}`, medn_edu {run['version']}, {run['date']}"
    if scale is None:
        return f"{made}."
    if not run["fits"]:
        return f"{made}: seed {seed}, in {duration_text(run['seconds'])}."
    fits = "1 fit" if run["fits"] == 1 else f"{run['fits']:,} fits"
    clock = f" in {duration_text(run['seconds'])}" if run["seconds"] is not None else ""
    jobs = f" with {run['jobs']} job{'s' * (run['jobs'] > 1)}" if run["jobs"] else ""
    cpu = duration_text(run["cpu_seconds"])
    return f"{made}: seed {seed}, {fits}{clock}{jobs}, {cpu} of processor time."


def command(study: str, scale: str | None = None, seed: int = 0) -> str:
    """Return the command that runs a study.

    Parameters
    ----------
    study : str
        Name of the study.
    scale : str, optional
        Its scale, if it has several.
    seed : int, default=0
        Seed of all draws.

    Returns
    -------
    str
        The command.
    """
    options = (f" --scale {scale}" if scale else "") + (f" --seed {seed}" if seed else "")
    return f"medn-edu reproduce {study}{options}"


def expected_time(duration: str, scale: str) -> str:
    """Return how long a study takes at one scale.

    Parameters
    ----------
    duration : str
        As studies have it.
    scale : str
        ``"quick"`` or ``"paper"``.

    Returns
    -------
    str
        A number with its unit.

    Examples
    --------
    >>> expected_time("quick 30 s, paper 20 min", "paper")
    '20 min'
    >>> expected_time("1 s", "paper")  # the same at every scale
    '1 s'
    """
    parts = dict(part.split(" ", 1) for part in duration.split(", ") if " " in part)
    return parts.get(scale, duration)


def duration_text(seconds: float) -> str:
    """Return a time for readers.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    str
        With two digits at least.

    Examples
    --------
    >>> [duration_text(seconds) for seconds in (0.52, 12.3, 99, 150, 3600)]
    ['0.5 s', '12 s', '99 s', '2.5 min', '60 min']
    """
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 10 else f"{minutes:.0f} min"
