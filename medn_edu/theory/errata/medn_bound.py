"""MEDN, §6, Appendix B.5 and §7: slips about Theorem 8 and about the synthetic data."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from medn_edu.theory.errata.slip import Slip

__all__ = ["BOUND_SLIPS"]


def _chosen_m(c: float, gamma: float, log_labellings: float, kl: float, n: int) -> int:
    """Appendix B.5's last line."""
    inside = math.log(n) + 2 * log_labellings - math.log(kl + 1)
    return math.ceil(16 * (c / gamma) ** 2 * inside)


def _unbounded_scores() -> dict[str, float]:
    """Mean of B.5's random function g where the score is normal, so that no c bounds it."""
    h, c, n = 1.5, 2.0, 2000
    low, high = -c - h, c - h
    density = [math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) for z in (low, high)]
    clipped = h * (ndtr(high) - ndtr(low)) + density[0] - density[1] - c * ndtr(low)
    clipped += c * (1 - ndtr(high))
    share = (np.arange(n) + 0.5) / n
    scores, thresholds = h + ndtri(share), c * (2 * share - 1)
    g = 2 * c * (thresholds < scores[:, None]) - c
    beyond = 1 - ndtr(high) + ndtr(low)
    return {
        "printed": h,
        "corrected": float(clipped),
        "truth": float(g.mean()),
        "chance of |F| > c": float(beyond),
    }


def _other_units() -> dict[str, float]:
    """Factor by which the divergence's term grows when all scores are given in tenths."""
    kl, n, labellings = 5.0, 1000, 8 * math.log(26)
    c, gamma, units = 2.0, 0.5, 10.0
    before = _chosen_m(c, gamma, labellings, kl, n) * kl
    after = _chosen_m(units * c, units * gamma, labellings, kl, n) * kl
    return {
        "printed": (units * gamma) ** -2 / gamma**-2,
        "corrected": (units * c / (units * gamma)) ** 2 / (c / gamma) ** 2,
        "truth": after / before,
    }


def _no_divergence() -> dict[str, float]:
    """Growth of what stands under the root, times 2N - 1, from gamma = 0.01 to 0.000001, if KL = 0."""
    n, labellings, delta, c = 1000, 8 * math.log(26), 0.05, 1.0
    margins = (1e-2, 1e-6)

    def printed(gamma: float) -> float:
        kl_term = gamma**-2 * 0.0 * (math.log(n) + labellings)
        return kl_term + math.log(n) + math.log(1 / delta)

    def proved(gamma: float) -> float:
        m = _chosen_m(c, gamma, labellings, 0.0, n)
        return m * 0.0 + math.log(n) + 3 * math.log((m + 1) / delta) + 2

    return {
        "printed": printed(margins[1]) - printed(margins[0]),
        "corrected": 6 * math.log(margins[0] / margins[1]),
        "truth": proved(margins[1]) - proved(margins[0]),
    }


def _divergence_of_averages() -> dict[str, float]:
    """Divergence of the average of three votes on one labelling, where F is 1/2 or -1/2 and c is 1."""
    m, scores = 3, np.array([0.5, -0.5])
    p, p0 = np.array([0.9, 0.1]), np.array([0.5, 0.5])

    def divergence(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ np.log(a / b))

    def votes(weights: np.ndarray) -> np.ndarray:
        ayes = weights @ (1 + scores) / 2  # chance that the threshold is below the score
        return np.array([ayes, 1 - ayes])

    def law_of_f(weights: np.ndarray) -> np.ndarray:
        law = np.ones(1)
        for _ in range(m):
            law = np.convolve(law, votes(weights))
        return law

    return {
        "printed": m * divergence(p, p0),
        "corrected": m * divergence(votes(p), votes(p0)),
        "truth": divergence(law_of_f(p), law_of_f(p0)),
    }


def _generating_model() -> dict[str, float]:
    """Draw label sequences from a random CRF, all 256 of each enumerated, and predict them by it."""
    rng = np.random.default_rng(0)
    n, length, relevant = 2000, 8, 30
    coef, transitions = rng.normal(size=(2, relevant)), rng.normal(size=(2, 2))
    sequences = np.array(list(itertools.product((0, 1), repeat=length)))
    node = rng.normal(size=(n, length, relevant)) @ coef.T
    scores = node[:, np.arange(length), sequences].sum(axis=2)
    scores += transitions[sequences[:, :-1], sequences[:, 1:]].sum(axis=1)
    p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    drawn = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=255)
    best = scores.argmax(axis=1)
    wrong = sequences[best] != sequences[drawn]
    ones = p @ sequences  # the marginals
    expected = np.where(sequences[best] == 1, 1 - ones, ones)
    return {
        "printed": 0.5,
        "corrected": float(expected.mean()),
        "truth": float(wrong.mean()),
        "sequences with an error": float(wrong.any(axis=1).mean()),
    }


