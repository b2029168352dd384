"""Checks of the notebooks' exercises.

A check prints one line and never raises, whatever it is given: *not yet* for an untouched stub,
*right* with the reason, or *not quite* with a hint at the mistake it recognises.  One module
per notebook.
"""

from __future__ import annotations

from medn_edu.course.exercises.epsilon import (
    check_cooler,
    check_soft_gap,
    check_soft_hinge,
    check_temperature_for,
    check_two_scores,
)
from medn_edu.course.exercises.errata import check_best_alpha, check_message, check_slope
from medn_edu.course.exercises.exact import (
    check_block_gap,
    check_block_update,
    check_line_search,
    check_relative_gap,
    check_room,
)
from medn_edu.course.exercises.kl_norm import (
    check_cheapest_mean,
    check_conjugate,
    check_exact_zeros,
    check_kl_norm_at_zero,
    check_kl_slope,
)
from medn_edu.course.exercises.l1_m3n import (
    check_em_update,
    check_l1_constant,
    check_l1_projection,
    check_threshold,
    check_weight_bounds,
)
from medn_edu.course.exercises.medn import (
    check_alpha_step,
    check_d1_value,
    check_duality_gap,
    check_mean_from_alpha,
    check_tight_labellings,
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
    check_equal_variance,
    check_eta_for_mean,
    check_posterior_mean,
    check_tilted_mean,
)
from medn_edu.course.exercises.start_here import (
    check_count_labellings,
    check_just_enough,
    check_labelling_score,
)
from medn_edu.course.exercises.structured_prediction import (
    check_jump,
    check_loss_augmented,
    check_shortfall,
    check_viterbi,
    check_word_score,
)
from medn_edu.course.exercises.synthetic_study import (
    check_chance,
    check_cross_validation,
    check_honest_error,
    check_paired_error,
    check_paired_interval,
)
from medn_edu.course.exercises.toolbox import (
    check_closest,
    check_coin_divergence,
    check_multiplier,
    check_tangent,
    check_tilted_coin,
)
from medn_edu.course.exercises.two_losses import (
    check_log_loss_gradient,
    check_log_partition,
    check_log_z,
    check_m3n_dual,
    check_structured_hinge,
)
from medn_edu.course.exercises.variational import (
    check_algorithm_1,
    check_bound_value,
    check_expected_precision,
    check_resting_point,
    check_touching_mean,
)
from medn_edu.course.exercises.your_data import (
    check_bmes,
    check_group_folds,
    check_spaces,
    check_window,
)

__all__ = [
    "check_algorithm_1",
    "check_alpha_step",
    "check_averaging",
    "check_best_alpha",
    "check_best_path",
    "check_block_gap",
    "check_block_update",
    "check_bmes",
    "check_bound_value",
    "check_chance",
    "check_cheapest_mean",
    "check_closest",
    "check_coin_divergence",
    "check_conjugate",
    "check_cooler",
    "check_count_labellings",
    "check_cross_validation",
    "check_d1_value",
    "check_duality_gap",
    "check_early_stopping",
    "check_em_update",
    "check_equal_variance",
    "check_error_share",
    "check_eta_for_mean",
    "check_exact_zeros",
    "check_expected_precision",
    "check_group_folds",
    "check_honest_error",
    "check_jump",
    "check_just_enough",
    "check_kl_inverse",
    "check_kl_norm_at_zero",
    "check_kl_slope",
    "check_l1_constant",
    "check_l1_projection",
    "check_labelling_score",
    "check_line_search",
    "check_log_loss_gradient",
    "check_log_partition",
    "check_log_z",
    "check_loss_augmented",
    "check_m3n_dual",
    "check_margin",
    "check_mean_from_alpha",
    "check_message",
    "check_multiplier",
    "check_n_draws",
    "check_paired_error",
    "check_paired_interval",
    "check_posterior_mean",
    "check_quiet_coin",
    "check_relative_gap",
    "check_resting_point",
    "check_room",
    "check_shortfall",
    "check_slope",
    "check_soft_gap",
    "check_soft_hinge",
    "check_spaces",
    "check_structured_hinge",
    "check_tangent",
    "check_temperature_for",
    "check_threshold",
    "check_tight_labellings",
    "check_tilted_coin",
    "check_tilted_mean",
    "check_touching_mean",
    "check_two_scores",
    "check_viterbi",
    "check_weight_bounds",
    "check_window",
    "check_word_score",
    "check_words_right",
]
