"""Laplace prior (MEDN sections 3.3 and 4): Eqs. (4)-(8), Theorem 5, Corollaries 6 and 7, footnotes."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize

from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.checks.check import apart, discrepancy_of, excess
from medn_edu.theory.checks.medn_instances import (
    best_dual,
    draw_problem,
    laplace_by_quadrature,
    least_under_margins,
)
from medn_edu.theory.l1m3n import ProgramSolution, solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.medn_solvers import ReferenceSolution, solve_dual


def _laplace(w: float, lam: float) -> float:
    """Density of the prior."""
    return math.sqrt(lam) / 2 * math.exp(-math.sqrt(lam) * abs(w))


def _integral(function: Callable[[float], float], lam: float, eta: float) -> float:
    """Return the integral of a function times the prior's density times ``exp(eta w)``."""

    def integrand(w: float) -> float:
        return function(w) * math.sqrt(lam) / 2 * math.exp(eta * w - math.sqrt(lam) * abs(w))

    ends = ((-math.inf, 0.0), (0.0, math.inf))
    return sum(quad(integrand, *end, epsabs=1e-13, epsrel=1e-11)[0] for end in ends)


def _draw_tilt(rng: np.random.Generator) -> tuple[float, float]:
    """Return a constant of the prior and a natural parameter that it allows, not too close to 0."""
    lam = rng.uniform(1.0, 10.0)
    return lam, rng.choice([-1, 1]) * rng.uniform(0.2, 0.8) * math.sqrt(lam)


def _draw_problem(rng: np.random.Generator) -> tuple[EnumeratedProblem, float, float]:
    """Return a problem, its constant C and the prior's lambda."""
    C, lam = rng.uniform(0.5, 2.0), rng.uniform(2.0, 10.0)
    return draw_problem(rng, LaplacePrior(lam), LinearSlack(C)), C, lam


def _kl_norm(mu: np.ndarray, lam: float, *, as_drawn: bool = False) -> np.ndarray:
    """Return each weight's share of Corollary 6's norm, or the share by the formula of Figure 2."""
    u, root = lam * np.square(mu), math.sqrt(lam)
    inside = np.sqrt(u + 0.5) + 0.5 if as_drawn else (np.sqrt(u + 1) + 1) / 2
    return np.sqrt(np.square(mu) + 1 / lam) - np.log(inside) / root


# -- the dual, Theorem 5, and the hierarchical form, Eqs. (4) and (5) -----------------------------


@discrepancy_of("theorem-5")
def _theorem_5(rng: np.random.Generator, slip: bool) -> float:
    problem, C, lam = _draw_problem(rng)

    def cost(eta: np.ndarray) -> float:
        if slip:  # the normal prior of the same variance
            return eta @ eta / lam
        inside = bool((eta**2 < lam).all())
        return float(np.log(lam / (lam - eta**2)).sum()) if inside else math.inf

    def slope(eta: np.ndarray) -> np.ndarray:
        return 2 * eta / (lam if slip else np.maximum(lam - eta**2, 1e-9))

    value, eta = best_dual(problem, C, cost, slope)
    by_sums = dataclasses.replace(problem, prior=laplace_by_quadrature(lam))
    mean = solve_dual(by_sums).w
    return max(apart(value, by_sums.primal_value(mean)), apart(2 * eta / (lam - eta**2), mean))


@discrepancy_of("scale-mixture")
def _scale_mixture(rng: np.random.Generator, slip: bool) -> float:
    lam, w = rng.uniform(1.0, 10.0), rng.uniform(0.05, 2.0)
    rate = lam if slip else lam / 2

    def integrand(s: float) -> float:  # tau = s^2, which takes the root out of N(w | 0, tau)
        normal = math.exp(-(w**2) / (2 * s**2)) / math.sqrt(2 * math.pi)
        return normal * rate * math.exp(-rate * s**2) * 2

    mixture = quad(integrand, 0, math.inf, epsabs=0, epsrel=1e-10)[0]
    return apart(mixture, _laplace(w, lam))


@discrepancy_of("normaliser")
def _normaliser(rng: np.random.Generator, slip: bool) -> float:
    problem, _, lam = _draw_problem(rng)
    alpha = np.where(problem.losses > 0, rng.uniform(0, 0.3, len(problem.losses)), 0.0)
    alpha *= 0.8 * math.sqrt(lam) / max(1.0, np.abs(problem.eta(alpha)).max())
    eta, losses = problem.eta(alpha), float(alpha @ problem.losses)
    x, p_x = np.polynomial.hermite_e.hermegauss(80)
    t, p_t = np.polynomial.laguerre.laggauss(80)
    tau = 2 * t / lam
    inner = np.exp(np.sqrt(tau)[:, None, None] * x * eta[:, None]) @ p_x / math.sqrt(2 * math.pi)
    Z = math.exp(-losses) * np.prod(p_t @ inner)
    numerator = lam if not slip else 1.0
    return apart(math.exp(-losses) * np.prod(numerator / (lam - eta**2)), Z)


