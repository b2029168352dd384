r"""Theorem 8 with every constant of its proof, and the same proof with a sharper last step.

Printed, the theorem hides its constants in an O.  The proof (MEDN, Appendix B.5) has them all: with
probability :math:`1 - \delta` over a sample of :math:`N`, for every posterior :math:`p`, every
:math:`m = 1, 2, \dots` and every :math:`\gamma > 0`,

.. math:: \Pr_Q[M(h) \le 0] \le \underbrace{\Pr_D[M(h) \le \gamma]}_{\text{margin loss}}
          + \underbrace{|\mathcal Y| \, e^{-m \gamma^2 / 32 c^2}}_{\text{averaging}}
          + \underbrace{\sqrt{\frac{m \, KL(p \| p_0) + \ln N + 3 \ln \frac{m + 1}{\delta} + 2}
                                   {2 N - 1}}}_{\text{complexity}} .

**Where m comes from.**  The averaging model :math:`h` is compared with the mean of :math:`m` models
drawn from :math:`p`, each rounded to :math:`\pm c` at a random threshold.  Many draws imitate
:math:`h` well, which makes the second term small; but they diverge from as many draws of the prior by
:math:`m` times as much, which makes the third one large.

**What it costs.**  Let :math:`s = \gamma^2 / 32 c^2`.  The averaging term is below 1 only for
:math:`m > \ln|\mathcal Y| / s`, so at least :math:`32 \ln|\mathcal Y| \, (c / \gamma)^2` divergences
stand under the root.  A margin of a twentieth of the largest possible score makes that 12,800 times
:math:`\ln|\mathcal Y|`: the bound speaks when :math:`N` is beyond this number times the divergence.

**The choice of m.**  The paper sets :math:`m = \lceil 16 c^2 \gamma^{-2} \ln \frac{N |\mathcal Y|^2}
{KL + 1} \rceil`, which makes the averaging term :math:`\sqrt{(KL + 1) / N}`.  As the bound holds for
all :math:`m` at once, the best one may be chosen after the fact, and likewise :math:`\gamma`.

**The same proof with a sharper last step.**  The root is McAllester's (1999).  Seeger's bound with
Maurer's constant (2004) asks of the drawn models' risks that :math:`kl(\text{observed} \|
\text{expected}) \le (KL + \ln(2 \sqrt N / \delta)) / N`; all else in the proof stays.  With
:math:`r = \Pr_D[M(h) \le \gamma] + (|\mathcal Y| - 1) e^{-m s}` this makes

.. math:: \Pr_Q[M(h) \le 0] \le e^{-m s} + kl^{-1}\Big(r, \;
          \frac{m \, KL(p \| p_0) + \ln 2 \sqrt N + \ln \frac{m (m + 1)^2}{\delta}}{N} \Big) .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from medn_edu.checks import check_count, check_nonnegative, check_positive, check_probability
from medn_edu.theory.bounds.margins import LEAST, MarginSample
from medn_edu.theory.bounds.terms import KLTerms, Terms

_SHORTLIST = 512  # thresholds tried at once; then once more, between the best one's neighbours


@dataclass(frozen=True)
class MarginBound:
    """A bound on the error of the averaging model, term by term."""

    gamma: float  # margin threshold
    m: int  # number of imagined draws
    n_samples: int  # number of samples
    margin_loss: float  # share of the samples with a margin of at most ``gamma``
    averaging: float  # what the comparison with ``m`` draws costs, ``|Y| exp(-m gamma^2 / 32 c^2)``
    complexity: float  # what is added because the sample is not the world: the root
    divergence: float  # inside the complexity: ``m KL``
    sampling: float  # inside the complexity: ``ln N`` (of `theorem_8_kl`, ``ln 2 sqrt N``)
    union: float
    value: float

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound says no more than that an error rate is at most 1."""
        return self.value >= 1


