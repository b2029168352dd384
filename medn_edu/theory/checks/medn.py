"""Statements of MEDN (Zhu and Xing 2009), tried on random instances.

The report of 2009 has the same statements under the same numbers.  LapM3N (2008) has Theorems 2 and
3, too; its Theorem 4 is Theorem 8 here, and what follows from the Laplace prior has no numbers there.
"""

from __future__ import annotations

from medn_edu.theory.checks.check import Check
from medn_edu.theory.checks.medn_duality import DUALITY_CHECKS
from medn_edu.theory.checks.medn_frequency import FREQUENCY_CHECKS
from medn_edu.theory.checks.medn_gaussian import GAUSSIAN_CHECKS
from medn_edu.theory.checks.medn_laplace import LAPLACE_CHECKS
from medn_edu.theory.checks.medn_pac_bayes import PAC_BAYES_CHECKS
from medn_edu.theory.checks.medn_variational import VARIATIONAL_CHECKS

MEDN_CHECKS: tuple[Check, ...] = (
    *DUALITY_CHECKS,
    *GAUSSIAN_CHECKS,
    *LAPLACE_CHECKS,
    *VARIATIONAL_CHECKS,
    *PAC_BAYES_CHECKS,
    *FREQUENCY_CHECKS,
)
"""The checks, in the paper's order."""
