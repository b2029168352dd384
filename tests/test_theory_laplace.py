"""The hierarchical Laplace prior: every formula against an integral."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import expon, gamma, geninvgauss, lognorm, norm

from medn_edu.priors import LaplacePrior, NormalGammaPrior
from medn_edu.theory.laplace import (
    best_tau,
    bound_by_quadrature,
    gaussian_kl,
    jensen_bound,
    jensen_gap,
    q_density,
    scale_mixture,
    tau_density,
)

LAMS = (0.3, 4.0, 900.0)
# means and variances of normal posteriors, in units of the prior's
POSTERIORS = [(0.0, 1.0), (0.3, 0.01), (-2.0, 0.5), (5.0, 3.0), (1.0, 1e-6), (-30.0, 0.1)]
EVERY = [(m / np.sqrt(lam), v / lam, lam) for lam in LAMS for m, v in POSTERIORS]


def over_tau(function, lam, at=1.0):
    """Integrate over tau from 0 to infinity; ``lam * tau`` of the bulk is about ``at``."""

    def integrand(u):
        tau = np.exp(u) * at / lam
        return function(tau) * tau

    return quad(integrand, -60, 20, points=[-4, 0, 4], limit=400, epsabs=0, epsrel=1e-11)[0]  # fmt: skip


@pytest.mark.parametrize("lam", LAMS)
def test_equation_4(lam):
    w = np.array([0.0, 1e-8, -0.1, 1.0, 30.0, -500.0]) / np.sqrt(lam)
    laplace = np.exp(LaplacePrior(lam).log_density(w))
    assert_allclose(scale_mixture(w, lam), laplace, rtol=1e-11)
    by_quad = over_tau(lambda tau: norm.pdf(w[3], 0, np.sqrt(tau)) * tau_density(tau, lam), lam)
    assert by_quad == pytest.approx(laplace[3], rel=1e-9)


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("share", [-0.95, 0.0, 0.4])
def test_variance_of_the_tilted_prior(lam, share):
    """By Bayes' rule: the joint density times exp(eta w), with w integrated out."""
    eta = share * np.sqrt(lam)
    evidence = np.exp(LaplacePrior(lam).log_mgf(np.array(eta)))
    for tau in (0.1 / lam, 2.0 / lam):
        spread = np.sqrt(tau)
        joint = quad(
            lambda w: norm.pdf(w, 0, spread) * np.exp(eta * w),  # noqa: B023
            eta * tau - 12 * spread, eta * tau + 12 * spread, epsrel=1e-11,
        )[0] * expon.pdf(tau, scale=2 / lam)  # fmt: skip
        assert tau_density(tau, lam, eta) == pytest.approx(joint / evidence, rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.4, 0.95])
def test_corollary_7_is_the_expected_variance(share):
    lam = 4.0
    eta = share * np.sqrt(lam)
    expected = over_tau(lambda tau: tau * tau_density(tau, lam, eta), lam, at=2 / (1 - share**2))
    assert eta * expected == pytest.approx(LaplacePrior(lam).mean(np.array(eta)), rel=1e-9)


@pytest.mark.parametrize(("mean", "variance", "lam"), EVERY)
def test_best_q(mean, variance, lam):
    """Its normaliser, Eq. (11), its mean, and the name of its family."""
    m = mean**2 + variance
    t = best_tau(m, lam)

    def expected(function):
        return over_tau(lambda tau: function(tau) * q_density(tau, m, lam), lam, at=lam * t)

    assert expected(lambda tau: 1.0) == pytest.approx(1, rel=1e-8)
    assert expected(lambda tau: 1 / tau) == pytest.approx(np.sqrt(lam / m), rel=1e-8)
    assert expected(lambda tau: tau) == pytest.approx(t + 1 / lam, rel=1e-8)
    tau = t * np.array([0.3, 1.0, 2.0])
    named = geninvgauss(0.5, np.sqrt(lam * m), scale=t)
    assert_allclose(q_density(tau, m, lam), named.pdf(tau), rtol=1e-8)
    normal = norm.pdf(np.sqrt(m), 0, np.sqrt(tau))
    papers = normal * lam / 2 * np.exp(-lam * tau / 2) * 2 / np.sqrt(lam) * np.exp(np.sqrt(lam * m))
    assert_allclose(q_density(tau, m, lam), papers, rtol=1e-9)


