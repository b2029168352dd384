"""The study ``pac-bayes``: what is measured of a posterior on a sample, and of many at once."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from medn_edu.priors import BoxPrior, TwoPointPrior
from medn_edu.studies.pac_bayes_worlds import World
from medn_edu.theory.bounds import (
    MarginSample,
    averaging_factor,
    gibbs_bound,
    seeger_bound,
    theorem_8,
    theorem_8_kl,
    theorem_8_m,
)
from medn_edu.theory.medn import tilt

DELTA = 0.05
"""Probability with which a bound may fail."""

BoundedPrior = BoxPrior | TwoPointPrior
"""Priors under which scores are bounded."""

_N_MODELS = 10_000  # drawn from a posterior to estimate its Gibbs error
_SPREAD = 0.4  # of the further posteriors' eta around one that suits the words
_DIVERGENCES = (0.5, 2.0)  # of the further posteriors


@dataclass(frozen=True, eq=False)
class Trial:
    """One posterior on one sample of a world."""

    world: World
    prior: BoundedPrior
    counts: np.ndarray  # how often each pair of the world is in the sample
    eta: np.ndarray  # natural parameter of the posterior, a tilted prior

    @cached_property
    def sample(self) -> MarginSample:
        """What Theorem 8 asks of a sample under the posterior's mean."""
        c, log_y = self.world.score_bound(self.prior.a), self.world.log_n_labellings
        return MarginSample(self._margins, c, log_y, self.counts)

    @cached_property
    def _margins(self) -> np.ndarray:
        return self.world.margins(self.prior.mean(self.eta)[None])[0]

    @cached_property
    def kl(self) -> float:
        """Divergence of the posterior from the prior."""
        return float(self.prior.kl(self.prior.mean(self.eta)).sum())

    def measure(self) -> dict[str, Any]:
        """Compare Theorem 8 with the error to come."""
        bound = theorem_8(self.sample, self.kl, delta=DELTA)
        return {
            "kl": self.kl,
            "true_error": float(self.world.errors(self._margins[None])[0]),
            "training_error": float(self.sample.loss(np.array(0.0))),
            "gamma_over_c": bound.gamma / self.sample.c,
            "m": bound.m,
            "margin_loss": bound.margin_loss,
            "averaging": bound.averaging,
            "complexity": bound.complexity,
            "theorem_8": bound.value,
        }

    def measure_steps(self, m: int | None = None) -> dict[str, Any]:
        """Return what other steps of the proof make of it: the paper's m, and Seeger's last step."""
        sample, kl = self.sample, self.kl
        papers = [
            theorem_8(sample, kl, delta=DELTA, gamma=gamma, m=theorem_8_m(sample, kl, gamma))
            for gamma in map(float, sample.thresholds())
        ]
        best = min(papers, key=lambda bound: bound.value)
        sharper = theorem_8_kl(sample, kl, delta=DELTA, m=m)
        return {
            "papers_m": best.m,
            "theorem_8_papers_m": best.value,
            "kl_m": sharper.m,
            "theorem_8_kl": sharper.value,
        }

    def left_out(self) -> dict[str, Any]:
        """Return the least that Theorem 8 would say without averaging, and without divergence."""
        least = float(self.sample.thresholds()[0])
        one_draw = theorem_8(self.sample, self.kl, delta=DELTA, gamma=least, m=1)
        return {
            "without_averaging": one_draw.margin_loss + one_draw.complexity,
            "without_divergence": theorem_8(self.sample, 0.0, delta=DELTA).value,
        }

    def measure_gibbs(self, rng: np.random.Generator) -> dict[str, Any]:
        """Bound the Gibbs predictor: with its exact risk on the sample, or estimated by draws."""
        models, mass = gibbs_models(self.prior, self.eta, rng)
        others, _ = gibbs_models(self.prior, self.eta, rng)
        wrong = self.world.margins(models) <= 0
        n_samples = int(self.counts.sum())
        shares = wrong @ self.counts / n_samples
        if isinstance(self.prior, TwoPointPrior):
            risk = float(mass @ shares)
            value, averaged = seeger_bound(risk, self.kl, n_samples, delta=DELTA), None
        else:
            value = gibbs_bound(shares, self.kl, n_samples, delta=DELTA).value
            averaged = averaging_factor(self.prior) * value
        return {
            "gibbs_true": float(mass @ self.world.errors(self.world.margins(others))),
            "gibbs_training": float(mass @ shares),
            "gibbs_bound": value,
            "averaged": averaged,
        }


def gibbs_models(
    prior: BoundedPrior, eta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return models that stand for a posterior: all there are, or some that are drawn from it."""
    if isinstance(prior, TwoPointPrior):
        models = prior.a * np.array(list(itertools.product((-1.0, 1.0), repeat=len(eta))))
        return models, tilt(models, np.full(len(models), 1 / len(models)), eta)
    return prior.draw(eta, rng, _N_MODELS), np.full(_N_MODELS, 1 / _N_MODELS)


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Many posteriors, each with a threshold and a number of draws that were fixed before the sample.

    Whatever these are, Theorem 8 holds for all of them at once.
    """

    eta: np.ndarray  # natural parameter of the tilted prior
    true_errors: np.ndarray  # their errors to come
    wrong: np.ndarray  # which pairs of the world each labels wrongly
    below: np.ndarray  # which pairs have at most the threshold as margin
    extra: np.ndarray  # what Theorem 8 adds to the margin loss

    def rooms(self, counts: np.ndarray) -> np.ndarray:
        """Return by how much Theorem 8 exceeds the error to come."""
        losses = counts @ self.below.T / counts.sum(axis=1, keepdims=True)
        return losses + self.extra - self.true_errors

    def training_rooms(self, counts: np.ndarray) -> np.ndarray:
        """Return by how much the error on the sample exceeds the one to come."""
        return counts @ self.wrong.T / counts.sum(axis=1, keepdims=True) - self.true_errors


def posteriors_around(
    world: World,
    prior: BoundedPrior,
    eta: np.ndarray,
    n_samples: int,
    n_posteriors: int,
    rng: np.random.Generator,
) -> Posteriors:
    """Return posteriors with divergences from 0.5 to 2, tilted somewhat like a given one."""
    etas = eta + _SPREAD * rng.standard_normal((20 * n_posteriors, len(eta)))
    kl = prior.kl(prior.mean(etas)).sum(axis=1)
    fit = np.flatnonzero((_DIVERGENCES[0] <= kl) & (kl <= _DIVERGENCES[1]))[:n_posteriors]
    etas, kl = etas[fit], kl[fit]
    margins = world.margins(prior.mean(etas))
    expected = np.floor(n_samples * world.probability).astype(int)
    expected[np.argmax(expected)] += n_samples - expected.sum()
    c, log_y = world.score_bound(prior.a), world.log_n_labellings
    bounds = [
        theorem_8(MarginSample(own, c, log_y, expected), float(k), delta=DELTA)
        for own, k in zip(margins, kl, strict=True)
    ]
    gamma = np.array([bound.gamma for bound in bounds])
    return Posteriors(
        eta=etas,
        true_errors=world.errors(margins),
        wrong=margins <= 0,
        below=margins <= gamma[:, None],
        extra=np.array([bound.value - bound.margin_loss for bound in bounds]),
    )
