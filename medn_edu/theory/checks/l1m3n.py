r"""L1-M3N: the program, its dual, its reformulations, projections, and the adaptive M3N.

An instance has a few samples, each with its true labelling and some wrong ones, whose feature
differences and losses are drawn at random: more than a Markov network could produce, and so a harder
test.  Programs are solved by the linear programs of `medn_edu.theory.l1m3n` on one side and by
scipy's SLSQP on the other, which is told the problem as printed.

Of the adaptive M3N (§4.3 and Appendix A) scales come from SLSQP, never from Eq. (4), except where
Eq. (4) is what is tried.
"""

import dataclasses
import math

import numpy as np
from scipy.optimize import linprog, minimize

from medn_edu.slacks import LinearSlack
from medn_edu.theory.checks.check import apart, discrepancy_of, excess
from medn_edu.theory.l1m3n import solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.medn_solvers import solve_dual, solve_primal
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

_WRONG = 4  # labellings of a sample in addition to the true one


def draw_rows(
    rng: np.random.Generator, C: float = 1.0, n_samples: int = 3, n_weights: int = 4
) -> EnumeratedProblem:
    """Draw feature differences and losses of every wrong labelling of every sample."""
    shift = rng.normal(size=n_weights)
    differences = rng.normal(size=(n_samples, 1 + _WRONG, n_weights)) + shift
    losses = rng.integers(1, 4, (n_samples, 1 + _WRONG)).astype(float)
    differences[:, 0], losses[:, 0] = 0.0, 0.0
    sample = np.repeat(np.arange(n_samples), 1 + _WRONG)
    return EnumeratedProblem.of_rows(sample, differences.reshape(-1, n_weights), losses.ravel(), C)


def price(problem: EnumeratedProblem) -> float:
    """Return C, what a unit of slack costs."""
    assert isinstance(problem.slack, LinearSlack)
    return problem.slack.C


def _hinge(problem: EnumeratedProblem, w: np.ndarray) -> float:
    """``R_hinge``: the mean over samples of the largest loss minus margin."""
    short = (problem.losses - problem.differences @ w).reshape(-1, 1 + _WRONG)
    return float(short.max(axis=1).mean())


def without_constraints(problem: EnumeratedProblem, w: np.ndarray) -> float:
    """Return Eq. (2), what weights cost in L1-M3N with their best slacks."""
    cost = problem.n_samples * price(problem) * _hinge(problem, w)
    return float(np.abs(w).sum()) / 2 + cost


# -- sparsity, §3.1 -------------------------------------------------------------------------------


@discrepancy_of("weights-from-multipliers")
def _weights_from_multipliers(rng: np.random.Generator, slip: bool) -> float:
    problem = draw_rows(rng)
    alpha = solve_dual(problem).alpha
    w = problem.eta(alpha / 2 if slip else alpha)
    return apart(w, solve_primal(problem).w)


@discrepancy_of("complementary-slackness")
def _complementary_slackness(rng: np.random.Generator, slip: bool) -> float:
    problem = draw_rows(rng)
    alpha, w = solve_dual(problem).alpha, solve_primal(problem).w
    spare = problem.differences @ w - problem.losses + problem.xi(w)[problem.sample]
    if slip:
        alpha = np.full_like(alpha, 1 / (1 + _WRONG))  # all dual variables are equal
    return float(np.max(alpha * np.abs(spare)))


@discrepancy_of("l1m3n-strong-duality")
def _strong_duality(rng: np.random.Generator, slip: bool) -> float:
    problem = draw_rows(rng)
    wrong, N = problem.losses > 0, problem.n_samples
    F, losses = problem.differences[wrong], problem.losses[wrong]
    largest = np.full(2 * problem.n_weights, 1.0 if slip else 0.5)
    rows = np.vstack([F.T, -F.T, problem.member[wrong].T])
    dual = linprog(-losses, rows, np.r_[largest, np.full(N, price(problem))])
    return apart(-float(dual.fun), solve_l1m3n(problem).value)


# -- reformulations and sub-gradients, §4.2 -------------------------------------------------------


