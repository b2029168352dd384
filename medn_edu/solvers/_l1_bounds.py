"""Bounds that the solvers of L1-M3N keep: the best weights so far, and the best proof."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from medn_edu.checks import shown
from medn_edu.problems import DualVariables, L1Norm, Problem
from medn_edu.results import Iterate, SolveResult
from medn_edu.solvers.training import check_linear_slack, check_warm_start, scaled_to_fit


def check_l1_problem(problem: Problem, warm_start: SolveResult | None) -> None:
    """Refuse a problem that is not L1-M3N, and a start that is not a solution."""
    if problem.regulariser != L1Norm():
        raise TypeError(
            f"the regulariser is {problem.regulariser!r}; this solver expects L1Norm()."
        )
    check_linear_slack(problem)
    if not (warm_start is None or isinstance(warm_start, SolveResult)):
        raise TypeError(f"warm_start is {shown(warm_start)}; expected a SolveResult.")


class Bounds:
    """The best weights so far, with their objective, and the dual variables of the best lower bound."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weights = np.zeros(problem.weight_shape.size)
        self.upper, self.lower = np.inf, 0.0  # dual variables of 0 prove the lower bound 0
        self.alpha = DualVariables.empty()
        self.n_oracle_calls = 0
        labels, _ = self.visit(np.zeros(problem.weight_shape.size))
        # All of C on what is wrong at w = 0: with a small C this is the optimum.
        self.prove(DualVariables.on(problem.data.samples, labels, problem.C))

    @property
    def gap(self) -> float:
        """Distance of the bounds."""
        return self.upper - self.lower

    def closed(self, tol: float) -> bool:
        """Say whether the gap is at most this share of the objective."""
        return self.gap <= tol * self.upper

    def without_weights(self) -> Bounds:
        """Return a copy that keeps the lower bound and forgets the weights."""
        other = copy.copy(self)
        other.upper = np.inf
        return other

    def visit(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decode at these weights, keep them if they are the best so far, and return what was found."""
        labels, violation = self.decode(weights)
        slack = float(self.problem.C @ np.maximum(violation, 0.0))
        upper = self.problem.regulariser.value(weights) + slack
        if upper < self.upper:
            self.weights, self.upper = weights.copy(), upper
        return labels, violation

    def decode(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the most violated labellings, and count the calls."""
        self.n_oracle_calls += self.problem.n_samples
        return self.problem.violated(weights)

    def prove(self, alpha: DualVariables) -> float:
        """Keep dual variables if they prove more than the best so far; return their bound."""
        lower = self.problem.dual(alpha)
        if lower > self.lower:
            self.alpha, self.lower = alpha, lower
        return lower

    def start(self, alpha: DualVariables) -> DualVariables:
        """Return dual variables found with another constant, made feasible; keep their bound."""
        check_warm_start(alpha, self.problem.data)
        values = scaled_to_fit(alpha.values, alpha.sample, self.problem.C)
        alpha = replace(alpha, values=values)
        self.prove(alpha)
        return alpha

    def iterate(self, stopped: str = "") -> Iterate:
        """Return the best of both sides."""
        alpha = self.alpha
        return Iterate(
            weights=self.weights,
            gap_estimate=self.gap,
            objective_estimate=self.upper,
            n_oracle_calls=self.n_oracle_calls,
            dual=lambda: alpha,
            stopped=stopped,
        )
