r"""L1-M3N, §4.3 and Appendix A: the adaptive M3N, its new variables, and Theorem 2.

Scales come from scipy's SLSQP, never from Eq. (4), except where Eq. (4) is what is tried.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.optimize import minimize

from medn_edu.slacks import LinearSlack
from medn_edu.theory.checks.check import apart, check
from medn_edu.theory.checks.l1m3n_programs import draw_rows, price, without_constraints
from medn_edu.theory.l1m3n import solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem


def _best_scales(w: np.ndarray, lam: float, total: float | None = None) -> np.ndarray:
    """Step 2 by SLSQP: scales of mean ``1 / lam`` that make ``sum w^2 / tau`` least."""
    K = len(w)
    share = minimize(  # tau in units of its sum, and the cost in units of its optimum
        lambda s: w**2 @ (1 / s) / np.abs(w).sum() ** 2,
        np.full(K, 1 / K),
        jac=lambda s: -((w / s) ** 2) / np.abs(w).sum() ** 2,
        bounds=[(1e-6, None)] * K,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": lambda s: np.ones(K)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    ).x
    return share * (K / lam if total is None else total)


def _draw_weights(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Draw weights, none of them close to 0, and a constant."""
    w = rng.uniform(0.3, 2.0, 5) * rng.choice([-1.0, 1.0], 5)
    return w, float(rng.uniform(0.5, 3.0))


@check(
    "L1-M3N Eq. (4)",
    "the best scales are in proportion to |w|",
    sides="the formula; a general solver",
    slip="in proportion to the squares",
    tolerance=1e-4,
)
def _scales(rng: np.random.Generator, slip: bool) -> float:
    w, lam = _draw_weights(rng)
    size = w**2 if slip else np.abs(w)
    return apart(len(w) * size / (lam * size.sum()), _best_scales(w, lam))


def _in_new_variables(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return w, gamma, beta and lambda, the scales being the best by SLSQP."""
    w, lam = _draw_weights(rng)
    tau = _best_scales(w, lam)
    return w, w / np.sqrt(lam * tau), np.sqrt(lam * tau), lam


@check(
    "L1-M3N Eqs. (6), (10)",
    "beta = sqrt(K) |gamma| / |gamma|_2",
    sides="the formula; scales by a general solver",
    slip="sqrt(K) forgotten",
    tolerance=1e-4,
)
def _update_of_beta(rng: np.random.Generator, slip: bool) -> float:
    w, gamma, beta, _ = _in_new_variables(rng)
    share = np.abs(gamma) / math.sqrt(gamma @ gamma)
    return apart(share if slip else math.sqrt(len(w)) * share, beta)


@check(
    "L1-M3N Eq. (9)",
    "beta^2 = (lambda / v) gamma^2, v the multiplier of sum beta^2 = K",
    sides="v by differences of the optimum; scales by a general solver",
    slip="v / lambda",
    tolerance=1e-3,
)
def _multiplier_of_beta(rng: np.random.Generator, slip: bool) -> float:
    """Eq. (9), its multiplier v being minus the slope of Step 2's optimum in K."""
    w, gamma, beta, lam = _in_new_variables(rng)
    K, step = len(w), 0.05

    def optimum(total: float) -> float:
        return lam * float(w**2 @ (1 / _best_scales(w, lam, total)))

    v = (optimum(K - step) - optimum(K + step)) / (2 * step)
    ratio = v / lam if slip else lam / v
    return apart(ratio * gamma**2, beta**2)


@check(
    "L1-M3N Eq. (11)",
    "|w| and its shares from gamma^2",
    sides="the formulas; scales by a general solver",
    slip="|gamma| instead of gamma^2",
    tolerance=1e-4,
)
def _shares(rng: np.random.Generator, slip: bool) -> float:
    w, gamma, _, _ = _in_new_variables(rng)
    square = np.abs(gamma) if slip else gamma**2
    left = math.sqrt(len(w)) * square / math.sqrt(gamma @ gamma)
    share = square / square.sum()
    return float(np.maximum(apart(left, np.abs(w)), apart(share, np.abs(w) / np.abs(w).sum())))


@check(
    "L1-M3N Eq. (14)",
    "gamma / beta = sign(w) |w|_1 / K",
    sides="the formula; scales by a general solver",
    slip="the sign forgotten",
    tolerance=1e-4,
)
def _quotients(rng: np.random.Generator, slip: bool) -> float:
    w, gamma, beta, _ = _in_new_variables(rng)
    sign = 1.0 if slip else np.sign(w)
    return apart(sign * np.abs(w).sum() / len(w), gamma / beta)


def _adaptive(problem: EnumeratedProblem, lam: float) -> tuple[float, np.ndarray]:
    """P2 as printed, in weights, scales and slacks, by SLSQP; scales stay a little above 0."""
    K, N = problem.n_weights, problem.n_samples
    C = price(problem)
    A = np.hstack([problem.differences, np.zeros((len(problem.losses), K)), problem.member])
    mean = np.r_[np.zeros(K), np.full(K, 1 / K), np.zeros(N)]
    start = np.r_[np.zeros(K), np.full(K, 1 / lam), problem.xi(np.zeros(K))]
    found = minimize(
        lambda z: z[:K] ** 2 @ (1 / z[K : 2 * K]) + C * z[2 * K :].sum(),
        start,
        jac=lambda z: np.r_[
            2 * z[:K] / z[K : 2 * K], -((z[:K] / z[K : 2 * K]) ** 2), np.full(N, C)
        ],
        bounds=[(None, None)] * K + [(1e-7, None)] * K + [(0, None)] * N,
        constraints=[
            {"type": "ineq", "fun": lambda z: A @ z - problem.losses, "jac": lambda z: A},
            {"type": "eq", "fun": lambda z: mean @ z - 1 / lam, "jac": lambda z: mean},
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return float(found.fun), found.x[:K]


@check(
    "L1-M3N Theorem 2, proof",
    "the adaptive M3N pays lambda / K |w|_1^2",
    sides="P2 in weights, scales and slacks by a general solver; P4 by linear programs",
    slip="K forgotten",
    tolerance=1e-4,
)
def _adaptive_is_squared(rng: np.random.Generator, slip: bool) -> float:
    problem, lam = draw_rows(rng), float(rng.uniform(0.5, 2.0))
    scale = lam if slip else lam / problem.n_weights
    return apart(_adaptive(problem, lam)[0], solve_squared_l1(problem, scale).value)


@check(
    "L1-M3N Theorem 2",
    "its solution is one of L1-M3N, at C' = CK / (4 lambda |w|_1)",
    sides="P2 by a general solver, judged in P1; P1 by a linear program",
    slip="at the same C, as printed",
    tolerance=1e-3,
)
def _adaptive_is_l1(rng: np.random.Generator, slip: bool) -> float:
    problem, lam = draw_rows(rng, C=0.5), float(rng.uniform(2.0, 6.0))
    w = _adaptive(problem, lam)[1]
    other = 0.5 * problem.n_weights / (4 * lam * np.abs(w).sum())
    moved = dataclasses.replace(problem, slack=LinearSlack(0.5 if slip else other))
    return apart(without_constraints(moved, w), solve_l1m3n(moved).value)
