"""Every theorem, lemma and corollary of the papers, tried on numbers.

A proof can be read; it can also be *tried*.  For each statement there is a small function here that
draws a random instance, computes the two sides of the statement by ways that know nothing of each
other (enumeration against a formula, quadrature against a conjugate, a general convex solver against
the dual that the theorem promises), and returns how far they are apart.

A check that cannot fail says nothing.  So each function can also make a slip, a forgotten factor or a
wrong sign, and then the sides must fall apart.

>>> from medn_edu.theory.checks import CHECKS
>>> all(check.tolerance < 1e-2 for check in CHECKS)
True
"""

from __future__ import annotations

from medn_edu.theory.checks.asp import ASP_CHECKS
from medn_edu.theory.checks.check import Check
from medn_edu.theory.checks.l1m3n import L1M3N_CHECKS
from medn_edu.theory.checks.medn import MEDN_CHECKS

__all__ = ["CHECKS", "Check"]

CHECKS: tuple[Check, ...] = (*MEDN_CHECKS, *L1M3N_CHECKS, *ASP_CHECKS)
"""All checks, paper by paper."""
