"""Problems: data, loss and regulariser joined into a primal, a dual and a certificate.

A `Problem` computes its primal value from weights alone and its dual value from dual variables alone.
It doesn't need to know how a solver found them, so every solver is checked in the same way.  All models
of the family are one problem with different parts:

========  =====================================  ==============================================
model     loss                                   regulariser
========  =====================================  ==============================================
MEDN      `MarginLoss` of a slack                a prior
M3N       `MarginLoss` of a `LinearSlack`        `GaussianPrior`, or an `ElasticNet`
L1-M3N    `MarginLoss` of a `LinearSlack`        `L1Norm`, `L1Ball` or `SquaredL1Norm`
CRF       `SoftMaxLoss`                          an `ElasticNet`, such as `L2Norm` or `L1Norm`
between   `SoftMaxLoss` at other temperatures    `L2Norm`
========  =====================================  ==============================================

On graphs with cycles, `LocalProblem` takes the place of M3N, the CRF and the models between them.  It
has messages and beliefs (`LocalPoint`) in place of dual variables: ``local.py``.

Where is it?

* The primal, the dual of P1, and the gap: ``problem.py`` derives them and has `Problem.primal`,
  `Problem.dual` and `Problem.certify`.  A dual value needs three sums over the dual variables, which
  ``dual_variables.py`` computes.
* A loss: ``losses.py``.  A new one needs ``loss_augmented``, ``_constants``, ``_evaluate``, ``_scaled``
  and ``_conjugate``, and a place in the check of `Problem`.
* A regulariser: ``regularisers.py``.  A new one needs ``value`` and ``conjugate`` for a certificate, and
  for `medn_edu.solvers.block_frank_wolfe` also ``domain``, ``log_mgf``, ``mean``, ``variance`` and
  ``compiled``.  Docstrings say *magnitudes* for the L1 norm and *squares* for the squared L2 norm.
* A slack, the price of a margin violation: `medn_edu.slacks`.  A prior: `medn_edu.priors`.
* Gradients and curvature of the soft-max loss, for quasi-Newton methods: ``soft_max.py``.
* What only the solvers for comparison need: ``textbook/``.  It has balls, the squared L1 norm, dual
  variables summed by node and edge, and the constants at which the L1 problems have the same solution.
"""

from medn_edu.problems.dual_variables import Dual, DualVariables, LocalPoint
from medn_edu.problems.local import LocalProblem
from medn_edu.problems.losses import MarginLoss, SoftMaxLoss
from medn_edu.problems.problem import Certificate, Problem
from medn_edu.problems.regularisers import (
    ElasticNet,
    L1Norm,
    L2Norm,
    PowerNorm,
    Regulariser,
    weight_bounds,
)
from medn_edu.problems.textbook.constants import em_constant, l1_constant, l1_constant_of_em
from medn_edu.problems.textbook.dual_marginals import DualMarginals
from medn_edu.problems.textbook.regularisers import L1Ball, L2Ball, SquaredL1Norm

__all__ = [
    "Certificate",
    "Dual",
    "DualMarginals",
    "DualVariables",
    "ElasticNet",
    "L1Ball",
    "L1Norm",
    "L2Ball",
    "L2Norm",
    "LocalPoint",
    "LocalProblem",
    "MarginLoss",
    "PowerNorm",
    "Problem",
    "Regulariser",
    "SoftMaxLoss",
    "SquaredL1Norm",
    "em_constant",
    "l1_constant",
    "l1_constant_of_em",
    "weight_bounds",
]
