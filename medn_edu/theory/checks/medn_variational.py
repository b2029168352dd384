"""Variational learning with a Laplace prior (MEDN section 5): the bound, its steps, Algorithm 1."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from scipy.stats import gamma, norm

from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.checks.check import apart, discrepancy_of, excess
from medn_edu.theory.checks.medn_instances import best_dual, draw_problem, least_under_margins
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.medn_solvers import solve_dual

# The trapezoid rule in log tau, beyond whose ends nothing is left of any density used here.
_LOG_TAU = np.linspace(-25.0, 7.0, 2001)
_TAU, _WIDTH = np.exp(_LOG_TAU), np.exp(_LOG_TAU) * (_LOG_TAU[1] - _LOG_TAU[0])


def _over_tau(log_q: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Average over variances, which are the last axis."""
    return (np.exp(log_q) * values) @ _WIDTH


def _log_exponential(lam: float) -> np.ndarray:
    """Return log p(tau | lam)."""
    return math.log(lam / 2) - lam * _TAU / 2


def _log_normal(second_moment: ArrayLike) -> np.ndarray:
    """Return log N(w | 0, tau), averaged over weights with this ``<w^2>``."""
    return -0.5 * np.log(2 * np.pi * _TAU) - np.asarray(second_moment)[..., None] / (2 * _TAU)


def _best_log_q(second_moment: ArrayLike, lam: float) -> np.ndarray:
    """Return the logarithm of step 2's density, with a normaliser by quadrature."""
    logits = _log_exponential(lam) + _log_normal(second_moment)
    return logits - logsumexp(logits, b=_WIDTH, axis=-1, keepdims=True)


def _bound(second_moment: ArrayLike, variance: ArrayLike, log_q: np.ndarray, lam: float) -> Any:
    """Return L(p, q) of each weight, where p is normal and has this second moment and variance."""
    entropy = 0.5 * np.log(2 * math.pi * math.e * np.asarray(variance))
    return _over_tau(log_q, log_q - _log_exponential(lam) - _log_normal(second_moment)) - entropy


def _draw(rng: np.random.Generator) -> tuple[float, float, float, np.ndarray]:
    """Return lambda, mean and variance of a normal p, and the logarithm of some q."""
    shape, scale = rng.uniform(2.0, 6.0), rng.uniform(0.1, 0.4)
    log_q = gamma.logpdf(_TAU, shape, scale=scale)
    return rng.uniform(1.0, 10.0), rng.normal(), rng.uniform(0.1, 1.0), log_q


# -- the bound ------------------------------------------------------------------------------------


