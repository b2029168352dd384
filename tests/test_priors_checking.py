"""`check_prior` lets through what MEDN can work with and says in a sentence why not the rest."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from numpy.polynomial.legendre import leggauss
from priors_gallery import GALLERY, Own, any_prior, names

from medn_edu.priors import GaussianPrior, LaplacePrior, Prior, check_prior


@given(any_prior)
@settings(max_examples=50, deadline=None)
def test_shipped_priors_pass(prior):
    assert check_prior(prior) is prior
    check_prior(prior, n_weights=3)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("prior", GALLERY, ids=names)
def test_priors_of_any_scale_pass(prior, factor):
    check_prior(prior.stretched(factor))
    check_prior(Own(prior).stretched(factor))


LAPLACE = LaplacePrior(4.0)


class Altered(Own):
    """A prior with methods replaced, or with another domain."""

    domain = None  # each has its own

    def __init__(self, prior=LAPLACE, **replaced):
        super().__init__(prior)
        vars(self).update({"domain": prior.domain} | replaced)


def stop_at_one(eta, index=None):
    return np.clip(LAPLACE.mean(eta), -1, 1)


WAVY = {
    "log_mgf": lambda eta, index=None: eta**2 / 2 - eta**4 / 8,
    "mean": lambda eta, index=None: eta - eta**3 / 2,
}
KNOWN = dict.fromkeys(("log_mgf", "mean"), lambda eta, index=None: 0 * eta)  # a weight that is
INTERVAL = "expected the two ends of an open interval around 0"


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Altered(log_mgf=lambda eta, index=None: LAPLACE.log_mgf(eta) + 0.1), "log_mgf .* eta = 0"),
        (Altered(log_mgf=lambda eta, index=None: LAPLACE.log_mgf(eta) - 0.1), "log_mgf .* eta = 0"),
        (Altered(mean=lambda eta, index=None: 2 * LAPLACE.mean(eta)), "the slope of log_mgf"),
        (Altered(mean=lambda eta, index=None: LAPLACE.mean(eta) + 0.01), "the slope of log_mgf"),
        (Altered(mean=lambda eta, index=None: -LAPLACE.mean(eta)), "does not rise"),
        (Altered(mean=stop_at_one), "does not rise"),
        (Altered(GaussianPrior(), **WAVY), "does not rise"),
        (Altered(GaussianPrior(), **KNOWN), "does not rise"),
        (Altered(variance=lambda eta, index=None: 1 + 0 * eta), "variance .* the slope of mean"),
        (Altered(kl=lambda mu, index=None: np.abs(mu)), "kl .* the conjugate of log_mgf"),
        (Altered(mean=lambda eta: LAPLACE.mean(eta)), r"mean\(self, eta, index=None\)"),
        (Altered(mean=lambda eta, index=None: math.tanh(eta)), "fails on an array of 7 .* whole"),
        (Altered(log_mgf=lambda eta, index=None: LAPLACE.log_mgf(eta).sum()), r"shape \(\) for 7"),
        (Altered(log_mgf=lambda eta, index=None: LAPLACE.log_mgf(3 * eta)), "inf at .* inside"),
        *((Altered(domain=bad), INTERVAL) for bad in [(0.0, 1.0), (-1.0, 0.0), (1.0, -1.0)]),
        *((Altered(domain=bad), INTERVAL) for bad in [None, 3.0, (-1, 0, 1)]),
        (
            Altered(GaussianPrior(), domain=(-1.0, 1.0)),
            "If eta may go beyond -1, give a larger domain",
        ),
        (Altered(domain=(-1.0, 2.0)), "to -1, the end of its domain"),
    ],
)
def test_functions_that_do_not_fit_together(prior, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        check_prior(prior, n_weights=7)
    assert "Altered" in str(caught.value)
    assert "expected" in str(caught.value)


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

    def terms(self, eta):
        eta = np.asarray(eta)[..., None]
        up, down = self.log_p - (1 - eta) * self.w, self.log_p - (1 + eta) * self.w
        return np.exp(np.stack([up, down])), np.stack([self.w, -self.w])[:, None, :]

    def log_mgf(self, eta, index=None):
        return np.log(self.terms(eta)[0].sum(axis=(0, -1))) - self.log_norm

    def mean(self, eta, index=None):
        p, w = self.terms(eta)
        return (p * w).sum(axis=(0, -1)) / p.sum(axis=(0, -1))


@pytest.mark.parametrize("power", [0.5, 1.5, 2.0, 2.05, 2.1, 3.0, 4.0])
def test_a_prior_that_is_not_steep_is_refused(power):
    """At power 2 the mean grows as a logarithm, at 1.5 as a root, and beyond it has a limit."""
    prior = PowerTailed(power)
    if power <= 2:
        check_prior(prior)
    else:
        assert abs(prior.mean(np.array([1 - 1e-12]))[0]) < 100
        with pytest.raises(
            ValueError,
            match=r"stays finite \(about -.* to -1, the end .* P1 may have no minimiser\. If eta",
        ):
            check_prior(prior)


# -- what is no prior ----------------------------------------------------------------------------------


class Alike:
    """No subclass, which a prior need not be; but problems ask it for its sums, too."""

    domain, compiled = (-np.inf, np.inf), None
    log_mgf, mean, variance, kl = (staticmethod(np.abs),) * 4


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        *(
            (distribution, r"of scipy; expected a subclass of Prior .* Student-t")
            for distribution in (scipy.stats.t(3), scipy.stats.t, scipy.stats.norm())
        ),
        (LaplacePrior, "prior is the class LaplacePrior; expected an instance"),
        *((no, "lacks domain, log_mgf, mean, .* subclass of") for no in ("laplace", None, 1.0)),
        (Alike(), "of type Alike, and lacks value, conjugate; expected"),
    ],
)
def test_what_is_no_prior(thing, message):
    with pytest.raises(TypeError, match=message):
        check_prior(thing)


def test_variances_for_another_number_of_weights():
    prior = GaussianPrior([1.0, 2.0])
    assert check_prior(prior, n_weights=2) is prior
    with pytest.raises(ValueError, match=r"each of 2 weights, but eta or mu has shape \(3,\)"):
        check_prior(prior, n_weights=3)