BOUND_SLIPS: tuple[Slip, ...] = (
    Slip(
        paper="MEDN",
        where="§6 and Appendix B.5",
        title="a mild assumption",
        printed=r"|F(\mathbf x, \mathbf y; \mathbf w)| \le c \text{ for all } \mathbf w "
        r"\;\Rightarrow\; \langle g \rangle = h(\mathbf x, \mathbf y)",
        corrected=r"\langle g \rangle = \big\langle \min(c, \max(-c, F)) \big\rangle "
        r"\ne h(\mathbf x, \mathbf y) \text{ where } F \text{ has no bound}",
        why=(
            "F is linear in w, so only a prior on a bounded set grants a bound: not the normal and "
            "not the Laplace prior, the paper's two. There the proof imitates the mean of the "
            "clipped F instead."
        ),
        matters=(
            "Yes: as it stands Theorem 8 says nothing of either model. It holds for box and "
            "two-point priors."
        ),
        truth="the mean of g over 4 million pairs of score and threshold",
        numbers=_unbounded_scores,
        tolerance=1e-3,
    ),
    Slip(
        paper="MEDN",
        where="Theorem 8",
        title="a bound that depends on units",
        printed=r"O\Big(\sqrt{\tfrac1N \big(\gamma^{-2} KL(p \| p_0) \ln(N |\mathcal Y|) + \dots"
        r"\big)}\Big)",
        corrected=r"O\Big(\sqrt{\tfrac1N \big(c^2 \gamma^{-2} KL(p \| p_0) \ln(N |\mathcal Y|) + "
        r"\dots\big)}\Big)",
        why=(
            "Scores and margins may be given in any unit, so only γ/c can count. B.5 has the c in "
            "its m; the theorem hides it in the O, together with a factor of 16."
        ),
        matters="To whoever compares models by γ: larger features make larger margins, and a larger c.",
        truth="m KL with the m of Appendix B.5, in both units",
        numbers=_other_units,
        tolerance=1e-3,
    ),
    Slip(
        paper="MEDN",
        where="Theorem 8 and the end of Appendix B.5",
        title="a logarithm that gets lost",
        printed=r"\gamma^{-2} KL(p \| p_0) \ln(N |\mathcal Y|) + \ln N + \ln \delta^{-1}",
        corrected=r"c^2 \gamma^{-2} KL(p \| p_0) \ln(N |\mathcal Y|) + \ln N + \ln \delta^{-1} "
        r"+ \ln\big(c^2 \gamma^{-2} \ln(N |\mathcal Y|)\big)",
        why=(
            "The proof pays 3 ln((m+1)/δ) for all m at once, and its m grows like c²/γ². If KL is not "
            "small the first term covers that; if it is nearly 0, nothing does."
        ),
        matters="Hardly ever: a posterior that is the prior has learnt nothing.",
        truth="what stands under the root in the proof's last line, with its m",
        numbers=_no_divergence,
        tolerance=1e-3,
    ),
    Slip(
        paper="MEDN",
        where="Appendix B.5, before Eq. (17)",
        title="the divergence of averages",
        printed=r"KL(p^m \| p_0^m) = m \, KL(p \| p_0)",
        corrected=r"KL(p^m \| p_0^m) \le m \, KL(p \| p_0)",
        why=(
            "Equality holds for the m draws of model and threshold. Their average f, whose "
            "distribution p^m is defined to be, may forget which models were drawn, and what "
            "forgets cannot diverge more. If there is one labelling only, it is m times the "
            "divergence of one vote."
        ),
        matters="To nobody: the inequality is what the proof needs.",
        truth="the law of the average, by convolution",
        numbers=_divergence_of_averages,
    ),
    Slip(
        paper="MEDN",
        where="§7.1.2",
        title="the error of the generating model",
        printed=r"\text{error rate of the generating model on its own data} \approx 0.5",
        corrected=r"\approx 0.07 \text{ of the labels, } \approx 0.4 \text{ of the sequences}",
        why=(
            "Of two labels chance gets half right, and no model predicts whole sequences better "
            "in the long run than the one that draws them. The papers do not say how they drew its "
            "weights; if standard normal, a rate near one half may count sequences with some wrong "
            "label, but not labels. L1-M3N §5.1 repeats the sentence."
        ),
        matters=(
            "Yes, to the conclusion drawn: in the long run learned models do not err less than "
            "the one that made the data."
        ),
        truth="2,000 sequences drawn from a random CRF and predicted by it, wrong labels counted",
        numbers=_generating_model,
        tolerance=0.01,
    ),
)
"""In the paper's order."""
