"""Balls in two and three dimensions, by solving for the level: no grid, so corners are corners.

**A ball** is the set of means that cost no more than a given point costs.  Every cost here is convex
with its least value at the prior's own mean, so that each ray from there leaves the ball once, and an
interval is halved on all rays at the same time until that place is known to the last digit.

**The point** is told by its distance from the prior's mean, so that (0, 1) is one step along the second
axis for every prior, also for one whose mean is not 0.  Not every prior has a ball through it: no
posterior of a box prior with ``a = 1`` has the mean 1, and the divergence there is infinite.

**Rays** are denser near the axes, where balls turn, and the axes and the planes through two of them are
among the rays, so that the edges of the L1 ball are drawn as edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from medn_edu.checks import check_count
from medn_edu.priors import Prior
from medn_edu.theory.norms._search import last_inside

Cost = Callable[[np.ndarray], np.ndarray]

_DENSER = 0.9  # near the axes rays are ten times as dense as on average


def norm_ball(
    cost: Cost,
    point: Sequence[float] = (0.0, 1.0),
    centre: float = 0.0,
    n_angles: int = 361,
) -> np.ndarray:
    """Return the boundary of a ball in two dimensions: what costs as much as ``point``.

    Examples
    --------
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
    """Return the surface of a ball in three dimensions: what costs as much as ``point``."""
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
    """Return the divergence of the posterior whose mean is the prior's plus ``point``."""
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
    """Return the means of two weights whose divergence from a prior is that of ``point``.

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
    """Return the means of three weights whose divergence from a prior is that of ``point``."""
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
    radius = last_inside(lambda r: total(centre + r[..., None] * rays) <= level, start)
    return centre + radius[..., None] * rays
