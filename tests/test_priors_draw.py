"""Draws from the tilted prior: distribution, ends of the range, determinism."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from priors_gallery import GALLERY, WITH_DENSITY, Own, etas, names, tilted
from scipy.integrate import cumulative_simpson
from scipy.stats import expon, kstest, norm

from medn_edu import priors

N_DRAWS = 20_000
STRETCHED = priors.Prior.stretched(priors.LaplacePrior(4.0), 0.3)


def draw(prior, eta, n_draws=N_DRAWS, seed=0):
    return prior.draw(np.asarray(eta, dtype=float), np.random.default_rng(seed), n_draws)


def tilted_cdf(prior, eta):
    u, w, density = tilted(prior, eta)
    probability = cumulative_simpson(density, x=u, initial=0)
    assert probability[-1] == pytest.approx(1, abs=1e-4)
    return lambda points: np.interp(points, w, probability)


@pytest.mark.parametrize("prior", [*WITH_DENSITY, STRETCHED], ids=names)
@pytest.mark.parametrize("share", [-0.8, 0.0, 0.3])
def test_distribution(prior, share):
    lower, upper = etas(prior, 1.0)[[0, -1]]
    eta = share * (upper if share > 0 else -lower)
    other = eta + 0.1 * (upper - eta)
    draws = draw(prior, [eta, other])
    assert draws.shape == (N_DRAWS, 2)
    assert_array_equal(draw(prior, [eta, other]), draws)
    assert np.any(draw(prior, [eta, other], seed=1) != draws)
    cdfs = tilted_cdf(prior, eta), tilted_cdf(prior, other)
    agrees = [[kstest(column, cdf).pvalue > 1e-3 for cdf in cdfs] for column in draws.T]
    assert agrees == [[True, False], [False, True]]


@pytest.mark.parametrize("eta", [-3.0, 0.0, 0.5])
def test_two_points(eta):
    draws = draw(priors.TwoPointPrior(0.7), [eta])
    assert set(np.unique(draws)) <= {-0.7, 0.7}
    share = np.exp(0.7 * eta) / (2 * np.cosh(0.7 * eta))
    assert np.mean(draws > 0) == pytest.approx(
        share, abs=5 * np.sqrt(share * (1 - share) / N_DRAWS)
    )


@pytest.mark.parametrize("eta", [-2.0, 0.0, 1.0])
def test_spike_and_slab(eta):
    """A share of exact zeros, and the rest normal."""
    prior = priors.SpikeSlabPrior(0.3, 2.0)
    draws = draw(prior, [eta])[:, 0]
    slab = draws[draws != 0]
    share = 0.3 * np.exp(eta**2) / (0.7 + 0.3 * np.exp(eta**2))
    assert len(slab) / N_DRAWS == pytest.approx(share, abs=5 * np.sqrt(0.25 / N_DRAWS))
    assert kstest(slab, norm(2 * eta, np.sqrt(2)).cdf).pvalue > 1e-3
    assert np.all(draw(priors.SpikeSlabPrior(1.0), [eta]) != 0)


@pytest.mark.parametrize(
    "prior", [priors.LaplacePrior(4.0), priors.NormalGammaPrior(0.7, 3.0)], ids=names
)
def test_the_scale_mixture_has_the_same_draws(prior):
    """The papers' way: a gamma distributed variance tau, tilted, and N(eta tau, tau) given it."""
    rng, eta = np.random.default_rng(1), 0.6 * prior.domain[1]
    tau = rng.gamma(prior.shape, 2 / (prior.lam - eta**2), N_DRAWS)
    papers = eta * tau + np.sqrt(tau) * rng.standard_normal(N_DRAWS)
    assert kstest(papers, draw(prior, [eta])[:, 0]).pvalue > 1e-3


def test_box_at_the_ends():
    """From eta = 0 to any: within the bounds, and piling up at them as the formula says."""
    prior, eta = priors.BoxPrior(2.0), np.array([-1e308, -1e9, -1e-300, 0.0, 1e-18, 50.0, 1e308])
    draws = draw(prior, eta)
    assert np.all(np.abs(draws) <= 2)
    assert_array_equal(draws[:, [0, -1]], np.tile([-2.0, 2.0], (N_DRAWS, 1)))
    assert np.mean(draws[:, 1] + 2) == pytest.approx(1e-9, rel=0.05)
    assert np.mean(2 - draws[:, 5]) == pytest.approx(1 / 50, rel=0.05)
    for column in (2, 3, 4):
        assert kstest(draws[:, column], lambda w: (w + 2) / 4).pvalue > 1e-3


@pytest.mark.parametrize(
    "prior", [priors.LaplacePrior(4.0), priors.ExponentialPrior(2.0)], ids=names
)
def test_close_to_the_end_of_the_domain(prior):
    """One exponential number is left, however long."""
    eta = 2.0 * (1 - 1e-12)
    draws = draw(prior, [eta])[:, 0]
    assert kstest(draws * (2.0 - eta), expon.cdf).pvalue > 1e-3


def test_normal_inverse_gaussian_close_to_the_end():
    """The variances become Levy distributed: the mean goes to infinity, the median does not."""
    rng, (alpha, delta) = np.random.default_rng(1), (2.0, 0.5)
    tau = np.square(delta / rng.standard_normal(N_DRAWS))
    limit = alpha * tau + np.sqrt(tau) * rng.standard_normal(N_DRAWS)
    draws = draw(priors.NormalInverseGaussianPrior(alpha, delta), [alpha * (1 - 1e-12)])[:, 0]
    assert kstest(draws, limit).pvalue > 1e-3


@pytest.mark.parametrize("prior", [*GALLERY, STRETCHED], ids=names)
def test_what_is_refused(prior):
    message = r"eta holds -?(\d|inf|nan).*; expected numbers inside the domain"
    lower, upper = prior.domain
    for outside in (lower, upper, 1.5 * upper, np.inf, np.nan):
        with pytest.raises(ValueError, match=message):
            draw(prior, [0.0, outside])
    with pytest.raises(TypeError, match=r"rng is 0; expected a numpy.random.Generator"):
        prior.draw(np.zeros(2), 0, 3)
    for n_draws in (0, -1):
        with pytest.raises(ValueError, match="n_draws is"):
            draw(prior, [0.0], n_draws)


def test_stretched_names_the_first_tilt_outside():
    with pytest.raises(ValueError, match=r"eta holds 7; .* the domain \(-6.66667, 6.66667\)"):
        draw(STRETCHED, [1.0, 7.0, 8.0])


def test_not_told():
    own = Own(priors.LaplacePrior())
    for prior in (own, own.stretched(2.0)):
        with pytest.raises(TypeError, match="Own does not say how to draw"):
            draw(prior, [0.0])
