"""The hierarchical Laplace prior, every formula against an integral, and Algorithm 1 with one weight."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import expon, geninvgauss, norm

from medn_edu.course.exercises import CHECKS
from medn_edu.priors import GaussianPrior, LaplacePrior, NormalGammaPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import variational_laplace
from medn_edu.theory import solve_dual
from medn_edu.theory.axi import AXI, axi_problem
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
from medn_edu.theory.variational import cheapest_mean, one_weight_bounds, one_weight_tangents

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


def log_q(tau, m, lam):
    """Logarithm of the paper's formula for q, normaliser included."""
    prior = np.log(lam / 2) - lam * tau / 2
    prior_of_root = np.log(np.sqrt(lam) / 2) - np.sqrt(lam * m)
    return norm.logpdf(np.sqrt(m), 0, np.sqrt(tau)) + prior - prior_of_root


@pytest.mark.parametrize("lam", LAMS)
def test_equation_4(lam):
    w = np.array([0.0, 1e-8, -0.1, 1.0, 30.0, -500.0]) / np.sqrt(lam)
    laplace = np.exp(LaplacePrior(lam).log_density(w))
    assert_allclose(scale_mixture(w, lam), laplace, rtol=1e-11)


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


@pytest.mark.parametrize(("mean", "variance", "lam"), EVERY)
def test_best_q(mean, variance, lam):
    """Its normaliser, Eq. (11), its mean, the name of its family and the paper's formula."""
    m = mean**2 + variance
    t = best_tau(m, lam)
    for function, expected in (
        (lambda tau: 1.0, 1.0),
        (lambda tau: 1 / tau, np.sqrt(lam / m)),
        (lambda tau: tau, t + 1 / lam),
    ):
        found = over_tau(lambda tau: function(tau) * q_density(tau, m, lam), lam, at=lam * t)  # noqa: B023
        assert found == pytest.approx(expected, rel=1e-8)
    tau = t * np.array([0.3, 1.0, 2.0])
    named = geninvgauss(0.5, np.sqrt(lam * m), scale=t)
    assert_allclose(q_density(tau, m, lam), named.pdf(tau), rtol=1e-8)
    assert_allclose(q_density(tau, m, lam), np.exp(log_q(tau, m, lam)), rtol=1e-9)


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
def test_bound_and_gap_at_any_tau(mean, variance, lam):
    """The bound is that of the best q with this <1/tau>; the gap is least where Eq. (11) says."""
    best, kl = best_tau(mean**2 + variance, lam), gaussian_kl(mean, variance, lam)
    least = jensen_gap(mean, variance, lam)
    assert least == pytest.approx(jensen_bound(mean, variance, lam) - kl, rel=1e-9, abs=1e-12)
    assert least == pytest.approx(jensen_gap(mean, variance, lam, best), rel=1e-9)
    assert least > 0
    for share in (0.2, 0.9, 1 - 1e-5, 1.0, 1 + 1e-5, 3.0):
        tau = share * best
        bound = bound_by_quadrature(mean, variance, lam, lambda x: log_q(x, lam * tau**2, lam))  # noqa: B023
        assert jensen_bound(mean, variance, lam, tau) == pytest.approx(bound, rel=1e-7)
        gap = jensen_gap(mean, variance, lam, tau)
        assert bound - kl == pytest.approx(gap, rel=1e-6)
        assert gap > least or share == 1


def test_gap_of_a_posterior_that_knows_its_weight():
    """It goes as ``sqrt(lam) sigma^2 / 2 |mu|``, far below the digits of bound and divergence."""
    lam, mean, variance = 4.0, 1e6, 1e-6
    gap = jensen_gap(mean, variance, lam)
    assert gap == pytest.approx(np.sqrt(lam) * variance / (2 * mean), rel=1e-9, abs=0)


def test_bound_is_convex_in_mean_and_standard_deviation():
    rng = np.random.default_rng(0)
    mean, sigma = rng.normal(0, 2, (2, 2000)), rng.exponential(1, (2, 2000))
    ends = jensen_bound(mean, np.square(sigma), 4.0).mean(axis=0)
    middle = jensen_bound(mean.mean(axis=0), np.square(sigma.mean(axis=0)), 4.0)
    assert np.all(middle <= ends + 1e-12)


CONSTANTS = [(4.0, 1.0), (9.0, 0.5), (1.0, 2.0)]


@pytest.mark.parametrize(("lam", "C"), CONSTANTS)
def test_one_weight_is_what_the_solver_does_twice(lam, C):
    """One letter, two labels, one feature of size 1/2: two weights, one the other's mirror image.

    Each of the two pays for itself and they share the margin, so a price of 2 C is C for each.
    """
    data = label_samples(pack([np.array([[0.5]])]), np.array([1]), np.ones((1, 2, 2), bool))
    problem = Problem(data, MarginLoss(LinearSlack(2 * C)), LaplacePrior(lam))
    variances, means = one_weight_bounds(lam, C, 6)
    bounds = jensen_bound(means, variances, lam) + C * np.maximum(0, 1 - means)
    solver = variational_laplace(
        problem, rng=np.random.default_rng(0), n_iterations=6, tol=1e-10, max_iter=10_000
    )
    for number, iterate in enumerate(solver):
        assert iterate.weights[1] == pytest.approx(means[number], abs=1e-6)
        assert iterate.variance[1] == pytest.approx(variances[number], abs=1e-6)
        idle = jensen_bound(0.0, iterate.variance[2:], lam).sum()  # transitions, of no use
        bound = (iterate.objective_estimate - idle) / 2
        assert bound == pytest.approx(bounds[number], abs=1e-6)


