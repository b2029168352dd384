"""LapM3N's own Theorems 2 to 4: any F and not only linear ones, h1 next to h0, and a bound with an O.

Theorem 2 asks nothing of F.  So here it is a table: a number for each labelling and each of a few weight
vectors, drawn at random.  A table is linear in the indicator of the weight vector, and that is how
`best_distribution` is told of it.

Theorem 4 hides its constants in an O, which is read as a factor of 5 on the root.  The proof in MEDN's
Appendix B.5 needs no more where scores are in [-1, 1] and thresholds at least 1 / sqrt(N).
"""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from medn_edu.priors import TwoPointPrior
from medn_edu.theory.bounds import Terms
from medn_edu.theory.checks.check import apart, discrepancy_of, excess
from medn_edu.theory.checks.l1m3n import draw_rows, price
from medn_edu.theory.checks.medn_instances import (
    best_distribution,
    best_dual,
    draw_steep_problem,
    least_under_margins,
    normal_by_quadrature,
)
from medn_edu.theory.checks.medn_pac_bayes import DELTA, MEANS, draw_world, misled
from medn_edu.theory.medn import EnumeratedProblem, p1_value

_FACTOR = 5.0  # what the O stands for


# -- Theorem 2 ------------------------------------------------------------------------------------


@discrepancy_of("lapm3n-posterior")
def _posterior(rng: np.random.Generator, slip: bool) -> float:
    n = 12
    table = draw_rows(rng, C=rng.uniform(0.5, 2.0), n_weights=n)  # differences of F, by weights
    points, prior_mass = np.eye(n), rng.dirichlet(np.full(n, 3.0))
    value, log_p = _best_by_d1(table, prior_mass, slip)
    best = best_distribution(table, points, prior_mass)
    return max(apart(value, p1_value(table, points, prior_mass, best)), apart(np.exp(log_p), best))


def _best_by_d1(
    table: EnumeratedProblem, prior_mass: np.ndarray, slip: bool
) -> tuple[float, np.ndarray]:
    """Maximise -log Z within U*'s limits by SLSQP; return it and log p there."""
    losses = np.zeros_like(table.losses) if slip else table.losses
    exponents = table.differences - losses[:, None]

    def log_z(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        logits = np.log(prior_mass) + alpha @ exponents
        return float(logsumexp(logits)), exponents @ softmax(logits)

    member = table.member.T
    found = minimize(
        log_z,
        np.full(len(losses), 0.02),
        jac=True,
        bounds=[(0, None)] * len(losses),
        constraints={
            "type": "ineq",
            "fun": lambda alpha: price(table) - member @ alpha,
            "jac": lambda alpha: -member,
        },
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return -float(found.fun), np.log(prior_mass) + found.x @ exponents - float(found.fun)


# -- Theorem 3 ------------------------------------------------------------------------------------


@discrepancy_of("lapm3n-prediction")
def _prediction(rng: np.random.Generator, slip: bool) -> float:
    """P1 over distributions on 7 x 7 points that stand for N(0, I), the theorem's dual, and P0."""
    problem, C = draw_steep_problem(rng)
    points, prior_mass = normal_by_quadrature(7).grid()
    f = rng.normal(size=(16, 2))  # of the labellings of a new sample
    h1 = f @ points.T @ best_distribution(problem, points, prior_mass)
    _, eta = best_dual(problem, C, lambda eta: eta @ eta / 2, lambda eta: eta, only_wrong=slip)
    _, w = least_under_margins(problem, C, lambda w: w @ w / 2, lambda w: w)
    same = np.argmax(h1) == np.argmax(f @ w)
    return max(apart(f @ eta, h1), apart(f @ w, h1)) if same else 1.0


# -- Theorem 4 ------------------------------------------------------------------------------------


def _root(ratio: float, kl: float, n: int, log_labellings: float) -> float:
    """Return what stands inside the O, with c = 1."""
    inside = kl / ratio**2 * (math.log(n) + log_labellings) + math.log(n) + math.log(1 / DELTA)
    return math.sqrt(inside / n)


@discrepancy_of("lapm3n-factor")
def _factor(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    found = []
    for _ in range(200):
        n, kl = int(10 ** rng.uniform(2, 8)), 10 ** rng.uniform(-4, 3)
        ratio = 10 ** rng.uniform(-math.log10(n) / 2, math.log10(2))
        log_labellings = rng.uniform(math.log(2), 40.0)
        terms = Terms(n, 0.0, ratio, log_labellings, kl, DELTA)
        proved = float(terms.value(terms.papers_m()))
        root = _root(math.sqrt(ratio) if slip else ratio, kl, n, log_labellings)
        found.append(excess(proved, multiple * _FACTOR * root, size=proved))
    return max(found)


@discrepancy_of("lapm3n-bound")
def _bound(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    """The world of MEDN's Theorem 8: right or wrong by the sign of the mean, margin twice its size."""
    n, q, chances = draw_world(rng)
    seen, means = np.arange(n + 1) / n, MEANS[MEANS != 0]
    errors = np.where(means > 0, q, 1 - q)
    losses = np.where(means[:, None] > 0, seen, 1 - seen)
    kl = TwoPointPrior().kl(means)
    roots = [_root(2 * abs(m), float(k), n, math.log(2)) for m, k in zip(means, kl, strict=True)]
    added = 0.0 if slip else multiple * _FACTOR
    return excess(misled(errors, losses + added * np.array(roots)[:, None], chances), DELTA)
