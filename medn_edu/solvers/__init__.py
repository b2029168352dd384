"""Solvers: one file per algorithm, each a generator over passes.

A solver improves the solution of a problem and does nothing else.  Each ``next`` runs one *pass*, which
usually looks once at every sample (`l1_path` solves one Laplace MEDN, `proximal_point` makes three
passes on its elastic net).  It yields an `Iterate`: the live weights, a cheap estimate of how far they
are from optimal, and a way to ask for the dual variables.  The caller decides when to stop (`l1_path`
and `lbfgs` also take a tolerance) and can watch, record or draw.  Usually the caller is
`medn_edu.results.run`, but in a notebook it can be a plain ``for`` loop::

    for iterate in block_frank_wolfe(problem, rng=np.random.default_rng(0)):
        draw(iterate.weights)
        if iterate.gap_estimate < 1.0:
            break

The models use these:

* `block_frank_wolfe`: maximum entropy discrimination with any prior and slack, M3N included.
* `l1_path`: L1-M3N, as the end of a path of Laplace MEDNs.
* `proximal_point`: L1-M3N on many samples or features, as a sequence of elastic nets.
* `online_exponentiated_gradient`: conditional random fields, and the soft-max models between M3N and the
  CRF, if features are many and sparse.
* `lbfgs`: the same models if features are few, with an L2 norm or without a penalty.
* `proximal_lbfgs`: the same models with an L1 norm.
* `swept_lbfgs`: graphs with cycles, by steps on weights and messages at once; `nested_lbfgs` takes all
  concave counting numbers.
* `epsilon_continuation`: graphs with cycles at temperature 0.
* `softening`: the soft-max models if features are few or the temperature is low; it runs block
  Frank-Wolfe on M3N first, then L-BFGS.

`critical_constant` does not solve a problem: it returns the constant at which the first weight leaves
zero.

`medn_edu.solvers.textbook` has other solvers from the literature, for comparison and study.  Files that
begin with an underscore hold what solvers share.

**To add a solver,** write a generator ``name(problem, ...)`` that yields `Iterate`, export it here, and
add its name where a model looks it up.  A solver in `M3N_SOLVERS` takes ``rng``, and its iterates
provide dual variables (``dual``), because they certify a margin loss.  A solver in ``estimators/crf.py``
takes ``warm_start``, the weights to start from.
"""

from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.solvers.critical import critical_constant
from medn_edu.solvers.epsilon_continuation import epsilon_continuation
from medn_edu.solvers.l1_path import l1_path
from medn_edu.solvers.lbfgs import lbfgs
from medn_edu.solvers.norm_product_learning import norm_product_learning
from medn_edu.solvers.online_exponentiated_gradient import (
    online_exponentiated_gradient,
    suits_visits,
)
from medn_edu.solvers.proximal_lbfgs import proximal_lbfgs
from medn_edu.solvers.proximal_point import proximal_point
from medn_edu.solvers.softening import softening
from medn_edu.solvers.swept_lbfgs import nested_lbfgs, swept_lbfgs
from medn_edu.solvers.textbook.adaptive_m3n import adaptive_m3n
from medn_edu.solvers.textbook.cutting_plane import cutting_plane, one_slack_cutting_plane
from medn_edu.solvers.textbook.dual_losses import dual_losses
from medn_edu.solvers.textbook.exponentiated_gradient import (
    block_exponentiated_gradient,
    exponentiated_gradient,
)
from medn_edu.solvers.textbook.extragradient import extragradient
from medn_edu.solvers.textbook.l1_cutting_plane import l1_cutting_plane
from medn_edu.solvers.textbook.m3n_solvers import M3N_SOLVERS, m3n_iterates
from medn_edu.solvers.textbook.owlqn import owlqn
from medn_edu.solvers.textbook.projected_subgradient import projected_subgradient
from medn_edu.solvers.textbook.smo import smo
from medn_edu.solvers.textbook.subgradient import online_subgradient, subgradient
from medn_edu.solvers.textbook.variational import variational_bound, variational_laplace

__all__ = [
    "M3N_SOLVERS",
    "adaptive_m3n",
    "block_exponentiated_gradient",
    "block_frank_wolfe",
    "critical_constant",
    "cutting_plane",
    "dual_losses",
    "epsilon_continuation",
    "exponentiated_gradient",
    "extragradient",
    "l1_cutting_plane",
    "l1_path",
    "lbfgs",
    "m3n_iterates",
    "nested_lbfgs",
    "norm_product_learning",
    "one_slack_cutting_plane",
    "online_exponentiated_gradient",
    "online_subgradient",
    "owlqn",
    "projected_subgradient",
    "proximal_lbfgs",
    "proximal_point",
    "smo",
    "softening",
    "subgradient",
    "suits_visits",
    "swept_lbfgs",
    "variational_bound",
    "variational_laplace",
]
