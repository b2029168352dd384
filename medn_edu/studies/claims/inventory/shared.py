"""Models and rules that several sentences share, in one paper or in three of them.

Where the papers stop sub-gradient descent early, or solve three quadratic programs of the variational
bound, so do the models named here; `medn_edu.studies.claims.claim.judge` adds what the optima say.
"""

from __future__ import annotations

from typing import Any

from medn_edu.studies.claims.claim import Claim
from medn_edu.studies.claims.constants import MoreStable, Overfits, Sensitive, Steady
from medn_edu.studies.claims.errors import Better, Comparable, LargestGain
from medn_edu.studies.claims.rules import EitherOf, Untested

IID, CORRELATED, OCR = "synthetic-iid", "synthetic-correlated", "ocr"
SENSITIVITY, OVERFITTING, ALGORITHMS = "sensitivity", "ocr-overfitting", "l1m3n-algorithms"
WEB, DENOISING, EPSILON = "web-extraction", "denoising", "epsilon"

CRF, L2, L1, L1_M3N = "CRF", "L2-CRF", "L1-CRF", "L1-M3N"
M3N, LAP = "M3N", "LapMEDN variational"  # as in the papers' first study
M3N_S, LAP_S = "M3N sub-gradient", "LapMEDN sub-gradient"  # as in all others
L1_M3N_S, L1_M3N_EM = "L1-M3N sub-gradient", "L1-M3N EM"  # on OCR, one in each paper
L1_M3N_EITHER = (L1_M3N_EM, "L1-M3N online sub-gradient")
# against constants: "C fixed at 1" sounds like EM, but the paper trains by sub-gradients
ALL = (CRF, L2, L1, M3N, L1_M3N, LAP)
ALL_S = (CRF, L2, L1, M3N_S, L1_M3N, LAP_S)
ALL_OCR, ALL_EM = (CRF, L2, L1, M3N_S, L1_M3N_S, LAP_S), (CRF, L2, L1, M3N_S, L1_M3N_EM, LAP_S)
WITHOUT_L1_M3N = (CRF, L2, L1, M3N, LAP)
WITHOUT_L1_M3N_S = (CRF, L2, L1, M3N_S, LAP_S)

MUCH = 2.0
"""Points of error that "much" or "obviously" stands for."""
SLIGHTLY = 1.0
"""Points of error that "slightly" goes up to."""

# independent features
LAP_BEATS_M3N = Better((LAP,), (M3N,), consistently=True)
LAP_LIKE_L1_CRF = Comparable((LAP,), (L1,))
LAP_LIKE_L1_M3N = Comparable((LAP,), (L1_M3N,))
PENALTIES_HELP = Better((L1, L2), (CRF,))
PENALTIES_HELP_FEW = LargestGain((L1, L2), (CRF,), "few samples")
L2_LIKE_M3N = Comparable((L2,), (M3N,))
SPARSE_BEAT_M3N = Better((L1_M3N, L1), (M3N,))
CRF_MUCH_WORSE = Better((L2, L1, M3N, L1_M3N, LAP), (CRF,), at_least=MUCH)

# features in groups, and OCR: the papers' sub-gradient descent
LAP_BEATS_M3N_S = Better((LAP_S,), (M3N_S,), consistently=True)
LAP_LIKE_L1_CRF_S = Comparable((LAP_S,), (L1,))
LAP_LIKE_L1_M3N_S = Comparable((LAP_S,), (L1_M3N,))
L2_LIKE_M3N_S = Comparable((L2,), (M3N_S,))
SPARSE_BEAT_M3N_S = Better((L1_M3N, L1), (M3N_S,))
CRF_MUCH_WORSE_S = Better((L2, L1, M3N_S, L1_M3N, LAP_S), (CRF,), at_least=MUCH)
M3N_BEATS_CRFS = Better((M3N_S,), (CRF, L1))
L2_BEATS_L1 = Better((L2,), (L1,))

# constants, and training
L1_SENSITIVE = Sensitive((L1,))
L1_LESS_STABLE_THAN_L2 = MoreStable((L2,), (L1,))
L1_M3N_MORE_STABLE = EitherOf(tuple(MoreStable((n,), (L1,)) for n in L1_M3N_EITHER))
L1_M3N_MUCH_MORE_STABLE = EitherOf(
    tuple(MoreStable((n,), (L1,), factor=0.5) for n in L1_M3N_EITHER)
)
OVERFIT = Overfits((CRF, L1))
OVERFIT_CRF = Overfits((CRF,))
L2_STEADY = Steady((L2,))

OVERFIT_AMENDED = {
    "amended": "the best moment was looked for among marks of the likelihood's relative change only; "
    "now among those of the likelihood itself, too, as in the table of ocr-overfitting, because the "
    'text said "from its best moment" and a CRF\'s lowest error is at a mark of the other kind.'
}
SHRINKS_AMENDED = {
    "amended": "the rule asks for more non-zero weights than L1-CRF's of LapMEDN, too, because the "
    "sentence names both and only L2-CRF was looked at."
}

# what nobody tests
WHY = Untested("an explanation; neither the paper nor a study here puts it to a test.")
WHY_UNLIKE_TRUTH = Untested(
    "an explanation; no study trains on the labels that the generating model predicts instead."
)
WHY_FEATURES = Untested("no study asks how much each feature of the letters matters.")
WARM_SIMPLEX = Untested(
    "the study's simplex always starts warm; nothing is compared with a cold one."
)
MANY_CONSTRAINTS = Untested("the table does not tell how many constraints there are.")


def coming(study: str) -> Untested:
    """Return the rule on what a study that is still to come will test."""
    return Untested(f"the study {study} is still to come.")


def claims(paper: str, section: str, *entries: tuple[Any, ...], caveat: str = "") -> list[Claim]:
    """Give the claims of a section their ids, a letter each."""
    return [
        Claim(
            f"{paper}-{section}-{'z' * (n // 25)}{chr(ord('a') + n % 25)}",
            *(text, study, rule),
            **{"caveat": "" if isinstance(rule, Untested) else caveat, **dict(*fields)},
        )
        for n, (text, study, rule, *fields) in enumerate(entries)
    ]
