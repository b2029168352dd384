r"""Theorem 8 and Eq. (17) of MEDN as what they are, statements about frequencies, added up exactly.

A bound is allowed to fail on a share :math:`\delta` of all samples, and must hold on the others for
all posteriors at once.  To try this without simulation the world is as small as can be: one input,
whose label is turned with probability ``q``; one weight, ``1`` or ``-1``, that says which label
wins.  Then all that a sample of size ``N`` tells is how many labels were turned, a binomial number,
and the chance of being misled is a sum of ``N + 1`` terms.  Posteriors are tilted fair coins, from
one sign to the other; the learner may take the one that looks best on the sample.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from medn_edu.priors import TwoPointPrior
from medn_edu.theory.bounds import Terms
from medn_edu.theory.checks.check import check, excess

_DELTA = 0.05
_MEANS = np.tanh(np.linspace(-4, 4, 25))  # of the weight, under the posteriors


def _draw_world(rng: np.random.Generator) -> tuple[int, float, np.ndarray]:
    """Return the size of samples, how often labels are turned, and the chance of each count."""
    n, q = int(rng.integers(2000, 6000)), rng.uniform(0.1, 0.4)
    return n, q, binom.pmf(np.arange(n + 1), n, q)


def _misled(errors: np.ndarray, bounds: np.ndarray, chances: np.ndarray) -> float:
    """Return the chance that an error exceeds its bound for any posterior, a row of each."""
    return float(chances[np.any(errors[:, None] > bounds, axis=0)].sum())


@check(
    "MEDN Eq. (17)",
    "with probability 1 − δ, for all p, <Pr_Q> ≤ <Pr_D> + √((KL + ln N + ln 1/δ + 2)/(2N − 1))",
    sides="binomial chances of all samples on which any of 25 posteriors breaks the bound; δ",
    slip="the root is left out",
    tolerance=1e-12,
)
def _mcallester(rng: np.random.Generator, slip: bool) -> float:
    """Eq. (17) for one draw: the Gibbs predictor, which errs with the sign's chance."""
    n, q, chances = _draw_world(rng)
    up, seen = (1 + _MEANS) / 2, np.arange(n + 1) / n
    errors = up * q + (1 - up) * (1 - q)
    observed = up[:, None] * seen + (1 - up)[:, None] * (1 - seen)
    divergence = TwoPointPrior().kl(_MEANS)
    inside = divergence + math.log(n) + math.log(1 / _DELTA) + 2
    root = np.sqrt(inside / (2 * n - 1))[:, None]
    return excess(_misled(errors, observed + (0 if slip else root), chances), _DELTA)


@check(
    "MEDN Theorem 8",
    "with probability 1 − δ, for all p and γ, the error of h is below the bound with its constants",
    sides="binomial chances of all samples on which any of 24 posteriors breaks the bound; δ",
    slip="the root is left out",
    tolerance=1e-12,
)
def _theorem_8(rng: np.random.Generator, slip: bool) -> float:
    """The averaging predictor: right or wrong by the sign of the mean, with a margin of twice that."""
    n, q, chances = _draw_world(rng)
    seen = np.arange(n + 1) / n
    means = _MEANS[_MEANS != 0]
    errors = np.where(means > 0, q, 1 - q)
    bounds = np.stack([_bounds(mean, seen, n, slip) for mean in means])
    return excess(_misled(errors, bounds, chances), _DELTA)


def _bounds(mean: float, seen: np.ndarray, n: int, slip: bool) -> np.ndarray:
    """Return the theorem's bound for one posterior, whatever share of labels was seen turned.

    The best threshold is just below the margin ``2 |mean|``; scores are ``w`` and ``-w``, so c = 1.
    """
    loss = seen if mean > 0 else 1 - seen
    if slip:
        return loss  # without a complexity m may be so large that the averaging term is 0
    divergence = float(TwoPointPrior().kl(np.array(mean)))
    terms = Terms(n, loss, 2 * abs(mean) * (1 - 1e-12), math.log(2), divergence, _DELTA)
    return terms.value(np.maximum(terms.best_m(), 1))
