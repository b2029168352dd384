r"""The study ``pac-bayes``: where Theorem 8 says something, and whether it is true there.

In the world of `words` (`medn_edu.experiments.studies.pac_bayes_worlds`) the error to come is a finite
sum, and scores are bounded because weights are: the prior puts every weight at :math:`\pm 1`, or
anywhere between.  MEDN is trained on samples of a thousand to ten million words, and the bounds are
computed with all their constants, from the loosest to the tightest.

**Is it true?**  The theorem promises that with probability :math:`1 - \delta` over the sample the
bound holds for *every* posterior.  So a thousand samples are drawn.  On each of them the bound is
compared with the error to come for MEDN, which has seen the sample, and for 200 further posteriors at
once; one failure among them is a failure of the sample.

**Is every term needed?**  A bound is no good test of itself when it is loose: it would survive the loss
of a term.  So terms are left out.  Without the *complexity* the averaging term can be made as small as
one likes by larger and larger :math:`m`, and what remains is that no error to come exceeds the error
on the sample.  Without *averaging*, the best choice is :math:`m = 1` and a tiny margin: the divergence
pays for one draw, yet the average of infinitely many is used.  Without the *divergence*, every
posterior costs the same.  In the world of `noise` a posterior with :math:`KL = 1` learns 400 coins by
heart, and all three are wrong.

The paper asks for a continuous prior.  Its proof does not use that, and two points will do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from medn_edu.experiments.specs import TraceStudy
from medn_edu.experiments.studies.pac_bayes_reports import (
    COLUMNS,
    DELTA,
    MAIN_SIZE,
    draw_draws,
    draw_sizes,
    report,
)
from medn_edu.experiments.studies.pac_bayes_worlds import (
    World,
    fit_medn,
    learn_by_heart,
    noise,
    words,
)
from medn_edu.priors import BoxPrior, TwoPointPrior
from medn_edu.theory.bounds import (
    MarginBound,
    MarginSample,
    averaging_factor,
    gibbs_bound,
    seeger_bound,
    theorem_8,
    theorem_8_kl,
    theorem_8_m,
)
from medn_edu.theory.medn import tilt

__all__ = [
    "PAC_BAYES_STUDY",
    "Posteriors",
    "gibbs_models",
    "margin_sample_of",
    "measure",
    "posteriors_around",
]

BoundedPrior = BoxPrior | TwoPointPrior

_PRIORS: dict[str, BoundedPrior] = {"two points": TwoPointPrior(), "box": BoxPrior()}
_MAIN = "two points"  # of whose posteriors a thousand samples are drawn
_DIGITS = 7  # of the table's numbers
_PRICE = 10.0  # C = 10 / N
_SIZES = {
    "quick": (1_000, 10_000, 100_000, 1_000_000),
    "paper": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
}
_N_DRAWS = {"quick": 40, "paper": 1000}
_N_POSTERIORS = {"quick": 50, "paper": 200}
_N_MODELS = 10_000  # drawn from a posterior to estimate its Gibbs error
_SPREAD = 0.4  # of the further posteriors' tilts around one that suits the words
_DIVERGENCES = (0.5, 2.0)  # of the further posteriors
_NOISE_SIZE = 400


def _trace(scale: str, seed: int, progress: Callable[[int, int, str], Any]) -> list[dict[str, Any]]:
    n_draws = _N_DRAWS[scale]
    rows: list[dict[str, Any]] = []
    settings = list(itertools.product(_PRIORS, _SIZES[scale]))
    n_all = len(settings) + 2 * n_draws - 1
    for prior, n in settings:
        progress(len(rows), n_all, f"{n:,} words, {prior}")
        rows.append(_words_row(prior, n, 0, seed))
    [first] = [row for row in rows if (row["prior"], row["n_samples"]) == (_MAIN, MAIN_SIZE)]
    main = [first]
    for draw in range(1, n_draws):
        progress(len(settings) + draw, n_all, "draws of words")
        main.append(_words_row(_MAIN, MAIN_SIZE, draw, seed, m=first["kl_m"]))
    _add_posteriors(main, _N_POSTERIORS[scale], seed)
    rows += main[1:]
    for draw in range(n_draws):
        progress(len(rows), n_all, "draws of noise")
        rows.append(_noise_row(draw, seed))
    progress(n_all, n_all, "")
    return [{name: _short(value) for name, value in row.items()} for row in rows]


def _words_row(
    name: str, n_samples: int, draw: int, seed: int, m: int | None = None
) -> dict[str, Any]:
    world, prior, rng = _words(), _PRIORS[name], _rng(seed, n_samples, draw)
    counts = world.draw(n_samples, rng)
    eta = _tilts_of_medn(counts, prior)
    return {
        "world": "words", "prior": name, "n_samples": n_samples, "draw": draw,
        **measure(world, prior, counts, eta),
        **_steps(margin_sample_of(world, prior, counts, eta), _divergence(prior, eta), m),
        **_gibbs(world, prior, counts, eta, rng),
    }  # fmt: skip


def _noise_row(draw: int, seed: int) -> dict[str, Any]:
    world, prior = _noise(), _PRIORS[_MAIN]
    counts = world.draw(_NOISE_SIZE, _rng(seed, _NOISE_SIZE, draw))
    eta = learn_by_heart(world, counts)
    return {
        "world": "noise", "prior": _MAIN, "n_samples": _NOISE_SIZE, "draw": draw,
        **measure(world, prior, counts, eta),
        **_left_out(margin_sample_of(world, prior, counts, eta), _divergence(prior, eta)),
    }  # fmt: skip


def _tilts_of_medn(counts: np.ndarray, prior: BoundedPrior) -> np.ndarray:
    eta = fit_medn(_words(), counts, prior, _PRICE).eta
    assert eta is not None
    return eta


def _rng(seed: int, n_samples: int, draw: int) -> np.random.Generator:
    return np.random.default_rng((seed, n_samples, draw))


_words, _noise = cache(words), cache(noise)  # their tables of features are made once


def _short(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


# ---------------------------------------------------------------------------------------------
# one posterior, one sample


def measure(
    world: World, prior: BoundedPrior, counts: np.ndarray, eta: np.ndarray
) -> dict[str, Any]:
    """Compare Theorem 8 with the error to come.

    Parameters
    ----------
    world : World
        Where the sample is from.
    prior : BoxPrior or TwoPointPrior
        The prior.
    counts : ndarray of shape (n_pairs,)
        The sample: how often each pair occurs.
    eta : ndarray of shape (n_weights,)
        What tilts the prior.

    Returns
    -------
    dict
        Divergence, both errors, the bound and its terms, by their names in the table.
    """
    sample, kl = margin_sample_of(world, prior, counts, eta), _divergence(prior, eta)
    bound = theorem_8(sample, kl, delta=DELTA)
    return {
        "kl": kl,
        "true_error": float(world.errors(world.margins(prior.mean(eta)[None]))[0]),
        "training_error": float(sample.loss(np.array(0.0))),
        "gamma_over_c": bound.gamma / sample.c,
        "m": bound.m,
        "margin_loss": bound.margin_loss,
        "averaging": bound.averaging,
        "complexity": bound.complexity,
        "theorem_8": bound.value,
    }


def margin_sample_of(
    world: World, prior: BoundedPrior, counts: np.ndarray, eta: np.ndarray
) -> MarginSample:
    """Return what Theorem 8 asks of a sample under the mean of a tilted prior.

    Parameters
    ----------
    world : World
        Where the sample is from.
    prior : BoxPrior or TwoPointPrior
        The prior.
    counts : ndarray of int, shape (n_pairs,)
        How often each pair occurs.
    eta : ndarray of shape (n_weights,)
        What tilts the prior.

    Returns
    -------
    MarginSample
        Margins with their counts, the bound on scores, the number of labellings.
    """
    margins = world.margins(prior.mean(eta)[None])[0]
    return MarginSample(margins, world.score_bound(prior.a), world.log_n_labellings, counts)


def _divergence(prior: BoundedPrior, eta: np.ndarray) -> float:
    return float(prior.kl(prior.mean(eta)).sum())


def _steps(sample: MarginSample, kl: float, m: int | None) -> dict[str, Any]:
    """Return what other steps of the proof would make of it: the paper's m, and Seeger's last step."""
    papers = [
        theorem_8(sample, kl, delta=DELTA, gamma=gamma, m=theorem_8_m(sample, kl, gamma))
        for gamma in map(float, sample.thresholds())
    ]
    best, sharper = min(papers, key=_value), theorem_8_kl(sample, kl, delta=DELTA, m=m)
    return {
        "papers_m": best.m,
        "theorem_8_papers_m": best.value,
        "kl_m": sharper.m,
        "theorem_8_kl": sharper.value,
    }


def _value(bound: MarginBound) -> float:
    return bound.value


def _left_out(sample: MarginSample, kl: float) -> dict[str, Any]:
    """Return the least that Theorem 8 would say without one of its terms."""
    least = float(sample.thresholds()[0])
    one_draw = theorem_8(sample, kl, delta=DELTA, gamma=least, m=1)
    return {
        "without_averaging": one_draw.margin_loss + one_draw.complexity,
        "without_divergence": theorem_8(sample, 0.0, delta=DELTA).value,
    }


def _gibbs(
    world: World,
    prior: BoundedPrior,
    counts: np.ndarray,
    eta: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Bound the Gibbs predictor: with its exact risk on the sample if there is one, else by draws."""
    models, mass = gibbs_models(prior, eta, rng)
    wrong = world.margins(models) <= 0
    n_samples, kl = int(counts.sum()), _divergence(prior, eta)
    shares = wrong @ counts / n_samples
    if isinstance(prior, TwoPointPrior):
        value, averaged = seeger_bound(float(mass @ shares), kl, n_samples, delta=DELTA), None
    else:
        value = gibbs_bound(shares, kl, n_samples, delta=DELTA).value
        averaged = averaging_factor(prior) * value
    return {
        "gibbs_true": float(mass @ (wrong @ world.probability)),
        "gibbs_training": float(mass @ shares),
        "gibbs_bound": value,
        "averaged": averaged,
    }


