"""Problems: data, prior and slack joined into one objective with a primal, a dual and a certificate.

Constants such as ``C`` and ``lam`` are given their meaning here and nowhere else, and so is the gap:
a problem computes its primal value from weights alone and its dual value from dual variables alone,
and knows nothing of how a solver found them.

* `MaxMarginProblem`: expected margins against a prior; with the standard normal prior it is M3N.
* `NormMarginProblem`: margins against a norm of the weights; with half the L1 norm it is L1-M3N.
* `SoftMaxProblem`: the log-loss of conditional random fields.
* `L1SoftMaxProblem`: the same with an L1 penalty.

`medn_edu.problems.constants` says which constants of the L1 problems belong together.
"""

from medn_edu.problems.constants import em_constant, l1_constant, l1_constant_of_em
from medn_edu.problems.margins import MarginProblem
from medn_edu.problems.max_margin import MaxMarginProblem
from medn_edu.problems.norm_margin import NormMarginProblem, weight_bounds
from medn_edu.problems.norms import L1Ball, L1Norm, L2Ball, Norm, SquaredL1Norm
from medn_edu.problems.soft_max import SoftMaxProblem
from medn_edu.problems.sparse_soft_max import L1SoftMaxProblem

__all__ = [
    "L1Ball",
    "L1Norm",
    "L1SoftMaxProblem",
    "L2Ball",
    "MarginProblem",
    "MaxMarginProblem",
    "Norm",
    "NormMarginProblem",
    "SoftMaxProblem",
    "SquaredL1Norm",
    "em_constant",
    "l1_constant",
    "l1_constant_of_em",
    "weight_bounds",
]
