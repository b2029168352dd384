"""The Laplace prior as a normal prior of unknown variance, and what the variational bound costs.

``laplace.md`` explains the theory, with its formulas typeset.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfc

from medn_edu.checks import check_positive

# Points for integrals over tau: log(sqrt(lam tau)), where all integrands here are smooth and their ends
# negligible, so that the trapezoidal rule errs by no more than rounding.
_U = np.linspace(-40.0, 6.0, 9201)


def scale_mixture(w: np.ndarray, lam: float) -> np.ndarray:
    """Return the Laplace density as a mixture of normal densities, Eq. (4).

    The mixture of ``N(w; 0, tau)`` over an exponentially distributed ``tau`` is integrated with the
    trapezoidal rule.
    """
    w = np.asarray(w, dtype=float)[..., None]
    tau = np.exp(2 * _U) / check_positive("lam", lam)
    normal = np.exp(-np.square(w) / (2 * tau)) / np.sqrt(2 * np.pi * tau)
    return np.trapezoid(normal * tau_density(tau, lam) * 2 * tau, _U, axis=-1)


def tau_density(tau: np.ndarray, lam: float, eta: float = 0.0) -> np.ndarray:
    """Return the density of the variance ``tau`` under the prior tilted by ``exp(eta w)``.

    With ``eta = 0``, the default, this is the prior's own density.  A large ``eta`` of either sign
    makes large variances likely:

    >>> [tau_density(2.0, lam=4.0, eta=eta).round(4).item() for eta in (0.0, 1.0, -1.9)]
    [0.0366, 0.0747, 0.132]
    """
    end = np.sqrt(check_positive("lam", lam))
    if not abs(eta) < end:
        raise ValueError(f"eta is {eta!r}; expected a number between {-end:g} and {end:g}.")
    rate = (end - eta) * (end + eta) / 2
    return rate * np.exp(-rate * np.asarray(tau, dtype=float))


def best_tau(second_moment: np.ndarray, lam: float) -> np.ndarray:
    """Return ``1 / <1 / tau>`` under the best ``q(tau)`` for a posterior's second moment, Eq. (11)."""
    return np.sqrt(_positive("second_moment", second_moment) / check_positive("lam", lam))


def q_density(tau: np.ndarray, second_moment: float, lam: float) -> np.ndarray:
    """Return the normalised density of the best ``q(tau)`` for a posterior's second moment."""
    tau, rate = _positive("tau", tau), np.sqrt(check_positive("lam", lam))
    root = np.sqrt(_positive("second_moment", second_moment))
    # the exponents, -m / 2 tau - lam tau / 2 + sqrt(lam m), together are minus a square
    return rate / np.sqrt(2 * np.pi * tau) * np.exp(-np.square(rate * tau - root) / (2 * tau))


def gaussian_kl(mean: np.ndarray, variance: np.ndarray, lam: float) -> np.ndarray:
    r"""Return the exact divergence of normal posteriors from the Laplace prior, one number per weight.

    .. math:: KL(N(\mu, \sigma^2) \| p_0) &= -\tfrac12 \log(2 \pi e \sigma^2)
              - \log\tfrac{\sqrt\lambda}{2} + \sqrt\lambda \, E|w|

              E|w| &= \sigma \sqrt{\tfrac2\pi} \, e^{-\mu^2 / 2\sigma^2}
              + |\mu| \operatorname{erf}\frac{|\mu|}{\sigma\sqrt2}
    """
    mean, sigma, rate = _normal(mean, variance, lam)
    return _minus_entropy(sigma, rate) + rate * (np.abs(mean) + _folding(mean, sigma))


def jensen_bound(
    mean: np.ndarray, variance: np.ndarray, lam: float, tau: np.ndarray | None = None
) -> np.ndarray:
    """Return the variational bound on the divergence of normal posteriors, one number per weight.

    By default each weight has its best ``tau``, Eq. (11).
    """
    mean, sigma, rate = _normal(mean, variance, lam)
    root = np.hypot(mean, sigma)
    tau = root / rate if tau is None else _positive("tau", tau)
    return _minus_entropy(sigma, rate) + rate * root + _wrong_tau(tau, root, rate)


