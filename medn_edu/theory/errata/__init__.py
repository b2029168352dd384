"""Slips in the papers, each settled on numbers.

Every long paper has slips: a sign, a forgotten sum, a sentence that says a little more than its proof.
Many do no harm.  But if you derive the formulas again, or write a program from them, you stumble, and
then you have to decide who is wrong.

Each slip comes with a quotation, the formula as printed and the formula as meant.  These texts are in
``medn.toml``, ``l1m3n.toml`` and ``asp.toml``.  A small function computes both formulas on an example.
It also computes the truth in a way that uses neither of them (a general solver, quadrature,
enumeration), so you don't have to believe us.  The functions are in the modules here.

Some slips are marked as *unconfirmed*: we read the papers as extracted by a machine, which may have lost
the letter, the sign or the line in question.

>>> from medn_edu.theory.errata import SLIPS
>>> {slip.paper for slip in SLIPS} <= {"MEDN", "L1-M3N", "ASP"}
True
"""

import tomllib
from importlib import resources

# The numbers: each module registers its functions under the ids of the slips.
from medn_edu.theory.errata import (  # noqa: F401
    asp_exact,
    asp_local,
    l1m3n,
    medn_bound,
    medn_duality,
    medn_laplace,
)
from medn_edu.theory.errata.slip import SEVERITIES, Slip, numbers_of

__all__ = ["ASP_MISPRINTS", "AS_CORRECTED", "SEVERITIES", "SLIPS", "Slip"]

SLIPS: tuple[Slip, ...] = numbers_of.read_package(__name__, "medn.toml", "l1m3n.toml", "asp.toml")
"""All slips, paper by paper, each in the paper's order."""

_ASP = tomllib.loads(resources.files(__name__).joinpath("asp.toml").read_text("utf-8"))
ASP_MISPRINTS: tuple[tuple[str, str, str], ...] = tuple(
    (each["where"], each["printed"], each["meant"]) for each in _ASP["misprint"]
)
"""Misprints that need no numbers: where, as printed, as meant."""

AS_CORRECTED: frozenset[str] = frozenset(
    {"L1-M3N Eq. (3), L1 ball"}.union(*(slip.checks for slip in SLIPS))
)
"""Statements that `medn_edu.theory.checks` tries as corrected here, not as printed.

Eq. (3) of the L1-M3N paper is none of the slips: its argmin has many points, of which Euclid's is one.
"""