@discrepancy_of("concave")
def _concave(rng: np.random.Generator, slip: bool) -> float:
    problem, _, lam = _draw_problem(rng)
    sign = -1 if slip else 1

    def dual(alpha: np.ndarray) -> float:
        eta = problem.eta(alpha)
        return float(alpha @ problem.losses + sign * np.log((lam - eta**2) / lam).sum())

    def draw() -> np.ndarray:
        alpha = rng.exponential(size=len(problem.losses)) * (problem.losses > 0)
        return alpha * rng.uniform(0.1, 0.99) * math.sqrt(lam) / np.abs(problem.eta(alpha)).max()

    found = []
    for _ in range(30):
        a, b, t = draw(), draw(), rng.uniform(0.1, 0.9)
        chord = t * dual(a) + (1 - t) * dual(b)
        found.append(excess(chord, dual(t * a + (1 - t) * b), size=abs(dual(a)) + abs(dual(b))))
    return max(found)


# -- Corollary 6 ----------------------------------------------------------------------------------


@discrepancy_of("primal")
def _primal(rng: np.random.Generator, slip: bool) -> float:
    problem, C, lam = _draw_problem(rng)

    def slope(mu: np.ndarray) -> np.ndarray:
        return lam * mu / (np.sqrt(lam * mu**2 + 1) + 1)

    value, mu = least_under_margins(
        problem, C, lambda mu: math.sqrt(lam) * _kl_norm(mu, lam).sum(), slope
    )
    dual = solve_dual(dataclasses.replace(problem, prior=laplace_by_quadrature(lam)))
    constant = 0 if slip else problem.n_weights
    return max(apart(value - constant, dual.value), apart(mu, dual.w))


