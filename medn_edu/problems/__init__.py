"""Problems: data, prior and slack joined into one objective with a primal, a dual and a certificate.

Constants such as ``C`` and ``lam`` are given their meaning here and nowhere else, and so is the gap:
a problem computes its primal value from weights alone and its dual value from dual variables alone,
and knows nothing of how a solver found them.

* `MaxMarginProblem`: expected margins against a prior; with the standard normal prior it is M3N.
* `SoftMaxProblem`: the log-loss of conditional random fields.
* `L1SoftMaxProblem`: the same with an L1 penalty.
"""

from medn_edu.problems.max_margin import MaxMarginProblem
from medn_edu.problems.soft_max import SoftMaxProblem
from medn_edu.problems.sparse_soft_max import L1SoftMaxProblem

__all__ = ["L1SoftMaxProblem", "MaxMarginProblem", "SoftMaxProblem"]