def jensen_gap(
    mean: np.ndarray, variance: np.ndarray, lam: float, tau: np.ndarray | None = None
) -> np.ndarray:
    """Return what Jensen's inequality loses: `jensen_bound` minus `gaussian_kl`, one number per weight.

    As a function of ``tau`` the gap falls to its minimum at `best_tau`, Eq. (11), and then rises
    again.  The expected variance is always ``1 / lam`` more than ``tau``.

    Even at the best ``tau`` something is lost: much where the sign of the weight is in doubt, and little
    where the weight is known to be large.

    >>> import numpy as np
    >>> jensen_gap(np.array([0.0, 1.0, 10.0]), 0.5, lam=4.0).round(3)
    array([0.286, 0.349, 0.05 ])
    """
    mean, sigma, rate = _normal(mean, variance, lam)
    root = np.hypot(mean, sigma)
    # root - E|w|, with |mean| taken from both
    spread = np.square(sigma) / (root + np.abs(mean)) - _folding(mean, sigma)
    wrong = 0.0 if tau is None else _wrong_tau(_positive("tau", tau), root, rate)
    return rate * spread + wrong


def bound_by_quadrature(
    mean: float, variance: float, lam: float, log_q: Callable[[np.ndarray], np.ndarray]
) -> float:
    """Return the variational bound of one weight for any density ``q(tau)``, by numerical integration.

    ``log_q`` takes an array of variances and returns the logarithms of their densities.
    """
    mu, sigma, rate = _normal(mean, variance, lam)
    tau = np.exp(2 * _U) / np.square(rate)
    with np.errstate(all="ignore"):
        log_density = log_q(tau)
        q = np.exp(log_density) * 2 * tau
    total = float(np.trapezoid(q, _U))
    if not abs(total - 1) < 1e-6:
        raise ValueError(
            f"exp(log_q) integrates to {total:g}; expected 1, as for a density on tau > 0."
        )
    normal = -0.5 * np.log(2 * np.pi * tau) - (mu**2 + sigma**2) / (2 * tau)  # E_p log p(w | tau)
    log_prior = np.log(rate**2 / 2) - rate**2 * tau / 2
    with np.errstate(invalid="ignore"):
        inner = np.where(q > 0, q * (log_density - normal - log_prior), 0.0)
    return float(np.trapezoid(inner, _U) - 0.5 * np.log(2 * np.pi * np.e * sigma**2))


def _normal(
    mean: ArrayLike, variance: ArrayLike, lam: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return means, standard deviations and the rate ``sqrt(lam)``."""
    sigma, mean = np.sqrt(_positive("variance", variance)), np.asarray(mean, dtype=float)
    if not np.isfinite(mean).all():
        raise ValueError("mean holds NaN or infinity; expected finite numbers.")
    return mean, sigma, float(np.sqrt(check_positive("lam", lam)))


def _positive(name: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    wrong = array[~(np.isfinite(array) & (array > 0))]
    if wrong.size:
        raise ValueError(f"{name} holds {wrong[0]:g}; expected finite numbers > 0.")
    return array


def _minus_entropy(sigma: np.ndarray, rate: float) -> np.ndarray:
    """Return minus the entropy of the normal, and minus the logarithm of the prior's constant."""
    return -0.5 * np.log(2 * np.pi * np.e) - np.log(sigma * rate / 2)


def _folding(mean: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Return ``E|w| - |mean|`` of a normal weight: what folding it at 0 adds."""
    z = np.minimum(np.abs(mean) / sigma, 50.0)  # beyond 39 there is nothing left to fold
    return sigma * (np.sqrt(2 / np.pi) * np.exp(-np.square(z) / 2) - z * erfc(z / np.sqrt(2)))


def _wrong_tau(tau: np.ndarray, root: np.ndarray, rate: float) -> np.ndarray:
    """Return what the bound loses by another ``tau`` than the best, ``root / rate``."""
    return np.square(rate * tau - root) / (2 * tau)
