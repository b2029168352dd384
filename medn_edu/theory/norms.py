r"""What a prior asks of the posterior mean: the papers' KL-norm, and its balls in two dimensions.

P1 pays :math:`KL(p \| p_0)`, and for a posterior with mean :math:`\mu` that is the conjugate
:math:`\sum_k \Lambda^*(\mu_k)` of the prior's log moment generating function (Theorem 2).  So
MaxEnDNet is a maximum margin Markov network whose penalty is :math:`\Lambda^*` instead of
:math:`\mu^2/2` (Corollary 4: the standard normal).  For the Laplace prior

.. math:: \Lambda^*(\mu) = \sqrt{1 + \lambda \mu^2} - 1 - \log \tfrac{\sqrt{1 + \lambda \mu^2} + 1}{2},

and Corollary 6 writes the sum over :math:`K` weights as :math:`\sqrt\lambda \|\mu\|_{KL} - K` with

.. math:: \|\mu\|_{KL} = \sum_{k=1}^K \Big( \sqrt{\mu_k^2 + \tfrac1\lambda}
          - \tfrac{1}{\sqrt\lambda} \log \tfrac{\sqrt{\lambda \mu_k^2 + 1} + 1}{2} \Big).

**Not a norm** (footnote 3): it is not homogeneous, :math:`\|2\mu\|_{KL} \ne 2 \|\mu\|_{KL}`, and its
least value, taken at :math:`\mu = 0`, is :math:`K/\sqrt\lambda` and not 0.  Like a norm it is convex,
even, and grows with every :math:`|\mu_k|`.

**Between two norms.**  Near 0 it is :math:`K/\sqrt\lambda + \sqrt\lambda \|\mu\|_2^2 / 4`, round like
the squared :math:`L_2`-norm; far out it grows like the :math:`L_1`-norm, which it becomes everywhere
as :math:`\lambda \to \infty`.  Its ball turns smoothly where it meets the axes, in a curve the
narrower the larger :math:`\lambda`: weights become small and never exactly zero.

**A ball** is the set of means that cost no more than a given point costs.  Every cost here is convex
with its least value at the prior's own mean, so that each ray from there leaves the ball once, and
`norm_ball` halves an interval on all rays at the same time until that point is known to the last
digit.  No grid is involved, so corners are corners.

**The formula with Figure 2** reads, in the text available to us,
:math:`\log(\sqrt{\lambda w^2 + 1/2} + 1/2)`.  With it the "divergence" at :math:`w = 0` would be
:math:`-\log(\sqrt{1/2} + 1/2) = -0.19`, and a divergence is never negative.  Corollary 6 has
:math:`\log(\tfrac12 \sqrt{\lambda w^2 + 1} + \tfrac12)`, which agrees with :math:`\Lambda^*`; likewise
the value at (0, 1) is

.. math:: b = \sqrt{1/\lambda} + \sqrt{1 + 1/\lambda}
          - \tfrac{1}{\sqrt\lambda} \log\big(\tfrac12 \sqrt{\lambda + 1} + \tfrac12\big).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.priors import Prior

__all__ = ["kl_ball", "kl_norm", "norm_ball"]

_HALVINGS = 60  # of an interval; beyond 53 a float64 has no more digits
_DOUBLINGS = 1000
_DENSER = 0.9  # near the axes rays are ten times as dense as on average


def kl_norm(mu: np.ndarray, lam: float) -> float:
    r"""Return the KL-norm of Corollary 6, :math:`\|\mu\|_{KL}`.

    Parameters
    ----------
    mu : array-like of float
        Posterior means.
    lam : float
        The Laplace prior's constant; positive.

    Returns
    -------
    float
        The KL-norm, at least ``mu.size / sqrt(lam)``.

    Raises
    ------
    ValueError
        If ``lam`` is not a finite positive number.

    Examples
    --------
    It is the divergence from the prior, shifted and scaled:

    >>> import numpy as np
    >>> from medn_edu.priors import LaplacePrior
    >>> mu, lam = np.array([0.5, -2.0, 0.0]), 4.0
    >>> divergence = LaplacePrior(lam).kl(mu).sum()
    >>> bool(np.isclose(np.sqrt(lam) * kl_norm(mu, lam) - mu.size, divergence))
    True

    With a large ``lam`` it is almost the L1-norm:

    >>> round(kl_norm(mu, 1e10), 3)
    2.5
    """
    check_positive("lam", lam)
    mu = np.asarray(mu, dtype=np.float64)
    scale = np.sqrt(lam)
    root = np.hypot(1.0, scale * mu)
    return float(np.sum(root - np.log((root + 1) / 2)) / scale)


def norm_ball(
    cost: Callable[[np.ndarray], np.ndarray],
    point: tuple[float, float] = (0.0, 1.0),
    centre: float = 0.0,
    n_angles: int = 361,
) -> np.ndarray:
    """Return the boundary of a ball in two dimensions: what costs as much as ``point``.

    Parameters
    ----------
    cost : callable
        ``cost(mu)`` returns the cost of each coordinate by itself; convex, least at ``centre``, and
        infinite where no mean can be.
    point : (float, float)
        A point that the boundary passes, other than the centre.
    centre : float
        Where each coordinate costs least.
    n_angles : int
        Number of points, all around the centre, the last equal to the first; denser near the axes,
        where balls turn.  One more than a multiple of four, so that the axes are among them.

    Returns
    -------
    ndarray of shape (n_angles, 2)
        The boundary, counter-clockwise from the first axis.

    Raises
    ------
    ValueError
        If there are too few points, or the cost of ``point`` is not finite or not above the least.

    Examples
    --------
    The unit balls of L1 and L2 at 45 degrees:

    >>> import numpy as np
    >>> [norm_ball(cost, n_angles=9)[1].round(4).tolist() for cost in (np.abs, np.square)]
    [[0.5, 0.5], [0.7071, 0.7071]]
    """
    if n_angles < 5 or n_angles % 4 != 1:
        raise ValueError(f"n_angles is {n_angles}; expected 5, 9, 13, ...: the axes and between.")
    level = float(np.sum(cost(np.array(point, dtype=np.float64))))
    least = 2 * float(cost(np.array([centre]))[0])
    if not (np.isfinite(level) and level > least):
        raise ValueError(
            f"point {point} costs {level:g} and the centre {least:g}; expected a point whose cost "
            "is finite and higher."
        )
    rays = _rays(n_angles)

    def inside(radius: np.ndarray) -> np.ndarray:
        return cost(centre + radius[:, None] * rays).sum(axis=1) <= level

    low, high = _bracket(inside, n_angles)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        within = inside(middle)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    boundary = centre + low[:, None] * rays
    boundary[-1] = boundary[0]
    return boundary


def kl_ball(
    prior: Prior, point: tuple[float, float] = (0.0, 1.0), n_angles: int = 361
) -> np.ndarray:
    """Return the means of two weights whose divergence from a prior is that of ``point``.

    Fig. 2 (b) of MEDN shows such curves for Laplace priors.

    Parameters
    ----------
    prior : Prior
        A prior, the same for both weights.
    point : (float, float)
        A point that the boundary passes; both numbers can be means of the tilted prior.
    n_angles : int
        Number of points; one more than a multiple of four.

    Returns
    -------
    ndarray of shape (n_angles, 2)
        The boundary, counter-clockwise, seen from the prior's mean.

    Raises
    ------
    ValueError
        If ``point`` is the prior's mean, or no posterior has this mean.

    Examples
    --------
    The Gaussian's are circles, whatever its variance:

    >>> import numpy as np
    >>> from medn_edu.priors import GaussianPrior
    >>> ball = kl_ball(GaussianPrior(prior_variance=3.0), point=(0.0, 2.0))
    >>> bool(np.allclose(np.hypot(*ball.T), 2.0))
    True
    """
    centre = float(np.asarray(prior.mean(np.zeros(1)))[0])
    return norm_ball(prior.kl, point, centre, n_angles)


def _rays(n_angles: int) -> np.ndarray:
    """Return unit vectors, denser near the axes, and those of the axes without rounding errors."""
    angles = np.linspace(0, 2 * np.pi, n_angles)
    angles -= _DENSER * np.sin(4 * angles) / 4
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    rays[np.abs(rays) < 1e-15] = 0.0
    return rays


def _bracket(
    inside: Callable[[np.ndarray], np.ndarray], n_angles: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each ray a radius inside the ball and one outside, by doubling."""
    low, high = np.zeros(n_angles), np.ones(n_angles)
    for _ in range(_DOUBLINGS):
        within = inside(high)
        if not within.any():
            return low, high
        low, high = np.where(within, high, low), np.where(within, 2 * high, high)
    raise ValueError("the ball has no end in some direction; expected a cost that grows.")
