"""P1 and its dual (MEDN section 3): Definition 1, Theorem 2, slacks; with the normal prior M3N."""

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax
from scipy.stats import norm

from medn_edu.priors import GaussianPrior
from medn_edu.slacks import ExponentialSlack, LinearSlack
from medn_edu.theory.checks.check import apart, discrepancy_of, excess
from medn_edu.theory.checks.medn_instances import (
    best_dual,
    discrete_prior,
    draw_prior,
    draw_problem,
    draw_slacks,
    least_under_margins,
)
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.medn_solvers import solve_dual, solve_primal

# -- Definition 1 ---------------------------------------------------------------------------------


@discrepancy_of("strong-duality")
def _strong_duality(rng: np.random.Generator, slip: bool) -> float:
    prior, worst = draw_prior(rng), 0.0
    for slack in draw_slacks(rng):
        problem = draw_problem(rng, prior, slack, lengths=(1, 2), weights=[0, 3, 5])
        dual = solve_dual(problem)
        value, alpha = dual.value, dual.alpha
        if slip:
            value = alpha @ problem.losses - prior.log_mgf(problem.eta(alpha)).sum()
        primal = solve_primal(problem)
        worst = np.maximum(worst, apart(value, primal.value))
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


def _on_a_grid(
    rng: np.random.Generator, C: float
) -> tuple[EnumeratedProblem, np.ndarray, np.ndarray]:
    """Return a problem with two weights on a grid, the grid's points, and the prior there."""
    line, mass = np.sort(rng.uniform(-2, 2, 5)), rng.dirichlet(np.full(5, 3.0))
    problem = draw_problem(rng, discrete_prior(line, mass), LinearSlack(C), weights=[0, 3])
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    return problem, points, np.outer(mass, mass).ravel()


@discrepancy_of("tilted-prior")
def _tilted_prior(rng: np.random.Generator, slip: bool) -> float:
    C = rng.uniform(0.5, 2.0)
    problem, points, prior_mass = _on_a_grid(rng, C)
    eta = problem.eta(solve_dual(problem).alpha)
    tilted = softmax(points @ eta + (0.0 if slip else np.log(prior_mass)))
    return apart(_best_distribution(problem, C, points, prior_mass), tilted)


def _best_distribution(
    problem: EnumeratedProblem, C: float, points: np.ndarray, prior_mass: np.ndarray
) -> np.ndarray:
    """Solve P1 over the probabilities and the slacks themselves, by SLSQP."""
    n, N = len(points), problem.n_samples
    A = np.hstack([problem.differences @ points.T, problem.member])
    total = np.concatenate([np.ones(n), np.zeros(N)])

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        ratio = np.log(z[:n] / prior_mass)
        return z[:n] @ ratio + C * z[n:].sum(), np.concatenate([ratio + 1, np.full(N, C)])

    result = minimize(
        objective,
        np.concatenate([prior_mass, problem.xi(prior_mass @ points)]),
        jac=True,
        bounds=[(1e-12, 1)] * n + [(0, None)] * N,
        constraints=[
            {"type": "ineq", "fun": lambda z: A @ z - problem.losses, "jac": lambda z: A},
            {"type": "eq", "fun": lambda z: total @ z - 1, "jac": lambda z: total},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return result.x[:n]


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
    C = rng.uniform(2.0, 5.0)
    problem = draw_problem(rng, GaussianPrior(), LinearSlack(C))
    value, eta = best_dual(problem, C, lambda eta: eta @ eta / 2, lambda eta: eta, only_wrong=slip)
    primal = solve_primal(problem)
    return max(apart(value, primal.value), apart(eta, primal.w))


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