@pytest.mark.parametrize("C", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("prior", [GaussianPrior(0.4), LaplacePrior(4.0), NormalGammaPrior(0.5, 4)])
def test_no_other_mean_is_cheaper(prior, C):
    def cost(mu):
        return float(prior.kl(np.array(mu))) + C * max(0.0, 1 - mu)

    found = minimize_scalar(cost, bounds=(-1, 3), method="bounded", options={"xatol": 1e-9})
    assert cheapest_mean(prior, C) == pytest.approx(found.x, abs=1e-5)


@pytest.mark.parametrize(("lam", "C"), CONSTANTS)
def test_where_the_iterations_end(lam, C):
    """Algorithm 1 at the solution for another prior, the other iterations at the exact one."""
    assert one_weight_bounds(lam, C, 300)[1][-1] == pytest.approx(
        cheapest_mean(NormalGammaPrior(0.5, lam), C), abs=1e-6
    )
    variances, means = one_weight_tangents(lam, C, 300)
    assert means[-1] == pytest.approx(cheapest_mean(LaplacePrior(lam), C), abs=1e-6)
    w, prior = np.linspace(-3, 3, 61), LaplacePrior(lam)
    for mean, variance in zip(means[:5], variances[1:6], strict=True):
        parabola = prior.kl(np.array(mean)) + (w**2 - mean**2) / (2 * variance)
        assert (parabola >= prior.kl(w) - 1e-12).all()  # it touches from above


@pytest.mark.parametrize("lam", LAMS)
def test_the_bound_is_the_price_of_a_normal_gamma_prior_and_a_constant(lam):
    mean = np.array([0.0, 0.3, -1.0, 3.0]) / np.sqrt(lam)
    best = (1 + np.sqrt(1 + 4 * lam * mean**2)) / (2 * lam)  # of the lowest bound with this mean
    constant = 0.5 + np.log(2) - 0.5 * np.log(2 * np.pi)
    assert_allclose(jensen_bound(mean, best, lam), NormalGammaPrior(0.5, lam).kl(mean) + constant)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert (jensen_bound(mean, factor * best, lam) > jensen_bound(mean, best, lam)).all()


@pytest.mark.parametrize("eta", [0.0, 1.0, -1.5])
def test_step_2_comes_to_rest_at_half_of_corollary_7(eta):
    lam, variance = 4.0, 1.0
    for _ in range(200):
        variance = best_tau((variance * eta) ** 2 + variance, lam)
    assert variance == pytest.approx(1 / (lam - eta**2))
    assert variance * eta == pytest.approx(LaplacePrior(lam).mean(eta) / 2)


def test_variances_of_a_weight_of_no_use():
    """Program ``n`` has ``lam ** (2 ** (1 - n) - 1)``: the exact 2 / lam at ``1 + log2(log2(lam))``."""
    for lam, best in ((4.0, 2), (16.0, 3), (256.0, 4), (65_536.0, 5)):
        variance = 1.0
        for number in range(1, best + 1):
            assert variance == pytest.approx(lam ** (2.0 ** (1 - number) - 1))
            last, variance = variance, best_tau(variance, lam)
        assert last == pytest.approx(2 / lam)


def test_known_variances_rescale_the_features_of_m3n():
    problem = axi_problem(LaplacePrior(4.0), LinearSlack(C=1.0), [AXI])
    v = np.array([0.7, 0.2])
    direct = solve_dual(replace(problem, prior=GaussianPrior(v)))
    scaled = replace(problem, prior=GaussianPrior(), differences=problem.differences * np.sqrt(v))
    m3n = solve_dual(scaled)
    assert_allclose(direct.w, np.sqrt(v) * m3n.w, atol=1e-5)
    assert direct.value == pytest.approx(m3n.value)


def test_a_parabola_that_touches_from_above_needs_a_concave_price():
    """As the price of e^(-w^4) is not concave in w^2, a touching parabola cuts through it."""
    w, variance, lam = np.linspace(-3, 3, 121), 0.5, 4.0
    v_price, touch = np.sqrt(lam) * np.abs(w), np.sqrt(lam) * variance
    parabola = (w**2 / variance + lam * variance) / 2
    assert (parabola >= v_price - 1e-12).all()
    assert_allclose(parabola[np.isclose(np.abs(w), touch)], np.sqrt(lam) * touch)
    assert CHECKS["check_quartic"].right == 2 * 2**2 - 1 - 2**4


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
    twice = "integrates to 2; expected 1, as for a density"
    for message, call, *arguments in (
        ("mean holds NaN or infinity", gaussian_kl, np.nan, 1.0, 4.0),
        ("eta is 2.0; expected a number between -2 and 2", tau_density, 1.0, 4.0, 2.0),
        ("variance holds 0", gaussian_kl, np.zeros(2), np.array([1.0, 0.0]), 4.0),
        ("tau holds -1", jensen_bound, 0.0, 1.0, 4.0, -1.0),
        ("second_moment holds nan", best_tau, np.nan, 4.0),
        (twice, bound_by_quadrature, 0, 1, 4, lambda tau: np.log(2) + log_q(tau, 1.0, 4.0)),
        ("lam is", one_weight_bounds, -1, 1, 3),
        ("lam is", one_weight_tangents, -1, 1, 3),
        ("C is", one_weight_bounds, 4, 0, 3),
        ("n_iterations is", one_weight_bounds, 4, 1, 0),
    ):
        with pytest.raises(ValueError, match=message):
            call(*arguments)
