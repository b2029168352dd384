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
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from medn_edu.priors import BoxPrior, TwoPointPrior
from medn_edu.studies.kit.specs import TraceStudy
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
    _add_posteriors(main, N_POSTERIORS[scale], seed)
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
    "quick 4 s, paper 30 s",
    "MEDN Thm 8",
    unit="samples",
    more_figures={"draws": draw_draws},
)
"""The study."""
