"""MEDN, Appendix B.5: a slip in the proof of Theorem 8."""

import numpy as np

from medn_edu.theory.errata.slip import numbers_of


@numbers_of("divergence-of-averages")
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
