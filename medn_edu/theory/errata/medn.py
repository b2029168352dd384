"""Slips in the MEDN paper (Zhu and Xing 2009), each settled on numbers.

Three modules have them: `medn_edu.theory.errata.medn_duality` those about Lagrange multipliers,
`medn_edu.theory.errata.medn_laplace` those about the Laplace prior, and
`medn_edu.theory.errata.medn_bound` the one in the proof of Theorem 8.

The text at hand is an authors' version of the journal article, read by a machine; a slip may be gone in
the printed one.
"""

from __future__ import annotations

from medn_edu.theory.errata.medn_bound import AVERAGES_SLIP
from medn_edu.theory.errata.medn_duality import DUAL_OF_L1_SLIP, DUALITY_SLIPS
from medn_edu.theory.errata.medn_laplace import BRANCH_SLIP, EARLIER_SLIP, LAPLACE_SLIPS
from medn_edu.theory.errata.slip import Slip

MEDN_SLIPS: tuple[Slip, ...] = (
    *DUALITY_SLIPS,
    *LAPLACE_SLIPS,
    AVERAGES_SLIP,
    DUAL_OF_L1_SLIP,
    BRANCH_SLIP,
    EARLIER_SLIP,
)
"""In the paper's order, then the appendices, then the first version."""
