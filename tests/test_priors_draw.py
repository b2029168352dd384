"""Draws from the tilted prior: moments, distribution, ends of the range, determinism."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from priors_gallery import GALLERY, WITH_DENSITY, Own, etas, names
from scipy.integrate import cumulative_simpson
from scipy.stats import expon, kstest, norm

from medn_edu import priors

N_DRAWS = 20_000
STRETCHED = [
    priors.Prior.stretched(prior, 0.3)
    for prior in (priors.LaplacePrior(4.0), priors.SpikeSlabPrior(0.1, 2.0))
]


def draw(prior, eta, n_draws=N_DRAWS, seed=0):
    return prior.draw(np.asarray(eta, dtype=float), np.random.default_rng(seed), n_draws)


def fourth_moment(draws, mean):
    return np.mean((draws - mean) ** 4, axis=0)


@pytest.mark.parametrize("prior", [*GALLERY, *STRETCHED], ids=names)
def test_means_and_variances(prior):
    eta = etas(prior, 0.8, n=4, reach=3.0)
    draws = draw(prior, eta)
    assert draws.shape == (N_DRAWS, len(eta))
    mean, variance = prior.mean(eta), prior.variance(eta)
    error = np.sqrt(variance / N_DRAWS)
    assert np.all(np.abs(draws.mean(axis=0) - mean) <= 5 * error)
    squares = np.mean((draws - mean) ** 2, axis=0)
    # five standard errors, and rare events that no estimate of the error can know of
    error = np.sqrt(fourth_moment(draws, mean) / N_DRAWS) + variance / np.sqrt(N_DRAWS)
    assert np.all(np.abs(squares - variance) <= 5 * error)


def tilted_cdf(prior, eta):
    """Integrate the tilted density, on points that crowd at 0, where some densities have a cusp."""
    u = np.linspace(-1, 1, 40_001)
    spread = float(
        np.sqrt(prior.variance(np.array([eta]))[0] + prior.mean(np.array([eta]))[0] ** 2)
    )
    reach = getattr(prior, "a", 40 * spread)
    w, stride = reach * u**5, 5 * reach * u**4
    log_mgf = float(prior.log_mgf(np.array([eta]))[0])
    density = np.exp(prior.log_density(w) + eta * w - log_mgf) * stride
    density[u == 0] = 0.0  # the stride wins over a pole
    if isinstance(prior, priors.ExponentialPrior):
        density[u < 0] = 0.0
    probability = cumulative_simpson(density, x=u, initial=0)
    assert probability[-1] == pytest.approx(1, abs=1e-4)
    return lambda points: np.interp(points, w, probability)


@pytest.mark.parametrize("prior", WITH_DENSITY, ids=names)
@pytest.mark.parametrize("share", [-0.8, 0.0, 0.3])
def test_distribution(prior, share):
    lower, upper = etas(prior, 1.0)[[0, -1]]
    eta = share * (upper if share > 0 else -lower)
    draws = draw(prior, [eta])[:, 0]
    assert kstest(draws, tilted_cdf(prior, eta)).pvalue > 1e-3
    other = eta + 0.1 * (upper - eta)
    assert kstest(draws, tilted_cdf(prior, other)).pvalue < 1e-3, "and the test tells them apart"


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


@pytest.mark.parametrize("prior", [*GALLERY, *STRETCHED], ids=names)
def test_a_seed_says_it_all(prior):
    eta = etas(prior, n=2)
    assert_array_equal(draw(prior, eta, 5, seed=3), draw(prior, eta, 5, seed=3))
    if not isinstance(prior, priors.TwoPointPrior):
        assert np.any(draw(prior, eta, 50, seed=3) != draw(prior, eta, 50, seed=4))


def test_variances_of_one_weight_each():
    prior = priors.GaussianPrior([1.0, 0.01, 4.0])
    eta, index = np.array([0.0, 1.0]), np.array([2, 1])
    draws = prior.draw(eta, np.random.default_rng(0), N_DRAWS, index)
    assert draws.std(axis=0) == pytest.approx([2.0, 0.1], rel=0.05)
    with pytest.raises(ValueError, match="one variance for each of 3 weights"):
        draw(prior, eta)
    with pytest.raises(ValueError, match="one variance for each of 3 weights"):
        prior.mean(eta, index + 1)


@pytest.mark.parametrize("prior", GALLERY, ids=names)
@pytest.mark.parametrize("share", [1.0, 1.5, np.inf, np.nan])
def test_outside_the_domain(prior, share):
    eta = share * min(prior.domain[1], 1e308)
    eta = eta if eta >= prior.domain[1] or np.isnan(eta) else np.inf
    with pytest.raises(
        ValueError, match=r"eta holds (\d|inf|nan).*; expected numbers inside the dom"
    ):
        draw(prior, [0.0, eta])


def test_stretched_names_the_first_tilt_outside():
    with pytest.raises(ValueError, match=r"eta holds 7; .* the domain \(-6.66667, 6.66667\)"):
        draw(STRETCHED[0], [1.0, 7.0, 8.0])


def test_not_told():
    with pytest.raises(TypeError, match="Own does not tell how to draw"):
        draw(Own(priors.LaplacePrior()), [0.0])
    with pytest.raises(TypeError, match="Own does not tell how to draw"):
        draw(Own(priors.LaplacePrior()).stretched(2.0), [0.0])


@pytest.mark.parametrize("n_draws", [0, -1])
def test_number_of_draws(n_draws):
    for prior in (priors.GaussianPrior(), priors.LaplacePrior()):
        with pytest.raises(ValueError, match="n_draws is"):
            draw(prior, [0.0], n_draws)


@pytest.mark.parametrize("prior", [priors.GaussianPrior(), priors.LaplacePrior(4.0)], ids=repr)
def test_a_seed_is_no_generator(prior):
    with pytest.raises(TypeError, match=r"rng is 0; expected a numpy.random.Generator"):
        prior.draw(np.zeros(2), 0, 3)
