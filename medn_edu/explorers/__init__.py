"""Interactive figures, one file per subject: frame data, drawing, sentence, lessons and controls.

`medn_edu.explorers.kit` has what they share: `Explorer`, its controls, films, and the style of all
figures.  Only this subpackage and the studies draw, and only this one uses widgets.  Pictures of
studies live with their study in `medn_edu.studies`.
"""

from medn_edu.explorers.clearing import clearing
from medn_edu.explorers.frank_wolfe import frank_wolfe
from medn_edu.explorers.hardening import hardening
from medn_edu.explorers.kit.controls import Check, Choice, Control, Slider, Time
from medn_edu.explorers.kit.explorer import Explorer, Frame, Lesson
from medn_edu.explorers.kit.letters import draw_words, words_figure, words_height
from medn_edu.explorers.kit.picture import Picture, SavedPicture
from medn_edu.explorers.kit.sentences import Sentences
from medn_edu.explorers.kit.style import (
    ERROR,
    INK,
    INK_ON_PAPER,
    MUTED,
    SIGNED,
    new_figure,
    save_figure,
    series_style,
    styled,
)
from medn_edu.explorers.kit.trees import draw_tree
from medn_edu.explorers.l1_path import l1_path
from medn_edu.explorers.lattice import best_path
from medn_edu.explorers.losses import losses
from medn_edu.explorers.majorants import majorants
from medn_edu.explorers.margins import margins
from medn_edu.explorers.messages import messages
from medn_edu.explorers.norm_balls import norm_balls
from medn_edu.explorers.norms import (
    NormBall,
    NormSolid,
    draw_norm_balls,
    draw_norm_solid,
    kl_balls,
    kl_solids,
    plain_balls,
    plain_solids,
)
from medn_edu.explorers.pac_bayes import pac_bayes_terms
from medn_edu.explorers.pages import pages
from medn_edu.explorers.projections import projections
from medn_edu.explorers.reading import read_words
from medn_edu.explorers.score_terms import score_terms
from medn_edu.explorers.sentiment import sentiment
from medn_edu.explorers.shrinkage import (
    ShrinkageCurve,
    draw_shrinkage,
    prior_gallery,
    prior_style,
    shrinkage,
    shrinkage_curve,
)
from medn_edu.explorers.softening import softening
from medn_edu.explorers.tangents import tangents
from medn_edu.explorers.training_film import training_film
from medn_edu.explorers.two_weights import two_weights
from medn_edu.explorers.variational import variational
from medn_edu.explorers.viterbi_steps import viterbi_steps
from medn_edu.explorers.weight_images import draw_transitions, draw_weight_images, weight_images
from medn_edu.explorers.working_sets import working_sets

__all__ = [
    "ERROR",
    "INK",
    "INK_ON_PAPER",
    "MUTED",
    "SIGNED",
    "Check",
    "Choice",
    "Control",
    "Explorer",
    "Frame",
    "Lesson",
    "NormBall",
    "NormSolid",
    "Picture",
    "SavedPicture",
    "Sentences",
    "ShrinkageCurve",
    "Slider",
    "Time",
    "best_path",
    "clearing",
    "draw_norm_balls",
    "draw_norm_solid",
    "draw_shrinkage",
    "draw_transitions",
    "draw_tree",
    "draw_weight_images",
    "draw_words",
    "frank_wolfe",
    "hardening",
    "kl_balls",
    "kl_solids",
    "l1_path",
    "losses",
    "majorants",
    "margins",
    "messages",
    "new_figure",
    "norm_balls",
    "pac_bayes_terms",
    "pages",
    "plain_balls",
    "plain_solids",
    "prior_gallery",
    "prior_style",
    "projections",
    "read_words",
    "save_figure",
    "score_terms",
    "sentiment",
    "series_style",
    "shrinkage",
    "shrinkage_curve",
    "softening",
    "styled",
    "tangents",
    "training_film",
    "two_weights",
    "variational",
    "viterbi_steps",
    "weight_images",
    "words_figure",
    "words_height",
    "working_sets",
]
