"""Problems: data, loss and regulariser joined into a primal, a dual and a certificate.

Constants such as ``C`` and ``lam`` are given their meaning here and nowhere else, and so is the gap: a
`Problem` computes its primal value from weights alone and its dual value from dual variables alone, and
knows nothing of how a solver found them.  All models of the family are one problem:

========  =====================================  ==============================================
model     loss                                   regulariser
========  =====================================  ==============================================
MEDN      `MarginLoss` of a slack                a prior
M3N       `MarginLoss` of a `LinearSlack`        `GaussianPrior`, or an `ElasticNet`
L1-M3N    `MarginLoss` of a `LinearSlack`        `L1Norm`, `L1Ball` or `SquaredL1Norm`
CRF       `SoftMaxLoss`                          `L2Norm`, `L1Norm` or an `ElasticNet`
between   `SoftMaxLoss` at other temperatures    `L2Norm`
========  =====================================  ==============================================

`medn_edu.problems.problem` derives the dual; `medn_edu.problems.constants` says which constants of the
L1 problems belong together.
"""

from medn_edu.problems.constants import (
    em_constant,
    l1_constant,
    l1_constant_of_em,
    weight_bounds,
)
from medn_edu.problems.dual_variables import DualMarginals, DualVariables
from medn_edu.problems.losses import MarginLoss, SoftMaxLoss
from medn_edu.problems.problem import Certificate, Problem
from medn_edu.problems.regularisers import (
    ElasticNet,
    L1Ball,
    L1Norm,
    L2Ball,
    L2Norm,
    Regulariser,
    SquaredL1Norm,
)

__all__ = [
    "Certificate",
    "DualMarginals",
    "DualVariables",
    "ElasticNet",
    "L1Ball",
    "L1Norm",
    "L2Ball",
    "L2Norm",
    "MarginLoss",
    "Problem",
    "Regulariser",
    "SoftMaxLoss",
    "SquaredL1Norm",
    "em_constant",
    "l1_constant",
    "l1_constant_of_em",
    "weight_bounds",
]
