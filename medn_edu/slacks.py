r"""Penalties on violated margins.

The expected margin constraints of MEDN may be violated by ``xi_i >= 0`` at a price ``U(xi_i)``.
Only the conjugate of the price appears in the dual, as a function of ``s_i = sum_y alpha_i(y)``,
the total of the dual variables of sample ``i``:

=================== ============================== ============================= =================
slack               :math:`U(\xi)`                 :math:`U^*(s)`                totals
=================== ============================== ============================= =================
`LinearSlack`       :math:`C \xi`                  0                             :math:`s = C`
`QuadraticSlack`    :math:`\frac{C}{2} \xi^2`      :math:`s^2 / 2C`              :math:`s \ge 0`
`ExponentialSlack`  :math:`c \xi - 1 - \log c \xi` :math:`-\log(1 - s / c)`      :math:`0 \le s < c`
=================== ============================== ============================= =================

The linear price fixes the total at ``C``, so no sample can weigh more than that, however wrong it
is.  The true labelling has a dual variable too, which takes up what the wrong labellings leave.
With the other two prices the total is free, and only wrong labellings have dual variables above 0.

Prices are convex and never decrease.  A slack below ``least`` costs as much as ``least`` does.

To add another price, write a dataclass here that inherits from `Slack`, and add it to `check_slack`.
Then edit `medn_edu.kernels.tilting`: add a number to ``SLACKS`` under the name that ``compiled``
returns, a branch in `slack_slopes` and one in `slack_gap`.  The readable versions of these functions
are in `medn_edu.theory.frank_wolfe` and `medn_edu.theory.medn`.  If the domain of the conjugate ends,
as that of the exponential slack does at ``c``, line searches must end there too.  The lines that
mention ``EXPONENTIAL_SLACK`` show how.
"""

# ruff: noqa: D102  # Slack says what each method is for

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from medn_edu.checks import check_positive, shown

__all__ = ["ExponentialSlack", "LinearSlack", "QuadraticSlack", "Slack", "check_slack"]


class Slack(ABC):
    """A price of margin violations; every method works on whole vectors, sample by sample."""

    @property
    def least(self) -> float:
        """Least slack, which every sample has even if no margin is violated."""
        return 0.0

    @property
    @abstractmethod
    def compiled(self) -> tuple[str, float]:
        """Name of the formulas in compiled code, and their constant."""

    @abstractmethod
    def penalty(self, xi: np.ndarray) -> np.ndarray:
        """Price ``U(xi)`` of slacks."""

    @abstractmethod
    def conjugate(self, total: np.ndarray) -> np.ndarray:
        """Conjugate ``U*(s)`` at totals ``s``: the largest ``s xi - U(xi)`` over all slacks."""


@dataclass(frozen=True)
class LinearSlack(Slack):
    """Linear price ``C * xi`` of a margin violation, the papers' choice.

    A sample that violates no margin pays nothing.  Larger values of ``C`` fit the training data
    more closely.

    Parameters
    ----------
    C : float, default=1.0
        Price of a violation by 1; positive.

    Examples
    --------
    >>> LinearSlack(C=2.0).penalty(np.array([0.0, 1.5]))
    array([0., 3.])
    """

    C: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "C", check_positive("C", self.C))

    @property
    def compiled(self) -> tuple[str, float]:
        return ("linear", self.C)

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        return self.C * np.maximum(xi, 0.0)

    def conjugate(self, total: np.ndarray) -> np.ndarray:
        """Conjugate ``U*(s)``: 0 up to ``s = C``, give or take rounding, and infinite beyond."""
        return np.where(np.asarray(total) <= self.C * (1 + 1e-9), 0.0, math.inf)


@dataclass(frozen=True)
class QuadraticSlack(Slack):
    """Quadratic price ``C / 2 * xi**2``: small violations are cheap and large ones expensive.

    The dual variables of a sample add up to ``C * xi``, which grows without bound, so one wildly
    wrong sample can outweigh all others.

    Parameters
    ----------
    C : float, default=1.0
        Twice the price of a violation by 1; positive.

    Examples
    --------
    >>> slack = QuadraticSlack(C=2.0)
    >>> slack.penalty(np.array([0.0, 1.5])), slack.conjugate(np.array([0.0, 3.0]))
    (array([0.  , 2.25]), array([0.  , 2.25]))
    """

    C: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "C", check_positive("C", self.C))

    @property
    def compiled(self) -> tuple[str, float]:
        return ("quadratic", self.C)

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        return 0.5 * self.C * np.square(np.maximum(xi, 0.0))

    def conjugate(self, total: np.ndarray) -> np.ndarray:
        total = np.maximum(total, 0.0)
        return total * (total / (2 * self.C))  # the square of a small total might underflow


@dataclass(frozen=True)
class ExponentialSlack(Slack):
    """Price ``c * xi - 1 - log(c * xi)``, the divergence from an exponential prior over the slack.

    Here the margins themselves are random, with prior ``c * exp(-c * xi)`` over the slack.  A mean
    slack of ``xi`` costs its divergence from this prior (Jaakkola, Meila and Jebara 1999).  A mean
    of ``1 / c`` costs nothing, so every margin may fall short by that much.  Above ``1 / c`` the
    price grows almost linearly.  As with the linear slack, no sample weighs more than ``c``.

    Parameters
    ----------
    c : float, default=1.0
        Rate of the prior over the slack, positive and at most 1e150.

    Examples
    --------
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
        return 1 / self.c

    @property
    def compiled(self) -> tuple[str, float]:
        return ("exponential", self.c)

    def penalty(self, xi: np.ndarray) -> np.ndarray:
        scaled = np.maximum(self.c * np.asarray(xi), 1.0)
        return scaled - 1 - np.log(scaled)

    def conjugate(self, total: np.ndarray) -> np.ndarray:
        share = np.asarray(total) / self.c
        inside = share < 1
        values = -np.log1p(-np.where(inside, np.maximum(share, 0.0), 0.0))
        return np.where(inside, values, math.inf)


def check_slack(slack: Any) -> Slack:
    """Return ``slack`` if compiled code can handle it, and raise a TypeError otherwise."""
    if type(slack) not in (LinearSlack, QuadraticSlack, ExponentialSlack):
        raise TypeError(
            f"slack is {shown(slack)}; expected LinearSlack(C), QuadraticSlack(C) or "
            "ExponentialSlack(c)."
        )
    return slack
