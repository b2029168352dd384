"""MEDN, Appendix B.5: a slip in the proof of Theorem 8."""

from __future__ import annotations

import numpy as np

from medn_edu.theory.errata.slip import Slip


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


AVERAGES_SLIP = Slip(
    paper="MEDN",
    where="Appendix B.5, before Eq. (17)",
    title="the divergence of averages",
    severity="proof",
    quote=(
        r'"We denote the distribution of $f$ over the set $\mathcal H_m$ by $p^m$." And then: '
        r'"$KL(p^m \| p_0^m) = m KL(p \| p_0)$".'
    ),
    checks=("MEDN B.5, KL of committees",),
    printed=r"KL(p^m \| p_0^m) = m \, KL(p \| p_0)",
    corrected=r"KL(p^m \| p_0^m) \le m \, KL(p \| p_0)",
    why=(
        "Equality holds for the m draws of model and threshold. Their average f, whose "
        "distribution p^m is defined to be, may forget which models were drawn, and dropping "
        "information cannot increase a divergence. If there is one labelling only, it is m times "
        "the divergence of one vote."
    ),
    matters="To nobody: the inequality is what the proof needs.",
    truth="the law of the average, by convolution",
    numbers=_divergence_of_averages,
)
"""In Appendix B.5."""
