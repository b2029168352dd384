"""Slips in the papers, each settled on numbers.

Papers of some length have slips: a sign, a forgotten sum, a sentence that says a little more than the
proof behind it.  Most do no harm.  A reader who derives the formulas anew, or who writes a program from
them, stumbles over them all the same, and has then to decide who is wrong.

Each slip here comes with a quotation, with the formula as printed and the formula as meant, and
with a small function that computes both on an example, and a third number next to them: the truth,
found in a way that uses neither (a general solver, quadrature, enumeration).  Nobody has to be
believed.

>>> from medn_edu.theory.errata import SLIPS
>>> {slip.paper for slip in SLIPS} <= {"MEDN", "L1-M3N", "ASP"}
True
"""

from __future__ import annotations

from medn_edu.theory.errata.asp import ASP_SLIPS
from medn_edu.theory.errata.l1m3n import L1M3N_SLIPS
from medn_edu.theory.errata.medn import MEDN_SLIPS
from medn_edu.theory.errata.slip import SEVERITIES, Slip

__all__ = ["AS_CORRECTED", "SEVERITIES", "SLIPS", "Slip"]

SLIPS: tuple[Slip, ...] = (*MEDN_SLIPS, *L1M3N_SLIPS, *ASP_SLIPS)
"""All slips, paper by paper."""

AS_CORRECTED: frozenset[str] = frozenset(
    {"L1-M3N Eq. (3), L1 ball"}.union(*(slip.checks for slip in SLIPS))
)
"""Statements that `medn_edu.theory.checks` tries as corrected here, not as printed.

Eq. (3) of the L1-M3N paper is none of the slips: its argmin has many points, of which Euclid's is one.
"""