@discrepancy_of("hinge-form")
def _hinge_form(rng: np.random.Generator, slip: bool) -> float:
    """P1 with the weights held fixed is a linear program in the slacks; Eq. (2) has them eliminated."""
    problem, w = draw_rows(rng), rng.normal(size=4)
    C = price(problem)
    program = linprog(
        np.full(problem.n_samples, C), -problem.member, problem.differences @ w - problem.losses
    )
    factor = C if slip else problem.n_samples * C
    norm = float(np.abs(w).sum()) / 2
    return apart(norm + factor * _hinge(problem, w), norm + float(program.fun))


@discrepancy_of("same-as-in-the-ball")
def _same_as_in_the_ball(rng: np.random.Generator, slip: bool) -> float:
    """P1 at its weights, by Eq. (2), and P1' by its dual in the ball that these weights just touch."""
    problem = draw_rows(rng)
    w = solve_l1m3n(problem).weights
    radius = float(np.linalg.norm(w) if slip else np.abs(w).sum())
    return apart(radius / 2 + _best_in_ball(problem, radius), without_constraints(problem, w))


def _best_in_ball(problem: EnumeratedProblem, radius: float) -> float:
    """Maximise the dual of P1', ``sum alpha loss - radius max |eta_k|``, by a linear program."""
    wrong, K, N = problem.losses > 0, problem.n_weights, problem.n_samples
    F, losses = problem.differences[wrong], problem.losses[wrong]
    largest = np.r_[np.full(2 * K, 1.0), np.zeros(N)]
    rows = np.column_stack([np.vstack([F.T, -F.T, problem.member[wrong].T]), -largest])
    right = np.r_[np.zeros(2 * K), np.full(N, price(problem))]
    return -float(linprog(np.r_[-losses, radius], rows, right).fun)


@discrepancy_of("sub-gradient")
def _sub_gradient(rng: np.random.Generator, slip: bool) -> float:
    """The line through a point with the sub-gradient's slope is nowhere above the hinge loss."""
    problem, w = draw_rows(rng), rng.normal(size=4)
    short = (problem.losses - problem.differences @ w).reshape(-1, 1 + _WRONG)
    worst = short.argmax(axis=1) + (1 + _WRONG) * np.arange(problem.n_samples)
    g = -problem.differences[worst].mean(axis=0)  # f(x, y*) - f(x, y^i)
    others = w + rng.normal(size=(200, 4)) * rng.choice([0.1, 1.0, 10.0], (200, 1))
    line = _hinge(problem, w) + (others - w) @ (-g if slip else g)
    return excess(line, [_hinge(problem, other) for other in others])


