"""The papers' theory as plain Python, for reading, computing and checking the solvers.

Nothing here is compiled, so every function can be followed line by line.

==================  ============================================================================
`reference`         inference on forests, by enumeration and by recursion, in a few lines each
`medn`              P1, D1 and Theorem 2 by enumeration (`medn_solvers` solves both problems)
`frank_wolfe`       one block step of Frank-Wolfe on D1, as in the compiled solver
`log_linear`        one visit of the online exponentiated gradient, as in the compiled solver
`textbook`          one step of each of three textbook methods for the dual of M3N
`axi`               the course's word of three letters: two weights, so it fits on paper
`two_weights`       exact dual variables of *axi* under any prior, and the posterior in the plane
`l1m3n`             L1-M3N and its variants as linear and convex programs
`projection`        projection onto the L1 ball and the L2 ball
`norms`             the KL-norm, balls in two and three dimensions, limits, touching points
`laplace`           the Laplace prior as a mixture, and how loose the variational bound is
`variational`       Algorithm 1 with one weight, and iterations that end at the exact solution
`bounds`            PAC-Bayes bounds with every constant: Theorem 8, and tighter ones
`factor_graphs`     approximate structured prediction on graphs with cycles
`loopy`             additions to that paper: conditional entropies, mean field, ties
`checks`            every theorem of the papers, with both sides computed on random instances
`errata`            slips in the papers: as printed, as corrected, and checked numerically
==================  ============================================================================
"""

from medn_edu.theory.l1m3n import solve_l1_ball, solve_l1m3n, solve_squared_l1
from medn_edu.theory.laplace import gaussian_kl, jensen_bound, jensen_gap
from medn_edu.theory.medn import enumerate_problem, p1_value
from medn_edu.theory.medn_solvers import solve_dual, solve_primal
from medn_edu.theory.norms import (
    kl_ball,
    kl_level,
    kl_norm,
    kl_solid,
    norm_ball,
    norm_solid,
    touching_point,
)
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

__all__ = [
    "enumerate_problem",
    "gaussian_kl",
    "jensen_bound",
    "jensen_gap",
    "kl_ball",
    "kl_level",
    "kl_norm",
    "kl_solid",
    "norm_ball",
    "norm_solid",
    "p1_value",
    "project_l1_ball",
    "project_l2_ball",
    "solve_dual",
    "solve_l1_ball",
    "solve_l1m3n",
    "solve_primal",
    "solve_squared_l1",
    "touching_point",
]
