"""`check_prior` lets through what MEDN can work with and says in a sentence why not the rest."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from numpy.polynomial.legendre import leggauss
from priors_gallery import GALLERY, Own, names, priors

from medn_edu.priors import GaussianPrior, LaplacePrior, Prior, check_prior


@given(priors)
@settings(max_examples=50, deadline=None)
def test_shipped_priors_pass(prior):
    assert check_prior(prior) is prior
    check_prior(prior, n_weights=3)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_priors_of_any_scale_pass(prior, factor):
    check_prior(prior.stretched(factor))
    check_prior(Own(prior).stretched(factor))


class Altered(Own):
    """The Laplace prior with one method replaced."""

    def __init__(self, **methods):
        super().__init__(LaplacePrior(4.0))
        vars(self).update(methods)


LAPLACE = LaplacePrior(4.0)


def stop_at_one(eta, index=None):
    return np.clip(LAPLACE.mean(eta), -1, 1)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"log_mgf": lambda eta, index=None: LAPLACE.log_mgf(eta) + 0.1}, "log_mgf .* at eta = 0"),
        ({"mean": lambda eta, index=None: 2 * LAPLACE.mean(eta)}, "the slope of log_mgf"),
        ({"mean": lambda eta, index=None: LAPLACE.mean(eta) + 0.01}, "the slope of log_mgf"),
        ({"mean": lambda eta, index=None: -LAPLACE.mean(eta)}, "does not rise"),
        ({"mean": stop_at_one}, "does not rise"),
        ({"variance": lambda eta, index=None: 1 + 0 * eta}, "variance .* the slope of mean"),
        ({"kl": lambda mu, index=None: np.abs(mu)}, "kl .* the conjugate of log_mgf"),
        ({"mean": lambda eta: LAPLACE.mean(eta)}, r"mean\(self, eta, index=None\)"),
        ({"log_mgf": lambda eta, index=None: LAPLACE.log_mgf(eta).sum()}, r"shape \(\) for 1"),
        ({"log_mgf": lambda eta, index=None: LAPLACE.log_mgf(3 * eta)}, "inf at eta = .* inside"),
    ],
)
def test_functions_that_do_not_fit_together(methods, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        check_prior(Altered(**methods))
    assert "Altered" in str(caught.value)
    assert "expected" in str(caught.value)


def test_functions_for_single_numbers():
    """The signature is right; what is wrong is said."""
    prior = Altered(mean=lambda eta, index=None: math.tanh(eta))
    with pytest.raises(TypeError, match=r"mean of Altered fails on an array of 7 .* whole arrays"):
        check_prior(prior, n_weights=7)


@pytest.mark.parametrize("domain", [(0.0, 1.0), (-1.0, 0.0), (1.0, -1.0), None, 3.0, (-1, 0, 1)])
def test_no_interval_around_zero(domain):
    class Placed(Own):
        pass

    Placed.domain = domain
    with pytest.raises(ValueError, match="expected the two ends of an open interval around 0"):
        check_prior(Placed(LAPLACE))


def test_a_log_mgf_that_is_not_convex():
    class Wavy(Prior):
        domain = (-np.inf, np.inf)

        def log_mgf(self, eta, index=None):
            return eta**2 / 2 - eta**4 / 8

        def mean(self, eta, index=None):
            return eta - eta**3 / 2

    with pytest.raises(ValueError, match="does not rise"):
        check_prior(Wavy())


def test_a_weight_that_is_known():
    class Known(Prior):
        domain = (-np.inf, np.inf)

        def log_mgf(self, eta, index=None):
            return 0 * eta

        def mean(self, eta, index=None):
            return 0 * eta

    with pytest.raises(ValueError, match="does not rise"):
        check_prior(Known())


# -- steep or not ------------------------------------------------------------------------------------


class PowerTailed(Prior):
    """Density proportional to ``exp(-|w|) (1 + |w|)**-power``, by quadrature.

    Its mean stays finite at the ends of the domain if the power exceeds 2.
    """

    domain = (-1.0, 1.0)

    def __init__(self, power):
        # t = log(1 + w) up to w = 1e15
        nodes, weights = leggauss(600)
        t = 17.5 * (nodes + 1)
        self.w = np.expm1(t)
        self.log_p = np.log(17.5 * weights) + (1 - power) * t
        self.log_norm = 0.0
        self.log_norm = self.log_mgf(np.zeros(1))[0]

    def _terms(self, eta):
        eta = np.asarray(eta)[..., None]
        up, down = self.log_p - (1 - eta) * self.w, self.log_p - (1 + eta) * self.w
        return np.exp(np.stack([up, down])), np.stack([self.w, -self.w])[:, None, :]

    def log_mgf(self, eta, index=None):
        return np.log(self._terms(eta)[0].sum(axis=(0, -1))) - self.log_norm

    def mean(self, eta, index=None):
        p, w = self._terms(eta)
        return (p * w).sum(axis=(0, -1)) / p.sum(axis=(0, -1))


@pytest.mark.parametrize("power", [2.1, 3.0, 4.0])
def test_a_prior_that_is_not_steep_is_refused(power):
    prior = PowerTailed(power)
    assert abs(prior.mean(np.array([1 - 1e-12]))[0]) < 100
    with pytest.raises(ValueError, match=r"stays finite, about .* P1 may have no minimiser"):
        check_prior(prior)


@pytest.mark.parametrize("power", [0.5, 1.5, 2.0])
def test_a_prior_that_is_just_steep_passes(power):
    """At power 2 the mean grows as a logarithm, at 1.5 as a root."""
    check_prior(PowerTailed(power))


def test_a_domain_declared_too_small_is_refused():
    class Narrow(Own):
        domain = (-1.0, 1.0)

    with pytest.raises(ValueError, match="or does the domain reach further"):
        check_prior(Narrow(GaussianPrior()))


def test_one_end_is_enough_to_refuse():
    class OneSided(Own):
        domain = (-1.0, 2.0)

    with pytest.raises(ValueError, match="towards the end -1 of its domain"):
        check_prior(OneSided(LAPLACE))


# -- what is no prior ----------------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", [scipy.stats.t(3), scipy.stats.t, scipy.stats.norm()])
def test_a_distribution_of_scipy(distribution):
    with pytest.raises(TypeError, match=r"of scipy; expected a subclass of Prior .* Student-t"):
        check_prior(distribution)


def test_a_class():
    with pytest.raises(TypeError, match="prior is the class LaplacePrior; expected an instance"):
        check_prior(LaplacePrior)


@pytest.mark.parametrize("thing", ["laplace", None, 1.0])
def test_something_else(thing):
    with pytest.raises(TypeError, match=r"lacks domain, log_mgf, mean, .* subclass of"):
        check_prior(thing)


def test_a_prior_by_its_methods_needs_all_of_them():
    """It need not be a subclass, but problems ask it for its sums, too."""

    class Alike:
        domain, compiled = (-np.inf, np.inf), None
        log_mgf, mean, variance, kl = (staticmethod(np.abs),) * 4

    with pytest.raises(TypeError, match=r"of type Alike, and lacks value, conjugate; expected"):
        check_prior(Alike())


def test_a_prior_without_a_mean_cannot_be_made():
    class Half(Prior):
        domain = (-1.0, 1.0)

        def log_mgf(self, eta, index=None):
            return eta**2

    with pytest.raises(TypeError, match=r"abstract method '?mean"):
        Half()


def test_variances_for_another_number_of_weights():
    prior = GaussianPrior([1.0, 2.0])
    assert check_prior(prior, n_weights=2) is prior
    with pytest.raises(ValueError, match=r"each of 2 weights and was asked .* shape \(3,\)"):
        check_prior(prior, n_weights=3)
