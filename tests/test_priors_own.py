"""Priors of one's own: what the base class computes, stretching, compiled names, equality."""

import copy
import math
import pickle
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from priors_gallery import GALLERY, WITH_DENSITY, Own, any_prior, etas, names
from scipy.special import logsumexp, softmax

from medn_edu import priors


@given(any_prior)
def test_numbers_agree_with_formulas(prior):
    """A prior that tells only domain, log_mgf and mean has the same variance and divergence."""
    own, eta = Own(prior), etas(prior, 0.99)
    assert_allclose(own.variance(eta), prior.variance(eta), rtol=1e-6, atol=1e-12)
    mu = prior.mean(eta)
    expected = prior.kl(mu)
    assert_allclose(own.kl(mu), expected, rtol=1e-9, atol=1e-13 * np.max(np.abs(eta * mu)))


@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_numbers_reach_as_far_as_formulas(prior):
    far = np.array([-1e9, -1e-12, 1e-12, 1e9])
    expected = prior.kl(far)
    assert_allclose(Own(prior).kl(far), expected, rtol=1e-6, atol=1e-20)
    assert_allclose(priors.Prior.kl(prior, far), expected, rtol=1e-6, atol=1e-20)


def test_the_divergence_of_hardly_any_mean_is_hardly_any():
    """The mean of sixty points that lie evenly about 0 is not 0 but for rounding."""
    line = np.linspace(-1, 1, 60) / 3

    class Points(priors.Prior):
        domain = (-np.inf, np.inf)

        def log_mgf(self, eta, index=None):
            return logsumexp(np.multiply.outer(eta, line), axis=-1) - np.log(60)

        def mean(self, eta, index=None):
            return softmax(np.multiply.outer(eta, line), axis=-1) @ line

    mu = np.array([-1e-8, -1e-12, 0.0, 1e-15, 1e-13])
    assert_allclose(Points().kl(mu), mu**2 / (2 * np.mean(line**2)), atol=1e-15)
    assert np.isinf(Points().kl(np.array([0.34])))


def test_formulas_that_overflow_are_no_obstacle():
    """Written without care, log_mgf and mean are nan from eta = 40 on."""

    class Careless(priors.Prior):
        domain = (-np.inf, np.inf)

        def log_mgf(self, eta, index=None):
            return np.log(0.9 + 0.1 * np.exp(eta**2 / 2))

        def mean(self, eta, index=None):
            slab = 0.1 * np.exp(eta**2 / 2)
            return slab / (0.9 + slab) * eta

    mu = np.array([-30.0, -0.5, 0.01, 8.0])
    assert_allclose(Careless().kl(mu), priors.SpikeSlabPrior(0.1).kl(mu), rtol=1e-9)
    assert Careless().kl(np.array([1e3])) == np.inf  # not known, and not made up


@pytest.mark.parametrize("prior", [*GALLERY, Own(priors.LaplacePrior(3.0))], ids=names)
def test_a_prior_is_a_convex_regulariser(prior):
    """Value and conjugate are sums over weights, and meet at the means of the tilted prior."""
    eta = etas(prior)
    weights = prior.mean(eta)
    assert prior.value(weights) == math.fsum(prior.kl(weights))
    assert prior.conjugate(eta) == math.fsum(prior.log_mgf(eta))
    assert_allclose(prior.value(weights) + prior.conjugate(eta), eta @ weights, rtol=1e-9)


def test_no_density():
    for prior in (priors.TwoPointPrior(), priors.SpikeSlabPrior(), Own(priors.LaplacePrior())):
        with pytest.raises(TypeError, match=f"{type(prior).__name__} has no density"):
            prior.log_density(np.zeros(1))


# -- stretching ------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_stretched(prior):
    """By parameters or by the base class: the prior of ``factor * w``."""
    factor = 3.0
    for wide in (prior.stretched(factor), priors.Prior.stretched(prior, factor)):
        assert_allclose(wide.domain, np.array(prior.domain) / factor)
        eta = etas(prior) / factor
        mu = wide.mean(eta)
        assert_allclose(wide.log_mgf(eta), prior.log_mgf(factor * eta), rtol=1e-12)
        assert_allclose(mu, factor * prior.mean(factor * eta), rtol=1e-12)
        assert_allclose(wide.variance(eta), 9 * prior.variance(factor * eta), rtol=1e-12)
        assert_allclose(wide.kl(mu), prior.kl(mu / factor), rtol=1e-12, atol=1e-15)
        if prior in WITH_DENSITY:
            w = np.array([-2.0, 0.5, 1.0])
            expected = prior.log_density(w / 3) - np.log(3)
            assert_allclose(wide.log_density(w), expected, rtol=1e-12)
    assert type(prior.stretched(factor)) is type(prior)


def test_stretching_twice_is_stretching_once():
    twice = Own(priors.LaplacePrior()).stretched(2.0).stretched(3.0)
    assert twice.factor == 6
    assert not isinstance(twice.prior, type(twice))


