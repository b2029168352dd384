"""L1-M3N by the paper's EM, the adaptive M3N.

The L1-M3N paper drops weights whose variance ``tau`` is below 1e-4.  The variable of its quadratic
programs is ``beta``, whose square is ``lam tau``: the estimator, which drops by ``beta``, therefore has
the threshold ``sqrt(1e-4 lam)``.
"""

import math
from typing import Any

from medn_edu.estimators import L1M3N

SMALL = 1e-4
"""What the paper calls dead, for variances and for weights."""


def l1_em(lam: float, **parameters: Any) -> L1M3N:
    """Return L1-M3N by EM, with quadratic programs to a gap of 1 %."""
    options = {"solver": "em", "threshold": math.sqrt(SMALL * lam), "tol": 1e-2, **parameters}
    return L1M3N(lam=lam, verbose=0, **options)
