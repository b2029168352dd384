"""Theory to read and to check against: plain algorithms without compiled code."""

from __future__ import annotations

from medn_edu.theory.medn import enumerate_problem, p1_value
from medn_edu.theory.medn_solvers import solve_dual, solve_primal
from medn_edu.theory.norms import kl_ball, kl_norm, norm_ball

__all__ = [
    "enumerate_problem",
    "kl_ball",
    "kl_norm",
    "norm_ball",
    "p1_value",
    "solve_dual",
    "solve_primal",
]