def theorem_8(
    sample: MarginSample,
    divergence: float,
    *,
    delta: float = 0.05,
    gamma: float | None = None,
    m: int | None = None,
) -> MarginBound:
    r"""Return Theorem 8's bound on the error of the averaging model, with all constants.

    Examples
    --------
    Margins of at least half the largest score, eight labellings, 100,000 samples:

    >>> margins = np.linspace(1.0, 2.0, 100_000)
    >>> bound = theorem_8(MarginSample(margins, c=2.0, log_n_labellings=np.log(8)), 1.0)
    >>> bound.m, round(bound.averaging, 4), round(bound.complexity, 4), round(bound.value, 4)
    (957, 0.0045, 0.0707, 0.0752)

    The same with a thousand samples:

    >>> few = MarginSample(margins[::100], c=2.0, log_n_labellings=np.log(8))
    >>> round(theorem_8(few, 1.0).value, 2)
    0.64
    """
    return _best(Terms, sample, divergence, delta, gamma, m)


def theorem_8_kl(
    sample: MarginSample,
    divergence: float,
    *,
    delta: float = 0.05,
    gamma: float | None = None,
    m: int | None = None,
) -> MarginBound:
    """Return the bound of Theorem 8's proof with Seeger's last step instead of McAllester's."""
    return _best(KLTerms, sample, divergence, delta, gamma, m)


def theorem_8_m(sample: MarginSample, divergence: float, gamma: float) -> int:
    """Return the paper's choice of ``m``, the last line of Appendix B.5."""
    check_nonnegative("divergence", divergence)
    ratio = _check_gamma(gamma, sample.c) / sample.c
    labellings = sample.log_n_labellings
    terms = Terms(sample.n_samples, 0.0, ratio, labellings, divergence, delta=0.05)
    return int(terms.papers_m())


def _check_gamma(gamma: float, c: float) -> float:
    """Refuse thresholds that no sample could use, and whose number of draws has no float."""
    if check_positive("gamma", gamma) < LEAST * c:
        raise ValueError(f"gamma is {gamma!r}; expected at least a millionth of c, which is {c:g}.")
    return float(gamma)


# ---------------------------------------------------------------------------------------------
# the best gamma and m


def _best(
    kind: type[Terms] | type[KLTerms],
    sample: MarginSample,
    divergence: float,
    delta: float,
    gamma: float | None,
    m: int | None,
) -> MarginBound:
    check_nonnegative("divergence", divergence)
    check_probability("delta", delta)
    if m is not None:
        check_count("m", m)

    def at(thresholds: np.ndarray) -> tuple[Terms | KLTerms, np.ndarray]:
        ratio, loss = thresholds / sample.c, sample.loss(thresholds)
        labellings = sample.log_n_labellings
        terms = kind(sample.n_samples, loss, ratio, labellings, divergence, delta)
        return terms, terms.best_m() if m is None else np.full(thresholds.shape, float(m))

    if gamma is not None:
        thresholds = np.array([_check_gamma(gamma, sample.c)])
    else:
        thresholds = _promising(sample.thresholds(), at)
    terms, draws = at(thresholds)
    best = int(np.argmin(terms.value(draws)))
    return _itemised(*at(thresholds[best : best + 1]), float(thresholds[best]))


def _promising(
    thresholds: np.ndarray, at: Callable[[np.ndarray], tuple[Terms | KLTerms, np.ndarray]]
) -> np.ndarray:
    """Return at most a few hundred thresholds: of many, those around the best of some of them.

    Whatever threshold is taken, the bound holds: it holds for all of them at once.
    """
    while len(thresholds) > _SHORTLIST:
        some = np.unique(np.linspace(0, len(thresholds) - 1, _SHORTLIST).astype(int))
        terms, draws = at(thresholds[some])
        best = int(np.argmin(terms.value(draws)))
        first, last = some[max(best - 1, 0)], some[min(best + 1, len(some) - 1)]
        thresholds = thresholds[first : last + 1]
    return thresholds


def _itemised(terms: Terms | KLTerms, draws: np.ndarray, gamma: float) -> MarginBound:
    """Write out a bound's terms at its only threshold."""
    return MarginBound(
        gamma=gamma,
        m=int(draws[0]),
        n_samples=int(np.asarray(terms.n_samples)),
        margin_loss=float(np.asarray(terms.margin_loss)[0]),
        averaging=float(terms.averaging(draws)[0]),
        complexity=float(terms.root(draws)[0]),
        divergence=float(draws[0] * terms.divergence),
        sampling=float(terms.sampling),
        union=float(terms.union(draws)[0]),
        value=float(terms.value(draws)[0]),
    )
