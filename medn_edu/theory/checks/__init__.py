"""Every theorem, lemma and corollary of the papers, tried on numbers.

A proof can be read; it can also be *tried*.  For each statement there is a small function here that
draws a random instance, computes the two sides of the statement by ways that know nothing of each
other (enumeration against a formula, quadrature against a conjugate, a general convex solver against
the dual that the theorem promises), and returns how far they are apart.

A check that cannot fail says nothing.  So each function can also make a slip, a forgotten factor or a
wrong sign, and then the sides must fall apart.  An inequality that holds may still be far from tight;
`Check.tightness` says how far.

>>> from medn_edu.theory.checks import CHECKS
>>> all(check.tolerance < 1e-2 for check in CHECKS)
True
"""

# Each module registers its functions under the ids of the checks.
from medn_edu.theory.checks import (  # noqa: F401
    asp_exact,
    asp_local,
    l1m3n,
    lapm3n,
    medn_duality,
    medn_laplace,
    medn_pac_bayes,
    medn_variational,
)
from medn_edu.theory.checks.check import Check, discrepancy_of

__all__ = ["CHECKS", "Check"]

# The report of 2009 has MEDN's statements under the same numbers.  What follows from the Laplace prior
# has no numbers in LapM3N (2008); it is tried as MEDN has it.
CHECKS: tuple[Check, ...] = discrepancy_of.read_package(
    __name__, "medn.toml", "lapm3n.toml", "l1m3n.toml", "asp.toml"
)
"""All checks, paper by paper, each in the paper's order."""
