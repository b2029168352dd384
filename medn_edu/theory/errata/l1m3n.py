r"""Slips in the L1-M3N paper (Zhu, Xing and Zhang 2009), each settled on numbers.

Most are in the part about the adaptive M3N (§4.3 and Appendix A), whose equivalence to L1-M3N is right
once it is read as "the same solutions at *another* constant".  The examples have one sample and one
wrong labelling, :math:`\mathbf a^\top \mathbf w \ge \ell - \xi`, so that every solution can be written
down.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog, minimize, minimize_scalar

from medn_edu.priors import GaussianPrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.errata.slip import Slip
from medn_edu.theory.l1m3n import solve_l1m3n, solve_squared_l1
from medn_edu.theory.medn import EnumeratedProblem


def _one_row(a: list[float], C: float) -> EnumeratedProblem:
    """One sample with one wrong labelling, of loss 1."""
    return EnumeratedProblem(
        sample=np.zeros(2, dtype=int),
        labellings=[np.array([0]), np.array([1])],
        differences=np.array([[0.0] * len(a), a]),
        losses=np.array([0.0, 1.0]),
        sample_weight=np.ones(1),
        prior=GaussianPrior(),
        slack=LinearSlack(C),
    )


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


def _kink_of_the_norm() -> dict[str, float]:
    """Sum of the slopes of |w|_2 at 0 in two opposite directions, which is 0 where there is no kink."""
    u, step = np.array([0.6, -0.8]), 1e-7
    forth, back = (np.linalg.norm(sign * step * u) / step for sign in (1, -1))
    return {"printed": 0.0, "corrected": 2 * math.hypot(*u), "truth": float(forth + back)}


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


L1M3N_SLIPS: tuple[Slip, ...] = (
    Slip(
        paper="L1-M3N",
        where="§3.2",
        title="where norms have kinks",
        severity="reader",
        quote=(
            r'"Compared to the $\ell_2$-norm in M³N, which is differentiable everywhere, the '
            r'$\ell_1$-norm in the $\ell_1$-M³N is not differentiable at the origin."'
        ),
        printed=r"\|\mathbf w\|_2 \text{ is differentiable everywhere}",
        corrected=r"\|\mathbf w\|_2^2 \text{ is differentiable everywhere}",
        why=(
            "M3N's regulariser is the square. The norm itself has a kink at 0, as every norm, and as a "
            "regulariser it would make all weights 0 at once or none. What distinguishes the L1 norm is "
            "that its kinks are wherever any one weight is 0."
        ),
        matters="To nobody: P0 has the square.",
        truth="slopes at 0 in two opposite directions, by differences",
        numbers=_kink_of_the_norm,
    ),
    Slip(
        paper="L1-M3N",
        where="§4.1",
        title="a cost that is a vector",
        severity="reader",
        quote=(
            r'"Therefore, $\|\mathbf w\|_1 = \mu + v$, and the LP formulation of the problem P1 is '
            r'as follows: $\min_{\mu, v, \xi} \frac12 (\mu + v) + C \sum_{i=1}^N \xi_i$".'
        ),
        printed=r"\|\mathbf w\|_1 = \boldsymbol\mu + \mathbf v, \qquad "
        r"\min \tfrac12 (\boldsymbol\mu + \mathbf v) + C \sum_i \xi_i",
        corrected=r"\|\mathbf w\|_1 = \sum_k (\mu_k + v_k), \qquad "
        r"\min \tfrac12 \sum_k (\mu_k + v_k) + C \sum_i \xi_i",
        why="The sums over the weights are missing, so that the printed objective is not a number.",
        matters="To nobody: there is only one way to read it.",
        truth="the least of P1 on a fine grid of weights",
        numbers=_cost_of_the_programme,
        tolerance=1e-3,
    ),
    Slip(
        paper="L1-M3N",
        where="Theorem 2",
        title="the same estimate",
        severity="conclusion",
        quote=(r'"The AdapM³N yields the same estimate as the $\ell_1$-M³N."'),
        checks=("L1-M3N Theorem 2",),
        printed=r"\text{P2 with } (C, \lambda) \text{ has the solution of P1 with } C",
        corrected=r"\text{P2 with } (C, \lambda) \text{ has a solution of P1 with } "
        r"C' = \frac{C K}{4 \lambda \|\hat{\mathbf w}\|_1}",
        why=(
            "Appendix A shows that P2 is P4, whose regulariser is (λ/K) ‖w‖₁². A square is as steep as "
            "half the norm in one place only, so the solutions are those of L1-M3N at another constant."
        ),
        matters="Yes, to every comparison at equal constants; the paper itself compares over a range.",
        truth="P2, minimised over weights and scales by a general solver",
        numbers=_constants,
        tolerance=1e-4,
    ),
    Slip(
        paper="L1-M3N",
        where="§4.3.2",
        title="fixed points of EM",
        severity="conclusion",
        quote=(
            '"the algorithm iteratively solves the following two steps until a fixed point (i.e., '
            'a local optimum) is obtained".'
        ),
        printed=r"\text{a fixed point, i.e. a local optimum}",
        corrected=r"\text{a fixed point that no } \tau_k = 0 \text{ has cut off, "
        r"and then the global optimum}",
        why=(
            "P2 is convex in w and τ together, so every local optimum is global. But a scale that "
            "is 0 stays 0 in both steps, whatever its weight would be worth, and EM stops at "
            "points that are no optimum of any kind. Started with positive scales it does well."
        ),
        matters="Only if scales are set to 0 on the way, as §5.3.1 does below 10⁻⁴.",
        truth="P2, minimised over weights and scales by a general solver",
        numbers=_fixed_point,
        tolerance=1e-4,
    ),
    Slip(
        paper="L1-M3N",
        where="Algorithm 3",
        title="where EM starts",
        severity="reader",
        quote=(
            r'"Initialize $\beta_k \leftarrow \sqrt\lambda$ (i.e., $\tau_k \leftarrow 1$), '
            r'$\forall 1 \le k \le K$." And in P3: "$\sum_{k=1}^K \beta_k^2 = K$".'
        ),
        printed=r"\beta_k \leftarrow \sqrt\lambda \;\; (\tau_k \leftarrow 1)",
        corrected=r"\beta_k \leftarrow 1 \;\; (\tau_k \leftarrow \tfrac1\lambda)",
        why="P3 asks for Σ β² = K. The printed start has Σ β² = λK, the right one only if λ = 1.",
        matters="For one turn: Eq. (6) brings the sum back to K.",
        truth="the sum after one update by Eq. (6)",
        numbers=_start_of_em,
    ),
    Slip(
        paper="L1-M3N",
        where="Appendix A, the Lagrangian",
        title="signs of two multipliers",
        severity="proof",
        quote=(
            r'"$L(\gamma, \beta, \xi, \alpha, \mu, v, \eta) = \lambda \gamma^\top \gamma + C '
            r"\sum_{i=1}^N \xi_i + \mu^\top \xi + v(\sum_{i=1}^K \beta_k^2 - K) - \dots + "
            r'\eta^\top \beta$".'
        ),
        printed=r"L = \dots + \boldsymbol\mu^\top \boldsymbol\xi + \boldsymbol\eta^\top "
        r"\boldsymbol\beta \;\Rightarrow\; \sum_{\mathbf y} \alpha_i(\mathbf y) = C + \mu_i \ge C",
        corrected=r"L = \dots - \boldsymbol\mu^\top \boldsymbol\xi - \boldsymbol\eta^\top "
        r"\boldsymbol\beta \;\Rightarrow\; \sum_{\mathbf y} \alpha_i(\mathbf y) = C - \mu_i \le C",
        why=(
            "Constraints ξ ≥ 0 and β ≥ 0 of a minimum enter with a minus (as in §3.1's "
            "Lagrangian). With a plus, the totals would be at least C instead of at most."
        ),
        matters="To nobody: both terms are 0 at the optimum, which is all the proof uses.",
        truth="the primal, one weight, minimised outright",
        numbers=_signs,
        tolerance=1e-5,
    ),
    Slip(
        paper="L1-M3N",
        where="Appendix A, after Eq. (14)",
        title="weights that are 0 need a condition too",
        severity="proof",
        quote=(
            r'"Therefore, the optimality conditions are: $\forall k, \; -\sum_{i, \mathbf y} '
            r"\hat\alpha_i(\mathbf y) \Delta f_i^k(\mathbf y) + 2 \frac\lambda K \text{sign}(\hat "
            r'w_k) \sum_{j=1}^K |\hat w_j| = 0$ or $\hat w_k = 0$".'
        ),
        printed=r"\frac{2\lambda}{K} \operatorname{sign}(\hat w_k) \|\hat{\mathbf w}\|_1 = "
        r"\sum \hat\alpha_i(\mathbf y) \Delta f_i^k(\mathbf y) \quad\text{or}\quad \hat w_k = 0",
        corrected=r"\dots \quad\text{or}\quad \hat w_k = 0 \text{ and } "
        r"\Big|\sum \hat\alpha_i(\mathbf y) \Delta f_i^k(\mathbf y)\Big| \le "
        r"\frac{2\lambda}{K} \|\hat{\mathbf w}\|_1",
        why=(
            "As printed, w = 0 fulfils the conditions, whatever the data: they are necessary, not "
            "sufficient. P4's have the inequality as well; P3's do not yield it, as P3 is not "
            "convex. The theorem's core is right all the same: Eq. (4) put into P2 gives P4 at once."
        ),
        matters="To the proof only.",
        truth="P4, solved by linear programs",
        numbers=_zeros_need_a_condition,
    ),
    Slip(
        paper="L1-M3N",
        where="Appendix A, the last line",
        title="one letter for two constants",
        severity="reader",
        quote=(
            r'"Similar to the re-formulation of the $\ell_1$-M³N, the problem P4 can be formulated '
            r"as the problem: $\min_{\mathbf w} \mathcal R_{\text{hinge}}(\mathbf w)$, s.t.: "
            r'$\sum_{k=1}^K |w_k| \le \lambda$".'
        ),
        printed=r"\min \tfrac{\lambda}{K} \|\mathbf w\|_1^2 + C \sum_i \xi_i \;\equiv\; "
        r"\min \mathcal R_{\text{hinge}}(\mathbf w) \text{ s.t. } \|\mathbf w\|_1 \le \lambda",
        corrected=r"\dots \text{ s.t. } \|\mathbf w\|_1 \le \|\hat{\mathbf w}\|_1 = "
        r"\frac{K}{2\lambda} \max_k \Big|\sum \hat\alpha_i(\mathbf y) \Delta f_i^k(\mathbf y)\Big|",
        why=(
            "λ is the radius of P1′ and the price of P4. Large prices mean small radii, so they "
            "cannot be one number. With Table 1 the paper says so itself: the orders are reverse."
        ),
        matters="Yes, if you read the axes of Figures 5 and 6 as one.",
        truth="the norm of P4's solution, by linear programs",
        numbers=_radius_of_p4,
    ),
)
"""In the paper's order."""
