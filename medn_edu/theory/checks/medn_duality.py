"""P1 and its dual (MEDN section 3): Definition 1, Theorem 2, slacks; with the normal prior M3N."""

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax
from scipy.stats import norm

from medn_edu import priors
from medn_edu.priors import GaussianPrior
from medn_edu.slacks import ExponentialSlack, LinearSlack
from medn_edu.theory.checks.check import apart, discrepancy_of, excess
from medn_edu.theory.checks.medn_instances import (
    DiscretePrior,
    best_distribution,
    best_dual,
    draw_gallery,
    draw_prior,
    draw_problem,
    draw_slacks,
    draw_steep_problem,
    least_under_margins,
    normal_by_quadrature,
)
from medn_edu.theory.medn import EnumeratedProblem, ShippedSlack, p1_value
from medn_edu.theory.medn_solvers import solve_dual, solve_primal

# -- Eq. (2) --------------------------------------------------------------------------------------


@discrepancy_of("mean-predictor")
def _mean_predictor(rng: np.random.Generator, slip: bool) -> float:
    """Trained posteriors under every prior of the gallery; scores of a new sample's 16 labellings."""
    found = []
    for prior in draw_gallery(rng):
        problem = draw_problem(rng, prior, LinearSlack(rng.uniform(0.5, 2.0)), weights=[0, 3])
        eta = problem.eta(solve_dual(problem).alpha)
        first, second = (_tilted_points(prior, each) for each in eta)
        f = rng.normal(size=(16, 2))
        scores = f[:, 0, None, None] * first[0][:, None] + f[:, 1, None, None] * second[0]
        averaged = np.einsum("yij,i,j->y", scores, first[1], second[1])
        weights = np.array([first[2], second[2]]) if slip else prior.mean(eta)
        same = np.argmax(averaged) == np.argmax(f @ weights)
        found.append(apart(f @ weights, averaged) if same else 1.0)
    return max(found)