@pytest.mark.parametrize("prior", [*GALLERY, Own(priors.LaplacePrior(3.0))], ids=names)
def test_with_variance_and_wrong_factors(prior):
    """Among them some whose squares would overflow."""
    assert_allclose(prior.with_variance(0.3).variance(np.zeros(2)), 0.3, rtol=1e-9)
    for factor in (0.0, -1.0, np.inf, 1e200, 1e-200, 10**400):
        with pytest.raises(ValueError, match=r"factor is .*; expected"):
            prior.stretched(factor)
    for variance in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="variance is"):
            prior.with_variance(variance)


# -- compiled names --------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_a_subclass_does_not_inherit_compiled_formulas(prior):
    parent = type(prior)

    class Changed(parent):
        def mean(self, eta, index=None):
            return 2 * super().mean(eta, index)

    class ChangedAgain(Changed):
        pass

    class Renamed(parent):
        compiled = parent.compiled

    assert Changed().compiled is ChangedAgain().compiled is Own(prior).compiled is None
    assert priors.Prior.stretched(prior, 2.0).compiled is None
    assert Renamed().compiled == parent().compiled is not None


# -- variances that differ from weight to weight -----------------------------------------------------


def test_a_variance_for_every_weight():
    variances = np.array([0.5, 1.0, 4.0])
    prior, alone = priors.GaussianPrior(variances), [priors.GaussianPrior(v) for v in variances]
    eta, index = np.array([1.0, -2.0, 3.0]), np.array([2, 0])
    for method in ("log_mgf", "mean", "variance", "kl"):
        each = np.array([getattr(p, method)(e) for p, e in zip(alone, eta, strict=True)])
        assert_allclose(getattr(prior, method)(eta), each)
        assert_allclose(getattr(prior, method)(eta[index], index), each[index])
        if method in ("variance", "kl"):
            numerically = getattr(priors.Prior, method)(prior, eta[index], index)
            assert_allclose(numerically, each[index], rtol=1e-9)
    assert_allclose(prior.stretched(2.0).prior_variance, 4 * variances)
    assert prior.with_variance(2.0) == priors.GaussianPrior(2.0)
    draws = prior.draw(np.array([0.0, 1.0]), np.random.default_rng(0), 20_000, index)
    assert draws.mean(axis=0) == pytest.approx([0.0, 0.5], abs=0.1)
    assert draws.std(axis=0) == pytest.approx([2.0, math.sqrt(0.5)], rel=0.05)
    variances[:] = 7  # the prior has its own copy, and keeps it
    assert prior.prior_variance[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        prior.prior_variance[0] = 1
    for two in ((np.zeros(2),), (np.zeros(2), index + 1)):
        with pytest.raises(ValueError, match="one variance for each of 3 weights"):
            prior.mean(*two)


def test_equality():
    assert priors.GaussianPrior() == priors.GaussianPrior(1) == priors.GaussianPrior(np.float64(1))
    assert priors.GaussianPrior([1.0, 2.0]) == priors.GaussianPrior((1, 2))
    assert hash(priors.GaussianPrior([1.0, 2.0])) == hash(priors.GaussianPrior((1, 2)))
    different = [priors.GaussianPrior(), priors.GaussianPrior([1.0, 2.0]), *GALLERY]
    assert len(set(different)) == len(different)
    assert priors.LaplacePrior(2.0) != priors.NormalGammaPrior(1.0, 2.0)
    for prior in different:
        assert copy.deepcopy(prior) == pickle.loads(pickle.dumps(prior)) == prior

    @dataclass(frozen=True, eq=False)
    class Mine(priors.GaussianPrior):
        pass

    assert Mine() != priors.GaussianPrior()


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        (priors.GaussianPrior, "prior_variance", [0, [1.0, -1.0], np.ones((2, 2)), []]),
        (priors.GaussianPrior, "prior_variance", [["1", "2"], np.ones(2, "m8[s]")]),
        (priors.LaplacePrior, "lam", [-1.0, "four"]),
        (priors.NormalGammaPrior, "shape", [0.0, 1e300]),
        (priors.NormalGammaPrior, "lam", [np.inf, 1e-300]),
        (priors.NormalInverseGaussianPrior, "alpha", [0, 1e300]),
        (priors.NormalInverseGaussianPrior, "delta", [np.nan, 1e-300]),
        (priors.BoxPrior, "a", [-2, 1e300, np.float64(1e-300), 10**400, np.timedelta64(1, "s")]),
        (priors.TwoPointPrior, "a", [0, 1e300]),
        (priors.ExponentialPrior, "rate", [0, 1e-300]),
        (priors.SpikeSlabPrior, "pi", [0.0, 1.5, 1e-300]),
        (priors.SpikeSlabPrior, "slab_variance", [0, 1e300]),
    ],
)
def test_wrong_parameters(kind, name, values):
    """Among them sizes that would overflow in the prior's functions."""
    for value in values:
        with pytest.raises((TypeError, ValueError), match=f"^{name} is .*; expected .*"):
            kind(**{name: value})


def test_parameters_are_kept_as_floats():
    """Of other numbers, such as fractions or huge integers, numpy makes arrays of objects."""
    assert type(priors.BoxPrior(Fraction(1, 2)).a) is float
    assert type(priors.NormalGammaPrior(10**10, np.float32(2)).shape) is float
