"""MEDN, §3.3 to §5 and Appendix B.4: slips about the Laplace prior and Algorithm 1."""

import dataclasses
import math

import numpy as np
from scipy.integrate import quad

from medn_edu.priors import LaplacePrior
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.theory.errata.slip import numbers_of
from medn_edu.theory.l1m3n import solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.medn_solvers import solve_dual, solve_primal


def _chains(prior: LaplacePrior, C: float) -> EnumeratedProblem:
    """Three random chains of two nodes with two labels and three features: ten weights."""
    rng = np.random.default_rng(4)
    data = label_samples(
        pack([rng.normal(size=(2, 3)) for _ in range(3)]),
        rng.integers(0, 2, 6),
        np.ones((1, 2, 2), dtype=bool),
    )
    return enumerate_problem(data, prior, LinearSlack(C))


def _log_laplace_by_mixture(w: float, lam: float) -> float:
    """Logarithm of the Laplace density from Eq. (4), a normal density of random variance."""

    def integrand(s: float) -> float:  # tau = s^2, which takes the singularity at 0 away
        bell = math.exp(-(w**2) / (2 * s**2)) / math.sqrt(2 * math.pi)
        return bell * lam * math.exp(-lam * s**2 / 2)

    return math.log(quad(integrand, 0, math.inf)[0])


@numbers_of("log-convex")
def _log_concave() -> dict[str, float]:
    """By how much the log density at a midpoint exceeds the mean of the log densities at the ends."""
    lam, a, b = 4.0, -1.0, 2.0
    middle, ends = _log_laplace_by_mixture((a + b) / 2, lam), (a, b)
    return {
        "printed": 0.0,
        "corrected": math.sqrt(lam) * ((abs(a) + abs(b)) / 2 - abs(a + b) / 2),
        "truth": middle - sum(_log_laplace_by_mixture(w, lam) for w in ends) / 2,
    }


@numbers_of("primal-sparse")
def _how_many_weights() -> dict[str, float]:
    """Return how many of ten weights differ from 0, in L1-M3N and in the Laplace MEDN."""
    lam, C = 100.0, 1.0
    problem = _chains(LaplacePrior(lam), 2 * C * math.sqrt(lam))
    eta = problem.eta(solve_dual(problem).alpha)
    cheaper = dataclasses.replace(problem, slack=LinearSlack(C))
    means = np.abs(solve_primal(problem).w)
    return {
        "printed": float(np.sum(np.abs(solve_l1m3n(cheaper).weights) > 1e-9)),
        "corrected": float(np.sum(np.abs(2 * eta / (lam - eta**2)) > 1e-6)),
        "truth": float(np.sum(means > 1e-6)),
        "smallest mean": float(means.min()),
        "largest mean": float(means.max()),
    }


@numbers_of("scale-for-shape")
def _same_variance() -> dict[str, float]:
    """Mean over eta at eta = 0.1: a ratio below 1 is shrinkage against the standard normal."""
    eta, as_drawn, matched = 0.1, 4.0, 2.0  # Laplace priors of variance 2 / lambda

    def weighted(power: int) -> float:
        density = math.sqrt(matched) / 2

        def integrand(w: float) -> float:
            right = math.exp(-(math.sqrt(matched) - eta) * w)
            left = math.exp(-(math.sqrt(matched) + eta) * w)
            return density * w**power * (right + (-1) ** power * left)

        return float(quad(integrand, 0, math.inf)[0])

    return {
        "printed": 2 / (as_drawn - eta**2),
        "corrected": 2 / (matched - eta**2),
        "truth": weighted(1) / weighted(0) / eta,
        "normal prior of variance 1/2": 0.5,
    }


@numbers_of("laplace-to-l1")
def _large_lambda() -> dict[str, float]:
    """One weight, one row ``w >= 1 - xi``: its Laplace MEDN for a large lambda, and L1-M3N.

    L1-M3N pays half a unit for a unit of weight, so the weight is 1 for ``C`` above a half and 0 below.
    """
    lam, loss = 1e8, 1.0

    def mean(price: float) -> float:
        """Return where the slope of the divergence reaches the price, or the margin is had."""
        return min(loss, 2 * price / (lam - price**2)) if price**2 < lam else loss

    def l1_m3n(C: float) -> float:
        row = EnumeratedProblem.of_rows([0, 0], [[0], [1]], [0, loss], C)
        return float(solve_l1m3n(row).weights[0])

    return {
        "printed": mean(0.6),
        "corrected": mean(2 * 0.6 * math.sqrt(lam)),
        "truth": l1_m3n(0.6),
        "corrected, C = 0.4": mean(2 * 0.4 * math.sqrt(lam)),
        "truth, C = 0.4": l1_m3n(0.4),
    }


@numbers_of("what-q-approximates")
def _hidden_variance() -> dict[str, float]:
    """Return the mean of tau under q, for a weight whose second moment is 9, and under p(tau)."""
    lam, moment = 4.0, 9.0

    def integral(power: int) -> float:
        def integrand(tau: float) -> float:
            return math.exp(-moment / (2 * tau) - lam * tau / 2) * tau ** (power - 0.5)

        return float(quad(integrand, 0, math.inf)[0])

    return {
        "printed": 2 / lam,
        "corrected": math.sqrt(moment / lam) + 1 / lam,
        "truth": integral(1) / integral(0),
    }


@numbers_of("irrelevant-variances")
def _irrelevant_variance() -> dict[str, float]:
    """Run Algorithm 1 on a weight for which eta is 0."""
    lam, variance = 4.0, 1.0
    for _ in range(60):
        moment = variance + (variance * 0.0) ** 2  # Step 1: the mean is variance times eta
        variance = math.sqrt(moment / lam)  # Step 2
    return {
        "printed": 0.0,
        "corrected": 1 / lam,
        "truth": variance,
        "exact posterior": float(LaplacePrior(lam).variance(np.zeros(1))[0]),
    }


@numbers_of("other-root")
def _other_root() -> dict[str, float]:
    """Return the lower root of ``mu eta^2 + 2 eta - lambda mu = 0`` for a small mean."""
    lam, mu = 4.0, 1e-3
    return {
        "printed": 0.0,
        "corrected": (-1 - math.sqrt(1 + lam * mu**2)) / mu,
        "truth": float(np.roots([mu, 2.0, -lam * mu]).min()),
    }
