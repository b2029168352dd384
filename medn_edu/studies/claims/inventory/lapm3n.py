"""Every empirical sentence of the LapM3N paper (ICML 2008), section 6, and two of its conclusions.

Its correlated data are ten samples from one random CRF; those of the study are from ten, as in the later
paper, of which the ledger tells in that section.
"""

from __future__ import annotations

from medn_edu.studies.claims.constants import MoreStable
from medn_edu.studies.claims.errors import Better, Falls, LargestGain
from medn_edu.studies.claims.inventory.shared import (
    CORRELATED,
    CRF,
    IID,
    L1,
    L1_LESS_STABLE_THAN_L2,
    L1_SENSITIVE,
    L2,
    L2_BEATS_L1,
    L2_LIKE_M3N,
    L2_LIKE_M3N_S,
    L2_STEADY,
    LAP,
    LAP_BEATS_M3N,
    LAP_BEATS_M3N_S,
    LAP_LIKE_L1_CRF,
    LAP_LIKE_L1_CRF_S,
    LAP_S,
    M3N,
    M3N_BEATS_CRFS,
    M3N_S,
    OCR,
    OVERFIT,
    OVERFIT_AMENDED,
    OVERFIT_CRF,
    OVERFITTING,
    PENALTIES_HELP,
    SENSITIVITY,
    SHRINKS_AMENDED,
    WHY,
    WHY_FEATURES,
    WITHOUT_L1_M3N,
    WITHOUT_L1_M3N_S,
    claims,
)
from medn_edu.studies.claims.rules import Untested

CLAIMS = [
    *claims(
        "lapm3n", "6.1.1",
        ("LapM3N errs less than M3N in every setting", IID, LAP_BEATS_M3N),
        ("LapM3N does as well as L1-CRF", IID, LAP_LIKE_L1_CRF),
        ("a penalty, L1 or L2, makes CRFs better", IID, PENALTIES_HELP),
        ("M3N and L2-CRF do equally well", IID, L2_LIKE_M3N),
        ("they do so because only their losses differ", IID, WHY),
        ("with more training data every model gets better", IID, Falls(WITHOUT_L1_M3N)),
        ("LapM3N gains most, on M3N, when few features are relevant", IID,
         LargestGain((LAP,), (M3N,), "few relevant")),
    ),
    *claims(
        "lapm3n", "6.1.2",
        ("features in groups: LapM3N errs less than M3N in every setting", CORRELATED,
         LAP_BEATS_M3N_S),
        ("features in groups: LapM3N does as well as L1-CRF", CORRELATED, LAP_LIKE_L1_CRF_S),
        ("features in groups: a penalty makes CRFs better", CORRELATED, PENALTIES_HELP),
        ("features in groups: M3N and L2-CRF do equally well", CORRELATED, L2_LIKE_M3N_S),
        ("features in groups: with more training data every model gets better", CORRELATED,
         Falls(WITHOUT_L1_M3N_S)),
        ("features in groups: what was said of few relevant features", CORRELATED,
         Untested("this study has one number of relevant features, as in the paper.")),
        caveat="the paper draws its ten data sets from one random CRF, ours are from ten, as in the "
        "later papers: so the intervals tell of other CRFs, too, and all ten of the paper's share the "
        "luck of one.",
    ),
    *claims(
        "lapm3n", "6.2",
        ("OCR: with more training data every model gets better", OCR, Falls(WITHOUT_L1_M3N_S)),
        ("OCR: with more training data every model's error varies less", OCR,
         Falls(WITHOUT_L1_M3N_S, "spread")),
        ("OCR: LapM3N errs less than all other models, in every setting", OCR,
         Better((LAP_S,), (CRF, L2, L1, M3N_S), consistently=True)),
        ("OCR: M3N errs less than CRF and L1-CRF", OCR, M3N_BEATS_CRFS),
        ("OCR: L2-CRF and M3N do equally well", OCR, L2_LIKE_M3N_S),
        ("OCR: they do so because only their losses differ", OCR, WHY),
        ("OCR: CRF and L1-CRF over-fit", OVERFITTING, OVERFIT, OVERFIT_AMENDED),
        ("OCR: L2-CRF are robust", OVERFITTING, L2_STEADY, OVERFIT_AMENDED),
        ("unlike synthetic ones, features of real data are usually not completely irrelevant", OCR,
         WHY_FEATURES),
        ("OCR: zeroing small weights, as L1-CRF does, hurts (rule: L2-CRF errs less)", OCR,
         L2_BEATS_L1),
        ("OCR: zeroing small weights makes L1-CRF unstable against its constant", SENSITIVITY,
         L1_LESS_STABLE_THAN_L2),
        ("OCR: like LapM3N, L2-CRF shrinks small weights and does not zero them (rule: L1-CRF has fewer "
         "non-zero than both; whether they shrink is not tested)",
         OCR, Better((L1,), (L2, LAP_S), quantity="nonzero"), SHRINKS_AMENDED),
        ("OCR: maximum likelihood without a penalty over-fits", OVERFITTING, OVERFIT_CRF,
         OVERFIT_AMENDED),
    ),
    *claims(
        "lapm3n", "6.3",
        ("L1-CRF is sensitive to its constant", SENSITIVITY, L1_SENSITIVE),
        ("L2-CRF, M3N and LapM3N are much less so (rule: half the range)", SENSITIVITY,
         MoreStable((L2, M3N, LAP), (L1,), factor=0.5)),
        ("LapM3N is the most stable model", SENSITIVITY, MoreStable((LAP,), (L1, L2, M3N))),
        ("LapM3N is stable because it weights by a posterior instead of zeroing", SENSITIVITY,
         WHY),
    ),
    *claims(
        "lapm3n", "7",
        ("conclusion: weighting by a posterior makes LapM3N more stable than L1-CRF", SENSITIVITY,
         MoreStable((LAP,), (L1,))),
        ("conclusion: weighting by a posterior makes LapM3N better on new data than L1-CRF (rule: OCR)",
         OCR, Better((LAP_S,), (L1,))),
    ),
]  # fmt: skip
"""The claims in the order of the paper."""
