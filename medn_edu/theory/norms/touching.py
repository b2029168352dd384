r"""Where a linear constraint touches a ball: why the L1-norm makes zeros and the KL-norm almost does.

A margin constraint is linear in the mean, :math:`a^\top \mu \ge b`.  The ball that just reaches it
touches it at the point of the ball that is farthest in the direction ``a``,

.. math:: \max_\mu \; a^\top \mu \quad\text{s.t.}\quad \sum_k \Lambda^*(\mu_k) \le r .

By Lagrange's condition the gradient of the cost is a multiple of ``a``, say :math:`t a` with
:math:`t \ge 0`.  The gradient of :math:`\Lambda^*` is the inverse of that of :math:`\Lambda`, hence

.. math:: \mu_k = \Lambda'(t a_k),

with ``t`` such that the cost is ``r``.  This is P1 with one constraint: ``t`` is its multiplier
:math:`\alpha`, and :math:`\eta = \alpha a` as in Theorem 2.

**L1.**  The farthest point is a corner, on the axis of the largest :math:`|a_k|`, and all other weights
are zero; if several are equally large, all of an edge or a face touches.

**L2.**  The point is a multiple of ``a``: no weight is zero unless :math:`a_k` is.

**KL.**  :math:`\Lambda'(t a_k) = 0` only where :math:`a_k = 0`, as with L2.  But the Laplace prior's
:math:`\Lambda'(\eta) = 2\eta / (\lambda - \eta^2)` grows without bounds as :math:`\eta` nears
:math:`\sqrt\lambda`: the largest weight is close to that end, the others stay where the curve is flat.
With :math:`\lambda \to \infty` they go to zero like :math:`1/\sqrt\lambda` without ever being zero.
"""

from __future__ import annotations

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.priors import Prior
from medn_edu.theory.norms._search import last_inside

_FAR = 1e150  # an eta beyond which no prior's mean changes, unless it has no bounds


def touching_point(prior: Prior, direction: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Return the mean that is farthest in a direction, among those of a limited divergence.

    Examples
    --------
    The second weight is never zero, however large ``lam``:

    >>> import numpy as np
    >>> from medn_edu.priors import LaplacePrior
    >>> from medn_edu.theory.norms import kl_level
    >>> for lam in (1e-4, 4.0, 400.0, 1e6):
    ...     prior = LaplacePrior(lam)
    ...     print(touching_point(prior, [2.0, 1.0], kl_level(prior, (0.0, 1.0))).round(4))
    [0.8944 0.4472]
    [0.9167 0.3255]
    [0.9828 0.0614]
    [0.9996 0.0013]
    """
    a = _direction(direction)
    levels = np.array([check_positive("level", each) for each in np.ravel(level)])

    def means(t: np.ndarray) -> np.ndarray:
        index = np.tile(np.arange(len(a)), len(t))
        return prior.mean(np.outer(t, a).ravel(), index).reshape(len(t), len(a))

    def costs(mean: np.ndarray) -> np.ndarray:
        index = np.tile(np.arange(len(a)), len(mean))
        with np.errstate(all="ignore"):
            return prior.kl(mean.ravel(), index).reshape(mean.shape).sum(axis=1)

    lower, upper = prior.domain
    with np.errstate(divide="ignore"):
        end = float(np.min(np.where(a > 0, upper, lower)[a != 0] / a[a != 0]))
    far = prior.mean(np.where(a == 0, 0.0, np.sign(a) * _FAR))
    attained = costs(far[None]) <= levels  # even by the farthest means of all

    def inside(t: np.ndarray) -> np.ndarray:
        safe = np.where(t < end, t, 0.0)
        return np.where(attained, t <= start, (t < end) & (costs(means(safe)) <= levels))

    start = end / 2 if np.isfinite(end) else 1 / float(np.max(np.abs(a)))
    touching = means(last_inside(inside, np.full(len(levels), start)))
    return np.where(attained[:, None], far, touching).reshape(*np.shape(level), len(a))


def touching_l2(direction: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Return the point of an L2 ball that is farthest in a direction."""
    a = _direction(direction)
    return check_positive("radius", radius) * a / np.linalg.norm(a)


def touching_corners(direction: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Return the corners of an L1 ball that are farthest in a direction.

    Examples
    --------
    >>> touching_corners([2.0, 1.0])
    array([[1., 0.]])
    >>> touching_corners([2.0, -2.0, 1.0], radius=3.0)
    array([[ 3.,  0.,  0.],
           [ 0., -3.,  0.]])
    """
    a = _direction(direction)
    largest = np.flatnonzero(np.abs(a) == np.max(np.abs(a)))
    corners = np.zeros((len(largest), len(a)))
    corners[np.arange(len(largest)), largest] = np.sign(a[largest])
    return check_positive("radius", radius) * corners


def _direction(direction: np.ndarray) -> np.ndarray:
    a = np.asarray(direction, dtype=np.float64)
    if a.ndim != 1 or not np.all(np.isfinite(a)) or not np.any(a):
        raise ValueError(f"direction is {direction!r}; expected finite numbers, not all of them 0.")
    return a
