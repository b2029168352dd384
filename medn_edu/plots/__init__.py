"""Figures: frame data computed by plain functions, and functions that draw them on given axes.

The only room that imports matplotlib.  Every function draws on the axes it is handed and leaves
matplotlib's settings as they were; figures come from `new_figure` and go to files by `save_figure`.
"""

from __future__ import annotations

from medn_edu.plots.errors import (
    ErrorCurve,
    draw_error_bars,
    draw_errors,
    draw_grouped_errors,
    error_curves,
    error_differences,
)
from medn_edu.plots.letters import draw_words, words_figure, words_height
from medn_edu.plots.norms import (
    NormBall,
    NormSolid,
    draw_norm_balls,
    draw_norm_solid,
    kl_balls,
    kl_solids,
    plain_balls,
    plain_solids,
)
from medn_edu.plots.shrinkage import (
    ShrinkageCurve,
    draw_shrinkage,
    prior_gallery,
    prior_style,
    shrinkage_curve,
)
from medn_edu.plots.style import (
    ERROR,
    INK,
    INK_ON_PAPER,
    MUTED,
    SIGNED,
    STYLE_FILE,
    new_figure,
    save_figure,
    series_style,
    styled,
)
from medn_edu.plots.weights import draw_transitions, draw_weight_images, weight_mosaic

__all__ = [
    "ERROR",
    "INK",
    "INK_ON_PAPER",
    "MUTED",
    "SIGNED",
    "STYLE_FILE",
    "ErrorCurve",
    "NormBall",
    "NormSolid",
    "ShrinkageCurve",
    "draw_error_bars",
    "draw_errors",
    "draw_grouped_errors",
    "draw_norm_balls",
    "draw_norm_solid",
    "draw_shrinkage",
    "draw_transitions",
    "draw_weight_images",
    "draw_words",
    "error_curves",
    "error_differences",
    "kl_balls",
    "kl_solids",
    "new_figure",
    "plain_balls",
    "plain_solids",
    "prior_gallery",
    "prior_style",
    "save_figure",
    "series_style",
    "shrinkage_curve",
    "styled",
    "weight_mosaic",
    "words_figure",
    "words_height",
]
