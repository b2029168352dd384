"""Penalties on violated margins.

The expected margin constraints of MEDN may be violated by ``xi_i >= 0`` at a price ``U(xi_i)``.  In the
dual only its conjugate appears, as a function of the total mass ``s_i`` that sample ``i`` spreads over
its labellings.  The linear price ``C * xi`` fixes that mass: ``s_i = C``, with the true labelling
among those that may carry it (only then does the equality hold).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from medn_edu.checks import check_positive

__all__ = ["LinearSlack"]


@dataclass(frozen=True)
class LinearSlack:
    """Linear price ``C * xi`` of a violated margin, the papers' choice.

    Parameters
    ----------
    C : float, default=1.0
        Price of one unit of violation; positive.  Larger values fit the training data harder.

    Raises
    ------
    ValueError
        If ``C`` is not a finite positive number.

    Examples
    --------
    >>> import numpy as np
    >>> LinearSlack(C=2.0).penalty(np.array([0.0, 1.5]))
    array([0., 3.])
    """

    C: float = 1.0

    def __post_init__(self) -> None:
        check_positive("C", self.C)

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        """Price ``U(xi)`` of slacks ``xi >= 0``, elementwise."""
        return self.C * np.asarray(xi)

    def conjugate(self, mass: np.ndarray) -> np.ndarray:
        """Conjugate ``U*(s)`` at mass ``s``: 0 up to ``C``, infinite beyond (to rounding)."""
        mass = np.asarray(mass)
        return np.where(mass <= self.C * (1 + 1e-9), 0.0, math.inf)
