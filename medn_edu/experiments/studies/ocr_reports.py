"""Figures and reports of the studies of the OCR letters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.plots import draw_error_bars, draw_errors, error_curves, new_figure, save_figure

__all__ = ["draw_ocr", "draw_ocr_full"]


def draw_ocr(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the figure."""
    figure = new_figure(10, 4.4)
    draw_errors(figure.add_subplot(), error_curves(rows))
    save_figure(figure, path)


def draw_ocr_full(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the figure."""
    figure = new_figure(10, 3.6)
    for ax, data in zip(figure.subplots(1, 2), ("ocr-one", "ocr-rest"), strict=True):
        curves = error_curves([row for row in rows if row["data"] == data])
        names = [curve.model for curve in curves]
        draw_error_bars(ax, names, [float(np.mean(curve.mean)) for curve in curves])
    save_figure(figure, path)