@pytest.mark.parametrize(("mean", "variance", "lam"), EVERY)
def test_exact_divergence(mean, variance, lam):
    posterior, spread = norm(mean, np.sqrt(variance)), np.sqrt(variance)

    def integrand(w):
        return posterior.pdf(w) * (posterior.logpdf(w) - LaplacePrior(lam).log_density(w))

    low, high = mean - 12 * spread, mean + 12 * spread
    kink = [0.0] if low < 0 < high else None
    expected = quad(integrand, low, high, points=kink, epsabs=0, epsrel=1e-11, limit=200)[0]
    assert gaussian_kl(mean, variance, lam) == pytest.approx(expected, rel=1e-8)
    assert expected >= LaplacePrior(lam).kl(mean), "the tilted prior is the cheapest of this mean"


@pytest.mark.parametrize(("mean", "variance", "lam"), EVERY)
def test_bound(mean, variance, lam):
    m = mean**2 + variance
    closed = (
        -0.5 * np.log(2 * np.pi * np.e * variance) - np.log(np.sqrt(lam) / 2) + np.sqrt(lam * m)
    )
    assert jensen_bound(mean, variance, lam) == pytest.approx(closed, rel=1e-12)
    by_numbers = bound_by_quadrature(mean, variance, lam, lambda tau: log_q(tau, m, lam))
    assert by_numbers == pytest.approx(closed, rel=1e-7)
    gap = jensen_bound(mean, variance, lam) - gaussian_kl(mean, variance, lam)
    assert jensen_gap(mean, variance, lam) == pytest.approx(gap, rel=1e-9, abs=1e-12)
    assert jensen_gap(mean, variance, lam) > 0


def log_q(tau, m, lam):
    """Logarithm of the paper's formula for q, normaliser included."""
    prior_of_root = np.log(np.sqrt(lam) / 2) - np.sqrt(lam * m)
    return (
        -0.5 * np.log(2 * np.pi * tau)
        - m / (2 * tau)
        + np.log(lam / 2)
        - lam * tau / 2
        - prior_of_root
    )


@pytest.mark.parametrize(("mean", "variance", "lam"), EVERY)
def test_gap_against_tau(mean, variance, lam):
    """Least where Eq. (11) says; the bound at any tau is that of the best q with this <1/tau>."""
    best = best_tau(mean**2 + variance, lam)
    found = minimize_scalar(
        lambda log_tau: jensen_gap(mean, variance, lam, best * np.exp(log_tau)),
        bounds=(-3, 4), method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    assert found.x == pytest.approx(0, abs=1e-5)
    assert found.fun == pytest.approx(jensen_gap(mean, variance, lam), rel=1e-9)
    taus = best * np.array([0.2, 0.9, 3.0])
    gaps = jensen_gap(mean, variance, lam, taus)
    assert np.all(gaps > jensen_gap(mean, variance, lam))
    for tau, gap in zip(taus, gaps, strict=True):
        bound = bound_by_quadrature(mean, variance, lam, lambda x: log_q(x, lam * tau**2, lam))  # noqa: B023
        assert jensen_bound(mean, variance, lam, tau) == pytest.approx(bound, rel=1e-7)
        assert bound - gaussian_kl(mean, variance, lam) == pytest.approx(gap, rel=1e-6)


@pytest.mark.parametrize(
    "q", [gamma(2.5, scale=0.4), lognorm(0.7, scale=0.6)], ids=["gamma", "log"]
)
def test_no_other_shape_of_q_does_better(q):
    mean, variance, lam = 0.8, 0.2, 4.0
    precision = over_tau(lambda tau: q.pdf(tau) / tau, lam, at=2)
    bound = bound_by_quadrature(mean, variance, lam, q.logpdf)
    assert bound > jensen_bound(mean, variance, lam, 1 / precision) + 1e-3
    assert bound > jensen_bound(mean, variance, lam)


def test_gap_of_a_posterior_that_knows_its_weight():
    """It goes as ``sqrt(lam) sigma^2 / 2 |mu|``, far below the digits of bound and divergence."""
    lam, mean, variance = 4.0, 1e6, 1e-6
    gap = jensen_gap(mean, variance, lam)
    assert gap == pytest.approx(np.sqrt(lam) * variance / (2 * mean), rel=1e-9)


def test_bound_is_convex_in_mean_and_standard_deviation():
    rng = np.random.default_rng(0)
    mean, sigma = rng.normal(0, 2, (2, 2000)), rng.exponential(1, (2, 2000))
    ends = jensen_bound(mean, np.square(sigma), 4.0).mean(axis=0)
    middle = jensen_bound(mean.mean(axis=0), np.square(sigma.mean(axis=0)), 4.0)
    assert np.all(middle <= ends + 1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, -0.8])
