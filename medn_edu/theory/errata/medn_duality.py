r"""MEDN, §3.1 and Appendices A and B.1: slips about Lagrange multipliers and the existence of solutions.

All examples have one sample with one or two wrong labellings.  So D1 has one or two multipliers, and you
can follow everything with pencil and paper.
"""

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import linprog, minimize_scalar
from scipy.special import logsumexp

from medn_edu.priors import LaplacePrior, Prior
from medn_edu.theory.errata.slip import numbers_of
from medn_edu.theory.l1m3n import solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.medn_solvers import solve_primal


def _one_node(C: float, prior: Prior | None = None) -> EnumeratedProblem:
    """One node with one feature of value 2 and two labels, each with a weight; the first is true."""
    return EnumeratedProblem.of_rows([0, 0], [[0, 0], [2, -2]], [0, 1], C, prior)


# -- the equality ---------------------------------------------------------------------------------


@numbers_of("forced-total")
def _forced_total() -> dict[str, float]:
    """D1 of the Gaussian prior with C on the one wrong labelling, and with at most C."""
    C, square = 1.0, 8.0  # |Delta f|^2 of (2, -2)
    problem = _one_node(C)
    alpha = min(C, 1 / square)  # where a - square a^2 / 2 is largest
    return {
        "printed": C - square * C**2 / 2,
        "corrected": alpha - square * alpha**2 / 2,
        "truth": solve_primal(problem).value,
        "alpha": alpha,
    }


@numbers_of("forced-out-of-the-domain")
def _forced_out_of_the_domain() -> dict[str, float]:
    """The same with the Laplace prior, whose eta must stay below sqrt(lambda)."""
    C, lam = 1.0, 1.0
    problem = _one_node(C, LaplacePrior(lam))

    def d1(alpha: float) -> float:
        eta = np.array([2.0, -2.0]) * alpha
        if np.any(eta**2 >= lam):
            return -math.inf
        return float(alpha - np.log(lam / (lam - eta**2)).sum())

    best = minimize_scalar(
        lambda alpha: -d1(alpha),
        bounds=(0.0, min(C, 0.5 - 1e-12)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return {
        "printed": d1(C),
        "corrected": -float(best.fun),
        "truth": solve_primal(problem).value,
        "alpha": float(best.x),
    }


# -- existence ------------------------------------------------------------------------------------


def _tail(w: float | np.ndarray) -> float | np.ndarray:
    """Return the prior of the example without its factor ``e^-|w|`` and its constant."""
    return (1 + np.abs(w)) ** -4.0


def _at_the_end_of_the_domain() -> tuple[float, float]:
    """Return Lambda(1), and the mean of the prior tilted by 1, by quadrature."""
    total = 2 * quad(lambda w: np.exp(-w) * _tail(w), 0, math.inf)[0]
    tilted = quad(lambda w: _tail(w) * (1 + np.exp(-2 * w)), 0, math.inf)[0]
    moment = quad(lambda w: w * _tail(w) * (1 - np.exp(-2 * w)), 0, math.inf)[0]
    return math.log(tilted / total), moment / tilted


def _cut_off(reach: float, mean: float) -> float:
    """Divergence of the closest distribution within ``reach`` of 0 that has this mean."""
    u = np.linspace(0, np.arcsinh(reach), 10_001)
    half = np.sinh(u)
    log_mass = -half + np.log(_tail(half)) + np.log(np.cosh(u) * (u[1] - u[0]))
    log_mass[[0, -1]] -= math.log(2)  # the trapezoidal rule
    points = np.concatenate([-half, half])
    log_prior = np.concatenate([log_mass, log_mass])
    log_prior -= logsumexp(log_prior)
    low, high = 0.0, 1.0 + 60 / reach
    for _ in range(60):
        eta = (low + high) / 2
        logits = log_prior + eta * points
        p = np.exp(logits - logsumexp(logits))
        low, high = (low, eta) if p @ points > mean else (eta, high)
    return float(eta * mean - logsumexp(logits))


@numbers_of("no-minimiser")
def _no_minimiser() -> dict[str, float]:
    """P1 with one row, ``E[w] >= 1 - xi``, and a prior with which every mean is below 1."""
    C, needed = 10.0, 1.0
    log_mgf, steepest = _at_the_end_of_the_domain()
    return {
        "printed": steepest - log_mgf + C * (needed - steepest),
        "corrected": needed - log_mgf,
        "truth": _cut_off(1e7, needed),
        "largest mean of a tilt": steepest,
        "within 100 of 0": _cut_off(1e2, needed),
        "within 10,000 of 0": _cut_off(1e4, needed),
    }


# -- signs of multipliers -------------------------------------------------------------------------


@numbers_of("normalisation-sign")
def _normalisation() -> dict[str, float]:
    """Maximise the Lagrangian dual of one node over alpha and c, and with c >= 0."""
    C, square = 1.0, 8.0

    def dual(alpha: float, least: float) -> float:
        log_z = -alpha + square * alpha**2 / 2
        c = max(least, -1 + log_z)
        return -math.exp(-1 - c + log_z) - c

    def best(least: float) -> float:
        found = minimize_scalar(lambda alpha: -dual(alpha, least), bounds=(0, C), method="bounded")
        return -float(found.fun)

    truth = solve_primal(_one_node(C)).value
    return {"printed": best(0.0), "corrected": best(-math.inf), "truth": truth, "c": -1 - truth}


@numbers_of("dual-of-l1-m3n")
def _negative_dual_variables() -> dict[str, float]:
    """Two wrong labellings with the same feature difference and different losses."""
    C, loss, difference = 1.0, np.array([1.0, 2.0]), np.array([1.0, 1.0])
    problem = EnumeratedProblem.of_rows([0, 0, 0], [[0], [1], [1]], [0, 1, 2], C)
    rows = np.array([difference, -difference, [1.0, 1.0]])  # |sum alpha Delta f| <= 1/2, sum <= C

    def programme(least: float | None) -> float:
        answer = linprog(-loss, A_ub=rows, b_ub=[0.5, 0.5, C], bounds=[(least, None)] * 2)
        return math.inf if answer.status == 3 else -float(answer.fun)  # 3: no upper end

    return {
        "printed": programme(None),
        "corrected": programme(0.0),
        "truth": solve_l1m3n(problem).value,
    }
