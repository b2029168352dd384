"""Studies that fit nothing: curves that formulas give.

===============  =================================================================================
``shrinkage``    posterior mean against eta: MEDN Fig. 1, then the gallery of priors
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import new_figure, save_figure, styled
from medn_edu.explorers.shrinkage import (
    ShrinkageCurve,
    draw_shrinkage,
    prior_gallery,
    shrinkage_curve,
)
from medn_edu.files import write_atomically
from medn_edu.priors import GaussianPrior, LaplacePrior, Prior
from medn_edu.studies.kit.gallery import draw_figures
from medn_edu.studies.kit.runs import note_run, origin, summed_up
from medn_edu.studies.kit.specs import CurveStudy
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.laplace_prior import LAPLACE
from medn_edu.studies.norm_balls import NORM_BALLS
from medn_edu.studies.projections import PROJECTIONS

_LAM = 4.0  # of the gallery: one of the two of Fig. 1
_N_POINTS = 121


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


# ---------------------------------------------------------------------------------------------
# shrinkage


def _shrinkage_rows() -> list[dict[str, Any]]:
    panels = {
        "Fig. 1": _priors_of_figure_1(),
        "gallery": prior_gallery(_LAM),
        "equal variances": prior_gallery(_LAM, matched=True),
    }
    return [
        {
            "panel": panel, "prior": name, "low": curve.domain[0], "high": curve.domain[1],
            "eta": eta, "mean": mean,
        }
        for panel, priors in panels.items()
        for name, prior in priors.items()
        for curve in [shrinkage_curve(name, prior, n_points=_N_POINTS)]
        for eta, mean in zip(curve.eta, curve.mean, strict=True)
    ]  # fmt: skip


def _priors_of_figure_1() -> dict[str, Prior]:
    return {
        "Gaussian, N(0, 1)": GaussianPrior(),
        "Laplace, λ = 4": LaplacePrior(4.0),
        "Laplace, λ = 6": LaplacePrior(6.0),
    }


def _draw_shrinkage(rows: Sequence[dict[str, Any]], path: Path) -> None:
    figure = new_figure(11, 4.6)
    titles = {
        "Fig. 1": "Three priors (MEDN, Figure 1)",
        "gallery": f"The gallery, λ = {_LAM:g}",
        "equal variances": f"The same, each of variance {2 / _LAM:g}",
    }
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    with styled():
        for ax, (panel, title) in zip(axes, titles.items(), strict=True):
            curves = _curves([row for row in rows if row["panel"] == panel])
            draw_shrinkage(ax, curves, legend=False)
            ax.set_title(title)
            ax.label_outer()
            ax.set_xlim(-4, 4)
        for ax, side, columns in ((axes[0], "left", 2), (axes[1], "right", 4)):
            handles = ax.get_legend_handles_labels()
            figure.legend(*handles, loc=f"outside lower {side}", ncols=columns)
    save_figure(figure, path)


def _curves(rows: Sequence[dict[str, Any]]) -> list[ShrinkageCurve]:
    """Put the points of a panel together to curves again."""
    names = dict.fromkeys(row["prior"] for row in rows)
    groups = [[row for row in rows if row["prior"] == name] for name in names]
    return [
        ShrinkageCurve(
            group[0]["prior"],
            np.array([row["eta"] for row in group]),
            np.array([row["mean"] for row in group]),
            (group[0]["low"], group[0]["high"]),
        )
        for group in groups
    ]


CURVES: dict[str, CurveStudy] = {
    study.name: study
    for study in (
        CurveStudy(
            "shrinkage",
            "what eight priors make of the evidence",
            ("panel", "prior", "low", "high", "eta", "mean"),
            _shrinkage_rows,
            _draw_shrinkage,
            "Posterior means against η.  Left: the three priors of MEDN, Figure 1.  Middle: the "
            f"gallery; Laplace and normal-gamma (shape 2) with λ = {_LAM:g}, normal-inverse "
            "Gaussian and exponential with tails of the same rate √λ, standard normal, box on "
            "[-1, 1], two points ±1, spike and slab with a tenth of N(0, 1).  Right: the same "
            f"shapes, each stretched to the Laplace prior's variance 2/λ = {2 / _LAM:g}.  Dotted: "
            "ends of domains, where a mean leaves every bound.",
            "1 s",
            "MEDN 1",
        ),
        NORM_BALLS,
        LAPLACE,
        PROJECTIONS,
    )
}
"""The studies by name."""