@discrepancy_of("nearest-in-l1-ball")
def _nearest_in_l1_ball(rng: np.random.Generator, slip: bool) -> float:
    """The sorted threshold against SLSQP, in the positive and negative parts of the weights."""
    v, n = rng.normal(size=5) * 2, 5
    radius = 0.4 * np.abs(v).sum()
    found = minimize(
        lambda z: np.sum((z[:n] - z[n:] - v) ** 2) / 2,
        np.full(2 * n, radius / (2 * n)),
        jac=lambda z: np.tile(z[:n] - z[n:] - v, 2) * np.repeat([1.0, -1.0], n),
        bounds=[(0, None)] * (2 * n),
        constraints={"type": "ineq", "fun": lambda z: radius - z.sum()},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    nearest = found.x[:n] - found.x[n:]
    return apart(_nearest_by_l1(v, radius) if slip else project_l1_ball(v, radius), nearest)


def _nearest_by_l1(v: np.ndarray, radius: float) -> np.ndarray:
    """One of the points that Eq. (3) asks for as printed: the distance is in the L1 norm, too."""
    n = len(v)
    rows = np.block(  # p - d <= v, -p - d <= -v, |p| <= s, sum s <= r
        [
            [np.eye(n), -np.eye(n), np.zeros((n, n))],
            [-np.eye(n), -np.eye(n), np.zeros((n, n))],
            [np.eye(n), np.zeros((n, n)), -np.eye(n)],
            [-np.eye(n), np.zeros((n, n)), -np.eye(n)],
            [np.zeros((1, 2 * n)), np.ones((1, n))],
        ]
    )
    cost, right = np.repeat([0.0, 1.0, 0.0], n), np.r_[v, -v, np.zeros(2 * n), radius]
    return np.asarray(linprog(cost, rows, right, bounds=[(None, None)] * (3 * n)).x[:n])


@discrepancy_of("nearest-in-l2-ball")
def _nearest_in_l2_ball(rng: np.random.Generator, slip: bool) -> float:
    v = rng.normal(size=5) * 2
    radius = 0.4 * float(np.linalg.norm(v))
    found = minimize(
        lambda w: np.sum((w - v) ** 2) / 2,
        v / 10,
        jac=lambda w: w - v,
        constraints={
            "type": "ineq",
            "fun": lambda w: (radius**2 - w @ w) / 2,
            "jac": lambda w: -w,
        },
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return apart((project_l1_ball if slip else project_l2_ball)(v, radius), found.x)


# -- the adaptive M3N, §4.3 and Appendix A --------------------------------------------------------


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


@discrepancy_of("scales")
def _scales(rng: np.random.Generator, slip: bool) -> float:
    w, lam = _draw_weights(rng)
    size = w**2 if slip else np.abs(w)
    return apart(len(w) * size / (lam * size.sum()), _best_scales(w, lam))


def _in_new_variables(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return w, gamma, beta and lambda, the scales being the best by SLSQP."""
    w, lam = _draw_weights(rng)
    tau = _best_scales(w, lam)
    return w, w / np.sqrt(lam * tau), np.sqrt(lam * tau), lam


@discrepancy_of("update-of-beta")
def _update_of_beta(rng: np.random.Generator, slip: bool) -> float:
    w, gamma, beta, _ = _in_new_variables(rng)
    share = np.abs(gamma) / math.sqrt(gamma @ gamma)
    return apart(share if slip else math.sqrt(len(w)) * share, beta)


@discrepancy_of("multiplier-of-beta")
def _multiplier_of_beta(rng: np.random.Generator, slip: bool) -> float:
    """Eq. (9), its multiplier v being minus the slope of Step 2's optimum in K."""
    w, gamma, beta, lam = _in_new_variables(rng)
    K, step = len(w), 0.05

    def optimum(total: float) -> float:
        return lam * float(w**2 @ (1 / _best_scales(w, lam, total)))

    v = (optimum(K - step) - optimum(K + step)) / (2 * step)
    ratio = v / lam if slip else lam / v
    return apart(ratio * gamma**2, beta**2)


@discrepancy_of("shares")
def _shares(rng: np.random.Generator, slip: bool) -> float:
    w, gamma, _, _ = _in_new_variables(rng)
    square = np.abs(gamma) if slip else gamma**2
    left = math.sqrt(len(w)) * square / math.sqrt(gamma @ gamma)
    share = square / square.sum()
    return float(np.maximum(apart(left, np.abs(w)), apart(share, np.abs(w) / np.abs(w).sum())))


@discrepancy_of("quotients")
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


@discrepancy_of("adaptive-is-squared")
def _adaptive_is_squared(rng: np.random.Generator, slip: bool) -> float:
    problem, lam = draw_rows(rng), float(rng.uniform(0.5, 2.0))
    scale = lam if slip else lam / problem.n_weights
    return apart(_adaptive(problem, lam)[0], solve_squared_l1(problem, scale).value)


@discrepancy_of("adaptive-is-l1")
def _adaptive_is_l1(rng: np.random.Generator, slip: bool) -> float:
    problem, lam = draw_rows(rng, C=0.5), float(rng.uniform(2.0, 6.0))
    w = _adaptive(problem, lam)[1]
    other = 0.5 * problem.n_weights / (4 * lam * np.abs(w).sum())
    moved = dataclasses.replace(problem, slack=LinearSlack(0.5 if slip else other))
    return apart(without_constraints(moved, w), solve_l1m3n(moved).value)
