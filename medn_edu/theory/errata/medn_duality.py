r"""MEDN, §3.1 and Appendices A and B.1: slips about Lagrange multipliers and the existence of solutions.

All examples have one or two samples, each with one or two wrong labellings, so that D1 has one or two
multipliers and everything can be followed with pencil and paper.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import logsumexp

from medn_edu.priors import GaussianPrior, LaplacePrior, Prior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.errata.slip import Slip
from medn_edu.theory.l1m3n import solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.medn_solvers import solve_primal


def _problem(
    rows: list[tuple[int, list[float], float]], C: float, prior: Prior | None = None
) -> EnumeratedProblem:
    """Write a problem from its rows: sample, feature difference and loss."""
    sample = np.array([row[0] for row in rows])
    return EnumeratedProblem(
        sample=sample,
        labellings=[np.array([j]) for j in range(len(rows))],
        differences=np.array([row[1] for row in rows]),
        losses=np.array([row[2] for row in rows]),
        sample_weight=np.ones(sample.max() + 1),
        prior=prior or GaussianPrior(),
        slack=LinearSlack(C),
    )


def _one_node(C: float, prior: Prior | None = None) -> EnumeratedProblem:
    """One node with one feature of value 2 and two labels, each with a weight; the first is true."""
    return _problem([(0, [0.0, 0.0], 0.0), (0, [2.0, -2.0], 1.0)], C, prior)


# -- the equality ---------------------------------------------------------------------------------


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


def _easy_and_hard() -> dict[str, float]:
    """Return the weight of two samples, of which the first has its margin with room to spare."""
    C, x = 1.0, np.array([3.0, 0.4])
    rows = [(0, [0.0], 0.0), (0, [x[0]], 1.0), (1, [0.0], 0.0), (1, [x[1]], 1.0)]
    at_most = minimize(
        lambda alpha: ((alpha @ x) ** 2 / 2 - alpha.sum(), (alpha @ x) * x - 1),
        np.full(2, C / 2),
        jac=True,
        bounds=[(0.0, C)] * 2,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return {
        "printed": float(C * x.sum()),
        "corrected": float(at_most.x @ x),
        "truth": float(solve_primal(_problem(rows, C)).w[0]),
        "slack of the first, printed": 1 - x[0] * C * x.sum(),
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


def _negative_dual_variables() -> dict[str, float]:
    """Two wrong labellings with the same feature difference and different losses."""
    C, loss, difference = 1.0, np.array([1.0, 2.0]), np.array([1.0, 1.0])
    rows = np.array([difference, -difference, [1.0, 1.0]])  # |sum alpha Delta f| <= 1/2, sum <= C

    def programme(least: float | None) -> float:
        answer = linprog(-loss, A_ub=rows, b_ub=[0.5, 0.5, C], bounds=[(least, None)] * 2)
        return math.inf if answer.status == 3 else -float(answer.fun)  # 3: no upper end

    labelled = [(0, [0.0], 0.0), (0, [1.0], 1.0), (0, [1.0], 2.0)]
    return {
        "printed": programme(None),
        "corrected": programme(0.0),
        "truth": solve_l1m3n(_problem(labelled, C)).value,
    }


DUALITY_SLIPS: tuple[Slip, ...] = (
    Slip(
        paper="MEDN",
        where="§3.1, Theorem 3 and Eq. (9)",
        title="a sum of C on the wrong labellings",
        severity="program",
        quote=(
            r'"Ignoring this inequality does not affect the solution since the special case $\xi = '
            r'0$ is still included." And in Theorem 3: "s.t. $\sum_{\mathbf y \ne \mathbf y^i} '
            r"\alpha_i(\mathbf y) = C; \; \alpha_i(\mathbf y) \ge 0, \; \forall i, \; \forall "
            r'\mathbf y \ne \mathbf y^i$".'
        ),
        checks=("MEDN Theorem 2, U*", "MEDN Theorem 3, dual", "MEDN Eqs. (9), (10)"),
        printed=r"\sum_{\mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) = C",
        corrected=r"\sum_{\mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) \le C",
        why=(
            "§3.1 first finds the inequality and then drops it: it would only concern data that "
            "are perfectly separable. But a single sample whose margin is easy to have wants less "
            "than C, whatever the others do. Equality is right if the true labelling is among the y."
        ),
        matters="Yes: a program that follows the equality trains the wrong weights.",
        truth="P1, minimised by a general solver",
        numbers=_forced_total,
    ),
    Slip(
        paper="MEDN",
        where="Theorem 5",
        title="a sum of C where none is allowed",
        severity="program",
        quote=(
            r'"s.t. $\sum_{\mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) = C; \; \alpha_i(\mathbf '
            r'y) \ge 0, \; \forall i, \; \forall \mathbf y \ne \mathbf y^i$". And in its proof: '
            r'"The constraint $\eta_k^2 < \lambda$, $\forall k$ is needed in this derivation".'
        ),
        checks=("MEDN Theorem 5",),
        printed=(
            r"\sum_{\mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) = C, \quad \eta_k^2 < \lambda"
        ),
        corrected=(
            r"\sum_{\mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) \le C, \quad \eta_k^2 < \lambda"
        ),
        why=(
            "With the Laplace prior the same equality can contradict the other constraint, "
            "so that the dual has no feasible point although P1 has a solution."
        ),
        matters="Yes, and at once: no solver can start.",
        truth="P1, minimised by a general solver",
        numbers=_forced_out_of_the_domain,
        tolerance=1e-5,
    ),
    Slip(
        paper="MEDN",
        where="Appendix B.1",
        title="no multiplier for slacks that are not negative",
        severity="proof",
        quote=(
            r'"$L(p(\mathbf w), \xi, \alpha, c) = KL(p(\mathbf w) \| p_0(\mathbf w)) + U(\xi) + c '
            r"(\int p(\mathbf w) d\mathbf w - 1) - \sum_{i, \mathbf y \ne \mathbf y^i} "
            r"\alpha_i(\mathbf y) (\int p(\mathbf w) [\Delta F_i(\mathbf y; \mathbf w) - \Delta "
            r'\ell_i(\mathbf y)] d\mathbf w + \xi_i)$".'
        ),
        printed=r"L = \dots + U(\boldsymbol\xi) - \sum_{i, \mathbf y \ne \mathbf y^i} "
        r"\alpha_i(\mathbf y) \, (\dots + \xi_i)",
        corrected=r"L = \dots + U(\boldsymbol\xi) - \sum_{i, \mathbf y \ne \mathbf y^i} "
        r"\alpha_i(\mathbf y) \, (\dots + \xi_i) - \sum_i v_i \xi_i, \quad v_i \ge 0",
        why=(
            "P1 asks for slacks that are not negative; the Lagrangian of B.1 (and that of Appendix A) "
            "leaves it to U, which would have to be infinite for negative ones. With U = C Σ ξ as "
            "written its supremum is over all slacks, and finite for a total of exactly C only: it "
            "pays a reward for margins wider than asked."
        ),
        matters="To those who derive the dual from here: §3.1 does not, and finds the inequality first.",
        truth="P1, minimised by a general solver",
        numbers=_easy_and_hard,
        tolerance=1e-5,
    ),
    Slip(
        paper="MEDN",
        where="§3.1",
        title="existence of solutions",
        severity="conclusion",
        quote=(
            """"Thus, the problem P1 satisfies the *Slater's condition*, which together with the """
            "convexity make P1 enjoy nice properties, such as strong duality and the existence of "
            'solutions."'
        ),
        printed=r"\text{convexity and Slater's condition} \;\Rightarrow\; "
        r"\text{P1 has a solution, of the form (3)}",
        corrected=r"\dots \text{ and } |\Lambda'(\eta)| \to \infty "
        r"\text{ at every finite end of its domain}",
        why=(
            "Slater's condition gives strong duality and a solution of the dual, not of P1. If the "
            "slope of Λ ends at a finite value, as for a density like e^(−|w|) / (1 + |w|)⁴, a "
            "larger mean is approached by distributions that send ever less probability ever farther "
            "out, and none is the best."
        ),
        matters=(
            "Not to the paper: its priors, normal and Laplace, are steep, and so is a prior on a box, "
            "whose domain has no finite end. It matters if you take another."
        ),
        truth="the closest distribution within ten million of 0, by quadrature",
        numbers=_no_minimiser,
        tolerance=1e-4,
    ),
    Slip(
        paper="MEDN",
        where="Theorem 2 and Appendix B.1",
        title="the sign of the multiplier of an equality",
        severity="reader",
        quote=(
            r'"another non-negative dual variable $c$ for the normalization constraint $\int '
            r'p(\mathbf w) d\mathbf w = 1$".'
        ),
        printed=r"c \ge 0 \text{ for } \int p(\mathbf w)\, d\mathbf w = 1",
        corrected=r"c \text{ of any sign; in the end } c = -1 + \log Z(\alpha) < 0",
        why=(
            "Multipliers of equalities have no sign. With the linear slack the best c is −1 minus the "
            "optimum of P1, which is never positive."
        ),
        matters="To nobody: the next lines use the right c.",
        truth="P1, minimised by a general solver",
        numbers=_normalisation,
    ),
)
"""In the paper's order."""