def _tilted_points(prior: priors.Prior, eta: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return points and probabilities that stand for a tilted prior, and where it is densest."""
    if isinstance(prior, priors.TwoPointPrior):
        w, density, width = np.array([-prior.a, prior.a]), np.ones(2), np.ones(2)
    elif isinstance(prior, priors.SpikeSlabPrior):
        x, mass = np.polynomial.hermite_e.hermegauss(60)
        w = np.r_[0.0, math.sqrt(prior.slab_variance) * x]
        density, width = np.r_[1 - prior.pi, prior.pi * mass / mass.sum()], np.ones(61)
    elif isinstance(prior, priors.BoxPrior):
        x, width = np.polynomial.legendre.leggauss(60)
        w, density = prior.a * x, np.ones(60)
    else:  # the trapezoid rule in log |w|, on either side of 0
        size = np.exp(np.arange(-25.0, 7.0, 0.2))
        w, width = np.r_[-size[::-1], size], np.r_[size[::-1], size]
        density = np.exp(prior.log_density(w))
    with np.errstate(divide="ignore"):
        logits = np.log(density) + eta * w
    return w, softmax(logits + np.log(width)), float(w[np.argmax(logits)])


# -- Definition 1 ---------------------------------------------------------------------------------


def _on_a_grid(
    rng: np.random.Generator, slack: ShippedSlack
) -> tuple[EnumeratedProblem, np.ndarray, np.ndarray]:
    """Return a problem with two weights on a grid, the grid's points, and the prior there.

    The prior itself is no solution: some of its margins are violated.
    """
    while True:
        prior = DiscretePrior(np.sort(rng.uniform(-2, 2, 5)), rng.dirichlet(np.full(5, 3.0)))
        problem = draw_problem(rng, prior, slack, weights=[0, 3])
        if problem.primal_value(prior.mean(np.zeros(2))) > 0.1:
            return problem, *prior.grid()


@discrepancy_of("strong-duality")
def _strong_duality(rng: np.random.Generator, slip: bool) -> float:
    worst = 0.0
    for slack in draw_slacks(rng):
        problem, points, prior_mass = _on_a_grid(rng, slack)
        dual = solve_dual(problem)
        value, alpha = dual.value, dual.alpha
        if slip:
            value = alpha @ problem.losses - problem.prior.log_mgf(problem.eta(alpha)).sum()
        best = best_distribution(problem, points, prior_mass)
        worst = np.maximum(worst, apart(value, p1_value(problem, points, prior_mass, best)))
    return float(worst)


@discrepancy_of("weak-duality")
def _weak_duality(rng: np.random.Generator, slip: bool) -> float:
    prior = draw_prior(rng)
    problem = draw_problem(rng, prior, draw_slacks(rng)[rng.integers(3)])
    found = []
    for _ in range(20):
        alpha = np.where(problem.losses > 0, rng.exponential(0.2, len(problem.losses)), 0.0)
        while math.isinf(problem.dual_value(alpha)):
            alpha /= 2
        low, high = (max(min(end, 3.0), -3.0) for end in prior.domain)
        mu = prior.mean(rng.uniform(0.8 * low, 0.8 * high, problem.n_weights) * rng.uniform())
        primal = prior.kl(mu).sum() if slip else problem.primal_value(mu)
        found.append(excess(problem.dual_value(alpha), primal, size=problem.primal_value(mu)))
    return float(np.max(found))


# -- Theorem 2 ------------------------------------------------------------------------------------


@discrepancy_of("tilted-prior")
def _tilted_prior(rng: np.random.Generator, slip: bool) -> float:
    problem, points, prior_mass = _on_a_grid(rng, LinearSlack(rng.uniform(0.5, 2.0)))
    eta = problem.eta(solve_dual(problem).alpha)
    tilted = softmax(points @ eta + (0.0 if slip else np.log(prior_mass)))
    return apart(best_distribution(problem, points, prior_mass), tilted)


@discrepancy_of("log-z")
def _log_z(rng: np.random.Generator, slip: bool) -> float:
    n = 12
    g, prior_mass = rng.normal(size=n), rng.dirichlet(np.full(n, 2.0))

    def minus_value(logits: np.ndarray) -> tuple[float, np.ndarray]:
        p = softmax(logits)
        if slip:  # KL(p0 || p)
            return prior_mass @ np.log(prior_mass / p) - p @ g, p - prior_mass - p * (g - p @ g)
        ratio = np.log(p / prior_mass) - g
        return p @ ratio, p * (ratio - p @ ratio)

    best = minimize(
        minus_value, np.log(prior_mass), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    return apart(-best.fun, logsumexp(g, b=prior_mass))


# -- slacks ---------------------------------------------------------------------------------------


@discrepancy_of("conjugate-slacks")
def _conjugate_slacks(rng: np.random.Generator, slip: bool) -> float:
    found = []
    for slack in draw_slacks(rng):
        s = rng.uniform(0.1, 0.9) * (slack.c if isinstance(slack, ExponentialSlack) else slack.C)
        best = minimize_scalar(
            lambda xi, slack=slack, s=s: float(slack.penalty(xi)) - s * xi,
            bounds=(0, 30),
            method="bounded",
            options={"xatol": 1e-9},
        )
        formula = float(slack.conjugate(np.array(s)))
        found.append(abs(-best.fun - (2 * formula if slip else formula)))
    return float(np.max(found))


@discrepancy_of("random-slacks")
def _random_slacks(rng: np.random.Generator, slip: bool) -> float:
    c = rng.uniform(0.5, 2.0)
    slack, mean, s = ExponentialSlack(c), rng.uniform(1.5, 5.0) / c, c * rng.uniform(0.1, 0.9)

    def divergence(xi: float) -> float:  # of one exponential distribution from another
        log_p, log_prior = -math.log(mean) - xi / mean, math.log(c) - c * xi
        return math.exp(log_p) * (log_p - log_prior)

    kl = quad(divergence, 0, math.inf, epsabs=0, epsrel=1e-10)[0]
    Z = quad(lambda xi: c * math.exp((s - c) * xi), 0, math.inf, epsabs=0, epsrel=1e-10)[0]
    return max(
        apart(kl, slack.penalty(np.array(mean))),
        apart(-math.log(Z) if slip else math.log(Z), slack.conjugate(np.array(s))),
    )


# -- dual sparsity --------------------------------------------------------------------------------


@discrepancy_of("dual-sparsity")
def _dual_sparsity(rng: np.random.Generator, slip: bool) -> float:
    prior = draw_prior(rng)
    problem = draw_problem(rng, prior, draw_slacks(rng)[rng.integers(3)])
    primal, alpha = solve_primal(problem), solve_dual(problem).alpha
    losses = np.zeros_like(problem.losses) if slip else problem.losses
    room = problem.differences @ primal.w - losses + problem.xi(primal.w)[problem.sample]
    return abs(float(alpha @ room)) / primal.value


# -- Theorem 3 and Corollary 4 --------------------------------------------------------------------


@discrepancy_of("posterior")
def _posterior(rng: np.random.Generator, slip: bool) -> float:
    C = rng.uniform(0.5, 2.0)
    problem = draw_problem(rng, GaussianPrior(), LinearSlack(C), weights=[0, 3])
    alpha = solve_dual(problem).alpha
    mu, losses = problem.eta(alpha), alpha @ problem.losses
    w = mu + rng.normal(size=(50, 2))

    def tilt(w_k: float, eta_k: float) -> float:
        return math.exp(-(w_k**2) / (1 if slip else 2) + w_k * eta_k) / math.sqrt(2 * math.pi)

    factors = [quad(tilt, -math.inf, math.inf, (eta_k,), epsrel=1e-11)[0] for eta_k in mu]
    Z = math.prod(factors) * math.exp(-losses)
    tilted = [math.prod(map(tilt, row, mu)) * math.exp(-losses) / Z for row in w]
    return apart(tilted, norm.pdf(w, loc=mu).prod(axis=1))


@discrepancy_of("dual-of-m3n")
def _dual_of_m3n(rng: np.random.Generator, slip: bool) -> float:
    """Distributions live on 7 x 7 points that stand for N(0, I), as weights are small."""
    problem, C = draw_steep_problem(rng)
    value, eta = best_dual(problem, C, lambda eta: eta @ eta / 2, lambda eta: eta, only_wrong=slip)
    points, prior_mass = normal_by_quadrature(7).grid()
    best = best_distribution(problem, points, prior_mass)
    primal = p1_value(problem, points, prior_mass, best)
    return max(apart(value, primal), apart(eta, best @ points))


@discrepancy_of("prediction")
def _prediction(rng: np.random.Generator, slip: bool) -> float:
    C = rng.uniform(0.5, 2.0)
    problem = draw_problem(rng, GaussianPrior(), LinearSlack(C), weights=[0, 3])
    eta = problem.eta(solve_dual(problem).alpha)
    x, mass = np.polynomial.hermite_e.hermegauss(60)  # for the density of N(0, 1)
    tilted = mass * np.exp(np.outer(eta, x) if not slip else 0 * np.outer(eta, x))
    mean = tilted @ x / tilted.sum(axis=1)
    _, w = least_under_margins(problem, C, lambda w: w @ w / 2, lambda w: w)
    f = rng.normal(size=(16, 2))  # of the labellings of a new sample
    return apart(f @ mean, f @ w)


@discrepancy_of("corollary-4")
def _corollary_4(rng: np.random.Generator, slip: bool) -> float:
    C, half = rng.uniform(0.5, 2.0), 1.0 if slip else 0.5
    problem = draw_problem(rng, GaussianPrior(), LinearSlack(C))
    value, mu = least_under_margins(problem, C, lambda mu: half * mu @ mu, lambda mu: 2 * half * mu)
    dual = solve_dual(problem)
    return max(apart(value, dual.value), apart(mu, dual.w))
