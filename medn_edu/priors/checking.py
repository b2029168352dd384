"""Checks that a user's own prior fits together and that MEDN can work with it."""

import inspect
from typing import Any

import numpy as np

from medn_edu.checks import shown
from medn_edu.priors._numerics import natural_scale, slope
from medn_edu.priors.base import Prior

_NEEDED = ("domain", "log_mgf", "mean", "variance", "kl", "value", "conjugate", "compiled")
_TILTS = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5])  # in natural scales
_SHARES = np.array([0.25, 0.5, 0.75, 0.9])  # of the way to an end
_NEAR = np.array([1e-4, 1e-8, 1e-12])  # distances from an end, as shares of the way
_STEEP = 0.7  # of the first rise must remain of the second; 1 where the mean grows as a logarithm
_CLOSE = 1e-4


def check_prior(prior: Any, n_weights: int | None = None) -> Prior:
    """Return ``prior`` itself if MEDN can work with it.

    This function tries the prior's methods at a few points.  ``log_mgf`` must be 0 at 0 and finite
    around it.  ``mean`` must be the slope of ``log_mgf``, ``variance`` the slope of ``mean``, and
    ``kl`` the conjugate of ``log_mgf``.  The mean must increase.  Towards a finite
    end of the domain it must grow without bound, which makes the prior *steep*.

    Parameters
    ----------
    prior : Prior
        A prior from this package, or your own.
    n_weights : int, optional
        Number of weights that the prior must work for.  By default, only the first weight is tried.

    Returns
    -------
    Prior
        The prior itself.

    Raises
    ------
    TypeError
        If it is not a prior: a method is missing or does not take its arguments.
    ValueError
        If its functions do not fit together, or it is not steep.

    Examples
    --------
    >>> from medn_edu.priors import LaplacePrior
    >>> check_prior(LaplacePrior(lam=4.0))
    LaplacePrior(lam=4.0)
    """
    name = type(prior).__name__
    _check_interface(prior, name)
    try:
        lower, upper = (float(end) for end in prior.domain)
    except (TypeError, ValueError):
        lower = upper = np.nan
    if not lower < 0 < upper:
        raise ValueError(
            f"the domain of {name} is {shown(prior.domain)}; expected the two ends of an open "
            "interval around 0 in which log_mgf is finite."
        )
    if n_weights is not None:
        _answers(prior, name, np.zeros(n_weights), None)
    first = np.zeros(1, dtype=np.intp)
    value = float(_answers(prior, name, np.zeros(1), first)["log_mgf"][0])
    if abs(value) > 1e-8:
        raise ValueError(
            f"log_mgf of {name} is {value:.6g} at eta = 0; expected 0, for a prior that integrates "
            "to 1."
        )
    # where the prior bends, on both sides of 0
    scale = float(natural_scale(prior, (1,), first)[0])
    shares = [end * _SHARES for end in (lower, upper) if np.isfinite(end)]
    eta = np.unique(np.concatenate([np.zeros(1), -scale * _TILTS, scale * _TILTS, *shares]))
    _check_functions(prior, name, eta[(eta > 0.95 * lower) & (eta < 0.95 * upper)])
    for end in (lower, upper):
        if np.isfinite(end):
            _check_steep(prior, name, end)
    return prior


def _check_interface(prior: Any, name: str) -> None:
    if type(prior).__module__.startswith("scipy.stats"):
        known = getattr(getattr(prior, "dist", prior), "name", name)
        raise TypeError(
            f"prior is the distribution {known!r} of scipy; expected a subclass of Prior with its "
            "log moment generating function, which a distribution with heavier than exponential "
            "tails, such as a Student-t, does not have."
        )
    if isinstance(prior, type):
        raise TypeError(
            f"prior is the class {prior.__name__}; expected an instance, with parameters."
        )
    missing = [needed for needed in _NEEDED if not hasattr(prior, needed)]
    if missing:
        raise TypeError(
            f"prior is {shown(prior)}, of type {name}, and lacks {', '.join(missing)}; expected a "
            "subclass of medn_edu.priors.Prior with domain, log_mgf and mean, which inherits the "
            "rest."
        )


