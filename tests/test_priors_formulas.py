"""Every formula of the gallery against another way to the same number."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from priors_gallery import GALLERY, WITH_DENSITY, any_prior, etas, names, prior_scale, tilted
from scipy.integrate import simpson
from scipy.stats import norm

from medn_edu import priors

# Whose density is not only the Bessel function, which overflows.
LARGE_SHAPES = [priors.NormalGammaPrior(shape, 2 * shape) for shape in (35.0, 300.0)]


def step(prior, eta):
    lower, upper = prior.domain
    return 0.02 * np.minimum(prior_scale(prior), np.minimum(eta - lower, upper - eta))


def derivative(prior, function, eta):
    """Central differences of eighth order."""
    h = step(prior, eta)
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(c * (function(eta + k * h) - function(eta - k * h)) for k, c in weights.items()) / h


@given(any_prior)
def test_mean_is_the_slope_of_log_mgf_and_variance_that_of_mean(prior):
    eta = etas(prior)
    variance = prior.variance(eta)
    for function, slope, tolerance in (
        (prior.log_mgf, prior.mean, 1e-9 * np.sqrt(variance)),
        (prior.mean, prior.variance, 1e-8 * variance),
    ):
        expected = slope(eta)
        difference = np.abs(expected - derivative(prior, function, eta))
        rounding = 1e-15 * (np.abs(function(eta)) + np.abs(eta * expected)) / step(prior, eta)
        assert np.all(difference <= tolerance + rounding)


@given(any_prior)
def test_kl_is_the_conjugate(prior):
    """Fenchel and Young: equality at the mean, inequality elsewhere."""
    eta = etas(prior)
    mu = prior.mean(eta)
    divergence = prior.kl(mu)
    products = np.outer(mu, eta)
    bounds = products - prior.log_mgf(eta)
    scale = np.abs(products) + np.abs(prior.log_mgf(eta))
    assert_allclose(
        divergence, np.diag(bounds), rtol=1e-9, atol=1e-15 + 1e-14 * np.diag(scale).max()
    )
    assert np.all(bounds <= divergence[:, None] + 1e-13 * scale)


@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_limits_of_small_tilts_are_the_variance(prior):
    """Parabolas, to the last digits: no formula subtracts what it should not."""
    variance = float(prior.variance(np.zeros(1))[0])
    scale = prior_scale(prior)
    mean = prior.mean(np.zeros(1))
    for small in (1e-4, 1e-7, 1e-11):
        eta = small * scale * np.array([-1.0, 1.0])
        tolerance = 5 * small + 1e-13
        assert_allclose(prior.variance(eta), variance, rtol=tolerance)
        if mean[0] == 0:
            assert_allclose(prior.mean(eta), variance * eta, rtol=tolerance)
            assert_allclose(prior.log_mgf(eta), variance * eta**2 / 2, rtol=tolerance)
            mu = small / scale * np.array([-1.0, 1.0])
            assert_allclose(prior.kl(mu), mu**2 / variance / 2, rtol=tolerance)


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-7])
def test_exponential_near_its_own_mean(small):
    t = np.array([-small, small])
    expected = t**2 / 2 - t**3 / 3
    assert_allclose(priors.ExponentialPrior(3.0).kl((1 + t) / 3), expected, rtol=small**2 + 1e-8)


# -- against quadrature and sums -----------------------------------------------------------------


@pytest.mark.parametrize("share", [-0.9, -0.4, 0.0, 0.6])
@pytest.mark.parametrize("prior", [*WITH_DENSITY, *LARGE_SHAPES], ids=names)
def test_against_quadrature_of_the_tilted_density(prior, share):
    _lower, upper = prior.domain
    eta = share * (upper if np.isfinite(upper) else 3 * prior_scale(prior))
    mean = float(prior.mean(np.array(eta)))
    u, w, density = tilted(prior, eta)

    def integral(values):
        return simpson(density * values, x=u)

    assert integral(1.0) == pytest.approx(1, abs=1e-7)
    assert integral(w) == pytest.approx(mean, abs=1e-6)
    assert integral((w - mean) ** 2) == pytest.approx(float(prior.variance(np.array(eta))), 1e-6)
    log_ratio = eta * w - prior.log_mgf(np.array(eta))
    assert integral(log_ratio) == pytest.approx(float(prior.kl(mean)), abs=1e-6)


@pytest.mark.parametrize("eta", [-3.0, -0.2, 0.0, 1.0, 2.5])
def test_two_point_against_the_sum(eta):
    prior = priors.TwoPointPrior(a=0.7)
    w = np.array([-0.7, 0.7])
    p = np.exp(eta * w) / np.exp(eta * w).sum()
    assert float(prior.log_mgf(eta)) == pytest.approx(math.log(np.mean(np.exp(eta * w))))
    assert float(prior.mean(eta)) == pytest.approx(p @ w)
    assert float(prior.variance(eta)) == pytest.approx(p @ (w - p @ w) ** 2)
    assert float(prior.kl(p @ w)) == pytest.approx(p @ np.log(p / 0.5), abs=1e-15)


@pytest.mark.parametrize("eta", [-6.0, -0.2, 0.0, 1.0, 2.5])
@pytest.mark.parametrize("pi", [0.01, 0.5, 0.9, 1.0])
def test_spike_and_slab_against_the_mixture(eta, pi):
    """Tilting a mixture tilts its parts and their shares."""
    v = 2.0
    prior = priors.SpikeSlabPrior(pi, v)
    evidence = np.array([1.0, math.exp(v * eta**2 / 2)])  # E exp(eta w) in spike and slab
    shares = np.array([1 - pi, pi])
    total = shares @ evidence
    posterior = shares * evidence / total
    means = np.array([0.0, v * eta])
    mean = posterior @ means
    squares = np.array([0.0, v + (v * eta) ** 2])
    assert float(prior.log_mgf(eta)) == pytest.approx(math.log(total), rel=1e-14, abs=1e-15)
    assert float(prior.mean(eta)) == pytest.approx(mean)
    assert float(prior.variance(eta)) == pytest.approx(posterior @ squares - mean**2)
    within = np.array([0.0, v * eta**2 / 2])  # KL(N(v eta, v), N(0, v))
    kept = posterior > 0
    divergence = posterior[kept] @ (np.log(posterior[kept] / shares[kept]) + within[kept])
    assert float(prior.kl(mean)) == pytest.approx(divergence, rel=1e-14, abs=1e-14)


def test_densities_known_to_scipy():
    w = np.linspace(-3, 3, 13)
    assert_allclose(priors.GaussianPrior(2.0).log_density(w), norm(scale=math.sqrt(2)).logpdf(w))
    assert_allclose(
        priors.NormalGammaPrior(1.0, 4.0).log_density(w),
        priors.LaplacePrior(4.0).log_density(w),
        atol=1e-12,
    )


def test_density_of_normal_gamma_at_zero():
    for shape in (1.5, 3.0, 30.6, 200.0):
        near, at = priors.NormalGammaPrior(shape, 2.0).log_density(np.array([1e-250, 0.0]))
        assert near == pytest.approx(at, abs=1e-7)
    assert_allclose(priors.NormalGammaPrior(2.0, 9.0).log_density(np.zeros(1)), math.log(3 / 4))
    assert priors.NormalGammaPrior(0.5, 1.0).log_density(np.zeros(1)) == np.inf


# -- the papers' statements, and how priors are related --------------------------------------------


@pytest.mark.parametrize("shape", [1e2, 1e4, 1e6])
def test_normal_gamma_of_large_shape_is_gaussian(shape):
    v = 0.7
    one, other = priors.NormalGammaPrior(shape, 2 * shape / v), priors.GaussianPrior(v)
    eta = np.linspace(-3, 3, 13)
    for method in ("log_mgf", "mean", "variance", "kl", "log_density"):
        expected = getattr(other, method)(eta)
        assert_allclose(getattr(one, method)(eta), expected, rtol=50 / shape, atol=20 / shape)


def test_shrinkage_is_ordered_between_laplace_and_gaussian():
    """At one variance, the smaller the shape, the more a large weight is let out."""
    v = 0.5
    eta = np.linspace(0.1, 1.9, 10)
    shapes = [1.0, 1.5, 4.0, 40.0]
    curves = [priors.NormalGammaPrior(a, 2 * a / v).mean(eta) for a in shapes] + [v * eta]
    for more, less in itertools.pairwise(curves):
        assert np.all(more > less)
    between = priors.NormalInverseGaussianPrior(2.0, 2 * v).mean(eta)  # of this variance, too
    assert np.all((between < curves[0]) & (between > v * eta))


# -- far out, and beyond ---------------------------------------------------------------------------


def test_large_tilts():
    far = np.array([-1e200, -1e5, 1e5, 1e200])
    assert_allclose(priors.BoxPrior(2.0).log_mgf(far[1:3]), 2e5 - math.log(4e5), rtol=1e-14)
    assert_allclose(priors.BoxPrior(2.0).mean(far), np.sign(far) * 2, rtol=1e-5)
    assert_allclose(priors.BoxPrior(2.0).variance(far[1:3]), 1e-10, rtol=1e-12)
    assert_allclose(priors.TwoPointPrior(2.0).log_mgf(far[1:3]), 2e5 - math.log(2), rtol=1e-14)
    assert_allclose(
        priors.TwoPointPrior(2.0).variance(np.array([20.0])), 16 * math.exp(-80), rtol=1e-14
    )
    assert_allclose(
        priors.SpikeSlabPrior(0.1, 2.0).log_mgf(far[1:3]), 1e10 + math.log(0.1), rtol=1e-14
    )
    assert_allclose(priors.SpikeSlabPrior(0.1, 2.0).mean(far), 2 * far)
    assert_allclose(priors.ExponentialPrior(2.0).mean(far[:2]), -1 / far[:2], rtol=1e-4)


@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_ends_of_the_domain(prior):
    lower, upper = prior.domain
    assert lower < 0 < upper
    for end in (lower, upper):
        if np.isinf(end):
            assert np.all(np.isfinite(prior.mean(np.array([np.sign(end) * 1e10]))))
            continue
        last = np.nextafter(end, 0)
        beyond = np.array([end, 2 * end])
        assert np.isfinite(prior.log_mgf(np.array(last)))
        assert np.sign(end) * prior.mean(np.array(last)) > 1e6 / abs(end)
        assert np.all(prior.log_mgf(beyond) == np.inf)
        assert np.all(prior.mean(beyond) == np.sign(end) * np.inf)
        assert np.all(prior.variance(beyond) == np.inf)


def test_means_out_of_reach_are_infinitely_expensive():
    for prior, low, high in (
        (priors.BoxPrior(2.0), -2.0, 2.0),
        (priors.TwoPointPrior(2.0), -2.0, 2.0),
        (priors.ExponentialPrior(2.0), 0.0, math.inf),
    ):
        assert np.all(np.isfinite(prior.kl(np.array([low + 1e-9, min(high - 1e-9, 1e100)]))))
        assert np.all(prior.kl(np.array([low - 1e-9, high + 1e-9, -np.inf, np.inf])) == np.inf)
    assert_allclose(priors.TwoPointPrior(2.0).kl(np.array([-2.0, 2.0])), math.log(2))
    assert np.all(priors.BoxPrior(2.0).kl(np.array([-2.0, 2.0])) == np.inf)
    assert_allclose(priors.BoxPrior(1.0).kl(np.array([1 - 1e-6])), math.log(2e6) - 1, rtol=1e-6)
    assert priors.ExponentialPrior().kl(np.array([0.0])) == np.inf


@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_nothing_warns_and_nan_stays_nan(prior):
    odd = np.array([np.nan, 0.0, -np.inf, np.inf, 1e200, -1e200, 1e-320])
    for method in (prior.log_mgf, prior.mean, prior.variance, prior.kl):
        values = method(odd)
        assert values.shape == odd.shape
        assert not np.any(np.isnan(values[1:2]))
    for method in (prior.log_mgf, prior.mean, prior.kl):
        assert np.array_equal(np.isnan(method(odd)), np.isnan(odd))