def test_fixed_point_of_algorithm_1_is_half_of_corollary_7(share):
    lam = 6.0
    eta, t = share * np.sqrt(lam), 1.0
    for _ in range(300):
        mean = t * eta
        t = best_tau(mean**2 + t, lam)
    half = NormalGammaPrior(shape=0.5, lam=lam)
    assert t * eta == pytest.approx(half.mean(np.array(eta)), rel=1e-12)
    assert t * eta == pytest.approx(LaplacePrior(lam).mean(np.array(eta)) / 2, rel=1e-12)
    assert t == pytest.approx(1 / (lam - eta**2), rel=1e-12)


def test_algorithm_1_pays_normal_gammas_divergence_and_a_constant():
    """The bound, least over the variance, is the divergence from the prior of shape 1/2 plus 0.274."""
    lam = 6.0
    half = NormalGammaPrior(shape=0.5, lam=lam)
    for mean in (0.0, 0.2, -3.0):
        found = minimize(
            lambda s: jensen_bound(mean, np.exp(s[0]), lam), [0.0], method="Nelder-Mead",  # noqa: B023
            options={"xatol": 1e-9, "fatol": 1e-14},
        )  # fmt: skip
        constant = 0.5 - 0.5 * np.log(np.pi / 2)
        assert found.fun == pytest.approx(half.kl(np.array(mean)) + constant, rel=1e-9)
    assert constant == pytest.approx(0.274, abs=5e-4)


def test_arguments():
    for call, *arguments in (
        (scale_mixture, 0.0),
        (tau_density, 1.0),
        (best_tau, 1.0),
        (q_density, 1.0, 1.0),
        (gaussian_kl, 0.0, 1.0),
        (jensen_gap, 0.0, 1.0),
    ):
        for lam in (0.0, -1.0, np.inf):
            with pytest.raises(ValueError, match="lam is"):
                call(*arguments, lam)
    assert np.isfinite(gaussian_kl(1e200, 1.0, lam=4.0))
    with pytest.raises(ValueError, match="mean holds something else"):
        gaussian_kl(np.nan, 1.0, lam=4.0)
    with pytest.raises(ValueError, match=r"eta is 2.0; expected a number between -2 and 2"):
        tau_density(1.0, 4.0, 2.0)
    with pytest.raises(ValueError, match="variance holds 0"):
        gaussian_kl(np.zeros(2), np.array([1.0, 0.0]), 4.0)
    with pytest.raises(ValueError, match="tau holds -1"):
        jensen_bound(0.0, 1.0, 4.0, tau=-1.0)
    with pytest.raises(ValueError, match="second_moment holds nan"):
        best_tau(np.nan, 4.0)
    with pytest.raises(ValueError, match="integrates to 2; expected a density"):
        bound_by_quadrature(0.0, 1.0, 4.0, lambda tau: np.log(2) + log_q(tau, 1.0, 4.0))
