"""Bounds that the solvers of L1-M3N keep: the best weights so far, and the best proof."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from medn_edu.problems import DualVariables, L1Norm, Problem
from medn_edu.results import Iterate
from medn_edu.solvers._training import check_warm_start

__all__ = ["Bounds", "check_l1_problem", "fitting"]


def check_l1_problem(problem: Problem) -> None:
    """Refuse a problem that is not L1-M3N."""
    if problem.regulariser != L1Norm():
        raise TypeError(
            f"the regulariser is {problem.regulariser!r}; this solver expects L1Norm()."
        )


def fitting(problem: Problem, sample: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return dual variables, scaled down where those of a sample exceed ``C_i`` together."""
    total = np.bincount(sample, values, problem.n_samples)
    return values * np.minimum(1.0, problem.C / np.maximum(total, 1e-300))[sample]


class Bounds:
    """The best weights so far, with their objective, and the dual variables of the best lower bound."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weights = np.zeros(problem.weight_shape.size)
        self.upper, self.lower = np.inf, 0.0  # dual variables of 0 prove that
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
        """Return the same proof, to be joined by other weights."""
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
        """Keep dual variables if they bound better than the last, and return their bound."""
        lower = self.problem.dual(alpha)
        if lower > self.lower:
            self.alpha, self.lower = alpha, lower
        return lower

    def start(self, alpha: DualVariables) -> DualVariables:
        """Return dual variables found with another constant, made feasible; keep their bound."""
        check_warm_start(alpha, self.problem.data)
        alpha = replace(alpha, values=fitting(self.problem, alpha.sample, alpha.values))
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
