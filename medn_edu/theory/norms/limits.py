r"""The KL-norm's two limits, with what is left and how fast it goes.

Write :math:`x = \sqrt\lambda |\mu|` for one weight; its share of :math:`\sqrt\lambda \|\mu\|_{KL}` is
:math:`\sqrt{1 + x^2} - \log \frac{\sqrt{1 + x^2} + 1}{2}`.

**Large lambda.**  For :math:`x \gg 1` this is :math:`x - \log\frac x2 - \frac1{2x} + \dots`, and 1 at
``x = 0``.  So the KL-norm differs from the L1-norm by

.. math:: \|\mu\|_{KL} - \|\mu\|_1 = \frac{1}{\sqrt\lambda} \Big( \#\{\mu_k = 0\}
          - \sum_{\mu_k \ne 0} \log \frac{\sqrt\lambda |\mu_k|}{2} \Big) + O\Big(\frac1\lambda\Big),

that is, by :math:`\log\lambda / \sqrt\lambda`: slowly.  To halve the distance ``lambda`` has to grow
more than fourfold, and at :math:`\lambda = 10^4` the ball of Figure 2 is still 0.026 away from the
diamond.

**Small lambda.**  For :math:`x \ll 1` it is :math:`1 + \frac{x^2}{4} - \frac{x^4}{32} + \dots`, so
that against :math:`K/\sqrt\lambda + \sqrt\lambda \|\mu\|_2^2 / 4` the relative error of what is not
constant is

.. math:: - \frac\lambda8 \, \frac{\sum_k \mu_k^4}{\sum_k \mu_k^2} + O(\lambda^2) .

**Balls** through (0, 1) follow: the distance from the L2 ball falls like :math:`\lambda`
(at 45 degrees it is :math:`\lambda / 32`), that from the L1 ball like
:math:`\log\lambda / \sqrt\lambda`.
"""

from __future__ import annotations

import math

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.priors import LaplacePrior
from medn_edu.theory.norms.balls import kl_ball


def l1_error(mu: np.ndarray, lam: float) -> float:
    r"""Return :math:`\|\mu\|_{KL} - \|\mu\|_1`, which goes to 0 like ``log(lam) / sqrt(lam)``.

    Examples
    --------
    A hundred times the ``lam``, more than a tenth of the error:

    >>> [round(l1_error([1.0, -0.5], lam), 5) for lam in (1e4, 1e6, 1e8)]
    [-0.07146, -0.01174, -0.00163]
    """
    scale = math.sqrt(check_positive("lam", lam))
    x = scale * np.abs(np.asarray(mu, dtype=np.float64))
    root = np.hypot(1.0, x)
    return float(np.sum(1 / (root + x) - np.log((root + 1) / 2))) / scale


def quadratic_error(mu: np.ndarray, lam: float) -> float:
    r"""Return by what share the KL-norm's rise from 0 misses the parabola; it goes to 0 like ``lam``."""
    mu = np.asarray(mu, dtype=np.float64)
    divergence = float(LaplacePrior(lam).kl(mu).sum())
    squares = float(np.square(mu).sum())
    if not squares > 0:
        raise ValueError("mu is 0, where the parabola is, too; expected another mean.")
    return 4 * divergence / (lam * squares) - 1


def l1_ball_error(lam: float, n_angles: int = 361) -> float:
    """Return the largest distance, along a ray, of the KL ball through (0, 1) from the L1 ball."""
    ball = kl_ball(LaplacePrior(lam), n_angles=n_angles)
    radius = np.hypot(*ball.T)
    return float(np.max(np.abs(radius - radius / np.abs(ball).sum(axis=1))))


def l2_ball_error(lam: float, n_angles: int = 361) -> float:
    """Return the largest distance, along a ray, of the KL ball through (0, 1) from the L2 ball."""
    ball = kl_ball(LaplacePrior(lam), n_angles=n_angles)
    return float(np.max(np.abs(np.hypot(*ball.T) - 1)))
