"""Algorithm 1 with one weight and one margin, to be followed with a pencil.

``variational.md`` explains the theory, with its formulas typeset.
"""

from collections.abc import Callable

import numpy as np

from medn_edu.checks import check_count, check_positive
from medn_edu.priors import GaussianPrior, Prior
from medn_edu.theory.laplace import best_tau


def cheapest_mean(prior: Prior, C: float) -> float:
    r"""Return the mean with the lowest cost :math:`\Lambda^*(\mu) + C \max(0, 1 - \mu)`.

    This is the mean at the natural parameter ``C``, or 1 if that mean would be larger.
    """
    if prior.domain[1] <= check_positive("C", C):
        return 1.0
    return min(1.0, float(prior.mean(np.array(C))))


def one_weight_bounds(lam: float, C: float, n_iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Run Algorithm 1 with one weight.

    The algorithm passes the exact solution, 2/3, on its way to half that value:

    >>> one_weight_bounds(4.0, 1.0, 12)[1][[0, 1, 2, 11]].round(2)
    array([1.  , 0.71, 0.55, 0.34])
    """

    def eq_11(mean: float, variance: float) -> float:
        return float(best_tau(np.array(mean**2 + variance), lam))

    return _iterations(1.0, eq_11, lam, C, n_iterations)


def one_weight_tangents(lam: float, C: float, n_iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Run iterations whose parabolas touch the divergence from the Laplace prior.

    >>> one_weight_tangents(4.0, 1.0, 12)[1][[0, 1, 2, 11]].round(2)
    array([0.5 , 0.6 , 0.64, 0.67])
    """

    def expected(mean: float, variance: float) -> float:
        return float(1 + np.sqrt(1 + lam * mean**2)) / lam

    return _iterations(2 / check_positive("lam", lam), expected, lam, C, n_iterations)


def _iterations(
    start: float, following: Callable[[float, float], float], lam: float, C: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return variances and means; ``following`` makes the next variance from both."""
    check_positive("lam", lam)
    variance, variances, means = start, [], []
    for _ in range(check_count("n_iterations", n)):
        mean = cheapest_mean(GaussianPrior(variance), C)  # Step 1
        variances.append(variance)
        means.append(mean)
        variance = following(mean, variance)  # Step 2
    return np.array(variances), np.array(means)
