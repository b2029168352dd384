"""Every empirical sentence of the paper on approximated structured prediction (NIPS 2010), section 5."""

from __future__ import annotations

from medn_edu.studies.claims.inventory.shared import DENOISING, EPSILON, claims, coming

_EPSILON = (
    "training takes slightly longer as epsilon shrinks",
    "training is quickest at epsilon = 0",
    "epsilon = 0 is less accurate than epsilon = 0.01",
    "the gap between primal and dual stays near 1 at epsilon = 0 and vanishes above",
    "with the same epsilon for training and test there are few errors above 0, many at 0",
    "the errors at epsilon = 0 may come from that gap",
    "predicting with a smaller epsilon than in training is marginally worse",
    "predicting with a larger epsilon is significantly worse",
    "weights of each node and edge beat shared ones",
    "although there are many, they do not over-fit",
)
_DENOISING = (
    "more than ten thousand parameters are learned efficiently",
    "pseudo-likelihood does not work",
    "Gaussian noise: the errors are far below those of loopy belief propagation and mean field",
    "Gaussian noise: on the first image two pixels are wrong, against 112",
    "large amounts of noise are removed",
    "bimodal noise: the errors are below those of all baselines",
    "bimodal noise: mean field with stochastic meta-descent does not work",
    "primal and dual meet after few iterations",
)

CLAIMS = claims(
    "asp",
    "5",
    *[(text, EPSILON, coming(EPSILON)) for text in _EPSILON],
    *[(text, DENOISING, coming(DENOISING)) for text in _DENOISING],
)
"""The claims in the order of the paper."""
