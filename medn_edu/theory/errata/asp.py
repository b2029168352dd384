"""Slips in the paper on approximated structured prediction (Hazan and Urtasun 2010).

Two modules have them: `medn_edu.theory.errata.asp_exact` those where everything is exact, and
`medn_edu.theory.errata.asp_local` those about local entropies and messages.

The text at hand was read by a machine, which is apt to lose a single letter, sub- or superscript.  So
what is only one letter, and without consequence, is no slip here but stands in `ASP_MISPRINTS`.
"""

from __future__ import annotations

from medn_edu.theory.errata.asp_exact import EXACT_SLIPS
from medn_edu.theory.errata.asp_local import LOCAL_SLIPS
from medn_edu.theory.errata.slip import Slip

ASP_SLIPS: tuple[Slip, ...] = (
    *EXACT_SLIPS[:2],
    *LOCAL_SLIPS[:3],
    *EXACT_SLIPS[2:],
    *LOCAL_SLIPS[3:],
)
"""In the paper's order."""

ASP_MISPRINTS: tuple[tuple[str, str, str], ...] = (
    ("§2.1", "the log-partition Z(x, y)", "ln Z(x, y)"),
    ("§2.1", "d is the vector of empirical means", "of empirical sums"),
    (
        "§2.2",
        "the soft-max and its gradient without sums over v and alpha",
        "with them, as in Eq. (8)",
    ),
    ("§2.2", "refeq:approx", "Eq. (8)"),
    ("§3", "equivalent to minimizing the dual program", "maximizing"),
    (
        "Theorem 2's proof, twice",
        "minimizing the beliefs over their domain",
        "maximizing over them",
    ),
    ("Lemma 4", "lambda of y_alpha in the argmax", "lambda of y_v"),
    ("after Lemma 4", "c_i > 0", "c_v > 0"),
    ("Figure 1", "y_r, y_beta and e_{y,r} in the updates of n and b", "y_v, y_v and e_{y,v}"),
    ("Figure 1", "c_r in the update of theta", "d_r, as in Lemma 4"),
    ("end of §4", "the approximated structured prediction objective (8)", "that of Theorem 2"),
    ("§5", "node potentials phi_{i,j}", "edge potentials"),
    ("§5", "reduce the chances of convergence", "increase them"),
    ("Figure 2", "4,1382", "4.1382"),
)
"""Misprints that need no numbers: where, as printed, as meant; some may be the reading machine's."""
