"""The studies there are.

====================  ============================================================================
``ocr``               handwritten words: few words of one fold to train on, and nine folds (MEDN
                      Fig. 7, L1-M3N Fig. 4)
``ocr-full``          the same letters, all words: folds 1-9 to train and 0 to test, and the reverse
``l1m3n-algorithms``  L1-M3N by four algorithms (L1-M3N Table 1, Fig. 5 and 6)
====================  ============================================================================

Only 55 different words occur in the OCR letters, each of them in every fold: a chain can learn them
by heart.  Errors on new words would be larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.experiments.models import MODELS
from medn_edu.experiments.specs import FitSpec, Study
from medn_edu.experiments.splits import FOLDS, ocr_split
from medn_edu.plots import (
    MUTED,
    ErrorCurve,
    draw_error_bars,
    draw_errors,
    error_curves,
    new_figure,
    save_figure,
    styled,
)

__all__ = ["OCR_FULL_STUDY", "OCR_STUDY"]

_DRAWN = (100, 150, 200, 250)
_OCR_MODELS = tuple(name for name in MODELS if name != "per letter")
_MEMORY = (
    "only 55 different words occur in these data, each in every fold, so that a chain can learn "
    "them by heart; errors on new words would be larger."
)


def _ocr_specs(scale: str, seed: int) -> list[FitSpec]:
    sizes, folds = ((100, 250), range(3)) if scale == "quick" else (_DRAWN, FOLDS)
    drawn = [(f"ocr-{size}", fold) for size in sizes for fold in folds]
    whole = [("ocr-rest", fold) for fold in ((0,) if scale == "quick" else FOLDS)]
    return _ocr_fits([*drawn, *whole], seed)


def _ocr_full_specs(scale: str, seed: int) -> list[FitSpec]:
    del scale  # these two protocols of the literature have one size
    return _ocr_fits([("ocr-one", 0), ("ocr-rest", 0)], seed)


def _ocr_fits(splits: Iterable[tuple[str, int]], seed: int) -> list[FitSpec]:
    return [
        FitSpec(data, fold, model, MODELS[model].parameters, seed)
        for data, fold in splits
        for model in _OCR_MODELS
    ]


def _in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the order of the models, as figures show them."""
    place = {name: number for number, name in enumerate(MODELS)}
    return sorted(rows, key=lambda row: place[row["model"]])


def _draw_ocr(rows: Sequence[dict[str, Any]], path: Path) -> None:
    rows = _in_order(rows)
    drawn = [row for row in rows if row["data"] != "ocr-rest"]
    whole = [row for row in rows if row["data"] == "ocr-rest"]
    figure = new_figure(10, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=[1.3, 1])
    with styled():
        curves = error_curves(drawn)
        draw_errors(left, curves)
        left.set_xlabel(f"training words, {_fits(curves)}")
        left.get_legend().remove()
        handles, names = left.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=4)
        _draw_bars(right, whole)
        left.set_title("One fold trains, nine test")
        right.set_title("Nine folds train, one tests")
        figure.supxlabel(_MEMORY_NOTE, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _draw_ocr_full(rows: Sequence[dict[str, Any]], path: Path) -> None:
    titles = {"ocr-rest": "Folds 1-9 train, 0 tests", "ocr-one": "Fold 0 trains, 1-9 test"}
    rows = _in_order(rows)
    figure = new_figure(10, 3.6)
    with styled():
        for ax, (data, title) in zip(figure.subplots(1, 2), titles.items(), strict=True):
            _draw_bars(ax, [row for row in rows if row["data"] == data])
            ax.set_title(title)
        figure.supxlabel(_MEMORY_NOTE, fontsize=9, color=MUTED)
    save_figure(figure, path)


_MEMORY_NOTE = (
    "OCR letters: 55 different words, each in every fold; a chain can learn them by heart"
)


def _draw_bars(ax: Any, rows: Sequence[dict[str, Any]]) -> None:
    curves = error_curves(rows)
    several = any((curve.n_fits > 1).any() for curve in curves)
    draw_error_bars(
        ax,
        [curve.model for curve in curves],
        [float(np.average(curve.mean, weights=curve.n_fits)) for curve in curves],
        [float(curve.deviation.max()) for curve in curves] if several else None,
    )
    ax.set_xlabel(f"test error (% of labels), {_fits(curves)}")


def _fits(curves: Sequence[ErrorCurve]) -> str:
    """Return how many fits stand behind each point."""
    most = max((int(curve.n_fits.max()) for curve in curves), default=0)
    return "1 fit" if most == 1 else f"mean ± deviation of {most} fits"


OCR_STUDY = Study(
    "ocr",
    "handwritten words: 100 to 250 train, and nine folds",
    _ocr_specs,
    ocr_split,
    _draw_ocr,
    _MEMORY,
    "quick 1 min, paper 8 min",
)
"""The study of few words."""

OCR_FULL_STUDY = Study(
    "ocr-full",
    "all handwritten words: folds 1-9 train, 0 tests; reverse",
    _ocr_full_specs,
    ocr_split,
    _draw_ocr_full,
    _MEMORY,
    "40 s at either scale",
)
"""The study of all words."""
