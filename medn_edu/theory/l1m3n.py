"""L1-M3N as a linear program, written out over all labellings and solved by a general solver.

``l1m3n.md`` explains the theory, with its formulas typeset.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from medn_edu.checks import check_positive
from medn_edu.slacks import LinearSlack
from medn_edu.theory.medn import EnumeratedProblem

_ROUNDING = 1e-10  # relative; how closely a lower bound counts as reached
_MOST_BALLS = 200


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """Primal and dual solution of one of the programs."""

    value: float
    weights: np.ndarray  # best weights; there may be others
    xi: np.ndarray  # slacks
    alpha: np.ndarray  # multipliers, in the order of the problem's rows
    eta: np.ndarray  # ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``

    @property
    def l1_norm(self) -> float:
        """Sum of the magnitudes of the weights."""
        return float(np.abs(self.weights).sum())

    @property
    def largest(self) -> float:
        """Largest ``|eta_k|``: one half at a solution of P1, the multiplier of the ball in P1'."""
        return float(np.abs(self.eta).max(initial=0.0))


def solve_l1m3n(problem: EnumeratedProblem) -> ProgramSolution:
    """Solve P1 of the L1-M3N paper: minimise ``|w|_1 / 2 + C sum_i c_i xi_i``.

    >>> import numpy as np
    >>> from medn_edu.samples import labelled
    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.slacks import LinearSlack
    >>> from medn_edu.theory.medn import enumerate_problem
    >>> data = labelled([np.eye(2)], [[0, 1]])
    >>> problem = enumerate_problem(data, GaussianPrior(), LinearSlack(C=1.0))
    >>> solution = solve_l1m3n(problem)
    >>> [round(each, 9) for each in (solution.value, solution.largest, solution.alpha.sum().item())]
    [1.0, 0.5, 1.0]
    """
    return _solve(problem, price=0.5, radius=None)


def solve_l1_ball(problem: EnumeratedProblem, radius: float) -> ProgramSolution:
    """Solve P1' of the L1-M3N paper: minimise ``C sum_i c_i xi_i`` where ``|w|_1 <= radius``."""
    return _solve(problem, price=0.0, radius=check_positive("radius", radius))


def solve_squared_l1(problem: EnumeratedProblem, scale: float) -> ProgramSolution:
    """Solve P4 of the L1-M3N paper: minimise ``scale |w|_1^2 + C sum_i c_i xi_i``.

    The square is not linear, so this solves P1' for one radius after another until the best radius
    is found.
    """
    scale = check_positive("scale", scale)

    def total(radius: float) -> ProgramSolution:
        ball = _solve(problem, price=0.0, radius=radius)
        return replace(ball, value=scale * radius**2 + ball.value)

    # The best weights cost at most what the slacks cost at w = 0, which bounds the radius.
    low, high = 0.0, float(np.sqrt(total(0.0).value / scale))
    left, right = total(low), total(high)
    for _ in range(_MOST_BALLS):
        radius, bound = _lowest(scale, (low, left), (high, right))
        middle = total(radius)
        if middle.value <= bound + _ROUNDING * max(1.0, abs(bound)):
            return _mixed(middle, left, right, 2 * scale * radius)
        if middle.largest > 2 * scale * radius:
            low, left = radius, middle
        else:
            high, right = radius, middle
    raise RuntimeError(
        f"the best radius was not found in {_MOST_BALLS} linear programs; try a scale closer to 1."
    )


def _solve(problem: EnumeratedProblem, price: float, radius: float | None) -> ProgramSolution:
    """Solve ``price |w|_1 + C sum_i c_i xi_i``, in a ball if there is a radius."""
    if not isinstance(problem.slack, LinearSlack):
        raise TypeError(f"the problem's slack is {problem.slack!r}; expected a LinearSlack.")
    n_rows, n_weights, n_samples = len(problem.losses), problem.n_weights, problem.n_samples
    owner = sp.csr_matrix((np.ones(n_rows), (np.arange(n_rows), problem.sample)))
    differences = sp.csr_matrix(problem.differences)
    rows = sp.hstack([-differences, differences, -owner])  # in mu, v and xi
    right = -problem.losses
    if radius is not None:
        ball = np.r_[np.ones(2 * n_weights), np.zeros(n_samples)]
        rows, right = sp.vstack([rows, ball]), np.r_[right, radius]
    answer = linprog(
        np.r_[np.full(2 * n_weights, price), problem.slack.C * problem.sample_weight],
        A_ub=sp.csr_matrix(rows),
        b_ub=right,
        bounds=[(0, None)] * (2 * n_weights) + [(None, None)] * n_samples,
        method="highs",
    )
    if not answer.success:
        raise RuntimeError(f"HiGHS did not solve the linear program: {answer.message}")
    plus, minus, xi = np.split(answer.x, [n_weights, 2 * n_weights])
    alpha = np.maximum(-answer.ineqlin.marginals[:n_rows], 0.0)  # multipliers of "at most"
    return ProgramSolution(float(answer.fun), plus - minus, xi, alpha, problem.eta(alpha))


def _lowest(
    scale: float, left: tuple[float, ProgramSolution], right: tuple[float, ProgramSolution]
) -> tuple[float, float]:
    """Return where the parabola plus the higher of two tangents of V is lowest, and how low."""
    lines = [
        (point.value - scale * radius**2 + point.largest * radius, -point.largest)
        for radius, point in (left, right)
    ]
    radii = [-slope / (2 * scale) for _, slope in lines]
    if lines[0][1] != lines[1][1]:
        radii.append((lines[0][0] - lines[1][0]) / (lines[1][1] - lines[0][1]))
    inside = np.clip(radii, left[0], right[0])
    heights = [scale * r**2 + max(at + slope * r for at, slope in lines) for r in inside]
    best = int(np.argmin(heights))
    return float(inside[best]), float(heights[best])


def _mixed(
    solution: ProgramSolution, left: ProgramSolution, right: ProgramSolution, largest: float
) -> ProgramSolution:
    """Return the solution with multipliers mixed so that the largest ``|eta_k|`` is ``largest``."""
    for one in (left, right):
        room = one.largest - solution.largest
        share = (largest - solution.largest) / room if room != 0 else 0.0
        if 0 < share <= 1:
            alpha = solution.alpha + share * (one.alpha - solution.alpha)
            eta = solution.eta + share * (one.eta - solution.eta)
            return replace(solution, alpha=alpha, eta=eta)
    return solution