def gibbs_models(
    prior: BoundedPrior, eta: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return models that stand for a posterior: all there are, or some that are drawn from it.

    Parameters
    ----------
    prior : BoxPrior or TwoPointPrior
        The prior.
    eta : ndarray of shape (n_weights,)
        What tilts it.
    rng : numpy.random.Generator
        Draws the models, of the box.

    Returns
    -------
    models : ndarray of shape (n_models, n_weights)
        With two points all ``2 ** n_weights`` sign patterns, else 10,000 draws.
    mass : ndarray of shape (n_models,)
        Their probabilities.
    """
    if isinstance(prior, TwoPointPrior):
        models = prior.a * np.array(list(itertools.product((-1.0, 1.0), repeat=len(eta))))
        return models, tilt(models, np.full(len(models), 1 / len(models)), eta)
    return prior.draw(eta, rng, _N_MODELS), np.full(_N_MODELS, 1 / _N_MODELS)


# ---------------------------------------------------------------------------------------------
# many posteriors at once


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Many posteriors, each with a threshold and a number of draws that were fixed before the sample.

    Whatever these are, Theorem 8 holds for all of them at once.

    Parameters
    ----------
    eta : ndarray of shape (n_posteriors, n_weights)
        What tilts the prior.
    true_errors : ndarray of shape (n_posteriors,)
        Their errors to come.
    wrong, below : ndarray of bool, shape (n_posteriors, n_pairs)
        Where the margin is not positive, and where it is at most the threshold.
    extra : ndarray of shape (n_posteriors,)
        What Theorem 8 adds to the margin loss.
    """

    eta: np.ndarray
    true_errors: np.ndarray
    wrong: np.ndarray
    below: np.ndarray
    extra: np.ndarray

    def rooms(self, counts: np.ndarray) -> np.ndarray:
        """Return by how much Theorem 8 exceeds the error to come, ``(n_samples, n_posteriors)``."""
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
    """Return posteriors with divergences from 0.5 to 2, tilted somewhat like a given one.

    Parameters
    ----------
    world : World
        Where samples are from.
    prior : BoxPrior or TwoPointPrior
        The prior.
    eta : ndarray of shape (n_weights,)
        What tilts it in the given posterior.
    n_samples : int
        Size of the samples.
    n_posteriors : int
        How many.
    rng : numpy.random.Generator
        Draws the tilts.

    Returns
    -------
    Posteriors
        The posteriors, with the threshold and the number of draws that the probabilities themselves
        would suggest.
    """
    tilts = eta + _SPREAD * rng.standard_normal((20 * n_posteriors, len(eta)))
    kl = prior.kl(prior.mean(tilts)).sum(axis=1)
    fit = np.flatnonzero((_DIVERGENCES[0] <= kl) & (kl <= _DIVERGENCES[1]))[:n_posteriors]
    tilts, kl = tilts[fit], kl[fit]
    margins = world.margins(prior.mean(tilts))
    expected = np.floor(n_samples * world.probability).astype(int)
    expected[np.argmax(expected)] += n_samples - expected.sum()
    c, log_y = world.score_bound(prior.a), world.log_n_labellings
    bounds = [
        theorem_8(MarginSample(own, c, log_y, expected), float(k), delta=DELTA)
        for own, k in zip(margins, kl, strict=True)
    ]
    gamma = np.array([bound.gamma for bound in bounds])
    return Posteriors(
        eta=tilts,
        true_errors=world.errors(margins),
        wrong=margins <= 0,
        below=margins <= gamma[:, None],
        extra=np.array([bound.value - bound.margin_loss for bound in bounds]),
    )


def _add_posteriors(rows: Sequence[dict[str, Any]], n_posteriors: int, seed: int) -> None:
    """Write into each row of a draw how the worst of many posteriors fares on it."""
    world, prior = _words(), _PRIORS[_MAIN]
    eta = _tilts_of_medn(MAIN_SIZE * world.probability, prior)
    many = posteriors_around(world, prior, eta, MAIN_SIZE, n_posteriors, _rng(seed, 0, 0))
    counts = [world.draw(MAIN_SIZE, _rng(seed, MAIN_SIZE, row["draw"])) for row in rows]
    rooms = many.rooms(np.array(counts)).min(axis=1)
    training_rooms = many.training_rooms(np.array(counts)).min(axis=1)
    for row, room, training_room in zip(rows, rooms, training_rooms, strict=True):
        row["least_room"], row["least_training_room"] = float(room), float(training_room)


PAC_BAYES_STUDY = TraceStudy(
    "pac-bayes",
    "Theorem 8 where the error to come is known",
    COLUMNS,
    (),
    _trace,
    draw_sizes,
    report,
    "quick 3 s, paper 40 s",
    "MEDN Thm 8",
    unit="samples",
    more_figures={"draws": draw_draws},
)
"""The study."""
