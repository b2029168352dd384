"""Studies that watch something at work: solvers, bounds and theorems, instance by instance.

=============  ===================================================================================
``solvers``    every solver of M3N on one problem: gap and test error against passes and seconds
``pac-bayes``  Theorem 8 of MEDN where the error to come is known: its terms, and whether it holds
``theorems``   every statement of the papers, tried on random instances
=============  ===================================================================================

What is seen is the same in every run; how long a solver takes is not, and stands in a table of its
own.  One solver runs at a time, so that the times can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medn_edu.files import write_atomically
from medn_edu.studies.kit.gallery import draw_figures
from medn_edu.studies.kit.runner import write_report
from medn_edu.studies.kit.runs import note_run, summed_up
from medn_edu.studies.kit.specs import Report, TraceStudy
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.pac_bayes import PAC_BAYES_STUDY
from medn_edu.studies.solvers import SOLVER_STUDY
from medn_edu.studies.theorems import THEOREM_STUDY

TRACES: dict[str, TraceStudy] = {
    study.name: study for study in (SOLVER_STUDY, PAC_BAYES_STUDY, THEOREM_STUDY)
}
"""The studies by name."""


def run_traces(
    study: TraceStudy,
    folder: Path,
    scale: str,
    seed: int,
    progress: Callable[[int, int, str], Any] | None = None,
    *,
    vectors: bool = False,
) -> Report:
    """Watch what a study is about and save tables, figures and captions, and how long it took."""
    tell = progress or (lambda n_done, n_all, what: None)
    start, cpu_start = time.monotonic(), time.process_time()
    rows = study.trace(scale, seed, tell)
    spent = {"seconds": time.monotonic() - start, "cpu_seconds": time.process_time() - cpu_start}
    note_run(folder, n_fits=0, n_jobs=1, backend="none", **spent)
    write_atomically(folder / "traces.csv", csv_text(rows, study.columns))
    if study.time_columns:
        write_atomically(folder / "timings.csv", csv_text(rows, study.time_columns))
    draw_figures(study, rows, folder, vectors=vectors)
    run = summed_up(folder, 0, spent["cpu_seconds"])
    report = write_report(study, rows, folder, scale, seed, run)
    assert report is not None
    return report
