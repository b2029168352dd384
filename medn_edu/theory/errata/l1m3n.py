r"""Slips in the L1-M3N paper (Zhu, Xing and Zhang 2009), each settled on numbers.

Most are in the part about the adaptive M3N (§4.3 and Appendix A), whose equivalence to L1-M3N is right
once it is read as "the same solutions at *another* constant".  The examples have one sample and one
wrong labelling, :math:`\mathbf a^\top \mathbf w \ge \ell - \xi`, so that every solution can be written
down.
"""

import math

import numpy as np
from scipy.optimize import linprog, minimize, minimize_scalar

from medn_edu.theory.errata.slip import numbers_of
from medn_edu.theory.l1m3n import solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem


def _one_row(a: list[float], C: float) -> EnumeratedProblem:
    """One sample with one wrong labelling, of loss 1."""
    return EnumeratedProblem.of_rows([0, 0], [[0.0] * len(a), a], [0, 1], C)


def _adaptive(a: np.ndarray, C: float, lam: float) -> tuple[float, np.ndarray]:
    """Solve P2 in w, tau and xi by a general solver; tau stays a little above 0."""
    K = len(a)
    start = np.concatenate([np.zeros(K), np.full(K, 1 / lam), [1.0]])
    result = minimize(
        lambda z: z[:K] ** 2 @ (1 / z[K:-1]) + C * z[-1],
        start,
        jac=lambda z: np.r_[2 * z[:K] / z[K:-1], -((z[:K] / z[K:-1]) ** 2), C],
        bounds=[(None, None)] * K + [(1e-9, None)] * K + [(0, None)],
        constraints=[
            {"type": "ineq", "fun": lambda z: a @ z[:K] - 1 + z[-1]},
            {"type": "eq", "fun": lambda z: z[K:-1].mean() - 1 / lam},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return float(result.fun), result.x[:K]


def _em_turn(w: np.ndarray, a: np.ndarray, C: float, lam: float) -> np.ndarray:
    """Step 2, Eq. (4), and then Step 1, whose solution for one row is in proportion to tau a."""
    tau = len(a) * np.abs(w) / (lam * np.abs(w).sum())
    return tau * a * min(C / 2, 1 / float(a @ (tau * a)))


# -- the numbers ----------------------------------------------------------------------------------


@numbers_of("kinks-of-norms")
def _kink_of_the_norm() -> dict[str, float]:
    """Sum of the slopes of |w|_2 at 0 in two opposite directions, which is 0 where there is no kink."""
    u, step = np.array([0.6, -0.8]), 1e-7
    forth, back = (np.linalg.norm(sign * step * u) / step for sign in (1, -1))
    return {"printed": 0.0, "corrected": 2 * math.hypot(*u), "truth": float(forth + back)}


@numbers_of("vector-cost")
def _cost_of_the_programme() -> dict[str, float]:
    """Return what two weights cost: the printed expression is a vector of two numbers, not a cost."""
    a, C = np.array([1.0, 0.9]), 2.0
    program = linprog(
        [0.5, 0.5, 0.5, 0.5, C], A_ub=[[*-a, *a, -1.0]], b_ub=[-1.0], bounds=[(0, None)] * 5
    )
    grid = np.linspace(-2, 2, 401)
    w = np.stack(np.meshgrid(grid, grid), axis=-1)
    cost = np.abs(w).sum(axis=-1) / 2 + C * np.maximum(1 - w @ a, 0)
    return {"printed": math.nan, "corrected": float(program.fun), "truth": float(cost.min())}


@numbers_of("one-letter")
def _radius_of_p4() -> dict[str, float]:
    """Return the norm of P4's solution."""
    a, C, lam = [1.0, 2.0], 5.0, 3.0
    steepest = max(a)
    solution = solve_squared_l1(_one_row(a, C), lam / len(a))
    multiplier = min(C, 2 * lam / len(a) / steepest**2)  # the margin is had before C is spent
    return {
        "printed": lam,
        "corrected": len(a) * multiplier * steepest / (2 * lam),
        "truth": solution.l1_norm,
    }


@numbers_of("same-estimate")
def _constants() -> dict[str, float]:
    """L1 norms of the adaptive M3N's solution and of L1-M3N's, at the same C and at another."""
    a, C, lam = [1.0, 0.5], 0.4, 0.2
    w = _adaptive(np.array(a), C, lam)[1]
    norm = float(np.abs(w).sum())
    other = C * len(a) / (4 * lam * norm)
    return {
        "printed": solve_l1m3n(_one_row(a, C)).l1_norm,
        "corrected": solve_l1m3n(_one_row(a, other)).l1_norm,
        "truth": norm,
        "other constant": other,
    }


@numbers_of("em-fixed-points")
def _fixed_point() -> dict[str, float]:
    """Value of P2 where EM stops if the better of two weights starts at tau = 0."""
    a, C, lam = np.array([1.0, 2.0]), 5.0, 3.0
    w = np.array([1.0, 0.0])
    for _ in range(50):
        w = _em_turn(w, a, C, lam)
    stuck = lam / len(a) * np.abs(w).sum() ** 2 + C * max(0.0, 1 - float(a @ w))
    alive = np.ones(2)
    for _ in range(50):
        alive = _em_turn(alive, a, C, lam)
    reached = lam / len(a) * np.abs(alive).sum() ** 2 + C * max(0.0, 1 - float(a @ alive))
    return {"printed": stuck, "corrected": reached, "truth": _adaptive(a, C, lam)[0]}


@numbers_of("condition-at-zero")
def _zeros_need_a_condition() -> dict[str, float]:
    """Value of P4 at w = 0, which fulfils the printed conditions, and where all conditions hold."""
    a, C, lam = [1.0, 2.0], 5.0, 3.0
    scale, largest = lam / len(a), max(a)
    w = min(
        1 / largest, C * largest / (2 * scale)
    )  # on the weight whose |sum alpha Delta f| is largest
    return {
        "printed": C,
        "corrected": scale * w**2 + C * max(0.0, 1 - largest * w),
        "truth": solve_squared_l1(_one_row(a, C), scale).value,
    }


@numbers_of("em-start")
def _start_of_em() -> dict[str, float]:
    """Return the sum of squares of beta at the start, and after one update by Eq. (6)."""
    K, lam = 6, 4.0
    gamma = np.random.default_rng(0).normal(size=K)
    beta = math.sqrt(K) * np.abs(gamma) / math.sqrt(gamma @ gamma)
    return {
        "printed": float(np.sum(np.full(K, math.sqrt(lam)) ** 2)),
        "corrected": float(np.sum(np.ones(K) ** 2)),
        "truth": float(beta @ beta),
    }


@numbers_of("multiplier-signs")
def _signs() -> dict[str, float]:
    """Maximise P3's dual for one row and one weight: alpha at least C, and at most C."""
    a, C, lam = 2.0, 1.0, 0.5

    def dual(alpha: float) -> float:
        return alpha - (alpha * a) ** 2 / (4 * lam)

    best = minimize_scalar(lambda alpha: -dual(alpha), bounds=(0, C), method="bounded")
    primal = minimize_scalar(
        lambda w: lam * w**2 + C * max(0.0, 1 - a * w), bounds=(0, 2), method="bounded"
    )
    return {"printed": dual(C), "corrected": -float(best.fun), "truth": float(primal.fun)}
