r"""Penalties on violated margins.

The expected margin constraints of MEDN may be violated by ``xi_i >= 0`` at a price ``U(xi_i)``.  In the
dual only its conjugate appears, as a function of the total mass ``s_i`` that sample ``i`` spreads over
its labellings:

=================== ================================= ============================= =================
slack               :math:`U(\xi)`                    :math:`U^*(s)`                masses
=================== ================================= ============================= =================
`LinearSlack`       :math:`C \xi`                     0                             :math:`s = C`
`QuadraticSlack`    :math:`\frac{C}{2} \xi^2`         :math:`s^2 / 2C`              :math:`s \ge 0`
`ExponentialSlack`  :math:`c \xi - 1 - \log c \xi`    :math:`-\log(1 - s / c)`      :math:`0 \le s < c`
=================== ================================= ============================= =================

The linear price fixes the mass, with the true labelling among those that may carry it (only then does
the equality hold): no sample can weigh more than ``C``, however wrong it is.  The other two leave
the mass free, and only wrong labellings carry any.

Prices are convex and never fall.  A slack below the least one costs what the least one costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from medn_edu.checks import check_positive, shown

__all__ = ["ExponentialSlack", "LinearSlack", "QuadraticSlack", "Slack", "check_slack"]


class Slack(Protocol):
    """What problems ask of a slack; every method works on whole vectors, sample by sample."""

    @property
    def least(self) -> float:
        """Least slack: what a sample pays for even if all its margins are kept."""
        ...

    @property
    def compiled(self) -> tuple[str, float]:
        """Name of the formulas in compiled code, and their constant."""
        ...

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        """Price ``U(xi)`` of slacks."""
        ...

    def conjugate(self, mass: np.ndarray) -> np.ndarray:
        """Conjugate ``U*(s)``, the maximum of ``s xi - U(xi)`` over slacks from the least on."""
        ...


@dataclass(frozen=True)
class LinearSlack:
    """Linear price ``C * xi`` of a violated margin, the papers' choice.

    A sample whose margins are kept pays nothing and carries no mass on wrong labellings; the others
    carry at most ``C``.

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
        object.__setattr__(self, "C", check_positive("C", self.C))

    @property
    def least(self) -> float:
        """Least slack, 0."""
        return 0.0

    @property
    def compiled(self) -> tuple[str, float]:
        """Name of the formulas in compiled code, and their constant."""
        return ("linear", float(self.C))

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        """Price ``U(xi)`` of slacks, elementwise."""
        return self.C * np.maximum(xi, 0.0)

    def conjugate(self, mass: np.ndarray) -> np.ndarray:
        """Conjugate ``U*(s)`` at mass ``s``: 0 up to ``C``, infinite beyond (to rounding)."""
        mass = np.asarray(mass)
        return np.where(mass <= self.C * (1 + 1e-9), 0.0, math.inf)


@dataclass(frozen=True)
class QuadraticSlack:
    """Quadratic price ``C / 2 * xi**2``: cheap small violations, dear large ones.

    The mass of a sample is ``C * xi``, without a bound: one wildly wrong sample can outweigh all
    others.  Every margin is violated a little where that pays.

    Parameters
    ----------
    C : float, default=1.0
        Curvature of the price; positive.

    Raises
    ------
    ValueError
        If ``C`` is not a finite positive number.

    Examples
    --------
    >>> import numpy as np
    >>> slack = QuadraticSlack(C=2.0)
    >>> slack.penalty(np.array([0.0, 1.5])), slack.conjugate(np.array([0.0, 3.0]))
    (array([0.  , 2.25]), array([0.  , 2.25]))
    """

    C: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "C", check_positive("C", self.C))

    @property
    def least(self) -> float:
        """Least slack, 0."""
        return 0.0

    @property
    def compiled(self) -> tuple[str, float]:
        """Name of the formulas in compiled code, and their constant."""
        return ("quadratic", float(self.C))

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        """Price ``U(xi)`` of slacks, elementwise."""
        return 0.5 * self.C * np.square(np.maximum(xi, 0.0))

    def conjugate(self, mass: np.ndarray) -> np.ndarray:
        """Conjugate ``U*(s) = s**2 / (2 C)`` at mass ``s``."""
        mass = np.maximum(mass, 0.0)
        return mass * (mass / (2 * self.C))  # a small mass squared might underflow


@dataclass(frozen=True)
class ExponentialSlack:
    """Price ``c * xi - 1 - log(c * xi)``, the divergence from an exponential prior over the slack.

    Margins themselves become random: with prior ``c * exp(-c * xi)``, a mean slack of ``xi`` costs its
    divergence (Jaakkola, Meila and Jebara 1999).  A mean of ``1 / c`` costs nothing, so that every
    margin may be missed by as much; beyond, the price grows almost linearly, and as with the
    linear slack no sample weighs more than ``c``.

    Parameters
    ----------
    c : float, default=1.0
        Price of one unit of a large violation, and one over the slack that is free; positive.

    Raises
    ------
    ValueError
        If ``c`` is not a finite positive number.

    Examples
    --------
    >>> import numpy as np
    >>> slack = ExponentialSlack(c=2.0)
    >>> slack.least, slack.penalty(np.array([0.5, 5.0])).round(3)
    (0.5, array([0.   , 6.697]))
    >>> slack.conjugate(np.array([0.0, 1.0, 2.0])).round(3)
    array([0.   , 0.693,   inf])
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", check_positive("c", self.c, most=1e150))

    @property
    def least(self) -> float:
        """Least slack, ``1 / c``."""
        return 1 / self.c

    @property
    def compiled(self) -> tuple[str, float]:
        """Name of the formulas in compiled code, and their constant."""
        return ("exponential", float(self.c))

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        """Price ``U(xi)`` of slacks, elementwise."""
        scaled = np.maximum(self.c * np.asarray(xi), 1.0)
        return scaled - 1 - np.log(scaled)

    def conjugate(self, mass: np.ndarray) -> np.ndarray:
        """Conjugate ``U*(s) = -log(1 - s / c)`` at mass ``s``; infinite from ``c`` on."""
        share = np.asarray(mass) / self.c
        inside = share < 1
        values = -np.log1p(-np.where(inside, np.maximum(share, 0.0), 0.0))
        return np.where(inside, values, math.inf)


def check_slack(slack: Any) -> Slack:
    """Return ``slack`` if it is one that the compiled code knows.

    Parameters
    ----------
    slack : Slack
        What somebody handed in.

    Returns
    -------
    Slack
        The slack itself.

    Raises
    ------
    TypeError
        If it is none of those above.

    Examples
    --------
    >>> check_slack(LinearSlack(C=2.0))
    LinearSlack(C=2.0)
    """
    if type(slack) not in (LinearSlack, QuadraticSlack, ExponentialSlack):
        raise TypeError(
            f"slack is {shown(slack)}; expected LinearSlack(C), QuadraticSlack(C) or "
            "ExponentialSlack(c)."
        )
    return slack
