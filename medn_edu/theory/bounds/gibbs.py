"""The Gibbs predictor, which draws a new model for every prediction, and bounds on its error.

``gibbs.md`` explains the theory, with its formulas typeset.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medn_edu import priors
from medn_edu.checks import check_count, check_nonnegative, check_positive, check_probability
from medn_edu.inference import Potentials, best_labelling
from medn_edu.samples import LabelledSamples
from medn_edu.theory.bounds.binary_kl import kl_inverse
from medn_edu.theory.bounds.margins import potentials

_TIE = 1e-9  # share of the largest potentials; a smaller lead counts as a tie
_SHARE = 0.2  # share of delta for the draws, because more draws are cheaper than more samples


@dataclass(frozen=True)
class GibbsBound:
    """A bound on the error of the Gibbs predictor, step by step."""

    observed: float  # mean error of the drawn models on the sample
    certified: float
    divergence: float  # ``KL(p || p0)``
    n_samples: int
    n_draws: int
    value: float  # upper bound on the expected error of a drawn model on new samples


def mcallester_bound(
    risk: float, divergence: float, n_samples: int, *, delta: float = 0.05
) -> float:
    """Return McAllester's (1999) bound on a Gibbs risk, which has a square root."""
    n = check_count("n_samples", n_samples)
    _check_risk(risk)
    inside = (
        check_nonnegative("divergence", divergence)
        + math.log(n / check_probability("delta", delta))
        + 2
    )
    return risk + math.sqrt(inside / (2 * n - 1))


def seeger_bound(risk: float, divergence: float, n_samples: int, *, delta: float = 0.05) -> float:
    """Return Seeger's bound on a Gibbs risk with Maurer's constant."""
    n = check_count("n_samples", n_samples)
    _check_risk(risk)
    price = check_nonnegative("divergence", divergence) + math.log(2 * math.sqrt(n))
    return float(kl_inverse(risk, (price - math.log(check_probability("delta", delta))) / n))


def _check_risk(risk: float) -> None:
    if not 0 <= risk <= 1:
        raise ValueError(f"risk is {risk!r}; expected a number between 0 and 1.")


def sampled_risk(errors: np.ndarray, *, delta: float = 0.01) -> float:
    """Return an upper bound on the mean of a quantity between 0 and 1, from independent draws of it."""
    errors = np.asarray(errors, dtype=float)
    if errors.ndim != 1 or not len(errors) or not np.all((errors >= 0) & (errors <= 1)):
        raise ValueError(
            "errors is empty, not one-dimensional or outside [0, 1]; expected one share per draw."
        )
    return float(
        kl_inverse(errors.mean(), -math.log(check_probability("delta", delta)) / len(errors))
    )


def gibbs_bound(
    errors: np.ndarray,
    divergence: float,
    n_samples: int,
    *,
    delta: float = 0.05,
    n_choices: int = 1,
) -> GibbsBound:
    """Bound the error of the Gibbs predictor from the errors of some drawn models.

    It also bounds any other loss between 0 and 1, from independent draws whose mean is that loss.
    """
    share = _SHARE * check_probability("delta", delta) / check_count("n_choices", n_choices)
    certified = sampled_risk(errors, delta=share)
    value = seeger_bound(certified, divergence, n_samples, delta=(1 - _SHARE) * delta)
    observed = float(np.mean(errors))
    return GibbsBound(observed, certified, float(divergence), n_samples, len(errors), value)


def gibbs_errors(data: LabelledSamples, draws: np.ndarray) -> np.ndarray:
    """Return the share of samples that each drawn model labels wrongly.

    A model is right about a sample only if the truth leads every rival by at least a billionth of the
    largest potentials.  So a tie counts as an error, as ``M <= 0`` does in the bounds.
    """
    draws = np.asarray(draws, dtype=float)
    _check_models("draws", draws)
    return np.array([np.mean(_is_wrong(data, weights)) for weights in draws])


def _check_models(name: str, models: np.ndarray) -> None:
    if models.ndim != 2 or not len(models):
        raise ValueError(
            f"{name} have shape {models.shape}; expected (n_{name}, n_weights), not empty."
        )


def _is_wrong(data: LabelledSamples, weights: np.ndarray) -> np.ndarray:
    """Whether any rival comes close to the truth: rivals are given a tiny start."""
    found = potentials(data, weights)
    sizes = [
        np.abs(table[np.isfinite(table)]).max(initial=0.0) for table in (found.node, found.edge)
    ]
    labels, _ = best_labelling(found.with_loss(data.labels, max(_TIE * sum(sizes), _TIE)))
    return np.maximum.reduceat(labels != data.labels, data.samples.offsets[:-1])


def gibbs_losses(data: LabelledSamples, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the share of wrong nodes of each sample; a new model is drawn for each sample.

    Each row belongs to one mean, and its models are drawn from ``N(mean, I)``.  All rows share their
    noise.  The shares in a row are independent numbers between 0 and 1, and the expectation of their
    average is the Gibbs loss on the sample.  So you can pass a row to `gibbs_bound` in place of the
    errors of models that label all samples.  A row has many more numbers.

    >>> from medn_edu.samples import labelled
    >>> data = labelled([np.eye(2)] * 400, [[0, 1]] * 400)
    >>> means = np.outer([0.0, 3.0], [1, -1, -1, 1, 0, 0, 0, 0])
    >>> gibbs_losses(data, means, np.random.default_rng(0)).mean(axis=1).round(2)
    array([0.5, 0. ])
    """
    means, samples = np.asarray(means, dtype=float), data.samples
    _check_models("means", means)
    for mean in means:
        potentials(data, mean)  # checks it
    masks = None if data.allowed_labels is None else samples.cut(data.allowed_labels)
    losses = np.empty((len(means), samples.n_samples))
    for i, labels in enumerate(samples.cut(data.labels)):
        one, mask = samples.take(np.array([i])), None if masks is None else masks[i]
        noise = rng.standard_normal(means.shape[1])
        for k, mean in enumerate(means):
            split = data.weight_shape.split(mean + noise)
            found = Potentials.of_weights(one, *split, data.allowed, mask=mask)
            losses[k, i] = np.mean(best_labelling(found)[0] != labels)
    return losses


# -- back to the average --------------------------------------------------------------------------


def averaging_factor(prior: priors.Prior) -> float:
    """Return an upper bound on the ratio of the averaging model's error to the Gibbs error.

    >>> from medn_edu.priors import BoxPrior, GaussianPrior
    >>> averaging_factor(GaussianPrior()), round(averaging_factor(BoxPrior()), 4)
    (2.0, 2.7183)
    """
    match prior:
        case priors.GaussianPrior():
            return 2.0
        case priors.LaplacePrior() | priors.BoxPrior() | priors.ExponentialPrior():
            return math.e
        case priors.NormalGammaPrior(shape=shape) if shape >= 1:
            return math.e
    raise ValueError(
        f"prior is {prior!r}, whose tilts need be neither symmetric nor log-concave; expected a "
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

    The averaging model makes the same predictions at every scale.  So twice the smallest of these
    bounds is a bound on its error.
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