@discrepancy_of("least-norm")
def _least_norm(rng: np.random.Generator, slip: bool) -> float:
    K, lam = int(rng.integers(1, 5)), rng.uniform(1.0, 10.0)
    best = minimize(
        lambda mu: _kl_norm(mu, lam).sum(),
        rng.normal(size=K),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    least = 0.0 if slip else K / math.sqrt(lam)
    return max(abs(float(best.fun) - least), float(np.abs(best.x).max()) ** 2)


@discrepancy_of("rising-norm")
def _rising_norm(rng: np.random.Generator, slip: bool) -> float:
    lam, mu = rng.uniform(1.0, 10.0), np.sort(rng.uniform(0, 1, 200))
    norm = _kl_norm(mu, lam, as_drawn=slip)
    return excess(np.maximum.accumulate(norm), norm)


# -- Corollary 7 ----------------------------------------------------------------------------------


@discrepancy_of("shrinkage")
def _shrinkage(rng: np.random.Generator, slip: bool) -> float:
    lam, eta = _draw_tilt(rng)
    mean = _integral(lambda w: w, lam, eta) / _integral(lambda w: 1.0, lam, eta)
    return apart((1 if slip else 2) * eta / (lam - eta**2), mean)


@discrepancy_of("slope-of-log-z")
def _slope_of_log_z(rng: np.random.Generator, slip: bool) -> float:
    problem, _, lam = _draw_problem(rng)
    wrong = np.flatnonzero(problem.losses)
    alpha = np.zeros(len(problem.losses))
    alpha[wrong] = rng.uniform(0.1, 0.3, len(wrong))
    alpha *= 0.7 * math.sqrt(lam) / np.abs(problem.eta(alpha)).max()

    def log_z(alpha: np.ndarray) -> float:  # Eq. (5)
        return float(np.log(lam / (lam - problem.eta(alpha) ** 2)).sum() - alpha @ problem.losses)

    def difference(row: int, step: float = 1e-3) -> float:  # of fourth order
        ahead = [log_z(alpha + h * step * np.eye(len(alpha))[row]) for h in (-2, -1, 1, 2)]
        return float(np.dot(ahead, [1, -8, 8, -1])) / (12 * step)

    by_sums = laplace_by_quadrature(lam)
    mean = by_sums.mean(problem.eta(alpha))
    expected = problem.differences[wrong] @ mean - (0 if slip else problem.losses[wrong])
    return apart([difference(int(row)) for row in wrong], expected)


@discrepancy_of("limit")
def _limit(rng: np.random.Generator, slip: bool) -> float:
    mu, lam = rng.normal(size=5), 1e20
    norm = _kl_norm(mu, lam).sum()
    if slip:
        norm = np.sum(np.sqrt(mu**2 + 1 / lam) - np.log((np.sqrt(lam * mu**2 + 1) + 1) / 2))
    return apart(norm, np.abs(mu).sum())


# -- whole problems, section 4 --------------------------------------------------------------------


def _draw_whole_problem(rng: np.random.Generator) -> tuple[EnumeratedProblem, float]:
    """Return training data without copies of weights, and the constant c of the limit."""
    problem = draw_problem(
        rng, GaussianPrior(), LinearSlack(), lengths=(2, 3, 2), weights=[0, 1, 4, 5]
    )
    return problem, float(rng.uniform(0.5, 1.5))


def _lap_medn(problem: EnumeratedProblem, C: float, lam: float) -> ReferenceSolution:
    """Solve D1 with a Laplace prior."""
    whole = dataclasses.replace(problem, prior=LaplacePrior(lam), slack=LinearSlack(C))
    return solve_dual(whole, accuracy=1e-12)


@discrepancy_of("limit-m3n")
def _limit_m3n(rng: np.random.Generator, slip: bool) -> float:
    """At C and C / 2, from which the next order in C is extrapolated away."""
    problem, c = _draw_whole_problem(rng)
    value, w = least_under_margins(problem, c, lambda w: w @ w / 2, lambda w: w)
    slopes, means = [], []
    for C in (2e-3, 1e-3):
        lam = (1 if slip else 2) * C / c
        found = _lap_medn(problem, C, lam)
        slopes.append((value - 2 / lam * found.value) / C)
        means.append(found.w)
    expected = float((w**4).sum()) / (8 * c)
    return max(apart(2 * slopes[1] - slopes[0], expected), apart(2 * means[1] - means[0], w))


@discrepancy_of("limit-l1-m3n")
def _limit_l1_m3n(rng: np.random.Generator, slip: bool) -> float:
    """At C and 2 C, for D1 / (2 sqrt(lam)) is L1-M3N's dual with a barrier t sum log(1 - 4 eta^2).

    Its factor is t = 1 / (2 sqrt(lam)); weights and values are analytic in it once t log t is known.
    """
    problem, c, solution = _draw_in_general_position(rng)
    kept = np.abs(solution.weights) > 1e-9
    inside = np.log1p(-4 * solution.eta[~kept] ** 2).sum()
    ratios, means = [], []
    for C in (1e4, 2e4):
        root = C / (c if slip else 2 * c)
        t, found = 1 / (2 * root), _lap_medn(problem, C, root**2)
        expected = t * (np.log(np.abs(solution.weights[kept]) / (4 * t)) + 1).sum() - t * inside
        ratios.append((solution.value - t * found.value) / expected)
        means.append(found.w)
    ratio, mean = (2 * late - early for early, late in (ratios, means))
    return max(apart(ratio, 1.0), apart(mean, solution.weights))


def _draw_in_general_position(
    rng: np.random.Generator,
) -> tuple[EnumeratedProblem, float, ProgramSolution]:
    """Return a problem of which L1-M3N keeps some weights, and leaves the others out by far."""
    while True:
        problem, c = _draw_whole_problem(rng)
        solution = solve_l1m3n(dataclasses.replace(problem, slack=LinearSlack(c)))
        size, eta = np.abs(solution.weights), np.abs(solution.eta)
        if size.any() and np.all((size > 0.05) | (eta < 0.45)):
            return problem, c, solution


# -- Appendix B.4 ---------------------------------------------------------------------------------


@discrepancy_of("divergence")
def _divergence(rng: np.random.Generator, slip: bool) -> float:
    lam, eta = _draw_tilt(rng)
    Z = _integral(lambda w: 1.0, lam, eta)
    mu = _integral(lambda w: w, lam, eta) / Z
    kl = _integral(lambda w: (eta * w - math.log(Z)) / Z, lam, eta)
    return apart(math.sqrt(lam) * _kl_norm(np.array(mu), lam, as_drawn=slip) - 1, kl)


@discrepancy_of("tilt-of-a-mean")
def _tilt_of_a_mean(rng: np.random.Generator, slip: bool) -> float:
    lam = rng.uniform(1.0, 10.0)
    mu, end = rng.choice([-1, 1]) * rng.uniform(0.1, 3.0), math.sqrt(lam) * (1 - 1e-12)
    eta = brentq(lambda eta: 2 * eta / (lam - eta**2) - mu, -end, end, xtol=1e-15)
    product = -1 + (-1 if slip else 1) * math.sqrt(1 + lam * mu**2)
    ratio = (math.sqrt(lam * mu**2 + 1) + 1) / 2
    return max(apart(mu * eta, product), apart(lam / (lam - eta**2), ratio))
