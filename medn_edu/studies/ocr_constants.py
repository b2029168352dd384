"""Constants of the study ``ocr``: what the papers tell, and the grids from which others are chosen."""

from __future__ import annotations

from medn_edu.studies.kit.selection import Grid

SIZES = (100, 150, 200, 250)
"""How many words train."""

BETAS = {100: 4.0, 150: 4.0, 200: 2.0, 250: 2.0}
"""The papers' ``beta``, for each number of words; ``C`` is 200 times as large."""

LAM = 36.0
"""The papers' ``lam`` of LapMEDN."""

L1_CONSTANT = 289.0
"""Radius or ``lam`` of L1-M3N, the middle of the constants of MEDN Fig. 9."""

EM_C = 10.0
"""The ``C`` of EM, which the paper does not tell."""

PAPERS_MODELS = (
    "M3N sub-gradient", "M3N at its optimum", "L1-M3N sub-gradient", "L1-M3N EM",
    "LapMEDN sub-gradient", "LapMEDN at its optimum",
)  # fmt: skip
"""The models with the papers' constants, in the order of tables."""

_PENALTIES: Grid = (("lam", (16.0, 9.0, 4.0, 1.0, 0.1, 0.01)),)
_PRICES: Grid = (("C", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)),)
_LAMS = tuple(float(round(268 - 267 * k / 19)) for k in range(20))
GRIDS: dict[str, Grid] = {
    "L2-CRF": _PENALTIES,
    "L1-CRF": _PENALTIES,
    "M3N": _PRICES,
    "epsilon-M3N": _PRICES,
    "L1-M3N": (("C", (0.1, 0.2, 0.3, 0.5)),),
    "LapMEDN variational": (("lam", _LAMS),),
    "LapMEDN": (("lam", _LAMS),),
}
"""Constants to choose from, for each model that chooses; from strong to weak regularisation."""