@discrepancy_of("upper-bound")
def _upper_bound(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    lam, mean, variance, log_q = _draw(rng)

    def divergence(w: float) -> float:
        log_p = -0.5 * math.log(2 * math.pi * variance) - (w - mean) ** 2 / (2 * variance)
        return math.exp(log_p) * (log_p - math.log(math.sqrt(lam) / 2) + math.sqrt(lam) * abs(w))

    kl = sum(quad(divergence, *ends)[0] for ends in ((-math.inf, 0), (0, math.inf)))
    L = _bound(mean**2 + variance, variance, log_q, lam)
    lost = _over_tau(log_q, log_q - _log_exponential(lam)) if slip else 0.0
    return excess(kl, multiple * (L - lost))


@discrepancy_of("is-a-divergence")
def _is_a_divergence(rng: np.random.Generator, slip: bool) -> float:
    lam, mean, variance, log_q = _draw(rng)
    x, p = np.polynomial.hermite_e.hermegauss(40)
    w, log_p = mean + math.sqrt(variance) * x, -0.5 * np.log(2 * np.pi * variance) - x**2 / 2
    ratio = log_p[:, None] + log_q - _log_normal(w**2) - _log_exponential(lam)
    divergence = p @ _over_tau(log_q, ratio) / math.sqrt(2 * math.pi)
    return apart(_bound(mean**2 + (0 if slip else variance), variance, log_q, lam), divergence)


# -- the two steps --------------------------------------------------------------------------------


@discrepancy_of("step-1")
def _step_1(rng: np.random.Generator, slip: bool) -> float:
    _, eta, _, log_q = _draw(rng)
    weight = _over_tau(log_q, 1 / _TAU)
    variance = _over_tau(log_q, _TAU) if slip else 1 / weight
    w = np.linspace(-12, 12, 2401) / math.sqrt(weight) + eta / weight
    p = softmax(np.array([_over_tau(log_q, _log_normal(w_j**2)) for w_j in w]) + eta * w)
    mean = p @ w
    return max(apart(mean, variance * eta), apart(p @ (w - mean) ** 2, variance))


def _by_eq_10(
    problem: EnumeratedProblem, C: float, variance: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the least value of step 1's primal, and the weights there."""
    return least_under_margins(
        problem, C, lambda w: float(w @ (w / variance)) / 2, lambda w: w / variance
    )


@discrepancy_of("quadratic-programs")
def _quadratic_programs(rng: np.random.Generator, slip: bool) -> float:
    C, variance = rng.uniform(0.5, 2.0), rng.uniform(0.05, 2.0, 8)
    problem = draw_problem(rng, GaussianPrior(variance), LinearSlack(C))
    value, eta = best_dual(
        problem, C, lambda eta: eta @ (variance * eta) / 2, lambda eta: variance * eta
    )
    least, mu = _by_eq_10(problem, C, 1 / variance if slip else variance)
    return max(apart(value, least), apart(variance * eta, mu))


@discrepancy_of("step-2")
def _step_2(rng: np.random.Generator, slip: bool) -> float:
    lam, mean, variance, _ = _draw(rng)
    moment = mean**2 + variance
    tau = rng.uniform(0.05, 2.0, 15)
    log_joint = -0.5 * np.log(tau) - moment / (2 * tau) - lam * tau / 2  # up to a constant

    def value(logits: np.ndarray) -> tuple[float, np.ndarray]:
        q = softmax(logits)
        ratio = np.log(q) - log_joint
        return q @ ratio, q * (ratio - q @ ratio)

    best = minimize(value, np.zeros(15), jac=True, method="BFGS", options={"gtol": 1e-10})
    root = abs(mean) if slip else math.sqrt(moment)
    formula = norm.pdf(root, scale=np.sqrt(tau)) * np.exp(-lam * tau / 2)
    return apart(softmax(best.x), formula / formula.sum())


@discrepancy_of("mean-precision")
def _mean_precision(rng: np.random.Generator, slip: bool) -> float:
    lam, mean, variance, _ = _draw(rng)
    moment = mean**2 + variance
    log_q = _best_log_q(moment, lam)
    precision = 1 / _over_tau(log_q, _TAU) if slip else _over_tau(log_q, 1 / _TAU)
    normaliser = logsumexp(_log_exponential(lam) + _log_normal(moment), b=_WIDTH)
    root = math.sqrt(lam * moment)
    return max(
        apart(precision, math.sqrt(lam / moment)),
        apart(math.exp(normaliser), math.sqrt(lam) / 2 * math.exp(-root)),
    )


# -- Algorithm 1 ----------------------------------------------------------------------------------


@discrepancy_of("algorithm-1")
def _algorithm_1(rng: np.random.Generator, slip: bool) -> float:
    C, lam = rng.uniform(0.5, 2.0), rng.uniform(1.0, 10.0)
    problem = draw_problem(rng, LaplacePrior(lam), LinearSlack(C), weights=[0, 3, 5])
    moment = np.full(3, lam)  # 1 / <1 / tau> = sqrt(<w^2> / lam) = 1
    values, log_q = [], _best_log_q(moment, lam)
    for _ in range(4):
        variance = 1 / _over_tau(log_q, 1 / _TAU)
        _, mu = _by_eq_10(problem, C, variance)
        moment = mu**2 + variance
        for best in (log_q, _best_log_q(mu**2 if slip else moment, lam)):
            L = _bound(moment, variance, best, lam).sum()
            values.append(float(L + problem.penalty(problem.xi(mu))))
            log_q = best
    optimum = solve_dual(problem).value
    return max(excess(values[1:], values[:-1], size=optimum), excess(optimum, values, size=optimum))