DUAL_OF_L1_SLIP = Slip(
    paper="MEDN",
    where="Appendix A",
    title="the dual of L1-M3N without a sign",
    severity="program",
    quote=(
        r'"$\max_\alpha \sum_{i, \mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) '
        r"\Delta\ell_i(\mathbf y)$ s.t. $| \sum_{i, \mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) "
        r"\Delta \mathbf f_i^k(\mathbf y) | \le \frac12, \; \forall k$, $\sum_{\mathbf y \ne "
        r'\mathbf y^i} \alpha_i(\mathbf y) \le C, \; \forall i$."'
    ),
    checks=("L1-M3N P1 and its dual (MEDN Appendix A)",),
    printed=r"\max_\alpha \sum \alpha_i(\mathbf y) \Delta\ell_i(\mathbf y) \;\text{ s.t. }\; "
    r"\Big|\sum \alpha_i(\mathbf y) \Delta f_i^k(\mathbf y)\Big| \le \tfrac12, \quad "
    r"\sum_{\mathbf y \ne \mathbf y^i} \alpha_i(\mathbf y) \le C",
    corrected=r"\dots, \quad \alpha_i(\mathbf y) \ge 0",
    why=(
        "Multipliers of inequalities are not negative; Theorems 3 and 5 say so, Appendix A does not. "
        "Without it two labellings with the same features and different losses are a money pump. "
        "Unless, that is, the machine that read the text has lost a line."
    ),
    matters="Only to a solver that is given the program as it stands.",
    truth="the primal linear program",
    numbers=_negative_dual_variables,
)
"""In Appendix A, after the main text."""
