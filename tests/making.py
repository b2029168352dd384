"""Runs a study as ``medn-edu reproduce`` does, without its console, and looks into its figures."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medn_edu.studies.kit.gallery import draw_figures
from medn_edu.studies.kit.results import ResultStore
from medn_edu.studies.kit.runner import run_study, write_report
from medn_edu.studies.kit.specs import Report, Study


def make(
    study: Study, folder: Path, *, seed: int = 0, progress: Callable[..., Any] | None = None
) -> Report:
    """Make all fits at quick scale, draw the figures, write the report and return it."""
    store = ResultStore.open(folder, study)
    rows = run_study(study, study.fits("quick", seed), store, progress=progress)
    draw_figures(study, rows, folder)
    return write_report(study, rows, folder, "quick", seed)


def axes_of(study: Study, rows: list[dict[str, Any]], monkeypatch: Any) -> list[Any]:
    """Return the axes of a study's figure, from left to right and from top to bottom."""
    figures: list[Any] = []
    module = sys.modules[study.draw.__module__]
    monkeypatch.setattr(module, "save_figure", lambda figure, _: figures.append(figure))
    study.draw(rows, Path())
    [figure] = figures
    return figure.get_axes()
