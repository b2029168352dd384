"""Derivatives and inverses of a prior's functions, computed numerically."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from medn_edu.priors.base import Prior

Function = Callable[[np.ndarray, np.ndarray | None], np.ndarray]

_LONGEST_SCALE = 1e150
_STEP = 1e-3  # of the natural scale; errors are of the order of its fourth power
_FARTHEST_OUT = 690.0  # exp of it is just finite
_NEAREST_END = 37.0  # exp of minus it is just below the spacing of numbers near 1
_ITERATIONS = 120
_ACCURACY = 1e-10  # of the unknown: the divergence, a maximum, feels only its square
_TINY = 1e-14
_ALMOST = 1e-6  # of the mean
_ROUNDING = 1e-14  # of means, in standard deviations: a sum that should be 0 is not


@np.errstate(all="ignore")
def natural_scale(prior: Prior, shape: tuple[int, ...], index: np.ndarray | None) -> np.ndarray:
    """Return roughly how large ``eta`` must be to move the mean by one standard deviation.

    That is where ``Lambda(s) + Lambda(-s)`` is about 1.  It is at most halfway to an end of the
    domain.
    """
    longest = min(_LONGEST_SCALE, -0.5 * prior.domain[0], 0.5 * prior.domain[1])
    low, high = np.full(shape, min(1 / _LONGEST_SCALE, longest)), np.full(shape, longest)
    scale = np.full(shape, min(1.0, longest))
    for _ in range(60):
        bend = prior.log_mgf(scale, index) + prior.log_mgf(-scale, index)
        too_far = ~(bend < 1)  # also where it is not a number
        low, high = np.where(too_far, low, scale), np.where(too_far, scale, high)
        settled = ((bend > 0.25) & (bend < 4)) | (high <= 2 * low)
        if np.all(settled):
            break
        parabola = scale / np.sqrt(bend)
        inside = (parabola > low) & (parabola < high)
        following = np.where(inside, parabola, np.sqrt(low) * np.sqrt(high))
        scale = np.where(settled, scale, following)
    return scale


@np.errstate(all="ignore")
def slope(
    prior: Prior, function: Function, eta: np.ndarray, index: np.ndarray | None
) -> np.ndarray:
    """Return the derivative of a function on the prior's domain, by differences of fourth order."""
    lower, upper = prior.domain
    scale = natural_scale(prior, eta.shape, index)
    h = _STEP * np.minimum(scale, np.minimum(eta - lower, upper - eta))
    h = (eta + h) - eta  # a step that floating-point numbers can represent
    h = np.where(h > 0, h, np.spacing(np.abs(eta)))
    near = function(eta + h, index) - function(eta - h, index)
    far = function(eta + 2 * h, index) - function(eta - 2 * h, index)
    return (8 * near - far) / (12 * h)


@np.errstate(all="ignore")
def solve_kl(
    prior: Prior, mu: np.ndarray, index: np.ndarray | None, start: np.ndarray | None = None
) -> np.ndarray:
    """Return ``Lambda*(mu)``, with ``eta`` from `solve_eta`; infinite where there is none."""
    eta, reached = solve_eta(prior, mu, index, start)
    values = np.maximum(eta * mu - prior.log_mgf(eta, index), 0.0)
    values = np.where(reached & ~np.isnan(values), values, np.inf)
    return np.where(np.isnan(mu), np.nan, values)


@np.errstate(all="ignore")
def solve_eta(
    prior: Prior, mu: np.ndarray, index: np.ndarray | None, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Solve ``mean(eta) = mu`` by Newton's method, and bisection where a step leaves its bracket.

    The unknown is ``u >= 0``, with ``|eta| = end (1 - exp(-u))`` towards a finite end of the domain
    and ``|eta| = scale (exp(u) - 1)`` towards an infinite one.  So halving an interval gains as
    much near the end as anywhere else.

    Where ``mu`` lies beyond the mean at the last number before a finite end, that number is
    returned.  The second array is False where no ``eta``, however large, has such a mean.
    """
    origin = np.asarray(prior.mean(np.zeros(mu.shape), index))
    sign = np.where(mu >= origin, 1.0, -1.0)
    end = np.where(sign > 0, prior.domain[1], -prior.domain[0])
    bounded = np.isfinite(end)
    scale = np.where(bounded, end, natural_scale(prior, mu.shape, index))
    last = np.where(bounded, np.nextafter(end, 0.0), np.inf)

    def eta_at(u: np.ndarray) -> np.ndarray:
        return sign * np.minimum(scale * np.where(bounded, -np.expm1(-u), np.expm1(u)), last)

    top = np.where(bounded, _NEAREST_END, _FARTHEST_OUT)
    low, high, width = np.zeros(mu.shape), top, top
    reached = bounded | (mu == origin)
    settled = np.zeros(mu.shape, dtype=bool)
    variance = prior.variance(np.zeros(mu.shape), index)
    if start is None:  # where the mean would be right if the variance never changed
        start = (mu - origin) / variance
    share = np.abs(start) / scale
    u = np.log1p(np.where(bounded, share, np.minimum(share, 1e30)))
    u = np.where(u < high, u, 0.5 * (low + high))
    for _ in range(_ITERATIONS):
        eta = eta_at(u)
        excess = sign * (prior.mean(eta, index) - mu)
        too_far = ~(excess < 0)  # also where the mean is not a number
        reached = reached | (excess >= 0)
        low, high = np.where(too_far, low, u), np.where(too_far, u, high)
        stride = scale * np.exp(np.where(bounded, -u, u))
        newton = u - excess / (prior.variance(eta, index) * stride)
        good = (newton >= low) & (newton <= high) & (np.abs(newton - u) <= 0.5 * width)
        following = np.where(good, newton, 0.5 * (low + high))
        following = np.where(settled, u, following)
        width = np.abs(following - u)
        u = following
        settled = settled | (width <= _ACCURACY * u + _TINY)
        if np.all(settled):
            break
    accuracy = _ALMOST * (np.abs(mu) + np.abs(origin)) + _ROUNDING * np.sqrt(variance)
    solved = (u < top - 1) & (np.abs(excess) <= accuracy)
    return eta_at(u), (reached | solved) & np.isfinite(mu)
