"""The study ``pac-bayes``: what can be promised of M3N on the OCR letters, where weights have no limits.

M3N is MEDN with the prior N(0, I), whose posterior is N(mu, I).  Theorem 8 has nothing to say of it, as
no c bounds its scores; a bound on the Gibbs predictor has.  Predictions of the mean do not change when
mu is stretched, so a few lengths are tried, and a few constants C, both fixed before the data.  Seeger's
bound holds for all these posteriors at once; only the estimates of their losses share a delta.

Theorem 8 itself is computed for a MEDN with a box prior on the same words.
"""

from typing import Any

import numpy as np

from medn_edu import M3N, MEDN
from medn_edu.priors import BoxPrior
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.studies.kit.splits import ocr_letters
from medn_edu.studies.pac_bayes_posteriors import DELTA
from medn_edu.theory.bounds import (
    MarginSample,
    gibbs_bound,
    gibbs_losses,
    log_n_labellings,
    observed_margins,
    theorem_8,
)

CONSTANTS = (0.0001, 0.001, 0.01)
"""The C of M3N that may be chosen from, after the fact."""

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""The divergences that may be chosen from, as shares of N; they fix the lengths of the means."""

_BOX, _BOX_C = 1.0, 0.001  # the prior of the MEDN that Theorem 8 is about
_TEST_FOLD = 0
_TOL = 1e-3  # relative gap of both models
_MOST_WORDS = 2.0**60  # looked for


def normal_rows(n_words: int, C: float, seed: int) -> list[dict[str, Any]]:
    """Bound the Gibbs predictors of M3N's posteriors of several lengths, a row for each."""
    train, test = _words(n_words, seed)
    model = M3N(C=C, tol=_TOL).fit(*train)
    seen, new = (_labelled(part) for part in (train, test))
    mean = seen.weight_shape.join(model.coef_, model.transitions_)
    divergences = np.multiply(SHARES, n_words)
    means = np.outer(np.sqrt(2 * divergences) / np.linalg.norm(mean), mean)
    rng = np.random.default_rng([seed, n_words, round(1e6 * C)])
    drawn = [gibbs_losses(part, means, rng) for part in (seen, new)]
    rows = []
    for kl, losses, held_out in zip(map(float, divergences), *drawn, strict=True):
        letters, words = (
            gibbs_bound(each, kl, n_words, delta=DELTA, n_choices=len(SHARES) * len(CONSTANTS))
            for each in (losses, losses > 0)
        )
        rows.append({
            "world": "ocr", "prior": "normal", "n_samples": n_words, "draw": 0, "C": C, "kl": kl,
            "true_error": _loss(model, test), "training_error": _loss(model, train),
            "gibbs_true": float(held_out.mean()), "gibbs_training": letters.observed,
            "gibbs_certified": letters.certified, "gibbs_bound": letters.value,
            "gibbs_words": float((held_out > 0).mean()), "gibbs_words_bound": words.value,
        })  # fmt: skip
    return rows


def box_row(n_words: int, seed: int) -> dict[str, Any]:
    """Return Theorem 8 for MEDN with a box prior, and how many such words it would take."""
    train, test = _words(n_words, seed)
    prior, data = BoxPrior(_BOX), _labelled(train)
    model = MEDN(prior=prior, slack=LinearSlack(_BOX_C), tol=_TOL).fit(*train)
    kl = float(prior.kl(model.posterior_mean_).sum())
    n_pixels, longest = train[0][0].shape[1], max(map(len, ocr_letters().data))
    c = _BOX * (longest * n_pixels + longest - 1)  # pixels are 0 or 1
    margins = observed_margins(data, model.posterior_mean_)

    def bound(times: float) -> float:
        counts = np.full(len(margins), int(times))
        return theorem_8(
            MarginSample(margins, c, log_n_labellings(data), counts), kl, delta=DELTA
        ).value

    low, high = 1.0, _MOST_WORDS / n_words
    while high > 1.001 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if bound(middle) < 1 else (middle, high)
    return {
        "world": "ocr", "prior": "box", "n_samples": n_words, "draw": 0, "C": _BOX_C, "kl": kl,
        "true_error": _loss(model, test), "training_error": _loss(model, train),
        "theorem_8": bound(1), "words_needed": n_words * high,
    }  # fmt: skip


_Part = tuple[list[np.ndarray], list[Any]]


def _words(n_words: int, seed: int) -> tuple[_Part, _Part]:
    """Return words drawn from all folds but one, of which smaller draws are part, and that fold."""
    bunch = ocr_letters()
    others = np.flatnonzero(bunch.fold != _TEST_FOLD)
    drawn = np.random.default_rng(seed).permutation(others)[:n_words]
    train, test = (
        ([bunch.data[i] for i in part], [bunch.target[i] for i in part])
        for part in (drawn, np.flatnonzero(bunch.fold == _TEST_FOLD))
    )
    return train, test


def _labelled(part: _Part) -> LabelledSamples:
    """Pack words with the codes of all letters of the alphabet, whether they occur or not."""
    codes = {letter: code for code, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
    labels = np.array([codes[letter] for word in part[1] for letter in word])
    return label_samples(pack(part[0]), labels, np.ones((1, 26, 26), dtype=bool))


def _loss(model: Any, part: _Part) -> float:
    """Return the share of wrong letters of a word, averaged over words."""
    pairs = zip(model.predict(part[0]), part[1], strict=True)
    return float(np.mean([np.mean(np.asarray(found) != np.asarray(y)) for found, y in pairs]))
