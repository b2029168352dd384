"""Studies that watch solvers at work: what each has reached after how many passes.

===========  =====================================================================================
``solvers``  every solver of M3N on one problem: gap and test error against passes and seconds
===========  =====================================================================================

What a pass reaches is the same in every run; how long it takes is not, and stands in a table of its
own.  One solver runs at a time, so that the times can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from medn_edu.experiments.runner import write_report
from medn_edu.experiments.specs import Report, TraceStudy
from medn_edu.experiments.studies.solvers import SOLVER_STUDY
from medn_edu.experiments.tables import csv_text
from medn_edu.files import write_atomically

__all__ = ["TRACES", "run_traces"]

TRACES: dict[str, TraceStudy] = {study.name: study for study in (SOLVER_STUDY,)}
"""The studies by name."""


def run_traces(
    study: TraceStudy,
    folder: Path,
    scale: str,
    seed: int,
    progress: Callable[[int, int, str], Any] | None = None,
) -> Report:
    """Watch the solvers of a study and save tables, figure and caption.

    Parameters
    ----------
    study : TraceStudy
        The study.
    folder : Path
        Where to; it must exist.
    scale : {"quick", "paper"}
        How long to watch.
    seed : int
        Seed of all draws.
    progress : callable, optional
        Called as ``progress(n_done, n_all, what)``.

    Returns
    -------
    Report
        What the traces say, summed up.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    tell = progress or (lambda n_done, n_all, what: None)
    rows = study.trace(scale, seed, tell)
    write_atomically(folder / "traces.csv", csv_text(rows, study.columns))
    write_atomically(folder / "timings.csv", csv_text(rows, study.time_columns))
    study.draw(rows, folder / "figure.png")
    return write_report(study, rows, folder, scale)
