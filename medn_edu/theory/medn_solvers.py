r"""Two independent solvers for maximum entropy discrimination by enumeration.

They share no code with the package's own solver or with each other.  `solve_primal` hands P1
(`medn_edu.theory.medn`) to a general solver from scipy.  `solve_dual` maximises D1 with Newton's method
and a logarithmic barrier (Boyd and Vandenberghe 2004, chapter 11).  No value of D1 exceeds a value of
P1, so if the two agree, both are right.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from medn_edu.priors import Prior
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack
from medn_edu.theory.medn import EnumeratedProblem, ShippedSlack


@dataclass(frozen=True, eq=False)
class ReferenceSolution:
    """A solution of P1 or of D1."""

    value: float  # value of P1 or D1 there
    w: np.ndarray  # posterior mean
    alpha: np.ndarray  # dual variables; empty if P1 was solved


def solve_dual(problem: EnumeratedProblem, *, accuracy: float = 1e-9) -> ReferenceSolution:
    """Solve D1 by Newton's method with a logarithmic barrier.

    The barrier adds ``sum log(alpha) / t`` to D1, which keeps all dual variables positive.  At the
    maximum of this sum, D1 is at most ``n_rows / t`` below its own maximum.  So ``t`` grows until
    that distance is at most ``accuracy`` times the dual value.  With the linear slack every step
    leaves the sums ``sum_y alpha_i(y) = C_i`` as they are.

    >>> import numpy as np
    >>> from medn_edu.samples import labelled
    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.slacks import LinearSlack
    >>> from medn_edu.theory import enumerate_problem
    >>> data = labelled([np.eye(2)], [[0, 1]])
    >>> problem = enumerate_problem(data, GaussianPrior(), LinearSlack(C=1.0))
    >>> round(solve_dual(problem).value, 6), round(solve_primal(problem).value, 6)
    (0.333333, 0.333333)
    """
    start = problem.primal_value(problem.prior.mean(np.zeros(problem.n_weights)))
    if start < 1e-15:  # nothing can be better than the prior itself
        alpha = np.zeros(len(problem.losses))
        return ReferenceSolution(0.0, problem.posterior_mean(alpha), alpha)
    alpha, rows = _interior_point(problem), np.flatnonzero(problem.free)
    t = len(rows) / start
    for _ in range(60):
        alpha = _centre(problem, rows, alpha, t)
        if len(rows) / t <= accuracy * problem.dual_value(alpha):
            break
        t *= 5
    return ReferenceSolution(problem.dual_value(alpha), problem.posterior_mean(alpha), alpha)


def _interior_point(problem: EnumeratedProblem) -> np.ndarray:
    """Return positive dual variables, small enough for the domain of eta and of the slack."""
    free, true = problem.free, problem.losses == 0
    share = problem.sample_weight / np.bincount(problem.sample, minlength=problem.n_samples)
    alpha = np.where(free & ~true, share[problem.sample], 0.0)
    bound = problem.slack.C if isinstance(problem.slack, LinearSlack) else 1.0
    alpha *= 0.5 * min(bound, getattr(problem.slack, "c", bound))
    while problem.dual_value(alpha) == -math.inf:
        alpha /= 2
    alpha /= 2  # not on the edge of the domain
    if isinstance(problem.slack, LinearSlack):
        alpha[true] = problem.slack.C * problem.sample_weight - problem.totals(alpha)
    return alpha


def _centre(
    problem: EnumeratedProblem, rows: np.ndarray, alpha: np.ndarray, t: float
) -> np.ndarray:
    """Maximise ``D1 + sum log(alpha) / t`` over the rows by Newton's method."""

    def value(alpha: np.ndarray) -> float:
        if np.any(alpha[rows] <= 0):
            return -math.inf
        return problem.dual_value(alpha) + float(np.log(alpha[rows]).sum()) / t

    here = value(alpha)
    for _ in range(100):
        step, slope = _newton_step(problem, rows, alpha, t)
        if slope <= 1e-6 / t:
            break
        length, there = 1.0, value(alpha + step)
        while not there >= here + 0.1 * length * slope:
            length /= 2
            if length < 1e-12:
                return alpha  # no more digits
            there = value(alpha + length * step)
        alpha, here = alpha + length * step, there
    return alpha


