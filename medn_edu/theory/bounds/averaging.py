r"""From the Gibbs predictor back to the average, without margins: a factor of two, or of e.

Where the averaging model errs there is a rival :math:`y'` over which the truth has no lead on average:
:math:`X = w^\top \Delta f(y')` has :math:`E[X] \le 0`.  A drawn model errs on the same sample whenever
:math:`X \le 0`.  So if a random variable is at or below its own mean with probability at least
:math:`1 / k`, then the Gibbs predictor errs there with at least this probability, and

.. math:: \text{error of the average} \le k \cdot \text{error of Gibbs} .

======================  ===  ===================================================================
posterior               k    because
======================  ===  ===================================================================
Gaussian, diagonal      2    :math:`X` is symmetric about its mean
with log-concave        e    :math:`X` is log-concave (Prékopa), and such a variable is at or below
density                      its mean with probability at least :math:`1/e` (Grünbaum)
others                  --   a long thin tail on one side can leave as little as one likes below
======================  ===  ===================================================================

A log-concave prior stays log-concave when tilted: Laplace, box, exponential, and normal-gamma with a
shape of at least 1.  The factor needs neither Theorem 8's bound on scores nor its margins, and works
for structured outputs just as for two classes, because one rival is enough.

**Gaussian posteriors of any length** (Langford and Shawe-Taylor 2003).  Predictions of the average do
not change when its weights are stretched, but the Gibbs predictor's do: a long mean drowns the unit
noise, at a price of :math:`KL = \nu^2 \|\mu\|^2 / 2`.  PAC-Bayes bounds hold for all posteriors at
once, so the length :math:`\nu` may be chosen after the fact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from medn_edu.checks import check_count, check_positive
from medn_edu.priors import (
    BoxPrior,
    ExponentialPrior,
    GaussianPrior,
    LaplacePrior,
    NormalGammaPrior,
    Prior,
)
from medn_edu.samples import LabelledSamples
from medn_edu.theory.bounds.gibbs import GibbsBound, gibbs_bound, gibbs_errors
from medn_edu.theory.bounds.margins import potentials


def averaging_factor(prior: Prior) -> float:
    """Return by how much more often than the Gibbs predictor the averaging model can err.

    Examples
    --------
    >>> from medn_edu.priors import BoxPrior, GaussianPrior
    >>> averaging_factor(GaussianPrior()), round(averaging_factor(BoxPrior()), 4)
    (2.0, 2.7183)
    """
    match prior:
        case GaussianPrior():
            return 2.0
        case LaplacePrior() | BoxPrior() | ExponentialPrior():
            return math.e
        case NormalGammaPrior(shape=shape) if shape >= 1:
            return math.e
    raise ValueError(
        f"prior is {prior!r}, whose tilts need not be symmetric nor log-concave; expected a "
        "Gaussian, Laplace, box or exponential prior, or normal-gamma with shape >= 1."
    )


def gaussian_bounds(
    data: LabelledSamples,
    mean: np.ndarray,
    scales: Sequence[float],
    rng: np.random.Generator,
    *,
    n_draws: int = 200,
    delta: float = 0.05,
) -> list[GibbsBound]:
    """Bound the Gibbs errors of posteriors ``N(scale * mean, I)`` under the prior ``N(0, I)``.

    Twice the least of them bounds the error of the averaging model, whose predictions are the same
    at every scale.
    """
    if not len(scales):
        raise ValueError("scales is empty; expected at least one.")
    check_count("n_draws", n_draws)
    potentials(data, mean)  # checks it
    mean = np.asarray(mean, dtype=float)
    n_samples, bounds = data.samples.n_samples, []
    for scale in scales:
        shifted = check_positive("scales", scale) * mean
        errors = gibbs_errors(data, shifted + rng.standard_normal((n_draws, len(mean))))
        divergence = float(shifted @ shifted) / 2
        bounds.append(
            gibbs_bound(errors, divergence, n_samples, delta=delta, n_choices=len(scales))
        )
    return bounds
