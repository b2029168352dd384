"""Studies that fit nothing: curves that formulas give.

===============  =================================================================================
``shrinkage``    posterior mean against eta: MEDN Fig. 1, then the gallery (`shrinkage`)
``kl-norm``      balls of the L2-, the L1- and KL-norms: MEDN Fig. 2 (`norm_balls`)
``laplace``      the Laplace prior: mixture, bound and limits: MEDN Eq. 4 (`laplace_prior`)
``projections``  nearest points of the L2 and the L1 ball: L1-M3N Fig. 1 (`projections`)
===============  =================================================================================

They are the same at every scale, with every seed and on every machine.  The table holds one row per
point, and the figure is drawn from the table alone.
"""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import Any

from medn_edu.files import write_atomically
from medn_edu.studies.kit.gallery import draw_figures
from medn_edu.studies.kit.runs import note_run, origin, summed_up
from medn_edu.studies.kit.specs import CurveStudy
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.laplace_prior import LAPLACE
from medn_edu.studies.norm_balls import NORM_BALLS
from medn_edu.studies.projections import PROJECTIONS
from medn_edu.studies.shrinkage import SHRINKAGE


def run_curves(study: CurveStudy, folder: Path, *, vectors: bool = False) -> list[dict[str, Any]]:
    """Compute the curves of a study and save table, figure and caption, and how long it took."""
    start, cpu_start = time.monotonic(), time.process_time()
    rows = study.rows()
    spent = {"seconds": time.monotonic() - start, "cpu_seconds": time.process_time() - cpu_start}
    note_run(folder, n_fits=0, n_jobs=1, backend="none", **spent)
    write_atomically(folder / "curves.csv", csv_text(rows, study.columns))
    draw_figures(study, rows, folder, vectors=vectors)
    made = origin(study.name, None, 0, summed_up(folder, 0, spent["cpu_seconds"]))
    caption = textwrap.fill(f"{study.caption}  {made}", 100, break_on_hyphens=False)
    write_atomically(folder / "caption.md", f"{caption}\n")
    return rows


CURVES: dict[str, CurveStudy] = {
    study.name: study for study in (SHRINKAGE, NORM_BALLS, LAPLACE, PROJECTIONS)
}
"""The studies by name."""