def _answers(
    prior: Prior, name: str, eta: np.ndarray, index: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return what the prior answers at ``eta``, if it takes arrays and returns finite ones."""
    answers = {}
    for method in ("log_mgf", "mean", "variance"):
        function = getattr(prior, method)
        try:
            inspect.signature(function).bind(None, None)
        except TypeError as error:
            raise TypeError(
                f"{method} of {name} cannot be called with eta and index ({error}); expected the "
                f"signature {method}(self, eta, index=None)."
            ) from error
        except ValueError:  # a compiled function that does not tell its signature
            pass
        try:
            values = np.asarray(function(eta, index), dtype=float)
        except TypeError as error:  # such as math.tanh of an array
            raise TypeError(
                f"{method} of {name} fails on an array of {eta.size} numbers ({error}); expected "
                "numpy functions, which take whole arrays."
            ) from error
        if values.shape != eta.shape:
            raise ValueError(
                f"{method} of {name} has shape {values.shape} for {eta.size} weights; expected "
                "one number for each."
            )
        bad = ~np.isfinite(values)
        if np.any(bad):
            raise ValueError(
                f"{method} of {name} is {values[bad][0]} at eta = {eta[bad][0]:.6g}, inside its "
                f"domain {prior.domain}; expected a finite number."
            )
        answers[method] = values
    return answers


@np.errstate(all="ignore")
def _check_functions(prior: Prior, name: str, eta: np.ndarray) -> None:
    """Refuse functions that are not each other's slopes and conjugates."""
    index = np.zeros(eta.shape, dtype=np.intp)
    log_mgf, mean, variance = _answers(prior, name, eta, index).values()
    rises = np.diff(mean)
    if not np.all(rises > 0):
        where = int(np.argmin(rises > 0))
        raise ValueError(
            f"mean of {name} does not rise from eta = {eta[where]:.6g} to {eta[where + 1]:.6g}; "
            "expected the slope of a convex log_mgf."
        )
    spread = np.sqrt(np.maximum(variance, 0.0)) + np.ptp(mean)
    slopes = slope(prior, prior.log_mgf, eta, index), slope(prior, prior.mean, eta, index)
    conjugate = eta * mean - log_mgf
    kl = prior.kl(mean, index)
    for method, values, expected, tolerance, what, argument, at in (
        ("mean", mean, slopes[0], spread, "the slope of log_mgf", "eta", eta),
        ("variance", variance, slopes[1], np.abs(variance), "the slope of mean", "eta", eta),
        ("kl", kl, conjugate, np.abs(conjugate) + 1e-3, "the conjugate of log_mgf", "mu", mean),
    ):
        wrong = ~(np.abs(values - expected) <= _CLOSE * tolerance)
        if np.any(wrong):
            raise ValueError(
                f"{method} of {name} is {values[wrong][0]:.6g} at {argument} = {at[wrong][0]:.6g}; "
                f"expected {what}, about {expected[wrong][0]:.6g}."
            )


def _check_steep(prior: Prior, name: str, end: float) -> None:
    """Refuse a mean that stays bounded towards a finite end.

    From one distance to the next, a mean that grows without bound rises at least as much as before
    (just as much if it grows as a logarithm).  A mean that has a limit rises less and less.
    """
    eta = end * (1 - _NEAR)
    with np.errstate(all="ignore"):
        mean = np.asarray(prior.mean(eta, np.zeros(eta.shape, dtype=np.intp)), dtype=float)
        first, second = np.diff(np.abs(mean))
    if abs(mean[0]) == np.inf or second >= _STEEP * first > 0 or np.isinf(second):
        return
    raise ValueError(
        f"mean of {name} stays finite (about {mean[-1]:.3g}) as eta goes to {end:.6g}, the end of its "
        "domain; expected a steep prior, whose mean grows without bound there. With any other prior, P1 "
        f"may have no minimiser. If eta may go beyond {end:.6g}, give a larger domain."
    )
