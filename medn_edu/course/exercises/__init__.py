"""Checks of the notebooks' exercises.

A check prints one line and never raises, whatever it is given: *not yet* for an untouched stub,
*right* with the reason, or *not quite* with a hint at the mistake it recognises.  One module
per notebook.
"""

from __future__ import annotations

from medn_edu.course.exercises.errata import check_best_mass, check_message, check_slope
from medn_edu.course.exercises.l1_m3n import (
    check_em_update,
    check_l1_constant,
    check_l1_projection,
    check_threshold,
    check_weight_bounds,
)
from medn_edu.course.exercises.ocr_study import (
    check_best_path,
    check_early_stopping,
    check_error_share,
    check_words_right,
)
from medn_edu.course.exercises.pac_bayes import (
    check_averaging,
    check_kl_inverse,
    check_margin,
    check_n_draws,
    check_quiet_coin,
)
from medn_edu.course.exercises.shrinkage import (
    check_conjugate,
    check_equal_variance,
    check_eta_for_mean,
    check_posterior_mean,
    check_tilted_mean,
)
from medn_edu.course.exercises.start_here import check_count_labellings, check_labelling_score
from medn_edu.course.exercises.synthetic_study import (
    check_chance,
    check_cross_validation,
    check_honest_error,
    check_paired_error,
    check_paired_interval,
)

__all__ = [
    "check_averaging",
    "check_best_mass",
    "check_best_path",
    "check_chance",
    "check_conjugate",
    "check_count_labellings",
    "check_cross_validation",
    "check_early_stopping",
    "check_em_update",
    "check_equal_variance",
    "check_error_share",
    "check_eta_for_mean",
    "check_honest_error",
    "check_kl_inverse",
    "check_l1_constant",
    "check_l1_projection",
    "check_labelling_score",
    "check_margin",
    "check_message",
    "check_n_draws",
    "check_paired_error",
    "check_paired_interval",
    "check_posterior_mean",
    "check_quiet_coin",
    "check_slope",
    "check_threshold",
    "check_tilted_mean",
    "check_weight_bounds",
    "check_words_right",
]
