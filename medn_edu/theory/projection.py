r"""Projection onto balls: why the L1 ball makes zeros and the L2 ball does not.

The projection of ``v`` is the nearest point of the ball, the solution of

.. math:: \min_w \tfrac12 \|w - v\|_2^2 \quad\text{s.t.}\quad \|w\| \le r .

Within the ball it is ``v`` itself.  Outside, the constraint is tight, and Lagrange's condition says
that ``v - w`` is a multiple :math:`\theta \ge 0` of a sub-gradient of the norm at ``w``.

**L2.**  The gradient of :math:`\|w\|_2` points along ``w``: all weights shrink by one *factor*, to
:math:`w = v r / \|v\|_2`.  What was not zero stays so.

**L1.**  The sub-gradient is the sign of :math:`w_k`, and anything between -1 and 1 where
:math:`w_k = 0`.  So :math:`v_k - w_k = \theta \operatorname{sign} w_k` or
:math:`|v_k| \le \theta`, which is the *soft threshold*

.. math:: w_k = \operatorname{sign}(v_k) \max(|v_k| - \theta, 0):

all weights lose one *amount*, and those that have less are zero (L1-M3N, Fig. 1).  The amount follows
from :math:`\sum_k \max(|v_k| - \theta, 0) = r`, whose left side falls with :math:`\theta`.  With the
magnitudes sorted, :math:`u_1 \ge u_2 \ge \dots`, and the first ``j`` of them left over,

.. math:: \theta_j = \frac1j \Big( \sum_{k \le j} u_k - r \Big),

and the right ``j`` is the largest with :math:`u_j > \theta_j` (Duchi et al. 2008, Lemma 2): the last
weight in still has something left, the next would not.

**Digits.**  If ``r`` is small against :math:`u_1`, the difference :math:`u_k - \theta` of two large
numbers has few digits.  With :math:`d_k = u_1 - u_k` and :math:`\tau = u_1 - \theta` the same reads
:math:`\tau_j = (r + \sum_{k \le j} d_k) / j`, ``j`` the largest with :math:`d_j < \tau_j`, and
the weights left are :math:`\tau - d_k`: no large numbers are subtracted but once, at the start.  That
is what `project_l1_ball` does.  The compiled kernel needs no sorting
(`medn_edu.kernels.textbook.projection`).
"""

from __future__ import annotations

import numpy as np

from medn_edu.checks import check_positive


def project_l1_ball(v: np.ndarray, radius: float) -> np.ndarray:
    """Return the point of the L1 ball nearest to ``v``, by sorting.

    Examples
    --------
    The three points of the L1-M3N paper's Fig. 1: far from both axes, near one, and nearer still.

    >>> for v in ([1.2, 1.4], [1.5, 0.3], [0.1, 1.8]):
    ...     print(project_l1_ball(v, radius=1.0).round(6).tolist())
    [0.4, 0.6]
    [1.0, 0.0]
    [0.0, 1.0]
    """
    check_positive("radius", radius)
    v = np.asarray(v, dtype=np.float64)
    magnitude = np.abs(v)
    if magnitude.sum() <= radius:
        return v.copy()
    distance = magnitude.max() - magnitude
    nearest = np.sort(distance)
    taus = (radius + np.cumsum(nearest)) / np.arange(1, len(v) + 1)
    tau = taus[np.flatnonzero(nearest < taus)[-1]]
    return np.where(distance < tau, np.copysign(tau - distance, v), 0.0)


def project_l2_ball(v: np.ndarray, radius: float) -> np.ndarray:
    """Return the point of the L2 ball nearest to ``v``.

    Examples
    --------
    The same three points: no zeros.

    >>> for v in ([1.2, 1.4], [1.5, 0.3], [0.1, 1.8]):
    ...     print(project_l2_ball(v, radius=1.0).round(3).tolist())
    [0.651, 0.759]
    [0.981, 0.196]
    [0.055, 0.998]
    """
    check_positive("radius", radius)
    v = np.asarray(v, dtype=np.float64)
    length = float(np.linalg.norm(v))
    return v * min(1.0, radius / length) if length > 0 else v.copy()
