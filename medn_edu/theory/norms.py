"""What a prior charges for a posterior mean: the papers' KL-norm, its balls, limits and corners.

``norms.md`` explains the theory, with its formulas typeset.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from medn_edu.checks import check_count, check_positive
from medn_edu.priors import LaplacePrior, Prior

_HALVINGS = 60  # of an interval; beyond 53 a float64 has no more digits
_DOUBLINGS = 1000
_FAR = 1e150  # an eta beyond which no prior's mean changes, unless it has no bounds


def kl_norm(mu: np.ndarray, lam: float, prior: Prior | None = None) -> float:
    r"""Return the KL-norm :math:`\|\mu\|_{KL} = (\sum_k \Lambda^*(\mu_k) + K) / \sqrt\lambda`.

    With a large ``lam`` it is almost the L1-norm:

    >>> import numpy as np
    >>> mu = np.array([0.5, -2.0, 0.0])
    >>> round(kl_norm(mu, 1e10), 3)
    2.5

    Two priors with tails that fall at the same rate, and one prior without tails:

    >>> from medn_edu.priors import BoxPrior, NormalInverseGaussianPrior
    >>> round(kl_norm(mu, 100.0), 2)
    2.27
    >>> round(kl_norm(mu, 100.0, NormalInverseGaussianPrior(alpha=10.0)), 2)
    1.65
    >>> kl_norm(mu, 100.0, BoxPrior(a=2.0))
    inf
    """
    scale = math.sqrt(check_positive("lam", lam))
    mu = np.asarray(mu, dtype=np.float64)
    if np.isnan(mu).any():
        raise ValueError("mu holds NaN; expected numbers.")
    if prior is not None:
        return float(prior.kl(mu.ravel()).sum() + mu.size) / scale
    root = np.hypot(1.0, scale * mu)
    return float(np.sum(root - np.log((root + 1) / 2)) / scale)


# -- balls ----------------------------------------------------------------------------------------


Cost = Callable[[np.ndarray], np.ndarray]

_DENSER = 0.9  # near the axes rays are ten times as dense as on average


def norm_ball(
    cost: Cost,
    point: Sequence[float] = (0.0, 1.0),
    centre: float = 0.0,
    n_angles: int = 361,
) -> np.ndarray:
    """Return the boundary of a ball in two dimensions: the points that cost as much as ``point``.

    The unit balls of L1 and L2 at 45 degrees:

    >>> import numpy as np
    >>> [norm_ball(cost, n_angles=9)[1].round(4).tolist() for cost in (np.abs, np.square)]
    [[0.5, 0.5], [0.7071, 0.7071]]
    """
    if check_count("n_angles", n_angles, least=0) < 5 or n_angles % 4 != 1:
        raise ValueError(f"n_angles is {n_angles}; expected 5, 9, 13, ...: the axes and between.")
    cosine, sine = _around(n_angles, 2 * np.pi)
    return _boundary(cost, np.column_stack([cosine, sine]), point, centre)


def norm_solid(
    cost: Cost,
    point: Sequence[float] = (0.0, 0.0, 1.0),
    centre: float = 0.0,
    n_polar: int = 61,
    n_azimuth: int = 121,
) -> np.ndarray:
    """Return the surface of a ball in three dimensions: the points that cost as much as ``point``."""
    check_count("n_polar", n_polar, least=0)
    check_count("n_azimuth", n_azimuth, least=0)
    if n_polar < 3 or n_polar % 2 != 1 or n_azimuth < 5 or n_azimuth % 4 != 1:
        raise ValueError(
            f"n_polar is {n_polar} and n_azimuth {n_azimuth}; expected 3, 5, 7, ... and 5, 9, 13, ...: "
            "the axes and between."
        )
    height, width = _around(n_polar, np.pi)
    cosine, sine = _around(n_azimuth, 2 * np.pi)
    rays = np.empty((n_polar, n_azimuth, 3))
    rays[..., 0], rays[..., 1] = np.outer(width, cosine), np.outer(width, sine)
    rays[..., 2] = height[:, None]
    return _boundary(cost, rays, point, centre)


def kl_level(prior: Prior, point: Sequence[float]) -> float:
    """Return the divergence of the posterior with mean ``point`` plus the prior's mean."""
    mean = _own_mean(prior) + np.asarray(point, dtype=np.float64)
    level = float(prior.kl(mean).sum())
    if not (np.isfinite(level) and level > 0):
        where = ", ".join(f"{coordinate:g}" for coordinate in mean)
        raise ValueError(
            f"no ball of {prior!r} passes the mean ({where}): its divergence is {level:g}; expected a "
            "mean that a posterior can have, other than the prior's own."
        )
    return level


def kl_ball(prior: Prior, point: Sequence[float] = (0.0, 1.0), n_angles: int = 361) -> np.ndarray:
    """Return the means of two weights that have the same divergence from a prior as ``point``.

    Fig. 2 (b) of MEDN shows such curves for Laplace priors.
    """
    kl_level(prior, point)
    return norm_ball(prior.kl, point, _own_mean(prior), n_angles)


def kl_solid(
    prior: Prior,
    point: Sequence[float] = (0.0, 0.0, 1.0),
    n_polar: int = 61,
    n_azimuth: int = 121,
) -> np.ndarray:
    """Return the means of three weights that have the same divergence from a prior as ``point``."""
    kl_level(prior, point)
    return norm_solid(prior.kl, point, _own_mean(prior), n_polar, n_azimuth)


