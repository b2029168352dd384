r"""The study ``pac-bayes``: where Theorem 8 says something, and whether it is true there.

In the world of `words` (`medn_edu.studies.pac_bayes_worlds`) the error to come is a finite
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
from functools import cache
from typing import Any

import numpy as np

from medn_edu.priors import BoxPrior, TwoPointPrior
from medn_edu.studies.kit.specs import FitSpec, Study
from medn_edu.studies.pac_bayes_posteriors import (
    BoundedPrior,
    left_out,
    measure,
    measure_gibbs,
    measure_steps,
    posteriors_around,
)
from medn_edu.studies.pac_bayes_reports import (
    COLUMNS,
    MAIN_SIZE,
    N_POSTERIORS,
    draw_draws,
    draw_sizes,
    report,
)
from medn_edu.studies.pac_bayes_worlds import (
    fit_medn,
    learn_by_heart,
    noise,
    words,
)

_PRIORS: dict[str, BoundedPrior] = {"two points": TwoPointPrior(), "box": BoxPrior()}
_MAIN = "two points"  # of whose posteriors a thousand samples are drawn
_DIGITS = 7  # of the table's numbers
_PRICE = 10.0  # C = 10 / N
_SIZES = {
    "quick": (1_000, 10_000, 100_000, 1_000_000),
    "paper": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
}
_N_DRAWS = {"quick": 40, "paper": 1000}
_NOISE_SIZE = 400


def _specs(scale: str, seed: int) -> list[FitSpec]:
    draws, many = range(_N_DRAWS[scale]), N_POSTERIORS[scale]
    places = [(prior, n, 0) for prior, n in itertools.product(_PRIORS, _SIZES[scale])]
    places += [(_MAIN, MAIN_SIZE, draw) for draw in draws[1:]]
    return [
        FitSpec("words", draw, prior, (("N", n), ("posteriors", many)), seed)
        for prior, n, draw in places
    ] + [FitSpec("noise", draw, _MAIN, (("N", _NOISE_SIZE),), seed) for draw in draws]


def _sample(spec: FitSpec) -> dict[str, Any]:
    constants, draw = dict(spec.parameters), spec.fold
    if spec.data == "noise":
        row = _noise_row(draw, spec.seed)
    elif (spec.model, constants["N"]) == (_MAIN, MAIN_SIZE):
        m = _first_row(spec.seed)["kl_m"] if draw else None
        row = _words_row(_MAIN, MAIN_SIZE, draw, spec.seed, m=m)
        row |= _rooms(draw, int(constants["posteriors"]), spec.seed)
    else:
        row = _words_row(spec.model, int(constants["N"]), draw, spec.seed)
    return {name: _short(value) for name, value in row.items()}


@cache
def _first_row(seed: int) -> dict[str, Any]:
    return _words_row(_MAIN, MAIN_SIZE, 0, seed)


def _words_row(
    name: str, n_samples: int, draw: int, seed: int, m: int | None = None
) -> dict[str, Any]:
    world, prior, rng = _words(), _PRIORS[name], _rng(seed, n_samples, draw)
    counts = world.draw(n_samples, rng)
    eta = _tilts_of_medn(counts, prior)
    return {
        "world": "words", "prior": name, "n_samples": n_samples, "draw": draw,
        **measure(world, prior, counts, eta),
        **measure_steps(world, prior, counts, eta, m=m),
        **measure_gibbs(world, prior, counts, eta, rng),
    }  # fmt: skip


def _noise_row(draw: int, seed: int) -> dict[str, Any]:
    world, prior = _noise(), _PRIORS[_MAIN]
    counts = world.draw(_NOISE_SIZE, _rng(seed, _NOISE_SIZE, draw))
    eta = learn_by_heart(world, counts)
    return {
        "world": "noise", "prior": _MAIN, "n_samples": _NOISE_SIZE, "draw": draw,
        **measure(world, prior, counts, eta),
        **left_out(world, prior, counts, eta),
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


def _rooms(draw: int, n_posteriors: int, seed: int) -> dict[str, float]:
    """Return how the worst of many posteriors fares on a sample of words."""
    many, counts = (
        _posteriors(n_posteriors, seed),
        _words().draw(MAIN_SIZE, _rng(seed, MAIN_SIZE, draw))[None],
    )
    return {
        "least_room": float(many.rooms(counts).min()),
        "least_training_room": float(many.training_rooms(counts).min()),
    }


@cache
def _posteriors(number: int, seed: int) -> Any:
    world, prior = _words(), _PRIORS[_MAIN]
    eta = _tilts_of_medn(MAIN_SIZE * world.probability, prior)
    return posteriors_around(world, prior, eta, MAIN_SIZE, number, _rng(seed, 0, 0))


PAC_BAYES_STUDY = Study(
    "pac-bayes",
    "Theorem 8 where the error to come is known",
    fits=_specs,
    fit=_sample,
    draw=draw_sizes,
    report=report,
    columns=COLUMNS,
    duration="quick 4 s, paper 30 s",
    shows="MEDN Thm 8",
    more_figures={"draws": draw_draws},
    unit="samples",
    place=15,
)
"""The study."""
