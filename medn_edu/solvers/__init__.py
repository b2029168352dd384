"""Solvers: one file per algorithm, each a generator over passes.

A solver improves a problem and does nothing else.  It is a generator: each ``next`` runs one *pass*
(about one look at every sample) and yields an `Iterate` that holds the live weights, a cheap guess
of how far they are from optimal, and a way to ask for the dual variables.  It does not time itself,
decide when to stop, print or draw: whoever pulls the iterates does that, in production
`medn_edu.results.run`, in a notebook a plain ``for`` loop that looks at the weights on the way:

    for iterate in block_frank_wolfe(problem, rng=np.random.default_rng(0)):
        draw(iterate.weights)
        if iterate.gap_estimate < 1.0:
            break

Because a solver stops between two passes at the will of its caller, anything can be watched,
recorded or interrupted, and no algorithm is written a second time for the sake of an animation.

* `block_frank_wolfe`: maximum entropy discrimination with any prior, on the dual.
* `cutting_plane`, `one_slack_cutting_plane`: M3N with the margins that are violated, for study.
* `exponentiated_gradient`, `block_exponentiated_gradient`: M3N by multiplicative steps on masses.
* `extragradient`: M3N as a game between weights and masses.
* `lbfgs`: conditional random fields, on the primal.
* `owlqn`, `proximal_lbfgs`: the same with an L1 penalty; the second is faster.
* `projected_subgradient`: L1-M3N as steps within a ball.
* `softening`: the family between the two, first the one, then the other.
* `smo`: M3N on marginals, pair by pair of labellings.
* `subgradient`, `online_subgradient`: M3N on the primal, with a dual point for free.
* `variational_laplace`: Algorithm 1 of MEDN, a bound for the Laplace prior.
* `adaptive_m3n`: L1-M3N by M3N with variances that adapt.
"""

from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.solvers.l1_cutting_plane import l1_cutting_plane
from medn_edu.solvers.l1_path import l1_path
from medn_edu.solvers.lbfgs import lbfgs
from medn_edu.solvers.m3n_solvers import M3N_SOLVERS, check_m3n_solver, m3n_iterates
from medn_edu.solvers.owlqn import owlqn
from medn_edu.solvers.proximal_lbfgs import proximal_lbfgs
from medn_edu.solvers.softening import softening
from medn_edu.solvers.textbook.adaptive_m3n import adaptive_m3n
from medn_edu.solvers.textbook.cutting_plane import cutting_plane, one_slack_cutting_plane
from medn_edu.solvers.textbook.exponentiated_gradient import (
    block_exponentiated_gradient,
    exponentiated_gradient,
)
from medn_edu.solvers.textbook.extragradient import extragradient
from medn_edu.solvers.textbook.projected_subgradient import projected_subgradient
from medn_edu.solvers.textbook.smo import smo
from medn_edu.solvers.textbook.subgradient import online_subgradient, subgradient
from medn_edu.solvers.variational import variational_bound, variational_laplace

__all__ = [
    "M3N_SOLVERS",
    "adaptive_m3n",
    "block_exponentiated_gradient",
    "block_frank_wolfe",
    "check_m3n_solver",
    "cutting_plane",
    "exponentiated_gradient",
    "extragradient",
    "l1_cutting_plane",
    "l1_path",
    "lbfgs",
    "m3n_iterates",
    "one_slack_cutting_plane",
    "online_subgradient",
    "owlqn",
    "projected_subgradient",
    "proximal_lbfgs",
    "smo",
    "softening",
    "subgradient",
    "variational_bound",
    "variational_laplace",
]