def _newton_step(
    problem: EnumeratedProblem, rows: np.ndarray, alpha: np.ndarray, t: float
) -> tuple[np.ndarray, float]:
    """Return the step, and how fast the value rises along it at first.

    In units in which the barrier's Hessian is the identity, minus the whole Hessian is ``I + A A'``
    with one column of ``A`` for each weight and each sample.
    """
    F, sample, unit = problem.differences[rows], problem.sample[rows], np.sqrt(t) * alpha[rows]
    eta, weight = problem.eta(alpha), problem.sample_weight
    slope, curvature = conjugate_slopes(problem.slack, problem.totals(alpha) / weight)
    gradient = problem.losses[rows] - F @ problem.prior.mean(eta) - slope[sample]
    g = unit * gradient + 1 / np.sqrt(t)
    A = unit[:, None] * F * np.sqrt(problem.prior.variance(eta))
    member = unit[:, None] * problem.member[rows]
    if isinstance(problem.slack, LinearSlack):
        # The totals must not change, so the step has no part along a column of `member`.
        member /= np.linalg.norm(member, axis=0)
        g -= member @ (member.T @ g)
        A -= member @ (member.T @ A)
    else:
        A = np.hstack([A, member * np.sqrt(curvature / weight)])
    # (I + A A')^-1 g: unchanged across the columns of A, divided by 1 + s^2 along them.
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    along = U.T @ g
    scaled = (g - U @ along) + U @ (along / (1 + s**2))
    if isinstance(problem.slack, LinearSlack):
        scaled -= member @ (member.T @ scaled)  # what rounding left of it
    step = np.zeros_like(alpha)
    step[rows] = unit * scaled
    return step, float(g @ scaled)


def legendre(prior: Prior, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``Lambda*(w)`` and its slope, from the definition ``max_eta w eta - Lambda(eta)``.

    At the best ``eta`` the mean of the tilted prior is ``w``, so bisection finds it.
    """
    ends = []
    for end, sign in zip(prior.domain, (-1.0, 1.0), strict=True):
        eta = np.full(np.shape(w), end if math.isfinite(end) else sign)
        if math.isinf(end):
            for _ in range(60):
                eta = np.where(sign * (w - prior.mean(eta)) > 0, 2 * eta, eta)
        ends.append(eta)
    low, high = ends
    for _ in range(200):
        middle = (low + high) / 2
        above = prior.mean(middle) > w
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    eta = (low + high) / 2
    reached = np.isclose(prior.mean(eta), w, rtol=1e-6, atol=1e-12)
    value = np.where(reached, w * eta - prior.log_mgf(eta), math.inf)
    return value, np.where(reached, eta, math.nan)


def solve_primal(problem: EnumeratedProblem, *, max_iter: int = 1000) -> ReferenceSolution:
    """Solve P1 for the mean and the slacks with scipy's sequential quadratic programming (SLSQP).

    The divergence and its slope come from `legendre`, not from the prior's own formula.
    """
    K, weight = problem.n_weights, problem.sample_weight
    A = np.hstack([problem.differences, problem.member])

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        w, xi = z[:K], z[K:]
        kl, slope = legendre(problem.prior, w)
        outside = isinstance(problem.slack, ExponentialSlack) and np.any(xi <= 0)
        if outside or not np.isfinite(kl).all():
            return 1e30, np.zeros_like(z)
        gradient = np.concatenate([slope, weight * penalty_slope(problem.slack, xi)])
        return kl.sum() + problem.penalty(xi), gradient

    w = problem.prior.mean(np.zeros(K))
    result = minimize(
        objective,
        np.concatenate([w, problem.xi(w)]),
        jac=True,
        constraints={
            "type": "ineq",
            "fun": lambda z: A @ z - problem.losses,
            "jac": lambda z: A,
        },
        method="SLSQP",
        options={"maxiter": max_iter, "ftol": 1e-14},
    )
    w = result.x[:K]
    value = legendre(problem.prior, w)[0].sum() + problem.penalty(problem.xi(w))
    return ReferenceSolution(float(value), w, np.zeros(0))


# -- slopes of slacks, from their formulas ------------------------------------------------------


def penalty_slope(slack: ShippedSlack, xi: np.ndarray) -> np.ndarray:
    """Return the slope of the penalty at some slacks."""
    match slack:
        case LinearSlack():
            return np.full_like(xi, slack.C)
        case QuadraticSlack():
            return slack.C * xi
        case ExponentialSlack():
            return slack.c - 1 / xi


def conjugate_slopes(slack: ShippedSlack, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and second derivative of the conjugate at some totals."""
    match slack:
        case LinearSlack():
            return np.zeros_like(totals), np.zeros_like(totals)
        case QuadraticSlack():
            return totals / slack.C, np.full_like(totals, 1 / slack.C)
        case ExponentialSlack():
            return 1 / (slack.c - totals), 1 / (slack.c - totals) ** 2
