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

# Each module registers its functions under the ids of the checks.
from medn_edu.theory.checks import (  # noqa: F401
    asp_exact,
    asp_local,
    l1m3n,
    medn_duality,
    medn_laplace,
    medn_pac_bayes,
    medn_variational,
)
from medn_edu.theory.checks.check import Check, discrepancy_of

__all__ = ["CHECKS", "Check"]

# The report of 2009 has MEDN's statements under the same numbers.  LapM3N (2008) has Theorems 2 and 3,
# too; its Theorem 4 is Theorem 8 here, and what follows from the Laplace prior has no numbers there.
CHECKS: tuple[Check, ...] = discrepancy_of.read_package(
    __name__, "medn.toml", "l1m3n.toml", "asp.toml"
)
"""All checks, paper by paper, each in the paper's order."""
