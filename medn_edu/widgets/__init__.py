"""Figures that answer: `Explorer`, its controls, and the course's explorers as thin shells.

The only room that imports ipywidgets and anywidget.  What a figure shows is computed and drawn by
`medn_edu.plots`; a shell here joins frame data, artists and controls in a few lines.
"""

from __future__ import annotations

from medn_edu.widgets.controls import Check, Choice, Control, Slider, Time
from medn_edu.widgets.explorer import Explorer, Frame, Lesson
from medn_edu.widgets.frank_wolfe import frank_wolfe
from medn_edu.widgets.l1_path import l1_path
from medn_edu.widgets.lattice import best_path
from medn_edu.widgets.losses import losses
from medn_edu.widgets.majorants import majorants
from medn_edu.widgets.margins import margins
from medn_edu.widgets.norm_balls import norm_balls
from medn_edu.widgets.pac_bayes import pac_bayes_terms
from medn_edu.widgets.picture import Picture, SavedPicture
from medn_edu.widgets.projections import projections
from medn_edu.widgets.reading import read_words
from medn_edu.widgets.results import ocr_results, study_picture, synthetic_results
from medn_edu.widgets.shrinkage import shrinkage
from medn_edu.widgets.softening import softening
from medn_edu.widgets.tangents import tangents
from medn_edu.widgets.two_weights import two_weights
from medn_edu.widgets.variational import variational
from medn_edu.widgets.weight_images import weight_images
from medn_edu.widgets.working_sets import working_sets

__all__ = [
    "Check",
    "Choice",
    "Control",
    "Explorer",
    "Frame",
    "Lesson",
    "Picture",
    "SavedPicture",
    "Slider",
    "Time",
    "best_path",
    "frank_wolfe",
    "l1_path",
    "losses",
    "majorants",
    "margins",
    "norm_balls",
    "ocr_results",
    "pac_bayes_terms",
    "projections",
    "read_words",
    "shrinkage",
    "softening",
    "study_picture",
    "synthetic_results",
    "tangents",
    "two_weights",
    "variational",
    "weight_images",
    "working_sets",
]