def _own_mean(prior: Prior) -> float:
    return float(np.asarray(prior.mean(np.zeros(1)))[0])


def _around(n_angles: int, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and sines of angles from 0 to ``end``, without rounding errors at the axes."""
    angles = np.linspace(0, end, n_angles)
    angles -= _DENSER * np.sin(4 * angles) / 4
    both = np.stack([np.cos(angles), np.sin(angles)])
    both[np.abs(both) < 1e-15] = 0.0
    if end == 2 * np.pi:
        both[:, -1] = both[:, 0]
    return both[0], both[1]


def _boundary(cost: Cost, rays: np.ndarray, point: Sequence[float], centre: float) -> np.ndarray:
    """Return where rays from the centre, in the last axis of an array, leave the ball of ``point``."""
    offset = np.array(point, dtype=np.float64)
    if offset.shape != rays.shape[-1:]:
        raise ValueError(f"point is {point!r}; expected {rays.shape[-1]} numbers.")

    def total(means: np.ndarray) -> np.ndarray:
        return np.reshape(cost(means.ravel()), means.shape).sum(axis=-1)

    level, least = float(total(centre + offset)), float(total(np.full(offset.shape, centre)))
    if not (np.isfinite(level) and level > least):
        raise ValueError(
            f"point {point} costs {level:g} and the centre {least:g}; expected a point whose cost "
            "is finite and higher."
        )
    start = np.full(rays.shape[:-1], float(np.max(np.abs(offset))))
    radius = _last_inside(lambda r: total(centre + r[..., None] * rays) <= level, start)
    return centre + radius[..., None] * rays


def _last_inside(inside: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> np.ndarray:
    """Return the largest numbers that are inside, to the last digit.

    First doubling or halving, until the end is known up to a factor of two; then the interval is halved.
    """
    low, high = np.zeros(start.shape), np.full(start.shape, np.inf)
    guess = start
    for _ in range(_DOUBLINGS):
        within = inside(guess)
        low, high = np.where(within, guess, low), np.where(within, high, guess)
        known = (low > 0) & np.isfinite(high)
        if known.all():
            break
        guess = np.where(known, low, np.where(within, 2 * guess, guess / 2))
    if not np.isfinite(high).all():
        raise ValueError("the ball is unbounded in some direction; expected a cost that grows.")
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 2
        within = inside(middle)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return low


# -- limits ---------------------------------------------------------------------------------------


def l1_error(mu: np.ndarray, lam: float) -> float:
    r"""Return :math:`\|\mu\|_{KL} - \|\mu\|_1`, which goes to 0 like ``log(lam) / sqrt(lam)``.

    When ``lam`` grows a hundredfold, the error shrinks by less than a factor of ten:

    >>> [round(l1_error([1.0, -0.5], lam), 5) for lam in (1e4, 1e6, 1e8)]
    [-0.07146, -0.01174, -0.00163]
    """
    scale = math.sqrt(check_positive("lam", lam))
    x = scale * np.abs(np.asarray(mu, dtype=np.float64))
    root = np.hypot(1.0, x)
    return float(np.sum(1 / (root + x) - np.log((root + 1) / 2))) / scale


def quadratic_error(mu: np.ndarray, lam: float) -> float:
    r"""Return the relative difference between the KL-norm's rise from 0 and its parabola.

    The difference goes to 0 like ``lam``.
    """
    mu = np.asarray(mu, dtype=np.float64)
    divergence = float(LaplacePrior(lam).kl(mu).sum())
    squares = float(np.square(mu).sum())
    if not squares > 0:
        raise ValueError("mu is 0, where the parabola is 0 as well; expected another mean.")
    return 4 * divergence / (lam * squares) - 1


def l1_ball_error(lam: float, n_angles: int = 361) -> float:
    """Return the largest distance along a ray between the L1 ball and the KL ball through (0, 1)."""
    ball = kl_ball(LaplacePrior(lam), n_angles=n_angles)
    radius = np.hypot(*ball.T)
    return float(np.max(np.abs(radius - radius / np.abs(ball).sum(axis=1))))


def l2_ball_error(lam: float, n_angles: int = 361) -> float:
    """Return the largest distance along a ray between the L2 ball and the KL ball through (0, 1)."""
    ball = kl_ball(LaplacePrior(lam), n_angles=n_angles)
    return float(np.max(np.abs(np.hypot(*ball.T) - 1)))


# -- touching -------------------------------------------------------------------------------------


def touching_point(prior: Prior, direction: np.ndarray, level: float | np.ndarray) -> np.ndarray:
    """Return the mean that is farthest in a direction, among those with a limited divergence.

    The second weight is never zero, however large ``lam``:

    >>> import numpy as np
    >>> from medn_edu.priors import LaplacePrior
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
    touching = means(_last_inside(inside, np.full(len(levels), start)))
    return np.where(attained[:, None], far, touching).reshape(*np.shape(level), len(a))


def touching_l2(direction: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Return the point of an L2 ball that is farthest in a direction."""
    a = _direction(direction)
    return check_positive("radius", radius) * a / np.linalg.norm(a)


def touching_corners(direction: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Return the corners of an L1 ball that are farthest in a direction.

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
