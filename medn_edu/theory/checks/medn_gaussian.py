"""Normal prior, Theorem 3 and Corollary 4 of MEDN: maximum entropy discrimination is M3N."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from medn_edu.priors import GaussianPrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.checks.check import apart, check
from medn_edu.theory.checks.medn_instances import (
    best_dual,
    draw_problem,
    least_under_margins,
)
from medn_edu.theory.medn_solvers import solve_dual, solve_primal


@check(
    "MEDN Theorem 3",
    "with p0 = N(0, I) the posterior is N(μ, I), where μ = Σ α Δf",
    sides="the tilted density with Z by quadrature; the normal density",
    slip="exp(−w²) for exp(−w²/2)",
    tolerance=1e-12,
)
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


@check(
    "MEDN Theorem 3, dual",
    "α solves the dual of M3N, max Σ α Δℓ − ‖Σ α Δf‖²/2, and μ is M3N's w",
    sides="SLSQP on the dual variables; SLSQP on P1's means, the divergence by bisection",
    slip="all of C on wrong labellings, as printed",
    tolerance=1e-6,
)
def _dual_of_m3n(rng: np.random.Generator, slip: bool) -> float:
    C = rng.uniform(2.0, 5.0)
    problem = draw_problem(rng, GaussianPrior(), LinearSlack(C))
    value, eta = best_dual(problem, C, lambda eta: eta @ eta / 2, lambda eta: eta, only_wrong=slip)
    primal = solve_primal(problem)
    return max(apart(value, primal.value), apart(eta, primal.w))


@check(
    "MEDN Theorem 3, prediction",
    "averaged scores are those of M3N's weights, so h1 and h0 predict the same",
    sides="quadrature over the tilted prior; SLSQP on P0",
    slip="averages over the prior",
    tolerance=1e-6,
)
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


@check(
    "MEDN Corollary 4",
    "the posterior mean minimises ‖μ‖²/2 + C Σ ξ under the margin constraints",
    sides="SLSQP on the printed primal; Newton's method on D1",
    slip="‖μ‖² for ‖μ‖²/2",
    tolerance=1e-5,
)
def _corollary_4(rng: np.random.Generator, slip: bool) -> float:
    C, half = rng.uniform(0.5, 2.0), 1.0 if slip else 0.5
    problem = draw_problem(rng, GaussianPrior(), LinearSlack(C))
    value, mu = least_under_margins(problem, C, lambda mu: half * mu @ mu, lambda mu: 2 * half * mu)
    dual = solve_dual(problem)
    return max(apart(value, dual.value), apart(mu, dual.w))
