r"""The Laplace prior as a normal prior of unknown variance, and what variational learning pays.

**Eq. (4) of MEDN.**  Draw a variance :math:`\tau` from an exponential density, then the weight from
:math:`N(0, \tau)`, and forget :math:`\tau`: what is left is the Laplace density,

.. math:: \int_0^\infty N(w; 0, \tau) \, \tfrac\lambda2 e^{-\lambda \tau / 2} \, d\tau
          = \tfrac{\sqrt\lambda}{2} e^{-\sqrt\lambda |w|} .

`scale_mixture` computes the left side numerically.  A mixture of bells of all widths has a peak,
from the narrow ones, and long tails, from the wide ones.

**Tilted.**  Under :math:`e^{\eta w}` a bell of variance :math:`\tau` moves to :math:`N(\eta\tau, \tau)`
and counts :math:`e^{\eta^2 \tau / 2}` times as much, so that :math:`\tau` becomes exponential with the
rate :math:`(\lambda - \eta^2) / 2` (`tau_density`).  Hence the mean of the weight is
:math:`\eta \langle\tau\rangle = 2 \eta / (\lambda - \eta^2)`, which is Corollary 7: a weight is shrunk
by its expected variance, and a large :math:`|\eta|` makes the variance itself grow.

**Jensen's inequality** (section 5).  The divergence of a posterior ``p`` from the Laplace prior holds
the logarithm of an integral over :math:`\tau`.  For any density :math:`q(\tau)`, the same for all ``w``,

.. math:: KL(p \| p_0) \le \mathcal L(p, q) = KL\big(p(w) q(\tau) \,\|\, p(w \mid \tau) p(\tau)\big),
          \qquad \mathcal L - KL = E_p \big[ KL(q(\tau) \| p(\tau \mid w)) \big] .

The second formula says what is lost: one ``q`` has to stand for the posterior of :math:`\tau` at *every*
``w``, and that depends on ``w``.  So the gap is zero only for a ``p`` that knows :math:`|w|`.

**The best q** for a given ``p`` depends on :math:`m = \langle w^2 \rangle_p` alone:

.. math:: q(\tau) = \frac{N(\sqrt m; 0, \tau) \, \frac\lambda2 e^{-\lambda \tau / 2}}
          {\frac{\sqrt\lambda}{2} e^{-\sqrt{\lambda m}}}, \qquad
          \Big\langle \frac1\tau \Big\rangle_q = \sqrt{\frac{\lambda}{m}} \quad (11) ,

Eq. (4) again being the normaliser.  It is a generalised inverse Gaussian density (`q_density`);
:math:`1/\tau` is inverse Gaussian, and :math:`\langle\tau\rangle = \sqrt{m/\lambda} + 1/\lambda`.

**The bound** needs of such a ``q`` one number, the variance :math:`t = 1 / \langle 1/\tau \rangle` that
Step 1 of Algorithm 1 works with.  For a normal posterior :math:`N(\mu, \sigma^2)`, per weight,

.. math:: \mathcal L = -\tfrac12 \log(2 \pi e \sigma^2) - \log\tfrac{\sqrt\lambda}{2}
          + \tfrac{\lambda t}{2} + \tfrac{\mu^2 + \sigma^2}{2 t},

a *parabola* in the mean, which is why Step 1 is a quadratic program.  The last two terms are least at
:math:`t = \sqrt{(\mu^2 + \sigma^2) / \lambda}`, Eq. (11), and then equal
:math:`\sqrt{\lambda (\mu^2 + \sigma^2)}`: arithmetic and geometric mean.  Among all ``q`` with the same
:math:`\langle 1/\tau \rangle`, of whatever shape, the density above has the least bound.

**The exact divergence** has the folded normal's mean :math:`E|w|` in place of the root
:math:`\sqrt{E w^2}` (`gaussian_kl`).  The gap is therefore a sum of two (`jensen_gap`),

.. math:: \mathcal L - KL =
          \underbrace{\frac{(\sqrt\lambda \, t - \sqrt m)^2}{2 t}}_{\text{not the best } t}
          + \underbrace{\sqrt\lambda \, (\sqrt{E w^2} - E|w|)}_{\text{one } q \text{ for all } w} .

**Is Algorithm 1's "local optimum" global?**  The paper is careful: the bound need not be convex in ``p``
and ``q`` together.  With ``q`` eliminated it is
:math:`-\log\sigma + \sqrt{\lambda(\mu^2 + \sigma^2)}` and constants, a convex function of
:math:`(\mu, \sigma)` together: with the linear constraints there is one optimum and no other.  But it is
not the optimum of P1.  At a fixed point :math:`\sigma^2 = t` and :math:`\mu = t \eta` give
:math:`t = 1 / (\lambda - \eta^2)`, so that

.. math:: \mu = \frac{\eta}{\lambda - \eta^2} ,

*half* of Corollary 7: the algorithm solves, exactly, the MEDN whose prior is the normal-gamma prior of
shape 1/2 instead of 1 (`medn_edu.priors.NormalGammaPrior`), and pays 0.274 a weight for it even at 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfc

from medn_edu.checks import check_positive

# Points for integrals over tau: log(sqrt(lam tau)), where all integrands here are smooth and their ends
# negligible, so that the trapezoidal rule errs by no more than rounding.
_U = np.linspace(-40.0, 6.0, 9201)


def scale_mixture(w: np.ndarray, lam: float) -> np.ndarray:
    """Return Eq. (4): the mixture of ``N(w; 0, tau)`` over exponential ``tau``, trapezoidal rule."""
    w = np.asarray(w, dtype=float)[..., None]
    tau = np.exp(2 * _U) / check_positive("lam", lam)
    normal = np.exp(-np.square(w) / (2 * tau)) / np.sqrt(2 * np.pi * tau)
    return np.trapezoid(normal * tau_density(tau, lam) * 2 * tau, _U, axis=-1)


def tau_density(tau: np.ndarray, lam: float, eta: float = 0.0) -> np.ndarray:
    """Return the density of the variance, under the prior or under the prior tilted by ``exp(eta w)``.

    Examples
    --------
    A large ``eta``, of either sign, makes large variances likely:

    >>> [tau_density(2.0, lam=4.0, eta=eta).round(4).item() for eta in (0.0, 1.0, -1.9)]
    [0.0366, 0.0747, 0.132]
    """
    end = np.sqrt(check_positive("lam", lam))
    if not abs(eta) < end:
        raise ValueError(f"eta is {eta!r}; expected a number between {-end:g} and {end:g}.")
    rate = (end - eta) * (end + eta) / 2
    return rate * np.exp(-rate * np.asarray(tau, dtype=float))


def best_tau(second_moment: np.ndarray, lam: float) -> np.ndarray:
    """Return ``1 / <1 / tau>`` of the best ``q`` for a posterior, Eq. (11)."""
    return np.sqrt(_positive("second_moment", second_moment) / check_positive("lam", lam))


def q_density(tau: np.ndarray, second_moment: float, lam: float) -> np.ndarray:
    """Return the density of the best ``q(tau)`` for a posterior, normaliser included."""
    tau, rate = _positive("tau", tau), np.sqrt(check_positive("lam", lam))
    root = np.sqrt(_positive("second_moment", second_moment))
    # the exponents, -m / 2 tau - lam tau / 2 + sqrt(lam m), together are minus a square
    return rate / np.sqrt(2 * np.pi * tau) * np.exp(-np.square(rate * tau - root) / (2 * tau))


def gaussian_kl(mean: np.ndarray, variance: np.ndarray, lam: float) -> np.ndarray:
    r"""Return the exact divergence of normal posteriors from the Laplace prior, weight by weight.

    .. math:: KL(N(\mu, \sigma^2) \| p_0) = -\tfrac12 \log(2 \pi e \sigma^2)
              - \log\tfrac{\sqrt\lambda}{2} + \sqrt\lambda \, E|w|, \qquad
              E|w| = \sigma \sqrt{\tfrac2\pi} \, e^{-\mu^2 / 2\sigma^2}
              + |\mu| \operatorname{erf}\frac{|\mu|}{\sigma\sqrt2}
    """
    mean, sigma, rate = _normal(mean, variance, lam)
    return _minus_entropy(sigma, rate) + rate * (np.abs(mean) + _folding(mean, sigma))


def jensen_bound(
    mean: np.ndarray, variance: np.ndarray, lam: float, tau: np.ndarray | None = None
) -> np.ndarray:
    """Return the variational bound on the divergence of normal posteriors, weight by weight."""
    mean, sigma, rate = _normal(mean, variance, lam)
    root = np.hypot(mean, sigma)
    tau = root / rate if tau is None else _positive("tau", tau)
    return _minus_entropy(sigma, rate) + rate * root + _wrong_tau(tau, root, rate)


def jensen_gap(
    mean: np.ndarray, variance: np.ndarray, lam: float, tau: np.ndarray | None = None
) -> np.ndarray:
    """Return what Jensen's inequality loses: `jensen_bound` less `gaussian_kl`, weight by weight.

    Against ``tau`` it falls to its least value at `best_tau`, Eq. (11), and rises again; the expected
    variance is always ``1 / lam`` more than ``tau``.

    Examples
    --------
    The best ``q`` still loses something, much where the sign of the weight is in doubt and little
    where its size is known:

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
    """Return the variational bound of one weight for any density ``q(tau)``, numerically."""
    mu, sigma, rate = _normal(mean, variance, lam)
    tau = np.exp(2 * _U) / np.square(rate)
    with np.errstate(all="ignore"):
        log_density = log_q(tau)
        q = np.exp(log_density) * 2 * tau
    total = float(np.trapezoid(q, _U))
    if not abs(total - 1) < 1e-6:
        raise ValueError(f"exp(log_q) integrates to {total:g}; expected a density on tau > 0.")
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
        raise ValueError("mean holds something else; expected finite numbers.")
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
