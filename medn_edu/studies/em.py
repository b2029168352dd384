"""L1-M3N by the paper's EM, the adaptive M3N.

The L1-M3N paper drops weights whose variance ``tau`` is below 1e-4.  The variable of its quadratic
programs is ``beta``, whose square is ``lam tau``: the estimator, which drops by ``beta``, therefore has
the threshold ``sqrt(1e-4 lam)``.
"""

import math
from typing import Any, Self

from medn_edu.estimators import L1M3N

SMALL = 1e-4
"""What the paper calls dead, for variances and for weights."""


class _EM(L1M3N):
    """L1-M3N whose threshold follows ``lam``, also where ``lam`` is chosen."""

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, and with ``lam`` the threshold."""
        if "lam" in parameters:
            parameters["threshold"] = math.sqrt(SMALL * parameters["lam"])
        return super().set_params(**parameters)


def l1_em(lam: float = 1.0, **parameters: Any) -> L1M3N:
    """Return L1-M3N by EM, with quadratic programs to a gap of 1 %."""
    return _EM(**{"solver": "em", "tol": 1e-2, "verbose": 0, **parameters}).set_params(lam=lam)
